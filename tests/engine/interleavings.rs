//! Moments at which checkpoints, merges, replays and hosts that leave meet a kill.
//!
//! Each is a crawl that is brought to that moment on purpose, killed there, and has to end with every page, none of
//! which is asked for twice once its answer was stored. The simulator (`crates/simulator`) meets them, and
//! many others, by chance.

use super::*;
use crawler::container::Reader;
use crawler::contract;
use crawler::engine::StopBy;

const START: Time = Time::from_ms(1_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// Small sites and stores that are so small that something happens to them all the time.
#[derive(Clone, Copy)]
struct Busy {
    checkpoints: Duration,
    active_hosts: usize,
    segment_bytes: u64,
}

impl Default for Busy {
    fn default() -> Self {
        Busy { checkpoints: HOUR, active_hosts: 64, segment_bytes: 1 << 20 }
    }
}

impl Web for Busy {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        SmallSites.answer(url, now)
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = self.checkpoints;
        frontier.active_hosts = self.active_hosts;
        frontier.buffer_urls = 2;
    }

    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 2, ram_per_bucket: 1 << 10, merge_threshold: 1 << 10, ..DrumOptions::default() }
    }

    fn container(&self) -> ContainerOptions {
        ContainerOptions { segment_bytes: self.segment_bytes, ..ContainerOptions::default() }
    }
}

/// A crawl directory over several processes.
struct Crawl {
    web: Rc<dyn Web>,
    dir: tempfile::TempDir,
    now: Time,
    requests: Vec<(Time, String)>,
    /// Requests whose answers had not come when their process was killed.
    lost: usize,
}

impl Crawl {
    fn of(web: impl Web + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Crawl { web: Rc::new(web), dir, now: START, requests: Vec::new(), lost: 0 }
    }

    fn start(&self) -> Run {
        open_at(self.web.clone(), self.dir.path(), self.now)
    }

    /// The process is gone.
    fn kill(&mut self, run: Run) {
        self.requests.extend(run.requests());
        self.lost += run
            .record
            .borrow()
            .events
            .iter()
            .filter(|(_, event)| matches!(event, Event::Reply(contract::Reply::Page(_))))
            .count();
        self.now = run.clock.now();
    }

    /// One more process runs to the end; then every page was asked for, and twice only what was under way at a kill.
    fn ends_with(mut self, pages: &[String]) -> Self {
        let mut run = self.start();
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        self.requests.extend(run.requests());
        drop(run);
        let mut asked = pages_of(&self.requests);
        let times = asked.len();
        asked.dedup();
        assert!(asked == pages, "asked for {} of {} pages", asked.len(), pages.len());
        assert!(times - asked.len() <= self.lost, "{times} requests for {} pages, {} lost", asked.len(), self.lost);
        let reader = Reader::open(Disk::real(), &self.dir.path().join("pages")).unwrap();
        let mut stored: Vec<String> =
            reader.records().map(Result::unwrap).filter(|record| !record.robots).map(|record| record.url).collect();
        stored.sort();
        stored.dedup();
        assert!(stored == pages, "stored {} of {} pages", stored.len(), pages.len());
        self
    }

    /// Names of files in a folder of the directory.
    fn files(&self, folder: &str) -> Vec<String> {
        let names = std::fs::read_dir(self.dir.path().join(folder)).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// Runs on until `moment`, which has to come before the crawl's end.
#[track_caller]
fn until(run: &mut Run, moment: impl Fn(&Run) -> bool) {
    assert_eq!(run.go_until(moment), None, "the crawl ended before the moment");
}

fn merges(run: &Run) -> usize {
    run.record.borrow().merges
}

/// Cuts, and keeps the job that would make the cut durable.
fn cut_and_hold(run: &mut Run) {
    run.record.borrow_mut().holds_checkpoints = true;
    run.engine.handle(Event::Checkpoint).unwrap();
    until(run, |run| run.record.borrow().held.is_some());
}

/// Makes the cut durable that was held; the engine does not hear of it.
fn commit_held(run: &Run) {
    let held = run.record.borrow_mut().held.take();
    held.expect("a checkpoint is held").run().unwrap();
}

#[test]
fn a_merge_may_finish_between_a_cut_and_its_commit() {
    for commits in [false, true] {
        for at in (5..45).step_by(5) {
            let mut crawl = Crawl::of(Busy::default());
            let mut run = crawl.start();
            until(&mut run, |run| run.requests().len() >= at);
            cut_and_hold(&mut run);
            let before = merges(&run);
            until(&mut run, |run| merges(run) > before && !run.engine.is_busy());
            if commits {
                commit_held(&run);
            }
            crawl.kill(run);
            crawl.ends_with(&every_page());
        }
    }
}

/// One page with so many links that the results of one merge take many turns of the engine.
struct Wide;

const WIDE: usize = 7_000;

impl Web for Wide {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (404, String::new()),
            "/" => (200, body(&(0..WIDE).map(|n| format!("/{n}")).collect::<Vec<_>>())),
            _ => (200, String::new()),
        }
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR;
        frontier.politeness.delay_min = Duration::ZERO;
    }

    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 1, ..DrumOptions::default() }
    }

    /// A filter that is full at once, so that all has to wait for a merge.
    fn front(&self) -> FrontOptions {
        FrontOptions { lru_entries: 16, bloom_memory: 64, bloom_fpr: 0.9 }
    }
}

#[test]
fn the_results_of_a_merge_may_be_half_dispatched_at_a_cut() {
    let pages = || {
        let mut pages: Vec<String> = (0..WIDE).map(|n| format!("http://h0.test/{n}")).collect();
        pages.push(SEED.to_owned());
        pages.sort();
        pages
    };
    for turns in [0, 1] {
        let mut crawl = Crawl::of(Wide);
        let mut run = crawl.start();
        // the seed's merges come before that of its links
        until(&mut run, |run| pages_of(&run.requests()).len() == 1);
        until(&mut run, |run| run.engine.is_busy());
        for _ in 0..turns {
            run.engine.pump().unwrap();
            assert!(run.engine.is_busy(), "all is dispatched after {turns} turns");
        }
        cut_and_hold(&mut run);
        commit_held(&run);
        assert!(
            run.engine.figures().statistics().unique < WIDE as u64,
            "all was dispatched at the cut, {turns} turns later"
        );
        crawl.kill(run);
        crawl.ends_with(&pages());
    }
}

#[test]
fn a_page_may_be_replayed_again_and_again_before_its_url_comes_out_of_url_seen() {
    for at in (2..60).step_by(9) {
        let mut crawl = Crawl::of(Busy::default());
        let mut run = crawl.start();
        until(&mut run, |run| run.requests().len() >= at);
        crawl.kill(run);
        for more in [0, 0, 1, 3] {
            let mut run = crawl.start();
            until(&mut run, |run| run.requests().len() >= more);
            crawl.kill(run);
        }
        crawl.ends_with(&every_page());
    }
}

/// One page that is unavailable until some time has passed.
struct Unavailable;

impl Web for Unavailable {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (404, String::new()),
            "/" => (200, body(&["/late".to_owned()])),
            _ if now < START + Duration::from_secs(30) => (503, "not yet".to_owned()),
            _ => (200, "now".to_owned()),
        }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR;
    }
}

#[test]
fn a_stored_503_whose_retry_waits_is_tried_again_and_is_not_the_page() {
    for cuts in [false, true] {
        let mut crawl = Crawl::of(Unavailable);
        let mut run = crawl.start();
        let asked = |run: &Run| run.requests().iter().filter(|(_, url)| url.ends_with("/late")).count();
        let answered = |run: &Run| {
            !run.record.borrow().events.iter().any(|(_, event)| matches!(event, Event::Reply(contract::Reply::Page(_))))
        };
        until(&mut run, |run| asked(run) == 1 && answered(run));
        if cuts {
            cut_and_hold(&mut run);
            commit_held(&run);
        }
        crawl.kill(run);
        // the retry is one that the policy of retries wants, not a request for what a kill has lost
        crawl.lost += 1;
        let crawl = crawl.ends_with(&[SEED.to_owned(), format!("{SEED}late")]);
        let late: Vec<Time> =
            crawl.requests.iter().filter(|(_, url)| url.ends_with("/late")).map(|(at, _)| *at).collect();
        assert_eq!(late.len(), 2, "{:?}", crawl.requests);
        assert!(late[1].since(late[0]) >= Duration::from_secs(60), "the back-off is forgotten: {late:?}");
    }
}

#[test]
fn a_value_file_may_be_opened_after_the_cut() {
    for commits in [false, true] {
        let mut crawl = Crawl::of(Busy { segment_bytes: 4 << 10, ..Busy::default() });
        let mut run = crawl.start();
        until(&mut run, |run| run.requests().len() >= 12);
        cut_and_hold(&mut run);
        let before = crawl.files("pages").len();
        until(&mut run, |_| crawl.files("pages").len() > before + 1);
        if commits {
            commit_held(&run);
        }
        crawl.kill(run);
        crawl.ends_with(&every_page());
    }
}

/// A host that asks for an hour of rest, beside others for which there is hardly a place.
struct Resting;

impl Web for Resting {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        if url.as_str() == "http://h0.test/1" && now < START + HOUR {
            (503, String::new())
        } else {
            SmallSites.answer(url, now)
        }
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let (status, body) = self.answer(&job.url, now);
        let mut headers = vec![("content-type", "text/html".to_owned())];
        headers.extend((status == 503).then(|| ("retry-after", "3600".to_owned())));
        Ok(Reply { status, headers, body: body.into_bytes() })
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR;
        frontier.active_hosts = 1;
        frontier.buffer_urls = 1;
    }
}

#[test]
fn a_rest_that_lies_only_in_a_tail_is_kept() {
    let mut crawl = Crawl::of(Resting);
    let mut run = crawl.start();
    until(&mut run, |run| run.requests().iter().any(|(_, url)| url == "http://h0.test/1"));
    let (asked, _) = run.requests().last().cloned().unwrap();
    // other hosts take its place in memory
    let others = |run: &Run| run.requests().iter().filter(|(at, url)| *at > asked && !url.contains("//h0.")).count();
    until(&mut run, |run| others(run) > 20);
    cut_and_hold(&mut run);
    commit_held(&run);
    crawl.kill(run);
    crawl.lost += 1;
    let crawl = crawl.ends_with(&every_page());
    let after = crawl.requests.iter().find(|(at, url)| *at > asked && url.contains("//h0.")).unwrap();
    assert!(after.0.since(asked) >= HOUR, "{after:?}, asked to rest at {asked:?}");
}

#[test]
fn hosts_that_are_in_a_checkpoint_and_then_in_a_tail_are_crawled_once() {
    for at in (8..60).step_by(6) {
        let mut crawl = Crawl::of(Busy { active_hosts: 2, ..Busy::default() });
        let mut run = crawl.start();
        until(&mut run, |run| run.requests().len() >= at);
        cut_and_hold(&mut run);
        commit_held(&run);
        let tails = |crawl: &Crawl| crawl.files("frontier").iter().filter(|name| name.ends_with(".tail")).count();
        let more = at + 6;
        until(&mut run, |run| run.requests().len() >= more);
        assert!(tails(&crawl) > 0, "no host has left");
        crawl.kill(run);
        crawl.ends_with(&every_page());
    }
}

/// A site of one page.
struct OnePage;

impl Web for OnePage {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        if url.path() == "/robots.txt" { (404, String::new()) } else { (200, "all there is".to_owned()) }
    }
}

#[test]
fn one_page_can_be_stopped_at_every_event_and_resumed() {
    for event in 0..12 {
        let mut crawl = Crawl::of(OnePage);
        let mut run = crawl.start();
        let seen = std::cell::Cell::new(0);
        let stopped = run.go_until(|_| seen.replace(seen.get() + 1) >= event);
        if stopped.is_none() {
            run.engine.handle(Event::Stop(StopBy::Signal)).unwrap();
            assert!(run.go(usize::MAX).is_some());
        }
        crawl.kill(run);
        let crawl = crawl.ends_with(&[SEED.to_owned()]);
        let mut again = crawl.start();
        assert_eq!(again.go(usize::MAX), Some(Finish::Complete));
        assert_eq!(again.requests(), [], "a complete crawl asks for nothing");
    }
}
