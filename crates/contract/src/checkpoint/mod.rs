//! The files of checkpoints: whose crawl it is, what was in RAM at a cut, and the files that it names.
//!
//! `file` has the bytes, [`Last`] is the checkpoint that a start goes on from, [`begin`] makes the one with which a
//! crawl begins. Readers beside a crawl ask for the newest one ([`newest`], [`newest_record`]) and take no lock. When a
//! checkpoint is made, and why each whole file is a state to go on from, the engine says.

pub mod begin;
mod file;
mod identity;
mod last;
mod rechecked;
mod round;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use file::{CheckpointFile, Replayed, Sections, checkpoint_path, newest, newest_record, number_of, write};
pub use identity::{Identity, Shape, Sharding};
pub use last::Last;
pub use rechecked::{Doubted, Rechecked};
pub use round::Round;

use crate::calendar::WheelState;
use crate::clock::Time;
use crate::container::ContainerState;
use crate::disk::{Disk, Removal, Result, SavedState};
use crate::drum::DrumState;
use crate::frontier::FrontierState;
use crate::record::layout::StoreName;
use crate::record::{Finish, Statistics};

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
    /// The answers that are not believed.
    pub rechecked: Rechecked,
}

impl Checkpoint {
    /// The state of a store, and its arrays by `sections`; `None` where the crawl has none of that name.
    pub fn store<'a>(&'a self, name: StoreName, sections: &'a Sections) -> Option<SavedState<'a, DrumState>> {
        self.stores.get(&name).map(|state| SavedState::new(state, sections.store(name)))
    }
}

/// Makes `checkpoint` with `sections` the last one. It must have a number above those of all files, and everything that
/// it names must be durable. Anyone who opens the crawl removes the file of the one before.
pub fn renew(disk: &Disk, dir: &Path, identity: &Identity, checkpoint: &Checkpoint, sections: &Sections) -> Result<()> {
    file::write(disk, dir, (checkpoint.number, identity), sections, Some(checkpoint)).map(drop)
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

    pub(super) fn identity() -> Identity {
        Identity::new(
            Time::from_ms(5),
            77,
            Shape { buckets: 4, partitions: 16, strip_query_params: &["utm".to_owned()] },
        )
    }

    pub(super) fn checkpoint(number: u64) -> Checkpoint {
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
}
