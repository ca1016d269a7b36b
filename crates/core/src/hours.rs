//! Hours in which a host is asked: windows of a week, by the clock on a wall somewhere.
//!
//! ```text
//! 22:00-06:00 Europe/Berlin
//! Mon-Fri 22:00-06:00, Sat-Sun 00:00-24:00 Europe/Berlin
//! ```
//! A window that ends before it begins goes on into the next day, and belongs to the day on which it begins. Without
//! days it is one of every day, without a zone its times are UTC.
//!
//! A moment is within the hours if the wall clock shows a time within a window then. So an hour that is skipped in
//! spring is in no window, and one that is repeated in autumn is in its windows both times. Between two changes of the
//! offset from UTC the answer is one look at the week; the rules of zones are those of the machine, or else those that
//! the program brings along.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::clock::Time;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
const WEEK_MS: u64 = 7 * DAY_MS;
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Changes of an offset that are looked over: a window may fall into an hour that is skipped once, not for years.
const CHANGES_MAX: usize = 64;

/// Windows of a week in a time zone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hours {
    text: String,
    zone: TimeZone,
    /// Milliseconds of a week from Monday 00:00 on, sorted and apart from each other.
    windows: Vec<Range<u64>>,
}

/// The word for hosts that are asked at any hour.
pub const ALWAYS: &str = "always";

impl Hours {
    /// Reads hours, `None` for [`ALWAYS`]; or says what is wrong with them.
    pub fn read(text: &str) -> Result<Option<Hours>, String> {
        if text == ALWAYS { Ok(None) } else { text.parse().map(Some) }
    }

    /// Returns the first moment from `from` on that is within the hours.
    pub fn opens(&self, from: Time) -> Time {
        self.first(from, true)
    }

    /// Returns the first moment from `from` on that is not within the hours.
    pub fn closes(&self, from: Time) -> Time {
        self.first(from, false)
    }

    /// Returns `at` by the wall clock of the hours, such as `22:00 Europe/Berlin`, with the day where that is not
    /// the same as at `now`.
    pub fn local(&self, at: Time, now: Time) -> String {
        let days_and_minutes = |time: Time| {
            let local = time.ms().saturating_add_signed(self.offset_ms(time));
            (local / DAY_MS, local % DAY_MS / MINUTE_MS)
        };
        let ((day, minutes), (today, _)) = (days_and_minutes(at), days_and_minutes(now));
        let day = if day == today { "" } else { &format!("{} ", DAYS[(day + 3) as usize % 7]) };
        let zone = self.zone.iana_name().unwrap_or("UTC");
        format!("{day}{:02}:{:02} {zone}", minutes / 60, minutes % 60)
    }

    /// Returns when they begin, which is at `opens`, as people read it at `now`.
    pub fn opening(&self, opens: Time, now: Time) -> String {
        format!("its hours begin at {}", self.local(opens, now))
    }

    /// Returns the first moment from `from` on that is within the hours, or else outside.
    fn first(&self, from: Time, is_within: bool) -> Time {
        let mut at = from;
        for _ in 0..CHANGES_MAX {
            let week_ms = self.week_ms(at);
            if self.has(week_ms) == is_within {
                return at;
            }
            let edges = self.windows.iter().map(|window| if is_within { window.start } else { window.end % WEEK_MS });
            let left = |edge: u64| (edge + WEEK_MS - week_ms - 1) % WEEK_MS + 1;
            let next = edges.filter(|&edge| self.has(edge) == is_within).map(left).min();
            let next = next.map_or(Time::MAX, |left| Time::from_ms(at.ms().saturating_add(left)));
            // the wall clock shows another time from a change on
            match self.change(at) {
                Some(change) if change <= next && next < Time::MAX => at = change,
                _ => return next,
            }
        }
        Time::MAX
    }

    fn has(&self, week_ms: u64) -> bool {
        self.windows.iter().any(|window| window.contains(&week_ms))
    }

    fn week_ms(&self, at: Time) -> u64 {
        // the epoch began on a Thursday
        (at.ms() % WEEK_MS + WEEK_MS + 3 * DAY_MS).saturating_add_signed(self.offset_ms(at)) % WEEK_MS
    }

    fn offset_ms(&self, at: Time) -> i64 {
        timestamp(at).map_or(0, |at| i64::from(self.zone.to_offset(at).seconds()) * 1_000)
    }

    /// Returns the next moment after `at` at which the offset from UTC may change.
    fn change(&self, at: Time) -> Option<Time> {
        let change = self.zone.following(timestamp(at)?).next()?;
        u64::try_from(change.timestamp().as_millisecond()).ok().map(Time::from_ms)
    }
}

fn timestamp(at: Time) -> Option<Timestamp> {
    i64::try_from(at.ms()).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok())
}

impl FromStr for Hours {
    type Err = String;

    /// Reads hours, or says what is wrong with them.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (windows, zone) = match text.rsplit_once(' ') {
            Some((windows, zone)) if !zone.starts_with(|c: char| c.is_ascii_digit()) => (windows, zone),
            _ => (&text[..], "UTC"),
        };
        let zone = TimeZone::get(zone).map_err(|_| {
            format!("{zone:?} is no time zone that this machine or this program knows; write one such as Europe/Berlin")
        })?;
        let mut ranges = Vec::new();
        for window in windows.split(',') {
            let read = read_window(window.trim(), &mut ranges);
            read.ok_or_else(|| {
                format!(
                    "{:?} is no window; write one such as \"22:00-06:00\" or \"Mon-Fri 22:00-06:00\"",
                    window.trim()
                )
            })?;
        }
        Ok(Hours { text, zone, windows: merged(ranges) })
    }
}

/// Reads a window into ranges of a week.
fn read_window(text: &str, ranges: &mut Vec<Range<u64>>) -> Option<()> {
    let (days, times) = text.rsplit_once(' ').unwrap_or(("Mon-Sun", text));
    let (first, last) = days.split_once('-').unwrap_or((days, days));
    let day = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name)).map(|day| day as u64);
    let (first, last) = (day(first)?, day(last)?);
    let (start, end) = times.split_once('-')?;
    let (start, end) = (time_of_day(start)?, time_of_day(end)?);
    if start == end || start == DAY_MS {
        return None;
    }
    let length = (end + DAY_MS - start - 1) % DAY_MS + 1;
    for day in 0..=(last + 7 - first) % 7 {
        let start = (first + day) % 7 * DAY_MS + start;
        ranges.push(start..(start + length).min(WEEK_MS));
        // the end of a window of Sunday is on Monday
        ranges.push(0..(start + length).saturating_sub(WEEK_MS));
    }
    Some(())
}

/// Reads a time of the day, `00:00` to `24:00`, perhaps with seconds.
fn time_of_day(text: &str) -> Option<u64> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.len() == 2 && !text.starts_with('+'));
    let numbers = text.split(':').map(number).collect::<Option<Vec<u64>>>()?;
    let (hour, minute, second) = match numbers[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let ms = (hour * 60 + minute) * MINUTE_MS + second * 1_000;
    (minute < 60 && second < 60 && ms <= DAY_MS).then_some(ms)
}

/// The same ranges, sorted and apart from each other.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

impl fmt::Display for Hours {
    /// As they were written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Hours {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl From<Hours> for String {
    fn from(hours: Hours) -> String {
        hours.text
    }
}

impl TryFrom<String> for Hours {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKED: &str = "Mon-Fri 22:00-06:00, Sat-Sun 00:00-24:00 Europe/Berlin";

    fn at(text: &str) -> Time {
        let stamp: Timestamp = text.parse().unwrap();
        Time::from_ms(stamp.as_millisecond().try_into().unwrap())
    }

    /// Moments of 2026: the hours, a moment, the next opening and the next end of a window.
    const MOMENTS: [(&str, &str, &str, &str); 23] = [
        // without a zone, over midnight, to the minute
        ("22:00-06:00", "2026-06-01T21:59:59.999Z", "2026-06-01T22:00:00Z", "2026-06-01T21:59:59.999Z"),
        ("22:00-06:00", "2026-06-01T22:00:00Z", "2026-06-01T22:00:00Z", "2026-06-02T06:00:00Z"),
        ("22:00-06:00 UTC", "2026-06-02T06:00:00Z", "2026-06-02T22:00:00Z", "2026-06-02T06:00:00Z"),
        ("22:00-06:00 Europe/Berlin", "2026-06-01T12:00:00Z", "2026-06-01T20:00:00Z", "2026-06-01T12:00:00Z"),
        ("22:00-06:00 Europe/Berlin", "2026-01-01T12:00:00Z", "2026-01-01T21:00:00Z", "2026-01-01T12:00:00Z"),
        // several windows, which touch, and the end of the week; 2026-06-05 is a Friday
        (WORKED, "2026-06-05T12:00:00Z", "2026-06-05T20:00:00Z", "2026-06-05T12:00:00Z"),
        (WORKED, "2026-06-05T20:00:00Z", "2026-06-05T20:00:00Z", "2026-06-07T22:00:00Z"),
        (WORKED, "2026-06-07T22:00:00Z", "2026-06-08T20:00:00Z", "2026-06-07T22:00:00Z"),
        ("Sun 23:00-01:00", "2026-06-07T23:30:00Z", "2026-06-07T23:30:00Z", "2026-06-08T01:00:00Z"),
        ("Sat-Mon 10:00-11:00", "2026-06-08T11:00:00Z", "2026-06-13T10:00:00Z", "2026-06-08T11:00:00Z"),
        ("11:00:05-11:00:07", "2026-06-08T11:00:00Z", "2026-06-08T11:00:05Z", "2026-06-08T11:00:00Z"),
        ("00:00-24:00", "2026-06-08T11:00:00Z", "2026-06-08T11:00:00Z", "never"),
        // Europe/Berlin skips 02:00 to 03:00 on 29 March, which is 01:00 UTC
        ("02:30-04:00 Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-28T12:00:00Z"),
        ("01:00-02:30 Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"),
        ("02:00-03:00 Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z", "2026-03-28T12:00:00Z"),
        ("22:00-06:00 Europe/Berlin", "2026-03-28T21:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z"),
        // it repeats 02:00 to 03:00 on 25 October, from 00:00 to 02:00 UTC
        ("02:30-05:00 Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z", "2026-10-24T12:00:00Z"),
        ("02:30-05:00 Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"),
        ("02:30-05:00 Europe/Berlin", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z"),
        ("22:00-06:00 Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z"),
        // America/New_York skips 02:00 to 03:00 on 8 March, and repeats 01:00 to 02:00 on 1 November
        ("02:15-03:15 America/New_York", "2026-03-08T00:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T00:00:00Z"),
        ("01:30-01:45 America/New_York", "2026-11-01T05:45:00Z", "2026-11-01T06:30:00Z", "2026-11-01T05:45:00Z"),
        ("Sun 20:00-24:00 America/New_York", "2026-11-02T00:00:00Z", "2026-11-02T01:00:00Z", "2026-11-02T00:00:00Z"),
    ];

    #[test]
    fn hours_open_and_close_by_the_wall_clock_also_where_it_is_changed() {
        for (text, moment, opens, closes) in MOMENTS {
            let (hours, now) = (text.parse::<Hours>().unwrap(), at(moment));
            assert_eq!(hours.opens(now), at(opens), "{text} at {moment}");
            let closes = if closes == "never" { Time::MAX } else { at(closes) };
            assert_eq!(hours.closes(now), closes, "{text} at {moment}");
        }
    }

    #[test]
    fn the_next_opening_and_end_are_those_that_a_look_at_every_quarter_of_an_hour_finds() {
        const QUARTER: std::time::Duration = std::time::Duration::from_secs(900);
        let zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"];
        for (zone, days) in zones.into_iter().flat_map(|zone| [(zone, 86), (zone, 274), (zone, 296), (zone, 60)]) {
            for windows in ["22:00-06:00", "01:30-02:15", "Sun 02:00-03:00, Sat 23:45-00:15", "Mon-Sat 03:00-02:45"] {
                let hours: Hours = format!("{windows} {zone}").parse().unwrap();
                let start = at("2026-01-01T00:00:00Z") + QUARTER * 96 * days;
                let times: Vec<Time> = (0..96 * 10).map(|n| start + QUARTER * n).collect();
                let (mut opens, mut closes) = (None, None);
                for &time in times.iter().rev() {
                    if hours.has(hours.week_ms(time)) {
                        opens = Some(time)
                    } else {
                        closes = Some(time)
                    }
                    let expected = [opens, closes].map(|next| next.filter(|_| opens.is_some() && closes.is_some()));
                    let found = [hours.opens(time), hours.closes(time)];
                    for (found, expected) in found.into_iter().zip(expected).filter(|(_, expected)| expected.is_some())
                    {
                        assert_eq!(Some(found), expected, "{windows} {zone} at {time:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn hours_that_cannot_be_meant_are_refused_with_what_to_write() {
        for (text, words) in [
            ("22:00-06:00 Europe/Bärlin", "\"Europe/Bärlin\" is no time zone"),
            ("22:00", "\"22:00\" is no window"),
            ("22-6", "\"22-6\" is no window"),
            ("", "\"\" is no window"),
            ("22:00-06:00,", "\"\" is no window"),
            ("22:00-25:00", "no window"),
            ("22:60-23:00", "no window"),
            ("10:00-10:00", "no window"),
            ("24:00-10:00", "no window"),
            ("Mon-Fry 10:00-11:00", "\"Mon-Fry 10:00-11:00\" is no window"),
            ("Europe/Berlin", "is no"),
        ] {
            let problem = text.parse::<Hours>().unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
        let hours: Hours = " mon-FRI  22:00-06:00 ,Sun 00:00-24:00   Europe/Berlin".parse().unwrap();
        assert_eq!(hours.to_string(), "mon-FRI 22:00-06:00 ,Sun 00:00-24:00 Europe/Berlin");
        assert_eq!(serde_json::from_str::<Hours>(&serde_json::to_string(&hours).unwrap()).unwrap(), hours);
    }

    #[test]
    fn a_moment_is_shown_by_the_wall_clock_there_with_its_day_unless_that_is_today() {
        let hours: Hours = "22:00-06:00 Europe/Berlin".parse().unwrap();
        let shown = |time| hours.local(at(time), at("2026-06-05T12:00:00Z"));
        assert_eq!(shown("2026-06-05T20:00:00Z"), "22:00 Europe/Berlin");
        assert_eq!(shown("2026-06-06T04:05:00Z"), "Sat 06:05 Europe/Berlin");
        assert_eq!(
            "10:00-11:00".parse::<Hours>().unwrap().local(at("2026-06-07T10:00:00Z"), Time::ZERO),
            "Sun 10:00 UTC"
        );
    }
}
