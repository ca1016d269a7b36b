//! A merge: tails and what is not consumed of a base become the next generation of the base.
//!
//! One sequential pass: tails are sorted in memory a chunk at a time (sorted chunks are laid aside in a file of runs
//! if there are several), then runs and base are merged by key. Where nothing of a tail comes between, blocks of the
//! base are taken over as they are: a tail that is small beside its base, and of few hosts, costs little more than a
//! copy of the file. Of several records of a host the last one counts, totals of a domain are added up, and what is no
//! longer worth keeping of a host is left out. Nothing that a checkpoint names is touched: the old files stay until the
//! frontier deletes them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::base::Base;
use super::entry::{Entries, Entry, unreadable};
use super::front::Front;
use super::key::Key;
use super::output::{MergeDone, NewBase, Output};
use super::scan::Scan;
use super::tail::{self, Frames};
use super::take::Cursors;
use crate::disk::{Disk, Result};
use crate::frontier::tuning::RUN_FRAME_BYTES;

/// Work of merging tails into a base.
#[derive(Debug)]
pub(in crate::frontier) struct Merge {
    pub disk: Disk,
    pub base: Option<(PathBuf, u64)>,
    pub cursors: Arc<Cursors>,
    pub tails: Vec<(PathBuf, u64)>,
    /// Path of the file for sorted chunks, which is written if need be.
    pub runs: PathBuf,
    pub chunk_bytes: usize,
    pub made: NewBase,
}

impl Merge {
    pub(super) fn run(self) -> Result<MergeDone> {
        let (mut sources, has_runs) = self.sources()?;
        let mut heads = BinaryHeap::new();
        for (n, source) in sources.iter_mut().enumerate() {
            if source.advance()? {
                heads.push(Reverse((source.key, n)));
            }
        }
        let mut out = Output::new(&self.disk, &self.made)?;
        while let Some(Reverse((_, n))) = heads.pop() {
            let source = &mut sources[n];
            // Stretches of one source are longer than one entry as a rule.
            loop {
                out.push(source.entry()?)?;
                if let Feed::Base(scan) = &mut source.feed
                    && let Some(stretch) = scan.stretch(
                        heads.peek().map(|Reverse((key, _))| *key),
                        self.stretch_min(),
                        self.made.block_bytes,
                    )?
                {
                    out.take_over(scan, &stretch)?;
                }
                if !source.advance()? {
                    break;
                }
                if heads.peek().is_some_and(|Reverse(next)| *next < (source.key, n)) {
                    heads.push(Reverse((source.key, n)));
                    break;
                }
            }
        }
        let done = out.finish()?;
        if has_runs {
            self.disk.remove(&self.runs)?;
        }
        Ok(done)
    }

    /// Bytes of a base from which on it pays to look for blocks that can be taken over: about two of them, compressed.
    fn stretch_min(&self) -> u64 {
        self.made.block_bytes as u64 / 2
    }

    /// The base first: of its record and one from a tail the latter comes last, and counts.
    fn sources(&self) -> Result<(Vec<Source>, bool)> {
        let mut sources = Vec::new();
        if let Some((path, bytes)) = &self.base {
            let base = Base::open(&self.disk, path, *bytes)?;
            sources.push(Source::new(Feed::Base(Box::new(Scan::new(base, self.cursors.clone())))));
        }
        let mut runs = Runs { disk: &self.disk, path: &self.runs, len: 0, chunk: Chunk::default(), made: Vec::new() };
        let mut frame = Vec::new();
        for (path, len) in &self.tails {
            let mut frames = Frames::of_tail(&self.disk, path, *len)?;
            while let Some(start) = frames.next(&mut frame)? {
                let mut entries = Entries::default();
                while entries.advance(&frame).map_err(|at| frames.malformed(start + at))? {
                    runs.chunk.push(&entries.entry(&frame).map_err(|at| frames.malformed(start + at))?);
                }
                if runs.chunk.bytes.len() >= self.chunk_bytes {
                    runs.lay_aside()?;
                }
            }
        }
        runs.chunk.sort();
        let has_runs = !runs.made.is_empty();
        for &(start, end) in &runs.made {
            let frames = Frames::of_run(&self.disk, &self.runs, start, end)?;
            sources.push(Source::new(Feed::Run { frames, frame: Vec::new(), entries: Box::default() }));
        }
        let Chunk { bytes, order } = runs.chunk;
        sources.push(Source::new(Feed::Memory { bytes, order: order.into_iter(), at: 0..0 }));
        Ok((sources, has_runs))
    }
}

/// Entries of tails in memory.
#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    order: Vec<(Key, Range<usize>)>,
}

impl Chunk {
    fn push(&mut self, entry: &Entry<'_>) {
        let start = self.bytes.len();
        entry.put_alone(&mut self.bytes);
        self.order.push((entry.key(), start..self.bytes.len()));
    }

    fn sort(&mut self) {
        self.order.sort_unstable_by_key(|(key, range)| (*key, range.start));
    }
}

/// The sorted chunks that do not fit in memory together.
struct Runs<'a> {
    disk: &'a Disk,
    path: &'a Path,
    len: u64,
    chunk: Chunk,
    made: Vec<(u64, u64)>,
}

impl Runs<'_> {
    fn lay_aside(&mut self) -> Result<()> {
        self.chunk.sort();
        let (mut frame, mut front) = (Vec::new(), Front::default());
        let start = self.len.max(crate::disk::HEADER_BYTES);
        for (_, range) in &self.chunk.order {
            entry_in(&self.chunk.bytes[range.clone()])?.put(&mut frame, &mut front);
            if frame.len() >= RUN_FRAME_BYTES {
                self.len = tail::append(self.disk, self.path, self.len, &frame)?;
                frame.clear();
                front.clear();
            }
        }
        self.len = tail::append(self.disk, self.path, self.len, &frame)?;
        self.made.push((start, self.len));
        self.chunk = Chunk::default();
        Ok(())
    }
}

/// A sorted sequence of entries.
struct Source {
    feed: Feed,
    /// Key of the entry that was gone to last.
    key: Key,
}

enum Feed {
    Base(Box<Scan>),
    Run { frames: Frames, frame: Vec<u8>, entries: Box<Entries> },
    Memory { bytes: Vec<u8>, order: std::vec::IntoIter<(Key, Range<usize>)>, at: Range<usize> },
}

impl Source {
    fn new(feed: Feed) -> Self {
        Source { feed, key: Key::default() }
    }

    /// Goes to the next entry; whether there is one.
    fn advance(&mut self) -> Result<bool> {
        let next = match &mut self.feed {
            Feed::Base(scan) => scan.advance()?.then(|| scan.entry().key()),
            Feed::Memory { order, at, .. } => order.next().map(|(key, range)| {
                *at = range;
                key
            }),
            Feed::Run { frames, frame, entries } => {
                let mut some = entries.advance(frame).map_err(|at| frames.malformed(at))?;
                if !some && let Some(start) = frames.next(frame)? {
                    **entries = Entries::default();
                    some = entries.advance(frame).map_err(|at| frames.malformed(start + at))?;
                }
                if some { Some(entries.entry(frame).map_err(|at| frames.malformed(at))?.key()) } else { None }
            }
        };
        self.key = next.unwrap_or_default();
        Ok(next.is_some())
    }

    /// The entry that was gone to last.
    fn entry(&self) -> Result<Entry<'_>> {
        match &self.feed {
            Feed::Base(scan) => Ok(scan.entry()),
            Feed::Memory { bytes, at, .. } => entry_in(&bytes[at.clone()]),
            Feed::Run { frames, frame, entries } => entries.entry(frame).map_err(|at| frames.malformed(at)),
        }
    }
}

/// An entry that was put into a chunk.
fn entry_in(bytes: &[u8]) -> Result<Entry<'_>> {
    Entry::read_alone(bytes).ok_or_else(|| unreadable(Path::new("tail")))
}
