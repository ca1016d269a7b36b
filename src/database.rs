//! Small databases of key and value, by sled: what is derived, or may be lost.
//!
//! sled reports much of what is wrong with its files by panics. Here they are errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::contract::panic_text;

/// Memory that sled may use for its page cache.
const CACHE_BYTES: u64 = 1 << 20;
/// Locks of ours keep other processes out. Threads of a handle that was dropped can still have sled's own lock for a
/// moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Opens the database at `path`, and makes it where there is none. Writes are durable after a flush.
pub(crate) fn open(path: &Path) -> Result<sled::Db, String> {
    let config = sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    let began = Instant::now();
    loop {
        match attempt(|| config.open()) {
            Err(why) if why.contains("could not acquire lock") && began.elapsed() < LOCK_PATIENCE => {
                thread::sleep(LOCK_PAUSE);
            }
            opened => return opened,
        }
    }
}

/// The result of `act`, or the words of its error or panic.
pub(crate) fn attempt<T>(act: impl FnOnce() -> sled::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => Err(panic_text(&*panic)),
    }
}
