//! A crawl in virtual time around a frontier: answers every task by a synthetic site, does the jobs, and judges gaps,
//! concurrency and that every URL comes out exactly once.

mod activity;
mod addresses;
mod busiest;
mod cold;
mod crash;
mod faults;
mod hosts;
mod hours;
mod look;
mod memory;
mod names;
mod neighbours;
mod polite;
mod rounds;
mod silence;
mod takeover;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::clock::{Clock, ManualClock, Stored};
use crate::outcome::{Blame, Failure, Reason, Verdict, blame_of_failure};

pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const S: Duration = Duration::from_secs(1);
/// Time for which a negative answer of the name servers holds.
pub(super) const NEGATIVE: Duration = Duration::from_secs(600);
pub(super) const START: Time = Time::from_ms(1_800_000_000_000);

/// Rules of the synthetic web: a Crawl-delay, and everything below `/private` is forbidden.
#[derive(Debug)]
pub(super) struct TestRules(pub Option<Duration>);

impl Rules for TestRules {
    fn allows(&self, url: &str) -> bool {
        !url.contains("/private")
    }

    fn crawl_delay(&self) -> Option<Duration> {
        self.0
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.map_or(u64::MAX, |delay| delay.as_millis() as u64).to_le_bytes());
    }
}

/// The same rules, which take this many bytes.
#[derive(Debug)]
struct LongRules(TestRules, usize);

impl Rules for LongRules {
    fn allows(&self, url: &str) -> bool {
        self.0.allows(url)
    }

    fn crawl_delay(&self) -> Option<Duration> {
        self.0.crawl_delay()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.encode(out);
        out.resize(start + self.1.max(8), 0);
    }
}

pub(super) fn decode_rules(bytes: &[u8]) -> Option<Arc<dyn Rules>> {
    let ms = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let rules = TestRules((ms != u64::MAX).then_some(MS * ms as u32));
    Some(Arc::new(LongRules(rules, bytes.len())))
}

fn fingerprint(n: u64) -> Fingerprint {
    let mut bits = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    Fingerprint::from_bits(bits ^ (bits >> 29))
}

/// URL number `n` of host `host`; four hosts share a domain.
pub(super) fn url(host: u64, n: u64, priority: u8) -> QueuedUrl {
    QueuedUrl {
        url: format!("http://www{host}.example/a/page-{n}.html").into(),
        key: fingerprint(host << 32 | n),
        origin: fingerprint(host | 1 << 60),
        host: fingerprint(host | 2 << 60),
        domain: fingerprint((host / 4) | (3 << 60)),
        priority,
        depth: 3,
        hops: Hops::parse("LLR"),
        attempts: 0,
        via: n,
        seed: 1,
        forced: false,
        recrawl: None,
    }
}

pub(super) fn private(host: u64, n: u64) -> QueuedUrl {
    QueuedUrl { url: format!("http://www{host}.example/private/{n}").into(), ..url(host, n, 1) }
}

/// The behaviour of a site.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub address: Result<u32, Failure>,
    pub robots: Option<Option<Duration>>,
    pub rules_bytes: usize,
    pub duration: Duration,
    pub feedback: fn(u64) -> Answered,
    /// The party for which an answer speaks that is tried again.
    pub faults: Blame,
    /// Returns whether a URL gets it; the others are answered well.
    pub bad: fn(&str) -> bool,
}

/// Verdict, failure, Retry-After.
type Answered = (Verdict, Option<Failure>, Option<Duration>);
type Result<T, E = crate::disk::Error> = std::result::Result<T, E>;

/// A request that the synthetic web saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub host: u64,
    pub ip: IpAddr,
    pub start: Time,
    pub end: Time,
    pub robots: bool,
}

enum PendingAnswer {
    Resolved(HostId, u64),
    Robots(HostId, u64),
    Done(HostId, u64, QueuedUrl, Time, IpAddr),
}

/// The crawl.
pub(super) struct Crawl {
    pub frontier: Frontier,
    pub options: FrontierOptions,
    pub dir: tempfile::TempDir,
    pub clock: ManualClock,
    pub sites: fn(u64) -> Site,
    pub requests: Vec<Request>,
    /// URLs in the order in which they came out for good, with the reason of a drop.
    pub out: Vec<(QueuedUrl, Option<Reason>)>,
    /// URLs that have to come out.
    pub expected: BTreeSet<Fingerprint>,
    pub attempts: BTreeMap<Fingerprint, u64>,
    answers: BTreeMap<(Time, u64), PendingAnswer>,
    answered: u64,
    /// Names that were resolved, and jobs that were done.
    pub resolved: usize,
    pub worked: usize,
    pub slots: usize,
    /// True if something that never comes is on its way to the frontier.
    pub is_fed: bool,
    pub jobs: Vec<PartitionJob>,
    pub done: Vec<PartitionDone>,
}

pub(super) fn plain(host: u64) -> Site {
    Site {
        address: Ok(host as u32 + 1),
        robots: Some(None),
        rules_bytes: 0,
        duration: MS * 20,
        feedback: |_| (Verdict::Done, None, None),
        faults: Blame::Host,
        bad: |_| true,
    }
}

pub(super) fn small_options() -> FrontierOptions {
    FrontierOptions {
        partitions: 4,
        memory: 4 << 20,
        active_hosts: 50,
        buffer_urls: 8,
        block_bytes: 512,
        politeness: Politeness { delay_factor: 0.0, ..Politeness::default() },
        budget: Budget::UNLIMITED,
        ..FrontierOptions::default()
    }
}

pub(super) fn host_number(url: &str) -> u64 {
    let digits: String = url.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

impl Crawl {
    pub(crate) fn new(options: FrontierOptions, sites: fn(u64) -> Site) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let frontier =
            Frontier::open(Disk::real(), dir.path(), options.clone(), decode_rules, 7, None, START, true).unwrap();
        Crawl {
            frontier,
            options,
            dir,
            clock: ManualClock::new(START),
            sites,
            requests: Vec::new(),
            out: Vec::new(),
            expected: BTreeSet::new(),
            attempts: BTreeMap::new(),
            answers: BTreeMap::new(),
            answered: 0,
            resolved: 0,
            worked: 0,
            slots: 1_000,
            is_fed: false,
            jobs: Vec::new(),
            done: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, url: QueuedUrl) {
        assert!(self.expected.insert(url.key), "pushed twice: {url:?}");
        self.frontier.push(url, self.clock.now()).unwrap();
    }

    fn later(&mut self, after: Duration, answer: PendingAnswer) {
        self.answered += 1;
        self.answers.insert((self.clock.now() + after, self.answered), answer);
    }

    /// Hands out what may be done now.
    pub(crate) fn dispatch(&mut self) {
        let now = self.clock.now();
        while self.answers.len() < self.slots
            && let Some(task) = self.frontier.next(now).unwrap()
        {
            match task {
                Task::Resolve { host, name } => self.later(MS * 5, PendingAnswer::Resolved(host, host_number(&name))),
                Task::Robots { host, origin, addresses, .. } => {
                    let number = host_number(&origin);
                    assert_eq!(&*origin, format!("http://www{number}.example"));
                    let end = now + MS * 10;
                    self.requests.push(Request { host: number, ip: addresses[0], start: now, end, robots: true });
                    self.later(MS * 10, PendingAnswer::Robots(host, number));
                }
                Task::Fetch { host, url, addresses, .. } => {
                    assert!(!url.url.contains("/private"), "{url:?}");
                    let number = host_number(&url.url);
                    let duration = (self.sites)(number).duration;
                    let (ip, end) = (addresses[0], now + duration);
                    self.requests.push(Request { host: number, ip, start: now, end, robots: false });
                    self.later(duration, PendingAnswer::Done(host, number, url, now, ip));
                }
                Task::Drop { url, reason } => self.end(url, Some(reason)),
            }
        }
    }

    fn end(&mut self, url: QueuedUrl, reason: Option<Reason>) {
        assert!(self.expected.remove(&url.key), "came out twice: {url:?}");
        self.out.push((url, reason));
    }

    fn answer(&mut self, answer: PendingAnswer) {
        let now = self.clock.now();
        match answer {
            PendingAnswer::Resolved(host, number) => {
                self.resolved += 1;
                let address = (self.sites)(number).address;
                let (answer, holds) = match address {
                    Ok(n) => (NameAnswer::Found([IpAddr::V4(Ipv4Addr::from(n))].into()), S * 3_600),
                    Err(Failure::NoSuchHost) => (NameAnswer::NoSuchHost, NEGATIVE),
                    Err(Failure::PrivateAddress) => (NameAnswer::PrivateAddress, NEGATIVE),
                    Err(_) => (NameAnswer::Unanswered, NEGATIVE),
                };
                self.frontier.resolved(host, answer, now + holds, now).unwrap();
            }
            PendingAnswer::Robots(host, number) => {
                let duration = MS * 10;
                let answer = match (self.sites)(number).robots {
                    None => RobotsAnswer::Unreachable { duration, retry_after: None },
                    Some(delay) => {
                        let rules = Arc::new(LongRules(TestRules(delay), (self.sites)(number).rules_bytes));
                        RobotsAnswer::Rules { rules, expires: now + S * 86_400, duration, bytes: 100 }
                    }
                };
                self.frontier.robots(host, answer, now).unwrap();
            }
            PendingAnswer::Done(host, number, url, started, ip) => {
                let attempt = self.attempts.entry(url.key).or_default();
                let site = (self.sites)(number);
                let is_bad = (site.bad)(&url.url);
                let (verdict, failure, retry_after) =
                    if is_bad { (site.feedback)(*attempt) } else { (Verdict::Done, None, None) };
                *attempt += 1;
                // an answer that is tried again speaks of load here, unless the site says otherwise
                let by_answer = match verdict {
                    Verdict::Retry => site.faults,
                    _ => Blame::Nobody,
                };
                let feedback = Feedback {
                    is_turned_away: false,
                    started,
                    duration: now.since(started),
                    bytes: 1_000,
                    blame: failure.map_or(by_answer, blame_of_failure),
                    failure,
                    retry_after,
                    address: Some(ip),
                    counts_as_page: failure.is_none() && verdict == Verdict::Done,
                    may_lower_delay: failure.is_none() && verdict == Verdict::Done,
                };
                let again = QueuedUrl { attempts: url.attempts + 1, ..url.clone() };
                let requeue = (verdict == Verdict::Retry).then_some(again);
                if requeue.is_none() {
                    self.end(url, None);
                }
                self.frontier.done(host, &feedback, requeue, now).unwrap();
            }
        }
    }

    /// Does all jobs that there are.
    pub(crate) fn work(&mut self) {
        let now = self.clock.now();
        for job in std::mem::take(&mut self.jobs) {
            self.done.push(job.run().unwrap());
        }
        for done in std::mem::take(&mut self.done) {
            self.frontier.finish_job(done, now).unwrap();
        }
        while let Some(job) = self.frontier.next_job(self.frontier.starving(now)).unwrap() {
            self.worked += 1;
            self.frontier.finish_job(job.run().unwrap(), now).unwrap();
            self.dispatch();
        }
    }

    /// Goes on to the next moment at which something happens; false when nothing is left to happen.
    pub(crate) fn step(&mut self) -> bool {
        let now = self.clock.now();
        if self.frontier.round_due(now, self.is_fed).is_some_and(|due| due <= now) {
            self.frontier.begin_round(now);
        }
        self.dispatch();
        self.work();
        self.dispatch();
        self.frontier.note_workers(self.answers.len() < self.slots, now);
        let round = self.frontier.round_due(now, self.is_fed);
        let answer = self.answers.keys().next().map(|&(time, _)| time);
        let due = self.frontier.next_due().filter(|_| self.answers.len() < self.slots);
        let Some(next) = answer.into_iter().chain(due).chain(round).min() else { return false };
        assert!(
            answer.is_some() || round.is_some() || next > now,
            "the frontier says that something is due but has nothing"
        );
        self.clock.advance(next.since(now));
        while let Some((&(time, n), _)) = self.answers.first_key_value()
            && time <= self.clock.now()
        {
            let answer = self.answers.remove(&(time, n)).unwrap();
            self.answer(answer);
        }
        true
    }

    /// Runs until nothing is left; every URL has then come out.
    pub(crate) fn run(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 2_000_000, "no end: {} queued", self.frontier.queued());
            if self.frontier.is_idle() {
                break;
            }
        }
        assert!(
            self.frontier.is_idle(),
            "{} queued, {} in flight",
            self.frontier.queued(),
            self.frontier.active().in_flight()
        );
        assert!(self.expected.is_empty(), "{} URLs never came out", self.expected.len());
    }

    /// Runs until `time`, or until nothing is left.
    pub(crate) fn run_until(&mut self, time: Time) {
        while self.clock.now() < time && self.step() {}
    }

    /// Forgets what is in flight and opens the frontier from a cut.
    pub(crate) fn reopen(&mut self, state: &FrontierState, ram: &[u8], clean: bool) {
        self.answers.clear();
        (self.jobs, self.done) = (Vec::new(), Vec::new());
        let now = self.clock.now();
        let saved = Some(SavedFrontier { state, ram, cut: Stored::new(self.frontier.queues.now) });
        self.frontier =
            Frontier::open(Disk::real(), self.dir.path(), self.options.clone(), decode_rules, 7, saved, now, clean)
                .unwrap();
    }

    /// The least time between the starts of two requests, for each host.
    pub(crate) fn gaps(&self, by: impl Fn(&Request) -> u64) -> BTreeMap<u64, Duration> {
        let mut last: BTreeMap<u64, Time> = BTreeMap::new();
        let mut gaps = BTreeMap::new();
        for request in &self.requests {
            if let Some(before) = last.insert(by(request), request.start) {
                let gap = gaps.entry(by(request)).or_insert(Duration::MAX);
                *gap = (*gap).min(request.start.since(before));
            }
        }
        gaps
    }

    /// The most requests of a host that ran at the same time.
    pub(crate) fn concurrency(&self) -> usize {
        let overlaps = |a: &Request| {
            let running = |b: &&Request| b.host == a.host && b.start <= a.start && a.start < b.end;
            self.requests.iter().filter(running).count()
        };
        self.requests.iter().map(overlaps).max().unwrap_or(0)
    }
}

pub(super) fn ip_number(request: &Request) -> u64 {
    match request.ip {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(_) => u64::MAX,
    }
}
