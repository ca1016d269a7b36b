//! The figures of a crawl: what has happened, how things stand, what the stores did.

use super::admission::Admission;
use super::checkpoint::Checkpoints;
use super::course::Course;
use super::rendering::Renderings;
use super::requests::Requests;
use super::support::supporters;
use super::{Phase, SeedTable};
use std::time::Duration;

use crate::clock::Time;
use crate::frontier::{Activity, BusyHost};
use crate::outcome::Hold;
use crate::record::{
    Constraints, CrawlLimits, DiskWait, Doing, Finish, Gauges, Live, Oddities, QueuedHost, QueuedHosts, Rates, Resting,
    RestingHost, RoundFigures, Snapshot, State, Statistics, StoreBytes,
};

/// Resting hosts that are named.
const NAMED_MAX: usize = 10;
/// Shorter rests are no news.
const REST_MIN: Duration = Duration::from_secs(5);

/// Reasons for which workers are idle, of an engine that may make requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idleness {
    /// A host is ready all the same.
    pub has_ready: bool,
    /// Something waits for the next round of budgets, and that may begin.
    pub ends_round: bool,
}

/// The figures of an engine at one moment between two events.
pub struct Figures<'a> {
    pub(super) admission: &'a mut Admission,
    pub(super) requests: &'a Requests,
    pub(super) checkpoints: &'a Checkpoints,
    pub(super) course: &'a Course,
    pub(super) renderings: &'a Renderings,
    /// True if requests may be made.
    pub(super) may_request: bool,
}

impl Figures<'_> {
    /// Brings the counters up to date that are kept elsewhere.
    pub(super) fn count(&mut self, now: Time) {
        self.admission.books.statistics.elapsed = self.course.elapsed(now);
        let sink = &mut self.admission.stores.sink;
        self.admission.books.statistics.unique = sink.unique;
        self.admission.books.statistics.duplicates = sink.duplicate;
        self.admission.books.statistics.ends.again = sink.again;
        self.admission.books.statistics.hosts = self.admission.stores.hosts();
    }

    /// The counters as they stand.
    pub fn statistics(&mut self) -> Statistics {
        self.count(self.admission.clock.now());
        self.admission.books.statistics.clone()
    }

    /// Sites that show less to a crawler than to a person, as met by this process.
    pub fn oddities(&self) -> &Oddities {
        self.admission.books.oddities()
    }

    /// Everything that `status` shows, as it is now.
    pub(crate) fn look(&mut self) -> Snapshot {
        let now = self.admission.clock.now();
        self.count(now);
        self.snapshot(now, None)
    }

    /// Free bytes below which the crawl stops, as it is in effect now.
    pub fn disk_floor(&self) -> u64 {
        self.admission.settings.disk_floor
    }

    /// The seeds, and what became of them.
    pub fn seeds(&self) -> &SeedTable {
        &self.admission.books.seeds
    }

    /// Returns the measures of what is going on at this moment.
    pub fn gauges(&mut self) -> Gauges {
        let now = self.admission.clock.now();
        let pending = self.admission.stores.waiting();
        let seen_keys = self.admission.stores.seen.known();
        let in_flight = self.requests.in_flight() as u64;
        let disk_free = self.course.disk_free();
        let resting = self.resting(now);
        let calendar = self.admission.recrawls.as_mut().map(|recrawls| recrawls.figures(now));
        let rounds = self.round_figures();
        let url_seen_bytes = self.admission.stores.seen.drum_counters().repository_bytes;
        let constraints = self.constraints(now);
        let time_s = self.admission.settings.time_max.map(|time| time.as_secs());
        let limits = CrawlLimits { pages: self.admission.settings.pages_max, time_s };
        let frontier = &mut self.admission.stores.sink.frontier;
        Gauges {
            queued: frontier.queued(),
            hosts_ready: frontier.active().ready_hosts(now) as u64,
            hosts_waiting: frontier.active().waiting_hosts(now) as u64,
            hosts_active: frontier.active().count() as u64,
            hosts_active_bytes: frontier.active().memory() as u64,
            in_flight,
            keys_pending: pending,
            keys_seen: seen_keys,
            disk_free_bytes: disk_free,
            url_seen_bytes,
            resting,
            workers: self.requests.workers(),
            constraints,
            limits,
            longest_queue_ms: u64::try_from(Activity::longest_queue(frontier.active(), frontier.pacing()).as_millis())
                .unwrap_or(u64::MAX),
            calendar,
            rendering: self.renderings.figures(),
            rounds,
        }
    }

    /// The first `limit` hosts that are being asked, or are asked next.
    pub fn activity(&self, limit: usize) -> Vec<Activity> {
        self.admission.stores.sink.frontier.activity(self.admission.clock.now(), limit)
    }

    /// Returns what keeps requests back.
    fn constraints(&self, now: Time) -> Constraints {
        let frontier = &self.admission.stores.sink.frontier;
        Constraints {
            workers_busy: self.requests.are_all_busy(now),
            rate_limited: self.requests.are_limited(now),
            page_limit: self.course.quota.is_taken(self.admission.settings.pages_max),
            checkpoint: !self.requests.is_paused() && !self.may_request,
            merging: self.admission.stores.are_merging(),
            refilling: frontier.starving(now),
            seeding: self.admission.seeding.intake.is_waiting(),
            disk_wait: frontier.cold_wait(now).map(|wait| DiskWait {
                ms: u64::try_from(wait.until.since(now).as_millis()).unwrap_or(u64::MAX),
                is_rest: wait.is_rest,
            }),
            lookups: (self.requests.in_flight() as u64).saturating_sub(self.requests.pages()),
        }
    }

    /// Returns what the crawl does.
    pub fn doing(&self) -> Doing {
        match self.course.phase() {
            Phase::Crawling if self.requests.is_paused() => Doing::Paused,
            Phase::Crawling => Doing::Crawling,
            Phase::Stopping { .. } => Doing::Stopping,
            Phase::Closing { .. } => Doing::Closing,
            Phase::Done { .. } => Doing::Done,
        }
    }

    /// All that can be said of this moment; rates and the memory ceiling are for others to fill in.
    pub fn live(&mut self) -> Live {
        Live {
            phase: self.doing(),
            pid: std::process::id(),
            checkpoint: self.checkpoints.durable(),
            checkpointed: self.checkpoints.durable_at(),
            rates: Rates::default(),
            memory_ceiling_bytes: 0,
            durations: self.admission.books.durations.clone(),
            figures: self.look(),
            shards: Vec::new(),
        }
    }

    /// The `limit` hosts in memory that have the longest queues.
    pub fn busiest(&self, limit: usize) -> QueuedHosts {
        let now = self.admission.clock.now();
        let hosts = self.admission.stores.sink.frontier.active().busiest(now, limit);
        QueuedHosts { as_of: now, hosts: hosts.into_iter().map(queued_host).collect() }
    }

    pub(super) fn snapshot(&mut self, now: Time, finish: Option<Finish>) -> Snapshot {
        let gauges = self.gauges();
        let state = match finish {
            None => State::Running,
            Some(Finish::Complete) => State::Finished,
            Some(_) => State::Stopped,
        };
        Snapshot {
            version: Snapshot::VERSION,
            state,
            finish,
            started: self.admission.home.identity.created,
            updated: now,
            statistics: self.admission.books.statistics.clone(),
            stores: self.store_bytes(),
            layers: self.admission.stores.layers(),
            gauges,
        }
    }

    /// Hosts that rest, if any does, and whether nothing else is left.
    fn resting(&mut self, now: Time) -> Option<Resting> {
        let is_on_its_way = self.admission.stores.waiting() > 0 || self.admission.stores.are_merging();
        let resting = self.admission.stores.sink.frontier.active().resting(now, NAMED_MAX);
        let is_long = resting.last.is_some_and(|last| last >= now + REST_MIN);
        if !is_long && !resting.longest.iter().any(|host| host.silent) {
            return None;
        }
        let pacing = self.admission.stores.sink.frontier.pacing();
        let host = |host: crate::frontier::RestingHost| RestingHost {
            why: match (host.opening(pacing, now), host.blame) {
                (Some(opening), _) => opening,
                (None, Some(blame)) => blame.to_string(),
                (None, None) => Hold::Load.to_string(),
            },
            host: host.origin.into(),
            until: host.until,
        };
        Some(Resting {
            hosts: resting.hosts,
            is_all: resting.others == 0 && !is_on_its_way,
            first: resting.first,
            last: resting.last,
            ends: self.course.linger.ends(self.admission.settings.linger),
            longest: resting.longest.into_iter().map(host).collect(),
        })
    }

    /// Returns the figures of the rounds, where there are any.
    fn round_figures(&self) -> Option<RoundFigures> {
        let (round, budgets) = self.admission.stores.sink.frontier.round()?;
        let support = self.admission.stores.support.as_ref()?;
        Some(RoundFigures {
            number: round.number,
            begun_ms: round.begun.ms(),
            limit: supporters(round.limit, self.admission.stores.by_standing),
            pages_min: budgets.pages(0, false, 0),
            pages_max: budgets.pages(0, true, 0),
            resting_hosts: round.resting_hosts,
            has_resting: round.has_resting,
            pairs: support.known(),
            pairs_bytes: support.drum_counters().repository_bytes,
        })
    }

    /// Bytes on disk, as far as the stores count them.
    fn store_bytes(&mut self) -> StoreBytes {
        StoreBytes {
            stores: self.admission.stores.bytes(),
            pages: self.admission.container.value_bytes(),
            index: self.admission.container.index_bytes(),
            ..StoreBytes::default()
        }
    }
}

fn queued_host(host: BusyHost) -> QueuedHost {
    let reason = match (host.gone, host.blame) {
        (Some(gone), _) => gone.to_string(),
        (None, Some(blame)) => blame.to_string(),
        (None, None) if host.is_held_back => Hold::Load.to_string(),
        (None, None) => String::new(),
    };
    QueuedHost {
        host: host.origin.into(),
        queued: host.queued,
        state: host.doing.to_owned(),
        next_request: Some(host.next),
        delay_ms: u64::try_from(host.pace.as_millis()).unwrap_or(u64::MAX),
        reason,
        pages: host.pages,
        bytes: host.bytes,
        errors: host.failures.into(),
    }
}
