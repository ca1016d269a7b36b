//! The end of a crawl of which only hosts are left that never answered: it waits for them for a while of its own, not
//! for as long as it takes to give a host up.
//!
//! The while begins when nothing else is left, and again when anything else comes up. After it the crawl stops in good
//! order; the URLs of these hosts stay queued, and the next start asks them at once ([`Recheck`]).
//!
//! [`Recheck`]: crate::engine::seeding::Recheck

use std::time::Duration;

use crate::clock::Time;
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::stores::Stores;
use crate::frontier::ColdSilence;
use crate::outcome::Hold;
use crate::record::{Resting, RestingHost};

/// Shortest time between two looks at whether only such hosts are left.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Resting hosts that are named.
const NAMED_MAX: usize = 10;
/// Shorter rests are no news.
const REST_MIN: Duration = Duration::from_secs(5);

/// The time since when nothing but silent hosts is left.
#[derive(Debug, Default)]
pub(super) struct Linger {
    since: Option<Time>,
    look_due: Time,
}

impl Linger {
    /// Returns whether only hosts are left that never answered, and that was so for `linger`.
    pub fn is_over(&mut self, now: Time, stores: &mut Stores, linger: Duration) -> Result<bool> {
        if now < self.look_due {
            return Ok(false);
        }
        self.look_due = now + LOOK_EVERY;
        if !is_silent(stores) {
            self.since = None;
            return Ok(false);
        }
        let since = *self.since.get_or_insert(now);
        if now.since(since) < linger {
            return Ok(false);
        }
        match stores.arrival.frontier.cold_silence()? {
            ColdSilence::Silent => return Ok(true),
            ColdSilence::Others => self.since = None,
            ColdSilence::Unsorted => {}
        }
        Ok(false)
    }

    /// True if the while has begun.
    pub fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    /// Returns the end of the while, where it is `linger` long.
    fn ends(&self, linger: Duration) -> Option<Time> {
        self.since.map(|since| since + linger)
    }
}

/// Nothing is on its way to the queue, and in the queue are only hosts that never answered.
fn is_silent(stores: &mut Stores) -> bool {
    let is_quiet = !stores.are_dispatching() && !stores.are_merging() && stores.waiting() == 0;
    is_quiet && stores.arrival.frontier.only_silent_active()
}

impl Engine {
    /// Returns the time when the while is over.
    pub(in crate::engine) fn linger_due(&self) -> Option<Time> {
        let linger = &self.course.linger;
        Some(linger.ends(self.admission.settings.linger)?.max(linger.look_due))
    }

    /// Hosts that rest, if any does, and whether nothing else is left.
    pub(in crate::engine) fn resting(&mut self, now: Time) -> Option<Resting> {
        let is_on_its_way = self.admission.stores.waiting() > 0 || self.admission.stores.are_merging();
        let resting = self.admission.stores.arrival.frontier.active().resting(now, NAMED_MAX);
        let is_long = resting.last.is_some_and(|last| last >= now + REST_MIN);
        if !is_long && !resting.longest.iter().any(|host| host.silent) {
            return None;
        }
        let host = |host: crate::frontier::RestingHost| RestingHost {
            host: host.origin.into(),
            why: match host.blame {
                Some(blame) => blame.to_string(),
                None => Hold::Load.to_string(),
            },
            until: host.until,
        };
        Some(Resting {
            hosts: resting.hosts,
            is_all: resting.others == 0 && !is_on_its_way,
            first: resting.first,
            last: resting.last,
            ends: self.course.linger.ends(self.admission.settings.linger),
            longest: resting.longest.into_iter().map(host).collect(),
        })
    }
}
