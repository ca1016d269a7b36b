//! A server of HTTP: takes connections in, and answers one request of each, on a thread of its own.
//!
//! A [`Conversation`] may have more to say over a connection, as a proxy has.
//!
//! It waits for nothing but the network: what reads disks does so on other threads. Connections are bounded, and one
//! that idles gives way to a new one; a head has to come within seconds and in few bytes; a connection ends after a
//! time.

pub mod connections;
pub mod guard;

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

pub use connections::ConnectionHandle;
use connections::Connections;

/// Time after which a connection is tried again when there was no file for it.
const PAUSE: Duration = Duration::from_millis(50);

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections_max: usize,
    /// A request's head has to have come within this time.
    pub head_max: Duration,
    /// Bytes of a head, and of what waits to be taken by the other end.
    pub buffer_bytes: usize,
    /// A connection ends after this long, whatever it does.
    pub connection_max: Duration,
    /// Time that connections have to end when the server closes.
    pub grace: Duration,
}

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A connection, as its request sees it.
#[derive(Debug)]
pub struct Caller {
    /// The address of this machine that it came to.
    pub local: SocketAddr,
    /// Its place among the connections.
    pub place: ConnectionHandle,
}

/// The answers of a server. It is asked on the server's thread, and must not keep that waiting.
pub trait Service: Send + Sync + 'static {
    /// Answers a request.
    fn answer(&self, request: Request<Incoming>, caller: &Caller) -> impl Future<Output = Response<Body>> + Send;
}

/// A conversation with each connection of a server. It is held on the server's thread, and must not keep that waiting.
pub trait Conversation: Send + Sync + 'static {
    /// Talks until the connection ends.
    fn converse(self: Arc<Self>, stream: TcpStream, place: ConnectionHandle) -> impl Future<Output = ()> + Send;
}

/// A server that listens. It closes when it is dropped.
#[derive(Debug)]
pub struct Server {
    name: String,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A listener at an address, from which a server can be opened.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at `address`.
    pub fn bind(address: &str) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Listener { listener, address })
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `service` on a thread of this name from here on.
    pub fn serve(self, name: &str, limits: Limits, service: impl Service) -> io::Result<Server> {
        self.talk(name, limits, OneRequest { service, limits })
    }

    /// Holds `conversation` with each connection from here on, on a thread of this name. Of the limits, those of heads
    /// and of the time of a connection are its own affair.
    pub fn talk(self, name: &str, limits: Limits, conversation: impl Conversation) -> io::Result<Server> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (listener, grace) = (self.listener, limits.grace);
        let run = move || {
            runtime.block_on(accept(listener, limits, Arc::new(conversation), stopped));
            // a question that a thread of the runtime still works on is waited for no longer than a connection
            runtime.shutdown_timeout(grace);
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Server { name: name.to_owned(), address: self.address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Server {
    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes it. Returns whether its thread ended as it should.
    pub fn close(&mut self) -> bool {
        drop(self.stop.take());
        self.thread.take().is_none_or(|thread| thread.join().is_ok())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.close() {
            tracing::warn!("the thread of the server {:?} panicked", self.name);
        }
    }
}

/// A body that is there as a whole.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

async fn accept<C: Conversation>(
    listener: TcpListener,
    limits: Limits,
    conversation: Arc<C>,
    mut stopped: oneshot::Receiver<()>,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut connections = Connections::new(limits.connections_max);
    loop {
        let has_place = connections.has_place();
        tokio::select! {
            _ = &mut stopped => break,
            accepted = listener.accept(), if has_place => match accepted {
                Ok((stream, _)) => connections.take_in(|place| conversation.clone().converse(stream, place)),
                Err(_) => sleep(PAUSE).await,
            },
            () = connections.end_of_one() => {}
        }
    }
    drop(listener);
    let _ = timeout(limits.grace, connections.end_of_all()).await;
}

/// One request and its answer.
struct OneRequest<S> {
    service: S,
    limits: Limits,
}

impl<S: Service> Conversation for OneRequest<S> {
    async fn converse(self: Arc<Self>, stream: TcpStream, place: ConnectionHandle) {
        let Ok(local) = stream.local_addr() else { return };
        let _ = stream.set_nodelay(true);
        let (service, caller) = (&self.service, &Caller { local, place });
        let answer = service_fn(|request| async move { Ok::<_, Infallible>(service.answer(request, caller).await) });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.limits.head_max).max_buf_size(self.limits.buffer_bytes);
        let connection = pin!(http.keep_alive(false).serve_connection(TokioIo::new(stream), answer));
        let _ = timeout(self.limits.connection_max, connection).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    struct Echo;

    impl Service for Echo {
        async fn answer(&self, request: Request<Incoming>, caller: &Caller) -> Response<Body> {
            Response::new(whole(format!("{} {}", request.uri(), caller.local)))
        }
    }

    fn open(connections_max: usize) -> Server {
        let limits = Limits {
            connections_max,
            head_max: Duration::from_secs(20),
            buffer_bytes: 16 << 10,
            connection_max: Duration::from_secs(60),
            grace: Duration::from_millis(100),
        };
        Listener::bind("127.0.0.1:0").unwrap().serve("echo", limits, Echo).unwrap()
    }

    fn ask(server: &Server, head: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_connection_has_one_request_and_its_answer() {
        let server = open(4);
        let answer = ask(&server, "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n/a?b {}", server.address())), "{answer}");
    }

    #[test]
    fn silent_connections_keep_nobody_out_and_a_long_head_is_refused() {
        let server = open(4);
        let silent: Vec<_> = (0..50).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        assert!(ask(&server, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").starts_with("HTTP/1.1 200"));
        let long = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(20 << 10));
        assert!(!ask(&server, &long).starts_with("HTTP/1.1 200"));
        drop(silent);
    }

    #[test]
    fn nobody_listens_any_more_once_it_is_closed() {
        let mut server = open(4);
        let address = server.address();
        let idle = TcpStream::connect(address).unwrap();
        assert!(server.close());
        assert!(TcpStream::connect(address).is_err());
        drop(idle);
    }
}
