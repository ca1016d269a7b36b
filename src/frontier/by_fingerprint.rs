//! Maps by fingerprint, which are not hashed once more.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::fingerprint::Fingerprint;

/// A map by fingerprint: those are mixed already.
pub(super) type ByFingerprint<V> = HashMap<Fingerprint, V, BuildHasherDefault<FingerprintHasher>>;

/// Takes the bits of a fingerprint as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FingerprintHasher(u64);

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
