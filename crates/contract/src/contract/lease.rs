//! The right to make requests, where a crawl has several machines: a door, behind which nothing is in a crawl of
//! one.
//!
//! Who has lost the right must not make a request any more, since another machine may ask the same hosts. So it is
//! looked at before a request is begun, in the engine, and once more in the fetch executor before anything is sent: a
//! process may have been stopped between the two for longer than the lease.

use std::fmt;

/// The right to make requests.
pub trait Lease: fmt::Debug + Send + Sync {
    /// Returns whether a request may be begun at this moment. It is asked for every request, and answers at once.
    fn holds(&self) -> bool;
}
