//! Answers of an earlier run that a start asks for again although they still hold.
//!
//! | start | why | asked for again |
//! |---|---|---|
//! | with `--force` | the operator wants the listed URLs fetched, whatever was said before | bad answers |
//! | with other `dns.nameservers`, `dns.hosts`, `network.allow` | others say, or others may be asked | bad answers |
//! | after an end by [`Finish::OnlySilentHosts`] | the hosts that never answered are what is left | bad answers |
//! | with other `robots.obey`, `robots.max_bytes`, name of the crawler | a robots.txt says other rules to it | rules |
//!
//! The last row holds for the settings of one site, too; while rules were not obeyed, none had been asked for.
//!
//! Bad answers are: no such name, only private addresses, name servers that failed, a robots.txt that cannot be had, a
//! host given up or resting without ever having answered. Every checkpoint has two moments ([`Rechecked`]); what was
//! learnt up to them is not believed where it is bad, or rules. Other answers hold for their time as always. The
//! settings are kept with the moments, so that a change is seen by the first start that gets as far as its first
//! checkpoint.

use crate::checkpoint::{Doubted, Rechecked};
use crate::clock::{Stored, Time};
use crate::engine::seeds::SeedStatus;
use crate::engine::values::Doubtful;
use crate::outcome::Failure;
use crate::record::Finish;

/// The settings that decide what answers say.
#[derive(Clone, Debug, Default)]
pub struct AnswerSettings {
    /// Those by which names are resolved.
    pub names: String,
    /// Those by which robots.txt files are read.
    pub robots: String,
}

/// The answers of before that a start asks for again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recheck {
    /// Bad ones, and the settings by which names were resolved.
    bad: Doubt,
    /// Rules of robots.txt files, and the settings by which these were read.
    rules: Doubt,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Doubt {
    since: Time,
    settings: String,
    /// True if these are others than the run before had.
    is_changed: bool,
}

impl Doubt {
    /// Doubt at a start with `settings` at `now`, behind a checkpoint that has `kept`; `anew` says that there is
    /// another reason for it.
    fn at_start(kept: Option<&Doubted>, settings: &str, anew: bool, now: Time) -> Doubt {
        let is_changed = kept.is_some_and(|kept| kept.settings != settings);
        let since = if anew || is_changed { now } else { kept.map_or(Time::ZERO, |kept| kept.since.passed(now)) };
        Doubt { since, settings: settings.to_owned(), is_changed }
    }

    fn kept(&self) -> Doubted {
        Doubted { since: Stored::new(self.since), settings: self.settings.clone() }
    }
}

impl Recheck {
    /// Returns what the start of a run with `settings` asks again, behind a checkpoint that has `kept` and with which
    /// the crawl `ended`, if it did; `force` says that the operator wants it so.
    pub(in crate::engine) fn at_start(
        kept: Option<&Rechecked>,
        settings: &AnswerSettings,
        force: bool,
        ended: Option<Finish>,
        now: Time,
    ) -> Recheck {
        let anew = force || ended == Some(Finish::OnlySilentHosts);
        Recheck {
            bad: Doubt::at_start(kept.map(|kept| &kept.bad), &settings.names, anew, now),
            rules: Doubt::at_start(kept.map(|kept| &kept.rules), &settings.robots, false, now),
        }
    }

    /// Has bad answers up to `now` asked for again.
    pub(crate) fn doubt_bad(&mut self, now: Time) {
        self.bad.since = now;
    }

    /// Returns the moments up to which answers are not believed.
    pub(crate) fn doubtful(&self) -> Doubtful {
        Doubtful { bad: self.bad.since, rules: self.rules.since }
    }

    /// Returns whether names are resolved by other settings than in the run before.
    pub(crate) fn resolves_otherwise(&self) -> bool {
        self.bad.is_changed
    }

    /// Returns what the next checkpoint has of it.
    pub(in crate::engine) fn kept(&self) -> Rechecked {
        Rechecked { bad: self.bad.kept(), rules: self.rules.kept() }
    }
}

/// Returns whether a seed ended because its name could not be resolved, or only to addresses that were refused.
pub(crate) fn is_of_its_name(status: &SeedStatus) -> bool {
    let names = [Failure::NoSuchHost, Failure::Dns, Failure::PrivateAddress].map(|failure| failure.to_string());
    match status {
        SeedStatus::Failed(why) | SeedStatus::Dropped(why) => {
            names.iter().any(|name| why.contains(name.as_str())) || why.contains("name servers")
        }
        SeedStatus::Waiting | SeedStatus::Answered(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(names: &str, robots: &str) -> AnswerSettings {
        AnswerSettings { names: names.to_owned(), robots: robots.to_owned() }
    }

    fn at(now: u64, kept: Option<&Rechecked>, settings: &AnswerSettings) -> Recheck {
        Recheck::at_start(kept, settings, false, None, Time::from_ms(now))
    }

    fn moments(recheck: &Recheck) -> (u64, u64) {
        let Doubtful { bad, rules } = recheck.doubtful();
        (bad.ms(), rules.ms())
    }

    #[test]
    fn answers_are_doubted_up_to_the_start_with_other_settings_also_by_the_starts_behind_it() {
        let first = at(1, None, &settings("a", "x"));
        assert_eq!((moments(&first), first.resolves_otherwise()), ((0, 0), false));
        let other_robots = at(2, Some(&first.kept()), &settings("a", "y"));
        assert_eq!((moments(&other_robots), other_robots.resolves_otherwise()), ((0, 2), false));
        // one that was killed before its first checkpoint
        assert_eq!(moments(&at(3, Some(&first.kept()), &settings("a", "y"))), (0, 3));
        let other_names = at(4, Some(&other_robots.kept()), &settings("b", "y"));
        assert_eq!((moments(&other_names), other_names.resolves_otherwise()), ((4, 2), true));
        assert_eq!(moments(&at(5, Some(&other_names.kept()), &settings("b", "y"))), (4, 2));
        let forced = Recheck::at_start(Some(&other_names.kept()), &settings("b", "y"), true, None, Time::from_ms(6));
        assert_eq!(moments(&forced), (6, 2));
    }
}
