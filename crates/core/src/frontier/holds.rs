//! Holds: origins and names that must not be contacted before a time, besides what hosts and names know themselves.
//! They are those that an earlier process left, and those that the next process has to know.

use std::collections::BTreeMap;

use super::tuning::LOGGED_AFTER;
use super::wire::{self, Reader};
use crate::clock::{Stored, Time};
use crate::fingerprint::Fingerprint;

/// Holds by origin or name.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// Holds that were not met since then, from the log of long back-offs and the last cut.
    unmet: BTreeMap<Fingerprint, Time>,
    /// Long back-offs that were set since the last cut.
    noted: BTreeMap<Fingerprint, Time>,
}

impl Holds {
    /// Returns the time until which `key` is held, if it was not met since.
    pub(super) fn until(&self, key: Fingerprint) -> Time {
        self.unmet.get(&key).copied().unwrap_or_default()
    }

    /// All that were not met since, in order.
    pub(super) fn unmet(&self) -> impl Iterator<Item = (Fingerprint, Time)> + use<'_> {
        self.unmet.iter().map(|(&key, &until)| (key, until))
    }

    /// `key` is held until `until`, at least.
    pub(super) fn keep(&mut self, key: Fingerprint, until: Time) {
        let held = self.unmet.entry(key).or_insert(until);
        *held = (*held).max(until);
    }

    /// `key` is met: from now on its host or name knows.
    pub(super) fn take(&mut self, key: Fingerprint) -> Option<Time> {
        self.unmet.remove(&key)
    }

    /// Notes that `key` is held back until `until`, if that is long: then it has to be known after a restart.
    pub(super) fn note(&mut self, key: Fingerprint, until: Time, now: Time) {
        if until > now + LOGGED_AFTER {
            let noted = self.noted.entry(key).or_insert(until);
            *noted = (*noted).max(until);
        }
    }

    /// Shortens what was noted for `key` to `until` at the longest.
    pub(super) fn shorten(&mut self, key: Fingerprint, until: Time) {
        if let Some(noted) = self.noted.get_mut(&key) {
            *noted = (*noted).min(until);
        }
    }

    /// Takes out the long back-offs that were noted, in the order of their keys.
    pub(super) fn take_noted(&mut self) -> Vec<(Fingerprint, Time)> {
        std::mem::take(&mut self.noted).into_iter().collect()
    }
}

/// Hosts that must not be contacted before a time, besides what their own records say, as a cut has them.
#[derive(Clone, Debug, Default)]
pub(super) struct SavedHolds<T> {
    /// Time until which any host may have been contacted without our knowing.
    pub asked_until: T,
    /// Origins and names, in order.
    pub holds: Vec<SavedHold<T>>,
}

/// An origin or a name that must not be contacted before a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedHold<T> {
    pub key: Fingerprint,
    pub until: T,
    /// A request was in progress.
    pub under_way: bool,
}

impl SavedHolds<Time> {
    /// Appends them to the section of a cut.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        wire::put_time(out, self.asked_until);
        wire::put_varint(out, self.holds.len() as u64);
        for hold in &self.holds {
            wire::put_fingerprint(out, hold.key);
            wire::put_time(out, hold.until);
            out.push(u8::from(hold.under_way));
        }
    }
}

impl SavedHolds<Stored> {
    /// Reads them.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut saved = SavedHolds { asked_until: reader.time()?, holds: Vec::new() };
        for _ in 0..reader.varint()? {
            let (key, until, under_way) = (reader.fingerprint()?, reader.time()?, reader.u8()? != 0);
            saved.holds.push(SavedHold { key, until, under_way });
        }
        Some(saved)
    }
}
