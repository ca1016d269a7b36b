//! The place of a reader in a crawl: one place for each shard.
//!
//! A place is the offset of the last key record that was handed out. Offsets in key.dat are names and never change,
//! also when a compaction moves or removes pages; only `crawler verify --rebuild` makes a key.dat with other ones. So a
//! cursor also has the properties by which the record is found again: URL, time, and the value file of its answer.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use crate::clock::Time;
use crate::container::KeyRecord;
use crate::disk::{Aside, Disk};

/// The version of the file.
const VERSION: u16 = 1;
/// Characters of a text that is no cursor, in the message about it.
const QUOTED_CHARS_MAX: usize = 80;

/// The place of one stored answer in its crawl: its shard, and the offset of its key record. No two answers of a crawl
/// have the same place. Its text is `SHARD-OFFSET`, such as `0-81920`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The number of the shard; 0 in a crawl of one.
    pub shard: u32,
    /// Offset of its key record.
    pub record: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.shard, self.record)
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.trim().split_once('-');
        let place = parts.and_then(|(shard, record)| {
            Some(Place { shard: shard.parse().ok()?, record: record.parse().ok().filter(|&record: &u64| record > 0)? })
        });
        place.ok_or_else(|| Error::Cursor(format!("{text:?}"), "it is not written as SHARD-OFFSET".to_owned()))
    }
}

/// The last record of a shard that was handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastRecord {
    pub shard: u32,
    pub record: u64,
    /// Properties by which it is found again. `None` in a cursor that was parsed from text.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub known_by: Option<KnownBy>,
}

/// Properties by which a record is found again in an index that was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownBy {
    /// The number of the value file, and the offset of the answer in it.
    pub file: u32,
    pub offset: u64,
    pub time_ms: u64,
    pub url: String,
}

impl KnownBy {
    pub fn of(record: &KeyRecord) -> Self {
        let (file, offset) = (record.file, record.value_offset);
        KnownBy { file, offset, time_ms: record.time.ms(), url: record.url.clone() }
    }

    /// Returns whether `record` is the same answer. It may have moved to another offset.
    pub fn is(&self, record: &KeyRecord) -> bool {
        (record.file, record.time) == (self.file, Time::from_ms(self.time_ms)) && record.url == self.url
    }
}

/// The place of a reader in a crawl: the last answer that it received from each shard. For a shard without an entry
/// reading starts at the beginning.
///
/// Keep it in a file ([`Cursor::write`], [`Cursor::read`]). As text, which can be parsed, it is the places of the
/// shards, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub(super) crawl: Option<String>,
    pub(super) last: BTreeMap<u32, LastRecord>,
}

/// The content of a cursor's file.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u16,
    crawl: Option<String>,
    shards: Vec<LastRecord>,
}

impl Cursor {
    /// Returns a cursor before the first page.
    pub fn start() -> Cursor {
        Cursor::default()
    }

    /// The last answer of each shard.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.last.values().map(|last| Place { shard: last.shard, record: last.record })
    }

    /// Reads the cursor in the file at `path`; `None` if there is no such file.
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Cursor>> {
        let (disk, path) = (Disk::real(), path.as_ref());
        if disk.open_if_there(path)?.is_none() {
            return Ok(None);
        }
        Cursor::parse(&disk.read(path)?).map(Some).map_err(|why| Error::Cursor(path.display().to_string(), why))
    }

    /// Reads the cursor that [`Cursor::to_json`] has written.
    pub fn from_json(json: &str) -> Result<Cursor> {
        Cursor::parse(json.as_bytes()).map_err(|why| Error::Cursor(json.chars().take(QUOTED_CHARS_MAX).collect(), why))
    }

    fn parse(json: &[u8]) -> std::result::Result<Cursor, String> {
        let stored: Stored = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if stored.version != VERSION {
            return Err(format!("it is of version {}, this program reads {VERSION}", stored.version));
        }
        let last = stored.shards.into_iter().map(|last| (last.shard, last)).collect();
        Ok(Cursor { crawl: stored.crawl, last })
    }

    /// Returns the content of the cursor's file, for programs that keep it elsewhere, such as in a database together
    /// with what they have made of the pages.
    pub fn to_json(&self) -> String {
        let shards = self.last.values().cloned().collect();
        let stored = Stored { version: VERSION, crawl: self.crawl.clone(), shards };
        serde_json::to_string(&stored).expect("numbers and texts always have a JSON form")
    }

    /// Replaces the file at `path` by this cursor, atomically and durably: after a crash the file has the old cursor or
    /// the new one, and after this call returns it has the new one.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(Aside::put(path.as_ref(), format!("{}\n", self.to_json()).as_bytes())?)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<_> = self.places().map(|place| place.to_string()).collect();
        f.write_str(&places.join(","))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut last = BTreeMap::new();
        for place in text.split(',').filter(|place| !place.trim().is_empty()) {
            let Place { shard, record } = place.parse()?;
            last.insert(shard, LastRecord { shard, record, known_by: None });
        }
        Ok(Cursor { crawl: None, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        let known_by = KnownBy { file: 2, offset: 77, time_ms: 5, url: "http://a.example/é".to_owned() };
        let last = [
            LastRecord { shard: 0, record: 81_920, known_by: Some(known_by) },
            LastRecord { shard: 7, record: 16, known_by: None },
        ];
        Cursor { crawl: Some("4d".to_owned()), last: last.into_iter().map(|last| (last.shard, last)).collect() }
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_replaced_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cursor.json");
        assert_eq!(Cursor::read(&path).unwrap(), None);
        Cursor::start().write(&path).unwrap();
        assert_eq!(Cursor::read(&path).unwrap(), Some(Cursor::start()));
        cursor().write(&path).unwrap();
        assert_eq!(Cursor::read(&path).unwrap(), Some(cursor()));
        assert_eq!(Cursor::from_json(&cursor().to_json()).unwrap(), cursor());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        for wrong in ["", "{}", "[]", "{\"version\":2,\"crawl\":null,\"shards\":[]}", "0-16"] {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(Cursor::read(&path), Err(Error::Cursor(..))), "{wrong}");
            assert!(matches!(Cursor::from_json(wrong), Err(Error::Cursor(..))), "{wrong}");
        }
    }

    #[test]
    fn a_cursor_as_text_has_the_places_and_nothing_else() {
        assert_eq!(cursor().to_string(), "0-81920,7-16");
        let typed: Cursor = "0-81920, 7-16".parse().unwrap();
        assert_eq!(typed.places().collect::<Vec<_>>(), cursor().places().collect::<Vec<_>>());
        assert_eq!("".parse::<Cursor>().unwrap(), Cursor::start());
        for wrong in ["0", "0-", "-1", "a-16", "0-0", "0-16;1-16"] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }
}
