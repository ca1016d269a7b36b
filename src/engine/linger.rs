//! The end of a crawl of which only hosts are left that never answered: it waits for them for a while of its own, not for
//! as long as it takes to give a host up.
//!
//! The while begins when nothing else is left, and anew when anything else comes up. After it the crawl stops in good
//! order; the URLs of these hosts stay queued, and the next start asks them at once ([`super::anew`]).

use super::{Engine, Phase};
use crate::clock::Time;
use crate::disk::Result;
use crate::frontier::ColdSilence;
use crate::record::{Finish, Resting, RestingHost};
use std::time::Duration;

/// Whether only such hosts are left is asked this often at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Resting hosts that are named.
const NAMED_MAX: usize = 10;
/// Shorter rests are no news.
const REST_MIN: Duration = Duration::from_secs(5);

/// Since when nothing but silent hosts is left.
#[derive(Debug, Default)]
pub(super) struct Linger {
    since: Option<Time>,
    look_due: Time,
}

impl Engine {
    /// Looks whether only hosts are left that never answered, and stops when that was so for long enough.
    pub(super) fn watch_silence(&mut self, now: Time) -> Result<()> {
        if self.phase != Phase::Crawling || self.is_paused() || now < self.linger.look_due {
            return Ok(());
        }
        self.linger.look_due = now + LOOK_EVERY;
        if !self.is_silent() {
            self.linger.since = None;
            return Ok(());
        }
        let since = *self.linger.since.get_or_insert(now);
        if now.since(since) < self.settings.linger {
            return Ok(());
        }
        match self.stores.arrival.frontier.cold_silence()? {
            ColdSilence::Silent => self.begin_stop(Finish::OnlySilentHosts),
            ColdSilence::Others => self.linger.since = None,
            ColdSilence::Unsorted => {}
        }
        Ok(())
    }

    /// When the while is over.
    pub(super) fn linger_due(&self) -> Option<Time> {
        let over = self.linger.since? + self.settings.linger;
        Some(over.max(self.linger.look_due))
    }

    /// Nothing is on its way to the queue, and in the queue are only hosts that never answered.
    fn is_silent(&mut self) -> bool {
        let is_quiet = !self.stores.are_dispatching() && !self.stores.are_merging() && self.stores.waiting() == 0;
        is_quiet && self.stores.arrival.frontier.only_silent_active()
    }

    /// Hosts that rest, if any does, and whether nothing else is left.
    pub(super) fn resting(&mut self, now: Time) -> Option<Resting> {
        let is_on_its_way = self.stores.waiting() > 0 || self.stores.are_merging();
        let resting = self.stores.arrival.frontier.resting(now, NAMED_MAX);
        let is_long = resting.last.is_some_and(|last| last >= now + REST_MIN);
        if !is_long && !resting.longest.iter().any(|host| host.silent) {
            return None;
        }
        let host = |host: crate::frontier::RestingHost| RestingHost {
            host: host.origin.into(),
            why: match host.blame {
                Some(blame) => blame.to_string(),
                None => "it asks for a pause, or is overloaded".to_owned(),
            },
            until: host.until,
        };
        Some(Resting {
            hosts: resting.hosts,
            is_all: resting.others == 0 && !is_on_its_way,
            first: resting.first,
            last: resting.last,
            ends: self.linger.since.map(|since| since + self.settings.linger),
            longest: resting.longest.into_iter().map(host).collect(),
        })
    }
}
