//! A catalog in one file of the simulated disk, replaced as a whole by each commit: as atomic and durable as the disk
//! lets it be, so that its faults are those of everything else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::catalog::{Batch, Catalog};
use crate::disk::{Disk, Error, Result};

/// The catalog.
#[derive(Debug)]
pub(super) struct FileCatalog {
    disk: Disk,
    path: PathBuf,
    entries: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl FileCatalog {
    /// Opens the catalog in the file at `path`; makes an empty one where there is none.
    pub(super) fn open(disk: Disk, path: PathBuf) -> Result<Self> {
        let entries = match disk.open_if_there(&path)? {
            None => BTreeMap::new(),
            Some(file) => {
                file.sync()?;
                disk.sync_dir(path.parent().expect("the file lies in a directory"))?;
                postcard::from_bytes(&disk.read(&path)?)
                    .map_err(|e| Error::damaged(&path, 0, "a catalog", e.to_string()))?
            }
        };
        Ok(FileCatalog { disk, path, entries: Mutex::new(entries) })
    }
}

impl Catalog for FileCatalog {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.entries.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let from_prefix = entries.range(prefix.to_owned()..);
        Ok(from_prefix.take_while(|(key, _)| key.starts_with(prefix)).map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in batch.changes() {
            match value {
                Some(value) => drop(entries.insert(key.clone(), value.clone())),
                None => drop(entries.remove(key)),
            }
        }
        let bytes = postcard::to_stdvec(&*entries).expect("a map of strings consists of plain data");
        self.disk.replace(&self.path, &bytes)
    }
}
