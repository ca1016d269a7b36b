//! Requests of HTTP as questions to the archive, and its replies as answers.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::time::timeout;

use crate::answers::{INTERNAL, Readers};
use crate::replay::Reply;
use crate::server::{Body, ConnectionHandle, whole};
use crate::web::request;

/// Bytes of a body with which an archived page asks: no longer one is in an address.
const BODY_BYTES_MAX: usize = request::Request::BYTES_MAX;
/// It has to have come within this time.
const BODY_MAX: Duration = Duration::from_secs(5);

/// Asks the archive on a thread of its own. While it answers, the connection is not closed for another one.
pub(crate) async fn ask(
    readers: &Readers,
    place: &ConnectionHandle,
    answer: impl FnOnce() -> Reply + Send + 'static,
) -> Response<Body> {
    place.stay();
    let reply = readers.run(answer).await;
    place.may_go();
    match reply {
        Some(reply) => response(reply),
        None => refused(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL),
    }
}

/// The body of a request that a page may send; nothing where it is too long, or does not come.
pub(crate) async fn body_of(method: &hyper::Method, body: Incoming) -> Option<Vec<u8>> {
    match method.as_str() {
        "POST" => {
            let body = timeout(BODY_MAX, Limited::new(body, BODY_BYTES_MAX).collect()).await.ok()?.ok()?;
            Some(body.to_bytes().to_vec())
        }
        _ => Some(Vec::new()),
    }
}

/// The answer where [`body_of`] has nothing.
pub(crate) fn without_body() -> Response<Body> {
    refused(StatusCode::BAD_REQUEST, "the body of this request is too long, or did not come")
}

/// Those fields of a head that are `wanted`.
pub(crate) fn fields(headers: &HeaderMap, wanted: &[&str]) -> Vec<(String, String)> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    wanted.iter().filter_map(|&name| Some((name.to_owned(), value(name)?))).collect()
}

/// A reply as an answer.
pub(crate) fn response(reply: Reply) -> Response<Body> {
    let mut response = Response::new(whole(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.fields {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// An answer that says why there is none.
pub(crate) fn refused(status: StatusCode, why: &'static str) -> Response<Body> {
    let fields = [("content-type", "text/plain; charset=utf-8"), ("content-security-policy", "default-src 'none'")];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    response(Reply { status: status.as_u16(), fields, body: why.into() })
}
