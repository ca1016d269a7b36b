//! The identity of a crawl, fixed when it was created.
//!
//! Every checkpoint file has it, under a checksum: a start takes it from there ([`super::begin`]). The plain
//! copy for readers is derived, and a start writes it again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::fingerprint::Fingerprinter;
use crate::record::layout;
use crate::shard::{SHARDS_MAX, SUFFIXES, Shard};
use crate::web::url::KeyMaker;

/// Version of the whole directory's format.
const FORMAT: u16 = 1;

/// The identity of a crawl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Version of the directory's format.
    pub format: u16,
    /// Seed of all randomness that must be the same in every run, and the crawl's name.
    pub id: u128,
    /// Time at which it was created.
    pub created: Time,
    /// The polynomial of its fingerprints.
    pub polynomial: u64,
    /// Buckets of the three stores.
    pub buckets: usize,
    /// Partitions of the frontier.
    pub partitions: usize,
    /// Query parameters that do not distinguish URLs.
    pub strip_query_params: Vec<String>,
    /// The shard of the crawl that this is, where there is more than one.
    pub sharding: Option<Sharding>,
}

/// The shape of a new crawl, which it keeps.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Buckets of the three stores.
    pub buckets: usize,
    /// Partitions of the frontier.
    pub partitions: usize,
    /// Query parameters that do not distinguish URLs.
    pub strip_query_params: &'a [String],
}

/// The division of a crawl into shards, as the identity of each of them has it, and of the crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharding {
    /// The shard; none for the crawl as a whole.
    pub shard: Option<u32>,
    /// Shards of the crawl.
    pub shards: u32,
    /// Version of the public suffix list by which domains fall to shards ([`SUFFIXES`]).
    pub suffixes: u64,
}

impl Identity {
    /// The identity of a new crawl of this shape.
    pub(super) fn new(now: Time, random: u128, shape: Shape<'_>) -> Self {
        Identity {
            format: FORMAT,
            id: random,
            created: now,
            polynomial: Fingerprinter::random(random as u64).polynomial(),
            buckets: shape.buckets,
            partitions: shape.partitions,
            strip_query_params: shape.strip_query_params.to_vec(),
            sharding: None,
        }
    }

    /// The identity of a new crawl of `shards` shards, of which [each gets its own](Identity::of_shard).
    pub fn of_crawl(now: Time, random: u128, shape: Shape<'_>, shards: u32) -> Self {
        let identity = Identity::new(now, random, shape);
        match shards {
            1 => identity,
            shards => Identity { sharding: Some(Sharding { shard: None, shards, suffixes: SUFFIXES }), ..identity },
        }
    }

    /// The identity of a shard of the crawl that has this one.
    pub fn of_shard(&self, shard: Shard) -> Self {
        let sharding = self.sharding.map(|sharding| Sharding { shard: Some(shard.index()), ..sharding });
        Identity { sharding, ..self.clone() }
    }

    /// Shards of the crawl.
    pub fn shards(&self) -> u32 {
        self.sharding.map_or(1, |sharding| sharding.shards)
    }

    /// The shard that this is; of a crawl as a whole the first.
    pub fn shard(&self) -> Shard {
        match self.sharding {
            Some(Sharding { shard, shards, .. }) => Shard::new(shard.unwrap_or(0), shards),
            None => Shard::WHOLE,
        }
    }

    /// True if the domains of this crawl fall to the same shards in this version of the crawler.
    pub fn knows_its_domains(&self) -> bool {
        self.sharding.is_none_or(|sharding| sharding.suffixes == SUFFIXES)
    }

    /// Reads what is at `offset` of the file at `path`.
    pub(super) fn from_bytes(bytes: &[u8], path: &Path, offset: u64) -> Result<Self> {
        let damaged = |e: postcard::Error| Error::damaged(path, offset, "a readable identity", e.to_string());
        let (format, _): (u16, _) = postcard::take_from_bytes(bytes).map_err(damaged)?;
        if format != FORMAT {
            return Err(Error::Newer { path: path.to_owned(), found: format, known: FORMAT });
        }
        let identity: Identity = postcard::from_bytes(bytes).map_err(damaged)?;
        let is_one = |sharding: &Sharding| {
            (2..=SHARDS_MAX).contains(&sharding.shards) && sharding.shard.is_none_or(|shard| shard < sharding.shards)
        };
        match identity.sharding.is_none_or(|sharding| is_one(&sharding)) {
            true => Ok(identity),
            false => Err(Error::damaged(path, offset, "a shard of a crawl", format!("{:?}", identity.sharding))),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("an identity consists of plain data")
    }

    /// Puts a copy into the crawl directory for readers.
    pub fn write_copy(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(self).expect("an identity consists of plain data");
        json.push(b'\n');
        disk.replace(&Identity::copy_path(dir), &json)
    }

    /// Path of the copy in `dir`.
    pub fn copy_path(dir: &Path) -> PathBuf {
        dir.join(layout::IDENTITY)
    }

    /// Reads the copy.
    pub fn read_copy(disk: &Disk, dir: &Path) -> Result<Self> {
        let path = Identity::copy_path(dir);
        let json = disk.read(&path)?;
        serde_json::from_slice(&json).map_err(|e| Error::damaged(&path, 0, "the identity of a crawl", e.to_string()))
    }

    /// Makes the fingerprints of this crawl.
    pub fn key_maker(&self) -> KeyMaker {
        KeyMaker::new(Fingerprinter::new(self.polynomial), &self.strip_query_params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_crawl(shards: u32) -> Identity {
        Identity::of_crawl(
            Time::from_ms(9),
            77,
            Shape { buckets: 64, partitions: 16, strip_query_params: &["utm".to_owned()] },
            shards,
        )
    }

    #[test]
    fn a_crawl_of_one_shard_is_the_whole_of_it_and_one_of_another_format_is_refused() {
        let (whole, path) = (of_crawl(1), Path::new("checkpoint.g000001"));
        assert_eq!(Identity::from_bytes(&whole.to_bytes(), path, 0).unwrap(), whole);
        assert_eq!(whole.shard(), Shard::WHOLE);
        for format in [0, FORMAT + 1] {
            let other = Identity { format, ..whole.clone() }.to_bytes();
            let refused = Identity::from_bytes(&other, path, 0);
            assert!(matches!(refused, Err(Error::Newer { found, .. }) if found == format), "{refused:?}");
        }
    }

    #[test]
    fn a_shard_knows_which_one_it_is_and_a_damaged_one_is_none() {
        let path = Path::new("checkpoint.g000001");
        let crawl = of_crawl(4);
        for shard in Shard::all(4) {
            let identity = crawl.of_shard(shard);
            let read = Identity::from_bytes(&identity.to_bytes(), path, 0).unwrap();
            assert_eq!((read.shard(), read.polynomial, &read), (shard, crawl.polynomial, &identity));
            let json = serde_json::to_vec(&identity).unwrap();
            assert_eq!(serde_json::from_slice::<Identity>(&json).unwrap(), identity);
        }
        let sharding = Some(Sharding { shard: Some(4), shards: 4, suffixes: SUFFIXES });
        let damaged = Identity { sharding, ..crawl.clone() }.to_bytes();
        assert!(matches!(Identity::from_bytes(&damaged, path, 0), Err(Error::Damaged { .. })));
        let newer = Identity { format: 4, ..crawl }.to_bytes();
        assert!(matches!(Identity::from_bytes(&newer, path, 0), Err(Error::Newer { found: 4, .. })));
    }
}
