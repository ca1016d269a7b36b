//! `WARC-Date`: UTC in the form of ISO 8601, with milliseconds.

use std::time::Duration;

use crate::clock::Time;

/// `2026-11-21T05:08:44.123Z`.
pub fn format_date(time: Time) -> String {
    let (year, month, day, hour, minute, second, ms) = time.civil();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Reads a date in UTC, with or without a fraction of a second.
pub fn parse_date(text: &str) -> Option<Time> {
    let text = text.strip_suffix('Z')?;
    let (date, clock) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let sane = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61
        && fraction.bytes().all(|b| b.is_ascii_digit());
    if !sane {
        return None;
    }
    let thousandths: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let of_day = hour * 3_600 + minute * 60 + second;
    Some(Time::of_day(year, month, day) + Duration::from_millis(of_day * 1_000 + thousandths))
}

/// The first moment of what a person wrote: `2026-11-21` is a whole day (UTC), `2026-11-21T05:08:44Z` a second.
pub fn since(text: &str) -> Result<Time, String> {
    moment(text, "T00:00:00.000Z", ".000Z")
}

/// Its last moment.
pub fn until(text: &str) -> Result<Time, String> {
    moment(text, "T23:59:59.999Z", ".999Z")
}

/// A date, with `day` behind it where it has no clock time and `second` where it has no fraction of a second.
fn moment(text: &str, day: &str, second: &str) -> Result<Time, String> {
    let bare = text.strip_suffix('Z').unwrap_or(text);
    let whole = match (bare.contains('T'), bare.contains('.')) {
        (false, _) => format!("{bare}{day}"),
        (true, false) => format!("{bare}{second}"),
        (true, true) => format!("{bare}Z"),
    };
    parse_date(&whole).ok_or_else(|| "write a date such as 2026-11-21 or 2026-11-21T05:08:44Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn known_dates_are_written_and_read() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_795_237_724_000, "2026-11-21T05:08:44.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ] {
            assert_eq!(format_date(Time::from_ms(ms)), text);
            assert_eq!(parse_date(text), Some(Time::from_ms(ms)));
        }
        assert_eq!(parse_date("2026-11-21T05:08:44Z"), Some(Time::from_ms(1_795_237_724_000)));
        for bad in ["", "2026-11-21", "2026-13-21T05:08:44Z", "2026-11-21T05:08:44+01:00", "x-y-zT1:2:3Z"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_is_read_back() {
        for day in 0..146_097 {
            let time = Time::from_ms(day * DAY_MS);
            assert_eq!(parse_date(&format_date(time)), Some(time));
        }
    }
}
