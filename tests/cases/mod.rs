//! Runs cases of the simulator: what the quick tests of the engine and the many simulations share.

#![allow(dead_code, reason = "the quick tests need a part of it")]

use std::ops::Range;

use crawler_simulator::simulator::{Broken, Clause, Held, Mistake, run_in_shards, run_on_nodes};

/// Number of shards of the crawls on several machines.
pub const SHARDS: u32 = 4;
/// Number of those machines.
pub const NODES: usize = 3;

/// Fails with the trace of the first case that breaks the contract; returns the sums of all.
pub fn hold(seeds: impl IntoIterator<Item = u64>, shards: impl Fn(u64) -> u32) -> Held {
    sum(seeds, |seed| run_in_shards(seed, None, shards(seed)))
}

/// Does the same with crawls of four shards on three machines.
pub fn hold_on_nodes(seeds: Range<u64>) -> Held {
    sum(seeds, |seed| run_on_nodes(seed, None, SHARDS, NODES))
}

fn sum(seeds: impl IntoIterator<Item = u64>, run: impl Fn(u64) -> Result<Held, Box<Broken>>) -> Held {
    let mut all = Held::default();
    for seed in seeds {
        match run(seed) {
            Ok(held) => all.add(held),
            Err(broken) => panic!("seed {seed}: {}\n{}", broken.violation, broken.trace.join("\n")),
        }
    }
    println!("{all:?}");
    all
}

/// Returns the clause that breaks in the first case of `seeds` that shows the mistake, in a crawl of `shards` shards.
pub fn found_by(mistake: Mistake, seeds: Range<u64>, shards: u32) -> Clause {
    broken(mistake, seeds, |seed| run_in_shards(seed, Some(mistake), shards))
}

/// Does the same with crawls of four shards on three machines.
pub fn found_on_nodes(mistake: Mistake, seeds: Range<u64>) -> Clause {
    broken(mistake, seeds, |seed| run_on_nodes(seed, Some(mistake), SHARDS, NODES))
}

fn broken(mistake: Mistake, seeds: Range<u64>, run: impl Fn(u64) -> Result<Held, Box<Broken>>) -> Clause {
    let broken = seeds.clone().find_map(|seed| run(seed).err());
    let broken = broken.unwrap_or_else(|| panic!("{mistake:?} is not found in {seeds:?}"));
    println!("{mistake:?}: seed {}: {}", broken.seed, broken.violation);
    broken.violation.clause
}
