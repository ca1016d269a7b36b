//! The figures of this moment for Prometheus, over HTTP.
//!
//! The engine's thread puts a copy down once a second; the server's own thread hands it out and touches nothing of the
//! crawl. Its address is in `metrics.address` as long as it listens. Anyone who can connect can read: it listens where
//! the operator says, has no secrets and takes no orders. Connections are few and short, each has one request, and the
//! oldest one gives way to a new one: those that say nothing keep nobody from the figures.

use std::convert::Infallible;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::CrawlError;
use crate::connections::Connections;
use crate::disk::Disk;
use crate::record::Live;
use crate::record::layout;
use crate::report::metrics::{Process, render};

/// Connections at a time.
const CONNECTIONS_MAX: usize = 16;
/// A request has to have come within this time.
const HEAD_MAX: Duration = Duration::from_secs(5);
/// A connection ends after this long, whatever it does.
const CONNECTION_MAX: Duration = Duration::from_secs(10);
/// Time after which another connection is tried again, where there was no file for it.
const PAUSE: Duration = Duration::from_millis(50);

/// The figures that are handed out.
#[derive(Default)]
struct Figures {
    live: Mutex<Option<Arc<Live>>>,
    /// Name of the node, in a crawl on many machines.
    node: String,
}

type Shared = Arc<Figures>;

/// The copy that is handed out, and the server that does it. Where no address is configured it does nothing.
pub(super) struct Endpoint {
    open: Option<Open>,
}

struct Open {
    shared: Shared,
    file: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Listens at `address`, unless that is `off`, for the crawl in `dir`; `node` is the name of this one of many
    /// machines.
    pub(super) fn open(address: &str, disk: &Disk, dir: &Path, node: &str) -> Result<Endpoint, CrawlError> {
        let file = dir.join(layout::METRICS_ADDRESS);
        // what a killed process left behind
        disk.remove(&file)?;
        if address == "off" {
            return Ok(Endpoint { open: None });
        }
        let refused = |e: std::io::Error| CrawlError::Usage(format!("report.metrics: cannot listen at {address}: {e}"));
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        let shared = Shared::new(Figures { node: node.to_owned(), ..Figures::default() });
        let (stop, stopped) = oneshot::channel();
        let given = shared.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(refused)?;
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || runtime.block_on(serve(listener, given, stopped)))
            .map_err(refused)?;
        disk.replace(&file, format!("{at}\n").as_bytes())?;
        tracing::info!("metrics at http://{at}/metrics");
        if !at.ip().is_loopback() {
            tracing::warn!("report.metrics: {at} is open to others; anyone who can connect can read the figures");
        }
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(Endpoint { open: Some(Open { shared, file, stop, thread }) })
    }

    /// True if anybody listens to what is put down.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Puts figures down for anyone who asks from now on.
    pub(super) fn put(&mut self, live: Live) {
        if let Some(open) = &self.open {
            *open.shared.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(live));
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // one that stays says where nobody listens any more, which its readers find out
        let _ = Disk::real().remove(&self.file);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, shared: Shared, mut stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let mut connections = Connections::new(CONNECTIONS_MAX);
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connections.take_in(|_| converse(stream, shared.clone(), started)),
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            () = connections.end_of_one() => {}
        }
    }
}

/// One request and its answer.
async fn converse(stream: TcpStream, shared: Shared, started: f64) {
    let service = service_fn(|request| {
        let response = answer(&request, &shared, started);
        async { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).keep_alive(false);
    let _ = tokio::time::timeout(CONNECTION_MAX, http.serve_connection(TokioIo::new(stream), service)).await;
}

fn answer<B>(request: &Request<B>, shared: &Shared, started: f64) -> Response<Full<Bytes>> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET is supported\n".to_owned());
    }
    let live = shared.live.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match (request.uri().path(), live) {
        ("/", _) => respond(StatusCode::OK, PLAIN, "/metrics\n".to_owned()),
        ("/metrics", None) => respond(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "the crawl is being opened\n".to_owned()),
        ("/metrics", Some(live)) => {
            let text = render(&live, &Process::now(started), &shared.node);
            respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        _ => respond(StatusCode::NOT_FOUND, PLAIN, "only /metrics exists\n".to_owned()),
    }
}

fn respond(status: StatusCode, mime: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}
