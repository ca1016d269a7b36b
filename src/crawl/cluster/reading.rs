//! A crawl in a store, as readers see it: no crawl directory is needed, and none is made.
//!
//! Every file is read by ranges, through a [`StoreView`]. What is read is the newest checkpoint of each shard. A crawl
//! that goes on meanwhile deletes what its next checkpoints need no more; so what a command reads of it is copied when
//! it is opened ([`Pinned`]), and a copy that fails is begun again with the newer checkpoint. Value files stay in the
//! store, and are read there.
//!
//! The index of the archive is not shipped. A reader goes through the key records when it is opened, and keeps in
//! memory where they are; for a large archive the index is rebuilt instead, in a directory for temporary files that
//! lasts as long as the crawl is open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::crawl_object::{CrawlObject, refused};
use super::{open_store, seeds};
use crate::checkpoint::{self, Identity};
use crate::config::Config;
use crate::container::make_addresses;
use crate::crawl::{CrawlError, figures};
use crate::disk::{Disk, scratch};
use crate::engine::seeds::list_path;
use crate::node::{Eras, Known};
use crate::record::layout;
use crate::shard::Shard;
use crate::ship::{self, Checked, Claim, Manifest, Pinned, Reads, Since, StoreView};
use crate::store::{self, ObjectStore};
use crate::web::secret::SecretAddress;

/// Memory of what was read.
const CACHE_BYTES: usize = 64 << 20;
/// Memory of what is kept; the rest of it is in a temporary file.
const KEPT_BYTES: usize = 64 << 20;
/// Key records of this many bytes, some two million, are found by memory.
const KEYS_IN_MEMORY_BYTES: u64 = 256 << 20;

/// A crawl in a store, opened for reading. What is opened by it stays open when this is dropped.
#[derive(Debug)]
pub struct StoredCrawl {
    store: Arc<Pinned>,
    object: CrawlObject,
    /// Eras and lists of seeds of a crawl on many machines; `None` for others.
    known: Option<Known>,
    view: Arc<StoreView>,
    /// Path of the crawl in the view: named as the store is, or as the directory with its index.
    dir: PathBuf,
    index: Option<TempDir>,
    /// The checkpoints that are shown, by shard.
    shown: Vec<Option<(Claim, u64)>>,
}

impl StoredCrawl {
    /// The crawl in the store at `url` whose id begins with `id`; the only crawl there, where none is named. The last
    /// checkpoint of each shard is shown, and what a command `reads` of it stays as it is.
    pub(crate) fn open(url: &SecretAddress, id: Option<&str>, reads: Reads) -> Result<StoredCrawl, CrawlError> {
        let mut crawl = StoredCrawl::find(url, id)?;
        let mut manifests = Vec::new();
        for shard in crawl.shards() {
            let (names, number) = (crawl.object.names(), shard.index());
            let kept =
                ship::keep_newest(&crawl.store, &names, number, crawl.since(shard), reads).map_err(unreadable)?;
            manifests.push(kept);
        }
        let keys: u64 = manifests.iter().flatten().map(key_bytes).sum();
        if keys > KEYS_IN_MEMORY_BYTES {
            crawl.index = Some(scratch::directory()?);
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
        crawl.shown = manifests.iter().map(|manifest| manifest.as_ref().map(stamp_of)).collect();
        Ok(crawl)
    }

    /// Returns whether a shard has a newer checkpoint by now than when this was opened.
    pub(crate) fn has_gone_on(&self) -> Result<bool, CrawlError> {
        for (shard, shown) in self.shards().zip(&self.shown) {
            if self.newest(shard)?.as_ref().map(stamp_of) > *shown {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same, with nothing of its shards yet.
    pub(crate) fn find(url: &SecretAddress, id: Option<&str>) -> Result<StoredCrawl, CrawlError> {
        let mut config = Config::default();
        config.cluster.store.clone_from(url);
        config.check().map_err(|error| CrawlError::Usage(error.to_string()))?;
        let store = Arc::new(Pinned::new(open_store(&config)?, KEPT_BYTES));
        let object = CrawlObject::find(&*store, id)?;
        let eras = Eras { store: &*store, prefix: &object.prefix() };
        let known = object.shared.then(|| eras.known()).transpose().map_err(refused)?;
        let view = StoreView::new(store.clone(), None, CACHE_BYTES);
        let mut crawl = StoredCrawl { store, object, known, view, dir: PathBuf::new(), index: None, shown: Vec::new() };
        crawl.begin();
        Ok(crawl)
    }

    /// Makes the view, with what is of the whole crawl.
    fn begin(&mut self) {
        let under = self.index.as_ref().map(|_| Disk::real());
        self.view = StoreView::new(self.store.clone(), under, CACHE_BYTES);
        self.dir = match &self.index {
            Some(temporary) => temporary.path().to_owned(),
            None => PathBuf::from(format!("{}/{}", self.address(), self.object.id())),
        };
        let json = |value: serde_json::Result<Vec<u8>>| value.expect("an identity and settings are plain data");
        let identity = json(serde_json::to_vec_pretty(&self.object.identity));
        self.view.mount_bytes(&Identity::copy_path(&self.dir), identity);
        let settings = json(serde_json::to_vec_pretty(&self.object.config));
        self.view.mount_bytes(&self.dir.join(layout::SETTINGS), settings);
    }

    /// The disk on which it is.
    pub(crate) fn disk(&self) -> Disk {
        self.view.disk()
    }

    /// Its directory there.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory of a shard there.
    pub(crate) fn dir_of(&self, shard: Shard) -> PathBuf {
        if shard.is_whole() { self.dir.clone() } else { self.dir.join(shard.dir_name()) }
    }

    /// Returns the address of the store.
    pub(crate) fn address(&self) -> String {
        self.store.address()
    }

    /// Its shards.
    pub(crate) fn shards(&self) -> impl Iterator<Item = Shard> + use<> {
        Shard::all(self.object.identity.shards())
    }

    /// The newest checkpoint of the shard that is whole and counts.
    pub(crate) fn newest(&self, shard: Shard) -> Result<Option<Manifest>, CrawlError> {
        let (names, since) = (self.object.names(), self.since(shard));
        ship::newest_since(&*self.store, &names, shard.index(), since).map_err(refused)
    }

    fn since(&self, shard: Shard) -> Since {
        self.known.as_ref().map_or_else(Since::default, |known| known.since(shard.index()))
    }

    /// The newest checkpoint of the shard, whole or not, and what is wrong with its objects; all of it but value files
    /// stays as it is.
    pub(crate) fn check(&self, shard: Shard) -> Result<Checked, CrawlError> {
        ship::check(&self.store, &self.object.names(), shard.index()).map_err(unreadable)
    }

    /// Shows the files of `manifest` as those of the shard, in the place of what was shown before.
    pub(crate) fn show(&self, shard: Shard, manifest: Option<&Manifest>) {
        let dir = self.dir_of(shard);
        match manifest {
            Some(manifest) => self.view.mount(&dir, manifest, &|_| true),
            None => self.view.mount_empty(&dir),
        }
    }

    /// Shows the figures of the newest checkpoint of each shard too. Their plain copy is not shipped.
    pub(crate) fn show_figures(&self) -> Result<(), CrawlError> {
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
    pub(crate) fn show_seeds(&self) -> Result<bool, CrawlError> {
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

/// A store that was there, and does not give a checkpoint.
fn unreadable(error: store::Error) -> CrawlError {
    match error {
        store::Error::Disk(error) => CrawlError::Disk(error),
        error @ store::Error::Damaged { .. } | error @ store::Error::Unavailable { .. } => CrawlError::Store(error),
        error => refused(error),
    }
}

fn stamp_of(manifest: &Manifest) -> (Claim, u64) {
    (manifest.claim, manifest.number)
}

/// Bytes of the key records.
fn key_bytes(manifest: &Manifest) -> u64 {
    manifest.file("pages/key.dat").map_or(0, |keys| keys.bytes())
}
