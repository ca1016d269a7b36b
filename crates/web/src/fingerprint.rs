//! 64-bit Rabin fingerprints, mixed: the names of URLs, hosts, origins and domains in every store.
//!
//! A string is read as a polynomial over GF(2), a 1 before its first bit so that leading zero bytes count, and reduced
//! modulo an irreducible polynomial of degree 64. With a polynomial drawn at random for each crawl, two given strings
//! of n bytes share a fingerprint with probability of about 8n / 2^64 (Rabin 1981; Broder, "Some applications of
//! Rabin's fingerprinting method", 1993), and nobody who does not know the polynomial can prepare two that do.
//!
//! Rabin's remainder alone does not spread: strings that differ in their last bytes only differ in the low bits only.
//! So the remainder passes a bijective mixer before anybody sees it. It adds no collisions, and every bit of the
//! result may choose a bucket, a partition or a slot.
//!
//! Cost: a table look-up for each byte, in steps of sixteen bytes of which eight wait for the step before; 32 KiB of
//! tables for each [`Fingerprinter`].

mod collections;

pub use collections::{ByFingerprint, FingerprintHasher, Fingerprints};
use serde::{Deserialize, Serialize};

/// A mixed 64-bit fingerprint: its top bits choose buckets and partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// A fingerprint from its stored bits.
    pub const fn from_bits(bits: u64) -> Self {
        Fingerprint(bits)
    }

    /// The 64 bits.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// Computes the fingerprints of one crawl.
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    polynomial: u64,
    tables: Box<Tables>,
}

/// Table with each value of each byte of a word, moved up by a number of words and reduced.
type WordTable = [[u64; 256]; 8];

/// `near[j][b]` is b * x^(64 + 8j), reduced: up by one word; `far[j][b]` is b * x^(128 + 8j): up by two.
#[derive(Clone, Debug)]
struct Tables {
    near: WordTable,
    far: WordTable,
}

impl Fingerprinter {
    /// Fingerprints by x^64 + `polynomial`, which was drawn by [`Fingerprinter::random`] when the crawl began.
    pub fn new(polynomial: u64) -> Self {
        let mut tables = Box::new(Tables { near: [[0; 256]; 8], far: [[0; 256]; 8] });
        for byte in 0..256_usize {
            let mut rest = byte as u64;
            for _ in 0..8 {
                rest = times_x8(rest, polynomial);
            }
            for table in tables.near.iter_mut().chain(&mut tables.far) {
                table[byte] = rest;
                rest = times_x8(rest, polynomial);
            }
        }
        Fingerprinter { polynomial, tables }
    }

    /// Fingerprints by an irreducible polynomial that `seed` chooses among the 2^58 there are.
    pub fn random(seed: u64) -> Self {
        let mut state = seed;
        loop {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let candidate = mix(state) | 1;
            if is_irreducible(candidate) {
                return Fingerprinter::new(candidate);
            }
        }
    }

    /// The polynomial without its leading term.
    pub fn polynomial(&self) -> u64 {
        self.polynomial
    }

    /// The fingerprint of `bytes`.
    #[inline]
    pub fn of(&self, bytes: &[u8]) -> Fingerprint {
        Fingerprint(mix(self.remainder(bytes)))
    }

    /// (x^(8n) + `bytes`) modulo the polynomial, n the number of bytes.
    #[inline]
    fn remainder(&self, bytes: &[u8]) -> u64 {
        let Tables { near, far } = &*self.tables;
        let (head, words) = bytes.as_rchunks::<8>();
        let (odd, pairs) = words.as_rchunks::<2>();
        let mut rest = started(head, bytes);
        for word in odd {
            rest = moved_up(near, rest) ^ u64::from_be_bytes(*word);
        }
        for [first, second] in pairs {
            // the look-ups of `first` need not wait for `rest`
            rest = moved_up(far, rest) ^ (moved_up(near, u64::from_be_bytes(*first)) ^ u64::from_be_bytes(*second));
        }
        rest
    }
}

/// x^(8n) + `head`, the first n < 8 of `bytes`: too short to need reduction.
#[inline]
fn started(head: &[u8], bytes: &[u8]) -> u64 {
    let bits = 8 * head.len();
    match bytes.first_chunk() {
        // without a loop, whose end no processor foresees when lengths vary; in two steps, since `bits` may be 0
        Some(first) => u64::from_be_bytes(*first) >> 1 >> (63 - bits) | 1 << bits,
        None => head.iter().fold(1, |rest, &byte| rest << 8 | u64::from(byte)),
    }
}

/// `word` moved up as far as the table does, reduced.
#[inline]
fn moved_up(table: &WordTable, word: u64) -> u64 {
    let [b7, b6, b5, b4, b3, b2, b1, b0] = word.to_be_bytes().map(usize::from);
    ((table[0][b0] ^ table[1][b1]) ^ (table[2][b2] ^ table[3][b3]))
        ^ ((table[4][b4] ^ table[5][b5]) ^ (table[6][b6] ^ table[7][b7]))
}

/// Returns whether x^64 + `polynomial` has no factor over GF(2).
///
/// Rabin's test for degree 64, whose only prime factor is 2: P is irreducible exactly when P divides x^(2^64) - x and
/// shares no factor with x^(2^32) - x.
pub(crate) fn is_irreducible(polynomial: u64) -> bool {
    if polynomial & 1 == 0 {
        return false; // divisible by x
    }
    let mut power = 2_u64; // x
    for squared in 1..=64 {
        power = times(power, power, polynomial);
        if squared == 32 && !is_coprime(power ^ 2, polynomial) {
            return false;
        }
    }
    power == 2
}

/// a * b modulo x^64 + `polynomial`.
fn times(a: u64, b: u64, polynomial: u64) -> u64 {
    let mut product = 0;
    for bit in (0..64).rev() {
        product = (product << 1) ^ if product >> 63 == 1 { polynomial } else { 0 };
        if b >> bit & 1 == 1 {
            product ^= a;
        }
    }
    product
}

/// `rest` * x^8 modulo x^64 + `polynomial`.
fn times_x8(mut rest: u64, polynomial: u64) -> u64 {
    for _ in 0..8 {
        rest = (rest << 1) ^ if rest >> 63 == 1 { polynomial } else { 0 };
    }
    rest
}

/// Returns whether `a` and x^64 + `polynomial` share no factor (Euclid).
fn is_coprime(a: u64, polynomial: u64) -> bool {
    let (mut big, mut small) = (1_u128 << 64 | u128::from(polynomial), u128::from(a));
    while small != 0 {
        while big != 0 && big.leading_zeros() <= small.leading_zeros() {
            big ^= small << (small.leading_zeros() - big.leading_zeros());
        }
        (big, small) = (small, big);
    }
    big == 1
}

/// Spreads all bits over all bits; a bijection (the finaliser of Steele's SplitMix64, Stafford's variant 13).
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The same with a constant added first, as SplitMix64 has it, so that zero is not itself.
pub fn mix_next(bits: u64) -> u64 {
    mix(bits.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    /// Two URLs of one length that share their fingerprint by a polynomial that is known: of 70 letters, those are
    /// changed whose differences cancel out (Gaussian elimination over GF(2)).
    fn colliding_urls(known: &Fingerprinter) -> [String; 2] {
        let url = |flips: u128| {
            let letters = (0..70).map(|n| if flips >> n & 1 == 1 { 'b' } else { 'a' });
            format!("http://victim.example/{}", letters.collect::<String>())
        };
        let plain = known.remainder(url(0).as_bytes());
        let mut basis: Vec<(u64, u128)> = Vec::new();
        for n in 0..70 {
            let (mut rest, mut flips) = (known.remainder(url(1 << n).as_bytes()) ^ plain, 1_u128 << n);
            for &(row, row_flips) in &basis {
                if rest ^ row < rest {
                    (rest, flips) = (rest ^ row, flips ^ row_flips);
                }
            }
            if rest == 0 {
                return [url(0), url(flips)];
            }
            basis.push((rest, flips));
            basis.sort_unstable_by(|a, b| b.cmp(a));
        }
        unreachable!("65 vectors of 64 bits depend on each other")
    }

    #[test]
    fn s19_urls_that_were_made_to_collide_in_one_crawl_do_not_in_another() {
        let known = Fingerprinter::random(1);
        let [one, two] = colliding_urls(&known);
        assert_ne!(one, two);
        assert_eq!(
            known.of(one.as_bytes()),
            known.of(two.as_bytes()),
            "the attack works where the polynomial is known"
        );
        for seed in 2..200 {
            let other = Fingerprinter::random(seed);
            assert_ne!(other.of(one.as_bytes()), other.of(two.as_bytes()), "seed {seed}");
        }
    }

    use super::*;

    /// The remainder by schoolbook division, bit by bit.
    fn naive_remainder(bytes: &[u8], polynomial: u64) -> u64 {
        let modulus = 1_u128 << 64 | u128::from(polynomial);
        let mut rest = 1_u128;
        for byte in bytes {
            for bit in (0..8).rev() {
                rest = rest << 1 | u128::from(byte >> bit & 1);
                if rest >> 64 == 1 {
                    rest ^= modulus;
                }
            }
        }
        rest as u64
    }

    /// Trial division by every polynomial of at most `degree`.
    fn has_factor_up_to(polynomial: u64, degree: u32) -> bool {
        (2_u128..1 << (degree + 1)).any(|factor| {
            let mut rest = 1_u128 << 64 | u128::from(polynomial);
            while rest != 0 && rest.leading_zeros() <= factor.leading_zeros() {
                rest ^= factor << (factor.leading_zeros() - rest.leading_zeros());
            }
            rest == 0
        })
    }

    #[test]
    fn the_tables_give_the_remainder_of_schoolbook_division() {
        let mut random = fastrand::Rng::with_seed(7);
        for seed in 0..20 {
            let fingerprinter = Fingerprinter::random(seed);
            for length in 0..100 {
                let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
                let expected = naive_remainder(&bytes, fingerprinter.polynomial());
                assert_eq!(fingerprinter.remainder(&bytes), expected, "seed {seed}, {bytes:02x?}");
                assert_eq!(fingerprinter.of(&bytes).bits(), mix(expected));
            }
        }
    }

    #[test]
    fn known_polynomials_are_judged_rightly() {
        assert!(is_irreducible(0x1b), "x^64 + x^4 + x^3 + x + 1, the one with the lowest terms");
        assert!(!is_irreducible(0), "x^64");
        assert!(!is_irreducible(1), "(x + 1)^64");
        assert!(!is_irreducible(2), "divisible by x");
        assert!((1..0x1b).all(|low| !is_irreducible(low)), "0x1b is the smallest");
        // (x^32 + x^7 + x^3 + x^2 + 1)^2: squares of irreducible ones pass the first half of the test's idea
        let square = (0..32).filter(|bit| 0x8d_u64 >> bit & 1 == 1).fold(0, |sum, bit| sum | 1 << (2 * bit));
        assert!(!is_irreducible(square));
    }

    #[test]
    fn what_has_a_small_factor_is_refused_and_one_in_32_passes() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut passed = 0;
        for _ in 0..2_000 {
            let polynomial = random.u64(..) | 1;
            if is_irreducible(polynomial) {
                passed += 1;
                assert!(passed > 5 || !has_factor_up_to(polynomial, 10), "{polynomial:#x}");
            }
        }
        assert!((30..110).contains(&passed), "{passed} of 2000, 62 expected");
    }

    #[test]
    fn the_seed_chooses_the_polynomial() {
        let polynomials: Vec<u64> = (0..50).map(|seed| Fingerprinter::random(seed).polynomial()).collect();
        assert!(polynomials.iter().all(|&polynomial| is_irreducible(polynomial)));
        assert_eq!(polynomials.iter().collect::<std::collections::BTreeSet<_>>().len(), 50);
        assert_eq!(Fingerprinter::random(3).polynomial(), polynomials[3]);
    }

    /// The sum of (found - expected)^2 / expected over the buckets that the top `bits` choose.
    fn chi_square(fingerprints: &[Fingerprint], bits: u32) -> f64 {
        let mut buckets = vec![0_u32; 1 << bits];
        for fingerprint in fingerprints {
            buckets[(fingerprint.bits() >> (64 - bits)) as usize] += 1;
        }
        let expected = fingerprints.len() as f64 / buckets.len() as f64;
        buckets.iter().map(|&found| (f64::from(found) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn numbered_urls_spread_evenly_over_the_buckets() {
        type Shape = (&'static str, fn(u32) -> String);
        let shapes: [Shape; 6] = [
            ("at the end", |number| format!("https://example.com/page/{number}")),
            ("padded", |number| format!("https://example.com/page/{number:09}")),
            ("in the query", |number| format!("https://www.example.org/list?page={number}&sort=date")),
            ("padded in the query", |number| format!("https://www.example.org/item.php?lang=en&id={number:06}")),
            ("in the host", |number| format!("http://user{number}.example.net/")),
            ("of a date", |number| format!("http://example.com/{}/{:02}/", number / 100, number % 100)),
        ];
        for seed in 0..4 {
            let fingerprinter = Fingerprinter::random(seed);
            for (shape, url) in &shapes {
                let of_url = |number| fingerprinter.of(url(number).as_bytes());
                let fingerprints: Vec<Fingerprint> = (0..100_000).map(of_url).collect();
                for bits in [6, 12] {
                    let freedom = f64::from((1_u32 << bits) - 1);
                    let (found, bound) = (chi_square(&fingerprints, bits), freedom + 5.0 * (2.0 * freedom).sqrt());
                    assert!(found < bound, "seed {seed}, number {shape}, {bits} bits: {found:.0}, at most {bound:.0}");
                }
            }
        }
    }

    #[test]
    fn leading_zero_bytes_count() {
        let fingerprinter = Fingerprinter::new(0x1b);
        assert_ne!(fingerprinter.of(b""), fingerprinter.of(b"\0"));
        assert_ne!(fingerprinter.of(b"\0a"), fingerprinter.of(b"a"));
    }
}
