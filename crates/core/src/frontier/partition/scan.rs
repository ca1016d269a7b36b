//! The way of a merge through the base that it replaces.

use std::ops::Range;
use std::sync::Arc;

use super::base::{Base, Directory, DirectoryEntry, Spot};
use super::entry::Entry;
use super::key::{HostKey, Key};
use super::take::Cursors;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::frontier::reputation::DomainTotals;

/// The sequence of a record that is in a base: before those of tails.
pub(super) const OF_BASE: u64 = 0;

/// The unconsumed part of a base, in order.
pub(super) struct Scan {
    pub base: Base,
    cursors: Arc<Cursors>,
    /// Number of the next block of the directory, and the one that is read.
    next: usize,
    block: Directory,
    /// The place at which the URLs of the current host go on, and the number of them.
    urls: (Spot, u64),
    at: At,
    /// Position in the block of the directory up to which there is no stretch.
    no_stretch_before: usize,
}

/// The entry to which a scan has come.
enum At {
    Url,
    /// A record, whose bytes are at this place in the block of the directory.
    Record {
        host: HostKey,
        record: Range<usize>,
    },
    Domain {
        domain: Fingerprint,
        totals: DomainTotals,
    },
}

/// Neighbours in a block of the directory of which nothing is consumed and nothing is in a tail.
#[derive(Default)]
pub(super) struct Stretch {
    pub entries: Vec<Untouched>,
    /// The place at which their URLs start, and the place at which the URLs after them start.
    pub from: Spot,
    pub to: Spot,
}

/// One of them.
pub(super) enum Untouched {
    Domain { domain: Fingerprint, totals: DomainTotals },
    Host { host: HostKey, urls: u64, start: Spot, record: Range<usize> },
}

impl Stretch {
    /// The starts of its hosts with URLs, which rise.
    pub(super) fn starts(&self) -> impl Iterator<Item = Spot> + use<'_> {
        self.entries.iter().filter_map(|entry| match entry {
            Untouched::Host { urls: 1.., start, .. } => Some(*start),
            _ => None,
        })
    }

    /// URLs of its hosts.
    pub(super) fn urls(&self) -> u64 {
        let urls = |entry: &Untouched| if let Untouched::Host { urls, .. } = entry { *urls } else { 0 };
        self.entries.iter().map(urls).sum()
    }
}

impl Scan {
    pub(super) fn new(base: Base, cursors: Arc<Cursors>) -> Self {
        Scan {
            base,
            cursors,
            next: 0,
            block: Directory::default(),
            urls: (Spot::default(), 0),
            at: At::Url,
            no_stretch_before: 0,
        }
    }

    /// Goes to the next entry; whether there is one.
    pub(super) fn advance(&mut self) -> Result<bool> {
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
                    self.no_stretch_before = 0;
                }
                Some(DirectoryEntry::Domain { domain, totals }) => {
                    self.at = At::Domain { domain, totals };
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

    /// The entry that was gone to last.
    pub(super) fn entry(&self) -> Entry<'_> {
        match &self.at {
            At::Url => Entry::Url(self.base.url()),
            At::Record { host, record } => {
                Entry::Record { host: *host, sequence: OF_BASE, record: self.block.bytes(record.clone()) }
            }
            At::Domain { domain, totals } => Entry::Domain { domain: *domain, totals: *totals },
        }
    }

    /// Goes over the hosts and domains that come next and are before `limit`, if none of them is begun and their URLs
    /// take at least `bytes_min` of the file; their entries take hardly more than `directory_max`.
    pub(super) fn stretch(
        &mut self,
        limit: Option<Key>,
        bytes_min: u64,
        directory_max: usize,
    ) -> Result<Option<Stretch>> {
        let start = self.block.position();
        if self.urls.1 > 0 || start < self.no_stretch_before {
            return Ok(None);
        }
        let mut stretch = Stretch::default();
        let (mut end, mut is_over) = (start, false);
        stretch.to = loop {
            let Some(entry) = self.base.next_entry(&mut self.block)? else { break self.block.spot() };
            let is_begun = matches!(entry, DirectoryEntry::Host { host, .. } if self.cursors.has(host));
            let is_before = limit.is_none_or(|limit| entry.key() < limit.group());
            is_over |= is_begun || !is_before || end - start >= directory_max;
            let (untouched, record) = match entry {
                DirectoryEntry::Host { urls: 1.., start, .. } if is_over => break start,
                _ if is_over => continue,
                DirectoryEntry::Domain { domain, totals } => (Untouched::Domain { domain, totals }, 0),
                DirectoryEntry::Host { host, urls, start, record } => {
                    (Untouched::Host { host, urls, start, record: 0..0 }, record.len())
                }
            };
            end = self.block.position();
            stretch.entries.push(untouched.with_record(end - record..end));
        };
        let from = stretch.starts().next();
        stretch.from = from.unwrap_or(stretch.to);
        if stretch.to.offset.saturating_sub(stretch.from.offset) < bytes_min {
            self.block.go_to(start);
            self.no_stretch_before = end;
            return Ok(None);
        }
        self.block.go_to(end);
        Ok(Some(stretch))
    }

    /// The record of a host in a stretch that was gone over last.
    pub(super) fn record(&self, range: Range<usize>) -> &[u8] {
        self.block.bytes(range)
    }
}

impl Untouched {
    fn with_record(mut self, range: Range<usize>) -> Self {
        if let Untouched::Host { record, .. } = &mut self {
            *record = range;
        }
        self
    }
}
