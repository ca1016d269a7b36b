//! The walk from a due host to a task, which finds out what may be done now.
//!
//! A host that comes up is asked, in this order: is it given up or its budget used up (its URLs are dropped, without
//! waiting for anything); may it be contacted now; is its name free; are its addresses known; is its address free; are
//! its rules known; do they allow the URL. The first "no" makes the task, or the time at which it comes up again.

use std::net::IpAddr;
use std::sync::Arc;

use super::Frontier;
use super::host::{Item, Pending, WaitState};
use super::schedule::Entry;
use super::task::{Permit, Provenance, Task};
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;

impl Frontier {
    /// Returns something that may be done at `now`, if there is anything.
    pub fn next(&mut self, now: Time) -> Result<Option<Task>> {
        self.queues.now = self.queues.now.max(now);
        while let Some((due, entry)) = self.queues.pacing.wait_queues.next_entry(now) {
            let task = match entry {
                Entry::Host(reference) => match self.queues.active.resolve(reference) {
                    Some(index) if self.queues.active.host(index).place == WaitState::Scheduled(due) => {
                        self.attempt(index, now, false)
                    }
                    _ => None,
                },
                Entry::Address(ip) => self.serve(ip, now),
                Entry::Name(name) => self.serve_name(name, due, now),
                Entry::Suspects => {
                    self.queues.serve_suspects(now);
                    None
                }
            };
            if task.is_some() {
                return Ok(task);
            }
        }
        Ok(None)
    }

    /// Lets hosts that wait for `ip` have their turn until one uses it.
    fn serve(&mut self, ip: IpAddr, now: Time) -> Option<Task> {
        let mut task = None;
        while task.is_none()
            && let Some(reference) = self.queues.pacing.wait_queues.next_at_address(ip, now)
        {
            if let Some(index) = self.queues.active.resolve(reference)
                && self.queues.active.host(index).place == WaitState::Address
            {
                task = self.attempt(index, now, false);
            }
        }
        self.queues.pacing.wait_queues.reschedule_address(ip);
        task
    }

    /// Returns the task that a host whose time has come may do, if there is one; `in_turn` if it has the turn of its
    /// name.
    pub(super) fn attempt(&mut self, index: u32, now: Time, in_turn: bool) -> Option<Task> {
        // it may have rested until now
        self.queues.set_busy(index, true, now);
        let host = self.queues.active.host_mut(index);
        host.place = WaitState::Nowhere;
        host.standing.gone = host.standing.gone.filter(|&(until, _)| until > now);
        self.queues.ripen(index, now);
        let host = self.queues.active.host(index);
        if host.pending.is_some() || host.buffer.is_empty() {
            self.queues.settle(index, now);
            return None;
        }
        if let Some(reason) = self.queues.drains(index, now) {
            let item = self.queues.unbuffer_first(index)?;
            self.queues.settle(index, now);
            return Some(Task::Drop { url: item.url, reason });
        }
        self.queues.pacing.rest_with_name(self.queues.active.host_mut(index));
        self.queues.active.host_mut(index).keep_hours(self.queues.pacing.politeness(), now);
        let host = self.queues.active.host(index);
        let connections = self.queues.pacing.connections_of(self.queues.active.host(index));
        if host.available() > now
            || host.flights.len() >= connections
            || self.queues.budgets.awaits_budget(self.queues.active.host(index), now)
        {
            self.queues.settle(index, now);
            return None;
        }
        if !in_turn && !self.queues.pacing.has_turn(&mut self.queues.active, index, now) {
            return None;
        }
        let addresses = match self.queues.addresses_of(index, now) {
            Some(addresses) => addresses,
            None => return Some(self.queues.active.resolve_name(index)),
        };
        let addresses = self.queues.pacing.in_order(self.queues.active.host(index), addresses);
        if self.queues.pacing.is_address_taken(addresses[0], now) {
            self.queues.pacing.wait_queues.wait_for_address(&mut self.queues.active, index, addresses[0]);
            return None;
        }
        if !self.queues.may_contact(index, addresses[0], now) {
            return None;
        }
        match self.queues.active.host(index).rules_at(now).cloned() {
            None => self.queues.takes_turn(index, addresses[0], now).then(|| self.ask_robots(index, addresses, now))?,
            Some(rules) => {
                // what the rules forbid needs no turn
                let first = self.queues.budgets.first_in_turn(self.queues.active.host(index));
                let leaves = first.is_some_and(|item| rules.allows(&item.url.url));
                if leaves && !self.queues.takes_turn(index, addresses[0], now) {
                    return None;
                }
                let item = self.queues.unbuffer_first(index)?;
                match Permit::ask(&*rules, &item.url.url) {
                    Some(permit) => Some(self.fetch(index, item, addresses, permit, now)),
                    None => {
                        self.queues.settle(index, now);
                        Some(Task::Drop { url: item.url, reason: Reason::Robots })
                    }
                }
            }
        }
    }

    fn ask_robots(&mut self, index: u32, addresses: Arc<[IpAddr]>, now: Time) -> Option<Task> {
        let provenance = Provenance::of(&self.queues.budgets.first_in_turn(self.queues.active.host(index))?.url);
        self.queues.contact(index, addresses[0], now);
        self.queues.budgets.count_asked(self.queues.active.host(index).domain);
        let host = self.queues.active.host_mut(index);
        host.pending = Some(Pending::Robots { started: now, moved: false });
        let origin = host.origin_text.clone();
        Some(Task::Robots { host: self.queues.active.id(index, 0), origin, addresses, provenance })
    }

    fn fetch(&mut self, index: u32, item: Item, addresses: Arc<[IpAddr]>, permit: Permit, now: Time) -> Task {
        self.queues.contact(index, addresses[0], now);
        let url = item.url.clone();
        self.queues.active.bytes += item.memory();
        let host = self.queues.active.host_mut(index);
        host.flights_made = host.flights_made.wrapping_add(1);
        let flight = host.flights_made;
        host.flights.push((flight, item));
        let domain = host.domain;
        self.queues.budgets.begin_fetch(domain);
        self.queues.settle(index, now);
        Task::Fetch { host: self.queues.active.id(index, flight), url, addresses, permit }
    }

    /// The queue at `name` comes up: those who wait there have their turn until one uses it.
    fn serve_name(&mut self, name: Fingerprint, due: Time, now: Time) -> Option<Task> {
        if !self.queues.pacing.wait_queues.begin_turns(name, due) {
            return None;
        }
        let mut task = None;
        while task.is_none()
            && let Some(index) = self.queues.pacing.next_of_name(&self.queues.active, name, now)
        {
            task = self.attempt(index, now, true);
        }
        self.queues.pacing.schedule_name(&self.queues.active, name);
        task
    }
}
