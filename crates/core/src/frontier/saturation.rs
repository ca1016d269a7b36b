//! Hosts at a saturated address: who stays, who is sent away and until when.
//!
//! An address has so many active hosts at most ([`Frontier::address_share`]). Who finds it saturated goes to the disk
//! side and comes back about when its turn has come; while somebody is away like that, those that are there leave after
//! a turn of [`TURN_REQUESTS`](super::tuning::TURN_REQUESTS) requests. So a host waits for as many turns as there are hosts, even if these have pages
//! without end. A host that is the only one of its domain there is let in and stays while most of the others have
//! neighbours of their own domain: those make room. Others of its domain are likely to be found at the same address:
//! for a while they are not even resolved, and then one by one until one is found where nobody has been sent away.

use std::net::IpAddr;
use std::sync::Arc;

use super::Frontier;
use super::tuning::{HELD_DOMAINS_MAX, HELD_MAX, SATURATED_MAX};
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;

impl Frontier {
    /// Sends a host whose address is saturated to the disk side for a while.
    pub(super) fn postpone(&mut self, index: u32, addresses: Arc<[IpAddr]>, expires: Time, now: Time) -> Result<()> {
        let ip = addresses[0];
        if !self.active.host(index).flights.is_empty() || !self.active.host(index).received.is_empty() {
            // It has requests in progress by an older answer: it may as well stay.
            self.pacing.set_addresses(self.active.host_mut(index), addresses, expires);
            self.settle(index, now);
            return Ok(());
        }
        let host = self.active.host_mut(index);
        host.addresses = Some((addresses, expires));
        let domain = host.domain;
        let until = self.send_away(index, ip, now)?;
        self.hold_domain(domain, until.min(now + HELD_MAX), now);
        Ok(())
    }

    /// A host that gives way goes to the disk side.
    pub(super) fn give_way(&mut self, index: u32, now: Time) -> Result<()> {
        if let Some(ip) = self.active.host(index).counted_at {
            self.send_away(index, ip, now)?;
        }
        Ok(())
    }

    fn send_away(&mut self, index: u32, ip: IpAddr, now: Time) -> Result<Time> {
        let due = self.pacing.after_the_saturation(ip, self.active.host(index).origin, now);
        let standing = &mut self.active.host_mut(index).standing;
        standing.due = standing.due.max(due);
        let until = standing.due;
        self.evict(index, now)?;
        Ok(until)
    }

    fn hold_domain(&mut self, domain: Fingerprint, until: Time, now: Time) {
        let number = self.partition_of(domain);
        let held = &mut self.cold.partitions[number].held;
        held.retain(|_, &mut until| until + SATURATED_MAX > now);
        if held.len() < HELD_DOMAINS_MAX || held.contains_key(&domain) {
            let before = held.entry(domain).or_insert(until);
            *before = until.max(*before);
        }
        self.cold.partitions[number].walk.wake_at(until);
    }

    /// A host of `domain` was found at `ip`: if nobody was sent away from there, others need not be held back.
    pub(super) fn release_domain(&mut self, domain: Fingerprint, ip: IpAddr) {
        let number = self.partition_of(domain);
        if !self.cold.partitions[number].held.is_empty() && !self.pacing.is_awaited(ip, self.now) {
            self.cold.partitions[number].held.remove(&domain);
        }
    }

    /// Returns the time at which another host of `domain`, of which `busy` are active, may become active, if it has to
    /// wait: while the domain is held back, and then one at a time until one finds its address not saturated.
    pub(super) fn held_until(&self, domain: Fingerprint, busy: u32) -> Option<Time> {
        let until = *self.cold.partitions[self.partition_of(domain)].held.get(&domain)?;
        (until > self.now || busy > 0).then_some(until)
    }
}
