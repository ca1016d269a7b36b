//! Slides of Office Open XML (ECMA-376, part 1, PresentationML).

use std::collections::BTreeSet;

use super::archive::Archive;
use super::flow::{Block, Flow};
use super::parts::{Part, Relations};
use super::xml::{Element, Piece, Xml};
use crate::contract::ConversionFailure;
use crate::documents::page::Page;

/// The shape that the reader is in.
#[derive(Debug, Default)]
struct Shape {
    /// The kind of text that a layout has a place for there, such as `title`.
    placeholder: Option<String>,
    is_picture: bool,
    alt: String,
    /// The URL that all of it leads to.
    url: Option<String>,
}

struct Slides<'p> {
    flow: Flow<'p>,
    shape: Shape,
    is_in_run: bool,
    is_in_name: bool,
    /// True in the notes of the speaker.
    are_notes: bool,
    /// Texts at the foot of slides.
    footers: BTreeSet<String>,
}

/// Reads the presentation of this main part.
pub(super) fn read(archive: &mut Archive<'_>, main: &Part, page: &mut Page) -> Result<(), ConversionFailure> {
    let relations = Relations::of(archive, &main.name)?;
    let mut slides = Slides {
        flow: Flow::new(page),
        shape: Shape::default(),
        is_in_run: false,
        is_in_name: false,
        are_notes: false,
        footers: BTreeSet::new(),
    };
    let (mut xml, mut is_damaged) = (Xml::new(&main.text), false);
    while let Some(piece) = xml.next() {
        if slides.flow.is_full() {
            break;
        }
        if let Piece::Start(element) = piece
            && element.name() == "sldId"
            && let Some(slide) = element.prefixed("id").and_then(|id| relations.part(&id))
        {
            is_damaged |= slides.slide(archive, &slide.target)?;
        }
    }
    if (is_damaged || xml.is_broken()) && !slides.flow.has_text() {
        return Err(ConversionFailure::Damaged);
    }
    for footer in std::mem::take(&mut slides.footers) {
        slides.flow.start(Block::Paragraph);
        slides.flow.text(&footer);
    }
    slides.flow.close_to(0);
    Ok(())
}

impl Slides<'_> {
    /// Writes a slide, and returns true if it is broken.
    fn slide(&mut self, archive: &mut Archive<'_>, part: &str) -> Result<bool, ConversionFailure> {
        let text = archive.text_if_any(part)?;
        let relations = Relations::of(archive, part)?;
        self.flow.open("section");
        let is_broken = self.walk(&text, &relations) || text.is_empty();
        for kind in ["diagramData", "notesSlide", "comments"] {
            for part in relations.parts(kind) {
                let text = archive.text_if_any(part)?;
                let relations = Relations::of(archive, part)?;
                self.are_notes = kind == "notesSlide";
                self.flow.open(if self.are_notes { "aside" } else { "div" });
                self.walk(&text, &relations);
                self.flow.close();
            }
        }
        self.are_notes = false;
        self.flow.close();
        Ok(is_broken)
    }

    fn walk(&mut self, text: &str, relations: &Relations) -> bool {
        let (mut xml, opened) = (Xml::new(text), self.flow.opened());
        self.shape = Shape::default();
        while let Some(piece) = xml.next() {
            match piece {
                Piece::Start(element) => self.begin(&element, &mut xml, relations),
                Piece::End(name) => self.end(name.name()),
                Piece::Text(_) => {}
            }
            if self.flow.is_full() {
                break;
            }
        }
        self.flow.close_to(opened);
        self.flow.link(None);
        xml.is_broken()
    }

    fn begin(&mut self, element: &Element<'_>, xml: &mut Xml<'_>, relations: &Relations) {
        match element.name() {
            // a slide that is not shown
            "sld" if !element.is_on("show") => xml.skip(),
            "sp" | "cxnSp" => self.shape = Shape::default(),
            "pic" | "graphicFrame" => self.shape = Shape { is_picture: true, ..Shape::default() },
            "cNvPr" => {
                self.is_in_name = true;
                self.shape.alt = element.attribute("descr").unwrap_or_default();
            }
            "ph" => self.shape.placeholder = Some(element.attribute("type").unwrap_or_else(|| "obj".into())),
            "p" => self.flow.start(self.block(&Bullet::default())),
            "pPr" => {
                let bullet = Bullet::read(element, xml);
                self.flow.start(self.block(&bullet));
            }
            "r" | "fld" => {
                self.is_in_run = true;
                self.flow.link(self.shape.url.clone());
            }
            "hlinkClick" => {
                let url = relations.url(element.prefixed("id").as_deref());
                if self.is_in_run {
                    self.flow.link(url);
                } else if self.is_in_name {
                    self.shape.url = url;
                }
            }
            "t" if self.is_in_run => {
                let text = xml.text();
                self.text(&text);
            }
            // comments
            "text" => {
                let text = xml.text();
                self.flow.start(Block::Paragraph);
                self.flow.text(&text);
            }
            "br" => self.flow.line_break(),
            "tbl" => self.flow.open("table"),
            "tr" => self.flow.open("tr"),
            "tc" if is_covered(element) => xml.skip(),
            "tc" => self.flow.open("td"),
            "Fallback" | "endParaRPr" | "lstStyle" | "tblPr" | "extLst" => xml.skip(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => self.flow.end(),
            "r" | "fld" => {
                self.is_in_run = false;
                self.flow.link(None);
            }
            "cNvPr" => {
                self.is_in_name = false;
                if self.shape.is_picture && !self.are_notes {
                    self.flow.start(Block::Paragraph);
                    self.flow.link(self.shape.url.clone());
                    self.flow.picture(&self.shape.alt);
                    self.flow.link(None);
                    self.flow.end();
                }
            }
            "tbl" | "tr" | "tc" => self.flow.close(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.shape.placeholder.as_deref() {
            Some("sldNum" | "dt" | "hdr" | "sldImg") => {}
            Some("ftr") if self.are_notes => {}
            Some("ftr") => drop(self.footers.insert(text.trim().to_owned())),
            _ => self.flow.text(text),
        }
    }

    fn block(&self, bullet: &Bullet) -> Block {
        let is_body = match self.shape.placeholder.as_deref() {
            Some("title" | "ctrTitle") => return Block::Heading(2),
            Some("body" | "obj") => !self.are_notes && !self.shape.is_picture,
            _ => false,
        };
        if bullet.is_shown.unwrap_or(is_body) {
            Block::Item { level: bullet.level, is_ordered: bullet.is_ordered }
        } else {
            Block::Paragraph
        }
    }
}

/// The mark at the start of a paragraph.
#[derive(Debug, Default)]
struct Bullet {
    level: usize,
    is_ordered: bool,
    /// Not known if the layout says it.
    is_shown: Option<bool>,
}

impl Bullet {
    /// Reads the properties of a paragraph, which began last.
    fn read(element: &Element<'_>, xml: &mut Xml<'_>) -> Bullet {
        let level = element.attribute("lvl").and_then(|level| level.parse().ok()).unwrap_or(0);
        let (depth, mut bullet) = (xml.depth(), Bullet { level, ..Bullet::default() });
        while let Some(piece) = xml.next_in(depth) {
            let Piece::Start(element) = piece else { continue };
            match element.name() {
                "buNone" => bullet.is_shown = Some(false),
                "buChar" | "buBlip" => bullet.is_shown = Some(true),
                "buAutoNum" => bullet = Bullet { is_shown: Some(true), is_ordered: true, ..bullet },
                _ => xml.skip(),
            }
        }
        bullet
    }
}

/// True for a cell that another one covers.
fn is_covered(cell: &Element<'_>) -> bool {
    ["hMerge", "vMerge"].iter().any(|name| cell.attribute(name).is_some() && cell.is_on(name))
}
