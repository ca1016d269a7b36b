//! The last checkpoint, by the word of the catalog and by the file that it has noted.

use std::path::Path;

use super::commit::{Commit, KEY, OLD_KEY};
use super::file::{self, CheckpointFile, Sections};
use super::{Checkpoint, earlier};
use crate::catalog::{Batch, Catalog};
use crate::disk::{Disk, Error, Result};

/// What a catalog says of the last checkpoint.
#[derive(Debug)]
pub struct Noted {
    /// By what its file is known; in format 1 the number and `clean` only.
    pub commit: Commit,
    /// The record of a catalog of format 1.
    old: Option<Box<Checkpoint>>,
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

impl Noted {
    /// What `catalog` says; `None` where it says nothing.
    pub fn load(catalog: &dyn Catalog, dir: &Path) -> Result<Option<Noted>> {
        let damaged =
            |what: &str, e: postcard::Error| Error::damaged(&dir.join("catalog"), 0, what.to_owned(), e.to_string());
        if let Some(bytes) = catalog.get(KEY)? {
            let commit = postcard::from_bytes(&bytes).map_err(|e| damaged("a readable commit", e))?;
            return Ok(Some(Noted { commit, old: None }));
        }
        let Some(bytes) = catalog.get(OLD_KEY)? else { return Ok(None) };
        let old: Checkpoint = earlier::read(&bytes).map_err(|e| damaged("a readable checkpoint record", e))?;
        let commit = Commit { number: old.number, length: 0, checksum: 0, clean: old.clean };
        Ok(Some(Noted { commit, old: Some(Box::new(old)) }))
    }

    /// Whether the catalog is one of format 1.
    pub fn is_old(&self) -> bool {
        self.old.is_some()
    }

    /// Reads the file that is noted. One that is not there, or another one, is damage.
    pub fn read(self, disk: &Disk, dir: &Path) -> Result<Last> {
        let Commit { number, length, checksum, clean } = self.commit;
        let path = file::checkpoint_path(dir, number);
        let file = CheckpointFile::read(disk, dir, number).map_err(|error| match error.is_not_found() {
            true => Error::damaged(&path, 0, "the file of the last checkpoint that the catalog knows", "no such file"),
            false => error,
        })?;
        if let Some(old) = self.old {
            return Ok(Last { commit: self.commit, checkpoint: Some(*old), sections: file.sections });
        }
        if (file.length, file.checksum) != (length, checksum) {
            let noted = format!("{length} bytes with the checksum {checksum:08x}, which the catalog has noted");
            let found = format!("{} bytes with the checksum {:08x}", file.length, file.checksum);
            return Err(Error::damaged(&path, 0, noted, found));
        }
        let checkpoint = file.record?.map(|record| Checkpoint { clean, ..record });
        Ok(Last { commit: self.commit, checkpoint, sections: file.sections })
    }
}

/// The last checkpoint of the crawl in `dir`, by its catalog.
pub fn load(disk: &Disk, catalog: &dyn Catalog, dir: &Path) -> Result<Option<Last>> {
    Noted::load(catalog, dir)?.map(|noted| noted.read(disk, dir)).transpose()
}

/// Notes that a process goes on from `commit`, the last one: if it is killed before it makes one of its own, the next
/// process must not take the crawl for one that has rested since.
pub fn go_on_from(catalog: &dyn Catalog, commit: Commit) -> Result<()> {
    if !commit.clean {
        return Ok(());
    }
    let mut batch = Batch::new();
    Commit { clean: false, ..commit }.put(&mut batch);
    catalog.commit(&batch)
}
