//! Disks that fail or are full: a clean stop with the code for it, a word on what to do, and nothing lost.

use std::fs;
use std::process::Command;

use crawler::simweb::SimOptions;

use super::site::{RUSH, Site};
use super::{assert_goes_on, can_trace, site, small, traced, wrapped};

#[test]
fn a_sync_that_fails_stops_the_crawl_without_another_try_and_the_next_run_goes_on() {
    if !can_trace() {
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
fn writes_without_space_stop_the_crawl_and_with_room_again_nothing_is_lost() {
    if !can_trace() {
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

#[test]
fn a_full_disk_stops_the_crawl_and_with_room_again_nothing_is_lost() {
    let permitted = Command::new("unshare").args(["-Urm", "true"]).output();
    if !permitted.is_ok_and(|output| output.status.success()) {
        println!("skipped: name spaces are not permitted");
        return;
    }
    let site = Site::new(SimOptions { pages: 900, ..small(33) }, &format!("{RUSH}\n[crawl]\ndisk_floor = \"0B\"\n"));
    fs::create_dir(site.crawl.path("crawl")).unwrap();
    // what lies on the small disk is copied out of the name space at its end
    let script = "mount -t tmpfs -o size=1536k none crawl && { \"$@\"; code=$?; cp -a crawl/. out/; exit $code; }";
    fs::create_dir(site.crawl.path("out")).unwrap();
    let ended = super::site::wait(wrapped(&site, &["unshare", "-Urm", "sh", "-c", script, "sh"]));
    ended.expect(4, &["free some space"]);
    assert!(!ended.said.contains("panicked"), "{}", ended.said);
    fs::remove_dir(site.crawl.path("crawl")).unwrap();
    fs::rename(site.crawl.path("out"), site.crawl.path("crawl")).unwrap();
    assert_goes_on(&site);
}

#[test]
fn a_disk_below_its_floor_stops_the_crawl_and_says_so() {
    let floor = |bytes: &str| format!("{RUSH}\n[crawl]\ndisk_floor = \"{bytes}\"\n");
    let site = Site::new(small(34), &floor("1000000GiB"));
    site.crawl.run(&[]).expect(4, &["disk"]);
    fs::write(site.crawl.path("crawler.toml"), site.web.config_with(&floor("1MiB"))).unwrap();
    assert_goes_on(&site);
}
