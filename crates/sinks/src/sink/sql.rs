//! The table of documents in SQL, as far as databases agree on it.

use super::fields::FIELDS;

/// A name, whatever it consists of; of a table in a schema, its parts.
pub(super) fn quoted(name: &str) -> String {
    let parts = name.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    parts.collect::<Vec<_>>().join(".")
}

/// The columns, each made by `column` from its field's index.
pub(super) fn columns(column: impl Fn(usize) -> String) -> String {
    (0..FIELDS.len()).map(column).collect::<Vec<_>>().join(", ")
}

/// Inserts the rows that `rows` selects or lists; a row replaces the one with its id.
pub(super) fn upsert(table: &str, rows: &str) -> String {
    let names = columns(|at| quoted(FIELDS[at].name));
    let updates = columns(|at| format!("{0} = excluded.{0}", quoted(FIELDS[at].name)));
    format!("INSERT INTO {} ({names}) {rows} ON CONFLICT (\"id\") DO UPDATE SET {updates}", quoted(table))
}
