//! The cost of etcd: not a test, but a measurement. `cargo test --release --test crawls etcd::figures -- --ignored
//! --nocapture`.

use std::thread;
use std::time::{Duration, Instant};

use crawler::cluster::etcd::Etcd;
use crawler::cluster::{EtcdOwnership, Ownership};

use super::server::{Members, cpu_s};
use super::{claimed, head, made, node, options};

#[test]
#[ignore = "a measurement"]
fn commits_and_renewals_of_one_member_and_of_three() {
    for count in [1, 3, 1, 3] {
        let Some(members) = Members::start(count) else { return };
        made(&members, 16, None);
        let node = node(members.endpoints(), "a");
        measure(count, &members, "commits, 1 at a time", || commits(&node, 1, 400));
        measure(count, &members, "commits, 16 at a time", || commits(&node, 16, 100));
        measure(count, &members, "renewals, 1 at a time", || renewals(&members, 400));
    }
}

fn measure(count: usize, members: &Members, what: &str, run: impl FnOnce() -> Vec<Duration>) {
    let (etcd, own, since) = (members.cpu_s(), cpu_s("self"), Instant::now());
    let mut times = run();
    let (took, etcd, own) = (since.elapsed().as_secs_f64(), members.cpu_s() - etcd, cpu_s("self") - own);
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1_000.0;
    let calls = times.len() as f64;
    println!(
        "{count} members, {what}: median {:.1} ms, p99 {:.1} ms, {:.0}/s; CPU a call {:.2} ms of etcd, {:.2} ms of the \
         client",
        at(50),
        at(99),
        calls / took,
        etcd * 1_000.0 / calls,
        own * 1_000.0 / calls
    );
}

fn commits(node: &EtcdOwnership, threads: u32, each: u64) -> Vec<Duration> {
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|shard| {
                scope.spawn(move || {
                    let mine = claimed(node, shard);
                    let times = (1..=each).map(|number| {
                        let since = Instant::now();
                        node.commit(&mine, &head(&mine, number)).unwrap();
                        since.elapsed()
                    });
                    let times: Vec<Duration> = times.collect();
                    node.release(&mine).unwrap();
                    times
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn renewals(members: &Members, each: u64) -> Vec<Duration> {
    let etcd = Etcd::new(&options(members.endpoints())).unwrap();
    let granted = etcd.grant(Duration::from_secs(60)).unwrap();
    let renew = |_| {
        let since = Instant::now();
        etcd.renew(granted.lease, Duration::from_secs(10)).unwrap();
        since.elapsed()
    };
    (0..each).map(renew).collect()
}
