//! The work of a node for a shard of a crawl whose checkpoints go into a store: it makes the shard's directory ready,
//! ships its checkpoints, makes heads of them, and passes the heads of others to its engine.
//!
//! ```text
//! claimed ─► Grounds::prepare: the directory as its head has it ─► opened ─► Grounds::own ─► Shipments
//! engine ── checkpoint ──► Shipments ── objects ──► store ── Commit ──► registry
//! engine ◄── Registry ◄── Heads ◄── manifests ◄── store, what the node knows ◄── registry
//! ```
//! It knows the store and the registry as traits, and has no thread: the crawl gives it threads, the simulator gives it
//! virtual time. Which shards a node has is decided elsewhere ([`cluster`](crate::cluster)).
//!
//! # What holds
//!
//! - A directory is gone on from only where it noted the head, or offered it ([`Note`]); else it is replaced by what
//!   the store has, which is made beside its place and renamed when all of it is durable.
//! - A checkpoint counts when its head does; what only the former head named is deleted behind that ([`Shipments`]).
//! - An engine hears of a revision only when the link files that became visible by then can be read ([`Heads`]).
//! - Nothing is deleted by a node of an earlier era ([`Eras`]).

mod claim;
mod eras;
mod heads;
mod note;
mod objects;
mod shipments;

pub use claim::{Commits, Grounds, NodeLease, SessionLease, ShardLease};
pub use eras::{Begun, Eras, Known};
pub use heads::Heads;
pub use note::{Note, Stamp};
pub use objects::{aside, prefix, read_json};
pub use shipments::{Alone, Shipments};

use crate::{disk, store};

/// Reason for which a node of an earlier era goes on no more.
pub const RECOVERED: &str = "crawler cluster recover has begun a new era of the crawl";
/// Reason for which a process that works on a crawl alone goes on no more.
const SUCCEEDED: &str = "another process goes on with the crawl";

/// Reasons for which a claimed shard cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files here.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The store does not give what the shard needs.
    #[error(transparent)]
    Store(store::Error),
    /// The crawl has gone on in another registry.
    #[error("{RECOVERED}")]
    Recovered,
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        match error {
            store::Error::Disk(error) => Error::Disk(error),
            error => Error::Store(error),
        }
    }
}

/// A result of making a shard ready.
pub type Result<T> = std::result::Result<T, Error>;
