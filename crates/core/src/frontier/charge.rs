//! Charges: pages and bytes that a replay found to have been fetched, and that budgets have to know.
//!
//! An active host is charged at once, and so is a domain, whose pages are a sum. A host that is not active may have a
//! record on the disk side, which only a take or a merge reads: its charge waits here until it becomes active, and is
//! part of every cut. Where no record can be there, one is made of the charge ([`Charges::record`]), so that
//! what waits here is of hosts of the disk side only.

use std::collections::BTreeMap;

use super::cold_side::ColdSide;
use super::partition::HostKey;
use super::record::{HostRecord, Standing};
use super::wire::{self, Reader};
use super::writer::Writer;
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;

/// The part of a host's budgets that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Charge {
    pub domain: Fingerprint,
    pub pages: u64,
    pub bytes: u64,
}

impl Charge {
    /// Adds it to what was fetched of a host.
    pub(super) fn put_on(&self, standing: &mut Standing) {
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

    /// Adds a charge of an origin that is not active.
    pub(super) fn add(&mut self, origin: Fingerprint, charge: Charge) {
        let kept = self.0.entry(origin).or_insert(Charge { pages: 0, bytes: 0, ..charge });
        (kept.pages, kept.bytes) = (kept.pages + charge.pages, kept.bytes.saturating_add(charge.bytes));
    }

    /// Makes records of the charges of hosts of which the disk side has none, or one that is in memory.
    pub(super) fn record(&mut self, cold: &mut ColdSide, now: Time) -> Result<()> {
        let mut kept = BTreeMap::new();
        for (origin, charge) in std::mem::take(&mut self.0) {
            let host = HostKey { domain: charge.domain, origin };
            let partition = cold.partition(host.domain);
            let newer = partition.newer_record(origin).and_then(|record| HostRecord::read(record, Writer::This));
            let fresh = || HostRecord { written: now, ..HostRecord::default() };
            let Some(mut record) = newer.or_else(|| (!partition.may_hold(origin)).then(fresh)) else {
                kept.insert(origin, charge);
                continue;
            };
            charge.put_on(&mut record.standing);
            cold.push_record(host, &record)?;
        }
        self.0 = kept;
        Ok(())
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
