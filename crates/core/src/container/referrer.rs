//! The page that named a URL, for those who make its request and its records.
//!
//! The frontier keeps of a referrer only the place of its record in key.dat. The engine does not read there: it hands
//! the place on, and anyone who builds the records reads it on its own thread.

use std::path::Path;
use std::sync::Arc;

use super::keys::{KeyFile, read_steady};
use crate::disk::{Disk, DiskFile, Result};

/// The page that named a URL.
#[derive(Clone, Debug, Default)]
pub enum Referrer {
    /// None: a seed.
    #[default]
    Nobody,
    /// The page at this URL.
    Url(String),
    /// The page of this record, not read yet.
    Record(KeyPlace),
}

/// A place in the key.dat of this shard or of another one.
#[derive(Clone, Debug)]
pub struct KeyPlace {
    keys: Arc<DiskFile>,
    offset: u64,
    /// The number by which a URL's history names it: no two places of a crawl have the same.
    via: u64,
    /// True if it is in another shard's: that file may be rebuilt or damaged, which is not this shard's fault.
    is_foreign: bool,
}

/// The key.dat of another shard, whose archive is in `pages`; `None` where it cannot be opened.
pub fn foreign_keys(disk: &Disk, pages: &Path) -> Option<Arc<DiskFile>> {
    KeyFile::open_for_reading(disk, pages).ok().map(|keys| keys.file().clone())
}

impl KeyPlace {
    pub(super) fn new(keys: Arc<DiskFile>, offset: u64, via: u64) -> Self {
        KeyPlace { keys, offset, via, is_foreign: false }
    }

    /// The place at `offset` of the key.dat of another shard.
    pub fn foreign(keys: Arc<DiskFile>, offset: u64, via: u64) -> Self {
        KeyPlace { keys, offset, via, is_foreign: true }
    }

    /// The number by which a URL's history names it.
    pub fn via(&self) -> u64 {
        self.via
    }

    /// The URL of the record that is there; `None` where none is.
    pub fn url(&self) -> Result<Option<String>> {
        match read_steady(&self.keys, self.offset) {
            Err(_) if self.is_foreign => Ok(None),
            read => Ok(read?.map(|record| record.url)),
        }
    }
}

impl Referrer {
    /// Its URL, if it is known.
    pub fn url(&self) -> Option<&str> {
        match self {
            Referrer::Url(url) => Some(url),
            Referrer::Nobody | Referrer::Record(_) => None,
        }
    }

    /// Reads the record, where that is still to be done.
    pub fn resolve(&mut self) -> Result<()> {
        self.resolve_by(KeyPlace::url)
    }

    /// The same for those who may know the URL by its place.
    pub fn resolve_by(&mut self, read: impl FnOnce(&KeyPlace) -> Result<Option<String>>) -> Result<()> {
        if let Referrer::Record(place) = self {
            *self = read(place)?.map_or(Referrer::Nobody, Referrer::Url);
        }
        Ok(())
    }
}
