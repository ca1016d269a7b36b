//! The catalog on sled.
//!
//! One tree, one `apply_batch` and one `flush` a checkpoint. At this size (some tens of kilobytes a batch) sled
//! commits in under a millisecond and reopens in a few; for bulk it would not do, and gets none.
//!
//! Three things are done for sled that it does not do by itself; `tests/crawls/power_cut.rs` shows that they are needed
//! and enough:
//! - on Linux its `flush` calls `sync_file_range`, which makes neither the length of the file durable nor empties the
//!   cache of the disk: a commit syncs the file itself before it returns;
//! - a process that is killed while sled writes its snapshot leaves `snap.*.generating`, which the next open takes for
//!   damage: such a file never counted, and is removed;
//! - a kill while sled makes its files leaves a head that it refuses: as long as nothing is in the log, nothing was
//!   committed, and the head is rebuilt.
//!
//! Three more, since sled 0.34 takes an error of the system for the state of its files:
//! - what it cannot read at an opening it takes for the end of its log, and writes over the rest. So every file is read
//!   whole first, and an error of that is told before sled has touched anything;
//! - what it panics on ([`super::panics`]) is damage, or an error of the system where its words name one;
//! - when it is dropped it syncs its log and panics if that fails. After a fault it is not dropped at all: memory and
//!   lock stay with the process, which is about to end; nothing that was committed depends on what sled would still do.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::panics::{quietly, system_error};
use super::{Batch, Catalog};
use crate::disk::{Disk, Error, Mode, Result};

/// Memory that sled may use for its page cache.
const CACHE_BYTES: u64 = 8 << 20;

/// The file that sled appends to, and the one with its settings.
const LOG: &str = "db";
const SETTINGS: &str = "conf";
/// The end of the name of a snapshot that is being written.
const UNFINISHED: &str = ".generating";

/// The crawl directory's own lock keeps other processes out. Sled's can still be held for a moment, by threads of a
/// handle that was dropped.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// Bytes that are read at once of a file that sled is about to open.
const READ_BYTES: usize = 64 << 10;

/// A catalog in a directory of its own.
#[derive(Debug)]
pub struct SledCatalog {
    /// There until the catalog is dropped.
    db: Option<sled::Db>,
    path: PathBuf,
    /// True once a write or a sync has failed: then nothing is written any more.
    has_failed: AtomicBool,
}

impl SledCatalog {
    /// Opens the catalog in the directory `path`, making it when it is not there.
    pub fn open(path: &Path) -> Result<Self> {
        let config = sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        remove_unfinished(path)?;
        read_whole(path)?;
        let began = Instant::now();
        let db = loop {
            match guarded(path, || Ok(config.open()))? {
                Err(error) if is_locked(&error) && began.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PAUSE),
                opened => break opened.map_err(|e| fault("open", path, e))?,
            }
        };
        let catalog = SledCatalog { db: Some(db), path: path.to_owned(), has_failed: AtomicBool::new(false) };
        // the files of a new catalog and their names, and what a process wrote that was killed before it could sync
        for name in [path.join(SETTINGS), path.join(LOG), path.to_owned(), path.join("..")] {
            catalog.noting_failure(|| sync(&name))?;
        }
        Ok(catalog)
    }

    fn db(&self) -> &sled::Db {
        self.db.as_ref().expect("it is there until the catalog is dropped")
    }

    fn fault(&self, action: &'static str, error: sled::Error) -> Error {
        fault(action, &self.path, error)
    }

    fn noting_failure(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        act().inspect_err(|_| self.has_failed.store(true, Ordering::Release))
    }
}

impl Drop for SledCatalog {
    fn drop(&mut self) {
        let db = self.db.take();
        if self.has_failed.load(Ordering::Acquire) {
            std::mem::forget(db);
        } else {
            // a sync that fails here was preceded by one that did not: what was committed is durable
            let _ = quietly(|| drop(db));
        }
    }
}

impl Catalog for SledCatalog {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let value = guarded(&self.path, || self.db().get(key).map_err(|e| self.fault("read", e)))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        guarded(&self.path, || {
            let mut found = Vec::new();
            for entry in self.db().scan_prefix(prefix) {
                let (key, value) = entry.map_err(|e| self.fault("read", e))?;
                found.push((String::from_utf8_lossy(&key).into_owned(), value.to_vec()));
            }
            Ok(found)
        })
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        if self.has_failed.load(Ordering::Acquire) {
            return Err(Error::poisoned("write", &self.path));
        }
        let mut changes = sled::Batch::default();
        for (key, value) in batch.changes() {
            match value {
                Some(value) => changes.insert(key.as_str(), value.as_slice()),
                None => changes.remove(key.as_str()),
            }
        }
        self.noting_failure(|| {
            guarded(&self.path, || {
                self.db().apply_batch(changes).map_err(|e| self.fault("write", e))?;
                self.db().flush().map_err(|e| self.fault("sync", e))?;
                sync(&self.path.join(LOG))
            })
        })
    }
}

/// Reads every file below `path`, so that an error of the system is told and changes nothing.
fn read_whole(path: &Path) -> Result<()> {
    let names = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names.map_err(|e| Error::io("list", path, e))?,
    };
    let mut buffer = vec![0; READ_BYTES];
    for entry in names {
        let entry = entry.map_err(|e| Error::io("list", path, e))?;
        if entry.file_type().map_err(|e| Error::io("read", &entry.path(), e))?.is_dir() {
            read_whole(&entry.path())?;
            continue;
        }
        let (file, mut at) = (Disk::real().open(entry.path(), Mode::Read)?, 0);
        while let count @ 1.. = file.read_at(&mut buffer, at)? {
            at += count as u64;
        }
    }
    Ok(())
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

/// Takes a panic of sled for damage, unless its words name an error of the system.
fn guarded<T>(path: &Path, act: impl FnOnce() -> Result<T>) -> Result<T> {
    quietly(act).unwrap_or_else(|words| match system_error(&words) {
        Some(error) => Err(Error::io("use", path, error)),
        None => Err(Error::damaged(path, 0, "a readable catalog", format!("what sled panics on: {words}"))),
    })
}

/// Returns whether sled found its lock taken, which it says only in words.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(io) if io.to_string().contains("could not acquire lock"))
}

/// Sled's word for what went wrong, as a fault of the disk. Its own copies of an error of the system have only its
/// words; where there is none at all, sled did not find what its files promise.
fn fault(action: &'static str, path: &Path, error: sled::Error) -> Error {
    let damaged = |found: String| Error::damaged(path, 0, "a readable catalog", found);
    let locked = is_locked(&error);
    match error {
        sled::Error::Io(source) if locked => Error::io(action, path, source),
        sled::Error::Io(source) => match system_error(&format!("{source:?}")) {
            Some(system) if system.kind() != io::ErrorKind::NotFound => Error::io(action, path, system),
            _ => damaged(source.to_string()),
        },
        sled::Error::Corruption { at, .. } => damaged(format!("corruption at {at:?}")),
        sled::Error::Unsupported(why) | sled::Error::ReportableBug(why) => damaged(why),
        other => Error::io(action, path, io::Error::other(other.to_string())),
    }
}
