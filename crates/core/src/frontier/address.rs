//! Addresses: many hosts on one server share its due time.
//!
//! An address is contacted at most once in `delay_per_ip`, whatever the hosts. Hosts whose own time has come wait in
//! queue at their address ([`address_queue`](super::address_queue)), so that a thousand hosts on one server cost no
//! more than a thousand on a thousand. An address is forgotten when no active host uses it and its due time has passed.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use super::address_queue::{AddressQueue, WaitingHost};
use super::schedule::HostRef;
use super::tuning::{ENTRIES_SPARE, SATURATED_MAX, SATURATED_MIN, TURN_REQUESTS};
use crate::clock::Time;
use crate::fingerprint::{ByFingerprint, Fingerprint};

#[derive(Debug, Default)]
struct Address {
    due: Time,
    /// Active hosts with something to do that have it first.
    hosts: usize,
    /// The same by domain.
    domains: ByFingerprint<usize>,
    /// Time up to which it has been promised to hosts that were sent away.
    promised: Time,
    waiting: AddressQueue,
    scheduled: bool,
}

/// All addresses of active hosts.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    map: HashMap<IpAddr, Address>,
    /// Time before which no address is contacted after a restart.
    floor: Time,
    swept_len: usize,
    /// Places in the queues of all addresses, also of hosts that wait no longer.
    waiting: usize,
}

impl Addresses {
    pub(super) fn with_floor(floor: Time) -> Self {
        Addresses { floor, ..Addresses::default() }
    }

    /// Returns the time from which on `ip` may be contacted.
    pub(super) fn due(&self, ip: IpAddr) -> Time {
        self.map.get(&ip).map_or(self.floor, |address| address.due.max(self.floor))
    }

    /// `ip` may not be contacted before `due`.
    pub(super) fn delay_until(&mut self, ip: IpAddr, due: Time, now: Time) {
        let address = self.map.entry(ip).or_default();
        address.due = address.due.max(due);
        if self.map.len() > 2 * self.swept_len + ENTRIES_SPARE {
            let is_used = |address: &Address| {
                address.hosts > 0 || address.due.max(address.promised) > now || !address.waiting.is_empty()
            };
            self.map.retain(|_, address| is_used(address));
            self.swept_len = self.map.len();
        }
    }

    /// Busy hosts at `ip`.
    pub(super) fn hosts(&self, ip: IpAddr) -> usize {
        self.map.get(&ip).map_or(0, |address| address.hosts)
    }

    /// Busy hosts of `domain` at `ip`.
    pub(super) fn hosts_of(&self, ip: IpAddr, domain: Fingerprint) -> usize {
        self.map.get(&ip).and_then(|address| address.domains.get(&domain).copied()).unwrap_or(0)
    }

    /// Returns whether the busy hosts at `ip` belong to fewer than half as many domains, so that most have neighbours
    /// of their own domain there.
    pub(super) fn is_of_few(&self, ip: IpAddr) -> bool {
        self.map.get(&ip).is_some_and(|address| 2 * address.domains.len() < address.hosts)
    }

    /// Returns the time at which a host that is sent away from `ip` has its turn there: one `turn` after the one before
    /// it. `None` if that is beyond `horizon`.
    fn promise(&mut self, ip: IpAddr, turn: Duration, now: Time, horizon: Time) -> Option<Time> {
        let address = self.map.entry(ip).or_default();
        address.promised = (address.promised.max(now) + turn).min(horizon);
        (address.promised < horizon).then_some(address.promised)
    }

    /// Returns the time at which the host of `origin`, which finds its address saturated, may try again. Each has its
    /// own turn, so that they do not all come back at once; those whose turn is far away come back at moments
    /// spread over the last half of [`SATURATED_MAX`].
    pub(super) fn after_the_saturation(
        &mut self,
        ip: IpAddr,
        origin: Fingerprint,
        delay_per_ip: Duration,
        now: Time,
    ) -> Time {
        let turn = delay_per_ip.saturating_mul(TURN_REQUESTS);
        let horizon = now + SATURATED_MAX;
        match self.promise(ip, turn, now, horizon) {
            Some(due) => due.max(now + SATURATED_MIN),
            None => {
                let spread = SATURATED_MAX.as_millis() as u64 / 2;
                now + SATURATED_MAX / 2 + Duration::from_millis(origin.bits() % spread)
            }
        }
    }

    /// Returns whether hosts that were sent away from `ip` are to come back.
    pub(super) fn is_awaited(&self, ip: IpAddr, now: Time) -> bool {
        self.map.get(&ip).is_some_and(|address| address.promised > now)
    }

    /// A busy host of `domain` has `ip` first.
    pub(super) fn enter(&mut self, ip: IpAddr, domain: Fingerprint) {
        let address = self.map.entry(ip).or_default();
        address.hosts += 1;
        *address.domains.entry(domain).or_default() += 1;
    }

    /// A host has `ip` first no longer, or has nothing to do.
    pub(super) fn leave(&mut self, ip: IpAddr, domain: Fingerprint) {
        if let Some(address) = self.map.get_mut(&ip) {
            address.hosts = address.hosts.saturating_sub(1);
            match address.domains.get_mut(&domain) {
                Some(hosts) if *hosts > 1 => *hosts -= 1,
                _ => drop(address.domains.remove(&domain)),
            }
            // One that was delayed has to be known until its time; `delay_until` forgets it.
            if address.hosts == 0 && address.due == Time::ZERO && !address.scheduled {
                self.map.remove(&ip);
            }
        }
    }

    /// Lets a host wait at `ip`; says when the address has to be scheduled, if it is not yet.
    pub(super) fn wait(&mut self, ip: IpAddr, host: WaitingHost) -> Option<Time> {
        let floor = self.floor;
        let address = self.map.entry(ip).or_default();
        address.waiting.push(host);
        self.waiting += 1;
        (!std::mem::replace(&mut address.scheduled, true)).then(|| address.due.max(floor))
    }

    /// The scheduled time of `ip` has come: the host whose turn it is, if the address is free at `now`.
    pub(super) fn pop(&mut self, ip: IpAddr, now: Time) -> Option<HostRef> {
        let free = self.due(ip) <= now;
        let address = self.map.get_mut(&ip)?;
        let first = if free { address.waiting.pop() } else { None };
        self.waiting -= usize::from(first.is_some());
        first
    }

    /// Places in the queues of all addresses.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Keeps the places of those that are `live`, of several of one host the first.
    pub(super) fn retain_waiting(&mut self, live: impl Fn(HostRef) -> bool) {
        let mut seen = HashSet::new();
        for address in self.map.values_mut() {
            address.waiting.retain(&live, &mut seen);
            address.scheduled &= !address.waiting.is_empty();
        }
        self.waiting = seen.len();
    }

    /// Returns whether `ip` is in the schedule.
    pub(super) fn is_scheduled(&self, ip: IpAddr) -> bool {
        self.map.get(&ip).is_some_and(|address| address.scheduled)
    }

    /// Returns, after its hosts were served, the time at which `ip` has to be scheduled again, if hosts still wait.
    pub(super) fn reschedule(&mut self, ip: IpAddr) -> Option<Time> {
        let floor = self.floor;
        let address = self.map.get_mut(&ip)?;
        address.scheduled = !address.waiting.is_empty();
        address.scheduled.then(|| address.due.max(floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::address_queue::Acquaintance;

    #[test]
    fn hosts_wait_in_line_and_the_address_is_scheduled_once() {
        let ip: IpAddr = "10.0.0.1".parse().unwrap();
        let host = |index| HostRef { index, generation: 0 };
        let acquaintance = Acquaintance::Answers;
        let waiting = |index| WaitingHost { host: host(index), domain: Fingerprint::from_bits(1), acquaintance };
        let mut addresses = Addresses::default();
        addresses.delay_until(ip, Time::from_ms(50), Time::ZERO);
        assert_eq!(addresses.wait(ip, waiting(1)), Some(Time::from_ms(50)));
        assert_eq!(addresses.wait(ip, waiting(2)), None);
        assert_eq!(addresses.pop(ip, Time::from_ms(49)), None);
        assert_eq!(addresses.pop(ip, Time::from_ms(50)), Some(host(1)));
        addresses.delay_until(ip, Time::from_ms(100), Time::from_ms(50));
        assert_eq!(addresses.reschedule(ip), Some(Time::from_ms(100)));
        assert_eq!(addresses.pop(ip, Time::from_ms(100)), Some(host(2)));
        assert_eq!(addresses.reschedule(ip), None);
    }

    #[test]
    fn addresses_without_a_delay_are_forgotten_with_their_last_host() {
        let mut addresses = Addresses::default();
        for n in 0..10_000_u32 {
            let ip = std::net::Ipv4Addr::from(n).into();
            let domain = Fingerprint::from_bits(n.into());
            addresses.enter(ip, domain);
            addresses.enter(ip, domain);
            addresses.leave(ip, domain);
            assert_eq!(addresses.hosts(ip), 1);
            addresses.leave(ip, domain);
        }
        assert!(addresses.map.is_empty(), "{}", addresses.map.len());
    }

    #[test]
    fn addresses_that_nobody_uses_are_forgotten() {
        let mut addresses = Addresses::default();
        for n in 0..10_000_u32 {
            let now = Time::from_ms(n.into());
            addresses.delay_until(std::net::Ipv4Addr::from(n).into(), Time::from_ms(u64::from(n) + 10), now);
        }
        assert!(addresses.map.len() < 200, "{}", addresses.map.len());
    }
}
