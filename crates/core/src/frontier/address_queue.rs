//! The queue of hosts that wait for one address.
//!
//! Hosts that have answered come first, then those that nobody has asked, then those that were asked and never
//! answered; every fourth turn goes to the last of these that there are, so that nobody waits for ever. Among equals
//! registrable domains take turns: a domain of hosts without end has as many as one of a single host.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::schedule::HostRef;
use crate::fingerprint::{ByFingerprint, Fingerprint};

/// The number of turns of which one is for those that come last.
const LAST_EVERY: u32 = 4;

/// Knowledge of a host that waits: whether it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Acquaintance {
    /// A host that has answered.
    Answers,
    /// A host that nobody has asked.
    New,
    /// A host that was asked and never answered.
    Silent,
}

/// A host that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingHost {
    pub host: HostRef,
    pub domain: Fingerprint,
    pub acquaintance: Acquaintance,
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct AddressQueue {
    /// Domains by what is known of their hosts, one rank for each [`Acquaintance`].
    ranks: [Domains; 3],
    turns: u32,
}

/// Domains that take turns: each has one in a round, and one that comes has it in the round that goes on unless it had
/// it there.
#[derive(Debug, Default)]
struct Domains {
    round: u64,
    had_turn: HashSet<Fingerprint>,
    made: u64,
    /// Domains that wait, by round and in the order in which they came.
    order: BTreeMap<(u64, u64), Fingerprint>,
    hosts: ByFingerprint<VecDeque<HostRef>>,
}

impl Domains {
    fn push(&mut self, domain: Fingerprint, host: HostRef) {
        let hosts = self.hosts.entry(domain).or_default();
        hosts.push_back(host);
        if hosts.len() == 1 {
            let round = self.round + u64::from(self.had_turn.contains(&domain));
            self.enter(round, domain);
        }
    }

    fn enter(&mut self, round: u64, domain: Fingerprint) {
        self.made += 1;
        self.order.insert((round, self.made), domain);
    }

    fn pop(&mut self) -> Option<HostRef> {
        let ((round, _), domain) = self.order.pop_first()?;
        if round > self.round {
            self.round = round;
            self.had_turn.clear();
        }
        self.had_turn.insert(domain);
        let hosts = self.hosts.get_mut(&domain)?;
        let first = hosts.pop_front();
        match hosts.is_empty() {
            true => drop(self.hosts.remove(&domain)),
            false => self.enter(round + 1, domain),
        }
        first
    }

    fn retain(&mut self, mut keep: impl FnMut(HostRef) -> bool) {
        let Domains { order, hosts, .. } = self;
        order.retain(|_, domain| {
            let Some(of_domain) = hosts.get_mut(domain) else { return false };
            of_domain.retain(|&host| keep(host));
            let is_empty = of_domain.is_empty();
            if is_empty {
                hosts.remove(domain);
            }
            !is_empty
        });
    }
}

impl AddressQueue {
    /// A host waits behind those of its kind.
    pub(super) fn push(&mut self, waiting: WaitingHost) {
        self.ranks[waiting.acquaintance as usize].push(waiting.domain, waiting.host);
    }

    /// The host whose turn it is.
    pub(super) fn pop(&mut self) -> Option<HostRef> {
        self.turns = self.turns.wrapping_add(1);
        match self.turns.is_multiple_of(LAST_EVERY) {
            true => self.ranks.iter_mut().rev().find_map(Domains::pop),
            false => self.ranks.iter_mut().find_map(Domains::pop),
        }
    }

    /// Returns whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.ranks.iter().all(|domains| domains.order.is_empty())
    }

    /// Keeps the places of those that are `live`, of several of one host the first; `seen` has those of other queues.
    pub(super) fn retain(&mut self, live: impl Fn(HostRef) -> bool, seen: &mut HashSet<HostRef>) {
        self.ranks.iter_mut().for_each(|domains| domains.retain(|host| live(host) && seen.insert(host)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(waiting: &[(u32, u64, Acquaintance)]) -> AddressQueue {
        let mut queue = AddressQueue::default();
        for &(index, domain, acquaintance) in waiting {
            let host = HostRef { index, generation: 0 };
            queue.push(WaitingHost { host, domain: Fingerprint::from_bits(domain), acquaintance });
        }
        queue
    }

    fn order(mut queue: AddressQueue) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).map(|host| host.index).collect()
    }

    #[test]
    fn domains_take_turns_however_many_hosts_they_have() {
        use Acquaintance::Answers;
        let waiting = [(1, 1, Answers), (2, 1, Answers), (3, 1, Answers), (4, 2, Answers), (5, 3, Answers)];
        assert_eq!(order(queue(&waiting)), [1, 4, 5, 2, 3]);
    }

    #[test]
    fn a_domain_that_comes_again_and_again_has_every_other_turn_beside_one_of_many_hosts() {
        use Acquaintance::Answers;
        let hosts: Vec<_> = (10..20).map(|index| (index, 1, Answers)).collect();
        let mut queue = queue(&hosts);
        let again = WaitingHost {
            host: HostRef { index: 1, generation: 0 },
            domain: Fingerprint::from_bits(2),
            acquaintance: Answers,
        };
        let mut found = Vec::new();
        for _ in 0..3 {
            queue.push(again);
            found.extend([queue.pop(), queue.pop()].into_iter().flatten().map(|host| host.index));
        }
        assert_eq!(found, [10, 1, 11, 1, 12, 1]);
        // it waits for one turn at most, also where it comes late
        found = (0..3).filter_map(|_| queue.pop()).map(|host| host.index).collect();
        queue.push(again);
        found.extend(queue.pop().map(|host| host.index));
        assert_eq!(found, [13, 14, 15, 1]);
    }

    #[test]
    fn hosts_that_answer_come_first_and_one_turn_of_four_is_for_those_that_do_not() {
        use Acquaintance::{Answers, New, Silent};
        let mut waiting: Vec<_> = (10..14).map(|index| (index, u64::from(index), Silent)).collect();
        waiting.extend((20..22).map(|index| (index, u64::from(index), New)));
        waiting.extend((30..36).map(|index| (index, u64::from(index), Answers)));
        assert_eq!(order(queue(&waiting)), [30, 31, 32, 10, 33, 34, 35, 11, 20, 21, 12, 13]);
    }

    #[test]
    fn who_does_not_wait_any_more_is_left_out_and_nobody_is_there_twice() {
        use Acquaintance::Answers;
        let mut queue = queue(&[(1, 1, Answers), (2, 1, Answers), (1, 1, Answers), (3, 2, Answers)]);
        let mut seen = HashSet::new();
        queue.retain(|host| host.index != 2, &mut seen);
        assert_eq!((seen.len(), order(queue)), (2, vec![1, 3]));
        assert!(AddressQueue::default().is_empty());
    }
}
