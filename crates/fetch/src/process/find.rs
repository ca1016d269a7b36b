//! The search of an answer for what it says about other URLs.
//!
//! [`Finder::find`] judges by the scope of the job what it finds: the target of a redirect, the links of a page, the
//! sitemaps of a robots.txt with its rules. The same search of a stored answer, for the replay after a crash, is
//! [`Finder::findings`].

use std::collections::HashSet;

use super::ProcessOptions;
use super::favicon::Favicons;
use super::judged::{heed_kind, judge_error};
use super::rendered::read_as_rendered;
use crate::contract::{FetchJob, Findings, FoundLink, Purpose, RequestSettings, Response, Target};
use crate::fingerprint::Fingerprint;
use crate::frontier::Hops;
use crate::outcome::Reason;
use crate::web::charset;
use crate::web::coding::BodyDecoder;
use crate::web::headers;
use crate::web::html::{Document, LinkKind, LinkScan, RobotsDirectives, Wording};
use crate::web::login::PAGE_BYTES_MAX;
use crate::web::robots::{RobotsRules, whole_lines};
use crate::web::scope::Scope;
use crate::web::url::CanonicalUrl;

/// Bytes of all links that are noted beside the links of the page.
const OUTLINKS_BYTES_MAX: usize = 256 << 10;

/// Links of a page that are too deep and are named.
const TOO_DEEP_MAX: usize = 1_000;

/// The page that names a URL.
#[derive(Clone, Copy)]
pub(super) struct Naming<'a> {
    /// Number of links from a seed to the page.
    pub depth: u16,
    /// Kinds of these links, one letter each.
    pub hops: &'a Hops,
}

/// One thread's tools for reading answers, reused from answer to answer.
pub(super) struct Finder {
    pub options: ProcessOptions,
    /// The product token and the limit of decoded bytes of the options, for sites that have no others.
    usual: (String, usize),
    pub decoder: BodyDecoder,
    pub scan: LinkScan,
    pub wording: Wording,
    pub favicon: Favicons,
}

impl Finder {
    /// Tools with `options`.
    pub(super) fn new(options: ProcessOptions) -> Self {
        let scan = LinkScan::new(options.links_max, options.respect_nofollow, options.url_bytes_max)
            .with_agent(&options.agent_token)
            .with_lazy_attributes(&options.lazy_attributes)
            .with_script_files(options.script_files)
            .with_json_links(options.json_links)
            .with_text_links(options.text_links)
            .with_asides(options.content_first);
        Finder {
            usual: (options.agent_token.clone(), options.decoded_max),
            options,
            decoder: BodyDecoder::default(),
            scan,
            wording: Wording::default(),
            favicon: Favicons::default(),
        }
    }

    /// Finds what a stored answer says about other URLs, by the settings of its site.
    pub(super) fn findings(
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
    pub(super) fn use_settings(&mut self, settings: Option<&RequestSettings>) {
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

    /// Finds what an answer says about other URLs, by the settings in use.
    pub(super) fn find(
        &mut self,
        url: &CanonicalUrl,
        purpose: Purpose<'_>,
        response: &Response,
        scope: &Scope,
    ) -> Findings {
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
                heed_kind(&self.options, response, &mut findings);
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
                if self.options.licenses {
                    self.name_licenses(origin, Naming { depth, hops }, rules.licenses(), scope, &mut findings);
                }
                findings.rules = Some(rules);
                self.name_asked(origin, Naming { depth, hops }, scope, &mut findings);
            }
            Purpose::Robots { origin, depth, hops } if is_error_of_client(response) => {
                self.name_asked(origin, Naming { depth, hops }, scope, &mut findings);
            }
            Purpose::Page { .. } => findings.judged = judge_error(&self.options, &mut self.decoder, url, response),
            Purpose::Rendered { .. } | Purpose::Robots { .. } | Purpose::Login => {}
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
    pub(super) fn judge(
        &self,
        scope: &Scope,
        target: &CanonicalUrl,
        kind: LinkKind,
        naming: Naming<'_>,
    ) -> Result<(), Reason> {
        self.judge_address(target)?;
        let embeds = if kind == LinkKind::Embed { naming.hops.embeds() + 1 } else { 0 };
        scope.judge_embedded(target, embeds, scope.depth_below(naming.depth, embeds), 0)
    }

    pub(super) fn judge_address(&self, target: &CanonicalUrl) -> Result<(), Reason> {
        self.options.guard.refused_literal(target).map_or(Ok(()), |_| Err(Reason::PrivateAddress))
    }

    /// Links that the browser found and that the page does not name itself; those that are in scope are added to
    /// `findings`.
    pub(super) fn outlinks(
        &mut self,
        job: &FetchJob,
        page: &Response,
        links: &[String],
        findings: &mut Findings,
    ) -> Vec<String> {
        let Target::Page { url, .. } = &job.target else { return Vec::new() };
        if findings.is_nofollow && self.options.respect_nofollow {
            return Vec::new();
        }
        let named = self.named_in(&job.url, page);
        let mut known: HashSet<Fingerprint> = findings.links.iter().map(|link| link.keys.key).collect();
        let naming = Naming { depth: url.depth, hops: &url.hops };
        let (mut outlinks, mut bytes) = (Vec::new(), 0);
        for link in links.iter().take(self.options.links_max) {
            let Ok(target) = CanonicalUrl::parse(link) else { continue };
            let keys = self.options.keys.keys(&target);
            if named.contains(&keys.key) || !known.insert(keys.key) {
                continue;
            }
            let verdict = self.judge(&job.scope, &target, LinkKind::Anchor, naming);
            let link = FoundLink { url: target.into_text(), keys, kind: LinkKind::Anchor, modified: None };
            match verdict {
                Ok(()) if bytes + link.url.len() > OUTLINKS_BYTES_MAX => leave_out(findings, link, Reason::PageLimit),
                Ok(()) => {
                    bytes += link.url.len();
                    outlinks.push(link.url.to_string());
                    findings.links.push(link);
                }
                Err(reason) => leave_out(findings, link, reason),
            }
        }
        outlinks
    }

    /// All URLs that the page itself names, followed or not.
    fn named_in(&mut self, url: &CanonicalUrl, page: &Response) -> HashSet<Fingerprint> {
        let mut scan = LinkScan::new(self.options.links_max, false, self.options.url_bytes_max);
        let content_type = page.content_type();
        let links = scan.document(
            Document::Html,
            &page.body,
            content_type.as_deref(),
            url,
            &self.options.keys,
            RobotsDirectives::default(),
        );
        links.entries.into_iter().map(|link| link.keys.key).collect()
    }

    /// Links of a page from the archive that were noted beside it, which are added to `findings`.
    pub(super) fn add_outlinks(&self, naming: Naming<'_>, outlinks: &[String], scope: &Scope, findings: &mut Findings) {
        for link in outlinks {
            let Ok(target) = CanonicalUrl::parse(link) else { continue };
            self.add_link(target, LinkKind::Anchor, naming, scope, findings);
        }
    }

    /// Adds a link to `findings`, among those that are followed or those that are left out.
    pub(super) fn add_link(
        &self,
        target: CanonicalUrl,
        kind: LinkKind,
        naming: Naming<'_>,
        scope: &Scope,
        findings: &mut Findings,
    ) {
        let verdict = self.judge(scope, &target, kind, naming);
        let keys = self.options.keys.keys(&target);
        let link = FoundLink { url: target.into_text(), keys, kind, modified: None };
        match verdict {
            Ok(()) => findings.links.push(link),
            Err(reason) => leave_out(findings, link, reason),
        }
    }

    /// The text of a page, as much of it as is looked at.
    pub(super) fn text(&mut self, response: &Response) -> String {
        let decoded = self.decoder.decode(response.content_encoding().as_deref(), &response.body, PAGE_BYTES_MAX);
        let content_type = response.content_type();
        charset::to_utf8(&decoded.bytes, charset::of_html(&decoded.bytes, content_type.as_deref())).into_owned()
    }
}

/// True for a host that has no robots.txt, or gives it to nobody.
fn is_error_of_client(response: &Response) -> bool {
    (400..500).contains(&response.status) && response.status != 429
}

/// True if links are looked for in an answer of `status`: a page came, whatever else the status says.
pub(super) fn brings_a_page(status: u16) -> bool {
    (200..300).contains(&status)
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
pub(super) fn leave_out(findings: &mut Findings, link: FoundLink, reason: Reason) {
    count(&mut findings.dropped, reason);
    if reason == Reason::Depth && findings.too_deep.len() < TOO_DEEP_MAX {
        findings.too_deep.push(link);
    }
}

pub(super) fn count(dropped: &mut Vec<(Reason, u32)>, reason: Reason) {
    match dropped.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, number)) => *number += 1,
        None => dropped.push((reason, 1)),
    }
}
