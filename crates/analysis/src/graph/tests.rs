//! Measures beside their definitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::disk::scratch::Scratch;

/// A graph in memory.
struct Model {
    names: Vec<String>,
    links: BTreeSet<(usize, usize)>,
}

impl Model {
    /// Some hosts that get most of the links, many that get few, and some from which none leads on.
    fn random(random: &mut fastrand::Rng, hosts: usize, links: usize) -> Model {
        let names: BTreeSet<String> = (0..hosts).map(|at| format!("org.{}.h{at}", random.u32(..))).collect();
        let names: Vec<String> = names.into_iter().collect();
        let mut picked = BTreeSet::new();
        for _ in 0..links {
            let from = random.usize(..names.len());
            let to = if random.bool() { random.usize(..names.len().div_ceil(20)) } else { random.usize(..names.len()) };
            if !from.is_multiple_of(7) && from != to {
                picked.insert((from, to));
            }
        }
        Model { names, links: picked }
    }

    fn graph(&self, memory: usize) -> Graph {
        let mut builder = Builder::new(memory);
        for name in &self.names {
            builder.host(name, name).unwrap();
            builder.host(name, name).unwrap();
        }
        for &(from, to) in self.links.iter().chain(&self.links) {
            builder.link(&self.names[from], &self.names[to]).unwrap();
            builder.link(&self.names[from], &self.names[from]).unwrap();
        }
        builder.finish().unwrap()
    }

    /// Computes it by the definition: a walk from each host.
    fn harmonic(&self) -> Vec<f64> {
        let mut next = vec![Vec::new(); self.names.len()];
        self.links.iter().for_each(|&(from, to)| next[from].push(to));
        let mut sums = vec![0.0; self.names.len()];
        for start in 0..self.names.len() {
            let (mut distance, mut todo) = (BTreeMap::from([(start, 0)]), VecDeque::from([start]));
            while let Some(at) = todo.pop_front() {
                for &to in &next[at] {
                    if !distance.contains_key(&to) {
                        distance.insert(to, distance[&at] + 1);
                        sums[to] += 1.0 / f64::from(distance[&to]);
                        todo.push_back(to);
                    }
                }
            }
        }
        sums
    }

    /// Computes it by the definition: a hundred steps.
    fn page_rank(&self) -> Vec<f64> {
        let hosts = self.names.len();
        let degree = |host: usize| self.links.range((host, 0)..(host + 1, 0)).count();
        let degrees: Vec<usize> = (0..hosts).map(degree).collect();
        let mut ranks = vec![1.0 / hosts as f64; hosts];
        for _ in 0..150 {
            let stuck: f64 = (0..hosts).filter(|&host| degrees[host] == 0).map(|host| ranks[host]).sum();
            let mut next = vec![(0.15 + 0.85 * stuck) / hosts as f64; hosts];
            self.links.iter().for_each(|&(from, to)| next[to] += 0.85 * ranks[from] / degrees[from] as f64);
            ranks = next;
        }
        ranks
    }
}

fn numbers(stored: &Scratch) -> Vec<f64> {
    let mut reader = stored.read();
    std::iter::from_fn(|| reader.next_f64().unwrap()).collect()
}

fn assert_near(found: &[f64], expected: &[f64], off: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= off * expected.max(1e-3), "{what}: {at} has {found}, not {expected}");
    }
}

#[test]
fn measures_are_those_of_their_definitions_whatever_the_memory() {
    let seed = fastrand::u64(..);
    for hosts in [1, 2, 9, 64, 65, 400] {
        let model = Model::random(&mut fastrand::Rng::with_seed(seed), hosts, hosts * 4);
        let graph = model.graph(1 << 20);
        let count = graph.names.count();
        let names: Vec<String> = graph.names.each().map(|name| name.unwrap().name).collect();
        assert_eq!(names, model.names, "seed {seed}");
        let links: BTreeSet<_> =
            graph.edges.each().map(|e| e.unwrap()).map(|(a, b)| (a as usize, b as usize)).collect();
        assert_eq!((&links, graph.edges.count()), (&model.links, model.links.len() as u64), "seed {seed}");
        let (harmonic, page_rank) = (model.harmonic(), model.page_rank());
        // all hosts in one block, some in each, one in each
        for memory in [1 << 20, 1_000, 1] {
            let what = format!("seed {seed}, {hosts} hosts, {memory} bytes");
            let found = harmonic::of(&graph.edges, count, memory).unwrap();
            assert_near(&numbers(&found), &harmonic, 1e-9, &what);
            let found = page_rank::of(&graph.edges, count, memory).unwrap();
            assert_near(&numbers(&found), &page_rank, 1e-5, &what);
        }
    }
}

#[test]
fn estimates_are_near_what_they_estimate_and_the_same_whatever_the_memory() {
    let model = Model::random(&mut fastrand::Rng::with_seed(11), 1_500, 9_000);
    let graph = model.graph(1 << 20);
    let count = graph.names.count();
    let estimated = numbers(&harmonic::of_balls(&graph.edges, count, 1 << 20, false).unwrap());
    // a standard error of 6.5 %, here of sums of balls; five of them
    assert_near(&estimated, &model.harmonic(), 0.33, "seed 11");
    let off: f64 = estimated.iter().zip(model.harmonic()).map(|(a, b)| ((a - b) / b.max(1.0)).abs()).sum();
    assert!(off / f64::from(count) < 0.065, "{}", off / f64::from(count));
    assert_eq!(numbers(&harmonic::of_balls(&graph.edges, count, 20_000, false).unwrap()), estimated);
}

#[test]
fn ranks_are_in_order_and_tell_members_and_in_degrees() {
    let mut builder = Builder::new(1 << 20);
    for (name, member) in [("org.b", "org.b.www"), ("org.a", "org.a"), ("org.b", "org.b"), ("com.c", "com.c")] {
        builder.host(name, member).unwrap();
    }
    for (from, to) in [("org.a", "org.b"), ("com.c", "org.b"), ("org.b", "com.c"), ("org.a", "gone")] {
        builder.link(from, to).unwrap();
    }
    let ranks: Vec<Rank> = builder.finish().unwrap().ranks().unwrap().map(Result::unwrap).collect();
    let told = |rank: &Rank| (rank.name.clone(), rank.members, rank.harmonic, rank.in_degree, rank.harmonic_place);
    let told: Vec<_> = ranks.iter().map(told).collect();
    let expected = [("org.b", 2, 2.0, 2, 1), ("com.c", 1, 1.5, 1, 2), ("org.a", 1, 0.0, 0, 3)];
    assert_eq!(told, expected.map(|(name, members, h, degree, place)| (name.to_owned(), members, h, degree, place)));
    assert_eq!(ranks.iter().map(|rank| rank.page_rank_place).collect::<Vec<_>>(), [1, 2, 3]);
    assert!((ranks.iter().map(|rank| rank.page_rank).sum::<f64>() - 1.0).abs() < 1e-6);
    let none: Vec<_> = Builder::new(1 << 20).finish().unwrap().ranks().unwrap().collect();
    assert!(none.is_empty());
}
