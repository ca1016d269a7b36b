//! Change files of Apache Parquet: append-only, a file for each batch, in a folder for each day.
//!
//! ```text
//! PLACE/date=2026-11-29/00000000000000004200.parquet
//! ```
//! The place is a directory or an object store. The name of a file is the number of its batch, and its day (UTC) the
//! one on which it was written first. It is there when it is whole and durable. A batch that comes again replaces its
//! file, on whatever day. A row is a change: of the rows of an id, the one with the highest number counts, and none if
//! its `op` is `delete`.
//!
//! To read the ids back takes memory for all of them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use parquet::schema::types::Type as Schema;

use super::fields::{FIELDS, Holds, Value as Field};
use super::files::{self, Files};
use super::listing::Sorted;
use super::settings::Settings;
use super::{Applied, Batch, Entry, Failure, Sink};
use crate::clock::{Clock, SystemClock};
use crate::feed::{Change, Reason};
use crate::table::{Column, Format, Row, Table, Type, Value};
use crate::web::warc_date::{format_date, parse_date};

/// The columns before the fields of a document, and behind them.
const NUMBER: &str = "number";
const OP: &str = "op";
const REASON: &str = "reason";
const DUPLICATE_OF: &str = "duplicate_of";
/// The extension of a change file.
const EXTENSION: &str = ".parquet";

/// Change files.
pub(super) struct ChangeFiles {
    files: Box<dyn Files>,
    /// Their names in the order of their numbers, once they were listed: nobody else adds one meanwhile.
    names: Option<BTreeMap<String, String>>,
    table: Table,
    clock: Box<dyn Clock>,
    listing: Sorted,
}

impl ChangeFiles {
    pub(super) fn new(settings: &Settings) -> Result<ChangeFiles, String> {
        let table = Table::new(Format::Parquet, "changes", columns())?;
        let (files, clock) = (files::open(settings)?, Box::new(SystemClock::new()));
        Ok(ChangeFiles { files, names: None, table, clock, listing: Sorted::default() })
    }

    fn write(&mut self, batch: Batch<'_>) -> Result<u64, Failure> {
        let rows = batch.changes.iter().map(|change| row(batch.number, change)).collect();
        let content = self.file(rows).map_err(|error| Failure::broken(error.to_string()))?;
        let bytes = content.len() as u64;
        let number = format!("{:020}{EXTENSION}", batch.number);
        let today = format_date(self.clock.wall());
        let names = names_of(&*self.files, &mut self.names)?;
        let name = names.entry(number).or_insert_with_key(|number| format!("date={}/{number}", &today[..10]));
        self.files.put(name, content)?;
        Ok(bytes)
    }

    fn file(&self, rows: Vec<Row>) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut file = self.table.sink(&mut content, None)?;
        file.write(self.table.piece(rows))?;
        file.finish()?;
        Ok(content)
    }
}

/// The names of the change files by their numbers.
fn names_of<'a>(
    files: &dyn Files,
    names: &'a mut Option<BTreeMap<String, String>>,
) -> Result<&'a mut BTreeMap<String, String>, Failure> {
    if names.is_none() {
        let of_day = |name: String| {
            let (day, number) = name.split_once('/')?;
            let is_one = day.starts_with("date=") && number.ends_with(EXTENSION);
            is_one.then(|| (number.to_owned(), name.clone()))
        };
        *names = Some(files.names()?.into_iter().filter_map(of_day).collect());
    }
    Ok(names.get_or_insert_default())
}

/// The documents that all changes together leave.
fn documents(files: &dyn Files, names: &BTreeMap<String, String>) -> Result<Vec<Entry>, Failure> {
    let mut entries = BTreeMap::new();
    for name in names.values() {
        let damaged = |error| Failure::broken(format!("{name}: {error}"));
        read(files.get(name)?, &mut entries).map_err(damaged)?;
    }
    Ok(entries.into_iter().filter_map(|(id, digest)| Some(Entry { id, digest: digest? })).collect())
}

impl Sink for ChangeFiles {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        Ok(Applied { bytes: self.write(batch)?, ..Applied::default() })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        let (files, names) = (&*self.files, names_of(&*self.files, &mut self.names)?);
        self.listing.page(after, most, || documents(files, names))
    }
}

/// Applies the changes of a file to `entries`: the digest of each id, none for one that is gone.
fn read(content: Bytes, entries: &mut BTreeMap<String, Option<String>>) -> Result<(), ParquetError> {
    let reader = SerializedFileReader::new(content)?;
    let schema = reader.metadata().file_metadata().schema();
    // in the order of the file
    let names = [OP, "id", "digest"];
    let fields: Vec<Arc<Schema>> = schema.get_fields().iter().filter(|f| names.contains(&f.name())).cloned().collect();
    let projection = Schema::group_type_builder(schema.name()).with_fields(fields).build()?;
    for row in reader.get_row_iter(Some(projection))? {
        let row = row?;
        let is_there = row.get_string(0)? == "upsert";
        let digest = if is_there { Some(row.get_string(2)?.clone()) } else { None };
        entries.insert(row.get_string(1)?.clone(), digest);
    }
    Ok(())
}

fn columns() -> Vec<Column> {
    let mut columns = vec![Column::new(NUMBER, Type::Integer).required(), Column::new(OP, Type::Text).required()];
    columns.extend(FIELDS.iter().map(|field| {
        let holds = match field.holds {
            Holds::Keyword | Holds::Prose => Type::Text,
            Holds::Keywords => Type::List,
            Holds::Time => Type::Time,
        };
        let column = Column::new(field.name, holds);
        if field.name == "id" { column.required() } else { column }
    }));
    columns.extend([Column::new(REASON, Type::Text), Column::new(DUPLICATE_OF, Type::Text)]);
    columns
}

fn row(number: u64, change: &Change) -> Row {
    let number = Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let mut row = vec![number];
    match change {
        Change::Upsert(document) => {
            row.push(Value::Text("upsert".to_owned()));
            row.extend(FIELDS.iter().map(|field| match ((field.value)(document), field.holds) {
                (Field::Absent, _) => Value::Null,
                (Field::Text(text), Holds::Time) => parse_date(text).map_or(Value::Null, Value::Time),
                (Field::Text(text), _) => Value::Text(text.to_owned()),
                (Field::List(list), _) => Value::List(list.to_vec()),
            }));
            row.extend([Value::Null, Value::Null]);
        }
        Change::Delete(deletion) => {
            row.push(Value::Text("delete".to_owned()));
            row.extend(FIELDS.iter().map(|field| match field.name {
                "id" => Value::Text(deletion.id.clone()),
                "url" => Value::Text(deletion.url.clone()),
                _ => Value::Null,
            }));
            row.extend([Value::Text(name(deletion.reason)), deletion.duplicate_of.clone().into()]);
        }
    }
    row
}

/// The name of a reason, as the stream of changes has it.
fn name(reason: Reason) -> String {
    let name = serde_json::to_value(reason).expect("a reason is JSON");
    name.as_str().expect("a reason has a name").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, Time};
    use crate::feed::{Deletion, Document};

    #[test]
    fn a_batch_that_comes_again_replaces_its_file_also_on_another_day() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("kind = 'parquet'\npath = '{}'", dir.path().join("out").display());
        let mut files = ChangeFiles::new(&toml::from_str(&text).unwrap()).unwrap();
        let day = |day: u64| Box::new(ManualClock::new(Time::ZERO + std::time::Duration::from_secs(day * 86_400)));
        let upsert = |id: &str| Change::Upsert(Box::new(Document { id: id.into(), ..Document::default() }));
        let deletion = Deletion { id: "a".into(), url: "u".into(), reason: Reason::Gone, duplicate_of: None };
        for (on, number, changes) in [
            (1, 7, vec![upsert("a")]),
            (2, 7, vec![upsert("a"), upsert("b")]),
            (2, 9, vec![upsert("c"), Change::Delete(deletion)]),
        ] {
            files.clock = day(on);
            files.apply(Batch { number, changes: &changes }).unwrap();
        }
        let mut names = files.files.names().unwrap();
        names.sort();
        let expected = ["date=1970-01-02/00000000000000000007.parquet", "date=1970-01-03/00000000000000000009.parquet"];
        assert_eq!(names, expected);
        let ids: Vec<_> = files.ids(None, 9).unwrap().into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids, ["b", "c"]);
        assert!(files.ids(Some("c"), 9).unwrap().is_empty());
    }
}
