//! A directory from a store: of a crawl whose machine is lost, or that is to move.
//!
//! It is made beside its place and renamed there when all of it is durable. So a process that is killed meanwhile
//! leaves nothing that could be taken for a crawl, and the next one begins again.

use std::path::Path;

use super::crawl_object::{CrawlObject, refused};
use super::{open_store, seeds};
use crate::checkpoint::Identity;
use crate::config::Config;
use crate::crawl::{CrawlError, directory, options};
use crate::disk::{self, DirectoryLock, Disk};
use crate::node::{Note, Stamp, aside};
use crate::shard::Shard;
use crate::ship::{Archive, newest, restore};
use crate::store::ObjectStore;

/// The directory that was made.
#[derive(Clone, Debug)]
pub(crate) struct Adopted {
    /// The settings of the crawl, as the store has them.
    pub config: Config,
    /// Shards that had a checkpoint there.
    pub restored: u32,
    /// Shards of the crawl.
    pub shards: u32,
}

/// Makes `dir`, which is not there or empty, the directory of the crawl in the store of `config` whose id begins with
/// `id`; of the only crawl there, where none is named.
pub fn adopt(config: &Config, id: Option<&str>, dir: &Path) -> Result<Adopted, CrawlError> {
    let (store, disk) = (open_store(config)?, Disk::real());
    let object = CrawlObject::find_alone(&*store, id)?;
    let made = aside(dir);
    disk.remove_dir_all(&made)?;
    disk::create_crawl_dir(&made, options::readers(&object.config))?;
    let restored = fill(&*store, &object, &disk, &made)?;
    let shards = object.identity.shards();
    if restored == 0 && shards == 1 {
        disk.remove_dir_all(&made)?;
        return Err(CrawlError::Usage(format!(
            "nothing of this crawl had reached {} when it ended: start a new one",
            store.address()
        )));
    }
    let mut config = object.config;
    config.crawl.shards = shards as usize;
    options::write_copy(&config, &disk, &made)?;
    // by which it is known as one of a crawl
    drop(DirectoryLock::acquire(&made)?);
    directory::put_in_place(&disk, &made, dir)?;
    Ok(Adopted { config, restored, shards })
}

/// Puts everything of the crawl into `root`; how many shards had a checkpoint.
fn fill(store: &dyn ObjectStore, object: &CrawlObject, disk: &Disk, root: &Path) -> Result<u32, CrawlError> {
    let (identity, names) = (&object.identity, object.names());
    let is_whole = identity.shards() == 1;
    if !is_whole {
        directory::begin(disk, root, identity)?;
        seeds::restore(store, &object.prefix(), disk, root).map_err(refused)?;
    }
    let mut restored = 0;
    for shard in Shard::all(identity.shards()) {
        let dir = if is_whole { root.to_owned() } else { root.join(shard.dir_name()) };
        let Some(manifest) = newest(store, &names, shard.index()).map_err(refused)? else { continue };
        disk::create_crawl_dir(&dir, options::readers(&object.config))?;
        restore(store, &manifest, disk, &dir, Archive::Too).map_err(refused)?;
        let committed = Some(Stamp::new(manifest.claim, manifest.number));
        Note { committed, offered: None }.write(disk, &dir)?;
        identity_of(identity, shard).write_copy(disk, &dir)?;
        restored += 1;
    }
    disk.sync_dir(root)?;
    Ok(restored)
}

fn identity_of(identity: &Identity, shard: Shard) -> Identity {
    if shard.is_whole() { identity.clone() } else { identity.of_shard(shard) }
}
