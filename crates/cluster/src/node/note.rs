//! The note in the directory of a shard about its store: which of its checkpoints counts there.
//!
//! A checkpoint is noted as *offered* before anything could make it count, and as *committed* once it does. So a
//! process that is killed between the two knows its own work again: the head of the shard is one of them, or another
//! owner has gone on with the shard, and this directory is stale.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Error, Result};
use crate::record::layout;
use crate::ship::Claim;

/// A checkpoint as the store knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Era of the crawl's registry: one more after each that was lost.
    pub era: u32,
    /// Epoch of the claim under which it was shipped.
    pub epoch: u64,
    /// The checkpoint's number.
    pub number: u64,
}

impl Stamp {
    /// Makes the stamp of checkpoint `number` under `claim`.
    pub fn new(claim: Claim, number: u64) -> Stamp {
        Stamp { era: claim.era, epoch: claim.epoch, number }
    }

    /// The claim under which it was shipped.
    pub(crate) fn claim(&self) -> Claim {
        Claim { era: self.era, epoch: self.epoch }
    }
}

/// The content of the note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The last one that counts for certain.
    pub committed: Option<Stamp>,
    /// One that may count since.
    pub offered: Option<Stamp>,
}

impl Note {
    /// Reads the note in `dir`. It is empty where nothing was ever shipped from there.
    pub fn read(disk: &Disk, dir: &Path) -> Result<Note> {
        let path = path(dir);
        match disk.read(&path) {
            Err(error) if error.is_not_found() => Ok(Note::default()),
            json => serde_json::from_slice(&json?)
                .map_err(|error| Error::damaged(&path, 0, "what of this shard was shipped", error.to_string())),
        }
    }

    /// Puts it down, durably.
    pub fn write(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let json = serde_json::to_vec_pretty(self).expect("a note is plain data");
        disk.replace(&path(dir), &json)
    }

    /// Returns whether a shard whose head is `head` goes on from this directory.
    pub fn is_of(&self, head: Option<Stamp>) -> bool {
        self.committed == head || (head.is_some() && self.offered == head)
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(layout::SHIPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_knows_the_head_that_it_offered_and_no_other() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let mut note = Note::read(&disk, dir.path()).unwrap();
        assert!(note.is_of(None) && note == Note::default());
        let claim = Claim { era: 1, epoch: 7 };
        note.offered = Some(Stamp::new(claim, 3));
        note.write(&disk, dir.path()).unwrap();
        let read = Note::read(&disk, dir.path()).unwrap();
        assert_eq!(read, note);
        // killed before it counted, and behind that
        assert!(read.is_of(None) && read.is_of(Some(Stamp::new(claim, 3))));
        assert!(!read.is_of(Some(Stamp::new(Claim { era: 1, epoch: 9 }, 3))));
        assert!(!read.is_of(Some(Stamp::new(claim, 4))), "another process under the same claim");
        std::fs::write(dir.path().join(layout::SHIPPED), "{").unwrap();
        assert!(Note::read(&disk, dir.path()).is_err());
    }
}
