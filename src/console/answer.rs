//! The answers of the server, with the fields that every answer has.
//!
//! The page may load what is served here and nothing else, may not be framed, and sends no referrer; figures are kept
//! by no cache; nothing of it can be read by a page of another site.

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_DNS_PREFETCH_CONTROL,
};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use super::assets::{self, Asset};
use crate::answers::Problem;
pub(super) use crate::server::Body;
use crate::server::whole;

pub(super) type Answer = Response<Body>;

/// Policy of the page: it loads from this server alone, and no other page frames it.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                           img-src 'self' data:; base-uri 'none'; form-action 'self'; \
                           frame-ancestors 'none'";
const JSON: &str = "application/json; charset=utf-8";

/// An answer with these fields, and those that all have.
fn respond(status: StatusCode, mime: &str, policy: &'static str, cache: &'static str, body: Body) -> Answer {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let mime = HeaderValue::from_str(mime).unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
    let fields = [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_DNS_PREFETCH_CONTROL, "off"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (CACHE_CONTROL, cache),
    ];
    response.headers_mut().insert(CONTENT_TYPE, mime);
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A document.
pub(super) fn document(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(json) => respond(StatusCode::OK, JSON, PAGE_POLICY, "no-store", whole(json)),
        Err(error) => problem(&Problem::Fault(format!("the answer cannot be written as JSON: {error}"))),
    }
}

/// Answers with the reason why there is no answer.
pub(super) fn problem(problem: &Problem) -> Answer {
    let status = StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    refused(status, &problem.to_string())
}

/// A refusal with its sentence.
pub(super) fn refused(status: StatusCode, sentence: &str) -> Answer {
    let body = json!({ "error": sentence }).to_string();
    respond(status, JSON, PAGE_POLICY, "no-store", whole(body))
}

/// A file of the page; without its content for one who has it already.
pub(super) fn asset(asset: &Asset, known_tag: Option<&[u8]>) -> Answer {
    let tag = asset.tag();
    let is_known = known_tag.is_some_and(|known| known == tag.as_bytes());
    let (status, body) = match is_known {
        true => (StatusCode::NOT_MODIFIED, whole(Bytes::new())),
        false => (StatusCode::OK, whole(Bytes::from_static(asset.bytes))),
    };
    let mut response = respond(status, asset.mime, PAGE_POLICY, "no-cache", body);
    response.headers_mut().insert(ETAG, HeaderValue::from_str(&tag).expect("a tag is Base64 in quotes"));
    response
}

/// The page itself, whose frames show archived pages of these origins and nothing else.
pub(super) fn page(frames: &str, known_tag: Option<&[u8]>) -> Answer {
    let mut response = asset(&assets::PAGE, known_tag);
    if let Ok(policy) = HeaderValue::from_str(&format!("{PAGE_POLICY}; frame-src {frames}")) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// A stream of events.
pub(super) fn stream(body: Body) -> Answer {
    respond(StatusCode::OK, "text/event-stream; charset=utf-8", PAGE_POLICY, "no-store", body)
}
