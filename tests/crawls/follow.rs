//! `crawler follow` beside crawls that are killed, and killed itself: every stored page comes, each once by its place,
//! in the order of the archive; and what a cursor means after compactions and rebuilds.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::site::{PATIENCE, RUSH, Site, interrupt, kill, wait};
use crawler::simweb::SimOptions;
use serde_json::Value;

/// Followers of one crawl, one after the other, which share a cursor. Each writes to its own file.
pub struct Followers<'a> {
    site: &'a Site,
    runs: usize,
}

impl<'a> Followers<'a> {
    /// None yet, and no cursor.
    pub fn of(site: &'a Site) -> Followers<'a> {
        let _ = fs::remove_file(site.crawl.path("cursor"));
        Followers { site, runs: 0 }
    }

    fn out(&self, run: usize) -> PathBuf {
        self.site.crawl.path(&format!("lines-{run}"))
    }

    fn start(&mut self, options: &[&str]) -> Child {
        self.runs += 1;
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["follow", "crawl", "--cursor", "cursor", "--robots", "--batch", "7"]).args(options);
        command.args(["--fields", "place,url,time,status,depth,via,warc"]);
        let out = fs::File::create(self.out(self.runs)).unwrap();
        command.current_dir(self.site.crawl.dir.path()).stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// All that is there now.
    pub fn once(&mut self) -> Vec<Value> {
        let ended = wait(self.start(&["--once"]));
        ended.expect(0, &[]);
        assert_eq!(ended.said, "");
        self.lines(self.runs)
    }

    /// The whole lines of a run; one that was killed may have left the beginning of another.
    fn lines(&self, run: usize) -> Vec<Value> {
        let text = fs::read_to_string(self.out(run)).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the lines of all runs in their order.
    fn all_lines(&self) -> Vec<Value> {
        (1..=self.runs).flat_map(|run| self.lines(run)).collect()
    }

    /// Waits until the newest run has written this many lines, or the crawl is over.
    fn wait_for_lines(&self, count: usize, crawl: &mut Child) {
        let start = Instant::now();
        while self.lines(self.runs).len() < count && crawl.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn text<'a>(line: &'a Value, field: &str) -> &'a str {
    line[field].as_str().unwrap_or_else(|| panic!("{line}"))
}

fn place(line: &Value) -> (u32, u64) {
    let (shard, record) = text(line, "place").split_once('-').unwrap();
    (shard.parse().unwrap(), record.parse().unwrap())
}

/// URL, time and status of each.
pub fn versions<'a>(lines: impl IntoIterator<Item = &'a Value>) -> Vec<(String, String, u64)> {
    let version =
        |line: &Value| (text(line, "url").to_owned(), text(line, "time").to_owned(), line["status"].as_u64().unwrap());
    let mut versions: Vec<_> = lines.into_iter().map(version).collect();
    versions.sort();
    versions
}

/// All versions in the archive, as `crawler list` has them.
pub fn listed(site: &Site) -> Vec<(String, String, u64)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["list", "--all", "--robots", "--json", "--dir"]).arg(site.crawl.path("crawl"));
    let listing = command.output().unwrap();
    assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
    let lines = String::from_utf8(listing.stdout).unwrap();
    versions(&lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>())
}

/// Fails with some of what only one of them has.
#[track_caller]
pub fn assert_same(found: &[(String, String, u64)], expected: &[(String, String, u64)]) {
    let only = |these: &[(String, String, u64)], those: &[(String, String, u64)]| -> Vec<_> {
        these.iter().filter(|version| !those.contains(version)).take(5).cloned().collect()
    };
    let (missing, surplus) = (only(expected, found), only(found, expected));
    assert!(found == expected, "missing {missing:?}, surplus {surplus:?} of {}, {}", expected.len(), found.len());
}

/// Each line once, by its place. In every run, and without what came twice, the places of a shard rise; a place is that
/// of one answer only.
pub fn by_place(followers: &Followers<'_>) -> Vec<Value> {
    let (mut known, mut last, mut once) = (HashMap::new(), BTreeMap::new(), Vec::new());
    for run in 1..=followers.runs {
        let mut last_of_run = BTreeMap::new();
        for line in followers.lines(run) {
            let (shard, record) = place(&line);
            let before = last_of_run.insert(shard, record);
            assert!(before.is_none_or(|before| before < record), "{line} comes behind {before:?} of its shard");
            if let Some(before) = known.insert((shard, record), line.clone()) {
                assert_eq!(before, line);
                continue;
            }
            let before = last.insert(shard, record);
            assert!(before.is_none_or(|before| before < record), "{line} comes late, behind {before:?}");
            once.push(line);
        }
    }
    once
}

fn followed_under_kills(settings: &str) {
    let options =
        SimOptions { hosts: 40, pages: 900, latency: Duration::from_millis(4), seed: 61, ..SimOptions::default() };
    let seed = u64::from(std::process::id());
    let mut rng = fastrand::Rng::with_seed(seed);
    let site = Site::new(options.smooth(), &format!("{RUSH}\n{settings}"));
    let mut followers = Followers::of(&site);
    let mut follower = followers.start(&["--forever"]);
    for round in 0..10 {
        let mut crawl = site.crawl.start(&[]);
        if round % 3 > 0 {
            site.wait_for_requests_or_end(site.log().len() + rng.usize(20..120), &mut crawl);
        }
        if round % 3 == 2 {
            followers.wait_for_lines(1 + rng.usize(0..40), &mut crawl);
        }
        // a moment, not a wait: of a start, a replay, a checkpoint, a delivery
        std::thread::sleep(Duration::from_micros(rng.u64(0..60_000)));
        if round % 2 == 0 {
            let ended = kill(follower);
            assert_eq!((ended.code, ended.said.as_str()), (None, ""), "seed {seed}");
            kill(crawl);
            follower = followers.start(&["--forever"]);
        } else {
            kill(crawl);
        }
    }
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    let ended = kill(follower);
    assert_eq!((ended.code, ended.said.as_str()), (None, ""), "seed {seed}");
    followers.once();
    let once = by_place(&followers);
    println!("seed {seed}: {} lines in {} runs, {} answers", followers.all_lines().len(), followers.runs, once.len());
    assert_same(&versions(&once), &listed(&site));
    assert_eq!(followers.once(), Vec::<Value>::new());
    let of_pages: Vec<_> = once.iter().filter(|line| !text(line, "url").ends_with("/robots.txt")).collect();
    assert!(of_pages.iter().all(|line| line["depth"].is_u64()), "seed {seed}");
}

#[test]
fn every_page_comes_once_by_its_place_whatever_is_killed() {
    followed_under_kills("[crawl]\ncheckpoint_interval = \"1s\"\n");
}

#[test]
fn every_page_of_a_crawl_of_several_shards_comes_once_by_its_place_whatever_is_killed() {
    let settings = "[crawl]\ncheckpoint_interval = \"1s\"\nshards = 3\n[container]\ncompression = \"zstd\"\n";
    followed_under_kills(settings);
}

/// A crawl that stopped early.
fn half(settings: &str) -> Site {
    let options =
        SimOptions { hosts: 10, pages: 200, latency: Duration::from_millis(3), seed: 62, ..SimOptions::default() };
    let site = Site::new(options.smooth(), &format!("{RUSH}\n{settings}"));
    let crawl = site.crawl.start(&[]);
    site.wait_for_requests(80);
    interrupt(crawl).expect(11, &[]);
    site
}

fn run(site: &Site, words: &[&str]) -> crate::site::Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(words).args(["--dir", "crawl"]).current_dir(site.crawl.dir.path());
    wait(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

#[test]
fn a_follower_that_ends_with_its_crawl_has_told_all_of_it() {
    let options = SimOptions { hosts: 6, pages: 90, latency: Duration::from_millis(2), ..SimOptions::default() };
    let site = Site::new(options.smooth(), &format!("{RUSH}\n[container]\ncompression = \"none\"\n"));
    let mut followers = Followers::of(&site);
    let crawl = site.crawl.start(&[]);
    let start = Instant::now();
    while !site.crawl.path("crawl/identity.json").exists() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(2));
    }
    let follower = followers.start(&[]);
    wait(crawl).expect(0, &[]);
    let ended = wait(follower);
    assert_eq!((ended.code, ended.said.as_str()), (Some(0), ""));
    assert_same(&versions(&followers.all_lines()), &listed(&site));
}

#[test]
fn a_cursor_holds_when_pages_are_removed_and_files_rewritten() {
    let site = half("[crawl]\ncheckpoint_interval = \"1s\"\n");
    let mut followers = Followers::of(&site);
    let first = followers.once();
    site.crawl.run(&[]).expect(0, &[]);
    let all: BTreeSet<_> = listed(&site).into_iter().collect();
    // the last page that was told, one before it, and one that was not told yet
    let told: BTreeSet<_> = versions(&first).into_iter().collect();
    let is_page = |url: &str| !url.ends_with("/robots.txt");
    let untold = all.iter().rfind(|version| !told.contains(*version) && is_page(&version.0)).unwrap();
    let last = first.iter().rfind(|line| is_page(text(line, "url"))).unwrap();
    let early = first.iter().find(|line| is_page(text(line, "url"))).unwrap();
    run(&site, &["forget", "--now", &untold.0, text(last, "url"), text(early, "url")]).expect(0, &[]);
    let second = followers.once();
    let expected: Vec<_> =
        all.iter().filter(|version| !told.contains(*version) && version.0 != untold.0).cloned().collect();
    assert_same(&versions(&second), &expected);
    by_place(&followers);
}

#[test]
fn a_cursor_finds_its_place_again_in_an_index_that_was_rebuilt() {
    let site = half("[crawl]\ncheckpoint_interval = \"1s\"\n");
    let mut followers = Followers::of(&site);
    let first = followers.once();
    site.crawl.run(&[]).expect(0, &[]);
    let told: BTreeSet<_> = versions(&first).into_iter().collect();
    let expected: Vec<_> = listed(&site).into_iter().filter(|version| !told.contains(version)).collect();
    // without one of the first pages, every record behind it is elsewhere in the new index
    let lost = &first[5]["warc"];
    damage(&site, lost);
    rebuild(&site);
    assert_same(&versions(&followers.once()), &expected);

    // the last page itself is lost: those of its file come again, and that is said
    fs::remove_file(site.crawl.path("cursor")).unwrap();
    let all = followers.once();
    damage(&site, &all.last().unwrap()["warc"]);
    rebuild(&site);
    let ended = wait(followers.start(&["--once"]));
    ended.expect(0, &["come again"]);
    let (last, others) = all.split_last().unwrap();
    let of_file = others.iter().filter(|line| line["warc"]["file"] == last["warc"]["file"]);
    assert_same(&versions(&followers.lines(followers.runs)), &versions(of_file));
}

/// Makes the index again; the damage that it meets is reported by the code.
fn rebuild(site: &Site) {
    let ended = run(site, &["verify", "--rebuild"]);
    assert_eq!(ended.code, Some(3), "{}", ended.said);
}

/// Spoils the record at a place of a value file.
fn damage(site: &Site, warc: &Value) {
    let name = text(warc, "file");
    let path = site.crawl.path("crawl").join(name);
    let path = if path.exists() { path } else { site.crawl.path("crawl").join(format!("{name}.open")) };
    let mut bytes = fs::read(&path).unwrap();
    let middle = warc["offset"].as_u64().unwrap() + warc["bytes"].as_u64().unwrap() / 2;
    bytes[middle as usize] ^= 0xff;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn a_cursor_of_another_crawl_is_refused() {
    let site = half("");
    let mut followers = Followers::of(&site);
    assert!(!followers.once().is_empty());
    fs::rename(site.crawl.path("crawl"), site.crawl.path("before")).unwrap();
    // a crawl that has made a request knows what an interrupt means
    let before = site.log().len();
    let crawl = site.crawl.start(&[]);
    site.wait_for_requests(before + 20);
    interrupt(crawl).expect(11, &[]);
    wait(followers.start(&["--once"])).expect(2, &["of another crawl"]);
}
