//! Spreadsheets of OpenDocument (ISO/IEC 26300, part 3, chapter 9).

use super::flow::outside;
use super::grid::{Grid, Place, Span, url_of_formula};
use super::xml::{Element, Piece, Xml};
use crate::documents::page::Page;

/// Copies of a cell or row that has text.
const COPIES_MAX: u32 = 1_000;

/// The end of reading a spreadsheet.
#[derive(Debug)]
pub(super) struct Read {
    /// True if the XML is broken.
    pub(super) is_broken: bool,
    /// True if there was text.
    pub(super) has_text: bool,
}

/// The sheet that is being read.
#[derive(Debug, Default)]
struct Sheet {
    name: String,
    grid: Grid,
    place: Place,
    /// Pieces of text in the row.
    row: Vec<Span>,
    /// Rows that are alike.
    rows: u32,
    /// Comments, as texts.
    comments: Vec<String>,
}

/// Writes the sheets of a document.
pub(super) fn read(content: &str, page: &mut Page) -> Read {
    let (mut xml, mut sheet, mut has_text) = (Xml::new(content), Sheet::default(), false);
    while let Some(piece) = xml.next() {
        match piece {
            Piece::Start(element) => sheet.begin(&element, &mut xml),
            Piece::End(name) => match name.name() {
                "table-row" => sheet.end_row(),
                "table" => has_text |= std::mem::take(&mut sheet).write(page),
                _ => {}
            },
            Piece::Text(_) => {}
        }
        if page.is_full() {
            break;
        }
    }
    sheet.end_row();
    has_text |= sheet.write(page);
    Read { is_broken: xml.is_broken(), has_text }
}

impl Sheet {
    fn begin(&mut self, element: &Element<'_>, xml: &mut Xml<'_>) {
        match element.name() {
            "table" => *self = Sheet { name: element.attribute("name").unwrap_or_default(), ..Sheet::default() },
            "table-row" => {
                self.rows = repeated(element, "number-rows-repeated");
                self.place.column = 0;
            }
            "table-cell" | "covered-table-cell" => self.cell(element, xml),
            "shapes" | "dde-links" | "tracked-changes" | "forms" | "automatic-styles" => xml.skip(),
            _ => {}
        }
    }

    fn cell(&mut self, element: &Element<'_>, xml: &mut Xml<'_>) {
        let columns = repeated(element, "number-columns-repeated");
        let mut cell = Cell { place: self.place, spans: Vec::new(), comments: Vec::new() };
        cell.read(xml);
        if element.attribute("value-type").as_deref() == Some("date")
            && let Some(date) = element.attribute("date-value")
        {
            let text = date.trim_end_matches("T00:00:00").to_owned();
            cell.spans = vec![Span { place: self.place, text, link: None }];
        }
        if let Some(url) = element.attribute("formula").and_then(|formula| url_of_formula(&formula)) {
            cell.spans.iter_mut().for_each(|span| span.link = Some(url.clone()));
        }
        self.comments.append(&mut cell.comments);
        let copies = if cell.spans.is_empty() { 0 } else { columns.min(COPIES_MAX) };
        for copy in 0..copies {
            let column = self.place.column.saturating_add(copy);
            let moved = cell.spans.iter().map(|span| Span { place: Place { column, ..span.place }, ..span.clone() });
            self.row.extend(moved);
            if self.row.len() > 1 << 20 {
                break;
            }
        }
        self.place.column = self.place.column.saturating_add(columns);
    }

    fn end_row(&mut self) {
        let spans = std::mem::take(&mut self.row);
        let copies = if spans.is_empty() { 0 } else { self.rows.min(COPIES_MAX) };
        for copy in 0..copies {
            let row = self.place.row.saturating_add(copy);
            for span in &spans {
                if !self.grid.is_full() {
                    self.grid.add(Span { place: Place { row, ..span.place }, ..span.clone() });
                }
            }
        }
        self.place.row = self.place.row.saturating_add(self.rows);
        self.rows = 0;
    }

    /// Writes the table, and returns true if it has text.
    fn write(self, page: &mut Page) -> bool {
        let has_text = !self.grid.is_empty();
        if has_text && !self.name.is_empty() {
            page.element("h2", &self.name);
        }
        self.grid.write(page);
        for comment in &self.comments {
            page.element("p", comment);
        }
        has_text
    }
}

/// A cell that is being read.
#[derive(Debug)]
struct Cell {
    place: Place,
    spans: Vec<Span>,
    comments: Vec<String>,
}

impl Cell {
    fn read(&mut self, xml: &mut Xml<'_>) {
        let (depth, mut paragraphs, mut link) = (xml.depth(), 0, None);
        while let Some(piece) = xml.next_in(depth) {
            match piece {
                Piece::Start(element) => match element.name() {
                    "p" => {
                        paragraphs += 1;
                        if !self.spans.is_empty() {
                            self.push("\n", None);
                        }
                    }
                    "a" => link = element.attribute("href").map(outside),
                    "s" => self.push(" ", link.as_ref()),
                    "tab" => self.push("\t", link.as_ref()),
                    "line-break" => self.push("\n", link.as_ref()),
                    "annotation" => {
                        let comment = comment(xml);
                        self.comments.push(comment);
                    }
                    "frame" | "custom-shape" | "table" | "detective" => xml.skip(),
                    _ => {}
                },
                Piece::End(name) if name.name() == "p" => paragraphs -= 1,
                Piece::End(name) if name.name() == "a" => link = None,
                Piece::Text(text) if paragraphs > 0 => self.push(&text, link.as_ref()),
                _ => {}
            }
        }
    }

    fn push(&mut self, text: &str, link: Option<&String>) {
        match self.spans.last_mut() {
            Some(span) if span.link.as_ref() == link => span.text.push_str(text),
            _ => self.spans.push(Span { place: self.place, text: text.to_owned(), link: link.cloned() }),
        }
    }
}

/// The paragraphs of the comment that began last.
fn comment(xml: &mut Xml<'_>) -> String {
    let (depth, mut whole) = (xml.depth(), String::new());
    while let Some(piece) = xml.next_in(depth) {
        if let Piece::Start(element) = piece
            && element.name() == "p"
        {
            whole.push_str(if whole.is_empty() { "" } else { "\n" });
            whole.push_str(&xml.text());
        }
    }
    whole
}

fn repeated(element: &Element<'_>, name: &str) -> u32 {
    element.attribute(name).and_then(|count| count.parse().ok()).unwrap_or(1)
}
