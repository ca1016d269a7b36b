//! One request: vetted address, head, body within its limits.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::failure::{classify, describe};
use super::{FetchOptions, SMALL_BODY_BYTES, Shared};
use crate::clock::Time;
use crate::engine::{Event, FetchFailed, FetchJob, Fetched, Response};
use crate::outcome::Failure;
use crate::web::warc::{HttpVersion, Truncation};

const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";
/// A body may be slower than `rate_min` for this long.
const SLOW_GRACE: Duration = Duration::from_secs(10);

/// Makes the request of `job` and hands on what came of it.
pub(super) async fn run(shared: Arc<Shared>, job: FetchJob) {
    let started = shared.clock.now();
    let clock = Instant::now();
    let result = exchange(&shared, &job, started, clock).await;
    // a receiver that is gone means that the crawl is over
    match result {
        Ok(response) => drop(shared.answers.send(Fetched { job, response })),
        Err((failure, detail)) => {
            let duration = clock.elapsed();
            let failed = FetchFailed { job, failure, detail, started, duration };
            drop(shared.events.send(Event::Failed(Box::new(failed))));
        }
    }
}

async fn exchange(
    shared: &Shared,
    job: &FetchJob,
    started: Time,
    clock: Instant,
) -> Result<Response, (Failure, String)> {
    // the client asks its resolver for names only: a literal is checked here
    if let Some(literal) = job.url.literal_address()
        && !shared.guard.permits(literal)
    {
        return Err((Failure::PrivateAddress, format!("{literal} is not in the public internet")));
    }
    let _pinned = (!job.addresses.is_empty()).then(|| shared.resolver.pin(job.url.host(), &job.addresses));
    let deadline = clock + shared.options.timeout_total;
    let mut request =
        shared.client.get(job.url.as_str()).header("accept", ACCEPT).header("accept-encoding", ACCEPT_ENCODING);
    for (name, value) in job.condition.iter().flat_map(|condition| condition.validators.headers()) {
        request = request.header(name, value);
    }
    let mut answer = match timeout_at(deadline, request.send()).await {
        Err(_) => return Err((Failure::Timeout, format!("no answer in {:?}", shared.options.timeout_total))),
        Ok(Err(error)) => return Err((classify(&error), describe(&error))),
        Ok(Ok(answer)) => answer,
    };
    let (body, truncated) = read_body(shared, &mut answer, deadline).await;
    let status = answer.status();
    let reason = match answer.extensions().get::<hyper::ext::ReasonPhrase>() {
        Some(sent) => String::from_utf8_lossy(sent.as_bytes()).into_owned(),
        None => status.canonical_reason().unwrap_or_default().to_owned(),
    };
    let headers =
        answer.headers().iter().map(|(name, value)| (name.as_str().as_bytes().into(), value.as_bytes().into()));
    Ok(Response {
        status: status.as_u16(),
        reason,
        version: version(answer.version()),
        headers: headers.collect(),
        truncated,
        address: answer.remote_addr().map(|socket| socket.ip()),
        request: request_head(job, &shared.options),
        started,
        duration: clock.elapsed(),
        body,
    })
}

/// Reads the body to its end or to a limit, and says which limit.
async fn read_body(
    shared: &Shared,
    answer: &mut reqwest::Response,
    deadline: Instant,
) -> (Vec<u8>, Option<Truncation>) {
    let options = &shared.options;
    let began = Instant::now();
    let expected = usize::try_from(answer.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    let mut body = Vec::with_capacity(expected.min(SMALL_BODY_BYTES).min(options.body_max));
    let mut place = None;
    loop {
        let chunk = match timeout_at(deadline, answer.chunk()).await {
            Err(_) => return (body, Some(Truncation::Time)),
            Ok(Err(_)) => return (body, Some(Truncation::Disconnect)),
            Ok(Ok(None)) => return (body, None),
            Ok(Ok(Some(chunk))) => chunk,
        };
        let room = options.body_max - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return (body, Some(Truncation::Length));
        }
        if body.len() + chunk.len() > SMALL_BODY_BYTES && place.is_none() {
            match timeout_at(deadline, shared.large_bodies.acquire()).await {
                Ok(permit) => place = permit.ok(),
                Err(_) => return (body, Some(Truncation::Time)),
            }
        }
        body.extend_from_slice(&chunk);
        let elapsed = began.elapsed();
        if elapsed > SLOW_GRACE && (body.len() as f64) < options.rate_min as f64 * elapsed.as_secs_f64() {
            return (body, Some(Truncation::Time));
        }
    }
}

/// The head of the request as HTTP/1.1 text, for the archive.
fn request_head(job: &FetchJob, options: &FetchOptions) -> Vec<u8> {
    let url = &job.url;
    let mut head = format!("GET {} HTTP/1.1\r\n", url.path_and_query());
    let default_port = if url.is_https() { 443 } else { 80 };
    let host = url.host();
    let _ = match url.port() {
        port if port == default_port => write!(head, "host: {host}\r\n"),
        port => write!(head, "host: {host}:{port}\r\n"),
    };
    let _ = write!(
        head,
        "user-agent: {}\r\naccept: {ACCEPT}\r\naccept-encoding: {ACCEPT_ENCODING}\r\n",
        options.user_agent
    );
    let mut head = head.into_bytes();
    for (name, value) in job.condition.iter().flat_map(|condition| condition.validators.headers()) {
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn version(version: reqwest::Version) -> HttpVersion {
    match version {
        reqwest::Version::HTTP_2 | reqwest::Version::HTTP_3 => HttpVersion::Http2,
        reqwest::Version::HTTP_09 | reqwest::Version::HTTP_10 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}
