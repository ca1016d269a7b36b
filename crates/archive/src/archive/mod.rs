//! The pages of a stored crawl: an archive that is open, and a crawl that is followed.

mod cursor;
mod error;
mod follower;
mod links;
mod listed;
mod page;
mod tail;
mod texts;

use std::path::Path;
use std::sync::Arc;

pub use cursor::{Cursor, Place};
pub use error::{Error, Result};
pub use follower::Follower;
pub use links::{FoundLink, FoundLinks, LinkFinder, Linking, redirect, stated};
pub use listed::StoredList;
pub use page::{Answer, History, Page, WarcPlace};
pub use texts::PageTexts;

use crate::checkpoint::Identity;
use crate::dirs::{Archives, CrawlDirs, has_no_page};
use crate::disk::{self, Disk};
use crate::web::url::CanonicalUrl;

/// The archive in a crawl directory, as it was when it was opened. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Archive {
    archives: Arc<Archives>,
}

impl Archive {
    /// Opens the archive in a crawl directory, such as `./crawl`. Pages that are stored later are not seen: open it
    /// again, or use [`Archive::follow`].
    ///
    /// # Errors
    /// [`Error::NothingStored`] if there is no crawl or it has no page yet; [`Error::Disk`] if its files cannot be
    /// read.
    pub fn open(dir: impl AsRef<Path>) -> Result<Archive> {
        Archive::open_on(&Disk::real(), dir.as_ref())
    }

    /// The same on another disk.
    #[doc(hidden)]
    pub fn open_on(disk: &Disk, dir: &Path) -> Result<Archive> {
        let archives = find(disk, dir)?;
        if !archives.open_all() {
            return Err(Error::NothingStored(dir.to_owned()));
        }
        if !archives.dirs().is_sharded() {
            // faults of several shards are reported when they are met
            archives.reader(0)?;
        }
        Ok(Archive { archives: Arc::new(archives) })
    }

    /// The archives of its shards.
    #[doc(hidden)]
    pub fn archives(&self) -> &Arc<Archives> {
        &self.archives
    }

    /// Returns all stored answers, with every version of every URL and with robots.txt files: shard after shard, each
    /// in the order in which they were stored. While the crawl runs, they include answers that no checkpoint covers
    /// yet.
    pub fn pages(&self) -> impl Iterator<Item = Result<Page>> + '_ {
        (0..self.archives.dirs().shards().len()).flat_map(|at| self.pages_of(at))
    }

    fn pages_of(&self, at: usize) -> Box<dyn Iterator<Item = Result<Page>> + '_> {
        match self.archives.reader(at) {
            Ok(None) => Box::new(std::iter::empty()),
            Ok(Some(reader)) => {
                let page = move |record| Ok(Page::new(self.archives.clone(), at, record?));
                Box::new(reader.records().map(page))
            }
            Err(error) => Box::new(std::iter::once(Err(error.into()))),
        }
    }

    /// Returns the newest version of a URL, or `None` if the crawl has not stored it. If the URL was not fetched in
    /// this spelling, another spelling counts that the crawl takes for the same page. [`Page::previous`] leads to the
    /// versions before.
    ///
    /// # Errors
    /// [`Error::Url`] if `url` is not a URL.
    pub fn get(&self, url: &str) -> Result<Option<Page>> {
        let parsed = CanonicalUrl::parse(url).map_err(|_| Error::Url(url.to_owned()))?;
        let found = self.archives.newest(&parsed)?;
        Ok(found.map(|(at, record)| Page::new(self.archives.clone(), at, record)))
    }

    /// Returns the durable pages behind `cursor`, and then the ones that are stored later.
    ///
    /// # Errors
    /// [`Error::OtherCrawl`] if the cursor belongs to another crawl.
    pub fn follow(&self, cursor: &Cursor) -> Result<Follower> {
        let archives = &self.archives;
        Follower::new(archives.disk().clone(), archives.dirs().clone(), archives.keys().clone(), cursor)
    }
}

impl Follower {
    /// Follows the crawl in `dir` from `cursor` on. The crawl may have stored nothing yet.
    ///
    /// # Errors
    /// [`Error::NothingStored`] if there is no crawl; [`Error::OtherCrawl`] if the cursor belongs to another one.
    pub fn open(dir: impl AsRef<Path>, cursor: &Cursor) -> Result<Follower> {
        let (disk, dir) = (Disk::real(), dir.as_ref());
        let archives = find(&disk, dir)?;
        Follower::new(disk, archives.dirs().clone(), archives.keys().clone(), cursor)
    }
}

/// The archives in a crawl directory, none of them opened yet.
fn find(disk: &Disk, dir: &Path) -> Result<Archives> {
    let open = || {
        let dirs = CrawlDirs::open(disk, dir)?;
        let keys = match dirs.keys() {
            Some(keys) => keys.clone(),
            None => Identity::read_copy(disk, dir)?.key_maker(),
        };
        Ok(Archives::new(disk.clone(), dirs, keys))
    };
    open().map_err(|error: disk::Error| match error.is_not_found() && has_no_page(disk, dir) {
        true => Error::NothingStored(dir.to_owned()),
        false => error.into(),
    })
}
