//! What lies of one host in a partition, read beside whoever owns it.
//!
//! Goes over the tails as a stream and to the host's place in the base; holds a frame and a block at a time. Nothing is
//! opened for writing.

use super::base::{Base, Spot};
use super::entry::{Entry, HostKey};
use super::tail::{self, Frames};
use super::take::{Cursor, domain_pages, find};
use super::{FileState, Partition};
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::host::Item;

/// Something of a host on the cold side.
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
    /// Calls `each` with all that lies of `host` here: the base first, then tails and array in the order of writing.
    pub(in crate::frontier) fn for_each_of(
        &self,
        base: Option<FileState>,
        host: HostKey,
        each: &mut dyn FnMut(Cold),
    ) -> Result<()> {
        if let Some(state) = base {
            self.look_into_base(state, host, each)?;
        }
        for state in &self.recent.tails {
            let mut frames = Frames::of_tail(&self.disk, &self.path(state.generation, "tail"), state.bytes)?;
            while let Some((start, frame)) = frames.next()? {
                entries_of(&frame, host, each).map_err(|at| frames.malformed(start + at))?;
            }
        }
        entries_of(&self.array, host, each)
            .map_err(|at| Error::damaged(&self.dir, at, "the array of a partition in the checkpoint", "other bytes"))
    }

    fn look_into_base(&self, state: FileState, host: HostKey, each: &mut dyn FnMut(Cold)) -> Result<()> {
        let mut base = Base::open(&self.disk, &self.path(state.generation, "base"), state.bytes)?;
        let Some(found) = find(&base, host)? else { return Ok(()) };
        if let Some(record) = found.record {
            each(Cold::Record(record));
        }
        let start = Cursor { spot: found.start, taken: 0 };
        let cursor = self.cursors.get(&host).copied().unwrap_or(start);
        let mut spot: Spot = cursor.spot;
        for _ in cursor.taken..found.urls {
            let (item, next) = base.url_at(spot)?;
            if (item.url.domain, item.url.origin) != (host.domain, host.origin) {
                let path = self.path(state.generation, "base");
                let found = format!("one of {:016x}", item.url.origin.bits());
                let expected = format!("a URL of origin {:016x}", host.origin.bits());
                return Err(Error::damaged(&path, spot.offset, expected, found));
            }
            spot = next;
            each(Cold::Base(item));
        }
        Ok(())
    }

    /// Pages of `domain` that base and newer totals know of.
    pub(in crate::frontier) fn pages_of(&self, base: Option<FileState>, domain: Fingerprint) -> Result<u64> {
        let older = match base {
            Some(state) => {
                let base = Base::open(&self.disk, &self.path(state.generation, "base"), state.bytes)?;
                if base.directory_blocks() == 0 { 0 } else { domain_pages(&base, domain)? }
            }
            None => 0,
        };
        Ok(older.saturating_add(self.newer_pages(domain)))
    }
}

/// The entries of `host` in a frame; an error is where one cannot be read.
fn entries_of(frame: &[u8], host: HostKey, each: &mut dyn FnMut(Cold)) -> std::result::Result<(), u64> {
    for entry in tail::split(frame) {
        let (key, range) = entry?;
        if !key.is_of(host) {
            continue;
        }
        match Entry::decode(&frame[range.clone()]) {
            Some(Entry::Url(item)) => each(Cold::Tail(item)),
            Some(Entry::Record { record, .. }) => each(Cold::Record(record)),
            Some(Entry::Domain { .. }) => {}
            None => return Err(range.start as u64),
        }
    }
    Ok(())
}
