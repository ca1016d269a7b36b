//! A crawl as etcd has it: what commands and nodes do with it without owning a shard.
//!
//! Every write is a transaction that checks what it changes, and that its author can send again: it succeeds once at
//! most, and an author who repeats it knows the earlier sending by what is there then.

mod beginning;
mod limits;
mod orders;

use std::time::{Duration, Instant};

pub use beginning::Beginning;
pub use orders::Adding;

use super::etcd::{Etcd, EtcdError, EtcdOptions, KeyValue, Read, Transacted, Txn};
use super::keys::Keys;
use super::ownership::ClusterError;
use super::record::{self, CrawlRecord, FORMAT, FiguresRecord, RecordError, written};
use super::view::View;

/// Pauses between sendings: from the first to the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// A change without a clear answer is repeated for this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Name of a crawl and its era.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrawlName {
    /// The crawl's id, as text.
    pub id: String,
    /// The newest era that the store has.
    pub era: u32,
}

/// A crawl in etcd.
#[derive(Debug)]
pub struct EtcdCrawl {
    pub(super) etcd: Etcd,
    pub(super) keys: Keys,
    pub(super) era: u32,
    record: CrawlRecord,
    patience: Duration,
}

/// An era of a crawl, as an etcd has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// True if this is the etcd in which the era was begun, and not one that was restored from a snapshot of it. Nodes
    /// take part only there.
    pub is_the_same: bool,
    /// Revision of etcd.
    pub revision: u64,
    /// The nodes that are registered.
    pub nodes: Vec<String>,
}

impl EtcdCrawl {
    /// Makes the crawl. What another call began that was cut off is overwritten: before the last key is there, nobody
    /// takes part.
    pub fn create(options: &EtcdOptions, name: &CrawlName, beginning: &Beginning) -> Result<EtcdCrawl, ClusterError> {
        let etcd = Etcd::new(options)?;
        let keys = Keys::new(&name.id, name.era);
        let crawl = keys.crawl();
        let read = patiently(&etcd, options.patience, || etcd.get(&crawl))?;
        etcd.bind(read.cluster)?;
        if !read.keys.is_empty() {
            return Err(ClusterError::Made { prefix: keys.prefix().to_owned() });
        }
        let record = CrawlRecord {
            format: FORMAT,
            cluster: read.cluster,
            store: beginning.store.clone(),
            shards: u32::try_from(beginning.heads.len()).expect("a crawl has few shards"),
            suffixes: beginning.suffixes,
        };
        for txn in beginning.transactions(&keys, &record)? {
            let done = patiently(&etcd, PATIENCE, || etcd.transact(&txn))?;
            // the last one, sent twice, finds what it has put itself
            let found = done.read.first().and_then(Option::as_ref).map(|kv| &kv.value);
            if !done.succeeded && found != Some(&written(&crawl, &record)?) {
                return Err(ClusterError::Made { prefix: keys.prefix().to_owned() });
            }
        }
        Ok(EtcdCrawl { etcd, keys, era: name.era, record, patience: options.patience })
    }

    /// Returns what etcd has of the era, and `None` where it was never there, or not wholly.
    pub fn remains(options: &EtcdOptions, name: &CrawlName) -> Result<Option<Remains>, ClusterError> {
        let etcd = Etcd::new(options)?;
        let keys = Keys::new(&name.id, name.era);
        let read = |ask: &dyn Fn() -> Result<Read, _>| patiently(&etcd, options.patience, ask);
        let found = read(&|| etcd.get(&keys.crawl()))?;
        let Some(crawl) = found.keys.first() else { return Ok(None) };
        let record: CrawlRecord = record::read(&crawl.key, &crawl.value)?;
        let live = read(&|| etcd.below(keys.live()))?;
        let view = View::of_all(record.shards, &keys, &live.keys, live.revision)?;
        Ok(Some(Remains {
            is_the_same: record.cluster == found.cluster,
            revision: live.revision,
            nodes: view.nodes.into_keys().collect(),
        }))
    }

    /// Deletes all that etcd has of an earlier era. A node that still works in it loses its claims by that.
    pub fn forget(&self, name: &CrawlName) -> Result<(), ClusterError> {
        let keys = Keys::new(&name.id, name.era);
        self.transact(&Txn::new().delete_below(keys.prefix()))?;
        Ok(())
    }

    /// The crawl of this name, if the etcd that answers is the one in which it was made, and as old as it has to be.
    pub fn open(options: &EtcdOptions, name: &CrawlName) -> Result<EtcdCrawl, ClusterError> {
        let etcd = Etcd::new(options)?;
        let keys = Keys::new(&name.id, name.era);
        let key = keys.crawl();
        let read = patiently(&etcd, options.patience, || etcd.get(&key))?;
        let Some(found) = read.keys.first() else {
            return Err(ClusterError::NotMade { prefix: keys.prefix().to_owned() });
        };
        let record: CrawlRecord = record::read(&key, &found.value)?;
        if record.format != FORMAT {
            let (expected, found) = (FORMAT.to_string(), record.format.to_string());
            return Err(ClusterError::Differs { what: "the format", expected, found });
        }
        if record.cluster != read.cluster {
            return Err(EtcdError::OtherCluster { expected: record.cluster, found: read.cluster }.into());
        }
        etcd.bind(record.cluster)?;
        Ok(EtcdCrawl { etcd, keys, era: name.era, record, patience: options.patience })
    }

    /// The highest revision of etcd that is known here: it must never be at an earlier one.
    pub fn revision_seen(&self) -> u64 {
        self.etcd.seen()
    }

    /// Everything that nodes watch, as it is now.
    pub fn view(&self) -> Result<View, ClusterError> {
        let read = patiently(&self.etcd, self.patience, || self.etcd.below(self.keys.live()))?;
        Ok(View::of_all(self.record.shards, &self.keys, &read.keys, read.revision)?)
    }

    /// Returns the last figures of the nodes, by name.
    pub fn figures(&self) -> Result<Vec<(String, FiguresRecord)>, ClusterError> {
        let prefix = self.keys.all_figures();
        let read = patiently(&self.etcd, self.patience, || self.etcd.below(&prefix))?;
        let figures = read.keys.iter().map(|kv| {
            let name = kv.key.strip_prefix(&prefix).expect("only such were asked for").to_owned();
            record::read(&kv.key, &kv.value).map(|record| (name, record))
        });
        Ok(figures.collect::<Result<_, RecordError>>()?)
    }

    /// Returns for how many whole seconds etcd still keeps this lease, in its own view.
    pub fn seconds_left(&self, lease: u64) -> Result<Option<u64>, ClusterError> {
        Ok(patiently(&self.etcd, self.patience, || self.etcd.seconds_left(lease))?)
    }

    /// One key as it is now.
    pub(super) fn get(&self, key: &str) -> Result<Read, ClusterError> {
        Ok(patiently(&self.etcd, self.patience, || self.etcd.get(key))?)
    }

    /// Sends the transaction until the answer is clear, for as long as a change is repeated.
    fn transact(&self, txn: &Txn) -> Result<Transacted, ClusterError> {
        Ok(patiently(&self.etcd, PATIENCE, || self.etcd.transact(txn))?)
    }
}

/// Asks until the answer is clear, or the time is over.
pub(super) fn patiently<T>(
    etcd: &Etcd,
    time: Duration,
    ask: impl Fn() -> Result<T, EtcdError>,
) -> Result<T, EtcdError> {
    let until = Instant::now() + time;
    repeated(etcd, |_| Instant::now() < until, ask)
}

/// Asks until the answer is clear, as long as `goes_on` says so of the last fault.
pub(super) fn repeated<T>(
    etcd: &Etcd,
    goes_on: impl Fn(&EtcdError) -> bool,
    ask: impl Fn() -> Result<T, EtcdError>,
) -> Result<T, EtcdError> {
    let (mut pause, longest) = PAUSES;
    loop {
        match ask() {
            Err(error) if error.may_pass() && goes_on(&error) => {
                tracing::debug!("{error}");
                etcd.pause(pause)?;
                pause = (pause * 2).min(longest);
            }
            answer => return answer,
        }
    }
}

/// The value of a key that was read.
pub(super) fn value<T: serde::de::DeserializeOwned>(found: Option<&KeyValue>) -> Result<Option<T>, RecordError> {
    found.map(|kv| record::read(&kv.key, &kv.value)).transpose()
}

/// A transaction that puts this record.
pub(super) fn putting<T: serde::Serialize>(txn: Txn, key: &str, record: &T) -> Result<Txn, RecordError> {
    Ok(txn.put(key, &written(key, record)?))
}
