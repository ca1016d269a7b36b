//! Merges of the stores, as jobs: out with what may be deleted before, back with the results.

use super::pair::{Pair, Supported};
use super::values::{Addresses, Robots};
use crate::calendar::Visited;
use crate::disk::{Removal, Result};
use crate::drum::{MergeDone, MergeJob};
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;

/// A bucket of one of the stores that is to be merged.
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
    /// Of the store of visits.
    Visits(MergeJob<Fingerprint, Visited, QueuedUrl>),
    /// Of the pairs of domains.
    Support(MergeJob<Fingerprint, Pair, Supported>),
}

impl StoreMerge {
    /// Deletes what is superfluous, and merges.
    pub fn run(self) -> Result<StoreMerged> {
        self.removal.run()?;
        Ok(match self.bucket {
            BucketMerge::Seen(job) => StoreMerged::Seen(job.run()?),
            BucketMerge::Robots(job) => StoreMerged::Robots(job.run()?),
            BucketMerge::Dns(job) => StoreMerged::Dns(job.run()?),
            BucketMerge::Visits(job) => StoreMerged::Visits(job.run()?),
            BucketMerge::Support(job) => StoreMerged::Support(job.run()?),
        })
    }
}

/// A finished merge of one of the stores.
#[derive(Debug)]
pub enum StoreMerged {
    /// Of URL-seen.
    Seen(MergeDone<Fingerprint, (), QueuedUrl>),
    /// Of the robots store.
    Robots(MergeDone<Fingerprint, Robots, QueuedUrl>),
    /// Of the DNS store.
    Dns(MergeDone<Fingerprint, Addresses, QueuedUrl>),
    /// Of the store of visits.
    Visits(MergeDone<Fingerprint, Visited, QueuedUrl>),
    /// Of the pairs of domains.
    Support(MergeDone<Fingerprint, Pair, Supported>),
}

impl StoreMerged {
    /// Bytes that were read and written.
    pub fn bytes(&self) -> u64 {
        match self {
            StoreMerged::Seen(done) => done.bytes(),
            StoreMerged::Robots(done) => done.bytes(),
            StoreMerged::Dns(done) => done.bytes(),
            StoreMerged::Visits(done) => done.bytes(),
            StoreMerged::Support(done) => done.bytes(),
        }
    }
}
