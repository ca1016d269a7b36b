//! A synthetic web, a crawl directory, and the real binary: what tests and measurements of whole crawls share.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "no test needs all of it")]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crawler::simweb::{Limits, Request, SimOptions, SimWeb, Violation, judge};

/// No crawl of these tests takes nearly as long; one that hangs must not hang the suite.
pub const PATIENCE: Duration = Duration::from_secs(240);
/// No delay at all.
pub const RUSH: &str = "delay_factor = 0.0\ndelay_min = \"0s\"\ndelay_per_ip = \"0s\"\n";

/// Waits for something that will happen; `what` is said where it does not.
pub fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A crawl directory with seeds and configuration.
pub struct Crawl {
    pub dir: tempfile::TempDir,
}

impl Crawl {
    /// Makes a crawl with these sections. Icons are not asked for unless they say so, since tests count requests.
    pub fn new(seeds: &str, config: &str) -> Crawl {
        let config = match config.split_once("[scope]\n") {
            _ if config.contains("favicon") => config.to_owned(),
            Some((before, after)) => format!("{before}[scope]\nfavicon = false\n{after}"),
            None => format!("[scope]\nfavicon = false\n{config}"),
        };
        let crawl = Crawl { dir: tempfile::tempdir().unwrap() };
        fs::write(crawl.path("seeds.txt"), seeds).unwrap();
        fs::write(crawl.path("crawler.toml"), config).unwrap();
        crawl
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn start(&self, options: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]).args(options);
        command.current_dir(self.dir.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs to the end.
    pub fn run(&self, options: &[&str]) -> Ended {
        wait(self.start(options))
    }

    /// The newest status of every URL in the archive.
    pub fn stored(&self) -> BTreeMap<String, u16> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let listing = command.args(["list", "--json", "--dir"]).arg(self.path("crawl")).output().unwrap();
        assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
        let entry = |line: &str| {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            (entry["url"].as_str().unwrap().to_owned(), entry["status"].as_u64().unwrap() as u16)
        };
        String::from_utf8(listing.stdout).unwrap().lines().map(entry).collect()
    }
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub said: String,
    pub took: Duration,
}

impl Ended {
    /// Fails with everything that was said unless the run ended with `code` and said `words`.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.said);
        for word in words {
            assert!(self.said.contains(word), "{word:?} is missing in\n{}", self.said);
        }
    }
}

pub fn wait(child: Child) -> Ended {
    wait_at_most(child, PATIENCE)
}

pub fn wait_at_most(mut child: Child, patience: Duration) -> Ended {
    let start = Instant::now();
    // the output is read while the crawler runs, or a full pipe would stop it
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut stderr, &mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > patience {
            child.kill().unwrap();
            panic!("the crawl did not end:\n{}", reader.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = start.elapsed();
    let Output { status, .. } = child.wait_with_output().unwrap();
    Ended { code: status.code(), said: reader.join().unwrap(), took }
}

pub fn interrupt(child: Child) -> Ended {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    wait(child)
}

pub fn kill(mut child: Child) -> Ended {
    child.kill().unwrap();
    wait(child)
}

/// A crawl of a synthetic web.
pub struct Site {
    pub web: SimWeb,
    pub crawl: Crawl,
}

impl Site {
    /// `politeness` is that section of the configuration, and may go on with others.
    pub fn new(options: SimOptions, politeness: &str) -> Site {
        let web = SimWeb::start(options).unwrap();
        let crawl = Crawl::new(&web.seeds().join("\n"), &web.config_with(politeness));
        Site { web, crawl }
    }

    pub fn log(&self) -> Vec<Request> {
        self.web.log()
    }

    /// Waits until the web has served `count` requests.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait_for_requests_unless(count, || false);
    }

    /// Waits until the web has served `count` requests, or the crawl in `child` is over.
    pub fn wait_for_requests_or_end(&self, count: usize, child: &mut Child) {
        self.wait_for_requests_unless(count, || child.try_wait().unwrap().is_some());
    }

    fn wait_for_requests_unless(&self, count: usize, mut is_over: impl FnMut() -> bool) {
        let start = Instant::now();
        // a copy of the last of them is cheaper than one of the whole log, every few milliseconds
        while count > 0 && self.web.log_after(count - 1).is_empty() && !is_over() {
            assert!(start.elapsed() < PATIENCE, "only {} requests came", self.web.log().len());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// No request to what robots.txt excludes, and nothing that only `nofollow` links name.
    #[track_caller]
    pub fn assert_obedient(&self) {
        let expected = self.web.expected();
        for request in self.log() {
            let url = request.url(self.web.http_port());
            assert!(!expected.disallowed.contains(&url), "{url} is disallowed and was requested");
            assert!(!expected.never.contains(&url), "{url} must not be followed and was requested");
        }
    }

    /// Pages that were requested more often than their status asks for.
    pub fn fetched_twice(&self) -> Vec<String> {
        let mut answers: HashMap<String, u32> = HashMap::new();
        for request in self.log() {
            if request.status < 500 && !request.path.starts_with("/robots.txt") {
                *answers.entry(request.url(self.web.http_port())).or_default() += 1;
            }
        }
        answers.into_iter().filter(|(_, times)| *times > 1).map(|(url, _)| url).collect()
    }

    #[track_caller]
    pub fn assert_whole(&self) {
        let pages = &self.web.expected().pages;
        let stored = self.crawl.stored();
        let missing: Vec<_> = pages.iter().filter(|(url, page)| stored.get(*url) != Some(&page.status)).collect();
        let surplus: Vec<_> = stored.keys().filter(|url| !self.web.expected().may_store(url)).collect();
        assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:#?}\nsurplus {surplus:#?}");
    }

    /// The log holds nothing against the limits.
    #[track_caller]
    pub fn assert_polite(&self, limits: &Limits) {
        self.assert_polite_over_kills(limits, &[]);
    }

    /// Kills the crawler, and says when by the clock of the log.
    pub fn kill(&self, child: Child) -> u64 {
        kill(child);
        self.log().iter().map(|request| request.finished_us).max().unwrap_or(0)
    }

    /// The log holds nothing against the limits but what [`Site::offences`] leaves out.
    #[track_caller]
    pub fn assert_polite_over_kills(&self, limits: &Limits, killed_us: &[u64]) {
        let offences = self.offences(limits, killed_us);
        assert!(offences.is_empty(), "{} offences:\n{}", offences.len(), offences.join("\n"));
    }

    /// Returns the violations of the limits in the log, but for rests that a process cannot know of that was killed:
    /// after a connection that failed, which leaves no record, and after an answer that was on its way to the archive
    /// or broke off with the process.
    pub fn offences(&self, limits: &Limits, killed_us: &[u64]) -> Vec<String> {
        const ABOUT_US: u64 = 150_000;
        let unknown = |violation: &Violation| {
            let Violation::RestCutShort { before, request, .. } = violation else { return false };
            killed_us.iter().any(|&us| {
                let was_on_its_way = before.finished_us.abs_diff(us) < ABOUT_US;
                was_on_its_way || (before.status == 0 && (before.finished_us..=request.started_us).contains(&us))
            })
        };
        let violations = judge(&self.log(), limits);
        violations.iter().filter(|violation| !unknown(violation)).map(Violation::to_string).collect()
    }
}

/// Path, time of the last change and content of every file below `dir`.
pub fn everything(dir: &Path) -> Vec<(PathBuf, SystemTime, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let modified = entry.metadata().unwrap().modified().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.push((entry.path(), modified, Vec::new()));
            found.extend(everything(&entry.path()));
        } else {
            found.push((entry.path(), modified, fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

/// Waits until the clock shows another second: dates on command lines and in indexes have no fractions.
pub fn next_second() {
    let second = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let start = second();
    while second() == start {
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub const fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}
