//! A client of etcd, by its JSON gateway: key ranges, transactions, leases, watches.
//!
//! etcd is linearizable: a transaction or a read that is answered happened at one moment between question and answer.
//! What is not answered may have happened, may yet happen, or never will. So there are two kinds of results: those that
//! are definite, and [`EtcdError::Unclear`], after which the same is sent again. All calls block; none waits longer
//! than the time-out for each endpoint.
//!
//! Every answer names the cluster and the revision that it is from: where another cluster answers, or an older revision
//! than one that was seen before, nothing is taken from it.

mod connection;
mod error;
mod options;
mod tls;
mod watch;
mod wire;

use std::fmt;
use std::time::Duration;

use serde_json::json;

use connection::Connection;
pub use error::{EtcdError, Result};
pub use options::{EtcdOptions, StartError};
pub use watch::{Change, Watch, Watched};
pub use wire::{KeyValue, Txn};
use wire::{LeaseAnswer, PlainAnswer, RangeAnswer, Streamed, TxnAnswer, below, encoded};

/// The number of keys that are read in one answer.
const PAGE_KEYS: usize = 1_000;

/// The client. It has a separate thread for the network.
pub struct Etcd {
    connection: Connection,
}

/// Keys as they were at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// All that was done up to it is in the keys.
    pub revision: u64,
    /// The cluster that answered.
    pub cluster: u64,
    /// The keys that there are, in order.
    pub keys: Vec<KeyValue>,
}

/// The answer to a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transacted {
    /// True if all comparisons held, so that the changes were made.
    pub succeeded: bool,
    /// Revision of the changes, or of the reading.
    pub revision: u64,
    /// Values of the keys that were asked for, in that order, where it did not succeed.
    pub read: Vec<Option<KeyValue>>,
}

/// A lease that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Id of the lease.
    pub lease: u64,
    /// Time that it lasts without a renewal.
    pub lasts: Duration,
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Etcd").finish_non_exhaustive()
    }
}

impl Etcd {
    /// A client with these options. It asks nothing yet.
    pub fn new(options: &EtcdOptions) -> std::result::Result<Etcd, StartError> {
        Ok(Etcd { connection: Connection::new(options)? })
    }

    /// Binds the client to this cluster, from which all answers have to come from now on.
    pub(crate) fn bind(&self, cluster: u64) -> Result<()> {
        self.connection.bind(cluster)
    }

    /// The highest revision that an answer had which was not older than the question.
    pub(crate) fn seen(&self) -> u64 {
        self.connection.seen()
    }

    /// One key as it is now.
    pub fn get(&self, key: &str) -> Result<Read> {
        self.range(&json!({ "key": encoded(key) })).map(|(read, _)| read)
    }

    /// All keys that begin with `prefix`, as they are at one revision.
    pub(crate) fn below(&self, prefix: &str) -> Result<Read> {
        let (first, end) = below(prefix);
        let page = |key: &str, revision: u64| {
            self.range(&json!({
                "key": key, "range_end": end, "limit": PAGE_KEYS.to_string(), "revision": revision.to_string(),
            }))
        };
        let (mut read, mut more) = page(&first, 0)?;
        while more {
            let last = read.keys.last().expect("a page that is not the last one has keys");
            // the least key behind it
            let (next, is_more) = page(&encoded(format!("{}\0", last.key)), read.revision)?;
            read.keys.extend(next.keys);
            more = is_more;
        }
        Ok(read)
    }

    fn range(&self, body: &serde_json::Value) -> Result<(Read, bool)> {
        let before = self.connection.seen();
        let answer: RangeAnswer = self.connection.call("/v3/kv/range", body)?;
        self.connection.check(answer.header, Some(before))?;
        let (revision, cluster) = (answer.header.revision, answer.header.cluster_id);
        Ok((Read { revision, cluster, keys: answer.kvs }, answer.more))
    }

    /// Carries out the transaction, at one endpoint after the other: it may arrive more than once, so it has to be one
    /// that succeeds once at most, and whose author knows an earlier sending from somebody else's change.
    pub(crate) fn transact(&self, txn: &Txn) -> Result<Transacted> {
        let before = self.connection.seen();
        let answer: TxnAnswer = self.connection.call("/v3/kv/txn", txn)?;
        self.connection.check(answer.header, Some(before))?;
        let read = |answer: wire::OperationAnswer| answer.response_range.and_then(|range| range.kvs.into_iter().next());
        Ok(Transacted {
            succeeded: answer.succeeded,
            revision: answer.header.revision,
            read: answer.responses.into_iter().map(read).collect(),
        })
    }

    /// Forgets how keys were before this revision.
    pub(crate) fn compact(&self, revision: u64) -> Result<()> {
        let answer: PlainAnswer =
            self.connection.call("/v3/kv/compaction", &json!({ "revision": revision.to_string() }))?;
        self.connection.check(answer.header, None)
    }

    /// A new lease. One that is granted without an answer ends by itself.
    pub fn grant(&self, lasts: Duration) -> Result<Granted> {
        let body = json!({ "TTL": lasts.as_secs().max(1).to_string() });
        let answer: LeaseAnswer = self.connection.call_once("/v3/lease/grant", &body, self.timeout(lasts))?;
        self.connection.check(answer.header, None)?;
        let answered = Duration::from_secs(answer.ttl_s.max(0).unsigned_abs());
        // etcd may lengthen one that is too short for it; the shorter of both is safe
        Ok(Granted { lease: answer.id, lasts: answered.min(lasts) })
    }

    /// Renews the lease, at one endpoint; says for how long.
    pub fn renew(&self, lease: u64, timeout: Duration) -> Result<Duration> {
        let body = json!({ "ID": lease.to_string() });
        let answer: Streamed<LeaseAnswer> = self.connection.call_once("/v3/lease/keepalive", &body, timeout)?;
        let Some(answer) = answer.result else {
            let fault = answer.error.unwrap_or_default();
            return Err(self.connection.without_secrets(error::of_answer(fault.code, fault.message)));
        };
        self.connection.check(answer.header, None)?;
        match answer.ttl_s {
            0 if answer.id == lease => Err(EtcdError::NoLease),
            ttl_s if ttl_s > 0 => Ok(Duration::from_secs(ttl_s.unsigned_abs())),
            _ => Err(EtcdError::Unclear("an answer without a lease".to_owned())),
        }
    }

    /// Ends the lease, and with it all keys that it has; each endpoint has so much time for it.
    pub(crate) fn revoke(&self, lease: u64, timeout: Duration) -> Result<()> {
        let answered: Result<PlainAnswer> =
            self.connection.call_within("/v3/lease/revoke", &json!({ "ID": lease.to_string() }), timeout);
        match answered {
            Ok(answer) => self.connection.check(answer.header, None),
            // it has ended already, or an earlier sending has ended it
            Err(EtcdError::NoLease) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns for how many whole seconds etcd will keep the lease, and `None` where it does not know it.
    pub(crate) fn seconds_left(&self, lease: u64) -> Result<Option<u64>> {
        let answer: LeaseAnswer = self.connection.call("/v3/lease/timetolive", &json!({ "ID": lease.to_string() }))?;
        self.connection.check(answer.header, None)?;
        Ok((answer.granted_s > 0).then_some(answer.ttl_s.max(0).unsigned_abs()))
    }

    /// Changes of all keys that begin with `prefix`, from this revision on.
    pub fn watch(&self, prefix: &str, revision: u64) -> Result<Watch<'_>> {
        Watch::open(&self.connection, prefix, revision)
    }

    /// Waits, but not longer than until the client is closed.
    pub(crate) fn pause(&self, time: Duration) -> Result<()> {
        self.connection.pause(time)
    }

    /// Calls that wait for an answer have none, and no further one is made.
    pub(crate) fn close(&self) {
        self.connection.close();
    }

    /// Returns whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    fn timeout(&self, lease: Duration) -> Duration {
        (lease / 4).max(Duration::from_millis(500))
    }
}
