//! Deliberate mistakes, which show that the judges are awake: with each of them, some case breaks the contract.
//!
//! They are made where the engine has its hands, or by the disk, so that the code that is tried stays as it is.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use crate::calendar::{Past, Recrawl, SlotDone};
use crate::checkpoint;
use crate::clock::Time;
use crate::contract::Processed;
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{Disk, Result};
use crate::exchange::LinksRead;
use crate::frontier::QueuedUrl;

/// A mistake that a crawler could make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mistake {
    /// The file of the checkpoint before is deleted before the new checkpoint is durable.
    DeletesEarly,
    /// Checkpoints sync nothing.
    SyncsNothing,
    /// Rests of hosts are not written down before the next checkpoint.
    ForgetsRests,
    /// The links of every eighth page are lost.
    LosesLinks,
    /// Every eighth cookie that is set is lost.
    LosesCookies,
    /// Every eighth request is taken for done before it is.
    Hurries,
    /// Records read from every eighth piece of the calendar are lost.
    LosesRecords,
    /// A visit that is in the archive, and not in the checkpoint, gets no record in the calendar.
    ForgetsReplayed,
    /// A record of the calendar that is not its page's any more is taken for one that is.
    PassesStale,
    /// Findings of a rendering on a page are not read again after a death.
    ForgetsRenderings,
    /// Shards: links are visible to others before the checkpoint that they come with is durable.
    PublishesEarly,
    /// Shards: the position in the links of another one moves although some of them were not admitted.
    MovesOn,
    /// Shards: pairs of domains that another one has sent are not counted.
    LosesSupport,
    /// Shards: a link file is deleted when it was read, and not when that is committed.
    DeletesLinks,
    /// Shards: each says that it is idle and has read everything, whether that is so or not.
    EndsEarly,
    /// Shards: every engine takes turns at addresses for itself.
    SharesNoTurns,
    /// Shards: an engine does not hear that another one has left a slot to it.
    MissesSlots,
    /// Nodes: requests are made without a look at the lease.
    ActsWithoutLease,
    /// Nodes: the directory that is there is gone on from, although another node has committed since.
    GoesOnStale,
    /// Nodes: a head is put without a look at the claim and the head before.
    Unfenced,
}

impl Mistake {
    /// Makes the mistake that comes before a checkpoint is made durable.
    pub(super) fn before_checkpoint(self, disk: &SimulatedDisk, dir: &Path) -> Result<()> {
        match self {
            Mistake::DeletesEarly => delete_checkpoints(&disk.disk(), dir),
            Mistake::SyncsNothing => {
                disk.lie_about_syncs(true);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Ends the mistake when a checkpoint was made durable, or was not.
    pub(super) fn after_checkpoint(self, disk: &SimulatedDisk) {
        disk.lie_about_syncs(false);
    }

    /// Makes the mistake that comes when a page was processed.
    pub(super) fn on_page(self, page: &mut Processed, rng: &mut fastrand::Rng) {
        if self == Mistake::LosesLinks && rng.u8(0..8) == 0 {
            page.findings.links.clear();
        }
        if self == Mistake::LosesCookies && rng.u8(0..8) == 0 {
            page.response.headers.retain(|(name, _)| &**name != b"set-cookie");
        }
    }

    /// Makes the mistake that comes when a slot of the calendar was read.
    ///
    /// What a record should not be is seen here when it comes out: it was lost when it was put down if its visit was
    /// `replayed`, and passes if its page was `fetched` since.
    pub(super) fn on_slot(
        self,
        read: &mut SlotDone,
        fetched: &HashMap<String, Time>,
        replayed: &HashSet<(String, Time)>,
        rng: &mut fastrand::Rng,
    ) {
        match self {
            Mistake::LosesRecords if rng.u8(0..8) == 0 => read.lose_records(),
            Mistake::ForgetsReplayed => read.change_records(&|record| {
                change(record, |url, past| {
                    let is_replayed = replayed.contains(&(url.to_owned(), past.fetched));
                    // a moment that no visit has: it ends as stale
                    let due = past.due + Duration::from_secs(1);
                    is_replayed.then(|| Recrawl::Due(Past { due, ..past.clone() }))
                })
            }),
            Mistake::PassesStale => read.change_records(&|record| {
                change(record, |url, past| {
                    let is_stale = fetched.get(url).is_some_and(|&last| last > past.fetched);
                    // what is said to have changed is compared with the last visit alone
                    is_stale.then_some(Recrawl::Modified(past.due))
                })
            }),
            _ => {}
        }
    }

    /// Makes the mistake that comes when links of another shard were read from `file`.
    pub(super) fn on_links(
        self,
        read: &mut LinksRead,
        disk: &SimulatedDisk,
        file: &Path,
        rng: &mut fastrand::Rng,
    ) -> Result<()> {
        match self {
            Mistake::MovesOn if rng.u8(0..4) == 0 => read.links.clear(),
            Mistake::LosesSupport if rng.u8(0..4) == 0 => read.supports.clear(),
            Mistake::DeletesLinks => disk.disk().remove(file)?,
            _ => {}
        }
        Ok(())
    }

    /// Returns whether a request is taken for done too early.
    pub(super) fn hurries(self, rng: &mut fastrand::Rng) -> bool {
        self == Mistake::Hurries && rng.u8(0..8) == 0
    }
}

/// A record of the calendar whose reason is what `reason` says, if it says one.
fn change(record: &[u8], reason: impl Fn(&str, &Past) -> Option<Recrawl>) -> Option<Vec<u8>> {
    let (url, _) = QueuedUrl::decode(record)?;
    let reason = reason(&url.url, &Recrawl::past(url.recrawl.as_deref())?)?;
    let mut changed = Vec::new();
    QueuedUrl { recrawl: Some(reason.to_bytes()), ..url }.encode(&mut changed);
    Some(changed)
}

fn delete_checkpoints(disk: &Disk, dir: &Path) -> Result<()> {
    for name in disk.list(dir)? {
        if checkpoint::number_of(&name).is_some() {
            disk.remove(&dir.join(name))?;
        }
    }
    Ok(())
}
