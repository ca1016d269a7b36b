//! A process that takes part in a crawl on many machines, session after session.
//!
//! A session is all that happens under one lease: ownership, threads, engines. When a claim is lost, all of it is
//! ended and waited for, and the next one begins with nothing of it. So no task of an old engine can write into a
//! directory that a new one has opened, and nothing goes on under a lease that another node may have outlived.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::clerk::{Clerk, Figures};
use super::crawl_object::{CrawlObject, refused};
use super::lists::Lists;
use super::node::{Node, Over};
use super::plan::Plan;
use super::quotas::Quotas;
use super::seen::Seen;
use super::watcher::Watcher;
use super::{open_store, settings_of};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{
    Claimed, ClusterError, CrawlName, EtcdCrawl, EtcdOptions, EtcdOwnership, FiguresRecord, NodeOptions, NodeRecord,
    Ownership,
};
use crate::config::{Bytes, Config};
use crate::crawl::runtime::{Network, Runtime};
use crate::crawl::signals::Signals;
use crate::crawl::{CrawlError, CrawlRequest, directory, files, memory, options, threads};
use crate::disk::{self, DirectoryLock, Disk};
use crate::engine::{Commons, SeedList};
use crate::fetch::Permission;
use crate::node::{Commits, Eras, Grounds, Heads, NodeLease, SessionLease, Shipments};
use crate::process::ProcessOptions;
use crate::record::Finish;
use crate::ship::{ShipOptions, StoreView};
use crate::store::ObjectStore;

/// Pause between two sessions.
const PAUSE: Duration = Duration::from_secs(1);
/// Memory of what was read from the store.
const CACHE_BYTES: usize = 64 << 20;

/// The request with which a node is started.
#[derive(Debug)]
pub struct NodeRequest {
    /// The settings, the directory.
    pub crawl: CrawlRequest,
    /// Address of etcd, with the credentials for it.
    pub etcd: EtcdOptions,
    /// The first digits of the crawl's id, where the store has several.
    pub id: Option<String>,
}

/// Takes part until the crawl has ended, or the node is asked to stop.
pub fn take_part(mut request: NodeRequest) -> Result<Finish, CrawlError> {
    let store = open_store(&request.crawl.config)?;
    let object = CrawlObject::find_shared(&*store, request.id.as_deref())?;
    let (idle_max, lowered) = files::fit(&mut request.crawl.config, files::raise_limit())?;
    lowered.iter().for_each(|what| tracing::warn!("{what}"));
    name_node(&mut request.crawl.config);
    // shards and limits of the whole crawl are those that it was made with
    let (own, made) = (&mut request.crawl.config.crawl, &object.config.crawl);
    own.shards = object.identity.shards() as usize;
    (own.max_pages, own.max_bytes) = (made.max_pages, made.max_bytes);
    let dir = &request.crawl.dir;
    disk::create_crawl_dir(dir, options::readers(&request.crawl.config))?;
    let _lock = DirectoryLock::acquire(dir)?;
    prepare(&object, &request.crawl)?;
    let signals = Signals::listen()?;
    loop {
        let (over, shipments) = session(&request, &object, &store, idle_max, &signals)?;
        match over {
            Over::Finished(finish, ending) => {
                shipments.tell();
                if ending.is_none() {
                    tracing::info!("{}", without_shards(finish));
                }
                ending.into_iter().for_each(|ending| ending.print(&request.crawl));
                return Ok(finish);
            }
            Over::Unheard(finish) => {
                tracing::warn!(
                    "etcd does not answer: the last checkpoints stay on this machine until the next start, which ships \
                     them"
                );
                return Ok(finish);
            }
            Over::Lost(why) => {
                tracing::warn!("{why}: all engines of this node have ended; it begins again");
                thread::sleep(PAUSE);
            }
        }
    }
}

/// Returns the message for a node that had no shard when it ended.
fn without_shards(finish: Finish) -> String {
    match finish {
        Finish::StoppedByControl => {
            "the crawl is stopped for all machines; crawler cluster resume lets them be started again".to_owned()
        }
        Finish::StoppedBySignal => "stopped; this machine had no shard".to_owned(),
        finish => format!("the crawl has ended: {finish}"),
    }
}

/// Makes the directory one of this crawl.
fn prepare(object: &CrawlObject, request: &CrawlRequest) -> Result<(), CrawlError> {
    let (disk, dir) = (Disk::real(), &request.dir);
    match directory::find(&disk, dir)? {
        Some(found) if found.id != object.identity.id => {
            return Err(CrawlError::Usage(format!("{}: this is the directory of another crawl", dir.display())));
        }
        Some(_) => {}
        None => directory::begin(&disk, dir, &object.identity)?,
    }
    if !object.identity.knows_its_domains() {
        return Err(CrawlError::Usage(
            "the crawl was created with another version of the public suffix list, by which domains fall to its \
             shards; go on with the version of the crawler that created it"
                .to_owned(),
        ));
    }
    options::write_copy(&request.config, &disk, dir)?;
    Ok(())
}

/// One session, from a new lease to its end.
fn session(
    request: &NodeRequest,
    object: &CrawlObject,
    store: &Arc<dyn ObjectStore>,
    idle_max: usize,
    signals: &Signals,
) -> Result<(Over, Arc<Shipments>), CrawlError> {
    let crawl = &request.crawl;
    let shards = object.identity.shards();
    let prefix = object.prefix();
    let eras = Eras { store: &**store, prefix: &prefix };
    let era = eras.newest().map_err(refused)?;
    let before = Seen::read(&Disk::real(), &crawl.dir, era)?;
    let start = node_options(request, object, before);
    let node = (start.name.clone(), start.record.weight);
    let etcd = Arc::new(EtcdOwnership::start(start).map_err(CrawlError::Cluster)?);
    let figures = EtcdFigures { etcd: etcd.clone(), dir: crawl.dir.clone(), era };
    figures.note()?;
    let ownership: Arc<dyn Ownership> = etcd.clone();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let keys = Arc::new(object.identity.key_maker());
    let guard = options::guard(&crawl.config)?;
    let process: ProcessOptions = options::process(&crawl.config, keys.clone(), guard)?;
    let lease = Arc::new(SessionLease::new(NodeLease(ownership.clone())));
    let network = Network { idle_max, lease: Permission::by(Some(lease.clone())) };
    let mut runtime = Runtime::start(crawl, clock.clone(), network, &process)?;
    let view = StoreView::new(store.clone(), Some(Disk::real()), CACHE_BYTES);
    let heads = Heads::new(store.clone(), object.names(), era, crawl.dir.clone(), view.clone(), shards);
    let ship = ShipOptions { bytes_per_second: crawl.config.cluster.bytes_per_second.map(Bytes::get) };
    let shipments = Shipments::new(store.clone(), object.names(), object.identity.id, shards, ship, thread::sleep);
    let shipments = Arc::new(shipments);
    let mut lists = Lists::new(SeedList::open(&Disk::real(), &crawl.dir, &[])?);
    lists.take(eras, era, &ownership.heads())?;
    let quotas = Quotas::new(ownership.clone(), ownership.left().map_err(CrawlError::Cluster)?);
    let settings = settings_of(&crawl.config);
    let mut plan = Plan {
        request: crawl,
        grounds: Grounds {
            store: store.clone(),
            names: object.names(),
            era,
            identity: object.identity.clone(),
            disk: Disk::real(),
            root: crawl.dir.clone(),
            view,
            ownership,
            heads: Arc::new(heads),
            shipments: shipments.clone(),
            on_head: quotas.clone().map(|quotas| {
                Arc::new(move |claimed: &Claimed, pages, idle| quotas.committed(claimed, pages, idle)) as _
            }),
            commits: Arc::new(Commits::default()),
            lease,
        },
        quotas,
        process,
        keys,
        commons: Commons::of_shards(&settings, clock),
        ceiling: 0,
        node,
        orders: runtime.listen_as_node(crawl),
    };
    let mut config = crawl.config.clone();
    config.crawl.shards = plan.at_once(&plan.grounds.ownership.heads(), 0);
    let ceiling = memory::Ceiling::of(&config, threads::cores());
    plan.ceiling = ceiling.with_seeds(u64::from(lists.seeds()), 0).bytes;
    let plan = plan;
    let clerk = Clerk::start(plan.grounds.ownership.clone(), Box::new(figures.clone()))?;
    let watcher = Watcher::start(plan.grounds.clone(), lists)?;
    if let Some(quotas) = &plan.quotas {
        quotas.start().map_err(threads::no_thread)?;
    }
    let over = thread::scope(|scope| {
        let mut node = Node::new(&plan, scope, clerk, &watcher, signals);
        let over = node.direct(&mut runtime);
        if matches!(over, Ok(Over::Unheard(_))) {
            // heads that are being put would be put again and again until etcd is back
            etcd.close();
        }
        node.dismiss();
        over
    });
    let goes_on = matches!(over, Ok(Over::Lost(_)));
    if goes_on {
        signals.stand_by();
    }
    watcher.end(goes_on);
    runtime.hang_up();
    plan.quotas.iter().for_each(|quotas| quotas.end());
    runtime.stop();
    figures.note()?;
    // nothing of it runs any more: what is held is given up at once
    etcd.leave();
    match etcd.fault() {
        Some(fault) if over.is_ok() => Err(CrawlError::Usage(fault)),
        _ => over.map(|over| (over, shipments)),
    }
}

/// Names the node as its machine, where it has no name.
fn name_node(config: &mut Config) {
    if config.cluster.name.is_empty() {
        config.cluster.name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    }
}

fn node_options(request: &NodeRequest, object: &CrawlObject, before: Seen) -> NodeOptions {
    let cluster = &request.crawl.config.cluster;
    let lease = cluster.lease;
    NodeOptions {
        etcd: EtcdOptions { revision_seen: before.revision, ..request.etcd.clone() },
        crawl: CrawlName { id: object.id(), era: before.era },
        name: cluster.name.clone(),
        record: NodeRecord {
            weight: if cluster.weight == 0 { threads::cores() as u32 } else { cluster.weight as u32 },
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..NodeRecord::default()
        },
        lease,
        margin: lease / 4,
        // the process that had it has ended: this one has locked its directory
        former_lease: before.lease,
        compacts: true,
    }
}

/// Figures by etcd.
#[derive(Clone)]
struct EtcdFigures {
    etcd: Arc<EtcdOwnership>,
    dir: PathBuf,
    era: u32,
}

impl EtcdFigures {
    /// Puts down what this node knows of etcd, for the next process.
    fn note(&self) -> disk::Result<()> {
        let revision = self.etcd.crawl().revision_seen().max(self.etcd.heads().known.last());
        Seen { era: self.era, revision, lease: self.etcd.lease() }.write(&Disk::real(), &self.dir)
    }
}

impl Figures for EtcdFigures {
    fn exchange(&self, own: &FiguresRecord) -> Result<Vec<FiguresRecord>, ClusterError> {
        self.etcd.put_figures(own)?;
        let crawl: &EtcdCrawl = self.etcd.crawl();
        let figures = crawl.figures()?.into_iter().map(|(_, figures)| figures).collect();
        if let Err(error) = self.note() {
            tracing::warn!("{error}");
        }
        Ok(figures)
    }
}
