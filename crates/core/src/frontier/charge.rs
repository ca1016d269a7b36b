//! Charges: pages and bytes that a replay found to have been fetched, and that budgets have to know.
//!
//! An active host is charged at once, and so is a domain, whose pages are a sum. A host that is not active may have a
//! record on the disk side, which only a take or a merge reads: its charge waits here until it becomes active, and is
//! part of every cut. Where no record can be there, one is made of the charge ([`Frontier::record_charges`]), so that
//! what waits here is of hosts of the disk side only.

use std::collections::BTreeMap;

use super::Frontier;
use super::partition::HostKey;
use super::record::{HostRecord, Standing};
use super::wire::{self, Reader};
use super::writer::Writer;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;

/// The part of a host's budgets that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Charge {
    domain: Fingerprint,
    pages: u64,
    bytes: u64,
}

impl Charge {
    fn put_on(&self, standing: &mut Standing) {
        standing.pages = standing.pages.saturating_add(self.pages);
        standing.bytes = standing.bytes.saturating_add(self.bytes);
    }
}

/// Charges by origin.
#[derive(Debug, Default)]
pub(super) struct Charges(BTreeMap<Fingerprint, Charge>);

impl Charges {
    /// A host becomes active: what waits for it goes onto its standing.
    pub(super) fn collect(&mut self, origin: Fingerprint, standing: &mut Standing) {
        if let Some(charge) = self.0.remove(&origin) {
            charge.put_on(standing);
        }
    }

    /// Appends them to the section of a cut. docs/FORMATS.md draws it.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        wire::put_varint(out, self.0.len() as u64);
        for (&origin, charge) in &self.0 {
            wire::put_fingerprint(out, origin);
            wire::put_fingerprint(out, charge.domain);
            wire::put_varint(out, charge.pages);
            wire::put_varint(out, charge.bytes);
        }
    }

    /// Reads what [`Charges::put`] wrote.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut charges = Charges::default();
        for _ in 0..reader.varint()? {
            let origin = reader.fingerprint()?;
            let charge = Charge { domain: reader.fingerprint()?, pages: reader.varint()?, bytes: reader.varint()? };
            charges.0.insert(origin, charge);
        }
        Some(charges)
    }
}

impl Frontier {
    /// A page of `domain` makes the crawl fetch a page of another domain, which counts as one of its own. Says whether
    /// the budget of `domain` has room for it, pages in flight included; then it is charged, as part of the next cut.
    ///
    /// Of a domain without active hosts, which only a replay meets, the base on disk is not read: what was merged into
    /// it does not count here.
    pub fn charge_requisite(&mut self, domain: Fingerprint) -> Result<bool> {
        let number = self.partition_of(domain);
        let active = self.domains.get(domain);
        let used = match active {
            Some(entry) => entry.known.pages + entry.added.pages + u64::from(entry.in_flight),
            None => self.cold.partitions[number].newer_totals(domain).pages,
        };
        if self.options.budget.pages_per_domain.is_some_and(|limit| used >= limit) {
            return Ok(false);
        }
        self.add_totals(domain, &self.page_totals(1))?;
        Ok(true)
    }

    /// Charges an origin and its domain for this many pages and bytes, which were fetched without the frontier: a
    /// replay found them.
    pub fn charge(&mut self, origin: Fingerprint, domain: Fingerprint, pages: u64, bytes: u64) -> Result<()> {
        if pages > 0 {
            self.add_totals(domain, &self.page_totals(pages))?;
        }
        if let Some(index) = self.active.find(origin) {
            Charge { domain, pages, bytes }.put_on(&mut self.active.host_mut(index).standing);
            if self.active.host(index).pending.is_none() {
                self.settle(index, self.now);
            }
            return Ok(());
        }
        let charge = self.charges.0.entry(origin).or_insert(Charge { domain, pages: 0, bytes: 0 });
        (charge.pages, charge.bytes) = (charge.pages + pages, charge.bytes.saturating_add(bytes));
        Ok(())
    }

    /// Makes records of the charges of hosts of which the disk side has none, or one that is in memory.
    pub fn record_charges(&mut self) -> Result<()> {
        let mut kept = BTreeMap::new();
        for (origin, charge) in std::mem::take(&mut self.charges.0) {
            let host = HostKey { domain: charge.domain, origin };
            let number = self.partition_of(host.domain);
            let partition = &self.cold.partitions[number];
            let newer = partition.newer_record(origin).and_then(|record| HostRecord::read(record, Writer::This));
            let fresh = || HostRecord { written: self.now, ..HostRecord::default() };
            let Some(mut record) = newer.or_else(|| (!partition.may_hold(origin)).then(fresh)) else {
                kept.insert(origin, charge);
                continue;
            };
            charge.put_on(&mut record.standing);
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            self.cold.partitions[number].push_record(host, self.sequence, &bytes, &mut self.cold.files)?;
            self.sequence += 1;
        }
        self.charges = Charges(kept);
        Ok(())
    }
}
