//! Totals and waiting URLs of each domain of a partition.

use std::collections::BTreeMap;

use super::base::{Base, DirectoryEntry};
use super::entry::{Entries, Entry};
use super::tail::Frames;
use super::{FileState, Partition};
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::reputation::DomainTotals;

/// Totals of a domain, and the number of its URLs that wait.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::frontier) struct DomainTally {
    pub totals: DomainTotals,
    pub urls: u64,
}

impl DomainTally {
    pub(in crate::frontier) fn add(&mut self, other: &DomainTally) {
        self.totals.add(&other.totals);
        self.urls += other.urls;
    }
}

/// Tallies by domain.
pub(in crate::frontier) type Tallies = BTreeMap<Fingerprint, DomainTally>;

impl Partition {
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

/// Adds what a frame has; an error is where an entry cannot be read.
fn tally(frame: &[u8], domains: &mut Tallies) -> std::result::Result<(), u64> {
    let mut entries = Entries::default();
    while entries.advance(frame)? {
        match entries.entry(frame)? {
            Entry::Url(url) => domains.entry(url.domain).or_default().urls += 1,
            Entry::Domain { domain, totals } => domains.entry(domain).or_default().totals.add(&totals),
            Entry::Record { .. } => {}
        }
    }
    Ok(())
}
