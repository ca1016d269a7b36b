//! Numbers that were united, four bytes each (Galler and Fischer, 1964).

use crate::disk::Result;

/// Sets of the numbers below a count.
pub(super) struct Sets {
    /// A number of the same set for each number, which is not greater; the least of a set has itself.
    up: Vec<u32>,
}

impl Sets {
    /// Each number alone.
    pub(crate) fn new(count: u32) -> Sets {
        Sets { up: (0..count).collect() }
    }

    /// The least number of the set of `number`.
    pub(crate) fn least(&mut self, mut number: u32) -> u32 {
        while self.up[number as usize] != number {
            let above = self.up[number as usize];
            self.up[number as usize] = self.up[above as usize];
            number = self.up[number as usize];
        }
        number
    }

    /// Unites the sets of two numbers.
    pub(crate) fn unite(&mut self, first: u32, second: u32) {
        let (first, second) = (self.least(first), self.least(second));
        self.up[first.max(second) as usize] = first.min(second);
    }

    /// Calls `each` with all numbers that are not alone, and the least of their set.
    pub(crate) fn each_united(&mut self, mut each: impl FnMut(u32, u32) -> Result<()>) -> Result<()> {
        let count = self.up.len() as u32;
        let mut has_others = vec![0_u64; self.up.len().div_ceil(64)];
        for number in 0..count {
            let least = self.least(number);
            if least != number {
                has_others[least as usize / 64] |= 1 << (least % 64);
            }
        }
        for number in 0..count {
            let least = self.least(number);
            if least != number || has_others[number as usize / 64] >> (number % 64) & 1 == 1 {
                each(number, least)?;
            }
        }
        Ok(())
    }
}
