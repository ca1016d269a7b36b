//! Hosts that were asked and never answered, and hosts that rest: who they are, why, until when.
//!
//! Anyone who owns the frontier says what came of an attempt ([`Frontier::blame`], [`Frontier::heard`]); it is kept
//! with the host, in memory and on the disk side, until the host answers. That a crawl has nothing left but such hosts
//! is asked seldom: of the active side by a pass over it, which the first other host ends, and of the disk side by a
//! pass over the directories of all bases.

use super::Frontier;
use super::active::Active;
use super::host::{Host, WaitState};
use super::task::HostId;
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
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

impl Frontier {
    /// A request for `host` brought nothing, or its name no address.
    pub fn blame(&mut self, host: HostId, blame: HostFault) {
        if let Some(index) = self.active.resolve_id(host) {
            self.active.host_mut(index).standing.blame = Some(blame);
        }
    }

    /// `host` answered a request.
    pub fn heard(&mut self, host: HostId) {
        if let Some(index) = self.active.resolve_id(host) {
            self.note_answer(index);
        }
    }

    /// Takes `host` for one that never answered, because of `fault`, until a request to it is answered again.
    pub fn fall_silent(&mut self, host: HostId, fault: HostFault) {
        if let Some(index) = self.active.resolve_id(host) {
            let standing = &mut self.active.host_mut(index).standing;
            (standing.answered, standing.blame) = (false, Some(fault));
        }
    }

    /// Returns the cause for which the host of `origin` delivers nothing, while it is active.
    pub fn blame_of(&self, origin: Fingerprint) -> Option<HostFault> {
        self.active.host(self.active.find(origin)?).standing.blame
    }

    /// Returns whether every active host that has anything to do was asked and never answered; where no host has
    /// anything to do, whether there are URLs on the disk side.
    pub fn only_silent_active(&self) -> bool {
        let mut silent = self.active.hosts().filter(|host| has_work(host)).map(|host| host.standing.is_silent());
        match silent.next() {
            None => self.cold.urls > 0,
            Some(first) => first && silent.all(|silent| silent),
        }
    }

    /// Finds out what the disk side holds other than URLs of active hosts; reads the directories of all bases.
    pub fn cold_silence(&self) -> Result<ColdSilence> {
        if self.cold.urls == 0 {
            return Ok(ColdSilence::Silent);
        }
        for partition in &self.cold.partitions {
            if partition.busy {
                return Ok(ColdSilence::Unsorted);
            }
            if !partition.is_silent()? {
                return Ok(ColdSilence::Others);
            }
        }
        let unsorted = self
            .cold
            .partitions
            .iter()
            .any(|partition| partition.recent.urls > 0 && partition.recent.has_first_contacts);
        Ok(if unsorted { ColdSilence::Unsorted } else { ColdSilence::Silent })
    }

    /// Hosts in memory that rest at `now`, of which `longest` are named.
    pub fn resting(&self, now: Time, longest: usize) -> Resting {
        resting(&self.active, now, longest)
    }
}

fn resting(active: &Active, now: Time, longest: usize) -> Resting {
    let mut resting = Resting::default();
    let mut named: Vec<&Host> = Vec::new();
    for host in active.hosts().filter(|host| has_work(host)) {
        let until = host.standing.backoff_until;
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
            until: host.standing.backoff_until,
            blame: host.standing.blame,
            silent: host.standing.is_silent(),
        })
        .collect();
    resting
}

fn keep_longest(hosts: &mut Vec<&Host>, count: usize) {
    hosts.sort_by(|a, b| {
        b.standing.backoff_until.cmp(&a.standing.backoff_until).then_with(|| a.origin_text.cmp(&b.origin_text))
    });
    hosts.truncate(count);
}

/// Returns whether a host has URLs or requests.
fn has_work(host: &Host) -> bool {
    let has_urls = !host.buffer.is_empty() || !host.waiting.is_empty() || host.has_cold();
    host.place != WaitState::Idle && (has_urls || !host.is_at_rest())
}
