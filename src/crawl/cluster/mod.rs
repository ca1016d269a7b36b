//! A crawl that survives its machine: its checkpoints are shipped to a store of objects, and it goes on from there.
//!
//! ```text
//! begin   store opened ─► crawl known there ─► seeds shipped ─► each shard: claim, head, note ─► Shipments
//! adopt   store opened ─► crawl found ─► seeds, head of each shard restored ─► a directory that is resumed
//! ```
//! Without a registry one process at a time may work on a crawl: each opening begins an era, and the head of a shard is
//! the newest manifest whose objects are all there. A directory whose crawl has gone on elsewhere is refused, and a
//! process of an earlier era ends with its next checkpoint.

mod adopt;
mod clerk;
mod crawl_object;
mod lists;
mod node;
mod orders;
mod plan;
mod quotas;
mod reading;
mod recover;
mod seeds;
mod seen;
mod session;
mod watcher;

use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::directory::Directory;
use super::{CrawlError, CrawlRequest, options, settings as settings_of};
use crate::checkpoint::{Identity, Sharding};
use crate::config::{Bytes, Config};
use crate::disk::Disk;
use crate::engine::Shipping;
pub(super) use crate::node::Shipments;
use crate::node::{Alone, Begun, Eras, Note, Stamp, prefix};
use crate::shard::Shard;
use crate::ship::{Claim, Names, ShipOptions, greatest_claim, newest};
use crate::store::{self, ObjectStore, StoreOptions};
pub use adopt::adopt;
use crawl_object::{CrawlObject, refused};
pub use orders::{Look, Operated, init, refuse_another};
pub use reading::StoredCrawl;
pub use recover::recover;
pub use session::{NodeRequest, take_part};

/// The store of `config`.
fn open_store(config: &Config) -> Result<Arc<dyn ObjectStore>, CrawlError> {
    store::open(config.cluster.store.expose(), &StoreOptions::default()).map_err(refused)
}

/// Begins to ship the checkpoints of the crawl of `request`, whose directory was opened; `None` where they stay on this
/// machine.
pub(super) fn begin(request: &CrawlRequest, directory: &Directory) -> Result<Option<Arc<Shipments>>, CrawlError> {
    if !options::ships(&request.config) {
        return Ok(None);
    }
    let (store, disk) = (open_store(&request.config)?, Disk::real());
    let identity = whole(&directory.shards[0].identity);
    let object = CrawlObject { identity, config: request.config.clone(), shared: false };
    object.put(&*store).map_err(refused)?;
    let (names, prefix) = (object.names(), object.prefix());
    let (crawl, shards) = (object.identity.id, object.identity.shards());
    let options = ShipOptions { bytes_per_second: request.config.cluster.bytes_per_second.map(Bytes::get) };
    let shipments = Shipments::new(store.clone(), names.clone(), crawl, shards, options, thread::sleep);
    let shards = directory.shards.iter().map(|shard| shard.identity.shard());
    let begun = begin_era(&*store, &prefix, &names, shards)?;
    for shard in &directory.shards {
        let place = shard.identity.shard();
        let head = newest(&*store, &names, place.index()).map_err(refused)?;
        let stamp = head.as_ref().map(|head| Stamp::new(head.claim, head.number));
        if !Note::read(&disk, &shard.dir)?.is_of(stamp) {
            return Err(CrawlError::Usage(format!(
                "{}: the crawl in {} has gone on from another directory; crawler cluster run goes on with it in a new \
                 one",
                shard.dir.display(),
                store.address()
            )));
        }
        let commit = Alone { store: store.clone(), prefix: prefix.clone(), begun: begun.clone() };
        shipments.own(place, Claim { era: begun.era, epoch: 0 }, Box::new(commit), head, &disk, &shard.dir)?;
    }
    Ok(Some(Arc::new(shipments)))
}

/// Puts what the list of the seeds of the crawl in `root` has by now into the store, where the crawl has several
/// shards; before any of them admits it.
pub(super) fn ship_seeds(shipments: &Shipments, root: &Path) -> Result<(), CrawlError> {
    let prefix = prefix(shipments.crawl());
    seeds::ship(shipments.store(), &prefix, &Disk::real(), root, options::random()).map_err(refused)
}

/// The settings that the crawl in the store of `config` was made with.
pub fn settings(config: &Config, id: Option<&str>) -> Result<Config, CrawlError> {
    Ok(CrawlObject::find_shared(&*open_store(config)?, id)?.config)
}

/// Begins the era behind the newest one that the store has of the crawl.
fn begin_era(
    store: &dyn ObjectStore,
    prefix: &str,
    names: &Names,
    shards: impl Iterator<Item = Shard>,
) -> Result<Begun, CrawlError> {
    let mut known = 0;
    for shard in shards {
        let claim = greatest_claim(store, names, shard.index()).map_err(refused)?;
        known = known.max(claim.map_or(0, |claim| claim.era));
    }
    let eras = Eras { store, prefix };
    let era = eras.newest_from(known).map_err(refused)? + 1;
    let begun = eras.begin(era, options::random()).map_err(refused)?;
    let another = || CrawlError::Usage(format!("another process goes on with the crawl in {}", store.address()));
    begun.ok_or_else(another)
}

/// The identity of the whole crawl that has a shard with this one.
fn whole(of_shard: &Identity) -> Identity {
    let sharding = of_shard.sharding.map(|sharding| Sharding { shard: None, ..sharding });
    Identity { sharding, ..of_shard.clone() }
}

/// Returns `shipments` in the form in which an engine is opened with them, to have its checkpoints shipped.
pub(super) fn shipping(shipments: Option<Arc<Shipments>>) -> Option<Arc<dyn Shipping>> {
    shipments.map(|shipments| shipments as Arc<dyn Shipping>)
}
