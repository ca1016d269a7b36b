//! Errands: requests that are made to an origin for the sake of another one. The robots.txt of a host may be a redirect
//! to another host, which is asked then, although none of its URLs has come up.
//!
//! That host and its address have their delays and their limit of connections for such a request as for any other. Of an
//! origin that is not active, errands and rests are remembered here, for the cold side is not asked: a host that leaves
//! while it rests leaves its due time behind, as long as there are fewer than [`RESTING_MAX`] of them.

use std::net::IpAddr;
use std::time::Duration;

use super::Frontier;
use super::task::HostId;
use crate::clock::Time;
use crate::fingerprint::Fingerprint;

/// An errand waits for requests under way by asking again after so long.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// Origins whose errands are over are looked through when there are so many more than after the last time.
const SWEEP_AFTER: usize = 256;
/// Resting hosts that are remembered when they leave: 3 MiB at most.
const RESTING_MAX: usize = 1 << 16;

/// What is known of an origin by errands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errand {
    /// Not before.
    pub due: Time,
    pub under_way: bool,
}

impl Frontier {
    /// Takes `origin` and `address` for a request at `now` that is made for `on_behalf`; or says when to ask again. Once
    /// it is made, [`Frontier::end_errand`] has to be called.
    pub fn begin_errand(
        &mut self,
        on_behalf: HostId,
        origin: Fingerprint,
        address: IpAddr,
        now: Time,
    ) -> Result<(), Time> {
        self.now = self.now.max(now);
        let own = self.active.resolve_id(on_behalf);
        let there = self.active.find(origin);
        let errand = self.errands.get(&origin).copied();
        let mut due = errand.map_or(Time::ZERO, |errand| errand.due);
        due = due.max(self.unclean_floor(Duration::ZERO, None));
        due = due.max(self.holds.get(&origin).copied().unwrap_or_default());
        if let Some(index) = there {
            let host = self.active.host(index);
            let connections = self.options.politeness.connections_per_host.max(1);
            let is_busy = host.pending.is_some() || host.flights.len() >= connections;
            if is_busy && there != own {
                return Err(now + ASK_AGAIN);
            }
            due = due.max(host.standing.due).max(host.standing.backoff_until);
        }
        if errand.is_some_and(|errand| errand.under_way) {
            return Err(now + ASK_AGAIN);
        }
        let delay_per_ip = self.options.politeness.delay_per_ip;
        if !delay_per_ip.is_zero() {
            due = due.max(self.addresses.due(address));
        }
        if due > now {
            return Err(due);
        }
        let delay = self.rest_after_errand(there, now);
        self.errands.insert(origin, Errand { due: now + delay, under_way: true });
        if !delay_per_ip.is_zero() {
            self.addresses.delay_until(address, now + delay_per_ip, now);
        }
        Ok(())
    }

    /// The request of an errand to `origin` took `duration` and is over, answered or not.
    pub fn end_errand(&mut self, origin: Fingerprint, duration: Duration, now: Time) {
        self.now = self.now.max(now);
        let there = self.active.find(origin);
        if let Some(index) = there {
            let standing = &mut self.active.host_mut(index).standing;
            self.options.politeness.learn(standing, duration, false);
        }
        let delay = self.rest_after_errand(there, now).max(self.options.politeness.delay_after(duration));
        self.errands.insert(origin, Errand { due: now + delay, under_way: false });
        self.sweep_errands(now);
        if let Some(index) = there {
            self.settle(index, now);
        }
    }

    /// A host that must not be contacted before `due` leaves the active side.
    pub(super) fn leaves_resting(&mut self, origin: Fingerprint, due: Time, now: Time) {
        if due <= now || self.errands.len() >= RESTING_MAX {
            return;
        }
        let errand = self.errands.entry(origin).or_insert(Errand { due, under_way: false });
        errand.due = errand.due.max(due);
        self.sweep_errands(now);
    }

    fn sweep_errands(&mut self, now: Time) {
        if self.errands.len() > 2 * self.errands_swept + SWEEP_AFTER {
            self.errands.retain(|_, errand| errand.under_way || errand.due > now);
            self.errands_swept = self.errands.len();
        }
    }

    /// The robots.txt of a host was answered with a redirect, after `duration`: the host rests before the next request
    /// to it, and waits on for its rules.
    pub fn robots_moved(&mut self, host: HostId, duration: Duration, now: Time) {
        self.now = self.now.max(now);
        if let Some(index) = self.active.resolve_id(host) {
            let standing = &mut self.active.host_mut(index).standing;
            self.options.politeness.learn(standing, duration, false);
            self.rest(index, now);
        }
    }

    /// Whether an active host has to wait for an errand to it. One that waits for its end is settled by it.
    pub(super) fn waits_for_errand(&mut self, index: u32, now: Time) -> bool {
        let Some(&errand) = self.errands.get(&self.active.host(index).origin) else { return false };
        if !errand.under_way && errand.due > now {
            let standing = &mut self.active.host_mut(index).standing;
            standing.due = standing.due.max(errand.due);
            self.settle(index, now);
        }
        errand.under_way || errand.due > now
    }

    fn rest_after_errand(&mut self, there: Option<u32>, now: Time) -> Duration {
        let Some(index) = there else { return self.options.politeness.delay_after(Duration::ZERO) };
        self.rest(index, now);
        self.delay_of(index)
    }

    /// After a stop that was none of ours, a host may have been contacted until the start of this process, by a pace
    /// that was not saved. It is not asked before the longest delay that its pace can have come to.
    pub(super) fn unclean_floor(&self, pace: Duration, crawl_delay: Option<Duration>) -> Time {
        let Some(since) = self.unclean_since else { return Time::ZERO };
        let politeness = &self.options.politeness;
        let longest = if politeness.delay_factor > 0.0 { politeness.delay_max } else { politeness.delay_min };
        since + politeness.delay(pace.max(longest), crawl_delay)
    }
}
