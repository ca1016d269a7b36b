//! Names of the attributes and elements that name URLs.

use super::LinkKind;
use super::lazy::looks_like_url;

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
    /// `img`, `source`, `frame`, `embed`, `audio`, `video`, `track`, `bgsound`.
    Source,
    /// `script`, of SVG too.
    Script,
    /// `style`.
    Style,
    /// `iframe`.
    Iframe,
    /// `input`, which is a picture by its type only.
    Input,
    /// `object`.
    Object,
    /// `applet`.
    Applet,
    /// `param`, of an object or an applet.
    Param,
    /// `blockquote`, `q`, `ins`, `del`.
    Quote,
    /// `noframes`, `noembed`: markup for those who have no frames.
    Fallback,
    /// Elements of SVG that name what they draw: `image`, `use` and others.
    SvgReference,
}

/// The longest name of an element.
const ELEMENT_BYTES_MAX: usize = 14;

impl Element {
    /// The element of this name, if a link scan looks at it.
    pub(crate) fn of(name: &[u8]) -> Option<Element> {
        if name.len() > ELEMENT_BYTES_MAX {
            return None;
        }
        let mut buffer = [0; ELEMENT_BYTES_MAX];
        buffer.iter_mut().zip(name).for_each(|(lower, byte)| *lower = byte.to_ascii_lowercase());
        Some(match &buffer[..name.len()] {
            b"a" | b"area" => Element::Anchor,
            b"link" => Element::Link,
            b"base" => Element::Base,
            b"meta" => Element::Meta,
            b"img" | b"source" | b"frame" | b"embed" | b"audio" | b"video" | b"track" | b"bgsound" => Element::Source,
            b"script" => Element::Script,
            b"style" => Element::Style,
            b"iframe" => Element::Iframe,
            b"input" => Element::Input,
            b"object" => Element::Object,
            b"applet" => Element::Applet,
            b"param" => Element::Param,
            b"blockquote" | b"q" | b"ins" | b"del" => Element::Quote,
            b"noframes" | b"noembed" => Element::Fallback,
            b"image" | b"use" | b"feimage" | b"mpath" | b"textpath" | b"tref" | b"cursor" | b"pattern" | b"filter"
            | b"lineargradient" | b"radialgradient" | b"font-face-uri" => Element::SvgReference,
            _ => return None,
        })
    }
}

/// An attribute that a link scan looks at in the elements that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are called as in HTML")]
pub enum Name {
    Href,
    XlinkHref,
    Src,
    Srcset,
    Imagesrcset,
    Srcdoc,
    Poster,
    Data,
    Rel,
    Content,
    HttpEquiv,
    Name,
    Type,
    Value,
    Valuetype,
    Cite,
    Longdesc,
    Lowsrc,
    Dynsrc,
    Code,
    Archive,
    Codebase,
    Alt,
}

impl Name {
    /// The number of names.
    pub const COUNT: usize = 23;

    /// The attribute of this name, if a link scan looks at it.
    pub(crate) fn of(name: &[u8]) -> Option<Name> {
        let named = |wanted: &[u8], found: Name| name.eq_ignore_ascii_case(wanted).then_some(found);
        match (name.len(), name.first().map(|byte| byte | 0x20)) {
            (3, Some(b's')) => named(b"src", Name::Src),
            (3, Some(b'r')) => named(b"rel", Name::Rel),
            (3, Some(b'a')) => named(b"alt", Name::Alt),
            (4, Some(b'h')) => named(b"href", Name::Href),
            (4, Some(b'd')) => named(b"data", Name::Data),
            (4, Some(b'n')) => named(b"name", Name::Name),
            (4, Some(b't')) => named(b"type", Name::Type),
            (4, Some(b'c')) => named(b"cite", Name::Cite).or_else(|| named(b"code", Name::Code)),
            (5, Some(b'v')) => named(b"value", Name::Value),
            (6, Some(b's')) => named(b"srcset", Name::Srcset).or_else(|| named(b"srcdoc", Name::Srcdoc)),
            (6, Some(b'p')) => named(b"poster", Name::Poster),
            (6, Some(b'l')) => named(b"lowsrc", Name::Lowsrc),
            (6, Some(b'd')) => named(b"dynsrc", Name::Dynsrc),
            (7, Some(b'c')) => named(b"content", Name::Content),
            (7, Some(b'a')) => named(b"archive", Name::Archive),
            (8, Some(b'l')) => named(b"longdesc", Name::Longdesc),
            (8, Some(b'c')) => named(b"codebase", Name::Codebase),
            (9, Some(b'v')) => named(b"valuetype", Name::Valuetype),
            (10, Some(b'x')) => named(b"xlink:href", Name::XlinkHref),
            (10, Some(b'h')) => named(b"http-equiv", Name::HttpEquiv),
            (11, Some(b'i')) => named(b"imagesrcset", Name::Imagesrcset),
            _ => None,
        }
    }
}

/// Kinds of value that an attribute has in whatever element it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// `style`, and the attributes of SVG that are properties of CSS.
    Css,
    /// `background`.
    Background,
}

impl Common {
    /// Returns the kind of value of the attribute of this name, if that can be a URL in any element.
    pub(crate) fn of(name: &[u8]) -> Option<Common> {
        let named = |wanted: &[u8], found: Common| name.eq_ignore_ascii_case(wanted).then_some(found);
        let css = |wanted: &[u8]| named(wanted, Common::Css);
        match (name.len(), name.first().map(|byte| byte | 0x20)) {
            (5, Some(b's')) => css(b"style"),
            (10, Some(b'b')) => named(b"background", Common::Background),
            (4, Some(b'f')) => css(b"fill"),
            (4, Some(b'm')) => css(b"mask"),
            (6, Some(b'f')) => css(b"filter"),
            (6, Some(b's')) => css(b"stroke"),
            (6, Some(b'c')) => css(b"cursor"),
            (9, Some(b'c')) => css(b"clip-path"),
            (10, Some(b'm')) => css(b"marker-mid").or_else(|| css(b"marker-end")),
            (12, Some(b'm')) => css(b"marker-start"),
            _ => None,
        }
    }
}

/// The first value of each attribute of a tag that a link scan looks at, as written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a>([Option<&'a [u8]>; Name::COUNT]);

impl<'a> Values<'a> {
    /// Takes an attribute, unless there was one of its name before; false where the scan does not look at it.
    pub(crate) fn take(&mut self, attribute: crate::web::tags::Attribute<'a>) -> bool {
        let name = Name::of(attribute.name);
        if let Some(name) = name {
            self.0[name as usize].get_or_insert(attribute.value);
        }
        name.is_some()
    }

    /// The value of an attribute.
    pub(crate) fn get(&self, name: Name) -> Option<&'a [u8]> {
        self.0[name as usize]
    }

    /// True if the value of an attribute is `wanted`, in whatever case and with blanks around it.
    pub(crate) fn is(&self, name: Name, wanted: &str) -> bool {
        self.get(name).is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
    }

    /// True if they are of a `style` element whose text is CSS.
    pub(super) fn are_of_css(&self) -> bool {
        self.get(Name::Type).is_none_or(<[u8]>::is_empty) || self.is(Name::Type, "text/css")
    }

    /// True if they are of a parameter that says that it is a URL, or is called like one and looks so.
    pub(super) fn are_of_url(&self) -> bool {
        let is_called_so = PARAM_NAMES.into_iter().any(|name| self.is(Name::Name, name));
        self.is(Name::Valuetype, "ref") || is_called_so && self.get(Name::Value).is_some_and(looks_like_url)
    }

    /// True if a list of words, `rel`, has `word`.
    pub(crate) fn rel_has(&self, word: &str) -> bool {
        let rel = self.get(Name::Rel).unwrap_or_default();
        rel.split(u8::is_ascii_whitespace).any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// Names of `<param>`s that hold a URL: of Flash, of media players and of applets.
const PARAM_NAMES: [&str; 9] = ["movie", "src", "url", "data", "file", "filename", "fileurl", "code", "archive"];

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

/// Returns the kind of a `<link>`, by its `rel`; none for hints that name no page.
pub(crate) fn link_kind(values: &Values<'_>) -> Option<LinkKind> {
    kind_of_rel(|word| values.rel_has(word))
}

/// The same for the `rel` of a `Link` header, of which the words are asked for.
pub(super) fn kind_of_rel(has: impl Fn(&str) -> bool) -> Option<LinkKind> {
    if has("canonical") {
        return Some(LinkKind::Canonical);
    }
    if EMBEDS.into_iter().any(&has) {
        return Some(LinkKind::Embed);
    }
    let is_hint = has("preconnect") || has("dns-prefetch");
    (!is_hint).then_some(LinkKind::Other)
}
