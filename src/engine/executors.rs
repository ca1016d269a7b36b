//! What the engine needs done elsewhere. The crawl has threads for it; a simulator does it in line.

use super::checkpoint::CheckpointJob;
use super::job::{FetchJob, ResolveJob, StoreMerged};
use super::rests::RestSync;
use super::values::{Addresses, Robots};
use crate::disk::{Removal, Result};
use crate::drum::MergeJob;
use crate::fingerprint::Fingerprint;
use crate::frontier::{PartitionJob, QueuedUrl};

/// A bucket of one of the three stores that is to be merged.
#[derive(Debug)]
pub struct StoreMerge {
    /// Files of the store that nothing names any more; they go first, for the merge needs room.
    pub(super) removal: Removal,
    pub(super) bucket: BucketMerge,
}

/// Whose bucket it is.
#[derive(Debug)]
pub(super) enum BucketMerge {
    /// Of URL-seen.
    Seen(MergeJob<Fingerprint, (), QueuedUrl>),
    /// Of the robots store.
    Robots(MergeJob<Fingerprint, Robots, QueuedUrl>),
    /// Of the DNS store.
    Dns(MergeJob<Fingerprint, Addresses, QueuedUrl>),
}

impl StoreMerge {
    /// Deletes what is superfluous, and merges.
    pub fn run(self) -> Result<StoreMerged> {
        self.removal.run()?;
        Ok(match self.bucket {
            BucketMerge::Seen(job) => StoreMerged::Seen(job.run()?),
            BucketMerge::Robots(job) => StoreMerged::Robots(job.run()?),
            BucketMerge::Dns(job) => StoreMerged::Dns(job.run()?),
        })
    }
}

/// The hands of the engine. No call blocks: the engine never has more jobs out than there are places for.
pub trait Executors {
    /// Makes a request; the answer goes through processing.
    fn fetch(&mut self, job: FetchJob);
    /// Resolves a name.
    fn resolve(&mut self, job: ResolveJob);
    /// Merges a bucket of a store.
    fn merge(&mut self, job: StoreMerge);
    /// Takes from or merges a partition of the frontier.
    fn partition(&mut self, job: PartitionJob);
    /// Makes a checkpoint durable.
    fn checkpoint(&mut self, job: CheckpointJob);
    /// Makes the log of long rests durable.
    fn sync_rests(&mut self, job: RestSync);
}
