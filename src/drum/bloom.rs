//! A scalable blocked Bloom filter: says for certain that a key is new, in about one cache miss a slice.
//!
//! A filter of m bits with k bits a key that holds n keys takes a foreign key for one of its own with probability
//! p = (1 - e^(-kn/m))^k. For given n and p the smallest is
//!
//! ```text
//! m = -n ln p / (ln 2)^2        k = m/n ln 2
//! ```
//!
//! (Bloom 1970). All k bits of a key lie in one block of 512 bits, a cache line (Putze, Sanders, Singler 2007). Blocks
//! fill unevenly, so such a filter errs more often: with n/m * 512 keys a block on average, Poisson distributed,
//! p = sum over i of P(i) (1 - (1 - 1/512)^(ik))^k. A slice is made as many bits larger as this needs.
//!
//! When the keys to come are not known, one filter is not enough (Almeida and others 2007): a *slice* that holds its n
//! is followed by one of four times the n and half the p. The first has p/2, so all together stay below p. Under a
//! memory ceiling the last slice takes what is left, is laid out for what the others leave of p, and then keeps filling:
//! positives become more frequent, a negative is never wrong.

use crate::fingerprint::Fingerprint;

use super::lines::{Lines, WORDS, place_among};

const BLOCK_BITS: u64 = 512;
const BLOCK_BYTES: usize = WORDS * 8;
/// Keys of the first slice: 1.7 MB at 1 %.
const FIRST_KEYS: u64 = 1 << 20;
const GROWTH: u64 = 4;
const TIGHTENING: f64 = 0.5;
const K_MAX: u32 = 24;

/// The filter.
#[derive(Debug)]
pub struct Bloom {
    slices: Vec<Slice>,
    memory_max: usize,
    fpr: f64,
    /// What the next slice is to hold, and how well.
    next_keys: u64,
    next_fpr: f64,
    /// Whether the last slice is the last for good.
    at_ceiling: bool,
}

impl Bloom {
    /// A filter of at most about `memory_max` bytes that takes at most the share `fpr` of foreign keys for its own, as
    /// long as memory lasts.
    pub fn new(memory_max: usize, fpr: f64) -> Self {
        Bloom::with_room(memory_max, fpr, 0)
    }

    /// As [`Bloom::new`], the first slice with room for `keys`.
    pub fn with_room(memory_max: usize, fpr: f64, keys: u64) -> Self {
        let fpr = fpr.clamp(1e-9, 0.5);
        let mut bloom = Bloom {
            slices: Vec::new(),
            memory_max: memory_max.max(BLOCK_BYTES),
            fpr,
            next_keys: keys.max(FIRST_KEYS),
            next_fpr: fpr * (1.0 - TIGHTENING),
            at_ceiling: false,
        };
        bloom.grow();
        bloom
    }

    /// Adds `key` and says whether it may have been there before: `false` is certain.
    pub fn insert(&mut self, key: Fingerprint) -> bool {
        let probe = Probe::new(key);
        if self.slices.iter().any(|slice| slice.contains(probe)) {
            return true;
        }
        let last = self.slices.last_mut().expect("a filter has a slice");
        last.insert(probe);
        if last.keys >= last.keys_max && !self.at_ceiling {
            self.grow();
        }
        false
    }

    /// Whether `key` may have been added: `false` is certain.
    pub fn contains(&self, key: Fingerprint) -> bool {
        let probe = Probe::new(key);
        self.slices.iter().any(|slice| slice.contains(probe))
    }

    /// Keys that were added and not taken for others.
    pub fn len(&self) -> u64 {
        self.slices.iter().map(|slice| slice.keys).sum()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.slices.iter().map(Slice::bytes).sum()
    }

    /// Number of slices.
    pub fn slices(&self) -> usize {
        self.slices.len()
    }

    /// The share of foreign keys that are taken for own ones now, by the formula.
    pub fn expected_fpr(&self) -> f64 {
        let pass: f64 =
            self.slices.iter().map(|slice| 1.0 - blocked_fpr(slice.bits(), slice.k, slice.keys as f64)).product();
        1.0 - pass
    }

    /// Gives the blocks of `key` a reason to be in the cache.
    #[inline]
    pub(super) fn touch(&self, key: Fingerprint) -> u64 {
        let probe = Probe::new(key);
        self.slices.iter().fold(0, |sum, slice| sum ^ slice.blocks.line(slice.block_of(probe))[0])
    }

    /// Adds the next slice. Where memory does not allow another one after it, it takes all that is left and is the
    /// last; where there is less left than the slice before it has, that one is the last.
    fn grow(&mut self) {
        let room = self.memory_max.saturating_sub(self.bytes());
        let (bits, k) = shape(self.next_keys, self.next_fpr);
        let wanted = usize::try_from(bits / 8).unwrap_or(usize::MAX);
        if wanted.saturating_mul(2) <= room {
            self.slices.push(Slice::new(bits, k, self.next_keys));
        } else {
            self.at_ceiling = true;
            let last_bytes = self.slices.last().map_or(0, Slice::bytes);
            if room >= last_bytes.max(BLOCK_BYTES) {
                let bits = room as u64 / BLOCK_BYTES as u64 * BLOCK_BITS;
                let keys = keys_at(bits, self.fpr_left());
                self.slices.push(Slice::new(bits, optimal_k(bits, keys), keys));
            }
        }
        self.next_keys = self.next_keys.saturating_mul(GROWTH);
        self.next_fpr *= TIGHTENING;
    }

    /// What the slices that are full leave of the rate of false positives to the last one.
    fn fpr_left(&self) -> f64 {
        (self.fpr - self.expected_fpr()).max(self.fpr / 2.0)
    }
}

/// How many keys a blocked filter of `bits` bits holds at the rate `fpr`.
fn keys_at(bits: u64, fpr: f64) -> u64 {
    let holds = |keys: u64| blocked_fpr(bits, optimal_k(bits, keys), keys as f64) <= fpr;
    let (mut below, mut above) = (1, bits.max(2));
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if holds(middle) { below = middle } else { above = middle }
    }
    below
}

/// m and k of a blocked filter for `keys` keys.
fn shape(keys: u64, fpr: f64) -> (u64, u32) {
    let mut bits = -(keys as f64) * fpr.ln() / std::f64::consts::LN_2.powi(2);
    loop {
        let whole = (bits / BLOCK_BITS as f64).ceil() as u64 * BLOCK_BITS;
        let k = optimal_k(whole, keys);
        // beyond 64 bits a key more bits help nobody
        if blocked_fpr(whole, k, keys as f64) <= fpr || whole / keys.max(1) >= 64 {
            return (whole, k);
        }
        bits *= 1.03;
    }
}

fn optimal_k(bits: u64, keys: u64) -> u32 {
    let k = (bits as f64 / keys.max(1) as f64 * std::f64::consts::LN_2).round();
    (k as u32).clamp(1, K_MAX)
}

/// The rate of false positives of a blocked filter of `bits` bits with `k` bits a key that holds `keys` keys.
fn blocked_fpr(bits: u64, k: u32, keys: f64) -> f64 {
    let mean = keys * BLOCK_BITS as f64 / bits as f64;
    // the terms within 12 standard deviations; logarithms, for e^-mean may underflow
    let reach = 12.0 * mean.sqrt() + 12.0;
    let (from, to) = ((mean - reach).max(0.0) as u64, (mean + reach) as u64);
    let mut log_term = -mean + (1..=from).map(|i| (mean / i as f64).ln()).sum::<f64>();
    let mut rate = 0.0;
    for i in from..=to {
        let set = 1.0 - (1.0 - 1.0 / BLOCK_BITS as f64).powf(i as f64 * f64::from(k));
        rate += log_term.exp() * set.powi(k as i32);
        log_term += if mean > 0.0 { (mean / (i + 1) as f64).ln() } else { f64::NEG_INFINITY };
    }
    rate.min(1.0)
}

/// The hashes of a key: one number chooses the block, others the bits in it.
#[derive(Clone, Copy)]
struct Probe {
    block: u64,
    bits: u64,
}

impl Probe {
    fn new(key: Fingerprint) -> Self {
        let bits = key.bits();
        Probe { block: bits, bits: remix(bits) }
    }
}

/// Another number from the same bits, independent of the top ones, which choose the block (MurmurHash3's finaliser).
fn remix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}

#[derive(Debug)]
struct Slice {
    blocks: Lines,
    count: usize,
    k: u32,
    keys: u64,
    keys_max: u64,
}

impl Slice {
    fn new(bits: u64, k: u32, keys_max: u64) -> Self {
        let count = (bits / BLOCK_BITS).max(1) as usize;
        Slice { blocks: Lines::new(count), count, k, keys: 0, keys_max }
    }

    fn bits(&self) -> u64 {
        self.count as u64 * BLOCK_BITS
    }

    fn bytes(&self) -> usize {
        self.count * BLOCK_BYTES
    }

    #[inline]
    fn block_of(&self, probe: Probe) -> usize {
        place_among(probe.block, self.count)
    }

    #[inline]
    fn contains(&self, probe: Probe) -> bool {
        let block = self.blocks.line(self.block_of(probe));
        bit_numbers(probe, self.k).all(|bit| block[bit / 64] >> (bit % 64) & 1 == 1)
    }

    fn insert(&mut self, probe: Probe) {
        let block = self.blocks.line_mut(self.block_of(probe));
        bit_numbers(probe, self.k).for_each(|bit| block[bit / 64] |= 1 << (bit % 64));
        self.keys += 1;
    }
}

/// The `k` bits of a key in its block, nine bits of hash each.
fn bit_numbers(probe: Probe, k: u32) -> impl Iterator<Item = usize> {
    let mut source = probe.bits;
    (0..k).map(move |number| {
        if number > 0 && number % 7 == 0 {
            source = remix(probe.bits.wrapping_add(u64::from(number)));
        } else if number > 0 {
            source >>= 9;
        }
        (source % BLOCK_BITS) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(seed: u64, count: usize) -> Vec<Fingerprint> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| Fingerprint::from_bits(random.u64(..))).collect()
    }

    fn measured_fpr(bloom: &Bloom) -> f64 {
        let foreign = keys(999, 400_000);
        foreign.iter().filter(|&&key| bloom.contains(key)).count() as f64 / foreign.len() as f64
    }

    #[test]
    fn what_was_added_is_never_denied() {
        for (memory_max, fpr) in [(1 << 30, 0.01), (100_000, 0.001), (0, 0.3)] {
            let mut bloom = Bloom::new(memory_max, fpr);
            let keys = keys(1, 200_000);
            for &key in &keys {
                let before = bloom.contains(key);
                assert_eq!(bloom.insert(key), before);
            }
            assert!(keys.iter().all(|&key| bloom.contains(key)), "{memory_max} bytes at {fpr}");
        }
    }

    #[test]
    fn false_positives_are_as_rare_as_the_formula_says() {
        for (fpr, count) in [(0.05, 60_000), (0.01, 60_000), (0.01, 700_000), (0.001, 300_000)] {
            let mut bloom = Bloom::new(1 << 30, fpr);
            keys(2, count).into_iter().for_each(|key| _ = bloom.insert(key));
            let (measured, expected) = (measured_fpr(&bloom), bloom.expected_fpr());
            assert!(expected <= fpr, "{expected} by the formula, {fpr} wanted");
            let noise = 5.0 * (expected / 400_000.0).sqrt();
            assert!(measured < 2.0 * expected + noise, "{measured} measured, {expected} by the formula, {count} keys");
            assert!(measured > expected / 2.0 - noise, "{measured} measured, {expected} by the formula, {count} keys");
        }
    }

    #[test]
    fn slices_grow_up_to_the_ceiling_and_no_further() {
        let mut bloom = Bloom::new(5 << 20, 0.01);
        assert_eq!(bloom.slices(), 1);
        let keys = keys(3, 5_000_000);
        for &key in &keys {
            bloom.insert(key);
        }
        assert!(bloom.slices() > 1);
        assert!(bloom.bytes() <= 5 << 20, "{} bytes", bloom.bytes());
        let (measured, expected) = (measured_fpr(&bloom), bloom.expected_fpr());
        assert!(measured < 1.2 * expected, "{measured} measured, {expected} by the formula of the overfull filter");
    }

    /// A filter as it is when `keys` keys were added, but for its bits.
    fn filled(memory_max: usize, keys: u64) -> Bloom {
        let mut bloom = Bloom::new(memory_max, 0.01);
        while !bloom.at_ceiling && bloom.len() < keys {
            let last = bloom.slices.last_mut().unwrap();
            last.keys = last.keys_max;
            bloom.grow();
        }
        let others: u64 = bloom.slices.iter().rev().skip(1).map(|slice| slice.keys).sum();
        bloom.slices.last_mut().unwrap().keys = keys - others;
        bloom
    }

    #[test]
    fn the_ceiling_holds_what_the_configuration_says() {
        assert!(filled(125 << 20, 73_000_000).expected_fpr() <= 0.01);
        let overfull = filled(125 << 20, 100_000_000).expected_fpr();
        assert!((0.01..0.025).contains(&overfull), "{overfull}");
        // a restart lays it out for the keys that there are
        let known = Bloom::with_room(125 << 20, 0.01, 100_000_000);
        let rate = blocked_fpr(known.slices[0].bits(), known.slices[0].k, 1e8);
        assert!(rate <= 0.01, "{rate}");
    }

    #[test]
    fn numbered_urls_spread_evenly_over_the_blocks() {
        let fingerprinter = crate::fingerprint::Fingerprinter::random(1);
        let slice = Slice::new(4_096 * BLOCK_BITS, 7, 1);
        let mut blocks = vec![0_u32; slice.count];
        let mut bits = [0_u32; BLOCK_BITS as usize];
        for number in 0..100_000 {
            let url = format!("http://example.com/page/{number:06}");
            let probe = Probe::new(fingerprinter.of(url.as_bytes()));
            blocks[slice.block_of(probe)] += 1;
            bit_numbers(probe, slice.k).for_each(|bit| bits[bit] += 1);
        }
        // chi squared of n places: mean n, standard deviation sqrt(2n)
        let chi_squared = |counts: &[u32]| {
            let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
            counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum::<f64>()
        };
        assert!((3_640.0..4_550.0).contains(&chi_squared(&blocks)), "{}", chi_squared(&blocks));
        assert!((350.0..672.0).contains(&chi_squared(&bits)), "{}", chi_squared(&bits));
    }

    #[test]
    fn a_hundred_million_keys_need_no_more_than_their_share_of_memory() {
        let (bits, k) = shape(100_000_000, 0.005);
        assert!((10.0..13.0).contains(&(bits as f64 / 1e8)), "{} bits a key", bits as f64 / 1e8);
        assert!((7..=9).contains(&k));
        let formula = -0.01_f64.ln() / std::f64::consts::LN_2.powi(2);
        let (bits, _) = shape(1_000_000, 0.01);
        assert!(bits as f64 / 1e6 < formula * 1.25, "a blocked filter costs up to a quarter more");
    }
}
