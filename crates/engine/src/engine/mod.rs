//! The engine: the crawl's whole logic as one state machine with events in and jobs out.
//!
//! It owns every store (URL-seen, robots, DNS, frontier, container) and makes every decision about time. It runs on
//! one thread and never waits: [`Engine::handle`] takes one [`Event`], [`Engine::pump`] sends out whatever can be done
//! now through the [`Executors`]. Clock, disk, randomness and executors are given to it, so that a simulator
//! can run the same code in virtual time.
//!
//! A page is one transaction: its records are appended, its links admitted and its URL marked done within one event.
//! So every moment between two events is a consistent cut, and that is where checkpoints are made
//! ([`checkpoint`]). `reread` replays what was stored after the last one.

mod accounts;
mod address;
mod admission;
mod allowance;
mod books;
pub mod checkpoint;
mod commons;
mod control;
mod course;
mod depths;
mod discovery;
mod ending;
mod event;
mod exchange;
mod executors;
mod fetching;
mod figures;
mod from_shards;
pub mod hold_log;
mod hosts;
mod login;
mod open;
mod pair;
mod past;
mod patterns;
mod prerequisites;
mod quota;
mod recrawl;
mod rendering;
mod requests;
mod reread;
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
mod stored;
mod stores;
mod support;
mod texts;
mod upkeep;
pub mod values;

use std::collections::HashSet;
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
pub use figures::{Figures, Idleness};
pub use from_shards::FromShards;
pub use hold_log::HoldSync;
pub use hosts::{Hosts, without_root};
pub use open::{ListedSeeds, OpenError, Opening};
pub use pair::{Pair, Supported};
pub use past::Past;
pub use quota::Quota;
pub use recrawl::{RecrawlOptions, learnt};
pub use rendering::{RenderPatterns, RenderState, RenderVerdict};
pub use requests::{Pressure, Rates, SlotOptions, SlotPool, WORKERS_START, Waker};
pub use round::{Refetch, RoundWanted};
pub use seeder::Seeder;
pub use seeding::AnswerSettings;
pub use seeds::{SeedList, SeedReader, SeedRecord, SeedStatus, SeedTable};
pub use session_params::BYTES_MAX as SESSION_PARAMS_BYTES_MAX;
pub use settings::{RenderSettings, Settings};
pub use shipping::{Durable, Shipping};
pub use stores::{StoreMerge, StoreMerged};
pub use stores::{StoreValue, look_up};
pub use support::{SupportOptions, links_of, supported_by, supporter};

use crate::checkpoint::Identity;
use crate::clock::Time;
use crate::container::Recovery;
use crate::contract::{Fault, Reply};
use crate::disk::{Disk, Result};
use crate::frontier::{QueuedUrl, Task};
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};
use admission::Admission;
use checkpoint::Checkpoints;
use course::Course;
use fetching::Fetching;
use reread::{LateCalendar, LateSupport, NearerPages, Replay, Resend};
use start_reads::StartProgress;
use stored::Find;

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
/// Every part keeps its own invariants, which its module states. What the crawl has is in its `Admission`, which knows
/// nothing of requests; what is asked for is in its `Fetching`, which is given the admission: calls go down. An event
/// is one transaction over several parts, and belongs to the engine, as do the work beside the crawl (`upkeep`) and
/// its end (`ending`).
pub struct Engine {
    /// Everything that the crawl has, and the way of what is found into it.
    admission: Admission,
    /// Requests, and what follows from their answers.
    fetching: Fetching,
    checkpoints: Checkpoints,
    course: Course,
}

impl Engine {
    /// Takes one event in.
    pub fn handle(&mut self, event: Event) -> Result<()> {
        self.admission.stores.sink.now = self.admission.clock.now();
        self.admission.is_changed |= event.changes_state();
        match event {
            Event::Reply(reply) => self.replied(reply)?,
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
            Event::Pause => self.fetching.requests.pause(true),
            Event::Resume => self.fetching.requests.pause(false),
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

    /// Takes in what came of a request.
    fn replied(&mut self, reply: Reply) -> Result<()> {
        let Engine { admission, fetching, course, .. } = self;
        let is_crawling = course.is_crawling();
        match reply {
            Reply::Page(processed) => fetching.answered(admission, *processed, is_crawling),
            Reply::Failed(failed) => fetching.failed(admission, *failed),
            Reply::Asked(ask) => fetching.page_asks(admission, *ask, is_crawling),
            Reply::Resolved(host, name, answer) => fetching.resolved(admission, host, &name, answer),
        }
    }

    /// Sends out what can be done now.
    pub fn pump(&mut self) -> Result<()> {
        let now = self.admission.clock.now();
        self.admission.stores.sink.now = now;
        self.admission.is_changed |= self.is_busy();
        self.admission.stores.dispatch(RESULTS_PER_PUMP)?;
        self.admission.collect_dropped()?;
        if self.course.is_crawling() {
            self.seeder().admit_waiting()?;
        }
        self.settle_quota();
        self.watch_limits(now)?;
        if self.course.is_crawling() && self.may_request_now() {
            if let Some(read) = self.admission.serve_calendar(now)? {
                self.fetching.executors.read_calendar(read);
            }
            self.admission.begin_budget_round(now, self.fetching.requests.in_flight() > 0);
            self.admission.books.seeds.make_durable()?;
            let frontier = &self.admission.stores.sink.frontier;
            self.admission.books.crawl_log.note(
                frontier.pacing().politeness(),
                frontier.pacing().treatments_json(),
                now,
            )?;
            self.request(now)?;
            self.fetching.requests.settle(self.admission.stores.sink.frontier.has_ready(now), now);
            self.course.quota.give_back();
        } else {
            self.fetching.requests.stand_back();
        }
        self.exchange_links(now)?;
        self.upkeep(now)?;
        self.note_idle_workers(now);
        self.watch_silence(now)?;
        self.watch_end(now)
    }

    /// Starts requests while there are free workers and hosts that are due.
    fn request(&mut self, now: Time) -> Result<()> {
        self.fetching.request_for_pages(&mut self.admission, now)?;
        while self.fetching.requests.may_begin(now) && self.may_begin_page(now) {
            if !self.fetching.requests.take_right() {
                return Ok(());
            }
            if self.fetching.follow_prerequisite(&mut self.admission, now, false)? {
                self.fetching.requests.use_right();
                continue;
            }
            if !self.fetching.requests.has_slot(now) {
                return Ok(());
            }
            if !self.fetching.has_room_to_render(&self.admission) {
                return Ok(());
            }
            let room = self.fetching.requests.slots_for_suspects(now);
            let frontier = &mut self.admission.stores.sink.frontier;
            frontier.pacing_mut().let_suspects_in(room);
            let Some(task) = frontier.next(now)? else { return Ok(()) };
            if matches!(task, Task::Robots { .. } | Task::Fetch { .. }) {
                self.fetching.requests.use_right();
            }
            let pages = self.fetching.requests.counted_pages();
            self.fetching.start(&mut self.admission, task)?;
            if self.fetching.requests.counted_pages() > pages {
                self.course.quota.begin();
            }
        }
        Ok(())
    }

    /// Lets seeds in.
    pub fn seeder(&mut self) -> Seeder<'_> {
        let Engine { admission, fetching, checkpoints, .. } = self;
        Seeder { admission, requests: &mut fetching.requests, checkpoints }
    }

    /// Takes in what other shards have found, or say.
    pub fn from_shards(&mut self) -> FromShards<'_> {
        FromShards { admission: &mut self.admission }
    }

    /// The figures of this moment.
    pub fn figures(&mut self) -> Figures<'_> {
        let may_request = self.may_request_now();
        let Engine { admission, fetching, checkpoints, course } = self;
        let Fetching { requests, renderings, .. } = fetching;
        Figures { admission, requests, checkpoints, course, renderings, may_request }
    }

    /// Replays everything that `recovery` finds, behind what the archive has for a calendar or a store that begins
    /// late; returns the number of pages. `find` finds their links.
    pub fn replay(&mut self, recovery: Recovery, find: &mut Find<'_>, progress: &mut StartProgress<'_>) -> Result<u64> {
        let admission = &mut self.admission;
        LateCalendar { admission }.fill(progress)?;
        LateSupport { admission, find, seeds: HashSet::new() }.run(progress)?;
        let mut replay = Replay { admission, find, resources: 0 };
        let pages = replay.run(recovery, progress)?;
        self.fetching.renderings.figures.resources += replay.resources;
        self.settle_quota();
        Ok(pages)
    }

    /// Sends the links of archived pages to other shards again, if the last checkpoint says so; returns of how many
    /// pages. `find` finds the links, `progress` hears of pages done and pages in all.
    pub fn resend(&mut self, find: &mut Find<'_>, progress: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        Resend { admission: &mut self.admission, find }.run(progress)
    }

    /// Reads some of the pages again that wait for that. `find` finds their links.
    pub fn read_nearer(&mut self, find: &mut Find<'_>) -> Result<()> {
        if !self.has_nearer() {
            return Ok(());
        }
        self.admission.stores.sink.now = self.admission.clock.now();
        self.admission.is_changed = true;
        NearerPages::open(&mut self.admission, find)?.read_some()
    }

    /// True if pages wait to be read again, in a crawl that goes on.
    fn has_nearer(&self) -> bool {
        self.course.is_crawling() && self.admission.stores.sink.depths.are_waiting()
    }

    /// Returns the places of all URLs that were ever admitted.
    pub fn accounts(&self) -> Accounts {
        Accounts::of(&self.admission.stores, &self.admission.books.statistics, self.fetching.requests.pages())
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
            let of_prerequisites = self.fetching.prerequisites.next_due();
            let frontier = &mut self.admission.stores.sink.frontier;
            let next =
                self.fetching.requests.next_due(|| frontier.next_due().into_iter().chain(of_prerequisites).min(), now);
            // at the limit of pages, one in flight may leave its place, here or in another engine, which wakes nobody
            let is_taken = self.course.quota.is_taken(self.admission.settings.pages_max);
            let next = next.map(|due| if is_taken { due.max(now + LOOK_AGAIN) } else { due });
            // what is due and has no slot is looked at again soon, whatever holds pages back
            let of_pages =
                self.fetching.prerequisites.next_due_of_pages().filter(|_| !self.fetching.renderings.are_none());
            let of_pages = of_pages.map(|due| due.max(now + LOOK_AGAIN));
            let next = next.filter(|_| !waits).into_iter().chain(of_pages);
            let next = next
                .chain(self.course.linger.due(self.admission.settings.linger))
                .chain(self.admission.calendar_due(now));
            let is_asking = self.fetching.requests.in_flight() > 0;
            let of_round = self.admission.budget_round_due(now, is_asking).filter(|_| self.course.is_crawling());
            next.chain(of_round).min()
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

    /// True if the crawl is paused.
    pub fn is_paused(&self) -> bool {
        self.fetching.requests.is_paused()
    }

    /// Number of the last checkpoint that is durable; 0 before the first one.
    pub fn durable_checkpoint(&self) -> u64 {
        self.checkpoints.durable()
    }

    /// Number of the checkpoint that has everything that was taken in so far, if one is wanted.
    pub fn checkpoint_ahead(&self) -> u64 {
        self.checkpoints.ahead()
    }

    /// True if requests may be made: nobody has paused the crawl, and no checkpoint has to be durable first.
    pub(super) fn may_request_now(&self) -> bool {
        let is_full = self.checkpoints.are_in_progress() && self.admission.container.is_full();
        let is_behind = self.admission.settings.behind_max.is_some()
            && self.checkpoints.are_behind(self.admission.settings.behind_max, self.admission.clock.elapsed());
        !is_full
            && !is_behind
            && !self.admission.seeding.intake.holds_requests()
            && self.fetching.requests.are_wanted(self.durable_checkpoint())
    }

    /// Decides by other settings from now on.
    pub(super) fn reconfigure(&mut self, new: Reconfiguration) {
        let rates = |settings: &Settings| (settings.requests_per_second, settings.bytes_per_second);
        if rates(&self.admission.settings) != rates(&new.settings) {
            self.fetching.requests.renew_limits(new.settings.requests_per_second, new.settings.bytes_per_second);
        }
        let now = self.admission.clock.now();
        self.checkpoints.bring_forward(now + new.settings.checkpoint_interval);
        self.admission.reconfigure(new, now);
        self.fetching.sessions.fill(&self.admission.settings);
    }

    /// Stops fetching what is forgotten from now on, wherever it waits.
    pub(super) fn forget(&mut self) -> Result<()> {
        self.checkpoints.want();
        self.admission.forget()
    }

    /// Returns why workers are idle now; `None` where none is, or something else than hosts holds requests back.
    pub fn idleness(&self) -> Option<Idleness> {
        let now = self.admission.clock.now();
        let is_at_limit = self.course.quota.is_taken(self.admission.settings.pages_max);
        let is_held = is_at_limit || !self.fetching.has_room_to_render(&self.admission) || !self.may_request_now();
        if is_held || !self.course.is_crawling() || !self.fetching.requests.are_spare(now) {
            return None;
        }
        let frontier = &self.admission.stores.sink.frontier;
        Some(Idleness { has_ready: frontier.has_ready(now), ends_round: frontier.round_that_may_end().is_some() })
    }

    /// The round of budgets that goes on, where there are any.
    pub fn round_number(&self) -> Option<u32> {
        self.admission.stores.sink.frontier.round().map(|(round, _)| round.number)
    }

    /// Tells the frontier whether workers are left, now that everything has begun that can: work on the frontier may
    /// have sent hosts to rest.
    pub(super) fn note_idle_workers(&mut self, now: Time) {
        let has_idle_workers =
            self.course.is_crawling() && self.may_request_now() && self.fetching.requests.are_spare(now);
        self.admission.stores.sink.frontier.note_workers(has_idle_workers, now);
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
