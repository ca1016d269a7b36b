//! The assignment of shards to nodes: the same answer at every node that knows the same nodes.
//!
//! Rendezvous hashing (Thaler and Ravishankar 1998) with weights and a bounded load (after Mirrokni, Thorup and
//! Zadimoghaddam 2018): each shard has an order of preference of all nodes, by a hash of both and the node's weight; no
//! node gets more than 1.05 times its share, rounded up. A node that is full keeps the shards that rank it best (stable
//! matching after Gale and Shapley), so that the result does not depend on the order of the shards, and a node that
//! comes or goes moves little beyond its own shards.
//!
//! All in whole numbers: logarithms of floating-point numbers are not the same on all machines.

use crate::fingerprint::mix_next;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A node as the assignment sees it. All nodes have to be given in the same order everywhere: by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The number of shards it can take, in relation to others. 0: none.
    pub weight: u32,
    /// Shards that it cannot run.
    pub cannot: Vec<u32>,
}

/// Rank of a node for a shard. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rank {
    /// `-log2` of a hash in (0, 1], with 32 bits behind the point; exponentially distributed.
    distance: u64,
    weight: u32,
    node: u32,
}

impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> Ordering {
        let scaled = |of: &Rank, by: &Rank| u128::from(of.distance) * u128::from(by.weight);
        scaled(self, other).cmp(&scaled(other, self)).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The index of the node that is meant to have each shard; `None` where there is none that can.
pub(crate) fn assign(shards: u32, nodes: &[Candidate]) -> Vec<Option<usize>> {
    let seeds: Vec<u64> = nodes.iter().map(|node| hash_of(&node.name)).collect();
    let total: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
    let places: Vec<usize> = nodes.iter().map(|node| places(shards, node.weight, total)).collect();
    // by node its shards, the one that ranks it worst on top
    let mut has: Vec<BinaryHeap<(u64, u32)>> = nodes.iter().map(|_| BinaryHeap::new()).collect();
    let mut assigned: Vec<Option<usize>> = vec![None; shards as usize];
    for first in 0..shards {
        let mut looking = Some((first, None));
        while let Some((shard, after)) = looking.take() {
            let Some(rank) = next(shard, after, nodes, &seeds) else {
                continue;
            };
            let node = rank.node as usize;
            has[node].push((rank.distance, shard));
            assigned[shard as usize] = Some(node);
            if has[node].len() > places[node] {
                let (distance, refused) = has[node].pop().expect("one was pushed");
                assigned[refused as usize] = None;
                looking = Some((refused, Some(Rank { distance, weight: rank.weight, node: rank.node })));
            }
        }
    }
    // nodes that cannot run some shards may leave them to nodes that are full
    for shard in 0..shards {
        let node = &mut assigned[shard as usize];
        *node = node.or_else(|| next(shard, None, nodes, &seeds).map(|rank| rank.node as usize));
    }
    assigned
}

/// The indices of all nodes that can run the shard, the preferred ones first.
pub(crate) fn preferred(shard: u32, nodes: &[Candidate]) -> Vec<usize> {
    let mut ranks: Vec<Rank> =
        (0..nodes.len()).filter_map(|at| rank(shard, at, &nodes[at], hash_of(&nodes[at].name))).collect();
    ranks.sort();
    ranks.into_iter().map(|rank| rank.node as usize).collect()
}

/// The node that the shard prefers among those behind `after`.
fn next(shard: u32, after: Option<Rank>, nodes: &[Candidate], seeds: &[u64]) -> Option<Rank> {
    let ranks = nodes.iter().zip(seeds).enumerate().filter_map(|(at, (node, &seed))| rank(shard, at, node, seed));
    ranks.filter(|rank| after.is_none_or(|after| *rank > after)).min()
}

fn rank(shard: u32, at: usize, node: &Candidate, seed: u64) -> Option<Rank> {
    if node.weight == 0 || node.cannot.contains(&shard) {
        return None;
    }
    let distance = distance(mix_next(seed ^ mix_next(u64::from(shard))));
    Some(Rank { distance, weight: node.weight, node: u32::try_from(at).expect("there are few nodes") })
}

/// 1.05 times the share, rounded up.
fn places(shards: u32, weight: u32, total: u64) -> usize {
    if weight == 0 {
        return 0;
    }
    let share = u128::from(shards) * u128::from(weight) * 105;
    usize::try_from(share.div_ceil(u128::from(total) * 100)).unwrap_or(usize::MAX)
}

/// `-log2((hash + 1) / 2^64)`, with 32 bits behind the point.
fn distance(hash: u64) -> u64 {
    let Some(value) = hash.checked_add(1) else {
        return 0;
    };
    let zeros = value.leading_zeros();
    // the number from 1 to 2 whose logarithm is the fraction, with 63 bits behind the point
    let mut mantissa = value << zeros;
    let mut fraction: u64 = 0;
    for _ in 0..32 {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let is_above_two = square >> 64 != 0;
        fraction = fraction << 1 | u64::from(is_above_two);
        mantissa = u64::try_from(if is_above_two { square >> 1 } else { square }).expect("below two");
    }
    ((u64::from(zeros) + 1) << 32) - fraction
}

/// FNV-1a, mixed.
fn hash_of(name: &str) -> u64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    mix_next(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: usize) -> Vec<Candidate> {
        (0..count).map(|at| Candidate { name: format!("node-{at:03}"), weight: 1, cannot: Vec::new() }).collect()
    }

    fn loads(assigned: &[Option<usize>], count: usize) -> Vec<usize> {
        let mut loads = vec![0; count];
        assigned.iter().for_each(|node| loads[node.unwrap()] += 1);
        loads
    }

    #[test]
    fn no_node_has_more_than_its_share_and_a_twentieth() {
        for (shards, count) in [(1, 1), (1, 3), (4, 3), (64, 10), (512, 100), (512, 7), (4_096, 100)] {
            let assigned = assign(shards, &nodes(count));
            let most = (u64::from(shards) * 105).div_ceil(count as u64 * 100) as usize;
            let loads = loads(&assigned, count);
            assert!(loads.iter().all(|&load| load <= most), "{shards} shards, {count} nodes: {loads:?}");
        }
    }

    #[test]
    fn weights_are_kept_to() {
        let mut nodes = nodes(10);
        nodes[3].weight = 4;
        nodes[7].weight = 0;
        let loads = loads(&assign(1_200, &nodes), 10);
        assert_eq!(loads[7], 0);
        assert!((380..=420).contains(&loads[3]), "{loads:?}: a third of 1,200");
        assert!(loads.iter().enumerate().all(|(at, &load)| at == 3 || load <= 105), "{loads:?}");
    }

    #[test]
    fn a_node_that_comes_or_goes_moves_little_beside_its_own_shards() {
        for (shards, count) in [(64, 10), (512, 100), (1_024, 20)] {
            let all = nodes(count + 1);
            let after = assign(shards, &all);
            for gone in [0, count / 2, count] {
                let mut left = all.clone();
                left.remove(gone);
                let before = assign(shards, &left);
                let name = |nodes: &[Candidate], node: Option<usize>| nodes[node.unwrap()].name.clone();
                let moved = (0..shards as usize).filter(|&at| name(&left, before[at]) != name(&all, after[at]));
                let (moved, own) = (moved.count(), after.iter().filter(|node| **node == Some(gone)).count());
                assert!(moved >= own);
                let beside = (moved - own) as f64 / f64::from(shards);
                assert!(beside <= 0.12, "{shards} shards, {count} nodes: {moved} moved, {own} of the node");
            }
        }
    }

    #[test]
    fn shards_that_a_node_cannot_run_are_left_to_others_also_above_their_share() {
        let mut two = nodes(2);
        two[0].cannot = (0..16).collect();
        let assigned = assign(16, &two);
        assert!(assigned.iter().all(|node| *node == Some(1)));
        two[1].cannot = vec![5];
        assert_eq!(assign(16, &two)[5], None);
        assert_eq!(assign(3, &[]), [None; 3]);
        assert_eq!((preferred(5, &two), preferred(6, &two)), (vec![], vec![1]));
    }

    #[test]
    fn the_order_of_preference_begins_with_the_assigned_node_where_all_have_places() {
        let three = nodes(3);
        for shard in 0..3 {
            let order = preferred(shard, &three);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
            let alone = [three[order[0]].clone(), three[order[2]].clone()];
            assert_eq!(preferred(shard, &alone)[0], 0, "taking one away changes nothing between the others");
        }
    }

    #[test]
    fn distances_are_logarithms() {
        assert_eq!((distance(u64::MAX), distance((1 << 63) - 1), distance(0)), (0, 1 << 32, 64 << 32));
        for hash in [1, 12_345, 1 << 40, 0x9e37_79b9_7f4a_7c15, u64::MAX - 1] {
            let exact = 64.0 - (hash as f64 + 1.0).log2();
            let found = distance(hash) as f64 / f64::from(1 << 16) / f64::from(1 << 16);
            assert!((exact - found).abs() < 1e-6, "{hash}: {exact}, {found}");
        }
    }

    /// Nodes of other versions have to agree.
    #[test]
    fn the_assignment_is_the_same_for_ever() {
        let found: Vec<usize> = assign(16, &nodes(3)).into_iter().map(Option::unwrap).collect();
        assert_eq!(found, FROZEN);
    }

    const FROZEN: [usize; 16] = [0, 1, 1, 0, 0, 1, 1, 0, 1, 2, 2, 2, 2, 0, 1, 0];
}
