//! URLs that are listed for crawlers: sitemaps in a robots.txt, the entries of sitemaps and feeds with their dates.
//!
//! `contract::listed` says which page is read as one.
//!
//! A page at such an end that is no sitemap is a page like any other. A feed, or a sitemap, that a page links to is
//! read for its dates: its links are found and judged as in any document ([`Finder::dates_of_feed`]); a feed in JSON
//! has its entries for links.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use super::ProcessOptions;
use super::find::{Finder, Naming, count, leave_out};
use crate::clock::Time;
use crate::contract::listed::{FILES_MAX, claim, format_of};
use crate::contract::{Findings, FoundLink, Response};
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;
use crate::web::html::{BYTES_PER_LINK, LinkKind};
use crate::web::kind::MISSING_PATH;
use crate::web::scope::Scope;
use crate::web::sitemap::{self, Body, Claim, Entry, Format, Item, Summary, Written};
use crate::web::url::{CanonicalUrl, KeyMaker, Keys};

/// Memory for the URLs of a sitemap.
pub const SITEMAP_LINK_BYTES: usize = sitemap::URLS_MAX as usize * BYTES_PER_LINK;

/// Path of the list that sites have for language models (llmstxt.org).
const LLMS_PATH: &str = "/llms.txt";

/// Held while a sitemap is read, by the one thread of the process that does.
static SITEMAP: Mutex<()> = Mutex::new(());

/// URLs of one entry that have its date; more than one has only an Atom entry with translations.
const ENTRY_URLS_MAX: usize = 16;

impl Finder {
    /// The sitemaps that the robots.txt at `url` names for an origin, on behalf of a URL at a depth. Of a host that is
    /// asked for what pages elsewhere embed, and for nothing else, no page is wanted, and so no sitemap.
    pub(super) fn name_sitemaps(
        &self,
        url: &CanonicalUrl,
        origin: &str,
        naming: Naming<'_>,
        sitemaps: &[String],
        scope: &Scope,
        findings: &mut Findings,
    ) {
        let origin = CanonicalUrl::parse(origin).unwrap_or_else(|_| url.clone());
        if !wants_pages(&origin, naming, scope) {
            return;
        }
        let mut list = List::default();
        for sitemap in sitemaps.iter().take(self.options.sitemaps_max) {
            let Ok(target) = url.join(sitemap) else { continue };
            match self.judge_sitemap(scope, &target, &origin, naming.depth) {
                Ok(()) => list.add(target.as_str(), self.options.keys.keys(&target), LinkKind::Sitemap),
                Err(reason) => count(&mut findings.dropped, reason),
            }
        }
        findings.links.extend(list.links);
    }

    /// The URLs that each origin is asked for in any case: the list of its pages for language models, and
    /// one that cannot exist, whose answer shows what the host says where there is no page.
    pub(super) fn name_asked(&self, origin: &str, naming: Naming<'_>, scope: &Scope, findings: &mut Findings) {
        let ProcessOptions { asks_missing, llms_txt, .. } = self.options;
        let asked = [(asks_missing, MISSING_PATH), (llms_txt, LLMS_PATH)];
        for (_, path) in asked.into_iter().filter(|(is_asked, _)| *is_asked) {
            let Ok(origin) = CanonicalUrl::parse(origin) else { return };
            if let Some(target) = origin.join(path).ok().filter(|_| wants_pages(&origin, naming, scope)) {
                self.add_link(target, LinkKind::Embed, naming, scope, findings);
            }
        }
    }

    /// The licences that a robots.txt names for an origin, on behalf of a URL at a depth, unless no page is wanted
    /// there.
    pub(super) fn name_licenses(
        &self,
        origin: &str,
        naming: Naming<'_>,
        licenses: &str,
        scope: &Scope,
        findings: &mut Findings,
    ) {
        if !CanonicalUrl::parse(origin).is_ok_and(|origin| wants_pages(&origin, naming, scope)) {
            return;
        }
        for target in licenses.split(", ").filter_map(|license| CanonicalUrl::parse(license).ok()) {
            self.add_link(target, LinkKind::Embed, naming, scope, findings);
        }
    }

    /// Reads the entries of the page at `url`, if it is a sitemap and may be one by its path. Returns whether it is.
    pub(super) fn list_entries(
        &self,
        url: &CanonicalUrl,
        naming: Naming<'_>,
        response: &Response,
        scope: &Scope,
        findings: &mut Findings,
    ) -> bool {
        let reads_robots = self.options.sitemaps_max > 0;
        let hops = naming.hops;
        let (files, is_linked) = (hops.sitemaps(), claim(hops, reads_robots) == Claim::Unlikely);
        // XML that nobody calls a sitemap has links like other documents
        let format = with_body(response, |body| format_of(hops, reads_robots, body));
        let Some(format) = format.filter(|&format| !is_linked || format == Format::JsonFeed) else { return false };
        let mut list = List::default();
        let (mut too_far, mut room) = (0, SITEMAP_LINK_BYTES);
        let mut summary = read(format, response, url, &mut |item| {
            let (entry, text) = match item {
                Item::Url(entry, text) => (entry, text),
                Item::End(modified) => return list.end(modified),
            };
            let Ok(target) = url.join(text) else { return };
            let keys = self.options.keys.keys(&target);
            // translations name one another again and again
            if entry.is_beside() && list.places.contains_key(&keys.key) {
                return;
            }
            match room.checked_sub(target.as_str().len()) {
                Some(left) => room = left,
                None => return too_far += u64::from(!entry.is_beside()),
            }
            let kind = match entry {
                Entry::Sitemap if files == FILES_MAX => return too_far += 1,
                Entry::Sitemap => LinkKind::Sitemap,
                // it is a separate page, which links to the rest of the feed
                Entry::Next => LinkKind::Other,
                Entry::Page | Entry::Beside if is_linked => LinkKind::Other,
                Entry::Page | Entry::Beside => LinkKind::Listed,
            };
            let verdict = match kind {
                LinkKind::Sitemap => self.judge_sitemap(scope, &target, url, naming.depth),
                kind => self.judge(scope, &target, kind, naming),
            };
            match verdict {
                Ok(()) if entry.is_beside() => list.add(target.as_str(), keys, kind),
                Ok(()) => list.add_dated(target.as_str(), keys, kind),
                Err(reason) => {
                    let link = FoundLink { url: target.into_text(), keys, kind, modified: None };
                    leave_out(findings, link, reason);
                }
            }
        });
        findings.links.extend(list.believed(response));
        if self.options.text_digests && !findings.links.is_empty() {
            findings.text = digest_of(&findings.links, &self.options.keys);
        }
        findings.limits.decoded = summary.cut;
        findings.limits.links += summary.dropped + too_far;
        summary.urls -= too_far;
        summary.dropped += too_far;
        findings.sitemap = Some(summary);
        true
    }

    /// Returns the dates of the entries of the XML document at `url`, by the keys of their URLs, if it is a feed or a
    /// sitemap.
    pub(super) fn dates_of_feed(
        &self,
        url: &CanonicalUrl,
        response: &Response,
        findings: &mut Findings,
    ) -> HashMap<Fingerprint, Time> {
        let Some(format) = with_body(response, |body| sitemap::format(body, Claim::Unlikely)) else {
            return HashMap::new();
        };
        let mut list = List::default();
        let summary = read(format, response, url, &mut |item| match item {
            Item::Url(Entry::Page | Entry::Sitemap, text) => {
                if let Ok(target) = url.join(text) {
                    // the URLs themselves are found by the reader of the document
                    list.add_dated("", self.options.keys.keys(&target), LinkKind::Other);
                }
            }
            Item::Url(Entry::Beside | Entry::Next, _) => {}
            Item::End(modified) => list.end(modified),
        });
        findings.sitemap = Some(summary);
        let dated = list.believed(response).into_iter();
        dated.filter_map(|link| Some((link.keys.key, link.modified?))).collect()
    }

    /// Judges whether a sitemap may be fetched that `named_by` names at `depth`.
    fn judge_sitemap(
        &self,
        scope: &Scope,
        target: &CanonicalUrl,
        named_by: &CanonicalUrl,
        depth: u16,
    ) -> Result<(), Reason> {
        self.judge_address(target)?;
        scope.judge_sitemap(target, named_by, depth, 0)
    }
}

/// False for an origin that is asked for what pages elsewhere embed, and for nothing else.
fn wants_pages(origin: &CanonicalUrl, naming: Naming<'_>, scope: &Scope) -> bool {
    !scope.is_requisite(naming.hops.embeds_before_robots()) || scope.has_pages_at(origin)
}

/// Reads an answer of this format, one at a time: a sitemap takes far more memory than a page.
fn read(format: Format, response: &Response, url: &CanonicalUrl, found: &mut dyn FnMut(Item<'_>)) -> Summary {
    let _reading = SITEMAP.lock().unwrap_or_else(PoisonError::into_inner);
    with_body(response, |body| sitemap::read(format, body, url, found))
}

fn with_body<T>(response: &Response, look: impl FnOnce(Body<'_>) -> T) -> T {
    let (content_type, content_encoding) = (response.content_type(), response.content_encoding());
    look(Body {
        content_type: content_type.as_deref(),
        content_encoding: content_encoding.as_deref(),
        bytes: &response.body,
    })
}

/// The URLs that an answer lists, each once, with the latest date that is written for it.
#[derive(Default)]
struct List {
    links: Vec<FoundLink>,
    /// Dates by place in `links`.
    written: Vec<Option<Written>>,
    places: HashMap<Fingerprint, usize>,
    /// Places in `links` of the URLs that the entry in hand names, [`ENTRY_URLS_MAX`] at most.
    entry: Vec<usize>,
}

impl List {
    fn add(&mut self, url: &str, keys: Keys, kind: LinkKind) {
        let next = self.links.len();
        let place = *self.places.entry(keys.key).or_insert(next);
        if place == next {
            self.links.push(FoundLink { url: url.into(), keys, kind, modified: None });
            self.written.push(None);
        }
    }

    /// The same for a URL that the date of the entry in hand is of.
    fn add_dated(&mut self, url: &str, keys: Keys, kind: LinkKind) {
        self.add(url, keys, kind);
        if self.entry.len() < ENTRY_URLS_MAX {
            self.entry.extend(self.places.get(&keys.key));
        }
    }

    /// The entry in hand ends, with its date.
    fn end(&mut self, modified: Option<Written>) {
        for place in self.entry.drain(..) {
            let written = &mut self.written[place];
            *written = modified.map(|date| date.or_later(*written)).or(*written);
        }
    }

    /// The links with those dates that are believed.
    fn believed(mut self, response: &Response) -> Vec<FoundLink> {
        let by_server = response.header("date").and_then(|date| httpdate::parse_http_date(&date).ok());
        let by_server = by_server.and_then(|date| date.duration_since(UNIX_EPOCH).ok()).map(|since| Time::ZERO + since);
        // an answer out of a cache was written when its server says
        let answered = by_server.map_or(response.started, |date| date.min(response.started));
        for (link, written) in self.links.iter_mut().zip(&self.written) {
            link.modified = written.and_then(|written| written.believed(answered));
        }
        if let Some(since) = sitemap::of_the_file(self.links.iter().filter_map(|link| link.modified)) {
            for link in &mut self.links {
                link.modified = link.modified.filter(|&date| date < since);
            }
        }
        self.links
    }
}
/// Returns a digest of a list of URLs: the URLs, and when they were changed.
fn digest_of(links: &[FoundLink], keys: &KeyMaker) -> u64 {
    let entry = |link: &FoundLink| [link.keys.key.bits(), link.modified.map_or(0, Time::ms)].map(u64::to_le_bytes);
    let bytes: Vec<u8> = links.iter().flat_map(entry).flatten().collect();
    keys.digest(&bytes)
}
