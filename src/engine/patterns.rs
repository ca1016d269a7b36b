//! How many URLs of one pattern an origin has had: the budget that ends calendars.
//!
//! Every new URL with a [`pattern`] is counted, by origin and pattern together, in a count-min sketch with conservative
//! update (Cormode and Muthukrishnan 2005; Estan and Varghese 2002): a fixed amount of memory, whatever the number of
//! patterns, and a count that is never too low. It is too high only where all four cells of a pattern are shared with
//! larger ones.
//!
//! A sketch that is never aged fills: after some billions of patterned URLs all cells of a new pattern have been used
//! by others, and its first URL is dropped. So all counts are halved when an eighth of the cells is at half of the
//! limit or beyond: four cells of a pattern are all shared with such ones in one of 4,096 cases then, and in fewer
//! before. As no cell counts further than twice the limit, a pattern that goes on for ever stays closed over one
//! halving; one that has been quiet for two gets half of its budget again. That is the price: of `n` patterns that are
//! exhausted, and go on, some 16,000 stay closed at a time.
//!
//! Places are taken from a fingerprint by the crawl's own polynomial, so that nobody can aim at the
//! pattern of somebody else. The sketch is part of every checkpoint.

use std::sync::Arc;

use crate::frontier::QueuedUrl;
use crate::varint;
use crate::web::pattern::pattern;
use crate::web::url::KeyMaker;

const ROWS: usize = 4;
const ROW_BITS: u32 = 17;
const CELLS: usize = ROWS << ROW_BITS;
/// So many cells at half of the limit are saturation.
const CROWD: usize = CELLS / 8;
/// Odd numbers, one a row (digits of pi), that spread a hash over its row.
const SPREAD: [u64; ROWS] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89];

/// The budget and what is used of it.
pub struct PatternBudget {
    keys: Arc<KeyMaker>,
    /// URLs that an origin may have of one pattern.
    limit: Option<u64>,
    /// Nothing until the first pattern is met, then all cells: 2 MiB.
    cells: Vec<u32>,
    /// Cells at half of the limit or beyond.
    crowded: usize,
}

impl PatternBudget {
    /// A budget of `limit` URLs a pattern, with what `saved` (from [`PatternBudget::encode`]) says was used; `None` for
    /// bytes that are something else.
    pub fn open(keys: Arc<KeyMaker>, limit: Option<u64>, saved: &[u8]) -> Option<Self> {
        let mut budget = PatternBudget { keys, limit: None, cells: decode(saved)?, crowded: 0 };
        budget.limit(limit);
        Some(budget)
    }

    /// Another limit from now on. What was met while there was none was not counted.
    pub fn limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
        let half = self.half();
        self.crowded = self.cells.iter().filter(|&&cell| cell >= half).count();
    }

    /// Half of the limit, from which on a cell is saturated.
    fn half(&self) -> u32 {
        let limit = self.limit.unwrap_or(u64::MAX);
        u32::try_from(limit.div_ceil(2).max(1)).unwrap_or(u32::MAX)
    }

    /// What a cell counts to.
    fn most(&self) -> u32 {
        let limit = self.limit.unwrap_or(u64::MAX);
        u32::try_from(limit.saturating_mul(2)).unwrap_or(u32::MAX).max(1)
    }

    /// Halves all counts.
    fn age(&mut self) {
        self.cells.iter_mut().for_each(|cell| *cell /= 2);
        self.limit(self.limit);
    }

    /// Counts `url`, and says whether the budget of its pattern has room for it. Seeds always have.
    pub fn admits(&mut self, url: &QueuedUrl) -> bool {
        let Some(limit) = self.limit else { return true };
        if url.hops.as_str().is_empty() {
            return true;
        }
        let Some(pattern) = pattern(&url.url) else { return true };
        let hash = self.keys.of(&pattern).bits().rotate_left(32) ^ url.origin.bits();
        u64::from(self.count(hash)) <= limit
    }

    /// Adds one to the count of `hash`, and says what it is now.
    fn count(&mut self, hash: u64) -> u32 {
        if self.cells.is_empty() {
            self.cells.resize(CELLS, 0);
        }
        let places = std::array::from_fn::<_, ROWS, _>(|row| {
            let spread = hash.wrapping_mul(SPREAD[row]) >> (64 - ROW_BITS);
            row << ROW_BITS | usize::try_from(spread).expect("a place in a row is small")
        });
        let least = places.iter().map(|&place| self.cells[place]).min().unwrap_or(0);
        let (more, half) = (least.saturating_add(1), self.half());
        if least < self.most() {
            for place in places {
                if self.cells[place] == least {
                    self.cells[place] = more;
                    self.crowded += usize::from(more == half);
                }
            }
            while self.crowded > CROWD {
                self.age();
            }
        }
        more
    }

    /// Appends what was counted: for each cell that is not zero how many zeros come before it, and its count, as
    /// LEB128.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut zeros = 0;
        for &cell in &self.cells {
            if cell == 0 {
                zeros += 1;
            } else {
                varint::push(zeros, out);
                varint::push(cell.into(), out);
                zeros = 0;
            }
        }
    }
}

fn decode(bytes: &[u8]) -> Option<Vec<u32>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut cells = vec![0; CELLS];
    let (mut at, mut place) = (0, 0_usize);
    while at < bytes.len() {
        place = place.checked_add(usize::try_from(varint::read(bytes, &mut at)?).ok()?)?;
        *cells.get_mut(place)? = u32::try_from(varint::read(bytes, &mut at)?).ok()?;
        place += 1;
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::route::queued;
    use crate::fingerprint::Fingerprinter;
    use crate::frontier::Hops;
    use crate::web::url::CanonicalUrl;

    fn keys() -> Arc<KeyMaker> {
        Arc::new(KeyMaker::new(Fingerprinter::random(5), &[]))
    }

    fn link(keys: &KeyMaker, url: &str) -> QueuedUrl {
        let url = CanonicalUrl::parse(url).unwrap();
        QueuedUrl { hops: Hops::default().then('L'), ..queued(url.as_str(), keys.keys(&url)) }
    }

    #[test]
    fn a_calendar_ends_with_its_budget_and_nothing_else_does() {
        let keys = keys();
        let mut budget = PatternBudget::open(keys.clone(), Some(100), &[]).unwrap();
        let days = (0..300).filter(|day| budget.admits(&link(&keys, &format!("http://a/{}/{day}", day / 30)))).count();
        assert_eq!(days, 100);
        let articles = (0..300).filter(|n| budget.admits(&link(&keys, &format!("http://a/article/{n}")))).count();
        let others = (0..300).filter(|n| budget.admits(&link(&keys, &format!("http://b{n}/1/2")))).count();
        let seeds = (0..300).filter(|n| {
            let url = CanonicalUrl::parse(&format!("http://a/1/{n}")).unwrap();
            budget.admits(&queued(url.as_str(), keys.keys(&url)))
        });
        assert_eq!((articles, others, seeds.count()), (300, 300, 300));
        let mut unlimited = PatternBudget::open(keys.clone(), None, &[]).unwrap();
        assert!((0..300).all(|day| unlimited.admits(&link(&keys, &format!("http://a/1/{day}")))));
    }

    #[test]
    fn a_million_patterns_do_not_use_up_the_budget_of_each_other() {
        let keys = keys();
        let mut budget = PatternBudget::open(keys, Some(1_000), &[]).unwrap();
        let mut random = fastrand::Rng::with_seed(11);
        let over = (0..1_000_000).filter(|_| budget.count(random.u64(..)) > 1_000).count();
        assert_eq!(over, 0);
        assert!((0..500).all(|n| budget.count(99) >= n));
    }

    #[test]
    fn n27_new_patterns_find_room_however_many_there_were() {
        let mut budget = PatternBudget::open(keys(), Some(3), &[]).unwrap();
        let mut random = fastrand::Rng::with_seed(5);
        let mut dropped = 0;
        for n in 0..3_000_000_u32 {
            // each pattern has one URL, which is far below the limit
            let admitted = budget.count(random.u64(..)) <= 3;
            dropped += u32::from(!admitted && n >= 2_000_000);
        }
        assert!(dropped < 2_000, "{dropped} of the last million new patterns were dropped");
    }

    #[test]
    fn n27_a_pattern_that_goes_on_for_ever_stays_closed_while_others_come_and_go() {
        let (mut budget, limit) = (PatternBudget::open(keys(), Some(20), &[]).unwrap(), 20);
        let mut random = fastrand::Rng::with_seed(9);
        let (mut admitted, mut asked) = (0, 0);
        for n in 0..4_000_000_u32 {
            let used = budget.count(random.u64(..200_000) << 40 | 5);
            let _ = used;
            if n % 50 == 0 {
                asked += 1;
                admitted += u32::from(budget.count(77) <= limit);
            }
        }
        assert!(admitted <= 2 * limit, "{admitted} of {asked}");
    }

    #[test]
    fn what_was_used_comes_back_from_its_bytes_and_other_bytes_are_refused() {
        let keys = keys();
        let mut budget = PatternBudget::open(keys.clone(), Some(3), &[]).unwrap();
        assert!((0..3).all(|n| budget.admits(&link(&keys, &format!("http://a/1/{n}")))));
        let mut bytes = Vec::new();
        budget.encode(&mut bytes);
        let mut again = PatternBudget::open(keys.clone(), Some(3), &bytes).unwrap();
        assert_eq!(again.cells, budget.cells);
        assert!(!again.admits(&link(&keys, "http://a/1/9")));
        for broken in [&bytes[..bytes.len() - 1], &[0xff; 9], &[0xff, 0xff, 0x7f, 1]] {
            assert!(PatternBudget::open(keys.clone(), None, broken).is_none());
        }
    }
}
