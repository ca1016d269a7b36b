//! The bound of the bytes a second that go to a store, or come from it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are sent at once. Nobody waits longer than they take.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Bytes a second for all that share it: who sends reserves a time first, one after the other.
#[derive(Debug)]
pub struct Pace {
    bytes_per_second: Option<u64>,
    /// Time at which the bytes that were reserved last are through.
    free_at: Mutex<Option<Instant>>,
}

impl Pace {
    /// Makes a pace of this many bytes a second. `None` for as fast as it goes.
    pub(crate) fn new(bytes_per_second: Option<u64>) -> Pace {
        Pace { bytes_per_second: bytes_per_second.map(|rate| rate.max(1)), free_at: Mutex::new(None) }
    }

    /// Returns when `bytes` may be sent, for somebody who asks at `now`. `None`: at once.
    pub(crate) fn reserve(&self, bytes: usize, now: Instant) -> Option<Instant> {
        let rate = self.bytes_per_second?;
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let at = free_at.unwrap_or(now).max(now);
        *free_at = Some(at + Duration::from_secs_f64(bytes as f64 / rate as f64));
        (at > now).then_some(at)
    }

    /// Blocks until `bytes` may be sent.
    pub(crate) fn wait(&self, bytes: usize) {
        let now = Instant::now();
        if let Some(at) = self.reserve(bytes, now) {
            std::thread::sleep(at - now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spread_over_time_and_idle_time_is_not_saved_up() {
        let (pace, start) = (Pace::new(Some(1_000)), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(pace.reserve(500, start), None);
        assert_eq!(pace.reserve(500, start), Some(at(500)));
        assert_eq!(pace.reserve(1, at(600)), Some(at(1_000)));
        assert_eq!(pace.reserve(2_000, at(60_000)), None, "a burst of one reservation, however long nobody sent");
        assert_eq!(pace.reserve(1, at(60_000)), Some(at(62_000)));
        let none = Pace::new(None);
        assert!((0..10).all(|_| none.reserve(usize::MAX, start).is_none()));
    }
}
