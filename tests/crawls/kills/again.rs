//! A crawl that fetches its pages again, killed again and again: each page is in the calendar once, comes when it is
//! due and no earlier, and what its last visit found is in the archive.
//!
//! Nothing is due before a minute is over. So crawls whose pages are to come due have a clock that runs faster than the
//! machine's ([`Pace`]): a process of this test program runs the command line as the binary does, but for that clock.
//! More rounds than usual, and other moments to kill at:
//!
//!     ROUNDS=100 SEED=7 cargo test --test crawls kills::again::pages_come_due -- --nocapture

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crawler::clock::{Clock, Time};
use crawler::container::{KeyRecord, Reader};
use crawler::crawl::{self, CrawlError, CrawlRequest};
use crawler::disk::Disk;
use crawler::record::Finish;
use crawler::simweb::{Changes, Request, SimOptions};

use super::{signal, small};
use crate::site::{Crawl, RUSH, Site, kill, wait};

/// Least time from one visit to the next: an interval of a minute, less its jitter and what is cut off of seconds.
const APART_MS: u64 = 53_000;

fn site(shards: u32, checkpoint_interval: &str, options: SimOptions) -> Site {
    let crawl = format!("\n[crawl]\nshards = {shards}\ncheckpoint_interval = \"{checkpoint_interval}\"\n");
    let recrawl = "\n[recrawl]\nmode = \"fixed\"\ninterval = \"1m\"\nmin = \"1m\"\n";
    Site::new(options, &format!("{RUSH}{crawl}{recrawl}"))
}

/// Returns the last line of `verify`. It must find no damage.
#[track_caller]
fn verified(site: &Site, said_before: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said_before}: {told}{}", String::from_utf8_lossy(&output.stderr));
    told.lines().last().unwrap_or_default().to_owned()
}

/// `verify` finds no damage, and as many pages in the calendar as the web has.
#[track_caller]
fn assert_all_in_the_calendar(site: &Site, seed: u64) {
    let told = verified(site, &format!("seed {seed}"));
    let (before, _) = told.split_once(" in the calendar").unwrap_or_else(|| panic!("{told}"));
    let kept: usize = before.rsplit(", ").next().unwrap().replace(',', "").parse().unwrap();
    let lasting = lasting(site).count();
    assert!(kept >= lasting, "seed {seed}: {kept} of {lasting} pages are in the calendar: {told}");
}

/// Pages that are visited as long as the crawl runs.
fn lasting(site: &Site) -> impl Iterator<Item = &String> {
    site.web.expected().pages.iter().filter(|(_, page)| page.status < 400).map(|(url, _)| url)
}

fn readers(site: &Site, shards: u32) -> Vec<Reader> {
    let dir = site.crawl.path("crawl");
    let of_shard = |shard| if shards == 1 { dir.clone() } else { dir.join(format!("shard-{shard:03}")) };
    (0..shards).map(|shard| Reader::open(Disk::real(), &of_shard(shard).join("pages")).unwrap()).collect()
}

/// The records of pages in the order in which they were stored.
fn visits(reader: &Reader) -> impl Iterator<Item = KeyRecord> {
    reader.records().map(Result::unwrap).filter(|record| !record.robots && record.status < 400)
}

/// No page of the archive was asked for again too early.
#[track_caller]
fn assert_apart(site: &Site, shards: u32, seed: u64) {
    for reader in readers(site, shards) {
        let mut newest: HashMap<String, u64> = HashMap::new();
        for record in visits(&reader) {
            let before = newest.insert(record.url.clone(), record.time.ms());
            let gap = before.map(|before| record.time.ms() - before);
            assert!(gap.is_none_or(|gap| gap > APART_MS), "seed {seed}: {} after {gap:?} ms", record.url);
        }
    }
}

fn kill_again_and_again(shards: u32) {
    let seed = u64::from(std::process::id());
    let mut rng = fastrand::Rng::with_seed(seed);
    let site = site(shards, "1s", SimOptions { latency: Duration::from_millis(4), ..small(71) });
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
    assert_all_in_the_calendar(&site, seed);
}

#[test]
fn a_crawl_that_runs_until_nothing_is_due_is_killed_at_random_moments_and_keeps_every_page_in_its_calendar() {
    kill_again_and_again(1);
}

#[test]
fn the_same_of_two_shards() {
    kill_again_and_again(2);
}

/// Pace of a clock: what it says at a moment of the machine's clock, and how much faster it is from then on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    machine_ms: u64,
    says_ms: u64,
    rate: u32,
}

impl Pace {
    /// The machine's own clock, `rate` times as fast from now on.
    pub(super) fn of_machine(rate: u32) -> Pace {
        let machine_ms = machine_ms();
        Pace { machine_ms, says_ms: machine_ms, rate }
    }

    /// One that goes on from what `self` says now at another rate, `ahead` later.
    pub(super) fn on(self, ahead: Duration, rate: u32) -> Pace {
        let machine_ms = machine_ms();
        Pace { machine_ms, says_ms: self.at(machine_ms) + ahead.as_millis() as u64, rate }
    }

    fn at(self, machine_ms: u64) -> u64 {
        self.says_ms + machine_ms.saturating_sub(self.machine_ms) * u64::from(self.rate)
    }
}

fn machine_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A clock of that pace, monotonic from its start on.
struct PacedClock {
    start_ms: u64,
    started: Instant,
    rate: u32,
}

impl Clock for PacedClock {
    fn now(&self) -> Time {
        Time::from_ms(self.start_ms) + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed() * self.rate
    }
}

/// Environment variables with the command line and the pace for the process of [`the_command_line_by_another_clock`].
const LINE: &str = "CRAWLER_TEST_LINE";
const PACE: &str = "CRAWLER_TEST_PACE";

/// The process that [`start`] starts.
#[test]
#[ignore = "no test: what others here start as a process of its own"]
fn the_command_line_by_another_clock() {
    let Ok(line) = std::env::var(LINE) else { return };
    let none = |_: &crawler::disk::Disk, dir: &Path| anyhow::bail!("{} is not read here", dir.display());
    let exit = crawler::cli::run_args(line.split('\n').map(Into::into), crawl_by_another_clock, none);
    std::process::exit(exit as i32);
}

fn crawl_by_another_clock(request: CrawlRequest) -> Result<Finish, CrawlError> {
    let pace = std::env::var(PACE).unwrap();
    let [machine_ms, says_ms, rate] = pace.split(' ').collect::<Vec<_>>()[..] else { panic!("{pace}") };
    let (machine_ms, says_ms) = (machine_ms.parse().unwrap(), says_ms.parse().unwrap());
    let pace = Pace { machine_ms, says_ms, rate: rate.parse().unwrap() };
    let clock = PacedClock { start_ms: pace.at(self::machine_ms()), started: Instant::now(), rate: pace.rate };
    crawl::run_by(request, Arc::new(clock))
}

/// Starts the crawl by a clock of that pace.
pub(super) fn start(crawl: &Crawl, pace: Pace, options: &[&str]) -> Child {
    let line = ["crawler", "--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"];
    let Pace { machine_ms, says_ms, rate } = pace;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["kills::again::the_command_line_by_another_clock", "--exact", "--ignored", "--nocapture"]);
    command.env(LINE, [&line[..], options].concat().join("\n")).env(PACE, format!("{machine_ms} {says_ms} {rate}"));
    command.current_dir(crawl.dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The requests for pages that last, by URL, in order.
fn requests(site: &Site, log: &[Request]) -> HashMap<String, Vec<Request>> {
    let mut requests: HashMap<String, Vec<Request>> = lasting(site).map(|url| (url.clone(), Vec::new())).collect();
    for request in log {
        if let Some(of_page) = requests.get_mut(&request.url(site.web.http_port())) {
            of_page.push(request.clone());
        }
    }
    requests
}

/// Checks by the log of the web that no page was asked for before it was due, but for those whose answer was not in the
/// archive when the crawl was killed.
#[track_caller]
fn assert_due(requests: &HashMap<String, Vec<Request>>, (rate, killed_us): (u32, &[u64]), seed: u64) {
    for (url, of_page) in requests {
        for pair in of_page.windows(2) {
            let gap_ms = (pair[1].started_us - pair[0].started_us) * u64::from(rate) / 1_000;
            let was_killed = killed_us.iter().any(|us| (pair[0].started_us..pair[1].started_us).contains(us));
            assert!(gap_ms > APART_MS || was_killed, "seed {seed}: {url} after {gap_ms} ms: {pair:?}");
        }
    }
}

/// All pages of the web are in the archive and no others; the newest version of some is a 304.
#[track_caller]
fn assert_whole(site: &Site, seed: u64) {
    let (pages, stored) = (&site.web.expected().pages, site.crawl.stored());
    let is_stored = |url: &String, status| stored.get(url).is_some_and(|&is| is == status || is == 304);
    let missing: Vec<_> = pages.iter().filter(|(url, page)| !is_stored(url, page.status)).collect();
    let surplus: Vec<_> = stored.keys().filter(|url| !site.web.expected().may_store(url)).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "seed {seed}: missing {missing:#?}\nsurplus {surplus:#?}");
}

/// The newest version of every page is the one that its last request was answered with.
#[track_caller]
fn assert_last_version(site: &Site, shards: u32, requests: &HashMap<String, Vec<Request>>, seed: u64) {
    let mut seen = 0;
    for reader in readers(site, shards) {
        let newest: HashMap<String, KeyRecord> = visits(&reader).map(|record| (record.url.clone(), record)).collect();
        for (url, record) in newest {
            let Some(last) = requests.get(&url).and_then(|of_page| of_page.last()) else { continue };
            seen += 1;
            // redirects do not change
            let Some(version) = last.version else { continue };
            assert_eq!(Some(record.payload_sha1), site.web.digest_at(&url, version), "seed {seed}: {url}, {last:?}");
        }
    }
    assert_eq!(seen, requests.len(), "seed {seed}");
}

/// Kills a crawl whose pages come due all the time, and are edited now and then; at last it visits all once more.
fn kill_while_pages_come_due(shards: u32) {
    const RATE: u32 = 60;
    let number = |name: &str| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let (seed, rounds) = (number("SEED").unwrap_or(std::process::id().into()), number("ROUNDS").unwrap_or(6));
    let mut rng = fastrand::Rng::with_seed(seed);
    // each page changes every second or two of the machine's clock
    let changes = Changes { per_day: 50_000.0, ln_spread: 0.0, ..Changes::from(Time::from_ms(machine_ms())) };
    let options = SimOptions { changes: Some(changes), latency: Duration::from_millis(4), ..small(72) };
    let options = SimOptions { pages: 120, gzip_share: 0.0, ..options };
    let site = site(shards, "20s", options);
    let pace = Pace::of_machine(RATE);
    let mut killed_us = Vec::new();
    for round in 0..rounds {
        let mut child = start(&site.crawl, pace, &[]);
        site.wait_for_requests_or_end(site.log().len() + rng.usize(40..200), &mut child);
        if round % 3 == 1 {
            signal(&child, rustix::process::Signal::USR1);
        }
        // a moment, not a wait
        std::thread::sleep(Duration::from_micros(rng.u64(0..60_000)));
        let ended = kill(child);
        // requests that it made last came before
        killed_us.push(site.web.now_us());
        assert_eq!(ended.code, None, "seed {seed}, round {round}: {}", ended.said);
        verified(&site, &format!("seed {seed}, round {round}"));
    }
    let before = site.log();
    assert_due(&requests(&site, &before), (RATE, &killed_us), seed);
    // in a week all are due; no page is a second time while the last run goes on
    let ended = wait(start(&site.crawl, pace.on(Duration::from_secs(7 * 86_400), 1), &["--until-fresh"]));
    ended.expect(0, &[]);
    assert_whole(&site, seed);
    assert_apart(&site, shards, seed);
    assert_all_in_the_calendar(&site, seed);
    let last = requests(&site, &site.log()[before.len()..]);
    let wrong: Vec<_> = last.iter().filter(|(_, of_page)| of_page.len() != 1).collect();
    assert!(wrong.is_empty(), "seed {seed}: lost, or visited twice: {wrong:#?}");
    let all = requests(&site, &site.log());
    assert_last_version(&site, shards, &all, seed);
    let (visits, changes) = all.values().fold((0, 0), |(visits, changes), of_page| {
        let changed = of_page.windows(2).filter(|pair| pair[0].version != pair[1].version).count();
        (visits + of_page.len(), changes + changed)
    });
    println!("seed {seed}: {visits} visits of {} pages, {changes} found another version", all.len());
    assert!(visits > 3 * all.len() && changes > all.len() / 2, "seed {seed}: {visits} visits, {changes} changes");
}

#[test]
fn pages_come_due_and_are_edited_while_a_crawl_is_killed_at_random_moments() {
    kill_while_pages_come_due(1);
}

#[test]
fn pages_come_due_and_are_edited_while_two_shards_are_killed_at_random_moments() {
    kill_while_pages_come_due(2);
}
