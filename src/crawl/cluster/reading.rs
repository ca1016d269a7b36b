//! A crawl in a store, as readers see it: no crawl directory is needed, and none is made.
//!
//! Every file is read from the store by ranges, through a [`StoreView`]. What is read is the newest checkpoint of each
//! shard. A crawl that goes on meanwhile deletes what its next checkpoints need no more; a reader that finds something
//! gone then begins again.
//!
//! The index of the archive is not shipped. A reader goes through the key records when it is opened, and keeps in
//! memory where they are; for a large archive the index is rebuilt instead, in a directory for temporary files that
//! lasts as long as the crawl is open.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::crawl_object::{CrawlObject, refused};
use super::{open_store, seeds};
use crate::config::Config;
use crate::container::make_addresses;
use crate::crawl::{CrawlError, figures, options};
use crate::disk::{self, Disk, Readers, create_crawl_dir};
use crate::engine::seeds::list_path;
use crate::engine::{Identity, checkpoint};
use crate::node::{Eras, Known};
use crate::record::layout;
use crate::shard::Shard;
use crate::ship::{self, Checked, Manifest, StoreView};
use crate::store::ObjectStore;

/// Memory of what was read.
const CACHE_BYTES: usize = 64 << 20;
/// Key records of so many bytes, some two million, are found by memory.
const KEYS_IN_MEMORY_BYTES: u64 = 256 << 20;

/// A crawl in a store, opened for reading. What is opened by it stays open when this is dropped.
#[derive(Debug)]
pub struct StoredCrawl {
    store: Arc<dyn ObjectStore>,
    object: CrawlObject,
    /// Of a crawl on many machines.
    known: Option<Known>,
    view: Arc<StoreView>,
    /// Where the view has it: named as the store is, or as the directory with its index.
    dir: PathBuf,
    index: Option<Temporary>,
}

impl StoredCrawl {
    /// The crawl in the store at `url` whose id begins with `id`; the only crawl there, where none is named. All that
    /// its shards have is shown.
    pub fn open(url: &str, id: Option<&str>) -> Result<StoredCrawl, CrawlError> {
        let mut crawl = StoredCrawl::find(url, id)?;
        let mut manifests = Vec::new();
        for shard in crawl.shards() {
            let newest = crawl.newest(shard)?;
            let names = crawl.object.names();
            if newest.is_none() && ship::has_manifest(&*crawl.store, &names, shard.index()).map_err(refused)? {
                return Err(CrawlError::Store(crate::store::Error::Damaged {
                    name: names.shard(shard.index()),
                    offset: 0,
                    expected: "a checkpoint of which all objects are there".to_owned(),
                    found: "none; crawler verify --store says what is missing".to_owned(),
                }));
            }
            manifests.push(newest);
        }
        let keys: u64 = manifests.iter().flatten().map(key_bytes).sum();
        if keys > KEYS_IN_MEMORY_BYTES {
            crawl.index = Some(Temporary::new()?);
            crawl.begin();
        }
        for (shard, manifest) in crawl.shards().zip(&manifests) {
            crawl.show(shard, manifest.as_ref());
            if let Some(bytes) = manifest.as_ref().map(key_bytes).filter(|&bytes| bytes > 0 && crawl.index.is_some()) {
                let pages = crawl.dir_of(shard).join(layout::PAGES);
                Disk::real().create_dir_all(&pages)?;
                make_addresses(&crawl.disk(), &pages, bytes)?;
            }
        }
        Ok(crawl)
    }

    /// The same, with nothing of its shards yet.
    pub fn find(url: &str, id: Option<&str>) -> Result<StoredCrawl, CrawlError> {
        let mut config = Config::default();
        url.clone_into(&mut config.cluster.store);
        config.check().map_err(|error| CrawlError::Usage(error.to_string()))?;
        let store = open_store(&config)?;
        let object = CrawlObject::find(&*store, id)?;
        let eras = Eras { store: &*store, prefix: &object.prefix() };
        let known = object.shared.then(|| eras.known()).transpose().map_err(refused)?;
        let view = StoreView::new(store.clone(), None, CACHE_BYTES);
        let mut crawl = StoredCrawl { store, object, known, view, dir: PathBuf::new(), index: None };
        crawl.begin();
        Ok(crawl)
    }

    /// Makes the view, with what is of the whole crawl.
    fn begin(&mut self) {
        let under = self.index.as_ref().map(|_| Disk::real());
        self.view = StoreView::new(self.store.clone(), under, CACHE_BYTES);
        self.dir = match &self.index {
            Some(temporary) => temporary.0.clone(),
            None => PathBuf::from(format!("{}/{}", self.address(), self.object.id())),
        };
        let json = |value: serde_json::Result<Vec<u8>>| value.expect("an identity and settings are plain data");
        let identity = json(serde_json::to_vec_pretty(&self.object.identity));
        self.view.mount_bytes(&Identity::copy_path(&self.dir), identity);
        let settings = json(serde_json::to_vec_pretty(&self.object.config));
        self.view.mount_bytes(&self.dir.join(layout::SETTINGS), settings);
    }

    /// The disk on which it is.
    pub fn disk(&self) -> Disk {
        self.view.disk()
    }

    /// Its directory there.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory of a shard there.
    pub fn dir_of(&self, shard: Shard) -> PathBuf {
        if shard.is_whole() { self.dir.clone() } else { self.dir.join(shard.dir_name()) }
    }

    /// Where the store is.
    pub fn address(&self) -> String {
        self.store.address()
    }

    /// Its shards.
    pub fn shards(&self) -> impl Iterator<Item = Shard> + use<> {
        Shard::all(self.object.identity.shards())
    }

    /// The newest checkpoint of the shard that is whole and counts.
    pub fn newest(&self, shard: Shard) -> Result<Option<Manifest>, CrawlError> {
        let (store, names) = (&*self.store, self.object.names());
        let newest = match &self.known {
            Some(known) => known.head(store, &names, shard.index()),
            None => ship::newest(store, &names, shard.index()),
        };
        newest.map_err(refused)
    }

    /// The newest checkpoint of the shard, whole or not, and what is wrong with its objects.
    pub fn check(&self, shard: Shard) -> Result<Checked, CrawlError> {
        ship::check(&*self.store, &self.object.names(), shard.index()).map_err(refused)
    }

    /// Shows the files of `manifest` as those of the shard, in the place of what was shown before.
    pub fn show(&self, shard: Shard, manifest: Option<&Manifest>) {
        let dir = self.dir_of(shard);
        match manifest {
            Some(manifest) => self.view.mount(&dir, manifest, &|_| true),
            None => self.view.mount_empty(&dir),
        }
    }

    /// Shows the figures of the newest checkpoint of each shard too. Their plain copy is not shipped.
    pub fn show_figures(&self) -> Result<(), CrawlError> {
        let disk = self.disk();
        for shard in self.shards() {
            let dir = self.dir_of(shard);
            let Some((checkpoint, _)) = checkpoint::newest(&disk, &dir)? else { continue };
            let snapshot = figures::of_checkpoint(&checkpoint, self.object.identity.created);
            let json = serde_json::to_vec(&snapshot).expect("counters always have a JSON form");
            self.view.mount_bytes(&dir.join(layout::STATUS), json);
        }
        Ok(())
    }

    /// Shows the list of the seeds too, which several shards have together; says whether it can be known.
    pub fn show_seeds(&self) -> Result<bool, CrawlError> {
        if self.object.identity.shards() == 1 {
            return Ok(true);
        }
        let lists = self.known.as_ref().map_or(&[][..], |known| &known.lists);
        let list = match lists.is_empty() {
            true => seeds::read(&*self.store, &self.object.prefix()),
            false => seeds::of_lists(&*self.store, lists).map(Some),
        };
        let Some(list) = list.map_err(refused)? else { return Ok(false) };
        self.view.mount_bytes(&list_path(&self.dir), list);
        Ok(true)
    }
}

/// Bytes of the key records.
fn key_bytes(manifest: &Manifest) -> u64 {
    manifest.file("pages/key.dat").map_or(0, |keys| keys.bytes())
}

/// A directory that is removed with what it holds.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> disk::Result<Temporary> {
        let dir = std::env::temp_dir().join(format!("crawler-{:032x}", options::random()));
        create_crawl_dir(&dir, Readers::Owner)?;
        Ok(Temporary(dir))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
