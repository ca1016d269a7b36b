//! Machines that are lost: the process is killed, its directory is gone, and another one goes on from the store.
//!
//! What was fetched behind the last checkpoint in the store is fetched again, each page is in the archive once, and the
//! set of pages is the expected one.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crawler::simweb::SimOptions;

use super::{signal, small, stored_twice};
use crate::site::{RUSH, Site, wait};

/// A crawl of this many shards that ships its checkpoints to a directory beside it.
fn site(shards: usize, options: SimOptions) -> Site {
    let sections = format!("{RUSH}\n[crawl]\nshards = {shards}\n[cluster]\ncommit_interval = \"1s\"\n");
    Site::new(SimOptions { latency: Duration::from_millis(4), ..options }, &sections)
}

fn store(site: &Site) -> String {
    format!("file://{}", fs::canonicalize(site.crawl.dir.path()).unwrap().join("store").display())
}

fn crawler(site: &Site, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).current_dir(site.crawl.dir.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(site: &Site, args: &[&str]) -> Child {
    crawler(site, args).spawn().unwrap()
}

/// A crawl that ships, from the beginning or from its directory.
fn first(site: &Site, store: &str) -> Child {
    start(site, &["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "--store", store])
}

/// Another machine takes it up, in the same place.
fn next(site: &Site, store: &str) -> Child {
    start(site, &["cluster", "run", "--store", store, "--dir", "crawl"])
}

/// The machine with the crawl is gone.
fn lose(site: &Site, mut child: Child) {
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    fs::remove_dir_all(site.crawl.path("crawl")).unwrap();
}

fn manifests(site: &Site) -> Vec<PathBuf> {
    let mut dirs = vec![site.crawl.path("store")];
    let mut found = Vec::new();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false if path.extension().is_some_and(|extension| extension == "manifest") => found.push(path),
                false => {}
            }
        }
    }
    found
}

/// Waits until every shard has a checkpoint in the store.
fn wait_for_manifests(site: &Site, shards: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while manifests(site).len() < shards {
        assert!(Instant::now() < deadline, "no checkpoint reached the store");
        thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn assert_ended(site: &Site, child: Child) {
    wait(child).expect(0, &[]);
    site.assert_whole();
    assert_eq!(stored_twice(site), Vec::<String>::new());
    let verified = crawler(site, &["verify", "--dir", "crawl"]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

fn loses_machines(shards: usize, options: SimOptions) {
    let pages = options.pages;
    let site = site(shards, options);
    let store = store(&site);
    let mut child = first(&site, &store);
    for part in 1..=3 {
        site.wait_for_requests_or_end(site.log().len() + pages / 16 * part, &mut child);
        wait_for_manifests(&site, shards);
        lose(&site, child);
        child = next(&site, &store);
    }
    assert_ended(&site, child);
    // the crawl is complete in the store too: a machine that takes it up now asks for nothing
    fs::remove_dir_all(site.crawl.path("crawl")).unwrap();
    let before = site.log().len();
    assert_ended(&site, next(&site, &store));
    assert_eq!(site.log().len(), before, "nothing was requested");
}

#[test]
fn a_crawl_survives_the_loss_of_its_machines() {
    loses_machines(1, SimOptions { hosts: 30, pages: 700, ..small(91) });
}

#[test]
fn a_crawl_of_four_shards_survives_the_loss_of_its_machines() {
    loses_machines(4, SimOptions { hosts: 40, pages: 900, ..small(92) });
}

#[test]
fn a_killed_process_goes_on_from_its_directory_and_what_it_had_shipped() {
    let site = site(2, SimOptions { hosts: 30, pages: 500, ..small(93) });
    let store = store(&site);
    for requests in [60, 130, 90] {
        let mut child = first(&site, &store);
        site.wait_for_requests_or_end(site.log().len() + requests, &mut child);
        signal(&child, rustix::process::Signal::KILL);
        child.wait().unwrap();
    }
    assert_ended(&site, first(&site, &store));
}

#[test]
fn a_directory_whose_crawl_has_gone_on_elsewhere_is_refused() {
    let site = site(2, SimOptions { hosts: 30, pages: 400, ..small(94) });
    let store = store(&site);
    let mut child = first(&site, &store);
    wait_for_manifests(&site, 2);
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    fs::rename(site.crawl.path("crawl"), site.crawl.path("old")).unwrap();
    assert_ended(&site, next(&site, &store));
    fs::rename(site.crawl.path("crawl"), site.crawl.path("new")).unwrap();
    fs::rename(site.crawl.path("old"), site.crawl.path("crawl")).unwrap();
    let before = site.log().len();
    wait(first(&site, &store)).expect(2, &["has gone on from another directory"]);
    assert_eq!(site.log().len(), before, "nothing was requested");
}

#[test]
fn a_process_that_wakes_behind_its_successor_deletes_nothing_and_ends() {
    let site = site(1, SimOptions { hosts: 30, pages: 700, ..small(95) });
    let store = store(&site);
    let mut stopped = first(&site, &store);
    site.wait_for_requests_or_end(200, &mut stopped);
    wait_for_manifests(&site, 1);
    signal(&stopped, rustix::process::Signal::STOP);
    let mut successor = start(&site, &["cluster", "run", "--store", &store, "--dir", "second"]);
    site.wait_for_requests_or_end(450, &mut successor);
    signal(&stopped, rustix::process::Signal::CONT);
    wait(stopped).expect(4, &["another process goes on with the crawl"]);
    wait(successor).expect(0, &[]);
    for args in [["verify", "--store", &store], ["verify", "--dir", "second"]] {
        let verified = crawler(&site, &args).output().unwrap();
        assert!(verified.status.success(), "{args:?}: {}", String::from_utf8_lossy(&verified.stdout));
    }
}
