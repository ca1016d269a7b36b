//! Times as addresses of captures have them: up to 14 digits, `20261128184520`, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::web::warc_date::parse_date;
use crawler_web::clock::Time;

/// The digits of a time with all its parts.
pub(super) const DIGITS: usize = 14;

/// Returns `time` in 14 digits.
pub(super) fn digits(time: Time) -> String {
    let (year, month, day, hour, minute, second, _) = time.civil();
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// Reads 1 to 14 digits. Missing ones count as the start of what is said; parts beyond their limits count as the limit,
/// and years before 1970 as that year.
pub fn parse(text: &str) -> Option<Time> {
    if text.is_empty() || text.len() > DIGITS || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let filled = format!("{text:0<DIGITS$}");
    let part = |from: usize, to: usize| filled[from..to].parse::<u64>().ok();
    let (year, month) = (part(0, 4)?.max(1970), part(4, 6)?.clamp(1, 12));
    let (hour, minute, second) = (part(8, 10)?.min(23), part(10, 12)?.min(59), part(12, 14)?.min(59));
    let last = (28..=31).rev().find(|day| of(year, month, *day).is_some_and(|time| time.civil().1 == month));
    let day = part(6, 8)?.clamp(1, last?);
    let seconds = hour * 3_600 + minute * 60 + second;
    Some(of(year, month, day)? + Duration::from_secs(seconds))
}

fn of(year: u64, month: u64, day: u64) -> Option<Time> {
    parse_date(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"))
}

/// Returns `time` as a date of HTTP, without its milliseconds.
pub(super) fn http_date(time: Time) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(time.ms() / 1_000))
}

/// Reads a date of HTTP.
pub(super) fn parse_http_date(text: &str) -> Option<Time> {
    let time: SystemTime = httpdate::parse_http_date(text.trim()).ok()?;
    let ms = time.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(Time::from_ms(u64::try_from(ms).ok()?))
}

/// Returns `time` for people: `2026-11-28 18:45:20`.
pub(super) fn shown(time: Time) -> String {
    let (year, month, day, hour, minute, second, _) = time.civil();
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_digits_are_the_start_and_wrong_ones_the_limit() {
        for (text, meant) in [
            ("20261128184520", "20261128184520"),
            ("2026112818", "20261128180000"),
            ("2026", "20260101000000"),
            ("20261", "20261001000000"),
            ("2", "20000101000000"),
            ("19", "19700101000000"),
            ("20260231256199", "20260228235959"),
            ("20241399", "20241231000000"),
            ("20240230", "20240229000000"),
            ("00000000000000", "19700101000000"),
            ("99999999999999", "99991231235959"),
        ] {
            assert_eq!(parse(text).map(digits).as_deref(), Some(meant), "{text}");
        }
        for text in ["", "202611281845201", "2026a", "-1", "2026 ", "２０２６"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_time_is_read_again_to_the_second() {
        for ms in [0, 951_782_400_123, 1_795_237_724_000, 4_107_542_399_999] {
            let time = Time::from_ms(ms);
            assert_eq!(parse(&digits(time)), Some(Time::from_ms(ms / 1_000 * 1_000)));
            assert_eq!(parse_http_date(&http_date(time)), Some(Time::from_ms(ms / 1_000 * 1_000)));
        }
        assert_eq!(parse_http_date("yesterday"), None);
    }
}
