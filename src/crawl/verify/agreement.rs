//! Two streams in the order of their keys: what has to be known, and what is known.

use crate::disk::Result;
use crate::disk::sorter::Sorted;

/// A key that has to be known, and where it was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyRef {
    /// The key, or the offset of a key record.
    pub key: u64,
    /// The number of the file in which it was met; `None` for key.dat.
    pub source: Option<u32>,
    /// Offset in that file.
    pub at: u64,
}

const LINE_BYTES: usize = 20;

impl KeyRef {
    /// Makes the reference of a page with its key record at `at`.
    pub(super) fn page(key: u64, at: u64) -> Self {
        KeyRef { key, source: None, at }
    }

    /// Makes the reference of a queued URL at `at` of a file.
    pub(super) fn queued(key: u64, source: u32, at: u64) -> Self {
        KeyRef { key, source: Some(source), at }
    }

    /// Bytes that sort as keys do.
    pub(super) fn to_bytes(self) -> [u8; LINE_BYTES] {
        let mut bytes = [0; LINE_BYTES];
        bytes[..8].copy_from_slice(&self.key.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.source.map_or(0, |source| source + 1).to_be_bytes());
        bytes[12..].copy_from_slice(&self.at.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let word = |from: usize| u64::from_be_bytes(std::array::from_fn(|n| bytes[from + n]));
        let source = u32::from_be_bytes(std::array::from_fn(|n| bytes[8 + n]));
        KeyRef { key: word(0), source: source.checked_sub(1), at: word(12) }
    }
}

/// Compares keys that have to be known with those that are.
pub(super) struct Join {
    wanted: Sorted,
    head: Option<KeyRef>,
    /// Known besides, in order.
    others: Option<Sorted>,
    other: Option<u64>,
}

impl Join {
    pub(super) fn new(wanted: Sorted) -> Result<Self> {
        let mut join = Join { wanted, head: None, others: None, other: None };
        join.advance()?;
        Ok(join)
    }

    fn advance(&mut self) -> Result<()> {
        self.head = self.wanted.next()?.map(KeyRef::from_bytes);
        Ok(())
    }

    /// Begins a stretch of keys, in which `others` are known besides those that are met.
    pub(super) fn begin(&mut self, others: Sorted) -> Result<()> {
        self.others = Some(others);
        self.other = None;
        self.next_other()
    }

    fn next_other(&mut self) -> Result<()> {
        let next = self.others.as_mut().map(Sorted::next).transpose()?.flatten();
        self.other = next.map(|bytes| u64::from_be_bytes(std::array::from_fn(|n| bytes[n])));
        Ok(())
    }

    /// Returns whether `key` is one of the others; asked in rising order.
    fn is_other(&mut self, key: u64) -> Result<bool> {
        while self.other.is_some_and(|other| other < key) {
            self.next_other()?;
        }
        Ok(self.other == Some(key))
    }

    /// `key` is known, larger than those before. `absent` gets what is before it and is not.
    pub(super) fn advance_to(&mut self, key: u64, absent: &mut dyn FnMut(KeyRef)) -> Result<()> {
        while let Some(line) = self.head.filter(|line| line.key <= key) {
            if line.key < key && !self.is_other(line.key)? {
                absent(line);
            }
            self.advance()?;
        }
        Ok(())
    }

    /// The stretch ends: `absent` gets what follows and is not known, until it refuses.
    pub(super) fn end(&mut self, absent: &mut dyn FnMut(KeyRef) -> bool) -> Result<()> {
        while let Some(line) = self.head {
            if !self.is_other(line.key)? && !absent(line) {
                break;
            }
            self.advance()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sorter::Sorter;

    fn sorted(keys: &[u64]) -> Sorted {
        let mut sorter = Sorter::new(0);
        keys.iter().for_each(|key| sorter.push(&key.to_be_bytes()).unwrap());
        sorter.finish().unwrap()
    }

    #[test]
    fn what_neither_stream_knows_is_told_and_nothing_else() {
        let mut wanted = Sorter::new(0);
        for key in [9, 1, 5, 3, 3, 7, 300] {
            wanted.push(&KeyRef::queued(key, 2, key * 10).to_bytes()).unwrap();
        }
        wanted.push(&KeyRef::page(4, 77).to_bytes()).unwrap();
        let mut join = Join::new(wanted.finish().unwrap()).unwrap();
        join.begin(sorted(&[0, 5, 8])).unwrap();
        let mut absent = Vec::new();
        for key in [1, 3, 6] {
            join.advance_to(key, &mut |line| absent.push(line)).unwrap();
        }
        assert_eq!(absent, [KeyRef::page(4, 77)]);
        join.end(&mut |line| {
            absent.push(line);
            line.key < 100
        })
        .unwrap();
        let keys: Vec<_> = absent.iter().map(|line| line.key).collect();
        assert_eq!(keys, [4, 7, 9, 300]);
        // what was refused comes again in the next stretch
        join.begin(sorted(&[300])).unwrap();
        join.end(&mut |line| panic!("{line:?} is known")).unwrap();
    }
}
