//! A merge: tails and what is not consumed of a base become the next generation of the base.
//!
//! One sequential pass: tails are sorted in memory a chunk at a time (sorted chunks are laid aside in a file of runs
//! if there are several), then runs and base are merged by key. Of several records of a host the last one counts,
//! pages of a domain are added up, and what is no longer worth keeping of a host is left out. Nothing that a
//! checkpoint names is touched: the old files stay until the frontier deletes them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::base::{Base, BaseWriter, Directory, DirectoryEntry, Spot, Summary};
use super::entry::{Entries, Entry, HostKey, Key};
use super::filter::Filter;
use super::front::Front;
use super::tail::{self, Frames};
use super::take::Cursors;
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::record::HostRecord;

/// Bytes of a frame in a file of runs.
const RUN_FRAME_BYTES: usize = 64 << 10;

/// What to merge.
#[derive(Debug)]
pub(in crate::frontier) struct Merge {
    pub disk: Disk,
    /// Of the new base.
    pub generation: u64,
    pub base: Option<(PathBuf, u64)>,
    pub cursors: Arc<Cursors>,
    pub tails: Vec<(PathBuf, u64)>,
    /// Where the new base goes, and sorted chunks if need be.
    pub target: PathBuf,
    pub runs: PathBuf,
    pub now: Time,
    pub chunk_bytes: usize,
    pub filter_bytes_max: usize,
    /// Hosts whose number of URLs is asked for, sorted.
    pub active: Vec<Fingerprint>,
}

/// What a merge made.
#[derive(Debug)]
pub(in crate::frontier) struct MergeDone {
    /// Of the new base.
    pub generation: u64,
    /// `None` if nothing is left.
    pub summary: Option<Summary>,
    pub filter: Filter,
    /// URLs in the new base of the hosts that were asked for.
    pub active: Vec<(Fingerprint, u64)>,
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
        let mut out = Output::new(&self)?;
        while let Some(Reverse((_, n))) = heads.pop() {
            let source = &mut sources[n];
            // Stretches of one source are longer than one entry as a rule.
            loop {
                out.push(source.entry()?)?;
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
            sources.push(Source::new(Feed::Run { frames, frame: Vec::new(), entries: Entries::default() }));
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
    /// Of the entry that was gone to last.
    key: Key,
}

enum Feed {
    Base(Box<Scan>),
    Run { frames: Frames, frame: Vec<u8>, entries: Entries },
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
                    *entries = Entries::default();
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

fn unreadable(path: &Path) -> Error {
    Error::damaged(path, 0, "an entry of a partition", "other bytes under a right checksum")
}

/// The unconsumed part of a base, in order.
struct Scan {
    base: Base,
    cursors: Arc<Cursors>,
    /// Number of the next block of the directory, and the one that is read.
    next: usize,
    block: Directory,
    /// Where the URLs of the current host go on, and how many there are.
    urls: (Spot, u64),
    at: At,
}

/// What a scan has come to.
enum At {
    Url,
    /// Its bytes lie there in the block of the directory.
    Record {
        host: HostKey,
        record: Range<usize>,
    },
    Domain {
        domain: Fingerprint,
        pages: u64,
    },
}

impl Scan {
    fn new(base: Base, cursors: Arc<Cursors>) -> Self {
        Scan { base, cursors, next: 0, block: Directory::default(), urls: (Spot::default(), 0), at: At::Url }
    }

    fn advance(&mut self) -> Result<bool> {
        loop {
            if self.urls.1 > 0 {
                let next = self.base.read_url(self.urls.0)?;
                self.urls = (next, self.urls.1 - 1);
                self.at = At::Url;
                return Ok(true);
            }
            match self.base.next_entry(&mut self.block)? {
                None if self.next == self.base.directory_blocks() => return Ok(false),
                None => {
                    let read = std::mem::take(&mut self.block);
                    self.base.recycle(read);
                    self.block = self.base.directory(self.next)?;
                    self.next += 1;
                }
                Some(DirectoryEntry::Domain { domain, pages }) => {
                    self.at = At::Domain { domain, pages };
                    return Ok(true);
                }
                Some(DirectoryEntry::Host { host, urls, start, record }) => {
                    let cursor = self.cursors.of(host, start, urls);
                    self.urls = (cursor.spot, urls.saturating_sub(cursor.taken));
                    let len = record.len();
                    if len > 0 {
                        let end = self.block.position();
                        self.at = At::Record { host, record: end - len..end };
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn entry(&self) -> Entry<'_> {
        match &self.at {
            At::Url => Entry::Url(self.base.url()),
            At::Record { host, record } => {
                Entry::Record { host: *host, sequence: 0, record: self.block.bytes(record.clone()) }
            }
            At::Domain { domain, pages } => Entry::Domain { domain: *domain, pages: *pages },
        }
    }
}

/// Turns entries in order into a base.
struct Output<'a> {
    merge: &'a Merge,
    writer: BaseWriter,
    domain: Option<(Fingerprint, u64)>,
    group: Option<Group>,
    /// Of the group, if it has one.
    record: Vec<u8>,
    active: Vec<(Fingerprint, u64)>,
    entries: u64,
}

/// The host whose entries come now.
struct Group {
    host: HostKey,
    start: Spot,
    urls: u64,
    has_record: bool,
}

impl<'a> Output<'a> {
    fn new(merge: &'a Merge) -> Result<Self> {
        let writer = BaseWriter::create(&merge.disk, &merge.target)?;
        Ok(Output { merge, writer, domain: None, group: None, record: Vec::new(), active: Vec::new(), entries: 0 })
    }

    fn push(&mut self, entry: Entry<'_>) -> Result<()> {
        match entry {
            Entry::Domain { domain, pages } => {
                self.close_group()?;
                match &mut self.domain {
                    Some((same, sum)) if *same == domain => *sum = sum.saturating_add(pages),
                    _ => {
                        self.close_domain()?;
                        self.domain = Some((domain, pages));
                    }
                }
            }
            Entry::Record { host, record, .. } => {
                self.group(host)?.has_record = true;
                self.record.clear();
                self.record.extend_from_slice(record);
            }
            Entry::Url(url) => {
                let host = HostKey { domain: url.domain, origin: url.origin };
                self.group(host)?.urls += 1;
                self.writer.url(&url)?;
            }
        }
        Ok(())
    }

    /// The group of `host`, begun if need be.
    fn group(&mut self, host: HostKey) -> Result<&mut Group> {
        if self.group.as_ref().is_none_or(|group| group.host != host) {
            self.close_group()?;
            self.close_domain()?;
        }
        let start = self.writer.spot();
        Ok(self.group.get_or_insert(Group { host, start, urls: 0, has_record: false }))
    }

    fn close_domain(&mut self) -> Result<()> {
        if let Some((domain, pages)) = self.domain.take().filter(|&(_, pages)| pages > 0) {
            self.entries += 1;
            self.writer.entry(&DirectoryEntry::Domain { domain, pages })?;
        }
        Ok(())
    }

    fn close_group(&mut self) -> Result<()> {
        let Some(Group { host, start, urls, has_record }) = self.group.take() else { return Ok(()) };
        if urls > 0 && self.merge.active.binary_search(&host.origin).is_ok() {
            self.active.push((host.origin, urls));
        }
        let record = if has_record {
            HostRecord::kept(&self.record, self.merge.now).ok_or_else(|| unreadable(&self.merge.target))?
        } else {
            None
        };
        if urls > 0 || record.is_some() {
            self.entries += 1;
            let record = record.as_deref().unwrap_or_default();
            self.writer.entry(&DirectoryEntry::Host { host, urls, start, record })?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<MergeDone> {
        self.close_group()?;
        self.close_domain()?;
        let generation = self.merge.generation;
        let (summary, filter) = self.writer.finish(self.merge.filter_bytes_max)?;
        if self.entries == 0 {
            self.merge.disk.remove(&self.merge.target)?;
            return Ok(MergeDone { generation, summary: None, filter: Filter::default(), active: Vec::new() });
        }
        Ok(MergeDone { generation, summary: Some(summary), filter, active: self.active })
    }
}
