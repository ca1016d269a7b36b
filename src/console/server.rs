//! The server: takes connections in, and answers one request of each, on a separate thread.
//!
//! It waits for nothing but the network and the readers. Connections are bounded, and one that idles gives way to a new
//! one; a head has to come within seconds and in few bytes; a stream ends after an hour, and a browser opens another.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::poller::Poller;
use super::readers::Readers;
use super::routes::{Caller, Routes};
use super::source::Source;
use super::streams::Streams;
use super::token::Token;
use crate::connections::{ConnectionHandle, Connections};

/// Connections at a time. Those that may not be closed for others are fewer: streams, and questions with the readers.
const CONNECTIONS_MAX: usize = 128;
/// A request's head has to have come within this time.
const HEAD_MAX: Duration = Duration::from_secs(5);
/// Bytes of a head, and of what waits to be taken by the other end.
const BUFFER_BYTES: usize = 32 << 10;
/// A connection ends after this long, whatever it does: a browser opens a stream again.
const CONNECTION_MAX: Duration = Duration::from_secs(3_600);
/// Time after which a connection is tried again when there was no file for it.
const PAUSE: Duration = Duration::from_millis(50);
/// Time that streams have to end when the console closes.
const GRACE: Duration = Duration::from_millis(500);

/// Reasons for which a console cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// Nothing can listen there.
    #[error("the console cannot listen at {address}: {source}{hint}")]
    Listen {
        /// Where.
        address: String,
        /// The error of the system.
        source: io::Error,
        /// Advice on what to do.
        hint: &'static str,
    },
    /// A thread, a runtime or random numbers.
    #[error("the console cannot be started: {0}")]
    Start(String),
}

/// An open console. It closes when it is dropped.
pub struct Console {
    address: SocketAddr,
    token: Token,
    poller: Poller,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Console {
    /// Listens at `address`, and shows `source` to those who come.
    pub(crate) fn open(address: &str, source: Arc<dyn Source>) -> Result<Console, ConsoleError> {
        let refused = |source: io::Error| {
            let is_taken = source.kind() == io::ErrorKind::AddrInUse;
            let hint = "; another console may be open there. Choose another port, or 127.0.0.1:0 for any free one";
            ConsoleError::Listen { address: address.to_owned(), source, hint: if is_taken { hint } else { "" } }
        };
        let failed = |error: io::Error| ConsoleError::Start(error.to_string());
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        let token = Token::new().map_err(|error| ConsoleError::Start(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let readers = Readers::start(&source).map_err(failed)?;
        let poller = Poller::start(source).map_err(failed)?;
        let routes =
            Routes { token: token.clone(), poller: poller.shared.clone(), readers, streams: Streams::default() };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("console".to_owned());
        let thread = thread.spawn(move || runtime.block_on(serve(listener, routes, stopped))).map_err(failed)?;
        Ok(Console { address: at, token, poller, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address at which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL that a browser opens to see it and to give orders. It ends with the token, and is for the
    /// terminal alone.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token.as_text())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // streams hear the end first
        self.poller.stop();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the console's thread panicked");
        }
    }
}

async fn serve(listener: TcpListener, routes: Routes, mut stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let routes = Arc::new(routes);
    let mut connections = Connections::new(CONNECTIONS_MAX);
    loop {
        let has_place = connections.has_place();
        tokio::select! {
            _ = &mut stopped => break,
            accepted = listener.accept(), if has_place => match accepted {
                Ok((stream, _)) => connections.take_in(|place| converse(stream, routes.clone(), place)),
                Err(_) => sleep(PAUSE).await,
            },
            () = connections.end_of_one() => {}
        }
    }
    drop(listener);
    let _ = timeout(GRACE, connections.end_of_all()).await;
}

/// One request and its answer.
async fn converse(stream: TcpStream, routes: Arc<Routes>, place: ConnectionHandle) {
    let Ok(local) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true);
    let (routes, caller) = (&routes, &Caller { local, place });
    let service = service_fn(|request| routes.answer(request, caller));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).max_buf_size(BUFFER_BYTES).keep_alive(false);
    let connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let _ = timeout(CONNECTION_MAX, connection).await;
}
