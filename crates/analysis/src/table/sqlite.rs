//! A table as a database of SQLite.
//!
//! The file is new, and is taken only when it is whole: so it has no journal and is not synchronised while it is
//! written. All rows are one transaction.

use std::io;
use std::path::Path;

use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, ErrorCode, params_from_iter};

use super::{Column, Piece, Row, Sink, Table, Type, Value};

/// A database that is being written.
pub(super) struct Database {
    connection: Connection,
    insert: String,
}

impl Database {
    /// Makes the table in the empty file at `path`.
    pub(super) fn create(path: &Path, table: &Table) -> io::Result<Database> {
        let names: Vec<_> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let columns = names.iter().zip(&table.columns).map(|(name, column)| format!("{name} {}", sql_type(column)));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let places = vec!["?"; names.len()].join(", ");
        let insert = format!("INSERT INTO {} ({}) VALUES ({places})", quoted(table.name), names.join(", "));
        let open = || {
            let connection = Connection::open(path)?;
            connection.execute_batch(&format!(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; CREATE TABLE {} ({columns});",
                quoted(table.name)
            ))?;
            // too many columns are reported before the work
            connection.prepare(&insert)?;
            Ok(connection)
        };
        Ok(Database { connection: open().map_err(io_error)?, insert })
    }

    fn insert(&self, rows: &[Row]) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare(&self.insert)?;
        rows.iter().try_for_each(|row| insert.execute(params_from_iter(row)).map(|_| ()))
    }
}

impl Sink for Database {
    fn write(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Rows(rows) => self.insert(&rows).map_err(io_error),
            Piece::Lines(_) => unreachable!("a database has no lines"),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.connection.execute_batch("COMMIT").map_err(io_error)?;
        self.connection.close().map_err(|(_, error)| io_error(error))
    }
}

/// A name, whatever it consists of.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\"").replace('\0', ""))
}

fn sql_type(column: &Column) -> &'static str {
    match column.holds {
        Type::Integer | Type::Int | Type::Short => "INTEGER",
        Type::Number => "REAL",
        Type::Text | Type::Time | Type::List | Type::Json => "TEXT",
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => rusqlite::types::Null.into(),
            Value::Text(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Number(number) => (*number).into(),
            value => value.to_text().into(),
        })
    }
}

/// A full disk is reported as any other error.
fn io_error(error: rusqlite::Error) -> io::Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => io::Error::from(io::ErrorKind::StorageFull),
        _ => io::Error::other(error),
    }
}
