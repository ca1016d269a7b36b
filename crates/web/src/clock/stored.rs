//! Moments as they are stored: the process that wrote them may have had a clock that was ahead.
//!
//! A clock that was ahead once must not stall a crawl until the date that it showed. So a moment that comes from a file
//! is a [`Stored`], with which nothing can be computed, and each way to read it bounds it by the clock of the process
//! that reads:
//!
//! | the moment | is read as |
//! |---|---|
//! | has passed: a last visit, the begin of a round | [`Stored::passed`]: no later than now |
//! | ends a rest | [`Era::rest`]: as long after the start of this process as after its record was written; bounded |
//! | ends the validity of an answer | [`Era::expiry`]: not believed of a clock that was ahead: its age is not known |
//! | is shown, compared with itself, or written again | [`Stored::as_written`] |
//!
//! A rest is counted from the start of the process that reads, and not from the moment at which it is read: otherwise
//! it would begin again with each look.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;

/// A moment that a process has stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stored(Time);

impl Stored {
    /// A moment to be stored, or one that was read.
    pub const fn new(moment: Time) -> Self {
        Stored(moment)
    }

    /// The moment of something that has happened: no later than `now`.
    pub fn passed(self, now: Time) -> Time {
        self.0.min(now)
    }

    /// The moment as it was written: for reports, and to be written again. Nothing is decided by it.
    pub const fn as_written(self) -> Time {
        self.0
    }
}

/// The clock by which something was written, as seen by the clock of the process that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Era {
    /// The start of the process that reads.
    began: Time,
    /// The least by which the other clock was ahead.
    ahead: Duration,
}

impl Era {
    /// The era of what this process has written itself: every moment is as it is.
    pub const OWN: Era = Era { began: Time::MAX, ahead: Duration::ZERO };

    /// The era of what another process wrote at `written`, before the one that reads it began at `began`.
    pub fn before(began: Time, written: Stored) -> Era {
        Era { began, ahead: written.0.since(began) }
    }

    /// Returns true where the clock was ahead.
    pub fn is_ahead(self) -> bool {
        !self.ahead.is_zero()
    }

    /// The moment of something that has happened.
    pub fn passed(self, moment: Stored) -> Time {
        (moment.0 - self.ahead).min(self.began)
    }

    /// The end of a rest, which is no longer than `longest`.
    pub fn rest(self, until: Stored, longest: Duration) -> Time {
        (until.0 - self.ahead).min(self.began + longest)
    }

    /// The moment up to which an answer holds, no longer than `longest`; nothing where the clock was ahead.
    pub fn expiry(self, until: Stored, longest: Duration) -> Option<Time> {
        (!self.is_ahead()).then(|| until.0.min(self.began + longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const DAY: Duration = Duration::from_secs(24 * 3_600);

    #[test]
    fn a_rest_lasts_as_long_as_it_was_meant_to_whatever_the_clock_showed_that_it_was_written_by() {
        let began = Time::from_ms(1 << 40);
        for ahead in [Duration::ZERO, HOUR * 20, DAY * 3, DAY * 400, DAY * 3_650] {
            let written = began + ahead;
            let era = Era::before(began, Stored::new(written));
            assert_eq!(era.is_ahead(), !ahead.is_zero());
            assert_eq!(era.rest(Stored::new(written + HOUR), DAY), began + HOUR, "{ahead:?}");
            assert_eq!(era.rest(Stored::new(Time::MAX), DAY), began + DAY);
            assert_eq!(era.passed(Stored::new(written)), began);
            assert_eq!(era.passed(Stored::new(written - HOUR)), began - HOUR);
            let expiry = era.expiry(Stored::new(written + HOUR), DAY);
            assert_eq!(expiry, ahead.is_zero().then_some(began + HOUR));
        }
        let earlier = Era::before(began, Stored::new(began - HOUR));
        assert_eq!(earlier.rest(Stored::new(began + HOUR * 2), DAY), began + HOUR * 2);
    }

    #[test]
    fn what_a_process_has_written_itself_is_read_as_it_is() {
        let moment = Time::from_ms(1 << 50);
        assert_eq!(Era::OWN.rest(Stored::new(moment), HOUR), moment);
        assert_eq!(Era::OWN.passed(Stored::new(moment)), moment);
        assert_eq!(Era::OWN.expiry(Stored::new(moment), HOUR), Some(moment));
    }

    #[test]
    fn what_has_happened_is_no_later_than_now() {
        let (now, later) = (Time::from_ms(9), Stored::new(Time::from_ms(10)));
        assert_eq!((later.passed(now), later.as_written()), (now, Time::from_ms(10)));
    }
}
