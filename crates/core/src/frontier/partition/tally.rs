//! Totals and waiting URLs of each domain of a partition.

use std::collections::BTreeMap;

use super::entry::{Entries, Entry};
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

/// Adds what a frame has; an error is where an entry cannot be read.
pub(super) fn tally(frame: &[u8], domains: &mut Tallies) -> std::result::Result<(), u64> {
    let mut entries = Entries::default();
    while entries.advance(frame)? {
        match entries.entry(frame)? {
            Entry::Url(url) => domains.entry(url.numbers.domain).or_default().urls += 1,
            Entry::Domain { domain, totals } => domains.entry(domain).or_default().totals.add(&totals),
            Entry::Record { .. } => {}
        }
    }
    Ok(())
}
