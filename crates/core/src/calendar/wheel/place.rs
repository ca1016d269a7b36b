//! Slots of the wheel: their width at each level, which one a record belongs to, and when a slot's turn comes.
//!
//! Which level takes a record follows from the present time alone ([`Horizons`]), so that nothing has to be kept of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Time;

/// A slot of the finest level.
pub(crate) const MINUTES_MS: u64 = 60_000;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;
/// `later` is dealt so often, and reaches from twice as far on.
const LATER_DAYS: u64 = 32;
/// Lateness beyond which hours are not dealt to minutes: they are given out as they are.
const LATE_FOR_MINUTES: Duration = Duration::from_secs(2 * 3_600);
/// The same of days, which are not dealt to hours.
const LATE_FOR_HOURS: Duration = Duration::from_secs(48 * 3_600);

/// A level of the wheel, the finest first. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// Slots of a minute, for two hours.
    Minutes = 0,
    /// Slots of an hour, for two days.
    Hours = 1,
    /// Slots of a day, for 32 to 64 days.
    Days = 2,
    /// All that is due after those days.
    Later = 3,
}

impl Level {
    /// All of them, the finest first.
    pub const ALL: [Level; 4] = [Level::Minutes, Level::Hours, Level::Days, Level::Later];

    /// Beginning of the names of its files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Level::Minutes => "minutes",
            Level::Hours => "hours",
            Level::Days => "days",
            Level::Later => "later",
        }
    }

    /// Returns the level of this number in a file.
    pub(super) fn from_number(number: u8) -> Option<Level> {
        Level::ALL.get(usize::from(number)).copied()
    }

    fn unit_ms(self) -> u64 {
        match self {
            Level::Minutes => MINUTES_MS,
            Level::Hours => HOUR_MS,
            Level::Days | Level::Later => DAY_MS,
        }
    }
}

/// A slot, by its level and its number: its first moment in units of the level since the epoch. The number of `later`
/// is the day from which on its records are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Its level, which says how wide the slot is.
    pub level: Level,
    /// Its number within the level.
    pub number: u64,
}

impl Place {
    /// The slot of `level` that has `time`.
    pub(crate) fn of(level: Level, time: Time) -> Place {
        Place { level, number: time.ms() / level.unit_ms() }
    }

    /// Its first moment.
    pub fn start(self) -> Time {
        Time::from_ms(self.number.saturating_mul(self.level.unit_ms()))
    }

    /// The moment behind its last one.
    pub fn end(self) -> Time {
        match self.level {
            Level::Later => Time::MAX,
            level => Time::from_ms(self.number.saturating_add(1).saturating_mul(level.unit_ms())),
        }
    }

    /// Returns whether a wheel has such a slot: it begins within time.
    pub(super) fn is_in_time(self) -> bool {
        self.number <= u64::MAX / self.level.unit_ms()
    }

    /// Returns whether a record that is due at `due` can be in it. One that was overdue when it was put is in a later
    /// slot.
    pub(super) fn takes(self, due: Time) -> bool {
        match self.level {
            Level::Later => due >= self.start(),
            _ => due < self.end() || self.end() == Time::MAX,
        }
    }
}

/// The ends of the levels at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Horizons {
    /// The first hour that is whole in the level of hours.
    pub hour: u64,
    /// The first day that is whole in the level of days.
    pub day: u64,
    /// The first day that is in `later`.
    pub later: u64,
}

impl Horizons {
    /// The horizons at `now`, when work waits that should have been given out before `late`. Two hours are in slots of
    /// minutes and two days in those of hours, begun ones counted, unless work has waited for longer than that: what
    /// such slots would be dealt for is in order anyway, and a backlog of weeks would leave thousands of small files.
    pub(crate) fn at(now: Time, late: Duration) -> Self {
        let (hour, day) = (now.ms() / HOUR_MS, now.ms() / DAY_MS);
        Horizons {
            hour: if late > LATE_FOR_MINUTES { hour } else { hour + 2 },
            day: if late > LATE_FOR_HOURS { day } else { day + 2 },
            later: (day / LATER_DAYS + 2) * LATER_DAYS,
        }
    }

    /// The slot for a record that is due at `due`, or at once: then it is the minute that has just ended, unless work
    /// has waited for long. One that is dealt from `from` goes to a finer slot, or to the next `later`.
    pub(crate) fn place(self, due: Time, now: Time, from: Option<Place>) -> Place {
        let minute = Place::of(Level::Minutes, now);
        let is_overdue = due < minute.start();
        let at = due.max(now);
        let (hour, day) = (at.ms() / HOUR_MS, at.ms() / DAY_MS);
        let level = from.map(|from| from.level);
        if hour < self.hour || level == Some(Level::Hours) {
            let Place { level, number } = Place::of(Level::Minutes, at);
            Place { level, number: number - u64::from(is_overdue) }
        } else if day < self.day || level == Some(Level::Days) {
            Place::of(Level::Hours, at)
        } else if day < self.later || from.is_some_and(|from| from.number == self.later) {
            Place::of(Level::Days, at)
        } else {
            Place { level: Level::Later, number: self.later }
        }
    }
}

/// Returns the time at which the slot `place` of a coarse level is dealt, unless work has waited for too long.
pub(super) fn dealt_at(place: Place) -> Time {
    let before = match place.level {
        Level::Minutes => 0,
        Level::Hours => HOUR_MS,
        Level::Days => DAY_MS,
        Level::Later => LATER_DAYS * DAY_MS,
    };
    Time::from_ms(place.start().ms().saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_millis(DAY_MS);
    const HOUR: Duration = Duration::from_millis(HOUR_MS);
    const MINUTE: Duration = Duration::from_secs(60);

    fn start() -> Time {
        Time::from_ms(20_480 * DAY_MS)
    }

    fn level(now: Time, delay: Duration) -> Level {
        Horizons::at(now, Duration::ZERO).place(now + delay, now, None).level
    }

    #[test]
    fn levels_reach_for_hours_days_and_two_months() {
        for hour in 0..48 {
            let now = start() + HOUR * hour + MINUTE * 17;
            assert_eq!(level(now, HOUR), Level::Minutes);
            assert_eq!(level(now, HOUR * 2), Level::Hours);
            assert_eq!(level(now, DAY), Level::Hours);
            assert_eq!(level(now, DAY * 2), Level::Days);
            assert_eq!(level(now, DAY * 32), Level::Days);
            assert_eq!(level(now, DAY * 64), Level::Later);
        }
        assert_eq!(level(Time::ZERO, Duration::MAX), Level::Later);
        assert_eq!(level(Time::from_ms(u64::MAX - 5), Duration::ZERO), Level::Minutes);
    }

    #[test]
    fn what_is_overdue_goes_to_the_minute_that_has_just_ended_or_to_the_slot_of_now() {
        let now = start() + HOUR * 5;
        let of = |due: Time| Horizons::at(now + MINUTE / 2, Duration::ZERO).place(due, now + MINUTE / 2, None);
        assert_eq!(of(now - DAY * 9), Place::of(Level::Minutes, now - MINUTE));
        assert_eq!(of(now - Duration::from_millis(1)), Place::of(Level::Minutes, now - MINUTE));
        assert_eq!(of(now), Place::of(Level::Minutes, now));
        assert_eq!(of(now + MINUTE / 4), Place::of(Level::Minutes, now));
        let early = Time::from_ms(9);
        assert_eq!(
            Horizons::at(early, Duration::ZERO).place(Time::ZERO, early, None),
            Place::of(Level::Minutes, early)
        );
        let late = Horizons::at(now, LATE_FOR_MINUTES * 2).place(now - DAY * 9, now, None);
        assert_eq!(late, Place::of(Level::Hours, now));
        let later = Horizons::at(now, LATE_FOR_HOURS * 2).place(now, now, None);
        assert_eq!(later, Place::of(Level::Days, now));
    }

    #[test]
    fn a_slot_is_dealt_from_the_moment_at_which_nothing_is_put_there_any_more() {
        for level in [Level::Hours, Level::Days, Level::Later] {
            let number = Horizons::at(start(), Duration::ZERO).later;
            let place =
                if level == Level::Later { Place { level, number } } else { Place::of(level, start() + DAY * 9) };
            let reaches = |now: Time| {
                let horizons = Horizons::at(now, Duration::ZERO);
                place.number < [horizons.hour, horizons.day, horizons.later][level as usize - 1]
            };
            let at = dealt_at(place);
            assert!(!reaches(Time::from_ms(at.ms() - 1)) && reaches(at), "{level:?}");
        }
    }

    #[test]
    fn what_is_dealt_goes_to_finer_slots_whatever_the_clock_and_the_backlog_say() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..10_000 {
            let now = start() + MINUTE * random.u32(..200_000);
            let from = match random.u8(..3) {
                0 => Place::of(Level::Hours, start() + HOUR * random.u32(..3_000)),
                1 => Place::of(Level::Days, start() + DAY * random.u32(..200)),
                _ => Place { level: Level::Later, number: start().ms() / DAY_MS + 32 * random.u64(..6) },
            };
            let due = from.start() + MINUTE * random.u32(..60);
            let late = HOUR * random.u32(..60);
            let to = Horizons::at(now, late).place(due, now, Some(from));
            assert!(to.level < from.level || (to.level == Level::Later && to != from), "{from:?} to {to:?}");
            assert!(to.takes(due));
        }
    }

    #[test]
    fn numbers_at_the_end_of_time_do_not_overflow() {
        for level in Level::ALL {
            let place = Place { level, number: u64::MAX };
            assert_eq!((place.start(), place.end()), (Time::MAX, Time::MAX));
            assert!(place.takes(Time::MAX) && !place.is_in_time());
            assert!(Place::of(level, Time::MAX).is_in_time());
            assert_eq!(Level::from_number(level as u8), Some(level));
        }
        assert_eq!(Level::from_number(4), None);
    }
}
