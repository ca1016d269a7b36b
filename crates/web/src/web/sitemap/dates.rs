//! The dates that sitemaps and feeds write next to their URLs, and which of them are believed.
//!
//! A date is a span: `2026-11-22` is a day, `2026` a year. Sitemaps write it as the W3C does
//! (<https://www.w3.org/TR/NOTE-datetime>), RSS as mail does (RFC 822, RFC 2822), and many the one for the other; so
//! either form is read wherever a date is expected. One without a time zone is in UTC.
//!
//! Many sitemaps write what they are written with: the time of the request, or of the last build, for all their pages.
//! What is believed must say something of one page:
//! - A date that is later than the answer, or younger than [`SETTLED`], is not believed. The time of the request is so
//!   at every reading; a true date has settled at the next one.
//! - Of the end of a span, where that has settled: a page that was fetched on the day of the date may have been changed
//!   after that. Before that, of its beginning.
//! - Where nine of ten entries have the newest date, those say when the file was made, not when a page was
//!   ([`of_the_file`]).
//! - Nothing before the web.

use std::time::Duration;

use crate::clock::Time;

/// A date younger than this is not believed yet.
const SETTLED: Duration = Duration::from_secs(60);
/// Dates that are this close to one another are one: a file is written in this time.
const AT_ONCE: Duration = Duration::from_secs(60);
/// The least number of entries with a date of which the same date for all is suspicious.
const ENTRIES_MIN: usize = 10;
/// The first year that a page can be from.
const YEAR_MIN: u64 = 1990;

/// A date as it is written: the first and the last millisecond that it can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    first: Time,
    last: Time,
}

impl Written {
    /// Reads a date in any of the forms; `None` for what is none.
    pub fn parse(text: &str) -> Option<Written> {
        let text = text.trim();
        w3c(text).or_else(|| of_mail(text))
    }

    /// The first moment that it can mean.
    pub fn first(self) -> Time {
        self.first
    }

    /// The moment that is believed of it, in a file that was answered at `answered`.
    pub fn believed(self, answered: Time) -> Option<Time> {
        let settled = answered - SETTLED;
        [self.last, self.first].into_iter().find(|&date| date <= settled)
    }

    /// The later one of two.
    pub fn or_later(self, other: Option<Written>) -> Written {
        other.filter(|other| other.last > self.last).unwrap_or(self)
    }

    /// `first` with an offset to UTC in minutes, and the length of what it means.
    fn new(first: Time, offset_minutes: i64, length: Duration) -> Written {
        let minutes = Duration::from_secs(60 * offset_minutes.unsigned_abs());
        let first = if offset_minutes < 0 { first + minutes } else { first - minutes };
        Written { first, last: first + length - Duration::from_millis(1) }
    }
}

/// The moment from which on the believed dates of a file are the file's own, if nearly all of them are.
pub fn of_the_file(dates: impl Iterator<Item = Time> + Clone) -> Option<Time> {
    let newest = dates.clone().max()?;
    let since = newest - AT_ONCE;
    let (all, at_once) = dates.fold((0, 0), |(all, newer), date| (all + 1, newer + usize::from(date >= since)));
    (all >= ENTRIES_MIN && at_once * 10 >= all * 9).then_some(since)
}

/// `2026`, `2026-11`, `2026-11-22`, and with a time behind `T` or a blank: `2026-11-22T10:15:30.5+01:00`.
fn w3c(text: &str) -> Option<Written> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time.trim_start())),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map(|part| digits(part, 2));
    let day = parts.next().map(|part| digits(part, 2));
    if parts.next().is_some() {
        return None;
    }
    let (month, day) =
        (month.map_or(Some(None), |month| month.map(Some))?, day.map_or(Some(None), |day| day.map(Some))?);
    let first = day_of(year, month.unwrap_or(1), day.unwrap_or(1))?;
    let Some(time) = time else {
        let end = match (month, day) {
            (None, _) => Time::of_day(year + 1, 1, 1),
            (Some(12), None) => Time::of_day(year + 1, 1, 1),
            (Some(month), None) => Time::of_day(year, month + 1, 1),
            (Some(_), Some(_)) => first + Duration::from_secs(86_400),
        };
        return Some(Written::new(first, 0, end.since(first)));
    };
    day?;
    let zone_at = time.find(['Z', 'z', '+', '-', ' ']).unwrap_or(time.len());
    let (clock, length) = clock(&time[..zone_at])?;
    Some(Written::new(first + clock, offset(time[zone_at..].trim())?, length))
}

/// `Sun, 22 Nov 2026 10:15:30 +0100`; the name of the day, the seconds and the zone may be missing, the year may have
/// two digits.
fn of_mail(text: &str) -> Option<Written> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut parts = text.split([' ', '\t', '\n', '\r']).filter(|part| !part.is_empty());
    let day = parts.next()?;
    let day = digits(day, day.len().min(2))?;
    let month = month_of(parts.next()?)?;
    let year = parts.next()?;
    let year = match year.len() {
        2 => digits(year, 2).map(|year| if year < 50 { 2_000 + year } else { 1_900 + year })?,
        _ => digits(year, 4)?,
    };
    let first = day_of(year, month, day)?;
    let Some(time) = parts.next() else { return Some(Written::new(first, 0, Duration::from_secs(86_400))) };
    let (clock, length) = clock(time)?;
    let zone = parts.next().unwrap_or_default();
    let offset = offset(zone).or_else(|| zone.bytes().all(|byte| byte.is_ascii_alphabetic()).then_some(0))?;
    Some(Written::new(first + clock, offset, length))
}

/// A number of `count` digits.
fn digits(text: &str, count: usize) -> Option<u64> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// The beginning of a day that there is.
fn day_of(year: u64, month: u64, day: u64) -> Option<Time> {
    if year >= YEAR_MIN { Time::of_date(year, month, day) } else { None }
}

/// The month whose English name begins like `name`.
pub(in crate::web) fn month_of(name: &str) -> Option<u64> {
    const NAMES: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let start = name.get(..3)?.to_ascii_lowercase();
    let number = NAMES.iter().position(|known| **known == *start)?;
    u64::try_from(number + 1).ok()
}

/// `10:15`, `10:15:30`, `10:15:30.5`, and how long that lasts.
fn clock(text: &str) -> Option<(Duration, Duration)> {
    let (text, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let mut parts = text.split(':');
    let hour = parts.next().filter(|hour| !hour.is_empty())?;
    let (hour, minute) = (digits(hour, hour.len().min(2))?, digits(parts.next()?, 2)?);
    let second = parts.next().map(|second| digits(second, 2));
    let seconds = second.map_or(Some(0), |second| second)?;
    let is_time = hour < 24 && minute < 60 && seconds <= 60 && parts.next().is_none();
    if !is_time || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ms: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let length = match (second, fraction) {
        (None, _) => Duration::from_secs(60),
        (Some(_), "") => Duration::from_secs(1),
        (Some(_), _) => Duration::from_millis(1),
    };
    Some((Duration::from_millis((hour * 3_600 + minute * 60 + seconds) * 1_000 + ms), length))
}

/// Minutes that a zone is ahead of UTC; none is UTC.
fn offset(zone: &str) -> Option<i64> {
    let named = match zone {
        "" | "Z" | "z" | "UT" | "UTC" | "GMT" => Some(0),
        "EDT" => Some(-4),
        "EST" | "CDT" => Some(-5),
        "CST" | "MDT" => Some(-6),
        "MST" | "PDT" => Some(-7),
        "PST" => Some(-8),
        _ => None,
    };
    if let Some(hours) = named {
        return Some(hours * 60);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => rest.split_at_checked(2)?,
        _ => rest.split_once(':')?,
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let all = i64::try_from(hours * 60 + minutes).ok()?;
    (hours <= 14 && minutes < 60).then_some(sign * all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::warc_date::parse_date;

    fn at(text: &str) -> Time {
        parse_date(text).unwrap()
    }

    /// The first and the last second that a date can mean.
    fn span(text: &str) -> Option<(String, String)> {
        let second = |time: Time| crate::web::warc_date::format_date(time)[..19].to_owned();
        Written::parse(text).map(|written| (second(written.first), second(written.last)))
    }

    #[test]
    fn every_form_is_read_as_the_span_that_it_means() {
        for (text, first, last) in [
            ("2026", "2026-01-01T00:00:00", "2026-12-31T23:59:59"),
            ("2026-12", "2026-12-01T00:00:00", "2026-12-31T23:59:59"),
            ("2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59"),
            (" 2026-11-22\n", "2026-11-22T00:00:00", "2026-11-22T23:59:59"),
            ("2026-11-22T10:15Z", "2026-11-22T10:15:00", "2026-11-22T10:15:59"),
            ("2026-11-22T10:15:30+01:00", "2026-11-22T09:15:30", "2026-11-22T09:15:30"),
            ("2026-11-22T10:15:30.123456-0330", "2026-11-22T13:45:30", "2026-11-22T13:45:30"),
            ("2026-11-22t10:15:30z", "2026-11-22T10:15:30", "2026-11-22T10:15:30"),
            ("2026-11-22 10:15:30", "2026-11-22T10:15:30", "2026-11-22T10:15:30"),
            ("2026-11-22 10:15:30 +0100", "2026-11-22T09:15:30", "2026-11-22T09:15:30"),
            ("2026-11-22T00:15+02", "2026-11-21T22:15:00", "2026-11-21T22:15:59"),
            ("Sun, 22 Nov 2026 10:15:30 GMT", "2026-11-22T10:15:30", "2026-11-22T10:15:30"),
            ("Sun, 2 Nov 2026 9:15 EST", "2026-11-02T14:15:00", "2026-11-02T14:15:59"),
            ("22 November 26 10:15:30 -0800 (PST)", "2026-11-22T18:15:30", "2026-11-22T18:15:30"),
            ("Thu,  1  Jan\n1998  00:00:00  CET", "1998-01-01T00:00:00", "1998-01-01T00:00:00"),
            ("22 Nov 2026", "2026-11-22T00:00:00", "2026-11-22T23:59:59"),
        ] {
            assert_eq!(span(text), Some((first.to_owned(), last.to_owned())), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_date() {
        for text in [
            "",
            "now",
            "26-11-22",
            "2026-13-01",
            "2026-02-30",
            "2025-02-29",
            "2026-00-00",
            "2026-11-22T",
            "2026-11-22T25:00:00Z",
            "2026-11-22T10:15:61Z",
            "2026-11-22T10:15:30+25:00",
            "2026-11-22T10:15:30 someday 7",
            "2026-11T10:15Z",
            "2026-11-22-01",
            "20261122",
            "1970-01-01T00:00:00Z",
            "0001-01-01",
            "1795342530",
            "Sun, 31 Feb 2026 10:15:30 GMT",
            "Sun, 22 Xyz 2026 10:15:30 GMT",
            "22/11/2026",
            "\u{662}\u{660}\u{662}\u{666}",
            "+026-11-22",
        ] {
            assert_eq!(span(text), None, "{text}");
        }
    }

    #[test]
    fn a_date_is_believed_once_it_has_settled_and_a_span_that_lasts_by_its_beginning() {
        let answered = at("2026-11-22T12:00:00Z");
        let believed = |text: &str| Written::parse(text).unwrap().believed(answered);
        assert_eq!(believed("2026-11-22T11:58:59Z"), Some(at("2026-11-22T11:58:59.999Z")));
        assert_eq!(believed("2026-11-22T11:59:30Z"), None, "written by the request");
        assert_eq!(believed("2026-11-22T12:00:00Z"), None);
        assert_eq!(believed("2026-11-22"), Some(at("2026-11-22T00:00:00Z")), "the day lasts");
        assert_eq!(believed("2026-11-21"), Some(at("2026-11-21T23:59:59.999Z")), "it was changed at the latest then");
        assert_eq!(believed("2026"), Some(at("2026-01-01T00:00:00Z")));
        for future in ["2026-11-23", "2027", "2099-01-01T00:00:00Z", "9999-12-31"] {
            assert_eq!(believed(future), None, "{future}");
        }
    }

    #[test]
    fn the_same_date_for_nearly_all_is_that_of_the_file() {
        let day = |day: u64| Time::of_day(2026, 11, day);
        let dates = |same: usize, others: usize| {
            let others = (0..others).map(|number| day(1 + number as u64 % 9));
            (0..same).map(|number| day(20) + Duration::from_secs(number as u64 % 50)).chain(others)
        };
        assert_eq!(of_the_file(dates(9, 0)), None, "too few to tell");
        let since = of_the_file(dates(90, 10)).unwrap();
        assert!(day(19) < since && since <= day(20));
        assert_eq!(of_the_file(dates(80, 20)), None);
        assert_eq!(of_the_file(dates(1, 1_000)), None);
        assert_eq!(of_the_file(std::iter::empty()), None);
    }

    #[test]
    fn no_text_makes_it_panic() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let forms = ["2026-11-22T10:15:30.5+01:00", "Sun, 22 Nov 2026 10:15:30 +0100", "9999-12-31T23:59:60-14:00"];
        for _ in 0..20_000 {
            let mut text: Vec<char> = forms[random.usize(..forms.len())].chars().collect();
            for _ in 0..random.usize(..5) {
                let at = random.usize(..text.len());
                match random.u8(..3) {
                    0 => text[at] = *random.choice(&['9', '0', '-', ':', ' ', '\u{e9}', 'T', '+', '\u{663}']).unwrap(),
                    1 => drop(text.remove(at)),
                    _ => text.insert(at, '9'),
                }
            }
            let text: String = text.into_iter().collect();
            if let Some(written) = Written::parse(&text) {
                assert!(written.first <= written.last, "{text}");
            }
        }
    }
}
