//! Verifying a partition that somebody else owns: every block and frame, their order, and what a cut notes of them.
//!
//! The directory of a base is held against its URLs, host by host, and the cursors against both. Holds a frame, a block
//! and the cursors. What is wrong with a file is a fault in a list; an error means that the disk refused.

use std::path::Path;

use super::base::{Base, DirectoryEntry, Spot};
use super::entry::{Entries, Entry};
use super::key::{HostKey, Key};
use super::tail::Frames;
use super::{FileState, Partition, domain_key};
use crate::disk::{Error, Result};
use crate::drum::verify::is_fault;
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::frontier::record::HostRecord;
use crate::frontier::writer::Writer;

/// A listener to queued URLs: it gets a URL, whether it was taken already, and its file and offset.
pub(in crate::frontier) type Each<'a> = dyn FnMut(&QueuedUrl, bool, &Path, u64) -> Result<()> + 'a;

/// Inputs of the verification of a partition.
pub(in crate::frontier) struct Asked<'a> {
    /// Function that returns whether a domain belongs to it.
    pub owns: &'a dyn Fn(Fingerprint) -> bool,
    /// The file that has the arrays and cursors.
    pub checkpoint: &'a Path,
}

impl Partition {
    /// Goes through everything that the partition holds; says how many URLs are in it that were not taken.
    pub(in crate::frontier) fn verify(
        &self,
        base: Option<FileState>,
        asked: &Asked<'_>,
        each: &mut Each<'_>,
        faults: &mut Vec<Error>,
    ) -> Result<u64> {
        let before = faults.len();
        let mut in_tails = 0;
        for state in &self.recent.tails {
            let path = self.path(state.generation, "tail");
            gather(self.verify_tail(&path, state.bytes, asked, &mut in_tails, each), faults)?;
        }
        let array = self.verify_entries(&self.array, asked.checkpoint, 0, asked, &mut in_tails, each)?;
        faults.extend(array);
        if faults.len() == before && in_tails != self.recent.urls {
            let expected = format!("{} URLs in the tails of partition {}", self.recent.urls, self.number);
            faults.push(Error::damaged(asked.checkpoint, 0, expected, in_tails.to_string()));
        }
        let mut left = 0;
        if let Some(state) = base {
            left = match self.verify_base(state, asked, each, faults) {
                Err(error) if is_fault(&error) => {
                    faults.push(error);
                    0
                }
                left => left?,
            };
        } else if self.consumed != 0 || !self.cursors.begun.is_empty() || !self.cursors.spent.is_empty() {
            let expected = format!("no cursors in partition {}, which has no base", self.number);
            faults.push(Error::damaged(asked.checkpoint, 0, expected, "some"));
        }
        Ok(in_tails + left)
    }

    fn verify_tail(
        &self,
        path: &Path,
        bytes: u64,
        asked: &Asked<'_>,
        urls: &mut u64,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let mut frames = Frames::of_tail(&self.disk, path, bytes)?;
        let mut frame = Vec::new();
        while let Some(start) = frames.next(&mut frame)? {
            if let Some(error) = self.verify_entries(&frame, path, start, asked, urls, each)? {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Goes through the entries of a frame that begins at `start` of the file at `path`.
    fn verify_entries(
        &self,
        frame: &[u8],
        path: &Path,
        start: u64,
        asked: &Asked<'_>,
        urls: &mut u64,
        each: &mut Each<'_>,
    ) -> Result<Option<Error>> {
        let bad = |at: u64, found: &str| {
            let expected = format!("an entry of partition {}", self.number);
            Ok(Some(Error::damaged(path, start + at, expected, found)))
        };
        let mut entries = Entries::default();
        loop {
            match entries.advance(frame) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(at) => return bad(at, "other bytes"),
            }
            let at = entries.position();
            let domain = match entries.entry(frame) {
                Ok(Entry::Url(view)) => {
                    let Some(item) = view.to_item() else { return bad(at, "a URL that is no text") };
                    *urls += 1;
                    each(&item.url, false, path, start + at)?;
                    item.url.domain
                }
                Ok(Entry::Record { host, record, .. }) => {
                    if HostRecord::read(record, Writer::This).is_none() {
                        return bad(at, "a record of a host that is none");
                    }
                    host.domain
                }
                Ok(Entry::Domain { domain, .. }) => domain,
                Err(at) => return bad(at, "other bytes"),
            };
            if !(asked.owns)(domain) {
                return bad(at, "one of another partition");
            }
        }
    }

    fn verify_base(
        &self,
        state: FileState,
        asked: &Asked<'_>,
        each: &mut Each<'_>,
        faults: &mut Vec<Error>,
    ) -> Result<u64> {
        let path = self.path(state.generation, "base");
        let mut base = Base::open(&self.disk, &path, state.bytes)?;
        let filter = base.filter()?;
        let summary = base.summary.clone();
        let mut walk = Walked::new(&path);
        let mut last = None;
        for number in 0..base.directory_blocks() {
            let mut block = base.directory(number)?;
            while let Some(entry) = base.next_entry(&mut block)? {
                let (key, in_filter) = match entry {
                    DirectoryEntry::Domain { domain, .. } => ((domain, 0, Fingerprint::default()), domain_key(domain)),
                    DirectoryEntry::Host { host, .. } => ((host.domain, 1, host.origin), host.origin),
                };
                let ordered = last.replace(key).is_none_or(|last| last < key);
                if !ordered || !(asked.owns)(key.0) || !filter.may_hold(in_filter) {
                    let expected = format!("rising entries of partition {} that its filter knows", self.number);
                    let found = format!("domain {:016x}, origin {:016x}", key.0.bits(), key.2.bits());
                    return Err(Error::damaged(&path, 0, expected, found));
                }
                if let DirectoryEntry::Host { host, urls, start, record } = entry {
                    if !record.is_empty() && HostRecord::read(record, Writer::This).is_none() {
                        let found = format!("another one of origin {:016x}", host.origin.bits());
                        return Err(Error::damaged(&path, 0, "records of hosts in the directory", found));
                    }
                    let run = HostRun { host, start, urls };
                    self.verify_host(&mut base, run, &mut walk, asked, each, faults)?;
                }
            }
        }
        if (walk.urls, walk.hosts) != (summary.urls, summary.hosts) {
            let expected = format!("{} URLs of {} hosts, as the footer says", summary.urls, summary.hosts);
            let found = format!("{} of {}", walk.urls, walk.hosts);
            return Err(Error::damaged(&path, state.bytes, expected, found));
        }
        let cursors = (self.cursors.begun.len(), self.cursors.spent.len());
        if (walk.begun, walk.spent) != cursors || walk.taken != self.consumed {
            let expected = format!(
                "cursors of {} begun and {} spent hosts of partition {}, {} URLs before them",
                cursors.0, cursors.1, self.number, self.consumed
            );
            let found = format!("{}, {} and {} in its base", walk.begun, walk.spent, walk.taken);
            faults.push(Error::damaged(asked.checkpoint, 0, expected, found));
        }
        Ok(walk.urls.saturating_sub(walk.taken))
    }

    /// Goes through the URLs of a host.
    fn verify_host(
        &self,
        base: &mut Base,
        run: HostRun,
        walk: &mut Walked<'_>,
        asked: &Asked<'_>,
        each: &mut Each<'_>,
        faults: &mut Vec<Error>,
    ) -> Result<()> {
        let HostRun { host, start, urls } = run;
        let begun = self.cursors.begun.get(&host);
        let spent = self.cursors.spent.contains(&host.origin);
        let taken = if spent { urls } else { begun.map_or(0, |cursor| cursor.taken) };
        walk.hosts += 1;
        walk.spent += usize::from(spent);
        walk.begun += usize::from(begun.is_some());
        walk.taken += taken;
        let mut spot = start;
        for number in 0..urls {
            self.verify_cursor(host, begun.filter(|_| number == taken).map(|cursor| cursor.spot), spot, asked, faults);
            let next = base.read_url(spot)?;
            let url = base.url();
            let order = url.order();
            if url.host() != host || walk.last.is_some_and(|last| last >= order) {
                let expected = format!("URLs of origin {:016x} in order", host.origin.bits());
                let found = format!("one of {:016x}, or out of order", url.numbers.origin.bits());
                return Err(Error::damaged(walk.path, next.offset, expected, found));
            }
            walk.last = Some(order);
            let item = url.to_item().ok_or_else(|| base.malformed_url(spot))?;
            each(&item.url, number < taken, walk.path, next.offset)?;
            spot = next;
        }
        walk.urls += urls;
        if taken > urls || (begun.is_some() && taken >= urls) {
            let expected = format!("a cursor within {urls} URLs of origin {:016x}", host.origin.bits());
            faults.push(Error::damaged(asked.checkpoint, 0, expected, taken.to_string()));
        }
        Ok(())
    }

    fn verify_cursor(
        &self,
        host: HostKey,
        noted: Option<Spot>,
        spot: Spot,
        asked: &Asked<'_>,
        faults: &mut Vec<Error>,
    ) {
        if let Some(noted) = noted.filter(|noted| *noted != spot) {
            let expected = format!(
                "the cursor of origin {:016x} at URL {} of block {}",
                host.origin.bits(),
                spot.index,
                spot.offset
            );
            let found = format!("{} of {}", noted.index, noted.offset);
            faults.push(Error::damaged(asked.checkpoint, 0, expected, found));
        }
    }
}

/// The URLs of a host in a base, as the directory has them.
struct HostRun {
    host: HostKey,
    /// Place of the first one.
    start: Spot,
    /// Number of URLs.
    urls: u64,
}

/// Counts of what was met on the way through a base.
struct Walked<'a> {
    path: &'a Path,
    urls: u64,
    hosts: u64,
    taken: u64,
    begun: usize,
    spent: usize,
    last: Option<Key>,
}

impl<'a> Walked<'a> {
    fn new(path: &'a Path) -> Self {
        Walked { path, urls: 0, hosts: 0, taken: 0, begun: 0, spent: 0, last: None }
    }
}

/// Puts what is wrong with a file into `faults`; other errors come back.
fn gather(result: Result<()>, faults: &mut Vec<Error>) -> Result<()> {
    match result {
        Err(error) if is_fault(&error) => faults.push(error),
        other => other?,
    }
    Ok(())
}
