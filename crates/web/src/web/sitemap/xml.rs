//! The XML of sitemaps and feeds: one pass over its events, with one URL, one `guid` and one date in hand at most.
//!
//! Namespaces are not resolved. An element counts by its local name where it has no prefix or the root element's; so
//! `image:loc` of the extensions is no `loc`, but comes next to one, and a file with a wrong namespace is read like any
//! other.

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::{Entry, Format, Sink, Written};
use crate::web::url::CanonicalUrl;
use crate::web::xml::{Bases, is_permalink};

/// Returns the format by the root element, if it is among those that are known.
pub(super) fn format(start: &str) -> Option<Format> {
    let mut reader = reader(start);
    loop {
        match reader.read_event() {
            Ok(Event::Start(root) | Event::Empty(root)) => return format_of(&root),
            Ok(Event::Eof) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

fn format_of(root: &BytesStart<'_>) -> Option<Format> {
    let name = root.local_name();
    let named = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    [
        ("urlset", Format::UrlSet),
        ("sitemapindex", Format::Index),
        ("rss", Format::Rss),
        ("RDF", Format::Rss),
        ("feed", Format::Atom),
    ]
    .into_iter()
    .find_map(|(known, format)| named(name.as_ref(), known).then_some(format))
}

/// Reads to the end, or to what is not XML at all.
pub(super) fn read(format: Format, text: &str, document: &CanonicalUrl, sink: &mut Sink<'_>) {
    let mut reader = reader(text.trim_start());
    let mut scan = Scan {
        format,
        prefix: None,
        text: String::new(),
        state: State::Outside,
        item: None,
        in_source: false,
        bases: Bases::of(document),
    };
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => scan.event(&event, sink),
            // the parser is behind it already, and goes on
            Err(quick_xml::Error::IllFormed(_)) => {}
            Err(_) => break,
        }
    }
    scan.end_item(sink);
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

/// Elements of the extensions for images and videos that hold a URL.
const BESIDE: [&str; 4] = ["loc", "content_loc", "thumbnail_loc", "player_loc"];

/// Bytes of a date that are looked at.
const DATE_BYTES_MAX: usize = 64;

/// Places in the document that the scan can be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not in an element whose text counts.
    Outside,
    /// In an element with a URL, which leads there.
    Inside(Entry),
    /// In an element whose URL is no good.
    Spoilt,
    /// In an element with a date.
    Date,
    /// In a `guid` of RSS that may be the URL of its item.
    Guid,
}

/// Facts that are known of the entry that the scan is in.
#[derive(Default)]
struct Entered {
    modified: Option<Written>,
    has_page: bool,
    /// Its `guid`.
    guid: Option<String>,
}

struct Scan<'a> {
    format: Format,
    /// Prefix of the root element, once it is known.
    prefix: Option<Option<String>>,
    text: String,
    state: State,
    item: Option<Entered>,
    /// True in the `source` of an Atom entry, which is about another feed.
    in_source: bool,
    /// The bases of the elements that the reader is in.
    bases: Bases<'a>,
}

impl Scan<'_> {
    fn event(&mut self, event: &Event<'_>, sink: &mut Sink<'_>) {
        match event {
            Event::Start(element) => {
                self.bases.enter(element);
                self.start(element, sink);
            }
            Event::Empty(element) => {
                if self.format != Format::Atom {
                    // a URL that its element does not end is none
                    self.state = State::Outside;
                }
                self.bases.enter(element);
                self.link(element, sink);
                self.bases.leave();
            }
            Event::End(element) => {
                self.end(element.local_name().as_ref(), sink);
                self.bases.leave();
            }
            Event::Text(text) => self.push(text),
            Event::CData(text) => self.push(text),
            Event::GeneralRef(reference) => self.refer(reference),
            _ => {}
        }
    }

    fn start(&mut self, element: &BytesStart<'_>, sink: &mut Sink<'_>) {
        let (name, prefix) = element.name().decompose();
        let prefix = prefix.map(|prefix| prefix.as_ref().to_owned());
        let of_root = self.prefix.get_or_insert_with(|| prefix.clone());
        let (name, counts) = (name.as_ref(), prefix.is_none() || prefix == *of_root);
        if counts && self.is_item(name) {
            self.end_item(sink);
            // what is before it is of no entry
            sink.end(None);
            self.item = Some(Entered::default());
        }
        self.in_source |= self.format == Format::Atom && name == "source";
        self.state = match self.format {
            _ if self.is_date(name, counts) => State::Date,
            Format::UrlSet if !counts && BESIDE.contains(&name) => State::Inside(Entry::Beside),
            Format::UrlSet if counts && name.eq_ignore_ascii_case("loc") => State::Inside(Entry::Page),
            Format::Index if counts && name.eq_ignore_ascii_case("loc") => State::Inside(Entry::Sitemap),
            Format::Rss if counts && name == "link" => State::Inside(Entry::Page),
            Format::Rss if counts && name == "guid" && is_permalink(element) => State::Guid,
            _ => State::Outside,
        };
        self.text.clear();
        self.link(element, sink);
    }

    /// True if an element of this name is an entry.
    fn is_item(&self, name: &str) -> bool {
        let known = match self.format {
            Format::UrlSet => "url",
            Format::Index => "sitemap",
            Format::Rss => "item",
            Format::Atom => "entry",
            Format::JsonFeed | Format::Text => return false,
        };
        name.eq_ignore_ascii_case(known)
    }

    /// True if an element of this name says when the entry was changed. RSS has names of Dublin Core and of Atom too.
    fn is_date(&self, name: &str, counts: bool) -> bool {
        let is_known = match self.format {
            Format::UrlSet | Format::Index => counts && name.eq_ignore_ascii_case("lastmod"),
            Format::Rss if counts => name.eq_ignore_ascii_case("pubDate"),
            Format::Rss => matches!(name, "date" | "modified" | "updated"),
            Format::Atom => counts && matches!(name, "updated" | "published" | "modified" | "issued"),
            Format::JsonFeed | Format::Text => false,
        };
        is_known && self.item.is_some() && !self.in_source
    }

    fn end(&mut self, name: &str, sink: &mut Sink<'_>) {
        let text = self.text.trim();
        match (std::mem::replace(&mut self.state, State::Outside), &mut self.item) {
            (State::Inside(entry), item) => {
                if let Some(item) = item.as_mut().filter(|_| !text.is_empty()) {
                    item.has_page = true;
                }
                sink.take(entry, &self.bases.resolve(text));
            }
            (State::Spoilt, _) => sink.drop_one(),
            (State::Date, Some(item)) => {
                item.modified = Written::parse(text).map(|date| date.or_later(item.modified)).or(item.modified);
            }
            (State::Guid, Some(item)) if text.starts_with("http://") || text.starts_with("https://") => {
                item.guid = Some(text.to_owned());
            }
            _ => {}
        }
        self.in_source &= name != "source";
        if self.is_item(name) {
            self.end_item(sink);
        }
    }

    /// The entry that the scan is in, if any, ends here.
    fn end_item(&mut self, sink: &mut Sink<'_>) {
        let Some(item) = self.item.take() else { return };
        if let Some(guid) = item.guid.filter(|_| !item.has_page) {
            sink.take(Entry::Page, &guid);
        }
        sink.end(item.modified);
        self.in_source = false;
    }

    fn push(&mut self, text: &str) {
        let bytes_max = match self.state {
            State::Inside(_) | State::Guid => CanonicalUrl::LENGTH_MAX,
            State::Date => DATE_BYTES_MAX,
            State::Outside | State::Spoilt => return,
        };
        // blanks before a URL must not use its room up
        let text = if self.text.is_empty() { text.trim_start() } else { text };
        if self.text.len() + text.len() <= bytes_max {
            self.text.push_str(text);
        } else {
            self.spoil();
        }
    }

    /// The text is no good.
    fn spoil(&mut self) {
        self.state = match self.state {
            State::Inside(_) | State::Spoilt => State::Spoilt,
            State::Outside | State::Date | State::Guid => State::Outside,
        };
    }

    /// `&amp;` and its like. What is no name between `&` and `;` is a query that was not escaped.
    fn refer(&mut self, reference: &BytesRef<'_>) {
        let name: &str = reference;
        if let Ok(Some(character)) = reference.resolve_char_ref() {
            self.push(character.encode_utf8(&mut [0; 4]));
        } else if let Some(text) = resolve_xml_entity(name) {
            self.push(text);
        } else if name.contains(['=', '/', '?']) {
            self.push("&");
            self.push(name);
            self.push(";");
        } else {
            self.spoil();
        }
    }

    /// Takes what a `link` names by an attribute: the page of an Atom entry or, as some write it, of an item of RSS;
    /// the page of a sitemap's entry in another language; the next page of a feed, which RSS has a `link` of Atom for.
    fn link(&mut self, element: &BytesStart<'_>, sink: &mut Sink<'_>) {
        if element.local_name().as_ref() != "link" || self.in_source {
            return;
        }
        let is_feed = matches!(self.format, Format::Atom | Format::Rss);
        let Some(Target { href, relation }) = Target::of(element) else { return };
        let prefix = element.name().decompose().1.map(|prefix| prefix.as_ref().to_owned());
        let counts = prefix.is_none() || Some(&prefix) == self.prefix.as_ref();
        let entry = match (self.format, relation) {
            (Format::UrlSet, Relation::Alternate) => Entry::Beside,
            (Format::Atom, Relation::Alternate | Relation::None) => Entry::Page,
            (Format::Rss, Relation::Alternate | Relation::None) if counts => Entry::Page,
            (Format::Atom | Format::Rss, Relation::Next) if self.item.is_none() => Entry::Next,
            _ => return,
        };
        match href.as_deref().map(str::trim) {
            Some(url) if is_feed => sink.take(entry, &self.bases.resolve(url)),
            Some(url) => sink.take(entry, url),
            None => sink.drop_one(),
        }
        if let Some(item) = self.item.as_mut().filter(|_| entry == Entry::Page) {
            item.has_page = true;
        }
    }
}

/// The relation that a link states.
enum Relation {
    None,
    Alternate,
    /// The next page of a feed, or the archive before it (RFC 5005).
    Next,
    Other,
}

/// The target of a link.
struct Target {
    /// Nothing where it uses an entity that nobody knows.
    href: Option<String>,
    relation: Relation,
}

impl Target {
    /// The target of `element`, if it has one that is no longer than any URL.
    fn of(element: &BytesStart<'_>) -> Option<Target> {
        let (mut href, mut relation) = (None, Relation::None);
        for attribute in element.attributes().with_checks(false).flatten() {
            match attribute.key.as_ref() {
                "href" => href = Some(attribute.value),
                "rel" => {
                    relation = match &*attribute.value {
                        "alternate" => Relation::Alternate,
                        "next" | "prev-archive" => Relation::Next,
                        _ => Relation::Other,
                    }
                }
                _ => {}
            }
        }
        let href = href.filter(|href| href.len() <= CanonicalUrl::LENGTH_MAX)?;
        Some(Target { href: quick_xml::escape::unescape(&href).ok().map(Into::into), relation })
    }
}
