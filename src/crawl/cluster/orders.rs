//! Orders of operators to a crawl on many machines: they make it, look at it, and say what all nodes have to do.

use std::sync::Arc;

use super::crawl_object::{CrawlObject, refused};
use super::{lists, open_store};
use crate::checkpoint::Identity;
use crate::clock::{Clock, SystemClock};
use crate::cluster::{
    Adding, Beginning, CrawlName, EtcdCrawl, EtcdOptions, FiguresRecord, HeadRecord, QuotaRecord, SeedsRecord, State,
    View,
};
use crate::config::{Bytes, Config};
use crate::crawl::{CrawlError, options, share};
use crate::node::Eras;
use crate::shard::SUFFIXES;
use crate::store::ObjectStore;

/// Makes a crawl of `config.crawl.shards` shards, with the seeds in `lines`; its id.
pub fn init(config: &Config, etcd: &EtcdOptions, lines: &[u8]) -> Result<String, CrawlError> {
    let store = open_store(config)?;
    let own = share::of_shard(config);
    let shards = u32::try_from(config.crawl.shards).expect("a crawl has few shards");
    let identity = Identity::of_crawl(SystemClock::new().now(), options::random(), options::shape(&own), shards);
    // what the others say of themselves is not of the crawl
    let mut kept = config.clone();
    (kept.cluster.name, kept.cluster.weight) = Default::default();
    let object = CrawlObject { identity, config: kept, shared: true };
    let (list, count) = lists::put(&*store, &object.prefix(), lines, options::random()).map_err(refused)?;
    let list = SeedsRecord { object: list, before: 0, count, round: 0 };
    let prefix = object.prefix();
    Eras { store: &*store, prefix: &prefix }.note_list(0, 1, &list).map_err(refused)?;
    let beginning = Beginning {
        store: store.address(),
        suffixes: SUFFIXES,
        seeds: vec![list],
        heads: vec![HeadRecord::default(); shards as usize],
        quota: QuotaRecord { pages: config.crawl.max_pages, bytes: config.crawl.max_bytes.map(Bytes::get) },
        granted: vec![Default::default(); shards as usize],
        ..Beginning::default()
    };
    let name = CrawlName { id: object.id(), era: 0 };
    EtcdCrawl::create(etcd, &name, &beginning).map_err(CrawlError::Cluster)?;
    // last: a node that finds the crawl in the store finds it in etcd too
    object.put(&*store).map_err(refused)?;
    Ok(object.id())
}

/// Refuses a store that has a crawl already: commands that name none would find two.
pub fn refuse_another(config: &Config) -> Result<(), CrawlError> {
    let store = open_store(config)?;
    match CrawlObject::ids(&*store).map_err(refused)?.first() {
        None => Ok(()),
        Some(id) => Err(CrawlError::Usage(format!(
            "{} has the crawl {id} already: crawler cluster run takes part in it; --another makes one beside it",
            store.address()
        ))),
    }
}

/// The state of a crawl.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Its id.
    pub id: String,
    /// Its era: how often it was recovered.
    pub era: u32,
    /// State of the crawl in etcd.
    pub view: View,
    /// Figures that the nodes report of themselves, by name.
    pub figures: Vec<(String, FiguresRecord)>,
    /// Rest of its limits that no shard has.
    pub left: QuotaRecord,
}

/// Seeds that were added to a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Added {
    /// Seeds in the list.
    pub seeds: u64,
    /// The round in which they are fetched again; 0: those that are known are passed over.
    pub round: u32,
    /// True if the crawl had ended before.
    pub had_ended: bool,
}

/// A crawl on many machines, as operators see it.
#[derive(Debug)]
pub struct Operated {
    crawl: EtcdCrawl,
    object: CrawlObject,
    store: Arc<dyn ObjectStore>,
    era: u32,
}

impl Operated {
    /// The crawl in the store of `config` whose id begins with `id`.
    pub(crate) fn open(config: &Config, etcd: &EtcdOptions, id: Option<&str>) -> Result<Operated, CrawlError> {
        let store = open_store(config)?;
        let object = CrawlObject::find_shared(&*store, id)?;
        let era = Eras { store: &*store, prefix: &object.prefix() }.newest().map_err(refused)?;
        let crawl = EtcdCrawl::open(etcd, &CrawlName { id: object.id(), era }).map_err(CrawlError::Cluster)?;
        Ok(Operated { crawl, object, store, era })
    }

    /// The crawl's id.
    pub(crate) fn id(&self) -> String {
        self.object.id()
    }

    /// Returns the state of the crawl, and what the nodes report of themselves.
    pub(crate) fn look(&self) -> Result<Look, CrawlError> {
        let (view, figures) = (self.crawl.view(), self.crawl.figures());
        let (view, figures) = (view.map_err(CrawlError::Cluster)?, figures.map_err(CrawlError::Cluster)?);
        let left = self.crawl.quota().map_err(CrawlError::Cluster)?;
        Ok(Look { id: self.id(), era: self.era, view, figures, left })
    }

    /// Sets what all nodes have to do from now on, and returns the state of the crawl before. One that has ended needs
    /// no orders.
    pub(crate) fn want(&self, state: State) -> Result<View, CrawlError> {
        let view = self.crawl.view().map_err(CrawlError::Cluster)?;
        if view.end.is_none() {
            self.crawl.set_want(state).map_err(CrawlError::Cluster)?;
        }
        Ok(view)
    }

    /// Adds seeds, to be fetched again where `again` says so; a crawl that has ended goes on by that.
    pub(crate) fn add_seeds(&self, lines: &[u8], again: bool) -> Result<Added, CrawlError> {
        let prefix = self.object.prefix();
        let (list, count) = lists::put(&*self.store, &prefix, lines, options::random()).map_err(refused)?;
        let had_ended = self.crawl.view().map_err(CrawlError::Cluster)?.end.is_some();
        let how = Adding { is_round: again, reopens: true };
        let list = self.crawl.put_list(&list, count, how).map_err(CrawlError::Cluster)?;
        // it is not said to be added before it would survive the loss of etcd
        let eras = Eras { store: &*self.store, prefix: &prefix };
        eras.note_list(self.era, list.number, &list.record).map_err(refused)?;
        Ok(Added { seeds: count, round: list.record.round, had_ended })
    }

    /// Makes the node give up its shards.
    pub(crate) fn drain(&self, node: &str) -> Result<(), CrawlError> {
        match self.crawl.drain(node).map_err(CrawlError::Cluster)? {
            true => Ok(()),
            false => Err(self.no_such_node(node)?),
        }
    }

    /// The node may have shards again.
    pub(crate) fn undrain(&self, node: &str) -> Result<(), CrawlError> {
        match self.crawl.view().map_err(CrawlError::Cluster)?.nodes.contains_key(node) {
            true => self.crawl.undrain(node).map_err(CrawlError::Cluster),
            false => Err(self.no_such_node(node)?),
        }
    }

    fn no_such_node(&self, node: &str) -> Result<CrawlError, CrawlError> {
        let view = self.crawl.view().map_err(CrawlError::Cluster)?;
        let nodes: Vec<&str> = view.nodes.keys().map(String::as_str).collect();
        let nodes = if nodes.is_empty() { "none".to_owned() } else { nodes.join(", ") };
        Ok(CrawlError::Usage(format!("no machine {node} takes part in this crawl at present; those that do: {nodes}")))
    }

    /// A shard that was halted may be claimed again.
    pub(crate) fn resume_shard(&self, shard: u32) -> Result<(), CrawlError> {
        let view = self.crawl.view().map_err(CrawlError::Cluster)?;
        if shard >= view.shards() {
            let last = view.shards().saturating_sub(1);
            return Err(CrawlError::Usage(format!("there is no shard {shard}: they are 0 to {last}")));
        }
        if !view.halted.contains_key(&shard) {
            return Err(CrawlError::Usage(format!("shard {shard} is not halted")));
        }
        self.crawl.resume_shard(shard).map_err(CrawlError::Cluster)
    }
}
