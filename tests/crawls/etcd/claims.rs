//! Claims: one wins, one that is gone is refused, and what is left is taken over.

use std::collections::HashSet;
use std::thread;

use crawler::cluster::{ClusterError, CommitError, EtcdOwnership, Ownership};

use super::server::Members;
use super::{claimed, head, made, node, node_options, view_when, wait_until};

#[test]
fn of_two_nodes_that_claim_a_shard_exactly_one_gets_it() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 16, None);
    let nodes = ["a", "b"].map(|name| node(members.endpoints(), name));
    let won: Vec<Vec<(u32, u64)>> = thread::scope(|scope| {
        let race = |node| scope.spawn(move || claim_all(node, 16));
        let threads = [race(&nodes[0]), race(&nodes[1])];
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let shards: Vec<u32> = won.iter().flatten().map(|(shard, _)| *shard).collect();
    assert_eq!(shards.iter().collect::<HashSet<_>>().len(), 16, "{won:?}");
    assert_eq!(shards.len(), 16, "{won:?}");
    let epochs: HashSet<u64> = won.iter().flatten().map(|(_, epoch)| *epoch).collect();
    assert_eq!(epochs.len(), 16, "no two claims have one epoch");
    for node in &nodes {
        let view = view_when(node, "all owners", |view| view.owners.iter().all(Option::is_some));
        let known: HashSet<u64> = view.owners.iter().flatten().map(|at| at.epoch).collect();
        assert_eq!(known, epochs);
    }
}

fn claim_all(node: &EtcdOwnership, shards: u32) -> Vec<(u32, u64)> {
    let claims = (0..shards).filter_map(|shard| node.claim(shard).unwrap());
    // the claims stay: a claim is given up by a release, or with its lease
    claims.map(|claimed| (claimed.shard, claimed.epoch)).collect()
}

#[test]
fn a_head_is_refused_when_the_claim_is_lost_and_the_lost_lease_never_holds_again() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 2, None);
    let [first, second] = ["a", "b"].map(|name| node(members.endpoints(), name));
    let old = claimed(&first, 0);
    let revision = first.commit(&old, &head(&old, 1)).unwrap();
    assert!(old.holds());
    members.revoke(first.lease().unwrap());
    let new = claimed(&second, 0);
    let known = new.head.as_ref().unwrap();
    assert_eq!((known.revision, known.record.number, known.record.epoch), (revision, 1, old.epoch));
    assert!(new.epoch > old.epoch);
    wait_until("the loss", || !old.holds());
    wait_until("another lease", || first.holds());
    assert!(!old.holds() && old.hold().is_lost());
    second.commit(&new, &head(&new, 2)).unwrap();
    let refused = first.commit(&old, &head(&old, 2));
    assert!(matches!(&refused, Err(CommitError::Refused { owner, number: 2, .. }) if owner == "b"), "{refused:?}");
    let heads = view_when(&first, "the new head", |view| view.heads[0].as_ref().unwrap().record.number == 2);
    assert_eq!(heads.heads[0].as_ref().unwrap().record.epoch, new.epoch);
    // the refused claim is forgotten, so the shard can be had again
    second.release(&new).unwrap();
    assert!(claimed(&first, 0).holds());
}

#[test]
fn an_owner_whose_key_vanishes_stops_at_once() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let node = node(members.endpoints(), "a");
    let claimed = claimed(&node, 0);
    let key = "L2NyYXdsZXIvYzEvMDAwMS9saXZlL293bmVyLzA="; // /crawler/c1/0001/live/owner/0
    members.ask(0, "/v3/kv/deleterange", &format!(r#"{{"key":"{key}"}}"#)).unwrap();
    wait_until("the loss", || !claimed.holds());
    assert!(node.holds(), "the lease is there, and others of its shards go on");
    assert!(matches!(node.commit(&claimed, &head(&claimed, 1)), Err(CommitError::Refused { number: 0, .. })));
}

#[test]
fn a_released_shard_is_claimed_anew_under_another_epoch() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let node = node(members.endpoints(), "a");
    let first = claimed(&node, 0);
    assert!(matches!(node.claim(0), Err(ClusterError::Claimed { shard: 0 })), "one claim is for one opening");
    node.release(&first).unwrap();
    assert!(!first.holds());
    let second = claimed(&node, 0);
    assert!(second.epoch > first.epoch && second.holds() && !first.holds());
    assert!(matches!(node.commit(&first, &head(&first, 1)), Err(CommitError::Refused { .. })));
    assert!(second.holds(), "what becomes of the first claim is nothing to the second");
    node.commit(&second, &head(&second, 1)).unwrap();
}

#[test]
fn two_nodes_of_one_name_are_one_too_many_and_a_killed_one_is_waited_for() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let first = node(members.endpoints(), "a");
    let taken = claimed(&first, 0);
    let short = node_options(members.endpoints(), "a");
    let refused = EtcdOwnership::start(short.clone());
    assert!(matches!(&refused, Err(ClusterError::NameTaken { name }) if name == "a"), "{refused:?}");
    // a process that has ended without a word: the next one knows its lease, and need not wait
    let lease = first.lease();
    drop(first);
    assert!(!taken.holds());
    let next = EtcdOwnership::start(super::NodeOptions { former_lease: lease, ..short }).unwrap();
    assert!(claimed(&next, 0).epoch > taken.epoch);
}

#[test]
fn nodes_share_the_shards_take_over_and_drain() {
    let Some(members) = Members::start(1) else { return };
    let crawl = made(&members, 8, None);
    let [first, second] = ["a", "b"].map(|name| node(members.endpoints(), name));
    let mut held: [Vec<crawler::cluster::Claimed>; 2] = [Vec::new(), Vec::new()];
    for (node, other) in [(&first, "b"), (&second, "a")] {
        view_when(node, "the other node", |view| view.nodes.contains_key(other));
    }
    let step = |held: &mut [Vec<crawler::cluster::Claimed>; 2]| {
        for (node, held) in [&first, &second].into_iter().zip(held) {
            let wanted = node.wanted();
            held.retain(|claimed| claimed.holds());
            if let Some(shard) = wanted.hand_over
                && let Some(at) = held.iter().position(|claimed| claimed.shard == shard)
            {
                node.release(&held.swap_remove(at)).unwrap();
            }
            held.extend(wanted.claim.into_iter().filter_map(|shard| node.claim(shard).ok().flatten()));
        }
    };
    wait_until("an owner for each shard", || {
        step(&mut held);
        held[0].len() + held[1].len() == 8
    });
    assert!(held.iter().all(|held| (3..=5).contains(&held.len())), "1.05 times the half of 8: {held:?}");
    assert!(crawl.drain("a").unwrap() && !crawl.drain("nobody").unwrap());
    wait_until("all at the other node", || {
        step(&mut held);
        held[0].is_empty() && held[1].len() == 8
    });
    drop(first);
}
