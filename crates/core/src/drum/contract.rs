//! The traits of a DRUM's keys, values and auxiliaries, and of the dispatcher that receives its results.

use std::fmt::Debug;

use crate::disk::Result;
use crate::fingerprint::Fingerprint;

/// A key: 64 bits whose order is the order of the keys, spread evenly (the top bits choose the bucket).
pub trait Key: Copy + Ord + Debug + Send + 'static {
    /// The key as a number; `a < b` exactly when `a.to_bits() < b.to_bits()`.
    fn to_bits(self) -> u64;
    /// The inverse of [`Key::to_bits`].
    fn from_bits(bits: u64) -> Self;
}

impl Key for u64 {
    fn to_bits(self) -> u64 {
        self
    }

    fn from_bits(bits: u64) -> Self {
        bits
    }
}

impl Key for Fingerprint {
    fn to_bits(self) -> u64 {
        self.bits()
    }

    fn from_bits(bits: u64) -> Self {
        Fingerprint::from_bits(bits)
    }
}

/// A value that is stored under a key.
pub trait Value: Clone + Send + 'static {
    /// The length of every encoded value, where they all have the same; no lengths are stored then.
    const FIXED_BYTES: Option<usize>;
    /// Appends the encoded value to `out`: exactly [`Value::FIXED_BYTES`] bytes where that is given.
    fn encode(&self, out: &mut Vec<u8>);
    /// The value that was encoded as `bytes`, `None` where they are no value.
    fn decode(bytes: &[u8]) -> Option<Self>;
    /// Bytes that it holds beside its own size: what an LRU keeps of it is bounded by their sum.
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Value for () {
    const FIXED_BYTES: Option<usize> = Some(0);

    fn encode(&self, _out: &mut Vec<u8>) {}

    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(())
    }
}

impl Value for u64 {
    const FIXED_BYTES: Option<usize> = Some(8);

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// Bytes.
impl Value for Vec<u8> {
    const FIXED_BYTES: Option<usize> = None;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

/// Data that travels with an operation to its result and is never stored: the context in which the question was asked.
pub trait Aux: Send + 'static + Sized {
    /// Appends the encoded auxiliary to `out`.
    fn encode(&self, out: &mut Vec<u8>);
    /// The auxiliary that was encoded as `bytes`, `None` where they are none.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl Aux for () {
    fn encode(&self, _out: &mut Vec<u8>) {}

    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(())
    }
}

impl Aux for String {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(std::str::from_utf8(bytes).ok()?.to_owned())
    }
}

impl Aux for Vec<u8> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl<const N: usize> Aux for [u8; N] {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

/// Receives the results, in the order in which the operations of a bucket were asked for.
///
/// An error stops the DRUM for good: the result it was given for is neither dispatched nor pending any more, so
/// that only reopening at the last checkpoint is right.
pub trait Dispatcher<K, V, A> {
    /// `check` of a key that is not stored.
    fn unique_key_check(&mut self, key: K, aux: Option<A>) -> Result<()> {
        let _ = (key, aux);
        Ok(())
    }

    /// `check` of a key that is stored, with its value at that point of the order.
    fn duplicate_key_check(&mut self, key: K, value: V, aux: Option<A>) -> Result<()> {
        let _ = (key, value, aux);
        Ok(())
    }

    /// `check_update` of a key that was not stored; `value` is now.
    fn unique_key_update(&mut self, key: K, value: V, aux: Option<A>) -> Result<()> {
        let _ = (key, value, aux);
        Ok(())
    }

    /// `check_update` of a key that was stored; `value` has replaced what it had.
    fn duplicate_key_update(&mut self, key: K, value: V, aux: Option<A>) -> Result<()> {
        let _ = (key, value, aux);
        Ok(())
    }

    /// `update`; `value` is what is stored after it.
    fn update(&mut self, key: K, value: V, aux: Option<A>) -> Result<()> {
        let _ = (key, value, aux);
        Ok(())
    }
}
