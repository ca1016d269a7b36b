//! The links of a graph as pairs of numbers.

use super::names::Names;
use super::{line, parts};
use crate::disk::Result;
use crate::disk::scratch::{Reader, Scratch, Writer};
use crate::disk::sorter::{Sorted, Sorter};

/// Bytes of a number.
const NUMBER: usize = size_of::<u32>();

/// Links by their first host and then by their second, each pair once.
pub struct Edges {
    stored: Scratch,
    count: u64,
}

impl Edges {
    /// Makes edges from lines of two names, both of which are in `names`. A pair of which one is not is passed over.
    pub(super) fn of(mut pairs: Sorted, names: &Names, memory: usize) -> Result<Edges> {
        let (mut sources, mut by_target, mut last) = (names.lookup(), Sorter::new(memory), Vec::new());
        while let Some(pair) = pairs.next()? {
            if pair == last {
                continue;
            }
            last.clear();
            last.extend_from_slice(pair);
            let (from, to) = parts(pair);
            if let Some(number) = sources.number(from)? {
                by_target.push(&line(&String::from_utf8_lossy(to), &number.to_be_bytes()))?;
            }
        }
        drop(pairs);
        let (mut targets, mut by_source) = (names.lookup(), Sorter::new(memory));
        let mut pairs = by_target.finish()?;
        while let Some(pair) = pairs.next()? {
            let (to, from) = parts(pair);
            if let Some(number) = targets.number(to)? {
                by_source.push(&[from, &number.to_be_bytes()].concat())?;
            }
        }
        drop(pairs);
        let (mut sorted, mut out, mut count) = (by_source.finish()?, Writer::new()?, 0);
        while let Some(pair) = sorted.next()? {
            out.write(pair)?;
            count += 1;
        }
        Ok(Edges { stored: out.finish()?, count })
    }

    /// Returns the number of edges.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All in order.
    pub fn each(&self) -> Each<'_> {
        Each { reader: self.stored.read() }
    }

    /// Returns the targets of all links, sorted: as many lines for a host as links lead to it.
    pub(super) fn in_degrees(&self, memory: usize) -> Result<Sorted> {
        let mut targets = Sorter::new(memory);
        for edge in self.each() {
            targets.push(&edge?.1.to_be_bytes())?;
        }
        targets.finish()
    }
}

/// Links in order.
pub struct Each<'a> {
    reader: Reader<'a>,
}

impl Iterator for Each<'_> {
    type Item = Result<(u32, u32)>;

    fn next(&mut self) -> Option<Self::Item> {
        pair(&mut self.reader).transpose()
    }
}

fn pair(reader: &mut Reader<'_>) -> Result<Option<(u32, u32)>> {
    let Some(pair) = reader.next(2 * NUMBER)? else { return Ok(None) };
    let number = |at: usize| u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
    Ok(Some((number(0), number(NUMBER))))
}

/// The links into each block of this many hosts, by their first host.
pub(super) struct Blocks<'a> {
    /// Hosts of a block.
    pub hosts: u32,
    stored: Cow<'a>,
    /// Places at which the blocks begin, and the one at which the last one ends.
    starts: Vec<u64>,
}

enum Cow<'a> {
    /// There is one block.
    All(&'a Scratch),
    Sorted(Scratch),
}

impl<'a> Blocks<'a> {
    /// `edges` in blocks of `hosts` at most, of `all`.
    pub(crate) fn new(edges: &'a Edges, hosts: u32, all: u32, memory: usize) -> Result<Blocks<'a>> {
        let bytes = |count: u64| count * 2 * NUMBER as u64;
        if hosts >= all {
            return Ok(Blocks { hosts, stored: Cow::All(&edges.stored), starts: vec![0, bytes(edges.count)] });
        }
        let mut sorter = Sorter::new(memory);
        for edge in edges.each() {
            let (from, to) = edge?;
            let mut line = [0; 3 * NUMBER];
            line[..NUMBER].copy_from_slice(&(to / hosts).to_be_bytes());
            line[NUMBER..2 * NUMBER].copy_from_slice(&from.to_be_bytes());
            line[2 * NUMBER..].copy_from_slice(&to.to_be_bytes());
            sorter.push(&line)?;
        }
        let (mut sorted, mut out, mut starts, mut count) = (sorter.finish()?, Writer::new()?, vec![0], 0);
        let blocks = all.div_ceil(hosts) as usize;
        while let Some(line) = sorted.next()? {
            let block = u32::from_be_bytes([line[0], line[1], line[2], line[3]]) as usize;
            starts.resize(starts.len().max(block + 1), bytes(count));
            out.write(&line[NUMBER..])?;
            count += 1;
        }
        starts.resize(blocks + 1, bytes(count));
        Ok(Blocks { hosts, stored: Cow::Sorted(out.finish()?), starts })
    }

    /// The links into the block of this number.
    pub(crate) fn of(&self, block: usize) -> OfBlock<'_> {
        let stored = match &self.stored {
            Cow::All(stored) => stored,
            Cow::Sorted(stored) => stored,
        };
        let left = (self.starts[block + 1] - self.starts[block]) / (2 * NUMBER as u64);
        OfBlock { reader: stored.read_from(self.starts[block]), left }
    }
}

/// The links into a block.
pub(super) struct OfBlock<'a> {
    reader: Reader<'a>,
    left: u64,
}

impl OfBlock<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<(u32, u32)>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        pair(&mut self.reader)
    }
}
