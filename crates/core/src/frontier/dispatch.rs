//! The walk from a due host to a task, which finds out what may be done now.
//!
//! A host that comes up is asked, in this order: is it given up or its budget used up (its URLs are dropped, without
//! waiting for anything); may it be contacted now; is its name free; are its addresses known; is its address free; are
//! its rules known; do they allow the URL. The first "no" makes the task, or the time at which it comes up again.

use std::net::IpAddr;
use std::sync::Arc;

use super::Frontier;
use super::budget::Allowance;
use super::host::{Item, Pending, WaitState};
use super::pacing::SuspectTurns;
use super::partition::HostKey;
use super::policy::{HostSnapshot, Wish};
use super::schedule::Entry;
use super::task::{Permit, Provenance, Task};
use super::tuning::PARK_AFTER;
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;

impl Frontier {
    /// Returns something that may be done at `now`, if there is anything.
    pub fn next(&mut self, now: Time) -> Result<Option<Task>> {
        self.now = self.now.max(now);
        while let Some((due, entry)) = self.pacing.lines.next_entry(now) {
            let task = match entry {
                Entry::Host(reference) => match self.active.resolve(reference) {
                    Some(index) if self.active.host(index).place == WaitState::Scheduled(due) => {
                        self.attempt(index, now, false)
                    }
                    _ => None,
                },
                Entry::Address(ip) => self.serve(ip, now),
                Entry::Name(name) => self.serve_name(name, due, now),
                Entry::Suspects => {
                    self.serve_suspects(now);
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
            && let Some(reference) = self.pacing.lines.next_at_address(ip, now)
        {
            if let Some(index) = self.active.resolve(reference)
                && self.active.host(index).place == WaitState::Address
            {
                task = self.attempt(index, now, false);
            }
        }
        self.pacing.lines.reschedule_address(ip);
        task
    }

    /// Returns the task that a host whose time has come may do, if there is one; `in_turn` if it has the turn of its
    /// name.
    pub(super) fn attempt(&mut self, index: u32, now: Time, in_turn: bool) -> Option<Task> {
        // it may have rested until now
        self.set_busy(index, true, now);
        let host = self.active.host_mut(index);
        host.place = WaitState::Nowhere;
        host.standing.gone = host.standing.gone.filter(|&(until, _)| until > now);
        self.ripen(index, now);
        let host = self.active.host(index);
        if host.pending.is_some() || host.buffer.is_empty() {
            self.settle(index, now);
            return None;
        }
        if let Some(reason) = self.drains(index, now) {
            return self.drop_first(index, reason, now);
        }
        self.pacing.rest_with_name(self.active.host_mut(index));
        let host = self.active.host(index);
        let connections = self.pacing.connections_of(self.active.host(index));
        if host.standing.available() > now || host.flights.len() >= connections || self.awaits_budget(index, now) {
            self.settle(index, now);
            return None;
        }
        if !in_turn && !self.pacing.has_turn(&mut self.active, index, now) {
            return None;
        }
        let addresses = match self.addresses_of(index, now) {
            Some(addresses) => addresses,
            None => return Some(self.resolve(index)),
        };
        let addresses = self.pacing.in_order(self.active.host(index), addresses);
        if self.pacing.is_address_taken(addresses[0], now) {
            self.pacing.lines.wait_for_address(&mut self.active, index, addresses[0]);
            return None;
        }
        if !self.may_contact(index, addresses[0], now) {
            return None;
        }
        match self.active.host(index).rules_at(now).cloned() {
            None => self.takes_turn(index, addresses[0], now).then(|| self.ask_robots(index, addresses, now))?,
            Some(rules) => {
                // what the rules forbid needs no turn
                let first = self.first_in_turn(index);
                let leaves = first.is_some_and(|item| rules.allows(&item.url.url));
                if leaves && !self.takes_turn(index, addresses[0], now) {
                    return None;
                }
                let item = self.unbuffer_first(index)?;
                match Permit::ask(&*rules, &item.url.url) {
                    Some(permit) => Some(self.fetch(index, item, addresses, permit, now)),
                    None => {
                        self.settle(index, now);
                        Some(Task::Drop { url: item.url, reason: Reason::Robots })
                    }
                }
            }
        }
    }

    /// The URL of a host that is next.
    pub(super) fn first_in_turn(&self, index: u32) -> Option<&Item> {
        let host = self.active.host(index);
        host.buffer.get(host.next_in_turn(self.options.due_share))
    }

    /// Returns the reason for which the URLs of a host, or at least its first one, are dropped, if they are.
    fn drains(&self, index: u32, now: Time) -> Option<Reason> {
        let first = self.first_in_turn(index);
        let is_excluded =
            first.is_some_and(|item| self.rules.as_ref().is_some_and(|rules| rules.excludes(&item.url.url)));
        let is_counted = first.is_some_and(Item::is_counted);
        self.drops_all(index, now, is_counted).or_else(|| is_excluded.then_some(Reason::Scope))
    }

    /// Returns the reason for which all URLs of a host are dropped, if they are: those of pages that are fetched again,
    /// which no budget counts once more, or the others.
    pub(super) fn drops_all(&self, index: u32, now: Time, are_counted: bool) -> Option<Reason> {
        let host = self.active.host(index);
        let is_slow = || {
            host.rules_at(now)
                .is_some_and(|rules| self.pacing.politeness_of(self.active.host(index)).skips(rules.crawl_delay()))
        };
        let spent = || match self.left(index) {
            Allowance::UsedUp(budget) if !are_counted => Some(budget),
            _ => None,
        };
        host.gone(now).or_else(spent).or_else(|| is_slow().then_some(Reason::Robots))
    }

    /// The verdict of the budgets on the URL that is next: a page that is fetched again was counted when its first
    /// visit was over.
    fn allowance(&self, index: u32) -> Allowance {
        let is_counted = self.first_in_turn(index).is_some_and(Item::is_counted);
        if is_counted { Allowance::Free } else { self.left(index) }
    }

    /// Returns the verdict of the budgets on a new page.
    pub(super) fn left(&self, index: u32) -> Allowance {
        let host = self.active.host(index);
        let domain = self.domains.get(host.domain).expect("the domain of an active host is known");
        match self.budget_of(index).allows(&host.standing, host.flights.len() + host.received.len(), domain) {
            Allowance::Free => self.allowance_of_round(domain),
            other => other,
        }
    }

    fn awaits_budget(&self, index: u32, now: Time) -> bool {
        self.allowance(index) != Allowance::Free || self.awaits_round(index, now)
    }

    fn drop_first(&mut self, index: u32, reason: Reason, now: Time) -> Option<Task> {
        let item = self.unbuffer_first(index)?;
        self.settle(index, now);
        Some(Task::Drop { url: item.url, reason })
    }

    /// The addresses of a host, if they are known and fresh; an address as name needs no asking.
    fn addresses_of(&mut self, index: u32, now: Time) -> Option<Arc<[IpAddr]>> {
        let host = self.active.host(index);
        if let Some((addresses, expires)) = &host.addresses
            && *expires > now
        {
            return Some(addresses.clone());
        }
        let literal: IpAddr = host.name().parse().ok()?;
        let addresses: Arc<[IpAddr]> = [literal].into();
        self.pacing.set_addresses(self.active.host_mut(index), addresses.clone(), Time::MAX);
        Some(addresses)
    }

    fn resolve(&mut self, index: u32) -> Task {
        self.active.in_flight += 1;
        let host = self.active.host_mut(index);
        host.pending = Some(Pending::Resolve);
        let name = host.name().into();
        Task::Resolve { host: self.active.id(index, 0), name }
    }

    fn ask_robots(&mut self, index: u32, addresses: Arc<[IpAddr]>, now: Time) -> Option<Task> {
        let provenance = Provenance::of(&self.first_in_turn(index)?.url);
        self.contact(index, addresses[0], now);
        self.count_asked(index);
        let host = self.active.host_mut(index);
        host.pending = Some(Pending::Robots { started: now, moved: false });
        let origin = host.origin_text.clone();
        Some(Task::Robots { host: self.active.id(index, 0), origin, addresses, provenance })
    }

    fn fetch(&mut self, index: u32, item: Item, addresses: Arc<[IpAddr]>, permit: Permit, now: Time) -> Task {
        self.contact(index, addresses[0], now);
        let url = item.url.clone();
        self.active.bytes += item.memory();
        let host = self.active.host_mut(index);
        host.flights_made = host.flights_made.wrapping_add(1);
        let flight = host.flights_made;
        host.flights.push((flight, item));
        let domain = host.domain;
        self.domains.get_mut(domain).in_flight += 1;
        self.settle(index, now);
        Task::Fetch { host: self.active.id(index, flight), url, addresses, permit }
    }

    /// A request of the host starts at `now`.
    fn contact(&mut self, index: u32, ip: IpAddr, now: Time) {
        self.active.in_flight += 1;
        self.use_round();
        self.pacing.begin_request(self.active.host_mut(index), ip, now);
    }

    /// Returns whether a host may be contacted at `ip` now: otherwise it comes up again when there is a place.
    fn may_contact(&mut self, index: u32, ip: IpAddr, now: Time) -> bool {
        let contact = self.pacing.lines.contact_at(self.active.host(index), ip, now);
        match contact {
            Some(contact) => self.active.host_mut(index).contact = contact,
            None => {
                self.put(index, WaitState::Suspect, now);
                self.pacing.lines.wait_as_suspect(&self.active, index, ip, now);
            }
        }
        contact.is_some()
    }

    /// Lets suspects come up: of networks that are silent as many as there are places, of others as many as these may
    /// have.
    fn serve_suspects(&mut self, now: Time) {
        let SuspectTurns { mut silent, others } = self.pacing.lines.suspect_turns(now);
        for network in others {
            self.wake_suspects(network, self.pacing.lines.contacts_left(network), now);
        }
        let mut places = self.pacing.lines.suspects_left();
        while places > 0
            && let Some(network) = silent.pop_front()
        {
            if self.wake_suspects(network, 1, now) > 0 {
                places -= 1;
                self.pacing.lines.note_suspect_turn(network);
                silent.push_back(network);
            }
        }
        self.pacing.lines.look_again(now);
    }

    /// Lets the first `count` hosts of the line of `network` come up that still wait; how many that were.
    pub(super) fn wake_suspects(&mut self, network: IpAddr, count: usize, now: Time) -> usize {
        let mut woken = 0;
        while woken < count
            && let Some(index) = self.pacing.lines.next_suspect(&self.active, network)
        {
            self.come_again(index, now, now);
            woken += 1;
        }
        woken
    }

    /// The line at `name` comes up: those who wait there have their turn until one uses it.
    fn serve_name(&mut self, name: Fingerprint, due: Time, now: Time) -> Option<Task> {
        if !self.pacing.lines.begin_turns(name, due) {
            return None;
        }
        let mut task = None;
        while task.is_none()
            && let Some(index) = self.pacing.next_of_name(&self.active, name, now)
        {
            task = self.attempt(index, now, true);
        }
        self.pacing.schedule_name(&self.active, name);
        task
    }

    /// Takes the turn at name and address that is shared with other frontiers; a host that has to wait for it comes
    /// again.
    fn takes_turn(&mut self, index: u32, address: IpAddr, now: Time) -> bool {
        match self.pacing.take_turn(self.active.host(index), address, now) {
            Ok(()) => true,
            Err(again) => {
                self.come_again(index, again, now);
                false
            }
        }
    }

    /// A host that could not be asked now comes up at `again`.
    pub(super) fn come_again(&mut self, index: u32, again: Time, now: Time) {
        self.put(index, WaitState::Scheduled(again), now);
    }

    /// Finds a host its place after anything about it has changed.
    pub(super) fn settle(&mut self, index: u32, now: Time) {
        self.ripen(index, now);
        self.want_refill(index);
        self.note_thirst(index);
        let connections = self.pacing.connections_of(self.active.host(index));
        let host = self.active.host(index);
        let place = if host.pending.is_some() {
            WaitState::Nowhere
        } else if host.buffer.is_empty() {
            match host.first_retry() {
                Some(due) if host.flights.len() < connections => {
                    WaitState::Scheduled(host.standing.available().max(due).max(now))
                }
                None if host.is_at_rest() && host.base_left == 0 => WaitState::Idle,
                None if host.is_at_rest() && self.awaits_round(index, now) => WaitState::Round,
                _ => WaitState::Nowhere,
            }
        } else if self.drains(index, now).is_some() {
            WaitState::Scheduled(now)
        } else if host.flights.len() >= connections || self.allowance(index) == Allowance::HostWaits {
            WaitState::Nowhere
        } else if self.allowance(index) == Allowance::DomainWaits {
            WaitState::Domain
        } else if self.awaits_round(index, now) {
            if host.is_at_rest() { WaitState::Round } else { WaitState::Nowhere }
        } else if self.pacing.gives_way(self.active.host(index), self.address_share(), self.now) {
            self.active.turn_over(index);
            WaitState::Nowhere
        } else {
            WaitState::Scheduled(host.standing.available().max(now))
        };
        self.put(index, place, now);
        if place == WaitState::Round {
            self.note_thirst(index);
        }
    }

    pub(super) fn put(&mut self, index: u32, place: WaitState, now: Time) {
        let rests = matches!(place, WaitState::Scheduled(due) if due > now + PARK_AFTER);
        self.set_busy(index, !matches!(place, WaitState::Idle | WaitState::Round) && !rests, now);
        let reference = self.active.reference(index);
        let host = self.active.host_mut(index);
        let domain = host.domain;
        let before = std::mem::replace(&mut host.place, place);
        if before == place {
            return;
        }
        self.active.count_resting(before == WaitState::Round, place == WaitState::Round);
        match place {
            WaitState::Scheduled(due) => {
                let lane = self.lane_of(domain);
                self.pacing.lines.schedule_host(due, reference, lane);
                if rests {
                    self.active.parkable(index);
                }
                self.pacing.lines.sweep(&self.active);
            }
            WaitState::Idle => self.active.idle(index),
            WaitState::Round => self.active.rest(index),
            WaitState::Domain => {
                self.domains.get_mut(domain).waiting.push(reference);
            }
            WaitState::Nowhere | WaitState::Address | WaitState::Name | WaitState::Suspect => {}
        }
    }

    /// Notes that an active host runs dry while its base has more: it gets more, or, when it has had its turn and
    /// there is no place for others, leaves.
    fn want_refill(&mut self, index: u32) {
        if self.rounds.is_some() && self.awaits_round(index, self.now) {
            return;
        }
        let host = self.active.host(index);
        if !host.buffer.is_empty() && host.buffer.len() >= self.room_in_round(host.domain) {
            return;
        }
        let snapshot = HostSnapshot {
            base_left: host.base_left,
            buffered: host.buffer.len(),
            waiting: host.waiting.len(),
            refill_buffers: host.refill_buffers,
            turn: host.turn,
            is_at_rest: host.is_at_rest(),
            places_are_taken: self.active.len() >= self.options.active_hosts,
        };
        match self.refill_policy().wish(&snapshot) {
            Wish::Nothing => {}
            Wish::TurnOver => self.active.turn_over(index),
            Wish::Refill => {
                let key = HostKey { domain: host.domain, origin: host.origin };
                let partition = self.partition_of(key.domain);
                self.cold.partitions[partition].wanted.insert(key);
            }
        }
    }

    /// Counts a host as having something to do, or not, at its domain and its address.
    pub(super) fn set_busy(&mut self, index: u32, busy: bool, now: Time) {
        let host = self.active.host_mut(index);
        if std::mem::replace(&mut host.busy, busy) == busy {
            return;
        }
        let domain = host.domain;
        let is_newcomer = host.newcomer;
        self.active.count_busy(busy, is_newcomer);
        let counter = &mut self.domains.get_mut(domain).busy;
        *counter = if busy { *counter + 1 } else { counter.saturating_sub(1) };
        self.pacing.count_at_address(self.active.host_mut(index));
        if !busy {
            let partition = self.partition_of(domain);
            self.cold.partitions[partition].walk.host_rests(now);
        }
    }
}
