//! Captures that answer a request, and the capture that a redirect leads to.

use crawler_web::clock::Time;

use crate::web::headers;
use crate::web::mime;
use crate::web::request::{Method, Request};
use crate::web::url::CanonicalUrl;

use super::captures::{ArchiveFault, Capture, Captures, Content, nearest};
use super::message::Question;

/// The target of a redirect.
pub(super) struct Lead {
    /// The target as the answer writes it.
    pub location: String,
    /// Its URL.
    pub target: CanonicalUrl,
    /// Its capture.
    pub next: Next,
}

/// The capture of the target of a redirect.
pub(super) enum Next {
    /// It has none.
    Missing,
    /// It was captured at this time.
    At(Time),
    /// It is the redirect itself, with a cookie perhaps: the page is the capture at this place.
    Page(usize),
    /// It is the redirect itself, and nothing else is there.
    Itself,
}

/// The captures that a request asks for, and the URL under which they are stored: that of a POST has its body.
pub(super) fn captures_of(
    archive: &dyn Captures,
    question: &Question,
    url: &CanonicalUrl,
) -> Result<Option<(CanonicalUrl, Vec<Capture>)>, ArchiveFault> {
    let asked = if question.method == "POST" { posted(question, url) } else { vec![url.clone()] };
    for url in asked {
        let captures = archive.captures(&url)?;
        if !captures.is_empty() {
            return Ok(Some((url, captures)));
        }
    }
    Ok(None)
}

/// Returns the target of the redirect at this place, with the capture that is nearest to `time`; nothing where that is
/// no redirect.
pub(super) fn lead(
    archive: &dyn Captures,
    captures: &[Capture],
    at: usize,
    content: &Content,
    time: Time,
) -> Result<Option<Lead>, ArchiveFault> {
    let capture = &captures[at];
    let own = CanonicalUrl::parse(&capture.url).ok();
    let location = headers::location(&content.fields).filter(|_| matches!(capture.status, 301..=303 | 307 | 308));
    let (Some(location), Some(own)) = (location, own) else { return Ok(None) };
    let Ok(target) = own.join(&location) else { return Ok(None) };
    let there = archive.captures(&target)?;
    let next = match nearest(&there, time).map(|at| &there[at]) {
        None => Next::Missing,
        Some(next) if next.id != capture.id => Next::At(next.time),
        Some(_) => nearest_page(captures, time).map_or(Next::Itself, Next::Page),
    };
    Ok(Some(Lead { location: location.into_owned(), target, next }))
}

/// The place of the capture nearest to `time` that leads nowhere else.
fn nearest_page(captures: &[Capture], time: Time) -> Option<usize> {
    let is_page = |capture: &&Capture| !matches!(capture.status, 300..=399);
    let pages: Vec<Capture> = captures.iter().filter(is_page).cloned().collect();
    let page = &pages[nearest(&pages, time)?];
    captures.iter().position(|capture| capture.id == page.id)
}

/// Addresses under which the answer to a POST may be stored, the likeliest first.
fn posted(question: &Question, url: &CanonicalUrl) -> Vec<CanonicalUrl> {
    let Ok(body) = std::str::from_utf8(&question.body) else { return Vec::new() };
    let stated = question.field("content-type").unwrap_or_default();
    let mut types = vec![stated.to_owned(), mime::essence(Some(stated)), String::new()];
    types.dedup();
    let address = |content_type: String| {
        let fields = match content_type.is_empty() {
            true => Vec::new(),
            false => vec![("content-type".to_owned(), content_type)],
        };
        let request = Request::new(Method::Post, fields, body.to_owned()).ok()?;
        url.clone().with_request(&request).ok()
    };
    types.into_iter().filter_map(address).collect()
}
