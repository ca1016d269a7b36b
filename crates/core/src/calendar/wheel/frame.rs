//! Records of the wheel in bytes, and the frames in which they go to files.
//!
//! ```text
//! record   | due ms v | bytes v | bytes * |
//! frame    | bytes u32 | records u32 | crc32 of both and of the records u32 | records |
//! ```
//! Frames are read whole and checked before anything in them is believed.

use crate::clock::Time;
use crate::varint;

/// Length of the head of a frame, which comes before its records.
pub(super) const FRAME_HEAD_BYTES: usize = 12;
/// Longest record in bytes: many times a URL with all that belongs to it.
pub const RECORD_BYTES_MAX: usize = 1 << 20;
/// Bytes of a record beside its own at most: two numbers.
const RECORD_HEAD_BYTES_MAX: usize = 20;
/// Bytes of a buffer at which it goes to the file at the latest, the last record not counted.
pub(super) const BUFFER_BYTES_MAX: usize = 1 << 20;
/// The most bytes of a frame, its head not counted.
pub(super) const FRAME_BYTES_MAX: usize = BUFFER_BYTES_MAX + RECORD_BYTES_MAX + RECORD_HEAD_BYTES_MAX;

/// Appends a record.
#[inline]
pub(super) fn push(due: Time, record: &[u8], out: &mut Vec<u8>) {
    varint::push(due.ms(), out);
    varint::push(record.len() as u64, out);
    out.extend_from_slice(record);
}

/// Reads the record at `*at` and moves on.
#[inline]
pub(super) fn read<'a>(bytes: &'a [u8], at: &mut usize) -> Option<(Time, &'a [u8])> {
    let due = varint::read(bytes, at)?;
    let record = varint::read_slice(bytes, at)?;
    (record.len() <= RECORD_BYTES_MAX).then_some((Time::from_ms(due), record))
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the records.
    pub bytes: usize,
    /// The number of records.
    pub records: u32,
    /// The checksum.
    pub crc: u32,
}

impl Head {
    /// Makes the head of `records` records in `payload`.
    pub(crate) fn of(payload: &[u8], records: u32) -> Head {
        let mut head = Head { bytes: payload.len(), records, crc: 0 };
        head.crc = head.checksum(payload);
        head
    }

    /// Encodes the head as it is in a file.
    pub(crate) fn to_bytes(self) -> [u8; FRAME_HEAD_BYTES] {
        let mut bytes = [0; FRAME_HEAD_BYTES];
        bytes[..4].copy_from_slice(&(self.bytes as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.records.to_le_bytes());
        bytes[8..].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    /// Reads one; nothing of it is checked yet.
    pub(crate) fn from_bytes(bytes: &[u8; FRAME_HEAD_BYTES]) -> Head {
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
        Head { bytes: number(0) as usize, records: number(4), crc: number(8) }
    }

    /// Returns the checksum of these records under this head.
    pub(crate) fn checksum(&self, payload: &[u8]) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&self.to_bytes()[..8]);
        sum.update(payload);
        sum.finalize()
    }

    /// Says in words what is wrong with `payload` under this head: its checksum, its records, or that one of them is
    /// due at a time that `takes` refuses.
    pub(crate) fn fault(&self, payload: &[u8], takes: impl Fn(Time) -> bool) -> Option<String> {
        let sum = self.checksum(payload);
        if sum != self.crc {
            return Some(format!("records with checksum {sum:08x} instead of {:08x}", self.crc));
        }
        let (mut at, mut records) = (0, 0);
        while at < payload.len() {
            let start = at;
            match read(payload, &mut at) {
                Some((due, _)) if takes(due) => records += 1,
                Some((due, _)) => return Some(format!("a record that is due at {} ms", due.ms())),
                None => return Some(format!("what is no record {start} bytes behind the head")),
            }
        }
        (records != self.records).then(|| format!("{records} records instead of {}", self.records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_and_every_flipped_bit_is_noticed() {
        let mut payload = Vec::new();
        push(Time::from_ms(1_700_000_000_000), b"one", &mut payload);
        push(Time::MAX, b"", &mut payload);
        let head = Head::of(&payload, 2);
        assert_eq!(Head::from_bytes(&head.to_bytes()), head);
        assert_eq!(head.fault(&payload, |_| true), None);
        let whole = [&head.to_bytes()[..], &payload].concat();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (head, payload) = bytes.split_first_chunk().unwrap();
            let head = Head::from_bytes(head);
            assert!(head.bytes != payload.len() || head.fault(payload, |_| true).is_some(), "bit {bit}");
        }
        let mut at = 0;
        assert_eq!(read(&payload, &mut at), Some((Time::from_ms(1_700_000_000_000), &b"one"[..])));
        assert_eq!(read(&payload, &mut at), Some((Time::MAX, &b""[..])));
        assert_eq!(read(&payload, &mut at), None);
    }

    #[test]
    fn what_is_wrong_under_a_right_checksum_is_named() {
        let mut payload = Vec::new();
        push(Time::from_ms(5), b"one", &mut payload);
        let fault = |records: u32, payload: &[u8], until: u64| {
            Head::of(payload, records).fault(payload, |due| due < Time::from_ms(until)).unwrap_or_default()
        };
        assert_eq!(fault(1, &payload, 6), "");
        assert_eq!(fault(2, &payload, 6), "1 records instead of 2");
        assert_eq!(fault(1, &payload, 5), "a record that is due at 5 ms");
        assert_eq!(fault(1, &payload[..4], 6), "what is no record 0 bytes behind the head");
    }
}
