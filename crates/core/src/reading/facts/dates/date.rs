//! Dates as pages write them, in attributes, in text and in URLs.
//!
//! A date has three parts with little between them, of which one is a year: `2024-05-01`, `1.5.2024`, `May 1st, 2024`,
//! `1 de mayo de 2024`, `2024年5月1日`. Names of months are known in [`super::words`]. A text is read once, and of what
//! may be a date a bounded number of bytes, so that the time is linear in the text.

use std::fmt::{self, Display, Formatter};

use jiff::civil;

use super::words::{is_filler, month_of};

/// Bytes between two parts of a date.
const GAP_BYTES_MAX: usize = 16;
/// Marks between the numbers of a date, or the words that have the same meaning.
const MARKS: [(&str, &str); 8] = [
    ("-", "-"),
    (".", "."),
    ("/", "/"),
    ("|", "|"),
    ("\u{2013}", "\u{2013}"),
    ("年", "月"),
    ("년", "월"),
    ("tháng", "năm"),
];

/// A date, with the time that is written with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) day: civil::Date,
    clock: Option<Clock>,
}

/// A time of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    time: civil::Time,
    /// Minutes that its zone is ahead of UTC, where the zone is written.
    offset: Option<i16>,
}

/// A date that was found in a text, and the bytes that it has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) date: Date,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The order of the numbers in a date that can be read in two ways, such as `5/1/2024`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    DayFirst,
    MonthFirst,
}

impl Date {
    /// The date that the value of an attribute is: also `20240501`, and seconds or milliseconds since 1970.
    pub(super) fn of_value(value: &str, order: Order) -> Option<Date> {
        let value = value.trim();
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        match digits {
            10 | 13 if digits == value.len() => of_epoch(&value[..10]),
            8 | 12 | 14 => of_digits(&value[..8]),
            _ => places(value, order).next().map(|place| place.date),
        }
    }

    /// The date in the path of a URL: `/2024/05/01/`, `/2024-05-01-title`, `/20240501/`.
    pub(super) fn of_path(path: &str) -> Option<Date> {
        let numbers = path.split(|c: char| !c.is_ascii_digit());
        let in_digits = || numbers.filter(|number| number.len() == 8).find_map(of_digits);
        places(path, Order::DayFirst).next().map(|place| place.date).or_else(in_digits)
    }

    /// True if it is written with a time.
    pub(super) fn has_time(self) -> bool {
        self.clock.is_some()
    }

    /// The same day with the time of another date, if this one has none.
    pub(super) fn or_with_time(self, other: Date) -> Date {
        if self.clock.is_none() && self.day == other.day { other } else { self }
    }
}

impl Display for Date {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.day)?;
        let Some(Clock { time, offset }) = self.clock else { return Ok(()) };
        write!(f, "T{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        match offset {
            None => Ok(()),
            Some(0) => f.write_str("Z"),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

/// The dates in a text, in its order.
pub(super) fn places(text: &str, order: Order) -> impl Iterator<Item = Place> + '_ {
    let mut tokens = Tokens { text, at: 0 };
    std::iter::from_fn(move || {
        loop {
            let here = tokens.clone();
            let token = tokens.next()?;
            let Some(place) = here.place(token, order) else { continue };
            tokens.at = place.end;
            return Some(place);
        }
    })
}

/// A run of digits or of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    start: usize,
    is_number: bool,
}

impl Token<'_> {
    fn end(self) -> usize {
        self.start + self.text.len()
    }

    /// The part of a date that it can be.
    fn part(self) -> Option<Part> {
        if self.is_number {
            let value = Some(self.text).filter(|text| text.len() <= 4)?.parse().ok()?;
            return Some(Part::Number { value, digits: self.text.len() });
        }
        month_of(self.text).map(Part::Month)
    }
}

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Number { value: i16, digits: usize },
    Month(i8),
}

/// The tokens of a text from a place on.
#[derive(Clone, Debug)]
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.text.get(self.at..)?;
        let start = self.at + rest.find(|c: char| c.is_ascii_digit() || c.is_alphabetic())?;
        let rest = &self.text[start..];
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
        let is_of_it = |c: char| if is_number { c.is_ascii_digit() } else { c.is_alphabetic() };
        let length = rest.find(|c| !is_of_it(c)).unwrap_or(rest.len());
        self.at = start + length;
        Some(Token { text: &rest[..length], start, is_number })
    }
}

impl<'a> Tokens<'a> {
    /// The date whose first part is `first`, the next token.
    fn place(mut self, first: Token<'a>, order: Order) -> Option<Place> {
        let before = &self.text[..first.start];
        let is_within = first.is_number && is_number_before(before);
        let first_part = Some(first).filter(|_| !is_within)?.part()?;
        self.at = first.end();
        let (second, second_part, mark) = self.part_after(first.end())?;
        let (third, third_part, next_mark) = self.part_after(second.end())?;
        let shape = Shape { parts: [first_part, second_part, third_part], marks: [mark, next_mark], order };
        let day = shape.day()?;
        let end = third.end();
        let rest = &self.text[end..];
        let goes_on = rest.starts_with(['.', '-', '/']) && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if third.is_number && goes_on {
            return None;
        }
        let (clock, length) = Clock::read(rest).map_or((None, 0), |(clock, length)| (Some(clock), length));
        Some(Place { date: Date { day, clock }, start: first.start, end: end + length })
    }

    /// The next part of a date, and what is between it and `end`, the end of the one before.
    fn part_after(&mut self, end: usize) -> Option<(Token<'a>, Part, &'a str)> {
        loop {
            let rest = self.text.get(end..)?;
            let near = &rest[..rest.floor_char_boundary(GAP_BYTES_MAX)];
            let token = self.next()?;
            let gap = &self.text[end..token.start];
            if gap.len() > near.len() || !gap.chars().all(is_between) {
                return None;
            }
            if let Some(part) = token.part() {
                return Some((token, part, gap.trim()));
            }
            if token.is_number || !is_filler(token.text) {
                return None;
            }
        }
    }
}

/// True for what may be between two parts of a date; words there are judged as words.
fn is_between(c: char) -> bool {
    c.is_whitespace() || c.is_alphabetic() || ".,-/|\u{2013}'\u{2019}\u{2011}".contains(c)
}

/// True if a text ends with a digit or a letter, or with a digit and a mark: what comes then is no begin of a date.
fn is_number_before(text: &str) -> bool {
    let mut back = text.chars().rev();
    match back.next() {
        Some(last) if last.is_ascii_alphanumeric() => true,
        Some('.' | '-' | '/' | ',') => back.next().is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    }
}

/// Three parts of a date and the marks between them.
struct Shape<'a> {
    parts: [Part; 3],
    marks: [&'a str; 2],
    order: Order,
}

impl Shape<'_> {
    /// The day, if the calendar has it.
    fn day(&self) -> Option<civil::Date> {
        use Part::{Month, Number};
        match self.parts {
            [Number { value: day, digits: 1 | 2 }, Month(month), Number { value, digits }]
            | [Month(month), Number { value: day, digits: 1 | 2 }, Number { value, digits }] => {
                civil::Date::new(year(value, digits)?, month, day.try_into().ok()?).ok()
            }
            [Number { value: year, digits: 4 }, Month(month), Number { value: day, digits: 1 | 2 }] => {
                civil::Date::new(year, month, day.try_into().ok()?).ok()
            }
            [Number { value: year, digits: 4 }, Number { value: month, .. }, Number { value: day, .. }] => {
                self.is_marked().then(|| civil::Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok())?
            }
            [Number { value: a, digits: 1 | 2 }, Number { value: b, digits: 1 | 2 }, Number { value, digits }] => {
                let is_short = digits == 2 && self.marks[0] == "-";
                let year = Some(year(value, digits)?).filter(|_| self.is_marked() && !is_short)?;
                let is_month_first = b > 12 || (a <= 12 && self.order == Order::MonthFirst && self.marks[0] != ".");
                let (day, month) = if is_month_first { (b, a) } else { (a, b) };
                civil::Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok()
            }
            _ => None,
        }
    }

    /// True if there are the marks of a date between its numbers.
    fn is_marked(&self) -> bool {
        MARKS.contains(&(self.marks[0], self.marks[1]))
    }
}

/// The year of a number; of two digits, the one of them that is nearest.
fn year(value: i16, digits: usize) -> Option<i16> {
    match digits {
        4 => Some(value),
        2 => Some(if value < 50 { 2_000 + value } else { 1_900 + value }),
        _ => None,
    }
}

/// The date of `20240501`.
fn of_digits(digits: &str) -> Option<Date> {
    let number: u32 = digits.parse().ok()?;
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    let day = civil::Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    Some(Date { day, clock: None })
}

/// The date of a number of seconds since 1970, in UTC.
fn of_epoch(seconds: &str) -> Option<Date> {
    let moment = jiff::Timestamp::from_second(seconds.parse().ok()?).ok()?;
    let there = jiff::tz::Offset::UTC.to_datetime(moment);
    Some(Date { day: there.date(), clock: Some(Clock { time: there.time(), offset: Some(0) }) })
}

impl Clock {
    /// The time at the begin of what is behind a date, and the bytes that it has: `T10:15:30.5+01:00`, ` 10:15 GMT`.
    fn read(text: &str) -> Option<(Clock, usize)> {
        let start = text.strip_prefix(['T', 't']).unwrap_or_else(|| text.trim_start());
        let mut reader = Reader { rest: start };
        let hour = reader.number(2).filter(|_| start.len() < text.len())?;
        reader.mark(&[":"])?;
        let minute = reader.number(2)?;
        let second = reader.mark(&[":"]).map_or(Some(0), |_| reader.number(2))?;
        if reader.mark(&[".", ","]).is_some() {
            reader.number(9)?;
        }
        let offset = reader.offset();
        let is_half = reader.rest.trim_start().get(..1).is_some_and(|c| "aApP".contains(c)) && offset.is_none();
        let time = civil::Time::new(hour.try_into().ok()?, minute.try_into().ok()?, second.min(59).try_into().ok()?, 0);
        let clock = Clock { time: time.ok().filter(|_| !is_half)?, offset };
        Some((clock, text.len() - reader.rest.len()))
    }
}

/// The rest of a time that is read.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// A number of at most this many digits.
    fn number(&mut self, digits_max: usize) -> Option<u32> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count().min(digits_max);
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        number.parse().ok()
    }

    fn mark(&mut self, marks: &[&str]) -> Option<()> {
        self.rest = marks.iter().find_map(|mark| self.rest.strip_prefix(mark))?;
        Some(())
    }

    /// A zone: `Z`, `+01:00`, `+0100`, `+01`, `GMT`.
    fn offset(&mut self) -> Option<i16> {
        let before = self.rest;
        self.rest = self.rest.trim_start();
        let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '+' || c == '-');
        if self.mark(&["Z", "z", "GMT", "UTC"]).is_some() {
            return Some(0).filter(|_| !goes_on(self.rest));
        }
        let found = self.signed();
        if found.is_none() {
            self.rest = before;
        }
        found
    }

    fn signed(&mut self) -> Option<i16> {
        let sign = if self.mark(&["+"]).is_some() { 1 } else { self.mark(&["-", "\u{2212}"]).map(|()| -1)? };
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let hours = if digits == 1 { None } else { self.number(2) }.filter(|hours| *hours <= 14)?;
        let _ = self.mark(&[":"]);
        let minutes = self.number(2).unwrap_or(0);
        i16::try_from(hours * 60 + minutes).ok().filter(|_| minutes < 60).map(|all| sign * all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let found = places(text, Order::DayFirst).map(|place| place.date.to_string());
        found.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dates_are_read_in_the_forms_of_many_languages() {
        for (text, expected) in [
            ("on 2024-05-01.", "2024-05-01"),
            ("2024-05-01T10:15:30.5+02:00", "2024-05-01T10:15:30+02:00"),
            ("2024-05-01 10:15 -0330", "2024-05-01T10:15:00-03:30"),
            ("2024-05-01T10:15:30Z", "2024-05-01T10:15:30Z"),
            ("Wed, 01 May 2024 10:15:30 GMT", "2024-05-01T10:15:30Z"),
            ("2024-05-01 10:15 Zeit", "2024-05-01T10:15:00"),
            ("2024-05-01 9:15 pm", "2024-05-01"),
            ("1.5.2024, 13/5/24 and 5/13/2024", "2024-05-01 2024-05-13 2024-05-13"),
            ("5. 3. 2019", "2019-03-05"),
            ("26 | 01 | 2022", "2022-01-26"),
            ("May 1st, 2024", "2024-05-01"),
            ("the 1st of May 2024", "2024-05-01"),
            ("1. M\u{e4}rz 2024", "2024-03-01"),
            ("1 de mayo de 2024", "2024-05-01"),
            ("le 1er f\u{e9}vrier 2024", "2024-02-01"),
            ("12 \u{43c}\u{430}\u{44f} 2024 \u{433}.", "2024-05-12"),
            ("2024\u{5e74}5\u{6708}1\u{65e5}", "2024-05-01"),
            ("2024\u{b144} 5\u{c6d4} 1\u{c77c}", "2024-05-01"),
            ("ng\u{e0}y 1 th\u{e1}ng 5 n\u{103}m 2024", "2024-05-01"),
            ("2024 m. gegu\u{17e}\u{117}s 1 d.", "2024-05-01"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_that_are_no_date_are_none() {
        for text in [
            "2024-13-01",
            "31.2.2024",
            "10.1.2.2024",
            "v1.2.2024",
            "1.2.2024.5",
            "1 2 2024",
            "2024",
            "May 2024",
            "1, May: 2024",
            "1-2-24",
            "99999-05-01",
            "1.5-2024",
        ] {
            assert_eq!(read(text), "", "{text}");
        }
    }

    #[test]
    fn values_of_attributes_and_paths_have_forms_of_their_own() {
        let value = |text: &str| Date::of_value(text, Order::MonthFirst).map(|date| date.to_string());
        assert_eq!(value(" 20240501 "), Some("2024-05-01".to_owned()));
        assert_eq!(value("1714558530"), Some("2024-05-01T10:15:30Z".to_owned()));
        assert_eq!(value("5/1/2024"), Some("2024-05-01".to_owned()));
        assert_eq!((value("20241399"), value("soon"), value("")), (None, None, None));
        let path = |path: &str| Date::of_path(path).map(|date| date.day.to_string());
        for there in ["/2024/05/01/title", "/a/2024-05-01-title", "/news/20240501/x", "/news/01-05-2024"] {
            assert_eq!(path(there), Some("2024-05-01".to_owned()), "{there}");
        }
        assert_eq!((path("/2024/05/"), path("/1234567890"), path("/")), (None, None, None));
    }

    #[test]
    fn no_text_makes_it_panic() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let pieces = [
            "2024", "-", "05", ".", "May", " ", "\u{e9}", "T10:15", "+", "\u{663}", "\u{5e74}", "1", "/", "\u{ba}", "Z",
        ];
        for _ in 0..20_000 {
            let text: String = (0..random.usize(..12)).map(|_| *random.choice(&pieces).unwrap()).collect();
            let _ = (read(&text), Date::of_value(&text, Order::MonthFirst), Date::of_path(&text));
        }
    }
}
