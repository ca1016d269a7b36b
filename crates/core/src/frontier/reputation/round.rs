//! The round that goes on, and what a domain may have in it.

use super::{DomainTotals, Histogram, Patience};
use crate::clock::Time;

/// The number of domains with supporters for each one that gets the most, however many may be: in a crawl of few
/// domains not every one is at the top. Chosen.
const TOP_PART: u64 = 100;
/// Supporters that are worth the most at least: while few links are known, one of them is no sign of anything. Chosen.
const LIMIT_MIN: u64 = 16;
/// Supporters that have to come, and an eighth of all before, until the limit is looked up again. Chosen.
const LOOK_AFTER: u64 = 64;

/// Limits of the pages that a domain may have in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundBudgets {
    /// Pages of a domain without supporters; at least 1.
    pub pages_min: u64,
    /// Pages of a domain at the top, and of the domains of the seeds.
    pub pages_max: u64,
    /// Domains at the top, of all shards together.
    pub top_domains: u64,
    /// True if budgets are kept; if not, supporters are only counted.
    pub are_kept: bool,
}

impl Default for RoundBudgets {
    fn default() -> Self {
        RoundBudgets { pages_min: 10, pages_max: 1_000, top_domains: 10_000, are_kept: true }
    }
}

/// The budgets of domains in a round: plain numbers, so that a take can ask beside the frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::frontier) struct Round {
    /// Number of the round: 1, 2, 3, ...
    pub number: u32,
    /// The number of supporters from which on a domain has the most; 0 while nobody knows.
    pub limit: u64,
    /// Time at which it began.
    pub begun: Time,
    budgets: RoundBudgets,
}

impl Round {
    /// Pages that a domain may have.
    pub(in crate::frontier) fn pages(&self, domain: &DomainTotals) -> u64 {
        self.budgets.pages(domain.supporters, domain.is_of_seed, self.limit)
    }

    /// Pages that are left to a domain.
    pub(in crate::frontier) fn left(&self, domain: &DomainTotals) -> u64 {
        if !self.budgets.are_kept {
            return u64::MAX;
        }
        self.pages(domain).saturating_sub(domain.used_in(self.number).0)
    }

    /// The same for hosts of it that come up: none where their robots.txt could not be asked for.
    pub(in crate::frontier) fn left_for_new(&self, domain: &DomainTotals, in_flight: u64) -> u64 {
        if self.lets_ask(domain) { self.left(domain).saturating_sub(in_flight) } else { 0 }
    }

    /// Returns whether one more robots.txt may be asked for in a domain.
    pub(in crate::frontier) fn lets_ask(&self, domain: &DomainTotals) -> bool {
        !self.budgets.are_kept || domain.used_in(self.number).1 < self.pages(domain)
    }

    /// Returns the factor by which a turn of a domain is dearer than one of a domain at the top.
    pub(in crate::frontier) fn cost_of_turn(&self, domain: &DomainTotals) -> u64 {
        if !self.budgets.are_kept {
            return 1;
        }
        (self.budgets.pages_max / self.pages(domain).max(1)).max(1)
    }

    /// Returns the budgets by which domains have their pages.
    pub(in crate::frontier) fn budgets(&self) -> RoundBudgets {
        self.budgets
    }

    /// Returns whether budgets are kept.
    pub(in crate::frontier) fn are_kept(&self) -> bool {
        self.budgets.are_kept
    }
}

impl RoundBudgets {
    /// Pages of a domain with this many supporters in a round in which `limit` of them are worth the most.
    pub fn pages(&self, supporters: u64, is_of_seed: bool, limit: u64) -> u64 {
        let (min, max) = (self.pages_min.max(1), self.pages_max.max(self.pages_min).max(1));
        if is_of_seed {
            return max;
        }
        if limit == 0 || supporters == 0 {
            return min;
        }
        let more = u128::from(max - min) * u128::from(supporters.min(limit)) / u128::from(limit);
        min + more as u64
    }
}

/// The rounds of a crawl.
#[derive(Clone, Debug)]
pub(in crate::frontier) struct Rounds {
    pub now: Round,
    /// Measure of the time for which it may keep workers idle.
    pub patience: Patience,
    /// Supporters that came since the frontier was opened, and with how many the limit is looked up again.
    heard: u64,
    look_at: u64,
    /// The number of supporters that had come when the limit was looked up last.
    looked: u64,
}

impl Rounds {
    /// The first round, in which nobody knows what supporters are worth.
    pub(in crate::frontier) fn first(budgets: RoundBudgets, now: Time) -> Self {
        let round = Round { number: 1, limit: 0, begun: now, budgets };
        Rounds { now: round, patience: Patience::of_new_round(now), heard: 0, look_at: LOOK_AFTER, looked: 0 }
    }

    /// Goes on at `now` with a round that was saved.
    pub(in crate::frontier) fn go_on(&mut self, number: u32, limit: u64, begun: Time, now: Time) {
        (self.now.number, self.now.limit, self.now.begun) = (number, limit, begun);
        self.patience = Patience::of_old_round(now);
    }

    /// One more supporter has come.
    pub(in crate::frontier) fn hear(&mut self) {
        self.heard += 1;
    }

    /// Returns whether enough supporters have come for the limit to be another one by now.
    pub(in crate::frontier) fn is_look_due(&self) -> bool {
        self.now.budgets.are_kept && self.heard >= self.look_at
    }

    /// Sets the limit by what `supporters` say.
    pub(in crate::frontier) fn look(&mut self, supporters: &Histogram) {
        let top = self.now.budgets.top_domains.min(supporters.domains().div_ceil(TOP_PART));
        self.now.limit = supporters.limit(top).map_or(0, |limit| limit.max(LIMIT_MIN));
        self.look_at = self.heard + self.heard / 8 + LOOK_AFTER;
        self.looked = self.heard;
    }

    /// Returns whether supporters have come since the limit was looked up.
    pub(in crate::frontier) fn has_news(&self) -> bool {
        self.heard > self.looked
    }

    /// Begins the next round at `now`.
    pub(in crate::frontier) fn begin(&mut self, now: Time) {
        self.now.number = self.now.number.saturating_add(1);
        self.now.begun = now;
        self.patience = Patience::of_new_round(now);
    }
}

/// A round, for those who report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundLook {
    /// Number of the round: 1, 2, 3, ...
    pub number: u32,
    /// The number of supporters from which on a domain has the most pages; 0 while nobody knows.
    pub limit: u64,
    /// Time at which it began.
    pub begun: Time,
    /// Hosts in memory that wait for the next round.
    pub resting_hosts: u64,
    /// True if anything waits for the next round, in memory or on disk.
    pub has_resting: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(supporters: u64, used: u64) -> DomainTotals {
        DomainTotals { supporters, round: 2, used, ..DomainTotals::default() }
    }

    fn budgets() -> RoundBudgets {
        RoundBudgets { pages_max: 10_000, ..RoundBudgets::default() }
    }

    fn second_round(limit: u64) -> Round {
        Round { number: 2, limit, begun: Time::ZERO, budgets: budgets() }
    }

    #[test]
    fn budgets_are_linear_in_the_supporters_from_the_least_to_the_most() {
        let budgets = budgets();
        for (supporters, limit, pages) in [
            (0, 300, 10),
            (1, 300, 10 + 9_990 / 300),
            (150, 300, 10 + 4_995),
            (300, 300, 10_000),
            (u64::MAX, 300, 10_000),
            (u64::MAX - 1, u64::MAX, 9_999),
            (1, 1, 10_000),
            (500, 0, 10),
        ] {
            assert_eq!(budgets.pages(supporters, false, limit), pages, "{supporters} of {limit}");
            assert_eq!(budgets.pages(supporters, true, limit), 10_000, "a seed's");
        }
        let odd = RoundBudgets { pages_min: 50, pages_max: 20, ..budgets };
        assert_eq!(odd.pages(9, false, 9), 50, "the most is never less than the least");
    }

    #[test]
    fn what_is_left_counts_pages_in_flight_and_this_round_alone() {
        let round = second_round(10);
        assert_eq!((round.left(&totals(0, 4)), round.left_for_new(&totals(0, 4), 3)), (6, 3));
        assert_eq!((round.left(&totals(0, 10)), round.left_for_new(&totals(0, 9), 3)), (0, 0));
        let before = DomainTotals { round: 1, ..totals(0, 10) };
        assert_eq!(round.left(&before), 10);
        let asked = DomainTotals { asked: 10, ..totals(0, 0) };
        assert_eq!((round.left(&asked), round.left_for_new(&asked, 0)), (10, 0), "hosts whose rules are known go on");
        let off = Round { budgets: RoundBudgets { are_kept: false, ..RoundBudgets::default() }, ..round };
        assert_eq!((off.left(&totals(0, 99)), off.cost_of_turn(&totals(0, 0))), (u64::MAX, 1));
        assert_eq!((round.cost_of_turn(&totals(0, 0)), round.cost_of_turn(&totals(10, 0))), (1_000, 1));
    }

    #[test]
    fn the_top_of_few_domains_is_one_of_a_hundred() {
        let mut histogram = Histogram::default();
        (1..=200).for_each(|supporters| histogram.count(supporters));
        let mut rounds = Rounds::first(RoundBudgets::default(), Time::ZERO);
        rounds.look(&histogram);
        rounds.begin(Time::from_ms(5));
        // two of two hundred: 199 and 200, which share the bucket that begins with 192
        assert_eq!((rounds.now.number, rounds.now.limit, rounds.now.begun), (2, 192, Time::from_ms(5)));
        rounds.look(&Histogram::default());
        assert_eq!(rounds.now.limit, 0);
    }

    #[test]
    fn the_limit_is_looked_up_when_an_eighth_more_supporters_have_come() {
        let mut rounds = Rounds::first(RoundBudgets::default(), Time::ZERO);
        let mut histogram = Histogram::default();
        histogram.count(40);
        let mut looks = Vec::new();
        for heard in 1..=1_000 {
            rounds.hear();
            if rounds.is_look_due() {
                rounds.look(&histogram);
                looks.push(heard);
            }
        }
        assert_eq!((rounds.now.number, rounds.now.limit), (1, 40));
        assert_eq!(looks, [64, 136, 217, 308, 410, 525, 654, 799, 962]);
        let mut few = Histogram::default();
        few.count(3);
        rounds.look(&few);
        assert_eq!(rounds.now.limit, LIMIT_MIN, "three of few are no sign of anything");
        let off = RoundBudgets { are_kept: false, ..RoundBudgets::default() };
        let mut rounds = Rounds::first(off, Time::ZERO);
        (0..100).for_each(|_| rounds.hear());
        assert!(!rounds.is_look_due());
    }
}
