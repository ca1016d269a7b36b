//! Coding of a block of strictly rising 64-bit keys in little more than their information.
//!
//! The first key is kept whole. The gaps (less one) between neighbours are Golomb-Rice coded in two columns, as
//! Elias-Fano lays them out: the low `k` bits of every gap side by side, then the quotients `gap >> k` in unary (that
//! many zero bits and a one). Gaps of n random keys are geometrically distributed with mean 2^64 / n, for which this
//! code takes k + 1 + 1 / (e^(2^k / mean) - 1) bits a key: 38.90 bits at 100 M keys, where log2(e 2^64 / n), the bound,
//! is 38.87. `k` is the best one for the block's own mean, and because the quotients sum to at most the sum of the
//! gaps over 2^k, no block, however skewed, takes more than k + 3.1 bits a key.
//!
//! The columns decode by loads at known places and a walk over set bits: no branch depends on a key's value.

/// The largest number of keys in a block.
pub(super) const KEYS_MAX: usize = 1024;

/// Smallest 2^k / mean at which the smaller k is the better one: ln of the golden ratio.
const TURNING_POINT: f64 = 0.481_211_825;

/// Appends the columns of `keys` to `out`; gives back `k` and the length of the quotient column in bytes.
///
/// `keys` are strictly rising and not empty.
pub(super) fn encode(keys: &[u64], out: &mut Vec<u8>) -> (u8, usize) {
    let gaps = keys.len() - 1;
    let spread = keys[gaps] - keys[0] - gaps as u64;
    let k = if gaps == 0 { 0 } else { low_bits(spread as f64 / gaps as f64) };
    let mask = (1_u64 << k) - 1;
    let (mut bits, mut held) = (0_u128, 0);
    for pair in keys.windows(2) {
        let gap = pair[1] - pair[0] - 1;
        bits |= u128::from(gap & mask) << held;
        held += u32::from(k);
        if held >= 64 {
            out.extend_from_slice(&(bits as u64).to_le_bytes());
            bits >>= 64;
            held -= 64;
        }
    }
    out.extend_from_slice(&(bits as u64).to_le_bytes()[..held.div_ceil(8) as usize]);
    let quotients_at = out.len();
    let (mut word, mut used) = (0_u64, 0_u64);
    for pair in keys.windows(2) {
        used += (pair[1] - pair[0] - 1) >> k;
        while used >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            word = 0;
            used -= 64;
        }
        word |= 1 << used;
        used += 1;
    }
    if used == 64 {
        out.extend_from_slice(&word.to_le_bytes());
    } else {
        out.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
    }
    (k, out.len() - quotients_at)
}

/// Length in bytes of the column of low bits.
pub(super) fn low_bytes(count: usize, k: u8) -> usize {
    (count.saturating_sub(1) * usize::from(k)).div_ceil(8)
}

/// Appends the `count` keys, of which `first` is the first, to `keys`. `None` where the columns are none of theirs.
pub(super) fn decode(first: u64, count: usize, k: u8, low: &[u8], quotients: &[u8], keys: &mut Vec<u64>) -> Option<()> {
    if count == 0 || k > 63 || low.len() != low_bytes(count, k) {
        return None;
    }
    let from = keys.len();
    keys.reserve(count);
    keys.push(first);
    let mut key = first;
    let mut index = 0;
    let mut gaps_left = count - 1;
    let (mut base, mut next) = (0_u64, 0_u64);
    for piece in quotients.chunks(8) {
        let mut word = word_at(piece, 0);
        while word != 0 {
            gaps_left = gaps_left.checked_sub(1)?;
            let one = base + u64::from(word.trailing_zeros());
            word &= word - 1;
            let gap = (one - next) << k | low_at(low, index, k);
            next = one + 1;
            index += usize::from(k);
            key = key.wrapping_add(gap).wrapping_add(1);
            keys.push(key);
        }
        base += 64;
    }
    (gaps_left == 0 && keys[from..].is_sorted_by(|a, b| a < b)).then_some(())
}

/// The best `k` for gaps of this mean.
fn low_bits(mean: f64) -> u8 {
    let k = (mean * TURNING_POINT).log2().ceil();
    if k > 0.0 { (k as u8).min(63) } else { 0 }
}

/// `k` bits at bit `index`.
#[inline]
fn low_at(low: &[u8], index: usize, k: u8) -> u64 {
    let (byte, bit) = (index / 8, index % 8);
    let mask = (1_u64 << k) - 1;
    if k <= 56
        && let Some(word) = low.get(byte..byte + 8)
    {
        return u64::from_le_bytes(word.try_into().expect("eight bytes")) >> bit & mask;
    }
    let wide = u128::from(word_at(low, byte)) | u128::from(word_at(low, byte + 8)) << 64;
    (wide >> bit) as u64 & mask
}

/// Returns up to eight bytes from `at` on, zeros where there are none.
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let piece = bytes.get(at..).unwrap_or_default();
    let mut word = [0; 8];
    let length = piece.len().min(8);
    word[..length].copy_from_slice(&piece[..length]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(keys: &[u64]) -> usize {
        let mut out = Vec::new();
        let (k, quotient_bytes) = encode(keys, &mut out);
        let (low, quotients) = out.split_at(out.len() - quotient_bytes);
        let mut decoded = Vec::new();
        decode(keys[0], keys.len(), k, low, quotients, &mut decoded).unwrap();
        assert_eq!(decoded, keys);
        out.len()
    }

    #[test]
    fn blocks_of_every_shape_come_back() {
        let mut random = fastrand::Rng::with_seed(5);
        for seed in 0..400 {
            let count = random.usize(1..=KEYS_MAX);
            let top = random.u32(11..=64);
            let mut keys: Vec<u64> = (0..count).map(|_| random.u64(..) >> (64 - top)).collect();
            if seed % 3 == 0 {
                keys.extend([0, 1, u64::MAX]);
            }
            keys.sort_unstable();
            keys.dedup();
            round_trip(&keys);
        }
        round_trip(&[0]);
        round_trip(&[u64::MAX]);
        round_trip(&[0, u64::MAX]);
        round_trip(&[0, 1, u64::MAX - 1, u64::MAX]);
        round_trip(&(500..1500).collect::<Vec<_>>());
    }

    #[test]
    fn random_keys_take_what_the_formula_says() {
        let mut random = fastrand::Rng::with_seed(6);
        // gaps as among 100 M keys
        let mut keys = vec![0_u64];
        while keys.len() < KEYS_MAX {
            let gap = -(1.0 - random.f64()).ln() * (2_f64.powi(64) / 1e8);
            keys.push(keys[keys.len() - 1] + 1 + gap as u64);
        }
        let bytes = round_trip(&keys) as f64 / (KEYS_MAX - 1) as f64;
        assert!((4.80..4.92).contains(&bytes), "{bytes} bytes a key, 4.863 expected");
    }

    #[test]
    fn foreign_columns_are_refused_and_never_panic() {
        let mut random = fastrand::Rng::with_seed(8);
        for _ in 0..2_000 {
            let low: Vec<u8> = (0..random.usize(0..40)).map(|_| random.u8(..)).collect();
            let quotients: Vec<u8> = (0..random.usize(0..40)).map(|_| random.u8(..)).collect();
            let mut keys = Vec::new();
            let _ = decode(random.u64(..), random.usize(0..50), random.u8(0..70), &low, &quotients, &mut keys);
        }
        assert!(decode(5, 2, 0, &[], &[], &mut Vec::new()).is_none());
        assert!(decode(u64::MAX, 2, 0, &[], &[1], &mut Vec::new()).is_none(), "wraps around");
    }
}
