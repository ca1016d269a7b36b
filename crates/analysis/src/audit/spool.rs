//! Sorted lines in a temporary file, each once, that are read from the start as often as it takes.

use std::borrow::Cow;

use crate::disk::Result;
use crate::disk::scratch::{Reader, Scratch, Writer};
use crate::disk::sorter::Sorter;

const LENGTH_BYTES: usize = 4;

/// Takes lines that are in order.
pub(super) struct SpoolWriter {
    out: Writer,
}

impl SpoolWriter {
    pub(super) fn new() -> Result<SpoolWriter> {
        Ok(SpoolWriter { out: Writer::new()? })
    }

    pub(super) fn push(&mut self, line: &[u8]) -> Result<()> {
        let length = u32::try_from(line.len()).expect("lines that are sorted are shorter than 4 GiB");
        self.out.write(&length.to_le_bytes())?;
        self.out.write(line)
    }

    pub(super) fn finish(self) -> Result<Spool> {
        Ok(Spool { file: self.out.finish()? })
    }
}

/// Lines in order.
pub(super) struct Spool {
    file: Scratch,
}

impl Spool {
    /// The lines of a sorter, equal ones once.
    pub(super) fn of(sorter: Sorter) -> Result<Spool> {
        let mut sorted = sorter.finish()?;
        let mut out = SpoolWriter::new()?;
        let mut last: Option<Vec<u8>> = None;
        while let Some(line) = sorted.next()? {
            if last.as_deref() != Some(line) {
                out.push(line)?;
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(line);
            }
        }
        out.finish()
    }

    /// Returns the lines, from the first one on.
    pub(super) fn read(&self) -> Lines<'_> {
        Lines { reader: self.file.read(), line: Vec::new(), is_held: false }
    }
}

/// A walk over lines, which can be looked at before they are taken.
pub(super) struct Lines<'a> {
    reader: Reader<'a>,
    line: Vec<u8>,
    is_held: bool,
}

impl Lines<'_> {
    /// The next line, which stays the next one until it is taken.
    pub(super) fn peek(&mut self) -> Result<Option<&[u8]>> {
        if !self.is_held {
            let Some(length) = self.reader.next(LENGTH_BYTES)? else { return Ok(None) };
            let length = u32::from_le_bytes(length.try_into().expect("so many were asked for")) as usize;
            let Some(line) = self.reader.next(length)? else { return Ok(None) };
            self.line.clear();
            self.line.extend_from_slice(line);
            self.is_held = true;
        }
        Ok(Some(&self.line))
    }

    /// The next line.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.peek()?.is_none() {
            return Ok(None);
        }
        self.is_held = false;
        Ok(Some(&self.line))
    }

    /// The key of the next line.
    pub(super) fn key(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.peek()?.map(|line| super::line::key(line).to_vec()))
    }

    /// The next line, if its key is `key`; lines of lesser keys are passed over.
    pub(super) fn next_of(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        while self.peek()?.is_some_and(|line| super::line::key(line) < key) {
            self.is_held = false;
        }
        if self.peek()?.is_some_and(|line| super::line::key(line) == key) {
            return Ok(self.next()?.map(Cow::Borrowed));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::line;
    use super::*;

    #[test]
    fn lines_are_read_in_order_once_each_and_again() {
        let mut sorter = Sorter::new(0);
        for text in ["b", "a", "b", "", "c"] {
            sorter.push(text.as_bytes()).unwrap();
        }
        let spool = Spool::of(sorter).unwrap();
        for _ in 0..2 {
            let mut lines = spool.read();
            let mut found = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                found.push(String::from_utf8(line.to_vec()).unwrap());
            }
            assert_eq!(found, ["", "a", "b", "c"]);
        }
    }

    #[test]
    fn lines_of_a_key_are_found_in_the_order_of_the_keys() {
        let mut sorter = Sorter::new(0);
        for fields in [["a", "1"], ["b", "1"], ["b", "2"], ["d", "1"]] {
            sorter.push(&line(fields)).unwrap();
        }
        let spool = Spool::of(sorter).unwrap();
        let mut lines = spool.read();
        assert!(lines.next_of(b"b").unwrap().is_some() && lines.next_of(b"b").unwrap().is_some());
        assert!(lines.next_of(b"b").unwrap().is_none() && lines.next_of(b"c").unwrap().is_none());
        assert_eq!(lines.key().unwrap().as_deref(), Some(&b"d"[..]));
    }
}
