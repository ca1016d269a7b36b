//! Suspects that wait: hosts at addresses where others stay silent, while no place is free for them, or where as many
//! first contacts are in progress as may be and it is not known yet what these come to.
//!
//! They may be thousands, and a place may take a minute to become free. So they are not asked one by one: they wait in
//! a queue for each network. Each answer there lets some of them come up at once; beside that, one entry of the
//! schedule looks now and then how many places there are. So many have their turn then, of each silent network one
//! after the other. One that finds no place nevertheless, because others were faster, waits again.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::ops::Bound;

use super::schedule::HostRef;

/// Lines of hosts by their networks.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    queues: BTreeMap<IpAddr, VecDeque<HostRef>>,
    /// Places in all queues, also of hosts that wait no longer.
    len: usize,
    /// The network that had the last turn.
    last: Option<IpAddr>,
    scheduled: bool,
}

impl Suspects {
    pub(super) fn push(&mut self, network: IpAddr, host: HostRef) {
        self.queues.entry(network).or_default().push_back(host);
        self.len += 1;
    }

    pub(super) fn pop(&mut self, network: IpAddr) -> Option<HostRef> {
        let queue = self.queues.get_mut(&network)?;
        let first = queue.pop_front();
        self.len -= usize::from(first.is_some());
        if queue.is_empty() {
            self.queues.remove(&network);
        }
        first
    }

    /// The networks, the one first that comes after the one that had the last turn.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = IpAddr> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let had_turn = self.last.into_iter().flat_map(move |last| self.queues.range(..=last));
        self.queues.range((after, Bound::Unbounded)).chain(had_turn).map(|(&network, _)| network)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the queues have to come up, and are not in the schedule yet; from now on they are.
    pub(super) fn is_look_due(&mut self) -> bool {
        self.len > 0 && !std::mem::replace(&mut self.scheduled, true)
    }

    /// The queues have come up.
    pub(super) fn note_look(&mut self) {
        self.scheduled = false;
    }

    /// `network` had the last turn.
    pub(super) fn note_turn(&mut self, network: IpAddr) {
        self.last = Some(network);
    }

    /// Returns whether the queues are in the schedule.
    pub(super) fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// Keeps the places of those that are `live`.
    pub(super) fn retain(&mut self, live: impl Fn(HostRef) -> bool) {
        self.queues.values_mut().for_each(|queue| queue.retain(|&host| live(host)));
        self.queues.retain(|_, queue| !queue.is_empty());
        self.len = self.queues.values().map(VecDeque::len).sum();
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
