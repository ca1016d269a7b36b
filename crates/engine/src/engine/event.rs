//! Events that reach the engine: answers to its jobs, and what an operator wants.

use super::checkpoint::CheckpointDone;
use super::control::Reconfiguration;
use super::course::StopBy;
use super::stores::StoreMerged;
use crate::calendar::SlotDone;
use crate::container::CompactionDone;
use crate::contract::{Fault, Reply};
use crate::exchange::LinksRead;
use crate::frontier::PartitionDone;
use crate::web::seeds::Seed;

/// An event that reaches the engine.
#[derive(Debug)]
pub enum Event {
    /// A reply to a job of a request.
    Reply(Reply),
    /// A thread beside the engine met a fault: the crawl stops.
    Fault(Fault),
    /// A bucket was merged.
    Merged(StoreMerged),
    /// A take or a merge of the frontier is done.
    Partition(PartitionDone),
    /// A step of a compaction of the archive is done.
    Compacted(Box<CompactionDone>),
    /// A checkpoint is durable.
    Checkpointed(CheckpointDone),
    /// The hold log is durable.
    HoldsSynced,
    /// Stop gracefully.
    Stop(StopBy),
    /// Make a checkpoint now.
    Checkpoint,
    /// Make no new requests.
    Pause,
    /// Continue after a pause.
    Resume,
    /// Seeds to be added; no request is made before they are in a durable checkpoint.
    Seeds(Vec<Seed>),
    /// Decide by other settings from now on.
    Reconfigure(Box<Reconfiguration>),
    /// The list of what is forgotten has changed on disk.
    Forgotten,
    /// Something has changed that all shards of the crawl hear of.
    HeadChanged,
    /// Links of another shard were read.
    LinksRead(Box<LinksRead>),
    /// A slot of the calendar was read.
    CalendarRead(Box<SlotDone>),
    /// Another engine has left a slot for a request.
    SlotFree,
}

impl Event {
    /// Returns whether a checkpoint after it may say something else than one before it.
    pub(super) fn changes_state(&self) -> bool {
        !matches!(
            self,
            Event::Checkpointed(_)
                | Event::HoldsSynced
                | Event::Fault(_)
                | Event::Stop(_)
                | Event::Checkpoint
                | Event::Pause
                | Event::Resume
                | Event::HeadChanged
                | Event::SlotFree
        )
    }
}
