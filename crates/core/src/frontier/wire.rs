//! The bytes of the frontier's own formats: little-endian integers, varints (LEB128) and sized strings.
//!
//! Writing never fails. Reading is done by [`Reader`], which checks every length against what is there and answers
//! `None` where the bytes end too early: nothing is allocated on the word of a length that was read.

use crate::clock::{Stored, Time};
use crate::fingerprint::Fingerprint;
use crate::varint;

/// Appends a number of variable length.
pub(super) fn put_varint(out: &mut Vec<u8>, value: u64) {
    varint::push(value, out);
}

/// Appends the difference of two numbers, small in either direction.
pub(super) fn put_delta(out: &mut Vec<u8>, from: u64, to: u64) {
    let delta = to.wrapping_sub(from) as i64;
    put_varint(out, (delta << 1 ^ delta >> 63) as u64);
}

/// Appends `bytes` after their length.
pub(super) fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends the eight bytes of a fingerprint.
pub(super) fn put_fingerprint(out: &mut Vec<u8>, fingerprint: Fingerprint) {
    out.extend_from_slice(&fingerprint.bits().to_le_bytes());
}

/// Appends a moment.
pub(super) fn put_time(out: &mut Vec<u8>, time: Time) {
    put_varint(out, time.ms());
}

/// Reads what the functions above wrote.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Returns the bytes that have not been read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        varint::read(self.bytes, &mut self.at)
    }

    pub(super) fn delta(&mut self, from: u64) -> Option<u64> {
        let code = self.varint()?;
        let delta = (code >> 1) as i64 ^ -((code & 1) as i64);
        Some(from.wrapping_add(delta as u64))
    }

    /// A varint that fits a smaller type.
    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.varint()?).ok()
    }

    pub(super) fn sized(&mut self) -> Option<&'a [u8]> {
        let len = self.small()?;
        self.take(len)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.sized()?).ok()
    }

    pub(super) fn fingerprint(&mut self) -> Option<Fingerprint> {
        self.u64().map(Fingerprint::from_bits)
    }

    pub(super) fn time(&mut self) -> Option<Stored> {
        self.varint().map(|ms| Stored::new(Time::from_ms(ms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read_back() {
        let mut out = Vec::new();
        let numbers = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1]).chain([u64::MAX]);
        for n in numbers.clone() {
            put_varint(&mut out, n);
            put_delta(&mut out, 1_000, n);
        }
        let mut reader = Reader::new(&out);
        for n in numbers {
            assert_eq!(reader.varint(), Some(n));
            assert_eq!(reader.delta(1_000), Some(n));
        }
        assert!(reader.is_at_end());
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        assert_eq!(Reader::new(&[0xff; 11]).varint(), None);
        assert_eq!(Reader::new(&[0x80]).varint(), None);
        assert_eq!(Reader::new(&[200, 1, b'x']).sized(), None);
        assert_eq!(Reader::new(&[1, 0xff]).text(), None);
    }
}
