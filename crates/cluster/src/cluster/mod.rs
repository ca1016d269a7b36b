//! Ownership of shards, and the checkpoint of each that counts, when a crawl runs on many machines.
//!
//! ```text
//!              claim ─► Claimed ── holds() before every request
//! a node's shard  commit(head) ─► definite: it counts, or the shard is lost
//!              release
//!                 ▲
//! trait Ownership ┤ EtcdOwnership   etcd: leases, transactions, one watch        many nodes
//!                 └ SimulatedNode   a table in memory, virtual time               the simulator
//! ```
//!
//! # What holds
//!
//! - *One owner.* A head moves only by the node whose claim is in etcd: the transaction that puts it compares the
//!   create revision of the owner's key, which is the *epoch* of the claim. A node that was paused, cut off or replaced
//!   is refused, whatever it believes.
//! - *Heads only move forward*: the transaction compares the head that was read or put last, too.
//! - *Definite answers.* A commit is sent, always the same, until etcd has said whether it counts. An answer that was
//!   lost is no answer.
//! - *No request without a lease* (`lease`): a claim says that a request may be started only until some time before
//!   etcd can have dropped the node's lease. A lease that is lost is lost with all that was claimed under it.
//! - *What is known is in order* ([`View`]): everything up to its revision, and nothing behind it.
//!
//! Leases are not trusted for safety, and etcd's locks are not used. A lease that ends early or late costs time, or at
//! the worst requests whose head was just being written.

pub(crate) mod assignment;
mod balance;
pub mod clocks;
mod crawl;
pub mod etcd;
mod keys;
pub(crate) mod lease;
mod node;
mod ownership;
mod quota;
pub(crate) mod record;
pub mod simulated;
mod view;

pub use balance::Wanted;
pub use crawl::{Adding, Beginning, CrawlName, EtcdCrawl, Remains};
pub use etcd::{EtcdError, EtcdOptions};
pub use keys::Keys;
pub use lease::Hold;
pub use node::{EtcdOwnership, NodeOptions};
pub use ownership::{Claimed, ClusterError, CommitError, Ownership};
pub use record::{
    EndRecord, FiguresRecord, GrantRecord, HaltedRecord, HeadRecord, NodeRecord, QuotaRecord, SeedsRecord, State,
    WantRecord,
};
pub use view::{HeadAt, NodeAt, OwnerAt, View};
