//! Bad answers of an earlier run that a start asks for again although they still hold: the operator has reason to think
//! that they are bad no longer.
//!
//! | start | why |
//! |---|---|
//! | with `--force` | the operator wants the listed URLs fetched, whatever was said before |
//! | with other `dns.nameservers`, `dns.hosts`, `network.allow` | others say, or other addresses may be asked |
//! | after an end by [`Finish::OnlySilentHosts`] | the hosts that never answered are what is left |
//!
//! Bad answers are: no such name, only private addresses, name servers that failed, a robots.txt that cannot be had, a
//! host given up or resting without ever having answered. Every checkpoint has a moment ([`Rechecked`]); what was
//! learnt up to it is not believed where it is bad. Good answers hold for their time as always. The settings are kept
//! with it, so that a change is seen by the first start that gets as far as its first checkpoint.

use crate::checkpoint::Rechecked;
use crate::clock::{Stored, Time};
use crate::engine::seeds::SeedStatus;
use crate::outcome::Failure;
use crate::record::Finish;

/// The bad answers of before that a start asks for again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recheck {
    /// Bad answers of before are not believed.
    pub since: Time,
    /// The settings by which names were resolved.
    settings: String,
    /// True if these are others than the run before had.
    pub is_changed: bool,
}

impl Recheck {
    /// Returns what the start of a run with `settings` asks again, behind a checkpoint that has `kept` and with which
    /// the crawl `ended`, if it did; `force` says that the operator wants it so.
    pub(in crate::engine) fn at_start(
        kept: Option<&Rechecked>,
        settings: &str,
        force: bool,
        ended: Option<Finish>,
        now: Time,
    ) -> Recheck {
        let is_changed = kept.is_some_and(|kept| kept.settings != settings);
        let again = force || is_changed || ended == Some(Finish::OnlySilentHosts);
        let since = if again { now } else { kept.map_or(Time::ZERO, |kept| kept.since.passed(now)) };
        Recheck { since, settings: settings.to_owned(), is_changed }
    }

    /// Returns what the next checkpoint has of it.
    pub(in crate::engine) fn kept(&self) -> Rechecked {
        Rechecked { since: Stored::new(self.since), settings: self.settings.clone() }
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
