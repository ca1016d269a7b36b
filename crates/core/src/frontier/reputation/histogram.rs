//! A histogram of domains by the number of their supporters, in buckets that grow with the numbers.
//!
//! Log-linear: up to [`EXACT`] a bucket a number, above that eight buckets for each doubling, so that the least number
//! of a bucket is at most an eighth below the greatest. That is exact enough to find the limit of the top N, and takes
//! no more than 500 counts whatever the numbers are.

use crate::frontier::wire::{self, Reader};

/// Numbers below it have a bucket each.
const EXACT: u64 = 16;
/// Bits of a number behind its first one that choose the bucket.
const SUB_BITS: u32 = 3;

/// Counts of domains by their supporters; those without any are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::frontier) struct Histogram(Vec<u64>);

/// The bucket of a number.
fn bucket(number: u64) -> usize {
    if number < EXACT {
        return number as usize;
    }
    let exponent = number.ilog2();
    let sub = number >> (exponent - SUB_BITS) & ((1 << SUB_BITS) - 1);
    (EXACT + u64::from(exponent - EXACT.ilog2()) * (1 << SUB_BITS) + sub) as usize
}

/// The least number of a bucket.
fn least(bucket: usize) -> u64 {
    let Some(above) = (bucket as u64).checked_sub(EXACT) else { return bucket as u64 };
    let exponent = EXACT.ilog2() + (above >> SUB_BITS) as u32;
    (1 << exponent) + ((above & ((1 << SUB_BITS) - 1)) << (exponent - SUB_BITS))
}

impl Histogram {
    /// Counts a domain with this many supporters.
    pub(in crate::frontier) fn count(&mut self, supporters: u64) {
        if supporters == 0 {
            return;
        }
        let bucket = bucket(supporters);
        if self.0.len() <= bucket {
            self.0.resize(bucket + 1, 0);
        }
        self.0[bucket] += 1;
    }

    /// Adds the counts of another one.
    pub(in crate::frontier) fn add(&mut self, other: &Histogram) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Domains that have supporters.
    pub(in crate::frontier) fn domains(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the number of supporters from which on a domain is one of the `top`: the least number of the bucket that
    /// has the last of them; `None` where no domain has any.
    pub(in crate::frontier) fn limit(&self, top: u64) -> Option<u64> {
        let mut above = 0;
        let of_top = |(bucket, &count): (usize, &u64)| {
            above += count;
            (count > 0 && above >= top.max(1)).then(|| least(bucket))
        };
        let found = self.0.iter().enumerate().rev().find_map(of_top);
        found.or_else(|| self.0.iter().position(|&count| count > 0).map(least))
    }

    /// Appends the counts that are not zero.
    pub(in crate::frontier) fn put(&self, out: &mut Vec<u8>) {
        let counts = || self.0.iter().enumerate().filter(|&(_, &count)| count > 0);
        wire::put_varint(out, counts().count() as u64);
        for (bucket, &count) in counts() {
            wire::put_varint(out, bucket as u64);
            wire::put_varint(out, count);
        }
    }

    /// Reads what [`Histogram::put`] wrote.
    pub(in crate::frontier) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut counts = Vec::new();
        for _ in 0..reader.varint()? {
            let at: usize = reader.small::<usize>().filter(|&at| at <= bucket(u64::MAX))?;
            if counts.len() <= at {
                counts.resize(at + 1, 0);
            }
            counts[at] = reader.varint()?;
        }
        Some(Histogram(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_bucket_whose_least_number_is_at_most_an_eighth_below_it() {
        let numbers = (0..1_000).chain((0..64).flat_map(|bit| [1_u64 << bit, (1_u64 << bit) - 1])).chain([u64::MAX]);
        for number in numbers {
            let least = least(bucket(number));
            assert!(least <= number && number - least <= number / 8, "{number}: {least}");
        }
        assert!((0..bucket(u64::MAX)).all(|bucket| least(bucket) < least(bucket + 1)));
        assert!(bucket(u64::MAX) < 500);
    }

    #[test]
    fn the_limit_of_the_top_is_that_of_a_sort_but_for_the_width_of_a_bucket() {
        let seed = fastrand::u64(..);
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut numbers: Vec<u64> = (0..3_000).map(|_| 1 + (1.0 / rng.f64().max(1e-6)).powf(1.3) as u64).collect();
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|&number| histogram.count(number));
        histogram.count(0);
        assert_eq!(histogram.domains(), 3_000);
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        for top in [1, 2, 10, 100, 2_999, 3_000] {
            let (sorted, found) = (numbers[top - 1], histogram.limit(top as u64).unwrap());
            assert!(found <= sorted && sorted - found <= sorted / 8, "top {top}: {found} for {sorted}, seed {seed}");
        }
        assert_eq!(histogram.limit(9_000), numbers.last().copied(), "there are fewer");
        assert_eq!(Histogram::default().limit(1), None);
        let mut bytes = Vec::new();
        histogram.put(&mut bytes);
        assert_eq!(Histogram::read(&mut Reader::new(&bytes)), Some(histogram));
    }
}
