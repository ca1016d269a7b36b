//! A handful of whole crawls by the real binary, over real sockets: the quick tier's look at the program. The many are
//! in the system tier.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../site/mod.rs"]
mod site;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use crawler::disk::{Disk, Mode};
use crawler::simweb::SimOptions;
use crawler::warc::{Record, RecordReader};
use sha1::{Digest, Sha1};
use site::{RUSH, Site, everything, interrupt, kill};

/// A crawl that makes a checkpoint every second. Twice is as often as a flaky page fails, and every retry of one that
/// stays broken holds its host back.
fn begun(options: SimOptions) -> Site {
    let more = "give_up = \"1s\"\n[fetch]\nretries = 2\n[crawl]\ncheckpoint_interval = \"1s\"\n";
    Site::new(options, &format!("{RUSH}{more}"))
}

fn small() -> SimOptions {
    SimOptions { seed: 11, hosts: 60, pages: 900, latency: Duration::from_millis(2), ..SimOptions::default() }
}

fn few() -> SimOptions {
    SimOptions { hosts: 8, pages: 60, ..small() }
}

/// Runs a command on the crawl.
fn command(site: &Site, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(arguments).args(["--dir", "crawl"]).current_dir(site.crawl.dir.path()).output().unwrap()
}

/// Returns the output of a command that succeeds.
fn prints(site: &Site, arguments: &[&str]) -> Vec<u8> {
    let output = command(site, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Exit code and output of `crawler verify`.
fn verify(site: &Site) -> (Option<i32>, String) {
    let output = command(site, &["verify"]);
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_demo_finds_its_result_right() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_crawler")).arg("demo").current_dir(dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("The result is right"), "{said}");
}

#[test]
fn an_exported_warc_file_has_every_page_of_the_archive() {
    let site = begun(few());
    site.crawl.run(&[]).expect(0, &[]);
    prints(&site, &["export", "warc", "--output", "all.warc.gz"]);
    let file = Disk::real().open(site.crawl.path("all.warc.gz"), Mode::Read).unwrap();
    let mut reader = RecordReader::new(&file, 0, 64 << 20);
    let records: Vec<Record> = std::iter::from_fn(|| reader.next().unwrap()).collect();
    let answers = records.iter().filter(|record| matches!(record.kind(), "response" | "revisit"));
    let exported: BTreeSet<&str> = answers.filter_map(|record| record.field("WARC-Target-URI")).collect();
    let stored = site.crawl.stored();
    assert_eq!(exported, stored.keys().map(String::as_str).collect());
    assert!(stored.len() > 40, "{stored:?}");
}

#[test]
fn stored_bodies_are_what_the_web_sent() {
    let site = begun(few());
    site.crawl.run(&[]).expect(0, &[]);
    for (url, page) in &site.web.expected().pages {
        let body = prints(&site, &["get", url]);
        let digest: [u8; 20] = Sha1::digest(&body).into();
        assert_eq!(digest, page.body_sha1, "{url}");
    }
}

#[test]
fn a_crawl_that_was_interrupted_goes_on_and_fetches_nothing_twice() {
    let site = begun(small());
    let child = site.crawl.start(&[]);
    site.wait_for_requests(300);
    interrupt(child).expect(11, &[]);
    site.crawl.run(&[]).expect(0, &["resuming"]);
    site.assert_whole();
    site.assert_obedient();
    assert_eq!(site.fetched_twice(), Vec::<String>::new());
}

#[test]
fn a_crawl_that_was_killed_again_and_again_ends_with_exactly_the_expected_pages() {
    let site = begun(small());
    for round in 1..=6 {
        let child = site.crawl.start(&[]);
        let before = site.web.log().len();
        site.wait_for_requests(before + 60 + 20 * round);
        kill(child);
    }
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    site.assert_obedient();
    // what was under way at a kill has no record and is asked for again, and nothing else
    let twice = site.fetched_twice().len();
    assert!(twice <= 6 * 64, "{twice} pages were fetched twice in 6 kills of at most 64 requests under way");
}

#[test]
fn a_second_crawler_on_the_same_directory_is_refused() {
    let site = begun(small());
    let child = site.crawl.start(&[]);
    site.wait_for_requests(5);
    let second = site.crawl.run(&[]);
    second.expect(6, &["in use"]);
    interrupt(child).expect(11, &[]);
}

#[test]
fn verify_finds_a_finished_crawl_sound_and_changes_nothing() {
    let site = begun(few().smooth());
    site.crawl.run(&[]).expect(0, &[]);
    let before = everything(&site.crawl.path("crawl"));
    let (code, said) = verify(&site);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("no damage\n"), "{said}");
    assert_eq!(everything(&site.crawl.path("crawl")), before, "verify changed a file");
    let value = site.crawl.path("crawl/pages/value-00000.warc.gz");
    let mut bytes = fs::read(&value).unwrap();
    let middle = bytes.len() / 2;
    // of a byte that compressed data end in some bits alone mean nothing
    bytes[middle] ^= 0xff;
    fs::write(&value, bytes).unwrap();
    let (code, said) = verify(&site);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("value-00000.warc.gz:") && said.contains("bytes are skipped"), "{said}");
}
