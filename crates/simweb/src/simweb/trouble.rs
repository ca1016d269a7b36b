//! Hosts that are hard for a crawler: overload, slowness, death, and a robots.txt that cannot be had or is elsewhere.
//!
//! All of it is off by default. The first host, on which all others hang, has none of it.

use super::conduct::{Failing, Fate, Plea, Robots};
use super::options::SimOptions;

/// Troubles that a host may have besides the troubles of its robots.txt.
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
    pub(crate) fn draw(options: &SimOptions, dice: &mut fastrand::Rng) -> Trouble {
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

    /// Returns whether nothing of the host can be fetched.
    pub(crate) fn is_dead(self) -> bool {
        matches!(self, Trouble::Refuses | Trouble::Mute(_))
    }
}

/// Fates of a robots.txt that the options in `robots.rs` have drawn.
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
    pub(crate) fn draw(options: &SimOptions, dice: &mut fastrand::Rng) -> RobotsTrouble {
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
