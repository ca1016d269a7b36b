//! A scalable blocked Bloom filter: says for certain that a key is new, in about one cache miss a slice.
//!
//! A filter of m bits with k bits a key that holds n keys takes a foreign key for one of its keys with probability p =
//! (1 - e^(-kn/m))^k. For given n and p the smallest is
//!
//! ```text
//! m = -n ln p / (ln 2)^2        k = m/n ln 2
//! ```
//!
//! (Bloom 1970). All k bits of a key are in one block of 512 bits, a cache line (Putze, Sanders, Singler 2007), spread
//! over its eight words, so that one mask asks for all of them. Blocks fill unevenly, so such a filter errs more often:
//! with n/m * 512 keys a block on average, Poisson distributed, p = sum over i of P(i) (1 - (1 - 1/512)^(ik))^k. A
//! slice is made as many bits larger as this needs.
//!
//! When the keys to come are not known, one filter is not enough (Almeida and others 2007): a *slice* that holds its n
//! is followed by one of four times the n and half the p. The first has p/2, so all together stay below p. They all
//! have the k of the first: a key needs one mask, and the tighter ones take a few percent more bits. Under a
//! memory ceiling the last slice takes what is left, is laid out for what the others leave of p, and then keeps
//! filling: positives become more frequent, a negative is never wrong.

use crate::fingerprint::Fingerprint;

use super::lines::{CacheLine, CacheLines, HUGE_PAGE_BYTES, WORDS, place_among};

const BLOCK_BITS: u64 = 512;
const BLOCK_BYTES: usize = WORDS * 8;
/// Share of the memory that the first slice takes, unless it is to hold more.
const FIRST_SHARE: usize = 32;
const GROWTH: u64 = 4;
const TIGHTENING: f64 = 0.5;
const K_MAX: u32 = 24;

/// The filter.
#[derive(Debug)]
pub struct Bloom {
    slices: Vec<Slice>,
    memory_max: usize,
    fpr: f64,
    /// Bits of a key, the same in all slices: a key has one mask.
    k: u32,
    /// The number of keys that the next slice is to hold, and the rate of false positives at which it is to hold them.
    next_keys: u64,
    next_fpr: f64,
    /// The slice after the last one, laid out when that is half full, its memory claimed bit by bit.
    upcoming: Option<Upcoming>,
    /// The number of keys in the last slice at which the next piece of work on the upcoming one is due.
    attend_at: u64,
}

#[derive(Debug)]
struct Upcoming {
    slice: Slice,
    /// Memory claimed so far.
    claimed: usize,
}

impl Bloom {
    /// A filter of at most about `memory_max` bytes that takes at most the share `fpr` of foreign keys for its own, as
    /// long as memory lasts. Its first slice has room for `keys`.
    pub(crate) fn with_room(memory_max: usize, fpr: f64, keys: u64) -> Self {
        let fpr = fpr.clamp(1e-9, 0.5);
        let memory_max = memory_max.max(BLOCK_BYTES);
        let (k, first_fpr) = (optimal_k(fpr * (1.0 - TIGHTENING)), fpr * (1.0 - TIGHTENING));
        let first_bits = (memory_max / FIRST_SHARE) as u64 * 8 / BLOCK_BITS * BLOCK_BITS;
        let mut bloom = Bloom {
            slices: Vec::new(),
            memory_max,
            fpr,
            k,
            next_keys: keys.max(keys_for(first_bits.max(BLOCK_BITS), first_fpr, k)),
            next_fpr: first_fpr,
            upcoming: None,
            attend_at: 0,
        };
        let first = bloom.plan_slice();
        bloom.slices.extend(first);
        bloom.attend_at = bloom.slices[0].keys_max / 2;
        bloom
    }

    /// The share of foreign keys that a filter of [`Bloom::with_room`] takes for own ones when it holds `keys`.
    pub(crate) fn fpr_with(memory_max: usize, fpr: f64, keys: u64) -> f64 {
        let fpr = fpr.clamp(1e-9, 0.5);
        let (k, bits) = (optimal_k(fpr * (1.0 - TIGHTENING)), (memory_max / BLOCK_BYTES).max(1) as u64 * BLOCK_BITS);
        blocked_fpr(bits, k, keys as f64)
    }

    /// Adds `key` and says whether it may have been there before: `false` is certain.
    pub(crate) fn insert(&mut self, key: Fingerprint) -> bool {
        let probe = Probe::new(key, self.k);
        if self.holds(&probe) {
            return true;
        }
        let last = self.slices.last_mut().expect("a filter has a slice");
        last.insert(&probe);
        if last.keys >= self.attend_at {
            self.attend();
        }
        false
    }

    /// Returns whether `key` may have been added: `false` is certain.
    pub(crate) fn contains(&self, key: Fingerprint) -> bool {
        self.holds(&Probe::new(key, self.k))
    }

    #[inline]
    fn holds(&self, probe: &Probe) -> bool {
        self.slices.iter().fold(false, |holds, slice| holds | slice.contains(probe))
    }

    /// Keys that were added and not taken for others.
    pub(crate) fn len(&self) -> u64 {
        self.slices.iter().map(|slice| slice.keys).sum()
    }

    /// Returns whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.slices.iter().map(Slice::bytes).sum()
    }

    /// Number of slices.
    pub(crate) fn slices(&self) -> usize {
        self.slices.len()
    }

    /// The share of foreign keys that are taken for own ones now, by the formula.
    #[cfg(test)]
    fn expected_fpr(&self) -> f64 {
        let pass: f64 =
            self.slices.iter().map(|slice| 1.0 - blocked_fpr(slice.bits(), self.k, slice.keys as f64)).product();
        1.0 - pass
    }

    /// Looks at a word of each block that asking for `keys` will look at, slice by slice: so short a loop has more
    /// cache misses in progress at a time than one over keys.
    #[inline]
    pub(super) fn touch(&self, keys: impl Iterator<Item = Fingerprint> + Clone) -> u64 {
        let touch = |slice: &Slice| {
            keys.clone().fold(0, |sum, key| sum ^ slice.blocks.touch(place_among(key.bits(), slice.count)))
        };
        self.slices.iter().fold(0, |sum, slice| sum ^ touch(slice))
    }

    /// Plans the upcoming slice when the last one is half full, claims a part of its memory now and then, so that no
    /// call has to wait for much of it, and puts it to use when the last one is full.
    #[cold]
    fn attend(&mut self) {
        let last = self.slices.last().expect("a filter has a slice");
        let (keys, keys_max) = (last.keys, last.keys_max);
        if self.upcoming.is_none() {
            let Some(slice) = self.plan_slice() else {
                self.attend_at = u64::MAX; // the last one keeps filling
                return;
            };
            self.upcoming = Some(Upcoming { slice, claimed: 0 });
        }
        let Some(upcoming) = &mut self.upcoming else { return };
        if keys < keys_max {
            upcoming.slice.blocks.claim(upcoming.claimed);
            upcoming.claimed += HUGE_PAGE_BYTES;
            let claims = (upcoming.slice.bytes() / HUGE_PAGE_BYTES) as u64 + 1;
            self.attend_at = (keys + (keys_max / 2 / claims).max(1)).min(keys_max);
        } else {
            self.slices.extend(self.upcoming.take().map(|upcoming| upcoming.slice));
            self.attend_at = self.slices.last().map_or(u64::MAX, |slice| slice.keys_max / 2);
        }
    }

    /// The next slice. Where memory does not allow another one after it, it takes all that is left; where there is less
    /// left than the slice before it has, there is none.
    fn plan_slice(&mut self) -> Option<Slice> {
        let room = self.memory_max.saturating_sub(self.bytes());
        let bits = bits_for(self.next_keys, self.next_fpr, self.k);
        let keys = self.next_keys;
        self.next_keys = keys.saturating_mul(GROWTH);
        self.next_fpr *= TIGHTENING;
        if usize::try_from(bits / 8).unwrap_or(usize::MAX).saturating_mul(2) <= room {
            return Some(Slice::new(bits, keys));
        }
        let last_bytes = self.slices.last().map_or(0, Slice::bytes);
        let bits = room as u64 / BLOCK_BYTES as u64 * BLOCK_BITS;
        (room >= last_bytes.max(BLOCK_BYTES)).then(|| Slice::new(bits, keys_for(bits, self.fpr_left(), self.k)))
    }

    /// The part of the filter's rate of false positives that is left for the last slice when the slices before it are
    /// full.
    fn fpr_left(&self) -> f64 {
        let pass = |slice: &Slice| 1.0 - blocked_fpr(slice.bits(), self.k, slice.keys_max as f64);
        let taken = 1.0 - self.slices.iter().map(pass).product::<f64>();
        (self.fpr - taken).max(self.fpr / 2.0)
    }
}

/// m of a blocked filter for `keys` keys at the rate `fpr` with `k` bits a key.
fn bits_for(keys: u64, fpr: f64, k: u32) -> u64 {
    let mut bits = -(keys as f64) * fpr.ln() / std::f64::consts::LN_2.powi(2);
    loop {
        let whole = (bits / BLOCK_BITS as f64).ceil() as u64 * BLOCK_BITS;
        // beyond 64 bits a key more bits help nobody
        if blocked_fpr(whole, k, keys as f64) <= fpr || whole / keys.max(1) >= 64 {
            return whole;
        }
        bits *= 1.01;
    }
}

/// Returns the number of keys that a blocked filter of `bits` bits holds at the rate `fpr` with `k` bits a key.
fn keys_for(bits: u64, fpr: f64, k: u32) -> u64 {
    let (mut below, mut above) = (1, bits.max(2));
    while above - below > 1 + below / 1_000 {
        let middle = below + (above - below) / 2;
        if blocked_fpr(bits, k, middle as f64) <= fpr { below = middle } else { above = middle }
    }
    below
}

/// k for the rate `fpr`: with the smallest m, k = m/n ln 2 is -log2 p.
fn optimal_k(fpr: f64) -> u32 {
    (-fpr.log2()).round().clamp(1.0, f64::from(K_MAX)) as u32
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

/// A key on its way through the slices: one number chooses its block in each, the mask is its bits there.
struct Probe {
    block: u64,
    mask: CacheLine,
}

impl Probe {
    /// `k` bits: one in each word of the block as often as that goes, and the rest in words from one on that the key
    /// chooses.
    #[inline]
    fn new(key: Fingerprint, k: u32) -> Self {
        let mut hash = remix(key.bits());
        let (rounds, rest) = (k as usize / WORDS, k as usize % WORDS);
        let first = (hash >> 61) as usize;
        let mut mask = [0; WORDS];
        for _ in 0..rounds {
            mask = std::array::from_fn(|word| mask[word] | 1 << (hash >> (word * 6) & 63));
            hash = remix(!hash);
        }
        if rest > 0 {
            let chosen = |word: usize| u64::from(word.wrapping_sub(first) % WORDS < rest);
            mask = std::array::from_fn(|word| mask[word] | chosen(word) << (hash >> (word * 6) & 63));
        }
        Probe { block: key.bits(), mask }
    }
}

/// Another number from the same bits, independent of the top ones, which choose the block (MurmurHash3's finaliser).
#[inline]
fn remix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}

#[derive(Debug)]
struct Slice {
    blocks: CacheLines,
    count: usize,
    keys: u64,
    keys_max: u64,
}

impl Slice {
    fn new(bits: u64, keys_max: u64) -> Self {
        let count = (bits / BLOCK_BITS).max(1) as usize;
        Slice { blocks: CacheLines::new(count), count, keys: 0, keys_max }
    }

    fn bits(&self) -> u64 {
        self.count as u64 * BLOCK_BITS
    }

    fn bytes(&self) -> usize {
        self.count * BLOCK_BYTES
    }

    #[inline]
    fn contains(&self, probe: &Probe) -> bool {
        let block = self.blocks.get(place_among(probe.block, self.count));
        // all words, without a branch for each: which is the first one missing nobody could predict
        (0..WORDS).fold(0, |missing, word| missing | (probe.mask[word] & !block[word])) == 0
    }

    #[inline]
    fn insert(&mut self, probe: &Probe) {
        let at = place_among(probe.block, self.count);
        let block = self.blocks.get(at);
        self.blocks.set(at, &std::array::from_fn(|word| block[word] | probe.mask[word]));
        self.keys += 1;
    }
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
            let mut bloom = Bloom::with_room(memory_max, fpr, 0);
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
            let mut bloom = Bloom::with_room(1 << 30, fpr, 0);
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
        let mut bloom = Bloom::with_room(1 << 20, 0.01, 0);
        assert_eq!(bloom.slices(), 1);
        let keys = keys(3, 1_000_000);
        for &key in &keys {
            bloom.insert(key);
        }
        assert!(bloom.slices() > 1);
        assert!(bloom.bytes() <= 1 << 20, "{} bytes", bloom.bytes());
        let (measured, expected) = (measured_fpr(&bloom), bloom.expected_fpr());
        assert!(measured < 1.2 * expected, "{measured} measured, {expected} by the formula of the overfull filter");
    }

    /// A filter as it is when `keys` keys were added, but for its bits.
    fn filled(memory_max: usize, keys: u64) -> Bloom {
        let mut bloom = Bloom::with_room(memory_max, 0.01, 0);
        loop {
            let before: u64 = bloom.slices.iter().rev().skip(1).map(|slice| slice.keys).sum();
            let next = bloom.plan_slice();
            let last = bloom.slices.last_mut().unwrap();
            last.keys = if next.is_some() { last.keys_max.min(keys - before) } else { keys - before };
            bloom.slices.extend(next);
            if bloom.len() == keys {
                return bloom;
            }
        }
    }

    #[test]
    fn the_ceiling_holds_what_the_configuration_says() {
        assert!(filled(125 << 20, 80_000_000).expected_fpr() <= 0.01);
        let overfull = filled(125 << 20, 100_000_000).expected_fpr();
        assert!((0.01..0.025).contains(&overfull), "{overfull}");
        // a restart lays it out for the keys that there are
        let known = Bloom::with_room(125 << 20, 0.01, 100_000_000);
        let rate = blocked_fpr(known.slices[0].bits(), known.k, 1e8);
        assert!(rate <= 0.01, "{rate}");
    }

    #[test]
    fn n27_what_a_filter_of_160_mib_is_good_for_by_the_number_of_keys() {
        let rate = |millions: u64| Bloom::fpr_with(160 << 20, 0.01, millions * 1_000_000);
        for millions in [100, 200, 300, 400, 500, 600, 700, 760, 800, 1_100, 10_000] {
            println!("{millions} M keys: {:.4}", rate(millions));
        }
        assert!(rate(100) < 0.01);
        assert!((0.2..0.3).contains(&rate(300)) && (0.6..0.7).contains(&rate(500)));
        assert!((0.85..0.92).contains(&rate(760)));
        assert!(rate(1_100) > 0.98 && rate(10_000) > 0.999_999);
    }

    #[test]
    fn numbered_urls_spread_evenly_over_the_blocks() {
        let fingerprinter = crate::fingerprint::Fingerprinter::random(1);
        let slice = Slice::new(4_096 * BLOCK_BITS, 1);
        let mut blocks = vec![0_u32; slice.count];
        let mut bits = [0_u32; BLOCK_BITS as usize];
        for number in 0..100_000 {
            let url = format!("http://example.com/page/{number:06}");
            let probe = Probe::new(fingerprinter.of(url.as_bytes()), 7);
            blocks[place_among(probe.block, slice.count)] += 1;
            for (word, mask) in probe.mask.iter().enumerate() {
                (0..64).filter(|bit| mask >> bit & 1 == 1).for_each(|bit| bits[word * 64 + bit] += 1);
            }
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
        let k = optimal_k(0.005);
        let bits = bits_for(100_000_000, 0.005, k);
        assert!((10.0..13.0).contains(&(bits as f64 / 1e8)), "{} bits a key", bits as f64 / 1e8);
        assert!((7..=9).contains(&k));
        let formula = -0.01_f64.ln() / std::f64::consts::LN_2.powi(2);
        let bits = bits_for(1_000_000, 0.01, optimal_k(0.01));
        assert!(bits as f64 / 1e6 < formula * 1.25, "a blocked filter costs up to a quarter more");
    }
}
