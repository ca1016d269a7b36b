//! The rest of a crawl in an etcd that may have lost some of it: asked before the crawl is recovered.

use super::super::etcd::{Etcd, EtcdOptions, Read, Txn};
use super::super::keys::Keys;
use super::super::ownership::ClusterError;
use super::super::record::{self, CrawlRecord};
use super::super::view::View;
use super::{CrawlName, EtcdCrawl, patiently};

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
}
