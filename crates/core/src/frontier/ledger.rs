//! Turns that the frontiers of one process share: at addresses, and at host names that two of them ask.
//!
//! A registrable domain belongs to one frontier, which knows what each of its hosts is owed. An address does not: hosts
//! of all shards may share one. And a robots.txt that redirects to another domain is fetched by the shard that asks for
//! it, from a host that another shard owns. So before a request leaves, its frontier takes the turn of the address and
//! of the name here, last of all: then no two requests of the process are nearer to each other than they may be,
//! whichever shard makes them. A crawl of one shard has no ledger.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::tuning::{ENTRIES_SPARE, NAME_REMEMBERED, PREREQUISITE_ASKS_AGAIN};
use crate::clock::Time;
use crate::fingerprint::Fingerprint;

/// The turns that were taken.
#[derive(Debug, Default)]
pub struct Ledger {
    turns: Mutex<Turns>,
    /// Machines whose shards may ask hosts of this one's for robots.txt, beside this one.
    others: AtomicU32,
}

#[derive(Debug, Default)]
struct Turns {
    addresses: Swept<IpAddr, Time>,
    names: Swept<Fingerprint, NameTurn>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NameTurn {
    due: Time,
    /// Time at which a request was in progress last.
    last: Time,
    requests: usize,
}

impl NameTurn {
    /// Returns whether it says anything at `now`.
    fn is_needed(&self, now: Time) -> bool {
        self.requests > 0 || self.due > now || self.last + NAME_REMEMBERED > now
    }
}

/// A request that wants to leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The origin that it goes to, which may rest by itself.
    pub origin: Fingerprint,
    /// Its name, and how many requests to it may be in progress.
    pub name: Fingerprint,
    pub connections: usize,
    /// The least time between it and the requests to the name before and after it.
    pub delay: Duration,
    /// The address, and the least time between two requests to it.
    pub address: IpAddr,
    pub delay_per_ip: Duration,
}

impl Ledger {
    /// Sets the number of machines that make requests: a name of a shard elsewhere that is asked for robots.txt alone
    /// is left alone for as many times its delay, since each of them may ask it.
    pub fn set_machines(&self, machines: usize) {
        let others = u32::try_from(machines.saturating_sub(1)).unwrap_or(u32::MAX);
        self.others.store(others, Ordering::Relaxed);
    }

    /// Returns the multiple of its delay for which a name of a shard elsewhere is left alone.
    pub(super) fn foreign_factor(&self) -> u32 {
        self.others.load(Ordering::Relaxed).saturating_add(1)
    }

    /// Takes the turn, or says when to ask again.
    pub(super) fn take(&self, turn: Turn, now: Time) -> Result<(), Time> {
        let mut turns = self.turns();
        let name = turns.names.get(turn.name);
        if name.requests >= turn.connections {
            return Err(now + PREREQUISITE_ASKS_AGAIN);
        }
        let own = if name.last > Time::ZERO { name.last + turn.delay } else { Time::ZERO };
        let address = turns.addresses.get(turn.address);
        let due = name.due.max(own).max(address).max(turns.names.get(turn.origin).due);
        if due > now {
            return Err(due);
        }
        let requests = name.requests + 1;
        let taken = NameTurn { due: now + turn.delay, last: now, requests };
        turns.names.put(turn.name, taken, |turn| turn.is_needed(now));
        if !turn.delay_per_ip.is_zero() {
            turns.addresses.put(turn.address, now + turn.delay_per_ip, |&due| due > now);
        }
        Ok(())
    }

    /// A request to `name` is over.
    pub(super) fn end(&self, name: Fingerprint, now: Time) {
        self.turns().names.change(name, |name| {
            name.requests = name.requests.saturating_sub(1);
            name.last = name.last.max(now);
        });
    }

    /// Lets `key`, a name or an origin, rest until `until`: whatever holds it back in its own frontier.
    pub(super) fn rest(&self, key: Fingerprint, until: Time, now: Time) {
        let mut turns = self.turns();
        let turn = turns.names.get(key);
        turns.names.put(key, NameTurn { due: turn.due.max(until), ..turn }, |turn| turn.is_needed(now));
    }

    /// Lets `address` rest until `until`.
    pub(super) fn rest_address(&self, address: IpAddr, until: Time, now: Time) {
        let mut turns = self.turns();
        let due = turns.addresses.get(address).max(until);
        turns.addresses.put(address, due, |&due| due > now);
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        // every change is whole before the lock is given back
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A map that forgets entries which say nothing any more, whenever it has doubled.
#[derive(Debug)]
struct Swept<K, V> {
    map: HashMap<K, V>,
    swept: usize,
}

impl<K, V> Default for Swept<K, V> {
    fn default() -> Self {
        Swept { map: HashMap::new(), swept: 0 }
    }
}

impl<K: Eq + Hash, V: Copy + Default> Swept<K, V> {
    fn get(&self, key: K) -> V {
        self.map.get(&key).copied().unwrap_or_default()
    }

    fn put(&mut self, key: K, value: V, is_needed: impl Fn(&V) -> bool) {
        if self.map.len() > 2 * self.swept + ENTRIES_SPARE {
            self.map.retain(|_, value| is_needed(value));
            self.swept = self.map.len();
        }
        self.map.insert(key, value);
    }

    fn change(&mut self, key: K, change: impl FnOnce(&mut V)) {
        if let Some(value) = self.map.get_mut(&key) {
            change(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_000_000);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn turn(name: u64, address: u8) -> Turn {
        Turn {
            origin: Fingerprint::from_bits(name + 1_000_000),
            name: Fingerprint::from_bits(name),
            connections: 1,
            delay: ms(100),
            address: [127, 0, 0, address].into(),
            delay_per_ip: ms(30),
        }
    }

    #[test]
    fn two_frontiers_never_have_the_same_turn() {
        let ledger = Ledger::default();
        ledger.take(turn(1, 1), NOW).unwrap();
        assert_eq!(ledger.take(turn(2, 1), NOW), Err(NOW + ms(30)), "the same address");
        ledger.take(turn(2, 2), NOW).unwrap();
        assert!(ledger.take(turn(1, 3), NOW + ms(500)).is_err(), "a request to the name is in progress");
        ledger.end(Fingerprint::from_bits(1), NOW + ms(500));
        assert_eq!(ledger.take(turn(1, 3), NOW + ms(550)), Err(NOW + ms(600)), "the delay after its end");
        ledger.rest(Fingerprint::from_bits(1_000_001), NOW + ms(900), NOW);
        assert_eq!(ledger.take(turn(1, 3), NOW + ms(650)), Err(NOW + ms(900)));
        ledger.rest_address([127, 0, 0, 3].into(), NOW + ms(950), NOW);
        assert_eq!(ledger.take(turn(1, 3), NOW + ms(900)), Err(NOW + ms(950)));
        ledger.take(turn(1, 3), NOW + ms(950)).unwrap();
    }

    #[test]
    fn an_own_delay_counts_from_whatever_request_was_last() {
        let ledger = Ledger::default();
        ledger.take(turn(1, 1), NOW).unwrap();
        ledger.end(Fingerprint::from_bits(1), NOW + ms(10));
        let patient = Turn { delay: ms(5_000), ..turn(1, 2) };
        assert_eq!(ledger.take(patient, NOW + ms(1_000)), Err(NOW + ms(5_010)));
    }

    #[test]
    fn what_owes_nothing_is_forgotten() {
        let ledger = Ledger::default();
        for number in 0..20_000_u64 {
            let now = NOW + ms(number * 1_000_000);
            let turn = Turn { address: std::net::Ipv4Addr::from(number as u32).into(), ..turn(number, 0) };
            ledger.take(turn, now).unwrap();
            ledger.end(turn.name, now);
        }
        let turns = ledger.turns();
        assert!(turns.names.map.len() < 3_000 && turns.addresses.map.len() < 3_000);
    }
}
