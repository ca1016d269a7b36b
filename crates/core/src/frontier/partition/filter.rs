//! A small Bloom filter of fingerprints: which origins and domains may be in a tail or a base.
//!
//! "No" is certain, "perhaps" may be wrong: the URL then takes the way over the disk, which is never false, only
//! slower. All bits of a key are in one line of 64 bytes: a filter is asked for every URL that comes in, and what that
//! costs are the lines that have to come from memory. Fingerprints are mixed already: two multiplications make the
//! hashes.

use crate::fingerprint::Fingerprint;

const PROBES: usize = 5;
const BITS_PER_KEY: usize = 10;
/// Words of a line, and the bits that choose one of its bits.
const LINE_WORDS: usize = 8;
const BIT_BITS: usize = 9;

/// A set that may say yes wrongly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::frontier) struct Filter {
    /// Whole lines; nothing as long as nothing was inserted, since most partitions of a small crawl stay empty.
    words: Vec<u64>,
    /// Number of words when there are any.
    length: usize,
}

/// The key of a domain in a filter, apart from those of origins.
pub(in crate::frontier) fn domain_key(domain: Fingerprint) -> Fingerprint {
    Fingerprint::from_bits(domain.bits().rotate_left(17) ^ 0x5851_f42d_4c95_7f2d)
}

impl Filter {
    /// An empty filter of about `bytes`.
    pub(in crate::frontier) fn with_bytes(bytes: usize) -> Self {
        Filter { words: Vec::new(), length: bytes.div_ceil(8 * LINE_WORDS).max(1) * LINE_WORDS }
    }

    /// An empty filter for `keys`, of at most `bytes_max`.
    pub(super) fn for_keys(keys: usize, bytes_max: usize) -> Self {
        Filter::with_bytes((keys.saturating_mul(BITS_PER_KEY) / 8 + 8).min(bytes_max))
    }

    fn probes(&self, key: Fingerprint) -> [(usize, u64); PROBES] {
        let lines = (self.length / LINE_WORDS) as u64;
        let hash = key.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Another multiplication for the bits, so that keys of a line do not share them.
        let line = ((u128::from(hash) * u128::from(lines)) >> 64) as usize * LINE_WORDS;
        let bits = key.bits().wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(32);
        std::array::from_fn(|n| {
            let bit = (bits >> (n * BIT_BITS)) as usize % (64 * LINE_WORDS);
            (line + bit / 64, 1 << (bit % 64))
        })
    }

    pub(in crate::frontier) fn insert(&mut self, key: Fingerprint) {
        if self.length > 0 {
            let probes = self.probes(key);
            let words = self.words_mut();
            probes.into_iter().for_each(|(word, bit)| words[word] |= bit);
        }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self.words.resize(self.length, 0);
        &mut self.words
    }

    /// Returns whether `key` may have been inserted. An empty default filter holds nothing.
    pub(in crate::frontier) fn may_hold(&self, key: Fingerprint) -> bool {
        !self.words.is_empty() && self.probes(key).iter().all(|&(word, bit)| self.words[word] & bit != 0)
    }

    /// Adds everything of `other`; of another size, it makes this one say yes to all.
    pub(in crate::frontier) fn join(&mut self, other: &Filter) {
        if other.is_clear() {
            return;
        }
        match self.length == other.length {
            true => self.words_mut().iter_mut().zip(&other.words).for_each(|(mine, theirs)| *mine |= theirs),
            false => self.words_mut().fill(u64::MAX),
        }
    }

    pub(in crate::frontier) fn is_clear(&self) -> bool {
        self.words.is_empty()
    }

    pub(in crate::frontier) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(8 * self.length, 0);
        bytes
    }

    pub(in crate::frontier) fn from_bytes(bytes: &[u8]) -> Self {
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let mut words: Vec<u64> = bytes.chunks(8).map(word).collect();
        // Anything else was not written by us: it may hold everything.
        words.resize(words.len().next_multiple_of(LINE_WORDS), u64::MAX);
        let length = words.len();
        if words.iter().all(|&word| word == 0) {
            words.clear();
        }
        Filter { words, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_never_forgets_and_rarely_errs() {
        let mut rng = fastrand::Rng::with_seed(5);
        let keys: Vec<_> = (0..10_000).map(|_| Fingerprint::from_bits(rng.u64(..))).collect();
        let mut filter = Filter::for_keys(keys.len(), 1 << 20);
        keys.iter().for_each(|&key| filter.insert(key));
        let filter = Filter::from_bytes(&filter.to_bytes());
        assert!(keys.iter().all(|&key| filter.may_hold(key)));
        let wrong = (0..10_000).filter(|_| filter.may_hold(Fingerprint::from_bits(rng.u64(..)))).count();
        assert!(wrong < 300, "{wrong} of 10,000");
    }

    #[test]
    fn joining_keeps_both_sides() {
        let (mut a, mut b) = (Filter::with_bytes(64), Filter::with_bytes(64));
        let [x, y] = [1 << 40 | 7, 99 << 33].map(Fingerprint::from_bits);
        a.insert(x);
        b.insert(y);
        a.join(&b);
        assert!(a.may_hold(x) && a.may_hold(y));
        let mut small = Filter::with_bytes(8);
        small.join(&b);
        assert!(small.may_hold(y));
    }
}
