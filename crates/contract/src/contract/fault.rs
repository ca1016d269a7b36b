//! A fault of a thread beside the engine, whichever thread it is: the crawl stops.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::disk;

/// A fault that a thread met, and cannot go on from.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The disk, or what lies on it.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// A fault of the program: where it panicked.
    #[error("{0}")]
    Panic(String),
}

impl Fault {
    /// Does `work`. A panic is a fault as an error is; `said` tells where it was.
    pub fn catch<T>(said: impl FnOnce() -> String, work: impl FnOnce() -> disk::Result<T>) -> Result<T, Fault> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => Ok(done?),
            Err(_) => Err(Fault::Panic(said())),
        }
    }
}
