//! Answers as the archive has them: how what processing found in one when it came is found in it again.

use std::time::Duration;

use crate::container::ReplayedPage;
use crate::contract::{Findings, Judgement, Purpose, Response};
use crate::frontier::Hops;
use crate::warc::HttpVersion;
use crate::web::scope::Scope;
use crate::web::url::CanonicalUrl;

/// Finds in a stored answer what processing found in it when it came: URL, purpose, answer and
/// scope in, findings out.
pub type Find<'a> = dyn FnMut(&CanonicalUrl, Purpose<'_>, &Response, &Scope) -> Findings + 'a;

/// Returns what `page` is looked at for, which `hops` led to: of one that was rendered, what the rendering has left is.
pub(super) fn purpose_of<'a>(page: &'a ReplayedPage, hops: &'a Hops) -> Purpose<'a> {
    let depth = page.depth;
    match page.conversion.as_deref() {
        Some(dom) => Purpose::Rendered { depth, hops, dom, outlinks: &page.outlinks },
        None => Purpose::Page { depth, hops },
    }
}

/// The answer that brought `page`, whose head and body are taken out of it.
pub(super) fn stored_response(page: &mut ReplayedPage) -> Response {
    Response {
        status: page.status,
        reason: String::new(),
        version: HttpVersion::Http11,
        headers: std::mem::take(&mut page.headers),
        body: std::mem::take(&mut page.body),
        truncated: page.truncated,
        address: page.ip,
        request: Vec::new(),
        started: page.time,
        duration: Duration::ZERO,
        judgement: Judgement::Known(page.kind),
    }
}
