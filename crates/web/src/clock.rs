//! Time as the crawl sees it: milliseconds since the Unix epoch that never run backwards in a process.
//!
//! Due times are kept over a restart, so they must mean something to the next process (wall time); delays must
//! hold when somebody sets the machine's clock (monotonic time). [`SystemClock`] reads the wall clock once and adds
//! the monotonic time that has passed since. The engine never asks the system: it is given a [`Clock`], and a
//! simulator gives it a virtual one. What a file says of a moment is a [`Stored`] until it is read by the clock of now.

mod stored;

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use stored::{Era, Stored};

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

    /// The moment by the calendar, in UTC: year, month, day, hour, minute, second, millisecond.
    pub fn civil(self) -> (u64, u64, u64, u64, u64, u64, u64) {
        // No log has to distinguish times later than the year 9999.
        let ms = self.0.min(253_402_300_799_999);
        let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
        // Count years from 1 March of year 0: the leap day is then the last one of a year, and months follow a pattern.
        let days = days + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        (year, month, day, of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60, of_day % 1_000)
    }

    /// The beginning of a day of the Gregorian calendar, in UTC, from 1970-01-01 on.
    pub(crate) fn of_day(year: u64, month: u64, day: u64) -> Time {
        let year = year - u64::from(month <= 2);
        let (era, year_of_era) = (year / 400, year % 400);
        let from_march = if month > 2 { month - 3 } else { month + 9 };
        let of_year = (153 * from_march + 2) / 5 + day - 1;
        let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        Time(days.saturating_sub(719_468) * 86_400_000)
    }

    /// The same for a day that somebody writes; `None` where the calendar has no such day.
    pub(crate) fn of_date(year: u64, month: u64, day: u64) -> Option<Time> {
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 => 28 + u64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let is_day = year > 0 && (1..=12).contains(&month) && (1..=days).contains(&day);
        is_day.then(|| Time::of_day(year, month, day))
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

/// Source of the time for the engine and its stores.
pub trait Clock: Send + Sync {
    /// The present moment; never earlier than an answer given before.
    fn now(&self) -> Time;

    /// The present moment by the clock on the wall, which may have been set meanwhile: for what others compare with
    /// their own clocks. No delay and no due time is computed from it.
    fn wall(&self) -> Time {
        self.now()
    }

    /// Time on a stopwatch that began to run at some moment: finer than [`Clock::now`] where the clock is, and good for
    /// differences only. What the crawl does never depends on it.
    fn elapsed(&self) -> Duration {
        self.now().since(Time::ZERO)
    }
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
        SystemClock::starting_at(SystemTime::now())
    }

    fn starting_at(wall: SystemTime) -> Self {
        let since_epoch = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
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

    fn wall(&self) -> Time {
        Time::ZERO + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A clock that is moved by hand: virtual time for tests and simulations.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stays at `start`.
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
    fn p6_a_wall_clock_that_is_set_while_a_crawl_runs_changes_no_gap() {
        const DECADE: Duration = Duration::from_secs(10 * 365 * 86_400);
        for wall in [SystemTime::now() + DECADE, SystemTime::now() - DECADE, UNIX_EPOCH - DECADE] {
            let before = Instant::now();
            let clock = SystemClock::starting_at(wall);
            let start = Time::ZERO + wall.duration_since(UNIX_EPOCH).unwrap_or_default();
            let mut last = start;
            for _ in 0..1_000 {
                let now = clock.now();
                assert!(last <= now && now <= start + before.elapsed(), "it goes by elapsed time alone");
                last = now;
            }
        }
    }

    #[test]
    fn the_wall_clock_is_read_each_time_whatever_the_other_one_began_with() {
        let clock = SystemClock::starting_at(UNIX_EPOCH);
        let now = Time::ZERO + SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert!(clock.wall() >= now && clock.now() < clock.wall());
        let manual = ManualClock::new(Time::from_ms(7));
        assert_eq!(manual.wall(), manual.now());
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = ManualClock::new(Time::from_ms(100));
        assert_eq!(clock.now(), Time::from_ms(100));
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.now(), Time::from_ms(2_100));
    }
}
