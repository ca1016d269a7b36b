//! While a crawl is taken up again with much to replay: kills, again and again, and signals.

use std::fs;
use std::time::Duration;

use crawler::simweb::SimOptions;

use super::{assert_goes_on, signal, small, traced, wrapped};
use crate::site::{RUSH, Site, kill, wait, wait_for};
use crate::tools::{Tool, has};

/// A crawl without a checkpoint that was killed after this many requests: all of them are to be replayed.
pub(super) fn unfinished(seed: u64, requests: usize) -> Site {
    let options = SimOptions { hosts: 40, pages: 900, latency: Duration::from_millis(2), ..small(seed) };
    let site = Site::new(options, &format!("{RUSH}\n[crawl]\ncheckpoint_interval = \"10h\"\n"));
    let child = site.crawl.start(&[]);
    site.wait_for_requests(requests);
    kill(child);
    site
}

#[test]
fn c3_kills_while_recovering_again_and_again_change_nothing_of_the_outcome() {
    if !has(Tool::Strace) {
        return;
    }
    let site = unfinished(61, 500);
    let requests = site.log().len();
    let mut while_recovering = 0;
    for (call, places) in [("pwrite64", &[2, 9, 60, 250, 330, 400][..]), ("fdatasync", &[2, 3]), ("ftruncate", &[2])] {
        for place in places {
            let ended = traced(&site, &format!("{call}:signal=SIGKILL:when={place}"));
            assert!(ended.code.is_none_or(|code| code == 0 || code == 137), "{call} {place}: {ended:?}");
            assert!(!ended.said.contains("panicked"), "{call} {place}: {}", ended.said);
            while_recovering += usize::from(site.log().len() == requests);
        }
    }
    println!("{while_recovering} kills came before the first request of their process");
    assert!(while_recovering >= 5, "only {while_recovering} kills came while recovering");
    assert_goes_on(&site);
}

#[test]
fn a_signal_while_recovering_ends_the_process_before_it_has_replayed_everything_and_the_next_start_completes() {
    if !has(Tool::Strace) {
        return;
    }
    for which in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let site = unfinished(62, 500);
        let (requests, lock) = (site.log().len(), site.crawl.path("crawl/LOCK"));
        let killed = fs::read_to_string(&lock).unwrap();
        let keys = site.crawl.path("crawl/pages/key.dat").canonicalize().unwrap();
        // every page that is taken back in takes a tenth of a second: most of a minute for all of them
        let slow = "inject=pwrite64:delay_enter=100000";
        let wrapper = [
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-P",
            keys.to_str().unwrap(),
            "-e",
            "trace=pwrite64",
            "-e",
            slow,
        ];
        let tracer = wrapped(&site, &wrapper);
        wait_for("the lock was not taken", || {
            let holder = fs::read_to_string(&lock).unwrap();
            holder.ends_with('\n') && holder != killed
        });
        // the keys of the process before are cut off, then they come back one by one
        wait_for("nothing was replayed", || (17..2_000).contains(&fs::metadata(&keys).unwrap().len()));
        let pid: i32 = fs::read_to_string(&lock).unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, which).unwrap();
        let ended = wait(tracer);
        ended.expect(11, &["stopped while starting"]);
        assert!(fs::metadata(&keys).unwrap().len() < 20_000, "everything was replayed first");
        assert_eq!(site.log().len(), requests, "a request was made");
        assert_goes_on(&site);
    }
}

#[test]
fn a_signal_at_any_moment_of_a_start_stops_in_good_order() {
    let site = unfinished(63, 300);
    for round in 0..3 {
        let lock = site.crawl.path("crawl/LOCK");
        let child = site.crawl.start(&[]);
        // the lock is written by the process that listens from about then on
        wait_for("the lock was not taken", || fs::read_to_string(&lock).unwrap().trim() == child.id().to_string());
        std::thread::sleep(Duration::from_millis(round * 25));
        signal(&child, rustix::process::Signal::TERM);
        let ended = wait(child);
        // before the listener is there, the system ends the process by the signal
        assert!(ended.code.is_none() || ended.code == Some(11), "{ended:?}");
    }
    assert_goes_on(&site);
}
