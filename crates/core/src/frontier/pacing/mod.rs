//! Pacing: the time at which a host may be asked, by its own delay, by its name and its address, and by what it
//! answered.
//!
//! It owns the schedule, names, addresses, holds, first contacts and suspects, and the politeness by which all of them
//! are used; hosts are lent to it. Invariant: a request that [`Pacing::begin_request`] was not told of does not begin,
//! and each one that began is over exactly once ([`Pacing::end_request`]); what holds a host back is known to its name,
//! to the ledger and, where it is long, to the log of back-offs in the same call. It moves no host and no URL: where
//! others have to be looked at again, it returns them.

mod back_off;
mod wait_queues;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::active::Active;
use super::address::Addresses;
use super::holds::Holds;
use super::host::Host;
use super::ledger::{Ledger, Turn};
use super::names::Names;
use super::options::{FrontierOptions, Politeness, Treatment, Treatments};
use super::tuning::ADDRESSES_KEPT;
use crate::clock::Time;
use crate::fingerprint::Fingerprint;

use wait_queues::WaitQueues;

pub(super) use wait_queues::{SuspectTurns, Woken};

/// The pace of all hosts.
#[derive(Debug)]
pub struct Pacing {
    politeness: Politeness,
    /// Hosts that are treated otherwise, if there are any.
    treatments: Option<Arc<dyn Treatments>>,
    /// The time for which a host may be dead, or its robots.txt unreachable, before its URLs are dropped.
    give_up: Duration,
    /// Turns that are shared with other frontiers of the process, if there are others.
    ledger: Option<Arc<Ledger>>,
    pub(super) wait_queues: WaitQueues,
    holds: Holds,
    rng: fastrand::Rng,
}

/// The end of the last process, as far as it matters to hosts that it may have asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastEnd {
    /// True if it stopped by itself.
    pub is_clean: bool,
    /// True if there was none.
    pub is_first: bool,
}

impl Pacing {
    /// The pace by `options`, of hosts of which nothing is known at `now` but how the last process ended.
    pub(super) fn new(options: &FrontierOptions, rng_seed: u64, last: LastEnd, now: Time) -> Self {
        let FrontierOptions { politeness, treatments, give_up, ledger, .. } = options;
        let is_fresh = last.is_first && last.is_clean;
        Pacing {
            politeness: politeness.clone(),
            treatments: treatments.clone(),
            give_up: *give_up,
            ledger: ledger.clone(),
            wait_queues: WaitQueues::new(
                Addresses::with_floor(if is_fresh { now } else { now + politeness.delay_per_ip }),
                Names::maybe_asked_until(if last.is_clean { Time::ZERO } else { now }),
            ),
            holds: Holds::default(),
            rng: fastrand::Rng::with_seed(rng_seed),
        }
    }

    /// Takes over delays and limits where they were changed; says whether hosts have to be looked up among the
    /// treatments again.
    pub(super) fn reconfigure(
        &mut self,
        politeness: Politeness,
        treatments: Option<Arc<dyn Treatments>>,
        give_up: Duration,
    ) -> bool {
        let has_other_hours = self.politeness.hours != politeness.hours;
        (self.politeness, self.give_up) = (politeness, give_up);
        let had_some = std::mem::replace(&mut self.treatments, treatments).is_some();
        had_some || has_other_hours || self.treatments.is_some()
    }

    /// Returns the delays and limits with which hosts are treated.
    pub fn politeness(&self) -> &Politeness {
        &self.politeness
    }

    /// Returns the delays and limits with which `host`, a name or an address, is treated.
    pub fn politeness_for(&self, host: &str) -> Politeness {
        self.treatment_of(host).map_or_else(|| self.politeness.clone(), |treatment| treatment.politeness.clone())
    }

    /// Returns, for the log, how hosts are treated that are treated otherwise than the rest.
    pub fn treatments_json(&self) -> &str {
        self.treatments.as_ref().map_or("", |treatments| treatments.as_json())
    }

    pub(super) fn treatment_of(&self, host: &str) -> Option<Arc<Treatment>> {
        self.treatments.as_ref()?.of(host)
    }

    /// Returns the delays and limits with which an active host is treated.
    pub(super) fn politeness_of<'a>(&'a self, host: &'a Host) -> &'a Politeness {
        host.politeness(&self.politeness)
    }

    /// Requests that may be made to an active host at the same time.
    pub(super) fn connections_of(&self, host: &Host) -> usize {
        self.politeness_of(host).connections_per_host.max(1)
    }

    /// The delay between two requests of a host, as known now.
    pub(super) fn delay_of(&self, host: &Host) -> Duration {
        self.politeness_of(host).delay(host.standing.pace, host.crawl_delay())
    }

    /// A host becomes active: how it is treated, and what is known of it here.
    pub(super) fn activate(&mut self, host: &mut Host) {
        host.treatment = self.treatment_of(host.name());
        let politeness = self.politeness_of(host);
        let floor = self.unclean_floor(politeness, host.standing.pace, host.crawl_delay());
        host.standing.due = host.standing.due.max(floor);
        if let Some(until) = self.holds.take(host.origin) {
            host.standing.backoff_until = host.standing.backoff_until.max(until);
        }
    }

    /// An active host belongs to `name` from now on, if that was not known before.
    pub(super) fn enter_name(&mut self, host: &mut Host, name: Fingerprint, now: Time) {
        if host.is_named {
            return;
        }
        (host.name_key, host.is_named) = (Some(name), true);
        self.wait_queues.names.enter(name, now);
        if let Some(until) = self.holds.take(name) {
            self.wait_queues.names.hold(name, until);
        }
    }

    /// A host is active no longer.
    pub(super) fn leave(&mut self, host: &Host) {
        host.name_key.into_iter().for_each(|name| self.wait_queues.names.leave(name));
    }

    /// Takes over what other origins of its name have learnt: how long the name is to be left alone.
    pub(super) fn rest_with_name(&self, host: &mut Host) {
        if let Some(name) = host.name_key {
            host.standing.backoff_until = host.standing.backoff_until.max(self.wait_queues.names.held_until(name));
        }
    }

    /// The addresses with the one in front that the next request should go to: the one that answered last, or else the
    /// one that is free first.
    pub(super) fn in_order(&self, host: &Host, addresses: Arc<[IpAddr]>) -> Arc<[IpAddr]> {
        if addresses.len() == 1 || self.politeness.delay_per_ip.is_zero() {
            return addresses;
        }
        let first = addresses.iter().position(|&ip| Some(ip) == host.answered_by).unwrap_or_else(|| {
            (0..addresses.len()).min_by_key(|&n| (self.wait_queues.addresses.due(addresses[n]), n)).unwrap_or(0)
        });
        if first == 0 {
            return addresses;
        }
        let mut turned = addresses.to_vec();
        turned.swap(0, first);
        turned.into()
    }

    /// Returns whether `ip` has to be left alone at `now`, after the last request to it.
    pub(super) fn is_address_taken(&self, ip: IpAddr, now: Time) -> bool {
        !self.politeness.delay_per_ip.is_zero() && self.wait_queues.addresses.due(ip) > now
    }

    /// Takes the turn at name and address that is shared with other frontiers; or says when to ask again.
    pub(super) fn take_turn(&self, host: &Host, address: IpAddr, now: Time) -> Result<(), Time> {
        let (Some(ledger), Some(name)) = (&self.ledger, host.name_key) else { return Ok(()) };
        let delay_per_ip = self.politeness.delay_per_ip;
        let (connections, delay) = (self.connections_of(host), self.delay_of(host));
        ledger.take(Turn { origin: host.origin, name, connections, delay, address, delay_per_ip }, now)
    }

    /// A request of the host starts at `now`: host and address are taken for their delays.
    pub(super) fn begin_request(&mut self, host: &mut Host, ip: IpAddr, now: Time) {
        self.wait_queues.begin_contact(host, ip, now);
        let delay = self.delay_of(host);
        host.asked = host.asked.saturating_add(1);
        host.standing.due = host.standing.due.max(now + delay);
        if let Some(name) = host.name_key {
            self.wait_queues.names.begin(name, now + delay, now);
        }
        self.delay_address(ip, now, now);
    }

    /// A request to `ip` began at `started`.
    fn delay_address(&mut self, ip: IpAddr, started: Time, now: Time) {
        let delay_per_ip = self.politeness.delay_per_ip;
        if !delay_per_ip.is_zero() {
            self.wait_queues.addresses.delay_until(ip, started + delay_per_ip, now);
        }
    }

    /// A request of the host is over.
    pub(super) fn end_request(&mut self, host: &Host, now: Time) {
        if let Some(name) = host.name_key {
            self.wait_queues.names.end(name);
            self.ledger.iter().for_each(|ledger| ledger.end(name, now));
        }
    }

    /// The request of the host that began last was not made, and is over: the host rests until `due` alone.
    pub(super) fn withdraw(&mut self, host: &mut Host, due: Time) {
        host.standing.due = due;
        host.name_key.into_iter().for_each(|name| self.wait_queues.names.withdraw(name));
    }

    /// Lets the host rest after a request that was answered at `now`.
    pub(super) fn rest(&mut self, host: &mut Host, now: Time) {
        let delay = self.delay_of(host);
        host.standing.due = host.standing.due.max(now + delay);
        if let Some(name) = host.name_key {
            self.rest_name(name, now + delay, now);
        }
    }

    /// Lets a name rest until `due` after a request that ended at `now`.
    pub(super) fn rest_name(&mut self, name: Fingerprint, due: Time, now: Time) {
        self.wait_queues.names.rest(name, due, now);
        self.ledger.iter().for_each(|ledger| ledger.rest(name, due, now));
    }

    /// A request to a host that began at `started` was answered from `address`, if it was.
    pub(super) fn count_contact(&mut self, host: &mut Host, address: Option<IpAddr>, started: Time, now: Time) {
        host.answered_by = address;
        let delay_per_ip = self.politeness.delay_per_ip;
        if let Some(ip) = address.filter(|_| !delay_per_ip.is_zero()) {
            self.delay_address(ip, started, now);
            let ledger = self.ledger.iter();
            ledger.for_each(|ledger| ledger.rest_address(ip, started + delay_per_ip, now));
        }
    }

    /// Sets the addresses of a host.
    pub(super) fn set_addresses(&mut self, host: &mut Host, addresses: Arc<[IpAddr]>, expires: Time) {
        let addresses = if addresses.len() > ADDRESSES_KEPT { addresses[..ADDRESSES_KEPT].into() } else { addresses };
        host.addresses = Some((addresses, expires));
        self.count_at_address(host);
    }

    /// Brings the count of hosts at addresses in line with a host that changed.
    pub(super) fn count_at_address(&mut self, host: &mut Host) {
        let first = host.addresses.as_ref().and_then(|(list, _)| list.first().copied()).filter(|_| host.busy);
        let before = std::mem::replace(&mut host.counted_at, first);
        if before != first {
            before.into_iter().for_each(|ip| self.wait_queues.addresses.leave(ip, host.domain));
            first.into_iter().for_each(|ip| self.wait_queues.addresses.enter(ip, host.domain));
        }
    }

    /// Returns whether an address, which `share` busy hosts may have, has too many for one more of `domain` to share
    /// it. Without a delay for addresses none is saturated: its hosts do not wait for each other.
    pub(super) fn is_saturated(&self, ip: IpAddr, domain: Fingerprint, share: usize) -> bool {
        self.is_crowded(ip, share)
            && !(self.wait_queues.addresses.hosts_of(ip, domain) == 0 && self.wait_queues.addresses.is_of_few(ip))
    }

    fn is_crowded(&self, ip: IpAddr, share: usize) -> bool {
        !self.politeness.delay_per_ip.is_zero() && self.wait_queues.addresses.hosts(ip) >= share
    }

    /// Returns the time at which the host of `origin`, which finds its address saturated, may try again.
    pub(super) fn after_the_saturation(&mut self, ip: IpAddr, origin: Fingerprint, now: Time) -> Time {
        self.wait_queues.addresses.after_the_saturation(ip, origin, self.politeness.delay_per_ip, now)
    }

    /// Returns whether a host at rest has had its turn at its address, which `share` busy hosts may have, while others
    /// are away because of the saturation there.
    pub(super) fn yields_place(&self, host: &Host, share: usize, now: Time) -> bool {
        let Some(ip) = host.counted_at.filter(|_| host.has_had_turn_at_address()) else { return false };
        let is_alone =
            self.wait_queues.addresses.hosts_of(ip, host.domain) == 1 && self.wait_queues.addresses.is_of_few(ip);
        self.is_crowded(ip, share) && !is_alone && self.is_awaited(ip, now)
    }

    /// Returns whether hosts that were sent away from `ip` are to come back.
    pub(super) fn is_awaited(&self, ip: IpAddr, now: Time) -> bool {
        self.wait_queues.addresses.is_awaited(ip, now)
    }

    /// Returns whether the name of a host whose time has come is free at `now`; otherwise the host waits in line for
    /// its turn.
    pub(super) fn has_turn(&mut self, active: &mut Active, index: u32, now: Time) -> bool {
        self.wait_queues.has_turn(active, index, &self.politeness, now)
    }

    /// Takes the first host out of the queue at `name`, if it may go on at `now`.
    pub(super) fn next_of_name(&mut self, active: &Active, name: Fingerprint, now: Time) -> Option<u32> {
        self.wait_queues.names.pop(name, active, &self.politeness, now)
    }

    /// Lets the queue at `name` come up when its first host may go on.
    pub(super) fn schedule_name(&mut self, active: &Active, name: Fingerprint) {
        self.wait_queues.schedule_name(active, name, &self.politeness);
    }

    /// Lets other origins of a host's name go on now, or know when.
    pub(super) fn wake_name(&mut self, active: &Active, index: u32) {
        if let Some(name) = active.host(index).name_key.filter(|&name| self.wait_queues.names.has_queue(name)) {
            self.schedule_name(active, name);
        }
    }

    /// Returns the turns that are shared with other frontiers of the process, if there are others.
    pub(super) fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_deref()
    }
}
