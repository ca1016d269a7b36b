//! Two nodes that fight over a shard, with answers that are lost, transactions that come late, and leases that end:
//! judged by etcd's own history of the head.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crawler::cluster::etcd::{Etcd, Watched};
use crawler::cluster::{Claimed, CommitError, EtcdOwnership, HeadRecord, Keys, Ownership};
use fastrand::Rng;

use super::proxy::{Fault, Proxy};
use super::server::Members;
use super::{head, made, name, node, options, wait_until};

const STEPS: usize = 60;

/// Answers that a node had about a head.
#[derive(Debug, Default)]
struct HeadAnswers {
    /// Epoch, number and revision of those that count.
    accepted: Vec<(u64, u64, u64)>,
    /// Epoch and number of those whose shard was lost before there was an answer.
    refused: Vec<(u64, u64)>,
}

#[test]
fn etcds_history_is_what_the_nodes_were_told() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let seed = std::env::var("TEST_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("TEST_SEED={seed}");
    let answers = Mutex::new(HeadAnswers::default());
    thread::scope(|scope| {
        for (at, name) in ["a", "b"].into_iter().enumerate() {
            let (members, answers) = (&members, &answers);
            scope.spawn(move || fight(members, name, Rng::with_seed(seed + at as u64), answers));
        }
    });
    let mut answers = answers.into_inner().unwrap();
    answers.accepted.sort_unstable_by_key(|(_, _, revision)| *revision);
    println!("{} heads were accepted, {} refused", answers.accepted.len(), answers.refused.len());
    let history = history(&members, answers.accepted.last().map_or(0, |last| last.2));
    // one that was put without an answer may have been gone on from by the next owner, before it was sent again
    let overtaken = |at: usize| {
        let (epoch, number, _) = history[at];
        let is_refused = answers.refused.contains(&(epoch, number));
        is_refused && history.get(at + 1).is_some_and(|next| next.0 > epoch)
    };
    let answered: Vec<_> = (0..history.len()).filter(|&at| !overtaken(at)).map(|at| history[at]).collect();
    assert_eq!(answered, answers.accepted);
    for pair in history.windows(2) {
        assert!(pair[0].0 <= pair[1].0 && pair[0].1 + 1 == pair[1].1, "heads only move forward: {pair:?}");
    }
}

/// One node: claims, commits, gives up, loses its lease.
fn fight(members: &Members, name: &str, mut rng: Rng, answers: &Mutex<HeadAnswers>) {
    let proxy = Proxy::new(members.port(0));
    let node = node(vec![proxy.endpoint()], name);
    let mut mine: Option<(Claimed, u64)> = None;
    for _ in 0..STEPS {
        let faults: Vec<Fault> =
            (0..rng.usize(..3)).map(|_| *rng.choice([Fault::NoAnswer, Fault::Late].iter()).unwrap()).collect();
        proxy.faults(&faults);
        match mine.take() {
            None => mine = claim(&node),
            Some((claimed, number)) => match rng.u32(..20) {
                0..2 => node.release(&claimed).unwrap(),
                2 => {
                    if let Some(lease) = node.lease() {
                        members.revoke(lease);
                    }
                    mine = Some((claimed, number));
                }
                3..6 => {
                    proxy.let_go();
                    mine = Some((claimed, number));
                }
                _ => mine = commit(&node, claimed, number + 1, answers),
            },
        }
    }
    proxy.let_go();
}

/// The shard, if it is free now.
fn claim(node: &EtcdOwnership) -> Option<(Claimed, u64)> {
    wait_until("a lease", || node.holds());
    let claimed = node.claim(0).ok().flatten();
    if claimed.is_none() {
        // the other one has it: it gets some time
        thread::sleep(Duration::from_millis(20));
    }
    claimed.map(|claimed| {
        let number = claimed.head.as_ref().map_or(0, |head| head.record.number);
        (claimed, number)
    })
}

/// The shard with its number, if the head was accepted.
fn commit(node: &EtcdOwnership, claimed: Claimed, number: u64, answers: &Mutex<HeadAnswers>) -> Option<(Claimed, u64)> {
    let answer = node.commit(&claimed, &head(&claimed, number));
    let mut answers = answers.lock().unwrap();
    match answer {
        Ok(revision) => {
            answers.accepted.push((claimed.epoch, number, revision));
            Some((claimed, number))
        }
        Err(CommitError::Refused { .. }) => {
            answers.refused.push((claimed.epoch, number));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Every head that etcd has had up to this revision, but the one that the crawl was made with.
fn history(members: &Members, last: u64) -> Vec<(u64, u64, u64)> {
    let etcd = Etcd::new(&options(members.endpoints())).unwrap();
    let key = format!("{}head/0", Keys::new(&name().id, 1).live());
    let mut watch = etcd.watch(&key, 1).unwrap();
    let mut history = Vec::new();
    wait_until("the history", || {
        if let Watched::Changes(changes) = watch.next(Duration::from_millis(100)).unwrap() {
            history.extend(changes.iter().map(|change| {
                let record: HeadRecord = postcard::from_bytes(&change.kv.value).unwrap();
                (record.epoch, record.number, change.kv.mod_revision)
            }));
        }
        history.last().is_some_and(|(_, _, revision)| *revision >= last)
    });
    history.retain(|(_, number, _)| *number > 0);
    history
}
