//! Checkpoints: one consistent cut of everything, made durable beside the crawl.
//!
//! Between two events the engine writes down what is in RAM and notes every file's generation and length (the cut);
//! [`CheckpointJob::run`] then does the slow part on its own thread:
//!
//! 1. what only the checkpoint before the last one named is removed;
//! 2. the stores' files, their directories and the archive are synced, the address pages written;
//! 3. `checkpoint.gN` is written aside and synced, and gets its name, durably ([`crate::checkpoint`]): the checkpoint
//!    exists;
//! 4. the file of the checkpoint before is removed, durably;
//! 5. where checkpoints are shipped, this one is (`Shipping`);
//! 6. in a crawl of several shards the others hear of it (`Publish`).
//!
//! Only when that has come back does the engine hear of it, and only then are the files deleted that no checkpoint
//! names any more: by the rule of the [`Ledger`](crate::disk::Ledger), which `schedule` keeps.
//!
//! # Why every whole checkpoint file is a state to go on from
//!
//! A start goes on from the newest whole file ([`Last`]), and it may be one whose process was killed before the engine
//! heard of it. That is safe, because for each N of which `checkpoint.gN` is there whole:
//!
//! - **All that it names is durable.** It is written behind the syncs of step 2, so what a power cut leaves of it whole
//!   names nothing that the cut has taken. After a sync that failed, of step 2 or of the file itself, there is no file
//!   N: the job has ended. Its name may be in memory only; a start that goes on from it syncs the directory first.
//! - **Nothing that it names is deleted or cut.** What N names and N + 1 does not is deleted when N + 1 has been
//!   reported to the engine; that is behind step 4, which has removed N's file. A start that goes on from M removes the
//!   files of all other checkpoints durably before it deletes or cuts anything that M does not name.
//! - **Nobody was promised more.** Seeds that were added by command and rounds of fetching again are promised when the
//!   engine hears of their checkpoint, and then no file of an earlier one is there.
//!
//! What was stored behind N is in the archive, which is never cut behind a whole exchange, and is replayed.
//!
//! A crawl begins with checkpoint 0, which has the identity and names nothing. So a directory that has files of a crawl
//! and no checkpoint is damage, and no new crawl.

pub mod inventory;
mod schedule;
mod ship;

use std::path::{Path, PathBuf};

use super::Home;
use super::exchange::Publish;
use crate::checkpoint::write;
pub(super) use crate::checkpoint::{Checkpoint, Last, Replayed, Sections, checkpoint_path};
use crate::container::{SyncDone, SyncJob};
use crate::disk::{Removal, Result};
use crate::exchange::Head;
use crate::record::Snapshot;
use crate::shard::Shard;
pub(super) use schedule::Checkpoints;
pub use ship::ShipJob;

/// The slow part of a checkpoint.
pub struct CheckpointJob {
    pub(super) home: Home,
    /// Files that only checkpoints before the last durable one name.
    pub(super) superseded: Removal,
    pub(super) checkpoint: Checkpoint,
    pub(super) sections: Sections,
    pub(super) sync: Vec<PathBuf>,
    pub(super) sync_dirs: Vec<PathBuf>,
    pub(super) container: SyncJob,
    /// The message to the other shards.
    pub(super) publish: Option<Publish>,
    pub(super) snapshot: Snapshot,
}

impl std::fmt::Debug for CheckpointJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckpointJob").field("number", &self.checkpoint.number).finish_non_exhaustive()
    }
}

/// A checkpoint that is durable.
#[derive(Debug)]
pub struct CheckpointDone {
    /// Its number.
    pub number: u64,
    /// Bytes that were written only for it.
    pub bytes: u64,
    /// For the container.
    pub container: SyncDone,
}

/// The work that is left for a checkpoint that is durable in its directory.
#[derive(Debug)]
pub enum Ran {
    /// Nothing: it counts.
    Done(CheckpointDone),
    /// It is shipped.
    ToShip(Box<ShipJob>),
}

impl CheckpointJob {
    /// The crawl directory.
    pub fn dir(&self) -> &Path {
        &self.home.dir
    }

    /// The shard whose checkpoint it is.
    pub fn shard(&self) -> Shard {
        self.home.shard
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.checkpoint.number
    }

    /// The message to the other shards, with the number of this one, where there are others.
    pub fn head(&self) -> Option<(u32, &Head)> {
        self.publish.as_ref().map(Publish::head)
    }

    /// Does all of it. After an error the stores must not be used any more: reopening is the cure.
    pub fn run(self) -> Result<CheckpointDone> {
        match self.make_durable()? {
            Ran::Done(done) => Ok(done),
            Ran::ToShip(job) => job.run(),
        }
    }

    /// Makes the cut durable in its directory. What is to be shipped then does not count yet.
    pub fn make_durable(self) -> Result<Ran> {
        let number = self.checkpoint.number;
        let Home { disk, dir, identity, .. } = &self.home;
        self.superseded.run()?;
        for path in &self.sync {
            // a file that a merge has replaced since the cut is not named by it
            if let Some(file) = disk.open_if_there(path)? {
                file.sync()?;
            }
        }
        self.sync_dirs.iter().try_for_each(|dir| disk.sync_dir(dir))?;
        let container = self.container.run()?;
        let length = write(disk, dir, (number, &**identity), &self.sections, Some(&self.checkpoint))?;
        Removal::new(disk, vec![checkpoint_path(dir, number - 1)]).run()?;
        // replacing a file of the directory makes the removal durable too
        self.snapshot.write(disk, dir)?;
        let done = CheckpointDone { number, bytes: length + container.address_bytes(), container };
        if self.home.shipping.is_none() {
            self.publish.into_iter().for_each(Publish::run);
            return Ok(Ran::Done(done));
        }
        let CheckpointJob { home, checkpoint, publish, .. } = self;
        Ok(Ran::ToShip(Box::new(ShipJob { home, checkpoint: Box::new(checkpoint), publish, done })))
    }
}
