//! The head of a request: one list of its fields, for the client that sends them and for the archive.

use std::fmt::Write as _;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderName};

use crate::engine::FetchJob;

/// What every request says, beside its host and the user agent.
pub(super) const EVERY_REQUEST: [(HeaderName, &str); 2] = [
    (ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    // codings that the link scan can undo
    (ACCEPT_ENCODING, "gzip, deflate, br, zstd"),
];

/// What the request of `job` says beside that: on which conditions it wants an answer.
pub(super) fn of_job(job: &FetchJob) -> impl Iterator<Item = (&'static str, &[u8])> {
    job.condition.iter().flat_map(|condition| condition.validators.headers())
}

/// The whole head as HTTP/1.1 text, for the archive.
pub(super) fn text(job: &FetchJob, user_agent: &str) -> Vec<u8> {
    let url = &job.url;
    let mut head = format!("GET {} HTTP/1.1\r\n", url.path_and_query());
    let default_port = if url.is_https() { 443 } else { 80 };
    let host = url.host();
    let _ = match url.port() {
        port if port == default_port => write!(head, "host: {host}\r\n"),
        port => write!(head, "host: {host}:{port}\r\n"),
    };
    let _ = write!(head, "user-agent: {user_agent}\r\n");
    for (name, value) in EVERY_REQUEST {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let mut head = head.into_bytes();
    for (name, value) in of_job(job) {
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}
