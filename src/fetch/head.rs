//! The head of a request: one list of its fields, for the client that sends them and for the archive.

use std::fmt::Write as _;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderName};

use crate::clock::Time;
use crate::engine::{CookieUse, FetchJob, RequestSettings};
use crate::signature::SignatureFields;
use crate::web::secret::REDACTED;

/// A field of a head.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub name: &'a str,
    pub value: &'a [u8],
    /// Whether nobody may learn the value but the server.
    pub is_secret: bool,
}

/// What every request says, beside its host and the user agent.
pub(super) const EVERY_REQUEST: [(HeaderName, &str); 2] = [
    (ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    // codings that the link scan can undo
    (ACCEPT_ENCODING, "gzip, deflate, br, zstd"),
];

/// What requests with `settings` say, the user agent first.
pub(super) fn of_settings(settings: &RequestSettings) -> impl Iterator<Item = Field<'_>> {
    let plain = |name, value| Field { name, value, is_secret: false };
    let more = settings.fields.iter().map(move |(name, value)| plain(name.as_str(), value.as_bytes()));
    let secrets = settings.secrets.iter();
    let secrets = secrets.map(|(name, value)| Field { name, value: value.expose().as_bytes(), is_secret: true });
    std::iter::once(plain("user-agent", settings.user_agent.as_bytes())).chain(more).chain(secrets)
}

/// What the request of `job` says beside that: on which conditions it wants an answer, its cookies, and the type of
/// what it sends.
pub(super) fn of_job(job: &FetchJob) -> impl Iterator<Item = Field<'_>> {
    let fields = job.condition.iter().flat_map(|condition| condition.validators.headers());
    let fields = fields.map(|(name, value): (&str, &[u8])| Field { name, value, is_secret: false });
    let holds_secrets = job.settings.as_ref().is_some_and(|settings| settings.cookies == CookieUse::Secret);
    let cookie = job.cookie.iter().map(move |cookie| Field {
        name: "cookie",
        value: cookie.expose().as_bytes(),
        is_secret: holds_secrets,
    });
    let plain = |name, value: &'static str| Field { name, value: value.as_bytes(), is_secret: false };
    let sent = job.submission().map(|sent| plain("content-type", sent.content_type));
    fields.chain(cookie).chain(sent)
}

/// The fields that sign the request of `job`, made at `now`; none where it is not signed.
pub(super) fn of_signature(job: &FetchJob, settings: &RequestSettings, now: Time) -> Option<SignatureFields> {
    let method = if job.submission().is_some() { "POST" } else { "GET" };
    settings.signer.as_ref().map(|signer| signer.sign(method, &job.url, now))
}

/// Those fields; they are no secrets.
pub(super) fn of_signed(signature: Option<&SignatureFields>) -> impl Iterator<Item = Field<'_>> {
    let fields = signature.into_iter().flatten();
    fields.map(|(name, value)| Field { name, value: value.as_bytes(), is_secret: false })
}

/// The whole head as HTTP/1.1 text, for the archive; `signature` as it was sent.
pub(super) fn text(job: &FetchJob, settings: &RequestSettings, signature: Option<&SignatureFields>) -> Vec<u8> {
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
    for Field { name, value, is_secret } in of_settings(settings).chain(of_job(job)).chain(of_signed(signature)) {
        let value = if is_secret && settings.redacts { REDACTED.as_bytes() } else { value };
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}
