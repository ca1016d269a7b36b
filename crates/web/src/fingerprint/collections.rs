//! Maps by fingerprint and sets of them, which are not hashed once more.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::Fingerprint;

/// A map by fingerprint: those are mixed already.
pub type ByFingerprint<V> = HashMap<Fingerprint, V, BuildHasherDefault<FingerprintHasher>>;

/// A set of fingerprints.
pub type Fingerprints = HashSet<Fingerprint, BuildHasherDefault<FingerprintHasher>>;

/// Takes the bits of a fingerprint as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct FingerprintHasher(u64);

impl Hasher for FingerprintHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = bits;
    }
}
