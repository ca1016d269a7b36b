//! Hosts that were asked and never answered, and hosts that rest: who they are, why, until when.
//!
//! Anyone who owns the frontier says what came of an attempt ([`Active::blame`],
//! [`Frontier::note_answer`](super::Frontier::note_answer)); it is kept with the host, in memory and on the disk side,
//! until the host answers. That a crawl has nothing left but such hosts is asked seldom: of the active side by a pass
//! over it, which the first other host ends, and of the disk side by a pass over the directories of all bases.

use super::active::Active;
use super::host::{Host, WaitState, name_of};
use super::pacing::Pacing;
use crate::clock::Time;
use crate::outcome::HostFault;

/// A host that cannot be asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestingHost {
    /// `http://host:port`.
    pub origin: Box<str>,
    /// Time until which it rests.
    pub until: Time,
    /// The cause, where a request brought nothing.
    pub blame: Option<HostFault>,
    /// True if it never answered.
    pub silent: bool,
    /// True if that is the time at which its hours begin.
    pub is_closed: bool,
}

impl RestingHost {
    /// Returns when its hours begin, in words, where it rests until then.
    pub fn opening(&self, pacing: &Pacing, now: Time) -> Option<String> {
        let hours = pacing.politeness_for(name_of(&self.origin)).hours.filter(|_| self.is_closed);
        hours.map(|hours| hours.opening(self.until, now))
    }
}

/// Hosts with URLs in memory that rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resting {
    /// Hosts that rest, or are asked after one more rest.
    pub hosts: u64,
    /// Hosts that have URLs or requests and do not rest.
    pub others: u64,
    /// The end of the first rest, and of the last one.
    pub first: Option<Time>,
    /// The end of the last rest.
    pub last: Option<Time>,
    /// Hosts that rest longest, the longest rest first.
    pub longest: Vec<RestingHost>,
}

/// The contents of the disk side other than URLs of active hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdSilence {
    /// Nothing but URLs of hosts that never answered.
    Silent,
    /// URLs of other hosts.
    Others,
    /// Not all of it is sorted in: ask again later.
    Unsorted,
}

impl Active {
    /// Returns whether every host that has anything to do was asked and never answered; `None` where no host has
    /// anything to do.
    pub(super) fn are_all_silent(&self) -> Option<bool> {
        let mut silent = self.hosts().filter(|host| has_work(host)).map(|host| host.standing.is_silent());
        silent.next().map(|first| first && silent.all(|silent| silent))
    }

    /// Hosts in memory that rest at `now`, of which `longest` are named.
    pub fn resting(&self, now: Time, longest: usize) -> Resting {
        resting(self, now, longest)
    }
}

fn resting(active: &Active, now: Time, longest: usize) -> Resting {
    let mut resting = Resting::default();
    let mut named: Vec<&Host> = Vec::new();
    for host in active.hosts().filter(|host| has_work(host)) {
        let until = held_until(host);
        let rests = until > now && host.is_at_rest();
        // one that is asked again after a rest, and has not answered yet, rests on
        if !rests && !host.standing.is_silent() {
            resting.others += 1;
            continue;
        }
        resting.hosts += 1;
        if rests {
            resting.first = Some(resting.first.map_or(until, |first| first.min(until)));
            resting.last = resting.last.max(Some(until));
        }
        named.push(host);
        if named.len() > 4 * longest.max(8) {
            keep_longest(&mut named, longest);
        }
    }
    keep_longest(&mut named, longest);
    resting.longest = named
        .into_iter()
        .map(|host| RestingHost {
            origin: host.origin_text.clone(),
            until: held_until(host),
            blame: host.standing.blame,
            silent: host.standing.is_silent(),
            is_closed: host.opens > host.standing.backoff_until.max(now),
        })
        .collect();
    resting
}

fn keep_longest(hosts: &mut Vec<&Host>, count: usize) {
    hosts.sort_by(|a, b| held_until(b).cmp(&held_until(a)).then_with(|| a.origin_text.cmp(&b.origin_text)));
    hosts.truncate(count);
}

/// Returns the time until which a host rests: it is held back, or its hours have not begun.
fn held_until(host: &Host) -> Time {
    host.standing.backoff_until.max(host.opens)
}

/// Returns whether a host has URLs or requests.
fn has_work(host: &Host) -> bool {
    let has_urls = !host.buffer.is_empty() || !host.waiting.is_empty() || host.has_cold();
    host.place != WaitState::Idle && (has_urls || !host.is_at_rest())
}
