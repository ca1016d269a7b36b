//! Ownership of shards and the checkpoints that count, as the rest of the program asks for them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::balance::Wanted;
use super::etcd::{EtcdError, StartError};
use super::lease::Hold;
use super::quota::Dealt;
use super::record::{EndRecord, GrantRecord, HaltedRecord, HeadRecord, QuotaRecord, RecordError, SeedsRecord};
use super::view::{HeadAt, SeedsAt, View};
use crate::exchange::Revision;

/// Errors of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// etcd, or the way to it.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    /// The client of etcd cannot be made.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A value that is not what has to be there.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store of objects.
    #[error(transparent)]
    Store(#[from] crate::store::Error),
    /// etcd knows nothing of the crawl.
    #[error(
        "etcd has no such crawl: there is nothing below {prefix}; if its data was lost, crawler cluster recover brings \
         the crawl back from the store"
    )]
    NotMade {
        /// Prefix that its keys would have.
        prefix: String,
    },
    /// There is one already.
    #[error("etcd has the crawl already, below {prefix}")]
    Made {
        /// Prefix of its keys.
        prefix: String,
    },
    /// etcd has a crawl of this id which differs.
    #[error("{what} of the crawl in etcd is {found}, and {expected} is expected")]
    Differs {
        /// The property that differs.
        what: &'static str,
        /// Value that this process has.
        expected: String,
        /// Value that etcd has.
        found: String,
    },
    /// Another process has the node's name.
    #[error(
        "the node name {name:?} is taken: another process runs under it, or one has that ended less than a lease ago"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The node has no lease at this moment: nothing can be claimed.
    #[error("there is no lease at this moment: etcd has not answered in time")]
    NoLease,
    /// The claim is gone: the shard has to be dropped.
    #[error("shard {shard} is lost: its claim is gone from etcd")]
    Lost {
        /// The shard.
        shard: u32,
    },
    /// This process has the shard already.
    #[error("shard {shard} is claimed by this process already")]
    Claimed {
        /// The shard.
        shard: u32,
    },
    /// The crawl has ended, and takes no seeds.
    #[error("the crawl has ended")]
    Ended,
    /// A thread cannot be started.
    #[error("a thread of the cluster: {0}")]
    Thread(#[source] std::io::Error),
}

/// Reasons for which a head was not put.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Another claim counts: the shard has to be dropped, and its directory is stale. Either the head was not put and
    /// never will be, or it was, without an answer, and the next owner has gone on from it: so nothing that it names
    /// may be deleted.
    #[error("shard {shard}: the head was refused, another claim counts: owner {owner}, head at checkpoint {number}")]
    Refused {
        /// The shard.
        shard: u32,
        /// The present owner.
        owner: String,
        /// Checkpoint of the head that counts.
        number: u64,
    },
    /// Nobody knows: the process ends before there was an answer. The checkpoint may count.
    #[error("it is not known whether the head was put: {0}")]
    Unknown(#[source] ClusterError),
}

/// A shard that this process has.
#[derive(Debug)]
pub struct Claimed {
    /// The shard.
    pub shard: u32,
    /// Era of the crawl.
    pub era: u32,
    /// The revision of the claim: no two claims have the same.
    pub epoch: u64,
    /// The last committed checkpoint, as the transaction of the claim read it; `None` before the first one.
    pub head: Option<HeadAt>,
    hold: Arc<Hold>,
    /// Revision of the head that was read or put last.
    head_revision: AtomicU64,
}

impl Claimed {
    pub(super) fn new(shard: u32, era: u32, epoch: u64, head: HeadAt, hold: Arc<Hold>) -> Claimed {
        let head_revision = AtomicU64::new(head.revision);
        let head = (head.record.number > 0).then_some(head);
        Claimed { shard, era, epoch, head, hold, head_revision }
    }

    /// Returns whether a request for the shard may be started now (invariant 8). Cheap: two clocks and a few numbers.
    pub fn holds(&self) -> bool {
        self.hold.holds()
    }

    /// The same, for those who outlive the claim.
    pub fn hold(&self) -> &Arc<Hold> {
        &self.hold
    }

    pub(super) fn head_revision(&self) -> Revision {
        self.head_revision.load(Ordering::Relaxed)
    }

    pub(super) fn committed(&self, revision: Revision) {
        self.head_revision.store(revision, Ordering::Relaxed);
    }
}

/// Pages and bytes that were granted to a shard, and the rest for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Grants of the shard in all.
    pub in_all: GrantRecord,
    /// The rest that no shard was granted yet.
    pub left: QuotaRecord,
}

/// A view of the owners of shards, and of the checkpoint of each that counts. Calls block until there is an answer that
/// is definite, or for as long as each says.
pub trait Ownership: fmt::Debug + Send + Sync {
    /// Claims the shard; `None` where it is not free. One claim is for one opening of its directory.
    fn claim(&self, shard: u32) -> Result<Option<Claimed>, ClusterError>;
    /// Makes `head` the one that counts. Waits until that is definite, or the process ends.
    fn commit(&self, claimed: &Claimed, head: &HeadRecord) -> Result<Revision, CommitError>;
    /// Gives the shard up: its requests have ended, and what is to be kept is committed.
    fn release(&self, claimed: &Claimed) -> Result<(), ClusterError>;
    /// Returns what is known: everything up to the view's revision.
    fn heads(&self) -> Arc<View>;
    /// Returns whether this node may start requests at all. [`Claimed::holds`] says whether it may for a shard.
    fn holds(&self) -> bool;
    /// Returns the shards that this node should claim, and hand over. Changes with time alone, too: to be asked about
    /// once a second.
    fn wanted(&self) -> Wanted;
    /// Moves a block of what is left of the limits to the shard.
    fn grant(&self, claimed: &Claimed) -> Result<Granted, ClusterError>;
    /// Returns the rest of the limits that no shard was granted yet.
    fn left(&self) -> Result<QuotaRecord, ClusterError>;
    /// Returns the rest of the limits that no shard was granted yet, and the grants of each shard.
    fn dealt(&self) -> Result<Dealt, ClusterError>;
    /// Returns what was granted to the shard in all, which only its owner changes.
    fn granted(&self, shard: u32) -> Result<GrantRecord, ClusterError>;
    /// Gives back what the shard has not used of its grants. After an error it may have been given: the shard uses no
    /// more of it, until the next grant says what it has.
    fn give_back(&self, claimed: &Claimed, used: GrantRecord) -> Result<Granted, ClusterError>;
    /// Ends the crawl, unless what is wanted has changed since `want_at`; says whether it has ended.
    fn put_end(&self, want_at: Revision, end: EndRecord) -> Result<bool, ClusterError>;
    /// Adds the list of seeds that this object has.
    fn put_seeds(&self, object: &str, count: u64) -> Result<SeedsAt, ClusterError>;
    /// Nobody claims the shard from now on: `halted` says why.
    fn halt(&self, claimed: &Claimed, halted: &HaltedRecord) -> Result<(), ClusterError>;
}

/// The list behind all others; where its seeds are fetched again, in a round behind all others.
pub(super) fn next_list(view: &View, object: &str, count: u64, is_round: bool) -> (u32, SeedsRecord) {
    let last = view.seeds.values().next_back();
    let before = last.map_or(0, |last| last.record.before + last.record.count);
    let rounds = view.seeds.values().map(|list| list.record.round).max().unwrap_or(0);
    let round = if is_round { rounds + 1 } else { 0 };
    (last.map_or(0, |last| last.number) + 1, SeedsRecord { object: object.to_owned(), before, count, round })
}
