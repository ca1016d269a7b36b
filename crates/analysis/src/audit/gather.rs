//! The pass over the archive: each page becomes lines, of its URL, its links, its texts and its translations.
//!
//! Only the newest version of a URL counts. Which versions are older is sorted out before, by their places, so the
//! archive is read from its start to its end.

use sha1::{Digest, Sha1};

use super::figures::{Counted, Figures};
use super::finding::{Finding, Findings, Kind};
use super::line::line;
use super::link::{How, Link};
use super::node::{Answered, Node};
use super::page::{self, Facts};
use super::{codes, sample::Sampler, tree::Tree};
use crate::archive::{Answer, Archive, Error, History, Page, Result, StoredList};
use crate::clock::Time;
use crate::disk::sorter::{Members, Sorter};
use crate::fingerprint::Fingerprinter;
use crate::web::html::{
    Document, LinkKind, LinkScan, Links, RobotsDirectives, Stated, canonical_header, link_header, x_robots_tag,
};
use crate::web::robots::RobotsRules;
use crate::web::sitemap::{Body, Entry, Format};
use crate::web::url::{CanonicalUrl, KeyMaker};
use crate::web::{charset, format, headers};

/// Links of a page that are looked at.
const LINKS_MAX: usize = 100_000;
/// Bytes of a page; a longer one is answered, and nothing is looked for in it.
const PAGE_BYTES_MAX: usize = 32 << 20;
/// Memory for the places of older versions.
const OLDER_MEMORY: usize = 16 << 20;

/// Lines that the pass has gathered.
pub(super) struct Gathered {
    /// Lines of [`Node`]s.
    pub nodes: Sorter,
    /// Lines of [`Link`]s.
    pub links: Sorter,
    /// Texts and bodies that a page should have alone: mark, text, URL.
    pub same: Sorter,
    /// Translations: see [`super::pairs`].
    pub pairs: Sorter,
    pub findings: Findings,
    pub figures: Figures,
    /// Time at which the last answer was asked for.
    pub newest: Time,
    pub sampler: Sampler,
    pub tree: Tree,
}

impl Gathered {
    /// Nothing yet; with so much memory in all.
    pub(super) fn new(memory: usize) -> Gathered {
        let eighth = memory / 8;
        Gathered {
            nodes: Sorter::new(eighth),
            links: Sorter::new(3 * eighth),
            same: Sorter::new(eighth),
            pairs: Sorter::new(eighth),
            findings: Findings::new(eighth),
            figures: Figures::default(),
            newest: Time::ZERO,
            sampler: Sampler::default(),
            tree: Tree::default(),
        }
    }
}

/// Reads pages.
pub(super) struct Gatherer<'a> {
    archive: &'a Archive,
    keys: KeyMaker,
    all: LinkScan,
    followed: LinkScan,
    /// Keys by which a scan distinguishes links of a page.
    scan_keys: KeyMaker,
    pub out: Gathered,
}

/// A page on its way.
struct Visit {
    url: CanonicalUrl,
    key: String,
    answer: Answer,
    /// SHA-1 of what it shows.
    digest: [u8; 20],
    history: History,
    content_type: Option<String>,
    /// True for a document, such as a PDF, of which a page was made: its links count, and it is no page itself.
    is_document: bool,
    /// Directives of its header fields for all robots.
    said: RobotsDirectives,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(archive: &'a Archive, memory: usize) -> Gatherer<'a> {
        let scan = |nofollow| LinkScan::new(LINKS_MAX, nofollow, CanonicalUrl::LENGTH_MAX).with_each_kind();
        Gatherer {
            archive,
            keys: archive.archives().keys().clone(),
            all: scan(false),
            followed: scan(true),
            scan_keys: KeyMaker::new(Fingerprinter::random(fastrand::u64(..)), &[]),
            out: Gathered::new(memory),
        }
    }

    /// The key of a URL: the spelling that represents all of the same page.
    pub(super) fn key(&self, url: &CanonicalUrl) -> String {
        self.keys.plain_spelling(url).unwrap_or_else(|| url.as_str().to_owned())
    }

    /// Reads all pages. What cannot be read of one is reported to `faulty`, and the pass goes on.
    pub(super) fn read(&mut self, faulty: &mut dyn FnMut(Error)) -> Result<()> {
        let archive = self.archive;
        let mut older = older(archive)?;
        for page in archive.pages() {
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    faulty(error);
                    continue;
                }
            };
            if older.has(&place(&page, page.parts().2.offset))? {
                continue;
            }
            match self.page(&page) {
                Err(error) if !page.is_removed().unwrap_or(false) => faulty(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn page(&mut self, page: &Page) -> Result<()> {
        let Ok(url) = CanonicalUrl::parse(page.url()) else { return Ok(()) };
        let (mut answer, history) = (page.answer()?, page.history()?);
        let key = self.key(&url);
        let mut content_type = answer.content_type();
        let mut digest = page.digest_sha1();
        let mut is_document = false;
        // people see what scripts have made of it
        if let Some(dom) = page.rendered()? {
            is_document = format::Format::may_be(content_type.as_deref());
            digest = Sha1::digest(&dom).into();
            (answer.body, content_type) = (dom.into_bytes(), Some("text/html; charset=utf-8".to_owned()));
        }
        let tags: Vec<_> = headers::named(&answer.headers, "x-robots-tag").map(String::from_utf8_lossy).collect();
        let said = x_robots_tag(tags.iter().map(|value| &**value), "*");
        let visit = Visit { url, key, answer, digest, history, content_type, is_document, said };
        if page.is_robots() {
            return self.robots(&visit);
        }
        self.visit(page, visit)
    }

    /// The sitemaps that a robots.txt names.
    fn robots(&mut self, visit: &Visit) -> Result<()> {
        if visit.answer.status == 200 {
            for sitemap in RobotsRules::parse("*", &visit.answer.body).sitemaps() {
                if let Ok(target) = visit.url.join(sitemap) {
                    self.link(visit, &target, How::Sitemap, false, "")?;
                }
            }
        }
        Ok(())
    }

    fn visit(&mut self, page: &Page, visit: Visit) -> Result<()> {
        // a page that is as it was has the status that it had
        let is_confirmed = visit.answer.status == 304 && page.is_revisit();
        let status = if is_confirmed { 200 } else { visit.answer.status };
        let mut known =
            Answered { url: page.url().to_owned(), status, depth: visit.history.depth, ..Answered::default() };
        let location = headers::location(&visit.answer.headers).filter(|_| (300..400).contains(&status));
        if let Some(target) = location.and_then(|value| visit.url.join(&value).ok()) {
            known.redirect = self.key(&target);
            self.link(&visit, &target, How::Redirect, false, "")?;
        }
        known.kind = page.parts().2.kind;
        if status == 200 && known.kind.is_none() && visit.answer.body.len() <= PAGE_BYTES_MAX {
            self.content(&visit, &mut known)?;
        }
        self.out.figures.count(Counted {
            status,
            mime: &page.media_type().to_ascii_lowercase(),
            is_page: known.is_html && status == 200,
            depth: known.depth,
            duration: visit.history.duration,
            bytes: page.body_bytes(),
        });
        if known.is_html {
            self.out.sampler.offer(&visit.key, known.depth);
        }
        let time = page.parts().2.time;
        self.out.newest = self.out.newest.max(time);
        self.out.nodes.push(&Node::Answered(known).line(&visit.key, time))?;
        Ok(())
    }

    /// Gathers what the body of an answer names, and says of itself.
    fn content(&mut self, visit: &Visit, known: &mut Answered) -> Result<()> {
        if self.sitemap(visit)? {
            return Ok(());
        }
        let content_type = visit.content_type.as_deref();
        let stated = Stated { content_type, nosniff: false, path: visit.url.path(), embedded: true };
        let Some(document) = Document::of(&stated, &visit.answer.body) else { return Ok(()) };
        if !matches!(document, Document::Html | Document::Xhtml) {
            let (body, keys) = (&visit.answer.body, &self.scan_keys);
            let links = self.all.document(document, body, content_type, &visit.url, keys, visit.said);
            if document == Document::Css {
                self.mixed(visit, &links, false)?;
            }
            return self.links(visit, &links, &[], None);
        }
        if visit.is_document {
            let (body, keys) = (&visit.answer.body, &self.scan_keys);
            let (links, texts) = self.all.html_with_texts(body, content_type, &visit.url, keys, visit.said);
            return self.links(visit, &links, &texts, None);
        }
        known.is_html = true;
        self.html(visit, known, document == Document::Xhtml)
    }

    fn html(&mut self, visit: &Visit, known: &mut Answered, is_xhtml: bool) -> Result<()> {
        let (body, content_type) = (&visit.answer.body, visit.content_type.as_deref());
        let (links, texts) = self.all.html_with_texts(body, content_type, &visit.url, &self.scan_keys, visit.said);
        let followed = self.followed.html(body, content_type, &visit.url, &self.scan_keys, visit.said);
        known.noindex = links.noindex || visit.said.noindex;
        let nofollow = links.nofollow_page;
        if nofollow {
            self.out.findings.push(&Finding::of(Kind::NofollowPage, &known.url, ""))?;
        }
        self.links(visit, &links, &texts, Some(&followed).filter(|_| !nofollow))?;
        let html = charset::to_utf8(body, charset::of_html(body, content_type));
        let facts = Facts::of(html.as_bytes(), is_xhtml);
        self.mixed(visit, &links, facts.upgrades)?;
        let base = facts.base.as_deref().and_then(|base| visit.url.join(base).ok());
        let base = base.unwrap_or_else(|| visit.url.clone());
        self.canonical(visit, known, &facts, &base)?;
        self.translations(visit, &facts, &base)?;
        for source in &facts.without_alt {
            let url = base.join(source).map_or_else(|_| source.clone(), |url| url.as_str().to_owned());
            self.out.findings.push(&Finding::of(Kind::ImageAlt, &known.url, "").at(&url, "embed", ""))?;
        }
        if !known.noindex {
            self.same(&visit.digest, known, &facts)?;
        }
        Ok(())
    }

    /// The links of a page; which of them may be followed, where that is reported link by link.
    fn links(&mut self, visit: &Visit, links: &Links, texts: &[String], followed: Option<&Links>) -> Result<()> {
        let join = |value: &str| visit.url.join(value).ok();
        if let Some(target) = headers::refresh(&visit.answer.headers).and_then(|value| join(&value)) {
            self.link(visit, &target, How::Refresh, false, "")?;
        }
        let linked: Vec<_> = headers::named(&visit.answer.headers, "link").map(headers::reference).collect();
        let canonical = linked.iter().find_map(|value| canonical_header(value)).and_then(|value| join(&value));
        for target in linked.iter().flat_map(|value| link_header(value)).filter_map(|(value, _)| join(&value)) {
            if canonical.as_ref() != Some(&target) {
                self.link(visit, &target, How::Header, false, "")?;
            }
        }
        let may_be_followed: std::collections::HashSet<_> =
            followed.into_iter().flat_map(|links| &links.entries).map(|link| (link.kind, link.keys.key)).collect();
        for (place, link) in links.entries.iter().enumerate() {
            let how = match link.kind {
                LinkKind::Anchor | LinkKind::Aside => How::Anchor,
                LinkKind::Embed => How::Embed,
                LinkKind::Refresh => How::Refresh,
                // reported by the facts of the page
                LinkKind::Canonical => continue,
                LinkKind::Other | LinkKind::Listed | LinkKind::Sitemap => How::Other,
            };
            let nofollow = followed.is_some() && !may_be_followed.contains(&(link.kind, link.keys.key));
            let text = texts.get(place).map_or("", String::as_str);
            self.link(visit, &link.url, how, nofollow, text)?;
        }
        Ok(())
    }

    fn link(&mut self, visit: &Visit, url: &CanonicalUrl, how: How, nofollow: bool, text: &str) -> Result<()> {
        let link = Link {
            target: self.key(url),
            how,
            source: visit.url.as_str().to_owned(),
            nofollow,
            leaves: (url.host(), url.port()) != (visit.url.host(), visit.url.port()),
            text: text.to_owned(),
            url: url.as_str().to_owned(),
        };
        self.out.figures.links += 1;
        Ok(self.out.links.push(&link.line())?)
    }

    /// Gathers what a page or style sheet that was fetched by https embeds by http, unless it asks browsers to use
    /// https.
    fn mixed(&mut self, visit: &Visit, links: &Links, upgraded_by_page: bool) -> Result<()> {
        let policies = headers::list(&visit.answer.headers, "content-security-policy").unwrap_or_default();
        if !visit.url.is_https() || upgraded_by_page || page::upgrades(&policies) {
            return Ok(());
        }
        let embeds = links.entries.iter().filter(|link| link.kind == LinkKind::Embed && !link.url.is_https());
        for link in embeds {
            let finding = Finding::of(Kind::MixedContent, visit.url.as_str(), "");
            self.out.findings.push(&finding.at(link.url.as_str(), "embed", ""))?;
        }
        Ok(())
    }

    fn canonical(&mut self, visit: &Visit, known: &mut Answered, facts: &Facts, base: &CanonicalUrl) -> Result<()> {
        let of_header = headers::named(&visit.answer.headers, "link").map(headers::reference);
        let of_header = of_header.filter_map(|value| visit.url.join(&canonical_header(&value)?).ok());
        let mut named: Vec<(String, CanonicalUrl)> = Vec::new();
        for url in facts.canonicals.iter().filter_map(|href| base.join(href).ok()).chain(of_header) {
            let key = self.key(&url);
            if !named.iter().any(|(found, _)| *found == key) {
                named.push((key, url));
            }
        }
        if named.len() > 1 {
            for (_, url) in &named {
                let finding = Finding::of(Kind::CanonicalSeveral, &known.url, "").at(url.as_str(), "canonical", "");
                self.out.findings.push(&finding)?;
            }
            return Ok(());
        }
        if let Some((key, url)) = named.pop().filter(|(key, _)| *key != visit.key) {
            self.link(visit, &url, How::Canonical, false, "")?;
            known.canonical = key;
        }
        Ok(())
    }

    fn translations(&mut self, visit: &Visit, facts: &Facts, base: &CanonicalUrl) -> Result<()> {
        for (code, href) in &facts.alternates {
            let Ok(target) = base.join(href) else { continue };
            if let Some(fault) = codes::fault(code) {
                let finding = Finding::of(Kind::HreflangCode, visit.url.as_str(), "");
                self.out.findings.push(&finding.at(target.as_str(), &fault, code))?;
            }
            let (from, to) = (&visit.key, self.key(&target));
            if *from != to {
                self.out.pairs.push(&line([from, &to, "has"]))?;
            }
            // a page for all other languages is no translation, and names none in turn
            if *from != to && !code.trim().eq_ignore_ascii_case("x-default") {
                self.out.pairs.push(&line([&to, from, "wants", visit.url.as_str(), target.as_str(), code]))?;
            }
        }
        Ok(())
    }

    /// Gathers what a page that may be indexed should have, and have alone.
    fn same(&mut self, digest: &[u8; 20], known: &Answered, facts: &Facts) -> Result<()> {
        let digest = data_encoding::BASE32.encode(digest);
        if known.canonical.is_empty() {
            let texts = [
                ("t", Kind::TitleMissing, &facts.title),
                ("d", Kind::DescriptionMissing, &facts.description),
                ("h", Kind::H1Missing, &facts.h1),
            ];
            for (mark, missing, text) in texts {
                match text.as_deref().filter(|text| !text.is_empty()) {
                    Some(text) => self.out.same.push(&line([mark, text, &known.url]))?,
                    None => self.out.findings.push(&Finding::of(missing, &known.url, ""))?,
                }
            }
            self.out.same.push(&line(["b", &digest, &known.url]))?;
        }
        Ok(())
    }

    /// Gathers the entries of the answer if it is a sitemap or a feed in JSON. Returns whether it is.
    fn sitemap(&mut self, visit: &Visit) -> Result<bool> {
        let body =
            Body { content_type: visit.content_type.as_deref(), content_encoding: None, bytes: &visit.answer.body };
        let hops = || Ok::<_, Error>(visit.history.hops.clone());
        let Some(list) = StoredList::of(&visit.url, body, hops)? else { return Ok(false) };
        for (url, entry) in &list.entries {
            let how = match entry {
                _ if list.format == Format::JsonFeed => How::Other,
                Entry::Page => How::Listed,
                Entry::Sitemap => How::Sitemap,
                Entry::Beside | Entry::Next => continue,
            };
            self.link(visit, url, how, false, "")?;
        }
        Ok(true)
    }
}

/// The place of a record in the order of the archive.
fn place(page: &Page, offset: u64) -> Vec<u8> {
    let shard = page.parts().1 as u64;
    [shard.to_be_bytes(), offset.to_be_bytes()].concat()
}

/// The places of the versions that a later one names as the one before it.
fn older(archive: &Archive) -> Result<Members> {
    let mut sorter = Sorter::new(OLDER_MEMORY);
    for page in archive.pages() {
        // damage is reported when the pages are read
        let Ok(page) = page else { continue };
        if let Some(previous) = page.parts().2.previous {
            sorter.push(&place(&page, previous))?;
        }
    }
    Ok(Members::of(sorter.finish()?)?)
}

/// The time of what has none.
pub(super) const UNDATED: Time = Time::ZERO;
