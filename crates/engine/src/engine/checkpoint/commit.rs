//! The catalog's entry of the last checkpoint: the number of its file, and by what the file is known.
//!
//! It has some twenty bytes however large the crawl is. sled moves messages of more than 128 KiB into files of their
//! own that nobody syncs; a record of every file of every store would become one of them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::catalog::{Batch, Catalog};
use crate::disk::{Error, Result};
use crate::record::layout;

/// Key of the commit in the catalog.
const KEY: &str = "commit";

/// The commit of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The checkpoint's number; 0 for the one with which a crawl begins.
    pub number: u64,
    /// The length of its file.
    pub length: u64,
    /// crc32 of the whole file.
    pub checksum: u32,
    /// True if the crawl stopped with it in good order, and nobody has gone on from it since.
    pub clean: bool,
}

impl Commit {
    /// Puts the commit into `batch`, in the place of what was noted before.
    pub(in crate::engine) fn put(self, batch: &mut Batch) {
        batch.put(KEY, postcard::to_stdvec(&self).expect("a commit consists of plain data"));
    }

    /// Makes the commit durable in `catalog`: from then on the checkpoint exists.
    pub(in crate::engine) fn note(self, catalog: &dyn Catalog) -> Result<()> {
        let mut batch = Batch::new();
        self.put(&mut batch);
        catalog.commit(&batch)
    }

    /// Reads the commit in `catalog`, if there is one.
    pub fn load(catalog: &dyn Catalog, dir: &Path) -> Result<Option<Commit>> {
        let path = dir.join(layout::CATALOG);
        let damaged = |e: postcard::Error| Error::damaged(&path, 0, "a readable commit", e.to_string());
        catalog.get(KEY)?.map(|bytes| postcard::from_bytes(&bytes).map_err(damaged)).transpose()
    }

    /// Notes that a process goes on from this one, the last: if it is killed before it makes one of its own, the next
    /// process must not take the crawl for one that has rested since.
    pub fn go_on_from(self, catalog: &dyn Catalog) -> Result<()> {
        match self.clean {
            true => Commit { clean: false, ..self }.note(catalog),
            false => Ok(()),
        }
    }
}
