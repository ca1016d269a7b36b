//! What operators do to a crawl on many machines: they make it, look at it, and say what all nodes have to do.

use super::crawl_object::{CrawlObject, refused};
use super::{ERA, lists, open_store};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{
    Beginning, ClusterError, CrawlName, EtcdCrawl, EtcdOptions, FiguresRecord, HeadRecord, SeedsRecord, State, View,
};
use crate::config::Config;
use crate::crawl::{CrawlError, options, share};
use crate::engine::Identity;
use crate::frontier::FrontierOptions;
use crate::shard::SUFFIXES;

/// Makes a crawl of `config.crawl.shards` shards, with the seeds in `lines`; its id.
pub fn init(config: &Config, etcd: &EtcdOptions, lines: &[u8]) -> Result<String, CrawlError> {
    let store = open_store(config)?;
    let own = share::of_shard(config);
    let shape = (own.drum.buckets, FrontierOptions::default().partitions, own.scope.strip_query_params.as_slice());
    let shards = u32::try_from(config.crawl.shards).expect("a crawl has few shards");
    let identity = Identity::of_crawl(SystemClock::new().now(), options::random(), shape, shards);
    let object = CrawlObject { identity, config: config.without_secrets() };
    let (list, count) = lists::put(&*store, &object.prefix(), (lines, options::random())).map_err(refused)?;
    let beginning = Beginning {
        store: store.address(),
        suffixes: SUFFIXES,
        seeds: vec![SeedsRecord { object: list, before: 0, count }],
        heads: vec![HeadRecord::default(); shards as usize],
        granted: vec![Default::default(); shards as usize],
        ..Beginning::default()
    };
    let name = CrawlName { id: object.id(), era: ERA };
    EtcdCrawl::create(etcd, &name, &beginning).map_err(CrawlError::Cluster)?;
    // last: a node that finds the crawl in the store finds it in etcd too
    object.put(&*store).map_err(refused)?;
    Ok(object.id())
}

/// A crawl on many machines, as operators see it.
#[derive(Debug)]
pub struct Operated {
    crawl: EtcdCrawl,
    object: CrawlObject,
    config: Config,
}

impl Operated {
    /// The crawl in the store of `config` whose id begins with `id`.
    pub fn open(config: &Config, etcd: &EtcdOptions, id: Option<&str>) -> Result<Operated, CrawlError> {
        let object = CrawlObject::find(&*open_store(config)?, id)?;
        let name = CrawlName { id: object.id(), era: ERA };
        let crawl = EtcdCrawl::open(etcd, &name).map_err(CrawlError::Cluster)?;
        Ok(Operated { crawl, object, config: config.clone() })
    }

    /// The crawl's id.
    pub fn id(&self) -> String {
        self.object.id()
    }

    /// How it stands, and what the nodes tell of themselves.
    pub fn look(&self) -> Result<(View, Vec<(String, FiguresRecord)>), CrawlError> {
        let view = self.crawl.view().map_err(CrawlError::Cluster)?;
        Ok((view, self.crawl.figures().map_err(CrawlError::Cluster)?))
    }

    /// What all nodes have to do from now on.
    pub fn want(&self, state: State) -> Result<(), CrawlError> {
        self.crawl.set_want(state).map(|_| ()).map_err(CrawlError::Cluster)
    }

    /// Adds seeds; how many the list has.
    pub fn add_seeds(&self, lines: &[u8]) -> Result<u64, CrawlError> {
        let store = open_store(&self.config)?;
        let (list, count) = lists::put(&*store, &self.object.prefix(), (lines, options::random())).map_err(refused)?;
        match self.crawl.put_seeds(&list, count) {
            Ok(_) => Ok(count),
            Err(ClusterError::Ended) => {
                Err(CrawlError::Usage("the crawl has ended, and takes no more seeds".to_owned()))
            }
            Err(error) => Err(CrawlError::Cluster(error)),
        }
    }

    /// Has the node give up its shards; whether there is such a node.
    pub fn drain(&self, node: &str) -> Result<bool, CrawlError> {
        self.crawl.drain(node).map_err(CrawlError::Cluster)
    }

    /// The node may have shards again.
    pub fn undrain(&self, node: &str) -> Result<(), CrawlError> {
        self.crawl.undrain(node).map_err(CrawlError::Cluster)
    }

    /// A shard that was halted may be claimed again.
    pub fn resume_shard(&self, shard: u32) -> Result<(), CrawlError> {
        self.crawl.resume_shard(shard).map_err(CrawlError::Cluster)
    }
}
