//! Warnings for an operator, once each, by the real binary: no contact, a Crawl-delay that is not kept to, a disk that
//! fills, a clock that was set back between two runs, a seeds file that is none, a limit of file sizes. A clock that is
//! set during a run is for `crawl::warnings`.

use std::fs;
use std::process::{Command, Stdio};

use crate::site::{RUSH, Site};
use crawler::simweb::SimOptions;

const CONTACT: &str = " INFO tip: set crawl.contact, so that webmasters can reach you";
const DISK: &str = "the disk is filling up: ";
const CLOCK: &str = "behind the last checkpoint of this crawl";

fn web() -> SimOptions {
    SimOptions { seed: 5, hosts: 6, pages: 30, latency: crate::site::ms(0), ..SimOptions::default() }.smooth()
}

/// Fails unless the log has `words` in this many warnings.
#[track_caller]
fn assert_warned(said: &str, words: &str, times: usize) {
    let warnings = said.lines().filter(|line| line.contains(" WARN ") && line.contains(words));
    assert_eq!(warnings.count(), times, "{words:?} in\n{said}");
}

#[test]
fn a_crawl_without_contact_gets_one_tip_and_no_warning() {
    for (sections, times) in [("", 1), ("[crawl]\ncontact = \"me@example.org\"\n", 0)] {
        let site = Site::new(web(), &format!("{RUSH}{sections}"));
        let ended = site.crawl.run(&[]);
        ended.expect(0, &["finish reason"]);
        assert_eq!(ended.said.matches(CONTACT).count(), times, "{}", ended.said);
        // nor is there a warning in a crawl that has nothing to be warned of
        assert_warned(&ended.said, "", 0);
    }
}

#[test]
fn a_crawl_delay_beyond_the_cap_is_a_warning_for_one_host_and_information_for_the_others() {
    let options = SimOptions {
        robots_share: 1.0,
        robots_missing_share: 0.0,
        robots_crawl_delay_share: 1.0,
        robots_crawl_delay: crate::site::ms(300),
        pages: 12,
        ..web()
    };
    for (beyond, what, code) in [("cap", "that counts", 0), ("skip", "nothing is fetched from it", 5)] {
        // without any delay of ours none of theirs would count
        let calm = RUSH.replacen("delay_min = \"0s\"", "delay_min = \"1ms\"", 1);
        let sections = format!("{calm}crawl_delay_max = \"100ms\"\ncrawl_delay_beyond = \"{beyond}\"\n");
        let site = Site::new(options.clone(), &sections);
        let ended = site.crawl.run(&[]);
        ended.expect(code, &["finish reason"]);
        let words = format!("Crawl-delay 0.3 s; politeness.crawl_delay_max is 0.1 s: {what}");
        assert_warned(&ended.said, &words, 1);
        let told = ended.said.lines().filter(|line| line.contains(&words));
        assert!(told.count() > 1, "the others are logged as information in\n{}", ended.said);
    }
}

#[test]
fn a_disk_that_fills_is_told_before_it_stops_the_crawl_and_the_same_line_goes_on() {
    let site = Site::new(web(), RUSH);
    let config = fs::read_to_string(site.crawl.path("crawler.toml")).unwrap();
    let free = || rustix::fs::statvfs(site.crawl.dir.path()).map(|disk| disk.f_bavail * disk.f_frsize).unwrap();
    let floor = |bytes: u64| {
        fs::write(site.crawl.path("crawler.toml"), format!("[crawl]\ndisk_floor = {bytes}\n{config}")).unwrap();
    };
    // others use this disk too: what is free may double or become a tenth, and this is as it should be
    floor(free().saturating_mul(10));
    let ended = site.crawl.run(&[]);
    ended.expect(4, &["disk low: less free space than crawl.disk_floor", "resume with"]);
    assert_warned(&ended.said, DISK, 1);
    assert!(site.log().is_empty() && site.crawl.stored().is_empty(), "{}", ended.said);
    floor(free() / 4 * 3);
    let ended = site.crawl.run(&[]);
    ended.expect(0, &["resuming the crawl in crawl (last run: disk low: less free space than crawl.disk_floor)"]);
    assert_warned(&ended.said, DISK, 1);
    site.assert_whole();
}

#[test]
fn n22_passwords_of_seeds_and_a_depth_that_was_raised_too_late_are_told_once() {
    let site = Site::new(SimOptions { robots_share: 0.0, ..web() }, RUSH);
    let seeds = fs::read_to_string(site.crawl.path("seeds.txt")).unwrap();
    fs::write(site.crawl.path("seeds.txt"), seeds.replacen("://", "://me:secret@", 1)).unwrap();
    let ended = site.crawl.run(&["--max-depth", "0"]);
    assert_warned(&ended.said, "the user or password of this seed is ignored", 1);
    assert_warned(&ended.said, "crawl.max_depth was", 0);
    assert!(!ended.said.contains("secret"), "{}", ended.said);
    let ended = site.crawl.run(&["--max-depth", "1"]);
    assert_warned(&ended.said, "crawl.max_depth was 0 and is 1 now, but ", 1);
    let ended = site.crawl.run(&["--max-depth", "1"]);
    assert_warned(&ended.said, "crawl.max_depth was", 0);
}

#[test]
fn a_clock_that_was_set_back_between_two_runs_is_told() {
    let site = Site::new(web(), RUSH);
    let ended = site.crawl.run(&["--max-pages", "5"]);
    assert_warned(&ended.said, CLOCK, 0);
    let copy = site.crawl.path("crawl/status.json");
    let mut status: serde_json::Value = serde_json::from_slice(&fs::read(&copy).unwrap()).unwrap();
    let later = status["updated_ms"].as_u64().unwrap() + 3_600_000;
    status["updated_ms"] = later.into();
    fs::write(&copy, status.to_string()).unwrap();
    let ended = site.crawl.run(&[]);
    ended.expect(0, &["the clock is 59m"]);
    assert_warned(&ended.said, CLOCK, 1);
}

#[test]
fn n24_a_seeds_file_of_random_bytes_is_a_few_warnings_and_a_count() {
    let site = Site::new(web(), RUSH);
    let mut random = fastrand::Rng::with_seed(24);
    let mut bytes = fs::read(site.crawl.path("seeds.txt")).unwrap();
    bytes.push(b'\n');
    bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(3_000_000));
    fs::write(site.crawl.path("seeds.txt"), bytes).unwrap();
    let ended = site.crawl.run(&[]);
    ended.expect(0, &["finish reason"]);
    assert_warned(&ended.said, "more lines are not URLs", 1);
    let warnings = ended.said.lines().filter(|line| line.contains(" WARN ") && line.contains("seeds.txt:"));
    assert_eq!(warnings.count(), 21, "{}", ended.said);
    site.assert_whole();
}

#[test]
fn n24_a_limit_of_file_sizes_ends_the_crawl_as_a_full_disk_does_and_the_same_line_goes_on() {
    let options = SimOptions { pages: 60, page_bytes: 64 << 10, gzip_share: 0.0, ..web() };
    let site = Site::new(options, RUSH);
    // in blocks of 512 bytes: enough for what a start writes, too little for the archive
    let line = format!(
        "ulimit -f 1200; exec '{}' --seeds seeds.txt --config crawler.toml --dir crawl",
        env!("CARGO_BIN_EXE_crawler")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(site.crawl.dir.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = crate::site::wait(command.spawn().unwrap());
    ended.expect(4, &["File too large", "ulimit -f", "it resumes from the last checkpoint"]);
    site.crawl.run(&[]).expect(0, &["resuming the crawl in crawl"]);
    site.assert_whole();
}
