//! The process executor: threads that turn answers into records and links.
//!
//! [`Processor::process`] is a function of the answer, the job and the crawl's settings, but for one look into key.dat
//! for the page that named the URL: it decodes the content coding into a bounded copy, finds links and judges them by
//! the job's scope, computes digests, and builds and compresses the records. The same work on a stored answer, for the
//! replay after a crash, is [`Processor::findings`].

mod converted;
#[cfg(test)]
mod dates_tests;
mod favicon;
mod find;
mod findings_semaphore;
mod judged;
mod linked;
mod listed;
mod logins;
mod pool;
mod referrers;
mod rendered;
#[cfg(test)]
mod tests;

use find::{Finder, brings_a_page};
pub use listed::SITEMAP_LINK_BYTES;
pub use pool::ProcessPool;
pub use pool::{LARGE_FINDINGS, SMALL_FINDINGS_BYTES};
use referrers::Referrers;
pub use rendered::{RenderOutcome, RenderedPage};

use std::sync::Arc;
use std::time::Duration;

use crate::container::dedup::DedupIndex;
use crate::contract::{
    Converter, FetchJob, Fetched, Findings, HeldPermits, Processed, Purpose, Response, Sites, Target,
};
use crate::disk;
use crate::warc::{Compression, Encoder, Exchange, Profile, Records, Reference, Rendition, id_seed, payload_sha1};
use crate::web::address::AddressGuard;
use crate::web::format::Format;
use crate::web::html::{is_html, license_header, may_be_html};
use crate::web::json::JsonLinks;
use crate::web::kind::{Kind, Kinds};
use crate::web::mime;
use crate::web::retry_after::retry_after;
use crate::web::scope::Scope;
use crate::web::statements::Statements;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Bytes of a decoded page that are read for its statements where no links are looked for in it: an error page, mostly.
const ERROR_PAGE_BYTES: usize = 64 << 10;

/// Settings of processing, the same for all its threads.
#[derive(Clone, Debug)]
pub struct ProcessOptions {
    /// Makes the fingerprints of links.
    pub keys: Arc<KeyMaker>,
    /// Product token that robots.txt and robots directives match.
    pub agent_token: String,
    /// Links of a page that are looked at.
    pub links_max: usize,
    /// Bytes of a URL that are looked at.
    pub url_bytes_max: usize,
    /// Bytes of a decoded body that are scanned.
    pub decoded_max: usize,
    /// Bytes of a robots.txt that are obeyed.
    pub robots_bytes_max: usize,
    /// Sitemaps of a robots.txt that are taken; with 0, those are pages like others.
    pub sitemaps_max: usize,
    /// True if `nofollow` is respected.
    pub respect_nofollow: bool,
    /// Attributes from which scripts of pages load pictures.
    pub lazy_attributes: Vec<String>,
    /// True if strings in scripts that look like file names are taken for URLs.
    pub script_files: bool,
    /// Strings of answers in JSON that are links.
    pub json_links: JsonLinks,
    /// True if URLs in text without markup are links.
    pub text_links: bool,
    /// True if each origin is asked for its `llms.txt`.
    pub llms_txt: bool,
    /// True if each page is asked for in Markdown, too.
    pub markdown_twins: bool,
    /// True if links next to the content of a page come after those of its content.
    pub content_first: bool,
    /// True if pages that name no icon have the one that browsers ask their origin for.
    pub favicon: bool,
    /// True if the terms of licences are fetched that pages and robots.txt files name, and `tdmrep.json` of origins.
    pub licenses: bool,
    /// True if requests are archived with their answers.
    pub request_records: bool,
    /// True if a digest of each page's text is made, by which its next version is compared with it.
    pub text_digests: bool,
    /// True if each page's likeness is taken, by which the number of pages with nearly the same text is known.
    pub likenesses: bool,
    /// True if the crawl learns which parameters of URLs make no other page.
    pub learn_session_params: bool,
    /// Content coding of the value files.
    pub compression: Compression,
    /// Literal addresses that links may name.
    pub guard: AddressGuard,
    /// Payloads that earlier archives have, where they are not to be stored again.
    pub dedup: Option<Arc<DedupIndex>>,
    /// The rules by which an answer is known to be no content, where any are asked.
    pub kinds: Option<Arc<Kinds>>,
    /// True if each host is asked for one URL that cannot exist.
    pub asks_missing: bool,
    /// Kinds of answers whose links are not followed.
    pub kinds_without_links: Vec<Kind>,
    /// Makes pages of documents, where any are read.
    pub documents: Option<Arc<dyn Converter>>,
    /// Sites that are fetched otherwise, if there are any: what was archived of them is read by their settings.
    pub sites: Option<Arc<dyn Sites>>,
}

/// One thread's tools, reused from answer to answer.
pub struct Processor {
    finder: Finder,
    encoder: Encoder,
    /// Referrers by the number of the engine, whose pages they are.
    referrers: Vec<Referrers>,
}

impl std::fmt::Debug for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor").field("options", &self.finder.options).finish_non_exhaustive()
    }
}

/// Returns how long the server asks to be left alone.
fn asked_to_wait(response: &Response) -> Option<Duration> {
    let came = response.started + response.duration;
    response.header("retry-after").and_then(|value| retry_after(&value, came))
}

impl Processor {
    /// Tools with `options`.
    pub fn new(options: ProcessOptions) -> Self {
        let encoder = Encoder::new(options.compression);
        Processor { finder: Finder::new(options), encoder, referrers: Vec::new() }
    }

    /// The format of the document that an answer brings, where the crawl reads it.
    pub(crate) fn document_in(&mut self, fetched: &Fetched) -> Option<Format> {
        converted::format_of(&self.finder.options, &mut self.finder.decoder, fetched)
    }

    /// Everything that the engine needs of an answer. An error is one of the disk, where the page is that named the
    /// URL.
    pub fn process(&mut self, fetched: Fetched) -> disk::Result<Processed> {
        self.process_for(0, fetched)
    }

    /// The same for that one of several engines which has this number.
    pub(crate) fn process_for(&mut self, engine: usize, fetched: Fetched) -> disk::Result<Processed> {
        let document = self.document_in(&fetched);
        let Fetched { mut job, mut response } = fetched;
        self.resolve_referrer(engine, &mut job)?;
        self.finder.use_settings(job.settings.as_deref());
        if let Some(format) = document {
            return converted::process(self, format, job, response);
        }
        let mut findings = self.finder.find(&job.url, job.target.purpose(), &response, &job.scope);
        response.judgement = findings.judgement();
        if let Target::Login { .. } = &job.target {
            return Ok(self.login_step(job, response, findings));
        }
        findings.is_logged_out = self.is_logged_out(&job, &response, &findings);
        let to_render = self.why_rendered(&job, &response, &findings);
        if to_render.is_some() {
            return Ok(self.unrendered(job, response, findings, to_render));
        }
        let resource = self.resource(&job, &response);
        let statements = self.statements(&job, &response, &mut findings);
        let records = self.records(&job, &response, &findings, &statements, None)?;
        response.body = Vec::new();
        let has_statements = !statements.is_empty();
        let processed = self.processed(job, response, findings, records);
        Ok(Processed { has_statements, to_render, resource, ..processed })
    }

    /// An answer, with what was found in it and its records.
    fn processed(&self, job: FetchJob, response: Response, findings: Findings, records: Records) -> Processed {
        Processed {
            keys: self.finder.options.keys.keys(&job.url),
            mime: mime::stated(response.content_type().as_deref()).to_owned(),
            retry_after: asked_to_wait(&response),
            job,
            response,
            findings,
            records,
            has_statements: false,
            permits: HeldPermits::default(),
            to_render: None,
            rendered: None,
            converted: None,
            resource: None,
        }
    }

    /// A page on its way to be rendered: with its body, and without records.
    fn unrendered(
        &self,
        job: FetchJob,
        response: Response,
        findings: Findings,
        to_render: Option<&'static str>,
    ) -> Processed {
        let records = Records::none([0; 20], response.body.len() as u64);
        Processed { to_render, ..self.processed(job, response, findings, records) }
    }

    /// Finds what an answer says about other URLs.
    pub fn findings(
        &mut self,
        url: &CanonicalUrl,
        purpose: Purpose<'_>,
        response: &Response,
        scope: &Scope,
    ) -> Findings {
        self.finder.findings(url, purpose, response, scope)
    }

    /// Reads the record of the page that named the URL of `job`, of the engine with this number.
    fn resolve_referrer(&mut self, engine: usize, job: &mut FetchJob) -> disk::Result<()> {
        if self.referrers.len() <= engine {
            self.referrers.resize_with(engine + 1, Referrers::default);
        }
        self.referrers[engine].resolve(&mut job.via)
    }

    /// Collects the statements about the use of an answer. `findings` have those that the scan of the page has met.
    pub(super) fn statements(&mut self, job: &FetchJob, response: &Response, findings: &mut Findings) -> Statements {
        let mut stated = Statements::of_header(&response.headers, &self.finder.options.agent_token);
        for reference in license_header(&response.headers) {
            job.url.join(&reference).iter().for_each(|url| stated.add_license(url));
        }
        self.read_price(response, &mut stated);
        stated.add(&std::mem::take(&mut findings.statements));
        match &job.target {
            Target::Page { permit, .. } => {
                if !brings_a_page(response.status) {
                    self.read_error_page(response, &mut stated);
                }
                stated.add_preferences(permit.preferences());
                stated.add_licenses(permit.licenses());
            }
            Target::Robots { .. } => {
                let rules = findings.rules.as_ref();
                rules.into_iter().for_each(|rules| {
                    stated.add_preferences(rules.preferences(job.url.as_str()));
                    stated.add_licenses(rules.licenses());
                });
            }
            Target::Login { .. } | Target::Resource { .. } => {}
        }
        stated
    }

    fn read_price(&mut self, response: &Response, stated: &mut Statements) {
        if response.status != 402 {
            return stated.add_price(response.status, &response.headers, &[]);
        }
        let coding = response.content_encoding();
        let decoded = self.finder.decoder.decode(coding.as_deref(), &response.body, ERROR_PAGE_BYTES);
        stated.add_price(response.status, &response.headers, &decoded.bytes);
    }

    fn read_error_page(&mut self, response: &Response, stated: &mut Statements) {
        let content_type = response.content_type();
        let content_type = content_type.as_deref();
        if response.body.is_empty() || !may_be_html(content_type) {
            return;
        }
        let decoded =
            self.finder.decoder.decode(response.content_encoding().as_deref(), &response.body, ERROR_PAGE_BYTES);
        if is_html(content_type, &decoded.bytes) {
            stated.add_page(&decoded.bytes, content_type, &self.finder.options.agent_token);
        }
    }

    /// The records of an answer, with what a rendering has made of the page, if it was tried.
    fn records(
        &mut self,
        job: &FetchJob,
        response: &Response,
        findings: &Findings,
        statements: &Statements,
        rendition: Option<Rendition<'_>>,
    ) -> disk::Result<Records> {
        let (depth, hops, seed, attempt) = match &job.target {
            Target::Page { url, .. } => (url.depth, &url.hops, url.seed, url.attempts),
            Target::Robots { provenance, .. }
            | Target::Login { provenance, .. }
            | Target::Resource { provenance, .. } => (provenance.depth, &provenance.hops, provenance.seed, 0),
        };
        let headers = logins::archived(job, &response.headers);
        let exchange = Exchange {
            url: job.url.as_str(),
            fetched_at: response.started,
            duration_ms: u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
            ip: response.address,
            http_version: response.version,
            // what was sent is a part of what the answer is an answer to
            request: (self.finder.options.request_records || job.url.has_request())
                .then_some(response.request.as_slice()),
            status: response.status,
            reason: &response.reason,
            headers: &headers,
            body: &response.body,
            truncated: response.truncated,
            via: job.via.url(),
            depth,
            hops: hops.as_str(),
            seed,
            attempt,
            robots: matches!(job.target, Target::Robots { .. }),
            of_rendering: matches!(job.target, Target::Resource { .. }),
            rendition,
            again: job.again(),
            canonical: findings.canonical.as_deref().filter(|url| url.len() <= self.finder.options.url_bytes_max),
            judged: findings.judged.as_deref(),
            statements: Some(statements),
            id_seed: id_seed(job.id_seed, job.url.as_str(), response.started),
        };
        let Some(dedup) = self.finder.options.dedup.as_ref().filter(|_| may_be_elsewhere(&exchange)) else {
            return Ok(self.encoder.encode(&exchange));
        };
        let payload_sha1 = payload_sha1(exchange.body);
        let Some(original) = dedup.find(&payload_sha1)? else {
            return Ok(self.encoder.encode_digested(&exchange, Some(payload_sha1)));
        };
        let (date, archive) = (original.date(), dedup.name_of(&original));
        let reference = Reference { url: &original.url, date: &date, id_seed: original.id_seed, archive: &archive };
        Ok(self.encoder.encode_reference(&exchange, payload_sha1, &reference))
    }
}

/// True if the payload may be left to another archive: a whole one that is worth it. The payload of a robots.txt
/// decided on requests, so it stays.
fn may_be_elsewhere(exchange: &Exchange<'_>) -> bool {
    let profile = Profile::of(exchange.status, exchange.body.len() as u64, exchange.truncated);
    profile == Some(Profile::IdenticalPayload) && !exchange.robots
}
