//! Sorting more than memory holds: lines of bytes in, the same lines in ascending order out.
//!
//! Lines gather in memory up to a bound; then they are sorted and written as a run to one temporary file, which has no
//! name and is gone with the process however it ends. At the end the runs are merged, each with a share of the bound as
//! its buffer. What fits in memory never touches the disk. No line is dropped, equal ones neither.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::env;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::{Error, Result};

/// The least that a sorter works with.
pub const MEMORY_MIN: usize = 1 << 20;
/// The least buffer of a run that is merged.
const BUFFER_MIN: usize = 4 << 10;
/// Bytes of a line's place in the arena.
const PLACE_BYTES: usize = size_of::<Place>();
const LENGTH_BYTES: usize = 4;

/// The place of a line in the arena.
#[derive(Clone, Copy)]
pub struct Place {
    /// Offset of its first byte.
    start: u32,
    /// Number of its bytes.
    length: u32,
}

impl Place {
    /// Returns the line.
    fn of(self, arena: &[u8]) -> &[u8] {
        &arena[self.start as usize..(self.start + self.length) as usize]
    }
}

/// Takes lines.
pub struct Sorter {
    memory: usize,
    arena: Vec<u8>,
    /// Places of the lines in the arena.
    lines: Vec<Place>,
    spill: Option<Spill>,
}

/// Sorted runs in a temporary file.
struct Spill {
    file: File,
    runs: Vec<Range<u64>>,
}

impl Sorter {
    /// A sorter that keeps about `memory` bytes of lines.
    pub fn new(memory: usize) -> Self {
        let memory = memory.clamp(MEMORY_MIN, u32::MAX as usize / 2);
        Sorter { memory, arena: Vec::new(), lines: Vec::new(), spill: None }
    }

    /// Takes a line.
    pub fn push(&mut self, line: &[u8]) -> Result<()> {
        let used = self.arena.len() + self.lines.len() * PLACE_BYTES;
        if used + line.len() + PLACE_BYTES > self.memory && !self.lines.is_empty() {
            self.spill()?;
        }
        let within = |length: usize| {
            u32::try_from(length).map_err(|_| Error::limit("sort", &env::temp_dir(), "lines of more than 4 GiB"))
        };
        self.lines.push(Place { start: within(self.arena.len())?, length: within(line.len())? });
        self.arena.extend_from_slice(line);
        Ok(())
    }

    /// All lines, in order.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.spill.is_some() && !self.lines.is_empty() {
            self.spill()?;
        }
        let Some(spill) = self.spill else {
            self.sort();
            return Ok(Sorted::Memory { arena: self.arena, lines: self.lines, next: 0 });
        };
        Ok(Sorted::Disk(spill.merge(self.memory)?))
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.lines.sort_unstable_by(|a, b| a.of(arena).cmp(b.of(arena)));
    }

    /// Writes the lines in memory as a run.
    fn spill(&mut self) -> Result<()> {
        self.sort();
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(Spill { file: temporary()?, runs: Vec::new() }),
        };
        let lines = self.lines.iter().map(|place| place.of(&self.arena));
        spill.write_run(|write| lines.into_iter().try_for_each(write))?;
        self.arena.clear();
        self.lines.clear();
        if spill.runs.len() * BUFFER_MIN > self.memory {
            // more runs than there is room for buffers: they become one
            let merged = std::mem::replace(spill, Spill { file: temporary()?, runs: Vec::new() });
            let mut merge = merged.merge(self.memory)?;
            spill.write_run(|write| {
                while let Some(line) = merge.next()? {
                    write(line)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// A file in the system's directory for such ones.
fn temporary() -> Result<File> {
    tempfile::tempfile().map_err(|e| fault("create a temporary file in", e))
}

fn fault(action: &'static str, error: io::Error) -> Error {
    Error::io(action, &env::temp_dir(), error)
}

impl Spill {
    /// Appends a run of the lines that `give` hands to its argument.
    fn write_run(&mut self, give: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>) -> Result<()> {
        let start = self.runs.last().map_or(0, |run| run.end);
        let mut end = start;
        let mut out = BufWriter::with_capacity(256 << 10, &self.file);
        let failed = |e| fault("write a temporary file in", e);
        give(&mut |line| {
            let length = u32::try_from(line.len()).expect("a line's length was checked when it came");
            end += (LENGTH_BYTES + line.len()) as u64;
            out.write_all(&length.to_le_bytes()).and_then(|()| out.write_all(line)).map_err(failed)
        })?;
        out.flush().map_err(failed)?;
        drop(out);
        self.runs.push(start..end);
        Ok(())
    }

    fn merge(self, memory: usize) -> Result<Merge> {
        let buffer = (memory / self.runs.len().max(1)).clamp(BUFFER_MIN, 1 << 20);
        let mut merge =
            Merge { file: self.file, runs: Vec::new(), heap: BinaryHeap::new(), current: None, buffer_bytes: buffer };
        for range in self.runs {
            merge.runs.push(Run { range, buffer: Vec::new(), at: 0 });
            merge.advance(merge.runs.len() - 1, Vec::new())?;
        }
        Ok(merge)
    }
}

/// Lines in order.
pub enum Sorted {
    /// All fitted into memory.
    Memory {
        /// All lines, one behind the other.
        arena: Vec<u8>,
        /// Places of the lines in `arena`, in the order of the lines.
        lines: Vec<Place>,
        /// The one that is given next.
        next: usize,
    },
    /// Lines that come from the temporary file.
    Disk(Merge),
}

impl Sorted {
    /// The next line.
    #[expect(clippy::should_implement_trait, reason = "a line is lent, which no iterator can do")]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        match self {
            Sorted::Memory { arena, lines, next } => {
                let line = lines.get(*next).map(|place| place.of(arena));
                *next += 1;
                Ok(line)
            }
            Sorted::Disk(merge) => merge.next(),
        }
    }
}

/// Sorted lines of which it is asked in ascending order whether they are there.
pub struct Members {
    lines: Sorted,
    /// The first line that is not smaller than what was asked for last.
    next: Option<Vec<u8>>,
}

impl Members {
    /// All lines of `lines`.
    pub fn of(lines: Sorted) -> Result<Members> {
        let mut members = Members { lines, next: Some(Vec::new()) };
        members.advance()?;
        Ok(members)
    }

    /// Returns whether `line`, which is not smaller than the one before, is there.
    pub fn has(&mut self, line: &[u8]) -> Result<bool> {
        while self.next.as_deref().is_some_and(|next| next < line) {
            self.advance()?;
        }
        Ok(self.next.as_deref() == Some(line))
    }

    fn advance(&mut self) -> Result<()> {
        let mut room = self.next.take().unwrap_or_default();
        self.next = self.lines.next()?.map(|line| {
            room.clear();
            room.extend_from_slice(line);
            room
        });
        Ok(())
    }
}

/// A merge of runs.
pub struct Merge {
    file: File,
    runs: Vec<Run>,
    /// The next line of every run that has one.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// The line that was given last, and its run.
    current: Option<(Vec<u8>, usize)>,
    buffer_bytes: usize,
}

struct Run {
    /// The part of the file that is not read yet.
    range: Range<u64>,
    buffer: Vec<u8>,
    at: usize,
}

impl Merge {
    fn next(&mut self) -> Result<Option<&[u8]>> {
        if let Some((line, run)) = self.current.take() {
            self.advance(run, line)?;
        }
        self.current = self.heap.pop().map(|Reverse(next)| next);
        Ok(self.current.as_ref().map(|(line, _)| line.as_slice()))
    }

    /// Puts the next line of run `number` on the heap, in the room of `line`.
    fn advance(&mut self, number: usize, mut line: Vec<u8>) -> Result<()> {
        line.clear();
        let (run, file) = (&mut self.runs[number], &self.file);
        let mut length = [0; LENGTH_BYTES];
        if !run.read(file, self.buffer_bytes, LENGTH_BYTES, |part| length.copy_from_slice(part))? {
            return Ok(());
        }
        run.read(file, self.buffer_bytes, u32::from_le_bytes(length) as usize, |part| line.extend_from_slice(part))?;
        self.heap.push(Reverse((line, number)));
        Ok(())
    }
}

impl Run {
    /// Gives the next `count` bytes to `take`, or says that the run is at its end.
    fn read(&mut self, file: &File, buffer_bytes: usize, count: usize, take: impl FnOnce(&[u8])) -> Result<bool> {
        if self.buffer.len() - self.at < count {
            let left = usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX);
            self.buffer.drain(..self.at);
            self.at = 0;
            let held = self.buffer.len();
            if held == 0 && left == 0 && count > 0 {
                return Ok(false);
            }
            let more = buffer_bytes.max(count).saturating_sub(held).min(left);
            self.buffer.resize(held + more, 0);
            let read = file.read_exact_at(&mut self.buffer[held..], self.range.start);
            read.map_err(|e| fault("read a temporary file in", e))?;
            self.range.start += more as u64;
        }
        take(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_ascending_order_however_often_they_are_there() {
        let mut sorter = Sorter::new(0);
        for line in ["d", "b", "b", "f"] {
            sorter.push(line.as_bytes()).unwrap();
        }
        let mut members = Members::of(sorter.finish().unwrap()).unwrap();
        let found = ["a", "b", "c", "d", "d", "e", "f", "g"].map(|line| members.has(line.as_bytes()).unwrap());
        assert_eq!(found, [false, true, false, true, true, false, true, false]);
        assert!(!Members::of(Sorter::new(0).finish().unwrap()).unwrap().has(b"a").unwrap());
    }

    fn sorted(sorter: Sorter) -> Vec<Vec<u8>> {
        let mut sorted = sorter.finish().unwrap();
        let mut lines = Vec::new();
        while let Some(line) = sorted.next().unwrap() {
            lines.push(line.to_vec());
        }
        lines
    }

    #[test]
    fn lines_come_out_in_order_whether_they_fit_in_memory_or_not() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for count in [0, 1, 2, 1_000, 60_000] {
            let mut sorter = Sorter::new(0);
            let mut lines: Vec<Vec<u8>> =
                (0..count).map(|_| (0..random.usize(..120)).map(|_| random.u8(..)).collect()).collect();
            for line in &lines {
                sorter.push(line).unwrap();
            }
            assert_eq!(sorter.spill.is_some(), count == 60_000);
            lines.sort();
            assert!(sorted(sorter) == lines, "seed {seed}, {count} lines");
        }
    }

    #[test]
    fn a_line_longer_than_the_bound_is_sorted_too() {
        let mut sorter = Sorter::new(0);
        let lines = [vec![2; 3 << 20], vec![1; 2 << 20], vec![3], vec![1; 5 << 20], vec![]];
        for line in &lines {
            sorter.push(line).unwrap();
        }
        let mut expected = lines.to_vec();
        expected.sort();
        assert!(sorted(sorter) == expected);
    }

    #[test]
    fn more_runs_than_there_is_room_for_are_merged_on_the_way() {
        let mut sorter = Sorter::new(0);
        sorter.memory = 3 * BUFFER_MIN;
        let lines: Vec<[u8; 8]> = (0..20_000_u64).map(|n| (n * 7_919 % 20_011).to_be_bytes()).collect();
        for line in &lines {
            sorter.push(line).unwrap();
            assert!(sorter.spill.as_ref().is_none_or(|spill| spill.runs.len() <= 3));
        }
        let mut expected = lines;
        expected.sort_unstable();
        assert!(sorted(sorter) == expected);
    }
}
