//! The number of URLs of a host that are in memory, and the moment at which it asks its partition for more.
//!
//! Every host may have a buffer of `buffer_urls`, as long as the active side has memory at all. What comes beyond it
//! would wait on the disk side for a merge, which rewrites a partition: where memory is plentiful a large host of few
//! is better off with more. So URLs that are pushed may fill as many buffers as a host gets in one turn, but of half of
//! the active side's memory no host more than a 64th part of what is free: few hosts grow large, many share what they
//! have, and the other half is left to the first buffers of hosts that come (the rule of
//! [`share`](crate::frontier::share)). Takes give a host that empties its buffers quickly larger ones.

use std::time::Duration;

use crate::frontier::tuning::{
    ACTIVE_PART, FREE_PARTS, PLENTIFUL_PART, REFILL_BUFFERS_MAX, REFILLED_SOON, TURN_BUFFERS, URL_BYTES, WAITING_MAX,
};

/// Limits of what hosts may have in memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::frontier) struct RefillPolicy {
    /// Bytes of the whole frontier, and those that the active side takes of them now.
    pub memory: usize,
    pub active_bytes: usize,
    /// URLs of a buffer, at least one.
    pub buffer_urls: usize,
}

/// Facts that decide whether a host asks for URLs.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::frontier) struct HostSnapshot {
    /// URLs that it has left in the base of its partition.
    pub base_left: u64,
    /// URLs in its buffer, and those that wait by themselves.
    pub buffered: usize,
    pub waiting: usize,
    /// Buffers that it may have after its next take.
    pub refill_buffers: usize,
    /// URLs that it got from the disk side in this turn.
    pub turn: u64,
    /// True if nothing is in progress for it.
    pub is_at_rest: bool,
    /// True if all places are taken, so that others may want its own.
    pub places_are_taken: bool,
}

/// The wish of a host that has a place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::frontier) enum Wish {
    Nothing,
    /// More of its URLs.
    Refill,
    /// It has had its turn and has nothing left in memory: its place may go to another.
    TurnOver,
}

impl RefillPolicy {
    /// Returns whether the active side may take more URLs.
    pub(in crate::frontier) fn has_memory(&self) -> bool {
        self.active_bytes < self.memory / ACTIVE_PART
    }

    /// URLs that a host gets from the disk side before others have their turn.
    pub(in crate::frontier) fn turn_urls(&self) -> usize {
        self.buffer_urls.saturating_mul(TURN_BUFFERS)
    }

    /// URLs that any host may have in memory now, by pushes.
    pub(in crate::frontier) fn pushed_max(&self) -> usize {
        if !self.has_memory() {
            return 0;
        }
        let free = (self.memory / PLENTIFUL_PART).saturating_sub(self.active_bytes) / URL_BYTES;
        (free / FREE_PARTS).clamp(self.buffer_urls, self.turn_urls())
    }

    /// URLs that a host may have in memory after a take that gives it this many buffers.
    pub(in crate::frontier) fn refilled_max(&self, refill_buffers: usize) -> usize {
        let buffers = if self.has_memory() { refill_buffers.max(1) } else { 1 };
        self.buffer_urls.saturating_mul(buffers)
    }

    /// Buffers that a host may have after the take that comes next, if it got URLs now and `since` before; `ran_dry`:
    /// because it needed them, not because it became active.
    pub(in crate::frontier) fn next_buffers(before: usize, ran_dry: bool, since: Duration) -> usize {
        if ran_dry && since < REFILLED_SOON { (2 * before.max(1)).min(REFILL_BUFFERS_MAX) } else { 1 }
    }

    /// Decides whether a host asks its partition for more, or has had its turn.
    pub(in crate::frontier) fn wish(&self, host: &HostSnapshot) -> Wish {
        let has_enough = host.buffered > self.refilled_max(host.refill_buffers) / 2;
        if host.base_left == 0 || host.waiting >= WAITING_MAX || has_enough {
            Wish::Nothing
        } else if host.turn < self.turn_urls() as u64 || !host.places_are_taken {
            Wish::Refill
        } else if host.buffered == 0 && host.is_at_rest {
            Wish::TurnOver
        } else {
            Wish::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn policy(memory: usize, active_bytes: usize) -> RefillPolicy {
        RefillPolicy { memory, active_bytes, buffer_urls: 64 }
    }

    #[test]
    fn what_is_pushed_fills_more_than_a_buffer_while_memory_is_plentiful() {
        let rows = [
            ("an empty frontier of the default size", policy(128 * MIB, 0), 512),
            ("half of a quarter is free", policy(128 * MIB, 28 * MIB), 256),
            ("no memory is plentiful: one buffer", policy(128 * MIB, 32 * MIB), 64),
            ("up to the end", policy(128 * MIB, 64 * MIB - 1), 64),
            ("no memory at all", policy(128 * MIB, 64 * MIB), 0),
            ("a small frontier", policy(MIB, 0), 64),
        ];
        for (reason, policy, expected) in rows {
            assert_eq!(policy.pushed_max(), expected, "{reason}");
        }
    }

    #[test]
    fn a_host_that_empties_its_buffers_quickly_gets_larger_ones() {
        let (soon, late) = (Duration::from_millis(999), Duration::from_secs(1));
        let rows = [
            ("within a second twice as many", 1, true, soon, 2),
            ("and again", 32, true, soon, 64),
            ("up to 64", 64, true, soon, 64),
            ("later one", 64, true, late, 1),
            ("one that becomes active has one", 8, false, soon, 1),
            ("none counts as one", 0, true, soon, 2),
        ];
        for (reason, before, ran_dry, since, expected) in rows {
            assert_eq!(RefillPolicy::next_buffers(before, ran_dry, since), expected, "{reason}");
        }
        assert_eq!(policy(128 * MIB, 0).refilled_max(8), 512);
        assert_eq!(policy(128 * MIB, 64 * MIB).refilled_max(8), 64, "without memory one buffer");
    }

    #[test]
    fn a_host_asks_for_more_when_half_of_its_buffer_is_empty_and_leaves_after_its_turn() {
        let dry = HostSnapshot { base_left: 9, refill_buffers: 1, is_at_rest: true, ..HostSnapshot::default() };
        let over = HostSnapshot { turn: 512, places_are_taken: true, ..dry };
        let rows = [
            ("nothing in memory", dry, Wish::Refill),
            ("half a buffer", HostSnapshot { buffered: 32, ..dry }, Wish::Refill),
            ("more", HostSnapshot { buffered: 33, ..dry }, Wish::Nothing),
            ("half of a larger one", HostSnapshot { buffered: 64, refill_buffers: 2, ..dry }, Wish::Refill),
            ("nothing is left in the base", HostSnapshot { base_left: 0, ..dry }, Wish::Nothing),
            ("as many URLs wait by themselves as may be", HostSnapshot { waiting: 64, ..dry }, Wish::Nothing),
            ("its turn is over and others may want its place", over, Wish::TurnOver),
            ("one URL before that", HostSnapshot { turn: 511, ..over }, Wish::Refill),
            ("nobody wants it", HostSnapshot { places_are_taken: false, ..over }, Wish::Refill),
            ("it still has URLs", HostSnapshot { buffered: 1, ..over }, Wish::Nothing),
            ("it still has requests", HostSnapshot { is_at_rest: false, ..over }, Wish::Nothing),
        ];
        for (reason, host, expected) in rows {
            assert_eq!(policy(128 * MIB, 0).wish(&host), expected, "{reason}");
        }
    }
}
