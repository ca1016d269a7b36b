//! Change files of Apache Parquet: append-only, a file for each batch, in a directory for each day.
//!
//! ```text
//! DIRECTORY/date=2026-11-29/00000000000000004200.parquet
//! ```
//! The name of a file is the number of its batch, and its day (UTC) the one on which it was written first. A file is
//! written aside and takes its place when it is whole and durable. A batch that comes again replaces its file, on
//! whatever day. A row is a change: of the rows of an id, the one with the highest number counts, and none if its `op`
//! is `delete`.
//!
//! To read the ids back takes memory for all of them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use parquet::schema::types::Type as Schema;

use super::fields::{FIELDS, Holds, Value as Field};
use super::listing::Sorted;
use super::settings::Settings;
use super::{Applied, Batch, Entry, Failure, Sink};
use crate::clock::{Clock, SystemClock};
use crate::disk::{self, Aside, Disk, open_file};
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

/// A directory of change files.
pub(super) struct ChangeFiles {
    files: Files,
    table: Table,
    clock: Box<dyn Clock>,
    listing: Sorted,
}

/// The files that are there.
struct Files {
    dir: PathBuf,
    disk: Disk,
}

impl ChangeFiles {
    pub(super) fn new(settings: &Settings) -> Result<ChangeFiles, String> {
        let table = Table::new(Format::Parquet, "changes", columns())?;
        let files = Files { dir: PathBuf::from(settings.url.expose()), disk: Disk::real() };
        Ok(ChangeFiles { files, table, clock: Box::new(SystemClock::new()), listing: Sorted::default() })
    }

    fn write(&self, batch: Batch<'_>) -> Result<u64, disk::Error> {
        let name = format!("{:020}{EXTENSION}", batch.number);
        let Files { dir, disk } = &self.files;
        let there = self.files.days()?.into_iter().find(|day| day.join(&name).exists());
        let day = there.unwrap_or_else(|| dir.join(format!("date={}", &format_date(self.clock.wall())[..10])));
        disk.create_dir_all(&day)?;
        disk.sync_dir(dir)?;
        let place = day.join(&name);
        let fault = |error| disk::Error::io("write", &place, error);
        let mut aside = Aside::create(&place)?;
        let rows = batch.changes.iter().map(|change| row(batch.number, change)).collect();
        self.fill(&mut aside, rows).and_then(|()| aside.sync()).map_err(fault)?;
        let bytes = aside.path().metadata().map_err(fault)?.len();
        aside.into_place()?;
        disk.sync_dir(&day)?;
        Ok(bytes)
    }

    fn fill(&self, aside: &mut Aside, rows: Vec<Row>) -> io::Result<()> {
        let mut file = self.table.sink(aside, None)?;
        file.write(self.table.piece(rows))?;
        file.finish()
    }
}

impl Files {
    /// The directories of days, in their order.
    fn days(&self) -> Result<Vec<PathBuf>, disk::Error> {
        if !self.dir.exists() {
            return Ok(Vec::new());
        }
        let days = self.disk.list_dirs(&self.dir)?.into_iter().filter(|name| name.starts_with("date="));
        Ok(days.map(|name| self.dir.join(name)).collect())
    }

    /// The documents that all changes together leave.
    fn read(&self) -> Result<Vec<Entry>, Box<dyn std::error::Error>> {
        let mut files = BTreeMap::new();
        for day in self.days()? {
            for name in self.disk.list(&day)?.into_iter().filter(|name| name.ends_with(EXTENSION)) {
                files.insert(name.clone(), day.join(name));
            }
        }
        let mut entries = BTreeMap::new();
        for path in files.values() {
            read(path, &mut entries).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let there = entries.into_iter().filter_map(|(id, digest)| Some(Entry { id, digest: digest? }));
        Ok(there.collect())
    }
}

impl Sink for ChangeFiles {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        let bytes = self.write(batch).map_err(|error| Failure::again(error.to_string()))?;
        Ok(Applied { bytes, ..Applied::default() })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        let (listing, files) = (&mut self.listing, &self.files);
        listing.page(after, most, || files.read().map_err(|error| Failure::broken(error.to_string())))
    }
}

/// Applies the changes of a file to `entries`: the digest of each id, none for one that is gone.
fn read(path: &Path, entries: &mut BTreeMap<String, Option<String>>) -> Result<(), ParquetError> {
    let reader = SerializedFileReader::new(open_file(path)?)?;
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
        let days = files.files.days().unwrap();
        let names: Vec<_> = days.iter().map(|day| files.files.disk.list(day).unwrap()).collect();
        assert_eq!(names, [["00000000000000000007.parquet"], ["00000000000000000009.parquet"]]);
        assert!(days[0].ends_with("date=1970-01-02"));
        let ids: Vec<_> = files.ids(None, 9).unwrap().into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids, ["b", "c"]);
        assert!(files.ids(Some("c"), 9).unwrap().is_empty());
    }
}
