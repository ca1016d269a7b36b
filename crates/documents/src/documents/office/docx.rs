//! Texts of Office Open XML (ECMA-376, part 1, WordprocessingML).

use std::collections::HashSet;

use super::archive::Archive;
use super::docx_styles::{Properties, Styles};
use super::flow::{Block, Flow};
use super::parts::{Part, Relations};
use super::xml::{Element, Piece, Xml, plain};
use crate::contract::ConversionFailure;
use crate::documents::page::Page;

/// Fields within one another.
const FIELDS_MAX: usize = 50;
/// Elements that are left out with everything in them: deleted text, second versions, properties.
const LEFT_OUT: [&str; 15] = [
    "del",
    "moveFrom",
    "delText",
    "delInstrText",
    "Fallback",
    "sectPr",
    "tblPr",
    "tblGrid",
    "tblPrEx",
    "trPr",
    "tcPr",
    "sdtPr",
    "fldData",
    "binData",
    "rt",
];

/// A field, such as a link: its instruction comes before its result.
#[derive(Debug, Default)]
struct Field {
    instruction: String,
    is_result: bool,
    url: Option<String>,
}

struct Body<'p> {
    flow: Flow<'p>,
    styles: Styles,
    fields: Vec<Field>,
    /// True in a run that is hidden.
    is_hidden: bool,
}

/// Reads the document of this main part.
pub(super) fn read(archive: &mut Archive<'_>, main: &Part, page: &mut Page) -> Result<(), ConversionFailure> {
    let relations = Relations::of(archive, &main.name)?;
    let styles = first(archive, &relations, "styles")?;
    let numbering = first(archive, &relations, "numbering")?;
    let styles = Styles::read(&styles, &numbering);
    let mut body = Body { flow: Flow::new(page), styles, fields: Vec::new(), is_hidden: false };
    body.beside(archive, &relations, "header")?;
    let is_broken = body.walk(&main.text, &relations);
    if is_broken && !body.flow.has_text() {
        return Err(ConversionFailure::Damaged);
    }
    for kind in ["footer", "footnotes", "endnotes", "comments"] {
        body.beside(archive, &relations, kind)?;
    }
    Ok(())
}

/// The text of the first part of a kind.
fn first(archive: &mut Archive<'_>, relations: &Relations, kind: &str) -> Result<String, ConversionFailure> {
    relations.parts(kind).next().map_or_else(|| Ok(String::new()), |part| archive.text_if_any(part))
}

impl Body<'_> {
    /// Writes the parts of a kind, each text once.
    fn beside(
        &mut self,
        archive: &mut Archive<'_>,
        relations: &Relations,
        kind: &str,
    ) -> Result<(), ConversionFailure> {
        let mut written = HashSet::new();
        for part in relations.parts(kind) {
            let text = archive.text_if_any(part)?;
            let plain = plain(&text);
            if plain.is_empty() || !written.insert(plain) {
                continue;
            }
            self.flow.open(match kind {
                "header" => "header",
                "footer" => "footer",
                _ => "section",
            });
            let relations = Relations::of(archive, part)?;
            self.walk(&text, &relations);
        }
        Ok(())
    }

    /// Writes a part, and returns true if it is broken.
    fn walk(&mut self, text: &str, relations: &Relations) -> bool {
        let mut xml = Xml::new(text);
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
        self.fields.clear();
        self.flow.close_to(0);
        xml.is_broken()
    }

    fn begin(&mut self, element: &Element<'_>, xml: &mut Xml<'_>, relations: &Relations) {
        match element.name() {
            "p" => self.flow.start(Block::Paragraph),
            "pPr" => {
                let properties = Properties::read(xml);
                self.flow.start(self.styles.block(properties));
            }
            "r" => self.is_hidden = false,
            "rPr" => self.is_hidden = is_hidden(xml),
            "t" => {
                let text = xml.text();
                if !self.is_hidden {
                    self.flow.text(&text);
                }
            }
            "tab" | "ptab" => self.flow.text("\t"),
            "br" | "cr" => self.flow.line_break(),
            "noBreakHyphen" => self.flow.text("-"),
            "hyperlink" => {
                let url = relations.url(element.prefixed("id").as_deref());
                let anchor = element.attribute("anchor").or_else(|| element.attribute("docLocation"));
                self.flow.link(url.map(|url| match anchor {
                    Some(anchor) if !url.contains('#') => format!("{url}#{anchor}"),
                    _ => url,
                }));
            }
            "fldSimple" => {
                let instruction = element.attribute("instr").unwrap_or_default();
                self.fields.push(Field { url: url_of(&instruction), ..Field::default() });
                self.link_of_field();
            }
            "fldChar" => self.field(element.attribute("fldCharType").as_deref().unwrap_or_default()),
            "instrText" => {
                let text = xml.text();
                if let Some(field) = self.fields.last_mut().filter(|field| !field.is_result) {
                    field.instruction.push_str(&text);
                }
            }
            "docPr" => self.flow.picture(&element.attribute("descr").unwrap_or_default()),
            "tbl" => self.flow.open("table"),
            "tr" => self.flow.open("tr"),
            "tc" => self.flow.open("td"),
            name if LEFT_OUT.contains(&name) => xml.skip(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => self.flow.end(),
            "r" => self.is_hidden = false,
            "hyperlink" => self.link_of_field(),
            "fldSimple" => self.field("end"),
            "tbl" | "tr" | "tc" => self.flow.close(),
            _ => {}
        }
    }

    fn field(&mut self, kind: &str) {
        match kind {
            "begin" if self.fields.len() < FIELDS_MAX => self.fields.push(Field::default()),
            "separate" => {
                if let Some(field) = self.fields.last_mut() {
                    field.is_result = true;
                    field.url = url_of(&field.instruction);
                }
                self.link_of_field();
            }
            "end" => {
                self.fields.pop();
                self.link_of_field();
            }
            _ => {}
        }
    }

    /// Text leads to where the innermost field says that is a link.
    fn link_of_field(&mut self) {
        let url = self.fields.iter().rev().find_map(|field| field.url.clone());
        self.flow.link(url);
    }
}

/// Reads the properties of a run.
fn is_hidden(xml: &mut Xml<'_>) -> bool {
    let (depth, mut is_hidden) = (xml.depth(), false);
    while let Some(piece) = xml.next_in(depth) {
        match piece {
            Piece::Start(element) if element.name() == "vanish" => is_hidden = element.is_on("val"),
            Piece::Start(element) if element.name() == "rPrChange" => xml.skip(),
            _ => {}
        }
    }
    is_hidden
}

/// The URL of a field `HYPERLINK "URL" \l "anchor"`.
fn url_of(instruction: &str) -> Option<String> {
    let rest = instruction.trim_start().strip_prefix("HYPERLINK")?.trim_start();
    if rest.starts_with('\\') {
        return None;
    }
    let (url, rest) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
    };
    let anchor = rest.split_once("\\l").and_then(|(_, anchor)| anchor.split('"').nth(1));
    Some(anchor.map_or_else(|| url.to_owned(), |anchor| format!("{url}#{anchor}")))
}
