//! The choice of the partition that is taken from or merged next: pure functions of small snapshots.
//!
//! Nothing here reads a file or changes anything: [`Frontier::next_job`](super::Frontier::next_job) fills in the
//! snapshots, asks, and follows the answer. In this order, but with a merge that is due after every take: takes for
//! active hosts that run dry; takes of new hosts while there are places ([`take`]); merges that are due ([`merge`]);
//! and, when the active side starves, the merge that frees most URLs for what it has to write, of a partition in whose
//! tail somebody needs one. So every URL comes out, even where other partitions never run dry, and a giant base is not
//! rewritten for ten. What hosts ask of a partition is in [`refill`].
//!
//! The numbers are those of [`tuning`](super::tuning); the order of partitions is round and round.

mod merge;
mod refill;
mod snapshot;
mod take;

pub(super) use merge::{MergePolicy, MergeReason};
pub(super) use refill::{HostSnapshot, RefillPolicy, Wish};
pub(super) use snapshot::PartitionSnapshot;
pub(super) use take::{SlotCounts, TakePolicy};

use super::tuning::JOBS_MAX;
use crate::clock::Time;

/// Facts that decide besides the partitions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub now: Time,
    /// Jobs that are out.
    pub jobs_out: usize,
    /// The partition with which the search begins.
    pub rover: usize,
    /// True if the last job was a take.
    pub took_last: bool,
    /// True if nothing is ready: merges may then cost more than they should.
    pub is_starving: bool,
    pub places: SlotCounts,
}

/// A job that is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Take from a partition: for hosts that run dry, and up to `hosts_max` new ones.
    Take { partition: usize, hosts_max: usize },
    /// Merge a partition.
    Merge { partition: usize, reason: MergeReason },
}

/// Returns whether one more job may be out.
pub(super) fn may_begin(jobs_out: usize) -> bool {
    jobs_out < JOBS_MAX
}

/// The job to begin now, of `count` partitions. This is asked between any two events, and mostly in vain: one pass.
pub(super) fn next_job(
    situation: &Situation,
    merges: &MergePolicy,
    count: usize,
    partition: impl Fn(usize) -> PartitionSnapshot,
) -> Option<Job> {
    let &Situation { now, jobs_out, rover, took_last, is_starving, places } = situation;
    if !may_begin(jobs_out) {
        return None;
    }
    let hosts_max = TakePolicy::hosts_max(&places, is_starving);
    let (mut dry, mut fresh, mut overdue) = (None, None, None);
    for number in (0..count).map(|step| (rover + step) % count) {
        let snapshot = partition(number);
        if snapshot.is_busy {
            continue;
        }
        if dry.is_none() && snapshot.runs_dry {
            dry = Some(number);
        }
        if fresh.is_none() && hosts_max > 0 && TakePolicy::may_find_host(&snapshot, now) {
            fresh = Some(number);
        }
        if overdue.is_none() {
            overdue = merges.due(&snapshot, now).map(|reason| Job::Merge { partition: number, reason });
        }
        if dry.is_some() && overdue.is_some() {
            break;
        }
    }
    // Takes come first, but do not hold up the merge that is due for ever; one place is always theirs.
    let yields = took_last && may_begin(jobs_out + 1) && overdue.is_some();
    let take = dry.or(fresh).filter(|_| !yields).map(|partition| Job::Take { partition, hosts_max });
    take.or(overdue).or_else(|| {
        let cheapest = if is_starving { merges.cheapest(count, &partition, now) } else { None };
        cheapest.map(|partition| Job::Merge { partition, reason: MergeReason::Starving })
    })
}

/// Returns the time at which a partition may have a job that it has not at `now`, if nothing else happens.
pub(super) fn next_due(partition: &PartitionSnapshot, merges: &MergePolicy, now: Time) -> Option<Time> {
    if partition.is_busy {
        return None;
    }
    let walk = TakePolicy::walk_due(partition);
    walk.into_iter().chain(merges.times(partition)).filter(|&time| time > now).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use MergeReason::{Grown, Starving};

    const NOW: Time = Time::from_ms(1_000_000);
    const LATER: Time = Time::from_ms(1_000_001);
    const MERGES: MergePolicy = MergePolicy { partitions: 4, overlay_bytes_max: 64 << 10 };
    const PLACES: SlotCounts = SlotCounts { all: 16, taken: 0, busy: 0, has_memory: true };
    const CALM: Situation =
        Situation { now: NOW, jobs_out: 0, rover: 0, took_last: false, is_starving: false, places: PLACES };

    /// Partitions that have nothing to do, something to take, and so on.
    const NOTHING: PartitionSnapshot = PartitionSnapshot {
        is_busy: false,
        base_bytes: 0,
        consumed: 0,
        left: 0,
        tail_bytes: 0,
        tail_urls: 0,
        tail_since: Time::ZERO,
        tail_is_wanted: false,
        tail_domains: 0,
        overlay_bytes: 0,
        merged_at: Time::ZERO,
        runs_dry: false,
        walk_due: None,
    };
    const HOSTS: PartitionSnapshot = PartitionSnapshot { left: 9, walk_due: Some(NOW), ..NOTHING };
    const DRY: PartitionSnapshot = PartitionSnapshot { left: 9, runs_dry: true, ..NOTHING };
    const GROWN: PartitionSnapshot =
        PartitionSnapshot { tail_bytes: 1 << 20, tail_urls: 9_000, tail_since: NOW, ..NOTHING };
    const FEW: PartitionSnapshot = PartitionSnapshot { tail_urls: 3, tail_since: NOW, tail_is_wanted: true, ..NOTHING };
    const MORE: PartitionSnapshot = PartitionSnapshot { tail_urls: 4, ..FEW };

    fn busy(partition: PartitionSnapshot) -> PartitionSnapshot {
        PartitionSnapshot { is_busy: true, ..partition }
    }

    fn take(partition: usize, hosts_max: usize) -> Option<Job> {
        Some(Job::Take { partition, hosts_max })
    }

    fn merge(partition: usize, reason: MergeReason) -> Option<Job> {
        Some(Job::Merge { partition, reason })
    }

    #[test]
    fn the_next_job_follows_from_the_snapshots() {
        let starving = Situation { is_starving: true, ..CALM };
        let took = Situation { took_last: true, ..CALM };
        let full = Situation { places: SlotCounts { taken: 16, busy: 16, ..PLACES }, ..CALM };
        let rows: &[(&str, Situation, [PartitionSnapshot; 4], Option<Job>)] = &[
            ("nothing to do", CALM, [NOTHING; 4], None),
            ("four jobs are enough", Situation { jobs_out: 4, ..CALM }, [DRY, HOSTS, GROWN, FEW], None),
            ("a host that runs dry comes before new ones", CALM, [HOSTS, DRY, NOTHING, NOTHING], take(1, 16)),
            ("it comes before merges too", CALM, [GROWN, NOTHING, DRY, NOTHING], take(2, 16)),
            ("new hosts come before merges", CALM, [GROWN, HOSTS, NOTHING, NOTHING], take(1, 16)),
            ("after a take comes the merge that is due", took, [GROWN, HOSTS, DRY, NOTHING], merge(0, Grown)),
            ("after a take comes another one where none is", took, [FEW, HOSTS, NOTHING, NOTHING], take(1, 16)),
            (
                "the last place is for a take",
                Situation { jobs_out: 3, ..took },
                [GROWN, HOSTS, NOTHING, NOTHING],
                take(1, 16),
            ),
            (
                "the search begins at the rover",
                Situation { rover: 2, ..CALM },
                [HOSTS, HOSTS, NOTHING, HOSTS],
                take(3, 16),
            ),
            ("and goes round", Situation { rover: 3, ..CALM }, [NOTHING, HOSTS, HOSTS, NOTHING], take(1, 16)),
            ("merges too", Situation { rover: 2, ..CALM }, [GROWN, GROWN, NOTHING, NOTHING], merge(0, Grown)),
            ("a partition has one job at a time", CALM, [busy(DRY), busy(GROWN), busy(HOSTS), NOTHING], None),
            ("no new hosts where all places are busy", full, [HOSTS, NOTHING, NOTHING, NOTHING], None),
            ("but those that run dry get their URLs", full, [HOSTS, DRY, NOTHING, NOTHING], take(1, 0)),
            ("a small tail waits while others are ready", CALM, [FEW; 4], None),
            ("where nothing is ready it does not", starving, [NOTHING, FEW, NOTHING, NOTHING], merge(1, Starving)),
            ("the one with most URLs for its bytes", starving, [FEW, MORE, FEW, MORE], merge(1, Starving)),
            ("not one that is busy", starving, [FEW, busy(MORE), NOTHING, NOTHING], merge(0, Starving)),
            ("a merge that is due comes first", starving, [MORE, GROWN, NOTHING, NOTHING], merge(1, Grown)),
            ("and a take before both", starving, [MORE, GROWN, HOSTS, NOTHING], take(2, 16)),
        ];
        for (reason, situation, partitions, expected) in rows {
            let found = next_job(situation, &MERGES, 4, |number| partitions[number]);
            assert_eq!(found, *expected, "{reason}");
        }
    }

    #[test]
    fn a_partition_says_when_it_may_have_a_job_that_it_has_not_now() {
        let stale = NOW + crate::frontier::tuning::STALE_MIN;
        let rows: &[(&str, PartitionSnapshot, Option<Time>)] = &[
            ("nothing", NOTHING, None),
            ("a walk that is due is no news", HOSTS, None),
            ("a walk that will be", PartitionSnapshot { walk_due: Some(LATER), ..HOSTS }, Some(LATER)),
            ("nothing is left to walk over", PartitionSnapshot { walk_due: Some(LATER), ..NOTHING }, None),
            ("an empty tail does not become stale", PartitionSnapshot { tail_since: NOW, ..NOTHING }, None),
            ("a tail becomes stale", GROWN, Some(stale)),
            (
                "a wanted one was merged just now",
                PartitionSnapshot { merged_at: NOW, ..FEW },
                Some(NOW + crate::frontier::tuning::STARVING_PAUSE),
            ),
            (
                "the first of all counts",
                PartitionSnapshot { left: 1, walk_due: Some(LATER), merged_at: NOW, ..FEW },
                Some(LATER),
            ),
            ("what is busy will say so itself", busy(GROWN), None),
        ];
        for (reason, partition, expected) in rows {
            assert_eq!(next_due(partition, &MERGES, NOW), *expected, "{reason}");
        }
    }
}
