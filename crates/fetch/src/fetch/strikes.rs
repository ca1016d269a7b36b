//! Strikes by origin: how often in a row something went wrong there.
//!
//! The memory is bounded, the origins that were met last stay, and it lasts as long as the process: a server may be
//! repaired.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Origins that are remembered.
pub(super) const ORIGINS_MAX: usize = 16_384;

/// Strikes by origin, up to a number that is never taken back.
///
/// Two generations approximate an order by use: when the younger one is full, the older one is forgotten.
#[derive(Debug)]
pub(super) struct Strikes {
    max: u8,
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Box<str>, u8>,
    old: HashMap<Box<str>, u8>,
}

impl Strikes {
    /// No strikes yet; an origin with `max` of them is out.
    pub(super) fn up_to(max: u8) -> Self {
        Strikes { max, generations: Mutex::default() }
    }

    /// Returns whether `origin` has as many as there may be.
    pub(super) fn is_out(&self, origin: &str) -> bool {
        self.with(|generations| generations.strikes(origin) >= self.max)
    }

    /// Adds one for `origin`; says whether it is out.
    pub(super) fn add(&self, origin: &str) -> bool {
        self.with(|generations| {
            let strikes = generations.strikes(origin).saturating_add(1).min(self.max);
            generations.put(origin, strikes);
            strikes == self.max
        })
    }

    /// `origin` is out at once.
    pub(super) fn put_out(&self, origin: &str) {
        self.with(|generations| generations.put(origin, self.max));
    }

    /// Takes back the strikes of `origin`, unless it is out.
    pub(super) fn clear(&self, origin: &str) {
        self.with(|generations| {
            if generations.strikes(origin) < self.max {
                generations.young.remove(origin);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Generations) -> T) -> T {
        work(&mut self.generations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Origins that are known.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.with(|generations| generations.young.len() + generations.old.len())
    }
}

impl Generations {
    /// The strikes of `origin`, which is young again.
    fn strikes(&mut self, origin: &str) -> u8 {
        if let Some(&strikes) = self.young.get(origin) {
            return strikes;
        }
        match self.old.remove(origin) {
            Some(strikes) => {
                self.put(origin, strikes);
                strikes
            }
            None => 0,
        }
    }

    fn put(&mut self, origin: &str, strikes: u8) {
        if self.young.len() >= ORIGINS_MAX / 2 && !self.young.contains_key(origin) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(origin.into(), strikes);
    }
}
