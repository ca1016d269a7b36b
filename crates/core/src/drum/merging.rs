//! The merges of one DRUM that are in progress, and which bucket is the next.
//!
//! One merge runs at a time; while it does, the results of the one before are dispatched, so that neither the merging
//! thread waits for the owner nor the owner for the thread. A bucket is in one of the two at most.

use std::collections::VecDeque;

use super::bucket::Bucket;
use super::results::Results;
use super::state::{BatchState, RepositoryState};
use super::{DrumOptions, Need};

/// Bytes that a starving owner lets a merge pass over for each answer it gives.
const STARVING_BYTES_PER_CHECK: u64 = 256 << 10;
/// The cost of a merge beside the bytes that it moves, in such bytes: even the smallest one makes and deletes files.
const OVERHEAD_BYTES: u64 = 64 << 10;
/// Finished merges whose results wait for their dispatch while another merge is begun.
const DONE_MAX: usize = 1;

/// Merges in progress.
#[derive(Debug)]
pub(super) struct Merging<V> {
    /// The bucket whose job was handed out.
    pub running: Option<usize>,
    /// Results that wait to be dispatched, the oldest first.
    pub done: VecDeque<Results<V>>,
}

impl<V> Merging<V> {
    pub(crate) fn none() -> Self {
        Merging { running: None, done: VecDeque::new() }
    }

    /// Returns whether another merge may be handed out.
    pub(crate) fn has_room(&self) -> bool {
        self.running.is_none() && self.done.len() <= DONE_MAX
    }

    /// Returns whether the merge of a bucket is in progress, or its results wait to be dispatched.
    pub(crate) fn has(&self, bucket: usize) -> bool {
        self.running == Some(bucket) || self.done.iter().any(|results| results.bucket == bucket)
    }

    /// The bucket to merge now, and what that [gains](gain). A batch that was frozen before a restart comes first.
    pub(crate) fn choose(&self, buckets: &[Bucket], options: &DrumOptions, need: Need) -> Option<(usize, f64)> {
        let is_free = |&(index, _): &(usize, &Bucket)| !self.done.iter().any(|results| results.bucket == index);
        let free = buckets.iter().enumerate().filter(is_free);
        let wanted = free.filter(|(_, bucket)| bucket.state.frozen.is_some() || is_wanted(bucket, options, need));
        wanted.map(|(index, bucket)| (index, gain(bucket, need))).max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

fn is_wanted(bucket: &Bucket, options: &DrumOptions, need: Need) -> bool {
    match need {
        Need::Full => !bucket.state.full.is_empty(),
        Need::Threshold => {
            let due = options.merge_threshold.max(2 * bucket.repository_bytes());
            bucket.waiting_bytes() >= due || !bucket.state.full.is_empty()
        }
        Need::Starving => bucket.repository_bytes() < bucket.waiting_checks() * STARVING_BYTES_PER_CHECK,
        Need::All => bucket.waiting_operations() > 0,
    }
}

/// The worth of merging a bucket, compared with others that serve the same need.
fn gain(bucket: &Bucket, need: Need) -> f64 {
    if bucket.state.frozen.is_some() {
        return f64::INFINITY;
    }
    match need {
        Need::Full | Need::Threshold => bucket.waiting_bytes() as f64,
        Need::Starving => {
            let bytes = bucket.repository_bytes() + bucket.waiting_bytes();
            bucket.waiting_checks() as f64 / (OVERHEAD_BYTES + bytes) as f64
        }
        Need::All => bucket.waiting_checks() as f64,
    }
}

/// Counts of merges, and of the bytes that they moved.
#[derive(Debug, Default)]
pub(super) struct Moved {
    pub merges: u64,
    pub bytes_written: u64,
    pub bytes_read: u64,
}

impl Moved {
    /// A batch was written, and read by its merge, and is read again for the dispatch of what the merge found.
    pub(crate) fn count(&mut self, batch: &BatchState, old: u64, new: Option<&RepositoryState>) {
        self.merges += 1;
        self.bytes_written += batch.bytes() + new.map_or(0, |new| new.bytes);
        self.bytes_read += batch.kv_bytes + old + batch.bytes();
    }
}
