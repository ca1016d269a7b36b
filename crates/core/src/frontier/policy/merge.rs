//! The time at which a partition is merged: its tails and what is left of its base become the next base.
//!
//! A merge writes all that is left. So a tail gathers until that is worth it, or for a bounded time; what is consumed
//! is reclaimed when it is most of the base. Where the active side starves, a partition may be merged for few URLs, if
//! somebody needs them, the cheapest first and none more often than its size allows.

use std::time::Duration;

use crate::clock::Time;
use crate::frontier::tuning::{
    CONSUMED_PER_LEFT, MERGE_OVERHEAD_BYTES, OVERLAY_BYTES_MIN, OVERLAYS_PART, RECLAIM_BYTES_MIN, STALE_BYTES_PER_S,
    STALE_MIN, STARVING_BYTES_PER_MS, STARVING_PAUSE, TAIL_BYTES_MIN, TAIL_PER_BASE,
};

use super::snapshot::PartitionSnapshot;

/// The policy of when to merge.
#[derive(Clone, Copy, Debug)]
pub(in crate::frontier) struct MergePolicy {
    pub partitions: u64,
    /// Bytes in memory beside a base, at most.
    pub overlay_bytes_max: usize,
}

/// The reason for which a partition is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::frontier) enum MergeReason {
    /// Its tail has grown beyond its base.
    Grown,
    /// Most of its base is consumed.
    Consumed,
    /// Data in memory that is newer than its base takes too much room.
    Overlay,
    /// URLs of its tail have waited for long.
    Stale,
    /// Nothing is ready, and somebody needs what is in its tail.
    Starving,
}

impl MergePolicy {
    /// The policy of a frontier with this many bytes of memory and this many partitions.
    pub(in crate::frontier) fn new(memory: usize, partitions: usize) -> Self {
        let overlay_bytes_max = (memory / OVERLAYS_PART / partitions.max(1)).max(OVERLAY_BYTES_MIN);
        MergePolicy { partitions: partitions as u64, overlay_bytes_max }
    }

    /// Returns the reason for which a partition is to be merged at `now`, whatever else there is to do, if it is.
    pub(super) fn due(&self, partition: &PartitionSnapshot, now: Time) -> Option<MergeReason> {
        let PartitionSnapshot {
            base_bytes, consumed, left, tail_bytes, tail_urls, tail_domains, overlay_bytes, ..
        } = *partition;
        let has_tail = tail_urls > 0 || tail_domains > 0;
        if tail_bytes >= TAIL_BYTES_MIN.max(TAIL_PER_BASE * base_bytes) {
            Some(MergeReason::Grown)
        } else if consumed / CONSUMED_PER_LEFT > left && base_bytes >= RECLAIM_BYTES_MIN {
            Some(MergeReason::Consumed)
        } else if overlay_bytes > self.overlay_bytes_max && (has_tail || consumed > 0) {
            Some(MergeReason::Overlay)
        } else if has_tail && self.stale_at(partition) <= now {
            Some(MergeReason::Stale)
        } else {
            None
        }
    }

    /// Returns the time from which on the URLs of a partition's tail have waited for long.
    fn stale_at(&self, partition: &PartitionSnapshot) -> Time {
        let all_bytes = partition.base_bytes.saturating_mul(self.partitions);
        partition.tail_since + STALE_MIN.max(Duration::from_secs(all_bytes / STALE_BYTES_PER_S))
    }

    /// Returns the time from which on a partition may be merged because the active side starves, if it is worth it at
    /// all.
    fn starving_at(partition: &PartitionSnapshot) -> Option<Time> {
        let pause = STARVING_PAUSE.max(Duration::from_millis(partition.base_bytes / STARVING_BYTES_PER_MS));
        (partition.tail_urls > 0 && partition.tail_is_wanted).then(|| partition.merged_at + pause)
    }

    /// The partition whose merge frees most URLs for what it writes, of those that may be merged while the active side
    /// starves.
    pub(super) fn cheapest(
        &self,
        count: usize,
        partition: impl Fn(usize) -> PartitionSnapshot,
        now: Time,
    ) -> Option<usize> {
        let mut best: Option<(usize, u128, u128)> = None;
        for number in 0..count {
            let snapshot = partition(number);
            if snapshot.is_busy || MergePolicy::starving_at(&snapshot).is_none_or(|time| time > now) {
                continue;
            }
            let gain = u128::from(snapshot.tail_urls);
            let cost = u128::from(snapshot.base_bytes + MERGE_OVERHEAD_BYTES);
            if best.is_none_or(|(_, best_gain, best_cost)| gain * best_cost > best_gain * cost) {
                best = Some((number, gain, cost));
            }
        }
        best.map(|(number, ..)| number)
    }

    /// The times from which on a partition may be merged, if nothing else happens.
    pub(super) fn times(&self, partition: &PartitionSnapshot) -> impl Iterator<Item = Time> + use<> {
        let has_tail = partition.tail_urls > 0 || partition.tail_domains > 0;
        let stale = has_tail.then(|| self.stale_at(partition));
        MergePolicy::starving_at(partition).into_iter().chain(stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MergeReason::{Consumed, Grown, Overlay, Stale};

    const NOW: Time = Time::from_ms(1 << 40);
    const POLICY: MergePolicy = MergePolicy { partitions: 256, overlay_bytes_max: 64 << 10 };
    const S: Duration = Duration::from_secs(1);

    /// A tail of one URL that came just now, and a base of a megabyte with a thousand URLs.
    fn partition() -> PartitionSnapshot {
        PartitionSnapshot { base_bytes: 1 << 20, left: 1_000, tail_urls: 1, tail_since: NOW, ..Default::default() }
    }

    #[test]
    fn a_merge_is_due_for_a_reason() {
        let base = partition();
        let small = PartitionSnapshot { base_bytes: 10 << 10, ..base };
        let rows: &[(&str, PartitionSnapshot, Option<MergeReason>)] = &[
            ("nothing", PartitionSnapshot::default(), None),
            ("a tail twice as long as its base", PartitionSnapshot { tail_bytes: 2 << 20, ..base }, Some(Grown)),
            ("a shorter one", PartitionSnapshot { tail_bytes: (2 << 20) - 1, ..base }, None),
            (
                "beside a small base it has to be worth a file",
                PartitionSnapshot { tail_bytes: 127 << 10, ..small },
                None,
            ),
            ("which it is", PartitionSnapshot { tail_bytes: 128 << 10, ..small }, Some(Grown)),
            ("two thirds are consumed", PartitionSnapshot { consumed: 2_002, ..base }, Some(Consumed)),
            ("hardly", PartitionSnapshot { consumed: 2_001, ..base }, None),
            ("a base that is not worth it", PartitionSnapshot { consumed: 9_000, left: 1, ..small }, None),
            ("much memory", PartitionSnapshot { overlay_bytes: (64 << 10) + 1, ..base }, Some(Overlay)),
            ("not too much", PartitionSnapshot { overlay_bytes: 64 << 10, ..base }, None),
            ("that no merge would free", PartitionSnapshot { overlay_bytes: 1 << 20, tail_urls: 0, ..base }, None),
            (
                "for what is consumed",
                PartitionSnapshot { overlay_bytes: 1 << 20, tail_urls: 0, consumed: 1, ..base },
                Some(Overlay),
            ),
        ];
        for (reason, partition, expected) in rows {
            assert_eq!(POLICY.due(partition, NOW), *expected, "{reason}");
        }
    }

    #[test]
    fn urls_wait_for_ten_seconds_and_as_long_as_all_bases_take_to_rewrite() {
        let rows: &[(&str, u64, u64, Option<MergeReason>)] = &[
            ("small bases: 9 s", 0, 9, None),
            ("small bases: 10 s", 0, 10, Some(Stale)),
            ("256 MiB in all: 255 s", 1 << 20, 255, None),
            ("256 MiB in all: 256 s", 1 << 20, 256, Some(Stale)),
            ("a sum beyond 64 bits", u64::MAX / 4, 1_000_000, None),
        ];
        for &(reason, base_bytes, seconds, expected) in rows {
            let partition = PartitionSnapshot { base_bytes, ..partition() };
            let now = NOW + S.saturating_mul(u32::try_from(seconds).unwrap());
            assert_eq!(POLICY.due(&partition, now), expected, "{reason}");
            let empty = PartitionSnapshot { tail_urls: 0, ..partition };
            assert_eq!(POLICY.due(&empty, now), None, "{reason}, but no URL");
        }
    }

    #[test]
    fn a_starving_side_merges_the_cheapest_partition_that_somebody_needs_and_none_too_often() {
        let wanted = |tail_urls, base_bytes| PartitionSnapshot {
            tail_urls,
            base_bytes,
            tail_is_wanted: true,
            ..PartitionSnapshot::default()
        };
        let merged = |ago_ms, base_bytes| PartitionSnapshot {
            merged_at: Time::from_ms(NOW.ms() - ago_ms),
            ..wanted(5, base_bytes)
        };
        let unwanted = PartitionSnapshot { tail_is_wanted: false, ..wanted(9, 0) };
        let busy = PartitionSnapshot { is_busy: true, ..wanted(9, 0) };
        let rows: &[(&str, Vec<PartitionSnapshot>, Option<usize>)] = &[
            ("none", vec![], None),
            ("nobody needs it, it is busy, it has no tail", vec![unwanted, busy, wanted(0, 0)], None),
            ("most URLs", vec![wanted(1, 0), wanted(2, 0), wanted(1, 0)], Some(1)),
            ("the first of equals", vec![wanted(2, 0), wanted(2, 0)], Some(0)),
            (
                "ten URLs beside 64 KiB before a thousand beside 64 MiB",
                vec![wanted(1_000, 64 << 20), wanted(10, 64 << 10)],
                Some(1),
            ),
            ("a million do pay", vec![wanted(1_000_000, 64 << 20), wanted(10, 64 << 10)], Some(0)),
            ("merged 19 ms ago", vec![merged(19, 0)], None),
            ("merged 20 ms ago", vec![merged(20, 0)], Some(0)),
            ("a base of 8 MiB, merged 1,023 ms ago", vec![merged(1_023, 8 << 20)], None),
            ("a base of 8 MiB, merged 1,024 ms ago", vec![merged(1_024, 8 << 20)], Some(0)),
        ];
        for (reason, partitions, expected) in rows {
            let found = POLICY.cheapest(partitions.len(), |number| partitions[number], NOW);
            assert_eq!(found, *expected, "{reason}");
        }
    }

    #[test]
    fn memory_beside_the_bases_is_shared_out_among_the_partitions() {
        for (memory, partitions, bytes) in
            [(128 << 20, 256, 64 << 10), (128 << 20, 1, 16 << 20), (1 << 20, 256, 16 << 10)]
        {
            assert_eq!(MergePolicy::new(memory, partitions).overlay_bytes_max, bytes, "{memory} for {partitions}");
        }
    }
}
