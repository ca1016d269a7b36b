//! The head of a request: one list of its fields, for the client that sends them and for the archive.

use std::fmt::Write as _;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderName};

use crate::clock::Time;
use crate::contract::{CookieUse, FetchJob, RequestSettings, SignatureFields};
use crate::web::request::{Method, Request};
use crate::web::secret::REDACTED;

/// A field of a head.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub name: &'a str,
    pub value: &'a [u8],
    /// True if nobody but the server may learn the value.
    pub is_secret: bool,
}

/// Fields of every request, in addition to its host and the user agent.
pub(super) const EVERY_REQUEST: [(HeaderName, &str); 2] = [
    (ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    // codings that the link scan can undo
    (ACCEPT_ENCODING, "gzip, deflate, br, zstd"),
];

/// The fields of the request of `job`; `own` is what was asked of its URL.
pub(super) fn of<'a>(
    job: &'a FetchJob,
    settings: &'a RequestSettings,
    own: Option<&'a Request>,
) -> impl Iterator<Item = Field<'a>> {
    let usual = of_settings(settings).filter(move |field| own.is_none_or(|own| own.field(field.name).is_none()));
    let plain = |(name, value): &'a (String, String)| Field { name, value: value.as_bytes(), is_secret: false };
    usual.chain(of_job(job)).chain(own.into_iter().flat_map(Request::fields).map(plain))
}

/// The fields of requests with `settings`, the user agent first.
fn of_settings(settings: &RequestSettings) -> impl Iterator<Item = Field<'_>> {
    let plain = |name, value| Field { name, value, is_secret: false };
    let more = settings.fields.iter().map(move |(name, value)| plain(name.as_str(), value.as_bytes()));
    let secrets = settings.secrets.iter();
    let secrets = secrets.map(|(name, value)| Field { name, value: value.expose().as_bytes(), is_secret: true });
    std::iter::once(plain("user-agent", settings.user_agent.as_bytes())).chain(more).chain(secrets)
}

/// The fields that only the request of `job` has: the conditions on which it wants an answer, its cookies, and the type
/// of what it sends.
fn of_job(job: &FetchJob) -> impl Iterator<Item = Field<'_>> {
    let fields = job.condition.iter().flat_map(|condition| condition.validators.headers());
    let fields = fields.map(|(name, value): (&str, &[u8])| Field { name, value, is_secret: false });
    let holds_secrets = job.settings.as_ref().is_some_and(|settings| settings.cookies == CookieUse::Secret);
    let cookie =
        job.cookie.iter().map(move |cookie| Field { name: "cookie", value: cookie.expose(), is_secret: holds_secrets });
    let plain = |name, value| Field { name, value, is_secret: false };
    let sent = job.submission().map(|sent| plain("content-type", sent.content_type.as_bytes()));
    let of_page = job.page_fields().iter().map(move |(name, value)| plain(name.as_str(), value.as_bytes()));
    fields.chain(cookie).chain(sent).chain(of_page)
}

/// The fields that sign the request of `job`, made at `now`; none where it is not signed.
pub(super) fn of_signature(job: &FetchJob, settings: &RequestSettings, now: Time) -> Option<SignatureFields> {
    let own = job.url.request().map_or(Method::Get, |own| own.method());
    let method = if job.submission().is_some() { Method::Post } else { own };
    settings.signer.as_ref().map(|signer| signer.sign(method.as_str(), &job.url, now))
}

/// The fields of a signature; they are no secrets.
pub(super) fn of_signed(signature: Option<&SignatureFields>) -> impl Iterator<Item = Field<'_>> {
    let fields = signature.into_iter().flatten();
    fields.map(|(name, value)| Field { name, value: value.as_bytes(), is_secret: false })
}

/// The whole head as HTTP/1.1 text, for the archive, and the body that an address has; `signature` as it was sent.
pub(super) fn text(job: &FetchJob, settings: &RequestSettings, signature: Option<&SignatureFields>) -> Vec<u8> {
    let url = &job.url;
    let own = url.request();
    let method = own.as_ref().map_or(Method::Get, Request::method);
    let mut head = format!("{} {} HTTP/1.1\r\n", method.as_str(), url.path_and_query());
    let default_port = if url.is_https() { 443 } else { 80 };
    let host = url.host();
    let _ = match url.port() {
        port if port == default_port => write!(head, "host: {host}\r\n"),
        port => write!(head, "host: {host}:{port}\r\n"),
    };
    let is_own = |name: &HeaderName| {
        let of_request = own.as_ref().is_some_and(|own| own.field(name.as_str()).is_some());
        let of_page = job.page_fields().iter().any(|(field, _)| field == name.as_str());
        of_request || of_page || settings.fields.iter().any(|(field, _)| field == name.as_str())
    };
    for (name, value) in EVERY_REQUEST.into_iter().filter(|(name, _)| !is_own(name)) {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let mut head = head.into_bytes();
    for Field { name, value, is_secret } in of(job, settings, own.as_ref()).chain(of_signed(signature)) {
        let value = if is_secret && settings.redacts { REDACTED.as_bytes() } else { value };
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    if method == Method::Post {
        let body = own.as_ref().map_or("", Request::body);
        head.extend_from_slice(format!("content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
    } else {
        head.extend_from_slice(b"\r\n");
    }
    head
}
