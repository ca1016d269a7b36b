//! Figures of the rounds in which domains have their budgets, in a crawl whose budgets follow from supporters.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::text::figures::{count, date, fraction, size};

/// The round that goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundFigures {
    /// 1, 2, 3, ...; of several shards, which have separate rounds, the latest.
    pub number: u32,
    /// Begin of the round, in milliseconds.
    pub begun_ms: u64,
    /// Number of supporters from which on a domain has the most pages; 0 while it is not known.
    pub limit: f64,
    /// Pages of a domain without supporters.
    pub pages_min: u64,
    /// Pages of a domain at the limit, and of domains of the seeds.
    pub pages_max: u64,
    /// Hosts in memory that wait for the next round.
    pub resting_hosts: u64,
    /// True if hosts or URLs wait for the next round, in memory or on disk.
    pub has_resting: bool,
    /// Pairs of domains of which one links to the other.
    pub pairs: u64,
    /// Bytes of them on disk.
    pub pairs_bytes: u64,
}

impl RoundFigures {
    /// The round in a row.
    pub fn row(&self) -> String {
        let most = match self.limit {
            0.0 => format!("at most {} pages of a domain", count(self.pages_min)),
            limit => format!(
                "{} to {} pages of a domain, the most from {} supporters on",
                count(self.pages_min),
                count(self.pages_max),
                fraction(limit)
            ),
        };
        let rests = match (self.resting_hosts, self.has_resting) {
            (0, false) => String::new(),
            (0, true) => "; hosts wait for the next one".to_owned(),
            (hosts, _) => format!("; {} hosts in memory wait for the next one", count(hosts)),
        };
        let (pairs, bytes) = (count(self.pairs), size(self.pairs_bytes));
        let since = date(Time::from_ms(self.begun_ms));
        format!("{} since {since}: {most}{rests}; {pairs} links between domains, {bytes}", self.number)
    }
}

impl AddAssign<&RoundFigures> for RoundFigures {
    fn add_assign(&mut self, other: &RoundFigures) {
        let RoundFigures {
            number,
            begun_ms,
            limit,
            pages_min,
            pages_max,
            resting_hosts,
            has_resting,
            pairs,
            pairs_bytes,
        } = other;
        self.number = self.number.max(*number);
        self.begun_ms = self.begun_ms.max(*begun_ms);
        self.limit = self.limit.max(*limit);
        self.pages_min = self.pages_min.max(*pages_min);
        self.pages_max = self.pages_max.max(*pages_max);
        self.resting_hosts += resting_hosts;
        self.has_resting |= has_resting;
        self.pairs += pairs;
        self.pairs_bytes += pairs_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_told_in_a_row_and_shards_are_added_up() {
        let first = RoundFigures { number: 1, pages_min: 10, pages_max: 10_000, ..RoundFigures::default() };
        assert_eq!(
            first.row(),
            "1 since 1970-01-01 00:00:00 UTC: at most 10 pages of a domain; 0 links between domains, 0 B"
        );
        let mut all = RoundFigures { limit: 312.0, resting_hosts: 1_200, pairs: 7, pairs_bytes: 35, ..first };
        assert_eq!(
            all.row(),
            "1 since 1970-01-01 00:00:00 UTC: 10 to 10,000 pages of a domain, the most from 312 supporters on; \
             1,200 hosts in memory wait for the next one; 7 links between domains, 35 B"
        );
        all += &RoundFigures { number: 3, has_resting: true, resting_hosts: 0, ..all };
        assert_eq!((all.number, all.resting_hosts, all.pairs, all.has_resting), (3, 1_200, 14, true));
        assert_eq!(
            RoundFigures { resting_hosts: 0, ..all }.row().split(';').nth(1),
            Some(" hosts wait for the next one")
        );
    }
}
