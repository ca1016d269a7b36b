//! Answers to be stored, for tests and fuzzing: all of what such an answer may have, which a test changes where it is
//! about that.

use super::NewPage;
use crate::clock::Time;
use crate::fingerprint::Fingerprint;
use crate::warc::{Exchange, HttpVersion, Records, id_seed};

/// An ordinary answer to a request at `at`, of a crawl without an id.
pub(super) fn answer<'a>(url: &'a str, at: Time, body: &'a [u8]) -> Exchange<'a> {
    Exchange {
        url,
        fetched_at: at,
        duration_ms: 1,
        ip: Some([192, 0, 2, 7].into()),
        http_version: HttpVersion::Http11,
        request: Some(b"GET / HTTP/1.1\r\n\r\n"),
        status: 200,
        reason: "OK",
        headers: &[],
        body,
        truncated: None,
        via: None,
        depth: 2,
        hops: "LL",
        seed: 4,
        attempt: 0,
        robots: false,
        of_rendering: false,
        rendition: None,
        again: None,
        canonical: None,
        judged: None,
        statements: None,
        id_seed: id_seed(0, url, at),
    }
}

/// The page of `exchange`, of which there may be versions; `records` are what it was encoded to.
pub(super) fn page<'a>(exchange: &Exchange<'a>, key: Fingerprint, records: &'a Records) -> NewPage<'a> {
    NewPage {
        url: exchange.url,
        key,
        status: exchange.status,
        time: exchange.fetched_at,
        mime: "text/html",
        kind: exchange.judged.map(|judged| judged.kind),
        robots: exchange.robots,
        of_rendering: exchange.of_rendering,
        is_rendered: exchange.rendition.is_some_and(|rendition| rendition.dom.is_some()),
        payload_sha1: records.payload_sha1,
        payload_bytes: records.payload_bytes,
        records: &records.bytes,
        response: records.response.clone(),
        revisit: records.revisit.as_ref(),
        truncated: false,
        has_statements: false,
        is_external: false,
        may_have_versions: true,
        condition: None,
    }
}
