//! Disks that fail or are full: a clean stop with the code for it, a word on what to do, and nothing lost.

use std::fs;

use crawler::simweb::SimOptions;

use super::{assert_goes_on, copy, site, small, stopped, stored_twice, traced, traced_at, wrapped};
use crate::site::{RUSH, Site};
use crate::tools::{Tool, has};

#[test]
fn c4_a_sync_that_fails_stops_the_crawl_without_another_try_and_the_next_run_goes_on() {
    if !has(Tool::Strace) {
        return;
    }
    for inject in ["fsync:error=EIO:when=", "fdatasync:error=EIO:when="] {
        let site = site(small(31));
        for place in [1, 2, 4] {
            let ended = traced(&site, &format!("{inject}{place}"));
            // the count is each thread's own: a late place may never come
            assert!(matches!(ended.code, Some(0 | 4)), "{inject}{place}: {ended:?}");
            assert!(place > 1 || ended.code == Some(4), "{inject}{place}: {ended:?}");
            assert!(!ended.said.contains("panicked"), "{}", ended.said);
        }
        assert_goes_on(&site);
    }
}

#[test]
fn n04_syncs_of_the_catalog_that_fail_cost_the_crawl_nothing() {
    if !has(Tool::Strace) {
        return;
    }
    let site = stopped(SimOptions { hosts: 12, pages: 120, ..small(36) }, 40);
    fs::rename(site.crawl.path("crawl"), site.crawl.path("sound")).unwrap();
    for call in ["fsync", "sync_file_range"] {
        // the count is each thread's own: from its Nth sync on, all fail, or two in a row
        for places in ["1+", "2+", "1..2"] {
            let _ = fs::remove_dir_all(site.crawl.path("crawl"));
            copy(&site.crawl.path("sound"), &site.crawl.path("crawl"));
            traced_at(&site, "catalog/db", &format!("{call}:error=EIO:when={places}")).expect(0, &[]);
            site.assert_whole();
        }
    }
}

#[test]
fn c5_writes_without_space_stop_the_crawl_and_with_room_again_nothing_is_lost() {
    if !has(Tool::Strace) {
        return;
    }
    let site = site(small(32));
    for place in [1, 3, 12, 40] {
        let ended = traced(&site, &format!("pwrite64:error=ENOSPC:when={place}+"));
        assert!(matches!(ended.code, Some(0 | 4)), "{place}: {ended:?}");
        assert!(ended.code != Some(4) || ended.said.contains("free some space"), "{place}: {}", ended.said);
        assert!(!ended.said.contains("panicked"), "{}", ended.said);
    }
    assert_goes_on(&site);
}

/// Runs the crawler with its directory on its own disk of this many KiB. What is on it is copied out of the name
/// space at its end. `None` where name spaces are not permitted.
fn run_on_small_disk(site: &Site, kib: u32) -> Option<crate::site::Ended> {
    if !has(Tool::NameSpaces) {
        return None;
    }
    fs::create_dir(site.crawl.path("crawl")).unwrap();
    fs::create_dir(site.crawl.path("out")).unwrap();
    let script =
        format!("mount -t tmpfs -o size={kib}k none crawl && {{ \"$@\"; code=$?; cp -a crawl/. out/; exit $code; }}");
    let ended = crate::site::wait(wrapped(site, &["unshare", "-Urm", "sh", "-c", &script, "sh"]));
    fs::remove_dir(site.crawl.path("crawl")).unwrap();
    fs::rename(site.crawl.path("out"), site.crawl.path("crawl")).unwrap();
    Some(ended)
}

#[test]
fn c5_a_full_disk_stops_the_crawl_and_with_room_again_nothing_is_lost() {
    let site = Site::new(SimOptions { pages: 900, ..small(33) }, &format!("{RUSH}\n[crawl]\ndisk_floor = \"0B\"\n"));
    let Some(ended) = run_on_small_disk(&site, 1_536) else { return };
    ended.expect(4, &["free some space"]);
    assert!(!ended.said.contains("panicked"), "{}", ended.said);
    assert_goes_on(&site);
}

/// Wherever the first start stops, the next one makes the crawl: there is nothing that could be damaged.
#[test]
fn a_start_that_finds_no_room_for_its_files_leaves_no_damage() {
    if !has(Tool::NameSpaces) {
        return;
    }
    let site = Site::new(small(37), &format!("{RUSH}\n[crawl]\ndisk_floor = \"0B\"\n"));
    fs::create_dir(site.crawl.path("crawl")).unwrap();
    let mut stopped = 0;
    for inodes in (3..24).step_by(2) {
        let script = format!(
            "mount -t tmpfs -o size=64m,nr_inodes={inodes} none crawl && {{ \"$@\"; code=$?; \
             \"$1\" verify --dir crawl >&2 || exit 77; exit $code; }}"
        );
        let ended = crate::site::wait(wrapped(&site, &["unshare", "-Urm", "sh", "-c", &script, "sh"]));
        assert!(matches!(ended.code, Some(0 | 4)), "{inodes} files: {ended:?}");
        stopped += usize::from(ended.code == Some(4));
    }
    assert!(stopped > 5, "only {stopped} starts found no room");
}

#[test]
fn a_disk_below_its_floor_stops_the_crawl_and_says_so() {
    let floor = |bytes: &str| format!("{RUSH}\n[crawl]\ndisk_floor = \"{bytes}\"\n");
    let site = Site::new(small(34), &floor("1000000GiB"));
    site.crawl.run(&[]).expect(4, &["disk"]);
    fs::write(site.crawl.path("crawler.toml"), site.web.config_with(&floor("1MiB"))).unwrap();
    assert_goes_on(&site);
}

#[test]
fn a_disk_that_falls_below_its_floor_while_the_crawl_runs_stops_it_in_good_order() {
    let floor = |bytes: &str| format!("{RUSH}\n[crawl]\ndisk_floor = \"{bytes}\"\n");
    let latency = std::time::Duration::from_millis(40);
    let site = Site::new(SimOptions { pages: 1_600, page_bytes: 10_000, latency, ..small(35) }, &floor("30MiB"));
    let Some(ended) = run_on_small_disk(&site, 32 << 10) else { return };
    ended.expect(4, &["disk"]);
    let requests = site.log().len();
    assert!(requests > 100, "it stopped at its start: {}", ended.said);
    fs::write(site.crawl.path("crawler.toml"), site.web.config_with(&floor("0B"))).unwrap();
    let resumed = site.crawl.run(&[]);
    resumed.expect(0, &["resuming the crawl", "disk"]);
    assert!(!resumed.said.contains("unclean"), "{}", resumed.said);
    site.assert_whole();
    assert_eq!(stored_twice(&site), Vec::<String>::new());
}
