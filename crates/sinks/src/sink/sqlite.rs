//! A table of SQLite: a row for each document, with the id as its key.
//!
//! A batch is one transaction, durable when it is committed. Readers are not kept waiting (WAL). `urls` is JSON.

use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, ErrorCode, params_from_iter};

use super::fields::{FIELDS, Value};
use super::settings::Settings;
use super::sql::{columns, quoted, upsert};
use super::{Applied, Batch, Entry, Failure, Sink};

/// The wait for another writer of the database.
const BUSY: Duration = Duration::from_secs(10);

/// A table.
pub(super) struct Sqlite {
    path: String,
    table: String,
    connection: Option<Connection>,
}

impl Sqlite {
    pub(super) fn new(settings: &Settings) -> Sqlite {
        Sqlite { path: settings.url.expose().to_owned(), table: settings.index.clone(), connection: None }
    }

    /// The database, opened, with the table.
    fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        if self.connection.is_none() {
            let connection = Connection::open(&self.path)?;
            connection.busy_timeout(BUSY)?;
            let columns = columns(|at| {
                let key = if at == 0 { " PRIMARY KEY NOT NULL" } else { "" };
                format!("{} TEXT{key}", quoted(FIELDS[at].name))
            });
            let table = quoted(&self.table);
            connection.execute_batch(&format!(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS {table} ({columns});"
            ))?;
            self.connection = Some(connection);
        }
        Ok(self.connection.as_mut().expect("it was just opened"))
    }

    fn store(&mut self, batch: Batch<'_>) -> rusqlite::Result<u64> {
        let insert = upsert(&self.table, &format!("VALUES ({})", columns(|_| "?".to_owned())));
        let delete = format!("DELETE FROM {} WHERE \"id\" = ?", quoted(&self.table));
        let transaction = self.connection()?.transaction()?;
        let mut bytes = 0;
        {
            let (mut insert, mut delete) = (transaction.prepare(&insert)?, transaction.prepare(&delete)?);
            for document in batch.documents() {
                let values = FIELDS.each_ref().map(|field| (field.value)(document));
                bytes += values.iter().map(|value| value.bytes()).sum::<u64>();
                insert.execute(params_from_iter(&values))?;
            }
            for id in batch.deleted() {
                delete.execute([id])?;
            }
        }
        transaction.commit()?;
        Ok(bytes)
    }

    fn page(&mut self, after: &str, most: usize) -> rusqlite::Result<Vec<Entry>> {
        let select = format!(
            "SELECT \"id\", \"digest\" FROM {} WHERE \"id\" > ? ORDER BY \"id\" LIMIT {most}",
            quoted(&self.table)
        );
        let mut select = self.connection()?.prepare(&select)?;
        let rows = select.query_map([after], |row| Ok(Entry { id: row.get(0)?, digest: row.get(1)? }))?;
        rows.collect()
    }

    /// An error of the database; the next try opens it again.
    fn failure(&mut self, error: rusqlite::Error) -> Failure {
        self.connection = None;
        let why = format!("SQLite: {error}");
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig) => Failure::Refused { why },
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull | ErrorCode::SystemIoFailure,
            ) => Failure::again(why),
            _ => Failure::Broken { why },
        }
    }
}

impl Sink for Sqlite {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        let bytes = self.store(batch).map_err(|error| self.failure(error))?;
        Ok(Applied { bytes, ..Applied::default() })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        self.page(after.unwrap_or_default(), most).map_err(|error| self.failure(error))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Absent => rusqlite::types::Null.into(),
            Value::Text(text) => (*text).into(),
            Value::List(list) => serde_json::to_string(list).expect("texts are JSON").into(),
        })
    }
}
