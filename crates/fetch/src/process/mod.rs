//! The process executor: threads that turn answers into records and links.
//!
//! [`Processor::process`] is a function of the answer, the job and the crawl's settings, but for one look into key.dat
//! for the page that named the URL: it decodes the content coding into a bounded copy, finds links and judges them by
//! the job's scope, computes digests, and builds and compresses the records. The same work on a stored answer, for the
//! replay after a crash, is [`Processor::findings`].

#[cfg(test)]
mod dates_tests;
mod findings_semaphore;
mod linked;
mod listed;
mod logins;
mod pool;
mod referrers;
mod rendered;
mod stated;
#[cfg(test)]
mod tests;

use linked::Favicon;
pub use listed::SITEMAP_LINK_BYTES;
pub use pool::ProcessPool;
pub use pool::{LARGE_FINDINGS, SMALL_FINDINGS_BYTES};
use referrers::Referrers;
pub(crate) use rendered::read_as_rendered;
pub use rendered::{RenderOutcome, RenderedPage};

use std::sync::Arc;
use std::time::Duration;

use crate::container::dedup::DedupIndex;
use crate::contract::{
    FetchJob, Fetched, Findings, FoundLink, HeldPermits, Processed, Purpose, RequestSettings, Response, Sites, Target,
};
use crate::disk;
use crate::frontier::Hops;
use crate::outcome::Reason;
use crate::warc::{Compression, Encoder, Exchange, Profile, Records, Reference, Rendition, id_seed, payload_sha1};
use crate::web::address::AddressGuard;
use crate::web::coding::BodyDecoder;
use crate::web::headers;
use crate::web::html::{LinkKind, LinkScan, Wording};
use crate::web::mime;
use crate::web::retry_after::retry_after;
use crate::web::robots::{RobotsRules, whole_lines};
use crate::web::scope::Scope;
use crate::web::statements::Statements;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Links of a page that are too deep and are named.
const TOO_DEEP_MAX: usize = 1_000;

/// The page that names a URL.
#[derive(Clone, Copy)]
struct Naming<'a> {
    /// Number of links from a seed to the page.
    depth: u16,
    /// Kinds of these links, one letter each.
    hops: &'a Hops,
}

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
    /// True if links next to the content of a page come after those of its content.
    pub content_first: bool,
    /// True if pages that name no icon have the one that browsers ask their origin for.
    pub favicon: bool,
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
    /// Sites that are fetched otherwise, if there are any: what was archived of them is read by their settings.
    pub sites: Option<Arc<dyn Sites>>,
}

/// One thread's tools, reused from answer to answer.
pub struct Processor {
    options: ProcessOptions,
    /// The product token and the limit of decoded bytes of the options, for sites that have no others.
    usual: (String, usize),
    decoder: BodyDecoder,
    scan: LinkScan,
    wording: Wording,
    encoder: Encoder,
    /// The icon of the origin whose page was processed last.
    favicon: Option<Favicon>,
    /// Referrers by the number of the engine, whose pages they are.
    referrers: Vec<Referrers>,
}

impl std::fmt::Debug for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Returns how long the server asks to be left alone.
fn asked_to_wait(response: &Response) -> Option<Duration> {
    let came = response.started + response.duration;
    response.header("retry-after").and_then(|value| retry_after(&value, came))
}

/// True if links are looked for in an answer of `status`: a page came, whatever else the status says.
fn brings_a_page(status: u16) -> bool {
    (200..300).contains(&status)
}

impl Processor {
    /// Tools with `options`.
    pub fn new(options: ProcessOptions) -> Self {
        let scan = LinkScan::new(options.links_max, options.respect_nofollow, options.url_bytes_max)
            .with_agent(&options.agent_token)
            .with_lazy_attributes(&options.lazy_attributes)
            .with_script_files(options.script_files)
            .with_asides(options.content_first);
        let encoder = Encoder::new(options.compression);
        Processor {
            usual: (options.agent_token.clone(), options.decoded_max),
            options,
            decoder: BodyDecoder::default(),
            scan,
            wording: Wording::default(),
            encoder,
            favicon: None,
            referrers: Vec::new(),
        }
    }

    /// Everything that the engine needs of an answer. An error is one of the disk, where the page lies that named the
    /// URL.
    pub fn process(&mut self, fetched: Fetched) -> disk::Result<Processed> {
        self.process_for(0, fetched)
    }

    /// The same for that one of several engines which has this number.
    pub(crate) fn process_for(&mut self, engine: usize, fetched: Fetched) -> disk::Result<Processed> {
        let Fetched { mut job, mut response } = fetched;
        self.resolve_referrer(engine, &mut job)?;
        self.use_settings(job.settings.as_deref());
        let mut findings = self.find(&job.url, job.target.purpose(), &response, &job.scope);
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
        let records = self.records(&job, &response, findings.canonical.as_deref(), &statements)?;
        response.body = Vec::new();
        let has_statements = !statements.is_empty();
        let processed = self.processed(job, response, findings, records);
        Ok(Processed { has_statements, to_render, resource, ..processed })
    }

    /// An answer, with what was found in it and its records.
    fn processed(&self, job: FetchJob, response: Response, findings: Findings, records: Records) -> Processed {
        Processed {
            keys: self.options.keys.keys(&job.url),
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

    /// Reads the record of the page that named the URL of `job`, of the engine with this number.
    fn resolve_referrer(&mut self, engine: usize, job: &mut FetchJob) -> disk::Result<()> {
        if self.referrers.len() <= engine {
            self.referrers.resize_with(engine + 1, Referrers::default);
        }
        self.referrers[engine].resolve(&mut job.via)
    }

    /// Finds what an answer says about other URLs.
    pub fn findings(
        &mut self,
        url: &CanonicalUrl,
        purpose: Purpose<'_>,
        response: &Response,
        scope: &Scope,
    ) -> Findings {
        if let Some(sites) = self.options.sites.clone() {
            let first = match purpose {
                Purpose::Robots { origin, .. } => CanonicalUrl::parse(origin).ok(),
                Purpose::Page { .. } | Purpose::Rendered { .. } | Purpose::Login => None,
            };
            self.use_settings(sites.request(first.as_ref().unwrap_or(url)).as_deref());
        }
        let Purpose::Rendered { depth, hops, dom, outlinks } = purpose else {
            return self.find(url, purpose, response, scope);
        };
        let rendered = read_as_rendered(response, dom);
        let mut findings = self.find(url, Purpose::Page { depth, hops }, &rendered, scope);
        self.add_outlinks(Naming { depth, hops }, outlinks, scope, &mut findings);
        findings
    }

    /// An answer comes that was asked for with `settings`; with none, as usual.
    fn use_settings(&mut self, settings: Option<&RequestSettings>) {
        if self.options.sites.is_none() {
            return;
        }
        let (token, decoded_max) =
            settings.map_or((&*self.usual.0, self.usual.1), |settings| (&*settings.agent_token, settings.body_max));
        if self.options.agent_token != token {
            token.clone_into(&mut self.options.agent_token);
            self.scan.obey(token);
        }
        self.options.decoded_max = decoded_max;
    }

    fn find(&mut self, url: &CanonicalUrl, purpose: Purpose<'_>, response: &Response, scope: &Scope) -> Findings {
        let mut findings = Findings::none();
        if (300..400).contains(&response.status) && response.status != 304 {
            let location = headers::location(&response.headers);
            let target = location.as_ref().and_then(|location| redirected(url, response.status, location));
            findings.limits.redirect = location.is_some() && target.is_none();
            findings.redirect = target.map(|target| {
                let keys = self.options.keys.keys(&target);
                (target, keys)
            });
        }
        match purpose {
            Purpose::Page { .. } if findings.redirect.is_some() => self.refuse_private_redirect(&mut findings),
            Purpose::Page { depth, hops } if brings_a_page(response.status) => {
                self.find_links(url, Naming { depth, hops }, response, scope, &mut findings);
                if scope.is_requisite(1) && hops.embeds() == 0 && !scope.takes_in(url) {
                    refuse_requisites(scope, depth, &mut findings);
                }
                let beyond = u32::try_from(findings.limits.links).unwrap_or(u32::MAX);
                if beyond > 0 {
                    findings.dropped.push((Reason::PageLimit, beyond));
                }
            }
            // one that broke off says nothing: it is asked for again
            Purpose::Robots { origin, depth, hops }
                if (200..300).contains(&response.status) && !response.is_interrupted() =>
            {
                let (coding, is_cut) = (response.content_encoding(), response.truncated.is_some());
                let bytes_max = self.options.robots_bytes_max;
                let lines = whole_lines(&response.body, coding.as_deref(), is_cut, bytes_max);
                findings.limits.decoded = lines.as_ref().is_none_or(|lines| !lines.is_whole);
                // nor does one that cannot be decoded
                let Some(lines) = lines else { return findings };
                let mut rules = RobotsRules::parse(&self.options.agent_token, &lines.text);
                let sitemaps = rules.take_sitemaps();
                self.name_sitemaps(url, origin, Naming { depth, hops }, &sitemaps, scope, &mut findings);
                findings.rules = Some(rules);
            }
            Purpose::Page { .. } | Purpose::Rendered { .. } | Purpose::Robots { .. } | Purpose::Login => {}
        }
        findings
    }

    /// Nothing is asked of a forbidden address in the redirect itself, not even for its robots.txt.
    fn refuse_private_redirect(&self, findings: &mut Findings) {
        let Some(Err(reason)) = findings.redirect.as_ref().map(|(target, _)| self.judge_address(target)) else {
            return;
        };
        findings.redirect = None;
        findings.limits.redirect = true;
        count(&mut findings.dropped, reason);
    }

    /// Judges whether a link of this kind may be admitted. The page `naming` names it.
    fn judge(&self, scope: &Scope, target: &CanonicalUrl, kind: LinkKind, naming: Naming<'_>) -> Result<(), Reason> {
        self.judge_address(target)?;
        let embeds = if kind == LinkKind::Embed { naming.hops.embeds() + 1 } else { 0 };
        scope.judge_embedded(target, embeds, scope.depth_below(naming.depth, embeds), 0)
    }

    fn judge_address(&self, target: &CanonicalUrl) -> Result<(), Reason> {
        self.options.guard.refused_literal(target).map_or(Ok(()), |_| Err(Reason::PrivateAddress))
    }

    fn records(
        &mut self,
        job: &FetchJob,
        response: &Response,
        canonical: Option<&str>,
        statements: &Statements,
    ) -> disk::Result<Records> {
        self.records_with(job, response, canonical, statements, None)
    }

    /// The same with what a rendering has made of the page, if it was tried.
    fn records_with(
        &mut self,
        job: &FetchJob,
        response: &Response,
        canonical: Option<&str>,
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
            request: (self.options.request_records || job.url.has_request()).then_some(response.request.as_slice()),
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
            canonical: canonical.filter(|url| url.len() <= self.options.url_bytes_max),
            statements: Some(statements),
            id_seed: id_seed(job.id_seed, job.url.as_str(), response.started),
        };
        let Some(dedup) = self.options.dedup.as_ref().filter(|_| may_be_elsewhere(&exchange)) else {
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

/// A page that is out of scope itself, such as what was named as a sitemap and is none, has no requisites: what it
/// embeds is judged as what it links to.
fn refuse_requisites(scope: &Scope, depth: u16, findings: &mut Findings) {
    let Findings { links, dropped, .. } = findings;
    links.retain(|link| {
        let target = CanonicalUrl::parse(&link.url).ok().filter(|_| link.kind == LinkKind::Embed);
        let verdict = target.map_or(Ok(()), |target| scope.judge(&target, depth.saturating_add(1), 0));
        verdict.map_err(|reason| count(dropped, reason)).is_ok()
    });
}

/// Returns the URL to which `url` redirects, with what is asked there; `None` for a `location` that is no URL.
fn redirected(url: &CanonicalUrl, status: u16, location: &str) -> Option<CanonicalUrl> {
    let target = url.join(location).ok()?;
    let Some(request) = url.request() else { return Some(target) };
    match request.redirected(status, target.origin() == url.origin()) {
        Some(request) => target.with_request(&request).ok(),
        None => Some(target),
    }
}

/// Takes note of a link that is not followed: all are counted, and the first that are too deep are named.
fn leave_out(findings: &mut Findings, link: FoundLink, reason: Reason) {
    count(&mut findings.dropped, reason);
    if reason == Reason::Depth && findings.too_deep.len() < TOO_DEEP_MAX {
        findings.too_deep.push(link);
    }
}

fn count(dropped: &mut Vec<(Reason, u32)>, reason: Reason) {
    match dropped.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, number)) => *number += 1,
        None => dropped.push((reason, 1)),
    }
}
