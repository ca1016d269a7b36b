//! Numbers as people read them: sizes, durations, counts and dates, each in as few characters as say enough.

use std::time::Duration;

use crate::clock::Time;
use crate::warc::format_date;

/// A size in at most eight characters: `17 B`, `1.4 MiB`, `512 GiB`.
pub fn size(bytes: u64) -> String {
    let mut scaled = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if scaled < 999.5 {
            let decimals = usize::from(scaled < 9.95 && unit != "B");
            return format!("{scaled:.decimals$} {unit}");
        }
        scaled /= 1024.0;
    }
    format!("{scaled:.1} PiB")
}

/// A duration by its two largest units: `7s`, `3m 05s`, `2h 10m`, `5d 07h`.
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// A short time in milliseconds, a longer one in seconds: `0.84 ms`, `12 ms`, `1.7 s`.
pub fn brief(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 999.5 { format!("{} ms", rate(ms)) } else { format!("{} s", rate(ms / 1e3)) }
}

/// A count in groups of three digits: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count that may have a fraction: `1,234`, `3.25`, `0.5`.
pub fn fraction(number: f64) -> String {
    let hundredths = (number.max(0.0) * 100.0).round() as u64;
    let (whole, rest) = (count(hundredths / 100), hundredths % 100);
    match rest {
        0 => whole,
        _ => format!("{whole}.{rest:02}").trim_end_matches('0').to_owned(),
    }
}

/// A count and what is counted, which takes an `s` where it is not one: `1 host`, `1,234 hosts`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A count in at most six characters: `9,999`, `12.3k`, `4.56M`.
pub fn short(number: u64) -> String {
    let (value, unit) = match number {
        0..10_000 => return count(number),
        10_000..1_000_000 => (number as f64 / 1e3, 'k'),
        1_000_000..1_000_000_000 => (number as f64 / 1e6, 'M'),
        _ => (number as f64 / 1e9, 'G'),
    };
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}{unit}")
}

/// A rate per second: `0.52`, `8.4`, `310`.
pub fn rate(per_second: f64) -> String {
    let decimals = if per_second < 0.995 { 2 } else { usize::from(per_second < 99.5) };
    format!("{per_second:.decimals$}")
}

/// `2026-11-21T04:38:00.123Z`.
pub fn iso_ms(time: Time) -> String {
    format_date(time)
}

/// `2026-11-21 04:38:00 UTC`.
pub fn date(time: Time) -> String {
    let (year, month, day, hour, minute, second, _) = time.civil();
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// `20261121043800123`: 17 digits down to the millisecond.
pub fn digits_ms(time: Time) -> String {
    let (year, month, day, hour, minute, second, ms) = time.civil();
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}{ms:03}")
}

/// `20261121-043800`: for names of files.
pub fn stamp(time: Time) -> String {
    let (year, month, day, hour, minute, second, _) = time.civil();
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_stay_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_000), "1.0 KiB");
        assert_eq!(size(1_500_000), "1.4 MiB");
        assert_eq!(size(20 << 30), "20 GiB");
        assert_eq!(size(u64::MAX), "16384.0 PiB");
        assert_eq!(count(0), "0");
        assert_eq!(count(123), "123");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!([0.0, 0.25, 3.5, 1_234.0].map(fraction), ["0", "0.25", "3.5", "1,234"]);
        assert_eq!(short(9_999), "9,999");
        assert_eq!(short(12_345), "12.3k");
        assert_eq!(short(4_560_000), "4.56M");
        assert_eq!(short(250_000_000), "250M");
    }

    #[test]
    fn durations_show_their_two_largest_units() {
        assert_eq!(span(Duration::from_millis(7_900)), "7s");
        assert_eq!(span(Duration::from_secs(185)), "3m 05s");
        assert_eq!(span(Duration::from_secs(7_800)), "2h 10m");
        assert_eq!(span(Duration::from_secs(5 * 86_400 + 7 * 3_600)), "5d 07h");
        assert_eq!(brief(Duration::from_micros(840)), "0.84 ms");
        assert_eq!(brief(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(brief(Duration::from_millis(480)), "480 ms");
        assert_eq!(brief(Duration::from_millis(61_700)), "61.7 s");
    }

    #[test]
    fn dates_agree_with_the_calendar() {
        assert_eq!(iso_ms(Time::ZERO), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso_ms(Time::from_ms(951_782_400_000)), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso_ms(Time::from_ms(1_709_251_199_999)), "2024-02-29T23:59:59.999Z");
        assert_eq!(iso_ms(Time::from_ms(4_107_542_400_000)), "2100-03-01T00:00:00.000Z");
        assert_eq!(digits_ms(Time::from_ms(1_114_650_975_990)), "20050428011615990");
        assert_eq!(stamp(Time::from_ms(1_114_650_975_990)), "20050428-011615");
        assert_eq!(date(Time::from_ms(1_114_650_975_990)), "2005-04-28 01:16:15 UTC");
        assert_eq!(iso_ms(Time::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn dates_agree_with_http_dates_on_random_days() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let seconds = random.u64(..253_402_300_800);
            let http = httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(seconds));
            let ours = iso_ms(Time::from_ms(seconds * 1_000));
            assert_eq!(http[5..7], ours[8..10], "{seconds}");
            assert_eq!(http[12..16], ours[..4], "{seconds}");
            assert_eq!(http[17..25], ours[11..19], "{seconds}");
        }
    }
}
