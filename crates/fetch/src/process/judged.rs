//! The kind of an answer: judged when it comes, and known when it is read from the archive again.
//!
//! A stored answer was judged by the rules of its day. Those of today are never asked about it, so that a replay finds
//! what was found before.

use super::{ERROR_PAGE_BYTES, ProcessOptions};
use crate::contract::{Findings, Judgement, Response};
use crate::outcome::Reason;
use crate::web::coding::BodyDecoder;
use crate::web::kind::{Answer, Judged, Kind};
use crate::web::url::CanonicalUrl;

/// Judges an answer by its `body` without content coding, which shows so many bytes of text as far as that is known;
/// `None` for content, and for what was judged before.
pub(super) fn judge(
    options: &ProcessOptions,
    url: &CanonicalUrl,
    response: &Response,
    body: &[u8],
    text_bytes: Option<usize>,
) -> Option<Box<Judged>> {
    let kinds = options.kinds.as_ref().filter(|_| response.judgement == Judgement::Open)?;
    let Response { status, ref headers, .. } = *response;
    kinds.judge(&Answer { url: url.as_str(), status, headers, body, text_bytes }).map(Box::new)
}

/// Judges an answer that brings no page; its body is decoded for it.
pub(super) fn judge_error(
    options: &ProcessOptions,
    decoder: &mut BodyDecoder,
    url: &CanonicalUrl,
    response: &Response,
) -> Option<Box<Judged>> {
    if options.kinds.is_none() || response.judgement != Judgement::Open || response.status == 304 {
        return None;
    }
    let coding = response.content_encoding();
    let decoded = decoder.decode(coding.as_deref(), &response.body, ERROR_PAGE_BYTES);
    judge(options, url, response, &decoded.bytes, None)
}

/// Takes out of `findings` what does not follow from the kind of an answer: the links of kinds whose links are not
/// followed, and that a page needs scripts which is nothing but a challenge.
pub(super) fn heed_kind(options: &ProcessOptions, response: &Response, findings: &mut Findings) {
    let Some(kind) = response.kind().or(findings.judged.as_ref().map(|judged| judged.kind)) else { return };
    findings.is_scripts &= kind == Kind::Shell;
    if !options.kinds_without_links.contains(&kind) {
        return;
    }
    let links = u32::try_from(std::mem::take(&mut findings.links).len()).unwrap_or(u32::MAX);
    findings.dropped.extend((links > 0).then_some((Reason::Kind, links)));
    findings.evidence = None;
    findings.likeness = None;
}
