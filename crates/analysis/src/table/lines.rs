//! Tables of lines: TSV, CSV, JSON lines.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Column, Format, Piece, Row, Sink, Table, Value, csv};
use crate::text::escape::{Cell, InLine, json_line};
use crate::text::figures::iso_ms;

impl Table {
    /// The lines of rows.
    pub(super) fn lines(&self, rows: &[Row]) -> String {
        rows.iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &Row) -> String {
        match self.format {
            Format::JsonLines => json_line(&Object { columns: &self.columns, row }).expect("names are strings") + "\n",
            Format::Csv => joined(row.iter().map(Value::as_csv), ",", csv::LINE_END),
            _ => joined(row.iter().map(Value::as_tsv), "\t", "\n"),
        }
    }

    /// The line of names.
    fn heading(&self) -> Option<String> {
        let names = self.columns.iter().map(|column| column.name.as_str()).filter(|_| self.has_heading);
        let line = match self.format {
            Format::JsonLines => return None,
            Format::Csv => joined(names.map(csv::cell), ",", csv::LINE_END),
            _ => joined(names.map(|name| InLine(name).to_string()), "\t", "\n"),
        };
        self.has_heading.then_some(line)
    }

    pub(super) fn begin_lines<'a>(&self, out: &'a mut (dyn Write + Send)) -> io::Result<Box<dyn Sink + 'a>> {
        if let Some(heading) = self.heading() {
            out.write_all(heading.as_bytes())?;
        }
        Ok(Box::new(Lines(out)))
    }
}

fn joined(cells: impl Iterator<Item = String>, parting: &str, end: &str) -> String {
    cells.collect::<Vec<_>>().join(parting) + end
}

impl Value {
    fn as_csv(&self) -> String {
        match self {
            Value::Text(text) => csv::text(text),
            value => csv::cell(&value.to_text()),
        }
    }

    fn as_tsv(&self) -> String {
        match self {
            Value::Text(text) => Cell(text).to_string(),
            value => value.to_text(),
        }
    }

    /// Returns the value as a text, which is empty for no value. Lists and JSON are JSON.
    pub fn to_text(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Time(time) => iso_ms(*time),
            Value::List(values) => json_line(values).expect("a list of strings is JSON"),
            Value::Json(value) => json_line(value).expect("it is JSON"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Number(number) => serializer.serialize_f64(*number),
            Value::Time(time) => serializer.serialize_str(&iso_ms(*time)),
            Value::List(values) => values.serialize(serializer),
            Value::Json(value) => value.serialize(serializer),
        }
    }
}

/// A row in JSON, its keys in the order of the columns.
struct Object<'a> {
    columns: &'a [Column],
    row: &'a Row,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, value) in self.columns.iter().zip(self.row) {
            map.serialize_entry(&column.name, value)?;
        }
        map.end()
    }
}

struct Lines<'a>(&'a mut (dyn Write + Send));

impl Sink for Lines<'_> {
    fn write(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Lines(lines) => self.0.write_all(lines.as_bytes()),
            Piece::Rows(_) => unreachable!("rows of a table of lines are lines"),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}
