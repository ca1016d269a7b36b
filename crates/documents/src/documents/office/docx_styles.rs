//! The styles and numberings of a text, which tell its headings and lists.

use std::collections::HashMap;

use super::flow::Block;
use super::xml::{Piece, Xml};

/// Styles that are based on one another.
const BASES_MAX: usize = 10;
/// Levels of a numbering.
const LEVELS: usize = 9;

/// The properties of a paragraph or of its style, as far as they count here.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties {
    /// The style, or the one that a style is based on.
    style: Option<String>,
    /// The level of its heading, from 0 on; 9 is none.
    outline: Option<u8>,
    /// The numbering of its list; 0 is none.
    numbering: Option<String>,
    /// The level in that list.
    level: Option<usize>,
}

impl Properties {
    /// Reads the element that began last.
    pub(super) fn read(xml: &mut Xml<'_>) -> Properties {
        let (depth, mut properties) = (xml.depth(), Properties::default());
        while let Some(piece) = xml.next_in(depth) {
            let Piece::Start(element) = piece else { continue };
            let value = element.attribute("val");
            match element.name() {
                "pStyle" | "basedOn" => properties.style = value,
                "name" => properties.outline = value.and_then(|name| outline_of(&name)).or(properties.outline),
                "outlineLvl" => properties.outline = value.and_then(|level| level.parse().ok()),
                "numId" => properties.numbering = value,
                "ilvl" => properties.level = value.and_then(|level| level.parse().ok()),
                "rPr" | "sectPr" | "pPrChange" | "tblPr" | "tblStylePr" => xml.skip(),
                _ => {}
            }
        }
        properties
    }
}

/// The styles and numberings of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: HashMap<String, Properties>,
    /// Levels that have numbers, by the identifier of their numbering.
    ordered: HashMap<String, [bool; LEVELS]>,
}

impl Styles {
    /// Reads both parts.
    pub(super) fn read(styles: &str, numbering: &str) -> Styles {
        let (mut xml, mut found) = (Xml::new(styles), HashMap::new());
        while let Some(piece) = xml.next() {
            let Piece::Start(element) = piece else { continue };
            if let Some(id) = element.attribute("styleId").filter(|_| element.name() == "style") {
                found.insert(id, Properties::read(&mut xml));
            }
        }
        Styles { styles: found, ordered: read_numbering(numbering) }
    }

    /// The block that a paragraph is.
    pub(super) fn block(&self, own: Properties) -> Block {
        let mut whole = own;
        for _ in 0..BASES_MAX {
            let Some(base) = whole.style.take().and_then(|style| self.styles.get(&style)) else { break };
            whole.style.clone_from(&base.style);
            whole.outline = whole.outline.or(base.outline);
            whole.numbering = whole.numbering.or_else(|| base.numbering.clone());
            whole.level = whole.level.or(base.level);
        }
        match (whole.outline, whole.numbering) {
            (Some(outline @ 0..=8), _) => Block::Heading(outline + 1),
            (_, Some(numbering)) if numbering != "0" => {
                let level = whole.level.unwrap_or(0).min(LEVELS - 1);
                let is_ordered = self.ordered.get(&numbering).is_some_and(|levels| levels[level]);
                Block::Item { level, is_ordered }
            }
            _ => Block::Paragraph,
        }
    }
}

/// The level of a heading by the name of its style, which programs write in English whatever they show.
fn outline_of(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("heading ") {
        Some(level) => level.parse::<u8>().ok()?.checked_sub(1),
        None => (name == "title").then_some(0),
    }
}

fn read_numbering(text: &str) -> HashMap<String, [bool; LEVELS]> {
    let (mut abstracts, mut found) = (HashMap::new(), HashMap::new());
    let (mut of, mut number, mut level) = (String::new(), String::new(), 0);
    let mut xml = Xml::new(text);
    while let Some(piece) = xml.next() {
        let Piece::Start(element) = piece else { continue };
        match element.name() {
            "abstractNum" => of = element.attribute("abstractNumId").unwrap_or_default(),
            "lvl" => level = element.attribute("ilvl").and_then(|level| level.parse().ok()).unwrap_or(0),
            "numFmt" if level < LEVELS => {
                let format = element.attribute("val").unwrap_or_default();
                let levels = abstracts.entry(of.clone()).or_insert([false; LEVELS]);
                levels[level] = format != "bullet" && format != "none";
            }
            "num" => number = element.attribute("numId").unwrap_or_default(),
            "abstractNumId" => {
                let levels = element.attribute("val").and_then(|of| abstracts.get(&of).copied());
                found.insert(number.clone(), levels.unwrap_or_default());
            }
            "lvlOverride" => xml.skip(),
            _ => {}
        }
    }
    found
}
