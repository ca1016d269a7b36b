//! `extract --compare OLD.csv`: the rows that an earlier table had not, had otherwise, or had alone.
//!
//! Both tables are sorted by their URLs and read side by side, so neither has to fit in memory. Cells are compared as
//! CSV has them, those of the columns that both tables have.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use csv::{ReaderBuilder, Terminator, Writer, WriterBuilder};
use serde_json::{Map, Value as Json};

use crate::cli::exit::UsageError;
use crate::disk::sorter::{Sorted, Sorter};
use crate::table::{Piece, Sink, Table};
use crate::text::escape::json_line;

/// Memory in which the rows of a table are sorted.
const MEMORY: usize = 64 << 20;
/// The column by which rows are known.
const URL: &str = "url";
/// The columns in front of those of the table, and behind them.
const CHANGE: &str = "change";
const BEFORE: &str = "before";

/// Takes the rows of a table as CSV, and writes what has changed since an earlier one when all have come.
pub(super) struct Changes<'a> {
    out: Writer<&'a mut (dyn Write + Send)>,
    names: Vec<String>,
    rows: Sorter,
    earlier: Earlier,
}

/// An earlier table.
struct Earlier {
    names: Vec<String>,
    rows: Rows,
}

/// A row by its URL.
struct Row {
    url: String,
    cells: Vec<String>,
}

/// Rows in the order of their URLs.
struct Rows {
    sorted: Sorted,
    next: Option<Row>,
}

/// Begins the comparison of `table` with the file at `earlier`.
pub(super) fn begin<'a>(
    table: &Table,
    earlier: &Path,
    out: &'a mut (dyn Write + Send),
) -> anyhow::Result<Box<dyn Sink + 'a>> {
    let refused = |why: &dyn std::fmt::Display| UsageError::because(format!("--compare {}: {why}", earlier.display()));
    let file = File::open(earlier).map_err(|error| refused(&error))?;
    let earlier = Earlier::read(file).map_err(|error| refused(&error))?;
    let names: Vec<String> = table.names().map(str::to_owned).collect();
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    out.write_record([CHANGE].into_iter().chain(names.iter().map(String::as_str)).chain([BEFORE]))?;
    Ok(Box::new(Changes { out, names, rows: Sorter::new(MEMORY), earlier }))
}

impl Sink for Changes<'_> {
    fn write(&mut self, piece: Piece) -> io::Result<()> {
        let Piece::Lines(text) = piece else { return Err(io::Error::other("rows that are no lines of CSV")) };
        let mut records = ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        for record in records.records() {
            let cells: Vec<&str> =
                record.as_ref().map_err(|error| io::Error::other(error.to_string()))?.iter().collect();
            push(&mut self.rows, cells.first().copied().unwrap_or_default(), &cells)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Changes { mut out, names, rows, earlier: Earlier { names: old_names, rows: mut old } } = *self;
        let mut new = Rows::of(rows)?;
        let columns = Columns::of(names, &old_names);
        while let Some(pair) = Pair::next(&mut new, &mut old)? {
            match pair {
                Pair::New(row) => write(&mut out, "new", row.cells, String::new())?,
                Pair::Gone(before) => write(&mut out, "gone", columns.of_earlier(&before), String::new())?,
                Pair::Both(row, before) => {
                    let others = columns.others(&row, &before);
                    if !others.is_empty() {
                        write(&mut out, "changed", row.cells, json_line(&others).map_err(io::Error::other)?)?;
                    }
                }
            }
        }
        out.flush()
    }
}

/// The rows of one URL.
enum Pair {
    New(Row),
    Gone(Row),
    Both(Row, Row),
}

impl Pair {
    /// The rows of the next URL that either table has.
    fn next(new: &mut Rows, old: &mut Rows) -> io::Result<Option<Pair>> {
        let order = match (&new.next, &old.next) {
            (None, None) => return Ok(None),
            (Some(new), Some(old)) => new.url.cmp(&old.url),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let row = if order.is_le() { new.take()? } else { None };
        let before = if order.is_ge() { old.take()? } else { None };
        Ok(match (row, before) {
            (Some(row), Some(before)) => Some(Pair::Both(row, before)),
            (row, before) => row.map(Pair::New).or(before.map(Pair::Gone)),
        })
    }
}

/// The columns of the table, each with its place in the earlier one.
struct Columns(Vec<(String, Option<usize>)>);

impl Columns {
    fn of(names: Vec<String>, earlier: &[String]) -> Columns {
        let place = |name: &String| earlier.iter().position(|other| other == name);
        Columns(names.into_iter().map(|name| (name.clone(), place(&name))).collect())
    }

    /// The cells of a row of the earlier table, empty where it has no such column.
    fn of_earlier(&self, row: &Row) -> Vec<String> {
        self.0.iter().map(|(_, place)| cell(row, *place).unwrap_or_default().to_owned()).collect()
    }

    /// The cells of the earlier table that are others now, by their columns.
    fn others(&self, row: &Row, earlier: &Row) -> Map<String, Json> {
        let pairs = self.0.iter().zip(&row.cells);
        let others = pairs.filter_map(|((name, place), now)| {
            let before = cell(earlier, *place).filter(|before| before != now)?;
            Some((name.clone(), Json::String(before.to_owned())))
        });
        others.collect()
    }
}

fn cell(row: &Row, place: Option<usize>) -> Option<&str> {
    row.cells.get(place?).map(String::as_str)
}

/// Writes a row of changes.
fn write(out: &mut Writer<impl Write>, change: &str, cells: Vec<String>, before: String) -> io::Result<()> {
    let record = [change.to_owned()].into_iter().chain(cells).chain([before]);
    out.write_record(record).map_err(|error| io::Error::other(error.to_string()))
}

/// Takes a row into those that are sorted.
fn push(rows: &mut Sorter, url: &str, cells: &[&str]) -> io::Result<()> {
    let line = [url.as_bytes(), &[0], json_line(&cells).map_err(io::Error::other)?.as_bytes()].concat();
    rows.push(&line).map_err(io::Error::other)
}

impl Earlier {
    fn read(file: impl Read) -> io::Result<Earlier> {
        let wrong = |error: csv::Error| io::Error::other(error.to_string());
        let mut records = ReaderBuilder::new().from_reader(file);
        let names: Vec<String> = records.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
        let Some(url) = names.iter().position(|name| name == URL) else {
            return Err(io::Error::other(format!(
                "it has no column {URL}: it is none of crawler extract --format csv"
            )));
        };
        let mut rows = Sorter::new(MEMORY);
        for record in records.records() {
            let record = record.map_err(wrong)?;
            let cells: Vec<&str> = record.iter().collect();
            push(&mut rows, &record[url], &cells)?;
        }
        Ok(Earlier { names, rows: Rows::of(rows)? })
    }
}

impl Rows {
    fn of(sorter: Sorter) -> io::Result<Rows> {
        let mut rows = Rows { sorted: sorter.finish().map_err(io::Error::other)?, next: None };
        rows.take()?;
        Ok(rows)
    }

    /// The next row, behind which another one is read.
    fn take(&mut self) -> io::Result<Option<Row>> {
        let next = self.sorted.next().map_err(io::Error::other)?.map(Row::of_line).transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

impl Row {
    fn of_line(line: &[u8]) -> io::Result<Row> {
        let end = line.iter().position(|&byte| byte == 0).unwrap_or(line.len());
        let cells = serde_json::from_slice(line.get(end + 1..).unwrap_or_default()).map_err(io::Error::other)?;
        Ok(Row { url: String::from_utf8_lossy(&line[..end]).into_owned(), cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Format, Type, Value};

    #[test]
    fn what_is_new_gone_and_other_is_written_in_the_order_of_urls() {
        let columns = ["url", "title", "price", "only new"].map(|name| Column::new(name, Type::Text)).to_vec();
        let table = Table::new(Format::Csv, "pages", columns).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old.csv");
        let old = "price,url,title,only old\r\n10,http://h/b,B,x\r\n7,http://h/gone,\"G, \"\"g\"\"\",x\r\n\
                   '=1,http://h/same,\"two\nlines\",x\r\n";
        std::fs::write(&path, old).unwrap();
        let row = |cells: [&str; 4]| cells.map(|cell| Value::Text(cell.to_owned())).to_vec();
        let mut out = Vec::new();
        let mut changes = begin(&table, &path, &mut out).unwrap();
        let rows =
            [["http://h/same", "two\nlines", "=1", "y"], ["http://h/b", "B", "12", "y"], ["http://h/a", "A", "", "y"]];
        rows.into_iter().try_for_each(|cells| changes.write(table.piece(vec![row(cells)]))).unwrap();
        changes.finish().unwrap();
        let expected = "change,url,title,price,only new,before\r\n\
                        new,http://h/a,A,,y,\r\n\
                        changed,http://h/b,B,12,y,\"{\"\"price\"\":\"\"10\"\"}\"\r\n\
                        gone,http://h/gone,\"G, \"\"g\"\"\",7,,\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_file_that_is_no_table_of_pages_is_refused() {
        let table = Table::new(Format::Csv, "pages", vec![Column::new("url", Type::Text)]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("none.csv", None), ("other.csv", Some("a,b\n1,2\n")), ("odd.csv", Some("url,b\n1\n"))] {
            let path = dir.path().join(name);
            text.map_or(Ok(()), |text| std::fs::write(&path, text)).unwrap();
            let mut out = Vec::new();
            let refused = begin(&table, &path, &mut out).err().unwrap().to_string();
            assert!(refused.starts_with("--compare ") && refused.contains(name), "{refused}");
        }
    }
}
