//! The same with a crawl of four shards: kills while its directories are made and at any later call, one shard without
//! a disk, a link file that is damaged.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crawler::simweb::SimOptions;

use super::moments::{kill_at_calls, kill_at_random_moments};
use super::{assert_goes_on, copy, small};
use crate::site::{RUSH, Site};

fn site(options: SimOptions) -> Site {
    Site::new(options, &format!("{RUSH}\n[crawl]\nshards = 4\ncheckpoint_interval = \"1s\"\n"))
}

fn verify(site: &Site) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[track_caller]
fn assert_sound(site: &Site) {
    let (is_sound, said) = verify(site);
    assert!(is_sound, "{said}");
}

#[test]
fn c1_kills_of_four_shards_at_random_moments_lose_nothing_and_store_nothing_twice() {
    kill_at_random_moments(site, assert_sound);
}

#[test]
fn c1_a_kill_of_four_shards_at_any_write_sync_rename_or_removal_loses_nothing() {
    // the first ones are at the making of the shards, whose directory begins again
    let calls: [(&str, &[u32]); 7] = [
        ("mkdir", &[1, 2, 9, 20, 30]),
        ("pwrite64", &[1, 2, 5, 14, 40, 90]),
        ("write", &[3, 30]),
        ("fsync", &[1, 2, 5, 12, 25, 40, 70]),
        ("fdatasync", &[1, 2, 4]),
        ("rename", &[1, 2, 4, 5, 6, 8, 12, 20]),
        ("unlink", &[1, 2, 6]),
    ];
    kill_at_calls(site, &calls, assert_sound);
}

#[test]
fn c9_a_directory_of_four_shards_copied_and_resumed_twice_gives_the_same_pages() {
    let site = site(SimOptions { hosts: 30, pages: 500, ..small(24) });
    let child = site.crawl.start(&[]);
    site.wait_for_requests(150);
    crate::site::interrupt(child).expect(11, &[]);
    copy(&site.crawl.path("crawl"), &site.crawl.path("second"));
    assert_goes_on(&site);
    let first = site.crawl.stored();
    fs::rename(site.crawl.path("crawl"), site.crawl.path("first")).unwrap();
    fs::rename(site.crawl.path("second"), site.crawl.path("crawl")).unwrap();
    site.web.clear_log();
    assert_goes_on(&site);
    assert_eq!(site.crawl.stored(), first);
}

#[test]
fn a_shard_that_was_put_back_to_an_earlier_day_is_found_and_not_crawled_with() {
    let site = site(SimOptions { hosts: 40, pages: 900, latency: Duration::from_millis(4), ..small(26) });
    let run_until = |requests: usize| {
        let child = site.crawl.start(&[]);
        site.wait_for_requests(site.log().len() + requests);
        crate::site::interrupt(child).expect(11, &[]);
    };
    run_until(100);
    let of_shard = |place: &str| site.crawl.path(place).join("shard-001");
    copy(&of_shard("crawl"), &of_shard("aside"));
    // what a run's last checkpoint hands to the other shards is read by the next run at the earliest
    for _ in 0..3 {
        run_until(130);
    }
    fs::remove_dir_all(of_shard("crawl")).unwrap();
    copy(&of_shard("aside"), &of_shard("crawl"));
    let (is_sound, said) = verify(&site);
    assert!(!is_sound && said.contains("shard-001"), "{said}");
    let before = site.log().len();
    let ended = site.crawl.run(&[]);
    assert!(ended.code != Some(0), "{ended:?}");
    assert_eq!(site.log().len(), before, "nothing was requested");
}

/// Files of links of all shards.
fn link_files(site: &Site) -> Vec<PathBuf> {
    let dirs = (0..4).map(|shard| site.crawl.path(&format!("crawl/shard-{shard:03}/links")));
    let files = dirs.filter_map(|dir| fs::read_dir(dir).ok()).flatten().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("out.g"))).collect()
}

#[test]
fn a_damaged_link_file_is_found_by_verify_and_named() {
    let site = site(SimOptions { hosts: 40, pages: 900, latency: Duration::from_millis(4), ..small(27) });
    // what a run's last checkpoint hands to the other shards is read by the next run at the earliest
    let child = site.crawl.start(&[]);
    site.wait_for_requests(100);
    crate::site::interrupt(child).expect(11, &[]);
    // one that a checkpoint names: those of a later one are nobody's
    let (_, said) = verify(&site);
    let is_named = |path: &&PathBuf| !said.contains(&*path.file_name().unwrap().to_string_lossy());
    let path = link_files(&site).iter().find(is_named).expect("a checkpoint handed links over").clone();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    fs::write(&path, bytes).unwrap();
    let (is_sound, said) = verify(&site);
    assert!(!is_sound && said.contains(&*path.file_name().unwrap().to_string_lossy()), "{said}");
}
