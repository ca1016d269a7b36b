//! The archives of a crawl, one a shard, read as one.
//!
//! A URL is in the archive of the shard that owns its domain. The one exception are answers to requests for robots.txt
//! that were redirected to another domain: they are with the shard that asked. So where the owner has nothing but such
//! an answer, the others are looked at too, and the newest counts.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::CrawlDirs;
use crate::container::{KeyRecord, Reader};
use crate::disk::{Disk, HEADER_BYTES, Result};
use crate::record::layout;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// The archives of a crawl. Each is opened when it is asked for, and stays as it was then.
#[derive(Debug)]
pub struct Archives {
    disk: Disk,
    dirs: Arc<CrawlDirs>,
    keys: KeyMaker,
    readers: Vec<OnceLock<Reader>>,
}

/// A record with the place of the shard whose archive has it.
pub type Found = (usize, KeyRecord);

impl Archives {
    /// Makes the archives in `dirs`, of the crawl whose fingerprints `keys` makes.
    pub fn new(disk: Disk, dirs: impl Into<Arc<CrawlDirs>>, keys: KeyMaker) -> Self {
        let dirs = dirs.into();
        let readers = dirs.shards().iter().map(|_| OnceLock::new()).collect();
        Archives { disk, dirs, keys, readers }
    }

    /// The directories.
    pub fn dirs(&self) -> &Arc<CrawlDirs> {
        &self.dirs
    }

    /// The disk on which they are.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Makes the fingerprints.
    pub fn keys(&self) -> &KeyMaker {
        &self.keys
    }

    /// The archive of the shard at `place`; nothing where no page was ever stored.
    pub fn reader(&self, place: usize) -> Result<Option<&Reader>> {
        let reader = &self.readers[place];
        if reader.get().is_none() {
            match Reader::open(self.disk.clone(), &self.dirs.shards()[place].join(layout::PAGES)) {
                Ok(opened) => _ = reader.set(opened),
                Err(error) if error.is_not_found() && has_no_page(&self.disk, &self.dirs.shards()[place]) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(reader.get())
    }

    /// Opens all that can be opened, so that they are of one moment. Says whether there is any, readable or not.
    pub fn open_all(&self) -> bool {
        let opened: Vec<_> = (0..self.readers.len()).map(|place| !matches!(self.reader(place), Ok(None))).collect();
        opened.contains(&true)
    }

    /// The newest version of `url`: in its own spelling, or else in another one of the same key form, or else of a host
    /// that differs in a dot at its end.
    pub fn newest(&self, url: &CanonicalUrl) -> Result<Option<Found>> {
        match (self.newest_of_key(url)?, url.with_other_dot()) {
            (None, Some(other)) => self.newest_of_key(&other),
            (found, _) => Ok(found),
        }
    }

    fn newest_of_key(&self, url: &CanonicalUrl) -> Result<Option<Found>> {
        let owner = self.dirs.place_of_url(url);
        let found = self.newest_in(owner, url)?;
        if !self.dirs.is_sharded() || found.as_ref().is_some_and(|(_, record)| !record.robots) {
            return Ok(found);
        }
        let mut newest = found;
        for place in (0..self.readers.len()).filter(|&place| place != owner) {
            let time = newest.as_ref().map(|(_, record)| record.time);
            newest = self.newest_in(place, url)?.filter(|(_, record)| Some(record.time) > time).or(newest);
        }
        Ok(newest)
    }

    fn newest_in(&self, place: usize, url: &CanonicalUrl) -> Result<Option<Found>> {
        let Some(reader) = self.reader(place)? else { return Ok(None) };
        let key = self.keys.keys(url).key;
        let found = match reader.newest(key, url.as_str())? {
            None => reader.newest_of_key(key)?,
            found => found,
        };
        Ok(found.map(|record| (place, record)))
    }

    /// Returns whether another shard has a newer version of this answer to a request for robots.txt. Within a shard
    /// each version names the one before.
    pub fn is_superseded(&self, place: usize, record: &KeyRecord) -> Result<bool> {
        if !record.robots || !self.dirs.is_sharded() {
            return Ok(false);
        }
        let Ok(url) = CanonicalUrl::parse(&record.url) else { return Ok(false) };
        for other in (0..self.readers.len()).filter(|&other| other != place) {
            let newer = |found: &KeyRecord| found.url == record.url && (found.time, other) > (record.time, place);
            if self.newest_in(other, &url)?.is_some_and(|(_, found)| newer(&found)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The version before this one, which the same shard has.
    pub fn previous(&self, (place, record): &Found) -> Result<Option<Found>> {
        let Some(reader) = self.reader(*place)? else { return Ok(None) };
        Ok(reader.previous(record)?.map(|record| (*place, record)))
    }

    /// The versions of `url`, the newest first, `count` at most.
    pub fn versions(&self, url: &CanonicalUrl, count: usize) -> Result<Vec<Found>> {
        let mut versions = Vec::new();
        let mut next = self.newest(url)?;
        while let Some(found) = next.take().filter(|_| versions.len() < count) {
            // a chain that does not lead back has its own end
            next = self.previous(&found)?.filter(|(_, older)| older.offset < found.1.offset);
            versions.push(found);
        }
        Ok(versions)
    }
}

/// True if nothing was ever stored in the crawl of one shard in `dir`: then a file that is missing was not made yet,
/// and is not lost.
pub fn has_no_page(disk: &Disk, dir: &Path) -> bool {
    let keys = disk.open_if_there(dir.join(layout::PAGES).join("key.dat"));
    matches!(keys.and_then(|keys| keys.map_or(Ok(0), |keys| keys.len())), Ok(length) if length <= HEADER_BYTES)
}
