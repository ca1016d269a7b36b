//! The brake of a compaction: the bytes a second that it may read and write, and the flag that stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A pause is no longer than this, so that a stop is soon noticed.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// Counts the bytes that are read and written, and pauses where they are more than they may be.
#[derive(Debug)]
pub struct Throttle {
    bytes_per_second: Option<u64>,
    stop: Arc<AtomicBool>,
    began: Instant,
    spent: u64,
}

impl Throttle {
    /// A throttle to this many bytes a second, or to as many as there are, until `stop` is set.
    pub(crate) fn new(bytes_per_second: Option<u64>, stop: Arc<AtomicBool>) -> Throttle {
        Throttle { bytes_per_second, stop, began: Instant::now(), spent: 0 }
    }

    /// Neither slowed nor stopped.
    pub(crate) fn unlimited() -> Throttle {
        Throttle::new(None, Arc::default())
    }

    /// True if the work has to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// `bytes` were read or written.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.spent += bytes;
        let Some(rate) = self.bytes_per_second else { return };
        let due = Duration::from_secs_f64(self.spent as f64 / rate.max(1) as f64);
        while let Some(rest) = due.checked_sub(self.began.elapsed()).filter(|rest| !rest.is_zero()) {
            if self.is_stopped() {
                return;
            }
            thread::sleep(rest.min(PAUSE_MAX));
        }
    }
}
