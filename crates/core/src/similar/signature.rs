//! Signatures of texts: enough to estimate how alike one is to another.

use serde::{Deserialize, Serialize};

use super::words::words;
use crate::fingerprint::mix_next;

/// Words of a shingle.
const SHINGLE: usize = 5;
/// Bytes of a signature, each of another hash.
pub(super) const BYTES: usize = 120;
/// Bytes of a band.
pub(super) const BAND: usize = 6;

/// Parts of a signature by which texts that are nearly the same can be counted.
pub const PARTS: usize = 8;
/// Bytes of a part.
pub const PART_BYTES: usize = 8;

/// A signature of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<u8>", try_from = "Vec<u8>")]
pub struct Signature(pub(super) [u8; BYTES]);

impl Signature {
    /// The signature of `text`; none of a text without words. A text of fewer words than a shingle has is one shingle.
    pub fn of(text: &str) -> Option<Signature> {
        let mut least = [u64::MAX; BYTES];
        let (mut last, mut count) = ([0; SHINGLE], 0_usize);
        words(text, |word| {
            last.rotate_left(1);
            last[SHINGLE - 1] = word;
            count += 1;
            if count >= SHINGLE {
                take(&mut least, &last);
            }
        });
        match count {
            0 => return None,
            1..SHINGLE => take(&mut least, &last[SHINGLE - count..]),
            _ => {}
        }
        // the lowest of many is near zero, but for its last bits
        Some(Signature(least.map(|least| least as u8)))
    }

    /// Its parts: two texts of resemblance J agree in each with probability J^8.
    pub fn parts(&self) -> impl Iterator<Item = &[u8; PART_BYTES]> {
        self.0.as_chunks().0.iter().take(PARTS)
    }

    /// Estimates how alike the two texts are, from 0 to 1.
    #[cfg(test)]
    pub(crate) fn resemblance(&self, other: &Signature) -> f64 {
        resemblance(&self.0, &other.0)
    }
}

impl From<Signature> for Vec<u8> {
    fn from(signature: Signature) -> Vec<u8> {
        signature.0.to_vec()
    }
}

impl TryFrom<Vec<u8>> for Signature {
    type Error = String;

    fn try_from(bytes: Vec<u8>) -> Result<Signature, String> {
        bytes.try_into().map(Signature).map_err(|bytes: Vec<u8>| format!("a signature of {} bytes", bytes.len()))
    }
}

/// Estimates how alike the texts of two signatures are, from 0 to 1. One byte in 256 agrees by chance.
pub(super) fn resemblance(first: &[u8], second: &[u8]) -> f64 {
    let agree = first.iter().zip(second).filter(|(one, other)| one == other).count() as f64 / BYTES as f64;
    ((agree - 1.0 / 256.0) / (1.0 - 1.0 / 256.0)).max(0.0)
}

/// Takes the hashes of a shingle.
fn take(least: &mut [u64; BYTES], shingle: &[u64]) {
    let shingle = shingle.iter().fold(0, |hash, word| mix_next(hash ^ word));
    let mut seed = 0_u64;
    for least in least {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        *least = (*least).min(mix_next(shingle ^ seed));
    }
}
