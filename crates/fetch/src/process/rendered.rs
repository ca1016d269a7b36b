//! Pages that are rendered: whether one is, what it says when it was, and what it gets that it asks for.
//!
//! A rendered page is read like any other, by the answer's own header: what a browser has made of it is in the place of
//! its body. So a replay, which has that from the archive, finds what was found here ([`read_as_rendered`]).
//!
//! Links that the page does not name itself (those in its frames) come from the browser. They are noted in the metadata
//! record, since nothing else in the archive says them.

use std::sync::Arc;

use super::Processor;
use crate::contract::{FetchJob, Findings, Found, Judgement, Processed, Rendered, Resource, Response, Target};
use crate::disk;
use crate::warc::{Header, Rendition};
use crate::web::coding;
use crate::web::html::LinkKind;
use crate::web::kind::Kind;

/// A longer page is not rendered.
const DOCUMENT_MAX: usize = 4 << 20;

/// A page as a browser has made it.
#[derive(Clone, Debug, Default)]
pub struct RenderedPage {
    /// The page as it was in the end.
    pub dom: String,
    /// Links of it and its frames.
    pub links: Vec<String>,
    /// The limit that ended the wait for it, in a word, where it was not quiet by then.
    pub cut_by: Option<&'static str>,
    /// Pictures: what their URLs begin with, media type, bytes.
    pub pictures: Vec<(&'static str, &'static str, Vec<u8>)>,
}

/// The result for a page that was to be rendered.
#[derive(Clone, Debug)]
pub enum RenderOutcome {
    /// A browser has made this of it.
    Rendered(RenderedPage),
    /// It was rendered in vain, for this reason.
    Failed(String),
    /// It needs no browser.
    AsServed,
}

/// The answer with `dom`, a page, in the place of its body.
pub(super) fn read_as_rendered(response: &Response, dom: &str) -> Response {
    let is_of_body = |name: &[u8]| {
        ["content-type", "content-encoding", "content-length", "transfer-encoding"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    let others = response.headers.iter().filter(|(name, _)| !is_of_body(name)).cloned();
    let kind: Header = (b"content-type"[..].into(), b"text/html; charset=utf-8"[..].into());
    Response {
        status: response.status,
        reason: response.reason.clone(),
        version: response.version,
        headers: others.chain([kind]).collect(),
        body: dom.as_bytes().to_vec(),
        truncated: None,
        address: response.address,
        request: Vec::new(),
        started: response.started,
        duration: response.duration,
        judgement: response.judgement,
    }
}

impl Processor {
    /// Returns the reason for which the page is rendered before it is stored, if it is.
    pub(super) fn why_rendered(
        &self,
        job: &FetchJob,
        response: &Response,
        findings: &Findings,
    ) -> Option<&'static str> {
        let is_whole = response.truncated.is_none() && (1..=DOCUMENT_MAX).contains(&response.body.len());
        let is_refused = response.kind().is_some_and(Kind::is_refusal);
        let shown = findings.shown.filter(|_| is_whole && !findings.is_logged_out && !is_refused)?;
        job.render.reason(&shown)
    }

    /// A page with what came of its rendering.
    pub fn process_rendered(
        &mut self,
        number: u64,
        processed: Processed,
        outcome: RenderOutcome,
        duration: std::time::Duration,
    ) -> disk::Result<Processed> {
        let Processed { mut job, mut response, findings: before, to_render, .. } = processed;
        let shown_before = before.shown.unwrap_or_default();
        self.resolve_referrer(0, &mut job)?;
        self.finder.use_settings(job.settings.as_deref());
        let mut rendered = Rendered {
            number,
            failure: None,
            is_as_served: false,
            cut_by: None,
            before: shown_before,
            after: shown_before,
            duration,
            why: to_render.unwrap_or_default(),
        };
        let is_as_served = matches!(outcome, RenderOutcome::AsServed);
        rendered.is_as_served = is_as_served;
        let (mut findings, outlinks, page) = match outcome {
            RenderOutcome::AsServed => (before, Vec::new(), None),
            RenderOutcome::Failed(why) => {
                rendered.failure = Some(why);
                (before, Vec::new(), None)
            }
            RenderOutcome::Rendered(page) => {
                // what a browser shows is judged, and not what it was given
                response.judgement = Judgement::Open;
                let as_rendered = read_as_rendered(&response, &page.dom);
                let mut findings = self.finder.find(&job.url, job.target.purpose(), &as_rendered, &job.scope);
                let outlinks = self.finder.outlinks(&job, &as_rendered, &page.links, &mut findings);
                rendered.after = shown(&findings);
                rendered.cut_by = page.cut_by;
                (findings, outlinks, Some(page))
            }
        };
        // what a browser has shown, or shows no better, needs none
        findings.is_scripts &= rendered.failure.is_some();
        let statements = self.statements(&job, &response, &mut findings);
        let note = rendered.note();
        let pictures: Vec<_> = page.iter().flat_map(|page| &page.pictures).collect();
        let pictures: Vec<_> = pictures.into_iter().map(|(prefix, kind, bytes)| (*prefix, *kind, &**bytes)).collect();
        let rendition = Rendition {
            note: &note,
            dom: page.as_ref().map(|page| page.dom.as_str()),
            outlinks: &outlinks,
            pictures: &pictures,
        };
        response.judgement = findings.judgement();
        let records =
            self.records(&job, &response, &findings, &statements, Some(rendition).filter(|_| !is_as_served))?;
        response.body = Vec::new();
        let has_statements = !statements.is_empty();
        let processed = self.processed(job, response, findings, records);
        Ok(Processed { has_statements, rendered: Some(Box::new(rendered)), ..processed })
    }

    /// The answer for the page that has asked for the URL of `job`; `None` for the robots.txt that it waits for.
    pub(super) fn resource(&mut self, job: &FetchJob, response: &Response) -> Option<Arc<Resource>> {
        let Target::Resource { .. } = &job.target else { return None };
        let coding = response.content_encoding();
        let decoded_max = coding::within_ratio(response.body.len(), self.finder.options.decoded_max);
        let body = match coding.as_deref() {
            None => response.body.clone(),
            coding => self.finder.decoder.decode(coding, &response.body, decoded_max).bytes.to_vec(),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // what the crawl keeps of cookies it sends itself; pages have none of their own
        let own = response.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"set-cookie"));
        let headers = own.map(|(name, value)| (text(name), text(value))).collect();
        Some(Arc::new(Resource { status: response.status, headers, body }))
    }
}

/// Counts what a rendered page shows.
fn shown(findings: &Findings) -> Found {
    let links = findings.links.iter().filter(|link| link.kind != LinkKind::Embed).count();
    Found { links: u32::try_from(links).unwrap_or(u32::MAX), ..findings.shown.unwrap_or_default() }
}
