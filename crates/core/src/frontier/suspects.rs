//! Suspects that wait: hosts at addresses where others stay silent, while no place is free for them, or where as many
//! first contacts are in progress as may be and it is not known yet what these come to.
//!
//! They may be thousands, and a place may take a minute to become free. So they are not asked one by one: they wait in
//! a line for each network. Each answer there lets some of them come up at once; beside that, one entry of the schedule
//! looks now and then how many places there are. So many have their turn then, of each silent network one after the
//! other. One that finds no place nevertheless, because others were faster, waits again.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::ops::Bound;

use super::Frontier;
use super::host::WaitState;
use super::schedule::{Entry, HostRef};
use super::tuning::SUSPECTS_LOOK_EVERY;
use crate::clock::Time;

/// Lines of hosts by their networks.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    lines: BTreeMap<IpAddr, VecDeque<HostRef>>,
    /// Places in all lines, also of hosts that wait no longer.
    len: usize,
    /// The network that had the last turn.
    last: Option<IpAddr>,
    scheduled: bool,
}

impl Suspects {
    fn push(&mut self, network: IpAddr, host: HostRef) {
        self.lines.entry(network).or_default().push_back(host);
        self.len += 1;
    }

    fn pop(&mut self, network: IpAddr) -> Option<HostRef> {
        let line = self.lines.get_mut(&network)?;
        let first = line.pop_front();
        self.len -= usize::from(first.is_some());
        if line.is_empty() {
            self.lines.remove(&network);
        }
        first
    }

    /// The networks, the one first that comes after the one that had the last turn.
    fn in_turn(&self) -> impl Iterator<Item = IpAddr> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let had_turn = self.last.into_iter().flat_map(move |last| self.lines.range(..=last));
        self.lines.range((after, Bound::Unbounded)).chain(had_turn).map(|(&network, _)| network)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the lines are in the schedule.
    pub(super) fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// Keeps the places of those that are `live`.
    pub(super) fn retain(&mut self, live: impl Fn(HostRef) -> bool) {
        self.lines.values_mut().for_each(|line| line.retain(|&host| live(host)));
        self.lines.retain(|_, line| !line.is_empty());
        self.len = self.lines.values().map(VecDeque::len).sum();
    }
}

impl Frontier {
    /// A host that may not be contacted at `network` now waits until it may.
    pub(super) fn wait_as_suspect(&mut self, index: u32, network: IpAddr, now: Time) {
        self.put(index, WaitState::Suspect, now);
        let reference = self.active.reference(index);
        self.suspects.push(network, reference);
        self.look_again(now);
        self.sweep_schedule();
    }

    fn look_again(&mut self, now: Time) {
        if self.suspects.len() > 0 && !std::mem::replace(&mut self.suspects.scheduled, true) {
            self.schedule.push(now + SUSPECTS_LOOK_EVERY, Entry::Suspects, None);
        }
    }

    /// Lets hosts come up: of networks that are silent as many as there are places, of others as many as these may
    /// have.
    pub(super) fn serve_suspects(&mut self, now: Time) {
        self.suspects.scheduled = false;
        let is_silent = |network: &IpAddr| self.first_contacts.is_silent(*network, now);
        let (mut silent, others): (VecDeque<IpAddr>, VecDeque<IpAddr>) = self.suspects.in_turn().partition(is_silent);
        for network in others {
            self.wake_suspects(network, self.first_contacts.may_begin(network), now);
        }
        let mut places = self.first_contacts.room();
        while places > 0
            && let Some(network) = silent.pop_front()
        {
            if self.wake_suspects(network, 1, now) > 0 {
                places -= 1;
                self.suspects.last = Some(network);
                silent.push_back(network);
            }
        }
        self.look_again(now);
    }

    /// Lets the first `count` hosts of the line of `network` come up that still wait; how many that were.
    pub(super) fn wake_suspects(&mut self, network: IpAddr, count: usize, now: Time) -> usize {
        let mut woken = 0;
        while woken < count
            && let Some(reference) = self.suspects.pop(network)
        {
            let waits = |&index: &u32| self.active.host(index).place == WaitState::Suspect;
            if let Some(index) = self.active.resolve(reference).filter(waits) {
                self.come_again(index, now, now);
                woken += 1;
            }
        }
        woken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n13_networks_have_their_turns_one_after_the_other() {
        let mut suspects = Suspects::default();
        let ip = |n: u8| IpAddr::from([203, 0, 113, n]);
        let host = |index| HostRef { index, generation: 0 };
        for (network, index) in [(1, 0), (1, 1), (2, 2), (3, 3), (3, 4)] {
            suspects.push(ip(network), host(index));
        }
        suspects.retain(|host| host.index != 0);
        assert_eq!(suspects.len(), 4);
        let turns = |suspects: &Suspects| suspects.in_turn().collect::<Vec<_>>();
        assert_eq!(turns(&suspects), [1, 2, 3].map(ip));
        suspects.last = Some(ip(2));
        assert_eq!(turns(&suspects), [3, 1, 2].map(ip));
        assert_eq!(suspects.pop(ip(1)), Some(host(1)));
        assert_eq!((suspects.len(), turns(&suspects)), (3, vec![ip(3), ip(2)]));
    }
}
