//! Every URL that was ever admitted has one end, whatever the moment at which the crawl ends or dies; and what a replay
//! takes back in counts as if it had just come.

use super::*;
use crawler::container::Reader;
use crawler::engine::{Accounts, StopBy};
use crawler::frontier::Budget;
use crawler::outcome::Reason;
use crawler::record::layout::StoreName;

const START: Time = Time::from_ms(1_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

fn assert_closed(accounts: &Accounts) {
    assert!(accounts.are_balanced() && accounts.are_closed(), "{accounts:?}");
    assert_eq!(accounts.replayed, 0, "{accounts:?}");
}

/// Links that a first page names and a second one again, before one more; URL-seen asks its DRUM about every one.
struct Again {
    links: usize,
}

impl Web for Again {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        let known = (0..self.links).map(|n| format!("/private/{n}"));
        match url.path() {
            "/robots.txt" => (200, "User-agent: *\nDisallow: /private/\n".to_owned()),
            "/" => (200, body(&known.chain(["/again".to_owned()]).collect::<Vec<_>>())),
            "/again" => (200, body(&known.chain(["/last".to_owned()]).collect::<Vec<_>>())),
            _ => (200, String::new()),
        }
    }

    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 1, ..DrumOptions::default() }
    }

    fn front(&self) -> FrontOptions {
        // at its ceiling from the beginning
        FrontOptions { lru_entries: 16, bloom_memory: 64, bloom_fpr: 0.4 }
    }
}

#[test]
fn n1_a_crawl_does_not_end_while_results_of_a_merge_are_undispatched() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(Again { links: 3_000 }), dir.path(), START);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(pages_of(&run.requests()), ["http://h0.test/", "http://h0.test/again", "http://h0.test/last"]);
    let (statistics, accounts) = (run.engine.figures().statistics(), run.engine.accounts());
    assert_closed(&accounts);
    assert_eq!((statistics.unique, statistics.pages_stored, statistics.ends.dropped), (3_003, 3, 3_000));
}

/// Many hosts, each with a page that is linked later, when its robots.txt has left the LRU; it forbids that page.
/// Before `/last`, so many known links that they are dispatched in two portions.
struct Forgotten;

const MANY: usize = 60;

impl Web for Forgotten {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        let known = || (0..3_000).map(|n| format!("/private/{n}"));
        let hosts = |path: &str, count| (1..count).map(|n| format!("http://host{n}.test/{path}")).collect::<Vec<_>>();
        match (url.host(), url.path()) {
            (_, "/robots.txt") => (200, "User-agent: *\nDisallow: /private/\nDisallow: /new\n".to_owned()),
            ("h0.test", "/") => {
                (200, body(&known().chain(hosts("", MANY)).chain(["/0".to_owned()]).collect::<Vec<_>>()))
            }
            // a while later
            ("h0.test", path @ ("/0" | "/1" | "/2" | "/3")) => {
                let next = path[1..].parse::<u32>().unwrap() + 1;
                (200, body(&[if next == 4 { "/then".to_owned() } else { format!("/{next}") }]))
            }
            ("h0.test", "/then") => {
                let mut links = hosts("new", 12);
                links.extend(known());
                links.push("/last".to_owned());
                (200, body(&links))
            }
            _ => (200, String::new()),
        }
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR * 10;
        // after one merge the next has to wait
        settings.merge_pace = PaceOptions { share: 0.001, bytes_per_second: None };
        frontier.active_hosts = 4;
        frontier.politeness.delay_min = Duration::from_secs(20);
        frontier.politeness.delay_per_ip = Duration::ZERO;
    }

    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 1, ..DrumOptions::default() }
    }

    fn front(&self) -> FrontOptions {
        FrontOptions { lru_entries: 16, bloom_memory: 64, bloom_fpr: 0.4 }
    }
}

#[test]
fn n1_batches_that_were_frozen_before_a_restart_are_waited_for_whatever_the_pace() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(Forgotten), dir.path(), START);
    let asked = |run: &Run, path: &str| run.record.borrow().requests.iter().any(|(_, url)| url.ends_with(path));
    assert_eq!(run.go_until(|run| asked(run, "/then")), None);
    // a checkpoint in the look in which a part of the one merge's results is dispatched and the other store's merge
    // begins
    let mut both = false;
    for _ in 0..10_000 {
        let cuts = run.record.borrow().cuts.len();
        run.engine.pump().unwrap();
        let accounts = run.engine.accounts();
        assert!(accounts.are_balanced(), "{accounts:?}");
        both = accounts.undecided > 0 && accounts.in_pipeline > 0;
        if both && run.record.borrow().cuts.len() > cuts {
            break;
        }
        let next = run.record.borrow().events.iter().map(|(at, _)| *at).min();
        let due = run.engine.next_due();
        let to = next.into_iter().chain(due).min().unwrap();
        if next.is_none_or(|at| at > run.clock.now()) {
            run.clock.advance(to.since(run.clock.now()).max(Duration::from_millis(1)));
        }
        let now = run.clock.now();
        let ripe = run.record.borrow().events.iter().position(|(at, _)| *at <= now);
        if let Some(place) = ripe {
            let (_, event) = run.record.borrow_mut().events.remove(place).unwrap();
            let merged = matches!(&event, Event::Merged(merged) if merged.store() == StoreName::Seen);
            run.engine.handle(event).unwrap();
            if merged && asked(&run, "/then") {
                run.engine.handle(Event::Checkpoint).unwrap();
            }
        }
    }
    assert!(both, "no cut between two portions: {:?}", run.engine.accounts());
    assert!(!asked(&run, "/last"));
    let now = run.clock.now();
    drop(run);
    let mut run = open_at(Rc::new(Forgotten), dir.path(), now);
    let accounts = run.engine.accounts();
    assert!(accounts.are_balanced() && accounts.undecided > 0 && accounts.in_pipeline > 0, "{accounts:?}");
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert!(asked(&run, "/last"));
    assert_closed(&run.engine.accounts());
}

/// One host of eleven pages, some of which a later run leaves out.
struct Leaving {
    exclude: bool,
    checkpoint: Duration,
}

impl Web for Leaving {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (404, String::new()),
            "/" => (200, body(&(0..10).map(|n| format!("/old/{n}")).collect::<Vec<_>>())),
            _ => (200, String::new()),
        }
    }

    fn scope(&self) -> ScopeOptions {
        let exclude = if self.exclude { vec!["/old/".to_owned()] } else { Vec::new() };
        ScopeOptions { mode: ScopeMode::Any, exclude, ..ScopeOptions::default() }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.checkpoint_interval = self.checkpoint;
    }
}

#[test]
fn n5_a_stored_page_has_no_second_end_when_a_resumed_run_leaves_it_out() {
    let dir = tempfile::tempdir().unwrap();
    let web = |exclude| Rc::new(Leaving { exclude, checkpoint: HOUR });
    let mut run = open_at(web(false), dir.path(), START);
    assert_eq!(run.go(3), None);
    // a checkpoint with all ten in the queue, then some more pages
    run.engine.handle(Event::Checkpoint).unwrap();
    assert_eq!(run.go(7), None);
    let now = run.clock.now();
    let stored = run.engine.figures().statistics().pages_stored;
    drop(run);
    let mut run = open_at(web(true), dir.path(), now);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert!(run.requests().is_empty(), "{:?}", run.requests());
    let statistics = run.engine.figures().statistics();
    assert_closed(&run.engine.accounts());
    assert_eq!((statistics.unique, statistics.pages_stored), (11, stored));
    assert_eq!(statistics.dropped[&Reason::Scope], 11 - stored);
    assert!((3..11).contains(&stored));
}

/// Hosts of many pages of one size, which link each other.
struct Budgeted {
    budget: Budget,
    checkpoint: Duration,
}

const PAGE: usize = 500;

impl Web for Budgeted {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        if url.path() == "/robots.txt" {
            return (200, String::new());
        }
        let links = if url.path() == "/" {
            (0..3).map(|n| format!("http://h{n}.test/")).chain((1..12).map(|n| format!("/{n}"))).collect()
        } else {
            Vec::new()
        };
        let mut page = body(&links);
        page.push_str(&" ".repeat(PAGE.saturating_sub(page.len())));
        (200, page)
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = self.checkpoint;
        frontier.budget = self.budget;
        (frontier.active_hosts, frontier.partitions) = (2, 1);
    }
}

#[test]
fn n10_budgets_of_pages_and_bytes_hold_over_kills() {
    let root = Budgeted { budget: Budget::UNLIMITED, checkpoint: HOUR }
        .answer(&CanonicalUrl::parse("http://h1.test/").unwrap(), START)
        .1
        .len();
    for (budget, pages_of_a_host) in [
        (Budget { pages_per_host: Some(5), ..Budget::UNLIMITED }, 5),
        (Budget { pages_per_domain: Some(5), ..Budget::UNLIMITED }, 5),
        // its first page, and then pages of one size until the bytes are used up
        (Budget { bytes_per_host: Some((root + 4 * PAGE) as u64), ..Budget::UNLIMITED }, 5),
    ] {
        for (checkpoint, kills) in [(HOUR, 5), (HOUR, 11), (Duration::from_secs(3), 7)] {
            let dir = tempfile::tempdir().unwrap();
            let web = || Rc::new(Budgeted { budget, checkpoint });
            let mut now = START;
            let mut dead = 0;
            let statistics = loop {
                let mut run = open_at(web(), dir.path(), now);
                let finish = run.go_until(|run| dead < 3 && run.record.borrow().requests.len() >= kills);
                dead += 1;
                now = run.clock.now();
                if finish == Some(Finish::Complete) {
                    assert_closed(&run.engine.accounts());
                    break run.engine.figures().statistics();
                }
            };
            let reader = Reader::open(Disk::real(), &dir.path().join("pages")).unwrap();
            let mut found = BTreeMap::new();
            for record in reader.records().map(Result::unwrap).filter(|record| !record.robots) {
                *found.entry(CanonicalUrl::parse(&record.url).unwrap().host().to_owned()).or_insert(0) += 1;
            }
            let what = format!("{budget:?}, killed every {kills} requests, checkpoints every {checkpoint:?}");
            assert!(dead > 1, "{what}");
            assert_eq!(found.len(), 3, "{what}");
            assert!(found.values().all(|&pages| pages == pages_of_a_host), "{what}: {found:?}");
            assert_eq!(statistics.unique, 3 * 12, "{what}");
        }
    }
}

/// One page that is overloaded, and says for how long or does not.
struct Overloaded {
    status: u16,
    retry_after: Option<&'static str>,
}

impl Web for Overloaded {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (404, String::new()),
            "/" => (200, body(&["/busy".to_owned(), "/other".to_owned()])),
            "/busy" if now < START + HOUR / 2 => (self.status, String::new()),
            _ => (200, String::new()),
        }
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let (status, body) = self.answer(&job.url, now);
        let mut headers = vec![("content-type", "text/html".to_owned())];
        let asks = self.retry_after.filter(|_| status == self.status);
        headers.extend(asks.map(|seconds| ("retry-after", seconds.to_owned())));
        Ok(Reply { status, headers, body: body.into_bytes() })
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR * 10;
    }
}

#[test]
fn n29_a_replay_holds_back_hosts_whose_answers_ask_for_it_though_nothing_else_remembers() {
    for (status, retry_after, rest_s) in
        [(429, Some("3000"), 3_000), (503, Some("3000"), 3_000), (500, Some("3000"), 3_000), (503, None, 25)]
    {
        let dir = tempfile::tempdir().unwrap();
        let web = || Rc::new(Overloaded { status, retry_after });
        let mut run = open_at(web(), dir.path(), START);
        let answered = |run: &Run| {
            let record = run.record.borrow();
            record.requests.iter().any(|(_, url)| url.ends_with("/busy")) && record.events.is_empty()
        };
        assert_eq!(run.go_until(answered), None);
        let (asked, _) = run.requests().last().cloned().unwrap();
        let now = run.clock.now();
        drop(run);
        // the power was cut before the log of rests was on the disk, but after the answer was
        for name in std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if name.file_name().unwrap().to_string_lossy().starts_with("rests.") {
                std::fs::remove_file(name).unwrap();
            }
        }
        let mut run = open_at(web(), dir.path(), now);
        run.go(1);
        let (again, url) = run.requests()[0].clone();
        let rested = again.since(asked);
        assert!(rested >= Duration::from_secs(rest_s), "{status} {retry_after:?}: {url} after {rested:?}");
    }
}

#[test]
fn n1_the_account_balances_at_every_stop_and_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut now = START;
    for life in 1.. {
        let mut run = open_at(Rc::new(SmallSites), dir.path(), now);
        let accounts = run.engine.accounts();
        assert!(accounts.are_balanced(), "opened: {accounts:?}");
        let finish = run.go_until(|run| run.record.borrow().requests.len() >= 5 + life % 4);
        if finish.is_none() && life % 2 == 0 {
            run.engine.handle(Event::Stop(StopBy::Signal)).unwrap();
            assert_eq!(run.go(usize::MAX), Some(Finish::StoppedBySignal));
        }
        let accounts = run.engine.accounts();
        assert!(accounts.are_balanced(), "{finish:?}: {accounts:?}");
        now = run.clock.now();
        if finish.is_some() {
            assert_eq!(finish, Some(Finish::Complete));
            return assert_closed(&accounts);
        }
    }
}

/// Sites whose pages all name pages of each other, so that many are asked at one moment; this many pages are wanted.
struct Limited {
    pages: u64,
}

impl Web for Limited {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (404, String::new()),
            _ => (200, body(&(0..40).map(|n| format!("http://h{}.test/{n}", n % HOSTS)).collect::<Vec<_>>())),
        }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.pages_max = Some(self.pages);
    }
}

#[test]
fn a_crawl_with_a_limit_of_pages_stores_exactly_as_many() {
    for pages in [1, 3, 7, 20] {
        let dir = tempfile::tempdir().unwrap();
        let mut run = open_at(Rc::new(Limited { pages }), dir.path(), START);
        assert_eq!(run.go(usize::MAX), Some(Finish::PageLimit));
        assert_eq!(run.engine.figures().statistics().pages_stored, pages);
    }
}

/// A page that names pages of two more hosts; the crawl may have one of these.
struct OneOfTwo;

impl Web for OneOfTwo {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        match (url.host(), url.path()) {
            ("h0.test", "/") => (200, body(&["http://h1.test/".to_owned(), "http://h2.test/".to_owned()])),
            (_, "/robots.txt") => (404, String::new()),
            _ => (200, String::new()),
        }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.pages_max = Some(2);
    }
}

#[test]
fn a_host_that_is_ready_is_not_looked_at_all_the_time_while_the_last_page_is_in_flight() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(OneOfTwo), dir.path(), START);
    assert_eq!(run.go_until(|run| pages_of(&run.requests()).len() == 2), None);
    let later = run.clock.now() + LATENCY / 2;
    assert_eq!(run.go_until(|run| run.clock.now() >= later), None);
    assert_eq!(run.engine.figures().gauges().hosts_ready, 1);
    assert!(run.engine.next_due().is_some_and(|due| due > run.clock.now()), "a place may be left, but not at once");
    assert_eq!(run.go(usize::MAX), Some(Finish::PageLimit));
    assert_eq!(pages_of(&run.requests()).len(), 2);
}

#[test]
fn a_crawl_that_pauses_makes_no_request_until_it_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open(dir.path(), START);
    assert_eq!(run.go(10), None);
    run.engine.handle(Event::Pause).unwrap();
    let (made, until) = (run.requests().len(), run.clock.now() + Duration::from_secs(60));
    assert_eq!(run.go_until(|run| run.clock.now() >= until), None);
    assert_eq!(run.requests().len(), made);
    run.engine.handle(Event::Resume).unwrap();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(pages_of(&run.requests()), every_page());
}

/// A page that names a link before an embedded picture.
struct Pictured;

impl Web for Pictured {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (404, String::new()),
            "/" => (200, "<a href=\"/link\">x</a><img src=\"/picture.png\">".to_owned()),
            _ => (200, String::new()),
        }
    }
}

#[test]
fn what_is_part_of_a_page_comes_before_what_it_links_to() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(Pictured), dir.path(), START);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let asked: Vec<String> = run.requests().into_iter().map(|(_, url)| url).collect();
    assert_eq!(asked[2..], ["http://h0.test/picture.png", "http://h0.test/link"]);
}
