//! Transactions whose answer was lost, and those that arrive when nobody waits for them any more.

use crawler::cluster::{EndRecord, GrantRecord, Ownership, State};
use crawler::record::Finish;

use super::proxy::Fault::{Late, NoAnswer};
use super::proxy::Proxy;
use super::server::Members;
use super::{claimed, head, made, node, view_when};

#[test]
fn what_was_carried_out_without_an_answer_is_told_from_a_refusal() {
    let Some(members) = Members::start(1) else { return };
    let crawl = made(&members, 4, Some(1_600));
    let proxy = Proxy::new(members.port(0));
    let node = node(vec![proxy.endpoint()], "a");
    proxy.faults(&[NoAnswer, NoAnswer]);
    let mine = claimed(&node, 0);
    let owner = crawl.view().unwrap().owners[0].clone().unwrap();
    assert_eq!((owner.epoch, owner.node.as_str()), (mine.epoch, "a"));
    for number in 1..=5 {
        proxy.faults(&[NoAnswer, NoAnswer, NoAnswer][..number as usize % 3 + 1]);
        let revision = node.commit(&mine, &head(&mine, number)).unwrap();
        let now = crawl.view().unwrap().heads[0].clone().unwrap();
        assert_eq!((now.revision, now.record.number), (revision, number));
    }
    proxy.faults(&[NoAnswer]);
    let granted = node.grant(&mine).unwrap();
    assert_eq!((granted.in_all.pages, granted.left.pages), (100, Some(1_500)), "one block, and not two");
    proxy.faults(&[NoAnswer]);
    let back = node.give_back(&mine, GrantRecord { pages: 30, bytes: 0 }).unwrap();
    assert_eq!((back.in_all.pages, back.left.pages), (30, Some(1_570)));
    assert_eq!((crawl.quota().unwrap().pages, crawl.granted(0).unwrap().pages), (Some(1_570), 30));
    proxy.faults(&[NoAnswer]);
    let list = node.put_seeds("seeds/2-random", 7).unwrap();
    assert_eq!((list.number, list.record.before), (2, 3));
    assert_eq!(crawl.view().unwrap().seeds.len(), 2, "one list, and not two");
    proxy.faults(&[NoAnswer]);
    let since = node.crawl().set_want(State::Pause).unwrap();
    assert_eq!(crawl.view().unwrap().want_at, since);
    proxy.faults(&[NoAnswer]);
    assert!(node.put_end(since, EndRecord { finish: Finish::Complete }).unwrap());
    proxy.faults(&[NoAnswer]);
    node.release(&mine).unwrap();
    assert_eq!(crawl.view().unwrap().owners[0], None);
    assert_eq!(proxy.faults_left(), 0);
}

#[test]
fn what_arrives_late_changes_nothing_or_is_undone() {
    let Some(members) = Members::start(1) else { return };
    let crawl = made(&members, 1, None);
    let proxy = Proxy::new(members.port(0));
    let node = node(vec![proxy.endpoint()], "a");
    let first = claimed(&node, 0);
    // the commit is sent again, and taken; its first sending comes after it
    proxy.faults(&[Late]);
    let revision = node.commit(&first, &head(&first, 1)).unwrap();
    assert_eq!(proxy.let_go(), 1);
    assert_eq!(crawl.view().unwrap().heads[0].as_ref().unwrap().revision, revision);
    // the same for a release: the next claim stays
    proxy.faults(&[Late]);
    node.release(&first).unwrap();
    let second = claimed(&node, 0);
    assert_eq!(proxy.let_go(), 1);
    assert_eq!(crawl.view().unwrap().owners[0].as_ref().unwrap().epoch, second.epoch);
    // a claim whose first sending comes when its shard was given up: nobody would serve it
    node.release(&second).unwrap();
    proxy.faults(&[Late]);
    let third = claimed(&node, 0);
    node.release(&third).unwrap();
    assert_eq!(proxy.let_go(), 1);
    let stray = crawl.view().unwrap();
    view_when(&node, "the end of the stray claim", |view| {
        // it may have been undone before it was looked at
        view.known >= stray.known && view.owners[0].is_none()
    });
    assert!(claimed(&node, 0).epoch > third.epoch);
}
