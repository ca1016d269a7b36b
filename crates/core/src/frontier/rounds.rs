//! Supporters of domains, and the rounds in which their budgets are given out: what the frontier does about them
//! ([`reputation`](super::reputation) has the rules).
//!
//! A host whose domain has had its share waits in memory while nobody wants its place, and else on disk, where takes
//! pass it over. So a round costs what its hosts cost that come up again: those in memory are looked at once, and of
//! the partitions those are walked in which a walk has passed over such hosts.

use std::time::Duration;

use super::Frontier;
use super::budget::{Allowance, Domain};
use super::host::{Item, WaitState};
use super::partition::RoundLeft;
use super::reputation::{DomainTotals, Histogram, RoundBudgets, RoundLook, Rounds};
use super::schedule::Lane;
use super::tuning::ROUND_LEAST_MAX;
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::{ByFingerprint, Fingerprint};

/// Parts of a supporter, where supporters count by their own.
pub const QUARTERS: u64 = 4;

/// Quarters of a supporter that a link of a domain is worth by the quarters that link to it: four of one of the seeds,
/// or of one with two supporters that count in full; none of one that nobody links to.
pub fn quarters_of(supporters: u64, is_of_seed: bool) -> u64 {
    if is_of_seed { QUARTERS } else { (supporters / 2).min(QUARTERS) }
}

impl Frontier {
    /// One more domain links to `domain`. Nothing happens where supporters are not counted.
    pub fn support(&mut self, domain: Fingerprint) -> Result<()> {
        let Some(rounds) = &mut self.rounds else { return Ok(()) };
        rounds.hear();
        self.add_totals(domain, &DomainTotals { supporters: 1, ..DomainTotals::default() })
    }

    /// A seed is of `domain`.
    pub fn note_seed(&mut self, domain: Fingerprint) -> Result<()> {
        if self.rounds.is_none() || self.known_here(domain).is_of_seed {
            return Ok(());
        }
        self.add_totals(domain, &DomainTotals { is_of_seed: true, ..DomainTotals::default() })
    }

    /// The quarters that a link of a domain is [worth](quarters_of). That of an active one is in memory; of any other,
    /// as in a replay, its partition is read.
    pub fn standing(&self, domain: Fingerprint) -> Result<u64> {
        let totals = match self.domains.get(domain) {
            Some(active) => active.totals(),
            None => self.cold.partitions[self.partition_of(domain)].all_totals(domain)?,
        };
        Ok(quarters_of(totals.supporters, totals.is_of_seed))
    }

    /// Returns the totals of a domain that are known without reading a file.
    fn known_here(&self, domain: Fingerprint) -> DomainTotals {
        match self.domains.get(domain) {
            Some(active) => active.totals(),
            None => self.cold.partitions[self.partition_of(domain)].newer_totals(domain),
        }
    }

    /// Adds to the totals of a domain, in memory or in its partition.
    pub(super) fn add_totals(&mut self, domain: Fingerprint, totals: &DomainTotals) -> Result<()> {
        if let Some(active) = self.domains.find_mut(domain) {
            active.added.add(totals);
            return Ok(());
        }
        let number = self.partition_of(domain);
        self.cold.partitions[number].push_domain(domain, totals, self.now, &mut self.cold.files)
    }

    /// Totals of this many pages, of this round where there are any.
    pub(super) fn page_totals(&self, pages: u64) -> DomainTotals {
        let mut totals = DomainTotals::of_pages(pages);
        if let Some(rounds) = &self.rounds {
            (totals.round, totals.used) = (rounds.now.number, pages);
        }
        totals
    }

    /// Returns the totals of the domain of a host that comes here without having been on the disk side.
    pub(super) fn newcomer_totals(&self, domain: Fingerprint) -> DomainTotals {
        match &self.rounds {
            Some(_) => self.cold.partitions[self.partition_of(domain)].newer_totals(domain),
            None => DomainTotals::default(),
        }
    }

    /// Returns whether a domain has had its share of this round, as far as that is known here.
    pub(super) fn domain_rests(&self, domain: Fingerprint) -> bool {
        let Some(rounds) = self.rounds.as_ref().filter(|rounds| rounds.now.are_kept()) else { return false };
        match self.domains.get(domain) {
            Some(active) => rounds.now.left_for_new(&active.totals(), active.in_flight.into()) == 0,
            None => {
                let partition = &self.cold.partitions[self.partition_of(domain)];
                partition.knows_all_of(domain) && rounds.now.left_for_new(&partition.newer_totals(domain), 0) == 0
            }
        }
    }

    /// Returns what the round leaves to a domain for one more page.
    pub(super) fn allowance_of_round(&self, domain: &Domain) -> Allowance {
        let Some(rounds) = &self.rounds else { return Allowance::Free };
        match rounds.now.left(&domain.totals()) {
            0 => Allowance::Rests,
            left if left <= domain.in_flight.into() => Allowance::DomainWaits,
            _ => Allowance::Free,
        }
    }

    /// Returns whether a host has to wait for the next round with its next URL: because its domain has had its pages of
    /// this one, or because its robots.txt would be one too many. A page that is fetched again was counted when it was
    /// new.
    pub(super) fn awaits_round(&self, index: u32, now: Time) -> bool {
        let Some(rounds) = self.rounds.as_ref().filter(|rounds| rounds.now.are_kept()) else { return false };
        if self.first_in_turn(index).is_some_and(Item::is_counted) {
            return false;
        }
        let host = self.active.host(index);
        let asks = || host.pending.is_none() && host.rules_at(now).is_none();
        let domain = self.domains.get(host.domain).expect("the domain of an active host is known");
        self.left(index) == Allowance::Rests || asks() && !rounds.now.lets_ask(&domain.totals())
    }

    /// A robots.txt of the domain of a host is asked for.
    pub(super) fn count_asked(&mut self, index: u32) {
        let Some(rounds) = &self.rounds else { return };
        let (round, domain) = (rounds.now.number, self.active.host(index).domain);
        self.domains.get_mut(domain).added.use_up(round, 0, 1);
    }

    /// A request is made.
    pub(super) fn use_round(&mut self) {
        if let Some(rounds) = &mut self.rounds {
            rounds.patience.use_up();
        }
    }

    /// The lane of a domain in the schedule, and what a turn costs it.
    pub(super) fn lane_of(&self, domain: Fingerprint) -> Lane {
        let cost = self.rounds.as_ref().zip(self.domains.get(domain));
        Lane { domain, cost: cost.map_or(1, |(rounds, domain)| rounds.now.cost_of_turn(&domain.totals())) }
    }

    /// Returns what a take of a partition has to know of the round.
    pub(super) fn round_left(&self, number: usize) -> Option<RoundLeft> {
        let rounds = self.rounds.as_ref().filter(|rounds| rounds.now.are_kept())?;
        let partition = &self.cold.partitions[number];
        let left = |&index: &u32| {
            let domain = self.active.host(index).domain;
            let active = self.domains.get(domain)?;
            Some((domain, rounds.now.left_for_new(&active.totals(), active.in_flight.into())))
        };
        Some(RoundLeft {
            round: rounds.now,
            newer: partition.newer_domains(),
            active: partition.active.values().filter_map(left).collect(),
            taken: ByFingerprint::default(),
        })
    }

    /// URLs that a host may get of those that its domain has left in this round.
    pub(super) fn room_in_round(&self, domain: Fingerprint) -> usize {
        let left = self.rounds.as_ref().zip(self.domains.get(domain));
        let left = left.map_or(u64::MAX, |(rounds, domain)| rounds.now.left(&domain.totals()));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Returns whether anything waits for the next round.
    fn has_resting(&self) -> bool {
        let rests = |partition: &super::Partition| partition.walk.has_resting() || partition.recent.has_resting;
        self.active.resting_hosts > 0 || self.cold.partitions.iter().any(rests)
    }

    /// All requests have begun that can at `now`; `has_idle_workers` if some workers are left that may make more.
    pub fn note_workers(&mut self, has_idle_workers: bool, now: Time) {
        let is_idle = has_idle_workers && self.rounds.is_some() && !self.has_ready(now) && self.has_resting();
        if let Some(rounds) = &mut self.rounds {
            rounds.patience.note(is_idle, now);
        }
    }

    /// The round that goes on, while something waits for the next one and that may begin by what was asked for so far.
    pub fn round_that_may_end(&self) -> Option<u32> {
        let rounds = self.rounds.as_ref().filter(|rounds| rounds.patience.is_used())?;
        self.has_resting().then_some(rounds.now.number)
    }

    /// Returns the time at which the next round begins, if nothing else happens: where a worker is idle, no host with
    /// budget is ready, and something waits for the next round. What else may bring such a host, here or, with
    /// `is_fed`, on its way to the frontier, holds it up for a small part of the round alone.
    pub fn round_due(&self, now: Time, is_fed: bool) -> Option<Time> {
        let rounds = self.rounds.as_ref()?;
        let ends = rounds.patience.ends()?;
        if self.has_ready(now) || !self.has_resting() {
            return None;
        }
        let over = if is_fed || self.feeds_itself(now) { ends } else { now };
        Some(over.max(rounds.now.begun + self.round_least(rounds)).max(now))
    }

    /// The time between the beginnings of two rounds, at least.
    fn round_least(&self, rounds: &Rounds) -> Duration {
        let pages = u32::try_from(rounds.now.budgets().pages_min.max(1)).unwrap_or(u32::MAX);
        self.pacing.politeness().delay_min.saturating_mul(pages).min(ROUND_LEAST_MAX)
    }

    /// Returns whether hosts with budget come up by themselves, or may be found on the disk side.
    fn feeds_itself(&self, now: Time) -> bool {
        self.active.busy > 0 || self.is_cold_side_at_work(now)
    }

    /// Returns whether something is done on the disk side that may bring a host, or can be now.
    pub(super) fn is_cold_side_at_work(&self, now: Time) -> bool {
        let may_find = |partition: &super::Partition| {
            let walks = partition.base_left() > 0 && partition.walk.due().is_some_and(|due| due <= now);
            walks || partition.busy || partition.recent.urls > 0 && partition.is_tail_wanted()
        };
        self.cold.jobs_out > 0 || self.cold.partitions.iter().any(may_find)
    }

    /// Begins the next round: everything that rests has its budget again.
    pub fn begin_round(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.look_at_supporters(Rounds::has_news);
        let Some(rounds) = &mut self.rounds else { return };
        rounds.begin(now);
        self.wake_resting(now);
    }

    /// Looks up what supporters are worth, where that is `wanted`; says whether it was done.
    fn look_at_supporters(&mut self, wanted: fn(&Rounds) -> bool) -> bool {
        if !self.rounds.as_ref().is_some_and(wanted) {
            return false;
        }
        let supporters = self.supporters();
        self.rounds.as_mut().into_iter().for_each(|rounds| rounds.look(&supporters));
        true
    }

    /// Looks up again what supporters are worth, where many have come since that was done: what rests may have more
    /// in this round than it had. Whether it was done.
    pub fn follow_supporters(&mut self, now: Time) -> bool {
        self.now = self.now.max(now);
        let is_looked_up = self.look_at_supporters(Rounds::is_look_due);
        if is_looked_up {
            self.wake_resting(now);
        }
        is_looked_up
    }

    /// Lets everything that rests come up again, in memory and on disk.
    fn wake_resting(&mut self, now: Time) {
        for index in self.active.take_resting() {
            self.put(index, WaitState::Nowhere, now);
            self.settle(index, now);
        }
        for partition in &mut self.cold.partitions {
            partition.walk.round_begins(now);
            let recent = &mut partition.recent;
            recent.has_first_contacts |= std::mem::take(&mut recent.has_resting);
        }
    }

    /// Counts domains by their supporters: those that were merged, and those that are known in memory alone.
    fn supporters(&self) -> Histogram {
        let mut all = Histogram::default();
        for partition in &self.cold.partitions {
            all.add(&partition.supporters);
            let newer = partition.newer_domains().into_iter();
            let unmerged = newer.filter(|(domain, _)| {
                !partition.base_filter.may_hold(super::domain_key(*domain)) && self.domains.get(*domain).is_none()
            });
            unmerged.for_each(|(_, totals)| all.count(totals.supporters));
        }
        for (domain, active) in self.domains.sorted() {
            let partition = &self.cold.partitions[self.partition_of(domain)];
            if !partition.base_filter.may_hold(super::domain_key(domain)) {
                all.count(active.totals().supporters);
            }
        }
        all
    }

    /// The round that goes on, where there are rounds, and what domains may have in it.
    pub fn round(&self) -> Option<(RoundLook, RoundBudgets)> {
        let rounds = self.rounds.as_ref().filter(|rounds| rounds.now.are_kept())?;
        let look = RoundLook {
            number: rounds.now.number,
            limit: rounds.now.limit,
            begun: rounds.now.begun,
            resting_hosts: self.active.resting_hosts as u64,
            has_resting: self.has_resting(),
        };
        Some((look, rounds.now.budgets()))
    }
}
