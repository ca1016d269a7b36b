//! Seeds by the thousand, and their numbers over kills.

use std::cell::RefCell as Cell;

use super::*;
use crawler::checkpoint;
use crawler::engine::{SeedReader, SeedRecord, SeedStatus, StopBy};

const START: Time = Time::from_ms(1_000_000_000_000);

/// Seeds of a crawl by what its files say.
pub(super) fn seeds_in(dir: &Path) -> Vec<SeedRecord> {
    let mut seeds = Vec::new();
    let reader = SeedReader::open(&Disk::real(), dir).unwrap().unwrap();
    reader
        .for_each(|_, seed| {
            seeds.push(seed);
            Ok::<_, disk::Error>(())
        })
        .unwrap();
    seeds
}

/// Hosts of one page each, and a list of seeds that can be edited.
struct Listed {
    seeds: Cell<Vec<String>>,
    /// True if there are checkpoints that nobody asks for.
    cuts: bool,
    /// True if `/` leads to another host.
    moved: bool,
    mode: ScopeMode,
}

impl Listed {
    fn of(seeds: Vec<String>) -> Rc<Self> {
        Rc::new(Listed { seeds: Cell::new(seeds), cuts: false, moved: false, mode: ScopeMode::Any })
    }

    fn hosts(count: usize) -> Rc<Self> {
        Listed::of((0..count).map(|host| format!("http://x{host}.test/")).collect())
    }

    fn edit(&self, seeds: &[&str]) {
        *self.seeds.borrow_mut() = seeds.iter().map(|seed| (*seed).to_owned()).collect();
    }

    fn open(self: &Rc<Self>, dir: &Path, start: Time) -> Run {
        open_without_seeds(self.clone(), dir, start)
    }
}

impl Web for Listed {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond answers")
    }

    fn respond(&self, job: &FetchJob, _: Time) -> Result<Reply, Failure> {
        let url = &job.url;
        let headers = vec![("content-type", "text/html".to_owned())];
        let answer = |status, body: &str| Reply { status, headers: headers.clone(), body: body.as_bytes().to_vec() };
        if url.path() == "/robots.txt" {
            return Ok(answer(404, ""));
        }
        if self.moved && url.host().starts_with('x') && url.path() == "/" {
            let to = format!("http://y{}/", &url.host()[1..]);
            return Ok(Reply { status: 301, headers: vec![("location", to)], body: Vec::new() });
        }
        Ok(answer(200, if url.path() == "/" { "<a href=\"/below\">x</a>" } else { "" }))
    }

    fn seeds(&self) -> Vec<String> {
        self.seeds.borrow().clone()
    }

    fn scope(&self) -> ScopeOptions {
        ScopeOptions { mode: self.mode, ..ScopeOptions::default() }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        if !self.cuts {
            settings.checkpoint_interval = Duration::from_secs(1_000_000);
        }
    }
}

fn stop(mut run: Run) -> Time {
    run.engine.handle(Event::Stop(StopBy::Signal)).unwrap();
    assert_eq!(run.go(usize::MAX), Some(Finish::StoppedBySignal));
    run.clock.now()
}

#[test]
fn n06_seeds_fetched_before_the_first_checkpoint_have_their_status_after_a_kill_and_an_edited_list() {
    let dir = tempfile::tempdir().unwrap();
    let web = Listed::of(Vec::new());
    web.edit(&["http://x0.test/", "http://x1.test/", "http://x2.test/"]);
    let mut run = web.open(dir.path(), START);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go_until(|run| run.record.borrow().requests.len() >= 9), None);
    let (asked, now) = (pages_of(&run.requests()), run.clock.now());
    drop(run);
    let last = checkpoint::Last::find(&Disk::real(), dir.path()).unwrap().unwrap();
    assert!(last.checkpoint.is_none(), "there was no checkpoint");
    // the seeds file was edited: what is archived has the numbers of before
    web.edit(&["http://x9.test/", "http://x2.test/"]);
    let mut run = web.open(dir.path(), now);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let again = pages_of(&run.requests());
    assert!(asked.iter().filter(|url| again.contains(url)).count() <= 3, "{asked:?} {again:?}");
    let seeds = seeds_in(dir.path());
    let urls: Vec<&str> = seeds.iter().map(|seed| seed.url.as_str()).collect();
    assert_eq!(urls, ["http://x0.test/", "http://x1.test/", "http://x2.test/", "http://x9.test/"]);
    assert!(seeds.iter().all(|seed| seed.status == SeedStatus::Answered(200)), "{seeds:?}");
    let log = std::fs::read_to_string(CrawlLog::path(dir.path())).unwrap();
    for line in log.lines().filter(|line| !line.contains("robots.txt")) {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let host = |url: &str| url.split('/').nth(2).map(str::to_owned);
        assert_eq!(host(columns[3]), host(columns[10]), "the seed of {line}");
    }
}

#[test]
fn n06_new_seeds_of_a_resumed_run_have_their_status_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let web = Listed::hosts(2);
    let mut run = web.open(dir.path(), START);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let now = run.clock.now();
    drop(run);
    web.edit(&["http://x7.test/"]);
    let mut run = web.open(dir.path(), now);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go_until(|run| pages_of(&run.record.borrow().requests).len() == 2), None);
    let now = run.clock.now();
    drop(run);
    web.edit(&["http://x8.test/"]);
    let mut run = web.open(dir.path(), now);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert!(!pages_of(&run.requests()).contains(&"http://x7.test/".to_owned()));
    let seeds = seeds_in(dir.path());
    let urls: Vec<&str> = seeds.iter().map(|seed| seed.url.as_str()).collect();
    assert_eq!(urls, ["http://x0.test/", "http://x1.test/", "http://x7.test/", "http://x8.test/"]);
    assert!(seeds.iter().all(|seed| seed.status == SeedStatus::Answered(200)), "{seeds:?}");
}

#[test]
fn n25_the_first_requests_are_made_while_most_seeds_are_not_admitted() {
    let dir = tempfile::tempdir().unwrap();
    let web = Listed::hosts(4_000);
    let mut run = web.open(dir.path(), START);
    assert_eq!(run.engine.seeder().admit_listed(), 4_000);
    run.engine.pump().unwrap();
    // what a request needs first of all
    assert!(!run.record.borrow().resolved.is_empty());
    let admitted = run.engine.figures().statistics().unique;
    assert!(admitted <= 1_000, "{admitted} admitted before the first request");
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(run.engine.figures().statistics().pages_stored, 8_000);
}

#[test]
fn n25_seeds_that_a_killed_run_did_not_come_to_admit_are_admitted_by_the_next_one() {
    let web = Listed::hosts(1_400);
    for cuts in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let all = web.seeds();
        let mut run = web.open(dir.path(), START);
        run.engine.seeder().admit_listed();
        run.engine.pump().unwrap();
        if cuts {
            run.engine.handle(Event::Checkpoint).unwrap();
            run.engine.pump().unwrap();
        }
        assert!(run.engine.is_busy(), "not all are admitted");
        let now = run.clock.now();
        drop(run);
        web.edit(&[]);
        let mut run = web.open(dir.path(), now);
        run.engine.seeder().admit_listed();
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        let seeds = seeds_in(dir.path());
        assert_eq!(seeds.len(), all.len());
        assert!(seeds.iter().all(|seed| seed.status == SeedStatus::Answered(200)), "with a checkpoint: {cuts}");
        *web.seeds.borrow_mut() = all;
    }
}

#[test]
fn n25_a_forced_run_that_is_killed_while_its_seeds_are_admitted_fetches_each_again_once() {
    let dir = tempfile::tempdir().unwrap();
    let web = Listed::hosts(1_400);
    let mut run = web.open(dir.path(), START);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let now = run.clock.now();
    drop(run);
    let mut run = web.open(dir.path(), now);
    let refetch = run.engine.seeder().refetch_listed().unwrap();
    assert_eq!((refetch.round, refetch.seeds, refetch.listed), (1, 1_400, 1_400));
    run.engine.pump().unwrap();
    run.engine.handle(Event::Checkpoint).unwrap();
    run.engine.pump().unwrap();
    assert!(run.engine.is_busy() && run.requests().is_empty(), "no request before all are durable");
    drop(run);
    let mut run = web.open(dir.path(), now);
    let refetch = run.engine.seeder().refetch_listed().unwrap();
    assert!(refetch.goes_on && refetch.round == 1 && refetch.seeds < 1_400, "{refetch:?}");
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let mut expected = web.seeds();
    expected.sort();
    assert_eq!(pages_of(&run.requests()), expected);
    assert_eq!(run.engine.figures().statistics().refetched, 1_400);
}

#[test]
fn n25_where_seeds_redirect_is_in_scope_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let seeds = Listed::hosts(60).seeds();
    let web = Rc::new(Listed { seeds: Cell::new(seeds), cuts: true, moved: true, mode: ScopeMode::Host });
    let mut run = web.open(dir.path(), START);
    run.engine.seeder().admit_listed();
    let moved = |run: &Run| run.record.borrow().requests.iter().filter(|(_, url)| url.contains("//y")).count() > 0;
    assert_eq!(run.go_until(moved), None);
    let now = stop(run);
    web.edit(&[]);
    let mut run = web.open(dir.path(), now);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let statistics = run.engine.figures().statistics();
    assert_eq!((statistics.pages_stored, statistics.dropped.len()), (3 * 60, 0), "{statistics:?}");
    let redirected = |seed: &SeedRecord| seed.redirected_to.as_deref().is_some_and(|to| to.starts_with("http://y"));
    assert!(seeds_in(dir.path()).iter().all(redirected));
}

#[test]
fn n25_a_directory_without_its_list_of_seeds_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let web = Listed::hosts(3);
    let mut run = web.open(dir.path(), START);
    run.engine.seeder().admit_listed();
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let now = run.clock.now();
    drop(run);
    std::fs::remove_dir_all(dir.path().join("seeds")).unwrap();
    let opened = try_open(web, Disk::real(), dir.path(), now);
    assert!(matches!(opened, Err(OpenError::Disk(disk::Error::Damaged { .. }))));
}
