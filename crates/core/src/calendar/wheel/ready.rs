//! Records that are due and wait in memory to be taken.

use std::collections::VecDeque;

use super::frame;
use super::state::RamEntry;
use crate::clock::Time;

/// The records, in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Ready {
    pieces: VecDeque<Taken>,
    records: u64,
    bytes: usize,
}

/// A piece of a slot, from its first record on that nobody took.
#[derive(Debug)]
struct Taken {
    bytes: Vec<u8>,
    at: usize,
    records: u32,
}

impl Ready {
    /// Adds records that were checked.
    pub(crate) fn push(&mut self, bytes: Vec<u8>, records: u32) {
        if !bytes.is_empty() {
            self.records += u64::from(records);
            self.bytes += bytes.len();
            self.pieces.push_back(Taken { bytes, at: 0, records });
        }
    }

    /// The next record.
    pub(crate) fn pop(&mut self) -> Option<(Time, Box<[u8]>)> {
        let piece = self.pieces.front_mut()?;
        let before = piece.at;
        let (due, record) = frame::read(&piece.bytes, &mut piece.at).expect("records are checked when they are read");
        let record = record.into();
        self.records -= 1;
        self.bytes -= piece.at - before;
        piece.records -= 1;
        if piece.records == 0 {
            self.pieces.pop_front();
        }
        Some((due, record))
    }

    /// The number of records.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Entries of a cut's RAM section for the records.
    pub(crate) fn entries(&self) -> impl Iterator<Item = RamEntry<'_>> {
        let entry = |piece: &'_ Taken| (piece.records, piece.at);
        self.pieces.iter().map(move |piece| {
            let (records, at) = entry(piece);
            RamEntry { place: None, records, payload: &piece.bytes[at..] }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_order_and_a_cut_has_those_that_nobody_took() {
        let mut ready = Ready::default();
        for piece in 0..3_u64 {
            let mut bytes = Vec::new();
            (0..4).for_each(|n| frame::push(Time::from_ms(piece * 4 + n), &[n as u8; 9], &mut bytes));
            ready.push(bytes, 4);
        }
        ready.push(Vec::new(), 0);
        for n in 0..12 {
            assert_eq!(ready.records(), 12 - n);
            let left: Vec<_> = ready.entries().map(|entry| (entry.records, entry.payload.len())).collect();
            assert_eq!(left.iter().map(|(records, _)| u64::from(*records)).sum::<u64>(), 12 - n);
            assert_eq!(left.iter().map(|(_, bytes)| bytes).sum::<usize>(), ready.bytes());
            assert_eq!(ready.pop(), Some((Time::from_ms(n), vec![(n % 4) as u8; 9].into())));
        }
        assert_eq!((ready.pop(), ready.records(), ready.bytes()), (None, 0, 0));
    }
}
