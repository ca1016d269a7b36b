//! The XML of sitemaps and feeds: one pass over its events, with one URL in hand at most.
//!
//! Namespaces are not resolved. An element counts by its local name where it has no prefix or that of the root element;
//! so `image:loc` of the extensions is no `loc`, but stands beside one, and a file with a wrong namespace is read like
//! any other.

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::{Entry, Format, Sink};
use crate::web::url::CanonicalUrl;

/// What the root element says, if it is among those that are known.
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
pub(super) fn read(format: Format, text: &str, sink: &mut Sink<'_>) {
    let mut reader = reader(text.trim_start());
    let mut scan = Scan { format, prefix: None, url: String::new(), state: State::Outside };
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => return,
            Ok(event) => scan.event(&event, sink),
            // the parser is behind it already, and goes on
            Err(quick_xml::Error::IllFormed(_)) => {}
            Err(_) => return,
        }
    }
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

/// Where the scan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not in an element with a URL.
    Outside,
    /// In one, which leads there.
    Inside(Entry),
    /// In one whose URL is no good.
    Spoilt,
}

struct Scan {
    format: Format,
    /// Of the root element, once it is known.
    prefix: Option<Option<String>>,
    url: String,
    state: State,
}

impl Scan {
    fn event(&mut self, event: &Event<'_>, sink: &mut Sink<'_>) {
        match event {
            Event::Start(element) => self.start(element, sink),
            Event::Empty(element) if self.format == Format::Atom => self.link(element, sink),
            // a URL that its element does not end is none
            Event::Empty(element) => {
                self.state = State::Outside;
                self.translation(element, sink);
            }
            Event::End(_) => self.end(sink),
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
        let counts = prefix.is_none() || prefix == *of_root;
        let holds = match self.format {
            Format::UrlSet if !counts => BESIDE.contains(&name.as_ref()).then_some(Entry::Beside),
            Format::UrlSet => name.as_ref().eq_ignore_ascii_case("loc").then_some(Entry::Page),
            Format::Index if counts => name.as_ref().eq_ignore_ascii_case("loc").then_some(Entry::Sitemap),
            Format::Rss if counts => (name.as_ref() == "link").then_some(Entry::Page),
            Format::Index | Format::Rss | Format::Atom | Format::Text => None,
        };
        self.state = holds.map_or(State::Outside, State::Inside);
        self.url.clear();
        match self.format {
            Format::Atom => self.link(element, sink),
            _ => self.translation(element, sink),
        }
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        match std::mem::replace(&mut self.state, State::Outside) {
            State::Inside(entry) => sink.take(entry, self.url.trim()),
            State::Spoilt => sink.drop_one(),
            State::Outside => {}
        }
    }

    fn push(&mut self, text: &str) {
        if !matches!(self.state, State::Inside(_)) {
            return;
        }
        // blanks before a URL must not use its room up
        let text = if self.url.is_empty() { text.trim_start() } else { text };
        if self.url.len() + text.len() > CanonicalUrl::LENGTH_MAX {
            self.state = State::Spoilt;
        } else {
            self.url.push_str(text);
        }
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
        } else if matches!(self.state, State::Inside(_)) {
            self.state = State::Spoilt;
        }
    }

    /// The `xhtml:link` of an entry to the page in another language.
    fn translation(&self, element: &BytesStart<'_>, sink: &mut Sink<'_>) {
        if self.format == Format::UrlSet && element.local_name().as_ref() == "link" {
            alternate(element, Entry::Beside, false, sink);
        }
    }

    /// An Atom `link` to the page of an entry.
    fn link(&mut self, element: &BytesStart<'_>, sink: &mut Sink<'_>) {
        if element.local_name().as_ref() == "link" {
            alternate(element, Entry::Page, true, sink);
        }
    }
}

/// Takes the target of a link whose relation is `alternate`, or that has none where `is_default`.
fn alternate(element: &BytesStart<'_>, entry: Entry, is_default: bool, sink: &mut Sink<'_>) {
    let (mut href, mut is_alternate) = (None, is_default);
    for attribute in element.attributes().with_checks(false).flatten() {
        match attribute.key.as_ref() {
            "href" => href = Some(attribute.value),
            "rel" => is_alternate = &*attribute.value == "alternate",
            _ => {}
        }
    }
    let Some(href) = href.filter(|href| is_alternate && href.len() <= CanonicalUrl::LENGTH_MAX) else { return };
    match quick_xml::escape::unescape(&href) {
        Ok(url) => sink.take(entry, url.trim()),
        Err(_) => sink.drop_one(),
    }
}
