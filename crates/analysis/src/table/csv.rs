//! Values of CSV as spreadsheets read them (RFC 4180), formulas made harmless.

use crate::text::escape::{Cell, InLine, is_formula};

/// Ends a line.
pub(crate) const LINE_END: &str = "\r\n";

/// A value in one line: line ends are escaped.
pub fn cell(text: &str) -> String {
    quoted(Cell(text).to_string())
}

/// A value with its line ends and tabs as they are.
pub fn text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    if is_formula(text) {
        shown.push('\'');
    }
    for part in text.split_inclusive(['\n', '\t']) {
        let line = part.trim_end_matches(['\n', '\t']);
        shown.push_str(&InLine(line.strip_suffix('\r').unwrap_or(line)).to_string());
        shown.push_str(&part[line.len()..]);
    }
    quoted(shown)
}

/// Puts a text in quotation marks where it has to be.
fn quoted(text: String) -> String {
    let plain = !text.contains([',', '"', '\n', '\t']) && text.trim() == text;
    if plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
