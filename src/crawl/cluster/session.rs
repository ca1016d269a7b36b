//! A process that takes part in a crawl on many machines, session after session.
//!
//! A session is all that happens under one lease: ownership, threads, engines. When a claim is lost, all of it is
//! ended and waited for, and the next one begins with nothing of it. So no task of an old engine can write into a
//! directory that a new one has opened, and nothing goes on under a lease that another node may have outlived.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::claim::{Grounds, NodeLease};
use super::crawl_object::CrawlObject;
use super::heads::Heads;
use super::lists::Lists;
use super::node::{Figures, Node, Over, Plan};
use super::shipments::Shipments;
use super::{ERA, open_store, settings_of};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{
    ClusterError, CrawlName, EtcdCrawl, EtcdOptions, EtcdOwnership, FiguresRecord, NodeOptions, NodeRecord, Ownership,
};
use crate::config::Bytes;
use crate::crawl::runtime::{Network, Runtime};
use crate::crawl::{CrawlError, CrawlRequest, directory, files, memory, options, threads};
use crate::disk::{self, DirectoryLock, Disk, Error};
use crate::engine::{Commons, SeedTable};
use crate::fetch::Permission;
use crate::process::ProcessOptions;
use crate::record::Finish;
use crate::ship::{ShipOptions, StoreView};
use crate::store::ObjectStore;

/// Between two sessions.
const PAUSE: Duration = Duration::from_secs(1);
/// Memory of what was read from the store.
const CACHE_BYTES: usize = 64 << 20;
/// The lease of the last session, in the node's directory.
const LEASE_FILE: &str = "lease";

/// What a node is started with, beside its request.
#[derive(Debug)]
pub struct NodeRequest {
    /// The settings, the directory.
    pub crawl: CrawlRequest,
    /// Where etcd is.
    pub etcd: EtcdOptions,
    /// The first digits of the crawl's id, where the store has several.
    pub id: Option<String>,
}

/// Takes part until the crawl has ended, or the node is asked to stop.
pub fn take_part(mut request: NodeRequest) -> Result<Finish, CrawlError> {
    let store = open_store(&request.crawl.config)?;
    let object = CrawlObject::find(&*store, request.id.as_deref())?;
    let (idle_max, lowered) = files::fit(&mut request.crawl.config, files::raise_limit())?;
    lowered.iter().for_each(|what| tracing::warn!("{what}"));
    request.crawl.config.crawl.shards = object.identity.shards() as usize;
    let dir = &request.crawl.dir;
    disk::create_crawl_dir(dir, options::readers(&request.crawl.config))?;
    let _lock = DirectoryLock::acquire(dir)?;
    prepare(&object, &request.crawl)?;
    loop {
        let (over, shipments) = session(&request, &object, &store, idle_max)?;
        match over {
            Over::Finished(finish, ending) => {
                shipments.tell();
                ending.into_iter().for_each(|ending| ending.print(&request.crawl));
                return Ok(finish);
            }
            Over::Lost(why) => {
                tracing::warn!("{why}: all engines of this node have ended; it begins again");
                thread::sleep(PAUSE);
            }
        }
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
) -> Result<(Over, Arc<Shipments>), CrawlError> {
    let crawl = &request.crawl;
    let shards = object.identity.shards();
    let etcd = Arc::new(EtcdOwnership::start(node_options(request, object)?).map_err(CrawlError::Cluster)?);
    note_lease(&crawl.dir, etcd.lease())?;
    let ownership: Arc<dyn Ownership> = etcd.clone();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let keys = Arc::new(object.identity.key_maker());
    let guard = options::guard(&crawl.config)?;
    let process: ProcessOptions = options::process(&crawl.config, keys.clone(), guard.clone());
    let lease = Permission::by(Some(Arc::new(NodeLease(ownership.clone()))));
    let mut runtime = Runtime::start(crawl, clock.clone(), Network { idle_max, guard, lease }, &process)?;
    let view = StoreView::new(store.clone(), Some(Disk::real()), CACHE_BYTES);
    let heads = Heads::new(store.clone(), object.names(), (crawl.dir.clone(), view.clone()), shards);
    let ship = ShipOptions { bytes_per_second: crawl.config.cluster.bytes_per_second.map(Bytes::get) };
    let shipments = Shipments::new(store.clone(), object.names(), (object.identity.id, shards), ship);
    let shipments = Arc::new(shipments);
    let mut lists = Lists::new(SeedTable::open(&Disk::real(), &crawl.dir, None)?);
    lists.take(&**store, &ownership.heads())?;
    let settings = settings_of(&crawl.config);
    let ceiling = memory::Ceiling::of(&crawl.config, threads::cores());
    let plan = Plan {
        request: crawl,
        grounds: Grounds {
            store: store.clone(),
            names: object.names(),
            identity: object.identity.clone(),
            view,
            ownership,
            heads: Arc::new(heads),
            shipments: shipments.clone(),
        },
        process,
        keys,
        commons: Commons::of_shards(&settings, clock),
        ceiling: ceiling.with_seeds(u64::from(lists.seeds()), 0).bytes,
    };
    let told = EtcdFigures(&etcd);
    let over = thread::scope(|scope| {
        let mut node = Node::new(&plan, scope, &runtime, lists, &told)?;
        let over = node.direct(&mut runtime);
        node.dismiss();
        over
    });
    runtime.stop();
    // nothing of it runs any more: what is held is given up at once
    etcd.leave();
    match etcd.fault() {
        Some(fault) if over.is_ok() => Err(CrawlError::Usage(fault)),
        _ => over.map(|over| (over, shipments)),
    }
}

fn node_options(request: &NodeRequest, object: &CrawlObject) -> Result<NodeOptions, CrawlError> {
    let cluster = &request.crawl.config.cluster;
    let name = match cluster.name.as_str() {
        "" => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        name => name.to_owned(),
    };
    let lease = cluster.lease;
    Ok(NodeOptions {
        etcd: request.etcd.clone(),
        crawl: CrawlName { id: object.id(), era: ERA },
        name,
        record: NodeRecord {
            weight: if cluster.weight == 0 { threads::cores() as u32 } else { cluster.weight as u32 },
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..NodeRecord::default()
        },
        lease,
        margin: lease / 4,
        former_lease: former_lease(&request.crawl.dir),
        compacts: true,
    })
}

/// The lease of the last session of a process with this directory, which has ended: this one has locked it.
fn former_lease(dir: &Path) -> Option<u64> {
    fs::read_to_string(lease_path(dir)).ok()?.trim().parse().ok()
}

fn note_lease(dir: &Path, lease: Option<u64>) -> disk::Result<()> {
    let path = lease_path(dir);
    match lease {
        Some(lease) => Disk::real().replace(&path, lease.to_string().as_bytes()),
        None => match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &path, error)),
            _ => Ok(()),
        },
    }
}

fn lease_path(dir: &Path) -> PathBuf {
    dir.join(LEASE_FILE)
}

/// Figures by etcd.
struct EtcdFigures<'a>(&'a EtcdOwnership);

impl Figures for EtcdFigures<'_> {
    fn exchange(&self, own: &FiguresRecord) -> Result<Vec<FiguresRecord>, ClusterError> {
        self.0.put_figures(own)?;
        let crawl: &EtcdCrawl = self.0.crawl();
        Ok(crawl.figures()?.into_iter().map(|(_, figures)| figures).collect())
    }
}
