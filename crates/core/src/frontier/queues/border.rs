//! The border between the active side and the disk: who may enter, who has to leave, and the memory of both.
//!
//! An address has this many active hosts at most ([`Queues::address_share`]). Who finds it saturated goes to the disk
//! side and comes back about when its turn has come; while somebody is away like that, those that are there leave after
//! a turn of [`TURN_REQUESTS`](crate::frontier::tuning::TURN_REQUESTS) requests. So a host waits for as many turns as
//! there are hosts, even if these have pages without end. A host that is the only one of its domain there is let in and
//! stays while most of the others have neighbours of their own domain: those make room. Others of its domain are likely
//! to be found at the same address: for a while they are not even resolved, and then one by one until one is found
//! where nobody has been sent away.

use std::net::IpAddr;
use std::sync::Arc;

use super::Queues;
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::frontier::host::{Host, Item, WaitState, large_rules_memory};
use crate::frontier::partition::HostKey;
use crate::frontier::policy::SlotCounts;
use crate::frontier::reputation::DomainTotals;
use crate::frontier::share::Share;
use crate::frontier::task::{Known, Rules};
use crate::frontier::tuning::{ADDRESS_SHARE_MIN, COLD_PLACES_PART, HELD_MAX, LARGE_RULES_PART, LEAVING_MAX};

impl Queues {
    /// Returns whether a URL of a host that is not active can make it so: nothing of it is on the disk side, and there
    /// is room. A quarter of the places are left to hosts from the disk side, if there are any.
    pub(in crate::frontier) fn may_start(&mut self, item: &Item) -> Result<bool> {
        let (origin, domain) = (item.url.origin, item.url.domain);
        let partition = &self.cold.partition(domain);
        if partition.may_hold(origin) {
            return Ok(false);
        }
        if !self.has_share(domain) || self.budgets.is_domain_resting(&self.cold, domain) {
            return Ok(false);
        }
        let all = self.sizes.active_hosts.max(1);
        if self.cold.urls > 0 && self.active.newcomers >= (all * (COLD_PLACES_PART - 1) / COLD_PLACES_PART).max(1) {
            return Ok(false);
        }
        // Asked last, for the host that makes room may have been the last one of this domain.
        Ok(self.make_room()? && self.budgets.knows_totals_of(&self.cold, domain))
    }

    pub(in crate::frontier) fn learn_known(&mut self, index: u32, known: Known, now: Time) {
        let host = self.active.host_mut(index);
        let domain = host.domain;
        let has_rules = host.rules.as_ref().is_some_and(|&(_, expires)| expires > now);
        let has_addresses = host.addresses.as_ref().is_some_and(|&(_, expires)| expires > now);
        if !has_rules {
            host.standing.learn(&known, now);
        }
        if let Some((rules, expires)) = known.rules.filter(|_| !has_rules) {
            self.set_rules(index, rules, expires);
        }
        if let Some((list, expires)) = known.addresses.filter(|(list, _)| !has_addresses && !list.is_empty()) {
            // At a saturated address the host has to go the long way, which ends on the disk side.
            if !self.pacing.is_saturated(list[0], domain, self.address_share()) {
                self.pacing.set_addresses(self.active.host_mut(index), list, expires);
            }
        }
    }

    /// Gives a host a place on the active side. `known` is what the disk side knows of its domain.
    pub(in crate::frontier) fn activate(&mut self, mut host: Host, known: &DomainTotals) -> u32 {
        self.pacing.activate(&mut host);
        if !self.has_memory_for_rules(host.rules_bytes) {
            // they are asked for again, which finds memory for them or not
            (host.rules, host.rules_bytes) = (None, 0);
        }
        let name = host.name_key;
        self.budgets.enter(&mut host, known);
        let (origin, number) = (host.origin, self.cold.number_of(host.domain));
        let index = self.active.insert(host);
        self.cold.partitions[number].active.insert(origin, index);
        if let Some(name) = name {
            self.pacing.enter_name(self.active.host_mut(index), name, self.now);
        }
        self.pacing.count_at_address(self.active.host_mut(index));
        index
    }

    /// Returns whether there is a place, if need be one that an idle or long waiting host leaves.
    pub(super) fn make_room(&mut self) -> Result<bool> {
        let limit = self.sizes.active_hosts.max(1);
        for _ in 0..=LEAVING_MAX {
            if self.active.len() < limit && self.has_memory() {
                return Ok(true);
            }
            match self.active.evictable(self.now) {
                Some(index) => self.evict(index, self.now)?,
                None => return Ok(false),
            }
        }
        Ok(self.active.len() < limit && self.has_memory())
    }

    /// Moves a host at rest, with its URLs if it has any, to the disk side.
    pub(super) fn evict(&mut self, index: u32, now: Time) -> Result<()> {
        let host = self.active.host_mut(index);
        if host.buffer.is_empty() && !host.has_cold() {
            host.standing.due = host.standing.due.max(host.first_retry().unwrap_or_default());
        }
        // on the disk side a host has no hours of its own
        host.standing.due = host.standing.due.max(host.opens);
        while let Some(item) = self.unbuffer_last(index).or_else(|| self.unbuffer_waiting(index)) {
            self.push_stranger(&item)?;
        }
        self.set_busy(index, false, now);
        let host = self.active.remove(index);
        let number = self.cold.number_of(host.domain);
        let rests = host.place == WaitState::Round;
        let recent = &mut self.cold.partitions[number].recent;
        *(if rests { &mut recent.has_resting } else { &mut recent.has_first_contacts }) |= host.may_tail;
        self.cold.partitions[number].thirsty -= usize::from(host.is_thirsty);
        self.pacing.leave(&host);
        let record = host.record(now);
        let partition = &mut self.cold.partitions[number];
        let key = HostKey { domain: host.domain, origin: host.origin };
        partition.active.remove(&key.origin);
        partition.wanted.remove(&key);
        if !record.is_blank(now) {
            self.cold.push_record(key, &record)?;
        }
        if let Some(added) = self.budgets.leave(key.domain) {
            self.cold.push_domain(key.domain, &added, now)?;
        }
        let partition = &mut self.cold.partitions[number];
        // Its own URLs, or others that waited for a place of its domain, may be chosen from now on.
        if partition.base_left() > 0 {
            let available = record.standing.available().max(now);
            partition.walk.wake_at(available);
        }
        Ok(())
    }

    /// Puts a URL of a host that is not active on the disk side.
    pub(in crate::frontier) fn push_stranger(&mut self, item: &Item) -> Result<()> {
        let rests = self.budgets.is_domain_resting(&self.cold, item.url.domain);
        self.cold.push_stranger(item, rests, self.now)
    }

    /// The places of the active side.
    pub(in crate::frontier) fn places(&self) -> SlotCounts {
        SlotCounts {
            all: self.sizes.active_hosts,
            taken: self.active.len(),
            busy: self.active.busy,
            has_memory: self.has_memory(),
        }
    }

    /// Returns the share of the places that domains may have now.
    pub(super) fn share(&self) -> Share {
        Share::new(self.places().free(), self.sizes.per_domain_active_max)
    }

    /// Returns whether one more host of `domain` may become active.
    pub(super) fn has_share(&self, domain: Fingerprint) -> bool {
        let busy = self.budgets.busy(domain);
        self.cold.held_until(domain, busy, self.now).is_none() && self.share().lets_in(busy)
    }

    /// Returns the number of busy hosts that may share an address now.
    pub(in crate::frontier) fn address_share(&self) -> usize {
        self.places().free().max(ADDRESS_SHARE_MIN).min(self.sizes.per_address_active_max).max(1)
    }

    /// Sends a host whose address is saturated to the disk side for a while.
    pub(in crate::frontier) fn postpone(
        &mut self,
        index: u32,
        addresses: Arc<[IpAddr]>,
        expires: Time,
        now: Time,
    ) -> Result<()> {
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
        self.cold.hold_domain(domain, until.min(now + HELD_MAX), now);
        Ok(())
    }

    /// Sends a host to the disk side until its turn at `ip` comes; returns that time.
    pub(super) fn send_away(&mut self, index: u32, ip: IpAddr, now: Time) -> Result<Time> {
        let due = self.pacing.after_the_saturation(ip, self.active.host(index).origin, now);
        let standing = &mut self.active.host_mut(index).standing;
        standing.due = standing.due.max(due);
        let until = standing.due;
        self.evict(index, now)?;
        Ok(until)
    }

    /// A host of `domain` was found at `ip`: if nobody was sent away from there, others need not be held back.
    pub(in crate::frontier) fn release_domain(&mut self, domain: Fingerprint, ip: IpAddr) {
        let number = self.cold.number_of(domain);
        if !self.cold.partitions[number].held.is_empty() && !self.pacing.is_awaited(ip, self.now) {
            self.cold.partitions[number].held.remove(&domain);
        }
    }

    /// Makes room for the `rules` of a host, and returns whether there is any. Rules of usual size always fit in; all
    /// large ones together have a share of the memory. Hosts that have nothing to do leave for it, and so do hosts with
    /// larger rules that are not being asked anything: they take their URLs to the disk side and come back when there
    /// is room.
    pub(in crate::frontier) fn finds_memory_for(&mut self, rules: &dyn Rules, now: Time) -> Result<bool> {
        let mut encoded = Vec::new();
        rules.encode(&mut encoded);
        while !self.has_memory_for_rules(encoded.len()) {
            let larger =
                || self.active.greediest().filter(|&index| self.active.host(index).rules_bytes > encoded.len());
            match self.active.largest_idle(now).or_else(larger) {
                Some(index) => self.evict(index, now)?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns whether there is memory for rules that take `encoded` bytes.
    fn has_memory_for_rules(&self, encoded: usize) -> bool {
        let bytes = large_rules_memory(encoded);
        bytes == 0 || self.active.large_rules.saturating_add(bytes) <= self.sizes.memory / LARGE_RULES_PART
    }

    pub(in crate::frontier) fn set_rules(&mut self, index: u32, rules: Arc<dyn Rules>, expires: Time) {
        let mut encoded = Vec::new();
        rules.encode(&mut encoded);
        self.active.change(index, |host| {
            host.rules_bytes = encoded.len();
            host.rules = Some((rules, expires));
        });
    }

    /// Gives the ledger, if there is one, the hosts that rest by what was saved: the other frontiers of the process do
    /// not know them, and may be led to one by a robots.txt that redirects. Hosts on the disk side are among them.
    pub(in crate::frontier) fn enter_holds(&self, now: Time) -> Result<()> {
        let Some(ledger) = self.pacing.ledger() else { return Ok(()) };
        for host in self.active.hosts() {
            ledger.rest(host.origin, host.standing.backoff_until, now);
            host.name_key.iter().for_each(|&name| ledger.rest(name, host.standing.due, now));
        }
        let mut enter = |origin, until| ledger.rest(origin, until, now);
        let mut partitions = self.cold.partitions.iter();
        partitions.try_for_each(|partition| partition.for_each_held(now, self.sizes.forgiven, &mut enter))
    }
}
