//! A crawl in a store, as readers see it: no crawl directory is needed, and none is made.
//!
//! Every file is read from the store by ranges, through a [`StoreView`]. Only the index of the archive, which is not
//! shipped, is rebuilt: in a directory for temporary files, which is removed when the archive is open. What is read is
//! the newest checkpoint of each shard. A crawl that goes on meanwhile deletes what its next checkpoints need no more;
//! a reader that finds something gone then begins again.

use std::fs;
use std::path::{Path, PathBuf};

use super::crawl_object::{CrawlObject, refused};
use super::open_store;
use crate::config::Config;
use crate::container::make_addresses;
use crate::crawl::{CrawlError, directory, options};
use crate::disk::{Disk, Error, Readers, create_crawl_dir};
use crate::shard::Shard;
use crate::ship::{StoreView, newest};

/// Memory of what was read.
const CACHE_BYTES: usize = 64 << 20;

/// A crawl in a store, opened for reading. What is opened by it stays open when this is dropped.
#[derive(Debug)]
pub struct StoredCrawl {
    disk: Disk,
    dir: PathBuf,
}

impl StoredCrawl {
    /// The crawl in the store at `url` whose id begins with `id`; the only crawl there, where none is named.
    pub fn open(url: &str, id: Option<&str>) -> Result<StoredCrawl, CrawlError> {
        let mut config = Config::default();
        url.clone_into(&mut config.cluster.store);
        config.check().map_err(|error| CrawlError::Usage(error.to_string()))?;
        let store = open_store(&config)?;
        let object = CrawlObject::find(&*store, id)?;
        let dir = std::env::temp_dir().join(format!("crawler-{:032x}", options::random()));
        create_crawl_dir(&dir, Readers::Owner)?;
        let view = StoreView::new(store.clone(), Some(Disk::real()), CACHE_BYTES);
        let crawl = StoredCrawl { disk: view.disk(), dir };
        let names = object.names();
        let shards = object.identity.shards();
        directory::begin(&Disk::real(), &crawl.dir, &object.identity)?;
        for shard in Shard::all(shards) {
            let Some(manifest) = newest(&*store, &names, shard.index()).map_err(refused)? else { continue };
            let dir = if shard.is_whole() { crawl.dir.clone() } else { crawl.dir.join(shard.dir_name()) };
            view.mount(&dir, &manifest, &|_| true);
            let keys = manifest.file("pages/key.dat").map_or(0, |keys| keys.bytes());
            if keys > 0 {
                make(&crawl.disk, &dir.join("pages"), keys)?;
            }
        }
        if shards > 1 {
            object.identity.write_copy(&Disk::real(), &crawl.dir)?;
        }
        Ok(crawl)
    }

    /// The disk on which it is.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Its directory there.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn make(disk: &Disk, pages: &Path, keys: u64) -> Result<(), Error> {
    Disk::real().create_dir_all(pages)?;
    make_addresses(disk, pages, keys)
}

impl Drop for StoredCrawl {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
