//! XML piece by piece, read leniently: names count without their prefixes, and what is broken ends it.
//!
//! Nothing here refers to other files, and no entity has a text that the document states.

use quick_xml::Reader;
use quick_xml::events::{BytesEnd, BytesStart, Event};

use crate::web::references;

/// Elements within one another.
const DEPTH_MAX: usize = 1_000;

/// A document of XML that is being read.
#[derive(Debug)]
pub(super) struct Xml<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    depth: usize,
    is_broken: bool,
    /// Elements that have no end.
    voids: &'static [&'static str],
}

/// Pieces of XML.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// An element begins.
    Start(Element<'a>),
    /// An element ends, of which this is the name.
    End(Name<'a>),
    /// Text, which may come in several pieces.
    Text(String),
}

/// The start of an element.
#[derive(Debug)]
pub(super) struct Element<'a>(BytesStart<'a>);

/// The name at the end of an element.
#[derive(Debug)]
pub(super) struct Name<'a>(BytesEnd<'a>);

impl<'a> Xml<'a> {
    /// The start of a document.
    pub(super) fn new(text: &'a str) -> Xml<'a> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        config.expand_empty_elements = true;
        Xml { text, reader, depth: 0, is_broken: false, voids: &[] }
    }

    /// The start of a page in XHTML, of which some elements may be without an end.
    pub(super) fn page(text: &'a str, voids: &'static [&'static str]) -> Xml<'a> {
        Xml { voids, ..Xml::new(text) }
    }

    /// The next piece, until the end or what is not XML.
    pub(super) fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let event = match self.reader.read_event() {
                Ok(Event::Eof) => {
                    self.is_broken |= self.depth > 0;
                    return None;
                }
                Ok(event) => event,
                // the parser is behind it already, and goes on
                Err(quick_xml::Error::IllFormed(_)) => continue,
                Err(_) => {
                    self.is_broken = true;
                    return None;
                }
            };
            if let Some(piece) = self.piece(event) {
                return Some(piece).filter(|_| !self.is_broken);
            }
        }
    }

    fn piece(&mut self, event: Event<'a>) -> Option<Piece<'a>> {
        match event {
            Event::Start(start) => {
                let element = Element(start);
                if !self.voids.contains(&element.name()) {
                    self.depth += 1;
                    self.is_broken |= self.depth > DEPTH_MAX;
                }
                Some(Piece::Start(element))
            }
            Event::End(end) => {
                let name = Name(end);
                if self.voids.contains(&name.name()) {
                    return None;
                }
                self.depth = self.depth.saturating_sub(1);
                Some(Piece::End(name))
            }
            Event::Text(text) => Some(Piece::Text(text.into_inner().into_owned())),
            Event::CData(text) => Some(Piece::Text(text.into_inner().into_owned())),
            Event::GeneralRef(reference) => {
                let mut text = String::new();
                references::push_value(format!("&{};", &*reference).as_bytes(), &mut text);
                Some(Piece::Text(text))
            }
            _ => None,
        }
    }

    /// The next piece inside of the element that had begun when [`Xml::depth`] was `depth`; nothing at its end.
    pub(super) fn next_in(&mut self, depth: usize) -> Option<Piece<'a>> {
        let piece = self.next()?;
        (self.depth >= depth).then_some(piece)
    }

    /// The number of elements that are open.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Leaves out the rest of the element that began last.
    pub(super) fn skip(&mut self) {
        let depth = self.depth;
        while self.next_in(depth).is_some() {}
    }

    /// The text of the element that began last.
    pub(super) fn text(&mut self) -> String {
        let (depth, mut whole) = (self.depth, String::new());
        while let Some(piece) = self.next_in(depth) {
            if let Piece::Text(text) = piece {
                whole.push_str(&text);
            }
        }
        whole
    }

    /// True if what was read ended before the document did.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Leaves out the rest of the element that began last, and returns the XML in it, to be read later.
    pub(super) fn inner(&mut self) -> &'a str {
        let start = self.reader.buffer_position();
        self.skip();
        let position = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
        self.text.get(position(start)..position(self.reader.buffer_position())).unwrap_or_default()
    }
}

impl Element<'_> {
    /// Its name without a prefix.
    pub(super) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// The attribute of this name, with whatever prefix.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        self.find(|key| key.rsplit(':').next() == Some(name))
    }

    /// The attribute of this name that has a prefix, such as `r:id` next to `id`.
    pub(super) fn prefixed(&self, name: &str) -> Option<String> {
        self.find(|key| key.split_once(':').is_some_and(|(_, local)| local == name))
    }

    /// True if an attribute switches something on, as it does without a value.
    pub(super) fn is_on(&self, name: &str) -> bool {
        !matches!(self.attribute(name).as_deref(), Some("0" | "false" | "off" | "none"))
    }

    fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<String> {
        let mut attributes = self.0.attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let found = attributes.find(|found| !found.key.as_ref().starts_with("xmlns") && is_it(found.key.as_ref()))?;
        let mut value = String::new();
        references::push_value(found.value.as_bytes(), &mut value);
        Some(value)
    }
}

impl Name<'_> {
    /// The name without a prefix.
    pub(super) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }
}

/// All text of a document, which tells whether another one says the same.
pub(super) fn plain(text: &str) -> String {
    let (mut xml, mut whole) = (Xml::new(text), String::new());
    while let Some(piece) = xml.next() {
        if let Piece::Text(text) = piece {
            whole.push_str(text.trim());
        }
    }
    whole
}
