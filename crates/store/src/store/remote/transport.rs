//! Transport of requests to a store: by the crawler's HTTP client and its TLS (rustls with ring, Mozilla's roots), at a
//! bounded pace, and never in clear to another machine unless the operator said so.
//!
//! A request that gets no further for a while in either direction is given up. An answer that is no success becomes a
//! [`Trouble`], so that all stores' answers are judged in one place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::range::{self, Cut};
use super::trouble::{Trouble, harmless};
use crate::store::pace::{CHUNK_BYTES, Pace};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer that is no success which are read.
const ANSWER_BYTES_MAX: usize = 16 << 10;

/// Makes clients for the crate; all have one pool of connections.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    client: reqwest::Client,
    sending: Arc<Pace>,
    receiving: Arc<Pace>,
    stall_max: Duration,
}

impl Transport {
    /// Makes a transport with Mozilla's root certificates and these. `is_direct` where no proxy of the environment is
    /// to be asked.
    pub(crate) fn new(
        roots: &[CertificateDer<'static>],
        is_direct: bool,
        bytes_per_second: Option<u64>,
        stall_max: Duration,
    ) -> Result<Transport, String> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("crawler/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls(roots)?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http1_only();
        if is_direct {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|e| text(&e))?;
        let pace = || Arc::new(Pace::new(bytes_per_second));
        Ok(Transport { client, sending: pace(), receiving: pace(), stall_max })
    }
}

fn tls(roots: &[CertificateDer<'static>]) -> Result<ClientConfig, String> {
    let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in roots {
        store.add(root.clone()).map_err(|e| e.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config.map_err(|e| e.to_string())?.with_root_certificates(store).with_no_client_auth())
}

impl HttpConnector for Transport {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allow = options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        Ok(HttpClient::new(Service { transport: self.clone(), may_go_in_clear: allow }))
    }
}

#[derive(Debug)]
struct Service {
    transport: Transport,
    may_go_in_clear: bool,
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let Transport { client, sending, receiving, stall_max } = &self.transport;
        let (parts, body) = request.into_parts();
        let url: reqwest::Url = parts.uri.to_string().parse().map_err(|e| failed(not_sent(&e)))?;
        if url.scheme() == "http" && !self.may_go_in_clear && !is_loopback(&url) {
            let refusal = "its endpoint is http:// on another machine, which would show everything to others on the \
                           way: use https://, or permit it with AWS_ALLOW_HTTP=true (GOOGLE_ALLOW_HTTP, \
                           AZURE_ALLOW_HTTP)";
            return Err(failed(Trouble::NotSent(refusal.to_owned())));
        }
        let (progress, asked) = (Arc::new(Progress::new()), range::asked(&parts.headers));
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(match body.as_bytes() {
            Some(bytes) => bytes.clone().into(),
            None => reqwest::Body::wrap_stream(paced(body, sending.clone(), progress.clone())),
        });
        let answer = progress.watch(*stall_max, client.execute(request)).await?;
        let answer = answer.map_err(|e| failed(Trouble::NoAnswer(text(&e.without_url()))))?;
        let answer: Response<reqwest::Body> = answer.into();
        if !answer.status().is_success() {
            return Err(failed(progress.watch(*stall_max, refusal(answer)).await?));
        }
        let (mut parts, body) = answer.into_parts();
        let cut = asked.map(|asked| range::cut(asked, &mut parts)).transpose().map_err(failed)?;
        let body = StreamBody::new(received(body, receiving.clone(), *stall_max, cut.flatten()));
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// Reads an answer that is no success into a [`Trouble`].
async fn refusal(answer: Response<reqwest::Body>) -> Trouble {
    let (parts, body) = answer.into_parts();
    let mut content = Vec::new();
    let mut frames = body.into_data_stream();
    while let Some(Ok(piece)) = frames.next().await
        && content.len() < ANSWER_BYTES_MAX
    {
        content.extend_from_slice(&piece);
    }
    let region = parts.headers.get("x-amz-bucket-region").and_then(|value| value.to_str().ok());
    Trouble::answer(parts.status, region.map(str::to_owned), &String::from_utf8_lossy(&content))
}

/// The bytes of a request, piece by piece at the pace.
fn paced(
    body: HttpRequestBody,
    pace: Arc<Pace>,
    progress: Arc<Progress>,
) -> impl Stream<Item = Result<Bytes, HttpError>> + Send + 'static {
    stream::unfold((body, Bytes::new(), pace, progress), |(mut body, mut rest, pace, progress)| async move {
        while rest.is_empty() {
            match body.frame().await? {
                Ok(frame) => rest = frame.into_data().unwrap_or_default(),
                Err(error) => return Some((Err(error), (body, rest, pace, progress))),
            }
        }
        // small pieces also without a bound: each that the connection takes is progress
        let piece = rest.split_to(rest.len().min(CHUNK_BYTES));
        wait(&pace, piece.len(), &progress).await;
        Some((Ok(piece), (body, rest, pace, progress)))
    })
}

/// The bytes of an answer, at the pace; of a whole object what is cut out of it.
fn received(
    body: reqwest::Body,
    pace: Arc<Pace>,
    stall_max: Duration,
    cut: Option<Cut>,
) -> impl Stream<Item = Result<Frame<Bytes>, HttpError>> + Send + Sync + 'static {
    stream::unfold((body, pace, cut), move |(mut body, pace, mut cut)| async move {
        if cut.as_ref().is_some_and(Cut::is_done) {
            return None;
        }
        let progress = Progress::new();
        let frame = match progress.watch(stall_max, body.frame()).await {
            Ok(frame) => frame?.map_err(|e| failed(Trouble::NoAnswer(text(&e)))),
            Err(stalled) => Err(stalled),
        };
        if let Some(bytes) = frame.as_ref().ok().and_then(|frame| frame.data_ref()) {
            wait(&pace, bytes.len(), &progress).await;
        }
        let frame = match &mut cut {
            Some(cut) => frame.map(|frame| frame.map_data(|piece| cut.of(piece))),
            None => frame,
        };
        Some((frame, (body, pace, cut)))
    })
}

async fn wait(pace: &Pace, bytes: usize, progress: &Progress) {
    if let Some(at) = pace.reserve(bytes, Instant::now()) {
        progress.moved(at);
        tokio::time::sleep_until(at.into()).await;
    }
    progress.moved(Instant::now());
}

/// Time at which a request got further last.
#[derive(Debug)]
struct Progress {
    start: Instant,
    moved_ms: AtomicU64,
}

impl Progress {
    fn new() -> Progress {
        Progress { start: Instant::now(), moved_ms: AtomicU64::new(0) }
    }

    fn moved(&self, at: Instant) {
        self.moved_ms.fetch_max(at.duration_since(self.start).as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns what `future` brings, unless nothing moves for `stall_max`.
    async fn watch<T>(&self, stall_max: Duration, future: impl Future<Output = T>) -> Result<T, HttpError> {
        let mut future = std::pin::pin!(future);
        loop {
            let moved = self.start + Duration::from_millis(self.moved_ms.load(Ordering::Relaxed));
            let end = moved.max(self.start) + stall_max;
            match tokio::time::timeout_at(end.into(), &mut future).await {
                Ok(value) => return Ok(value),
                Err(_) if self.start + Duration::from_millis(self.moved_ms.load(Ordering::Relaxed)) > moved => {}
                Err(_) => {
                    let words = format!("it got no further for {} s", stall_max.as_secs());
                    return Err(failed(Trouble::NoAnswer(words)));
                }
            }
        }
    }
}

/// Makes an error that the crate does not judge by itself.
fn failed(trouble: Trouble) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, trouble)
}

fn not_sent(error: &dyn std::error::Error) -> Trouble {
    Trouble::NotSent(text(error))
}

/// An error with its causes: the innermost says what happened.
fn text(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let (outer, inner) = (error.to_string(), innermost.to_string());
    harmless(&if outer == inner { outer } else { format!("{outer}: {inner}") })
}

/// Returns whether `url` leads to this machine.
pub fn is_loopback(url: &reqwest::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
