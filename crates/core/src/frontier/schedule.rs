//! The times at which something may be done: a heap of due times, and the queue of what is due.
//!
//! The queue is fair between lanes, which are registrable domains: where more is due than can be done, each domain that
//! has something in line gets as much, whether it has one host there or a thousand. An entry gets its turn when it
//! enters: one after the last of its lane, but not before the present one (start-time fair queueing: Goyal, Vin and
//! Cheng, "Start-Time Fair Queueing", IEEE/ACM Transactions on Networking 5(5), 1997); the smallest comes first. Where
//! a turn costs a lane more than one, it waits for them before it has it, its first one too: else ever new domains
//! would come before all that have been served (the finish times of Golestani, "A Self-Clocked Fair Queueing Scheme",
//! 1994). Domains that nobody saw before cannot hold up the others for ever: a turn ends after as many entries as were
//! in line when it began.
//!
//! An entry that no longer fits the place of its host is skipped when it comes up (the owner of the hosts knows). As
//! hosts that rest for a day leave one behind that is due in a day, those are swept now and then
//! ([`Schedule::retain`]). Entries with the same due time, and in line with the same turn, come in the order in which
//! they were made, so a run replays.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::net::IpAddr;

use super::tuning::LANES_SPARE;
use crate::clock::Time;
use crate::fingerprint::ByFingerprint;
use crate::fingerprint::Fingerprint;

/// A host of the active side, perhaps one that has left since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct HostRef {
    pub index: u32,
    pub generation: u32,
}

/// A thing that comes up in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Entry {
    /// A host that waits for its own time.
    Host(HostRef),
    /// An address that hosts wait for.
    Address(IpAddr),
    /// A name that origins of it wait for.
    Name(Fingerprint),
    /// The hosts that wait because others stay silent.
    Suspects,
}

/// The domain whose turn an entry takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    pub domain: Fingerprint,
    /// The number of turns that each of its own costs: 1, or more for a domain of which less is to be fetched.
    pub cost: u64,
}

/// An entry that is due; of the same turn the one that came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DueEntry {
    turn: u64,
    came: u64,
    due: Time,
    entry: Entry,
}

/// An entry that is not due yet: when it is, its number, and its lane.
type Timed = (Time, u64, Entry, Option<Lane>);

/// The heap and the queue.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Entries that are not due yet; what others wait for has no lane, and comes at once.
    heap: BinaryHeap<Reverse<Timed>>,
    due: BinaryHeap<Reverse<DueEntry>>,
    made: u64,
    came: u64,
    /// The present turn, and how many entries it has left.
    turn: u64,
    turn_left: usize,
    /// The next turn of lanes that have had the present one.
    lanes: ByFingerprint<u64>,
    lanes_swept: usize,
}

impl Schedule {
    /// Lets `entry` come up at `due`, in the turn of `lane`.
    pub(super) fn push(&mut self, due: Time, entry: Entry, lane: Option<Lane>) {
        self.made += 1;
        self.heap.push(Reverse((due, self.made, entry, lane)));
    }

    /// Moves what is due at `now` into the queue.
    pub(super) fn advance(&mut self, now: Time) {
        while let Some(&Reverse((due, _, entry, lane))) = self.heap.peek()
            && due <= now
        {
            self.heap.pop();
            self.came += 1;
            let turn = self.turn_of(lane);
            self.due.push(Reverse(DueEntry { turn, came: self.came, due, entry }));
        }
    }

    /// The turn of an entry of `lane` that enters the queue.
    fn turn_of(&mut self, lane: Option<Lane>) -> u64 {
        let Some(lane) = lane else { return self.turn };
        let next = self.lanes.entry(lane.domain).or_default();
        let turn = self.turn.max(*next).saturating_add(lane.cost - 1);
        *next = turn.saturating_add(1);
        turn
    }

    /// The first in the queue, with its due time.
    pub(super) fn pop(&mut self) -> Option<(Time, Entry)> {
        let Reverse(first) = self.due.pop()?;
        self.turn_left = self.turn_left.saturating_sub(1);
        if first.turn > self.turn || self.turn_left == 0 {
            self.turn = first.turn.max(self.turn + u64::from(self.turn_left == 0));
            self.turn_left = self.due.len();
        }
        if self.lanes.len() > 2 * self.lanes_swept + LANES_SPARE {
            let turn = self.turn;
            self.lanes.retain(|_, next| *next > turn);
            self.lanes_swept = self.lanes.len();
        }
        Some((first.due, first.entry))
    }

    /// Entries, stale ones included.
    pub(super) fn len(&self) -> usize {
        self.heap.len() + self.due.len()
    }

    /// Keeps the entries that are `live`, of several alike the first one, in their order.
    pub(super) fn retain(&mut self, mut live: impl FnMut(Time, Entry) -> bool) {
        let mut seen = HashSet::new();
        let mut keep = |due: Time, entry: Entry| live(due, entry) && seen.insert(entry);
        let mut due_entries = std::mem::take(&mut self.due).into_vec();
        due_entries.sort_unstable_by_key(|&Reverse(entry)| entry);
        due_entries.retain(|&Reverse(DueEntry { due, entry, .. })| keep(due, entry));
        let mut heap = std::mem::take(&mut self.heap).into_vec();
        heap.sort_unstable_by_key(|&Reverse(entry)| entry);
        heap.retain(|&Reverse((due, _, entry, _))| keep(due, entry));
        self.turn_left = self.turn_left.min(due_entries.len());
        (self.due, self.heap) = (due_entries.into(), heap.into());
    }

    /// Returns the time at which the next entry comes up; stale ones included.
    pub(super) fn next_due(&self) -> Option<Time> {
        let first = self.due.peek().map(|Reverse(first)| first.due);
        first.or_else(|| self.heap.peek().map(|Reverse((due, ..))| *due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(domain: u64) -> Option<Lane> {
        Some(Lane { domain: Fingerprint::from_bits(domain), cost: 1 })
    }

    #[test]
    fn entries_come_up_by_time_and_then_in_the_order_they_were_made() {
        let mut schedule = Schedule::default();
        let host = |index| Entry::Host(HostRef { index, generation: 0 });
        for (due, index) in [(30, 1), (10, 2), (20, 3), (10, 1), (20, 0)] {
            schedule.push(Time::from_ms(due), host(index), lane(index.into()));
        }
        assert_eq!(schedule.next_due(), Some(Time::from_ms(10)));
        schedule.advance(Time::from_ms(25));
        assert_eq!(schedule.due.len(), 4);
        let order: Vec<_> = std::iter::from_fn(|| schedule.pop()).map(|(_, entry)| entry).collect();
        assert_eq!(order, [host(2), host(1), host(3), host(0)]);
        assert_eq!(schedule.next_due(), Some(Time::from_ms(30)));
    }

    #[test]
    fn n26_what_is_kept_comes_up_once_and_in_its_order() {
        let mut schedule = Schedule::default();
        let host = |index| Entry::Host(HostRef { index, generation: 0 });
        for n in 0..300_u32 {
            schedule.push(Time::from_ms(u64::from(n) / 100), host(n % 150), lane(u64::from(n) % 7));
        }
        schedule.advance(Time::from_ms(1));
        let mut expected = schedule_of(300, 1);
        schedule.retain(|_, entry| entry >= host(20));
        let mut seen = HashSet::new();
        expected.retain(|&(_, entry)| entry >= host(20) && seen.insert(entry));
        assert_eq!(schedule.len(), 130);
        let rest = Time::from_ms(9);
        let come_up = std::iter::from_fn(|| {
            let next = schedule.pop();
            next.or_else(|| {
                schedule.advance(rest);
                schedule.pop()
            })
        });
        let come_up: HashSet<Entry> = come_up.map(|(_, entry)| entry).collect();
        assert_eq!(come_up.len(), 130);
        assert!(expected.iter().all(|(_, entry)| come_up.contains(entry)));
    }

    /// Makes a schedule of the same entries, and returns everything that comes up.
    fn schedule_of(entries: u32, now: u64) -> Vec<(Time, Entry)> {
        let mut schedule = Schedule::default();
        for n in 0..entries {
            let entry = Entry::Host(HostRef { index: n % 150, generation: 0 });
            schedule.push(Time::from_ms(u64::from(n) / 100), entry, lane(u64::from(n) % 7));
        }
        schedule.advance(Time::from_ms(now));
        std::iter::from_fn(|| schedule.pop()).collect()
    }

    #[test]
    fn a_lane_of_a_thousand_and_a_lane_of_one_have_turns_alike() {
        let mut schedule = Schedule::default();
        let host = |index| Entry::Host(HostRef { index, generation: 0 });
        (0..1_000).for_each(|index| schedule.push(Time::from_ms(0), host(index), lane(1)));
        schedule.advance(Time::from_ms(0));
        let first: Vec<_> = (0..10).map(|_| schedule.pop().unwrap().1).collect();
        assert_eq!(first, (0..10).map(host).collect::<Vec<_>>());
        // one of another lane that comes again and again has every other turn
        for n in 0..900 {
            schedule.push(Time::from_ms(n), host(2_000), lane(2));
            schedule.advance(Time::from_ms(n));
            let two = [schedule.pop().unwrap().1, schedule.pop().unwrap().1];
            assert!(two.contains(&host(2_000)), "{n}: {two:?}");
        }
    }

    #[test]
    fn a_lane_whose_turns_cost_more_has_fewer_of_them_and_none_waits_for_ever() {
        let mut schedule = Schedule::default();
        let host = |index| Entry::Host(HostRef { index, generation: 0 });
        let lane = |n, cost| Some(Lane { domain: Fingerprint::from_bits(n), cost });
        let now = Time::from_ms(0);
        (0..1_000).for_each(|n| schedule.push(now, host(n), lane(1, 1)));
        (1_000..2_000).for_each(|n| schedule.push(now, host(n), lane(2, 10)));
        schedule.advance(now);
        let first: Vec<Entry> = (0..1_000).map(|_| schedule.pop().unwrap().1).collect();
        let dear = first.iter().filter(|&&entry| entry >= host(1_000)).count();
        assert!((85..=95).contains(&dear), "one of eleven: {dear}");
        assert_eq!(std::iter::from_fn(|| schedule.pop()).count(), 1_000);
    }

    #[test]
    fn ever_new_lanes_whose_turns_cost_more_wait_for_their_first_one_too() {
        let mut schedule = Schedule::default();
        let host = |index| Entry::Host(HostRef { index, generation: 0 });
        let now = Time::from_ms(0);
        let mut served = 0;
        for n in 0..100_u32 {
            schedule.push(now, host(0), Some(Lane { domain: Fingerprint::from_bits(0), cost: 1 }));
            schedule.push(now, host(n + 1), Some(Lane { domain: Fingerprint::from_bits(u64::from(n) + 1), cost: 100 }));
            schedule.advance(now);
            served += usize::from(schedule.pop().unwrap().1 == host(0));
        }
        assert!(served >= 98, "{served}");
    }

    #[test]
    fn lanes_without_end_hold_up_nobody_for_ever() {
        let mut schedule = Schedule::default();
        let host = |index| Entry::Host(HostRef { index, generation: 0 });
        let lane = |n: u32| lane(n.into());
        let now = Time::from_ms(0);
        (0..100).for_each(|n| schedule.push(now, host(n), lane(0)));
        // two new ones for each that is served, each of a lane of its own
        let mut served = 0;
        for n in (1_000..200_000).step_by(2) {
            (n..n + 2).for_each(|n| schedule.push(now, host(n), lane(n)));
            schedule.advance(now);
            served += usize::from(schedule.pop().unwrap().1 < host(1_000));
        }
        assert!(served >= 8, "{served}");
    }

    #[test]
    fn lanes_that_are_not_in_line_are_forgotten() {
        let mut schedule = Schedule::default();
        for n in 0..100_000_u32 {
            let entry = Entry::Host(HostRef { index: n, generation: 0 });
            schedule.push(Time::from_ms(n.into()), entry, lane(n.into()));
            schedule.advance(Time::from_ms(n.into()));
            assert!(schedule.pop().is_some());
        }
        assert!(schedule.lanes.len() <= LANES_SPARE + 8, "{}", schedule.lanes.len());
    }
}
