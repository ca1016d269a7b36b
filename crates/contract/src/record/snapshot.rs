//! `status.json`: a plain copy of the last checkpoint's figures, for readers beside a crawl that runs.
//!
//! It is derived: nothing is recovered from it. It
//! is replaced as a whole, so a reader finds the old one or the new one.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout;
use super::layout::StoreName;
use super::{Finish, Gauges, Statistics};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};

/// Longest file that is read: some hundred counters need a hundredth of it.
const BYTES_MAX: u64 = 1 << 20;

/// State of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A process is at work; or it was killed.
    Running,
    /// The crawl ended with work left; the same command line goes on.
    Stopped,
    /// No URL is left.
    Finished,
}

/// Bytes on disk, store by store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreBytes {
    /// The DRUM stores.
    #[serde(flatten)]
    pub stores: BTreeMap<StoreName, u64>,
    /// The queue.
    pub frontier: u64,
    /// Records of pages that are due again.
    #[serde(default)]
    pub calendar: u64,
    /// The archive: value files.
    pub pages: u64,
    /// The archive's index: keys and addresses.
    pub index: u64,
    /// The catalog.
    pub catalog: u64,
}

/// Answers of the layers of a store since the process began, and what its merges moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// Questions that the LRU answered.
    pub lru_hits: u64,
    /// Keys that the Bloom filter knew to be new.
    pub bloom_negatives: u64,
    /// Questions that were left to the DRUM.
    pub bloom_positives: u64,
    /// Questions left to the DRUM whose key it found to be new.
    pub bloom_false_positives: u64,
    /// Memory of the Bloom filter.
    pub bloom_bytes: u64,
    /// Keys in the DRUM's repository.
    pub keys: u64,
    /// Operations that wait for a merge or for their dispatch.
    pub pending: u64,
    /// Merges.
    pub merges: u64,
    /// Bytes that merges and dispatch read.
    pub merge_bytes_read: u64,
    /// Bytes that were written for merges and by them.
    pub merge_bytes_written: u64,
}

impl StoreBytes {
    /// All parts, with their names.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let StoreBytes { stores, frontier, calendar, pages, index, catalog } = self;
        let others = [("frontier", frontier), ("calendar", calendar), ("pages", pages), ("index", index)];
        let others = others.into_iter().chain([("catalog", catalog)]).map(|(name, bytes)| (name, *bytes));
        stores.iter().map(|(store, bytes)| (store.label(), *bytes)).chain(others)
    }

    /// Makes of each part what `make` makes of it and the same part of `other`.
    pub fn merge(&mut self, other: &StoreBytes, make: fn(u64, u64) -> u64) {
        let StoreBytes { stores, frontier, calendar, pages, index, catalog } = other;
        for (store, bytes) in stores {
            let own = self.stores.entry(*store).or_default();
            *own = make(*own, *bytes);
        }
        let parts = [
            (&mut self.frontier, frontier),
            (&mut self.calendar, calendar),
            (&mut self.pages, pages),
            (&mut self.index, index),
            (&mut self.catalog, catalog),
        ];
        parts.into_iter().for_each(|(own, bytes)| *own = make(*own, *bytes));
    }
}

/// The layers of the stores.
pub type StoreLayers = BTreeMap<StoreName, Layers>;

/// Figures that `status` shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of this format.
    pub version: u16,
    /// State of the crawl.
    pub state: State,
    /// Reason for which the last session ended, if it has.
    pub finish: Option<Finish>,
    /// Time at which the crawl was created.
    #[serde(rename = "started_ms")]
    pub started: Time,
    /// Time at which these figures were taken.
    #[serde(rename = "updated_ms")]
    pub updated: Time,
    /// Counts of what has happened.
    pub statistics: Statistics,
    /// Gauges at the time of the snapshot.
    pub gauges: Gauges,
    /// Bytes on disk.
    pub stores: StoreBytes,
    /// Answers of each layer of the stores.
    #[serde(default)]
    pub layers: StoreLayers,
}

/// The part of a snapshot that every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u16,
}

impl Snapshot {
    /// The version that this program writes.
    pub const VERSION: u16 = 1;

    /// Replaces the snapshot of the crawl in `dir`.
    pub fn write(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(self).expect("counters always have a JSON form");
        json.push(b'\n');
        disk.replace(&dir.join(layout::STATUS), &json)
    }

    /// The snapshot of the crawl in `dir`; none before the first checkpoint.
    pub fn read(disk: &Disk, dir: &Path) -> Result<Option<Snapshot>> {
        let path = dir.join(layout::STATUS);
        let Some(file) = disk.open_if_there(&path)? else { return Ok(None) };
        let len = file.len()?;
        if len > BYTES_MAX {
            return Err(Error::damaged(&path, BYTES_MAX, "a file of at most 1 MiB", format!("{len} bytes")));
        }
        let mut json = vec![0; usize::try_from(len).expect("at most BYTES_MAX")];
        file.read_exact_at(&mut json, 0)?;
        let damaged = |e: serde_json::Error| {
            let lines = json.split_inclusive(|&byte| byte == b'\n').take(e.line().saturating_sub(1));
            let before: usize = lines.map(<[u8]>::len).sum();
            Error::damaged(&path, (before + e.column()) as u64, "the figures of a checkpoint", e.to_string())
        };
        let version = serde_json::from_slice::<Versioned>(&json).map_err(damaged)?.version;
        if version > Snapshot::VERSION {
            return Err(Error::Newer { path, found: version, known: Snapshot::VERSION });
        }
        serde_json::from_slice(&json).map(Some).map_err(damaged)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A snapshot of a crawl in progress.
    pub(crate) fn example() -> Snapshot {
        let mut statistics = Statistics { pages_stored: 1_234, hosts: 56, ..Default::default() };
        statistics.count_status(200);
        Snapshot {
            version: Snapshot::VERSION,
            state: State::Running,
            finish: None,
            started: Time::from_ms(1_700_000_000_000),
            updated: Time::from_ms(1_700_000_360_000),
            statistics,
            layers: StoreLayers::default(),
            gauges: Gauges { queued: 789, ..Default::default() },
            stores: StoreBytes { pages: 5 << 20, ..Default::default() },
        }
    }

    #[test]
    fn a_snapshot_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::real();
        assert_eq!(Snapshot::read(&disk, dir.path()).unwrap(), None);
        example().write(&disk, dir.path()).unwrap();
        assert_eq!(Snapshot::read(&disk, dir.path()).unwrap(), Some(example()));
    }

    #[test]
    fn a_snapshot_cut_at_any_byte_is_damage_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::real();
        example().write(&disk, dir.path()).unwrap();
        let path = dir.path().join(layout::STATUS);
        let whole = disk.read(&path).unwrap();
        for len in 0..whole.len() - 2 {
            std::fs::write(&path, &whole[..len]).unwrap();
            let error = Snapshot::read(&disk, dir.path()).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{len}: {error}");
        }
    }

    #[test]
    fn a_snapshot_of_a_later_version_is_refused_whatever_else_it_holds() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(layout::STATUS), r#"{"version": 9, "colour": "blue"}"#).unwrap();
        let error = Snapshot::read(&Disk::real(), dir.path()).unwrap_err();
        assert!(matches!(error, Error::Newer { found: 9, .. }), "{error}");
    }
}
