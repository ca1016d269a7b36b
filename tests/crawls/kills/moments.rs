//! Kills: at random moments, at the Nth call that writes, syncs or renames; two processes, and two copies of one state.

use std::time::Duration;

use crawler::simweb::SimOptions;

use super::{assert_goes_on, copy, fetched_twice, signal, site, small, stopped, traced};
use crate::site::{Site, kill, wait};
use crate::tools::{Tool, has};

#[test]
fn c1_kills_at_random_moments_also_at_checkpoints_and_while_recovering_lose_nothing_and_store_nothing_twice() {
    kill_at_random_moments(site, |_| {});
}

/// Kills crawls of a site that `site` makes, and lets them go on; after each kill and at the end, `check` has to hold.
pub(super) fn kill_at_random_moments(site: fn(SimOptions) -> Site, check: impl Fn(&Site)) {
    let options = SimOptions { hosts: 40, pages: 900, latency: Duration::from_millis(4), ..small(21) };
    let seed = u64::from(std::process::id());
    let mut rng = fastrand::Rng::with_seed(seed);
    let site = site(options);
    for round in 0..12 {
        let mut child = site.crawl.start(&[]);
        if round % 3 < 2 {
            // on a fast machine there may be nothing left by now
            site.wait_for_requests_or_end(site.log().len() + rng.usize(20..60), &mut child);
        }
        if round % 3 == 1 {
            signal(&child, rustix::process::Signal::USR1);
        }
        // a moment, not a wait: of a start, of the checkpoint that was asked for, or of the crawl
        std::thread::sleep(Duration::from_micros(rng.u64(0..60_000)));
        kill(child);
        check(&site);
    }
    println!("seed {seed}: {} requests, {} pages asked for twice in 12 kills", site.log().len(), fetched_twice(&site));
    assert_goes_on(&site);
    check(&site);
    let twice = fetched_twice(&site);
    assert!(twice <= 12 * 64, "seed {seed}: {twice} pages were asked for twice in 12 kills");
}

#[test]
fn c1_a_kill_at_any_write_sync_rename_or_removal_loses_nothing() {
    let calls: [(&str, &[u32]); 6] = [
        ("pwrite64", &[1, 2, 5, 14, 40]),
        ("write", &[3, 30]),
        ("fsync", &[1, 2, 3, 5, 8]),
        ("fdatasync", &[1, 2, 4]),
        ("rename", &[1, 2]),
        ("unlink", &[1, 2]),
    ];
    kill_at_calls(site, &calls, |_| {});
}

/// Kills crawls of a site that `site` makes at the first, second ... of each of `calls`, and lets them go on; at the
/// end, `check` has to hold.
pub(super) fn kill_at_calls(site: fn(SimOptions) -> Site, calls: &[(&str, &[u32])], check: impl Fn(&Site)) {
    if !has(Tool::Strace) {
        return;
    }
    for (call, places) in calls {
        let site = site(small(22));
        for place in *places {
            let ended = traced(&site, &format!("{call}:signal=SIGKILL:when={place}"));
            assert!(ended.code.is_none_or(|code| code == 0 || code == 137), "{call} {place}: {ended:?}");
            assert!(!ended.said.contains("panicked"), "{call} {place}: {}", ended.said);
        }
        assert_goes_on(&site);
        check(&site);
    }
}

#[test]
fn c9_one_directory_copied_and_resumed_twice_gives_the_same_pages() {
    let site = stopped(SimOptions { hosts: 30, pages: 500, ..small(24) }, 150);
    copy(&site.crawl.path("crawl"), &site.crawl.path("second"));
    assert_goes_on(&site);
    let first = site.crawl.stored();
    std::fs::rename(site.crawl.path("crawl"), site.crawl.path("first")).unwrap();
    std::fs::rename(site.crawl.path("second"), site.crawl.path("crawl")).unwrap();
    site.web.clear_log();
    assert_goes_on(&site);
    assert_eq!(site.crawl.stored(), first);
}

#[test]
fn c8_a_second_process_is_refused_and_changes_nothing() {
    let site = site(SimOptions { latency: Duration::from_millis(20), ..small(25) });
    let child = site.crawl.start(&[]);
    site.wait_for_requests(5);
    site.crawl.run(&[]).expect(6, &["in use by another crawler"]);
    signal(&child, rustix::process::Signal::TERM);
    wait(child).expect(11, &[]);
    assert_goes_on(&site);
}
