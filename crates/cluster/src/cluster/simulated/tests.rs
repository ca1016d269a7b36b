//! Tests of what nodes may rely on, and of what the registry does to them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::clocks::Micros;
use super::super::ownership::{ClusterError, CommitError, Ownership};
use super::super::record::{GrantRecord, HeadRecord};
use super::*;
use crate::exchange::Idle;
use crate::record::Finish;

#[derive(Debug, Default)]
struct Now(AtomicU64);

impl Clocks for Now {
    fn boot(&self) -> Micros {
        self.0.load(Ordering::Relaxed)
    }

    fn wall(&self) -> Micros {
        self.boot()
    }
}

fn registry(shards: u32) -> (SimulatedRegistry, Arc<Now>) {
    let now = Arc::new(Now::default());
    let terms = LeaseTerms { lasts: Duration::from_secs(20), margin: Duration::from_secs(5) };
    let quota = QuotaRecord { pages: Some(10), bytes: None };
    (SimulatedRegistry::new(shards, quota, now.clone(), terms, 7), now)
}

fn pass(registry: &SimulatedRegistry, now: &Now, time: Duration) {
    now.0.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    registry.pass_time();
}

fn head(epoch: u64, number: u64) -> HeadRecord {
    HeadRecord { epoch, number, idle: Idle::Yes, ..HeadRecord::default() }
}

fn no_pause(_: Duration) {}

#[test]
fn a_paused_node_is_refused_by_everything_that_came_after_it() {
    let (registry, now) = registry(1);
    let one = registry.join("one", Connectivity::Whole, no_pause).unwrap();
    assert!(registry.join("one", Connectivity::Whole, no_pause).is_none(), "the name is taken");
    assert_eq!(one.wanted().claim, [0]);
    let claimed = one.claim(0).unwrap().unwrap();
    assert!(claimed.head.is_none() && claimed.holds());
    one.commit(&claimed, &head(claimed.epoch, 1)).unwrap();
    pass(&registry, &now, Duration::from_secs(16));
    assert!(!claimed.holds() && !claimed.hold().is_lost(), "by its own reckoning it may act no more");
    pass(&registry, &now, Duration::from_secs(4));
    let other = registry.join("other", Connectivity::Whole, no_pause).unwrap();
    let taken = other.claim(0).unwrap().unwrap();
    assert!(taken.epoch > claimed.epoch && taken.head.as_ref().unwrap().record.number == 1);
    assert_eq!(registry.take_overs(), 1);
    let refused = one.commit(&claimed, &head(claimed.epoch, 2));
    assert!(matches!(refused, Err(CommitError::Refused { number: 1, .. })));
    other.commit(&taken, &head(taken.epoch, 2)).unwrap();
    one.renew();
    assert!(one.is_lost() && claimed.hold().is_lost());
}

#[test]
fn an_answer_that_is_lost_leaves_a_claim_that_is_given_up_and_a_commit_that_is_found() {
    let (registry, _) = registry(2);
    let one = registry.join("one", Connectivity::Whole, no_pause).unwrap();
    one.set_connectivity(Connectivity::NoAnswers);
    assert!(one.claim(0).is_err());
    assert!(registry.view().owners[0].is_some());
    one.set_connectivity(Connectivity::Whole);
    assert!(one.hear());
    assert!(registry.view().owners[0].is_none(), "nobody would serve it");
    let claimed = one.claim(1).unwrap().unwrap();
    registry.set_troubles(Troubles { lost: 30, answer_lost: 30, late: 30 });
    for number in 1..40 {
        one.commit(&claimed, &head(claimed.epoch, number)).unwrap();
        assert_eq!(registry.view().heads[1].as_ref().unwrap().record.number, number);
    }
}

#[test]
fn a_node_that_is_cut_off_learns_nothing_and_one_that_leaves_frees_its_shards() {
    let (registry, _) = registry(1);
    let one = registry.join("one", Connectivity::Whole, no_pause).unwrap();
    let other = registry.join("other", Connectivity::Whole, no_pause).unwrap();
    let claimed = one.claim(0).unwrap().unwrap();
    other.set_connectivity(Connectivity::Nothing);
    assert!(!other.hear() && other.heads().owners[0].is_none());
    assert!(registry.join("third", Connectivity::Nothing, no_pause).is_none());
    other.set_connectivity(Connectivity::Whole);
    assert!(other.hear() && other.heads().owners[0].is_some() && !other.hear());
    one.leave();
    assert!(!claimed.holds() && registry.view().owners[0].is_none());
    assert!(registry.join("one", Connectivity::Whole, no_pause).is_some());
}

#[test]
fn an_ended_crawl_takes_no_seeds_and_new_seeds_undo_what_was_judged() {
    let (registry, _) = registry(1);
    let node = registry.join("one", Connectivity::Whole, no_pause).unwrap();
    let judged = node.heads().want_at;
    let list = node.put_seeds("seeds/1", 5).unwrap();
    assert_eq!(node.put_seeds("seeds/1", 5).unwrap(), list, "twice the same");
    let end = EndRecord { finish: Finish::Complete };
    assert!(!node.put_end(judged, end).unwrap());
    node.hear();
    assert!(node.put_end(node.heads().want_at, end).unwrap());
    assert!(matches!(node.put_seeds("seeds/2", 1), Err(ClusterError::Ended)));
    assert_eq!(registry.end(), Some(end));
}

#[test]
fn limits_are_dealt_out_and_taken_back() {
    let (registry, _) = registry(2);
    let node = registry.join("one", Connectivity::Whole, no_pause).unwrap();
    let claimed = node.claim(0).unwrap().unwrap();
    registry.set_troubles(Troubles { lost: 20, answer_lost: 20, late: 0 });
    let mut granted = node.grant(&claimed).unwrap();
    while granted.left.pages != Some(0) {
        granted = node.grant(&claimed).unwrap();
        assert_eq!(granted.in_all.pages + granted.left.pages.unwrap(), 10);
    }
    let back = node.give_back(&claimed, GrantRecord { pages: 4, bytes: 0 }).unwrap();
    assert_eq!((back.in_all.pages, back.left.pages), (4, Some(6)));
    assert_eq!(node.dealt().unwrap().granted[0].pages, 4);
}
