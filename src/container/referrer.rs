//! The page that named a URL, for those who make its request and its records.
//!
//! The frontier keeps of a referrer only where its record lies in key.dat. The engine does not read there: it hands the
//! place on, and anyone who builds the records reads it on its own thread.

use std::sync::Arc;

use super::keys::read_if_whole;
use crate::disk::{DiskFile, Result};

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

/// A place in key.dat.
#[derive(Clone, Debug)]
pub struct KeyPlace {
    keys: Arc<DiskFile>,
    offset: u64,
}

impl KeyPlace {
    pub(super) fn new(keys: Arc<DiskFile>, offset: u64) -> Self {
        KeyPlace { keys, offset }
    }

    /// The offset in key.dat.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The URL of the record that lies there; `None` where none lies.
    pub fn url(&self) -> Result<Option<String>> {
        Ok(read_if_whole(&self.keys, self.offset)?.map(|record| record.url))
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
