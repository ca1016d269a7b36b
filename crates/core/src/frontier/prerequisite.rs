//! Prerequisites: requests that are made to an origin for the sake of another one. The robots.txt of a host may be a
//! redirect to another host, which is asked then, although none of its URLs has come up.
//!
//! That host's name and its address have their delays and their limit of connections for such a request as for any
//! other. A host of another shard may be asked by every machine of the crawl: each of them leaves it alone for so many
//! times its delay as there are machines.

use std::net::IpAddr;
use std::time::Duration;

use super::Frontier;
use super::host::Pending;
use super::options::Politeness;
use super::task::HostId;
use crate::clock::Time;
use crate::fingerprint::Fingerprint;

/// A host that is asked for the sake of another one.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The origin.
    pub origin: Fingerprint,
    /// Its host's name.
    pub name: Fingerprint,
    /// True if its URLs belong to another shard.
    pub is_foreign: bool,
    /// Delays and limits with which its host is treated.
    pub politeness: Politeness,
}

impl Frontier {
    /// Takes `asked`, and `address` for a request at `now`; or says when to ask again.
    /// Once it is made, [`Frontier::end_prerequisite`] has to be called.
    pub fn begin_prerequisite(&mut self, asked: Asked, address: IpAddr, now: Time) -> Result<(), Time> {
        self.now = self.now.max(now);
        let there = self.active.find_mut(asked.origin);
        self.pacing.begin_prerequisite(asked, there, address, now)
    }

    /// The request of a prerequisite to `asked` took `duration` and is over, answered or not.
    pub fn end_prerequisite(&mut self, asked: Asked, duration: Duration, now: Time) {
        self.now = self.now.max(now);
        let there = self.active.find_mut(asked.origin);
        self.pacing.end_prerequisite(asked, there, duration, now);
        self.pacing.schedule_name(&self.active, asked.name);
    }

    /// The robots.txt of a host was answered with a redirect, after `duration`: the host rests before the next request
    /// to it, and waits on for its rules.
    pub fn robots_moved(&mut self, host: HostId, duration: Duration, now: Time) {
        self.now = self.now.max(now);
        let Some(index) = self.active.resolve_id(host) else { return };
        let politeness = self.pacing.politeness_of(self.active.host(index));
        let waiting = self.active.host_mut(index);
        politeness.learn(&mut waiting.standing, duration, false);
        // hops are prerequisites, whose requests are their own
        let is_over = match &mut waiting.pending {
            Some(Pending::Robots { moved, .. }) => !std::mem::replace(moved, true),
            _ => false,
        };
        if is_over {
            self.pacing.end_request(self.active.host(index), self.now);
            self.pacing.rest(self.active.host_mut(index), now);
            self.pacing.wake_name(&self.active, index);
        }
    }
}
