//! Suspects that wait: hosts at addresses where others stay silent, while no place is free for them.
//!
//! They may be thousands, and a place may take a minute to become free. So they are not asked one by one: they wait in a
//! line for each network, and one entry of the schedule looks now and then how many places there are. So many have their
//! turn then, of each network one after the other; and those of a network that is silent no more, as many as it may have.
//! One that finds no place nevertheless, because others were faster, waits again.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::ops::Bound;
use std::time::Duration;

use super::Frontier;
use super::host::Place;
use super::schedule::{Entry, HostRef};
use crate::clock::Time;

/// Whether there are places is looked at so often: oftener than an answer is forgotten.
const LOOK_EVERY: Duration = Duration::from_millis(100);

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

    /// The first one of the network whose turn it is.
    fn pop_in_turn(&mut self) -> Option<HostRef> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind = self.lines.range((after, Bound::Unbounded));
        let network = *behind.next().or_else(|| self.lines.first_key_value())?.0;
        self.last = Some(network);
        self.pop(network)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether the lines come up in the schedule.
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
    /// A host for which there is no place waits until there is one.
    pub(super) fn wait_as_suspect(&mut self, index: u32, network: IpAddr, now: Time) {
        self.put(index, Place::Suspect, now);
        let reference = self.active.reference(index);
        self.suspects.push(network, reference);
        self.look_again(now);
        self.sweep_schedule();
    }

    fn look_again(&mut self, now: Time) {
        if self.suspects.len() > 0 && !std::mem::replace(&mut self.suspects.scheduled, true) {
            self.schedule.push(now + LOOK_EVERY, Entry::Suspects, None);
        }
    }

    /// Lets as many come up as there are places, and those that are suspects no more.
    pub(super) fn serve_suspects(&mut self, now: Time) {
        self.suspects.scheduled = false;
        let trusted: Vec<(IpAddr, usize)> = (self.suspects.lines.keys())
            .filter_map(|&network| Some((network, self.strangers.may_begin(network, now)?)))
            .collect();
        for (network, may_begin) in trusted {
            let mut woken = 0;
            while woken < may_begin
                && let Some(reference) = self.suspects.pop(network)
            {
                woken += usize::from(self.wake_suspect(reference, now));
            }
        }
        let mut places = self.strangers.room();
        while places > 0
            && let Some(reference) = self.suspects.pop_in_turn()
        {
            places -= usize::from(self.wake_suspect(reference, now));
        }
        self.look_again(now);
    }

    /// Whether the host of `reference` still waited.
    fn wake_suspect(&mut self, reference: HostRef, now: Time) -> bool {
        let waits = |&index: &u32| self.active.host(index).place == Place::Suspect;
        let Some(index) = self.active.resolve(reference).filter(waits) else { return false };
        self.come_again(index, now, now);
        true
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
        for (network, index) in [(1, 0), (1, 1), (1, 2), (2, 3), (3, 4), (3, 5)] {
            suspects.push(ip(network), host(index));
        }
        suspects.retain(|host| host.index != 1);
        assert_eq!(suspects.len(), 5);
        let turns: Vec<u32> = std::iter::from_fn(|| suspects.pop_in_turn()).map(|host| host.index).collect();
        assert_eq!(turns, [0, 3, 4, 2, 5]);
        assert_eq!((suspects.len(), suspects.lines.len()), (0, 0));
    }
}
