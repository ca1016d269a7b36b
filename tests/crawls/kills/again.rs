//! A crawl that fetches its pages again and runs until nothing is due, killed again and again: each page is in the
//! calendar once, and comes no more often than its interval says.

use std::collections::HashMap;
use std::process::Command;
use std::time::Duration;

use crawler::container::Reader;
use crawler::disk::Disk;
use crawler::simweb::SimOptions;

use super::{signal, small};
use crate::site::{RUSH, Site, kill};

/// From one visit to the next, at least: an interval of a minute, less its jitter and what is cut off of seconds.
const APART_MS: u64 = 53_000;

fn site(shards: u32) -> Site {
    let crawl = format!("\n[crawl]\nshards = {shards}\ncheckpoint_interval = \"1s\"\n");
    let recrawl = "\n[recrawl]\nmode = \"fixed\"\ninterval = \"1m\"\nmin = \"1m\"\n";
    let options = SimOptions { latency: Duration::from_millis(4), ..small(71) };
    Site::new(options, &format!("{RUSH}{crawl}{recrawl}"))
}

/// What `verify` says at its end, where it finds no damage.
#[track_caller]
fn verified(site: &Site, said_before: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said_before}: {told}{}", String::from_utf8_lossy(&output.stderr));
    told.lines().last().unwrap_or_default().to_owned()
}

/// No page of the archive was asked for again too early.
#[track_caller]
fn assert_apart(site: &Site, shards: u32, seed: u64) {
    for shard in 0..shards {
        let dir = site.crawl.path("crawl");
        let dir = if shards == 1 { dir } else { dir.join(format!("shard-{shard:03}")) };
        let reader = Reader::open(Disk::real(), &dir.join("pages")).unwrap();
        let mut newest: HashMap<String, u64> = HashMap::new();
        for record in reader.records().map(Result::unwrap).filter(|record| !record.robots && record.status < 400) {
            let before = newest.insert(record.url.clone(), record.time.ms());
            let gap = before.map(|before| record.time.ms() - before);
            assert!(gap.is_none_or(|gap| gap > APART_MS), "seed {seed}: {} after {gap:?} ms", record.url);
        }
    }
}

fn kill_again_and_again(shards: u32) {
    let seed = u64::from(std::process::id());
    let mut rng = fastrand::Rng::with_seed(seed);
    let site = site(shards);
    for round in 0..6 {
        let mut child = site.crawl.start(&["--until-fresh"]);
        if round < 4 {
            site.wait_for_requests_or_end(site.log().len() + rng.usize(10..50), &mut child);
        }
        if round % 2 == 1 {
            signal(&child, rustix::process::Signal::USR1);
        }
        // a moment, not a wait
        std::thread::sleep(Duration::from_micros(rng.u64(0..60_000)));
        kill(child);
        verified(&site, &format!("seed {seed}, round {round}"));
    }
    site.crawl.run(&["--until-fresh"]).expect(0, &[]);
    site.assert_whole();
    assert_apart(&site, shards, seed);
    let told = verified(&site, &format!("seed {seed}"));
    let (before, _) = told.split_once(" in the calendar").unwrap_or_else(|| panic!("{told}"));
    let kept: usize = before.rsplit(", ").next().unwrap().replace(',', "").parse().unwrap();
    let lasting = site.web.expected().pages.values().filter(|page| page.status < 400).count();
    assert!(kept >= lasting, "seed {seed}: {kept} of {lasting} pages are in the calendar: {told}");
}

#[test]
fn a_crawl_that_runs_until_nothing_is_due_is_killed_at_random_moments_and_keeps_every_page_in_its_calendar() {
    kill_again_and_again(1);
}

#[test]
fn the_same_of_two_shards() {
    kill_again_and_again(2);
}
