//! Sorted lines that are asked for in their order, the next of which is known.

use serde::Deserialize;

use super::error::Result;
use super::run::RunReader;
use crate::disk::sorter::Sorted;

/// The lines.
pub(super) struct Ahead {
    lines: Lines,
    next: Option<Vec<u8>>,
}

/// The origin of lines.
enum Lines {
    Sorted(Sorted),
    Run(RunReader),
}

impl Ahead {
    /// The lines of a sorter.
    pub fn sorted(lines: Sorted) -> Result<Ahead> {
        Ahead::begin(Lines::Sorted(lines))
    }

    /// The records of a file.
    pub fn run(lines: RunReader) -> Result<Ahead> {
        Ahead::begin(Lines::Run(lines))
    }

    fn begin(lines: Lines) -> Result<Ahead> {
        let mut ahead = Ahead { lines, next: None };
        ahead.take()?;
        Ok(ahead)
    }

    /// The next line.
    pub fn next(&self) -> Option<&[u8]> {
        self.next.as_deref()
    }

    /// Takes the next line.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>> {
        let next = match &mut self.lines {
            Lines::Sorted(lines) => lines.next()?,
            Lines::Run(lines) => lines.next()?,
        };
        Ok(std::mem::replace(&mut self.next, next.map(<[u8]>::to_vec)))
    }

    /// Takes the next line if it begins with `key`.
    pub fn take_of(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.next().is_some_and(|line| line.starts_with(key)) { self.take() } else { Ok(None) }
    }
}

/// Reads what was written by this process into a line, from the byte `at` on.
pub(super) fn read_behind<'a, T: Deserialize<'a>>(line: &'a [u8], at: usize) -> T {
    postcard::from_bytes(&line[at..]).expect("a line of this process is as it was written")
}
