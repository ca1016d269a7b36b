//! Counters of a sink, for metrics: read by any thread while its own one counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// The things that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Documents that were stored.
    Documents,
    /// Deletions that were applied.
    Deletions,
    /// Batches that were delivered.
    Batches,
    /// Tries that followed a failure.
    Retries,
    /// Changes that were refused for good.
    DeadLetters,
    /// Bytes that were sent or written.
    Bytes,
}

impl Count {
    /// All of them.
    pub const ALL: [Count; 6] =
        [Count::Documents, Count::Deletions, Count::Batches, Count::Retries, Count::DeadLetters, Count::Bytes];
}

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub struct Counters([AtomicU64; Count::ALL.len()]);

impl Counters {
    /// The value of a counter.
    pub fn get(&self, count: Count) -> u64 {
        self.0[count as usize].load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, count: Count, number: u64) {
        self.0[count as usize].fetch_add(number, Ordering::Relaxed);
    }
}
