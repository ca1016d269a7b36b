//! The registrable domains that have active hosts, with what is known of each and what budgets leave to it.
//!
//! A page that is being fetched counts as if it were fetched until its answer says otherwise, so that a budget is
//! never overrun; hosts that wait for such an answer are woken by it. Totals of a domain are kept as a sum of what
//! the disk side knows and what was added since, and only the latter goes back there: nothing is counted twice, even
//! if a domain became active without its old total being read.

use super::options::Budget;
use super::record::Standing;
use super::reputation::DomainTotals;
use super::schedule::HostRef;
use crate::fingerprint::ByFingerprint;
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;

/// The verdict of a budget on one more page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowance {
    /// Room for the page.
    Free,
    /// Answers in progress may use up the rest of the host's.
    HostWaits,
    /// Answers in progress may use up the rest of the domain's.
    DomainWaits,
    /// No pages of the domain's are left in this round.
    Rests,
    /// No room in the budget that this names.
    UsedUp(Reason),
}

/// A domain with active hosts.
#[derive(Debug, Default)]
pub(super) struct Domain {
    /// Active hosts.
    pub hosts: u32,
    /// Active hosts with something to do.
    pub busy: u32,
    /// Totals that the disk side knows.
    pub known: DomainTotals,
    /// Totals that were added since.
    pub added: DomainTotals,
    /// Fetches in progress.
    pub in_flight: u32,
    /// Hosts that wait for one of them.
    pub waiting: Vec<HostRef>,
}

/// The domains with active hosts.
#[derive(Debug, Default)]
pub(super) struct Domains {
    map: ByFingerprint<Domain>,
}

impl Domains {
    pub(super) fn get(&self, domain: Fingerprint) -> Option<&Domain> {
        self.map.get(&domain)
    }

    pub(super) fn get_mut(&mut self, domain: Fingerprint) -> &mut Domain {
        self.map.get_mut(&domain).expect("a domain with an active host is here")
    }

    /// The domain, while it has active hosts.
    pub(super) fn find_mut(&mut self, domain: Fingerprint) -> Option<&mut Domain> {
        self.map.get_mut(&domain)
    }

    /// A host of `domain` becomes active; `known` is what the disk side knows, if it was asked.
    pub(super) fn enter(&mut self, domain: Fingerprint, known: &DomainTotals) {
        let entry = self.map.entry(domain).or_default();
        entry.hosts += 1;
        entry.known.raise(known);
    }

    /// A host of `domain` leaves; with the last one what was added since it came is given back.
    pub(super) fn leave(&mut self, domain: Fingerprint) -> Option<DomainTotals> {
        let entry = self.get_mut(domain);
        entry.hosts -= 1;
        (entry.hosts == 0).then(|| self.map.remove(&domain).map_or_else(DomainTotals::default, |gone| gone.added))
    }

    /// All domains, in order.
    pub(super) fn sorted(&self) -> Vec<(Fingerprint, &Domain)> {
        let mut all: Vec<_> = self.map.iter().map(|(&domain, entry)| (domain, entry)).collect();
        all.sort_unstable_by_key(|&(domain, _)| domain);
        all
    }

    /// Puts back what was saved; its hosts enter afterwards.
    pub(super) fn restore(&mut self, domain: Fingerprint, known: DomainTotals, added: DomainTotals) {
        self.map.insert(domain, Domain { known, added, ..Domain::default() });
    }

    /// Drops domains that were put back but have no host.
    pub(super) fn retain_inhabited(&mut self) {
        self.map.retain(|_, entry| entry.hosts > 0);
    }
}

impl Domain {
    /// All that is known of it.
    pub(super) fn totals(&self) -> DomainTotals {
        let mut totals = self.known;
        totals.add(&self.added);
        totals
    }
}

impl Budget {
    /// Returns the verdict on one more page for a host of this standing, with `in_flight` fetches in progress.
    pub(super) fn allows(&self, standing: &Standing, in_flight: usize, domain: &Domain) -> Allowance {
        let reached = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let domain_pages = domain.known.pages + domain.added.pages;
        if reached(self.pages_per_host, standing.pages) {
            Allowance::UsedUp(Reason::HostPages)
        } else if reached(self.bytes_per_host, standing.bytes) {
            Allowance::UsedUp(Reason::HostBytes)
        } else if reached(self.pages_per_domain, domain_pages) {
            Allowance::UsedUp(Reason::DomainPages)
        } else if reached(self.pages_per_host, standing.pages + in_flight as u64) {
            Allowance::HostWaits
        } else if reached(self.pages_per_domain, domain_pages + u64::from(domain.in_flight)) {
            Allowance::DomainWaits
        } else {
            Allowance::Free
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_under_way_count_until_their_answers_are_here() {
        let budget = Budget { pages_per_host: Some(3), pages_per_domain: Some(5), bytes_per_host: Some(100) };
        let standing = Standing { pages: 2, ..Standing::default() };
        let of = |known, added, in_flight| {
            let (known, added) = (DomainTotals::of_pages(known), DomainTotals::of_pages(added));
            Domain { known, added, in_flight, ..Domain::default() }
        };
        let domain = of(1, 2, 0);
        assert_eq!(budget.allows(&standing, 0, &domain), Allowance::Free);
        assert_eq!(budget.allows(&standing, 1, &domain), Allowance::HostWaits);
        let busy = of(1, 2, 2);
        assert_eq!(budget.allows(&standing, 0, &busy), Allowance::DomainWaits);
        let full = of(3, 2, 0);
        assert_eq!(budget.allows(&standing, 0, &full), Allowance::UsedUp(Reason::DomainPages));
        let at_home = Standing { pages: 3, ..standing };
        assert_eq!(budget.allows(&at_home, 0, &full), Allowance::UsedUp(Reason::HostPages));
        assert_eq!(
            budget.allows(&Standing { bytes: 100, ..standing }, 0, &domain),
            Allowance::UsedUp(Reason::HostBytes)
        );
    }

    #[test]
    fn a_domain_gives_back_only_what_was_added() {
        let mut domains = Domains::default();
        let domain = Fingerprint::from_bits(9);
        domains.enter(domain, &DomainTotals::of_pages(40));
        domains.enter(domain, &DomainTotals::default());
        domains.get_mut(domain).added.pages += 3;
        assert_eq!(domains.leave(domain), None);
        assert_eq!(domains.leave(domain), Some(DomainTotals::of_pages(3)));
        assert!(domains.get(domain).is_none());
    }

    #[test]
    fn a_domain_that_was_put_back_and_has_no_host_is_forgotten() {
        let mut domains = Domains::default();
        let domain = Fingerprint::from_bits(9);
        let (known, added) = (DomainTotals::of_pages(40), DomainTotals::of_pages(3));
        domains.restore(domain, known, added);
        domains.restore(Fingerprint::from_bits(10), known, added);
        domains.enter(domain, &DomainTotals::default());
        domains.retain_inhabited();
        let left: Vec<_> = domains.sorted().into_iter().map(|(domain, _)| domain).collect();
        assert_eq!(left, [domain]);
    }
}
