//! The engine by itself: virtual time, a web in memory, executors that work in line. No thread, no socket, no waiting.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod again;
mod calendar;
mod checkpoints;
mod clocks;
mod cluster_model;
mod crawled;
mod damage;
mod depths;
mod ends;
mod expiry;
mod hold_log;
mod interleavings;
mod listed_seeds;
mod referrers;
mod refetch;
mod requests;
mod requisites;
mod revisits;
mod robots;
mod seeds;
mod session_params;
mod shipping;
mod silence;
mod simulations;
mod sitemaps;
mod stores;
mod texts;
mod traps;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crawler::calendar::SlotRead;
use crawler::checkpoint::{Shape, begin};
use crawler::clock::{Clock, ManualClock, Time};
use crawler::container::dedup::DedupIndex;
use crawler::container::{CompactionJob, ContainerOptions, WarcInfo};
use crawler::contract::{
    self, Answer, AskId, FetchFailed, FetchJob, Fetched, Judgement, Purpose, RenderJob, ResolveJob, Response, Retries,
};
use crawler::disk::{self, Disk};
use crawler::drum::{DrumOptions, FrontOptions, PaceOptions};
use crawler::engine::checkpoint::CheckpointJob;
use crawler::engine::{
    AnswerSettings, Commons, Engine, Event, Executors, HoldSync, OpenError, Opening, Past, Phase, RecrawlOptions,
    Settings, SlotOptions, StoreMerge, SupportOptions,
};
use crawler::exchange::LinkJob;
use crawler::frontier::{Budget, FrontierOptions, PartitionJob};
use crawler::outcome::Failure;
use crawler::process::{ProcessOptions, Processor};
use crawler::record::{CrawlLog, Finish, SkippedLog};
use crawler::warc::{Compression, HttpVersion, Truncation};
use crawler::web::address::AddressGuard;
use crawler::web::scope::{ScopeMode, ScopeOptions};
use crawler::web::seeds::{SeedProblems, parse_seeds};
use crawler::web::url::{CanonicalUrl, KeyMaker};

const SEED: &str = "http://h0.test/";
const HOSTS: usize = 5;
const PAGES: usize = 12;
const DELAY: Duration = Duration::from_secs(1);
/// Every answer takes so long.
const LATENCY: Duration = Duration::from_millis(40);

/// The web to which the executors are connected.
trait Web {
    /// Status and body.
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String);

    /// The whole answer, or why none comes.
    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let (status, body) = self.answer(&job.url, now);
        Ok(Reply { status, headers: vec![("content-type", "text/html".to_owned())], body: body.into_bytes() })
    }

    /// Returns the reason for which the body of the answer is not whole.
    fn cut_short(&self, _: &CanonicalUrl) -> Option<Truncation> {
        None
    }

    /// The scope of the crawl.
    fn scope(&self) -> ScopeOptions {
        ScopeOptions { mode: ScopeMode::Any, ..ScopeOptions::default() }
    }

    /// Returns how long the addresses of a name hold, or why there are none.
    fn resolve(&self, _: &str, _: Time) -> Result<Duration, Failure> {
        Ok(Duration::from_secs(3_600))
    }

    /// Lines of the seeds file: they get their numbers when the crawl is opened.
    fn seeds(&self) -> Vec<String> {
        vec![SEED.to_owned()]
    }

    /// Sets what this web wants otherwise.
    fn tune(&self, _: &mut Settings, _: &mut FrontierOptions) {}

    /// Time that it takes to make a checkpoint durable.
    fn durable_after(&self) -> Duration {
        Duration::ZERO
    }

    /// The shape of the stores.
    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 4, ..DrumOptions::default() }
    }

    /// Settings by which pages are fetched again.
    fn recrawl(&self) -> Option<RecrawlOptions> {
        None
    }

    /// Payloads that earlier archives have.
    fn dedup(&self) -> Option<Arc<DedupIndex>> {
        None
    }

    /// The shape of the archive.
    fn container(&self) -> ContainerOptions {
        ContainerOptions { segment_bytes: 1 << 20, digest_memory: 64 << 10, ..ContainerOptions::default() }
    }

    /// Returns whether bad answers are asked for again, and the settings by which names are resolved.
    fn names(&self) -> (bool, String) {
        (false, String::new())
    }

    /// Sizes of the filters before URL-seen.
    fn front(&self) -> FrontOptions {
        FrontOptions { lru_entries: 16, bloom_memory: 64 << 10, bloom_fpr: 0.01 }
    }
}

/// An answer.
#[derive(Clone, Debug, Default)]
struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// A web of small sites: page n of a host links to pages 2n + 1 and 2n + 2, to the next host, and to a page that its
/// robots.txt forbids.
struct SmallSites;

impl Web for SmallSites {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        if url.path() == "/robots.txt" {
            return (200, "User-agent: *\nDisallow: /private/\n".to_owned());
        }
        let page: usize = url.path().trim_start_matches('/').parse().unwrap_or(0);
        let host: usize = url.host()[1..2].parse().unwrap();
        let children = [2 * page + 1, 2 * page + 2].into_iter().filter(|&child| child < PAGES);
        let mut links: Vec<String> = children.map(|child| format!("/{child}")).collect();
        links.push(format!("http://h{}.test/", (host + 1) % HOSTS));
        links.push(format!("/private/{page}"));
        (200, body(&links))
    }
}

fn body(links: &[String]) -> String {
    links.iter().map(|link| format!("<a href=\"{link}\">x</a>")).collect()
}

/// A record of what the executors did, by virtual time.
#[derive(Default)]
struct Record {
    events: VecDeque<(Time, Event)>,
    requests: Vec<(Time, String)>,
    resolved: Vec<(Time, String)>,
    /// Merges that were done.
    merges: usize,
    /// True if checkpoints are held from now on instead of being made durable.
    holds_checkpoints: bool,
    held: Option<Box<CheckpointJob>>,
    /// Number of requests that had been made, at every checkpoint.
    cuts: Vec<usize>,
}

struct Inline {
    web: Rc<dyn Web>,
    record: Rc<RefCell<Record>>,
    clock: Arc<ManualClock>,
    processor: Processor,
}

impl Inline {
    fn tell(&self, after: Duration, event: Event) {
        let at = self.clock.now() + after;
        self.record.borrow_mut().events.push_back((at, event));
    }

    /// Reports the result of a job on the disk.
    fn tell_done(&self, done: disk::Result<Event>) {
        self.tell(Duration::ZERO, done.unwrap_or_else(|fault| Event::Fault(fault.into())));
    }
}

impl Executors for Inline {
    fn can_render(&self) -> bool {
        false
    }

    fn render(&mut self, _: RenderJob) {
        unreachable!("nothing is rendered here");
    }

    fn answer(&mut self, _: AskId, _: Answer) {}

    fn fetch(&mut self, mut job: FetchJob) {
        let _elsewhere = referrers::Elsewhere::enter();
        let started = self.clock.now();
        self.record.borrow_mut().requests.push((started, job.url.as_str().to_owned()));
        let reply = match self.web.respond(&job, started) {
            Ok(reply) => reply,
            Err(failure) => {
                job.via.resolve().unwrap();
                let (cause, detail) = (failure.into(), String::new());
                let failed = FetchFailed { job, failure, cause, detail, started, duration: LATENCY };
                return self.tell(LATENCY, Event::Reply(contract::Reply::Failed(Box::new(failed))));
            }
        };
        let response = Response {
            status: reply.status,
            reason: "OK".to_owned(),
            version: HttpVersion::Http11,
            headers: reply
                .headers
                .iter()
                .map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into()))
                .collect(),
            body: reply.body,
            truncated: self.web.cut_short(&job.url),
            address: Some([203, 0, 113, 1].into()),
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            started,
            duration: LATENCY,
            judgement: Judgement::Open,
        };
        let processed = self.processor.process(Fetched { job, response }).unwrap();
        self.tell(LATENCY, Event::Reply(contract::Reply::Page(Box::new(processed))));
    }

    fn resolve(&mut self, job: ResolveJob) {
        let now = self.clock.now();
        self.record.borrow_mut().resolved.push((now, job.name.to_string()));
        let octet = job.name.as_bytes()[1];
        let addresses: Arc<[IpAddr]> = Arc::new([[203, 0, 113, octet].into()]);
        let answer = self.web.resolve(&job.name, now).map(|ttl| (addresses, now + ttl)).map_err(Into::into);
        self.tell(LATENCY, Event::Reply(contract::Reply::Resolved(job.host, job.name, answer)));
    }

    fn merge(&mut self, job: StoreMerge) {
        self.record.borrow_mut().merges += 1;
        self.tell_done(job.run().map(Event::Merged));
    }

    fn partition(&mut self, job: PartitionJob) {
        self.tell_done(job.run().map(Event::Partition));
    }

    fn checkpoint(&mut self, job: CheckpointJob) {
        if self.record.borrow().holds_checkpoints {
            self.record.borrow_mut().held = Some(Box::new(job));
            return;
        }
        let requests = self.record.borrow().requests.len();
        self.record.borrow_mut().cuts.push(requests);
        let done = job.run().map(Event::Checkpointed);
        self.tell(self.web.durable_after(), done.unwrap_or_else(|fault| Event::Fault(fault.into())));
    }

    fn compact(&mut self, job: CompactionJob) {
        self.tell_done(job.run().map(|done| Event::Compacted(Box::new(done))));
    }

    fn read_links(&mut self, job: LinkJob) {
        self.tell_done(job.run().map(|read| Event::LinksRead(Box::new(read))));
    }

    fn read_calendar(&mut self, job: SlotRead) {
        self.tell_done(job.run().map(|read| Event::CalendarRead(Box::new(read))));
    }

    fn sync_holds(&mut self, job: HoldSync) {
        self.tell_done(job.run().map(|()| Event::HoldsSynced));
    }
}

struct Run {
    engine: Engine,
    processor: Processor,
    record: Rc<RefCell<Record>>,
    clock: Arc<ManualClock>,
    past: Past,
}

fn settings() -> Settings {
    Settings {
        slots: SlotOptions { workers: 16, workers_most: None, slow: 16, slow_after: Duration::from_secs(2) },
        retries: Retries::usual(2),
        pages_max: None,
        bytes_max: None,
        time_max: None,
        checkpoint_interval: Duration::from_secs(5),
        behind_max: None,
        disk_floor: 0,
        urls_per_pattern: Some(1_000),
        pages_per_text: None,
        learn_session_params: true,
        purpose: Vec::new(),
        follow_seed_redirects: true,
        obey_robots: true,
        sites: None,
        hosts: Default::default(),
        rendering: Default::default(),
        robots_cache: Duration::from_secs(86_400),
        negative_ttl: Duration::from_secs(600),
        merge_pace: PaceOptions::default(),
        linger: Duration::from_secs(600),
        stop_grace: Duration::from_secs(10),
        requests_per_second: None,
        bytes_per_second: None,
    }
}

fn open(dir: &Path, start: Time) -> Run {
    open_at(Rc::new(SmallSites), dir, start)
}

fn open_at(web: Rc<dyn Web>, dir: &Path, start: Time) -> Run {
    let mut run = open_without_seeds(web, dir, start);
    run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
    run
}

fn open_without_seeds(web: Rc<dyn Web>, dir: &Path, start: Time) -> Run {
    try_open(web, Disk::real(), dir, start).unwrap()
}

/// Opens the crawl in `dir` of `disk`, and replays.
fn try_open(web: Rc<dyn Web>, disk: Disk, dir: &Path, start: Time) -> Result<Run, OpenError> {
    for part in ["url-seen", "robots", "dns", "visits", "frontier", "pages", "logs"] {
        disk.create_dir_all(&dir.join(part))?;
    }
    let clock = Arc::new(ManualClock::new(start));
    let shape = Shape { buckets: 4, partitions: 16, strip_query_params: &[] };
    let (identity, is_new) = begin::begin(&disk, dir, start, 77, shape)?;
    let keys: Arc<KeyMaker> = Arc::new(identity.key_maker());
    let mut frontier = FrontierOptions { partitions: identity.partitions, buffer_urls: 4, ..Default::default() };
    frontier.budget = Budget::UNLIMITED;
    frontier.politeness.delay_min = DELAY;
    frontier.politeness.delay_factor = 0.0;
    let mut settings = settings();
    web.tune(&mut settings, &mut frontier);
    let process = ProcessOptions {
        keys: keys.clone(),
        agent_token: "crawler".to_owned(),
        links_max: 10_000,
        url_bytes_max: 2_000,
        decoded_max: 1 << 20,
        robots_bytes_max: 500 << 10,
        sitemaps_max: 1_000,
        respect_nofollow: true,
        lazy_attributes: Vec::new(),
        script_files: false,
        json_links: crawler::web::json::JsonLinks::Off,
        text_links: false,
        llms_txt: false,
        markdown_twins: false,
        favicon: false,
        licenses: false,
        content_first: false,
        request_records: true,
        text_digests: web.recrawl().is_some(),
        likenesses: settings.pages_per_text.is_some(),
        learn_session_params: settings.learn_session_params,
        compression: Compression::Gzip,
        guard: AddressGuard::new(&[]),
        dedup: web.dedup(),
        kinds: None,
        asks_missing: false,
        kinds_without_links: Vec::new(),
        documents: None,
        sites: None,
    };
    let record = Rc::new(RefCell::new(Record::default()));
    let (seeds, problems) = parse_seeds(web.seeds().join("\n").as_bytes());
    assert_eq!(problems, SeedProblems::default());
    let (scope, drum, front, container) = (web.scope(), web.drum(), web.front(), web.container());
    let ((force, names), recrawl) = (web.names(), web.recrawl());
    let executors =
        Inline { web, record: record.clone(), clock: clock.clone(), processor: Processor::new(process.clone()) };
    let opening = Opening {
        crawl_log: CrawlLog::open(&disk, dir)?,
        skipped_log: SkippedLog::open(&disk, dir)?,
        recrawl,
        support: SupportOptions::default(),
        exchange: None,
        shipping: None,
        disk,
        dir: dir.to_owned(),
        last_known: None,
        commons: Commons::new(&settings, clock.clone()),
        wake: Arc::new(|| {}),
        clock: clock.clone(),
        executors: Box::new(executors),
        identity,
        is_new,
        keys,
        settings,
        scope,
        force,
        answer_settings: AnswerSettings { names, ..AnswerSettings::default() },
        seeds: Box::new(seeds.into_iter()),
        drum,
        seen_front: front,
        host_front: FrontOptions { lru_entries: 16, bloom_memory: 64 << 10, bloom_fpr: 0.01 },
        frontier,
        container,
        warcinfo: WarcInfo::default(),
    };
    let (mut engine, recovery, past) = opening.open(&mut |_, _| {})?;
    let mut processor = Processor::new(process);
    let mut find =
        |url: &_, purpose: Purpose<'_>, response: &_, scope: &_| processor.findings(url, purpose, response, scope);
    engine.replay(recovery, &mut find, &mut |_, _, _| {})?;
    Ok(Run { engine, processor, record, clock, past })
}

impl Run {
    /// Runs until the crawl is done or `requests_max` requests were made; says whether it is done.
    fn go(&mut self, requests_max: usize) -> Option<Finish> {
        self.go_until(|run| run.record.borrow().requests.len() >= requests_max)
    }

    /// Runs until the crawl is done, or `stop` says so.
    fn go_until(&mut self, stop: impl Fn(&Run) -> bool) -> Option<Finish> {
        self.try_go_until(stop).unwrap()
    }

    fn try_go_until(&mut self, stop: impl Fn(&Run) -> bool) -> disk::Result<Option<Finish>> {
        for _ in 0..1_000_000 {
            self.engine.pump()?;
            let Run { engine, processor, .. } = self;
            let mut find = |url: &_, purpose: Purpose<'_>, response: &_, scope: &_| {
                processor.findings(url, purpose, response, scope)
            };
            engine.read_nearer(&mut find)?;
            if let Phase::Done { finish } = self.engine.phase() {
                return Ok(Some(finish));
            }
            if stop(self) {
                return Ok(None);
            }
            let next = self.record.borrow().events.iter().map(|(at, _)| *at).min();
            let due = self.engine.next_due();
            let to = [next, due].into_iter().flatten().min().unwrap();
            // never less than a millisecond: time must pass for what is due now and cannot be done
            let step = to.since(self.clock.now());
            if next.is_none_or(|at| at > self.clock.now()) {
                self.clock.advance(step.max(Duration::from_millis(1)));
            }
            let now = self.clock.now();
            let ripe = self.record.borrow().events.iter().position(|(at, _)| *at <= now);
            if let Some(place) = ripe {
                let (_, event) = self.record.borrow_mut().events.remove(place).unwrap();
                self.engine.handle(event)?;
            }
        }
        panic!("the crawl does not end");
    }

    fn requests(&self) -> Vec<(Time, String)> {
        self.record.borrow().requests.clone()
    }
}

fn every_page() -> Vec<String> {
    let mut pages: Vec<String> = (0..HOSTS)
        .flat_map(|host| {
            (0..PAGES).map(move |page| {
                format!("http://h{host}.test/{}", if page == 0 { String::new() } else { page.to_string() })
            })
        })
        .collect();
    pages.sort();
    pages
}

fn pages_of(requests: &[(Time, String)]) -> Vec<String> {
    let mut pages: Vec<String> =
        requests.iter().map(|(_, url)| url.clone()).filter(|url| !url.ends_with("/robots.txt")).collect();
    pages.sort();
    pages
}

/// The starts of two requests to a host are at least `gap` apart.
fn assert_polite(requests: &[(Time, String)], gap: Duration) {
    let mut last: BTreeMap<String, Time> = BTreeMap::new();
    for (at, url) in requests {
        let host = CanonicalUrl::parse(url).unwrap().host().to_owned();
        if let Some(before) = last.insert(host, *at) {
            assert!(at.since(before) >= gap, "{url} at {at:?}, the one before at {before:?}");
        }
    }
}

#[test]
fn a_crawl_in_virtual_time_asks_for_every_page_once_and_politely() {
    let dir = tempfile::tempdir().unwrap();
    let start = Time::from_ms(1_000_000_000_000);
    let mut run = open(dir.path(), start);
    assert_eq!(run.past, Past::New);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert_eq!(pages_of(&run.requests()), every_page());
    // the delay counts from the end of an answer
    assert_polite(&run.requests(), DELAY + LATENCY);
    let statistics = run.engine.figures().statistics();
    assert_eq!(statistics.pages_stored, (HOSTS * PAGES) as u64);
    assert_eq!(statistics.robots_denied, (HOSTS * PAGES) as u64);
    assert_eq!(statistics.robots_fetched, HOSTS as u64);
    assert_eq!(statistics.requests, (HOSTS * (PAGES + 1)) as u64);
    // each page names one that is known: the first page of the next host
    assert!(statistics.duplicates >= (HOSTS * (PAGES - 1)) as u64, "{}", statistics.duplicates);
    // 13 requests to each host, a second apart
    assert!(run.clock.now().since(start) >= DELAY * 12);
}

#[test]
fn an_engine_that_is_dropped_at_any_request_goes_on_and_asks_for_no_stored_page_again() {
    for stop in (1..HOSTS * (PAGES + 1)).step_by(7) {
        let dir = tempfile::tempdir().unwrap();
        let start = Time::from_ms(1_000_000_000_000);
        let mut first = open(dir.path(), start);
        assert_eq!(first.go(stop), None);
        let mut requests = first.requests();
        // what was under way is lost with the process
        let lost = first
            .record
            .borrow()
            .events
            .iter()
            .filter(|(_, event)| matches!(event, Event::Reply(contract::Reply::Page(_))))
            .count();
        let now = first.clock.now();
        drop(first);
        let mut second = open(dir.path(), now);
        assert_eq!(second.go(usize::MAX), Some(Finish::Complete));
        assert_polite(&requests, DELAY + LATENCY);
        assert_polite(&second.requests(), DELAY + LATENCY);
        requests.extend(second.requests());
        // the last answers of the first run never came
        assert_polite(&requests, DELAY);
        let mut pages = pages_of(&requests);
        let asked = pages.len();
        pages.dedup();
        assert_eq!(pages, every_page(), "stopped at request {stop}");
        assert!(asked - pages.len() <= lost, "stopped at request {stop}: {asked} asked, {lost} were under way");
    }
}
