//! Spreadsheets of Office Open XML (ECMA-376, part 1, SpreadsheetML).

use super::archive::Archive;
use super::grid::{Grid, Place, Span, url_of_formula};
use super::number_format::NumberFormat;
use super::parts::{Part, Relations};
use super::xml::{Element, Piece, Xml};
use crate::contract::ConversionFailure;
use crate::documents::page::Page;
use std::collections::HashMap;

/// Things that the sheets of a file share.
#[derive(Debug, Default)]
struct Shared {
    strings: Vec<String>,
    /// Formats of numbers, by the styles of cells.
    formats: Vec<NumberFormat>,
    is_from_1904: bool,
}

/// Reads the spreadsheet of this main part.
pub(super) fn read(archive: &mut Archive<'_>, main: &Part, page: &mut Page) -> Result<(), ConversionFailure> {
    let relations = Relations::of(archive, &main.name)?;
    let mut shared = Shared::default();
    if let Some(part) = relations.parts("sharedStrings").next() {
        shared.strings = strings(&archive.text_if_any(part)?);
    }
    if let Some(part) = relations.parts("styles").next() {
        shared.formats = formats(&archive.text_if_any(part)?);
    }
    let (mut xml, mut read, mut is_damaged) = (Xml::new(&main.text), 0, false);
    while let Some(piece) = xml.next() {
        let Piece::Start(element) = piece else { continue };
        match element.name() {
            "workbookPr" => {
                shared.is_from_1904 = element.attribute("date1904").is_some() && element.is_on("date1904");
            }
            "sheet" if is_shown(&element) => {
                let Some(part) = element.prefixed("id").and_then(|id| relations.part(&id).cloned()) else { continue };
                if part.kind == "worksheet" && !page.is_full() {
                    let name = element.attribute("name").unwrap_or_default();
                    let is_read = read_sheet(archive, &shared, &Sheet { name, part: part.target }, page)?;
                    read += usize::from(is_read);
                    is_damaged |= !is_read;
                }
            }
            _ => {}
        }
    }
    if (is_damaged || xml.is_broken()) && read == 0 { Err(ConversionFailure::Damaged) } else { Ok(()) }
}

fn is_shown(sheet: &Element<'_>) -> bool {
    !matches!(sheet.attribute("state").as_deref(), Some("hidden" | "veryHidden"))
}

#[derive(Debug)]
struct Sheet {
    name: String,
    part: String,
}

/// Writes a sheet; false if it is broken and nothing of it was read.
fn read_sheet(
    archive: &mut Archive<'_>,
    shared: &Shared,
    sheet: &Sheet,
    page: &mut Page,
) -> Result<bool, ConversionFailure> {
    let text = archive.text_if_any(&sheet.part)?;
    let relations = Relations::of(archive, &sheet.part)?;
    let (mut xml, mut grid, mut place) = (Xml::new(&text), Grid::default(), Place::default());
    let mut row_next = 0;
    while let Some(piece) = xml.next() {
        let Piece::Start(element) = piece else { continue };
        match element.name() {
            "row" => {
                let number = element.attribute("r").and_then(|row| row.parse::<u32>().ok());
                place = Place { row: number.map_or(row_next, |number| number.saturating_sub(1)), column: 0 };
                row_next = place.row.saturating_add(1);
            }
            "c" => {
                place = element.attribute("r").and_then(|name| place_of(&name)).unwrap_or(place);
                let cell = Cell { place, kind: element.attribute("t"), style: element.attribute("s") };
                grid.add(cell.read(&mut xml, shared));
                place.column = place.column.saturating_add(1);
            }
            "hyperlink" => {
                let url = relations.url(element.prefixed("id").as_deref());
                let of = element.attribute("ref").and_then(|name| place_of(&name));
                if let (Some(mut url), Some(place)) = (url, of) {
                    if let Some(location) = element.attribute("location").filter(|_| !url.contains('#')) {
                        url = format!("{url}#{location}");
                    }
                    grid.link(place, url);
                }
            }
            _ => {}
        }
    }
    let is_read = !(grid.is_empty() && (xml.is_broken() || text.is_empty()));
    if !grid.is_empty() && !sheet.name.is_empty() {
        page.element("h2", &sheet.name);
    }
    grid.write(page);
    for part in relations.parts("comments") {
        write_comments(&archive.text_if_any(part)?, page);
    }
    Ok(is_read)
}

#[derive(Debug)]
struct Cell {
    place: Place,
    kind: Option<String>,
    style: Option<String>,
}

impl Cell {
    fn read(self, xml: &mut Xml<'_>, shared: &Shared) -> Span {
        let (depth, mut value, mut link) = (xml.depth(), String::new(), None);
        while let Some(piece) = xml.next_in(depth) {
            let Piece::Start(element) = piece else { continue };
            match element.name() {
                "v" => value = xml.text(),
                "is" => value = rich_text(xml),
                "f" => link = url_of_formula(&xml.text()),
                _ => xml.skip(),
            }
        }
        let text = match self.kind.as_deref() {
            Some("s") => value.trim().parse().ok().and_then(|number: usize| shared.strings.get(number).cloned()),
            Some("b") => {
                Some(if value.trim() == "0" { "FALSE" } else { "TRUE" }.to_owned()).filter(|_| !value.is_empty())
            }
            Some("str" | "inlineStr" | "e" | "d") => Some(value),
            _ => {
                let style = self.style.and_then(|style| style.parse::<usize>().ok()).unwrap_or(0);
                let format = shared.formats.get(style).copied().unwrap_or_default();
                Some(format.show(&value, shared.is_from_1904))
            }
        };
        // a formula whose result nobody computed
        let text = text.filter(|text| !text.is_empty()).or_else(|| link.clone());
        Span { place: self.place, text: text.unwrap_or_default(), link }
    }
}

/// The place that a name such as `BC12`, or a range that begins with it, is for.
fn place_of(name: &str) -> Option<Place> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
    let digits = name[letters..].bytes().take_while(u8::is_ascii_digit).count();
    let letter = |column: u32, letter: u8| {
        column.checked_mul(26)?.checked_add(u32::from(letter.to_ascii_uppercase() - b'A') + 1)
    };
    let column = name.bytes().take(letters).try_fold(0, letter)?;
    let row: u32 = name[letters..letters + digits].parse().ok()?;
    Some(Place { row: row.checked_sub(1)?, column: column.checked_sub(1)? })
}

fn strings(text: &str) -> Vec<String> {
    let (mut xml, mut found) = (Xml::new(text), Vec::new());
    while let Some(piece) = xml.next() {
        if let Piece::Start(element) = piece
            && element.name() == "si"
        {
            found.push(rich_text(&mut xml));
        }
    }
    found
}

/// The text of the element that began last, without how it is pronounced.
fn rich_text(xml: &mut Xml<'_>) -> String {
    let (depth, mut text) = (xml.depth(), String::new());
    while let Some(piece) = xml.next_in(depth) {
        let Piece::Start(element) = piece else { continue };
        match element.name() {
            "t" => text.push_str(&xml.text()),
            "rPh" => xml.skip(),
            _ => {}
        }
    }
    text
}

fn formats(text: &str) -> Vec<NumberFormat> {
    let (mut xml, mut codes, mut found, mut are_of_cells) = (Xml::new(text), HashMap::new(), Vec::new(), false);
    while let Some(piece) = xml.next() {
        let element = match piece {
            Piece::Start(element) => element,
            Piece::End(name) => {
                are_of_cells &= name.name() != "cellXfs";
                continue;
            }
            Piece::Text(_) => continue,
        };
        let number = element.attribute("numFmtId").and_then(|number| number.parse::<u32>().ok());
        match (element.name(), number) {
            ("numFmt", Some(number)) => {
                codes.insert(number, NumberFormat::of_code(&element.attribute("formatCode").unwrap_or_default()));
            }
            ("cellXfs", _) => are_of_cells = true,
            ("xf", number) if are_of_cells => {
                let number = number.unwrap_or(0);
                found.push(codes.get(&number).copied().unwrap_or_else(|| NumberFormat::of_number(number)));
            }
            _ => {}
        }
    }
    found
}

fn write_comments(text: &str, page: &mut Page) {
    let mut xml = Xml::new(text);
    while let Some(piece) = xml.next() {
        if let Piece::Start(element) = piece
            && element.name() == "text"
            && !page.is_full()
        {
            page.element("p", &rich_text(&mut xml));
        }
    }
}
