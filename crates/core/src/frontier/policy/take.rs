//! The time at which URLs are taken from a base, and the number of new hosts for which they are.
//!
//! A take opens the base and walks over its directory, which costs about as much for one host as for many. So it waits
//! until some places are free, and a walk that found too few is not repeated at once.

use crate::clock::Time;
use crate::frontier::tuning::{TAKE_HOSTS_MAX, TAKE_PLACES_PART, WALK_PAUSE};

use super::snapshot::PartitionSnapshot;

/// The places of the active side.
#[derive(Clone, Copy, Debug)]
pub(in crate::frontier) struct SlotCounts {
    /// The number of places.
    pub all: usize,
    /// Hosts that have one, and those of them that have something to do.
    pub taken: usize,
    pub busy: usize,
    /// True if the active side may take more URLs.
    pub has_memory: bool,
}

impl SlotCounts {
    /// Places that no busy host has: idle ones leave when theirs is wanted.
    pub(in crate::frontier) fn free(&self) -> usize {
        self.all.max(1).saturating_sub(self.busy)
    }
}

/// The policy of when to take. It has no state: what decides is in the snapshots.
pub(in crate::frontier) struct TakePolicy;

impl TakePolicy {
    /// New hosts that the next take may bring; none if it is not worth its while yet. `is_starving`: nothing else is
    /// ready.
    pub(in crate::frontier) fn hosts_max(places: &SlotCounts, is_starving: bool) -> usize {
        let may_leave = places.taken > places.busy;
        let hosts_max = if places.has_memory || may_leave { places.free().min(TAKE_HOSTS_MAX) } else { 0 };
        let enough = (places.all / TAKE_PLACES_PART).clamp(1, TAKE_HOSTS_MAX / 2);
        if hosts_max >= enough || is_starving { hosts_max } else { 0 }
    }

    /// Returns the time at which a walk over the hosts of a base is due, if there is anything to walk over.
    pub(super) fn walk_due(partition: &PartitionSnapshot) -> Option<Time> {
        partition.walk_due.filter(|_| partition.left > 0)
    }

    /// Returns whether a walk may find a host at `now`.
    pub(super) fn may_find_host(partition: &PartitionSnapshot, now: Time) -> bool {
        TakePolicy::walk_due(partition).is_some_and(|due| due <= now)
    }

    /// Returns the time at which a walk may be repeated that went over all `hosts` of a base until `now` and found too
    /// few.
    pub(in crate::frontier) fn walk_again(hosts: u64, now: Time) -> Time {
        now + WALK_PAUSE.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_000_000);

    #[test]
    fn new_hosts_are_taken_where_places_are_free_and_worth_the_while() {
        let places = |all, taken, busy| SlotCounts { all, taken, busy, has_memory: true };
        let short = |all, taken, busy| SlotCounts { has_memory: false, ..places(all, taken, busy) };
        let rows: &[(&str, SlotCounts, bool, usize)] = &[
            ("all of few", places(16, 0, 0), false, 16),
            ("no more than a take may bring", places(4_096, 0, 0), false, 512),
            ("a sixteenth is enough", places(1_600, 1_500, 1_500), false, 100),
            ("less is not", places(1_600, 1_501, 1_501), false, 0),
            ("unless nothing is ready", places(1_600, 1_599, 1_599), true, 1),
            ("half of what a take may bring is enough of many", places(100_000, 99_744, 99_744), false, 256),
            ("less is not, of many either", places(100_000, 99_745, 99_745), false, 0),
            ("one of few is enough", places(8, 7, 7), false, 1),
            ("idle hosts leave", places(16, 16, 4), false, 12),
            ("all places are busy", places(16, 16, 16), true, 0),
            ("without memory nobody enters", short(16, 4, 4), true, 0),
            ("but in the place of one who leaves", short(16, 5, 4), false, 12),
            ("there is always one place", places(0, 0, 0), false, 1),
        ];
        for (reason, places, is_starving, expected) in rows {
            assert_eq!(TakePolicy::hosts_max(places, *is_starving), *expected, "{reason}");
        }
    }

    #[test]
    fn a_walk_is_due_at_its_time_while_urls_are_left() {
        let later = NOW + std::time::Duration::from_millis(1);
        let rows = [
            ("at its time", 1, Some(NOW), true),
            ("not before", 1, Some(later), false),
            ("not without an event", 1, None, false),
            ("not where nothing is left", 0, Some(NOW), false),
        ];
        for (reason, left, walk_due, expected) in rows {
            let partition = PartitionSnapshot { left, walk_due, ..PartitionSnapshot::default() };
            assert_eq!(TakePolicy::may_find_host(&partition, NOW), expected, "{reason}");
        }
    }

    #[test]
    fn the_longer_a_walk_the_later_it_is_repeated() {
        for (hosts, ms) in [(0, 0), (100, 1), (100_000, 1_000), (u64::MAX, 42_949_672)] {
            assert_eq!(TakePolicy::walk_again(hosts, NOW), Time::from_ms(NOW.ms() + ms), "{hosts}");
        }
    }
}
