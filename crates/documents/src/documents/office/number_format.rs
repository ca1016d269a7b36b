//! Numbers of spreadsheets as people read them: a date is a number whose format says so (ECMA-376, part 1, 18.8.30).

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Days from the first day of dates to 1970.
const DAYS_TO_1970: i64 = 25_569;
/// Days from 1900 to 1904, where dates may begin as well.
const DAYS_TO_1904: f64 = 1_462.0;
/// The day after the year 9999.
const DAYS_MAX: f64 = 2_958_466.0;
/// Digits of a number that programs show.
const DIGITS: usize = 15;

/// A format of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NumberFormat {
    /// A number.
    #[default]
    General,
    /// A percentage with so many decimals.
    Percent(usize),
    /// A date, a time of a day, or both.
    Date,
    /// Hours, minutes and seconds.
    Elapsed,
}

impl NumberFormat {
    /// The format that has this number without being defined.
    pub(super) fn of_number(number: u32) -> NumberFormat {
        match number {
            9 => NumberFormat::Percent(0),
            10 => NumberFormat::Percent(2),
            14..=22 | 27..=36 | 45 | 47 | 50..=58 => NumberFormat::Date,
            46 => NumberFormat::Elapsed,
            _ => NumberFormat::General,
        }
    }

    /// The format that is defined by a code, such as `yyyy\-mm\-dd`.
    pub(super) fn of_code(code: &str) -> NumberFormat {
        if code.to_ascii_lowercase().contains("general") {
            return NumberFormat::General;
        }
        let mut characters = code.chars();
        let (mut is_percent, mut decimals, mut is_behind_point) = (false, 0, false);
        while let Some(character) = characters.next() {
            match character.to_ascii_lowercase() {
                ';' => break,
                '"' => drop(characters.find(|&end| end == '"')),
                '\\' | '_' | '*' => drop(characters.next()),
                '[' => {
                    let inside: String = characters.by_ref().take_while(|&end| end != ']').collect();
                    let inside = inside.to_ascii_lowercase();
                    if ["h", "hh", "m", "mm", "s", "ss"].contains(&inside.as_str()) {
                        return NumberFormat::Elapsed;
                    }
                }
                'y' | 'd' | 'h' | 's' | 'm' => return NumberFormat::Date,
                '.' => is_behind_point = true,
                '0' | '#' | '?' => decimals += usize::from(is_behind_point),
                '%' => is_percent = true,
                _ => {}
            }
        }
        if is_percent { NumberFormat::Percent(decimals.min(DIGITS)) } else { NumberFormat::General }
    }

    /// The text of a number in this format. `is_from_1904` says that dates begin in 1904.
    pub(super) fn show(self, text: &str, is_from_1904: bool) -> String {
        let Ok(number) = text.trim().parse::<f64>() else { return text.to_owned() };
        match self {
            NumberFormat::Percent(decimals) if number.abs() < 1e9 => format!("{:.decimals$}%", number * 100.0),
            NumberFormat::Date => {
                let days = if is_from_1904 { number + DAYS_TO_1904 } else { number };
                if (0.0..DAYS_MAX).contains(&days) { date(days) } else { rounded(text, number) }
            }
            NumberFormat::Elapsed if (0.0..DAYS_MAX).contains(&number) => {
                let seconds = seconds(number);
                format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
            }
            _ => rounded(text, number),
        }
    }
}

fn rounded(text: &str, number: f64) -> String {
    let is_short = text.len() <= DIGITS || !(1e-6..1e15).contains(&number.abs());
    let rounded = if is_short { None } else { format!("{number:.*e}", DIGITS - 1).parse::<f64>().ok() };
    rounded.map_or_else(|| text.to_owned(), |rounded| rounded.to_string())
}

#[expect(clippy::cast_possible_truncation, reason = "days are between 0 and the year 9999")]
fn seconds(days: f64) -> i64 {
    (days * DAY as f64).round() as i64
}

/// A date in ISO 8601, of which a time of midnight is left out; on day 0 the time alone.
fn date(days: f64) -> String {
    let seconds = seconds(days);
    let (day, time) = (seconds / DAY, seconds % DAY);
    let time_text = format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60);
    if day == 0 {
        return time_text;
    }
    // programs take 1900 for a leap year: days before March are one later
    let date = civil(if day < 60 { day + 1 } else { day } - DAYS_TO_1970);
    if time == 0 { date } else { format!("{date}T{time_text}") }
}

/// The date of a day after 1970-01-01. Years begin in March here: a leap day is the last day of one.
fn civil(days: i64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_their_format_says() {
        let show = |format: NumberFormat, text: &str| format.show(text, false);
        assert_eq!(show(NumberFormat::Date, "1"), "1900-01-01");
        assert_eq!(show(NumberFormat::Date, "59"), "1900-02-28");
        assert_eq!(show(NumberFormat::Date, "61"), "1900-03-01");
        assert_eq!(show(NumberFormat::Date, "45351.5"), "2024-02-29T12:00:00");
        assert_eq!(show(NumberFormat::Date, "0.25"), "06:00:00");
        assert_eq!(show(NumberFormat::Date, "-1"), "-1");
        assert_eq!(show(NumberFormat::Date, "1e300"), "1e300");
        assert_eq!(NumberFormat::Date.show("0", true), "1904-01-01");
        assert_eq!(show(NumberFormat::Elapsed, "1.5"), "36:00:00");
        assert_eq!(show(NumberFormat::Percent(1), "0.125"), "12.5%");
        assert_eq!(show(NumberFormat::General, "0.30000000000000004"), "0.3");
        assert_eq!(show(NumberFormat::General, "n/a"), "n/a");
    }

    #[test]
    fn codes_say_what_is_a_date() {
        let cases = [
            ("yyyy\\-mm\\-dd", NumberFormat::Date),
            ("[$-409]h:mm AM/PM;@", NumberFormat::Date),
            ("[h]:mm", NumberFormat::Elapsed),
            ("0.0%", NumberFormat::Percent(1)),
            ("#,##0.00 \"days\"", NumberFormat::General),
            ("General", NumberFormat::General),
            ("[Red]0.00E+00", NumberFormat::General),
            ("\"", NumberFormat::General),
        ];
        for (code, format) in cases {
            assert_eq!(NumberFormat::of_code(code), format, "{code}");
        }
    }
}
