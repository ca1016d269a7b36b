//! A catalog without a disk, for simulations.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Batch, Catalog};
use crate::disk::Result;

/// A catalog in memory; a commit is atomic because the map is locked while it is applied.
#[derive(Debug, Default)]
pub struct MemoryCatalog(Mutex<BTreeMap<String, Vec<u8>>>);

impl Catalog for MemoryCatalog {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let from_prefix = map.range(prefix.to_owned()..);
        Ok(from_prefix.take_while(|(key, _)| key.starts_with(prefix)).map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in batch.changes() {
            match value {
                Some(value) => drop(map.insert(key.clone(), value.clone())),
                None => drop(map.remove(key)),
            }
        }
        Ok(())
    }
}
