//! The executors of a simulated crawl: what is in progress, by the moment at which it is done.
//!
//! A request is seen by the network when it is made and answered later; work on the disk is done at one moment, some
//! time after it was asked for. What is still in the queue when the process dies never happened.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::baton::{self, Course};
use super::mistake::Mistake;
use super::network::{Asker, Network, Outcome};
use super::registry::MistakenRegistry;
use super::rendering::{Browser, PREFIX, Step};
use crate::calendar::SlotRead;
use crate::clock::{Clock, ManualClock, Time};
use crate::container::CompactionJob;
use crate::contract::{Answer, AskId, FetchFailed, FetchJob, Fetched, Lease, RenderJob, Reply, ResolveJob};
use crate::disk::Result;
use crate::disk::simulated::SimulatedDisk;
use crate::engine::checkpoint::CheckpointJob;
use crate::engine::{Event, Executors, HoldSync, StoreMerge};
use crate::exchange::{LinkJob, LinksRead, Registry, link_path};
use crate::frontier::PartitionJob;
use crate::process::Processor;
use crate::web::url::CanonicalUrl;

/// Milliseconds that work on a quick disk takes at most. Measured: in a real crawl of 20,000 domains, beside its server
/// on two busy cores, half of 227 merges of buckets took 2 ms or less.
const QUICK_MS: u64 = 5;
/// Time after which a process looks again that may not make requests.
const LEASE_LOOK: Duration = Duration::from_secs(1);

/// Something that will be done.
enum Work {
    DnsAnswer(Box<Fetched>),
    Event(Box<Event>),
    Failure(Box<FetchFailed>),
    Merge(Box<StoreMerge>),
    Partition(Box<PartitionJob>),
    Checkpoint(Box<CheckpointJob>),
    Compaction(Box<CompactionJob>),
    Links(LinkJob),
    Calendar(SlotRead),
    Rests(HoldSync),
    /// A request that was dropped with the right to make it.
    Waits(Box<FetchJob>),
    /// A page is over that was rendered.
    PageEnd(u64),
    /// A piece of work that waits for the store or the registry.
    Course(Course<Result<Event>>),
}

/// The work that is in progress in one process.
pub(super) struct EventQueue {
    work: BTreeMap<(Time, u64), Work>,
    made: u64,
    rng: fastrand::Rng,
    clock: Arc<ManualClock>,
    network: Rc<RefCell<Network>>,
    /// True time at the start of the process, and the crawler's time then.
    begin: (u64, Time),
    disk: SimulatedDisk,
    /// Directory of the shard whose queue it is.
    dir: PathBuf,
    pub mistake: Option<Mistake>,
    /// True where work on the disk takes milliseconds, never seconds.
    pub disk_is_quick: bool,
    /// Times at which pages were asked for last in this process, by a crawler that makes a mistake.
    fetched: HashMap<String, Time>,
    /// Answers that processes have replayed: URL and time.
    pub replayed: Rc<RefCell<HashSet<(String, Time)>>>,
    /// The registry in which commits are kept, where the crawl has several shards.
    pub registry: Option<Arc<MistakenRegistry>>,
    /// The node whose queue it is, where the crawl has several: it waits for the store.
    pub asker: Option<Asker>,
    /// Its right to make requests.
    pub lease: Option<Arc<dyn Lease>>,
    /// The browser that renders pages, and its dice.
    browser: Browser,
    browser_rng: fastrand::Rng,
}

impl EventQueue {
    pub(super) fn new(
        clock: Arc<ManualClock>,
        network: Rc<RefCell<Network>>,
        disk: SimulatedDisk,
        mistake: Option<Mistake>,
        true_begin: u64,
        dir: PathBuf,
        seed: u64,
    ) -> Self {
        let (begin, rng) = ((true_begin, clock.now()), fastrand::Rng::with_seed(seed));
        EventQueue {
            work: BTreeMap::new(),
            made: 0,
            rng,
            clock,
            network,
            begin,
            disk,
            dir,
            mistake,
            disk_is_quick: false,
            fetched: HashMap::new(),
            replayed: Rc::default(),
            registry: None,
            asker: None,
            lease: None,
            browser: Browser::default(),
            browser_rng: fastrand::Rng::with_seed(seed ^ 0xb40),
        }
    }

    /// True time now.
    pub(super) fn true_now(&self) -> u64 {
        let (begin, clock_begin) = self.begin;
        begin + super::network::millis(self.clock.now().since(clock_begin))
    }

    /// Returns when the next work is done.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.work.keys().next().map(|(due, _)| *due)
    }

    /// Does what is due at `now`, one thing; says what the engine has to hear of it.
    pub(super) fn take(&mut self, now: Time, processor: &mut Processor) -> Result<Option<Event>> {
        let Some(entry) = self.work.first_entry().filter(|entry| entry.key().0 <= now) else { return Ok(None) };
        Ok(Some(match entry.remove() {
            Work::DnsAnswer(fetched) => {
                let mut page = Box::new(processor.process(*fetched)?);
                if let Some(mistake) = self.mistake {
                    mistake.on_page(&mut page, &mut self.rng);
                    self.fetched.insert(page.job.url.as_str().to_owned(), page.response.started);
                }
                Event::Reply(Reply::Page(page))
            }
            Work::Event(event) => *event,
            Work::Failure(mut failed) => {
                failed.job.via.resolve()?;
                Event::Reply(Reply::Failed(failed))
            }
            Work::PageEnd(number) => match self.browser.end(number) {
                Some((job, outcome)) => {
                    let duration = self.clock.now().since(job.processed.response.started);
                    let page = processor.process_rendered(job.number, *job.processed, outcome, duration)?;
                    Event::Reply(Reply::Page(Box::new(page)))
                }
                None => return Ok(None),
            },
            Work::Merge(job) => Event::Merged(job.run()?),
            Work::Partition(job) => Event::Partition(job.run()?),
            Work::Checkpoint(job) if self.asker.is_some() => {
                return self.go_on(Course::begin(move || Ok(Event::Checkpointed(job.run()?))));
            }
            Work::Checkpoint(job) => self.checkpoint(*job)?,
            Work::Compaction(job) => Event::Compacted(Box::new(job.run()?)),
            Work::Links(job) if self.asker.is_some() => {
                return self.go_on(Course::begin(move || Ok(Event::LinksRead(Box::new(job.run()?)))));
            }
            Work::Course(course) => return self.go_on(course),
            Work::Waits(job) => {
                if self.may_send() {
                    self.fetch(*job);
                    self.network.borrow_mut().is_again();
                } else {
                    self.put(LEASE_LOOK, Work::Waits(job));
                }
                return Ok(None);
            }
            Work::Links(job) => Event::LinksRead(Box::new(self.links(job)?)),
            Work::Calendar(job) => {
                let mut read = job.run()?;
                if let Some(mistake) = self.mistake {
                    mistake.on_slot(&mut read, &self.fetched, &self.replayed.borrow(), &mut self.rng);
                }
                Event::CalendarRead(Box::new(read))
            }
            Work::Rests(_) if self.mistake == Some(Mistake::ForgetsRests) => Event::HoldsSynced,
            Work::Rests(job) => {
                job.run()?;
                Event::HoldsSynced
            }
        }))
    }

    /// Lets a course go on until it waits, or is done.
    fn go_on(&mut self, mut course: Course<Result<Event>>) -> Result<Option<Event>> {
        match course.go_on() {
            baton::Step::Done(event) => event.map(Some),
            baton::Step::Waits(time) => {
                self.put(time, Work::Course(course));
                Ok(None)
            }
        }
    }

    fn may_send(&self) -> bool {
        self.lease.as_ref().is_none_or(|lease| lease.holds())
    }

    /// Drops what is asked for, where it may not be asked for any more: it is asked for again when it may.
    pub(super) fn obey_lease(&mut self) {
        if self.may_send() {
            return;
        }
        let in_flight = |work: &Work| matches!(work, Work::DnsAnswer(_) | Work::Failure(_));
        let dropped: Vec<(Time, u64)> =
            self.work.iter().filter(|(_, work)| in_flight(work)).map(|(key, _)| *key).collect();
        for key in dropped {
            let job = match self.work.remove(&key) {
                Some(Work::DnsAnswer(fetched)) => fetched.job,
                Some(Work::Failure(failed)) => failed.job,
                _ => continue,
            };
            self.put(LEASE_LOOK, Work::Waits(Box::new(job)));
        }
        let (now, asker) = (self.true_now(), self.asker);
        self.network.borrow_mut().hang_up(now, |of| of == asker);
    }

    /// Nothing but courses is of interest any more; whether there are some.
    pub(super) fn keep_courses(&mut self) -> bool {
        self.work.retain(|_, work| matches!(work, Work::Course(_)));
        !self.work.is_empty()
    }

    fn links(&mut self, job: LinkJob) -> Result<LinksRead> {
        let file = link_path(&job.dir, job.from.number);
        let mut read = job.run()?;
        if let Some(mistake) = self.mistake {
            mistake.on_links(&mut read, &self.disk, &file, &mut self.rng)?;
        }
        Ok(read)
    }

    fn checkpoint(&self, job: CheckpointJob) -> Result<Event> {
        if let Some(mistake) = self.mistake {
            mistake.before_checkpoint(&self.disk, &self.dir)?;
        }
        let done = job.run();
        if let Some(mistake) = self.mistake {
            mistake.after_checkpoint(&self.disk);
        }
        Ok(Event::Checkpointed(done?))
    }

    fn publish_early(&self, job: &CheckpointJob) {
        if let (Some(Mistake::PublishesEarly), Some(registry)) = (self.mistake, &self.registry)
            && let Some((shard, head)) = job.head()
        {
            registry.commit(shard, head.clone());
        }
    }

    /// The engine hears of `event` after a while.
    pub(super) fn tell_soon(&mut self, event: Event) {
        let soon = self.soon();
        self.put(soon, Work::Event(Box::new(event)));
    }

    fn put(&mut self, after: Duration, work: Work) {
        self.made += 1;
        self.work.insert((self.clock.now() + after, self.made), work);
    }

    fn soon(&mut self) -> Duration {
        if self.disk_is_quick {
            return Duration::from_millis(self.rng.u64(0..QUICK_MS));
        }
        let is_slow = self.rng.u8(0..4) == 0;
        Duration::from_millis(if is_slow { self.rng.u64(0..2_000) } else { self.rng.u64(0..30) })
    }

    fn fetch(&mut self, job: FetchJob) {
        let (now, started) = (self.true_now(), self.clock.now());
        let (duration, outcome) = self.network.borrow_mut().ask(&job, now, self.asker, started);
        let work = match outcome {
            Outcome::Answered(response) => Work::DnsAnswer(Box::new(Fetched { job, response: *response })),
            Outcome::Failed(failure) => {
                let (cause, detail) = (failure.into(), String::new());
                let failed = FetchFailed { job, failure, cause, detail, started, duration };
                Work::Failure(Box::new(failed))
            }
        };
        let hurries = self.mistake.is_some_and(|mistake| mistake.hurries(&mut self.rng));
        self.put(if hurries { duration / 4 } else { duration }, work);
    }

    fn render(&mut self, job: RenderJob) {
        let url = job.processed.job.url.clone();
        let (scripted, dom) = {
            let network = self.network.borrow();
            let is_scripted = network.is_scripted(url.as_str());
            (is_scripted, network.page_as_rendered(url.as_str(), self.true_now()).filter(|_| is_scripted))
        };
        let dom = dom.unwrap_or_else(|| job.processed.response.body.clone());
        let dom = String::from_utf8_lossy(&dom).into_owned();
        let urls = self.asked_by(&url, &dom);
        let steps = self.browser.begin(job, dom, urls, scripted, &mut self.browser_rng);
        self.put_steps(steps);
    }

    /// Returns the URLs that a page asks for: scripts at its own host, and at hosts of pages that it links to.
    fn asked_by(&mut self, page: &CanonicalUrl, dom: &str) -> Vec<CanonicalUrl> {
        let network = self.network.borrow();
        let pages = &network.web().expected().pages;
        let linked = dom.split(['"', '\'']).filter_map(|text| page.join(text).ok());
        let hosts = linked.filter(|url| pages.contains_key(url.as_str())).map(|url| url.origin());
        let mut origins: Vec<String> = std::iter::once(page.origin()).chain(hosts).collect();
        origins.dedup();
        let rng = &mut self.browser_rng;
        let made = (0..rng.usize(0..5)).filter_map(|_| {
            let origin = &origins[rng.usize(0..origins.len())];
            CanonicalUrl::parse(&format!("{origin}{PREFIX}{}", rng.u8(0..4))).ok()
        });
        made.collect()
    }

    fn answer(&mut self, ask: AskId, answer: &Answer) {
        let steps = self.browser.answer(ask, answer, &mut self.browser_rng);
        self.put_steps(steps);
    }

    fn put_steps(&mut self, steps: Vec<(Duration, Step)>) {
        for (after, step) in steps {
            match step {
                Step::Ask(ask) => self.put(after, Work::Event(Box::new(Event::Reply(Reply::Asked(Box::new(ask)))))),
                Step::End(number) => self.put(after, Work::PageEnd(number)),
            }
        }
    }

    fn resolve(&mut self, job: ResolveJob) {
        let (now, at) = (self.clock.now(), self.true_now());
        let (duration, answer) = self.network.borrow_mut().resolve(&job.name, now, at);
        self.put(
            duration,
            Work::Event(Box::new(Event::Reply(Reply::Resolved(job.host, job.name, answer.map_err(Into::into))))),
        );
    }
}

/// The engine's executors: they put work into the queue.
pub(super) struct QueueExecutors(pub Rc<RefCell<EventQueue>>);

impl QueueExecutors {
    fn later(&self, work: Work) {
        let mut queue = self.0.borrow_mut();
        let soon = queue.soon();
        queue.put(soon, work);
    }
}

impl Executors for QueueExecutors {
    fn fetch(&mut self, job: FetchJob) {
        self.0.borrow_mut().fetch(job);
    }

    fn can_render(&self) -> bool {
        true
    }

    fn render(&mut self, job: RenderJob) {
        self.0.borrow_mut().render(job);
    }

    fn answer(&mut self, ask: AskId, answer: Answer) {
        self.0.borrow_mut().answer(ask, &answer);
    }

    fn resolve(&mut self, job: ResolveJob) {
        self.0.borrow_mut().resolve(job);
    }

    fn merge(&mut self, job: StoreMerge) {
        self.later(Work::Merge(Box::new(job)));
    }

    fn partition(&mut self, job: PartitionJob) {
        self.later(Work::Partition(Box::new(job)));
    }

    fn checkpoint(&mut self, job: CheckpointJob) {
        self.0.borrow().publish_early(&job);
        self.later(Work::Checkpoint(Box::new(job)));
    }

    fn compact(&mut self, job: CompactionJob) {
        self.later(Work::Compaction(Box::new(job)));
    }

    fn read_links(&mut self, job: LinkJob) {
        self.later(Work::Links(job));
    }

    fn read_calendar(&mut self, job: SlotRead) {
        self.later(Work::Calendar(job));
    }

    fn sync_holds(&mut self, job: HoldSync) {
        self.later(Work::Rests(job));
    }
}
