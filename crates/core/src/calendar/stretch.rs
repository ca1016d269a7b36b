//! The factor by which all intervals are longer than they should be, because more is due than the crawl can visit.
//!
//! It is controlled by the lag: the time by which visits start later than they were due. A crawl that is behind has a
//! lag that is the same for all pages, which hurts those most that are due often; the factor turns it into one that
//! is in proportion. Pages are visited in turn, so a lag of the length of the mean interval says that twice the time
//! is needed: the logarithm of the factor moves towards what the lag asks for, so slowly that intervals that were
//! planned before have passed when it has got there.
//!
//! Without lag it falls, by some 4 % in the time of a mean interval, since nothing says how much more the crawl could
//! do. The longer there is none, the faster it falls: the step doubles with each mean interval, up to a fifth. The
//! first lag ends that, so that it does not swing around the factor at which the crawl just has time for everything.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::{Stored, Time};

/// The part of the way that it goes in the time of a mean interval.
const SHARE_PER_TURN: f64 = 0.7;
/// A lag of less than this part of the mean interval is none.
const TOLERATED: f64 = 0.05;
/// Part of the mean interval below which a lag counts as calm.
const CALM: f64 = TOLERATED / 2.0;
/// The most that it falls in the time of a mean interval, before [`SHARE_PER_TURN`].
const FALL_MAX: f64 = 0.25;
/// The most that the mean of the lag follows a single start.
const LAG_SHARE_MAX: f64 = 0.01;
/// A pause between two starts that is longer says nothing of the time in which the crawl ran.
const STEP_MAX: Duration = Duration::from_secs(600);
/// The largest factor.
const STRETCH_MAX: f64 = 1_000.0;

/// The factor, and by what it is moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stretch {
    ln: f64,
    /// The mean lag of the last starts, in seconds.
    lag: f64,
    /// The mean interval that was planned at the last visits, stretched, in seconds.
    interval: f64,
    /// Time at which the last one started.
    last: Stored,
    /// The number of mean intervals for which there has been calm. It comes behind the rest in a checkpoint.
    #[serde(skip)]
    calm: f64,
}

impl Stretch {
    /// Nothing is stretched.
    pub(crate) fn new() -> Self {
        Stretch { ln: 0.0, lag: 0.0, interval: 0.0, last: Stored::default(), calm: 0.0 }
    }

    /// The factor, at least 1.
    pub(crate) fn factor(&self) -> f64 {
        self.ln.exp()
    }

    /// Returns the time by which the last starts were late, on average.
    pub(crate) fn lag(&self) -> Duration {
        Duration::from_secs_f64(self.lag)
    }

    /// A visit was planned after this interval.
    pub(crate) fn note_interval(&mut self, interval: Duration) {
        let seconds = interval.as_secs_f64();
        let share = if self.interval == 0.0 { 1.0 } else { LAG_SHARE_MAX };
        self.interval += share * (seconds - self.interval);
    }

    /// A visit that was due started.
    pub(crate) fn note_start(&mut self, due: Time, started: Time) {
        self.lag += LAG_SHARE_MAX * (started.since(due).as_secs_f64() - self.lag);
        let passed = started.since(self.last.passed(started)).min(STEP_MAX).as_secs_f64();
        self.last = Stored::new(started);
        if self.interval > 0.0 {
            let (lag, turns) = (self.lag / self.interval, passed / self.interval);
            self.calm = if lag < CALM { self.calm + turns } else { 0.0 };
            let fall = (TOLERATED * (self.calm - 1.0).max(0.0).exp2()).min(FALL_MAX);
            let behind = if lag < CALM { -fall } else { lag - TOLERATED };
            self.ln += SHARE_PER_TURN * behind.ln_1p() * turns;
            self.ln = self.ln.clamp(0.0, STRETCH_MAX.ln());
        }
    }

    /// Returns the number of mean intervals for which there has been calm.
    pub(crate) fn calm(&self) -> f64 {
        self.calm
    }

    /// The same after this many mean intervals of calm.
    pub(crate) fn with_calm(self, calm: f64) -> Self {
        Stretch { calm: if calm.is_finite() { calm.max(0.0) } else { 0.0 }, ..self }
    }

    /// Its figures are numbers, in their limits.
    pub(crate) fn is_sound(&self) -> bool {
        (0.0..=STRETCH_MAX.ln()).contains(&self.ln) && [self.lag, self.interval].iter().all(|x| (0.0..1e15).contains(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_stretch_again_after_a_clock_that_was_ahead() {
        const DAY: Duration = Duration::from_secs(86_400);
        let start = Time::from_ms(1 << 40);
        let late = |mut stretch: Stretch| {
            stretch.note_interval(DAY);
            for n in 0..2_000 {
                let started = start + Duration::from_secs(300) * n;
                stretch.note_start(started - DAY, started);
            }
            stretch.factor()
        };
        let right = late(Stretch::new());
        assert!(right > 1.5, "{right}");
        for days in [1, 365, 3_650] {
            let mut ahead = Stretch::new();
            ahead.note_start(start + DAY * days, start + DAY * days);
            let saved = postcard::to_stdvec(&ahead).unwrap();
            let factor = late(postcard::from_bytes(&saved).unwrap());
            assert!((factor / right - 1.0).abs() < 0.05, "{days} days: {factor}, not {right}");
        }
    }
}
