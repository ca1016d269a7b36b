//! Orders to all nodes, limits of the whole crawl, and an etcd that is not the one of the crawl.

use std::thread;

use crawler::cluster::{
    Beginning, ClusterError, CrawlName, EndRecord, EtcdCrawl, EtcdError, HaltedRecord, HeadRecord, Ownership, State,
};
use crawler::record::Finish;

use super::server::Members;
use super::{claimed, made, name, node, options, view_when, wait_until};

#[test]
fn orders_reach_all_nodes_and_an_ended_crawl_takes_no_seeds() {
    let Some(members) = Members::start(1) else { return };
    let crawl = made(&members, 2, None);
    let node = node(members.endpoints(), "a");
    let judged = node.heads().want_at;
    crawl.set_want(State::Pause).unwrap();
    view_when(&node, "the pause", |view| view.want.state == State::Pause);
    assert!(!node.put_end(judged, EndRecord { finish: Finish::Complete }).unwrap(), "something else is wanted now");
    let (one, other) = thread::scope(|scope| {
        let put = |object: &'static str| {
            let crawl = &crawl;
            scope.spawn(move || crawl.put_seeds(object, 10).unwrap())
        };
        let threads = (put("seeds/x"), put("seeds/y"));
        (threads.0.join().unwrap(), threads.1.join().unwrap())
    });
    let mut lists = [(one.number, one.record.before), (other.number, other.record.before)];
    lists.sort_unstable();
    assert_eq!(lists, [(2, 3), (3, 13)], "one behind the other");
    let view = view_when(&node, "both lists", |view| view.seeds.len() == 3);
    assert_eq!(view.want.seeds, 3);
    // a shard that was halted is not claimed before it is resumed
    let mine = claimed(&node, 1);
    node.halt(&mine, &HaltedRecord { node: "a".to_owned(), file: "key.dat".to_owned(), offset: 7 }).unwrap();
    node.release(&mine).unwrap();
    assert!(node.claim(1).unwrap().is_none());
    crawl.resume_shard(1).unwrap();
    node.release(&claimed(&node, 1)).unwrap();
    let want_at = view_when(&node, "the last list", |view| view.want.seeds == 3).want_at;
    assert!(node.put_end(want_at, EndRecord { finish: Finish::PageLimit }).unwrap());
    assert!(matches!(crawl.put_seeds("seeds/z", 1), Err(ClusterError::Ended)));
    assert!(node.claim(0).unwrap().is_none(), "nothing is claimed after the end");
}

#[test]
fn limits_are_dealt_out_to_the_last_page_and_no_further() {
    let Some(members) = Members::start(1) else { return };
    let crawl = made(&members, 4, Some(500));
    let nodes = ["a", "b"].map(|name| node(members.endpoints(), name));
    let granted: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|shard| {
                let node = &nodes[shard as usize % 2];
                scope.spawn(move || {
                    let mine = claimed(node, shard);
                    let mut granted = node.grant(&mine).unwrap();
                    while granted.left.pages != Some(0) {
                        granted = node.grant(&mine).unwrap();
                    }
                    node.grant(&mine).unwrap().in_all.pages
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((granted, crawl.quota().unwrap().pages), (500, Some(0)));
    assert_eq!((0..4).map(|shard| crawl.granted(shard).unwrap().pages).sum::<u64>(), 500);
}

#[test]
fn a_crawl_is_made_once_and_opened_by_its_name_alone() {
    let Some(members) = Members::start(1) else { return };
    let beginning = Beginning { heads: vec![HeadRecord::default(); 300], ..Beginning::default() };
    let crawl = EtcdCrawl::create(&options(members.endpoints()), &name(), &beginning).unwrap();
    let again = EtcdCrawl::create(&options(members.endpoints()), &name(), &beginning);
    assert!(matches!(again, Err(ClusterError::Made { .. })), "{again:?}");
    assert_eq!(crawl.view().unwrap().heads.iter().flatten().count(), 300);
    // `recover` makes the next era, which has its own keys
    let next = CrawlName { era: 2, ..name() };
    let unmade = EtcdCrawl::open(&options(members.endpoints()), &next);
    assert!(matches!(unmade, Err(ClusterError::NotMade { .. })), "{unmade:?}");
    let head = HeadRecord { era: 1, epoch: 9, number: 4, ..HeadRecord::default() };
    let recovered = Beginning { heads: vec![head.clone()], ..Beginning::default() };
    let recovered = EtcdCrawl::create(&options(members.endpoints()), &next, &recovered).unwrap();
    assert_eq!(recovered.view().unwrap().heads[0].as_ref().unwrap().record, head);
    assert_eq!(crawl.view().unwrap().heads[0].as_ref().unwrap().record.number, 0);
}

#[test]
fn another_etcd_and_one_that_was_put_back_are_refused() {
    let Some(mut members) = Members::start(1) else { return };
    let crawl = made(&members, 2, None);
    let node = node(members.endpoints(), "a");
    let mine = claimed(&node, 0);
    // the same members without their data: the same cluster id, and lower revisions
    members.replace("first");
    wait_until("the fault", || node.commit(&mine, &super::head(&mine, 1)).is_err());
    assert!(!mine.holds());
    let back = crawl.view();
    assert!(matches!(back, Err(ClusterError::Etcd(EtcdError::WentBack { .. }))), "{back:?}");
    assert!(node.fault().is_some_and(|fault| fault.contains("was put back")), "{:?}", node.fault());
    // others: what has been seen is of no use, the cluster is
    members.replace("second");
    let other = crawl.view();
    assert!(matches!(other, Err(ClusterError::Etcd(EtcdError::OtherCluster { .. }))), "{other:?}");
    let seen = super::EtcdOptions { revision_seen: 1_000_000, ..options(members.endpoints()) };
    let young = EtcdCrawl::open(&seen, &name());
    assert!(matches!(young, Err(ClusterError::Etcd(EtcdError::WentBack { seen: 1_000_000, .. }))), "{young:?}");
}
