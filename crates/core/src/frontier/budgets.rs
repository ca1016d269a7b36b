//! Budgets: how much of a host and of a domain is wanted, by limits, by rounds, and by what was fetched already.
//!
//! It owns the domains that have active hosts, the rounds, and the charges of hosts that are not active. Invariant: a
//! page is counted once, in flight from [`Budgets::begin_fetch`] to [`Budgets::end_fetch`] and then in its domain's
//! sum, so that no verdict lets more begin than a limit or a round leaves. Hosts and the disk side are lent to it; it
//! says who has to be looked at again, and moves nobody.

use super::budget::{Allowance, Domains};
use super::charge::{Charge, Charges};
use super::cold_side::ColdSide;
use super::host::{Host, Item};
use super::options::{Budget, FrontierOptions};
use super::reputation::{DomainTotals, Rounds, Saved, SavedDomain};
use super::schedule::HostRef;
use super::wire::{self, Reader};
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;

/// The budgets of all hosts and domains.
#[derive(Debug)]
pub struct Budgets {
    pub(super) limits: Budget,
    /// Share of a host's turns that pages have that are due again, while it has new ones.
    due_share: f32,
    pub(super) domains: Domains,
    /// Pages and bytes that were fetched of hosts that are not active, and that no record has yet.
    charges: Charges,
    /// Budgets by supporters, where these are counted.
    pub(super) rounds: Option<Rounds>,
}

impl Budgets {
    /// The budgets by `options`, of which nothing is used.
    pub(super) fn new(options: &FrontierOptions, now: Time) -> Self {
        Budgets {
            limits: options.budget,
            due_share: options.due_share,
            domains: Domains::default(),
            charges: Charges::default(),
            rounds: options.rounds.map(|budgets| Rounds::first(budgets, now)),
        }
    }

    /// Takes over other limits.
    pub(super) fn reconfigure(&mut self, limits: Budget) {
        self.limits = limits;
    }

    /// Returns the limits of what is fetched of a host and of a domain.
    #[cfg(test)]
    pub(crate) fn limits(&self) -> &Budget {
        &self.limits
    }

    /// Returns the limits of what is fetched of an active host.
    fn limits_of(&self, host: &Host) -> Budget {
        let pages_per_domain = self.limits.pages_per_domain;
        host.treatment.as_ref().map_or(self.limits, |treatment| Budget { pages_per_domain, ..treatment.budget })
    }

    /// A host becomes active; `known` is what the disk side knows of its domain.
    pub(super) fn enter(&mut self, host: &mut Host, known: &DomainTotals) {
        self.charges.collect(host.origin, &mut host.standing);
        self.domains.enter(host.domain, known);
    }

    /// A host of `domain` leaves; with the last one what was added since it came is given back, if it is anything.
    pub(super) fn leave(&mut self, domain: Fingerprint) -> Option<DomainTotals> {
        self.domains.leave(domain).filter(|added| !added.is_nothing())
    }

    /// The number of hosts of `domain` that have something to do.
    pub(super) fn busy(&self, domain: Fingerprint) -> u32 {
        self.domains.get(domain).map_or(0, |active| active.busy)
    }

    /// A host of `domain` has something to do from now on, or not any more.
    pub(super) fn count_busy(&mut self, domain: Fingerprint, busy: bool) {
        let counter = &mut self.domains.get_mut(domain).busy;
        *counter = if busy { *counter + 1 } else { counter.saturating_sub(1) };
    }

    /// The URL of a host that is next.
    pub(super) fn first_in_turn<'a>(&self, host: &'a Host) -> Option<&'a Item> {
        host.buffer.get(host.next_in_turn(self.due_share))
    }

    /// Takes the URL out of a host that is next.
    pub(super) fn take_in_turn(&self, host: &mut Host) -> Option<Item> {
        host.take_in_turn(self.due_share)
    }

    /// Returns the verdict of the budgets on a new page.
    pub(super) fn left(&self, host: &Host) -> Allowance {
        let domain = self.domains.get(host.domain).expect("the domain of an active host is known");
        match self.limits_of(host).allows(&host.standing, host.flights.len() + host.received.len(), domain) {
            Allowance::Free => self.allowance_of_round(domain),
            other => other,
        }
    }

    /// The verdict of the budgets on the URL that is next: a page that is fetched again was counted when its first
    /// visit was over.
    pub(super) fn allowance(&self, host: &Host) -> Allowance {
        let is_counted = self.first_in_turn(host).is_some_and(Item::is_counted);
        if is_counted { Allowance::Free } else { self.left(host) }
    }

    /// Returns whether a host has to wait for a budget with its next URL.
    pub(super) fn awaits_budget(&self, host: &Host, now: Time) -> bool {
        self.allowance(host) != Allowance::Free || self.awaits_round(host, now)
    }

    /// Lets a host wait for an answer to another one of its domain.
    pub(super) fn wait(&mut self, domain: Fingerprint, host: HostRef) {
        self.domains.get_mut(domain).waiting.push(host);
    }

    /// A fetch of `domain` begins.
    pub(super) fn begin_fetch(&mut self, domain: Fingerprint) {
        self.domains.get_mut(domain).in_flight += 1;
    }

    /// A fetch of `domain` is over and brought this many pages. Returns the hosts that waited to see it.
    pub(super) fn end_fetch(&mut self, domain: Fingerprint, pages: u64) -> Vec<HostRef> {
        let round = self.round_number();
        let domain = self.domains.get_mut(domain);
        match round {
            Some(round) if pages > 0 => domain.added.use_up(round, pages, 0),
            _ => domain.added.pages += pages,
        }
        domain.in_flight = domain.in_flight.saturating_sub(1);
        std::mem::take(&mut domain.waiting)
    }

    /// Returns the totals of a domain that are known without reading a file.
    pub(super) fn known_here(&self, cold: &ColdSide, domain: Fingerprint) -> DomainTotals {
        match self.domains.get(domain) {
            Some(active) => active.totals(),
            None => cold.partition(domain).newer_totals(domain),
        }
    }

    /// Returns whether the totals of a domain are known here, or do not matter.
    pub(super) fn knows_totals_of(&self, cold: &ColdSide, domain: Fingerprint) -> bool {
        let (partition, counts) = (cold.partition(domain), self.rounds.is_some());
        (self.limits.pages_per_domain.is_none() && !counts)
            || self.domains.get(domain).is_some()
            || !partition.may_hold(super::domain_key(domain))
            || counts && partition.knows_all_of(domain)
    }

    /// Adds to the totals of a domain, in memory or in its partition.
    pub(super) fn add_totals(
        &mut self,
        cold: &mut ColdSide,
        domain: Fingerprint,
        totals: &DomainTotals,
        now: Time,
    ) -> Result<()> {
        if let Some(active) = self.domains.find_mut(domain) {
            active.added.add(totals);
            return Ok(());
        }
        cold.push_domain(domain, totals, now)
    }

    /// Charges `domain` for a page of another one that a page of it needs, if its budget has room, pages in flight
    /// included; says whether it has.
    pub(super) fn charge_requisite(&mut self, cold: &mut ColdSide, domain: Fingerprint, now: Time) -> Result<bool> {
        let used = match self.domains.get(domain) {
            Some(entry) => entry.known.pages + entry.added.pages + u64::from(entry.in_flight),
            None => cold.partition(domain).newer_totals(domain).pages,
        };
        if self.limits.pages_per_domain.is_some_and(|limit| used >= limit) {
            return Ok(false);
        }
        self.add_totals(cold, domain, &self.page_totals(1), now)?;
        Ok(true)
    }

    /// Charges a domain for this many pages.
    pub(super) fn charge_domain(
        &mut self,
        cold: &mut ColdSide,
        domain: Fingerprint,
        pages: u64,
        now: Time,
    ) -> Result<()> {
        if pages > 0 { self.add_totals(cold, domain, &self.page_totals(pages), now) } else { Ok(()) }
    }

    /// Keeps a charge of an origin that is not active.
    pub(super) fn charge_stranger(&mut self, origin: Fingerprint, charge: Charge) {
        self.charges.add(origin, charge);
    }

    /// Makes records of the charges of hosts of which the disk side has none, or one that is in memory.
    pub(super) fn record_charges(&mut self, cold: &mut ColdSide, now: Time) -> Result<()> {
        self.charges.record(cold, now)
    }

    /// Appends the pages of domains that have active hosts to the section of a cut.
    pub(super) fn put_domains(&self, out: &mut Vec<u8>) {
        let domains = self.domains.sorted();
        wire::put_varint(out, domains.len() as u64);
        for (domain, entry) in domains {
            wire::put_fingerprint(out, domain);
            wire::put_varint(out, entry.known.pages);
            wire::put_varint(out, entry.added.pages);
        }
    }

    /// Reads what [`Budgets::put_domains`] wrote.
    pub(super) fn read_domains(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        for (domain, known, added) in Saved::read_pages(reader)? {
            self.domains.restore(domain, known, added);
        }
        Some(())
    }

    /// Appends the charges to the section of a cut, and what is kept of rounds and supporters where these are counted.
    pub(super) fn put_charges_and_rounds(&self, cold: &ColdSide, out: &mut Vec<u8>) {
        self.charges.put(out);
        let Some(rounds) = &self.rounds else { return };
        Saved::put_round(rounds, out);
        cold.put_supporters(out);
        let active = self.domains.sorted().into_iter();
        let active: Vec<SavedDomain> = active.map(|(domain, entry)| (domain, entry.known, entry.added)).collect();
        Saved::put_active(&active, out);
    }

    /// Reads what [`Budgets::put_charges_and_rounds`] wrote. Where supporters are not counted now, their sums stay.
    pub(super) fn read_charges_and_rounds(
        &mut self,
        cold: &mut ColdSide,
        reader: &mut Reader<'_>,
        now: Time,
    ) -> Option<()> {
        self.charges = Charges::read(reader)?;
        let Some(saved) = Saved::read(reader, cold.partitions.len())? else { return Some(()) };
        if let Some(rounds) = &mut self.rounds {
            rounds.go_on(saved.round, saved.limit, saved.begun.passed(now), now);
        }
        for (partition, saved) in cold.partitions.iter_mut().zip(saved.partitions) {
            partition.take_saved(saved);
        }
        for (domain, known, added) in saved.active {
            self.domains.restore(domain, known, added);
        }
        Some(())
    }

    /// Drops domains that were put back but have no host.
    pub(super) fn forget_uninhabited(&mut self) {
        self.domains.retain_inhabited();
    }
}
