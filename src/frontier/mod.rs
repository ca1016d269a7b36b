//! Per-host queues.
mod queued;
pub use queued::{Hops, QueuedUrl};
