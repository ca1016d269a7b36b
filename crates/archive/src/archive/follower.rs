//! All shards of a crawl, followed together.

use std::path::PathBuf;
use std::sync::Arc;

use super::cursor::Cursor;
use super::error::{Error, Result};
use super::page::Page;
use super::tail::Tail;
use crate::checkpoint::Identity;
use crate::dirs::{Archives, CrawlDirs};
use crate::disk::{DirectoryLock, Disk};
use crate::web::url::KeyMaker;

/// Pages of a shard in a row while other shards have some too.
const TURN_PAGES: u32 = 64;

/// The pages of a crawl as they are stored, from a [`Cursor`] on: see [`Follower::next_page`].
///
/// [The crate](crate) has the promises. Made by [`Follower::open`] and [`Archive::follow`](super::Archive::follow).
#[derive(Debug)]
pub struct Follower {
    root: PathBuf,
    disk: Disk,
    dirs: Arc<CrawlDirs>,
    keys: KeyMaker,
    crawl: String,
    tails: Vec<Tail>,
    /// The shard whose turn it is, and how many of its pages have come.
    turn: (usize, u32),
    notices: Vec<String>,
}

impl Follower {
    pub(super) fn new(disk: Disk, dirs: Arc<CrawlDirs>, keys: KeyMaker, cursor: &Cursor) -> Result<Follower> {
        let root = dirs.root().to_owned();
        let crawl = crawl_in(&disk, &dirs)?;
        if let Some(other) = cursor.crawl.as_ref().filter(|other| **other != crawl) {
            return Err(Error::OtherCrawl { dir: root, cursor: other.clone(), found: crawl });
        }
        let shards = 0..dirs.shards().len();
        let unknown = cursor.last.keys().find(|&&shard| !shards.clone().any(|at| dirs.shard(at).index() == shard));
        if let Some(shard) = unknown {
            return Err(Error::Cursor(cursor.to_string(), format!("the crawl has no shard {shard}")));
        }
        let last = |at: usize| cursor.last.get(&dirs.shard(at).index()).cloned();
        let tails = shards.map(|at| Tail::new(at, last(at))).collect();
        Ok(Follower { root, disk, dirs: dirs.clone(), keys, crawl, tails, turn: (0, 0), notices: Vec::new() })
    }

    /// Returns the next page, or `None` if no more pages are durable at this moment. It does not wait. Call it again
    /// later: after the crawl's next checkpoint there may be more.
    pub fn next_page(&mut self) -> Result<Option<Page>> {
        let mut idle = 0;
        while idle < self.tails.len() {
            let (at, given) = self.turn;
            let (disk, dirs, keys) = (&self.disk, &self.dirs, &self.keys);
            let open = || Archives::new(disk.clone(), dirs.clone(), keys.clone());
            let page = self.tails[at].next(&open, &mut self.notices)?;
            let is_over = page.is_none() || given + 1 >= TURN_PAGES;
            self.turn = if is_over { ((at + 1) % self.tails.len(), 0) } else { (at, given + 1) };
            if page.is_some() {
                return Ok(page);
            }
            idle += 1;
        }
        self.check_crawl()?;
        Ok(None)
    }

    /// Skips all pages that are durable at this moment.
    pub fn skip_to_end(&mut self) -> Result<()> {
        let (disk, dirs, keys) = (&self.disk, &self.dirs, &self.keys);
        let open = || Archives::new(disk.clone(), dirs.clone(), keys.clone());
        self.tails.iter_mut().try_for_each(|tail| tail.skip(&open, &mut self.notices))
    }

    /// Returns a cursor behind the last page that was returned. Write it after you have processed that page, and not
    /// before.
    pub fn cursor(&self) -> Cursor {
        let last = self.tails.iter().filter_map(|tail| tail.last().cloned());
        Cursor { crawl: Some(self.crawl.clone()), last: last.map(|last| (last.shard, last)).collect() }
    }

    /// Returns whether a process is crawling in this directory. Call this first, and [`Follower::next_page`] then: if
    /// the crawl had ended before, `None` means that all its pages were returned.
    pub fn is_running(&self) -> bool {
        DirectoryLock::is_held_or_listed(&self.root)
    }

    /// Returns the notices since the last call, such as that pages come again because an index was rebuilt.
    pub fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Checks that nobody has put another crawl into the directory.
    fn check_crawl(&self) -> Result<()> {
        let found = crawl_in(&self.disk, &self.dirs)?;
        if found == self.crawl {
            return Ok(());
        }
        Err(Error::OtherCrawl { dir: self.root.clone(), cursor: self.crawl.clone(), found })
    }
}

/// The crawl in a directory, by its id.
fn crawl_in(disk: &Disk, dirs: &CrawlDirs) -> Result<String> {
    let of_root = Identity::read_copy(disk, dirs.root());
    let identity = of_root.or_else(|_| Identity::read_copy(disk, &dirs.shards()[0]))?;
    Ok(format!("{:032x}", identity.id))
}
