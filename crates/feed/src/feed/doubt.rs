//! Doubt about hosts most of whose documents are missing: an outage may look like that.
//!
//! More than half of the documents that were visited on the newest day of a host's visits and on the day before were
//! missing: then these visits confirm nothing. What stays missing for a week goes nevertheless.

use std::collections::{BTreeMap, HashMap};

use super::entry::{DAY, Entry};

/// Hosts in doubt, each with the moment since which its visits are doubted.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    since: HashMap<u64, u64>,
    host: u64,
    days: BTreeMap<u64, Found>,
}

/// Documents of a host by the day of their last visits.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    there: u64,
    missing: u64,
}

impl Doubts {
    /// Takes a URL; those of a host come one after the other.
    pub fn take(&mut self, entry: &Entry) {
        if self.host != entry.key.host {
            self.judge();
            self.host = entry.key.host;
        }
        if entry.may_be_document() {
            let day = self.days.entry(entry.seen / DAY).or_default();
            *if entry.is_missing() { &mut day.missing } else { &mut day.there } += 1;
        }
    }

    /// All hosts in doubt.
    pub fn finish(mut self) -> Doubts {
        self.judge();
        self
    }

    fn judge(&mut self) {
        let days = std::mem::take(&mut self.days);
        let Some(newest) = days.keys().next_back() else { return };
        let first = newest.saturating_sub(1);
        let of_two = |found: fn(&Found) -> u64| days.range(first..).map(|(_, day)| found(day)).sum::<u64>();
        if of_two(|day| day.missing) > of_two(|day| day.there) {
            self.since.insert(self.host, first * DAY);
        }
    }

    /// Has `entry` doubt its visits if its host is in doubt.
    pub fn apply(&self, entry: &mut Entry) {
        if let Some(&since) = self.since.get(&entry.key.host) {
            entry.doubt(since);
        }
    }
}
