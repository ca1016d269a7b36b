//! The last checkpoint of a crawl: that of the newest whole file.

use std::path::Path;

use super::file::{CheckpointFile, Sections, numbers, write};
use super::identity::Identity;
use super::{Checkpoint, remove_others};
use crate::disk::{Disk, Error, Result};

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
        let mut damage = None;
        for number in numbers(disk, dir)?.into_iter().rev() {
            match CheckpointFile::read(disk, dir, number).and_then(|file| Last::of(number, file)) {
                Ok(last) => return Ok(Some(last)),
                Err(error @ Error::Damaged { .. }) => {
                    damage.get_or_insert(error);
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        damage.map_or(Ok(None), Err)
    }

    fn of(number: u64, file: CheckpointFile) -> Result<Last> {
        let CheckpointFile { identity, sections, record } = file;
        Ok(Last { number, identity, checkpoint: record?, sections })
    }

    /// Makes it the only one, durably. Nothing that it does not name may be deleted before.
    pub fn keep_alone(&self, disk: &Disk, dir: &Path) -> Result<()> {
        // the process that wrote it may have been killed before its name was durable
        disk.sync_dir(dir)?;
        remove_others(disk, dir, self.number)
    }

    /// Notes that a process goes on from it: if that one is killed before it makes a checkpoint of its own, the next
    /// one must not take the crawl for one that has rested since.
    pub fn go_on(&mut self, disk: &Disk, dir: &Path) -> Result<()> {
        let Some(checkpoint) = self.checkpoint.as_mut().filter(|checkpoint| checkpoint.clean) else { return Ok(()) };
        checkpoint.clean = false;
        write(disk, dir, (self.number, &self.identity), &self.sections, Some(checkpoint)).map(drop)
    }
}
