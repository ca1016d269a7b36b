//! The proxy: the archive in the place of the web, for a browser that is configured with it.
//!
//! ```text
//! GET http://host/path ────────────────────────────────────────────────► Proxied: the capture of that URL
//! CONNECT host:443, then ─┬─ TLS, with a certificate for the host ─ GET /path ─┘
//!                         └─ HTTP in plain text ───────────────────────────────┘
//! ```
//! It opens no connection: a tunnel ends here. What asks for a path of its own, as a page of another site would, is
//! refused, so it is no origin of the web. Requests over a connection or a tunnel come one after the other.

mod authority;
mod leaves;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io::{Cursor, Error, ErrorKind};
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, join, split};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::answers::Readers;
use crate::clock::{Clock, SystemClock};
use crate::crawl::CrawlError;
use crate::replay::{Origins, Proxied, Question};
use crate::serve::asking::{ask, body_of, fields, refused, without_body};
use crate::server::guard::only;
use crate::server::{Body, ConnectionHandle, Conversation, Limits, whole};
use authority::Authority;
use leaves::{HOSTS_MAX, Leaves};

/// Limits of a connection. A browser keeps one open between two requests.
pub(super) const LIMITS: Limits = Limits { head_max: Duration::from_secs(60), ..super::LIMITS };
/// Fields that a replay of this kind looks at.
const FIELDS: [&str; 7] = [
    "accept-datetime",
    "access-control-request-headers",
    "access-control-request-method",
    "content-type",
    "origin",
    "range",
    "upgrade",
];
/// The first byte of TLS: a record of a handshake.
const HANDSHAKE: u8 = 0x16;

/// The proxy of an archive.
pub(super) struct ArchiveProxy {
    proxied: Arc<Proxied>,
    readers: Readers,
    leaves: Leaves,
}

/// The other end of the requests over a connection.
#[derive(Clone, Debug)]
enum Scope {
    /// The proxy: each request names the URL.
    Proxy,
    /// A server, as the browser sees it.
    Server { scheme: &'static str, authority: String },
}

/// A tunnel that a browser wants to a server.
struct Tunnel {
    authority: String,
    opened: OnUpgrade,
}

impl ArchiveProxy {
    /// A proxy that shows `proxied`, by the authority of the crawl directory `dir`. It is made if there is none.
    pub(super) fn open(dir: &Path, proxied: Proxied) -> Result<ArchiveProxy, CrawlError> {
        let clock = SystemClock::new();
        let authority = Authority::open(dir, clock.now())?;
        let leaves = Leaves::new(authority, Box::new(clock), HOSTS_MAX)?;
        Ok(ArchiveProxy { proxied: Arc::new(proxied), readers: Readers::new(), leaves })
    }

    /// The file of the certificate of the authority that browsers have to trust.
    pub(super) fn certificate(&self) -> &Path {
        self.leaves.authority().path()
    }

    /// The digest of its key, as browsers name keys.
    pub(super) fn pin(&self) -> String {
        self.leaves.authority().pin()
    }

    /// Answers the requests over a connection. If the last one wants a tunnel, it is returned.
    async fn requests<T>(&self, io: T, scope: &Scope, place: &ConnectionHandle) -> Option<Tunnel>
    where
        T: Read + Write + Unpin + Send + 'static,
    {
        let tunnel = Mutex::new(None);
        let kept = &tunnel;
        let answer = service_fn(|request| async move {
            if *request.method() == Method::CONNECT {
                return Ok::<_, Infallible>(connect(request, scope, kept));
            }
            Ok(self.answer(request, scope, place).await)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(LIMITS.head_max).max_buf_size(LIMITS.buffer_bytes);
        let _ = pin!(http.serve_connection(io, answer).with_upgrades()).await;
        tunnel.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the requests in a tunnel as the server to which it leads.
    async fn through(&self, tunnel: Tunnel, place: &ConnectionHandle) -> Option<()> {
        let opened = tunnel.opened.await.ok()?;
        let (mut read, write) = split(TokioIo::new(opened));
        let first = timeout(LIMITS.head_max, read.read_u8()).await.ok()?.ok()?;
        let io = join(Cursor::new([first]).chain(read), write);
        let authority = tunnel.authority;
        if first == HANDSHAKE {
            let secure = timeout(LIMITS.head_max, self.secured(io, &authority)).await.ok()?.ok()?;
            let scope = Scope::Server { scheme: "https", authority };
            self.requests(TokioIo::new(secure), &scope, place).await;
        } else {
            let scope = Scope::Server { scheme: "http", authority };
            self.requests(TokioIo::new(io), &scope, place).await;
        }
        Some(())
    }

    /// Shakes hands as the server that the client names, or else as the one to which the tunnel leads.
    async fn secured<T>(&self, io: T, authority: &str) -> Result<TlsStream<T>, Error>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let start = LazyConfigAcceptor::new(Default::default(), io).await?;
        let named = start.client_hello().server_name().map(str::to_owned);
        let config = self.leaves.config(named.as_deref().unwrap_or_else(|| host(authority)));
        let config = config.map_err(|error| Error::new(ErrorKind::InvalidInput, error.to_string()))?;
        start.into_stream(config).await
    }

    async fn answer(&self, request: Request<Incoming>, scope: &Scope, place: &ConnectionHandle) -> Response<Body> {
        let (head, body) = request.into_parts();
        let Some(target) = scope.target(&head.uri, only(&head.headers, HOST)) else {
            let why = "this is a proxy that shows an archive: configure a browser with it, and open the URL of a page";
            return refused(StatusCode::MISDIRECTED_REQUEST, why);
        };
        let Some(body) = body_of(&head.method, body).await else { return without_body() };
        let (method, fields) = (head.method.to_string(), fields(&head.headers, &FIELDS));
        let question = Question { method, target, fields, body, origins: Origins::default(), site: None };
        let proxied = self.proxied.clone();
        ask(&self.readers, place, move || proxied.answer(&question)).await
    }
}

impl Conversation for ArchiveProxy {
    async fn converse(self: Arc<Self>, stream: TcpStream, place: ConnectionHandle) {
        let _ = stream.set_nodelay(true);
        let talk = async {
            if let Some(tunnel) = self.requests(TokioIo::new(stream), &Scope::Proxy, &place).await {
                self.through(tunnel, &place).await;
            }
        };
        let _ = timeout(LIMITS.connection_max, talk).await;
    }
}

impl Scope {
    /// The URL that a request asks for.
    fn target(&self, uri: &Uri, host: Option<&HeaderValue>) -> Option<String> {
        if uri.scheme().is_some() && uri.authority().is_some() {
            return Some(uri.to_string());
        }
        let Scope::Server { scheme, authority } = self else { return None };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        // a client may have a tunnel to an address, and ask a site there
        let site = host.and_then(|host| host.to_str().ok()).filter(|host| !host.is_empty()).unwrap_or(authority);
        Some(format!("{scheme}://{site}{path}"))
    }
}

/// Accepts a tunnel to any server, unless it is within another one.
fn connect(request: Request<Incoming>, scope: &Scope, kept: &Mutex<Option<Tunnel>>) -> Response<Body> {
    match (scope, request.uri().authority().map(|authority| authority.as_str().to_owned())) {
        (Scope::Proxy, Some(authority)) => {
            let tunnel = Tunnel { authority, opened: hyper::upgrade::on(request) };
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
            Response::new(whole(""))
        }
        _ => refused(StatusCode::BAD_REQUEST, "a tunnel leads to no other proxy"),
    }
}

/// The host in an authority: what is before its port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    }
}
