//! Totals of a registrable domain: sums that merges add up.

use crate::frontier::wire::{self, Reader};

/// Flag of a domain of the seeds.
const OF_SEED: u8 = 1;

/// Totals of a domain, or what has come since: two of them are added up, in whatever order they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::frontier) struct DomainTotals {
    /// Pages that were fetched.
    pub pages: u64,
    /// Other domains that link to it.
    pub supporters: u64,
    /// The last round in which anything of it was asked for.
    pub round: u32,
    /// Pages of that round.
    pub used: u64,
    /// Requests for a robots.txt in that round.
    pub asked: u64,
    /// True if a seed belongs to this domain.
    pub is_of_seed: bool,
}

impl DomainTotals {
    /// Totals of this many pages, and of nothing else.
    pub(in crate::frontier) fn of_pages(pages: u64) -> Self {
        DomainTotals { pages, ..DomainTotals::default() }
    }

    /// Returns whether it says nothing.
    pub(in crate::frontier) fn is_nothing(&self) -> bool {
        *self == DomainTotals::default()
    }

    /// Returns whether it says no more than pages.
    pub(in crate::frontier) fn is_plain(&self) -> bool {
        *self == DomainTotals::of_pages(self.pages)
    }

    /// Adds what `other` says. Of two rounds the later one counts.
    pub(in crate::frontier) fn add(&mut self, other: &DomainTotals) {
        self.pages = self.pages.saturating_add(other.pages);
        self.supporters = self.supporters.saturating_add(other.supporters);
        self.is_of_seed |= other.is_of_seed;
        if other.round > self.round {
            (self.round, self.used, self.asked) = (other.round, other.used, other.asked);
        } else if other.round == self.round {
            self.used = self.used.saturating_add(other.used);
            self.asked = self.asked.saturating_add(other.asked);
        }
    }

    /// Takes over what another reading of the same sums says more.
    pub(in crate::frontier) fn raise(&mut self, other: &DomainTotals) {
        self.pages = self.pages.max(other.pages);
        self.supporters = self.supporters.max(other.supporters);
        self.is_of_seed |= other.is_of_seed;
        if other.round > self.round {
            (self.round, self.used, self.asked) = (other.round, other.used, other.asked);
        } else if other.round == self.round {
            (self.used, self.asked) = (self.used.max(other.used), self.asked.max(other.asked));
        }
    }

    /// Counts pages, and requests for a robots.txt, of `round`.
    pub(in crate::frontier) fn use_up(&mut self, round: u32, pages: u64, asked: u64) {
        self.add(&DomainTotals { pages, round, used: pages, asked, ..DomainTotals::default() });
    }

    /// Forgets what was used of rounds before `round`.
    pub(in crate::frontier) fn forget_before(&mut self, round: u32) {
        if self.round < round {
            (self.round, self.used, self.asked) = (0, 0, 0);
        }
    }

    /// Pages, and requests for a robots.txt, of `round`.
    pub(in crate::frontier) fn used_in(&self, round: u32) -> (u64, u64) {
        if self.round == round { (self.used, self.asked) } else { (0, 0) }
    }

    /// Appends all that it says.
    ///
    /// ```text
    /// | flags 1 | pages v | supporters v | round v | used v | asked v |        flags: 1 of a seed
    /// ```
    pub(in crate::frontier) fn put(&self, out: &mut Vec<u8>) {
        out.push(if self.is_of_seed { OF_SEED } else { 0 });
        for number in [self.pages, self.supporters, self.round.into(), self.used, self.asked] {
            wire::put_varint(out, number);
        }
    }

    /// Reads what [`DomainTotals::put`] wrote.
    pub(in crate::frontier) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let flags = reader.u8().filter(|flags| flags & !OF_SEED == 0)?;
        Some(DomainTotals {
            is_of_seed: flags & OF_SEED != 0,
            pages: reader.varint()?,
            supporters: reader.varint()?,
            round: reader.small()?,
            used: reader.varint()?,
            asked: reader.varint()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(rng: &mut fastrand::Rng) -> DomainTotals {
        DomainTotals {
            pages: rng.u64(0..9),
            supporters: rng.u64(0..9),
            round: rng.u32(0..3),
            used: rng.u64(0..9),
            asked: rng.u64(0..9),
            is_of_seed: rng.bool(),
        }
    }

    #[test]
    fn sums_are_the_same_in_whatever_order_and_however_they_are_grouped() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..1_000 {
            let [a, b, c] = [(); 3].map(|()| random(&mut rng));
            let sum = |x: DomainTotals, y: &DomainTotals| {
                let mut sum = x;
                sum.add(y);
                sum
            };
            assert_eq!(sum(a, &b), sum(b, &a), "seed {seed}");
            assert_eq!(sum(sum(a, &b), &c), sum(a, &sum(b, &c)), "seed {seed}");
            let mut bytes = Vec::new();
            a.put(&mut bytes);
            assert_eq!(DomainTotals::read(&mut Reader::new(&bytes)), Some(a));
            assert_eq!(DomainTotals::read(&mut Reader::new(&bytes[..bytes.len() - 1])), None);
        }
    }

    #[test]
    fn a_page_counts_for_its_round_alone_and_for_ever() {
        let mut totals = DomainTotals::default();
        totals.use_up(1, 3, 1);
        totals.use_up(2, 1, 0);
        assert_eq!((totals.pages, totals.used_in(1), totals.used_in(2)), (4, (0, 0), (1, 0)));
        totals.forget_before(3);
        assert!(totals.is_plain() && totals.pages == 4);
    }
}
