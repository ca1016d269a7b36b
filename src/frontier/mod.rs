//! Per-host queues.
mod queued;
mod queued_aux;
pub use queued::{Hops, QueuedUrl};
