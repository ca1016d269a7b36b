//! The catalog on sled.
//!
//! One tree, one `apply_batch` and one `flush` a checkpoint. At this size (some tens of kilobytes a batch) sled
//! commits in under a millisecond and reopens in a few; for bulk it would not do, and gets none.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Batch, Catalog};
use crate::disk::{Error, Result};

/// Memory that sled may use for its page cache.
const CACHE_BYTES: u64 = 8 << 20;

/// The crawl directory's own lock keeps other processes out. Sled's can still be held for a moment, by threads of a
/// handle that was dropped.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// A catalog in a directory of its own.
#[derive(Debug)]
pub struct SledCatalog {
    db: sled::Db,
    path: PathBuf,
}

impl SledCatalog {
    /// Opens the catalog in the directory `path`, making it when it is not there.
    pub fn open(path: &Path) -> Result<Self> {
        let config = sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let began = Instant::now();
        let db = loop {
            match config.open() {
                Err(error) if is_locked(&error) && began.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PAUSE),
                opened => break opened.map_err(|e| fault("open", path, e))?,
            }
        };
        Ok(SledCatalog { db, path: path.to_owned() })
    }

    fn fault(&self, action: &'static str, error: sled::Error) -> Error {
        fault(action, &self.path, error)
    }
}

impl Catalog for SledCatalog {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let value = self.db.get(key).map_err(|e| self.fault("read", e))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let mut found = Vec::new();
        for entry in self.db.scan_prefix(prefix) {
            let (key, value) = entry.map_err(|e| self.fault("read", e))?;
            found.push((String::from_utf8_lossy(&key).into_owned(), value.to_vec()));
        }
        Ok(found)
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        let mut changes = sled::Batch::default();
        for (key, value) in batch.changes() {
            match value {
                Some(value) => changes.insert(key.as_str(), value.as_slice()),
                None => changes.remove(key.as_str()),
            }
        }
        self.db.apply_batch(changes).map_err(|e| self.fault("write", e))?;
        self.db.flush().map_err(|e| self.fault("sync", e))?;
        Ok(())
    }
}

/// Whether sled found its lock taken, which it says only in words.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(io) if io.to_string().contains("could not acquire lock"))
}

/// Sled's word for what went wrong, as a fault of the disk.
fn fault(action: &'static str, path: &Path, error: sled::Error) -> Error {
    match error {
        sled::Error::Io(source) => Error::io(action, path, source),
        sled::Error::Corruption { at, .. } => {
            Error::damaged(path, 0, "a readable catalog", format!("corruption at {at:?}"))
        }
        other => Error::io(action, path, io::Error::other(other.to_string())),
    }
}
