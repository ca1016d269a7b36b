//! The queues of hosts, in memory and on the disk side, and the place of each active host.
//!
//! Invariant: after any call a host is where everything that is known of it puts it ([`Queues::settle`]): in the
//! schedule, in one queue, among those that may leave, or nowhere while an answer or URLs are on their way; what it
//! counts for (memory, places, its domain, its address, its partition) is counted once. It owns the pace and the
//! budgets, since both decide about a place. It knows nothing of tasks and answers, which are the frontier's.

mod border;
mod jobs;

use std::net::IpAddr;
use std::sync::Arc;

use super::active::Active;
use super::budget::Allowance;
use super::budgets::Budgets;
use super::cold_side::ColdSide;
use super::host::{Host, Item, WaitState};
use super::options::Sizes;
use super::pacing::{Pacing, SuspectTurns, Woken};
use super::partition::HostKey;
use super::policy::{HostSnapshot, RefillPolicy, Wish};
use super::schedule::HostRef;
use super::task::{HostId, RulesDecoder};
use super::tuning::PARK_AFTER;
use super::writer::Beginning;
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;
use crate::web::scope::ScopeRules;

/// The queues of all hosts.
#[derive(Debug)]
pub(super) struct Queues {
    pub sizes: Sizes,
    pub decode_rules: RulesDecoder,
    pub active: Active,
    pub cold: ColdSide,
    pub pacing: Pacing,
    pub budgets: Budgets,
    /// The latest time that was passed in.
    pub now: Time,
    /// The beginning of this process's work with them.
    pub beginning: Beginning,
    /// Rules that leave queued URLs out.
    pub rules: Option<ScopeRules>,
}

impl Queues {
    /// Finds a host its place after anything about it has changed.
    pub(super) fn settle(&mut self, index: u32, now: Time) {
        self.active.host_mut(index).keep_hours(self.pacing.politeness(), now);
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
                    WaitState::Scheduled(host.available().max(due).max(now))
                }
                None if host.is_at_rest() && host.base_left == 0 => WaitState::Idle,
                None if host.is_at_rest() && self.budgets.awaits_round(self.active.host(index), now) => {
                    WaitState::Round
                }
                _ => WaitState::Nowhere,
            }
        } else if self.drains(index, now).is_some() {
            WaitState::Scheduled(now)
        } else if host.flights.len() >= connections
            || self.budgets.allowance(self.active.host(index)) == Allowance::HostWaits
        {
            WaitState::Nowhere
        } else if self.budgets.allowance(self.active.host(index)) == Allowance::DomainWaits {
            WaitState::Domain
        } else if self.budgets.awaits_round(self.active.host(index), now) {
            if host.is_at_rest() { WaitState::Round } else { WaitState::Nowhere }
        } else if self.pacing.yields_place(self.active.host(index), self.address_share(), self.now) {
            self.active.turn_over(index);
            WaitState::Nowhere
        } else {
            WaitState::Scheduled(host.available().max(now))
        };
        self.put(index, place, now);
        if place == WaitState::Round {
            self.note_thirst(index);
        }
    }

    fn put(&mut self, index: u32, place: WaitState, now: Time) {
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
                let lane = self.budgets.lane_of(domain);
                self.pacing.wait_queues.schedule_host(due, reference, lane);
                if rests {
                    self.active.parkable(index);
                }
                self.pacing.wait_queues.sweep(&self.active);
            }
            WaitState::Idle => self.active.idle(index),
            WaitState::Round => self.active.rest(index),
            WaitState::Domain => {
                self.budgets.wait(domain, reference);
            }
            WaitState::Nowhere | WaitState::Address | WaitState::Name | WaitState::Suspect => {}
        }
    }

    /// A host that could not be asked now comes up at `again`.
    fn come_again(&mut self, index: u32, again: Time, now: Time) {
        self.put(index, WaitState::Scheduled(again), now);
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
        self.budgets.count_busy(domain, busy);
        self.pacing.count_at_address(self.active.host_mut(index));
        if !busy {
            let partition = self.cold.number_of(domain);
            self.cold.partitions[partition].walk.host_is_idle(now);
        }
    }

    /// Notes that an active host runs dry while its base has more: it gets more, or, when it has had its turn and
    /// there is no place for others, leaves.
    fn want_refill(&mut self, index: u32) {
        if self.budgets.awaits_round(self.active.host(index), self.now) {
            return;
        }
        let host = self.active.host(index);
        if !host.buffer.is_empty() && host.buffer.len() >= self.budgets.room_in_round(host.domain) {
            return;
        }
        let snapshot = HostSnapshot {
            base_left: host.base_left,
            buffered: host.buffer.len(),
            waiting: host.waiting.len(),
            refill_buffers: host.refill_buffers,
            turn: host.turn,
            is_at_rest: host.is_at_rest(),
            places_are_taken: self.active.len() >= self.sizes.active_hosts,
        };
        match self.refill_policy().wish(&snapshot) {
            Wish::Nothing => {}
            Wish::TurnOver => self.active.turn_over(index),
            Wish::Refill => {
                let key = HostKey { domain: host.domain, origin: host.origin };
                let partition = self.cold.number_of(key.domain);
                self.cold.partitions[partition].wanted.insert(key);
            }
        }
    }

    /// Returns the reason for which the URLs of a host, or at least its first one, are dropped, if they are.
    pub(super) fn drains(&self, index: u32, now: Time) -> Option<Reason> {
        let first = self.budgets.first_in_turn(self.active.host(index));
        let is_excluded =
            first.is_some_and(|item| self.rules.as_ref().is_some_and(|rules| rules.excludes(&item.url.url)));
        let is_counted = first.is_some_and(Item::is_counted);
        self.drops_all(index, now, is_counted).or_else(|| is_excluded.then_some(Reason::Scope))
    }

    /// Returns the reason for which all URLs of a host are dropped, if they are: those of pages that are fetched again,
    /// which no budget counts once more, or the others.
    fn drops_all(&self, index: u32, now: Time, are_counted: bool) -> Option<Reason> {
        let host = self.active.host(index);
        let is_slow = || {
            host.rules_at(now)
                .is_some_and(|rules| self.pacing.politeness_of(self.active.host(index)).skips(rules.crawl_delay()))
        };
        let spent = || match self.budgets.left(self.active.host(index)) {
            Allowance::UsedUp(budget) if !are_counted => Some(budget),
            _ => None,
        };
        host.gone(now).or_else(spent).or_else(|| is_slow().then_some(Reason::Robots))
    }

    /// Moves URLs whose time has come into the buffer, and all of them where they are to be dropped.
    pub(super) fn ripen(&mut self, index: u32, now: Time) {
        if self.active.host(index).waiting.is_empty() {
            return;
        }
        let drops = [false, true].map(|are_counted| self.drops_all(index, now, are_counted).is_some());
        let host = self.active.host_mut(index);
        while host.waiting.front().is_some_and(|item| drops[usize::from(item.is_counted())] || item.due() <= now) {
            if let Some(item) = host.waiting.pop_front() {
                let at = host.buffer.partition_point(|other| other.order() < item.order());
                host.buffer.insert(at, item);
            }
        }
    }

    /// Returns whether a host waits for URLs: for new ones, or for the time of those that it has.
    fn lacks_urls(&self, index: u32, now: Time) -> bool {
        let host = self.active.host(index);
        match host.place {
            WaitState::Idle | WaitState::Nowhere => true,
            WaitState::Scheduled(due) => due > now && due > host.available(),
            _ => false,
        }
    }

    /// A URL of an active host enters its buffer if nothing that comes before it may be on the disk side.
    pub(super) fn push_active(&mut self, index: u32, item: Item, now: Time) -> Result<()> {
        let host = self.active.host(index);
        let before_last = host.buffer.back().is_some_and(|last| item.order() < last.order());
        let room = host.buffer.len() < self.refill_policy().pushed_max();
        if before_last || (room && !host.has_cold()) {
            let surplus = !room;
            self.buffer(index, item);
            if surplus && let Some(last) = self.unbuffer_last(index) {
                self.push_behind(index, &last)?;
            }
            if self.lacks_urls(index, now) {
                self.settle(index, now);
            }
            Ok(())
        } else {
            self.push_behind(index, &item)
        }
    }

    /// A URL of an active host goes to the disk side.
    fn push_behind(&mut self, index: u32, item: &Item) -> Result<()> {
        self.active.host_mut(index).may_tail = true;
        self.note_thirst(index);
        self.cold.push(item, self.now)
    }

    /// Returns the limits of what hosts may have in memory now.
    fn refill_policy(&self) -> RefillPolicy {
        RefillPolicy {
            memory: self.sizes.memory,
            active_bytes: self.active.bytes,
            buffer_urls: self.sizes.buffer_urls.max(1),
        }
    }

    /// Returns whether the active side may take more URLs.
    fn has_memory(&self) -> bool {
        self.refill_policy().has_memory()
    }

    /// Notes whether a host needs what it has in the tail of its partition.
    fn note_thirst(&mut self, index: u32) {
        let enough = self.refill_policy().pushed_max() / 2;
        let host = self.active.host_mut(index);
        let is_thirsty = host.may_tail && host.buffer.len() <= enough && host.place != WaitState::Round;
        if std::mem::replace(&mut host.is_thirsty, is_thirsty) != is_thirsty {
            let partition = self.cold.number_of(self.active.host(index).domain);
            let thirsty = &mut self.cold.partitions[partition].thirsty;
            *thirsty = if is_thirsty { *thirsty + 1 } else { *thirsty - 1 };
        }
    }

    pub(super) fn buffer(&mut self, index: u32, item: Item) {
        self.active.bytes += item.memory();
        self.active.buffered += 1;
        self.pacing.enter_name(self.active.host_mut(index), item.url.host, self.now);
        let now = self.now;
        self.active.host_mut(index).insert(item, now);
    }

    pub(super) fn unbuffer_first(&mut self, index: u32) -> Option<Item> {
        let item = self.budgets.take_in_turn(self.active.host_mut(index))?;
        self.active.count_off(&item);
        Some(item)
    }

    fn unbuffer_last(&mut self, index: u32) -> Option<Item> {
        let item = self.active.host_mut(index).buffer.pop_back()?;
        self.active.count_off(&item);
        Some(item)
    }

    /// Takes out the last of the URLs that wait by themselves.
    fn unbuffer_waiting(&mut self, index: u32) -> Option<Item> {
        let item = self.active.host_mut(index).waiting.pop_back()?;
        self.active.count_off(&item);
        Some(item)
    }

    /// Takes over what hosts are treated by, where it was changed. Those that waited for other hours come up by theirs.
    pub(super) fn treat_anew(&mut self) {
        let indices: Vec<u32> = self.active.indices().collect();
        for index in indices {
            let treatment = self.pacing.treatment_of(self.active.host(index).name());
            let host = self.active.host_mut(index);
            host.treatment = treatment;
            let had_hours = host.opens > Time::ZERO;
            if matches!(host.place, WaitState::Scheduled(_))
                && (had_hours || self.pacing.politeness_of(host).hours.is_some())
            {
                self.settle(index, self.now);
            }
        }
    }

    /// A fetch of `domain` is over and brought that many pages: hosts that waited to see it are looked at again.
    pub(super) fn landed_of(&mut self, domain: Fingerprint, pages: u64, now: Time) {
        for reference in self.budgets.end_fetch(domain, pages) {
            if let Some(waiting) = self.active.resolve(reference)
                && self.active.host(waiting).place == WaitState::Domain
            {
                self.active.host_mut(waiting).place = WaitState::Nowhere;
                self.settle(waiting, now);
            }
        }
    }

    /// Lets hosts that waited in line at a name rest with it.
    pub(super) fn rest_with_names(&mut self, held: Vec<HostRef>, now: Time) {
        for reference in held {
            if let Some(index) = self.active.resolve(reference)
                && self.active.host(index).place == WaitState::Name
            {
                self.pacing.rest_with_name(self.active.host_mut(index));
                self.settle(index, now);
            }
        }
    }

    /// Ends the first contact with a host, if one is in progress: `answered` says whether it was answered, if it was
    /// made.
    pub(super) fn end_contact(&mut self, index: u32, answered: Option<bool>) {
        let now = self.now;
        if let Some(Woken { network, count }) =
            self.pacing.wait_queues.end_contact(self.active.host_mut(index), answered, now)
        {
            self.wake_suspects(network, count, now);
        }
    }

    pub(super) fn note_answer(&mut self, index: u32) {
        self.end_contact(index, Some(true));
        self.active.host_mut(index).note_answer();
    }

    /// Lets the first `count` hosts of the queue of `network` come up that still wait; how many that were.
    fn wake_suspects(&mut self, network: IpAddr, count: usize, now: Time) -> usize {
        let mut woken = 0;
        while woken < count
            && let Some(index) = self.pacing.wait_queues.next_suspect(&self.active, network)
        {
            self.come_again(index, now, now);
            woken += 1;
        }
        woken
    }

    /// Lets suspects come up: of networks that are silent as many as there are places, of others as many as these may
    /// have.
    pub(super) fn serve_suspects(&mut self, now: Time) {
        let SuspectTurns { mut silent, others } = self.pacing.wait_queues.suspect_turns(now);
        for network in others {
            self.wake_suspects(network, self.pacing.wait_queues.contacts_left(network), now);
        }
        let mut places = self.pacing.wait_queues.suspects_left();
        while places > 0
            && let Some(network) = silent.pop_front()
        {
            if self.wake_suspects(network, 1, now) > 0 {
                places -= 1;
                self.pacing.wait_queues.note_suspect_turn(network);
                silent.push_back(network);
            }
        }
        self.pacing.wait_queues.look_again(now);
    }

    /// Returns whether a host may be contacted at `ip` now: otherwise it comes up again when there is a place.
    pub(super) fn may_contact(&mut self, index: u32, ip: IpAddr, now: Time) -> bool {
        let contact = self.pacing.wait_queues.contact_at(self.active.host(index), ip, now);
        match contact {
            Some(contact) => self.active.host_mut(index).contact = contact,
            None => {
                self.put(index, WaitState::Suspect, now);
                self.pacing.wait_queues.wait_as_suspect(&self.active, index, ip, now);
            }
        }
        contact.is_some()
    }

    /// Takes the turn at name and address that is shared with other frontiers; a host that has to wait for it comes
    /// again.
    pub(super) fn takes_turn(&mut self, index: u32, address: IpAddr, now: Time) -> bool {
        match self.pacing.take_turn(self.active.host(index), address, now) {
            Ok(()) => true,
            Err(again) => {
                self.come_again(index, again, now);
                false
            }
        }
    }

    /// A request of the host starts at `now`.
    pub(super) fn contact(&mut self, index: u32, ip: IpAddr, now: Time) {
        self.active.in_flight += 1;
        self.budgets.use_round();
        self.pacing.begin_request(self.active.host_mut(index), ip, now);
    }

    /// The addresses of a host, if they are known and fresh; an address as name needs no asking.
    pub(super) fn addresses_of(&mut self, index: u32, now: Time) -> Option<Arc<[IpAddr]>> {
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

    /// Returns whether anything waits for the next round.
    pub(super) fn has_resting(&self) -> bool {
        self.active.resting_hosts > 0 || self.cold.has_resting()
    }

    /// Lets everything that rests come up again, in memory and on disk.
    pub(super) fn wake_resting(&mut self, now: Time) {
        for index in self.active.take_resting() {
            self.put(index, WaitState::Nowhere, now);
            self.settle(index, now);
        }
        self.cold.wake_resting(now);
    }

    /// Settles a host that has nothing to do; others will be when their turn comes.
    fn settle_if_waiting(&mut self, index: u32, now: Time) {
        if self.lacks_urls(index, now) {
            self.settle(index, now);
        }
    }

    /// Takes the request that `host` names out of flight: its host and its URL.
    pub(super) fn land(&mut self, host: HostId) -> Option<(u32, Item)> {
        let index = self.active.resolve_id(host)?;
        let Host { flights, received, .. } = self.active.host_mut(index);
        let of_flight = |&(flight, _): &(u32, Item)| flight == host.flight;
        let under_way = flights.iter().position(of_flight);
        let (_, item) = match under_way {
            Some(at) => flights.swap_remove(at),
            None => received.iter().position(of_flight).map(|at| received.swap_remove(at))?,
        };
        self.active.in_flight -= 1;
        self.active.bytes = self.active.bytes.saturating_sub(item.memory());
        if under_way.is_some() {
            self.pacing.end_request(self.active.host(index), self.now);
        }
        Some((index, item))
    }
}
