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
use super::ledger::Turn;
use super::options::Politeness;
use super::task::HostId;
use super::tuning::ERRAND_ASKS_AGAIN;
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
        let Asked { origin, name, politeness, .. } = asked;
        self.now = self.now.max(now);
        let there = self.active.find(origin);
        let held = [origin, name].map(|key| self.holds.until(key));
        let mut due = self.names.due(name).max(held[0]).max(held[1]);
        due = due.max(self.unclean_floor(&politeness, Duration::ZERO, None));
        if let Some(index) = there {
            let standing = &self.active.host(index).standing;
            due = due.max(standing.due).max(standing.backoff_until);
        }
        if self.names.requests(name) >= politeness.connections_per_host.max(1) {
            return Err(now + ERRAND_ASKS_AGAIN);
        }
        let delay_per_ip = self.options.politeness.delay_per_ip;
        if !delay_per_ip.is_zero() {
            due = due.max(self.addresses.due(address));
        }
        if due > now {
            return Err(due);
        }
        if let Some(ledger) = &self.options.ledger {
            let connections = politeness.connections_per_host.max(1);
            let usual = || politeness.delay_after(Duration::ZERO);
            let delay = there.map_or_else(usual, |index| self.delay_of(index)) * self.turns_of(asked);
            ledger.take(Turn { origin, name, connections, delay, address, delay_per_ip }, now)?;
        }
        let delay = self.rest_after_prerequisite(asked, there, now) * self.turns_of(asked);
        self.names.begin(name, now + delay, now);
        if !delay_per_ip.is_zero() {
            self.addresses.delay_until(address, now + delay_per_ip, now);
        }
        Ok(())
    }

    /// The request of a prerequisite to `asked` took `duration` and is over, answered or not.
    pub fn end_prerequisite(&mut self, asked: Asked, duration: Duration, now: Time) {
        let Asked { origin, name, politeness, .. } = asked;
        self.now = self.now.max(now);
        let there = self.active.find(origin);
        if let Some(index) = there {
            let standing = &mut self.active.host_mut(index).standing;
            politeness.learn(standing, duration, false);
        }
        let delay = self.rest_after_prerequisite(asked, there, now).max(politeness.delay_after(duration));
        let delay = delay * self.turns_of(asked);
        self.names.end(name);
        self.names.rest(name, now + delay, now);
        if let Some(ledger) = &self.options.ledger {
            ledger.end(name, now);
            ledger.rest(name, now + delay, now);
        }
        self.schedule_name(name);
    }

    /// The robots.txt of a host was answered with a redirect, after `duration`: the host rests before the next request
    /// to it, and waits on for its rules.
    pub fn robots_moved(&mut self, host: HostId, duration: Duration, now: Time) {
        self.now = self.now.max(now);
        let Some(index) = self.active.resolve_id(host) else { return };
        let politeness = self.politeness_of(index);
        let waiting = self.active.host_mut(index);
        politeness.learn(&mut waiting.standing, duration, false);
        // hops are prerequisites, whose requests are their own
        let is_over = match &mut waiting.pending {
            Some(Pending::Robots { moved, .. }) => !std::mem::replace(moved, true),
            _ => false,
        };
        if is_over {
            self.end_request(index);
            self.rest(index, now);
            self.wake_name(index);
        }
    }

    /// Returns the multiple of its delay for which a host that is asked so is left alone.
    pub(super) fn turns_of(&self, asked: Asked) -> u32 {
        let ledger = self.options.ledger.as_ref().filter(|_| asked.is_foreign);
        ledger.map_or(1, |ledger| ledger.foreign_factor())
    }

    fn rest_after_prerequisite(&mut self, asked: Asked, there: Option<u32>, now: Time) -> Duration {
        let Some(index) = there else { return asked.politeness.delay_after(Duration::ZERO) };
        self.rest(index, now);
        self.delay_of(index)
    }

    /// Returns the time before which a host is not asked after a stop that was none of ours. It may have been contacted
    /// until the start of this process, by a pace that was not saved: from then on the longest delay has to pass that
    /// its pace can have come to by `politeness`.
    pub(super) fn unclean_floor(&self, politeness: &Politeness, pace: Duration, crawl_delay: Option<Duration>) -> Time {
        let Some(since) = self.holds.unclean_since else { return Time::ZERO };
        let longest = if politeness.delay_factor > 0.0 { politeness.delay_max } else { politeness.delay_min };
        since + politeness.delay(pace.max(longest), crawl_delay)
    }
}
