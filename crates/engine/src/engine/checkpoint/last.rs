//! The last checkpoint, by the word of the catalog and by the file that it has noted.

use std::path::Path;

use super::Checkpoint;
use super::commit::Commit;
use super::file::{self, CheckpointFile, Sections};
use crate::catalog::Catalog;
use crate::disk::{Disk, Error, Result};

/// The last checkpoint, as a crawl goes on from it.
#[derive(Debug)]
pub struct Last {
    /// By what the catalog knows it.
    pub commit: Commit,
    /// Its record; `None` before the first one.
    pub checkpoint: Option<Checkpoint>,
    /// The data that was in RAM.
    pub sections: Sections,
}

impl Last {
    /// Reads the file that `commit` notes. One that is not there, or another one, is damage.
    pub fn of(commit: Commit, disk: &Disk, dir: &Path) -> Result<Last> {
        let Commit { number, length, checksum, clean } = commit;
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
        Ok(Last { commit, checkpoint, sections: file.sections })
    }

    /// The last checkpoint of the crawl in `dir`, by its catalog.
    pub fn load(disk: &Disk, catalog: &dyn Catalog, dir: &Path) -> Result<Option<Last>> {
        Commit::load(catalog, dir)?.map(|commit| Last::of(commit, disk, dir)).transpose()
    }
}
