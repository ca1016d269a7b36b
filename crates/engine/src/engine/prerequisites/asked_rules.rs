//! Rules that are asked for: one request for the robots.txt of an origin, for all who wait for it.
//!
//! ```text
//! the queue of the origin's host ─┐                       ┌─► known until they expire: the queue takes the answer over
//! a login, a page that is rendered┴─► asked for, once ────┤
//!                                     others wait with it └─► unavailable, until the origin may be asked again
//! ```
//! What the queue asks for itself goes its own way (`answers::robots`): the robots store has it then, where everybody
//! looks first. The answer to a request on behalf of others is kept here, in memory, with the records that the archive
//! would get: the sitemaps that it names are of the crawl only if the crawl has pages at the origin. When the queue
//! comes to one, it takes the answer over as if it had just come, and asks for none.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::wanted::Prerequisite;
use crate::clock::Time;
use crate::contract::Processed;
use crate::fingerprint::Fingerprint;
use crate::frontier::HostId;
use crate::web::robots::RobotsRules;

/// Origins of which something is known here only.
const KNOWN_MAX: usize = 1_024;
/// An answer with larger records, or more sitemaps, is asked for again instead of being kept.
const KEPT_BYTES_MAX: usize = 16 << 10;
const KEPT_SITEMAPS_MAX: usize = 64;

/// The origins whose rules are asked for, or are known here only.
#[derive(Debug, Default)]
pub(super) struct AskedRules(BTreeMap<Fingerprint, Entry>);

#[derive(Debug)]
enum Entry {
    /// They are asked for.
    Asked { by: Asker, waiters: Vec<Waiter> },
    /// They were asked for on behalf of others than the queue of their host.
    Known { rules: Arc<RobotsRules>, until: Time, answer: Option<Box<Processed>> },
    /// The same, and nothing follows from the answer.
    Unavailable(Time),
}

/// Somebody who asks for the rules of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// The queue of its host.
    Queue,
    /// A request that waits for its turn.
    Waiting,
    /// A request that is made.
    Made,
}

/// Somebody who waits for the rules of an origin.
#[derive(Debug)]
pub(in crate::engine) enum Waiter {
    /// The queue of its host.
    Queue(HostId),
    /// Something that is to be requested there.
    Prerequisite(Prerequisite),
}

/// Knowledge of the rules of an origin.
pub(super) enum Known {
    /// These.
    Rules(Arc<RobotsRules>),
    /// They cannot be had, and are not to be asked for yet.
    Unavailable,
    Nothing,
}

/// Next step of a host's queue that needs the rules of its origin.
pub(in crate::engine) enum Turn {
    /// It asks.
    Ask,
    /// Somebody has asked: it hears of it.
    Wait,
    /// It takes over an answer.
    Take(Box<Processed>),
    /// They cannot be had.
    Unavailable,
}

/// Wishes of rendered pages, which wait for no rules any more.
#[derive(Default)]
pub(super) struct LeftByPages {
    pub wanted: Vec<Prerequisite>,
    /// Origins for whose rules nobody waits then, and that were not asked yet.
    pub origins: Vec<Fingerprint>,
}

impl AskedRules {
    /// Returns what is known here at `now`.
    pub(crate) fn known(&self, origin: Fingerprint, now: Time) -> Known {
        match self.0.get(&origin) {
            Some(Entry::Known { rules, until, .. }) if *until > now => Known::Rules(rules.clone()),
            Some(Entry::Unavailable(until)) if *until > now => Known::Unavailable,
            _ => Known::Nothing,
        }
    }

    /// `wanted` waits for the rules of `origin`; whether somebody has to ask for them.
    pub(crate) fn wait(&mut self, origin: Fingerprint, wanted: Prerequisite) -> bool {
        let waiter = Waiter::Prerequisite(wanted);
        if let Some(Entry::Asked { waiters, .. }) = self.0.get_mut(&origin) {
            waiters.push(waiter);
            return false;
        }
        self.0.insert(origin, Entry::Asked { by: Asker::Waiting, waiters: vec![waiter] });
        true
    }

    /// The queue of `host` needs the rules of `origin` at `now`.
    pub(crate) fn turn_of_queue(&mut self, origin: Fingerprint, host: HostId, now: Time) -> Turn {
        match self.0.remove(&origin) {
            Some(Entry::Asked { by: Asker::Made, mut waiters }) => {
                waiters.push(Waiter::Queue(host));
                self.0.insert(origin, Entry::Asked { by: Asker::Made, waiters });
                Turn::Wait
            }
            Some(Entry::Known { until, answer: Some(answer), .. }) if until > now => Turn::Take(answer),
            Some(Entry::Unavailable(until)) if until > now => Turn::Unavailable,
            other => {
                let waiters = if let Some(Entry::Asked { waiters, .. }) = other { waiters } else { Vec::new() };
                self.0.insert(origin, Entry::Asked { by: Asker::Queue, waiters });
                Turn::Ask
            }
        }
    }

    /// The request for the rules of `origin` is made.
    pub(crate) fn begin(&mut self, origin: Fingerprint) {
        if let Some(Entry::Asked { by, .. }) = self.0.get_mut(&origin) {
            *by = Asker::Made;
        }
    }

    /// Returns whether a page that is rendered waits for the rules of `origin`.
    pub(crate) fn is_urgent(&self, origin: Fingerprint) -> bool {
        let is_page = |waiter: &Waiter| matches!(waiter, Waiter::Prerequisite(Prerequisite::Page(_)));
        self.waiters(origin).iter().any(is_page)
    }

    /// The note in crawl.log of the robots.txt of `origin`, by the first who waits for it.
    pub(crate) fn note(&self, origin: Fingerprint) -> Option<&'static str> {
        self.waiters(origin).iter().find_map(|waiter| match waiter {
            Waiter::Queue(_) => None,
            Waiter::Prerequisite(wanted) => Some(wanted.note()),
        })
    }

    fn waiters(&self, origin: Fingerprint) -> &[Waiter] {
        match self.0.get(&origin) {
            Some(Entry::Asked { waiters, .. }) => waiters,
            _ => &[],
        }
    }

    /// Takes out those who wait for the rules of `origin`.
    pub(crate) fn take_waiters(&mut self, origin: Fingerprint) -> Vec<Waiter> {
        match self.0.remove(&origin) {
            Some(Entry::Asked { waiters, .. }) => waiters,
            _ => Vec::new(),
        }
    }

    /// Keeps `rules` of `origin` until then, with the answer that they came in if it is small.
    pub(crate) fn keep(
        &mut self,
        origin: Fingerprint,
        rules: Arc<RobotsRules>,
        answer: Option<Processed>,
        until: Time,
    ) {
        let answer = answer.map(bare).filter(is_small).map(Box::new);
        self.put(origin, Entry::Known { rules, until, answer });
    }

    /// Keeps that the rules of `origin` cannot be had until then.
    pub(crate) fn keep_unavailable(&mut self, origin: Fingerprint, until: Time) {
        self.put(origin, Entry::Unavailable(until));
    }

    fn put(&mut self, origin: Fingerprint, entry: Entry) {
        if self.0.len() >= KNOWN_MAX {
            self.0.retain(|_, entry| matches!(entry, Entry::Asked { .. }));
        }
        self.0.insert(origin, entry);
    }

    /// Takes out what rendered pages wait for.
    pub(crate) fn leave_pages(&mut self) -> LeftByPages {
        let mut left = LeftByPages::default();
        self.0.retain(|&origin, entry| {
            let Entry::Asked { by, waiters } = entry else { return true };
            for waiter in std::mem::take(waiters) {
                match waiter {
                    Waiter::Prerequisite(page @ Prerequisite::Page(_)) => left.wanted.push(page),
                    other => waiters.push(other),
                }
            }
            let is_wanted = *by != Asker::Waiting || !waiters.is_empty();
            left.origins.extend((!is_wanted).then_some(origin));
            is_wanted
        });
        left
    }
}

/// An answer without what it was read from.
fn bare(mut processed: Processed) -> Processed {
    processed.response.body = Vec::new();
    // other answers may need its place
    processed.permits = Default::default();
    processed
}

fn is_small(processed: &Processed) -> bool {
    processed.records.bytes.len() <= KEPT_BYTES_MAX && processed.findings.links.len() <= KEPT_SITEMAPS_MAX
}
