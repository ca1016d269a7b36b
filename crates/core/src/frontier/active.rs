//! The active side: a slab of hosts, found by origin, with their memory counted.
//!
//! A host that has nothing to do (its URLs are out, none is in flight) stays in an idle queue until its place is
//! wanted; one that is held back for long may be parked: its URLs then go to the disk side. A place that was left
//! gets a new generation, so that an old [`HostId`] or schedule entry never meets another host.

use std::collections::VecDeque;

use super::first_contacts::Contact;
use super::host::{Host, Item, Pending, WaitState, large_rules_memory};
use super::schedule::HostRef;
use super::task::{Held, HostId, Task};
use super::tuning::{ENTRIES_SPARE, PLACE_TRIES};
use crate::clock::Time;
use crate::fingerprint::ByFingerprint;
use crate::fingerprint::Fingerprint;
use crate::outcome::HostFault;

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    host: Option<Host>,
}

/// All active hosts.
#[derive(Debug, Default)]
pub struct Active {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_origin: ByFingerprint<u32>,
    idle: VecDeque<HostRef>,
    parkable: VecDeque<HostRef>,
    resting: VecDeque<HostRef>,
    /// Hosts that have had their turn, and whose places others may want.
    pub(super) turns_over: Vec<HostRef>,
    /// Bytes of memory of hosts and URLs.
    pub(super) bytes: usize,
    /// Part of these bytes that belongs to rules which are larger than usual.
    pub(super) large_rules: usize,
    /// URLs in buffers.
    pub(super) buffered: u64,
    /// Tasks that are out.
    pub(super) in_flight: usize,
    /// Hosts that have something to do.
    pub(super) busy: usize,
    /// The number of busy hosts that came here without having been on the disk side.
    pub(super) newcomers: usize,
    /// Hosts that wait for the next round.
    pub(super) resting_hosts: usize,
}

impl Active {
    pub(super) fn len(&self) -> usize {
        self.by_origin.len()
    }

    pub(super) fn find(&self, origin: Fingerprint) -> Option<u32> {
        self.by_origin.get(&origin).copied()
    }

    /// The host at `index`, which has to be taken.
    pub(super) fn host(&self, index: u32) -> &Host {
        self.slots[index as usize].host.as_ref().expect("an index that was found is taken")
    }

    pub(super) fn host_mut(&mut self, index: u32) -> &mut Host {
        self.slots[index as usize].host.as_mut().expect("an index that was found is taken")
    }

    /// The host of `origin`, while it is active.
    pub(super) fn find_mut(&mut self, origin: Fingerprint) -> Option<&mut Host> {
        self.find(origin).map(|index| self.host_mut(index))
    }

    pub(super) fn reference(&self, index: u32) -> HostRef {
        HostRef { index, generation: self.slots[index as usize].generation }
    }

    pub(super) fn id(&self, index: u32, flight: u32) -> HostId {
        HostId { index, generation: self.slots[index as usize].generation, flight }
    }

    /// The index behind a reference, unless the host has left.
    pub(super) fn resolve(&self, reference: HostRef) -> Option<u32> {
        let slot = self.slots.get(reference.index as usize)?;
        (slot.generation == reference.generation && slot.host.is_some()).then_some(reference.index)
    }

    pub(super) fn resolve_id(&self, id: HostId) -> Option<u32> {
        self.resolve(HostRef { index: id.index, generation: id.generation })
    }

    /// Gives `host` a place.
    pub(super) fn insert(&mut self, host: Host) -> u32 {
        self.bytes += host.memory();
        self.large_rules += large_rules_memory(host.rules_bytes);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("fewer than 4 G hosts are active")
        });
        self.by_origin.insert(host.origin, index);
        self.slots[index as usize].host = Some(host);
        index
    }

    /// Takes a host out; its buffer has to be counted off by the caller.
    pub(super) fn remove(&mut self, index: u32) -> Host {
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let host = slot.host.take().expect("an index that was found is taken");
        self.resting_hosts -= usize::from(host.place == WaitState::Round);
        self.bytes = self.bytes.saturating_sub(host.memory());
        self.large_rules -= large_rules_memory(host.rules_bytes);
        self.by_origin.remove(&host.origin);
        self.free.push(index);
        host
    }

    /// A URL has left the queue of a host.
    pub(super) fn count_off(&mut self, item: &Item) {
        self.bytes = self.bytes.saturating_sub(item.memory());
        self.buffered -= 1;
    }

    /// Changes what is known of a host, and with it what it takes.
    pub(super) fn change(&mut self, index: u32, change: impl FnOnce(&mut Host)) {
        let host = self.host_mut(index);
        let before = (host.memory(), large_rules_memory(host.rules_bytes));
        change(host);
        let after = (host.memory(), large_rules_memory(host.rules_bytes));
        self.bytes = (self.bytes + after.0).saturating_sub(before.0);
        self.large_rules = self.large_rules + after.1 - before.1;
    }

    /// A host has something to do from now on, or not any more.
    pub(super) fn count_busy(&mut self, busy: bool, newcomer: bool) {
        let count = |counter: &mut usize| *counter = if busy { *counter + 1 } else { counter.saturating_sub(1) };
        count(&mut self.busy);
        if newcomer {
            count(&mut self.newcomers);
        }
    }

    /// Indices of all hosts, in order.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.slots).filter(|(_, slot)| slot.host.is_some()).map(|(index, _)| index)
    }

    /// All hosts, in order.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.slots.iter().filter_map(|slot| slot.host.as_ref())
    }

    /// Puts a host into the idle queue.
    pub(super) fn idle(&mut self, index: u32) {
        let reference = self.reference(index);
        self.idle.push_back(reference);
        if self.idle.len() > 4 * self.len() + ENTRIES_SPARE {
            let mut queue = std::mem::take(&mut self.idle);
            queue.retain(|&reference| {
                self.resolve(reference).is_some_and(|index| self.host(index).place == WaitState::Idle)
            });
            // A host that was idle several times is in line several times: its last entry counts.
            let mut seen = std::collections::BTreeSet::new();
            let kept: VecDeque<_> = queue.into_iter().rev().filter(|&reference| seen.insert(reference)).collect();
            self.idle = kept.into_iter().rev().collect();
        }
    }

    /// A host waited for the next round before, or does so now.
    pub(super) fn count_resting(&mut self, before: bool, now: bool) {
        self.resting_hosts = self.resting_hosts + usize::from(now) - usize::from(before);
    }

    /// Puts a host into the queue of those that wait for the next round.
    pub(super) fn rest(&mut self, index: u32) {
        let reference = self.reference(index);
        self.resting.push_back(reference);
        if self.resting.len() > 2 * self.len() + ENTRIES_SPARE {
            let mut queue = std::mem::take(&mut self.resting);
            let mut seen = std::collections::BTreeSet::new();
            queue.retain(|&reference| self.resolve_resting(reference).is_some() && seen.insert(reference));
            self.resting = queue;
        }
    }

    /// The index of a host that waits for the next round, if it does.
    fn resolve_resting(&self, reference: HostRef) -> Option<u32> {
        self.resolve(reference).filter(|&index| self.host(index).place == WaitState::Round)
    }

    /// Takes the host out of the queue that has waited longest for the next round.
    fn next_resting(&mut self) -> Option<u32> {
        while let Some(reference) = self.resting.pop_front() {
            if let Some(index) = self.resolve_resting(reference) {
                return Some(index);
            }
        }
        None
    }

    /// All hosts that wait for the next round; the queue is empty then.
    pub(super) fn take_resting(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.next_resting()).collect()
    }

    /// A host has had its turn, and others may want its place.
    pub(super) fn turn_over(&mut self, index: u32) {
        let reference = self.reference(index);
        self.turns_over.push(reference);
    }

    /// Puts a host into the queue of those that may be parked.
    pub(super) fn parkable(&mut self, index: u32) {
        if !std::mem::replace(&mut self.host_mut(index).parkable, true) {
            let reference = self.reference(index);
            self.parkable.push_back(reference);
            if self.parkable.len() > 2 * self.len() + ENTRIES_SPARE {
                let mut queue = std::mem::take(&mut self.parkable);
                queue.retain(|&reference| self.resolve(reference).is_some());
                self.parkable = queue;
            }
        }
    }

    /// A host that may leave at `now`: one that has been idle longest, else one that waits for the next round, else one
    /// that is held back for long, else one that is idle and still rests from its last request.
    pub(super) fn evictable(&mut self, now: Time) -> Option<u32> {
        let mut resting = None;
        for _ in 0..PLACE_TRIES {
            let Some((reference, index)) = self.next_idle() else { break };
            if self.host(index).standing.available() <= now {
                self.idle.extend(resting.map(|(reference, _)| reference));
                return Some(index);
            }
            match resting {
                None => resting = Some((reference, index)),
                Some(_) => self.idle.push_back(reference),
            }
        }
        if let Some(index) = self.next_resting().or_else(|| self.held_back(now)) {
            self.idle.extend(resting.map(|(reference, _)| reference));
            return Some(index);
        }
        resting.map(|(_, index)| index)
    }

    /// Takes the first host out of the idle queue that is idle.
    fn next_idle(&mut self) -> Option<(HostRef, u32)> {
        while let Some(reference) = self.idle.pop_front() {
            if let Some(index) = self.resolve(reference)
                && self.host(index).place == WaitState::Idle
            {
                return Some((reference, index));
            }
        }
        None
    }

    /// A host at rest that could not be contacted for long when it was put in line, and cannot yet.
    fn held_back(&mut self, now: Time) -> Option<u32> {
        for _ in 0..self.parkable.len().min(PLACE_TRIES) {
            let reference = self.parkable.pop_front()?;
            let Some(index) = self.resolve(reference) else { continue };
            let host = self.host_mut(index);
            if host.comes_up() <= now {
                host.parkable = false;
            } else if host.is_at_rest() && matches!(host.place, WaitState::Scheduled(_) | WaitState::Idle) {
                return Some(index);
            } else {
                self.parkable.push_back(reference);
            }
        }
        None
    }

    /// The host at rest that has the largest rules.
    pub(super) fn greediest(&self) -> Option<u32> {
        let at_rest =
            |host: &Host| host.is_at_rest() && matches!(host.place, WaitState::Scheduled(_) | WaitState::Idle);
        self.with_most_rules(at_rest)
    }

    /// The host with the largest rules, if it has any, among those that have nothing to do and may be asked at `now`.
    pub(super) fn largest_idle(&self, now: Time) -> Option<u32> {
        self.with_most_rules(|host| host.place == WaitState::Idle && host.standing.available() <= now)
    }

    fn with_most_rules(&self, may_leave: impl Fn(&Host) -> bool) -> Option<u32> {
        let hosts = self.indices().filter(|&index| self.host(index).rules_bytes > 0 && may_leave(self.host(index)));
        hosts.max_by_key(|&index| self.host(index).rules_bytes)
    }

    /// Returns whether the host of `origin` is here: its robots and DNS answers are here or in progress.
    pub fn knows(&self, origin: Fingerprint) -> bool {
        self.find(origin).is_some()
    }

    /// Tasks that are out and not answered.
    #[cfg(test)]
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Hosts of which something may be done at `now`, as far as their own time is concerned.
    pub fn ready_hosts(&self, now: Time) -> usize {
        let ready = |host: &&Host| matches!(host.place, WaitState::Scheduled(due) if due <= now);
        self.hosts().filter(ready).count()
    }

    /// Hosts with URLs in memory that have to wait: for their time, their address, or their domain's budget or round.
    pub fn waiting_hosts(&self, now: Time) -> usize {
        let waits = |host: &&Host| match host.place {
            WaitState::Scheduled(due) => due > now,
            WaitState::Address | WaitState::Name | WaitState::Domain | WaitState::Suspect | WaitState::Round => true,
            WaitState::Nowhere | WaitState::Idle => false,
        };
        self.hosts().filter(waits).count()
    }

    /// The number of hosts.
    pub fn count(&self) -> usize {
        self.len()
    }

    /// Bytes of memory that they and their URLs take.
    pub fn memory(&self) -> usize {
        self.bytes
    }

    /// Returns how the host is held back, while it is active.
    pub fn held(&self, host: HostId) -> Option<Held> {
        let standing = &self.host(self.resolve_id(host)?).standing;
        let robots_failing_since = (standing.robots_level > 0).then_some(standing.robots_failing_since);
        Some(Held { until: standing.backoff_until, robots_failing_since })
    }

    /// Returns the kind of the request that was handed out for `host`.
    pub fn contact_of(&self, host: HostId) -> Contact {
        self.resolve_id(host).map_or(Contact::Known, |index| self.host(index).contact)
    }

    /// Returns whether the request that `host` names is over, and its URL not done.
    pub(super) fn has_received(&self, host: HostId) -> bool {
        let found = self.resolve_id(host).map(|index| self.host(index));
        found.is_some_and(|found| found.received.iter().any(|&(flight, _)| flight == host.flight))
    }

    /// A request for `host` brought nothing, or its name no address.
    pub fn blame(&mut self, host: HostId, blame: HostFault) {
        if let Some(index) = self.resolve_id(host) {
            self.host_mut(index).standing.blame = Some(blame);
        }
    }

    /// Takes `host` for one that never answered, because of `fault`, until a request to it is answered again.
    pub fn fall_silent(&mut self, host: HostId, fault: HostFault) {
        if let Some(index) = self.resolve_id(host) {
            let standing = &mut self.host_mut(index).standing;
            (standing.answered, standing.blame) = (false, Some(fault));
        }
    }

    /// Returns the cause for which the host of `origin` delivers nothing, while it is active.
    pub fn blame_of(&self, origin: Fingerprint) -> Option<HostFault> {
        self.host(self.find(origin)?).standing.blame
    }

    /// A host waits for its addresses from now on: the task that asks for them.
    pub(super) fn resolve_name(&mut self, index: u32) -> Task {
        self.in_flight += 1;
        let host = self.host_mut(index);
        host.pending = Some(Pending::Resolve);
        let name = host.name().into();
        Task::Resolve { host: self.id(index, 0), name }
    }
}
