//! Time as the crawl sees it: milliseconds since the Unix epoch that never run backwards in a process.
//!
//! Due times are kept over a restart, so they must mean something to the next process (wall time); delays must
//! hold when somebody sets the machine's clock (monotonic time). [`SystemClock`] reads the wall clock once and adds
//! the monotonic time that has passed since. The engine never asks the system: it is given a [`Clock`], and a
//! simulator gives it a virtual one.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// The Unix epoch: earlier than everything that happens.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// The moment `ms` milliseconds after the Unix epoch.
    pub const fn from_ms(ms: u64) -> Self {
        Time(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero where `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    /// Saturates: a delay of centuries is [`Time::MAX`], not an overflow.
    fn add(self, delay: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, delay: Duration) -> Time {
        Time(self.0.saturating_sub(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)))
    }
}

/// Where the engine and its stores get the time from.
pub trait Clock: Send + Sync {
    /// The present moment; never earlier than an answer given before.
    fn now(&self) -> Time;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    started_at: Time,
}

impl SystemClock {
    /// A clock that starts with the wall time and goes on monotonically.
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SystemClock { started: Instant::now(), started_at: Time::ZERO + since_epoch }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        self.started_at + self.started.elapsed()
    }
}

/// A clock that is moved by hand: virtual time for tests and simulations.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn new(start: Time) -> Self {
        ManualClock(AtomicU64::new(start.ms()))
    }

    /// Moves on by `step`.
    pub fn advance(&self, step: Duration) {
        let step_ms = u64::try_from(step.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_add(step_ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_of_centuries_saturates() {
        assert_eq!(Time::from_ms(5) + Duration::MAX, Time::MAX);
        assert_eq!(Time::from_ms(5) - Duration::MAX, Time::ZERO);
        assert_eq!(Time::from_ms(5).since(Time::from_ms(9)), Duration::ZERO);
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = ManualClock::new(Time::from_ms(100));
        assert_eq!(clock.now(), Time::from_ms(100));
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.now(), Time::from_ms(2_100));
    }
}
