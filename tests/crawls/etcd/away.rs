//! etcd that is away: a leader killed, all members stopped for longer than a lease, a watch that was overtaken.

use std::time::{Duration, Instant};

use crawler::cluster::Ownership;
use rustix::process::Signal;

use super::proxy::Proxy;
use super::server::Members;
use super::{PATIENCE, claimed, head, made, node, view_when, wait_until};

#[test]
fn a_leader_that_is_killed_costs_time_and_nothing_else() {
    let Some(mut members) = Members::start(3) else { return };
    let crawl = made(&members, 1, None);
    let node = node(members.endpoints(), "a");
    let mine = claimed(&node, 0);
    let mut number = 0;
    let mut last = 0;
    for _ in 0..2 {
        let leader = members.leader();
        for _ in 0..20 {
            number += 1;
            let revision = node.commit(&mine, &head(&mine, number)).unwrap();
            assert!(revision > last, "heads only move forward");
            last = revision;
        }
        let since = Instant::now();
        members.kill(leader);
        number += 1;
        let revision = node.commit(&mine, &head(&mine, number)).unwrap();
        println!("leader killed: {:.1} s until the next commit was taken", since.elapsed().as_secs_f64());
        assert!(revision > last);
        last = revision;
        let now = crawl.view().unwrap().heads[0].clone().unwrap();
        assert_eq!((now.record.number, now.revision), (number, last), "nothing is lost");
        members.run(leader);
        members.wait_until_ready();
    }
}

#[test]
fn requests_end_before_a_lease_can_have_ended_when_etcd_is_stopped() {
    let Some(members) = Members::start(1) else { return };
    let crawl = made(&members, 1, None);
    let node = node(members.endpoints(), "a");
    let mine = claimed(&node, 0);
    let lease = node.lease().unwrap();
    // in etcd's own view it lasts at least so long from now on, unless it is renewed
    let (asked, left) = (Instant::now(), crawl.seconds_left(lease).unwrap().unwrap());
    members.signal(0, Signal::STOP);
    // one more renewal may have been answered between the two
    let ends = asked + Duration::from_secs(left);
    loop {
        let now = Instant::now();
        if !mine.holds() {
            println!("requests ended {:.1} s before the lease", ends.saturating_duration_since(now).as_secs_f64());
            break;
        }
        assert!(now < ends, "a request might be sent when the lease can have ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    wait_until("the end of the lease", || Instant::now() > ends + super::LEASE);
    members.signal(0, Signal::CONT);
    // what comes of the lease is etcd's to say: a new leader may give it its full time again
    wait_until("a lease", || node.holds());
    match node.lease() == Some(lease) {
        true => wait_until("the same claim", || mine.holds()),
        false => assert!(!mine.holds() && claimed(&node, 0).epoch > mine.epoch),
    }
}

#[test]
fn a_watch_that_compaction_has_overtaken_reads_everything_again() {
    let Some(members) = Members::start(1) else { return };
    let crawl = made(&members, 2, None);
    let proxy = Proxy::new(members.port(0));
    let [far, near] = [(vec![proxy.endpoint()], "far"), (members.endpoints(), "near")].map(|(at, name)| node(at, name));
    let mine = claimed(&near, 1);
    view_when(&far, "the owner", |view| view.owners[1].is_some());
    proxy.cut(true);
    let behind = far.heads().known;
    let mut last = 0;
    for number in 1..=50 {
        last = near.commit(&mine, &head(&mine, number)).unwrap();
    }
    let body = format!(r#"{{"revision":"{last}"}}"#);
    assert!(members.ask(0, "/v3/kv/compaction", &body).unwrap()["header"].is_object());
    assert_eq!(far.heads().known, behind);
    proxy.cut(false);
    let view = view_when(&far, "the last head", |view| view.known.covers(last));
    let known = view.heads[1].as_ref().unwrap();
    assert_eq!((known.record.number, known.revision), (50, last));
    let until = Instant::now() + PATIENCE;
    while far.heads().heads != crawl.view().unwrap().heads {
        assert!(Instant::now() < until);
    }
}

#[test]
fn a_node_that_is_cut_off_stops_in_time_and_another_one_takes_over() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let proxy = Proxy::new(members.port(0));
    let [far, near] = [(vec![proxy.endpoint()], "far"), (members.endpoints(), "near")].map(|(at, name)| node(at, name));
    let old = claimed(&far, 0);
    far.commit(&old, &head(&old, 1)).unwrap();
    proxy.cut(true);
    let new = loop {
        // asked first: a claim that is taken after it must find it ended
        let held = old.holds();
        if let Ok(Some(new)) = near.claim(0) {
            assert!(!old.holds(), "held before: {held}; both may send requests");
            break new;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    near.commit(&new, &head(&new, 2)).unwrap();
    proxy.cut(false);
    assert!(far.commit(&old, &head(&old, 2)).is_err());
    wait_until("a new lease", || far.holds());
    assert!(!old.holds());
    assert!(far.claim(0).unwrap().is_none());
}
