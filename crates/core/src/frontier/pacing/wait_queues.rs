//! The schedule, and the queues at addresses, names and silent networks in which hosts wait for their turn.
//!
//! Invariant: a host that waits has one place that counts, an entry of the schedule or a place in a queue that has one;
//! what it left elsewhere is passed over, and swept when that is most of it.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::clock::Time;
use crate::fingerprint::Fingerprint;
use crate::frontier::active::Active;
use crate::frontier::address::Addresses;
use crate::frontier::address_queue::WaitingHost;
use crate::frontier::first_contacts::{Contact, FirstContacts, network};
use crate::frontier::host::{Host, WaitState};
use crate::frontier::names::Names;
use crate::frontier::options::Politeness;
use crate::frontier::schedule::{Entry, HostRef, Lane, Schedule};
use crate::frontier::suspects::Suspects;
use crate::frontier::tuning::{EARNED, ENTRIES_SPARE, SUSPECTS_LOOK_EVERY};

/// Suspects that an answer lets come up.
#[derive(Clone, Copy, Debug)]
pub(in crate::frontier) struct Woken {
    /// The network whose queue they wait in.
    pub network: IpAddr,
    /// The most of them.
    pub count: usize,
}

/// Networks in whose queues suspects wait, in the order of their turns.
#[derive(Debug)]
pub(in crate::frontier) struct SuspectTurns {
    /// Networks that stay silent.
    pub silent: VecDeque<IpAddr>,
    /// Networks that do not, any more.
    pub others: Vec<IpAddr>,
}

/// All queues, and the schedule by which they come up.
#[derive(Debug)]
pub(in crate::frontier) struct WaitQueues {
    schedule: Schedule,
    pub(super) addresses: Addresses,
    pub(super) names: Names,
    first_contacts: FirstContacts,
    suspects: Suspects,
}

impl WaitQueues {
    /// Empty queues of these addresses and names.
    pub(super) fn new(addresses: Addresses, names: Names) -> Self {
        let (schedule, first_contacts, suspects) = Default::default();
        WaitQueues { schedule, addresses, names, first_contacts, suspects }
    }

    /// Returns whether something is due at `now`.
    pub(in crate::frontier) fn has_ready(&self, now: Time) -> bool {
        self.next_due().is_some_and(|due| due <= now)
    }

    /// Returns the time at which the next entry comes up.
    pub(in crate::frontier) fn next_due(&self) -> Option<Time> {
        self.schedule.next_due()
    }

    /// Takes out the entry whose turn it is at `now`, with its time.
    pub(in crate::frontier) fn next_entry(&mut self, now: Time) -> Option<(Time, Entry)> {
        self.schedule.advance(now);
        self.schedule.pop()
    }

    /// Lets a host come up at `due`, in the turn of `lane`.
    pub(in crate::frontier) fn schedule_host(&mut self, due: Time, host: HostRef, lane: Lane) {
        self.schedule.push(due, Entry::Host(host), Some(lane));
    }

    /// Lets a host wait for `ip`.
    pub(in crate::frontier) fn wait_for_address(&mut self, active: &mut Active, index: u32, ip: IpAddr) {
        let reference = active.reference(index);
        let host = active.host_mut(index);
        host.place = WaitState::Address;
        let waiting = WaitingHost { host: reference, domain: host.domain, acquaintance: host.standing.acquaintance() };
        if let Some(due) = self.addresses.wait(ip, waiting) {
            self.schedule.push(due, Entry::Address(ip), None);
        }
        self.sweep(active);
    }

    /// Takes the host out of the queue at `ip` whose turn it is, if the address is free at `now`.
    pub(in crate::frontier) fn next_at_address(&mut self, ip: IpAddr, now: Time) -> Option<HostRef> {
        self.addresses.pop(ip, now)
    }

    /// Lets the queue at `ip` come up again, if hosts still wait there.
    pub(in crate::frontier) fn reschedule_address(&mut self, ip: IpAddr) {
        if let Some(due) = self.addresses.reschedule(ip) {
            self.schedule.push(due, Entry::Address(ip), None);
        }
    }

    /// Removes what hosts have left in the schedule and in the queues of addresses and names, when that is most of it.
    /// A host has one entry of its own, or a place in the queue of an address that has one.
    pub(in crate::frontier) fn sweep(&mut self, active: &Active) {
        let waiting = self.addresses.waiting() + self.suspects.len();
        if self.schedule.len() + waiting <= 4 * active.len() + ENTRIES_SPARE {
            return;
        }
        let WaitQueues { addresses, names, schedule, suspects, .. } = self;
        let place = |host: HostRef| active.resolve(host).map(|index| active.host(index).place);
        addresses.retain_waiting(|host| place(host) == Some(WaitState::Address));
        names.retain_waiting(|host| place(host) == Some(WaitState::Name));
        suspects.retain(|host| place(host) == Some(WaitState::Suspect));
        schedule.retain(|due, entry| match entry {
            Entry::Host(host) => place(host) == Some(WaitState::Scheduled(due)),
            Entry::Address(ip) => addresses.is_scheduled(ip),
            Entry::Name(name) => names.is_scheduled(name, due),
            Entry::Suspects => suspects.is_scheduled(),
        });
    }

    /// Entries of the schedule.
    #[cfg(test)]
    pub(in crate::frontier) fn entries(&self) -> usize {
        self.schedule.len()
    }

    /// Entries of the schedule, and places in the queues of addresses and suspects.
    #[cfg(test)]
    pub(in crate::frontier) fn scheduled(&self) -> usize {
        self.schedule.len() + self.addresses.waiting() + self.suspects.len()
    }

    /// First contacts that are in progress, at addresses and in networks.
    #[cfg(test)]
    pub(in crate::frontier) fn first_contacts_in_flight(&self) -> Vec<u32> {
        self.first_contacts.in_flight()
    }

    /// Suspects that wait.
    #[cfg(test)]
    pub(in crate::frontier) fn suspects(&self) -> usize {
        self.suspects.len()
    }

    /// Returns whether the name of a host whose time has come is free at `now`; otherwise the host waits in line for
    /// its turn.
    pub(super) fn has_turn(&mut self, active: &mut Active, index: u32, politeness: &Politeness, now: Time) -> bool {
        let host = active.host(index);
        let Some(name) = host.name_key else { return true };
        if self.names.is_free(name, host, politeness, now) {
            return true;
        }
        active.host_mut(index).place = WaitState::Name;
        self.names.wait(name, active.reference(index), now);
        self.schedule_name(active, name, politeness);
        false
    }

    /// Lets a queue come up when its first host may go on, unless a request has to end before.
    pub(super) fn schedule_name(&mut self, active: &Active, name: Fingerprint, politeness: &Politeness) {
        if let Some(due) = self.names.reschedule(name, active, politeness) {
            self.schedule.push(due, Entry::Name(name), None);
        }
    }

    /// Says whether the queue at `name` comes up at `due`: then those who wait there have their turn.
    pub(in crate::frontier) fn begin_turns(&mut self, name: Fingerprint, due: Time) -> bool {
        self.names.begin_turns(name, due)
    }

    /// A host that may not be contacted at `ip` now waits until it may.
    pub(in crate::frontier) fn wait_as_suspect(&mut self, active: &Active, index: u32, ip: IpAddr, now: Time) {
        self.suspects.push(network(ip), active.reference(index));
        self.look_again(now);
        self.sweep(active);
    }

    /// Looks now and then how many places there are, while suspects wait for them.
    pub(in crate::frontier) fn look_again(&mut self, now: Time) {
        if self.suspects.is_look_due() {
            self.schedule.push(now + SUSPECTS_LOOK_EVERY, Entry::Suspects, None);
        }
    }

    /// Returns the networks whose suspects may have their turn now.
    pub(in crate::frontier) fn suspect_turns(&mut self, now: Time) -> SuspectTurns {
        self.suspects.note_look();
        let is_silent = |network: &IpAddr| self.first_contacts.is_silent(*network, now);
        let (silent, others): (Vec<_>, Vec<_>) = self.suspects.in_turn().partition(is_silent);
        SuspectTurns { silent: silent.into(), others }
    }

    /// Takes the first host out of the queue of `network` that still waits.
    pub(in crate::frontier) fn next_suspect(&mut self, active: &Active, network: IpAddr) -> Option<u32> {
        while let Some(reference) = self.suspects.pop(network) {
            let waits = |&index: &u32| active.host(index).place == WaitState::Suspect;
            if let Some(index) = active.resolve(reference).filter(waits) {
                return Some(index);
            }
        }
        None
    }

    /// `network` had the last turn of suspects.
    pub(in crate::frontier) fn note_suspect_turn(&mut self, network: IpAddr) {
        self.suspects.note_turn(network);
    }

    /// Returns the kind of a request to a host at `ip` now; `None` while it has to wait for its first contact.
    pub(in crate::frontier) fn contact_at(&self, host: &Host, ip: IpAddr, now: Time) -> Option<Contact> {
        if host.standing.answered { Some(Contact::Known) } else { self.first_contacts.next(ip, now) }
    }

    /// A request of a host begins at `ip`: the first contact with it, if there was none.
    pub(super) fn begin_contact(&mut self, host: &mut Host, ip: IpAddr, now: Time) {
        if !host.standing.answered && host.contacting.is_none() {
            host.contacting = Some(ip);
            self.first_contacts.begin(ip, now);
        }
    }

    /// First contacts with `network` that may begin before others are answered.
    pub(in crate::frontier) fn contacts_left(&self, network: IpAddr) -> usize {
        self.first_contacts.may_begin(network)
    }

    /// The number of [`Contact::Suspect`] for which there are places left.
    pub(in crate::frontier) fn suspects_left(&self) -> usize {
        self.first_contacts.room()
    }

    /// Sets the number of [`Contact::Suspect`] that may still begin.
    pub(in crate::frontier) fn let_suspects_in(&mut self, room: usize) {
        self.first_contacts.let_in(room);
    }

    /// Ends the first contact with a host, if one is in progress: `answered` says whether it was answered, if it was
    /// made. An answer lets suspects come up.
    pub(in crate::frontier) fn end_contact(
        &mut self,
        host: &mut Host,
        answered: Option<bool>,
        now: Time,
    ) -> Option<Woken> {
        let ip = host.contacting.take()?;
        self.first_contacts.end(ip, answered, now);
        let count = self.first_contacts.may_begin(ip).min(EARNED);
        (answered == Some(true)).then_some(Woken { network: network(ip), count })
    }
}
