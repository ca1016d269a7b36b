//! Ownership of shards with a real etcd: claims that race, commits whose claim or whose answer was lost, etcd that is
//! killed, stopped, cut off or replaced, a process that is stopped for longer than its lease.
//!
//! What needs etcd says so where it is not to be had, and checks nothing.

mod away;
mod claims;
mod figures;
mod history;
mod lost_answers;
mod orders;
mod process;
mod proxy;
mod secured;
pub mod server;

use std::time::{Duration, Instant};

use crawler::cluster::{
    Beginning, Claimed, CrawlName, EtcdCrawl, EtcdOptions, EtcdOwnership, HeadRecord, NodeOptions, NodeRecord,
    Ownership, QuotaRecord, SeedsRecord, View,
};
use crawler::web::secret::SecretAddress;
use server::Members;

/// Long enough for a machine that has other things to do.
const LEASE: Duration = Duration::from_secs(8);
const MARGIN: Duration = Duration::from_secs(3);
/// Nothing takes longer, or it does not happen.
const PATIENCE: Duration = Duration::from_secs(120);

fn name() -> CrawlName {
    CrawlName { id: "c1".to_owned(), era: 1 }
}

fn options(endpoints: Vec<String>) -> EtcdOptions {
    let endpoints = endpoints.into_iter().map(SecretAddress::new).collect();
    EtcdOptions { endpoints, timeout: Duration::from_secs(3), ..EtcdOptions::default() }
}

/// A crawl of this many shards, and this many pages at most.
fn made(members: &Members, shards: usize, pages: Option<u64>) -> EtcdCrawl {
    let beginning = Beginning {
        store: "file:///mnt/crawl".to_owned(),
        seeds: vec![SeedsRecord { object: "seeds/1".to_owned(), before: 0, count: 3, round: 0 }],
        heads: vec![HeadRecord::default(); shards],
        quota: QuotaRecord { pages, bytes: None },
        ..Beginning::default()
    };
    EtcdCrawl::create(&options(members.endpoints()), &name(), &beginning).unwrap()
}

fn node_options(endpoints: Vec<String>, node: &str) -> NodeOptions {
    NodeOptions {
        etcd: options(endpoints),
        crawl: name(),
        name: node.to_owned(),
        record: NodeRecord { weight: 1, version: "1".to_owned(), ..NodeRecord::default() },
        lease: LEASE,
        margin: MARGIN,
        ..NodeOptions::default()
    }
}

fn node(endpoints: Vec<String>, name: &str) -> EtcdOwnership {
    EtcdOwnership::start(node_options(endpoints, name)).unwrap()
}

/// The head of checkpoint `number` under this claim.
fn head(claimed: &Claimed, number: u64) -> HeadRecord {
    HeadRecord { era: claimed.era, epoch: claimed.epoch, number, ..HeadRecord::default() }
}

/// Waits for `is_so`; says what for where it does not come.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the node's view as soon as it is so.
#[track_caller]
fn view_when(node: &EtcdOwnership, what: &str, is_so: impl Fn(&View) -> bool) -> std::sync::Arc<View> {
    wait_until(what, || is_so(&node.heads()));
    node.heads()
}

/// Claims a shard that is free, or will be.
#[track_caller]
fn claimed(node: &EtcdOwnership, shard: u32) -> Claimed {
    let mut found = None;
    // a node whose lease ran out on a slow machine has another one soon
    wait_until("the claim", || {
        found = node.claim(shard).ok().flatten();
        found.is_some()
    });
    found.unwrap()
}
