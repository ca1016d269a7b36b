//! The `Retry-After` header: the time for which a server asks to be left alone (RFC 9110, 10.2.3).

use std::time::Duration;

use crate::clock::Time;

/// The longest answer of [`retry_after`]; who asks for centuries gets this.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The wait that a `Retry-After` value asks for: seconds, or a date seen from `now`. A fraction of a second, which the
/// standard does not have and servers write, is rounded up. None for anything else (`-5`, prose, a date that has
/// passed, which is what a wrong clock makes of a wait): the caller falls back to its own back-off, which a broken
/// header must never switch off.
pub fn retry_after(value: &str, now: Time) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !whole.is_empty() && is_digits(whole) && is_digits(fraction) {
        // all digits and still no u64: more than any cap
        let seconds = whole.parse().unwrap_or(u64::MAX);
        let begun = u64::from(fraction.bytes().any(|digit| digit != b'0'));
        return Some(Duration::from_secs(seconds.saturating_add(begun)).min(RETRY_AFTER_MAX));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let since_epoch = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    let wait = (Time::ZERO + since_epoch).since(now);
    (!wait.is_zero()).then(|| wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(784_111_777_000 - 60_000);

    #[test]
    fn p1_seconds_and_all_three_date_forms_are_understood() {
        assert_eq!(retry_after(" 120 ", NOW), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("0", NOW), Some(Duration::ZERO));
        for (value, seconds) in [("299.997", 300), ("1.5", 2), ("2.0", 2), ("3.", 3), ("0.001", 1)] {
            assert_eq!(retry_after(value, NOW), Some(Duration::from_secs(seconds)), "{value}");
        }
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(retry_after(date, NOW), Some(Duration::from_secs(60)), "{date}");
        }
    }

    #[test]
    fn p1_a_date_that_has_passed_is_no_answer() {
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:48:37 GMT", NOW), None);
        assert_eq!(retry_after("Thu, 01 Jan 1970 00:00:00 GMT", NOW), None);
    }

    #[test]
    fn p1_garbage_and_negative_values_are_no_answer() {
        for value in [
            "",
            "-5",
            "+5",
            ".5",
            ".",
            "1.5.1",
            "1,5",
            "-0.5",
            "soon",
            "1e3",
            "12 s",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "\u{0663}",
        ] {
            assert_eq!(retry_after(value, NOW), None, "{value}");
        }
    }

    #[test]
    fn p1_centuries_are_cut() {
        for value in [
            "315360000",
            "99999999999",
            "99999999999999999999999999",
            "99999999999999999999999999.9",
            "18446744073709551615.5",
            "Fri, 31 Dec 9999 23:59:59 GMT",
        ] {
            assert_eq!(retry_after(value, NOW), Some(RETRY_AFTER_MAX), "{value}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for seed in 0..3_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = b"Sun, 06 Nov 1994 08:49:37 GMT".to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            retry_after(&String::from_utf8_lossy(&bytes), NOW);
        }
    }
}
