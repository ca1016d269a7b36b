//! Texts and slides of OpenDocument (ISO/IEC 26300, part 3). Its spreadsheets are in `open_sheets`.

use std::collections::{HashMap, HashSet};

use super::archive::Archive;
use super::flow::{Block, Flow, outside};
use super::xml::{Element, Piece, Xml, plain};
use super::{open_sheets, stated};
use crate::contract::ConversionFailure;
use crate::documents::page::{Page, Stated};

/// Levels of a list.
const LEVELS: usize = 10;
/// Elements that are left out with everything in them.
const LEFT_OUT: [&str; 11] = [
    "tracked-changes",
    "note-citation",
    "forms",
    "scripts",
    "font-face-decls",
    "automatic-styles",
    "covered-table-cell",
    "ruby-text",
    "script",
    "date-time-decl",
    "page-thumbnail",
];
/// Elements that are drawn. They are in a text, and have texts.
const SHAPES: [&str; 11] = [
    "frame",
    "custom-shape",
    "rect",
    "ellipse",
    "circle",
    "polygon",
    "polyline",
    "path",
    "line",
    "connector",
    "caption",
];

/// Reads a document of any kind of OpenDocument.
pub(super) fn read(archive: &mut Archive<'_>, page: &mut Page) -> Result<Stated, ConversionFailure> {
    if archive.text_if_any("META-INF/manifest.xml")?.contains("encryption-data") {
        return Err(ConversionFailure::Encrypted);
    }
    let content = archive.text("content.xml")?;
    let styles = archive.text_if_any("styles.xml")?;
    let mut stated = Stated::default();
    stated::read(&archive.text_if_any("meta.xml")?, &mut stated);
    let (is_broken, has_text) = match kind(&content).as_deref() {
        Some("spreadsheet") => {
            let read = open_sheets::read(&content, page);
            (read.is_broken, read.has_text)
        }
        Some("text" | "presentation" | "drawing") => {
            let lists = [lists(&styles), lists(&content)].into_iter().flatten().collect();
            let mut text = Text::new(Flow::new(page), &lists);
            text.all_of(&styles, &["header", "header-left", "header-first"], "header");
            let is_broken = text.walk(&content);
            text.write_notes();
            text.all_of(&styles, &["footer", "footer-left", "footer-first"], "footer");
            (is_broken, text.flow.has_text())
        }
        Some(_) => return Err(ConversionFailure::Unsupported),
        None => (true, false),
    };
    if is_broken && !has_text { Err(ConversionFailure::Damaged) } else { Ok(stated) }
}

/// The element in the body of a document, which names its kind.
fn kind(content: &str) -> Option<String> {
    let (mut xml, mut is_in_body) = (Xml::new(content), false);
    while let Some(piece) = xml.next() {
        let Piece::Start(element) = piece else { continue };
        if is_in_body {
            return Some(element.name().to_owned());
        }
        is_in_body = element.name() == "body";
    }
    None
}

/// Levels of lists that have numbers, by the names of their styles.
type Lists = HashMap<String, [bool; LEVELS]>;

fn lists(styles: &str) -> Lists {
    let (mut xml, mut found, mut name) = (Xml::new(styles), Lists::new(), String::new());
    while let Some(piece) = xml.next() {
        let Piece::Start(element) = piece else { continue };
        match element.name() {
            "list-style" => name = element.attribute("name").unwrap_or_default(),
            "list-level-style-number" => {
                let level = element.attribute("level").and_then(|level| level.parse::<usize>().ok()).unwrap_or(0);
                if (1..=LEVELS).contains(&level) {
                    found.entry(name.clone()).or_default()[level - 1] = true;
                }
            }
            "body" => break,
            _ => {}
        }
    }
    found
}

/// A shape that the reader is in.
#[derive(Debug, Default)]
struct Shape {
    is_title: bool,
    is_picture: bool,
    title: String,
    description: String,
    /// Paragraphs that are open around it.
    paragraphs: usize,
}

/// A reader of text.
struct Text<'p, 'x> {
    flow: Flow<'p>,
    lists: &'x Lists,
    /// The styles of lists that are open, from the outermost on.
    list_styles: Vec<String>,
    /// True at the start of an item.
    is_new_item: bool,
    shapes: Vec<Shape>,
    paragraphs: usize,
    /// Notes and comments, which come at the end.
    notes: Vec<&'x str>,
}

impl<'p, 'x> Text<'p, 'x> {
    fn new(flow: Flow<'p>, lists: &'x Lists) -> Self {
        Text {
            flow,
            lists,
            list_styles: Vec::new(),
            is_new_item: false,
            shapes: Vec::new(),
            paragraphs: 0,
            notes: Vec::new(),
        }
    }

    /// Writes what is in elements of these names, each text once.
    fn all_of(&mut self, styles: &'x str, names: &[&str], container: &'static str) {
        let (mut xml, mut written) = (Xml::new(styles), HashSet::new());
        while let Some(piece) = xml.next() {
            if let Piece::Start(element) = piece
                && names.contains(&element.name())
            {
                let inner = xml.inner();
                let plain = plain(inner);
                if !plain.is_empty() && written.insert(plain) {
                    self.flow.open(container);
                    self.walk(inner);
                }
            }
        }
    }

    /// Writes the notes that were found.
    fn write_notes(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        if !notes.is_empty() {
            self.flow.open("section");
        }
        for note in notes {
            self.flow.open("div");
            // a note in a note is left out, as is all that a fragment is not closed with
            self.walk_in(note, 1);
        }
        self.flow.close_to(0);
    }

    /// Writes a document, and returns true if it is broken.
    fn walk(&mut self, text: &'x str) -> bool {
        self.walk_in(text, 0)
    }

    fn walk_in(&mut self, text: &'x str, opened: usize) -> bool {
        let mut xml = Xml::new(text);
        while let Some(piece) = xml.next() {
            match piece {
                Piece::Start(element) => self.begin(&element, &mut xml),
                Piece::End(name) => self.end(name.name()),
                Piece::Text(text) if self.paragraphs > 0 => self.flow.text(&text),
                Piece::Text(_) => {}
            }
            if self.flow.is_full() {
                break;
            }
        }
        self.shapes.clear();
        self.list_styles.clear();
        self.paragraphs = 0;
        self.flow.close_to(opened);
        xml.is_broken()
    }

    fn begin(&mut self, element: &Element<'_>, xml: &mut Xml<'x>) {
        let name = element.name();
        match name {
            "p" | "h" => {
                let block = self.block(element);
                self.flow.start(block);
                self.paragraphs += 1;
            }
            "list" => {
                let style = element.attribute("style-name").or_else(|| self.list_styles.last().cloned());
                self.list_styles.push(style.unwrap_or_default());
            }
            "list-item" | "list-header" => self.is_new_item = true,
            "s" => self.flow.text(" "),
            "tab" => self.flow.text("\t"),
            "line-break" => self.flow.line_break(),
            "a" => self.flow.link(element.attribute("href").map(outside)),
            "note-body" | "annotation" => self.notes.push(xml.inner()),
            "table" => self.flow.open("table"),
            "table-row" => self.flow.open("tr"),
            "table-cell" => self.flow.open("td"),
            "page" => self.flow.open("section"),
            "notes" => self.flow.open("aside"),
            "footer-decl" | "header-decl" => {
                let text = xml.text();
                self.flow.start(Block::Paragraph);
                self.flow.text(&text);
            }
            "section" if element.attribute("display").as_deref() == Some("none") => xml.skip(),
            "hidden-text" | "hidden-paragraph" if element.attribute("is-hidden").as_deref() != Some("false") => {
                xml.skip()
            }
            "title" if self.paragraphs == 0 => self.alternative(xml, |shape| &mut shape.title),
            "desc" if self.paragraphs == 0 => self.alternative(xml, |shape| &mut shape.description),
            "image" | "object" => {
                if let Some(shape) = self.shapes.last_mut() {
                    shape.is_picture = true;
                }
            }
            _ if SHAPES.contains(&name) => self.begin_shape(element, xml),
            _ if LEFT_OUT.contains(&name) => xml.skip(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" | "h" => {
                self.flow.end();
                self.paragraphs = self.paragraphs.saturating_sub(1);
            }
            "list" => {
                self.list_styles.pop();
                self.is_new_item = false;
            }
            "list-item" | "list-header" => self.is_new_item = false,
            "a" => self.flow.link(None),
            "table" | "table-row" | "table-cell" | "page" | "notes" => self.flow.close(),
            _ if SHAPES.contains(&name) => {
                let Some(shape) = self.shapes.pop() else { return };
                if shape.is_picture {
                    self.flow.picture(if shape.description.is_empty() { &shape.title } else { &shape.description });
                }
                self.paragraphs = shape.paragraphs;
            }
            _ => {}
        }
    }

    fn begin_shape(&mut self, element: &Element<'_>, xml: &mut Xml<'_>) {
        let class = element.attribute("class").unwrap_or_default();
        if ["page", "page-number", "date-time", "header", "footer"].contains(&class.as_str()) {
            return xml.skip();
        }
        let paragraphs = std::mem::take(&mut self.paragraphs);
        self.shapes.push(Shape { is_title: class == "title", paragraphs, ..Shape::default() });
    }

    fn alternative(&mut self, xml: &mut Xml<'_>, field: fn(&mut Shape) -> &mut String) {
        let text = xml.text();
        if let Some(shape) = self.shapes.last_mut() {
            *field(shape) = text;
        }
    }

    fn block(&mut self, element: &Element<'_>) -> Block {
        if self.shapes.last().is_some_and(|shape| shape.is_title) {
            return Block::Heading(2);
        }
        if element.name() == "h" {
            let level = element.attribute("outline-level").and_then(|level| level.parse().ok());
            return Block::Heading(level.unwrap_or(1));
        }
        if element.attribute("style-name").as_deref() == Some("Title") {
            return Block::Heading(1);
        }
        match self.list_styles.last() {
            Some(style) if std::mem::take(&mut self.is_new_item) => {
                let level = self.list_styles.len() - 1;
                let is_ordered = self.lists.get(style).is_some_and(|levels| levels[level.min(LEVELS - 1)]);
                Block::Item { level, is_ordered }
            }
            Some(_) => Block::Continued,
            None => Block::Paragraph,
        }
    }
}
