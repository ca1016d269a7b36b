//! Strikes by origin: how often in a row something went wrong there.
//!
//! The memory is bounded, the origins that were met last stay, and it lasts as long as the process: a server may be
//! repaired.

use std::sync::{Mutex, PoisonError};

use super::generations::Generations;

/// Origins that are remembered.
pub(super) const ORIGINS_MAX: usize = 16_384;

/// Strikes by origin, up to a number that is never taken back.
#[derive(Debug)]
pub(super) struct Strikes {
    max: u8,
    origins: Mutex<Generations<Box<str>, u8>>,
}

impl Strikes {
    /// No strikes yet; an origin with `max` of them is out.
    pub(super) fn up_to(max: u8) -> Self {
        Strikes { max, origins: Mutex::new(Generations::of(ORIGINS_MAX)) }
    }

    /// Returns whether `origin` has as many as there may be.
    pub(super) fn is_out(&self, origin: &str) -> bool {
        self.with(|origins| origins.get(origin).unwrap_or(0) >= self.max)
    }

    /// Adds one for `origin`; says whether it is out.
    pub(super) fn add(&self, origin: &str) -> bool {
        self.with(|origins| {
            let strikes = origins.get(origin).unwrap_or(0).saturating_add(1).min(self.max);
            origins.put(origin.into(), strikes);
            strikes == self.max
        })
    }

    /// `origin` is out at once.
    pub(super) fn put_out(&self, origin: &str) {
        self.with(|origins| origins.put(origin.into(), self.max));
    }

    /// Takes back the strikes of `origin`, unless it is out.
    pub(super) fn clear(&self, origin: &str) {
        self.with(|origins| {
            if origins.get(origin).is_some_and(|strikes| strikes < self.max) {
                origins.remove(origin);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Generations<Box<str>, u8>) -> T) -> T {
        work(&mut self.origins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Origins that are known.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.with(|origins| origins.known())
    }
}
