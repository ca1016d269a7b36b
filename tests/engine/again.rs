//! Fetching again by the calendar: days of virtual time in which pages change, go, come back, and cannot be had.

use std::cell::Cell;
use std::sync::Mutex;

use super::*;
use crawler::calendar::{Bounds, Mode, Past as Visits, Recrawl, ScheduleOptions, WheelOptions, wheel};
use crawler::checkpoint;
use crawler::container::{KeyRecord, Reader, Report, Standing, verify};
use crawler::contract::Retries;
use crawler::disk::simulated::SimulatedDisk;
use crawler::frontier::QueuedUrl;

const START: Time = Time::from_ms(1_795_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
/// Time from one visit of a page to the next.
const INTERVAL: Duration = Duration::from_secs(6 * 3_600);
/// Time that is longer than an interval with its jitter and the slot that it ends in.
const AFTER_INTERVAL: Duration = Duration::from_secs(7 * 3_600);

/// A site that a test edits.
struct Living {
    /// Bodies by path; what has none is not found.
    pages: RefCell<BTreeMap<String, String>>,
    robots: RefCell<String>,
    /// True if nothing answers.
    is_down: Cell<bool>,
    /// Paths that bring no page: the status of their answers, or none where the connection breaks.
    faults: RefCell<BTreeMap<String, Option<u16>>>,
    is_on: Cell<bool>,
    /// True if a run ends when nothing is due.
    until_fresh: Cell<bool>,
    pages_per_host: Option<u64>,
    /// Requests for pages that brought a condition.
    conditional: RefCell<Vec<String>>,
}

impl Living {
    fn new(pages: &[(&str, &str)]) -> Self {
        let pages = pages.iter().map(|&(path, body)| (path.to_owned(), body.to_owned())).collect();
        Living {
            pages: RefCell::new(pages),
            robots: RefCell::default(),
            is_down: Cell::new(false),
            faults: RefCell::default(),
            is_on: Cell::new(true),
            until_fresh: Cell::new(true),
            pages_per_host: None,
            conditional: RefCell::default(),
        }
    }

    fn edit(&self, path: &str, body: &str) {
        self.pages.borrow_mut().insert(path.to_owned(), body.to_owned());
    }
}

impl Web for Living {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond answers")
    }

    fn respond(&self, job: &FetchJob, _: Time) -> Result<Reply, Failure> {
        let path = job.url.path();
        let answer = |status, headers, body: &str| Ok(Reply { status, headers, body: body.as_bytes().to_vec() });
        if path == "/robots.txt" {
            return answer(200, Vec::new(), &self.robots.borrow());
        }
        if self.is_down.get() {
            return Err(Failure::Connect);
        }
        match self.faults.borrow().get(path) {
            Some(Some(status)) => return answer(*status, Vec::new(), "not now"),
            Some(None) => return Err(Failure::Disconnected),
            None => {}
        }
        let pages = self.pages.borrow();
        let Some(body) = pages.get(path) else { return answer(404, Vec::new(), "none") };
        let etag =
            format!("\"{:x}\"", body.bytes().fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 0xffff_fffb));
        let mime = if path.ends_with(".xml") { "application/xml" } else { "text/html" };
        let headers = vec![("content-type", mime.to_owned()), ("etag", etag.clone())];
        let condition = job.condition.iter().flat_map(|condition| condition.validators.headers());
        let conditions: Vec<Vec<u8>> = condition.map(|(_, value)| value.to_vec()).collect();
        if !conditions.is_empty() {
            self.conditional.borrow_mut().push(path.to_owned());
        }
        if conditions.iter().any(|value| value == etag.as_bytes()) {
            return answer(304, headers, "");
        }
        answer(200, headers, body)
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        // of a run that stays, only what its pages need is looked at
        settings.robots_cache = if self.until_fresh.get() { HOUR } else { 100 * HOUR };
        // days go by
        settings.checkpoint_interval = HOUR;
        frontier.budget.pages_per_host = self.pages_per_host;
    }

    fn recrawl(&self) -> Option<RecrawlOptions> {
        let bounds = Bounds { min: HOUR, max: INTERVAL };
        let maps = Bounds { min: 2 * HOUR, max: 2 * HOUR };
        let schedule = ScheduleOptions { mode: Mode::Fixed { interval: INTERVAL }, bounds, maps, rules: Vec::new() };
        let is_on = self.is_on.get();
        let wheel = WheelOptions::default();
        let until_fresh = self.until_fresh.get();
        Some(RecrawlOptions { schedule, wheel, by_text: true, is_on, until_fresh })
    }
}

/// A crawl directory, and the time.
struct Crawl {
    dir: tempfile::TempDir,
    web: Rc<Living>,
    now: Time,
}

impl Crawl {
    fn of(web: Living) -> Self {
        Crawl { dir: tempfile::tempdir().unwrap(), web: Rc::new(web), now: START }
    }

    /// Runs until nothing is due, `later` than it ran last; the paths of the pages that were asked for, in order.
    fn visit(&mut self, later: Duration) -> Vec<String> {
        self.now = self.now + later;
        let run = open_at(self.web.clone(), self.dir.path(), self.now);
        self.finish(run)
    }

    /// The same of a run that fetches the seeds at `paths` again.
    fn force(&mut self, later: Duration, paths: &[String]) -> Vec<String> {
        self.now = self.now + later;
        let mut run = open_without_seeds(self.web.clone(), self.dir.path(), self.now);
        let urls: Vec<String> = paths.iter().map(|path| format!("http://h0.test{path}")).collect();
        let (seeds, _) = parse_seeds(urls.join("\n").as_bytes());
        assert_eq!(run.engine.seeder().refetch(&seeds).unwrap().seeds, paths.len() as u64);
        self.finish(run)
    }

    fn finish(&mut self, mut run: Run) -> Vec<String> {
        let ended = run.go(usize::MAX);
        assert!(matches!(ended, Some(Finish::Fresh | Finish::Complete)), "{ended:?}");
        self.now = run.clock.now();
        let paths = run.requests().into_iter().map(|(_, url)| CanonicalUrl::parse(&url).unwrap().path().to_owned());
        let mut paths: Vec<String> = paths.filter(|path| path != "/robots.txt").collect();
        paths.sort();
        paths
    }

    /// The records of the calendar by path, with the moments for which they are.
    fn calendar(&self) -> BTreeMap<String, Vec<Visits>> {
        let (disk, dir) = (Disk::real(), self.dir.path());
        let (record, sections) = checkpoint::newest(&disk, dir).unwrap().unwrap();
        let mut calendar: BTreeMap<String, Vec<Visits>> = BTreeMap::new();
        let state = record.calendar.unwrap();
        wheel::for_each(&disk, &dir.join("calendar"), &state, &sections.calendar, &mut |_, bytes| {
            let url = QueuedUrl::decode(bytes).unwrap().0;
            let path = CanonicalUrl::parse(&url.url).unwrap().path().to_owned();
            calendar.entry(path).or_default().push(Recrawl::past(url.recrawl.as_deref()).unwrap());
            Ok(())
        })
        .unwrap();
        calendar.values_mut().for_each(|records| records.sort_by_key(|past| (past.fetched, past.due)));
        calendar
    }

    fn newest(&self, path: &str) -> Visits {
        self.calendar()[path].last().unwrap().clone()
    }

    /// The versions of a page, the oldest first. The archive is sound.
    fn versions(&self, path: &str) -> Vec<KeyRecord> {
        let (disk, pages) = (Disk::real(), self.dir.path().join("pages"));
        let (mut damage, mut still) = (Vec::new(), |_, _| {});
        let mut tell = |finding: &crawler::container::Finding| damage.push(finding.clone());
        let mut report = Report::new(&mut tell, &mut still);
        let standing = Standing::Stopped { noted: None, clean: true };
        verify(&disk, &pages, &standing, None, &mut report).unwrap();
        assert!(damage.iter().all(|finding| !finding.damage), "{damage:?}");
        let reader = Reader::open(disk, &pages).unwrap();
        let records = reader.records().map(Result::unwrap);
        records.filter(|record| CanonicalUrl::parse(&record.url).unwrap().path() == path).collect()
    }
}

/// Two pages that the first one links to.
fn site() -> Living {
    let links = "<a href=\"/a\">a</a><a href=\"/b\">b</a>";
    let text = "<p>What a page says, in words that are many enough to be a text. ".repeat(20);
    let text = format!("{text}<p>Printed at 10:58 on 2 November 2026</p>");
    Living::new(&[("/", links), ("/a", &text), ("/b", &format!("{text} and b"))])
}

const ALL: [&str; 3] = ["/", "/a", "/b"];

#[test]
fn what_is_due_is_asked_for_on_its_conditions_and_a_304_is_a_revisit_of_the_payload() {
    let mut crawl = Crawl::of(site());
    assert_eq!(crawl.visit(Duration::ZERO), ALL);
    assert_eq!(crawl.visit(HOUR), [""; 0], "before its time");
    for round in 1..4 {
        crawl.web.conditional.borrow_mut().clear();
        assert_eq!(crawl.visit(AFTER_INTERVAL), ALL);
        crawl.web.conditional.borrow_mut().sort();
        assert_eq!(*crawl.web.conditional.borrow(), ALL, "round {round}");
        let versions = crawl.versions("/a");
        assert_eq!(versions.len(), round + 1);
        let payload = versions[0].offset;
        assert!(versions[1..].iter().all(|version| version.status == 304 && version.payload_at == Some(payload)));
        assert_eq!(crawl.newest("/a").digest, versions[0].payload_sha1);
    }
}

/// Neither for its condition nor for its record, nor for the page that named it once: what the index does not say, the
/// calendar does.
#[test]
fn a_visit_that_is_due_reads_no_content_of_the_archive() {
    let (memory, dir) = (SimulatedDisk::new(3), Path::new("/crawl"));
    let web = Rc::new(site());
    web.until_fresh.set(false);
    let mut run = try_open(web.clone(), memory.disk(), dir, START).unwrap();
    run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
    assert_eq!(run.go_until(|run| run.clock.now() >= START + HOUR), None);
    let reads = Arc::new(Mutex::new(Vec::new()));
    let seen = reads.clone();
    memory.observe_reads(move |path, at, _, _| {
        let name = path.file_name().unwrap().to_string_lossy();
        let is_index = name.starts_with("address") || name == "key.dat";
        if path.parent().is_some_and(|dir| dir.ends_with("pages")) && !is_index {
            seen.lock().unwrap().push((name.into_owned(), at));
        }
    });
    // one page changes between the visits
    let a = web.pages.borrow()["/a"].clone();
    assert_eq!(run.go_until(|run| run.clock.now() >= START + 8 * HOUR), None);
    web.edit("/a", &format!("{a}<p>Something else is said here now, in a whole sentence.</p>"));
    assert_eq!(run.go_until(|run| run.clock.now() >= START + 40 * HOUR), None);
    let visits = run.engine.figures().gauges().calendar.unwrap().visits;
    assert!(visits.visits >= 15 && visits.not_modified >= 14 && visits.changed == 1, "{visits:?}");
    assert_eq!(*reads.lock().unwrap(), []);
}

#[test]
fn another_text_is_a_change_and_another_date_is_none() {
    let mut crawl = Crawl::of(site());
    crawl.visit(Duration::ZERO);
    let first = crawl.newest("/a");
    let (a, b) = (crawl.web.pages.borrow()["/a"].clone(), crawl.web.pages.borrow()["/b"].clone());
    crawl.web.edit("/a", &a.replace("10:58 on 2", "12:01 on 3"));
    crawl.web.edit("/b", &format!("{b}<p>Something else is said here now, in a whole sentence.</p>"));
    assert_eq!(crawl.visit(AFTER_INTERVAL), ALL);
    let (a, b) = (crawl.newest("/a"), crawl.newest("/b"));
    assert_eq!((a.changed, a.history.changes), (first.changed, 0.0));
    assert!(b.changed > first.changed && b.history.changes > 0.0, "{b:?}");
    // both are in the archive as they were
    assert_eq!((crawl.versions("/a").len(), crawl.versions("/b").len()), (2, 2));
    assert!(crawl.versions("/a").iter().all(|version| version.status == 200));
}

#[test]
fn an_outage_changes_nothing_but_the_time_of_the_next_visit() {
    let mut crawl = Crawl::of(site());
    crawl.visit(Duration::ZERO);
    crawl.visit(AFTER_INTERVAL);
    let before = crawl.newest("/a");
    crawl.web.is_down.set(true);
    for _ in 0..4 {
        crawl.visit(AFTER_INTERVAL * 8);
    }
    let during = crawl.newest("/a");
    assert_eq!((during.history, during.changed, during.gone), (before.history, before.changed, None));
    crawl.web.is_down.set(false);
    assert_eq!(crawl.visit(AFTER_INTERVAL * 8), ALL);
    let after = crawl.newest("/a");
    assert!(after.fetched > before.fetched && after.changed == before.changed);
    assert_eq!(crawl.versions("/a").last().unwrap().status, 304);
}

#[test]
fn a_page_that_is_not_found_for_a_week_ends_and_comes_back_by_a_link_on_a_page_that_changes() {
    let mut crawl = Crawl::of(site());
    crawl.visit(Duration::ZERO);
    let body = crawl.web.pages.borrow_mut().remove("/a").unwrap();
    let mut asked = 0;
    for _ in 0..24 {
        asked += crawl.visit(12 * HOUR).iter().filter(|path| *path == "/a").count();
    }
    assert!(asked >= 3, "asked for {asked} times");
    assert!(!crawl.visit(10 * 24 * HOUR).contains(&"/a".to_owned()), "it is given up");
    crawl.web.edit("/a", &body);
    assert!(!crawl.visit(24 * HOUR).contains(&"/a".to_owned()), "nobody has said that it is back");
    crawl.web.edit("/b", "<p>It is back, look at it, they have written it all anew.<a href=\"/a\">a</a>");
    assert!(crawl.visit(24 * HOUR).contains(&"/a".to_owned()), "a page that changed links to it");
    assert_eq!(crawl.visit(24 * HOUR), ALL);
}

/// Whatever it is that keeps it away: no answer, an error, or that there is none.
#[test]
fn a_page_that_was_never_found_ends_after_its_tries_and_one_that_was_is_asked_for_on_and_on() {
    let mut crawl = Crawl::of(site());
    let never = ["/busy", "/none", "/silent"];
    let links: String = never.iter().map(|path| format!("<a href=\"{path}\">x</a>")).collect();
    crawl.web.edit("/", &format!("{}{links}", crawl.web.pages.borrow()["/"].clone()));
    let faults = [("/busy", Some(503)), ("/silent", None)];
    crawl.web.faults.borrow_mut().extend(faults.map(|(path, fault)| (path.to_owned(), fault)));
    crawl.visit(Duration::ZERO);
    // found once, and silent from then on
    crawl.web.faults.borrow_mut().insert("/b".to_owned(), None);
    let mut days: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..14 {
        let mut asked = crawl.visit(24 * HOUR);
        asked.dedup();
        asked.into_iter().for_each(|path| *days.entry(path).or_default() += 1);
    }
    for path in never {
        assert!((2..=4).contains(&days[path]), "{days:?}");
    }
    assert!(days["/b"] > 8, "{days:?}");
    for _ in 0..10 {
        let asked = crawl.visit(24 * HOUR);
        assert!(!never.iter().any(|path| asked.contains(&(*path).to_owned())), "{asked:?}");
    }
    // one that is linked anew has its tries again, and stays when it is found
    crawl.web.faults.borrow_mut().clear();
    crawl.web.edit("/silent", "<p>It speaks after all, in a whole sentence.");
    crawl.web.edit("/a", "<p>Another page says something else now.<a href=\"/silent\">c</a>");
    let asked: Vec<String> = (0..3).flat_map(|_| crawl.visit(48 * HOUR)).collect();
    assert!(asked.iter().filter(|path| *path == "/silent").count() >= 2, "{asked:?}");
}

#[test]
fn rules_that_forbid_a_page_for_a_while_do_not_end_it() {
    let mut crawl = Crawl::of(site());
    crawl.visit(Duration::ZERO);
    *crawl.web.robots.borrow_mut() = "User-agent: *\nDisallow: /a\n".to_owned();
    for _ in 0..3 {
        assert_eq!(crawl.visit(48 * HOUR), ["/", "/b"]);
    }
    crawl.web.robots.borrow_mut().clear();
    let seen: Vec<String> = (0..8).flat_map(|_| crawl.visit(48 * HOUR)).collect();
    assert!(seen.contains(&"/a".to_owned()), "{seen:?}");
}

#[test]
fn a_page_that_was_counted_once_is_visited_whatever_budgets_say() {
    let mut crawl = Crawl::of(Living { pages_per_host: Some(3), ..site() });
    assert_eq!(crawl.visit(Duration::ZERO), ALL);
    crawl.web.edit("/", "<p>Another page says something else now.<a href=\"/c\">c</a>");
    for _ in 0..5 {
        // the new page is one too many, those that are known are not
        assert_eq!(crawl.visit(AFTER_INTERVAL), ALL);
    }
}

#[test]
fn a_seed_that_is_fetched_again_before_its_time_is_counted_once() {
    let mut crawl = Crawl::of(Living { pages_per_host: Some(3), ..site() });
    assert_eq!(crawl.visit(Duration::ZERO), ALL);
    let listed = ALL.map(str::to_owned);
    for _ in 0..3 {
        assert_eq!(crawl.force(HOUR, &listed), ALL);
    }
    crawl.web.edit("/", "<p>Another page says something else now.<a href=\"/c\">c</a>");
    assert_eq!(crawl.force(HOUR, &listed), ALL, "the new page is one too many");
}

/// There are more seeds than the memory of the store of visits has entries: when their turn comes, it has forgotten the
/// first.
#[test]
fn seeds_that_are_fetched_again_keep_their_history_and_are_counted_once_however_many_they_are() {
    let paths: Vec<String> = (0..60).map(|n| format!("/seed/{n}")).collect();
    let links: String = paths.iter().map(|path| format!("<a href=\"{path}\">x</a>")).collect();
    let web = Living { pages_per_host: Some(62), ..Living::new(&[("/", &links)]) };
    paths.iter().for_each(|path| web.edit(path, &format!("<p>What {path} says, in words that are its own.")));
    let mut crawl = Crawl::of(web);
    assert_eq!(crawl.visit(Duration::ZERO).len(), 61);
    assert_eq!(crawl.visit(AFTER_INTERVAL).len(), 61);
    let before: Vec<Visits> = paths.iter().map(|path| crawl.newest(path)).collect();
    let mut asked = crawl.force(HOUR, &paths);
    asked.sort_by_key(|path| paths.iter().position(|other| other == path));
    assert_eq!(asked, paths);
    for (path, before) in paths.iter().zip(before) {
        let after = crawl.newest(path);
        assert!(after.fetched > before.fetched && after.history.visits > before.history.visits + 0.5, "{after:?}");
        assert!(after.history.days > 0.0 && after.validators == before.validators, "{after:?}");
    }
}

/// A site without end that lets the connections of each URL break for a day, and then has a page with more links.
struct Evasive {
    first: RefCell<BTreeMap<String, Time>>,
}

impl Web for Evasive {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond answers")
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let path = job.url.path();
        let page = |body: String| Ok(Reply { status: 200, headers: Vec::new(), body: body.into_bytes() });
        if path == "/robots.txt" {
            return page(String::new());
        }
        let first = *self.first.borrow_mut().entry(path.to_owned()).or_insert(now);
        if path != "/" && now.since(first) < 12 * HOUR {
            return Err(Failure::Disconnected);
        }
        page((0..4).map(|n| format!("<a href=\"{}/{n}\">x</a>", path.trim_end_matches('/'))).collect())
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        // one that waits for its next attempt is not counted yet
        (settings.checkpoint_interval, settings.retries) = (HOUR, Retries::usual(0));
        frontier.budget.pages_per_host = Some(7);
    }

    fn recrawl(&self) -> Option<RecrawlOptions> {
        site().recrawl()
    }
}

#[test]
fn a_site_that_breaks_the_first_connections_of_each_page_has_the_budget_of_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let web = Rc::new(Evasive { first: RefCell::default() });
    let mut now = START;
    for _ in 0..20 {
        let mut run = open_at(web.clone(), dir.path(), now);
        let ended = run.go(usize::MAX);
        assert!(matches!(ended, Some(Finish::Fresh | Finish::Complete)), "{ended:?}");
        now = run.clock.now() + 26 * HOUR;
    }
    let asked: Vec<String> = web.first.borrow().keys().cloned().collect();
    assert_eq!(asked.len(), 7, "{asked:?}");
    let reader = Reader::open(Disk::real(), &dir.path().join("pages")).unwrap();
    let stored: std::collections::BTreeSet<String> =
        reader.records().map(Result::unwrap).filter(|record| !record.robots).map(|record| record.url).collect();
    assert_eq!(stored.len(), 7, "each of them is in the archive in the end: {stored:?}");
}

#[test]
fn while_recrawl_is_off_the_calendar_is_kept_and_afterwards_everything_is_due_once() {
    let mut crawl = Crawl::of(site());
    crawl.visit(Duration::ZERO);
    crawl.web.is_on.set(false);
    for _ in 0..2 {
        assert_eq!(crawl.visit(AFTER_INTERVAL * 3), [""; 0]);
    }
    assert_eq!(crawl.calendar().values().map(Vec::len).sum::<usize>(), ALL.len());
    crawl.web.is_on.set(true);
    assert_eq!(crawl.visit(HOUR), ALL);
    assert_eq!(crawl.visit(HOUR), [""; 0]);
}

#[test]
fn where_recrawl_is_switched_on_later_the_pages_of_before_are_in_the_calendar_too() {
    let mut crawl = Crawl::of(site());
    crawl.web.is_on.set(false);
    crawl.web.edit("/", &format!("{}<a href=\"/none\">none</a>", crawl.web.pages.borrow()["/"].clone()));
    let all = crawl.visit(Duration::ZERO);
    assert_eq!(all, ["/", "/a", "/b", "/none"]);
    assert_eq!(crawl.visit(HOUR), [""; 0]);
    crawl.web.is_on.set(true);
    // killed before the first checkpoint that has the calendar
    drop(open_at(crawl.web.clone(), crawl.dir.path(), crawl.now));
    // within the interval none is due; behind it each is asked for on the conditions of its last version
    assert_eq!(crawl.visit(HOUR), [""; 0]);
    let records: Vec<(String, usize)> =
        crawl.calendar().into_iter().map(|(path, records)| (path, records.len())).collect();
    assert_eq!(records, ["/", "/a", "/b", "/none"].map(|path| (path.to_owned(), 1)));
    assert_eq!(crawl.visit(AFTER_INTERVAL), ALL);
    assert_eq!(crawl.web.conditional.borrow().iter().collect::<std::collections::BTreeSet<_>>().len(), ALL.len());
    let [first, second] = &crawl.versions("/a")[..] else { panic!("{:?}", crawl.versions("/a")) };
    assert_eq!((second.status, second.payload_at), (304, Some(first.offset)));
    // one that was not found is looked for after two days
    assert!(crawl.visit(HOUR * 48).contains(&"/none".to_owned()));
    assert_eq!(crawl.visit(HOUR), [""; 0]);
}

#[test]
fn where_recrawl_is_switched_on_late_everything_is_due_at_once() {
    let mut crawl = Crawl::of(site());
    crawl.web.is_on.set(false);
    crawl.visit(Duration::ZERO);
    crawl.web.is_on.set(true);
    assert_eq!(crawl.visit(AFTER_INTERVAL * 9), ALL);
    assert_eq!(crawl.visit(HOUR), [""; 0]);
}

#[test]
fn a_date_behind_the_last_fetch_brings_one_visit_and_the_old_record_ends() {
    let dated =
        |date: &str| format!("<urlset><url><loc>http://h0.test/a</loc><lastmod>{date}</lastmod></url></urlset>");
    let web = site();
    *web.robots.borrow_mut() = "User-agent: *\nAllow: /\nSitemap: http://h0.test/map.xml\n".to_owned();
    web.edit("/map.xml", &dated("2020-01-01"));
    let mut crawl = Crawl::of(web);
    assert_eq!(crawl.visit(Duration::ZERO), ["/", "/a", "/b", "/map.xml"]);
    // an hour after the start
    crawl.web.edit("/map.xml", &dated("2026-11-18T12:06:40Z"));
    assert_eq!(crawl.visit(3 * HOUR), ["/a", "/map.xml"]);
    let records = crawl.calendar()["/a"].clone();
    assert_eq!(records.len(), 2, "the old record waits for its time");
    // that of the first visit ends there, without a visit
    let visited = crawl.visit(4 * HOUR);
    assert!(visited.contains(&"/b".to_owned()) && !visited.contains(&"/a".to_owned()), "{visited:?}");
    assert_eq!(crawl.calendar()["/a"].len(), 1);
    assert!(crawl.visit(4 * HOUR).contains(&"/a".to_owned()));
}
