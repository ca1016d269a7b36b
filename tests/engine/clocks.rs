//! A clock that was ahead once, and is right when the crawl goes on: no host waits longer than a day, and a page that
//! is due again no longer than the longest interval.

use std::cell::{Cell, RefCell};

use super::*;
use crawler::calendar::{Bounds, Mode, ScheduleOptions, WheelOptions};

const START: Time = Time::from_ms(1_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
/// Times by which the clock was ahead.
const AHEAD: [Duration; 5] = [Duration::ZERO, Duration::from_secs(20 * 3_600), DAYS[0], DAYS[1], DAYS[2]];
const DAYS: [Duration; 3] =
    [Duration::from_secs(3 * 86_400), Duration::from_secs(400 * 86_400), Duration::from_secs(3_650 * 86_400)];
const HOSTS: usize = 8;

/// Hosts that ask for a rest with their first answer. Two hosts have room in memory, so that the others rest on disk.
struct Resting {
    rest: Duration,
    asked: RefCell<BTreeMap<String, u32>>,
    pages_again: bool,
    /// Time between checkpoints: each costs as much as a day in virtual time.
    interval: Cell<Duration>,
}

impl Resting {
    fn new(rest: Duration) -> Rc<Resting> {
        Rc::new(Resting { rest, asked: RefCell::default(), pages_again: false, interval: Cell::new(MINUTE * 20) })
    }
}

impl Web for Resting {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond says it all")
    }

    fn respond(&self, job: &FetchJob, _: Time) -> Result<Reply, Failure> {
        let mut headers = vec![("content-type", "text/html".to_owned())];
        if job.url.path() == "/robots.txt" {
            return Ok(Reply { status: 404, headers, body: Vec::new() });
        }
        let times = {
            let mut asked = self.asked.borrow_mut();
            let times = asked.entry(job.url.host().to_owned()).or_default();
            *times += 1;
            *times
        };
        if job.url.host() == "h0.test" {
            let links = (1..=HOSTS).flat_map(|host| ["a", "b"].map(|page| format!("http://h{host}.test/{page}")));
            return Ok(Reply { status: 200, headers, body: body(&links.collect::<Vec<_>>()).into_bytes() });
        }
        let is_busy = times == 1 && !self.rest.is_zero();
        headers.extend(is_busy.then(|| ("retry-after", self.rest.as_secs().to_string())));
        Ok(Reply { status: if is_busy { 503 } else { 200 }, headers, body: Vec::new() })
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = self.interval.replace(HOUR * 12);
        frontier.active_hosts = 2;
    }

    fn recrawl(&self) -> Option<RecrawlOptions> {
        let bounds = Bounds { min: HOUR, max: DAY };
        self.pages_again.then(|| RecrawlOptions {
            schedule: ScheduleOptions { mode: Mode::Fixed { interval: DAY }, bounds, maps: bounds, rules: Vec::new() },
            wheel: WheelOptions::default(),
            by_text: false,
            is_on: true,
            until_fresh: false,
        })
    }
}

/// The first request for each host in a row of them, since `from`.
fn first_requests(run: &Run, from: Time) -> BTreeMap<String, Duration> {
    let mut first = BTreeMap::new();
    for (at, url) in run.requests() {
        let url = CanonicalUrl::parse(&url).unwrap();
        if url.path() != "/robots.txt" {
            first.entry(url.host().to_owned()).or_insert(at.since(from));
        }
    }
    first
}

#[test]
fn hosts_that_rest_by_a_clock_that_was_ahead_rest_as_long_as_they_asked_for_and_no_longer_than_a_day() {
    for rest in [HOUR * 3, DAY, DAY * 9] {
        for ahead in AHEAD {
            let (dir, web) = (tempfile::tempdir().unwrap(), Resting::new(rest));
            let mut run = open_at(web.clone(), dir.path(), START + ahead);
            let all_asked = |run: &Run| first_requests(run, START).len() > HOSTS;
            assert_eq!(run.go_until(all_asked), None);
            let asked = run.clock.now();
            // a checkpoint has it all
            assert_eq!(run.go_until(|run| run.clock.now() >= asked + HOUR), None);
            drop(run);
            let mut run = open_at(web, dir.path(), START);
            assert_eq!(run.go(usize::MAX), Some(Finish::Complete), "{rest:?}, {ahead:?} ahead");
            for (host, after) in first_requests(&run, START).into_iter().filter(|(host, _)| host != "h0.test") {
                let slack = MINUTE * 10;
                assert!(after <= DAY + slack, "{rest:?}, {ahead:?} ahead: {host} after {after:?}");
                // twenty hours may be a rest, or the clock
                let least = rest.min(DAY).saturating_sub(HOUR * 2);
                assert!(after >= least, "{rest:?}, {ahead:?} ahead: {host} after {after:?}");
            }
        }
    }
}

#[test]
fn a_crawl_that_was_stopped_twice_since_does_not_wait_again_each_time() {
    let (dir, web) = (tempfile::tempdir().unwrap(), Resting::new(HOUR * 5));
    let mut run = open_at(web.clone(), dir.path(), START + DAYS[1]);
    assert_eq!(run.go_until(|run| first_requests(run, START).len() > HOSTS), None);
    let asked = run.clock.now();
    assert_eq!(run.go_until(|run| run.clock.now() >= asked + HOUR), None);
    drop(run);
    let mut run = open_at(web.clone(), dir.path(), START);
    assert_eq!(run.go_until(|run| run.clock.now() >= START + HOUR * 2), None);
    assert!(first_requests(&run, START).is_empty(), "{:?}", run.requests());
    drop(run);
    let mut run = open_at(web, dir.path(), START + HOUR * 2);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert!(first_requests(&run, START).values().all(|&after| after < DAY), "{:?}", run.requests());
}

#[test]
fn a_page_that_is_due_by_a_clock_that_was_ahead_is_visited_within_the_longest_interval() {
    for ahead in AHEAD {
        let dir = tempfile::tempdir().unwrap();
        let catalog_is_new = Cell::new(true);
        let interval = || Cell::new(if catalog_is_new.replace(false) { MINUTE * 20 } else { HOUR * 60 });
        let web = || {
            let asked = RefCell::default();
            Rc::new(Resting { rest: Duration::ZERO, asked, pages_again: true, interval: interval() })
        };
        let mut run = open_at(web(), dir.path(), START + ahead);
        let all_asked = |run: &Run| run.requests().len() > 3 * HOSTS;
        assert_eq!(run.go_until(all_asked), None);
        let asked = run.clock.now();
        assert_eq!(run.go_until(|run| run.clock.now() >= asked + HOUR), None);
        drop(run);
        let mut run = open_at(web(), dir.path(), START);
        // a page that was not found waits for a week, with its jitter; clocks may differ by a day
        let longest = DAY * 10;
        assert_eq!(run.go_until(|run| run.clock.now() >= START + longest), None);
        let first = first_requests(&run, START);
        assert_eq!(first.len(), HOSTS + 1, "{ahead:?} ahead: {first:?}");
        if ahead > longest {
            assert!(first.values().all(|&after| after < HOUR), "{ahead:?} ahead: {first:?}");
        }
        // and again a day after that
        assert!(run.requests().len() > 4 * HOSTS, "{ahead:?} ahead: {:?}", run.requests());
    }
}
