//! The contents of a partition, read without a change: one host with its URLs, hosts that rest, all domains.
//!
//! Goes over the tails as a stream, and to the host's place in the base or once over its directory; holds a frame and a
//! block at a time. Nothing is opened for writing.

use super::base::{Base, DirectoryEntry, Spot};
use super::entry::{Entries, Entry};
use super::key::HostKey;
use super::tail::Frames;
use super::take::{Cursor, domain_totals};
use super::tally::{Tallies, tally};
use super::{FileState, Partition};
use crate::clock::Time;
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::domain_key;
use crate::frontier::host::Item;
use crate::frontier::record::HostRecord;
use crate::frontier::reputation::DomainTotals;
use crate::frontier::writer::Writer;

/// A record or URL of a host on the disk side.
#[derive(Debug)]
pub(in crate::frontier) enum Cold {
    /// A record of it; the last one counts.
    Record(Box<[u8]>),
    /// A URL in the base that no take has brought yet. They come in the order in which they will leave.
    Base(Item),
    /// A URL in a tail or the array, which the next merge puts in its place.
    Tail(Item),
}

impl Partition {
    /// Calls `each` with all that is here of `host`: the base first, then tails and array in the order of writing.
    pub(in crate::frontier) fn for_each_of(
        &self,
        base: Option<FileState>,
        host: HostKey,
        each: &mut dyn FnMut(Cold),
    ) -> Result<()> {
        if let Some(state) = base {
            self.look_into_base(state, host, each)?;
        }
        let mut frame = Vec::new();
        for state in &self.recent.tails {
            let mut frames = Frames::of_tail(&self.disk, &self.path(state.generation, "tail"), state.bytes)?;
            while let Some(start) = frames.next(&mut frame)? {
                entries_of(&frame, host, each).map_err(|at| frames.malformed(start + at))?;
            }
        }
        entries_of(&self.array, host, each)
            .map_err(|at| Error::damaged(&self.dir, at, "the array of a partition in the checkpoint", "other bytes"))
    }

    fn look_into_base(&self, state: FileState, host: HostKey, each: &mut dyn FnMut(Cold)) -> Result<()> {
        let path = self.path(state.generation, "base");
        let mut base = Base::open(&self.disk, &path, state.bytes)?;
        let Some(Found { start, urls, record }) = find_with_record(&mut base, host)? else { return Ok(()) };
        if !record.is_empty() {
            each(Cold::Record(record));
        }
        let mut cursor = self.cursors.of(host, start, urls);
        while cursor.taken < urls {
            let next = base.read_url(cursor.spot)?;
            let url = base.url();
            if url.host() != host {
                let found = format!("one of {:016x}", url.numbers.origin.bits());
                let expected = format!("a URL of origin {:016x}", host.origin.bits());
                return Err(Error::damaged(&path, cursor.spot.offset, expected, found));
            }
            each(Cold::Base(url.to_item().ok_or_else(|| base.malformed_url(cursor.spot))?));
            cursor = Cursor { spot: next, taken: cursor.taken + 1 };
        }
        Ok(())
    }

    /// The record that the base has of `host`.
    pub(in crate::frontier) fn record_in_base(
        &self,
        base: Option<FileState>,
        host: HostKey,
    ) -> Result<Option<Box<[u8]>>> {
        let Some(state) = base else { return Ok(None) };
        let mut base = Base::open(&self.disk, &self.path(state.generation, "base"), state.bytes)?;
        let found = find_with_record(&mut base, host)?;
        Ok(found.map(|found| found.record).filter(|record| !record.is_empty()))
    }

    /// All that is known of `domain`; the base is read where it may have the domain.
    pub(in crate::frontier) fn all_totals(&self, domain: Fingerprint) -> Result<DomainTotals> {
        let base = self.base.as_ref().filter(|_| self.base_filter.may_hold(domain_key(domain)));
        let base = base.map(|base| FileState { generation: base.generation, bytes: base.summary.bytes });
        self.totals_of(base, domain)
    }

    /// Returns the totals of `domain` that base, tails and array have together.
    pub(in crate::frontier) fn totals_of(&self, base: Option<FileState>, domain: Fingerprint) -> Result<DomainTotals> {
        let mut totals = match base {
            Some(state) => {
                let mut base = Base::open(&self.disk, &self.path(state.generation, "base"), state.bytes)?;
                if base.directory_blocks() == 0 { DomainTotals::default() } else { domain_totals(&mut base, domain)? }
            }
            None => DomainTotals::default(),
        };
        if self.recent.is_partial {
            self.for_each_domain_behind(&mut |found, newer| {
                if found == domain {
                    totals.add(newer);
                }
            })?;
        } else {
            totals.add(&self.newer_totals(domain));
        }
        Ok(totals)
    }

    /// Calls `each` with every host that is not active and has a record by which it rests at `now`, when this process
    /// begins, and until when; what is forgiven by `since` does not count. Reads the directory of the base once,
    /// sequentially.
    pub(in crate::frontier) fn for_each_held(
        &self,
        now: Time,
        since: Time,
        each: &mut dyn FnMut(Fingerprint, Time),
    ) -> Result<()> {
        let mut look = |origin: Fingerprint, record: &[u8]| {
            let until = HostRecord::held_until_in(record, since, Writer::Before(now)).filter(|&until| until > now);
            if let Some(until) = until.filter(|_| !self.active.contains_key(&origin)) {
                each(origin, until);
            }
        };
        let newer = self.frozen.records.iter().filter(|(origin, _)| !self.recent.records.contains_key(origin));
        newer.chain(&self.recent.records).for_each(|(&origin, record)| look(origin, record));
        let Some(file) = &self.base else { return Ok(()) };
        let mut base = Base::open(&self.disk, &self.path(file.generation, "base"), file.summary.bytes)?;
        for number in 0..base.directory_blocks() {
            let mut block = base.directory(number)?;
            while let Some(entry) = base.next_entry(&mut block)? {
                if let DirectoryEntry::Host { host, record, .. } = entry
                    && self.newer_record(host.origin).is_none()
                {
                    look(host.origin, record);
                }
            }
            base.recycle(block);
        }
        Ok(())
    }

    /// Returns whether the base holds no URLs but those of active hosts and of hosts that were asked and never
    /// answered. A host that was never asked is not among the latter.
    pub(in crate::frontier) fn is_silent(&self) -> Result<bool> {
        let Some(file) = self.base.as_ref().filter(|_| self.base_left() > 0) else { return Ok(true) };
        let mut base = Base::open(&self.disk, &self.path(file.generation, "base"), file.summary.bytes)?;
        for number in 0..base.directory_blocks() {
            let mut block = base.directory(number)?;
            while let Some(entry) = base.next_entry(&mut block)? {
                let DirectoryEntry::Host { host, urls, start, record } = entry else { continue };
                let is_left = self.cursors.of(host, start, urls).taken < urls;
                if !is_left || self.active.contains_key(&host.origin) {
                    continue;
                }
                if !HostRecord::is_silent_in(self.newer_record(host.origin).unwrap_or(record)) {
                    return Ok(false);
                }
            }
            base.recycle(block);
        }
        Ok(true)
    }

    /// Adds what base, tails and array have of each domain.
    pub(in crate::frontier) fn tally_domains(&self, base: Option<FileState>, domains: &mut Tallies) -> Result<()> {
        if let Some(state) = base {
            let mut base = Base::open(&self.disk, &self.path(state.generation, "base"), state.bytes)?;
            for number in 0..base.directory_blocks() {
                let mut block = base.directory(number)?;
                while let Some(entry) = base.next_entry(&mut block)? {
                    match entry {
                        DirectoryEntry::Domain { domain, totals } => {
                            domains.entry(domain).or_default().totals.add(&totals);
                        }
                        DirectoryEntry::Host { host, urls, start, .. } => {
                            let taken = self.cursors.of(host, start, urls).taken;
                            domains.entry(host.domain).or_default().urls += urls.saturating_sub(taken);
                        }
                    }
                }
                base.recycle(block);
            }
        }
        let mut frame = Vec::new();
        for state in &self.recent.tails {
            let mut frames = Frames::of_tail(&self.disk, &self.path(state.generation, "tail"), state.bytes)?;
            while let Some(start) = frames.next(&mut frame)? {
                tally(&frame, domains).map_err(|at| frames.malformed(start + at))?;
            }
        }
        tally(&self.array, domains)
            .map_err(|at| Error::damaged(&self.dir, at, "the array of a partition in the checkpoint", "other bytes"))
    }
}

impl Partition {
    /// Calls `each` with what tails and array add to the totals of domains.
    pub(in crate::frontier) fn for_each_domain_behind(
        &self,
        each: &mut dyn FnMut(Fingerprint, &DomainTotals),
    ) -> Result<()> {
        let mut frame = Vec::new();
        for state in &self.recent.tails {
            let mut frames = Frames::of_tail(&self.disk, &self.path(state.generation, "tail"), state.bytes)?;
            while let Some(start) = frames.next(&mut frame)? {
                domains_of(&frame, each).map_err(|at| frames.malformed(start + at))?;
            }
        }
        domains_of(&self.array, each)
            .map_err(|at| Error::damaged(&self.dir, at, "the array of a partition in the checkpoint", "other bytes"))
    }
}

/// The totals of domains in a frame; an error is where an entry cannot be read.
fn domains_of(frame: &[u8], each: &mut dyn FnMut(Fingerprint, &DomainTotals)) -> std::result::Result<(), u64> {
    let mut entries = Entries::default();
    while entries.advance(frame)? {
        if let Entry::Domain { domain, totals } = entries.entry(frame)? {
            each(domain, &totals);
        }
    }
    Ok(())
}

/// A host in the directory of a base.
struct Found {
    start: Spot,
    urls: u64,
    /// Empty for none.
    record: Box<[u8]>,
}

/// Finds the place at which the URLs of a host start, the number of them, and the record that the base has of it.
fn find_with_record(base: &mut Base, wanted: HostKey) -> Result<Option<Found>> {
    if base.directory_blocks() == 0 {
        return Ok(None);
    }
    let mut block = base.directory(base.block_of(wanted))?;
    while let Some(entry) = base.next_entry(&mut block)? {
        if let DirectoryEntry::Host { host, urls, start, record } = entry
            && host == wanted
        {
            return Ok(Some(Found { start, urls, record: record.into() }));
        }
    }
    Ok(None)
}

/// The entries of `host` in a frame; an error is where one cannot be read.
fn entries_of(frame: &[u8], host: HostKey, each: &mut dyn FnMut(Cold)) -> std::result::Result<(), u64> {
    let mut entries = Entries::default();
    while entries.advance(frame)? {
        let entry = entries.entry(frame)?;
        if !entry.key().is_of(host) {
            continue;
        }
        match entry {
            Entry::Url(url) => each(Cold::Tail(url.to_item().ok_or(entries.position())?)),
            Entry::Record { record, .. } => each(Cold::Record(record.into())),
            Entry::Domain { .. } => {}
        }
    }
    Ok(())
}
