//! The limit of connections that stay open without a request, over all hosts together.
//!
//! The client keeps idle connections by host and knows no sum of them, so a crawl of many hosts could run out of
//! sockets. Here every origin that may have an idle connection holds a place until that connection is closed for sure.
//! While all places are held, other origins are asked over connections that are closed behind the answer. So at most
//! `fetch.workers` connections are in use and as many as there are places (and, for a moment, workers) are idle.
//!
//! An origin whose kept connections are dead whenever they are used again gets none any more: there a kept connection
//! costs a second request and saves nothing.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::strikes::Strikes;

/// The client closes a connection that was idle for this long.
pub(super) const IDLE: Duration = Duration::from_secs(20);
/// It looks for such connections as often, so one may stay for nearly twice the time.
const PLACE_HELD: Duration = IDLE.saturating_mul(2);

/// Kept connections in a row that may die under their next request before none are kept.
const DEATHS: u8 = 2;

/// Places for origins whose connections are kept.
#[derive(Debug)]
pub(super) struct IdlePlaces {
    places: usize,
    hasher: RandomState,
    held: Mutex<Held>,
    deaths: Strikes,
}

#[derive(Debug, Default)]
struct Held {
    /// Time at which an origin, by its hash, was asked last.
    last: HashMap<u64, Instant>,
    /// Every origin of `last` once, by a time that is not later than its last.
    order: VecDeque<(Instant, u64)>,
}

impl IdlePlaces {
    /// Makes this many places.
    pub(super) fn new(places: usize) -> Self {
        IdlePlaces { places, hasher: RandomState::new(), held: Mutex::default(), deaths: Strikes::up_to(DEATHS) }
    }

    /// Returns whether the connection for a request to `origin` may be kept after it.
    pub(super) fn take(&self, origin: &str, now: Instant) -> bool {
        if self.deaths.is_out(origin) {
            return false;
        }
        let key = self.hasher.hash_one(origin);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.expire(now);
        if !held.last.contains_key(&key) && held.last.len() >= self.places {
            return false;
        }
        held.touch(key, now);
        true
    }

    /// A connection to `origin` that was kept died under its next request.
    pub(super) fn died(&self, origin: &str) {
        self.deaths.add(origin);
    }

    /// A connection to `origin` that was kept brought the answer to its next request.
    pub(super) fn survived(&self, origin: &str) {
        self.deaths.clear(origin);
    }

    /// The request ended, and its connection is idle from now on.
    pub(super) fn leave_idle(&self, origin: &str, now: Instant) {
        let key = self.hasher.hash_one(origin);
        self.held.lock().unwrap_or_else(PoisonError::into_inner).touch(key, now);
    }
}

impl Held {
    fn touch(&mut self, key: u64, now: Instant) {
        if self.last.insert(key, now).is_none() {
            self.order.push_back((now, key));
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(&(since, key)) = self.order.front()
            && now.duration_since(since) >= PLACE_HELD
        {
            self.order.pop_front();
            match self.last.get(&key) {
                Some(&last) if now.duration_since(last) < PLACE_HELD => self.order.push_back((last, key)),
                _ => drop(self.last.remove(&key)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_connection_is_closed() {
        let places = IdlePlaces::new(2);
        let start = Instant::now();
        assert!(places.take("a", start));
        assert!(places.take("b", start + IDLE));
        assert!(!places.take("c", start + IDLE));
        assert!(places.take("a", start + IDLE), "it has a place");
        // b goes, a was asked later
        places.leave_idle("a", start + IDLE + IDLE / 2);
        assert!(!places.take("c", start + PLACE_HELD + IDLE / 2));
        assert!(places.take("c", start + PLACE_HELD + IDLE));
        assert!(!places.take("d", start + PLACE_HELD + IDLE));
        assert!(places.take("d", start + PLACE_HELD + IDLE + IDLE / 2));
    }

    #[test]
    fn an_origin_whose_kept_connections_die_in_a_row_gets_none() {
        let places = IdlePlaces::new(2);
        let start = Instant::now();
        places.died("a");
        places.survived("a");
        places.died("a");
        assert!(places.take("a", start), "not in a row");
        places.died("a");
        assert!(!places.take("a", start));
        places.survived("a");
        assert!(!places.take("a", start), "for good");
        assert!(places.take("b", start));
    }

    #[test]
    fn twenty_thousand_hosts_hold_no_more_than_the_places() {
        let places = IdlePlaces::new(1_000);
        let start = Instant::now();
        let mut kept = 0;
        for number in 0..20_000_u32 {
            kept += usize::from(places.take(&number.to_string(), start + number * Duration::from_millis(1)));
        }
        assert_eq!(kept, 1_000);
        let held = places.held.lock().unwrap();
        assert_eq!((held.last.len(), held.order.len()), (1_000, 1_000));
    }
}
