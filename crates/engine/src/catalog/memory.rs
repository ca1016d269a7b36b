//! A catalog without sled, for tests and simulations: a map in memory, and where it is given a file, there too.
//!
//! The file is replaced as a whole by each commit: as atomic and durable as its disk lets it be, so that the faults of
//! a simulated disk are those of its catalog.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Batch, Catalog};
use crate::disk::{Disk, Error, Result};

/// A catalog in memory; a commit is atomic because the map is locked while it is applied.
#[derive(Debug, Default)]
pub struct MemoryCatalog {
    entries: Mutex<BTreeMap<String, Vec<u8>>>,
    file: Option<(Disk, PathBuf)>,
}

impl MemoryCatalog {
    /// Opens the catalog in the file at `path`; an empty one where there is none.
    pub fn open(disk: Disk, path: PathBuf) -> Result<Self> {
        let entries = match disk.open_if_there(&path)? {
            None => BTreeMap::new(),
            Some(file) => {
                file.sync()?;
                disk.sync_dir(path.parent().expect("the file lies in a directory"))?;
                postcard::from_bytes(&disk.read(&path)?)
                    .map_err(|e| Error::damaged(&path, 0, "a catalog", e.to_string()))?
            }
        };
        Ok(MemoryCatalog { entries: Mutex::new(entries), file: Some((disk, path)) })
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Catalog for MemoryCatalog {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.entries().get(key).cloned())
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let entries = self.entries();
        let from_prefix = entries.range(prefix.to_owned()..);
        Ok(from_prefix.take_while(|(key, _)| key.starts_with(prefix)).map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        let mut entries = self.entries();
        for (key, value) in batch.changes() {
            match value {
                Some(value) => drop(entries.insert(key.clone(), value.clone())),
                None => drop(entries.remove(key)),
            }
        }
        let Some((disk, path)) = &self.file else { return Ok(()) };
        let bytes = postcard::to_stdvec(&*entries).expect("a map of strings consists of plain data");
        disk.replace(path, &bytes)
    }
}
