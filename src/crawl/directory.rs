//! What a crawl directory has once: lock, catalog, identity, logs, and the engine that is opened with them.

use std::sync::Arc;

use super::threads::ThreadExecutors;
use super::{CrawlError, CrawlRequest, options, warnings};
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::config::Bytes;
use crate::disk::{self, DirectoryLock, Disk};
use crate::engine::seeds::reader;
use crate::engine::{Commons, Identity, ListedSeeds, Opening, mend};
use crate::record::{CrawlLog, SkippedLog};
use crate::web::url::KeyMaker;

/// The directories of a crawl directory.
const PARTS: [&str; 7] = ["url-seen", "robots", "dns", "frontier", "pages", "logs", "reports"];

/// A crawl directory that was opened, and has no engine yet.
pub(super) struct Directory {
    pub keys: Arc<KeyMaker>,
    disk: Disk,
    catalog: Arc<dyn Catalog>,
    identity: (Identity, bool),
}

impl Directory {
    /// Opens the one of `request`; makes it where there is none. As long as the lock is held it is this process's.
    pub fn open(request: &CrawlRequest, clock: &dyn Clock) -> Result<(DirectoryLock, Directory), CrawlError> {
        let disk = Disk::real();
        disk::create_crawl_dir(&request.dir, options::readers(&request.config))?;
        let lock = DirectoryLock::acquire(&request.dir)?;
        disk::refuse_links(&request.dir, &PARTS, "catalog")?;
        for part in PARTS {
            disk.create_dir_all(&request.dir.join(part))?;
        }
        let catalog = mend::open_catalog(&disk, &request.dir, &mut |what| tracing::warn!("{what}"))?;
        let catalog: Arc<dyn Catalog> = Arc::new(catalog);
        let (identity, is_new) = options::identity(request, &disk, &*catalog, clock.now())?;
        identity.write_copy(&disk, &request.dir)?;
        // a copy that cannot be read is for `verify`
        let before = options::read_copy(&disk, &request.dir).ok().flatten();
        warnings::look_at_depth(&disk, &request.dir, before.as_ref(), &request.config);
        options::write_copy(&request.config, &disk, &request.dir)?;
        let keys = Arc::new(identity.key_maker());
        warnings::look_at_past(&disk, &request.dir, clock.now());
        Ok((lock, Directory { keys, disk, catalog, identity: (identity, is_new) }))
    }

    /// Seeds that earlier runs have listed.
    pub fn listed(&self, request: &CrawlRequest) -> disk::Result<u64> {
        Ok(reader::count(&self.disk, &request.dir)?.unwrap_or(0))
    }

    /// What its engine is opened with, which has `commons` in common with the others of the process.
    pub fn opening(
        self,
        request: &CrawlRequest,
        executors: ThreadExecutors,
        seeds: ListedSeeds,
        clock: Arc<dyn Clock>,
        commons: Commons,
    ) -> disk::Result<Opening> {
        let Directory { keys, disk, catalog, identity } = self;
        let log_bytes = request.config.report.log_bytes.map(Bytes::get);
        let logs = (
            CrawlLog::open(&disk, &request.dir)?.rolled_at(log_bytes),
            SkippedLog::open(&disk, &request.dir)?.rolled_at(log_bytes),
        );
        let opening = options::opening(request, disk, catalog, (clock, commons), identity, keys);
        let wake = executors.waker();
        Ok(opening((Box::new(executors), wake), logs, seeds))
    }
}
