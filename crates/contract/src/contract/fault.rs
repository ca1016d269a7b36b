//! A fault of a thread beside the engine, whichever thread it is: the crawl stops.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::disk;

/// A fault that a thread met, and cannot go on from.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The disk, or what is on it.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// A fault of the program: where it panicked.
    #[error("{0}")]
    Panic(String),
}

impl Fault {
    /// Does `work`. A panic is a fault as an error is; `said` says where it was.
    pub fn catch<T>(said: impl FnOnce() -> String, work: impl FnOnce() -> disk::Result<T>) -> Result<T, Fault> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => Ok(done?),
            Err(_) => Err(Fault::Panic(said())),
        }
    }
}

/// The words of a panic that was caught.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}
