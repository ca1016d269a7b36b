//! Tables as the tools of people read them: TSV, CSV, JSON lines, SQLite, Parquet.
//!
//! A [`Table`] is a format and its columns, each with a type; a row has a value for each column, of the column's type
//! or [`Value::Null`]. Rows become [`Piece`]s, which is pure and can be done by many threads: whole lines where the
//! format has lines, else the rows themselves. A [`Sink`] takes the pieces in their order, one thread at a time.
//!
//! What a type is in each format:
//!
//! | type | TSV, CSV | JSON lines | SQLite | Parquet |
//! |---|---|---|---|---|
//! | text | text | string | `TEXT` | string |
//! | integer | number | number | `INTEGER` | integer of 64, 32 or 16 bits |
//! | number | number | number | `REAL` | double |
//! | time | ISO 8601 | string, ISO 8601 | `TEXT`, ISO 8601 | timestamp in milliseconds, UTC |
//! | list | JSON | list of strings | `TEXT`, JSON | list of strings |
//! | JSON | JSON | itself | `TEXT`, JSON | string that is JSON |
//!
//! Texts come from pages. In TSV and CSV a text that a spreadsheet would take for a formula begins with `'`, and what a
//! terminal would obey is escaped; in CSV line ends and tabs are within quotation marks as they are. The others have
//! texts unchanged.
//!
//! - `lines`: TSV, CSV, JSON lines
//! - `sqlite`, `parquet`: the files of these names, each behind a feature of the same name

pub(crate) mod csv;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use crate::clock::Time;

/// Types of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// Whole numbers.
    Integer,
    /// Whole numbers of 32 bits.
    Int,
    /// Whole numbers of 16 bits.
    Short,
    /// Numbers, whole or not.
    Number,
    /// Points in time.
    Time,
    /// Lists of texts.
    List,
    /// Any JSON.
    Json,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub holds: Type,
    /// Set where every row has a value.
    pub is_required: bool,
}

impl Column {
    /// A column of this name, in which a row may have nothing.
    pub fn new(name: &str, holds: Type) -> Column {
        Column { name: name.to_owned(), holds, is_required: false }
    }

    /// The same, in which every row has a value. Formats that say so for a column say it.
    pub fn required(self) -> Column {
        Column { is_required: true, ..self }
    }
}

/// Values of a row in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing is known.
    Null,
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number that is finite.
    Number(f64),
    /// A point in time.
    Time(Time),
    /// A list of texts.
    List(Vec<String>),
    /// Any JSON.
    Json(serde_json::Value),
}

impl<T: Into<String>> From<Option<T>> for Value {
    fn from(text: Option<T>) -> Value {
        text.map_or(Value::Null, |text| Value::Text(text.into()))
    }
}

/// A value for each column.
pub type Row = Vec<Value>;

/// Formats in which a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Lines of values with a tab between them, below a line of names.
    #[default]
    Tsv,
    /// RFC 4180, with a line of names.
    Csv,
    /// An object of JSON a line.
    JsonLines,
    /// A database of one table.
    Sqlite,
    /// A file of Apache Parquet.
    Parquet,
}

impl Format {
    /// Those that this program was built with.
    pub const ALL: &[Format] = &[
        Format::Tsv,
        Format::Csv,
        Format::JsonLines,
        #[cfg(feature = "sqlite")]
        Format::Sqlite,
        #[cfg(feature = "parquet")]
        Format::Parquet,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tsv => "tsv",
            Format::Csv => "csv",
            Format::JsonLines => "jsonl",
            Format::Sqlite => "sqlite",
            Format::Parquet => "parquet",
        }
    }

    /// The format of this name.
    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The format that a file of this name has.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "db" | "sqlite3" => Format::parse("sqlite"),
            "json" | "ndjson" => Some(Format::JsonLines),
            name => Format::parse(name),
        }
    }

    /// Returns whether it is made of lines.
    pub fn has_lines(self) -> bool {
        matches!(self, Format::Tsv | Format::Csv | Format::JsonLines)
    }
}

/// A format and its columns.
#[derive(Clone, Debug)]
pub struct Table {
    format: Format,
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "databases alone have named tables"))]
    name: &'static str,
    columns: Vec<Column>,
    has_heading: bool,
}

/// Some rows, as the sink of their table takes them.
#[derive(Debug, PartialEq)]
pub enum Piece {
    /// Whole lines.
    Lines(String),
    /// The rows.
    Rows(Vec<Row>),
}

/// A writer of tables in one format.
pub trait Sink {
    /// Appends rows.
    fn write(&mut self, piece: Piece) -> io::Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Table {
    /// A table of this name, which a database has it by. Refuses two columns of one name, upper and lower case being
    /// the same.
    pub fn new(format: Format, name: &'static str, columns: Vec<Column>) -> Result<Table, String> {
        let mut names = HashSet::new();
        match columns.iter().find(|column| !names.insert(column.name.to_lowercase())) {
            Some(column) => Err(format!("two columns have the name {:?}", column.name)),
            None => Ok(Table { format, name, columns, has_heading: true }),
        }
    }

    /// The same without a line of names.
    pub fn without_heading(self) -> Table {
        Table { has_heading: false, ..self }
    }

    /// Returns the format in which it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The names of its columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Rows as its sink takes them.
    pub fn piece(&self, rows: Vec<Row>) -> Piece {
        if self.format.has_lines() { Piece::Lines(self.lines(&rows)) } else { Piece::Rows(rows) }
    }

    /// Begins the table in `out`, or at `path` for a format that needs its own file.
    pub fn sink<'a>(&self, out: &'a mut (dyn Write + Send), path: Option<&Path>) -> io::Result<Box<dyn Sink + 'a>> {
        let _ = path;
        match self.format {
            #[cfg(feature = "sqlite")]
            Format::Sqlite => {
                let path = path.ok_or_else(|| io::Error::other("a database needs a file"))?;
                Ok(Box::new(sqlite::Database::create(path, self)?))
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => Ok(Box::new(parquet::File::begin(out, &self.columns)?)),
            _ => self.begin_lines(out),
        }
    }
}
