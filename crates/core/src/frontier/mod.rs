//! The frontier: per-host queues of URLs, in memory as far as they are needed now, on disk as far as they are many.
//!
//! A host is an origin (`scheme://host:port`); those of one host name share its delay and its limit of connections. It
//! has an **active** side in memory (a bounded number of hosts, each with a short buffer of URLs and its state) and a
//! **cold** side on disk (partitions by registrable domain, each with a tail that grows and a sorted base that is
//! replaced). The way of a URL: [`Frontier::push`] puts it into the buffer of its host, if that is active or new and
//! there is room, else into its partition; takes bring it from there; [`Frontier::next`] hands it out once its host's
//! addresses and rules are known and politeness allows.
//!
//! Promises:
//! - every URL that was pushed leaves exactly once, by [`Task::Fetch`] or [`Task::Drop`] (again after
//!   [`Verdict::Retry`](crate::outcome::Verdict)); over a crash, what the last cut held leaves again;
//! - nothing is fetched of an origin before its rules are known, and never what they forbid;
//! - between two requests of a host name is its delay, between two of an address `delay_per_ip`, also over a restart;
//! - of a host, URLs leave by priority and then in the order of arrival, as far as they are in memory or were merged;
//!   one that failed by itself is first again when it has waited for its time;
//! - memory is bounded by [`FrontierOptions::memory`], whatever the numbers of hosts and URLs.
//!
//! It is synchronous and deterministic: time, randomness and disk are given. Work on files of the disk side is
//! handed out as [`PartitionJob`]s, so that the caller can do it on another thread. After an error of the disk the
//! frontier is not to be used any more: opening it again from the last checkpoint is the cure.
//!
//! Four types, each of which calls those below it alone and is lent what it does not own:
//! - [`Frontier`] hands out tasks and takes their answers;
//! - `queues::Queues` owns the hosts, in memory and on the disk side, and finds each its place;
//! - [`Pacing`] says when a host may be asked, with the schedule and the queues in which hosts wait
//!   (`pacing::wait_queues`);
//! - [`Budgets`] says how much of a host and of a domain is wanted.
//!
//! After Heritrix's frontier (active and inactive queues, snoozing, budgets) and BUbiNG's workbench (delay by host and
//! by address); the disk side is new: no embedded store, one sequential merge a partition, no index of hosts in memory.

mod active;
mod activity;
mod address;
mod address_queue;
mod answers;
mod budget;
mod budgets;
mod busiest;
mod charge;
mod cold_side;
mod dispatch;
mod domains;
mod first_contacts;
pub mod fuzzing;
mod holds;
mod host;
mod ledger;
mod look;
mod names;
mod options;
mod pacing;
mod partition;
mod policy;
mod politeness;
mod prerequisite;
mod queued;
mod queues;
mod received;
mod record;
mod reputation;
mod rounds;
mod saved_memory;
mod schedule;
mod share;
mod silence;
mod state;
mod suspects;
mod task;
mod tuning;
mod turns;
pub mod verify;
mod wire;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::disk::{Disk, Result};
use crate::fingerprint::Fingerprint;
use crate::web::scope::ScopeRules;

use charge::Charge;
use cold_side::ColdSide;
use host::{Host, Item};
use pacing::LastEnd;
use partition::domain_key;
use queues::Queues;
use reputation::Rounds;
use writer::Beginning;

pub use active::Active;
pub use activity::Activity;
pub use budgets::Budgets;
pub use busiest::BusyHost;
pub use cold_side::ColdWait;
pub use domains::{DomainLook, for_each_domain};
pub use first_contacts::Contact;
pub use ledger::Ledger;
pub use look::{DomainRound, HostLook, Look, QueuePlace, Queued, Wanted, look, look_at_hosts};
pub use options::{Budget, FrontierOptions, Politeness, Treatment, Treatments};
pub use pacing::Pacing;
pub use partition::{FileState, PartitionDone, PartitionJob};
pub use politeness::Forbidden;
pub use prerequisite::Asked;
pub use queued::{Hops, QueuedUrl};
pub use received::RequisitePace;
pub use record::Standing;
pub use reputation::{RoundBudgets, RoundLook};
pub use rounds::{QUARTERS, quarters_of};
pub use silence::{ColdSilence, Resting, RestingHost};
pub use state::{FrontierCut, FrontierState, PartitionState, SavedFrontier};
pub use task::{
    Feedback, Held, HostId, Known, NameAnswer, Permit, Provenance, RobotsAnswer, Rules, RulesDecoder, Task,
};
pub use tuning::BACKOFF_MAX;
pub use turns::DUE_PRIORITY;

/// All queues of a crawl.
#[derive(Debug)]
pub struct Frontier {
    queues: Queues,
}

impl Frontier {
    /// Opens the frontier in `dir`: from `saved` (what [`Frontier::cut`] gave) or empty.
    ///
    /// What is in `dir` and is not named by `saved` is deleted. `clean` is false after a stop that was none of
    /// ours: no host is then contacted before `now` and its delay have passed. `rules` reads what
    /// [`Rules::encode`] wrote. Fails with `Damaged` where a file is not as `saved` says.
    #[expect(clippy::too_many_arguments, reason = "everything that a deterministic frontier depends on is passed in")]
    pub fn open(
        disk: Disk,
        dir: &Path,
        options: FrontierOptions,
        rules: RulesDecoder,
        rng_seed: u64,
        saved: Option<SavedFrontier<'_>>,
        now: Time,
        clean: bool,
    ) -> Result<Self> {
        disk.create_dir_all(dir)?;
        let partitions = options.partitions.clamp(1, 1 << 16).next_power_of_two();
        let count = saved.map_or(partitions, |saved| saved.state.partitions.len());
        let last = LastEnd { is_clean: clean, is_first: saved.is_none() };
        let mut queues = Queues {
            decode_rules: rules,
            active: Active::default(),
            pacing: Pacing::new(&options, rng_seed, last, now),
            budgets: Budgets::new(&options, now),
            cold: ColdSide::new(disk, dir, options.memory, options.rounds.is_some(), count),
            sizes: options.sizes(),
            now,
            beginning: Beginning { at: now, sequence: 1 },
            rules: None,
        };
        if let Some(saved) = saved {
            saved.restore(&mut queues, now)?;
        }
        queues.cold.delete_unknown()?;
        Ok(Frontier { queues })
    }

    /// Takes in a URL of a host of which nothing else is known.
    pub fn push(&mut self, url: QueuedUrl, now: Time) -> Result<()> {
        self.push_known_host(url, Known::default(), now)
    }

    /// Takes in a URL, and what the robots and DNS stores know of its host: that is of use where the frontier meets the
    /// host for the first time, and ignored where it has asked or learnt already.
    pub fn push_known_host(&mut self, url: QueuedUrl, known: Known, now: Time) -> Result<()> {
        self.queues.now = self.queues.now.max(now);
        let item = Item::new(url, self.queues.cold.take_number());
        match self.queues.active.find(item.url.origin) {
            Some(index) => self.queues.push_active(index, item, now),
            None if self.queues.may_start(&item)? => {
                let totals = self.queues.budgets.newcomer_totals(&self.queues.cold, item.url.domain);
                let index = self.queues.activate(Host { newcomer: true, ..Host::of(&item.url) }, &totals);
                self.queues.learn_known(index, known, now);
                self.queues.buffer(index, item);
                self.queues.settle(index, now);
                Ok(())
            }
            None => {
                self.queues.cold.introduce(&item, &known, now)?;
                self.queues.push_stranger(&item)
            }
        }
    }

    /// Takes in what has become known of a host besides its own answers. Ignored if it is not active, and where it is
    /// asking.
    pub fn preset(&mut self, origin: Fingerprint, known: Known, now: Time) {
        self.queues.now = self.queues.now.max(now);
        let Some(index) = self.queues.active.find(origin) else { return };
        if self.queues.active.host(index).pending.is_none() {
            self.queues.learn_known(index, known, now);
            self.queues.settle(index, now);
        }
    }

    /// Returns the pace of hosts.
    pub fn pacing(&self) -> &Pacing {
        &self.queues.pacing
    }

    /// Returns the pace of hosts, to change it.
    pub fn pacing_mut(&mut self) -> &mut Pacing {
        &mut self.queues.pacing
    }

    /// Takes over politeness, budgets and the time after which hosts are given up, where they were changed.
    pub fn reconfigure(
        &mut self,
        politeness: Politeness,
        budget: Budget,
        treatments: Option<Arc<dyn Treatments>>,
        give_up: Duration,
    ) {
        self.queues.budgets.reconfigure(budget);
        if self.queues.pacing.reconfigure(politeness, treatments, give_up) {
            self.queues.treat_anew();
        }
    }

    /// Returns the budgets of hosts and domains.
    #[cfg(test)]
    pub(crate) fn budgets(&self) -> &Budgets {
        &self.queues.budgets
    }

    /// Lets URLs that `rules` exclude leave by [`Task::Drop`] from now on, however long they have been queued.
    pub fn exclude_by(&mut self, rules: ScopeRules) {
        self.queues.rules = Some(rules);
    }

    /// URLs that wait, in memory and on disk; those in flight are not among them.
    pub fn queued(&self) -> u64 {
        self.queues.active.buffered + self.queues.cold.urls
    }

    /// Returns whether [`Frontier::next`] has something to look at now, without counting it.
    pub fn has_ready(&self, now: Time) -> bool {
        self.queues.pacing.wait_queues.has_ready(now)
    }

    /// Returns whether nothing is queued, in flight, or in a job.
    pub fn is_idle(&self) -> bool {
        self.queued() == 0 && self.queues.active.in_flight == 0 && self.queues.cold.jobs_out == 0
    }

    /// Returns whether nothing is ready while something is on the disk side.
    pub fn starving(&self, now: Time) -> bool {
        self.queues.cold.urls > 0 && !self.has_ready(now)
    }

    /// Returns the time at which [`Frontier::next`] or [`Frontier::next_job`] may have something that they have not
    /// now.
    pub fn next_due(&self) -> Option<Time> {
        match (self.queues.pacing.wait_queues.next_due(), self.queues.cold.next_due(self.queues.now)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// One more domain links to `domain`. Nothing happens where supporters are not counted.
    pub fn support(&mut self, domain: Fingerprint) -> Result<()> {
        self.queues.budgets.support(&mut self.queues.cold, domain, self.queues.now)
    }

    /// A seed is of `domain`.
    pub fn note_seed(&mut self, domain: Fingerprint) -> Result<()> {
        self.queues.budgets.note_seed(&mut self.queues.cold, domain, self.queues.now)
    }

    /// The quarters that a link of a domain is [worth](quarters_of). That of an active one is in memory; of any
    /// other, as in a replay, its partition is read.
    pub fn standing(&self, domain: Fingerprint) -> Result<u64> {
        self.queues.budgets.standing(&self.queues.cold, domain)
    }

    /// All requests have begun that can at `now`; `has_idle_workers` if some workers are left that may make more.
    pub fn note_workers(&mut self, has_idle_workers: bool, now: Time) {
        let counts = self.queues.budgets.round_number().is_some();
        let is_idle = has_idle_workers && counts && !self.has_ready(now) && self.queues.has_resting();
        self.queues.budgets.note_workers(is_idle, now);
    }

    /// The round that goes on, while something waits for the next one and that may begin by what was asked for so far.
    pub fn round_that_may_end(&self) -> Option<u32> {
        let round = self.queues.budgets.round_that_may_end()?;
        self.queues.has_resting().then_some(round)
    }

    /// Returns the time at which the next round begins, if nothing else happens: where a worker is idle, no host with
    /// budget is ready, and something waits for the next round. What else may bring such a host, here or, with
    /// `is_fed`, on its way to the frontier, holds it up for a small part of the round alone.
    pub fn round_due(&self, now: Time, is_fed: bool) -> Option<Time> {
        self.queues.budgets.round_number()?;
        if self.has_ready(now) || !self.queues.has_resting() {
            return None;
        }
        let feeds_itself = || self.queues.active.busy > 0 || self.queues.cold.is_at_work(now);
        self.queues.budgets.round_due(self.queues.pacing.politeness().delay_min, is_fed || feeds_itself(), now)
    }

    /// Begins the next round: everything that rests has its budget again.
    pub fn begin_round(&mut self, now: Time) {
        self.queues.now = self.queues.now.max(now);
        if self.queues.budgets.begin_round(&self.queues.cold, now) {
            self.queues.wake_resting(now);
        }
    }

    /// Looks up again what supporters are worth, where many have come since that was done: what rests may have more
    /// in this round than it had. Whether it was done.
    pub fn follow_supporters(&mut self, now: Time) -> bool {
        self.queues.now = self.queues.now.max(now);
        let is_looked_up = self.queues.budgets.look_at_supporters(&self.queues.cold, Rounds::is_look_due);
        if is_looked_up {
            self.queues.wake_resting(now);
        }
        is_looked_up
    }

    /// The round that goes on, where there are rounds, and what domains may have in it.
    pub fn round(&self) -> Option<(RoundLook, RoundBudgets)> {
        let rounds = self.queues.budgets.kept_rounds()?;
        let look = RoundLook {
            number: rounds.now.number,
            limit: rounds.now.limit,
            begun: rounds.now.begun,
            resting_hosts: self.queues.active.resting_hosts as u64,
            has_resting: self.queues.has_resting(),
        };
        Some((look, rounds.now.budgets()))
    }

    /// The wait of hosts on the disk side, where no host is ready and nothing is to be done for one there before.
    pub fn cold_wait(&self, now: Time) -> Option<ColdWait> {
        if self.has_ready(now) || self.queues.cold.is_at_work(now) {
            return None;
        }
        self.queues.cold.wait(now)
    }

    /// Returns whether every active host that has anything to do was asked and never answered; where no host has
    /// anything to do, whether there are URLs on the disk side.
    pub fn only_silent_active(&self) -> bool {
        self.queues.active.are_all_silent().unwrap_or(self.queues.cold.urls > 0)
    }

    /// Finds out what the disk side holds other than URLs of active hosts; reads the directories of all bases.
    pub fn cold_silence(&self) -> Result<ColdSilence> {
        self.queues.cold.silence()
    }

    /// Returns the limits of what is fetched of `host`.
    pub fn budget_for(&self, host: &str) -> Budget {
        self.queues.pacing.treatment_of(host).map_or(self.queues.budgets.limits, |treatment| treatment.budget)
    }

    /// A page of `domain` makes the crawl fetch a page of another domain, which counts as one of its own. Says whether
    /// the budget of `domain` has room for it, pages in flight included; then it is charged, as part of the next cut.
    ///
    /// Of a domain without active hosts, which only a replay meets, the base on disk is not read: what was merged into
    /// it does not count here.
    pub fn charge_requisite(&mut self, domain: Fingerprint) -> Result<bool> {
        self.queues.budgets.charge_requisite(&mut self.queues.cold, domain, self.queues.now)
    }

    /// Charges an origin and its domain for this many pages and bytes, which were fetched without the frontier: a
    /// replay found them.
    pub fn charge(&mut self, origin: Fingerprint, domain: Fingerprint, pages: u64, bytes: u64) -> Result<()> {
        self.queues.budgets.charge_domain(&mut self.queues.cold, domain, pages, self.queues.now)?;
        let charge = Charge { domain, pages, bytes };
        let Some(index) = self.queues.active.find(origin) else {
            self.queues.budgets.charge_stranger(origin, charge);
            return Ok(());
        };
        charge.put_on(&mut self.queues.active.host_mut(index).standing);
        if self.queues.active.host(index).pending.is_none() {
            self.queues.settle(index, self.queues.now);
        }
        Ok(())
    }

    /// Makes records of the charges of hosts of which the disk side has none, or one that is in memory.
    pub fn record_charges(&mut self) -> Result<()> {
        self.queues.budgets.record_charges(&mut self.queues.cold, self.queues.now)
    }

    /// The host that `key` names, an origin or all origins of a name, must not be contacted before `until`: from the
    /// log of long back-offs, after a restart.
    pub fn hold(&mut self, key: Fingerprint, until: Time, now: Time) {
        self.queues.pacing.hold(&mut self.queues.active, key, until, now);
    }

    /// A job that should be done now, if there is one and not too many are out (`frontier::policy`). `starving` allows
    /// merges that cost more than they should (see [`Frontier::starving`]).
    pub fn next_job(&mut self, starving: bool) -> Result<Option<PartitionJob>> {
        self.queues.next_job(starving)
    }

    /// Takes over what a job brought.
    pub fn finish_job(&mut self, done: PartitionDone, now: Time) -> Result<()> {
        self.queues.finish_job(done, now)
    }

    /// Cuts: appends what is in memory to `ram`, and says which files belong to the cut and which of them have to be
    /// synced. The bytes appended here are what [`Frontier::open`] wants again.
    pub fn cut(&mut self, ram: &mut Vec<u8>) -> Result<FrontierCut> {
        Ok(FrontierCut::of(&mut self.queues, ram))
    }

    /// The first `limit` hosts that are being asked, or are asked next; where there are fewer, the URLs that come
    /// after those too.
    pub fn activity(&self, now: Time, limit: usize) -> Vec<Activity> {
        Activity::upcoming(&self.queues.active, &self.queues.pacing, now, limit)
    }

    /// Returns the hosts in memory.
    pub fn active(&self) -> &Active {
        &self.queues.active
    }

    /// Returns the hosts in memory, to note what came of requests to them.
    pub fn active_mut(&mut self) -> &mut Active {
        &mut self.queues.active
    }
}
