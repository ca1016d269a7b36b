//! The shards that a node should claim, and those that it should hand over: the assignment, and patience.
//!
//! A shard that is free is claimed by the node that it is assigned to. What that node leaves for [`LEFT`] the next in
//! the shard's order of preference may take too, and after each further such time one more: at last anyone, but not all
//! at once. A node hands over one shard at a time, to a node that is alive, and none that has moved within [`SETTLED`];
//! one that is drained does not wait for that.

use std::collections::HashMap;
use std::time::Duration;

use super::assignment::{self, Candidate};
use super::clocks::Micros;
use super::record::State;
use super::view::View;

/// Time for which a free shard is left to the node that it is assigned to.
pub(crate) const LEFT: Duration = Duration::from_secs(10);
/// A shard that has moved is not handed over again within this time.
pub const SETTLED: Duration = Duration::from_secs(600);
/// A shard that was handed over is waited for, before the next one is, for this long at most.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Shards that a node should claim or hand over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Shards to be claimed now.
    pub claim: Vec<u32>,
    /// Shard to be handed over next: no more requests, the last checkpoint, its commit, the release.
    pub hand_over: Option<u32>,
}

/// Memory of a node about shards.
#[derive(Debug, Default)]
pub(super) struct Balance {
    /// Time since which a shard has had no owner.
    free_since: HashMap<u32, Micros>,
    /// The last owner of a shard that was seen.
    last_owner: HashMap<u32, String>,
    /// Time at which a shard was seen to have changed from one node to another.
    moved_at: HashMap<u32, Micros>,
    /// The shard that this node gave up last because of the assignment, and when.
    handed_over: Option<(u32, Micros)>,
    /// The nodes of the assignment, and the node of each shard.
    nodes: Vec<Candidate>,
    assigned: Vec<Option<usize>>,
}

impl Balance {
    /// Takes note of the owners that there are.
    pub(crate) fn observe(&mut self, view: &View, now: Micros) {
        for (shard, owner) in (0..).zip(&view.owners) {
            let Some(owner) = owner else {
                self.free_since.entry(shard).or_insert(now);
                continue;
            };
            self.free_since.remove(&shard);
            match self.last_owner.get(&shard) {
                Some(last) if *last == owner.node => continue,
                Some(_) => _ = self.moved_at.insert(shard, now),
                None => {}
            }
            self.last_owner.insert(shard, owner.node.clone());
        }
        let candidates = candidates(view);
        if self.nodes != candidates || self.assigned.len() != view.owners.len() {
            self.assigned = assignment::assign(view.shards(), &candidates);
            self.nodes = candidates;
        }
    }

    /// The node has given up the shard.
    pub(crate) fn released(&mut self, shard: u32, now: Micros) {
        self.handed_over = Some((shard, now));
    }

    /// Returns what the node `me` should do.
    pub(crate) fn wanted(&self, view: &View, me: &str, now: Micros) -> Wanted {
        if view.end.is_some() || view.want.state == State::Stop {
            return Wanted::default();
        }
        let claim = (0..view.shards()).filter(|&shard| self.may_claim(view, shard, me, now)).collect();
        Wanted { claim, hand_over: self.hand_over(view, me, now) }
    }

    fn may_claim(&self, view: &View, shard: u32, me: &str, now: Micros) -> bool {
        let Some(&since) = self.free_since.get(&shard) else {
            return false;
        };
        if view.halted.contains_key(&shard) || view.is_draining(me) {
            return false;
        }
        let Some(own) = self.nodes.iter().position(|node| node.name == me) else {
            return false;
        };
        if self.assigned.get(shard as usize) == Some(&Some(own)) {
            return true;
        }
        let turns = now.saturating_sub(since) / micros(LEFT);
        let order = assignment::preferred(shard, &self.nodes);
        let others = order.iter().filter(|&&node| self.assigned[shard as usize] != Some(node));
        turns > 0 && others.take(usize::try_from(turns).unwrap_or(usize::MAX)).any(|&node| node == own)
    }

    fn hand_over(&self, view: &View, me: &str, now: Micros) -> Option<u32> {
        if let Some((shard, at)) = self.handed_over
            && view.owners.get(shard as usize).is_some_and(Option::is_none)
            && now.saturating_sub(at) < micros(ARRIVAL)
        {
            return None;
        }
        let is_draining = view.is_draining(me);
        let has_settled = |shard| self.moved_at.get(&shard).is_none_or(|at| now.saturating_sub(*at) >= micros(SETTLED));
        let is_elsewhere = |shard: u32| {
            let assigned = self.assigned.get(shard as usize).copied().flatten();
            assigned.is_some_and(|node| self.nodes[node].name != me)
        };
        let mut own =
            (0..view.shards()).filter(|&shard| view.owners[shard as usize].as_ref().is_some_and(|at| at.node == me));
        own.find(|&shard| is_elsewhere(shard) && (is_draining || has_settled(shard)))
    }
}

/// The nodes that may have shards, by name. Where all are drained, nobody may.
fn candidates(view: &View) -> Vec<Candidate> {
    let nodes = view.nodes.iter().map(|(name, node)| Candidate {
        name: name.clone(),
        weight: if view.is_draining(name) { 0 } else { node.record.weight },
        cannot: node.record.cannot.clone(),
    });
    nodes.collect()
}

fn micros(time: Duration) -> Micros {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::record::{HaltedRecord, NodeRecord};
    use crate::cluster::view::{NodeAt, OwnerAt};

    const S: Micros = 1_000_000;

    fn view(shards: u32, names: &[&str]) -> View {
        let mut view = View::new(shards);
        for name in names {
            let record = NodeRecord { weight: 1, ..NodeRecord::default() };
            view.nodes.insert((*name).to_owned(), NodeAt { lease: 1, record });
        }
        view
    }

    fn own(view: &mut View, shard: u32, node: &str) {
        view.owners[shard as usize] = Some(OwnerAt { node: node.to_owned(), epoch: 1, lease: 1 });
    }

    #[test]
    fn free_shards_are_claimed_by_their_nodes_and_after_ten_seconds_by_the_next() {
        let view = view(64, &["a", "b", "c"]);
        let mut balance = Balance::default();
        balance.observe(&view, 100 * S);
        let of = |balance: &Balance, name: &str, now| balance.wanted(&view, name, now).claim;
        let all: Vec<u32> = ["a", "b", "c"].iter().flat_map(|name| of(&balance, name, 100 * S)).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).collect::<Vec<u32>>(), "each by one node");
        assert_eq!(of(&balance, "d", 200 * S), [0_u32; 0], "a node that is not there");
        let later: usize = ["a", "b", "c"].iter().map(|name| of(&balance, name, 110 * S).len()).sum();
        assert_eq!(later, 128, "each by one more");
        let latest: usize = ["a", "b", "c"].iter().map(|name| of(&balance, name, 120 * S).len()).sum();
        assert_eq!(latest, 192);
    }

    #[test]
    fn halted_shards_and_those_of_a_crawl_that_stops_are_left() {
        let mut view = view(2, &["a"]);
        let record = HaltedRecord { node: "a".to_owned(), file: "f".to_owned(), offset: 3 };
        view.halted.insert(1, record);
        let mut balance = Balance::default();
        balance.observe(&view, S);
        assert_eq!(balance.wanted(&view, "a", S).claim, [0]);
        view.want.state = State::Stop;
        assert_eq!(balance.wanted(&view, "a", S), Wanted::default());
    }

    #[test]
    fn shards_are_handed_over_one_by_one_when_a_node_joins_and_not_back_at_once() {
        let mut all = view(64, &["a"]);
        let mut balance = Balance::default();
        (0..64).for_each(|shard| own(&mut all, shard, "a"));
        balance.observe(&all, S);
        assert_eq!(balance.wanted(&all, "a", S), Wanted::default());
        all.nodes = view(0, &["a", "b"]).nodes;
        balance.observe(&all, 2 * S);
        let first = balance.wanted(&all, "a", 2 * S).hand_over.unwrap();
        // it is given up, and nothing else is before it has arrived
        all.owners[first as usize] = None;
        balance.released(first, 3 * S);
        balance.observe(&all, 3 * S);
        assert_eq!(balance.wanted(&all, "a", 3 * S), Wanted::default());
        assert_eq!(balance.wanted(&all, "b", 3 * S).claim, [first]);
        own(&mut all, first, "b");
        balance.observe(&all, 4 * S);
        let second = balance.wanted(&all, "a", 4 * S).hand_over.unwrap();
        assert_ne!(first, second);
        // the other one goes and comes again: the shard goes to the first at once, and back after ten minutes
        all.nodes = view(0, &["a"]).nodes;
        all.owners[first as usize] = None;
        balance.observe(&all, 5 * S);
        assert_eq!(balance.wanted(&all, "a", 5 * S).claim, [first]);
        own(&mut all, first, "a");
        all.nodes = view(0, &["a", "b"]).nodes;
        (0..64).filter(|&shard| shard != first).for_each(|shard| own(&mut all, shard, "b"));
        balance.observe(&all, 6 * S);
        assert_eq!(balance.wanted(&all, "a", 605 * S).hand_over, None);
        assert_eq!(balance.wanted(&all, "a", 606 * S).hand_over, Some(first));
    }

    #[test]
    fn a_drained_node_gives_all_up_at_once_and_takes_nothing() {
        let mut view = view(4, &["a", "b"]);
        (0..4).for_each(|shard| own(&mut view, shard, "a"));
        view.draining.insert("a".to_owned());
        let mut balance = Balance::default();
        let mut given = Vec::new();
        for now in 1..5 {
            balance.observe(&view, now * S);
            let shard = balance.wanted(&view, "a", now * S).hand_over.unwrap();
            given.push(shard);
            own(&mut view, shard, "b");
        }
        assert_eq!(given, [0, 1, 2, 3]);
        view.owners[0] = None;
        balance.observe(&view, 10 * S);
        assert_eq!(balance.wanted(&view, "a", 1_000 * S), Wanted::default());
        // without another node there is nobody to hand over to
        view.nodes.remove("b");
        balance.observe(&view, 11 * S);
        assert_eq!(balance.wanted(&view, "a", 11 * S).hand_over, None);
    }
}
