//! The parts that a shard has once: lock, identity, logs, and the engine that is opened with them. In a crawl
//! with one shard its directory is the crawl directory itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sites::SiteTables;
use super::threads::ThreadExecutors;
use super::{CrawlError, CrawlRequest, options, recrawl, share};
use crate::checkpoint::{Identity, begin};
use crate::clock::{Clock, Time};
use crate::config::Bytes;
use crate::contract::Sites;
use crate::disk::{self, DirectoryLock, Disk, Error};
use crate::engine::{Commons, ListedSeeds, Opening, Settings};
use crate::frontier::{FrontierOptions, Treatments};
use crate::record::layout::{self, Entry};
use crate::record::{CrawlLog, SkippedLog};
use crate::shard::Shard;
use crate::web::url::KeyMaker;

/// Things that an engine has in common with the others of its process.
#[derive(Clone)]
pub(super) struct Company {
    /// Number of engines among which the memory of the process is divided.
    pub at_once: usize,
    /// Maker of the fingerprints of the crawl.
    pub keys: Arc<KeyMaker>,
    /// Clock of the process.
    pub clock: Arc<dyn Clock>,
    /// Resources that all engines of the process share.
    pub commons: Commons,
}

/// A shard that was opened, and has no engine yet.
pub(super) struct ShardDirectory {
    pub dir: PathBuf,
    pub identity: Identity,
    pub is_new: bool,
    disk: Disk,
    /// Lock of a shard beside others; `None` for the only one, for which the lock of the crawl directory is enough.
    _lock: Option<DirectoryLock>,
}

impl ShardDirectory {
    /// Opens the only shard of the crawl of `request`, whose directory is locked; makes it where there is none.
    pub(crate) fn open_alone(request: &CrawlRequest, now: Time) -> Result<ShardDirectory, CrawlError> {
        let (disk, dir) = (Disk::real(), request.dir.clone());
        make_directories(&disk, &dir, Shard::WHOLE)?;
        let (identity, is_new) = options::identity(request, &disk, now)?;
        identity.write_copy(&disk, &dir)?;
        Ok(ShardDirectory { dir, identity, is_new, disk, _lock: None })
    }

    /// Opens the shard with this `identity` of the crawl of `request` on `disk`. Unless the crawl `is_made`, it makes
    /// the shard where there is none.
    pub(crate) fn open_shard(
        request: &CrawlRequest,
        disk: Disk,
        identity: Identity,
        is_made: bool,
    ) -> Result<ShardDirectory, CrawlError> {
        let dir = request.dir.join(identity.shard().dir_name());
        let missing = || Error::damaged(&dir, 0, "the directory of a shard of this crawl", "no crawl in it");
        if is_made && !begin::is_begun(&disk, &dir) {
            return Err(missing().into());
        }
        disk::create_crawl_dir(&dir, options::readers(&request.config))?;
        let lock = DirectoryLock::acquire(&dir)?;
        make_directories(&disk, &dir, identity.shard())?;
        let is_new = begin::begin_shard(&disk, &dir, &identity)?;
        identity.write_copy(&disk, &dir)?;
        Ok(ShardDirectory { dir, identity, is_new, disk, _lock: Some(lock) })
    }

    /// Returns what its engine is opened with. Its exchange with other shards and its shipping are the caller's.
    pub(crate) fn opening(
        &self,
        request: &CrawlRequest,
        company: Company,
        executors: ThreadExecutors,
        seeds: ListedSeeds,
    ) -> Result<Opening, CrawlError> {
        let Company { at_once, keys, clock, commons } = company;
        let (config, own) = (&request.config, share::of_one_of(&request.config, at_once));
        let tables = SiteTables::of(config, options::signer(config)?)?;
        let log_bytes = config.report.log_bytes.map(Bytes::get);
        Ok(Opening {
            clock,
            last_known: executors.last_checkpoint(self.identity.shard()),
            wake: executors.waker(),
            executors: Box::new(executors),
            commons,
            drum: options::drum(&own, self.identity.buckets),
            frontier: FrontierOptions {
                treatments: tables.clone().map(|tables| tables as Arc<dyn Treatments>),
                ..options::frontier(&own, self.identity.partitions)
            },
            is_new: self.is_new,
            keys,
            settings: Settings { sites: tables.map(|tables| tables as Arc<dyn Sites>), ..options::settings(config) },
            scope: options::scope(config)?,
            force: request.force,
            answer_settings: options::answer_settings(config),
            seeds,
            seen_front: options::seen_front(&own),
            host_front: share::host_front(config, at_once),
            container: options::container(&own, self.identity.id),
            warcinfo: options::warcinfo(config),
            crawl_log: CrawlLog::open(&self.disk, &self.dir)?.rolled_at(log_bytes),
            skipped_log: SkippedLog::open(&self.disk, &self.dir)?.rolled_at(log_bytes),
            recrawl: Some(recrawl::options(request)?),
            support: options::support(config),
            exchange: None,
            shipping: None,
            disk: self.disk.clone(),
            dir: self.dir.clone(),
            identity: self.identity.clone(),
        })
    }
}

/// Makes the directories in the directory of a shard.
fn make_directories(disk: &Disk, dir: &Path, shard: Shard) -> disk::Result<()> {
    let directories = || layout::of_shard(shard).filter(Entry::is_directory);
    let names: Vec<&str> = directories().map(|entry| entry.name).collect();
    disk::refuse_links(dir, &names)?;
    directories().filter(Entry::is_made_at_opening).try_for_each(|entry| disk.create_dir_all(&dir.join(entry.name)))
}
