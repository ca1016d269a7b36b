//! The time for which a round may keep workers idle: a hundredth of its length, whatever it waits for.
//!
//! URLs that are on their way to the frontier may have budget, and bring the domains that most others link to. So a
//! round waits for them a little before everybody has budget again. How long they take depends on the sizes of the
//! stores and on how few keys wait in them, and nothing bounds it; the time that workers lose is bounded here.

use std::time::Duration;

use crate::clock::Time;
use crate::frontier::tuning::{ROUND_IDLE_MAX, ROUND_IDLE_PART};

/// A measure of how much of a round workers were idle while hosts rested.
#[derive(Clone, Copy, Debug)]
pub(in crate::frontier) struct Patience {
    /// Time at which this process began to count.
    since: Time,
    /// Time since which a worker has nothing to do, if one has.
    idle_since: Option<Time>,
    /// The time before that for which one had nothing.
    idled: Duration,
    /// True if something was asked for in this round.
    is_used: bool,
}

impl Patience {
    /// The patience of a round that begins at `now`; until something is asked for in it, no other one follows.
    pub(in crate::frontier) fn of_new_round(now: Time) -> Self {
        Patience { since: now, idle_since: None, idled: Duration::ZERO, is_used: false }
    }

    /// The patience of a round that goes on in another process.
    pub(in crate::frontier) fn of_old_round(now: Time) -> Self {
        Patience { is_used: true, ..Patience::of_new_round(now) }
    }

    /// Notes that something is asked for.
    pub(in crate::frontier) fn use_up(&mut self) {
        self.is_used = true;
    }

    /// Returns whether something was asked for in this round.
    pub(in crate::frontier) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Notes whether a worker is idle from `now` on, while hosts rest.
    pub(in crate::frontier) fn note(&mut self, is_idle: bool, now: Time) {
        match (self.idle_since, is_idle) {
            (None, true) => self.idle_since = Some(now),
            (Some(since), false) => {
                self.idled += now.since(since);
                self.idle_since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// Returns the time at which it is over; `None` while no worker is idle, or nothing was asked for in this round.
    pub(in crate::frontier) fn ends(&self) -> Option<Time> {
        let since = self.idle_since.filter(|_| self.is_used)?;
        let all = (since.since(self.since) / ROUND_IDLE_PART).min(ROUND_IDLE_MAX);
        Some(since + all.saturating_sub(self.idled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_ms(1_000_000 + ms)
    }

    fn used() -> Patience {
        let mut patience = Patience::of_new_round(at(0));
        patience.use_up();
        patience
    }

    #[test]
    fn workers_are_idle_for_a_hundredth_of_a_round_however_often_they_are() {
        let mut patience = used();
        assert_eq!(patience.ends(), None, "workers are busy");
        patience.note(true, at(1_000));
        patience.note(true, at(1_005));
        assert_eq!(patience.ends(), Some(at(1_010)));
        patience.note(false, at(1_008));
        assert_eq!(patience.ends(), None);
        patience.note(true, at(1_100));
        assert_eq!(patience.ends(), Some(at(1_103)), "8 ms of 11 are over");
        patience.note(false, at(1_103));
        patience.note(true, at(1_104));
        assert_eq!(patience.ends(), Some(at(1_104)));
    }

    #[test]
    fn a_long_round_has_no_more_patience_than_the_most() {
        let mut patience = used();
        patience.note(true, at(100_000_000));
        assert_eq!(patience.ends(), Some(at(100_000_000) + ROUND_IDLE_MAX));
    }

    #[test]
    fn a_round_in_which_nothing_was_asked_for_is_not_over() {
        let mut patience = Patience::of_new_round(at(0));
        patience.note(true, at(1_000));
        assert_eq!(patience.ends(), None);
        patience.use_up();
        assert_eq!(patience.ends(), Some(at(1_010)));
        let mut old = Patience::of_old_round(at(0));
        old.note(true, at(0));
        assert_eq!(old.ends(), Some(at(0)), "it was used before");
    }
}
