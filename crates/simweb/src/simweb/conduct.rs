//! The behaviour of a host: what its robots.txt is like, what comes instead of an answer, and when it asks to be left
//! alone.

use std::time::{Duration, SystemTime};

/// Kinds of robots.txt that a host may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Robots {
    /// There, and excludes nothing.
    Open,
    /// 404.
    Missing,
    /// Excludes some URLs, in one of four ways.
    Some(u8),
    /// Excludes everything.
    Closed,
    /// 403.
    Forbidden,
    /// Cannot be had.
    Failing(Failing),
}

/// Reasons for which nothing follows from a robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failing {
    /// It answers this status.
    Status(u16),
    /// No answer comes.
    Mute(Fate),
}

/// Ways in which an overloaded host says when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plea {
    /// `Retry-After` in seconds.
    Seconds,
    /// `Retry-After` as a date.
    Date,
    /// No `Retry-After`.
    Silent,
    /// `Retry-After: -5`.
    Negative,
    /// `Retry-After` with words in it.
    Garbage,
    /// `Retry-After` as a date that has passed.
    Past,
    /// `Retry-After` of ten years.
    Decade,
}

impl Plea {
    /// Those that a crawler can wait for.
    pub(crate) const USUAL: [Plea; 6] =
        [Plea::Seconds, Plea::Date, Plea::Silent, Plea::Negative, Plea::Garbage, Plea::Past];

    /// The value of the header, and the wait that it asks for, if it does in a way that can be kept; `seconds` is what
    /// those ask for that ask for some time. A wait counts as a day at most.
    pub(super) fn header(self, seconds: u64, now: SystemTime) -> (Option<String>, Option<Duration>) {
        const DAY: Duration = Duration::from_secs(86_400);
        let date = |date: SystemTime| httpdate::fmt_http_date(date);
        match self {
            Plea::Seconds => (Some(seconds.to_string()), Some(Duration::from_secs(seconds).min(DAY))),
            Plea::Date => {
                // a date has no parts of a second: the next whole one after the wait
                let text = date(now + Duration::from_secs(seconds + 1));
                let said = httpdate::parse_http_date(&text).expect("what was formatted just now parses");
                (Some(text), Some(said.duration_since(now).unwrap_or_default().min(DAY)))
            }
            Plea::Silent => (None, None),
            Plea::Negative => (Some("-5".to_owned()), None),
            Plea::Garbage => (Some("when it suits you".to_owned()), None),
            Plea::Past => (Some(date(now - Duration::from_secs(3_600))), None),
            Plea::Decade => (Some((10 * 365 * 86_400).to_string()), Some(DAY)),
        }
    }
}

/// Things that may come instead of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// The answer comes.
    #[default]
    Answered,
    /// Nothing comes, and the connection stays open.
    Hangs,
    /// The connection is closed.
    Closes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pleas_say_what_they_ask_for() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_700);
        let header = |plea: Plea| plea.header(3, now);
        assert_eq!(header(Plea::Seconds), (Some("3".to_owned()), Some(Duration::from_secs(3))));
        let (text, wait) = header(Plea::Date);
        assert_eq!(wait, Some(Duration::from_millis(3_300)), "{text:?}");
        assert_eq!(header(Plea::Decade).1, Some(Duration::from_secs(86_400)));
        for plea in [Plea::Silent, Plea::Negative, Plea::Garbage, Plea::Past] {
            assert_eq!(header(plea).1, None);
        }
    }
}
