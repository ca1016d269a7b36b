//! The last checkpoint of a crawl: that of the newest whole file.

use std::path::Path;

use super::file::{CheckpointFile, Sections, newest_whole, write};
use super::identity::Identity;
use super::{Checkpoint, remove_others};
use crate::disk::{Disk, Result};

/// The last checkpoint, as a crawl goes on from it.
#[derive(Debug)]
pub struct Last {
    /// Its number; 0 for the one with which a crawl begins.
    pub number: u64,
    /// Whose crawl it is.
    pub identity: Identity,
    /// Its record; `None` before the first one.
    pub checkpoint: Option<Checkpoint>,
    /// The data that was in RAM.
    pub sections: Sections,
}

impl Last {
    /// Finds the newest whole file in `dir`; `None` where there is no file. An error where none is whole, and where one
    /// is of another version or cannot be read now.
    pub fn find(disk: &Disk, dir: &Path) -> Result<Option<Last>> {
        newest_whole(disk, dir, |number| {
            let CheckpointFile { identity, sections, record } = CheckpointFile::read(disk, dir, number)?;
            Ok(Some(Last { number, identity, checkpoint: record?, sections }))
        })
    }

    /// Makes it the only one, durably. Nothing that it does not name may be deleted before.
    pub fn keep_alone(&self, disk: &Disk, dir: &Path) -> Result<()> {
        // the process that wrote it may have been killed before its name was durable
        disk.sync_dir(dir)?;
        remove_others(disk, dir, self.number)
    }

    /// Notes that a process goes on from it: if that one is killed before it makes its own checkpoint, the next
    /// one must not take the crawl for one that has rested since.
    pub fn go_on(&mut self, disk: &Disk, dir: &Path) -> Result<()> {
        let Some(checkpoint) = self.checkpoint.as_mut().filter(|checkpoint| checkpoint.clean) else { return Ok(()) };
        checkpoint.clean = false;
        write(disk, dir, (self.number, &self.identity), &self.sections, Some(checkpoint)).map(drop)
    }
}
