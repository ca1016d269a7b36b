//! Holds: origins and names that must not be contacted before a time, besides what hosts and names know themselves.
//! They are those that an earlier process left, and those that the next process has to know.

use std::collections::BTreeMap;

use super::tuning::LOGGED_AFTER;
use crate::clock::Time;
use crate::fingerprint::Fingerprint;

/// Holds by origin or name.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// Time until which hosts may have been contacted without our knowing, after an unclean stop.
    pub unclean_since: Option<Time>,
    /// Holds that were not met since then, from the log of long back-offs and the last cut.
    unmet: BTreeMap<Fingerprint, Time>,
    /// Long back-offs that were set since the last cut.
    noted: BTreeMap<Fingerprint, Time>,
}

impl Holds {
    /// Holds of which nothing is known but the time at which the last process may have ended.
    pub(super) fn new(unclean_since: Option<Time>) -> Self {
        Holds { unclean_since, ..Holds::default() }
    }

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
