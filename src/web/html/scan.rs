//! The link scan: tags in, canonical links out.
//!
//! Two steps, because a `<base>` or a robots `<meta>` may come after the first links: the values are gathered as
//! they stand, and resolved when the page is at its end.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use url::Url;

use super::directives::RobotsDirectives;
use super::element::{Element, Name, Values, link_kind};
use super::sniff::is_xhtml;
use super::text::AnchorTexts;
use super::{BYTES_PER_LINK, Link, LinkKind, Links};
use crate::fingerprint::Fingerprints;
use crate::web::charset;
use crate::web::references::push_value;
use crate::web::shortcut::Shortcut;
use crate::web::tags::Tags;
use crate::web::url::{CanonicalUrl, with_two_slashes};
use crate::web::url::{KeyMaker, LastOrigin};
use crate::web::values::{refresh_url, srcset_urls};

/// Values that are gathered for each link that is wanted: pages name the same URL again and again.
const VALUES_PER_LINK: usize = 8;

/// A page with scripts is hardly more than these if it has no more anchors and less text than so.
const ANCHORS_OF_SCRIPTS: usize = 2;
const TEXT_OF_SCRIPTS: usize = 512;

/// Finds the links of pages. Keeps its buffers from page to page.
#[derive(Debug)]
pub struct LinkScan {
    links_max: usize,
    respect_nofollow: bool,
    url_length_max: usize,
    agent_token: String,
    found: Found,
    texts: Vec<String>,
    values_seen: Fingerprints,
    keys_seen: Fingerprints,
}

/// What was found in a page, as it stands there.
#[derive(Debug, Default)]
struct Found {
    text: String,
    values: Vec<(usize, LinkKind)>,
    values_max: usize,
    base: Option<String>,
    dropped: u32,
    directives: RobotsDirectives,
    scratch: String,
    scripts: usize,
    anchors: usize,
    /// Bytes of text beside raw text, without the blanks around each piece.
    text_bytes: usize,
    /// Texts of anchors, where they are wanted.
    texts: Option<AnchorTexts>,
}

impl LinkScan {
    /// A scan that gives at most `links_max` links of at most `url_length_max` bytes a page, and passes over links with
    /// `rel=nofollow` and pages that ask for it if `respect_nofollow`.
    pub fn new(links_max: usize, respect_nofollow: bool, url_length_max: usize) -> Self {
        LinkScan {
            links_max,
            respect_nofollow,
            url_length_max: url_length_max.min(CanonicalUrl::LENGTH_MAX),
            agent_token: String::new(),
            found: Found { values_max: links_max.saturating_mul(VALUES_PER_LINK), ..Found::default() },
            texts: Vec::new(),
            values_seen: Fingerprints::default(),
            keys_seen: Fingerprints::default(),
        }
    }

    /// A scan that also obeys `<meta name=TOKEN>`, not only `<meta name=robots>`.
    pub fn with_agent(self, agent_token: &str) -> Self {
        LinkScan { agent_token: agent_token.to_owned(), ..self }
    }

    /// The links of a page.
    ///
    /// `body` is without content coding; `base` is the URL that it was fetched from at last; `x_robots` is what its
    /// headers said.
    pub fn html(
        &mut self,
        body: &[u8],
        content_type: Option<&str>,
        base: &CanonicalUrl,
        keys: &KeyMaker,
        x_robots: RobotsDirectives,
    ) -> Links {
        let encoding = charset::of_html(body, content_type);
        let html = if encoding == UTF_8 {
            Cow::Borrowed(body)
        } else {
            match charset::to_utf8(body, encoding) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            }
        };
        self.found.clear();
        self.found.directives = x_robots;
        let tags = if is_xhtml(content_type) { Tags::new_xhtml(&html) } else { Tags::new(&html) };
        self.found.gather(tags, self.respect_nofollow, &self.agent_token);
        self.resolve(encoding, base, keys)
    }

    /// The links of a page as [`html`](Self::html) finds them, and the text of each: that of the first anchor with its
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
        let found = &self.found;
        let mut links = Links {
            dropped: found.dropped,
            nofollow_page: found.directives.nofollow,
            noindex: found.directives.noindex,
            is_scripts: found.scripts > 0 && found.anchors <= ANCHORS_OF_SCRIPTS && found.text_bytes < TEXT_OF_SCRIPTS,
            ..Links::default()
        };
        let Some(base) = base_url(page, found.base.as_deref()) else { return links };
        let encode_query: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoding.encode(query).0;
        let is_utf8 = encoding == UTF_8 || encoding == UTF_16LE || encoding == UTF_16BE;
        // a longer base would have each of its relative links cost its whole length, only to be too long itself
        let has_base = base.as_str().len() <= self.url_length_max.max(page.as_str().len());
        let shortcut = if has_base { Shortcut::of(&base) } else { None };
        let parser = Url::options().base_url(has_base.then_some(&base));
        let parser = if is_utf8 { parser } else { parser.encoding_override(Some(encode_query)) };
        let follows = !(self.respect_nofollow && found.directives.nofollow);
        self.values_seen.clear();
        self.keys_seen.clear();
        let mut last_origin = LastOrigin::default();
        let (mut start, mut bytes) = (0, 0);
        for &(end, kind) in &found.values {
            let value = without_fragment(&found.text[start..end]);
            start = end;
            let is_canonical = kind == LinkKind::Canonical && links.canonical.is_none();
            let is_new = follows && self.values_seen.insert(keys.of(value));
            if !is_canonical && !is_new {
                continue;
            }
            let url = shortcut.as_ref().and_then(|shortcut| shortcut.resolve(value)).or_else(|| {
                let parsed = parser.parse(&with_two_slashes(value));
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
            if !self.keys_seen.insert(url_keys.key) {
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
                let url = parser.parse(&with_two_slashes(without_fragment(self.found.value(number)))).ok()?;
                Some(keys.keys(&CanonicalUrl::from_url(url).ok()?).key)
            };
            self.texts = texts.of(&links, key);
        }
        links
    }
}

/// What links are resolved against: the page's `<base>` (itself resolved), unless it is broken or of a scheme that the
/// HTML standard passes over.
fn base_url(page: &CanonicalUrl, base: Option<&str>) -> Option<Url> {
    let page = Url::parse(page.as_str()).ok()?;
    let stated = base.and_then(|base| page.join(&with_two_slashes(base)).ok());
    Some(stated.filter(|base| !matches!(base.scheme(), "data" | "javascript")).unwrap_or(page))
}

/// A reference without its fragment. A blank before the `#` would be at the end then, and cut: such a one stays whole.
fn without_fragment(value: &str) -> &str {
    match value.split_once('#') {
        Some((before, _)) if !before.ends_with(|c| c <= ' ') => before,
        _ => value,
    }
}

impl Found {
    fn clear(&mut self) {
        self.text.clear();
        self.values.clear();
        self.base = None;
        (self.dropped, self.scripts, self.anchors, self.text_bytes) = (0, 0, 0, 0);
    }

    /// The value of this number.
    fn value(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.values[before].0);
        &self.text[start..self.values[number].0]
    }

    fn gather(&mut self, mut tags: Tags<'_>, respect_nofollow: bool, agent_token: &str) {
        let mut texts = self.texts.take();
        let mut text_bytes = 0;
        let mut text = |piece: &[u8], texts: &mut Option<AnchorTexts>| {
            text_bytes += piece.trim_ascii().len();
            texts.iter_mut().for_each(|texts| texts.push(piece));
        };
        while let Some(tag) = tags.next_tag_after(|piece| text(piece, &mut texts)) {
            if let Some(texts) = &mut texts {
                texts.pass(&tag);
            }
            let element = if tag.is_start { Element::of(tag.name) } else { None };
            let Some(element) = element else { continue };
            let mut values = Values::default();
            if !tags.attributes(|attribute| values.take(attribute)) {
                break;
            }
            self.anchors += usize::from(element == Element::Anchor);
            self.scripts += usize::from(element == Element::Source && tag.name.eq_ignore_ascii_case(b"script"));
            let is_nofollow = || respect_nofollow && values.rel_has("nofollow");
            match element {
                Element::Anchor if !is_nofollow() => {
                    let number = self.values.len();
                    self.add(values.get(Name::Href).or(values.get(Name::XlinkHref)), LinkKind::Anchor);
                    if let Some(texts) = texts.as_mut().filter(|_| self.values.len() > number && tag.name.len() == 1) {
                        texts.open(number);
                    }
                }
                Element::Link if !is_nofollow() => {
                    if let Some(kind) = link_kind(&values) {
                        self.add(values.get(Name::Href), kind);
                        self.add_srcset(values.get(Name::Imagesrcset));
                    }
                }
                Element::Anchor | Element::Link => {}
                Element::Base => self.set_base(values.get(Name::Href)),
                Element::Meta => self.take_meta(&values, agent_token),
                Element::Source => {
                    self.add(values.get(Name::Src), LinkKind::Embed);
                    self.add_srcset(values.get(Name::Srcset));
                    self.add(values.get(Name::Poster), LinkKind::Embed);
                }
                Element::Object => self.add(values.get(Name::Data), LinkKind::Embed),
                Element::Background => self.add(values.get(Name::Background), LinkKind::Embed),
                Element::SvgReference => {
                    self.add(values.get(Name::Href).or(values.get(Name::XlinkHref)), LinkKind::Embed);
                }
            }
        }
        self.text_bytes = text_bytes;
        texts.iter_mut().for_each(AnchorTexts::close);
        self.texts = texts;
    }

    fn add(&mut self, value: Option<&[u8]>, kind: LinkKind) {
        let Some(value) = value else { return };
        if is_of_other_scheme(value) {
            return;
        }
        if value.len() > CanonicalUrl::LENGTH_MAX || self.values.len() >= self.values_max {
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        push_value(value, &mut self.text);
        self.values.push((self.text.len(), kind));
    }

    fn add_srcset(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else { return };
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        push_value(value, &mut text);
        for url in srcset_urls(&text) {
            // its references are decoded already
            if is_of_other_scheme(url.as_bytes()) {
                continue;
            }
            if url.len() > CanonicalUrl::LENGTH_MAX || self.values.len() >= self.values_max {
                self.dropped = self.dropped.saturating_add(1);
                continue;
            }
            self.text.push_str(url);
            self.values.push((self.text.len(), LinkKind::Embed));
        }
        self.scratch = text;
    }

    /// The first `<base>` that has a `href` counts.
    fn set_base(&mut self, value: Option<&[u8]>) {
        if let (None, Some(value)) = (&self.base, value) {
            let mut base = String::new();
            push_value(value, &mut base);
            base.truncate(if base.len() > CanonicalUrl::LENGTH_MAX { 0 } else { base.len() });
            self.base = Some(base);
        }
    }

    fn take_meta(&mut self, values: &Values<'_>, agent_token: &str) {
        let Some(content) = values.get(Name::Content) else { return };
        let is = |name: Name, wanted: &str| {
            values.get(name).is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
        };
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        if is(Name::Name, "robots") || !agent_token.is_empty() && is(Name::Name, agent_token) {
            push_value(content, &mut text);
            self.directives.add(&text);
        } else if is(Name::HttpEquiv, "refresh") {
            push_value(content, &mut text);
            if let Some(url) = refresh_url(&text).filter(|url| !is_of_other_scheme(url.as_bytes())) {
                if url.len() <= CanonicalUrl::LENGTH_MAX && self.values.len() < self.values_max {
                    self.text.push_str(url);
                    self.values.push((self.text.len(), LinkKind::Refresh));
                } else {
                    self.dropped = self.dropped.saturating_add(1);
                }
            }
        }
        self.scratch = text;
    }
}

/// Whether a value names a scheme that is not crawled: sorts out `javascript:` and `data:` before they are copied. What
/// hides its scheme (blanks within, references) is left to the URL parser.
fn is_of_other_scheme(value: &[u8]) -> bool {
    let value = value.trim_ascii_start();
    let is_scheme_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = value.iter().take(32).take_while(|byte| is_scheme_byte(byte)).count();
    value.first().is_some_and(u8::is_ascii_alphabetic)
        && value.get(length) == Some(&b':')
        && !value[..length].eq_ignore_ascii_case(b"http")
        && !value[..length].eq_ignore_ascii_case(b"https")
}
