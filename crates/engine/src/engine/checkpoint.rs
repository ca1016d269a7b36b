//! Checkpoints: one consistent cut of everything, made durable beside the crawl.
//!
//! Between two events the engine writes down what is in RAM and notes every file's generation and length (the cut);
//! [`CheckpointJob::run`] then does the slow part on its own thread:
//!
//! 1. what only the checkpoint before the last one named is removed;
//! 2. the stores' files, their directories and the archive are synced, the address pages written;
//! 3. `checkpoint.gN` is written and synced, and its name ([`mod@file`]);
//! 4. one batch of the catalog notes number, length and checksum of that file ([`commit`]): the checkpoint exists;
//! 5. the file of the checkpoint before is removed, durably;
//! 6. where checkpoints are shipped, this one is (`Shipping`);
//! 7. in a crawl of several shards the others hear of it (`Publish`).
//!
//! Only when that has come back does the engine hear of it, and only then are the files deleted that no checkpoint
//! names any more: by the rule of the [`Ledger`](crate::disk::Ledger), which `schedule` keeps.
//!
//! # Why every whole checkpoint file is a state to go on from
//!
//! The catalog's word is the one that a crawl goes on from. Where the catalog is lost, the newest whole file counts
//! ([`super::mend`]), and it may be one that the catalog never knew. That is safe, because for each N of which
//! `checkpoint.gN` lies there whole:
//!
//! - **All that it names is durable.** It is written behind the syncs of step 2, so what a power cut leaves of it whole
//!   names nothing that the cut has taken. After a sync of step 2 that failed there is no file N: the job has ended.
//!   After a failed sync of the file itself it may be in memory only; anyone who goes on from a file without the
//!   catalog writes it again first.
//! - **Nothing that it names is deleted or cut.** What N names and N + 1 does not is deleted when N + 1 has been told
//!   to the engine; that is behind step 5, which has removed N's file. A start that goes on from M removes the files of
//!   all other checkpoints durably before it deletes or cuts anything that M does not name.
//! - **Nobody was told more.** Seeds that were added by command and rounds of fetching again are promised when the
//!   engine hears of their checkpoint, and then no file of an earlier one lies there.
//!
//! What was stored behind N is in the archive, which is never cut behind a whole exchange, and is replayed.
//!
//! A crawl begins with checkpoint 0, which names nothing and is durable before the catalog has the identity. So an
//! identity without a checkpoint is damage, and no crawl before its first checkpoint.

pub mod commit;
pub mod file;
pub mod inventory;
mod last;
mod schedule;
mod ship;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Home;
use super::exchange::Publish;
use super::identity::Identity;
use super::rechecked::Rechecked;
use super::round::Round;
use crate::calendar::WheelState;
use crate::catalog::Catalog;
use crate::clock::Time;
use crate::container::{ContainerState, SyncDone, SyncJob};
use crate::disk::{Disk, Removal, Result, SavedState};
use crate::drum::DrumState;
use crate::exchange::Head;
use crate::frontier::FrontierState;
use crate::record::layout::StoreName;
use crate::record::{Finish, Snapshot, Statistics};
pub use commit::Commit;
pub use file::{CheckpointFile, Replayed, Sections, checkpoint_path, newest, newest_record, number_of};
pub use last::Last;
pub(super) use schedule::Checkpoints;
pub use ship::ShipJob;

/// A cut: what a checkpoint names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// 1, 2, 3, ...
    pub number: u64,
    /// When the cut was made.
    pub time: Time,
    /// True if the crawl stopped with it in good order, and nobody has gone on from it since.
    pub clean: bool,
    /// The end of the crawl, where it has ended.
    pub finish: Option<Finish>,
    /// The stores that the crawl has.
    pub stores: BTreeMap<StoreName, DrumState>,
    /// Frontier.
    pub frontier: FrontierState,
    /// Container.
    pub container: ContainerState,
    /// Counters.
    pub statistics: Statistics,
    /// The last round of fetching again.
    pub round: Round,
    /// When pages are due again, where they are fetched again.
    pub calendar: Option<WheelState>,
    /// The moment up to which bad answers are not believed, and the settings by which names were resolved.
    pub rechecked: Rechecked,
}

impl Checkpoint {
    /// The state of a store, and its arrays by `sections`; `None` where the crawl has none of that name.
    pub fn store<'a>(&'a self, name: StoreName, sections: &'a Sections) -> Option<SavedState<'a, DrumState>> {
        self.stores.get(&name).map(|state| SavedState::new(state, sections.store(name)))
    }
}

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
        let Home { disk, dir, catalog, identity, .. } = &self.home;
        self.superseded.run()?;
        for path in &self.sync {
            // a file that a merge has replaced since the cut is not named by it
            if let Some(file) = disk.open_if_there(path)? {
                file.sync()?;
            }
        }
        self.sync_dirs.iter().try_for_each(|dir| disk.sync_dir(dir))?;
        let container = self.container.run()?;
        let commit = file::write(disk, dir, (number, &**identity), &self.sections, Some(&self.checkpoint))?;
        commit.note(&**catalog)?;
        Removal::new(disk, vec![checkpoint_path(dir, number - 1)]).run()?;
        // replacing a file of the directory makes the removal durable too
        self.snapshot.write(disk, dir)?;
        let done = CheckpointDone { number, bytes: commit.length + container.address_bytes(), container };
        if self.home.shipping.is_none() {
            self.publish.into_iter().for_each(Publish::run);
            return Ok(Ran::Done(done));
        }
        let CheckpointJob { home, checkpoint, publish, .. } = self;
        Ok(Ran::ToShip(Box::new(ShipJob { home, checkpoint: Box::new(checkpoint), publish, done })))
    }
}

/// Makes `checkpoint` with `sections` the last one: its file first, then the catalog's word. It must have a number that
/// no file has, and everything that it names must be durable. Anyone who opens the crawl removes the file of the one
/// before.
pub fn renew(
    disk: &Disk,
    dir: &Path,
    catalog: &dyn Catalog,
    identity: &Identity,
    checkpoint: &Checkpoint,
    sections: &Sections,
) -> Result<()> {
    file::write(disk, dir, (checkpoint.number, identity), sections, Some(checkpoint))?.note(catalog)
}

/// Removes, durably, the files of all checkpoints but `named`: ones that were not finished, or are superseded. Nothing
/// that `named` does not name may be deleted before.
pub fn remove_others(disk: &Disk, dir: &Path, named: u64) -> Result<()> {
    let others = file::numbers(disk, dir)?.into_iter().filter(|&number| number != named);
    let others = Removal::new(disk, others.map(|number| checkpoint_path(dir, number)).collect());
    if others.is_empty() {
        return Ok(());
    }
    others.run()?;
    disk.sync_dir(dir)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::catalog::{MemoryCatalog, SledCatalog};
    use crate::disk::Error;

    pub(in crate::engine) fn identity() -> Identity {
        Identity::new(Time::from_ms(5), 77, (4, 16, &["utm".to_owned()]))
    }

    pub(in crate::engine) fn checkpoint(number: u64) -> Checkpoint {
        let nothing = || postcard::from_bytes(&[0]).expect("a store without buckets");
        Checkpoint {
            number,
            time: Time::from_ms(number),
            clean: false,
            finish: None,
            stores: [StoreName::Seen, StoreName::Robots, StoreName::Dns].map(|name| (name, nothing())).into(),
            frontier: FrontierState { partitions: Vec::new(), ram_bytes: 0, ram_crc: 0 },
            container: ContainerState {
                value_number: 0,
                value_bytes: 0,
                key_bytes: 16,
                pages: 0,
                total_bytes: 0,
                moved_bytes: 0,
            },
            statistics: Statistics::default(),
            round: Round::default(),
            calendar: None,
            rechecked: Rechecked::default(),
        }
    }

    #[test]
    fn n02_however_long_the_record_is_the_catalog_gets_a_few_bytes_and_no_blob() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("catalog");
        for number in 1..30 {
            // closed and opened now and then: what sled writes at an opening counts too
            let catalog = SledCatalog::open(&path).unwrap();
            for number in [2 * number, 2 * number + 1] {
                let mut made = Checkpoint { clean: number % 2 == 1, ..checkpoint(number) };
                (0..number * 400).for_each(|status| made.statistics.count_status(status as u16));
                renew(&disk, dir.path(), &catalog, &identity(), &made, &Sections::default()).unwrap();
                let last = Last::load(&disk, &catalog, dir.path()).unwrap().unwrap();
                assert_eq!(last.checkpoint.unwrap().statistics, made.statistics);
                assert!(catalog.scan("").unwrap().iter().all(|(_, value)| value.len() < 100));
                last.commit.go_on_from(&catalog).unwrap();
                assert!(!Last::load(&disk, &catalog, dir.path()).unwrap().unwrap().commit.clean);
            }
            assert_eq!(std::fs::read_dir(path.join("blobs")).unwrap().count(), 0);
        }
    }

    #[test]
    fn n02_another_file_than_the_one_that_was_committed_is_damage() {
        let (dir, disk, catalog) = (tempfile::tempdir().unwrap(), Disk::real(), MemoryCatalog::default());
        renew(&disk, dir.path(), &catalog, &identity(), &checkpoint(3), &Sections::default()).unwrap();
        let other = Checkpoint { time: Time::from_ms(9), ..checkpoint(3) };
        file::write(&disk, dir.path(), (3, &identity()), &Sections::default(), Some(&other)).unwrap();
        let error = Last::load(&disk, &catalog, dir.path()).unwrap_err();
        assert!(matches!(&error, Error::Damaged { path, .. } if *path == checkpoint_path(dir.path(), 3)), "{error}");
    }
}
