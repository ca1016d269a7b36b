//! The links of a stored answer, found by the scan that the crawl itself uses, against its own URL and `<base>`.
//!
//! A target comes once a page, as the kind of link that names it first, with the first text that any of its anchors
//! has. Sitemaps in all their forms and feeds of JSON are read as the crawl reads them, too: a text is one where the
//! way to it says so.

use std::collections::HashSet;

use super::listed::StoredList;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::web::headers;
use crate::web::html::{
    Document, LinkKind, LinkScan, Links, RobotsDirectives, Stated, canonical_header, link_header, x_robots_tag,
};
use crate::web::sitemap::{Body, Entry, Format};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Links of a page; a page that names more is cut, and that is reported.
const LINKS_MAX: usize = 100_000;

/// An answer whose links are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Linking<'a> {
    /// Its URL.
    pub url: &'a CanonicalUrl,
    /// Its status.
    pub status: u16,
    /// The fields of its head.
    pub headers: &'a [(Vec<u8>, Vec<u8>)],
    /// The type that it states.
    pub content_type: Option<&'a str>,
    /// Its body without content coding.
    pub body: &'a [u8],
}

/// A link of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLink {
    /// The URL to which it leads.
    pub target: CanonicalUrl,
    /// Word for its kind.
    pub kind: &'static str,
    /// True if it must not be followed.
    pub nofollow: bool,
    /// The text of the anchor.
    pub text: String,
}

/// All links of an answer.
#[derive(Clone, Debug, Default)]
pub struct FoundLinks {
    /// Links in the order of the page.
    pub links: Vec<FoundLink>,
    /// Links beyond the limits.
    pub dropped: u64,
}

/// Scans of pages: one that finds all links, one that leaves out what must not be followed.
pub struct LinkFinder {
    all: LinkScan,
    followed: LinkScan,
    keys: KeyMaker,
}

impl LinkFinder {
    /// A finder whose keys are of the polynomial that `random` chooses: they are compared within a page only.
    pub fn new(random: u64) -> LinkFinder {
        let scan = |respect_nofollow| LinkScan::new(LINKS_MAX, respect_nofollow, CanonicalUrl::LENGTH_MAX);
        let keys = KeyMaker::new(Fingerprinter::random(random), &[]);
        LinkFinder { all: scan(false), followed: scan(true), keys }
    }

    /// All links of an answer that was found by `hops`: its redirect, those of its head, of its page, or its entries.
    pub fn links<E>(
        &mut self,
        answer: &Linking<'_>,
        hops: impl FnOnce() -> Result<String, E>,
    ) -> Result<FoundLinks, E> {
        let mut found = FoundLinks::default();
        let mut add = |target: CanonicalUrl, kind: &'static str, nofollow: bool, text: String| {
            found.links.push(FoundLink { target, kind, nofollow, text });
        };
        if let Some(target) = redirect(answer.url, answer.status, answer.headers) {
            add(target, "redirect", false, String::new());
        }
        let (links, texts, followed) = self.scanned(answer);
        let linked: Vec<_> = headers::named(answer.headers, "link").map(headers::reference).collect();
        let join = |value: &str| answer.url.join(value).ok();
        let canonical = answer.canonical_of_head();
        if let Some(target) = headers::refresh(answer.headers).and_then(|value| join(&value)) {
            add(target, "refresh", links.nofollow_page, String::new());
        }
        for target in linked.iter().flat_map(|value| link_header(value)).filter_map(|(value, _)| join(&value)) {
            let kind = if canonical.as_ref() == Some(&target) { "canonical" } else { "header" };
            add(target, kind, links.nofollow_page, String::new());
        }
        match answer.listed(hops)? {
            None => {
                for (link, text) in links.entries.into_iter().zip(texts) {
                    add(link.url, name(link.kind), !followed.contains(&link.keys.key), text);
                }
                found.dropped = u64::from(links.dropped);
            }
            Some(listed) => {
                for (target, entry) in listed.entries {
                    add(target, name(kind_of_entry(listed.format, entry)), false, String::new());
                }
                found.dropped = listed.dropped;
            }
        }
        Ok(found)
    }

    /// The targets alone, whether they may be followed or not, by one scan.
    pub fn targets<E>(
        &mut self,
        answer: &Linking<'_>,
        hops: impl FnOnce() -> Result<String, E>,
    ) -> Result<Vec<CanonicalUrl>, E> {
        let join = |value: &str| answer.url.join(value).ok();
        let mut targets: Vec<CanonicalUrl> = Vec::new();
        targets.extend(redirect(answer.url, answer.status, answer.headers));
        targets.extend(headers::refresh(answer.headers).and_then(|value| join(&value)));
        for value in headers::named(answer.headers, "link").map(headers::reference) {
            targets.extend(link_header(&value).into_iter().filter_map(|(value, _)| join(&value)));
        }
        if let Some(listed) = answer.listed(hops)? {
            targets.extend(listed.entries.into_iter().map(|(target, _)| target));
            return Ok(targets);
        }
        if let Some(document) = Document::of(&stated(answer.url, answer.content_type), answer.body) {
            let said = RobotsDirectives::default();
            let links = self.all.document(document, answer.body, answer.content_type, answer.url, &self.keys, said);
            targets.extend(links.entries.into_iter().map(|link| link.url));
        }
        Ok(targets)
    }

    /// The URL that an answer names as the canonical one of its page: in its head, or else in the page.
    pub fn canonical(&mut self, answer: &Linking<'_>) -> Option<CanonicalUrl> {
        answer.canonical_of_head().or_else(|| {
            let document = Document::of(&stated(answer.url, answer.content_type), answer.body)?;
            let said = RobotsDirectives::default();
            let links = self.all.document(document, answer.body, answer.content_type, answer.url, &self.keys, said);
            CanonicalUrl::parse(&links.canonical?).ok()
        })
    }

    /// The links of a page, their texts, and the keys of those that may be followed.
    fn scanned(&mut self, answer: &Linking<'_>) -> (Links, Vec<String>, HashSet<Fingerprint>) {
        let Linking { url, content_type, body, .. } = *answer;
        let tags: Vec<_> = headers::named(answer.headers, "x-robots-tag").map(String::from_utf8_lossy).collect();
        let said = x_robots_tag(tags.iter().map(|value| &**value), "*");
        let Some(document) = Document::of(&stated(url, content_type), body) else {
            return (Links { nofollow_page: said.nofollow, ..Links::default() }, Vec::new(), HashSet::new());
        };
        let keys = &self.keys;
        let (links, texts) = if matches!(document, Document::Html | Document::Xhtml) {
            self.all.html_with_texts(body, content_type, url, keys, said)
        } else {
            let links = self.all.document(document, body, content_type, url, keys, said);
            let texts = vec![String::new(); links.entries.len()];
            (links, texts)
        };
        let followed = self.followed.document(document, body, content_type, url, keys, said);
        (links, texts, followed.entries.iter().map(|link| link.keys.key).collect())
    }
}

impl Linking<'_> {
    /// The URL that its head names as the canonical one.
    fn canonical_of_head(&self) -> Option<CanonicalUrl> {
        let mut fields = headers::named(self.headers, "link").map(headers::reference);
        let named = fields.find_map(|value| canonical_header(&value))?;
        self.url.join(&named).ok()
    }

    /// Its entries, if it is a sitemap or a feed of JSON.
    fn listed<E>(&self, hops: impl FnOnce() -> Result<String, E>) -> Result<Option<StoredList>, E> {
        let body = Body { content_type: self.content_type, content_encoding: None, bytes: self.body };
        StoredList::of(self.url, body, hops)
    }
}

/// Returns the target of an answer of `url` that is a redirect.
pub fn redirect(url: &CanonicalUrl, status: u16, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<CanonicalUrl> {
    let location = headers::location(fields).filter(|_| (300..400).contains(&status) && status != 304);
    location.and_then(|value| url.join(&value).ok())
}

/// Returns what is known of an answer before it is read. URLs in a sheet of a wrong type are found if a page embeds it,
/// which is not known here.
pub fn stated<'a>(url: &'a CanonicalUrl, content_type: Option<&'a str>) -> Stated<'a> {
    Stated { content_type, nosniff: false, path: url.path(), embedded: true }
}

/// The kind of an entry of a file of this format.
fn kind_of_entry(format: Format, entry: Entry) -> LinkKind {
    match entry {
        _ if format == Format::JsonFeed => LinkKind::Other,
        Entry::Sitemap => LinkKind::Sitemap,
        Entry::Page => LinkKind::Listed,
        Entry::Beside | Entry::Next => LinkKind::Other,
    }
}

fn name(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Anchor | LinkKind::Aside => "anchor",
        LinkKind::Embed => "embed",
        LinkKind::Refresh => "refresh",
        LinkKind::Canonical => "canonical",
        LinkKind::Other => "other",
        LinkKind::Listed => "listed",
        LinkKind::Sitemap => "sitemap",
    }
}
