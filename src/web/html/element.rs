//! Which attributes of which elements name URLs.

use super::LinkKind;

/// An element that a link scan looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// `a`, `area`.
    Anchor,
    /// `link`.
    Link,
    /// `base`.
    Base,
    /// `meta`.
    Meta,
    /// `img`, `source`, `script`, `iframe`, `frame`, `embed`, `audio`, `video`, `track`, `input`.
    Source,
    /// `object`.
    Object,
    /// `body`, `table`, `td`, `th` with an old `background`.
    Background,
    /// `image` and `use` of SVG.
    SvgReference,
}

impl Element {
    /// The element of this name, if a link scan looks at it.
    pub fn of(name: &[u8]) -> Option<Element> {
        if name.len() > 6 {
            return None;
        }
        let mut buffer = [0; 6];
        let lower = &mut buffer[..name.len()];
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        Some(match &*lower {
            b"a" | b"area" => Element::Anchor,
            b"link" => Element::Link,
            b"base" => Element::Base,
            b"meta" => Element::Meta,
            b"img" | b"source" | b"script" | b"iframe" | b"frame" | b"embed" | b"audio" | b"video" | b"track"
            | b"input" => Element::Source,
            b"object" => Element::Object,
            b"body" | b"table" | b"td" | b"th" => Element::Background,
            b"image" | b"use" => Element::SvgReference,
            _ => return None,
        })
    }
}

/// An attribute that a link scan looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are called as in HTML")]
pub enum Name {
    Href,
    XlinkHref,
    Src,
    Srcset,
    Imagesrcset,
    Poster,
    Data,
    Background,
    Rel,
    Content,
    HttpEquiv,
    Name,
}

impl Name {
    /// How many there are.
    pub const COUNT: usize = 12;

    /// The attribute of this name, if a link scan looks at it.
    pub fn of(name: &[u8]) -> Option<Name> {
        let named = |wanted: &[u8], found: Name| name.eq_ignore_ascii_case(wanted).then_some(found);
        match (name.len(), name.first().map(|byte| byte | 0x20)) {
            (3, Some(b's')) => named(b"src", Name::Src),
            (3, Some(b'r')) => named(b"rel", Name::Rel),
            (4, Some(b'h')) => named(b"href", Name::Href),
            (4, Some(b'd')) => named(b"data", Name::Data),
            (4, Some(b'n')) => named(b"name", Name::Name),
            (6, Some(b's')) => named(b"srcset", Name::Srcset),
            (6, Some(b'p')) => named(b"poster", Name::Poster),
            (7, Some(b'c')) => named(b"content", Name::Content),
            (10, Some(b'x')) => named(b"xlink:href", Name::XlinkHref),
            (10, Some(b'h')) => named(b"http-equiv", Name::HttpEquiv),
            (10, Some(b'b')) => named(b"background", Name::Background),
            (11, Some(b'i')) => named(b"imagesrcset", Name::Imagesrcset),
            _ => None,
        }
    }
}

/// The first value of each attribute of a tag that a link scan looks at, as written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a>([Option<&'a [u8]>; Name::COUNT]);

impl<'a> Values<'a> {
    /// Takes an attribute, unless there was one of its name before.
    pub fn take(&mut self, attribute: crate::web::tags::Attribute<'a>) {
        if let Some(name) = Name::of(attribute.name) {
            self.0[name as usize].get_or_insert(attribute.value);
        }
    }

    /// The value of an attribute.
    pub fn get(&self, name: Name) -> Option<&'a [u8]> {
        self.0[name as usize]
    }

    /// Whether a list of words, `rel`, holds `word`.
    pub fn rel_has(&self, word: &str) -> bool {
        let rel = self.get(Name::Rel).unwrap_or_default();
        rel.split(u8::is_ascii_whitespace).any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// `rel` words of `<link>`s whose target is part of the page.
const EMBEDS: [&str; 9] = [
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "manifest",
    "preload",
    "modulepreload",
    "prefetch",
];

/// What a `<link>` is, by its `rel`; none for hints that name no page.
pub fn link_kind(values: &Values<'_>) -> Option<LinkKind> {
    if values.rel_has("canonical") {
        return Some(LinkKind::Canonical);
    }
    if EMBEDS.iter().any(|word| values.rel_has(word)) {
        return Some(LinkKind::Embed);
    }
    let is_hint = values.rel_has("preconnect") || values.rel_has("dns-prefetch");
    (!is_hint).then_some(LinkKind::Other)
}
