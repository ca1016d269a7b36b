//! What makes a crawl this crawl, fixed when it was created.
//!
//! It lies in three places: in the catalog, whose word counts; in every checkpoint file, under a checksum, from which
//! the catalog is rebuilt where it is lost ([`crate::engine::mend`]); and as a plain copy for readers, which is
//! derived.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::catalog::{Batch, Catalog};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::fingerprint::Fingerprinter;
use crate::web::url::KeyMaker;

/// Key of the identity in the catalog.
const KEY: &str = "identity";
/// A plain copy of the identity.
pub(super) const COPY_FILE: &str = "identity.json";
/// Version of the whole directory's format. In format 1 the catalog held the record of the last checkpoint itself, and
/// the seeds.
pub(super) const FORMAT: u16 = 2;

/// The identity of a crawl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Version of the directory's format.
    pub format: u16,
    /// Seed of all randomness that must be the same in every run, and the crawl's name.
    pub id: u128,
    /// When it was created.
    pub created: Time,
    /// The polynomial of its fingerprints.
    pub polynomial: u64,
    /// Buckets of the three stores.
    pub buckets: usize,
    /// Partitions of the frontier.
    pub partitions: usize,
    /// Query parameters that do not distinguish URLs.
    pub strip_query_params: Vec<String>,
}

impl Identity {
    /// That of a new crawl of the given shape: buckets, partitions, query parameters that do not distinguish URLs.
    pub(super) fn new(now: Time, random: u128, (buckets, partitions, strip): (usize, usize, &[String])) -> Self {
        Identity {
            format: FORMAT,
            id: random,
            created: now,
            polynomial: Fingerprinter::random(random as u64).polynomial(),
            buckets,
            partitions,
            strip_query_params: strip.to_vec(),
        }
    }

    /// The identity in `catalog`, if there is one.
    pub fn load(catalog: &dyn Catalog, dir: &Path) -> Result<Option<Self>> {
        let Some(bytes) = catalog.get(KEY)? else { return Ok(None) };
        Identity::from_bytes(&bytes, &dir.join("catalog"), 0).map(Some)
    }

    /// Reads what lies at `offset` of the file at `path`.
    pub(super) fn from_bytes(bytes: &[u8], path: &Path, offset: u64) -> Result<Self> {
        let damaged = |e: postcard::Error| Error::damaged(path, offset, "a readable identity", e.to_string());
        let (format, _): (u16, _) = postcard::take_from_bytes(bytes).map_err(damaged)?;
        if format > FORMAT {
            return Err(Error::Newer { path: path.to_owned(), found: format, known: FORMAT });
        }
        postcard::from_bytes(bytes).map_err(damaged)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("an identity consists of plain data")
    }

    /// Puts the identity into `batch`.
    pub(super) fn put(&self, batch: &mut Batch) {
        batch.put(KEY, self.to_bytes());
    }

    /// Puts a copy into the crawl directory for those who read it while the crawl has the catalog locked.
    pub fn write_copy(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(self).expect("an identity consists of plain data");
        json.push(b'\n');
        disk.replace(&dir.join(COPY_FILE), &json)
    }

    /// Reads the copy.
    pub fn read_copy(disk: &Disk, dir: &Path) -> Result<Self> {
        let path = dir.join(COPY_FILE);
        let json = disk.read(&path)?;
        serde_json::from_slice(&json).map_err(|e| Error::damaged(&path, 0, "the identity of a crawl", e.to_string()))
    }

    /// Makes the fingerprints of this crawl.
    pub fn key_maker(&self) -> KeyMaker {
        KeyMaker::new(Fingerprinter::new(self.polynomial), &self.strip_query_params)
    }
}
