//! What the catalog keeps of the last checkpoint: the number of its file, and by what the file is known.
//!
//! It has some twenty bytes however large the crawl is. sled moves messages of more than 128 KiB into files of their
//! own that nobody syncs; a record of every file of every store would become one of them.

use serde::{Deserialize, Serialize};

use crate::catalog::Batch;

/// Key of the commit in the catalog.
pub(super) const KEY: &str = "commit";
/// Key of the whole record, where the directory's format is 1.
pub(super) const OLD_KEY: &str = "checkpoint";

/// The commit of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The checkpoint's number; 0 for the one with which a crawl begins.
    pub number: u64,
    /// The length of its file.
    pub length: u64,
    /// crc32 of the whole file.
    pub checksum: u32,
    /// Whether the crawl stopped with it in good order, and nobody has gone on from it since.
    pub clean: bool,
}

impl Commit {
    /// Puts the commit into `batch`, in the place of what was noted before.
    pub(in crate::engine) fn put(self, batch: &mut Batch) {
        batch.put(KEY, postcard::to_stdvec(&self).expect("a commit consists of plain data"));
        batch.remove(OLD_KEY);
    }
}
