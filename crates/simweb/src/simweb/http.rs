//! The HTTP side: one listener for each loopback address, HTTP/1.1 with keep-alive, and the log.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::answer::{SimResponse, gzip};
use super::answers::SimResponses;
use super::conduct::Fate;
use super::drip::{Dripping, Tap};
use super::log::{Log, Request};
use super::validators::Validators;
use crate::clock::Time;

/// The number of bytes of a body that are handed over at a time, so that a large one is not finished before most of it
/// is sent.
const FRAME_BYTES: usize = 64 << 10;

/// State that all connections share.
#[derive(Debug)]
pub(super) struct Site {
    pub answers: SimResponses,
    pub log: Log,
    connections: AtomicU64,
}

impl Site {
    pub(crate) fn new(answers: SimResponses) -> Site {
        Site { answers, log: Log::new(), connections: AtomicU64::new(0) }
    }
}

/// Accepts connections until the runtime ends.
pub(super) async fn listen(site: Arc<Site>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(site.clone(), stream))),
            // Out of descriptors, most likely: others close their connections in the meantime.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(site: Arc<Site>, stream: TcpStream) {
    let Ok(SocketAddr::V4(local)) = stream.local_addr() else { return };
    // Small answers must not wait for acknowledgements; a socket that refuses is closed already.
    let _ = stream.set_nodelay(true);
    let number = site.connections.fetch_add(1, Ordering::Relaxed);
    let tap = Tap::default();
    let service = service_fn(|request| respond(site.clone(), *local.ip(), number, tap.clone(), request));
    // A connection that the client breaks is no fault; its requests are in the log.
    let stream = Dripping::new(stream, tap.clone(), site.answers.plan.options.drip);
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(
    site: Arc<Site>,
    address: Ipv4Addr,
    connection: u64,
    tap: Tap,
    asked: hyper::Request<Incoming>,
) -> io::Result<Response<LoggedBody>> {
    let started_us = site.log.now_us();
    let path = asked.uri().path_and_query().map_or("/", |path| path.as_str());
    let host = text(asked.headers(), header::HOST);
    let answer = match *asked.method() {
        Method::GET | Method::HEAD => site.answers.to(address, host, path, now()),
        _ => SimResponse { status: 405, content_type: "text/plain", ..Default::default() },
    };
    let validators = Validators::of(&answer);
    let condition = |name| asked.headers().get(name).map(HeaderValue::as_bytes);
    let (tag, date) = (condition(header::IF_NONE_MATCH), condition(header::IF_MODIFIED_SINCE));
    let holds = validators.as_ref().is_some_and(|validators| validators.hold(tag, date));
    let answer = if holds { SimResponse { status: 304, body: Vec::new(), gzip: false, ..answer } } else { answer };
    let entry = Request {
        host: host.rsplit_once(':').map_or(host, |(name, _)| name).to_ascii_lowercase(),
        path: path.to_owned(),
        method: asked.method().to_string(),
        status: answer.status,
        address,
        connection,
        user_agent: text(asked.headers(), header::USER_AGENT).to_owned(),
        started_us,
        finished_us: started_us,
        rest_until_us: None,
        version: answer.version.map(|version| version.changed),
    };
    // From here on the request is in the log, even if the client goes away during the wait.
    let mut body = LoggedBody { rest: Bytes::new(), chunk_bytes: answer.chunk_bytes, entry, site };
    match answer.fate {
        Fate::Answered => {}
        Fate::Closes => return Err(io::Error::other("a host that closes connections")),
        Fate::Hangs => std::future::pending().await,
    }
    if !answer.latency.is_zero() {
        tokio::time::sleep(answer.latency).await;
    }
    if let Some(drip) = answer.drip {
        tap.turn(drip);
    }
    let zipped = answer.gzip && text(asked.headers(), header::ACCEPT_ENCODING).contains("gzip");
    let (plea, wait) = answer.plea.map_or((None, None), |(plea, s)| plea.header(s, SystemTime::now()));
    body.entry.rest_until_us = wait.map(|wait| body.site.log.now_us() + wait.as_micros() as u64);
    let mut headers = headers(&answer, plea, zipped);
    for (name, value) in validators.iter().flat_map(Validators::pairs) {
        headers.insert(name, HeaderValue::from_str(value).expect("tags and dates are ASCII"));
    }
    body.rest = Bytes::from(if zipped { gzip(&answer.body) } else { answer.body });
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("the statuses of the web are valid");
    *response.headers_mut() = headers;
    Ok(response)
}

/// Returns the time by the clock of the machine.
fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::ZERO + since
}

fn headers(answer: &SimResponse, plea: Option<String>, zipped: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::SERVER, HeaderValue::from_static("simweb"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    for (name, value) in answer.fields() {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if zipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Some(location) = &answer.location {
        headers.insert(header::LOCATION, HeaderValue::from_str(location).expect("a location is ASCII"));
    }
    if let Some(plea) = plea {
        headers.insert(header::RETRY_AFTER, HeaderValue::try_from(plea).expect("what hosts say is ASCII"));
    }
    if answer.nofollow {
        headers.insert("x-robots-tag", HeaderValue::from_static("nofollow"));
    }
    headers
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// A body that enters its request in the log when the last of it is taken, or when it is given up.
struct LoggedBody {
    rest: Bytes,
    chunk_bytes: Option<usize>,
    entry: Request,
    site: Arc<Site>,
}

impl Body for LoggedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let bytes = self.chunk_bytes.unwrap_or(FRAME_BYTES).min(self.rest.len());
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunk_bytes.is_none() && self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.chunk_bytes {
            None => SizeHint::with_exact(self.rest.len() as u64),
            Some(_) => SizeHint::default(),
        }
    }
}

impl Drop for LoggedBody {
    fn drop(&mut self) {
        self.entry.finished_us = self.site.log.now_us();
        let empty = Request {
            host: String::new(),
            path: String::new(),
            method: String::new(),
            user_agent: String::new(),
            ..self.entry
        };
        self.site.log.push(std::mem::replace(&mut self.entry, empty));
    }
}
