//! When something may be done: a heap of due times, and the line of what is due.
//!
//! Entries are never removed: one that no longer fits the place of its host is skipped when it comes up (the owner of
//! the hosts knows). Entries with the same due time come in the order in which they were made, so a run replays.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;

use crate::clock::Time;

/// A host of the active side, perhaps one that has left since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostRef {
    pub index: u32,
    pub generation: u32,
}

/// What comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    /// A host that waits for its own time.
    Host(HostRef),
    /// An address that hosts wait for.
    Address(IpAddr),
}

/// The heap and the line.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    heap: BinaryHeap<Reverse<(Time, u64, Entry)>>,
    line: VecDeque<(Time, Entry)>,
    made: u64,
}

impl Schedule {
    /// Lets `entry` come up at `due`.
    pub(super) fn push(&mut self, due: Time, entry: Entry) {
        self.made += 1;
        self.heap.push(Reverse((due, self.made, entry)));
    }

    /// Moves what is due at `now` into the line.
    pub(super) fn advance(&mut self, now: Time) {
        while let Some(&Reverse((due, _, entry))) = self.heap.peek()
            && due <= now
        {
            self.heap.pop();
            self.line.push_back((due, entry));
        }
    }

    /// The first in the line, with its due time.
    pub(super) fn pop(&mut self) -> Option<(Time, Entry)> {
        self.line.pop_front()
    }

    /// Entries in the line, stale ones included.
    pub(super) fn in_line(&self) -> usize {
        self.line.len()
    }

    /// When the next entry comes up; stale ones included.
    pub(super) fn next_due(&self) -> Option<Time> {
        let first = self.line.front().map(|&(due, _)| due);
        first.or_else(|| self.heap.peek().map(|Reverse((due, ..))| *due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_up_by_time_and_then_in_the_order_they_were_made() {
        let mut schedule = Schedule::default();
        let host = |index| Entry::Host(HostRef { index, generation: 0 });
        for (due, index) in [(30, 1), (10, 2), (20, 3), (10, 1), (20, 0)] {
            schedule.push(Time::from_ms(due), host(index));
        }
        assert_eq!(schedule.next_due(), Some(Time::from_ms(10)));
        schedule.advance(Time::from_ms(25));
        assert_eq!(schedule.in_line(), 4);
        let order: Vec<_> = std::iter::from_fn(|| schedule.pop()).map(|(_, entry)| entry).collect();
        assert_eq!(order, [host(2), host(1), host(3), host(0)]);
        assert_eq!(schedule.next_due(), Some(Time::from_ms(30)));
    }
}
