//! The end of a crawl of which only hosts are left that never answered: it waits for them for a separate time, not
//! for as long as it takes to give a host up.
//!
//! The while begins when nothing else is left, and again when anything else comes up. After it the crawl stops in good
//! order; the URLs of these hosts stay queued, and the next start asks them at once ([`Recheck`]).
//!
//! [`Recheck`]: crate::engine::seeding::Recheck

use std::time::Duration;

use crate::clock::Time;
use crate::disk::Result;
use crate::engine::stores::Stores;
use crate::frontier::ColdSilence;

/// Shortest time between two looks at whether only such hosts are left.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The time since when nothing but silent hosts is left.
#[derive(Debug, Default)]
pub(in crate::engine) struct Linger {
    since: Option<Time>,
    look_due: Time,
}

impl Linger {
    /// Returns whether only hosts are left that never answered, and that was so for `linger`.
    pub(crate) fn is_over(&mut self, now: Time, stores: &mut Stores, linger: Duration) -> Result<bool> {
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
        match stores.sink.frontier.cold_silence()? {
            ColdSilence::Silent => return Ok(true),
            ColdSilence::Others => self.since = None,
            ColdSilence::Unsorted => {}
        }
        Ok(false)
    }

    /// True if the while has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    /// Returns the end of the while, where it is `linger` long.
    pub(crate) fn ends(&self, linger: Duration) -> Option<Time> {
        self.since.map(|since| since + linger)
    }

    /// Returns when it is to be looked whether the while is over, where it is `linger` long.
    pub(crate) fn due(&self, linger: Duration) -> Option<Time> {
        Some(self.ends(linger)?.max(self.look_due))
    }
}

/// Nothing is on its way to the queue, and in the queue are only hosts that never answered.
fn is_silent(stores: &mut Stores) -> bool {
    let is_quiet = !stores.are_dispatching() && !stores.are_merging() && stores.waiting() == 0;
    is_quiet && stores.sink.frontier.only_silent_active()
}
