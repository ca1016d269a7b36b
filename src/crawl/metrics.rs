//! The figures of this moment for Prometheus, over HTTP.
//!
//! The engine's thread puts a copy down once a second; the server's own thread hands it out and touches nothing of the
//! crawl. Its address is in `metrics.address` as long as it listens. Anyone who can connect can read: it listens where
//! the operator says, has no secrets and takes no orders. Connections are few and short, each has one request, and the
//! oldest one gives way to a new one: those that say nothing keep nobody from the figures.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::CrawlError;
use crate::disk::Disk;
use crate::record::Live;
use crate::record::layout;
use crate::report::metrics::{Process, SinkCounters, render};
use crate::server::{Body, Caller, Limits, Listener, Server, Service, whole};

const LIMITS: Limits = Limits {
    connections_max: 16,
    head_max: Duration::from_secs(5),
    buffer_bytes: 408 << 10,
    connection_max: Duration::from_secs(10),
    grace: Duration::ZERO,
};

/// The figures that are handed out.
#[derive(Default)]
struct Figures {
    live: Mutex<Option<Arc<Live>>>,
    /// Name of the node, in a crawl on many machines.
    node: String,
    sinks: OnceLock<SinkCounters>,
}

type Shared = Arc<Figures>;

/// The server's side of them.
struct Answers {
    figures: Shared,
    /// Start of this process, in seconds since 1970.
    started: f64,
}

/// The copy that is handed out, and the server that does it. Where no address is configured it does nothing.
pub(super) struct Endpoint {
    open: Option<Open>,
}

struct Open {
    shared: Shared,
    file: PathBuf,
    server: Server,
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
        let listener = Listener::bind(address).map_err(refused)?;
        let at = listener.address();
        let shared = Shared::new(Figures { node: node.to_owned(), ..Figures::default() });
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let answers = Answers { figures: shared.clone(), started };
        let server = listener.serve("metrics", LIMITS, answers).map_err(refused)?;
        disk.replace(&file, format!("{at}\n").as_bytes())?;
        tracing::info!("metrics at http://{at}/metrics");
        if !at.ip().is_loopback() {
            tracing::warn!("report.metrics: {at} is open to others; anyone who can connect can read the figures");
        }
        Ok(Endpoint { open: Some(Open { shared, file, server }) })
    }

    /// Counts what went into the sinks of the crawl.
    pub(super) fn count(&self, sinks: SinkCounters) {
        if let Some(open) = &self.open {
            let _ = open.shared.sinks.set(sinks);
        }
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
        self.server.close();
    }
}

impl Service for Answers {
    async fn answer(&self, request: Request<Incoming>, _: &Caller) -> Response<Body> {
        answer(&request, &self.figures, self.started)
    }
}

fn answer<B>(request: &Request<B>, figures: &Figures, started: f64) -> Response<Body> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET is supported\n".to_owned());
    }
    let live = figures.live.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match (request.uri().path(), live) {
        ("/", _) => respond(StatusCode::OK, PLAIN, "/metrics\n".to_owned()),
        ("/metrics", None) => respond(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "the crawl is being opened\n".to_owned()),
        ("/metrics", Some(live)) => {
            let sinks = figures.sinks.get().cloned().unwrap_or_default();
            let text = render(&live, &Process::now(started), &figures.node, &sinks);
            respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        _ => respond(StatusCode::NOT_FOUND, PLAIN, "only /metrics exists\n".to_owned()),
    }
}

fn respond(status: StatusCode, mime: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}
