//! The guard against a mass of deletions: an outage, a wrong robots.txt or a wrong canonical URL on every page looks
//! like the end of a site.
//!
//! No more than a share of the documents of a host goes within a day, and always some. Where more would go, none of
//! them goes, until the operator allows it, or so many are there again that a day's share is left.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::entry::DAY;

/// Limits of deletions.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The share of its documents that a host may lose within a day.
    pub share: f64,
    /// Documents that any host may lose within a day.
    pub least: u64,
    /// Hosts whose waiting deletions the operator allows.
    pub(super) allowed: Vec<Allowed>,
}

/// Hosts whose deletions are allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allowed {
    /// This one.
    Host(String),
    /// All.
    All,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { share: 0.05, least: 10, allowed: Vec::new() }
    }
}

impl Limits {
    /// These limits with another share.
    pub fn of_share(share: f64) -> Limits {
        Limits { share, ..Limits::default() }
    }

    fn allows(&self, host: &str) -> bool {
        self.allowed.iter().any(|allowed| match allowed {
            Allowed::Host(allowed) => allowed == host,
            Allowed::All => true,
        })
    }

    fn most(&self, documents: u64) -> u64 {
        self.least.max((documents as f64 * self.share) as u64)
    }
}

/// The deletions of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Day {
    pub host: String,
    /// The first deletion of the day, in milliseconds.
    since: u64,
    /// Deletions since then.
    deleted: u64,
    /// Deletions that wait for the operator.
    pub waiting: u64,
}

/// Hosts with deletions, by their fingerprints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Days(HashMap<u64, Day>);

/// A host whose documents were counted.
pub(super) struct Counted<'a> {
    pub key: u64,
    pub host: &'a str,
    /// Documents that consumers have.
    pub documents: u64,
    /// Those of them that would go.
    pub going: u64,
}

impl Days {
    /// Decides on the deletions of a host at `now`.
    pub fn judge(&mut self, counted: &Counted<'_>, limits: &Limits, now: u64) {
        let Counted { key, host, documents, going } = *counted;
        let Some(day) = self.0.get_mut(&key) else {
            if going > 0 {
                let waits = going > limits.most(documents) && !limits.allows(host);
                let (deleted, waiting) = if waits { (0, going) } else { (going, 0) };
                self.0.insert(key, Day { host: host.to_owned(), since: now, deleted, waiting });
            }
            return;
        };
        if now.saturating_sub(day.since) >= DAY {
            (day.since, day.deleted, day.waiting) = (now, 0, 0);
        }
        let is_too_much = day.waiting > 0 || day.deleted + going > limits.most(documents + day.deleted);
        if is_too_much && !limits.allows(host) {
            day.waiting = going;
        } else {
            (day.deleted, day.waiting) = (day.deleted + going, 0);
        }
        if day.deleted == 0 && day.waiting == 0 {
            self.0.remove(&key);
        }
    }

    /// True if the deletions of a host wait.
    pub fn waits(&self, key: u64) -> bool {
        self.0.get(&key).is_some_and(|day| day.waiting > 0)
    }

    /// Hosts whose deletions wait.
    pub fn waiting(&self) -> impl Iterator<Item = &Day> {
        self.0.values().filter(|day| day.waiting > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: u64 = 7;

    fn judge(days: &mut Days, documents: u64, going: u64, limits: &Limits, now: u64) -> bool {
        days.judge(&Counted { key: HOST, host: "a.example", documents, going }, limits, now);
        days.waits(HOST)
    }

    #[test]
    fn a_host_loses_a_twentieth_of_its_documents_in_a_day_and_no_more() {
        let (mut days, limits) = (Days::default(), Limits::default());
        assert!(!judge(&mut days, 1_000, 30, &limits, 0));
        assert!(!judge(&mut days, 970, 20, &limits, DAY - 1));
        assert!(judge(&mut days, 950, 1, &limits, DAY - 1));
        assert!(!judge(&mut days, 950, 1, &limits, DAY));
        assert!(!judge(&mut days, 949, 0, &limits, 2 * DAY));
        assert_eq!(days, Days::default());
    }

    #[test]
    fn more_than_a_days_share_waits_until_so_many_are_back_that_a_share_is_left() {
        let (mut days, limits) = (Days::default(), Limits::default());
        for day in 0..5 {
            assert!(judge(&mut days, 1_000, 51, &limits, day * DAY), "{day}");
        }
        // within the day it was stopped
        assert!(judge(&mut days, 1_000, 2, &limits, 4 * DAY + 1));
        assert!(!judge(&mut days, 1_000, 2, &limits, 5 * DAY));
    }

    #[test]
    fn a_day_later_as_many_may_go_again() {
        let (mut days, limits) = (Days::default(), Limits::default());
        assert!(!judge(&mut days, 1_000, 50, &limits, 0));
        assert!(!judge(&mut days, 950, 47, &limits, DAY));
        assert!(judge(&mut days, 903, 1, &limits, DAY + 1));
    }

    #[test]
    fn a_small_host_may_lose_some_and_an_allowed_one_all() {
        let (mut days, limits) = (Days::default(), Limits::default());
        assert!(!judge(&mut days, 12, 10, &limits, 0));
        assert!(judge(&mut days, 2, 1, &limits, 1));
        let allowed = vec![Allowed::Host("a.example".to_owned())];
        assert!(!judge(&mut days, 2, 1, &Limits { allowed, ..limits.clone() }, 2));
        assert!(!Limits { allowed: vec![Allowed::Host("b.example".to_owned())], ..limits }.allows("a.example"));
    }
}
