//! What hosts make hard for a crawler: overload, slowness, death, and a robots.txt that cannot be had or lies
//! elsewhere.
//!
//! All of it is off by default. The first host, on which all others hang, has none of it.

use std::time::{Duration, SystemTime};

use super::options::SimOptions;
use super::plan::Robots;

/// What an overloaded host says about when to come back.
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
    pub const USUAL: [Plea; 6] = [Plea::Seconds, Plea::Date, Plea::Silent, Plea::Negative, Plea::Garbage, Plea::Past];

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

/// What comes instead of an answer.
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

/// What a host is like beside its robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// Takes `slow_factor` times as long as others.
    Slow,
    /// Refuses the first requests for pages.
    Overloaded(Plea),
    /// Resolves to an address where nothing listens.
    Refuses,
    /// Resolves, accepts connections, and never says anything: hangs or closes.
    Mute(Fate),
}

impl Trouble {
    /// Draws the trouble of a host.
    pub fn draw(options: &SimOptions, dice: &mut fastrand::Rng) -> Trouble {
        let (mut lot, way) = (dice.f64(), dice.usize(0..1_000));
        if lot < options.dead_share {
            let hangs = options.silent_hosts && way % 3 == 2;
            return match way % 3 {
                0 => Trouble::Refuses,
                _ if hangs => Trouble::Mute(Fate::Hangs),
                _ => Trouble::Mute(Fate::Closes),
            };
        }
        lot -= options.dead_share;
        if lot < options.overload_share {
            return match options.pleas.get(way % options.pleas.len().max(1)) {
                Some(&plea) => Trouble::Overloaded(plea),
                None => Trouble::Overloaded(Plea::Silent),
            };
        }
        lot -= options.overload_share;
        if lot < options.slow_share { Trouble::Slow } else { Trouble::None }
    }

    /// Whether nothing of the host can be fetched.
    pub fn is_dead(self) -> bool {
        matches!(self, Trouble::Refuses | Trouble::Mute(_))
    }
}

/// Why nothing follows from a robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failing {
    /// It answers this status.
    Status(u16),
    /// No answer comes.
    Mute(Fate),
}

/// What becomes of a robots.txt that the options in `robots.rs` have drawn.
pub(super) enum RobotsTrouble {
    /// It stays.
    None,
    /// It is this one.
    Instead(Robots),
    /// A redirect leads to another host, which has it.
    Moved,
}

impl RobotsTrouble {
    /// Draws the trouble of a robots.txt.
    pub fn draw(options: &SimOptions, dice: &mut fastrand::Rng) -> RobotsTrouble {
        let (mut lot, way) = (dice.f64(), dice.u8(0..32));
        if lot < options.robots_moved_share {
            return RobotsTrouble::Moved;
        }
        lot -= options.robots_moved_share;
        if lot < options.robots_forbidden_share {
            return RobotsTrouble::Instead(Robots::Forbidden);
        }
        lot -= options.robots_forbidden_share;
        if lot >= options.robots_broken_share {
            return RobotsTrouble::None;
        }
        RobotsTrouble::Instead(Robots::Failing(match way % 4 {
            0 => Failing::Status(429),
            1 => Failing::Status(500),
            2 if options.silent_hosts => Failing::Mute(Fate::Hangs),
            _ => Failing::Mute(Fate::Closes),
        }))
    }
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
