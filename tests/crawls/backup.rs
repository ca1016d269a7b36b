//! `crawler backup` beside crawls that make a checkpoint each second: each copy is whole, and goes on to the end.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crawler::simweb::SimOptions;

use crate::site::{RUSH, Site, kill, wait_for};

/// Backups during a crawl; `BACKUPS=50` makes as many.
fn times() -> usize {
    std::env::var("BACKUPS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

fn crawler(site: &Site, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(words).current_dir(site.crawl.dir.path()).stdin(Stdio::null()).output().unwrap()
}

/// Returns what `words` print, which succeed.
#[track_caller]
fn prints(site: &Site, words: &[&str]) -> String {
    let Output { status, stdout, stderr } = crawler(site, words);
    let (said, told) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{words:?}: {status}\n{said}\n{told}");
    said.into_owned()
}

/// A web whose crawl with `shards` takes as long as the backups.
fn slow_site(seed: u64, shards: usize) -> Site {
    let sections = format!(
        "delay_factor = 0.0\ndelay_min = \"300ms\"\ndelay_per_ip = \"0s\"\n[crawl]\nshards = {shards}\n\
         checkpoint_interval = \"1s\"\n"
    );
    Site::new(SimOptions { seed, hosts: 40, pages: 20 * times() * 40, ..SimOptions::default() }.smooth(), &sections)
}

fn pages_in(site: &Site, dir: &str) -> BTreeSet<String> {
    prints(site, &["list", "--dir", dir]).lines().map(str::to_owned).collect()
}

#[track_caller]
fn assert_sound(site: &Site, dir: &str) {
    let said = prints(site, &["verify", "--dir", dir]);
    assert!(said.contains(": no damage") && !said.contains("unfinished") && !said.contains("left over"), "{said}");
}

/// Copies a crawl again and again while it goes on, and finishes the last copy.
fn assert_backed_up(seed: u64, shards: usize) {
    let site = slow_site(seed, shards);
    let child = site.crawl.start(&[]);
    wait_for("no first checkpoint", || crawler(&site, &["ctl", "checkpoint", "--dir", "crawl"]).status.success());
    prints(&site, &["backup", "crawl", "copy-0"]);
    let (mut before, last) = (BTreeSet::new(), times());
    for number in 0..=last {
        let copy = format!("copy-{number}");
        if number > 0 {
            prints(&site, &["backup", "crawl", &copy]);
            std::fs::remove_dir_all(site.crawl.path(&format!("copy-{}", number - 1))).unwrap();
        }
        assert_sound(&site, &copy);
        let pages = pages_in(&site, &copy);
        assert!(before.is_subset(&pages), "{:?}", before.difference(&pages).next());
        before = pages;
    }
    // the machine is lost: the copy takes the place of the crawl
    kill(child);
    std::fs::rename(site.crawl.path("crawl"), site.crawl.path("lost")).unwrap();
    std::fs::rename(site.crawl.path(&format!("copy-{last}")), site.crawl.path("crawl")).unwrap();
    let config = std::fs::read_to_string(site.crawl.path("crawler.toml")).unwrap();
    let config = config.replace("delay_min = \"300ms\"", "delay_min = \"0s\"");
    std::fs::write(site.crawl.path("crawler.toml"), config).unwrap();
    site.crawl.run(&[]).expect(0, &["finish reason            complete"]);
    site.assert_whole();
    assert!(before.is_subset(&pages_in(&site, "crawl")));
    assert_sound(&site, "crawl");
}

#[test]
fn copies_of_a_running_crawl_are_whole_and_the_last_one_goes_on_to_the_end() {
    assert_backed_up(511, 1);
}

#[test]
fn copies_of_a_running_crawl_of_several_shards_are_whole_and_the_last_one_goes_on_to_the_end() {
    assert_backed_up(512, 3);
}

#[test]
fn a_copy_of_a_crawl_that_has_ended_is_the_same_crawl_and_what_would_be_none_is_refused() {
    let options = SimOptions { seed: 513, hosts: 8, pages: 60, ..SimOptions::default() }.smooth();
    let site = Site::new(options, &format!("{RUSH}[crawl]\nshards = 2\n"));
    let refused = |words: &[&str], why: &str| {
        let Output { status, stderr, .. } = crawler(&site, words);
        let told = String::from_utf8_lossy(&stderr);
        assert!(status.code() == Some(2) && told.contains(why), "{words:?}: {status} {told}");
    };
    refused(&["backup", "crawl", "copy"], "no crawl in crawl");
    site.crawl.run(&[]).expect(0, &["finish reason            complete"]);
    let said = prints(&site, &["backup", "crawl", "copy"]);
    assert!(said.starts_with("copy: checkpoint ") && said.contains(" of 2 shards"), "{said}");
    assert_eq!(pages_in(&site, "copy"), pages_in(&site, "crawl"));
    assert_eq!(prints(&site, &["status", "--dir", "copy"]).lines().next(), prints(&site, &["status"]).lines().next());
    assert_sound(&site, "copy");
    let requests = site.log().len();
    let resumed = crawler(&site, &["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "copy"]);
    assert!(resumed.status.success() && site.log().len() == requests, "{resumed:?}");

    refused(&["backup", "crawl", "copy"], "copy is not empty");
    refused(&["backup", "crawl", "crawl/copy"], "is in the crawl itself");
    refused(&["backup", "crawl/shard-000", "other"], "is one shard of a crawl");
    assert!(!Path::new(&site.crawl.path("other")).exists());
    std::fs::create_dir(site.crawl.path("empty")).unwrap();
    // what a killed backup left behind
    std::fs::create_dir(site.crawl.path("empty.restoring")).unwrap();
    std::fs::write(site.crawl.path("empty.restoring/identity.json"), "half").unwrap();
    prints(&site, &["backup", "crawl/", "empty/"]);
    assert_sound(&site, "empty");
    assert!(!site.crawl.path("empty.restoring").exists());
    // of a crawl that is in a store, the store is the backup
    std::fs::write(site.crawl.path("crawl/shard-001/shipped.json"), "{}").unwrap();
    refused(&["backup", "crawl", "another"], "ships its checkpoints to a store");
}
