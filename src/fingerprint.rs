//! 64-bit Rabin fingerprints, mixed.

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
    table: Box<[u64; 256]>,
}

impl Fingerprinter {
    /// Fingerprints by x^64 + `polynomial`.
    pub fn new(polynomial: u64) -> Self {
        let mut table = Box::new([0; 256]);
        for (byte, entry) in (0_u64..).zip(table.iter_mut()) {
            let mut rest = byte << 56;
            for _ in 0..8 {
                rest = (rest << 1) ^ (if rest >> 63 == 1 { polynomial } else { 0 });
            }
            *entry = rest;
        }
        Fingerprinter { polynomial, table }
    }

    /// The polynomial without its leading term.
    pub fn polynomial(&self) -> u64 {
        self.polynomial
    }

    /// The fingerprint of `bytes`.
    pub fn of(&self, bytes: &[u8]) -> Fingerprint {
        let mut rest = 1_u64;
        for &byte in bytes {
            rest = (rest << 8 | u64::from(byte)) ^ self.table[(rest >> 56) as usize];
        }
        Fingerprint(mix(rest))
    }
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
