//! Limits of the whole crawl, kept exactly by all engines of a process together.
//!
//! Every engine says what it has: pages that are stored or in flight, and bytes that have come. A page is begun only
//! with a reservation, so that no two engines take the last one; what becomes of it is settled with what the engine has
//! next: one that turns out to be a redirect leaves its place to another. One engine alone has its own quota, and
//! counts as it always did. Where other machines have parts of the limits, what this engine may have is in its
//! [`Allowance`] instead.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::allowance::Allowance;
use crate::record::Finish;

/// Pages and bytes that all engines have together.
#[derive(Debug, Default)]
pub struct Quota {
    /// Pages that are stored, in flight or reserved.
    taken: AtomicU64,
    stored: AtomicU64,
    bytes: AtomicU64,
    stop: OnceLock<Finish>,
}

impl Quota {
    /// Returns why the whole crawl stops, as far as this process says so.
    pub fn stop(&self) -> Option<Finish> {
        self.stop.get().copied()
    }
}

/// One engine's part of a [`Quota`].
#[derive(Debug)]
pub(super) struct OwnQuota {
    quota: Arc<Quota>,
    /// The engine's share, where the limits are dealt out elsewhere.
    allowance: Option<Arc<Allowance>>,
    taken: u64,
    stored: u64,
    bytes: u64,
    is_reserved: bool,
}

impl OwnQuota {
    pub(crate) fn new(quota: Arc<Quota>, allowance: Option<Arc<Allowance>>) -> OwnQuota {
        OwnQuota { quota, allowance, taken: 0, stored: 0, bytes: 0, is_reserved: false }
    }

    /// The engine has so many pages stored, so many in flight, and has received so many bytes.
    pub(crate) fn settle(&mut self, stored: u64, in_flight: u64, bytes: u64) {
        let reserved = u64::from(self.is_reserved);
        change(&self.quota.taken, &mut self.taken, stored + in_flight + reserved);
        change(&self.quota.stored, &mut self.stored, stored);
        change(&self.quota.bytes, &mut self.bytes, bytes);
        if let Some(allowance) = &self.allowance {
            allowance.settle(stored, self.taken, bytes);
        }
    }

    /// Reserves a page, unless that is done or there is none left; says whether there is one. Left of `limit`, or of
    /// what was granted.
    pub(crate) fn reserve(&mut self, limit: Option<u64>) -> bool {
        if let Some(allowance) = &self.allowance {
            if !self.is_reserved && allowance.take() {
                self.is_reserved = true;
                let more = self.taken + 1;
                change(&self.quota.taken, &mut self.taken, more);
            }
            return self.is_reserved;
        }
        let Some(limit) = limit else { return true };
        if !self.is_reserved {
            let take = |taken| (taken < limit).then_some(taken + 1);
            self.is_reserved = self.quota.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
            self.taken += u64::from(self.is_reserved);
        }
        self.is_reserved
    }

    /// Returns whether pages that are stored, in flight or reserved are as many as `limit` permits, or as were granted.
    pub(crate) fn is_taken(&self, limit: Option<u64>) -> bool {
        match &self.allowance {
            Some(allowance) => allowance.waits(),
            None => limit.is_some_and(|limit| self.quota.taken.load(Ordering::Relaxed) >= limit),
        }
    }

    /// The page that was reserved is in flight.
    pub(crate) fn begin(&mut self) {
        self.is_reserved = false;
    }

    /// Gives back a reserved page that is not needed.
    pub(crate) fn give_back(&mut self) {
        if std::mem::take(&mut self.is_reserved) {
            let less = self.taken - 1;
            change(&self.quota.taken, &mut self.taken, less);
            self.allowance.iter().for_each(|allowance| allowance.untake());
        }
    }

    /// True if limits are dealt out elsewhere.
    pub(crate) fn is_granted(&self) -> bool {
        self.allowance.is_some()
    }

    /// There is something, or not, that could be requested if there were a page for it.
    pub(crate) fn wait(&self, waits: bool) {
        self.allowance.iter().for_each(|allowance| allowance.wait(waits));
    }

    /// True if more has to be granted before anything can be requested.
    pub(crate) fn waits(&self) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| allowance.waits())
    }

    /// Pages stored by all engines.
    pub(crate) fn stored(&self) -> u64 {
        self.quota.stored.load(Ordering::Relaxed)
    }

    /// Bytes received by all engines.
    pub fn bytes(&self) -> u64 {
        self.quota.bytes.load(Ordering::Relaxed)
    }

    /// The whole crawl stops for this reason, unless it does for another one.
    pub(crate) fn stop_all(&self, finish: Finish) {
        // the first reason counts
        let _ = self.quota.stop.set(finish);
    }

    /// Returns why the whole crawl stops, if it does.
    pub(crate) fn stop(&self) -> Option<Finish> {
        self.quota.stop()
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
        let [mut one, mut other] = [(); 2].map(|()| OwnQuota::new(quota.clone(), None));
        one.settle(3, 0, 100);
        other.settle(5, 1, 50);
        assert_eq!((one.stored(), other.bytes()), (8, 150));
        assert!(one.reserve(Some(10)) && one.reserve(Some(10)), "one reservation");
        assert!(!other.reserve(Some(10)));
        one.begin();
        one.settle(3, 1, 100);
        assert!(!other.reserve(Some(10)));
        // its page failed
        one.settle(3, 0, 100);
        assert!(other.reserve(Some(10)));
        other.give_back();
        assert!(one.reserve(Some(10)));
    }

    #[test]
    fn threads_together_take_as_many_as_there_are() {
        let quota = Arc::new(Quota::default());
        let taken: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let mut own = OwnQuota::new(quota.clone(), None);
                    scope.spawn(move || {
                        let mut stored = 0;
                        while own.reserve(Some(10_000)) {
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
