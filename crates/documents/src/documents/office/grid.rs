//! A sheet of a spreadsheet as a table, without its empty rows and columns.

use std::collections::{BTreeSet, HashMap};

use crate::documents::PAGE_BYTES_MAX;
use crate::documents::page::Page;

/// Bytes that a piece takes on a page besides its text, at least.
const PIECE_BYTES: usize = 9;

/// The place of a cell, from 0 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    /// The row.
    pub(super) row: u32,
    /// The column.
    pub(super) column: u32,
}

/// Text in a cell, which may have several.
#[derive(Clone, Debug, Default)]
pub(super) struct Span {
    /// The cell.
    pub(super) place: Place,
    /// The text.
    pub(super) text: String,
    /// The URL that it leads to.
    pub(super) link: Option<String>,
}

/// The cells of a sheet that have text.
#[derive(Debug, Default)]
pub(super) struct Grid {
    spans: Vec<Span>,
    links: HashMap<Place, String>,
    bytes: usize,
}

impl Grid {
    /// Adds text to a cell.
    pub(super) fn add(&mut self, span: Span) {
        if !span.text.trim().is_empty() && !self.is_full() {
            self.bytes += span.text.len() + PIECE_BYTES;
            self.spans.push(span);
        }
    }

    /// Makes the text of a cell lead to a URL, if it does not yet.
    pub(super) fn link(&mut self, place: Place, url: String) {
        self.links.insert(place, url);
    }

    /// True if there is more than a page takes.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > PAGE_BYTES_MAX
    }

    /// True if no cell has text.
    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Writes the table.
    pub(super) fn write(mut self, page: &mut Page) {
        if self.is_empty() {
            return;
        }
        self.spans.sort_by_key(|span| span.place);
        let columns: BTreeSet<u32> = self.spans.iter().map(|span| span.place.column).collect();
        page.open("table");
        for row in self.spans.chunk_by(|one, other| one.place.row == other.place.row) {
            page.open("tr");
            let mut cells = row.chunk_by(|one, other| one.place == other.place).peekable();
            for column in &columns {
                let Some(cell) = cells.peek() else { break };
                page.open("td");
                if cell[0].place.column == *column {
                    self.write_cell(cell, page);
                    cells.next();
                }
                page.close();
                if page.is_full() {
                    break;
                }
            }
            page.close();
            if page.is_full() {
                break;
            }
        }
        page.close();
    }

    fn write_cell(&self, spans: &[Span], page: &mut Page) {
        for span in spans {
            let link = span.link.as_ref().or_else(|| self.links.get(&span.place));
            let link = link.filter(|url| !url.is_empty() && !url.starts_with('#'));
            if let Some(url) = link {
                page.open_with("a", &[("href", url)]);
            }
            for (number, line) in span.text.split('\n').enumerate() {
                if number > 0 {
                    page.empty("br", &[]);
                }
                page.text(line);
            }
            if link.is_some() {
                page.close();
            }
        }
    }
}

/// The URL of a formula `HYPERLINK("URL", "text")`.
pub(super) fn url_of_formula(formula: &str) -> Option<String> {
    let formula = formula.trim_start_matches("of:").trim_start_matches('=');
    formula.strip_prefix("HYPERLINK(\"")?.split('"').next().map(str::to_owned)
}
