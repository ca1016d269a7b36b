//! The figures of this moment for whoever asks over HTTP: `/metrics` for Prometheus, `/status.json` for `crawler status`.
//!
//! The engine's thread puts a copy down once a second; the server's own thread hands it out and touches nothing of the
//! crawl. Where it listens lies in `metrics.address` for as long as it does. Whoever can connect can read: it listens where
//! the operator says, has no secrets and takes no orders. Connections are few and short.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
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
use hyper_util::rt::TokioIo;
use tokio::sync::{Semaphore, oneshot};

use super::CrawlError;
use super::memory::Ceiling;
use crate::clock::Time;
use crate::disk::Disk;
use crate::engine::Engine;
use crate::report::metrics::{Live, Process, Rates, render};

/// Name of the file that says where it listens.
pub const ADDRESS_FILE: &str = "metrics.address";
/// The figures are put down this often.
const EVERY: Duration = Duration::from_secs(1);
/// Time that a rate covers.
const WINDOW: Duration = Duration::from_secs(10);
/// Connections at a time.
const CONNECTIONS_MAX: usize = 16;
/// A connection ends after so long, whatever it does.
const CONNECTION_MAX: Duration = Duration::from_secs(30);

type Shared = Arc<Mutex<Option<Arc<Live>>>>;

/// The copy that is handed out, and the server that does it. Where no address is configured it does nothing.
pub(super) struct Desk {
    open: Option<Open>,
}

struct Open {
    shared: Shared,
    due: Time,
    samples: VecDeque<(Time, [u64; 3])>,
    ceiling: u64,
    file: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Desk {
    /// Listens at `address`, unless that is `off`, for the crawl in `dir`.
    pub(super) fn open(address: &str, disk: &Disk, dir: &Path, ceiling: &Ceiling) -> Result<Desk, CrawlError> {
        let file = dir.join(ADDRESS_FILE);
        // what a killed process left behind
        disk.remove(&file)?;
        if address == "off" {
            return Ok(Desk { open: None });
        }
        let refused = |e: std::io::Error| CrawlError::Usage(format!("report.metrics: cannot listen at {address}: {e}"));
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        let shared = Shared::default();
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
            tracing::warn!("report.metrics: {at} is open to others; whoever can connect can read the figures");
        }
        let (due, samples) = (Time::ZERO, VecDeque::new());
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(Desk { open: Some(Open { shared, due, samples, ceiling: ceiling.bytes, file, stop, thread }) })
    }

    /// Puts the figures of the engine down, if it is time to.
    pub(super) fn put(&mut self, engine: &mut Engine, now: Time) {
        let Some(open) = self.open.as_mut().filter(|open| now >= open.due) else { return };
        open.due = now + EVERY;
        let mut live = engine.live();
        live.memory_ceiling_bytes = open.ceiling;
        let statistics = &live.snapshot.statistics;
        live.rates = open.rates(now, [statistics.pages_stored, statistics.requests, statistics.bytes_received]);
        *open.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(live));
    }
}

impl Open {
    fn rates(&mut self, now: Time, counts: [u64; 3]) -> Rates {
        while self.samples.len() > 1 && now.since(self.samples[1].0) >= WINDOW {
            self.samples.pop_front();
        }
        self.samples.push_back((now, counts));
        let &(since, before) = self.samples.front().expect("one was pushed");
        let seconds = now.since(since).as_secs_f64();
        let rate = |n: usize| if seconds > 0.0 { counts[n].saturating_sub(before[n]) as f64 / seconds } else { 0.0 };
        Rates { pages: rate(0), requests: rate(1), bytes: rate(2) }
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

async fn serve(listener: TcpListener, shared: Shared, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let accept = async {
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let shared = shared.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let response = answer(&request, &shared, started);
                    async { Ok::<_, Infallible>(response) }
                });
                let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                let _ = tokio::time::timeout(CONNECTION_MAX, connection).await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}

fn answer<B>(request: &Request<B>, shared: &Shared, started: f64) -> Response<Full<Bytes>> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "GET is all there is\n".to_owned());
    }
    let live = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match (request.uri().path(), live) {
        ("/", _) => respond(StatusCode::OK, PLAIN, "/metrics\n/status.json\n".to_owned()),
        ("/metrics" | "/status.json", None) => {
            respond(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "the crawl is being opened\n".to_owned())
        }
        ("/metrics", Some(live)) => {
            let text = render(&live, &Process::now(started));
            respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        ("/status.json", Some(live)) => {
            let json = serde_json::to_string(&*live).expect("figures always have a JSON form");
            respond(StatusCode::OK, "application/json", json + "\n")
        }
        _ => respond(StatusCode::NOT_FOUND, PLAIN, "there are /metrics and /status.json\n".to_owned()),
    }
}

fn respond(status: StatusCode, mime: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}

/// Where the crawl in `dir` says that it listens.
pub fn address(disk: &Disk, dir: &Path) -> Option<SocketAddr> {
    let file = disk.open_if_there(dir.join(ADDRESS_FILE)).ok()??;
    let mut bytes = [0; 64];
    let count = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..count]).ok()?.trim().parse().ok()
}
