//! Places for large findings: how many pages with many links may wait for the engine at once.
//!
//! A page of a few kilobytes can name ten thousand URLs, and a sitemap fifty thousand. The process threads find them
//! faster than the engine admits them, so without a bound a web of such pages would fill the memory. A thread that has
//! large findings waits for a place until the engine is done with others; small ones need none.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A number of places.
#[derive(Clone, Debug)]
pub(super) struct FindingsSemaphore(Arc<Free>);

#[derive(Debug)]
struct Free {
    places: Mutex<usize>,
    freed: Condvar,
}

/// A place, free again when it is dropped.
#[derive(Debug)]
pub(super) struct FindingsPermit(Arc<Free>);

impl FindingsSemaphore {
    /// `number` places.
    pub(super) fn new(number: usize) -> Self {
        FindingsSemaphore(Arc::new(Free { places: Mutex::new(number.max(1)), freed: Condvar::new() }))
    }

    /// Waits for a place.
    pub(super) fn take(&self) -> FindingsPermit {
        let mut free = self.0.places.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.0.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        FindingsPermit(self.0.clone())
    }
}

impl Drop for FindingsPermit {
    fn drop(&mut self) {
        *self.0.places.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_places_are_held_than_there_are_and_all_who_wait_get_one() {
        let places = FindingsSemaphore::new(2);
        let (held, most, served) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..100 {
                        let place = places.take();
                        most.fetch_max(held.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        held.fetch_sub(1, Ordering::SeqCst);
                        served.fetch_add(1, Ordering::SeqCst);
                        drop(place);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 2);
        assert_eq!(served.into_inner(), 800);
    }
}
