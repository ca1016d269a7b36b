//! Access to a stored crawl for other programs: open a directory, walk over its pages, get one by its URL, follow what
//! comes.
//!
//! This module is what the crate promises to others; its items keep to semantic versioning. It reads files only: it
//! takes no lock of the crawl's, writes nothing into its directory and never slows it, so it works beside a running
//! crawl and after it, whatever the number of its shards and the compression of its archive.
//!
//! ```no_run
//! use crawler::archive::{Archive, Cursor};
//!
//! # fn main() -> crawler::archive::Result<()> {
//! let archive = Archive::open("./crawl")?;
//! for page in archive.pages() {
//!     let page = page?;
//!     println!("{} {}", page.status(), page.url());
//! }
//! if let Some(page) = archive.get("https://example.com/")? {
//!     println!("{}", String::from_utf8_lossy(&page.answer()?.body));
//! }
//! let mut follower = archive.follow(&Cursor::read("cursor.json")?.unwrap_or_default())?;
//! while let Some(page) = follower.next_page()? {
//!     println!("{}", page.url());
//!     follower.cursor().write("cursor.json")?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Promises of following
//!
//! - **Pages that are given out are durable.** A page is given out when a checkpoint covers it: all that a checkpoint
//!   names was synced before its file was begun. A crawl that resumes after a power cut, from that checkpoint or the
//!   one before it, never cuts the archive behind a whole exchange that was synced, and replays it into the same place
//!   of the index. So no page that was given out can vanish. Pages stored since the last checkpoint are given out after
//!   the next one.
//! - **Every page comes at least once**: each answer that was stored, every version of a URL, redirects, errors and
//!   robots.txt included, unless it was removed or forgotten before it was reached. A [`Cursor`] that is kept after
//!   pages were dealt with gives the rest; pages between the cursor and a kill come again. [`Page::place`] is
//!   different for every answer, so that a page that comes twice can be recognised by it.
//! - **In order**: per shard by place in the archive, which is the order in which the pages were stored. Pages of
//!   different shards come in turns, in no order that means something.
//!
//! # Cursors when the archive changes
//!
//! - A compaction removes pages and moves others to another place of their value file. Cursors stay valid: places are
//!   offsets in key.dat, which never change. Removed pages are passed over.
//! - `crawler verify --rebuild` makes key.dat again, where damaged pages may be missing and others may have come back.
//!   So a cursor also has what its last page is known by (value file, time, URL), and goes on behind that page,
//!   wherever its record is now. Only if that very page is gone, the pages of its value file (at most
//!   `container.segment_size`) come again, and [`Follower::notices`] says so. Places of pages may then be others than
//!   before: compare URL and time.
//! - While a crawl that was killed replays what its last checkpoint does not cover, key.dat is shorter for a moment.
//!   The follower waits for the next checkpoint.
//! - A cursor of another crawl is refused.
//!
//! # Cost
//!
//! A look for more reads the names in the directory of each shard. A new checkpoint costs one read of the last section
//! of its file, and of the end of key.dat. Memory is bounded by 256 KiB of key.dat for each shard and one page.

mod cursor;
mod error;
mod follower;
mod page;
mod tail;

use std::path::Path;
use std::sync::Arc;

pub use cursor::{Cursor, Place};
pub use error::{Error, Result};
pub use follower::Follower;
pub use page::{Answer, History, Page, WarcPlace};

use crate::crawl::archives::{Archives, has_no_page};
use crate::crawl::dirs::CrawlDirs;
use crate::disk::{self, Disk};
use crate::engine::Identity;
use crate::web::url::CanonicalUrl;

/// The archive in a crawl directory, as it was when it was opened.
#[derive(Clone, Debug)]
pub struct Archive {
    archives: Arc<Archives>,
}

impl Archive {
    /// Opens the archive in a crawl directory. What is stored later is not seen, but by [`Archive::follow`].
    ///
    /// # Errors
    /// [`Error::NothingStored`] where there is no crawl or it has no page yet; [`Error::Disk`] where its files cannot
    /// be read.
    pub fn open(dir: impl AsRef<Path>) -> Result<Archive> {
        Archive::open_on(&Disk::real(), dir.as_ref())
    }

    /// The same on another disk.
    pub(crate) fn open_on(disk: &Disk, dir: &Path) -> Result<Archive> {
        let archives = find(disk, dir)?;
        if !archives.open_all() {
            return Err(Error::NothingStored(dir.to_owned()));
        }
        if !archives.dirs().is_sharded() {
            // what is faulty of several is told when it is met
            archives.reader(0)?;
        }
        Ok(Archive { archives: Arc::new(archives) })
    }

    /// The archives of its shards.
    pub(crate) fn archives(&self) -> &Arc<Archives> {
        &self.archives
    }

    /// All stored answers, every version of every URL and robots.txt files included: shard after shard, each in the
    /// order in which they were stored. Beside a running crawl they include what no checkpoint covers yet.
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

    /// The newest version of a URL: in this spelling or, where it was not fetched so, in another one that the crawl
    /// takes for the same. [`Page::previous`] leads to the versions before.
    ///
    /// # Errors
    /// [`Error::Url`] where `url` is none.
    pub fn get(&self, url: &str) -> Result<Option<Page>> {
        let parsed = CanonicalUrl::parse(url).map_err(|_| Error::Url(url.to_owned()))?;
        let found = self.archives.newest(&parsed)?;
        Ok(found.map(|(at, record)| Page::new(self.archives.clone(), at, record)))
    }

    /// The pages behind `cursor`, as far as they are durable, and those that come later.
    ///
    /// # Errors
    /// [`Error::OtherCrawl`] where the cursor is of another crawl.
    pub fn follow(&self, cursor: &Cursor) -> Result<Follower> {
        let archives = &self.archives;
        Follower::new(archives.disk().clone(), archives.dirs().clone(), archives.keys().clone(), cursor)
    }
}

impl Follower {
    /// Follows the crawl in `dir`, which may have stored nothing yet.
    ///
    /// # Errors
    /// [`Error::NothingStored`] where there is no crawl; [`Error::OtherCrawl`] where the cursor is of another one.
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
