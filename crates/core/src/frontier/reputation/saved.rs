//! The part of a cut that belongs to rounds and supporters, behind the rest of the frontier's section.
//!
//! ```text
//! | round v | limit v | begun t |
//! | for each partition: histogram of its base | is_partial 1 | n v | (domain 8, totals) * n |
//! | active domains v | (domain 8, totals known, totals added) * |
//! histogram = | n v | (bucket v, count v) * n |
//! ```
//! Pages of domains are in the older part of the section too, and count there. A crawl whose budgets do not follow
//! from supporters has none of this.

use super::{DomainTotals, Histogram, Rounds};
use crate::clock::Stored;
use crate::fingerprint::Fingerprint;
use crate::frontier::wire::{self, Reader};

/// The part of it that belongs to a partition.
#[derive(Clone, Debug, Default)]
pub(in crate::frontier) struct SavedPartition {
    pub histogram: Histogram,
    /// True if its tails have supporters that are not among these.
    pub is_partial: bool,
    pub domains: Vec<(Fingerprint, DomainTotals)>,
}

/// An active domain: what the disk side knows of it, and what was added since.
pub(in crate::frontier) type SavedDomain = (Fingerprint, DomainTotals, DomainTotals);

/// All of it.
#[derive(Clone, Debug, Default)]
pub(in crate::frontier) struct Saved {
    pub round: u32,
    pub limit: u64,
    pub begun: Stored,
    pub partitions: Vec<SavedPartition>,
    pub active: Vec<SavedDomain>,
}

impl Saved {
    /// Appends what comes before the partitions.
    pub(in crate::frontier) fn put_round(rounds: &Rounds, out: &mut Vec<u8>) {
        wire::put_varint(out, rounds.now.number.into());
        wire::put_varint(out, rounds.now.limit);
        wire::put_time(out, rounds.now.begun);
    }

    /// Appends a partition.
    pub(in crate::frontier) fn put_partition(
        histogram: &Histogram,
        is_partial: bool,
        domains: &[(Fingerprint, DomainTotals)],
        out: &mut Vec<u8>,
    ) {
        histogram.put(out);
        out.push(u8::from(is_partial));
        wire::put_varint(out, domains.len() as u64);
        for (domain, totals) in domains {
            wire::put_fingerprint(out, *domain);
            totals.put(out);
        }
    }

    /// Appends the active domains.
    pub(in crate::frontier) fn put_active(active: &[SavedDomain], out: &mut Vec<u8>) {
        wire::put_varint(out, active.len() as u64);
        for (domain, known, added) in active {
            wire::put_fingerprint(out, *domain);
            known.put(out);
            added.put(out);
        }
    }

    /// Reads the pages of active domains, from the older part of the section.
    pub(in crate::frontier) fn read_pages(reader: &mut Reader<'_>) -> Option<Vec<SavedDomain>> {
        let mut domains = Vec::new();
        for _ in 0..reader.varint()? {
            let domain = reader.fingerprint()?;
            let [known, added] = [reader.varint()?, reader.varint()?].map(DomainTotals::of_pages);
            domains.push((domain, known, added));
        }
        Some(domains)
    }

    /// Reads it, of a frontier with this many partitions; `Some(None)` where there is none.
    pub(in crate::frontier) fn read(reader: &mut Reader<'_>, partitions: usize) -> Option<Option<Self>> {
        if reader.is_at_end() {
            return Some(None);
        }
        let mut saved =
            Saved { round: reader.small()?, limit: reader.varint()?, begun: reader.time()?, ..Saved::default() };
        for _ in 0..partitions {
            let (histogram, is_partial) = (Histogram::read(reader)?, reader.u8()? != 0);
            let mut domains = Vec::new();
            for _ in 0..reader.varint()? {
                domains.push((reader.fingerprint()?, DomainTotals::read(reader)?));
            }
            saved.partitions.push(SavedPartition { histogram, is_partial, domains });
        }
        for _ in 0..reader.varint()? {
            let active = (reader.fingerprint()?, DomainTotals::read(reader)?, DomainTotals::read(reader)?);
            saved.active.push(active);
        }
        Some(Some(saved))
    }
}
