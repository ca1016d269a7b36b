//! Columns of `list`: for programs, values with a tab between them, or JSON lines; on a terminal, a table cut to its
//! width.

use std::cell::OnceCell;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::archive::{Archive, Entry};
use super::compare::Step;
use crate::archive::History;
use crate::archive::redirect;
use crate::outcome::status_text;
use crate::table::{self, Type};
use crate::text::escape::{Escaped, InLine};
use crate::text::figures::{iso_ms, size};
use crate::warc::digest;
use crate::web::url::CanonicalUrl;

/// Space between two columns of a table.
const GAP: &str = "  ";
/// No column of URLs is narrower, whatever the terminal is.
const URL_MIN: usize = 16;

/// A fact about a page that can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Column {
    /// Its URL.
    Url,
    /// The status of the answer.
    Status,
    /// Kind of the answer: content, or what came in its place; empty for errors and redirects.
    Kind,
    /// The page that named it; empty for a seed.
    Referrer,
    /// Its MIME type.
    Mime,
    /// Bytes of its body.
    Bytes,
    /// Time at which it was fetched.
    Time,
    /// Against the version before: first, changed, unchanged.
    Change,
    /// Links from a seed to it.
    Depth,
    /// Path of its discovery: a letter for each hop from a seed.
    Hops,
    /// Milliseconds from the start of the request to the end of the answer.
    Duration,
    /// Target of a redirect; empty for all else.
    Location,
    /// SHA-1 of its body, in Base32.
    Digest,
    /// WARC file and offset of the record of its answer.
    Record,
}

/// An entry whose columns are printed. The archive is read once, and only for a column that needs it.
struct PrintedEntry<'a> {
    archive: &'a dyn Archive,
    entry: &'a Entry,
    history: OnceCell<History>,
}

impl PrintedEntry<'_> {
    fn history(&self) -> anyhow::Result<&History> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let history = self.archive.history(self.entry)?;
        Ok(self.history.get_or_init(|| history))
    }

    /// Returns the target of an answer that is a redirect.
    fn location(&self) -> anyhow::Result<Option<String>> {
        if !(300..400).contains(&self.entry.status) {
            return Ok(None);
        }
        let Ok(url) = CanonicalUrl::parse(&self.entry.url) else { return Ok(None) };
        let response = self.archive.shown(self.entry)?;
        Ok(redirect(&url, self.entry.status, &response.headers).map(|target| target.as_str().to_owned()))
    }
}

impl Column {
    /// Columns on a terminal, where nobody asks for others.
    pub(crate) const ON_TERMINAL: [Column; 3] = [Column::Status, Column::Url, Column::Referrer];

    fn name(self) -> &'static str {
        match self {
            Column::Url => "URL",
            Column::Status => "status",
            Column::Kind => "kind",
            Column::Referrer => "referrer",
            Column::Mime => "MIME type",
            Column::Bytes => "bytes",
            Column::Time => "time",
            Column::Change => "change",
            Column::Depth => "depth",
            Column::Hops => "hops",
            Column::Duration => "ms",
            Column::Location => "redirects to",
            Column::Digest => "digest",
            Column::Record => "record",
        }
    }

    /// Its name among the fields of a JSON line.
    fn field(self) -> &'static str {
        match self {
            Column::Url => "url",
            Column::Mime => "mime",
            Column::Duration => "duration_ms",
            Column::Location => "location",
            column => column.name(),
        }
    }

    /// Columns that it has in a table; `None` where it shares what is left.
    fn width(self) -> Option<usize> {
        match self {
            Column::Url | Column::Referrer | Column::Location => None,
            Column::Status => Some(16),
            Column::Kind => Some(11),
            Column::Mime => Some(16),
            Column::Bytes => Some(8),
            Column::Time => Some(24),
            Column::Change => Some(9),
            Column::Depth => Some(5),
            Column::Hops => Some(10),
            Column::Duration => Some(7),
            Column::Digest => Some(32),
            Column::Record => Some(36),
        }
    }

    /// The value, as JSON has it; null where nothing is known.
    fn json(self, printed: &PrintedEntry<'_>) -> anyhow::Result<Value> {
        let entry = printed.entry;
        Ok(match self {
            Column::Url => json!(entry.url),
            Column::Status => json!(entry.status),
            Column::Kind => json!(entry.kind_text()),
            Column::Referrer => json!(printed.history()?.via),
            Column::Mime => json!(entry.mime),
            Column::Bytes => json!(entry.bytes),
            Column::Time => json!(iso_ms(entry.time)),
            Column::Change => json!(Step::to(printed.archive, entry)?.name()),
            Column::Depth => json!(printed.history()?.depth),
            Column::Hops => json!(printed.history()?.hops),
            Column::Duration => json!(printed.history()?.duration.map(|duration| duration.as_millis() as u64)),
            Column::Location => json!(printed.location()?),
            Column::Digest => json!(digest(entry.digest_sha1)),
            Column::Record => {
                let place = printed.archive.place(entry)?;
                json!(format!("{}:{}", place.file, place.offset))
            }
        })
    }

    /// Returns the column of a table for it.
    pub(crate) fn of_table(self) -> table::Column {
        let holds = match self {
            Column::Status | Column::Bytes | Column::Depth | Column::Duration => Type::Integer,
            Column::Time => Type::Time,
            _ => Type::Text,
        };
        table::Column::new(self.field(), holds)
    }

    /// The value of `entry` in such a column.
    pub(crate) fn cell(self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<table::Value> {
        if self == Column::Time {
            return Ok(table::Value::Time(entry.time));
        }
        Ok(match self.json(&PrintedEntry { archive, entry, history: OnceCell::new() })? {
            Value::String(text) => table::Value::Text(text),
            Value::Number(number) => number.as_i64().map_or(table::Value::Null, table::Value::Integer),
            _ => table::Value::Null,
        })
    }

    /// The value for programs; an empty one where nothing is known.
    fn value(self, printed: &PrintedEntry<'_>) -> anyhow::Result<String> {
        Ok(match self.json(printed)? {
            Value::Null => String::new(),
            Value::String(text) => text,
            number => number.to_string(),
        })
    }

    /// The value for people.
    fn text(self, printed: &PrintedEntry<'_>) -> anyhow::Result<String> {
        let entry = printed.entry;
        Ok(match self {
            Column::Status => format!("{} {}", entry.status, status_text(entry.status)).trim_end().to_owned(),
            Column::Bytes => size(entry.bytes),
            _ => self.value(printed)?,
        })
    }
}

/// The columns of rows, and the width for which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    columns: Vec<Column>,
    /// Columns of the terminal, on one.
    width: Option<usize>,
}

impl Columns {
    /// The columns that were `wanted`, else the usual ones, for a terminal of this `width` or for programs.
    pub(crate) fn new(wanted: &[Column], width: Option<usize>) -> Columns {
        let columns = match (wanted, width) {
            ([], Some(_)) => Column::ON_TERMINAL.to_vec(),
            ([], None) => vec![Column::Url],
            (wanted, _) => wanted.to_vec(),
        };
        Columns { columns, width }
    }

    /// Returns the number of columns.
    pub(crate) fn count(&self) -> usize {
        self.columns.len()
    }

    /// The line above the rows of a table.
    pub(crate) fn head(&self) -> Option<String> {
        let names = self.columns.iter().map(|column| column.name().to_owned()).collect();
        self.width.map(|width| self.table_line(names, width))
    }

    /// The line of `entry`. No value forges a line or a column.
    pub(crate) fn line(&self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<String> {
        let printed = PrintedEntry { archive, entry, history: OnceCell::new() };
        let columns = self.columns.iter();
        Ok(match self.width {
            Some(width) => {
                let values = columns.map(|column| Ok(Escaped(&column.text(&printed)?).to_string()));
                self.table_line(values.collect::<anyhow::Result<_>>()?, width)
            }
            None => {
                let values = columns.map(|column| Ok(InLine(&column.value(&printed)?).to_string()));
                values.collect::<anyhow::Result<Vec<_>>>()?.join("\t")
            }
        })
    }

    /// The fields of `entry`, in alphabetical order.
    pub(crate) fn fields(&self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Value> {
        let printed = PrintedEntry { archive, entry, history: OnceCell::new() };
        let field = |column: &Column| Ok((column.field().to_owned(), column.json(&printed)?));
        Ok(Value::Object(self.columns.iter().map(field).collect::<anyhow::Result<Map<_, _>>>()?))
    }

    fn table_line(&self, values: Vec<String>, width: usize) -> String {
        let mut line = String::new();
        for (number, (value, own)) in values.iter().zip(self.widths(width)).enumerate() {
            if number > 0 {
                line.push_str(GAP);
            }
            line.push_str(&format!("{:<own$}", cut(value, own)));
        }
        line.trim_end().to_owned()
    }

    /// Columns of the terminal for each; columns of URLs share what others leave, and the URL itself gets more of it.
    fn widths(&self, width: usize) -> Vec<usize> {
        let gaps = GAP.len() * self.columns.len().saturating_sub(1);
        let fixed: usize = self.columns.iter().filter_map(|column| column.width()).sum();
        let left = width.saturating_sub(fixed + gaps);
        let weight = |column: Column| if column == Column::Url { 3 } else { 2 };
        let weights: usize = self.columns.iter().filter(|column| column.width().is_none()).map(|&c| weight(c)).sum();
        let share = |column: Column| (left * weight(column) / weights.max(1)).max(URL_MIN);
        self.columns.iter().map(|&column| column.width().unwrap_or_else(|| share(column))).collect()
    }
}

/// Cuts a value to `columns` characters, with a mark where something is missing.
fn cut(value: &str, columns: usize) -> String {
    if value.chars().count() <= columns {
        return value.to_owned();
    }
    value.chars().take(columns.saturating_sub(3)).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[test]
    fn a_table_is_aligned_and_cut_to_the_width_and_programs_get_whole_values() {
        let mut archive = FakeArchive::default();
        archive.page(&format!("https://a.example/{}", "x".repeat(90)), 301, "text/html", b"page");
        archive.page("https://a.example/\x1b[2J\tb", 404, "text/html", b"");
        let entries: Vec<Entry> = archive.entries().map(Result::unwrap).collect();
        let table = |width| {
            let columns = Columns::new(&[], Some(width));
            let rows = entries.iter().map(|entry| columns.line(&archive, entry).unwrap());
            columns.head().into_iter().chain(rows).collect::<Vec<String>>()
        };
        let narrow = table(80);
        assert_eq!(narrow[0], "status            URL                                   referrer");
        assert_eq!(narrow[1], "301 Moved Per...  https://a.example/xxxxxxxxxxxxxxx...");
        assert_eq!(narrow[2], "404 Not Found     https://a.example/\\x1b[2J\\tb");
        assert!(table(200)[1].len() > 110 && table(200).iter().all(|line| line.chars().count() <= 200));
        let wanted = [Column::Status, Column::Referrer, Column::Bytes, Column::Url];
        let columns = Columns::new(&wanted, None);
        assert_eq!(columns.head(), None);
        let line = columns.line(&archive, &entries[0]).unwrap();
        assert_eq!(line, format!("301\t\t4\t{}", entries[0].url));
        let wanted = [Column::Depth, Column::Hops, Column::Duration, Column::Location, Column::Digest, Column::Status];
        let fields = Columns::new(&wanted, None).fields(&archive, &entries[0]).unwrap();
        let digest = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let expected =
            json!({"depth": 0, "hops": "", "duration_ms": 1, "location": null, "digest": digest, "status": 301});
        assert_eq!(fields, expected);
        let plain = Columns::new(&[], None);
        assert_eq!(plain.line(&archive, &entries[1]).unwrap(), "https://a.example/\\x1b[2J\\tb");
    }
}
