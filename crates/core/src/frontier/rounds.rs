//! Supporters of domains, and the rounds in which their budgets are given out: what budgets follow from them
//! ([`reputation`](super::reputation) has the rules).
//!
//! A host whose domain has had its share waits in memory while nobody wants its place, and else on disk, where takes
//! pass it over. So a round costs what its hosts cost that come up again: those in memory are looked at once, and of
//! the partitions those are walked in which a walk has passed over such hosts.

use std::time::Duration;

use super::active::Active;
use super::budget::{Allowance, Domain};
use super::budgets::Budgets;
use super::cold_side::ColdSide;
use super::host::{Host, Item};
use super::partition::{Partition, RoundLeft};
use super::reputation::{DomainTotals, Histogram, Rounds};
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

impl Budgets {
    /// One more domain links to `domain`. Nothing happens where supporters are not counted.
    pub(super) fn support(&mut self, cold: &mut ColdSide, domain: Fingerprint, now: Time) -> Result<()> {
        let Some(rounds) = &mut self.rounds else { return Ok(()) };
        rounds.hear();
        self.add_totals(cold, domain, &DomainTotals { supporters: 1, ..DomainTotals::default() }, now)
    }

    /// A seed is of `domain`.
    pub(super) fn note_seed(&mut self, cold: &mut ColdSide, domain: Fingerprint, now: Time) -> Result<()> {
        if self.rounds.is_none() || self.known_here(cold, domain).is_of_seed {
            return Ok(());
        }
        self.add_totals(cold, domain, &DomainTotals { is_of_seed: true, ..DomainTotals::default() }, now)
    }

    /// The quarters that a link of a domain is [worth](quarters_of). That of an active one is in memory; of any other,
    /// as in a replay, its partition is read.
    pub(super) fn standing(&self, cold: &ColdSide, domain: Fingerprint) -> Result<u64> {
        let totals = match self.domains.get(domain) {
            Some(active) => active.totals(),
            None => cold.partition(domain).all_totals(domain)?,
        };
        Ok(quarters_of(totals.supporters, totals.is_of_seed))
    }

    /// Returns the number of the round that goes on, where supporters are counted.
    pub(super) fn round_number(&self) -> Option<u32> {
        self.rounds.as_ref().map(|rounds| rounds.now.number)
    }

    /// Returns the rounds, where budgets follow from them.
    pub(super) fn kept_rounds(&self) -> Option<&Rounds> {
        self.rounds.as_ref().filter(|rounds| rounds.now.are_kept())
    }

    /// Totals of this many pages, of this round where there are any.
    pub(super) fn page_totals(&self, pages: u64) -> DomainTotals {
        let mut totals = DomainTotals::of_pages(pages);
        if let Some(round) = self.round_number() {
            (totals.round, totals.used) = (round, pages);
        }
        totals
    }

    /// Returns the totals of the domain of a host that comes here without having been on the disk side.
    pub(super) fn newcomer_totals(&self, cold: &ColdSide, domain: Fingerprint) -> DomainTotals {
        match &self.rounds {
            Some(_) => cold.partition(domain).newer_totals(domain),
            None => DomainTotals::default(),
        }
    }

    /// Returns whether a domain has had its share of this round, as far as that is known here.
    pub(super) fn is_domain_resting(&self, cold: &ColdSide, domain: Fingerprint) -> bool {
        let Some(rounds) = self.kept_rounds() else { return false };
        match self.domains.get(domain) {
            Some(active) => rounds.now.left_for_new(&active.totals(), active.in_flight.into()) == 0,
            None => {
                let partition = cold.partition(domain);
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
    pub(super) fn awaits_round(&self, host: &Host, now: Time) -> bool {
        let Some(rounds) = self.kept_rounds() else { return false };
        if self.first_in_turn(host).is_some_and(Item::is_counted) {
            return false;
        }
        let asks = || host.pending.is_none() && host.rules_at(now).is_none();
        let domain = self.domains.get(host.domain).expect("the domain of an active host is known");
        self.left(host) == Allowance::Rests || asks() && !rounds.now.lets_ask(&domain.totals())
    }

    /// A robots.txt of `domain` is asked for.
    pub(super) fn count_asked(&mut self, domain: Fingerprint) {
        let Some(round) = self.round_number() else { return };
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
    pub(super) fn round_left(&self, active: &Active, partition: &Partition) -> Option<RoundLeft> {
        let rounds = self.kept_rounds()?;
        let left = |&index: &u32| {
            let domain = active.host(index).domain;
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

    /// All requests have begun that can at `now`; `is_idle` if workers are left while nothing is ready and something
    /// waits for the next round.
    pub(super) fn note_workers(&mut self, is_idle: bool, now: Time) {
        if let Some(rounds) = &mut self.rounds {
            rounds.patience.note(is_idle, now);
        }
    }

    /// The round that goes on, while the next one may begin by what was asked for so far.
    pub(super) fn round_that_may_end(&self) -> Option<u32> {
        self.rounds.as_ref().filter(|rounds| rounds.patience.is_used()).map(|rounds| rounds.now.number)
    }

    /// Returns the time at which the next round begins, where hosts wait for `delay_min` at least; `is_fed` if
    /// something may bring a host with budget, which holds it up for a small part of the round alone.
    pub(super) fn round_due(&self, delay_min: Duration, is_fed: bool, now: Time) -> Option<Time> {
        let rounds = self.rounds.as_ref()?;
        let ends = rounds.patience.ends()?;
        let pages = u32::try_from(rounds.now.budgets().pages_min.max(1)).unwrap_or(u32::MAX);
        let least = delay_min.saturating_mul(pages).min(ROUND_LEAST_MAX);
        let over = if is_fed { ends } else { now };
        Some(over.max(rounds.now.begun + least).max(now))
    }

    /// Begins the next round: everything that rests has its budget again. Says whether there are rounds.
    pub(super) fn begin_round(&mut self, cold: &ColdSide, now: Time) -> bool {
        self.look_at_supporters(cold, Rounds::has_news);
        let Some(rounds) = &mut self.rounds else { return false };
        rounds.begin(now);
        true
    }

    /// Looks up what supporters are worth, where that is `wanted`; says whether it was done.
    pub(super) fn look_at_supporters(&mut self, cold: &ColdSide, wanted: fn(&Rounds) -> bool) -> bool {
        if !self.rounds.as_ref().is_some_and(wanted) {
            return false;
        }
        let supporters = self.supporters(cold);
        self.rounds.as_mut().into_iter().for_each(|rounds| rounds.look(&supporters));
        true
    }

    /// Counts domains by their supporters: those that were merged, and those that are known in memory alone.
    fn supporters(&self, cold: &ColdSide) -> Histogram {
        let mut all = Histogram::default();
        for partition in &cold.partitions {
            all.add(&partition.supporters);
            let newer = partition.newer_domains().into_iter();
            let unmerged = newer.filter(|(domain, _)| {
                !partition.base_filter.may_hold(super::domain_key(*domain)) && self.domains.get(*domain).is_none()
            });
            unmerged.for_each(|(_, totals)| all.count(totals.supporters));
        }
        for (domain, active) in self.domains.sorted() {
            if !cold.partition(domain).base_filter.may_hold(super::domain_key(domain)) {
                all.count(active.totals().supporters);
            }
        }
        all
    }
}
