//! The engine: the crawl's whole logic as one state machine with events in and jobs out.
//!
//! It owns every store (URL-seen, robots, DNS, frontier, container) and makes every decision about time. It runs on
//! one thread and never waits: [`Engine::handle`] takes one [`Event`], [`Engine::pump`] sends out whatever can be done
//! now through the [`Executors`]. Clock, disk, catalog, randomness and executors are given to it, so that a simulator
//! can run the same code in virtual time.
//!
//! A page is one transaction: its records are appended, its links admitted and its URL marked done within one event.
//! So every moment between two events is a consistent cut, and that is where checkpoints are made
//! ([`checkpoint`]). [`recovery`] replays what was stored after the last one.

mod accounts;
mod admission;
mod anew;
mod answers;
pub mod checkpoint;
mod control;
mod executors;
mod figures;
mod finish;
mod hops;
mod identity;
mod intake;
mod job;
mod limits;
mod linger;
mod log;
pub mod mend;
mod oddities;
mod open;
mod patterns;
mod recent;
pub mod recovery;
mod refetch;
pub mod rests;
pub mod seeds;
mod slots;
mod upkeep;
pub mod values;
mod way;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use accounts::Accounts;
pub use checkpoint::Checkpoint;
pub use control::Reconfiguration;
pub use executors::{Executors, StoreMerge};
pub use finish::{Phase, StopBy};
pub use identity::Identity;
pub use job::{
    Event, FetchFailed, FetchJob, Fetched, Findings, FoundLink, LimitsMet, Processed, Purpose, ResolveJob, Response,
    Room, StoreMerged, Target, Unresolved,
};
pub use open::{ListedSeeds, OpenError, Opening, Past};
pub use recent::RecentUrls;
pub use refetch::{Refetch, Round};
pub use rests::RestSync;
pub use seeds::{SeedReader, SeedRecord, SeedStatus, SeedTable};
pub use slots::SlotOptions;

use crate::catalog::Catalog;
use crate::clock::{Clock, Time};
use crate::container::Container;
use crate::disk::{Disk, Result};
use crate::drum::{Pace, PaceOptions};
use crate::frontier::Task;
use crate::report::metrics::Histogram;
use crate::report::{CrawlLog, Oddities, SkippedLog, Statistics};
use crate::web::scope::Scope;
use crate::web::url::{CanonicalUrl, KeyMaker};
use anew::Anew;
use intake::Intake;
use limits::Limits;
use linger::Linger;
use rests::RestLog;
use slots::Slots;
use way::SeenStage;

/// Results of merges that are handed on between two looks at the network.
const RESULTS_PER_PUMP: usize = 2_000;

/// What the engine decides by; all of it may change from one run to the next.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests that may be under way, slow ones beside them.
    pub slots: SlotOptions,
    /// Attempts after the first.
    pub retries: u8,
    /// Pages of the whole crawl.
    pub pages_max: Option<u64>,
    /// Bytes received in the whole crawl.
    pub bytes_max: Option<u64>,
    /// Time of the whole crawl.
    pub time_max: Option<Duration>,
    /// Between two checkpoints.
    pub checkpoint_interval: Duration,
    /// Free bytes below which the crawl stops.
    pub disk_floor: u64,
    /// URLs that an origin may have of one pattern.
    pub urls_per_pattern: Option<u64>,
    /// Whether a seed that redirects elsewhere takes that place into scope.
    pub follow_seed_redirects: bool,
    /// Whether robots.txt is asked.
    pub obey_robots: bool,
    /// For how long rules hold.
    pub robots_cache: Duration,
    /// For how long a name that does not exist, or has no public address, is not asked for again.
    pub negative_ttl: Duration,
    /// What merges of the three stores may take.
    pub merge_pace: PaceOptions,
    /// For how long a crawl goes on of which only hosts are left that never answered.
    pub linger: Duration,
    /// For how long a graceful stop waits for what is under way.
    pub stop_grace: Duration,
    /// Requests a second of the whole crawl.
    pub requests_per_second: Option<f64>,
    /// Bytes a second of the whole crawl.
    pub bytes_per_second: Option<u64>,
}

/// Jobs that are out.
#[derive(Debug)]
struct UnderWay {
    /// Requests and resolutions.
    requests: Slots,
    /// Of those, pages.
    pages: u64,
    /// Merges of the three stores.
    merges: usize,
    /// Takes and merges of the frontier.
    partitions: usize,
    /// A checkpoint.
    checkpoint: bool,
}

/// The state machine.
pub struct Engine {
    way: SeenStage,
    container: Container,
    catalog: Arc<dyn Catalog>,
    disk: Disk,
    dir: PathBuf,
    clock: Arc<dyn Clock>,
    executors: Box<dyn Executors>,
    settings: Settings,
    scope: Arc<Scope>,
    keys: Arc<KeyMaker>,
    seeds: SeedTable,
    /// Seeds that are not admitted yet.
    intake: Intake,
    /// How the run before left the crawl.
    past: Past,
    /// The last round of fetching again.
    round: Round,
    /// Whether the run before was one with `--force` and did not end in good order.
    killed_in_round: bool,
    /// No request is made before the checkpoint of this number is durable.
    held_until: u64,
    /// No request is made until somebody says so.
    paused: bool,
    /// The operator was warned of a Crawl-delay that is not kept to as it is written.
    told_delay_cap: bool,
    /// Sites that show less to a crawler than to a person.
    oddities: Oddities,
    limits: Limits,
    limited_until: Time,
    /// The right to one request, taken and not used yet.
    may_request: bool,
    rng: fastrand::Rng,
    statistics: Statistics,
    /// How long requests took, in the life of the process.
    durations: Histogram,
    /// When the last checkpoint became durable.
    checkpointed: Option<Time>,
    crawl_log: CrawlLog,
    skipped_log: SkippedLog,
    under_way: UnderWay,
    /// URLs of the seeds that log lines named last, by number.
    seed_urls: RecentUrls,
    /// Redirects of robots.txt that wait for their turn.
    hops: Vec<hops::Hop>,
    phase: Phase,
    linger: Linger,
    /// What is asked again although a bad answer holds.
    anew: Anew,
    dispatching: bool,
    rests: RestLog,
    checkpoint_number: u64,
    checkpoint_due: Time,
    checkpoint_wanted: bool,
    /// The value file that was nearly full at a checkpoint.
    cut_before_full: Option<u32>,
    /// Files of the frontier that no durable checkpoint names: the next checkpoint removes them.
    superseded: Vec<PathBuf>,
    /// When the checkpoint that is under way was cut, by [`Clock::elapsed`].
    cut_at: Duration,
    last_cut: bool,
    merge_pace: Pace,
    disk_check_due: Time,
    log_flush_due: Time,
    disk_free: u64,
    started: Time,
    identity: Arc<Identity>,
    elapsed_before: Duration,
}

impl Engine {
    /// Takes one event in.
    pub fn handle(&mut self, event: Event) -> Result<()> {
        self.way.arrival().now = self.clock.now();
        match event {
            Event::Page(processed) => self.answered(*processed)?,
            Event::Failed(failed) => self.failed(*failed)?,
            Event::Resolved(host, name, answer) => self.resolved(host, &name, answer)?,
            Event::Merged(merged) => self.merged(merged)?,
            Event::Partition(done) => {
                self.under_way.partitions -= 1;
                let arrival = self.way.arrival();
                arrival.frontier.finish_job(done, arrival.now)?;
            }
            Event::Checkpointed(done) => self.checkpointed(done)?,
            Event::RestsSynced => self.rests.synced(),
            Event::Fault(fault) => return Err(fault),
            // whoever runs the engine ends the program before it comes to this
            Event::Panic(message) => panic!("{message}"),
            Event::Stop(by) => self.stop(by),
            Event::Checkpoint => self.checkpoint_wanted = true,
            Event::Pause => self.paused = true,
            Event::Resume => self.paused = false,
            Event::Seeds(seeds) => self.take_seeds(&seeds)?,
            Event::Reconfigure(new) => self.reconfigure(*new),
        }
        self.collect_dropped()
    }

    /// Sends out what can be done now.
    pub fn pump(&mut self) -> Result<()> {
        let now = self.clock.now();
        self.way.arrival().now = now;
        self.dispatching = self.way.dispatch(RESULTS_PER_PUMP)? > 0;
        self.collect_dropped()?;
        self.admit_waiting()?;
        self.watch_limits(now)?;
        if self.phase == Phase::Crawling && self.may_request_now() {
            self.seeds.make_durable()?;
            self.crawl_log.note(self.way.arrival().frontier.politeness(), now)?;
            self.request(now)?;
        }
        self.upkeep(now)?;
        self.watch_silence(now)?;
        self.watch_end(now)
    }

    /// Starts requests while there are free workers and hosts that are due.
    fn request(&mut self, now: Time) -> Result<()> {
        while self.under_way.requests.is_free(now) && now >= self.limited_until && !self.page_limit_reached() {
            // the right to a request is taken before the task, for a task that is out of the frontier has to be done;
            // it is kept until there is one
            if !self.may_request {
                if let Err(again) = self.limits.request() {
                    self.limited_until = again;
                    return Ok(());
                }
                self.may_request = true;
            }
            if self.follow_hop(now)? {
                self.may_request = false;
                continue;
            }
            if !self.under_way.requests.is_free(now) {
                return Ok(());
            }
            let room = self.under_way.requests.room_for_suspects(now);
            let frontier = &mut self.way.arrival().frontier;
            frontier.let_suspects_in(room);
            let Some(task) = frontier.next(now)? else { return Ok(()) };
            self.may_request = !matches!(task, Task::Robots { .. } | Task::Fetch { .. });
            self.start(task)?;
        }
        Ok(())
    }

    fn start(&mut self, task: Task) -> Result<()> {
        match task {
            Task::Resolve { host, name } => self.start_resolve(host, name)?,
            Task::Robots { host, origin, addresses, asker } => self.start_robots(host, &origin, addresses, asker)?,
            Task::Fetch { host, url, addresses, permit } => self.start_page(host, url, addresses, permit)?,
            Task::Drop { url, reason } => self.way.arrival().dropped.push((url, reason)),
        }
        self.collect_dropped()
    }

    /// When `pump` may have something to do without an event.
    pub fn next_due(&mut self) -> Option<Time> {
        let now = self.clock.now();
        let next = if let Phase::Stopping { deadline, .. } = self.phase {
            Some(deadline)
        } else if !self.may_request_now() {
            None
        } else {
            let next = match self.under_way.requests.is_free(now) {
                true => self.way.arrival().frontier.next_due().into_iter().chain(self.next_hop_due()).min(),
                // whoever is due has to wait for an answer, or until a request is slow
                false => self.under_way.requests.free_at(now),
            };
            next.map(|next| next.max(self.limited_until)).into_iter().chain(self.linger_due()).min()
        };
        let next = if self.is_busy() { Some(now) } else { next };
        // one after the other
        let checkpoint = (!self.under_way.checkpoint).then_some(self.checkpoint_due);
        next.into_iter().chain(checkpoint).chain(self.rests.next_sync_due()).min()
    }

    /// Whether results of merges or seeds wait to be handed on, so that `pump` has to be called again at once.
    pub fn is_busy(&self) -> bool {
        self.dispatching || self.phase == Phase::Crawling && self.intake.is_waiting()
    }

    /// A record id seed, from the crawl's own randomness.
    fn id_seed(&mut self) -> u128 {
        self.rng.u128(..)
    }

    /// A URL that was canonical when it was queued.
    fn queued_url(url: &str) -> CanonicalUrl {
        CanonicalUrl::parse(url).expect("queued URLs are in the fetch form")
    }
}
