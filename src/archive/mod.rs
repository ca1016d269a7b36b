//! Access to a stored crawl for other programs: open a crawl directory, iterate over its pages, get one by its URL,
//! follow pages as they are stored.
//!
//! This module is the only one that the crate promises to other programs: its items keep to semantic versioning. It
//! only reads files. It takes no lock, writes nothing into the crawl directory and never slows the crawl, so it works
//! while the crawl runs and after it has ended, with any number of shards and any compression.
//!
//! | to do this | use |
//! |---|---|
//! | read all stored answers | [`Archive::open`], then [`Archive::pages`] |
//! | read the newest version of a URL, and the versions before it | [`Archive::get`], [`Page::previous`] |
//! | read status, headers and body of an answer | [`Page::answer`] |
//! | know where the crawl found a page | [`Page::history`] |
//! | receive pages as they are stored, and resume after a kill | [`Follower::open`] with a [`Cursor`] |
//! | find the WARC record for another tool | [`Page::warc`] |
//!
//! A [`Page`] is one stored answer: a version of a URL. Redirects, errors and robots.txt files are pages, too; see
//! [`Page::status`] and [`Page::is_robots`].
//!
//! ```no_run
//! use crawler::archive::Archive;
//!
//! # fn main() -> crawler::archive::Result<()> {
//! let archive = Archive::open("./crawl")?;
//! for page in archive.pages() {
//!     let page = page?;
//!     if page.status() == 200 && page.media_type() == "text/html" {
//!         println!("{} {} bytes", page.url(), page.body_bytes());
//!     }
//! }
//! // the newest version of a page, and how many there are before it
//! if let Some(page) = archive.get("https://example.com/")? {
//!     println!("{}", String::from_utf8_lossy(&page.answer()?.body));
//!     let mut earlier = 0;
//!     let mut version = page.previous()?;
//!     while let Some(page) = version {
//!         earlier += 1;
//!         version = page.previous()?;
//!     }
//!     println!("{earlier} earlier versions");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Following a crawl, with a cursor in a file, so that the next run continues where this one ended:
//!
//! ```no_run
//! use crawler::archive::{Cursor, Follower};
//!
//! # fn main() -> crawler::archive::Result<()> {
//! let mut follower = Follower::open("./crawl", &Cursor::read("cursor.json")?.unwrap_or_default())?;
//! while let Some(page) = follower.next_page()? {
//!     println!("{}", page.url());
//!     // only now: a page whose cursor is not written comes again
//!     follower.cursor().write("cursor.json")?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` has three whole programs: `pages`, `versions` and `feed`, which waits for more pages while the crawl
//! runs.
//!
//! # Promises of following
//!
//! - **Pages that were returned stay.** [`Follower::next_page`] returns a page once a checkpoint covers it: everything
//!   that a checkpoint names was synced before its file was begun. A crawl that resumes after a power cut, from that
//!   checkpoint or the one before it, never cuts off a whole exchange that was synced, and replays it into the same
//!   place of the index. So no page that was returned can vanish. Pages stored after the last checkpoint are returned
//!   after the next one.
//! - **Every page comes at least once**: each stored answer, every version of a URL, redirects, errors and robots.txt
//!   included, unless it was removed or forgotten before it was reached. Write the [`Cursor`] after you have processed
//!   a page, and the next run returns the rest. Pages between the last written cursor and a kill come again.
//!   [`Page::place`] is different for every answer, so use it to recognise a page that comes twice.
//! - **In order**: for each shard by place in the archive, which is the order in which its pages were stored. Pages of
//!   different shards take turns, in an order without meaning.
//!
//! # Cursors when the archive changes
//!
//! - A compaction removes pages and moves others to another place of their value file. Cursors stay valid: places are
//!   offsets in key.dat, which never change. Removed pages are skipped.
//! - `crawler verify --rebuild` rebuilds key.dat. Damaged pages may be missing in it, and others may have come back. So
//!   a cursor also has properties of its last page (value file, time, URL), and continues behind that page, wherever
//!   its record is now. Only if that page itself is missing, the pages of its value file (at most
//!   `container.segment_bytes`) come again, and [`Follower::notices`] says so. Places of pages may be different
//!   afterwards: compare URL and time.
//! - While a crawl that was killed replays the part after its last checkpoint, key.dat is shorter for a moment. The
//!   follower waits for the next checkpoint.
//! - A cursor of another crawl is refused ([`Error::OtherCrawl`]).
//!
//! # Cost
//!
//! A call that finds no more pages reads the names in the directory of each shard. A new checkpoint costs one read of
//! the last section of its file, and of the end of key.dat. Memory is bounded by 256 KiB of key.dat for each shard and
//! one page.

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

use crate::checkpoint::Identity;
use crate::crawl::archives::{Archives, has_no_page};
use crate::crawl::dirs::CrawlDirs;
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
    pub(crate) fn open_on(disk: &Disk, dir: &Path) -> Result<Archive> {
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
    pub(crate) fn archives(&self) -> &Arc<Archives> {
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
