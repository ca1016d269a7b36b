//! What the catalog keeps of the last checkpoint: the number of its file, and by what the file is known.
//!
//! It has some twenty bytes however large the crawl is. sled moves messages of more than 128 KiB into files of their
//! own that nobody syncs; a record of every file of every store would become one of them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Checkpoint;
use super::file::{self, CheckpointFile, Sections};
use crate::catalog::{Batch, Catalog};
use crate::disk::{Disk, Error, Result};
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
    /// Whether the crawl stopped with it in good order, and nobody has gone on from it since.
    pub clean: bool,
}

impl Commit {
    /// Puts the commit into `batch`, in the place of what was noted before.
    pub(in crate::engine) fn put(self, batch: &mut Batch) {
        batch.put(KEY, postcard::to_stdvec(&self).expect("a commit consists of plain data"));
    }

    /// What `catalog` says; `None` where it says nothing.
    pub fn load(catalog: &dyn Catalog, dir: &Path) -> Result<Option<Commit>> {
        let path = dir.join(layout::CATALOG);
        let damaged = |e: postcard::Error| Error::damaged(&path, 0, "a readable commit", e.to_string());
        catalog.get(KEY)?.map(|bytes| postcard::from_bytes(&bytes).map_err(damaged)).transpose()
    }

    /// Reads the file that is noted. One that is not there, or another one, is damage.
    pub fn read(self, disk: &Disk, dir: &Path) -> Result<Last> {
        let Commit { number, length, checksum, clean } = self;
        let path = file::checkpoint_path(dir, number);
        let file = CheckpointFile::read(disk, dir, number).map_err(|error| match error.is_not_found() {
            true => Error::damaged(&path, 0, "the file of the last checkpoint that the catalog knows", "no such file"),
            false => error,
        })?;
        if (file.length, file.checksum) != (length, checksum) {
            let noted = format!("{length} bytes with the checksum {checksum:08x}, which the catalog has noted");
            let found = format!("{} bytes with the checksum {:08x}", file.length, file.checksum);
            return Err(Error::damaged(&path, 0, noted, found));
        }
        let checkpoint = file.record?.map(|record| Checkpoint { clean, ..record });
        Ok(Last { commit: self, checkpoint, sections: file.sections })
    }

    /// Notes that a process goes on from this one, the last: if it is killed before it makes one of its own, the next
    /// process must not take the crawl for one that has rested since.
    pub fn go_on_from(self, catalog: &dyn Catalog) -> Result<()> {
        if !self.clean {
            return Ok(());
        }
        let mut batch = Batch::new();
        Commit { clean: false, ..self }.put(&mut batch);
        catalog.commit(&batch)
    }
}

/// The last checkpoint, as a crawl goes on from it.
#[derive(Debug)]
pub struct Last {
    /// By what the catalog knows it.
    pub commit: Commit,
    /// What it names; `None` before the first one.
    pub checkpoint: Option<Checkpoint>,
    /// What was in RAM.
    pub sections: Sections,
}

impl Last {
    /// The last checkpoint of the crawl in `dir`, by its catalog.
    pub fn load(disk: &Disk, catalog: &dyn Catalog, dir: &Path) -> Result<Option<Last>> {
        Commit::load(catalog, dir)?.map(|commit| commit.read(disk, dir)).transpose()
    }
}
