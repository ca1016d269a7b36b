//! Data that the store of pairs of domains keeps with a pair, and data that travels with a question about one.

use crate::drum::{Aux, Value};
use crate::fingerprint::Fingerprint;

/// The data that is stored with a pair of domains: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair;

impl Value for Pair {
    const FIXED_BYTES: Option<usize> = Some(0);

    fn encode(&self, _out: &mut Vec<u8>) {}

    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(Pair)
    }
}

/// The domain that a pair supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supported(pub Fingerprint);

impl Aux for Supported {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.bits().to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let bits = u64::from_le_bytes(bytes.try_into().ok()?);
        Some(Supported(Fingerprint::from_bits(bits)))
    }
}
