//! The output of a merge: the next base, made of entries in order.

use std::path::PathBuf;

use super::base::{Base, BaseWriter, DirectoryEntry, Spot, Summary};
use super::entry::{Entry, unreadable};
use super::filter::Filter;
use super::key::HostKey;
use super::scan::{OF_BASE, Scan, Stretch, Untouched};
use crate::clock::Time;
use crate::disk::{Disk, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::record::HostRecord;
use crate::frontier::reputation::{DomainTotals, Histogram};
use crate::frontier::writer::Beginning;
use crate::frontier::writer::Writer;

/// The base to make.
#[derive(Debug)]
pub(in crate::frontier) struct NewBase {
    pub generation: u64,
    pub path: PathBuf,
    pub now: Time,
    /// Beginning of this process, by which it is known who wrote a record, and whether the base before was its own.
    pub beginning: Beginning,
    pub base_was_own: bool,
    pub block_bytes: usize,
    pub filter_bytes_max: usize,
    /// Hosts whose number of URLs is asked for, sorted.
    pub active: Vec<Fingerprint>,
    /// The round that goes on, where supporters of domains are counted: what was used of earlier ones is forgotten.
    pub round: Option<u32>,
}

/// Result of a merge.
#[derive(Debug)]
pub(in crate::frontier) struct MergeDone {
    /// Generation of the new base.
    pub generation: u64,
    /// Size of the new base; `None` if nothing is left.
    pub summary: Option<Summary>,
    pub filter: Filter,
    /// URLs in the new base of the hosts that were asked for.
    pub active: Vec<(Fingerprint, u64)>,
    /// Histogram of its domains by their supporters.
    pub supporters: Histogram,
}

/// Turns entries in order into a base.
pub(super) struct Output<'a> {
    disk: &'a Disk,
    made: &'a NewBase,
    writer: BaseWriter,
    domain: Option<(Fingerprint, DomainTotals)>,
    group: Option<Group>,
    /// The record of the group, if it has one, and its writer.
    record: Vec<u8>,
    written_by: Writer,
    active: Vec<(Fingerprint, u64)>,
    supporters: Histogram,
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
    pub(super) fn new(disk: &'a Disk, made: &'a NewBase) -> Result<Self> {
        let writer = BaseWriter::create(disk, &made.path, made.block_bytes)?;
        Ok(Output {
            disk,
            made,
            writer,
            domain: None,
            group: None,
            record: Vec::new(),
            written_by: Writer::This,
            active: Vec::new(),
            supporters: Histogram::default(),
            entries: 0,
        })
    }

    pub(super) fn push(&mut self, entry: Entry<'_>) -> Result<()> {
        match entry {
            Entry::Domain { domain, totals } => {
                self.close_group()?;
                match &mut self.domain {
                    Some((same, sum)) if *same == domain => sum.add(&totals),
                    _ => {
                        self.close_domain()?;
                        self.domain = Some((domain, totals));
                    }
                }
            }
            Entry::Record { host, sequence, record } => {
                self.group(host)?.has_record = true;
                self.written_by = match sequence {
                    OF_BASE => self.writer_of_base(),
                    _ => self.made.beginning.writer_of(sequence),
                };
                self.record.clear();
                self.record.extend_from_slice(record);
            }
            Entry::Url(url) => {
                self.group(url.host())?.urls += 1;
                self.writer.url(&url)?;
            }
        }
        Ok(())
    }

    /// Takes over a stretch that `scan` has gone over: its blocks as they are, but for those at its ends, which it
    /// shares with others, and for short ones.
    pub(super) fn take_over(&mut self, scan: &mut Scan, stretch: &Stretch) -> Result<()> {
        self.close_group()?;
        self.close_domain()?;
        let mut starts = self.copy(&mut scan.base, stretch)?.into_iter();
        for entry in &stretch.entries {
            match entry {
                Untouched::Domain { domain, totals } => {
                    self.entry(&DirectoryEntry::Domain { domain: *domain, totals: *totals });
                }
                Untouched::Host { host, urls, record, .. } => {
                    let start = if *urls > 0 { starts.next() } else { Some(Spot::default()) };
                    let start = start.ok_or_else(|| scan.base.malformed_url(stretch.to))?;
                    self.host(*host, *urls, start, scan.record(record.clone()), self.writer_of_base())?;
                }
            }
        }
        // not between two of them, for their URLs are before this block of the directory
        self.writer.end_entries()
    }

    /// Copies the URLs of a stretch; says where those of its hosts start now.
    fn copy(&mut self, base: &mut Base, stretch: &Stretch) -> Result<Vec<Spot>> {
        let (mut old, mut new) = (stretch.starts().peekable(), Vec::new());
        let (mut at, mut read) = (stretch.from, 0);
        while at != stretch.to {
            let block = base.stored(at.offset)?;
            if at.index == 0 && at.offset < stretch.to.offset && block.raw_bytes >= self.made.block_bytes / 2 {
                let offset = self.writer.block(base.stored_bytes())?;
                while let Some(start) = old.next_if(|start| start.offset == at.offset) {
                    new.push(Spot { offset, ..start });
                }
                at = Spot { offset: block.end, index: 0 };
                continue;
            }
            while at != stretch.to && at.offset < block.end {
                if old.next_if(|start| *start == at).is_some() {
                    new.push(self.writer.spot());
                }
                at = base.read_url(at)?;
                self.writer.url(&base.url())?;
                read += 1;
                if base.is_at_end_of_block() {
                    at = Spot { offset: block.end, index: 0 };
                }
            }
        }
        self.writer.count(stretch.urls().saturating_sub(read));
        Ok(new)
    }

    fn writer_of_base(&self) -> Writer {
        self.made.beginning.writer_of_base(self.made.base_was_own)
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
        let Some((domain, mut totals)) = self.domain.take() else { return Ok(()) };
        totals.forget_before(self.made.round.unwrap_or(0));
        if !totals.is_nothing() {
            self.entry(&DirectoryEntry::Domain { domain, totals });
            self.writer.end_entries()?;
        }
        Ok(())
    }

    fn close_group(&mut self) -> Result<()> {
        let Some(Group { host, start, urls, has_record }) = self.group.take() else { return Ok(()) };
        let record = std::mem::take(&mut self.record);
        self.host(host, urls, start, if has_record { &record } else { &[] }, self.written_by)?;
        self.record = record;
        self.writer.end_entries()
    }

    /// A host after its URLs, unless nothing of it is worth keeping. An empty record is none.
    fn host(&mut self, host: HostKey, urls: u64, start: Spot, record: &[u8], writer: Writer) -> Result<()> {
        if urls > 0 && self.made.active.binary_search(&host.origin).is_ok() {
            self.active.push((host.origin, urls));
        }
        let unreadable = || unreadable(&self.made.path);
        let renewed = match record {
            [] => None,
            record => Some(HostRecord::renewed(record, writer).ok_or_else(unreadable)?),
        };
        let record = match &renewed {
            None => None,
            Some(record) => HostRecord::kept(record, self.made.now).ok_or_else(unreadable)?,
        };
        if urls > 0 || record.is_some() {
            let record = record.as_deref().unwrap_or_default();
            self.entry(&DirectoryEntry::Host { host, urls, start, record });
        }
        Ok(())
    }

    fn entry(&mut self, entry: &DirectoryEntry<'_>) {
        self.entries += 1;
        if let DirectoryEntry::Domain { totals, .. } = entry {
            self.supporters.count(totals.supporters);
        }
        self.writer.entry(entry);
    }

    pub(super) fn finish(mut self) -> Result<MergeDone> {
        self.close_group()?;
        self.close_domain()?;
        let generation = self.made.generation;
        let (summary, filter) = self.writer.finish(self.made.filter_bytes_max)?;
        if self.entries == 0 {
            self.disk.remove(&self.made.path)?;
            return Ok(MergeDone {
                generation,
                summary: None,
                filter: Filter::default(),
                active: Vec::new(),
                supporters: Histogram::default(),
            });
        }
        Ok(MergeDone { generation, summary: Some(summary), filter, active: self.active, supporters: self.supporters })
    }
}
