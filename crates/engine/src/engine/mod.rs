//! The engine: the crawl's whole logic as one state machine with events in and jobs out.
//!
//! It owns every store (URL-seen, robots, DNS, frontier, container) and makes every decision about time. It runs on
//! one thread and never waits: [`Engine::handle`] takes one [`Event`], [`Engine::pump`] sends out whatever can be done
//! now through the [`Executors`]. Clock, disk, randomness and executors are given to it, so that a simulator
//! can run the same code in virtual time.
//!
//! A page is one transaction: its records are appended, its links admitted and its URL marked done within one event.
//! So every moment between two events is a consistent cut, and that is where checkpoints are made
//! ([`checkpoint`]). [`recovery`] replays what was stored after the last one.

mod accounts;
mod address;
mod admission;
mod allowance;
mod answers;
mod books;
pub mod checkpoint;
mod commons;
mod control;
mod course;
mod depths;
mod discovery;
mod event;
mod exchange;
mod executors;
mod figures;
mod from_shards;
pub mod hold_log;
mod hosts;
mod idleness;
mod login;
mod nearer;
mod open;
mod pair;
mod past;
mod patterns;
mod prerequisites;
mod quota;
pub mod recovery;
mod recrawl;
mod rendering;
mod requests;
mod resend;
mod round;
mod rule;
mod seeder;
mod seeding;
pub mod seeds;
mod session_params;
mod settings;
mod shipping;
mod sketch;
pub mod start_reads;
mod stores;
mod support;
mod texts;
mod upkeep;
pub mod values;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use accounts::Accounts;
pub use address::EngineAddress;
pub use allowance::{Allowance, Granted, Used};
pub use commons::Commons;
pub use control::Reconfiguration;
pub use course::{Phase, StopBy};
pub use depths::DEPTHS_BYTES_MAX;
pub use event::Event;
pub use exchange::{ExchangeOptions, ExchangeState, Kept};
pub use executors::Executors;
pub use figures::Figures;
pub use from_shards::FromShards;
pub use hold_log::HoldSync;
pub use hosts::{Hosts, without_root};
pub use idleness::Idleness;
pub use open::{ListedSeeds, OpenError, Opening};
pub use pair::{Pair, Supported};
pub use past::Past;
pub use quota::Quota;
pub use recrawl::{RecrawlOptions, learnt};
pub use rendering::{RenderPatterns, RenderState, RenderVerdict};
pub use requests::{Pressure, Rates, SlotOptions, SlotPool, WORKERS_START, Waker};
pub use round::{Refetch, RoundWanted};
pub use seeder::Seeder;
pub use seeds::{SeedList, SeedReader, SeedRecord, SeedStatus, SeedTable};
pub use session_params::BYTES_MAX as SESSION_PARAMS_BYTES_MAX;
pub use settings::{RenderSettings, Settings};
pub use shipping::{Durable, Shipping};
pub use stores::{StoreMerge, StoreMerged};
pub use stores::{StoreValue, look_up};
pub use support::{SupportOptions, links_of, supported_by, supporter};

use crate::checkpoint::Identity;
use crate::clock::Time;
use crate::contract::{Fault, Reply};
use crate::disk::{Disk, Result};
use crate::frontier::{QueuedUrl, Task};
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};
use admission::Admission;
use checkpoint::Checkpoints;
use course::Course;
use login::Sessions;
use prerequisites::Prerequisites;
use rendering::Renderings;
use requests::Requests;

/// Results of merges that are handed on between two looks at the network.
const RESULTS_PER_PUMP: usize = 2_000;

/// Shortest time until what is due and cannot begin yet is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The place of a crawl, and its identity.
#[derive(Clone)]
struct Home {
    disk: Disk,
    dir: PathBuf,
    identity: Arc<Identity>,
    /// Makes the crawl's fingerprints.
    keys: Arc<KeyMaker>,
    /// The shard of it that this is.
    shard: Shard,
    /// The place to which checkpoints are shipped, where they are.
    shipping: Option<Arc<dyn Shipping>>,
}

/// The state machine.
///
/// Every part keeps its own invariants, which its module states. What is in progress is here, and what the crawl has is
/// in its `Admission`, which knows nothing of requests: calls go down. An event is one transaction over several
/// parts, and belongs to the engine: what came (`answers`), what an operator wants (`control`), the work beside the
/// crawl (`upkeep`).
pub struct Engine {
    executors: Box<dyn Executors>,
    requests: Requests,
    checkpoints: Checkpoints,
    /// Everything that the crawl has, and the way of what is found into it.
    admission: Admission,
    course: Course,
    /// Cookies and logins, by which sites know the crawl.
    sessions: Sessions,
    /// Requests that no queue makes, before they are made.
    prerequisites: Prerequisites,
    /// Pages that are rendered.
    renderings: Renderings,
}

impl Engine {
    /// Takes one event in.
    pub fn handle(&mut self, event: Event) -> Result<()> {
        self.admission.stores.arrival.now = self.admission.clock.now();
        if event.changes_state() {
            self.checkpoints.note_change();
        }
        match event {
            Event::Reply(Reply::Page(processed)) => self.answered(*processed)?,
            Event::Reply(Reply::Failed(failed)) => self.failed(*failed)?,
            Event::Reply(Reply::Asked(ask)) => self.page_asks(*ask)?,
            Event::Reply(Reply::Resolved(host, name, answer)) => self.resolved(host, &name, answer)?,
            Event::Merged(merged) => self.admission.stores.finish_merge(merged, self.admission.clock.now()),
            Event::Partition(done) => self.admission.stores.finish_partition(done)?,
            Event::Compacted(done) => self.compacted(*done)?,
            Event::Checkpointed(done) => self.checkpointed(done)?,
            Event::HoldsSynced => self.checkpoints.rests.synced(),
            Event::Fault(Fault::Disk(fault)) => return Err(fault),
            // the crawl ends before it comes to this
            Event::Fault(Fault::Panic(message)) => panic!("{message}"),
            Event::Stop(by) => self.stop(by),
            Event::Checkpoint => self.checkpoints.want(),
            Event::Pause => self.requests.pause(true),
            Event::Resume => self.requests.pause(false),
            Event::Seeds(seeds) => self.seeder().take_seeds(&seeds)?,
            Event::Reconfigure(new) => self.reconfigure(*new),
            Event::Forgotten => self.forget()?,
            Event::HeadChanged => self.from_shards().hear_news()?,
            Event::LinksRead(read) => self.from_shards().take_links(*read)?,
            Event::CalendarRead(done) => {
                let now = self.admission.clock.now();
                if let Some(recrawls) = &mut self.admission.recrawls {
                    recrawls.finish_read(*done, now)?;
                }
            }
            // what it may begin, the next pump does
            Event::SlotFree => {}
        }
        self.admission.collect_dropped()
    }

    /// Sends out what can be done now.
    pub fn pump(&mut self) -> Result<()> {
        let now = self.admission.clock.now();
        self.admission.stores.arrival.now = now;
        if self.is_busy() {
            self.checkpoints.note_change();
        }
        self.admission.stores.dispatch(RESULTS_PER_PUMP)?;
        self.admission.collect_dropped()?;
        if self.course.is_crawling() {
            self.seeder().admit_waiting()?;
        }
        self.settle_quota();
        self.watch_limits(now)?;
        if self.course.is_crawling() && self.may_request_now() {
            self.serve_calendar(now)?;
            self.begin_budget_round(now);
            self.admission.books.seeds.make_durable()?;
            let frontier = &self.admission.stores.arrival.frontier;
            self.admission.books.crawl_log.note(
                frontier.pacing().politeness(),
                frontier.pacing().treatments_json(),
                now,
            )?;
            self.request(now)?;
            self.requests.settle(self.admission.stores.arrival.frontier.has_ready(now), now);
            self.course.quota.give_back();
        } else {
            self.requests.stand_back();
        }
        self.exchange_links(now)?;
        self.upkeep(now)?;
        self.note_idle_workers(now);
        self.watch_silence(now)?;
        self.watch_end(now)
    }

    /// Starts requests while there are free workers and hosts that are due.
    fn request(&mut self, now: Time) -> Result<()> {
        self.request_for_pages(now)?;
        while self.requests.may_begin(now) && self.may_begin_page(now) {
            if !self.requests.take_right() {
                return Ok(());
            }
            if self.follow_prerequisite(now, false)? {
                self.requests.use_right();
                continue;
            }
            if !self.requests.has_slot(now) {
                return Ok(());
            }
            if !self.has_room_to_render() {
                return Ok(());
            }
            let room = self.requests.slots_for_suspects(now);
            let frontier = &mut self.admission.stores.arrival.frontier;
            frontier.pacing_mut().let_suspects_in(room);
            let Some(task) = frontier.next(now)? else { return Ok(()) };
            if matches!(task, Task::Robots { .. } | Task::Fetch { .. }) {
                self.requests.use_right();
            }
            let pages = self.requests.counted_pages();
            self.start(task)?;
            if self.requests.counted_pages() > pages {
                self.course.quota.begin();
            }
        }
        Ok(())
    }

    /// Starts requests for what pages ask for that are rendered: those pages are begun, so that no limit of pages holds
    /// that back.
    fn request_for_pages(&mut self, now: Time) -> Result<()> {
        while !self.renderings.are_none() && self.requests.may_begin(now) && self.requests.take_right() {
            if !self.follow_prerequisite(now, true)? {
                break;
            }
            self.requests.use_right();
        }
        Ok(())
    }

    fn start(&mut self, task: Task) -> Result<()> {
        self.checkpoints.note_change();
        match task {
            Task::Resolve { host, name } => self.start_resolve(host, name)?,
            Task::Robots { host, origin, addresses, provenance } => {
                self.start_robots(host, &origin, addresses, provenance)?
            }
            Task::Fetch { host, url, addresses, permit } => self.start_page(host, url, addresses, permit)?,
            Task::Drop { url, reason } => self.admission.stores.arrival.dropped.push((url, reason)),
        }
        self.admission.collect_dropped()
    }

    /// Lets seeds in.
    pub fn seeder(&mut self) -> Seeder<'_> {
        let Engine { admission, requests, checkpoints, .. } = self;
        Seeder { admission, requests, checkpoints }
    }

    /// Takes in what other shards have found, or say.
    pub fn from_shards(&mut self) -> FromShards<'_> {
        FromShards { admission: &mut self.admission }
    }

    /// The figures of this moment.
    pub fn figures(&mut self) -> Figures<'_> {
        let may_request = self.may_request_now();
        let Engine { admission, requests, checkpoints, course, renderings, .. } = self;
        Figures { admission, requests, checkpoints, course, renderings, may_request }
    }

    /// Returns the places of all URLs that were ever admitted.
    pub fn accounts(&self) -> Accounts {
        Accounts::of(&self.admission.stores, &self.admission.books.statistics, self.requests.pages())
    }

    /// Returns when `pump` may have something to do without an event.
    pub fn next_due(&mut self) -> Option<Time> {
        let now = self.admission.clock.now();
        let next = if let Phase::Stopping { deadline, .. } = self.course.phase() {
            Some(deadline)
        } else if !self.may_request_now() {
            None
        } else {
            // while more has to be granted first, somebody wakes the engine who grants it
            let waits = self.course.quota.waits();
            let of_prerequisites = self.prerequisites.next_due();
            let frontier = &mut self.admission.stores.arrival.frontier;
            let next = self.requests.next_due(|| frontier.next_due().into_iter().chain(of_prerequisites).min(), now);
            // at the limit of pages, one in flight may leave its place, here or in another engine, which wakes nobody
            let is_taken = self.course.quota.is_taken(self.admission.settings.pages_max);
            let next = next.map(|due| if is_taken { due.max(now + LOOK_AGAIN) } else { due });
            // what is due and has no slot is looked at again soon, whatever holds pages back
            let of_pages = self.prerequisites.next_due_of_pages().filter(|_| !self.renderings.are_none());
            let of_pages = of_pages.map(|due| due.max(now + LOOK_AGAIN));
            let next = next.filter(|_| !waits).into_iter().chain(of_pages);
            let next =
                next.chain(self.course.linger().due(self.admission.settings.linger)).chain(self.calendar_due(now));
            next.chain(self.budget_round_due(now)).min()
        };
        let next = if self.is_busy() { Some(now) } else { next };
        let (checkpoint, rests) = (self.checkpoints.next_due(), self.checkpoints.rests.next_sync_due());
        let early = self.early_cut_due();
        next.into_iter().chain(checkpoint).chain(rests).chain(early).min()
    }

    /// True if results of merges or seeds wait to be handed on, or pages to be read again, so that `pump` and
    /// `read_nearer` have to be called again at once.
    pub fn is_busy(&self) -> bool {
        let has_seeds = self.course.is_crawling() && self.admission.seeding.intake.is_waiting();
        self.admission.stores.are_dispatching() || has_seeds || self.has_nearer()
    }
}

/// A URL that was canonical when it was queued.
fn queued_url(url: &str) -> CanonicalUrl {
    CanonicalUrl::parse(url).expect("queued URLs are in the fetch form")
}

/// True if `url` is a seed, or a page to which one redirects.
fn is_of_seed(url: &QueuedUrl) -> bool {
    url.hops.redirects() == url.hops.as_str().len()
}
