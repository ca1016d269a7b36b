//! The catalog on sled.
//!
//! One tree, one `apply_batch` and one `flush` a checkpoint. At this size (some tens of kilobytes a batch) sled
//! commits in under a millisecond and reopens in a few; for bulk it would not do, and gets none.
//!
//! Three things are done for sled that it does not do by itself; `tests/power_cut.rs` shows that they are needed and
//! enough:
//! - on Linux its `flush` calls `sync_file_range`, which makes neither the length of the file durable nor empties the cache
//!   of the disk: a commit syncs the file itself before it returns;
//! - a process that is killed while sled writes its snapshot leaves `snap.*.generating`, which the next open takes for
//!   damage: such a file never counted, and is removed;
//! - a kill while sled makes its files leaves a head that it refuses: as long as nothing is in the log, nothing was
//!   committed, and the head is made again.
//!
//! sled panics on some kinds of damage; here that is an error like any other.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Batch, Catalog};
use crate::disk::{Error, Result};

/// Memory that sled may use for its page cache.
const CACHE_BYTES: u64 = 8 << 20;

/// The file that sled appends to, and the one with its settings.
const LOG: &str = "db";
const SETTINGS: &str = "conf";
/// How the name of a snapshot ends that is being written.
const UNFINISHED: &str = ".generating";

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
        remove_unfinished(path)?;
        let began = Instant::now();
        let db = loop {
            match guarded(path, || Ok(config.open()))? {
                Err(error) if is_locked(&error) && began.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PAUSE),
                opened => break opened.map_err(|e| fault("open", path, e))?,
            }
        };
        // the files of a new catalog and their names, and what a process wrote that was killed before it could sync
        for name in [path.join(SETTINGS), path.join(LOG), path.to_owned(), path.join("..")] {
            sync(&name)?;
        }
        Ok(SledCatalog { db, path: path.to_owned() })
    }

    fn fault(&self, action: &'static str, error: sled::Error) -> Error {
        fault(action, &self.path, error)
    }
}

impl Catalog for SledCatalog {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let value = guarded(&self.path, || self.db.get(key).map_err(|e| self.fault("read", e)))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        guarded(&self.path, || {
            let mut found = Vec::new();
            for entry in self.db.scan_prefix(prefix) {
                let (key, value) = entry.map_err(|e| self.fault("read", e))?;
                found.push((String::from_utf8_lossy(&key).into_owned(), value.to_vec()));
            }
            Ok(found)
        })
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        let mut changes = sled::Batch::default();
        for (key, value) in batch.changes() {
            match value {
                Some(value) => changes.insert(key.as_str(), value.as_slice()),
                None => changes.remove(key.as_str()),
            }
        }
        guarded(&self.path, || {
            self.db.apply_batch(changes).map_err(|e| self.fault("write", e))?;
            self.db.flush().map_err(|e| self.fault("sync", e))?;
            sync(&self.path.join(LOG))
        })
    }
}

/// Removes what a process left that was killed while sled made its files or its snapshot.
fn remove_unfinished(path: &Path) -> Result<()> {
    let names = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names.map_err(|e| Error::io("list", path, e))?,
    };
    let remove = |path: &Path| fs::remove_file(path).map_err(|e| Error::io("remove", path, e));
    let mut files = 0;
    for entry in names {
        let entry = entry.map_err(|e| Error::io("list", path, e))?;
        if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
            remove(&entry.path())?;
        } else {
            files += u32::from(entry.file_type().map_err(|e| Error::io("read", &entry.path(), e))?.is_file());
        }
    }
    let (log, settings) = (path.join(LOG), path.join(SETTINGS));
    let nothing_in_it = fs::metadata(&log).map_or(true, |log| log.len() == 0);
    // with a snapshot beside them, the log was longer once
    if nothing_in_it && settings.exists() && files <= 2 { remove(&settings) } else { Ok(()) }
}

/// Makes the content of a file, or the names in a directory, durable; never asked again after an error.
fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| Error::io("sync", path, e))
}

/// What sled panics on is damage.
fn guarded<T>(path: &Path, act: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|_| Err(Error::damaged(path, 0, "a readable catalog", "what sled panics on")))
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
        sled::Error::Unsupported(why) | sled::Error::ReportableBug(why) => {
            Error::damaged(path, 0, "a readable catalog", why)
        }
        other => Error::io(action, path, io::Error::other(other.to_string())),
    }
}
