//! A count for each of any number of things, in a fixed amount of memory: a count-min sketch with conservative update
//! (Cormode and Muthukrishnan 2005; Estan and Varghese 2002).
//!
//! A count is never too low, but for what ageing takes. It is too high only where all four cells of a thing are shared
//! with larger ones.
//!
//! A sketch that is never aged fills: after some billions of things all cells of a new one have been used by others,
//! and its first count is beyond the limit. So all counts are halved when an eighth of the cells is at half of the
//! limit or beyond: four cells of a thing are all shared with such ones in one of 4,096 cases then, and in fewer
//! before. As no cell counts further than twice the limit, a thing that goes on for ever stays beyond the limit over
//! one halving; one that has been quiet for two gets half of its budget again. That is the price: of `n` things that
//! are exhausted, and go on, some 16,000 stay closed at a time.

use crate::varint;

const ROWS: usize = 4;
const ROW_BITS: u32 = 17;
const CELLS: usize = ROWS << ROW_BITS;
/// Number of cells at half of the limit that are saturation.
const CROWD: usize = CELLS / 8;
/// Odd numbers, one a row (digits of pi), that spread a hash over its row.
const SPREAD: [u64; ROWS] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89];

/// The counts.
pub(super) struct Sketch {
    /// The largest count that a thing may have.
    limit: Option<u64>,
    /// Nothing until the first thing is counted, then all cells: 2 MiB.
    cells: Vec<u32>,
    /// Cells at half of the limit or beyond.
    crowded: usize,
}

impl Sketch {
    /// Counts towards `limit`, from what `saved` (from [`Sketch::encode`]) says; `None` for bytes that are something
    /// else.
    pub(crate) fn open(limit: Option<u64>, saved: &[u8]) -> Option<Self> {
        let mut sketch = Sketch { limit: None, cells: decode(saved)?, crowded: 0 };
        sketch.set_limit(limit);
        Some(sketch)
    }

    /// The largest count that a thing may have.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Another limit from now on.
    pub(crate) fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
        let half = self.half();
        self.crowded = self.cells.iter().filter(|&&cell| cell >= half).count();
    }

    /// Half of the limit, from which on a cell is saturated.
    fn half(&self) -> u32 {
        let limit = self.limit.unwrap_or(u64::MAX);
        u32::try_from(limit.div_ceil(2).max(1)).unwrap_or(u32::MAX)
    }

    /// Returns the value at which a cell stops counting.
    fn most(&self) -> u32 {
        let limit = self.limit.unwrap_or(u64::MAX);
        u32::try_from(limit.saturating_mul(2)).unwrap_or(u32::MAX).max(1)
    }

    /// Halves all counts.
    fn age(&mut self) {
        self.cells.iter_mut().for_each(|cell| *cell /= 2);
        self.set_limit(self.limit);
    }

    /// Adds one to the count of `hash`, and says what it is now.
    pub(crate) fn count(&mut self, hash: u64) -> u32 {
        if self.cells.is_empty() {
            // zeros that the system gives when they are touched
            self.cells = vec![0; CELLS];
        }
        let places = places(hash);
        let least = self.least(places);
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

    /// The count of `hash`.
    pub(crate) fn counted(&self, hash: u64) -> u32 {
        if self.cells.is_empty() { 0 } else { self.least(places(hash)) }
    }

    fn least(&self, places: [usize; ROWS]) -> u32 {
        places.iter().map(|&place| self.cells[place]).min().unwrap_or(0)
    }

    /// Appends what was counted: for each cell that is not zero how many zeros come before it, and its count, as
    /// LEB128.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
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

/// The cells of `hash`, one in each row.
fn places(hash: u64) -> [usize; ROWS] {
    std::array::from_fn(|row| {
        let spread = hash.wrapping_mul(SPREAD[row]) >> (64 - ROW_BITS);
        row << ROW_BITS | usize::try_from(spread).expect("a place in a row is small")
    })
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

    #[test]
    fn a_million_things_do_not_use_up_the_budget_of_each_other() {
        let mut sketch = Sketch::open(Some(1_000), &[]).unwrap();
        let mut random = fastrand::Rng::with_seed(11);
        let over = (0..1_000_000).filter(|_| sketch.count(random.u64(..)) > 1_000).count();
        assert_eq!(over, 0);
        assert!((0..500).all(|n| sketch.count(99) >= n));
    }

    #[test]
    fn n27_new_things_find_room_however_many_there_were() {
        let mut sketch = Sketch::open(Some(3), &[]).unwrap();
        let mut random = fastrand::Rng::with_seed(5);
        let mut dropped = 0;
        for n in 0..3_000_000_u32 {
            // each was met once, which is far below the limit
            let admitted = sketch.count(random.u64(..)) <= 3;
            dropped += u32::from(!admitted && n >= 2_000_000);
        }
        assert!(dropped < 2_000, "{dropped} of the last million new things were dropped");
    }

    #[test]
    fn n27_what_goes_on_for_ever_stays_closed_while_others_come_and_go() {
        let (mut sketch, limit) = (Sketch::open(Some(20), &[]).unwrap(), 20);
        let mut random = fastrand::Rng::with_seed(9);
        let (mut admitted, mut asked) = (0, 0);
        for n in 0..4_000_000_u32 {
            let used = sketch.count(random.u64(..200_000) << 40 | 5);
            let _ = used;
            if n % 50 == 0 {
                asked += 1;
                admitted += u32::from(sketch.count(77) <= limit);
            }
        }
        assert!(admitted <= 2 * limit, "{admitted} of {asked}");
    }

    #[test]
    fn counts_come_back_from_their_bytes_and_other_bytes_are_refused() {
        let mut sketch = Sketch::open(Some(3), &[]).unwrap();
        assert_eq!(sketch.counted(7), 0);
        assert_eq!([sketch.count(7), sketch.count(7), sketch.counted(7), sketch.counted(8)], [1, 2, 2, 0]);
        let mut bytes = Vec::new();
        sketch.encode(&mut bytes);
        let again = Sketch::open(Some(3), &bytes).unwrap();
        assert_eq!(again.cells, sketch.cells);
        for broken in [&bytes[..bytes.len() - 1], &[0xff; 9], &[0xff, 0xff, 0x7f, 1]] {
            assert!(Sketch::open(None, broken).is_none());
        }
    }
}
