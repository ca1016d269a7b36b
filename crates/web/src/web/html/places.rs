//! Places of a page in which URLs are written, for those who write others there.
//!
//! The walk is that of the link scan ([`super::LinkScan`]): the same tags, the same elements and attributes. It finds
//! more in two ways: the targets of forms, which no crawl follows, and what has to go when a page is changed. It leaves
//! out what names a URL without one place of its own: scripts, import maps, the parts of an applet, linked data, the
//! instructions of XML.
//!
//! Works on any encoding that [`Tags`] does; values are as they are written.

use std::ops::Range;

use super::LinkKind;
use super::element::{Common, Element, Name, Values, link_kind};
use super::lazy::{LAZY_ATTRIBUTES, LazyNames};
use super::syntax::Syntax;
use crate::web::tags::{Attribute, Tag, Tags};

/// A use that a page has for a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A page to go to, by a link or by itself.
    Page,
    /// The address to which a form is sent.
    Form,
    /// A document that is shown within the page.
    Frame,
    /// A style sheet.
    Sheet,
    /// Anything else that is part of the page.
    Part,
    /// The URL that the page names as its own.
    Canonical,
    /// Anything else, such as another version of the page or the source of a quotation.
    Other,
}

impl Purpose {
    /// True for a URL that leads away from the page.
    pub fn is_link(self) -> bool {
        matches!(self, Purpose::Page | Purpose::Canonical | Purpose::Other)
    }
}

/// A part of a page that rewriting has to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// An attribute that may name URLs.
    Value {
        /// Its name, as written.
        name: &'a [u8],
        /// Its value, as written.
        value: &'a [u8],
        /// The form of the value.
        syntax: Syntax,
        /// The use of the URLs in it.
        purpose: Purpose,
    },
    /// The text of a `style` element.
    Sheet {
        /// The text, as written.
        text: &'a [u8],
        /// True if it has character references, as in XML.
        has_references: bool,
    },
    /// The attribute with the address of a `base`.
    Base,
    /// An attribute with the digest of a sheet or a script, which may be changed too.
    Integrity,
    /// A `crossorigin` attribute.
    CrossOrigin,
    /// The tag of an element that is wrong in a changed page: a policy on where parts may come from, a hint to connect
    /// to a server.
    Tag,
}

/// A place with its bytes: the whole attribute, the whole text or the whole tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Offsets in the document.
    pub range: Range<usize>,
    /// The place.
    pub place: Place<'a>,
}

/// The places of a page.
#[derive(Clone, Debug, Default)]
pub struct Places<'a> {
    /// The places in the order of the page; none overlaps another.
    pub entries: Vec<Placed<'a>>,
    /// The address of its base, as written.
    pub base: Option<&'a [u8]>,
    /// The offset at which the first child of its head can be put.
    pub head: usize,
    /// The offset before which no element begins but `html` and `head`.
    pub start: usize,
}

/// Finds the places of a page, by the rules of XML if `is_xml`.
pub fn places(markup: &[u8], is_xml: bool) -> Places<'_> {
    let tags = if is_xml { Tags::new_xhtml(markup) } else { Tags::new(markup) };
    let (lazy, places) = (LazyNames::new(&LAZY_ATTRIBUTES), Places::default());
    let mut walk = Walk { lazy, places, head: Head::Unseen, has_begun: false };
    walk.walk(tags, 0, false);
    walk.places
}

/// The best place for a child of the head that was seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Unseen,
    /// Behind the tag of `html`, or before the first tag.
    Guessed,
    Seen,
}

struct Walk<'a> {
    lazy: LazyNames,
    places: Places<'a>,
    head: Head,
    /// True behind the first element that is neither `html` nor `head`.
    has_begun: bool,
}

/// A start tag with its attributes.
struct Start<'a> {
    name: &'a [u8],
    values: Values<'a>,
    /// The first attribute of each name that an element may have a URL in.
    named: Vec<(Name, Attribute<'a>)>,
    /// False within a drawing, a template or markup within markup.
    is_of_page: bool,
    range: Range<usize>,
}

impl<'a> Walk<'a> {
    /// Walks over markup that begins at `from` in the document; `is_inner` if it is markup within markup.
    fn walk(&mut self, mut tags: Tags<'a>, from: usize, is_inner: bool) {
        while let Some(tag) = tags.next_tag() {
            if !tag.is_start {
                continue;
            }
            let begin = from + tags.position() - tag.name.len() - 1;
            let before = self.places.entries.len();
            let is_of_page = tags.is_of_page() && !is_inner;
            let mut start =
                Start { name: tag.name, values: Values::default(), named: Vec::new(), is_of_page, range: begin..begin };
            if !tags.attributes(|attribute| self.take_attribute(attribute, from, &mut start)) {
                self.places.entries.truncate(before);
                return;
            }
            let raw = tags.raw();
            start.range.end = from + tags.position() - raw.len();
            if !is_inner {
                self.look_for_start(&tag, &start.range);
                self.look_for_head(&tag, &start.range);
            }
            let Some(element) = Element::of(tag.name) else { continue };
            self.take(element, &start, before);
            self.places.entries[before..].sort_by_key(|placed| placed.range.start);
            let raw_from = start.range.end;
            match element {
                Element::Style => self.take_style(&start.values, &tags, raw_from),
                Element::Fallback if !is_inner => self.walk(Tags::new(raw), raw_from, true),
                _ => {}
            }
        }
    }

    fn look_for_start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        let is_before = |name: &[u8]| tag.name.eq_ignore_ascii_case(name);
        if self.has_begun {
            return;
        }
        if is_before(b"html") || is_before(b"head") {
            self.places.start = range.end;
            return;
        }
        self.has_begun = true;
        if self.places.start == 0 {
            self.places.start = range.start;
        }
    }

    fn look_for_head(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        let is = |name: &[u8]| tag.name.eq_ignore_ascii_case(name);
        if self.head == Head::Seen {
            return;
        }
        if is(b"head") {
            (self.places.head, self.head) = (range.end, Head::Seen);
        } else if self.head == Head::Unseen {
            (self.places.head, self.head) = (if is(b"html") { range.end } else { range.start }, Head::Guessed);
        }
    }

    /// Takes an attribute: what means the same in all elements at once, what depends on its element with the rest.
    fn take_attribute(&mut self, attribute: Attribute<'a>, from: usize, start: &mut Start<'a>) {
        let attribute = Attribute { start: from + attribute.start, end: from + attribute.end, ..attribute };
        let is = |name: &[u8]| attribute.name.eq_ignore_ascii_case(name);
        if let Some(name) = Name::of(attribute.name) {
            if name == Name::Href && start.is_of_page && start.name.eq_ignore_ascii_case(b"base") {
                // a second one would count when the first is gone
                self.push(attribute.start..attribute.end, Place::Base);
            }
            if start.values.get(name).is_none() {
                start.named.push((name, attribute));
            }
            start.values.take(attribute);
            return;
        }
        match Common::of(attribute.name) {
            Some(Common::Css) => self.value(attribute, Syntax::Css, Purpose::Part),
            Some(Common::Background) => self.value(attribute, Syntax::Url, Purpose::Part),
            None if self.lazy.contain(attribute.name) => self.value(attribute, Syntax::Lazy, Purpose::Part),
            None if is(b"integrity") => self.push(attribute.start..attribute.end, Place::Integrity),
            None if is(b"crossorigin") => self.push(attribute.start..attribute.end, Place::CrossOrigin),
            None if is(b"formaction") || is(b"action") && start.name.eq_ignore_ascii_case(b"form") => {
                self.value(attribute, Syntax::Url, Purpose::Form);
            }
            None => {}
        }
    }

    /// Takes what the attributes of an element name; the places from `before` on are in its tag.
    fn take(&mut self, element: Element, start: &Start<'a>, before: usize) {
        let is_gone = match element {
            Element::Link => link_kind(&start.values).is_none(),
            Element::Meta => start.is_of_page && start.values.is(Name::HttpEquiv, "content-security-policy"),
            _ => false,
        };
        if is_gone {
            self.places.entries.truncate(before);
            return self.push(start.range.clone(), Place::Tag);
        }
        if element == Element::Base && start.is_of_page {
            let href = start.values.get(Name::Href);
            self.places.base = self.places.base.or(href);
            return;
        }
        for &(name, attribute) in &start.named {
            if let Some((syntax, purpose)) = meaning(element, name, start) {
                self.value(attribute, syntax, purpose);
            }
        }
    }

    fn take_style(&mut self, values: &Values<'_>, tags: &Tags<'a>, from: usize) {
        let text = tags.raw();
        if !values.are_of_css() || text.is_empty() {
            return;
        }
        let is_section = text.trim_ascii_start().starts_with(b"<![CDATA[");
        let has_references = tags.is_foreign() && !is_section;
        self.push(from..from + text.len(), Place::Sheet { text, has_references });
    }

    fn value(&mut self, attribute: Attribute<'a>, syntax: Syntax, purpose: Purpose) {
        let Attribute { name, value, start, end } = attribute;
        // an empty link leads to the base
        if !value.is_empty() || purpose.is_link() {
            self.push(start..end, Place::Value { name, value, syntax, purpose });
        }
    }

    fn push(&mut self, range: Range<usize>, place: Place<'a>) {
        self.places.entries.push(Placed { range, place });
    }
}

/// The meaning of an attribute of an element, if it names a URL.
fn meaning(element: Element, name: Name, start: &Start<'_>) -> Option<(Syntax, Purpose)> {
    let values = &start.values;
    let is_reference = matches!(name, Name::Href | Name::XlinkHref);
    let purpose = match element {
        Element::Anchor if is_reference => Purpose::Page,
        Element::Link if matches!(name, Name::Href | Name::Imagesrcset) => purpose_of_link(values, name)?,
        Element::Meta if name == Name::Content => {
            let is_refresh = start.is_of_page && values.is(Name::HttpEquiv, "refresh");
            return is_refresh.then_some((Syntax::Refresh, Purpose::Page));
        }
        Element::Source if name == Name::Src && start.name.eq_ignore_ascii_case(b"frame") => Purpose::Frame,
        Element::Source if matches!(name, Name::Src | Name::Srcset | Name::Poster | Name::Lowsrc | Name::Dynsrc) => {
            Purpose::Part
        }
        Element::Source | Element::Iframe if name == Name::Longdesc => Purpose::Other,
        Element::Iframe if name == Name::Src => Purpose::Frame,
        Element::Iframe if name == Name::Srcdoc => return Some((Syntax::Markup, Purpose::Frame)),
        Element::Script if name == Name::Src || is_reference => Purpose::Part,
        Element::Input if name == Name::Src && values.is(Name::Type, "image") => Purpose::Part,
        Element::Object if name == Name::Data => Purpose::Part,
        Element::Param if name == Name::Value && values.are_of_url() => Purpose::Part,
        Element::Quote if name == Name::Cite => Purpose::Other,
        Element::SvgReference if is_reference || name == Name::Src => Purpose::Part,
        _ => return None,
    };
    let is_set = matches!(name, Name::Srcset | Name::Imagesrcset);
    Some((if is_set { Syntax::Srcset } else { Syntax::Url }, purpose))
}

fn purpose_of_link(values: &Values<'_>, name: Name) -> Option<Purpose> {
    Some(match link_kind(values)? {
        _ if name == Name::Imagesrcset => Purpose::Part,
        LinkKind::Canonical => Purpose::Canonical,
        LinkKind::Embed if values.rel_has("stylesheet") => Purpose::Sheet,
        LinkKind::Embed => Purpose::Part,
        _ => Purpose::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let found = places(page.as_bytes(), false);
        found.entries.iter().map(|placed| page[placed.range.clone()].to_owned()).collect()
    }

    #[test]
    fn places_are_whole_attributes_texts_and_tags_in_order() {
        let page = "<!doctype html><head><base href='/b/' target=x><meta http-equiv=Content-Security-Policy content=x>\
                    <link rel=preconnect href=//h><link integrity=a href = s.css rel=stylesheet crossorigin>\
                    <style>a{}</style><a href=\"x\" href=y style=b>t</a><noframes><img src=n></noframes><img src=";
        let expected = [
            "href='/b/'",
            "<meta http-equiv=Content-Security-Policy content=x>",
            "<link rel=preconnect href=//h>",
            "integrity=a",
            "href = s.css",
            "crossorigin",
            "a{}",
            "href=\"x\"",
            "style=b",
            "src=n",
        ];
        assert_eq!(found(page), expected);
        let found = places(page.as_bytes(), false);
        assert_eq!(found.base, Some(&b"/b/"[..]));
        assert_eq!(&page[..found.head], "<!doctype html><head>");
    }
}
