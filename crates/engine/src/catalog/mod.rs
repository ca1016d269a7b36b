//! The catalog: what is small and must change atomically.
//!
//! It holds the crawl's identity, its seeds with their status, and which checkpoint is the last one: number, length and
//! checksum of its file ([`Commit`](crate::engine::checkpoint::Commit)). Changes gather in a [`Batch`] and are written
//! by one [`Catalog::commit`] a checkpoint: that commit is the moment at which the checkpoint exists. Nothing comes
//! here that grows with the crawl's stores; the record of their files lies in the checkpoint's own file.
//!
//! [`SledCatalog`] is the one of real crawls. [`MemoryCatalog`] is the one of tests and simulations.

mod memory;
mod panics;
mod sled_catalog;

pub use memory::MemoryCatalog;
pub use sled_catalog::SledCatalog;

use crate::disk::Result;

/// Puts and removals that take effect together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    changes: Vec<(String, Option<Vec<u8>>)>,
}

impl Batch {
    /// No changes yet.
    pub fn new() -> Self {
        Batch::default()
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: impl Into<String>, value: Vec<u8>) {
        self.changes.push((key.into(), Some(value)));
    }

    /// Removes `key`.
    pub fn remove(&mut self, key: impl Into<String>) {
        self.changes.push((key.into(), None));
    }

    /// The changes in the order in which they were made; of two for one key the later holds.
    pub fn changes(&self) -> &[(String, Option<Vec<u8>>)] {
        &self.changes
    }
}

/// A small ordered map on disk that takes whole batches.
///
/// What an opened catalog says is durable, even if a process that was killed wrote it a moment ago and never heard that
/// it was: anyone who opens it deletes files by what it says.
pub trait Catalog: Send + Sync {
    /// The value of `key`.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;

    /// All entries whose key starts with `prefix`, in key order.
    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>>;

    /// Applies `batch` as a whole or not at all; once this has returned, it is durable.
    fn commit(&self, batch: &Batch) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves_like_a_catalog(catalog: &dyn Catalog) {
        assert_eq!(catalog.get("a").unwrap(), None);
        let mut batch = Batch::new();
        batch.put("seed/1", vec![1]);
        batch.put("seed/0", vec![0]);
        batch.put("other", vec![9]);
        batch.put("gone", vec![7]);
        batch.remove("gone");
        catalog.commit(&batch).unwrap();
        assert_eq!(catalog.get("other").unwrap(), Some(vec![9]));
        assert_eq!(catalog.get("gone").unwrap(), None);
        let seeds = catalog.scan("seed/").unwrap();
        assert_eq!(seeds, [("seed/0".to_owned(), vec![0]), ("seed/1".to_owned(), vec![1])]);
    }

    #[test]
    fn both_catalogs_take_batches_and_scan_in_order() {
        behaves_like_a_catalog(&MemoryCatalog::default());
        let dir = tempfile::tempdir().unwrap();
        behaves_like_a_catalog(&SledCatalog::open(&dir.path().join("catalog")).unwrap());
    }

    #[test]
    fn a_sled_catalog_is_read_again_after_it_was_closed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("catalog");
        for round in 0..5_u8 {
            let catalog = SledCatalog::open(&path).unwrap();
            let before = catalog.get("round").unwrap();
            assert_eq!(before, round.checked_sub(1).map(|last| vec![last]));
            let mut batch = Batch::new();
            batch.put("round", vec![round]);
            catalog.commit(&batch).unwrap();
        }
    }
}
