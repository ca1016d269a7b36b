//! The link scan: tags in, canonical links out.
//!
//! Two steps, because a `<base>` or a robots `<meta>` may come after the first links: the values are gathered as they
//! are, and resolved when the page is at its end.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

use super::RobotsDirectives;
use super::document::{Document, Stated};
use super::found::Found;
use super::gather::Rules;
use super::lazy::LazyNames;
use super::resolver::Resolver;
use super::text::AnchorTexts;
use super::{BYTES_PER_LINK, Link, LinkKind, Links};
use crate::fingerprint::Fingerprints;
use crate::web::json::JsonLinks;
use crate::web::shortcut::Shortcut;
use crate::web::tags::Tags;
use crate::web::url::CanonicalUrl;
use crate::web::url::{KeyMaker, LastOrigin};
use crate::web::values::Role;
use crate::web::{charset, json, markdown, mime, plain, xml};

/// Values that are gathered for each link that is wanted: pages name the same URL again and again.
const VALUES_PER_LINK: usize = 8;

/// Sheets of a document of XML have to be named among this many bytes, before its root element.
const PROLOG_BYTES: usize = 8 << 10;

/// A page with scripts is hardly more than these if it has no more anchors and less text than so.
const ANCHORS_OF_SCRIPTS: usize = 2;
const TEXT_OF_SCRIPTS: usize = 512;

/// Finds the links of documents. Keeps its buffers from one to the next.
#[derive(Debug)]
pub struct LinkScan {
    links_max: usize,
    url_length_max: usize,
    rules: Rules,
    found: Found,
    texts: Vec<String>,
    values_seen: Fingerprints,
    keys_seen: Fingerprints,
}

impl LinkScan {
    /// A scan that gives at most `links_max` links of at most `url_length_max` bytes a page, and passes over links with
    /// `rel=nofollow` and pages that ask for it if `respect_nofollow`.
    pub fn new(links_max: usize, respect_nofollow: bool, url_length_max: usize) -> Self {
        LinkScan {
            links_max,
            url_length_max: url_length_max.min(CanonicalUrl::LENGTH_MAX),
            rules: Rules { respect_nofollow, ..Rules::default() },
            found: Found::new(links_max.saturating_mul(VALUES_PER_LINK)),
            texts: Vec::new(),
            values_seen: Fingerprints::default(),
            keys_seen: Fingerprints::default(),
        }
    }

    /// A scan that also obeys `<meta name=TOKEN>`, not only `<meta name=robots>`.
    pub fn with_agent(mut self, agent_token: &str) -> Self {
        self.obey(agent_token);
        self
    }

    /// Obeys `<meta name=TOKEN>` of this token from now on.
    pub fn obey(&mut self, agent_token: &str) {
        agent_token.clone_into(&mut self.rules.agent_token);
    }

    /// A scan that takes `names` for the attributes whose pictures scripts load, not [`LAZY_ATTRIBUTES`].
    ///
    /// [`LAZY_ATTRIBUTES`]: super::LAZY_ATTRIBUTES
    pub fn with_lazy_attributes(mut self, names: &[String]) -> Self {
        self.found.lazy_names = LazyNames::new(names);
        self
    }

    /// A scan that takes strings in scripts that look like file names for URLs, if `takes` says so.
    pub fn with_script_files(mut self, takes: bool) -> Self {
        self.rules.script_files = takes;
        self
    }

    /// A scan that takes these strings of answers in JSON for links.
    pub fn with_json_links(mut self, which: JsonLinks) -> Self {
        self.rules.json_links = which;
        self
    }

    /// A scan that takes URLs in text without markup for links, if `takes` says so.
    pub fn with_text_links(mut self, takes: bool) -> Self {
        self.rules.text_links = takes;
        self
    }

    /// A scan that distinguishes links beside the content of a page, if `tells` is true, and gives them behind the
    /// others.
    pub fn with_asides(mut self, tells: bool) -> Self {
        self.rules.tells_aside = tells;
        self
    }

    /// A scan that gives a URL once for each kind of link by which the document names it, not once in all.
    pub fn with_each_kind(mut self) -> Self {
        self.rules.each_kind = true;
        self
    }

    /// True if a body may name links to this scan, as far as that is known before it is looked at.
    pub fn may_read(&self, stated: &Stated<'_>) -> bool {
        match Document::named(stated) {
            Some(Document::Json) => self.rules.json_links != JsonLinks::Off,
            Some(Document::Text) => self.rules.text_links,
            _ => Document::may_be(stated),
        }
    }

    /// The links of a page: of a [`Document`] in HTML, or in XHTML by its type.
    pub fn html(
        &mut self,
        body: &[u8],
        content_type: Option<&str>,
        base: &CanonicalUrl,
        keys: &KeyMaker,
        x_robots: RobotsDirectives,
    ) -> Links {
        let is_xhtml = mime::essence(content_type) == "application/xhtml+xml";
        let document = if is_xhtml { Document::Xhtml } else { Document::Html };
        self.document(document, body, content_type, base, keys, x_robots)
    }

    /// The links of a document.
    ///
    /// `body` is without content coding; `base` is the URL that it was fetched from at last; `x_robots` is what its
    /// headers said.
    pub fn document(
        &mut self,
        document: Document,
        body: &[u8],
        content_type: Option<&str>,
        base: &CanonicalUrl,
        keys: &KeyMaker,
        x_robots: RobotsDirectives,
    ) -> Links {
        let encoding = document.encoding(body, content_type);
        self.found.clear();
        self.found.directives = x_robots;
        match document {
            Document::Html | Document::Xhtml | Document::Svg => {
                let markup = utf8(body, encoding);
                self.gather(document, &markup);
                self.resolve(encoding, base, keys)
            }
            Document::Markdown => {
                let page = markdown::to_html(body, content_type);
                self.gather(Document::Html, page.as_bytes());
                self.resolve(UTF_8, base, keys)
            }
            _ => {
                self.read(document, &charset::to_utf8(body, encoding), base);
                self.resolve(UTF_8, base, keys)
            }
        }
    }

    /// Gathers what markup names.
    fn gather(&mut self, document: Document, markup: &[u8]) {
        if document == Document::Html {
            return self.found.gather(Tags::new(markup), &self.rules);
        }
        let start = String::from_utf8_lossy(&markup[..markup.len().min(PROLOG_BYTES)]);
        xml::prolog(&start, &mut |role, url| self.found.add_role(role, url));
        self.found.gather(Tags::new_xhtml(markup), &self.rules);
    }

    /// Gathers what a document of another format names.
    fn read(&mut self, document: Document, text: &str, url: &CanonicalUrl) {
        let found = &mut self.found;
        match document {
            Document::Css => found.add_css(text),
            Document::Script => found.add_script(text, true, &self.rules),
            Document::Manifest => json::manifest(text, &mut |role, url| found.add_role(role, url)),
            Document::Xml => xml::urls(text, url, &mut |role, url| found.add_role(role, url)),
            Document::Json => json::links(text, self.rules.json_links, &mut |url| found.add_role(Role::Link, url)),
            Document::Text if self.rules.text_links => plain::urls(text, &mut |url| found.add_role(Role::Link, url)),
            Document::Html | Document::Xhtml | Document::Svg | Document::Markdown | Document::Text => {}
        }
    }

    /// The links of a page as [`html`](Self::html) finds them, and the text of each: from the first anchor with its
    /// target that has any.
    pub fn html_with_texts(
        &mut self,
        body: &[u8],
        content_type: Option<&str>,
        base: &CanonicalUrl,
        keys: &KeyMaker,
        x_robots: RobotsDirectives,
    ) -> (Links, Vec<String>) {
        self.found.texts = Some(AnchorTexts::default());
        let links = self.html(body, content_type, base, keys, x_robots);
        self.found.texts = None;
        let texts = std::mem::take(&mut self.texts);
        (links, texts)
    }

    /// Makes links of the values that were found.
    fn resolve(&mut self, encoding: &'static Encoding, page: &CanonicalUrl, keys: &KeyMaker) -> Links {
        let mut statements = std::mem::take(&mut self.found.statements);
        let licenses = std::mem::take(&mut self.found.licenses);
        let found = &self.found;
        let mut links = Links {
            dropped: found.dropped,
            nofollow_page: found.directives.nofollow,
            noindex: found.directives.noindex,
            has_icon: found.has_icon,
            shown: (u32::try_from(found.scripts).unwrap_or(u32::MAX), found.text_bytes as u64),
            is_scripts: found.scripts > 0 && found.anchors <= ANCHORS_OF_SCRIPTS && found.text_bytes < TEXT_OF_SCRIPTS,
            ..Links::default()
        };
        let Some(mut resolver) = Resolver::new(page, found.base.as_deref(), encoding) else {
            links.statements = statements;
            return links;
        };
        for license in licenses {
            let url = resolver.base().join(license.trim()).ok().and_then(|url| CanonicalUrl::from_url(url).ok());
            url.iter().for_each(|url| statements.add_license(url));
        }
        links.statements = statements;
        // a longer base would have each of its relative links cost its whole length, only to be too long itself
        let has_base = resolver.base().as_str().len() <= self.url_length_max.max(page.as_str().len());
        let shortcut = if has_base { Shortcut::of(resolver.base()) } else { None };
        resolver.uses_base(has_base);
        let follows = !(self.rules.respect_nofollow && found.directives.nofollow);
        self.values_seen.clear();
        self.keys_seen.clear();
        let mut last_origin = LastOrigin::default();
        let mut bytes = 0;
        for number in found.in_order(self.rules.tells_aside) {
            let (value, kind) = (without_fragment(found.value(number)), found.values[number].1);
            let is_canonical = kind == LinkKind::Canonical && links.canonical.is_none();
            let is_new = follows && self.values_seen.insert(self.rules.seen_as(keys.of(value), kind));
            if !is_canonical && !is_new {
                continue;
            }
            let url = shortcut.as_ref().and_then(|shortcut| shortcut.resolve(value)).or_else(|| {
                let parsed = resolver.parse(value);
                if is_new && matches!(parsed, Err(url::ParseError::RelativeUrlWithoutBase)) {
                    links.dropped = links.dropped.saturating_add(1);
                }
                parsed.ok().and_then(|url| CanonicalUrl::from_url(url).ok())
            });
            let Some(url) = url else { continue };
            if is_canonical {
                links.canonical = Some(url.as_str().to_owned());
            }
            if !is_new {
                continue;
            }
            let url_keys = keys.keys_after(&url, &mut last_origin);
            if !self.keys_seen.insert(self.rules.seen_as(url_keys.key, kind)) {
                continue;
            }
            let length = url.as_str().len();
            let has_memory = bytes + length <= self.links_max.saturating_mul(BYTES_PER_LINK);
            let has_room = links.entries.len() < self.links_max && length <= self.url_length_max && has_memory;
            if has_room {
                bytes += length;
                links.entries.push(Link { url, kind, keys: url_keys });
            } else {
                links.dropped = links.dropped.saturating_add(1);
            }
        }
        if let Some(mut texts) = self.found.texts.take() {
            let key = |number| {
                let url = resolver.parse(without_fragment(self.found.value(number))).ok()?;
                Some(keys.keys(&CanonicalUrl::from_url(url).ok()?).key)
            };
            self.texts = texts.of(&links, key);
        }
        links
    }
}

/// A reference without its fragment. A blank before the `#` would be at the end then, and cut: such a one stays whole.
fn without_fragment(value: &str) -> &str {
    match memchr::memchr(b'#', value.as_bytes()) {
        Some(at) if !value[..at].ends_with(|c| c <= ' ') => &value[..at],
        _ => value,
    }
}

/// A body as bytes of UTF-8; one that is said to be so stays as it is, whatever is in it.
pub(super) fn utf8<'a>(body: &'a [u8], encoding: &'static Encoding) -> Cow<'a, [u8]> {
    if encoding == UTF_8 {
        return Cow::Borrowed(body);
    }
    match charset::to_utf8(body, encoding) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}
