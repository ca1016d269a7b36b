//! URLs that an answer names by itself: in its header, and in the document that came.
//!
//! Which kind of document it is, and by which reader its links are found, is the matter of `web::html`; here they are
//! judged. A page that names no icon has the one that browsers ask its origin for.

use std::borrow::Cow;
use std::collections::HashMap;

use super::find::{Finder, Naming, leave_out};
use super::judged::judge;
use crate::contract::{ContentDigests, Evidence, Findings, Found, FoundLink, Likeness, PageLink, Response};
use crate::frontier::Hops;
use crate::web::coding;
use crate::web::headers;
use crate::web::html::{
    Document, Link, LinkKind, Links, RobotsDirectives, Stated, canonical_header, is_plain_text, license_header,
    link_header, x_robots_tag,
};
use crate::web::parameter::parameters;
use crate::web::robots::TDMREP_PATH;
use crate::web::scope::Scope;
use crate::web::url::CanonicalUrl;

/// A document that was read, with its links.
struct Read {
    document: Document,
    links: Links,
    said: Option<ContentDigests>,
}

impl Finder {
    /// The links of the page at `url`, judged.
    pub(super) fn find_links(
        &mut self,
        url: &CanonicalUrl,
        naming: Naming<'_>,
        response: &Response,
        scope: &Scope,
        findings: &mut Findings,
    ) {
        let directives = directives(response, &self.options.agent_token);
        let follows = !(directives.nofollow && self.options.respect_nofollow);
        self.read_header(url, naming, response, follows, scope, findings);
        if follows && self.list_entries(url, naming, response, scope, findings) {
            return;
        }
        let read = self.read_document(url, naming.hops, response, directives, findings);
        let Some(Read { document, mut links, said }) = read else { return };
        findings.limits.links += u64::from(links.dropped);
        findings.is_scripts = links.is_scripts;
        findings.is_nofollow = links.nofollow_page;
        let (scripts, text_bytes) = links.shown;
        findings.statements = std::mem::take(&mut links.statements);
        if findings.canonical.is_none() {
            findings.canonical = links.canonical.take();
        }
        let has_favicon = matches!(document, Document::Html | Document::Xhtml)
            && self.options.favicon
            && !links.has_icon
            && naming.hops.embeds() == 0
            && !(links.nofollow_page && self.options.respect_nofollow);
        findings.links.reserve(links.entries.len() + usize::from(has_favicon));
        let favicon = if has_favicon { self.favicon.of(url, &self.options.keys) } else { None };
        let dates =
            if document == Document::Xml { self.dates_of_feed(url, response, findings) } else { HashMap::new() };
        let twin = if document == Document::Html { self.markdown_twin(url, naming) } else { None };
        for Link { url, kind, keys } in links.entries.into_iter().chain(favicon).chain(twin) {
            let verdict = self.judge(scope, &url, kind, naming);
            let modified = dates.get(&keys.key).copied();
            let link = FoundLink { url: url.into_text(), keys, kind, modified };
            match verdict {
                Ok(()) => findings.links.push(link),
                Err(reason) => leave_out(findings, link, reason),
            }
        }
        if matches!(document, Document::Html | Document::Xhtml) {
            let followed = findings.links.iter().filter(|link| link.kind != LinkKind::Embed).count();
            let links = u32::try_from(followed).unwrap_or(u32::MAX);
            findings.shown = Some(Found { scripts, links, text_bytes });
        }
        if self.options.licenses {
            self.add_licenses(url, naming, response, scope, findings);
        }
        if let Some(said) = said {
            let links: Vec<PageLink<'_>> = findings.links.iter().map(named).collect();
            findings.evidence = Evidence::of(url, said, &links, &self.options.keys).map(Box::new);
        }
    }

    /// The same page in Markdown, where sites that follow llmstxt.org have it.
    fn markdown_twin(&self, url: &CanonicalUrl, naming: Naming<'_>) -> Option<Link> {
        if !self.options.markdown_twins || naming.hops.embeds() > 0 || url.has_request() {
            return None;
        }
        let name = if url.path().ends_with('/') { "index.html.md" } else { ".md" };
        let url = url.join(&format!("{}{name}", url.path())).ok()?;
        Some(Link { keys: self.options.keys.keys(&url), kind: LinkKind::Embed, url })
    }

    /// Adds the licences that a page names, wherever their terms are, and the file of its origin with the reservations
    /// of TDMRep: they come with the page as what it embeds does.
    fn add_licenses(
        &self,
        url: &CanonicalUrl,
        naming: Naming<'_>,
        response: &Response,
        scope: &Scope,
        findings: &mut Findings,
    ) {
        let in_header = license_header(&response.headers);
        let mut targets: Vec<_> = in_header.iter().filter_map(|reference| url.join(reference).ok()).collect();
        targets.extend(findings.statements.licenses().filter_map(|license| CanonicalUrl::parse(license).ok()));
        if naming.hops.embeds() == 0 {
            targets.extend(url.join(TDMREP_PATH));
        }
        for target in targets {
            self.add_link(target, LinkKind::Embed, naming, scope, findings);
        }
    }

    /// Reads the URLs that the fields `Refresh` and `Link` name. Unless `follows`, only a canonical one is taken.
    fn read_header(
        &self,
        url: &CanonicalUrl,
        naming: Naming<'_>,
        response: &Response,
        follows: bool,
        scope: &Scope,
        findings: &mut Findings,
    ) {
        let linked: Vec<Cow<'_, str>> = headers::named(&response.headers, "link").map(headers::reference).collect();
        let named = linked.iter().find_map(|value| canonical_header(value));
        findings.canonical =
            named.and_then(|reference| url.join(&reference).ok()).map(|target| target.as_str().to_owned());
        let refresh = headers::refresh(&response.headers).map(|target| (target, LinkKind::Refresh));
        let others = linked.iter().flat_map(|value| link_header(value));
        let mut room = self.options.links_max;
        for (reference, kind) in refresh.into_iter().chain(others).filter(|_| follows) {
            let Ok(target) = url.join(&reference) else { continue };
            if room == 0 {
                findings.limits.links += 1;
                continue;
            }
            room -= 1;
            self.add_link(target, kind, naming, scope, findings);
        }
    }

    /// The links of the document that came, if it is of a kind that has any.
    fn read_document(
        &mut self,
        url: &CanonicalUrl,
        hops: &Hops,
        response: &Response,
        directives: RobotsDirectives,
        findings: &mut Findings,
    ) -> Option<Read> {
        let content_type = response.content_type();
        let content_type = content_type.as_deref();
        let mut sniffing = headers::named(&response.headers, "x-content-type-options");
        let nosniff = sniffing.next().is_some_and(|value| value.eq_ignore_ascii_case(b"nosniff"));
        let stated = Stated { content_type, nosniff, path: url.path(), embedded: hops.embeds() > 0 };
        let is_plain = self.options.text_digests && is_plain_text(content_type);
        let may_be = self.scan.may_read(&stated);
        if !may_be && !is_plain {
            findings.judged = judge(&self.options, url, response, &response.body, None);
            return None;
        }
        let decoded_max = coding::within_ratio(response.body.len(), self.options.decoded_max);
        let decoded = self.decoder.decode(response.content_encoding().as_deref(), &response.body, decoded_max);
        let document = if may_be { Document::of(&stated, &decoded.bytes) } else { None };
        let is_page = matches!(document, Some(Document::Html | Document::Xhtml));
        let may_learn = self.options.learn_session_params && is_page && response.status == 200;
        let learns = may_learn && !url.has_request() && !parameters(url.as_str()).is_empty();
        let mut said = None;
        if self.options.text_digests || self.options.likenesses && is_page || learns {
            self.wording.keep_whole(learns);
            let wording = match document {
                Some(document) => self.wording.document(document, &decoded.bytes, content_type),
                None if is_plain => Some(self.wording.plain(&decoded.bytes, content_type)),
                None => None,
            };
            let keys = &self.options.keys;
            let likeness = wording.filter(|_| self.options.likenesses && is_page);
            findings.likeness = likeness.and_then(|words| Likeness::of(words, keys)).map(Box::new);
            findings.text = wording.filter(|_| self.options.text_digests).map_or(0, |words| keys.digest(words));
            let words = wording.filter(|_| learns).map_or(0, |words| keys.digest(words));
            let text = self.wording.whole().filter(|_| learns).map(|text| keys.digest(text));
            said = text.map(|text| ContentDigests { text, words });
        }
        let document = document?;
        findings.limits.decoded = !decoded.is_whole();
        let keys = &self.options.keys;
        let links = self.scan.document(document, &decoded.bytes, content_type, url, keys, directives);
        let text_bytes = usize::try_from(links.shown.1).unwrap_or(usize::MAX);
        findings.judged = judge(&self.options, url, response, &decoded.bytes, Some(text_bytes));
        Some(Read { document, links, said })
    }
}

/// A link as evidence needs it.
fn named(link: &FoundLink) -> PageLink<'_> {
    PageLink { url: &link.url, origin: link.keys.origin, is_embed: link.kind == LinkKind::Embed }
}

/// Returns what the X-Robots-Tag fields of an answer ask of the crawler.
fn directives(response: &Response, agent_token: &str) -> RobotsDirectives {
    let values: Vec<_> = headers::named(&response.headers, "x-robots-tag").map(String::from_utf8_lossy).collect();
    x_robots_tag(values.iter().map(|value| &**value), agent_token)
}
