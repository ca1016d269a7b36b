//! The commit protocol of a crawl on many machines, checked: all states of small configurations, breadth first.
//!
//! A state has nodes with engines and directories, the registry (owners, heads, the quota, the end), the store, and
//! transactions, puts and deletions on their way. What an engine decides by pure rules it decides here by the same
//! functions: what is read next and up to which revision everything is read ([`Reading`]), which link file goes
//! ([`News::is_read_by_all`]), whether the crawl is over ([`News::is_end`]). The rest is reported again in few words,
//! and a mistake can be planted in each of it: the test shows that the search finds it.
//!
//! What makes it small enough: states that differ by the order of nodes only are one; transactions that cannot change
//! anything any more and for which nobody waits are dropped, for whenever they arrive the state is the same;
//! a put and a deletion are steps of their own only where `fine` says so, since nobody looks at objects that no head
//! names but a sweep and a recovery. Contents of checkpoints are kept once, and named by number.
//!
//! A connection that is cut one way is a set of messages: requests whose answers are lost, and requests that arrive
//! late or never. What the watch brings is a way of its own: a node knows its own commits by their answers, and those
//! of others when its watch brings them.
//!
//! Not in it: time (leases count from the request; hosts wait after a change of owner), the bytes of files, and the
//! content of objects beyond what they name.
//!
//! [`Reading`]: crawler::exchange::Reading
//! [`News::is_read_by_all`]: crawler::exchange::News::is_read_by_all
//! [`News::is_end`]: crawler::exchange::News::is_end

mod bounds;
mod checkpoint;
mod configurations;
mod engine;
mod judge;
mod model;
mod moves;
mod ownership;
mod registry;
mod search;
mod shipping;
mod state;
mod web;

use bounds::{Bounds, Mistake};
use configurations::{LARGE, MISTAKEN, SMALL};
use search::search;

/// States of a small configuration at most, and of a large one.
const SMALL_MAX: usize = 200_000;
const LARGE_MAX: usize = 60_000_000;

fn hold(all: &[Bounds], states_max: usize) {
    for &bounds in all {
        let before = cpu_seconds();
        let found = search(bounds, states_max);
        println!("{found}, {:.1} s of CPU", cpu_seconds() - before);
        assert!(found.broken.is_none(), "{found}");
        // a shard says with its first checkpoint that it is idle, and with a second that it has read what came then
        let may_end = bounds.numbers[..bounds.shards].iter().all(|&numbers| numbers > 1);
        assert!(found.ends > 0 || !may_end, "{}: no crawl comes to its end", bounds.name);
    }
}

#[test]
fn the_commit_protocol_holds_in_all_states_of_small_configurations() {
    hold(SMALL, SMALL_MAX);
}

/// `cargo test --release --test engine -- --ignored --nocapture commit_protocol`, some of them with
/// `CLUSTER_MODEL=words of their names`.
#[test]
#[ignore = "takes minutes in a release build"]
fn the_commit_protocol_holds_in_all_states_of_large_configurations() {
    let words = std::env::var("CLUSTER_MODEL").unwrap_or_default();
    let chosen: Vec<Bounds> = LARGE.iter().copied().filter(|bounds| bounds.name.contains(&words)).collect();
    assert!(!chosen.is_empty(), "no large configuration is named {words:?}");
    hold(&chosen, LARGE_MAX);
}

#[test]
fn every_mistake_in_the_commit_protocol_is_found() {
    let planted: Vec<Mistake> = MISTAKEN.iter().filter_map(|bounds| bounds.mistake).collect();
    assert!(planted.iter().map(|&mistake| mistake as usize).eq(0..=Mistake::LAST as usize), "all, in their order");
    for &bounds in MISTAKEN {
        let found = search(bounds, SMALL_MAX);
        println!("{found}");
        assert!(found.broken.is_some(), "{:?} is not found in {} states", bounds.mistake, found.states);
    }
}

/// Seconds that this thread has computed so far; 0 where the system does not say.
fn cpu_seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = schedstat.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}
