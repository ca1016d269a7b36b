//! The table: a line for each place of each finding, as spreadsheets read it (RFC 4180), formulas made harmless.

use std::io::{self, Write};

use super::super::compare::State;
use super::super::finding::Finding;
use crate::table::csv;

pub(super) fn heading(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"kind,subject,url,how,text,detail,state\r\n")
}

pub(super) fn row(out: &mut dyn Write, finding: &Finding, state: Option<State>) -> io::Result<()> {
    let Finding { kind, subject, item, detail } = finding;
    let state = state.map_or("", State::name);
    let cells = [kind.name(), subject, &item.url, &item.how, &item.text, detail, state];
    write!(out, "{}{}", cells.map(csv::cell).join(","), csv::LINE_END)
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Kind;
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_have_to_be_and_are_no_formulas() {
        let finding = Finding::of(Kind::Broken, "https://a.example/?a,b", "404").at("u", "anchor", "=1+\"x\"\n");
        let mut out = Vec::new();
        row(&mut out, &finding, Some(State::New)).unwrap();
        let expected = "broken,\"https://a.example/?a,b\",u,anchor,\"'=1+\"\"x\"\"\\n\",404,new\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
