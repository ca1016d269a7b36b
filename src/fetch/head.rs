//! The head of a request: one list of its fields, for the client that sends them and for the archive.

use std::fmt::Write as _;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderName};

use crate::engine::{FetchJob, RequestSettings};

/// What every request says, beside its host and the user agent.
pub(super) const EVERY_REQUEST: [(HeaderName, &str); 2] = [
    (ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    // codings that the link scan can undo
    (ACCEPT_ENCODING, "gzip, deflate, br, zstd"),
];

/// What requests with `settings` say, the user agent first.
pub(super) fn of_settings(settings: &RequestSettings) -> impl Iterator<Item = (&str, &[u8])> {
    let more = settings.fields.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    std::iter::once(("user-agent", settings.user_agent.as_bytes())).chain(more)
}

/// What the request of `job` says beside that: on which conditions it wants an answer.
pub(super) fn of_job(job: &FetchJob) -> impl Iterator<Item = (&str, &[u8])> {
    let fields = job.condition.iter().flat_map(|condition| condition.validators.headers());
    fields.map(|(name, value): (&str, &[u8])| (name, value))
}

/// The whole head as HTTP/1.1 text, for the archive.
pub(super) fn text(job: &FetchJob, settings: &RequestSettings) -> Vec<u8> {
    let url = &job.url;
    let mut head = format!("GET {} HTTP/1.1\r\n", url.path_and_query());
    let default_port = if url.is_https() { 443 } else { 80 };
    let host = url.host();
    let _ = match url.port() {
        port if port == default_port => write!(head, "host: {host}\r\n"),
        port => write!(head, "host: {host}:{port}\r\n"),
    };
    let is_own = |name: &HeaderName| settings.fields.iter().any(|(field, _)| field == name.as_str());
    for (name, value) in EVERY_REQUEST.into_iter().filter(|(name, _)| !is_own(name)) {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let mut head = head.into_bytes();
    for (name, value) in of_settings(settings).chain(of_job(job)) {
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}
