//! Fetching again: rounds of forced seeds, what a kill leaves of them, and conditional requests.

use std::cell::Cell;

use super::*;
use crawler::container::{KeyRecord, Reader};
use crawler::contract;
use crawler::engine::{Refetch, SeedStatus, StopBy};

const START: Time = Time::from_ms(1_000_000_000_000);

/// The sites of [`SmallSites`] with entity tags and dates, the content of an edition, and what else a test wants.
#[derive(Default)]
struct Editions {
    edition: Cell<u32>,
    /// True if the server knows conditions, and says 304.
    knows_conditions: bool,
    /// Path that is answered 304 always.
    always_304: Option<&'static str>,
    /// Path that answers 503 this many times more.
    busy: Option<(&'static str, Cell<u32>)>,
    /// Paths and where they redirect.
    redirects: Vec<(&'static str, &'static str)>,
    /// Conditions that were sent.
    conditions: RefCell<Vec<(String, Vec<String>)>>,
    /// True if everything since the start is replayed.
    never_cut: bool,
    /// Limits of a host and a domain, where there are any.
    budget: Option<Budget>,
}

impl Editions {
    /// The answer with this status, its body the page of the edition.
    fn page(&self, url: &CanonicalUrl) -> String {
        let (_, links) = SmallSites.answer(url, START);
        // long enough to be a payload that is not stored twice
        format!("{links}<p>edition {} of {}</p>{}", self.edition.get(), url.as_str(), " ".repeat(300))
    }
}

impl Web for Editions {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond answers")
    }

    fn respond(&self, job: &FetchJob, _: Time) -> Result<Reply, Failure> {
        let (url, path) = (&job.url, job.url.path());
        let mut headers = vec![("content-type", "text/html".to_owned())];
        if path == "/robots.txt" {
            return reply(200, headers, "User-agent: *\nDisallow: /private/\n");
        }
        let condition = job.condition.iter().flat_map(|condition| condition.validators.headers());
        let condition: Vec<String> =
            condition.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value))).collect();
        self.conditions.borrow_mut().push((url.as_str().to_owned(), condition.clone()));
        if let Some((_, to)) = self.redirects.iter().find(|(from, _)| *from == url.as_str()) {
            headers.push(("location", (*to).to_owned()));
            return reply(302, headers, "");
        }
        if let Some((busy, times)) = &self.busy
            && *busy == path
            && times.get() > 0
        {
            times.set(times.get() - 1);
            return reply(503, headers, "busy");
        }
        let etag = format!("W/\"{}-{}\"", self.edition.get(), path.len());
        headers.push(("etag", etag.clone()));
        headers.push(("last-modified", "Sat, 21 Nov 2026 09:00:00 GMT".to_owned()));
        let holds = self.knows_conditions && condition.contains(&format!("if-none-match: {etag}"));
        if holds || self.always_304 == Some(path) {
            return reply(304, headers, "");
        }
        reply(200, headers, &self.page(url))
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        frontier.budget = self.budget.unwrap_or(frontier.budget);
        if self.never_cut {
            settings.checkpoint_interval = Duration::from_secs(36_000);
        }
    }
}

fn reply(status: u16, headers: Vec<(&'static str, String)>, body: &str) -> Result<Reply, Failure> {
    Ok(Reply { status, headers, body: body.as_bytes().to_vec() })
}

/// A crawl directory and what crawls it.
struct Crawl {
    dir: tempfile::TempDir,
    web: Rc<Editions>,
    now: Time,
}

impl Crawl {
    fn new(web: Editions) -> Self {
        Crawl { dir: tempfile::tempdir().unwrap(), web: Rc::new(web), now: START }
    }

    fn plain(&self) -> Run {
        open_at(self.web.clone(), self.dir.path(), self.now)
    }

    fn unseeded(&self) -> Run {
        open_without_seeds(self.web.clone(), self.dir.path(), self.now)
    }

    fn forced(&self, seeds: &[String]) -> (Run, Refetch) {
        let mut run = self.unseeded();
        let (seeds, problems) = parse_seeds(seeds.join("\n").as_bytes());
        assert_eq!(problems, SeedProblems::default());
        let refetch = run.engine.seeder().refetch(&seeds).unwrap();
        (run, refetch)
    }

    /// Runs to the end; the pages that were asked for.
    fn finish(&mut self, mut run: Run) -> Vec<String> {
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        self.leave(run)
    }

    /// Ends the process; the pages that were asked for.
    fn leave(&mut self, run: Run) -> Vec<String> {
        self.now = run.clock.now();
        pages_of(&run.requests())
    }

    /// Stops in good order after `requests` of them.
    fn stop(&mut self, mut run: Run, requests: usize) -> Vec<String> {
        assert_eq!(run.go(requests), None);
        run.engine.handle(Event::Stop(StopBy::Signal)).unwrap();
        assert_eq!(run.go(usize::MAX), Some(Finish::StoppedBySignal));
        self.leave(run)
    }

    /// The versions of every page, the oldest first.
    fn versions(&self) -> BTreeMap<String, Vec<KeyRecord>> {
        let reader = Reader::open(Disk::real(), &self.dir.path().join("pages")).unwrap();
        let mut versions: BTreeMap<String, Vec<KeyRecord>> = BTreeMap::new();
        for record in reader.records().map(Result::unwrap).filter(|record| !record.robots) {
            versions.entry(record.url.clone()).or_default().push(record);
        }
        versions
    }

    /// Returns the statuses of the seeds at the last checkpoint.
    fn statuses(&self) -> Vec<SeedStatus> {
        super::seeds::seeds_in(self.dir.path()).into_iter().map(|seed| seed.status).collect()
    }

    fn body(&self, record: &KeyRecord) -> String {
        let reader = Reader::open(Disk::real(), &self.dir.path().join("pages")).unwrap();
        String::from_utf8(reader.response(record).unwrap().body).unwrap()
    }
}

fn seeds(urls: &[&str]) -> Vec<String> {
    urls.iter().map(|url| (*url).to_owned()).collect()
}

#[test]
fn a_forced_run_fetches_the_listed_urls_again_and_the_next_one_does_too() {
    let mut crawl = Crawl::new(Editions::default());
    let run = crawl.plain();
    assert_eq!(crawl.finish(run), every_page());
    let run = crawl.plain();
    assert_eq!(crawl.finish(run), [""; 0], "everything was seen");
    let listed = seeds(&["http://h0.test/", "http://h3.test/7", "http://h3.test/7", "http://h1.test/private/0"]);
    for round in 1..=3 {
        crawl.web.edition.set(round);
        let (run, refetch) = crawl.forced(&listed);
        assert_eq!((refetch.round, refetch.goes_on, refetch.seeds), (round, false, 3));
        assert_eq!(crawl.finish(run), ["http://h0.test/", "http://h3.test/7"], "robots.txt holds for forced URLs too");
    }
    let versions = crawl.versions();
    for (url, versions) in &versions {
        let expected = if listed.contains(url) { 4 } else { 1 };
        assert_eq!(versions.len(), expected, "{url}");
        for (before, after) in versions.iter().zip(&versions[1..]) {
            assert_eq!(after.previous, Some(before.offset), "{url}");
        }
    }
    assert!(crawl.body(&versions["http://h0.test/"][2]).contains("edition 2"));
}

#[test]
fn a_forced_run_in_a_new_directory_is_like_any_other() {
    let mut crawl = Crawl::new(Editions::default());
    let (mut run, _) = crawl.forced(&seeds(&[SEED, "http://h2.test/"]));
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let statistics = run.engine.figures().statistics();
    assert_eq!((statistics.pages_stored, statistics.refetched), ((HOSTS * PAGES) as u64, 0));
    assert_eq!(crawl.leave(run), every_page());
}

#[test]
fn what_a_page_links_to_that_is_new_is_fetched_when_the_page_is_fetched_again() {
    let mut crawl = Crawl::new(Editions {
        redirects: vec![("http://h0.test/", "http://h0.test/one"), ("http://h0.test/old", "/")],
        ..Editions::default()
    });
    let run = crawl.plain();
    crawl.finish(run);
    Rc::get_mut(&mut crawl.web).unwrap().redirects[0].1 = "http://h0.test/two";
    let (run, _) = crawl.forced(&seeds(&[SEED]));
    assert_eq!(crawl.finish(run), ["http://h0.test/", "http://h0.test/two"]);
}

#[test]
fn where_a_forced_url_redirects_is_fetched_again_once_and_circles_end() {
    let redirects = vec![
        ("http://h0.test/", "http://h1.test/"),
        ("http://h2.test/", "http://h1.test/"),
        ("http://h3.test/", "/"),
        ("http://h4.test/", "http://h4.test/b"),
        ("http://h4.test/b", "http://h4.test/"),
    ];
    let mut crawl = Crawl::new(Editions { redirects, ..Editions::default() });
    let listed =
        seeds(&["http://h0.test/", "http://h1.test/", "http://h2.test/", "http://h3.test/", "http://h4.test/"]);
    let (run, _) = crawl.forced(&listed);
    crawl.finish(run);
    for _ in 0..2 {
        let (mut run, _) = crawl.forced(&listed);
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        let statuses = crawl.statuses();
        assert!(statuses.iter().all(|status| matches!(status, SeedStatus::Answered(_))), "{statuses:?}");
        let mut expected = listed.clone();
        expected.push("http://h4.test/b".to_owned());
        assert_eq!(crawl.leave(run), expected);
    }
}

/// Fetches every page of a crawl with `budget` again three times, killed after every `kill` requests; then one more
/// page of each host is permitted by `wider`. The pages that were in the first round, and those that came with the last
/// one.
fn rounds_within(budget: Budget, wider: Budget, kill: usize) -> (Vec<String>, Vec<String>) {
    let mut crawl = Crawl::new(Editions { budget: Some(budget), never_cut: true, ..Editions::default() });
    let run = crawl.plain();
    let first = crawl.finish(run);
    for round in 1..=3 {
        crawl.web.edition.set(round);
        let mut asked = Vec::new();
        loop {
            let (mut run, refetch) = crawl.forced(&every_page());
            assert_eq!(refetch.round, round, "{budget:?}");
            let ended = run.go(kill);
            asked.extend(crawl.leave(run));
            if ended == Some(Finish::Complete) {
                break;
            }
        }
        asked.sort();
        asked.dedup();
        assert_eq!(asked, first, "round {round} of {budget:?}");
    }
    let versions = crawl.versions();
    assert!(first.iter().all(|url| versions[url].len() >= 4), "each round has a version of each: {budget:?}");
    Rc::get_mut(&mut crawl.web).unwrap().budget = Some(wider);
    let (run, _) = crawl.forced(&every_page());
    let last = crawl.finish(run);
    (first.clone(), last.into_iter().filter(|url| !first.contains(url)).collect())
}

#[test]
fn budgets_count_urls_and_not_the_versions_of_their_pages() {
    let of_host = |pages| Budget { pages_per_host: Some(pages), ..Budget::UNLIMITED };
    let of_domain = |pages| Budget { pages_per_domain: Some(pages), ..Budget::UNLIMITED };
    for (name, usual, wider) in [("host", of_host(5), of_host(6)), ("domain", of_domain(5), of_domain(6))] {
        for kill in [usize::MAX, 9] {
            let (first, more) = rounds_within(usual, wider, kill);
            assert_eq!(first.len(), 5 * HOSTS, "pages of a {name}");
            assert_eq!(more.len(), HOSTS, "one page more of each {name}, killed every {kill} requests: {more:?}");
        }
    }
}

#[test]
fn the_bytes_of_a_further_version_are_of_no_budget() {
    let bytes = |bytes| Budget { bytes_per_host: Some(bytes), ..Budget::UNLIMITED };
    for kill in [usize::MAX, 9] {
        // a page has some 430 bytes: the third one uses the budget up, and the fourth one that is wider
        let (first, more) = rounds_within(bytes(1_200), bytes(1_650), kill);
        assert_eq!((first.len(), more.len()), (3 * HOSTS, HOSTS), "{first:?} {more:?}");
    }
}

/// Kills a forced run of every page again and again; asserts that every page gets one new version.
fn kill_and_go_on(never_cut: bool, knows_conditions: bool) {
    for stop in (1..HOSTS * PAGES).step_by(13) {
        let busy = Some(("/3", Cell::new(0)));
        let mut crawl = Crawl::new(Editions { never_cut, knows_conditions, busy, ..Editions::default() });
        let run = crawl.plain();
        crawl.finish(run);
        crawl.web.busy.as_ref().unwrap().1.set(4);
        let (mut asked, mut under_way) = (Vec::new(), 0);
        for session in 0.. {
            let (mut run, refetch) = crawl.forced(&every_page());
            assert_eq!((refetch.round, refetch.goes_on), (1, session > 0), "stopped at request {stop}");
            assert_eq!(refetch.seeds, if session == 0 { (HOSTS * PAGES) as u64 } else { 0 });
            // the last session is left alone
            let finish = run.go(if session < 3 { stop } else { usize::MAX });
            under_way += run
                .record
                .borrow()
                .events
                .iter()
                .filter(|(_, event)| matches!(event, Event::Reply(contract::Reply::Page(_))))
                .count();
            assert_polite(&run.requests(), DELAY);
            asked.extend(crawl.leave(run));
            if finish.is_some() {
                break;
            }
        }
        let again = asked.len() - asked.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert!(again <= under_way + 4, "stopped at request {stop}: {again} asked twice, {under_way} were under way");
        for (url, versions) in crawl.versions() {
            let versions: Vec<u16> =
                versions.iter().map(|record| record.status).filter(|&status| status != 503).collect();
            let last = if knows_conditions { 304 } else { 200 };
            assert_eq!(versions, [200, last], "{url}, stopped at request {stop}");
        }
        // it was finished: the next one is another round
        let (run, refetch) = crawl.forced(&seeds(&[SEED]));
        assert_eq!((refetch.round, refetch.seeds), (2, 1));
        assert_eq!(crawl.finish(run), [SEED]);
    }
}

#[test]
fn a_forced_run_that_is_killed_at_any_request_fetches_every_listed_url_again_once() {
    kill_and_go_on(false, false);
}

#[test]
fn a_forced_run_that_is_replayed_from_its_beginning_fetches_every_listed_url_again_once() {
    kill_and_go_on(true, false);
}

#[test]
fn p8_revisits_of_unmodified_pages_are_replayed_after_a_kill() {
    kill_and_go_on(true, true);
}

#[test]
fn nothing_is_asked_before_the_round_is_durable_and_a_plain_run_finishes_it() {
    let mut crawl = Crawl::new(Editions { never_cut: true, ..Editions::default() });
    let run = crawl.plain();
    crawl.finish(run);
    let listed = seeds(&["http://h0.test/", "http://h0.test/1", "http://h0.test/2"]);
    // killed before the checkpoint: the round was not begun
    let (run, _) = crawl.forced(&listed);
    crawl.leave(run);
    let (mut run, refetch) = crawl.forced(&listed);
    assert_eq!((refetch.round, refetch.goes_on, refetch.seeds), (1, false, 3));
    run.engine.pump().unwrap();
    assert!(run.requests().is_empty(), "the checkpoint is under way");
    run.go(1);
    let mut asked = crawl.leave(run);
    // what was queued needs no --force to be finished
    let run = crawl.unseeded();
    asked.extend(crawl.finish(run));
    asked.sort();
    asked.dedup();
    assert_eq!(asked, listed);
    assert!(listed.iter().all(|url| crawl.versions()[url].len() == 2));
}

#[test]
fn after_a_stop_a_forced_run_goes_on_while_listed_urls_are_left_and_begins_anew_otherwise() {
    let mut crawl = Crawl::new(Editions::default());
    let run = crawl.plain();
    crawl.finish(run);
    let listed = seeds(&["http://h0.test/", "http://h0.test/1", "http://h0.test/2"]);
    let (run, _) = crawl.forced(&listed);
    let mut asked = crawl.stop(run, 1);
    assert!(asked.len() < 3, "{asked:?}");
    let more = [&listed[..], &seeds(&["http://h1.test/"])].concat();
    let (run, refetch) = crawl.forced(&more);
    assert_eq!((refetch.round, refetch.goes_on, refetch.seeds), (1, true, 1));
    asked.extend(crawl.finish(run));
    asked.sort();
    assert_eq!(asked, more);
    // stopped when all of them were answered, with other URLs left
    Rc::get_mut(&mut crawl.web).unwrap().redirects = vec![("http://h0.test/", "http://h0.test/new")];
    let (run, _) = crawl.forced(&seeds(&[SEED]));
    crawl.stop(run, 1);
    let (_, refetch) = crawl.forced(&seeds(&[SEED]));
    assert_eq!((refetch.round, refetch.goes_on, refetch.seeds), (3, false, 1));
}

#[test]
fn p8_a_page_that_is_fetched_again_is_asked_for_conditionally_and_a_304_becomes_a_revisit() {
    let mut crawl = Crawl::new(Editions { knows_conditions: true, ..Editions::default() });
    let run = crawl.plain();
    crawl.finish(run);
    assert!(crawl.web.conditions.take().iter().all(|(_, condition)| condition.is_empty()), "nothing to ask yet");
    for edition in [0, 0, 1, 1] {
        crawl.web.edition.set(edition);
        let (run, _) = crawl.forced(&seeds(&[SEED]));
        crawl.finish(run);
    }
    let sent: Vec<_> = crawl.web.conditions.take().into_iter().map(|(_, condition)| condition).collect();
    let condition = |edition: u32| {
        vec![format!("if-none-match: W/\"{edition}-1\""), "if-modified-since: Sat, 21 Nov 2026 09:00:00 GMT".to_owned()]
    };
    assert_eq!(sent, [condition(0), condition(0), condition(0), condition(1)]);
    let versions = crawl.versions().remove(SEED).unwrap();
    assert_eq!(versions.iter().map(|record| record.status).collect::<Vec<_>>(), [200, 304, 304, 200, 304]);
    let payloads: Vec<_> = versions.iter().map(|record| record.payload_at).collect();
    let (first, fourth) = (Some(versions[0].offset), Some(versions[3].offset));
    assert_eq!(payloads, [None, first, first, None, fourth]);
    for (record, edition) in versions.iter().zip([0, 0, 0, 1, 1]) {
        assert!(crawl.body(record).contains(&format!("edition {edition} of")));
    }
    let mut run = crawl.unseeded();
    let statistics = run.engine.figures().statistics();
    assert_eq!((statistics.refetched, statistics.not_modified, statistics.revisits), (4, 3, 0));
    assert_eq!(statistics.statuses[&304], 3);
    let log = std::fs::read_to_string(CrawlLog::path(crawl.dir.path())).unwrap();
    assert_eq!(log.matches(" forced,notModified\n").count(), 3, "{log}");
    assert_eq!(log.matches(" forced\n").count(), 1, "{log}");
}

#[test]
fn p8_a_304_that_was_not_asked_for_is_a_failure_and_not_asked_for_again() {
    // the second page has no version with 200, so there is nothing to ask about
    let web = Editions { always_304: Some("/2"), ..Editions::default() };
    let mut crawl = Crawl::new(web);
    let run = crawl.plain();
    let asked = crawl.finish(run);
    assert_eq!(asked.iter().filter(|url| url.ends_with("/2")).count(), HOSTS, "each once");
    assert!(asked.iter().all(|url| !url.ends_with("/5")), "what page 2 would have named is not known");
    let (mut run, _) = crawl.forced(&seeds(&["http://h0.test/2"]));
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let statistics = run.engine.figures().statistics();
    let failures = statistics.failures[&Failure::Unconditional304];
    assert_eq!((failures, statistics.not_modified), (HOSTS as u64 + 1, 0));
    let status = crawl.statuses().pop().unwrap();
    assert!(matches!(status, SeedStatus::Failed(ref why) if why.contains("304")), "{status:?}");
    assert_eq!(crawl.leave(run), ["http://h0.test/2"]);
    let versions = crawl.versions().remove("http://h0.test/2").unwrap();
    assert_eq!(versions.iter().map(|record| (record.status, record.payload_at)).collect::<Vec<_>>(), [(304, None); 2]);
    let log = std::fs::read_to_string(CrawlLog::path(crawl.dir.path())).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("304%20that%20was")).count() as u64, failures, "{log}");
}

/// A page whose connection breaks off whenever it is asked for, at some requests before the answer.
struct BreaksOff {
    asked: Cell<u32>,
    is_silent: fn(u32) -> bool,
}

impl BreaksOff {
    fn new(is_silent: fn(u32) -> bool) -> Rc<Self> {
        Rc::new(BreaksOff { asked: Cell::new(0), is_silent })
    }
}

impl Web for BreaksOff {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond answers")
    }

    fn respond(&self, job: &FetchJob, _: Time) -> Result<Reply, Failure> {
        if job.url.path() == "/robots.txt" {
            return reply(404, Vec::new(), "");
        }
        let number = self.asked.get();
        self.asked.set(number + 1);
        if (self.is_silent)(number) {
            return Err(Failure::Disconnected);
        }
        // always as long
        reply(200, vec![("content-type", "text/html".to_owned())], &format!("request {number:05} {}", " ".repeat(300)))
    }

    fn cut_short(&self, url: &CanonicalUrl) -> Option<Truncation> {
        (url.path() != "/robots.txt").then_some(Truncation::Disconnect)
    }
}

#[test]
fn a_body_that_broke_off_in_an_earlier_round_does_not_stand_for_one_of_this_round() {
    let dir = tempfile::tempdir().unwrap();
    // the first request of the second round brings nothing
    let web = BreaksOff::new(|number| number == 3);
    let mut run = open_at(web.clone(), dir.path(), START);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(web.asked.get(), 3);
    let now = run.clock.now();
    drop(run);
    let mut run = open_without_seeds(web.clone(), dir.path(), now);
    run.engine.seeder().refetch(&parse_seeds(SEED.as_bytes()).0).unwrap();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(web.asked.get(), 6);
    drop(run);
    let reader = Reader::open(Disk::real(), &dir.path().join("pages")).unwrap();
    let pages = reader.records().map(Result::unwrap).filter(|record| !record.robots);
    let bodies: Vec<String> =
        pages.map(|record| String::from_utf8(reader.response(&record).unwrap().body).unwrap()).collect();
    let requests: Vec<&str> = bodies.iter().map(|body| &body[..13]).collect();
    assert_eq!(requests, ["request 00000", "request 00004"], "the first of each round that broke off");
}

#[test]
fn a_seed_whose_page_never_comes_is_tried_again_counted_and_told_as_failed() {
    let dir = tempfile::tempdir().unwrap();
    let web = BreaksOff::new(|_| true);
    let mut run = open_at(web.clone(), dir.path(), START);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let statistics = run.engine.figures().statistics();
    assert_eq!((web.asked.get(), statistics.retries, statistics.ends.failed), (3, 2, 1));
    assert_eq!(statistics.requests, 4, "with that for robots.txt");
    drop(run);
    let seeds = super::seeds::seeds_in(dir.path());
    assert!(matches!(seeds[0].status, SeedStatus::Failed(_)), "{:?}", seeds[0].status);
}
