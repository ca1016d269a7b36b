//! Limits of the whole crawl, kept exactly by all engines of a process together.
//!
//! Every engine says what it has: pages that are stored or in flight, and bytes that have come. A page is begun only
//! with a reservation, so that no two engines take the last one; what becomes of it is settled with what the engine has
//! next. One engine alone has a quota of its own, and counts as it always did.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::record::Finish;

/// What all engines have together.
#[derive(Debug, Default)]
pub struct Quota {
    /// Pages that are stored, in flight or reserved.
    taken: AtomicU64,
    stored: AtomicU64,
    bytes: AtomicU64,
    stop: OnceLock<Finish>,
}

/// What one engine has of it.
#[derive(Debug)]
pub(super) struct OwnQuota {
    quota: Arc<Quota>,
    taken: u64,
    stored: u64,
    bytes: u64,
    is_reserved: bool,
}

impl OwnQuota {
    pub fn new(quota: Arc<Quota>) -> OwnQuota {
        OwnQuota { quota, taken: 0, stored: 0, bytes: 0, is_reserved: false }
    }

    /// The engine has so many pages stored, so many in flight, and has received so many bytes.
    pub fn settle(&mut self, stored: u64, in_flight: u64, bytes: u64) {
        let reserved = u64::from(self.is_reserved);
        change(&self.quota.taken, &mut self.taken, stored + in_flight + reserved);
        change(&self.quota.stored, &mut self.stored, stored);
        change(&self.quota.bytes, &mut self.bytes, bytes);
    }

    /// Reserves a page, unless that is done or there is none left of `limit`; says whether there is one.
    pub fn reserve(&mut self, limit: u64) -> bool {
        if !self.is_reserved {
            let take = |taken| (taken < limit).then_some(taken + 1);
            self.is_reserved = self.quota.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
            self.taken += u64::from(self.is_reserved);
        }
        self.is_reserved
    }

    /// Whether pages that are stored, in flight or reserved are as many as `limit` permits.
    pub fn is_taken(&self, limit: u64) -> bool {
        self.quota.taken.load(Ordering::Relaxed) >= limit
    }

    /// The page that was reserved is in flight.
    pub fn begin(&mut self) {
        self.is_reserved = false;
    }

    /// What was reserved is not needed.
    pub fn give_back(&mut self) {
        if std::mem::take(&mut self.is_reserved) {
            let less = self.taken - 1;
            change(&self.quota.taken, &mut self.taken, less);
        }
    }

    /// Pages stored by all engines.
    pub fn stored(&self) -> u64 {
        self.quota.stored.load(Ordering::Relaxed)
    }

    /// Bytes received by all engines.
    pub fn bytes(&self) -> u64 {
        self.quota.bytes.load(Ordering::Relaxed)
    }

    /// The whole crawl stops for this reason, unless it does for another one.
    pub fn stop_all(&self, finish: Finish) {
        // the first reason counts
        let _ = self.quota.stop.set(finish);
    }

    /// Why the whole crawl stops, if it does.
    pub fn stop(&self) -> Option<Finish> {
        self.quota.stop.get().copied()
    }
}

/// Brings a sum up to date with a part that was `before` and is `now`.
fn change(sum: &AtomicU64, before: &mut u64, now: u64) {
    if now != *before {
        // by the difference, which may be a negative one: sums wrap around as they should
        sum.fetch_add(now.wrapping_sub(*before), Ordering::Relaxed);
        *before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_is_taken_by_one_engine() {
        let quota = Arc::new(Quota::default());
        let [mut one, mut other] = [(); 2].map(|()| OwnQuota::new(quota.clone()));
        one.settle(3, 0, 100);
        other.settle(5, 1, 50);
        assert_eq!((one.stored(), other.bytes()), (8, 150));
        assert!(one.reserve(10) && one.reserve(10), "one reservation");
        assert!(!other.reserve(10));
        one.begin();
        one.settle(3, 1, 100);
        assert!(!other.reserve(10));
        // its page failed
        one.settle(3, 0, 100);
        assert!(other.reserve(10));
        other.give_back();
        assert!(one.reserve(10));
    }

    #[test]
    fn threads_together_take_as_many_as_there_are() {
        let quota = Arc::new(Quota::default());
        let taken: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let mut own = OwnQuota::new(quota.clone());
                    scope.spawn(move || {
                        let mut stored = 0;
                        while own.reserve(10_000) {
                            own.begin();
                            stored += 1;
                            own.settle(stored, 0, 0);
                        }
                        stored
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 10_000);
    }
}
