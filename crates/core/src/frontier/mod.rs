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
//! After Heritrix's frontier (active and inactive queues, snoozing, budgets) and BUbiNG's workbench (delay by host and
//! by address); the disk side is new: no embedded store, one sequential merge a partition, no index of hosts in memory.

mod active;
mod activity;
mod address;
mod answers;
mod budget;
mod buffer;
mod busiest;
mod charge;
mod cold;
mod cold_side;
mod dispatch;
mod domains;
mod first_contacts;
pub mod fuzzing;
mod holds;
mod host;
mod jobs;
mod ledger;
mod line;
mod look;
mod names;
mod options;
mod outlook;
mod pacing;
mod partition;
mod policy;
mod politeness;
mod prerequisite;
mod queued;
mod received;
mod record;
mod reputation;
mod rounds;
mod saturation;
mod schedule;
mod share;
mod silence;
mod state;
mod suspects;
mod task;
mod treatment;
mod tuning;
mod turns;
pub mod verify;
mod waiting;
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

use active::Active;
use budget::Domains;
use charge::Charges;
use cold_side::ColdSide;
use host::{Host, Item, WaitState};
use pacing::LastEnd;
use partition::{Partition, domain_key};
use reputation::Rounds;
use tuning::COLD_PLACES_PART;
use writer::Beginning;

pub use activity::Activity;
pub use busiest::BusyHost;
pub use domains::{DomainLook, for_each_domain};
pub use first_contacts::Contact;
pub use ledger::Ledger;
pub use look::{DomainRound, HostLook, Look, QueuePlace, Queued, Wanted, look, look_at_hosts};
pub use options::{Budget, FrontierOptions, Politeness, Treatment, Treatments};
pub use outlook::ColdWait;
pub use pacing::Pacing;
pub use partition::{FileState, PartitionDone, PartitionJob};
pub use politeness::Forbidden;
pub use prerequisite::Asked;
pub use queued::{Hops, QueuedUrl};
pub use received::RequisitePace;
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
    options: FrontierOptions,
    decode_rules: RulesDecoder,
    active: Active,
    pacing: Pacing,
    domains: Domains,
    cold: ColdSide,
    /// Sequence number of the next URL or record.
    sequence: u64,
    /// The latest time that was passed in.
    now: Time,
    /// The beginning of this process's work with it.
    beginning: Beginning,
    /// Pages and bytes that were fetched of hosts that are not active, and that no record has yet.
    charges: Charges,
    /// Rules that leave queued URLs out.
    rules: Option<ScopeRules>,
    /// Budgets by supporters, where these are counted.
    rounds: Option<Rounds>,
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
        let mut frontier = Frontier {
            decode_rules: rules,
            active: Active::default(),
            pacing: Pacing::new(&options, rng_seed, last, now),
            domains: Domains::default(),
            cold: ColdSide::new(disk, dir, options.memory, options.rounds.is_some(), count),
            rounds: options.rounds.map(|budgets| Rounds::first(budgets, now)),
            options,
            sequence: 1,
            now,
            beginning: Beginning { at: now, sequence: 1 },
            charges: Charges::default(),
            rules: None,
        };
        if let Some(saved) = saved {
            frontier.restore(saved, now)?;
        }
        frontier.cold.delete_unknown()?;
        Ok(frontier)
    }

    /// Takes in a URL of a host of which nothing else is known.
    pub fn push(&mut self, url: QueuedUrl, now: Time) -> Result<()> {
        self.push_known_host(url, Known::default(), now)
    }

    /// Takes in a URL, and what the robots and DNS stores know of its host: that is of use where the frontier meets the
    /// host for the first time, and ignored where it has asked or learnt already.
    pub fn push_known_host(&mut self, url: QueuedUrl, known: Known, now: Time) -> Result<()> {
        self.now = self.now.max(now);
        let item = Item::new(url, self.sequence);
        self.sequence += 1;
        match self.active.find(item.url.origin) {
            Some(index) => self.push_active(index, item, now),
            None if self.may_start(&item)? => {
                let totals = self.newcomer_totals(item.url.domain);
                let index = self.activate(Host { newcomer: true, ..Host::of(&item.url) }, &totals);
                self.learn_known(index, known, now);
                self.buffer(index, item);
                self.settle(index, now);
                Ok(())
            }
            None => {
                self.introduce(&item, &known, now)?;
                self.push_stranger(&item)
            }
        }
    }

    /// A URL of an active host enters its buffer if nothing that comes before it may be on the disk side.
    fn push_active(&mut self, index: u32, item: Item, now: Time) -> Result<()> {
        let host = self.active.host(index);
        let before_last = host.buffer.back().is_some_and(|last| item.order() < last.order());
        let room = host.buffer.len() < self.refill_policy().pushed_max();
        if before_last || (room && !host.has_cold()) {
            let surplus = !room;
            self.buffer(index, item);
            if surplus && let Some(last) = self.unbuffer_last(index) {
                self.push_behind(index, &last)?;
            }
            if self.lacks_urls(index, now) {
                self.settle(index, now);
            }
            Ok(())
        } else {
            self.push_behind(index, &item)
        }
    }

    /// A URL of an active host goes to the disk side.
    fn push_behind(&mut self, index: u32, item: &Item) -> Result<()> {
        self.active.host_mut(index).may_tail = true;
        self.note_thirst(index);
        self.push_cold(item)
    }

    /// Returns whether a URL of a host that is not active can make it so: nothing of it is on the disk side, and there
    /// is room. A quarter of the places are left to hosts from the disk side, if there are any.
    fn may_start(&mut self, item: &Item) -> Result<bool> {
        let (origin, domain) = (item.url.origin, item.url.domain);
        let partition = &self.cold.partitions[self.partition_of(domain)];
        if partition.may_hold(origin) {
            return Ok(false);
        }
        if !self.has_share(domain) || self.domain_rests(domain) {
            return Ok(false);
        }
        let all = self.options.active_hosts.max(1);
        if self.cold.urls > 0 && self.active.newcomers >= (all * (COLD_PLACES_PART - 1) / COLD_PLACES_PART).max(1) {
            return Ok(false);
        }
        // Asked last, for the host that makes room may have been the last one of this domain.
        Ok(self.make_room()? && self.knows_totals_of(domain))
    }

    /// Returns whether the totals of a domain are known here, or do not matter.
    fn knows_totals_of(&self, domain: Fingerprint) -> bool {
        let (partition, counts) = (&self.cold.partitions[self.partition_of(domain)], self.rounds.is_some());
        (self.options.budget.pages_per_domain.is_none() && !counts)
            || self.domains.get(domain).is_some()
            || !partition.may_hold(domain_key(domain))
            || counts && partition.knows_all_of(domain)
    }

    /// Returns the number of the partition to which a domain belongs.
    fn partition_of(&self, domain: Fingerprint) -> usize {
        self.cold.number_of(domain)
    }

    /// Returns whether the host of `origin` is active: its robots and DNS answers are here or in progress.
    pub fn knows(&self, origin: Fingerprint) -> bool {
        self.active.find(origin).is_some()
    }

    /// Takes in what has become known of a host besides its own answers. Ignored if it is not active, and where it is
    /// asking.
    pub fn preset(&mut self, origin: Fingerprint, known: Known, now: Time) {
        self.now = self.now.max(now);
        let Some(index) = self.active.find(origin) else { return };
        if self.active.host(index).pending.is_none() {
            self.learn_known(index, known, now);
            self.settle(index, now);
        }
    }

    fn learn_known(&mut self, index: u32, known: Known, now: Time) {
        let host = self.active.host_mut(index);
        let domain = host.domain;
        let has_rules = host.rules.as_ref().is_some_and(|&(_, expires)| expires > now);
        let has_addresses = host.addresses.as_ref().is_some_and(|&(_, expires)| expires > now);
        if !has_rules {
            host.standing.learn(&known, now);
        }
        if let Some((rules, expires)) = known.rules.filter(|_| !has_rules) {
            self.set_rules(index, rules, expires);
        }
        if let Some((list, expires)) = known.addresses.filter(|(list, _)| !has_addresses && !list.is_empty()) {
            // At a saturated address the host has to go the long way, which ends on the disk side.
            if !self.pacing.is_saturated(list[0], domain, self.address_share()) {
                self.pacing.set_addresses(self.active.host_mut(index), list, expires);
            }
        }
    }

    /// Returns the pace of hosts.
    pub fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    /// Returns the pace of hosts, to change it.
    pub fn pacing_mut(&mut self) -> &mut Pacing {
        &mut self.pacing
    }

    /// Returns the limits of what is fetched of a host and of a domain.
    pub fn budget(&self) -> &Budget {
        &self.options.budget
    }

    /// Takes over politeness, budgets and the time after which hosts are given up, where they were changed.
    pub fn reconfigure(
        &mut self,
        politeness: Politeness,
        budget: Budget,
        treatments: Option<Arc<dyn Treatments>>,
        give_up: Duration,
    ) {
        self.options.budget = budget;
        if self.pacing.reconfigure(politeness, treatments, give_up) {
            self.treat_anew();
        }
    }

    /// Lets URLs that `rules` exclude leave by [`Task::Drop`] from now on, however long they have been queued.
    pub fn exclude_by(&mut self, rules: ScopeRules) {
        self.rules = Some(rules);
    }

    /// URLs that wait, in memory and on disk; those in flight are not among them.
    pub fn queued(&self) -> u64 {
        self.active.buffered + self.cold.urls
    }

    /// Tasks that are out and not answered.
    #[cfg(test)]
    pub fn in_flight(&self) -> usize {
        self.active.in_flight
    }

    /// Hosts of which something may be done at `now`, as far as their own time is concerned.
    pub fn ready_hosts(&self, now: Time) -> usize {
        let ready = |host: &&Host| matches!(host.place, WaitState::Scheduled(due) if due <= now);
        self.active.hosts().filter(ready).count()
    }

    /// Returns whether [`Frontier::next`] has something to look at now, without counting it.
    pub fn has_ready(&self, now: Time) -> bool {
        self.pacing.lines.has_ready(now)
    }

    /// Hosts with URLs in memory that have to wait: for their time, their address, or their domain's budget or round.
    pub fn waiting_hosts(&self, now: Time) -> usize {
        let waits = |host: &&Host| match host.place {
            WaitState::Scheduled(due) => due > now,
            WaitState::Address | WaitState::Name | WaitState::Domain | WaitState::Suspect | WaitState::Round => true,
            WaitState::Nowhere | WaitState::Idle => false,
        };
        self.active.hosts().filter(waits).count()
    }

    /// Hosts in memory.
    pub fn active_hosts(&self) -> usize {
        self.active.len()
    }

    /// Bytes of memory that they and their URLs take.
    pub fn active_bytes(&self) -> usize {
        self.active.bytes
    }

    /// Returns whether nothing is queued, in flight, or in a job.
    pub fn is_idle(&self) -> bool {
        self.queued() == 0 && self.active.in_flight == 0 && self.cold.jobs_out == 0
    }

    /// Returns whether nothing is ready while something is on the disk side.
    pub fn starving(&self, now: Time) -> bool {
        self.cold.urls > 0 && !self.has_ready(now)
    }

    /// Returns the time at which [`Frontier::next`] or [`Frontier::next_job`] may have something that they have not
    /// now.
    pub fn next_due(&self) -> Option<Time> {
        let due = |partition: &Partition| policy::next_due(&partition.snapshot(), &self.cold.merges, self.now);
        let cold = self.cold.partitions.iter().filter_map(due).min();
        match (self.pacing.lines.next_due(), cold) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
