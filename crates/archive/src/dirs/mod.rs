//! The directories of a crawl as one noun: the only one of a crawl with one engine, or one for each of its shards.
//!
//! Commands that read a crawl open this first, and then do not care how many shards there are. What is of the whole
//! crawl (identity, settings, seeds, reports, lock, socket) is in the [root](CrawlDirs::root), everything else in the
//! [directories of the shards](CrawlDirs::shards), each of which is laid out as a crawl of one shard is. With one shard
//! both are the same directory.
//!
//! Given the directory of a single shard, a command reads that part by itself.

mod archives;
mod elsewhere;

use std::path::{Path, PathBuf};

pub use archives::{Archives, Found, has_no_page};
pub use elsewhere::payload_of;

use crate::checkpoint::{Identity, Sharding};
use crate::container::retention::list::ForgottenList;
use crate::disk::{Disk, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::record::Snapshot;
use crate::record::layout;
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// The directories of a crawl.
#[derive(Debug)]
pub struct CrawlDirs {
    root: PathBuf,
    dirs: Vec<PathBuf>,
    /// The shard of the first one; as many follow as there are directories.
    first: Shard,
    /// True if the crawl was not wholly made yet when this was found, so that shards may be missing.
    is_being_made: bool,
    /// Makes the fingerprints of the crawl, if its identity can be read; always where there are several directories.
    keys: Option<KeyMaker>,
}

impl CrawlDirs {
    /// Finds the directories of the crawl in `dir`. Those of all shards have to be there.
    pub fn open(disk: &Disk, dir: &Path) -> Result<CrawlDirs> {
        let dirs = CrawlDirs::find(disk, dir)?;
        let must_be_there = dirs.is_sharded() && !dirs.is_being_made;
        let missing = dirs.missing(disk).next().filter(|_| must_be_there).map(Path::to_owned);
        match missing {
            Some(path) => Err(Error::damaged(&path, 0, "the directory of a shard of this crawl", "none")),
            None => Ok(dirs),
        }
    }

    /// The same, whether all of them are there or not.
    pub fn find(disk: &Disk, dir: &Path) -> Result<CrawlDirs> {
        let one = |identity: Option<Identity>| CrawlDirs {
            root: dir.to_owned(),
            dirs: vec![dir.to_owned()],
            first: identity.as_ref().map_or(Shard::WHOLE, Identity::shard),
            is_being_made: false,
            keys: identity.map(|identity| identity.key_maker()),
        };
        let identity = match Identity::read_copy(disk, dir) {
            Ok(identity) => Some(identity),
            // a crawl whose copy is lost: its shards know what they are parts of
            Err(_) => of_any_shard(disk, dir),
        };
        let Some(identity) = identity.as_ref().filter(|identity| is_whole_of_several(identity)) else {
            return Ok(one(identity));
        };
        Ok(CrawlDirs {
            root: dir.to_owned(),
            dirs: Shard::all(identity.shards()).map(|shard| dir.join(shard.dir_name())).collect(),
            first: identity.shard(),
            is_being_made: disk.open_if_there(dir.join(layout::IDENTITY_MADE))?.is_some(),
            keys: Some(identity.key_maker()),
        })
    }

    /// The directories of the whole crawl that `dir` is a part of, where it is the directory of a shard.
    pub fn around(disk: &Disk, dir: &Path) -> Result<CrawlDirs> {
        let is_shard = Identity::read_copy(disk, dir).is_ok_and(|identity| is_part(&identity));
        match dir.parent().filter(|_| is_shard) {
            Some(root) => CrawlDirs::find(disk, root),
            None => CrawlDirs::find(disk, dir),
        }
    }

    /// The directory of the whole crawl.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory with the settings and the list of the seeds: the one above, where one shard is read by itself.
    pub fn home(&self) -> &Path {
        let is_part = !self.first.is_whole() && !self.is_sharded();
        self.root.parent().filter(|_| is_part).unwrap_or(&self.root)
    }

    /// The directories of the shards in the order of their numbers.
    pub fn shards(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// True if there are several.
    pub fn is_sharded(&self) -> bool {
        self.dirs.len() > 1
    }

    /// The shard whose directory is the one of this place.
    pub fn shard(&self, place: usize) -> Shard {
        Shard::new(self.first.index() + place as u32, self.first.count())
    }

    /// The name of the directory at this place, relative to the root; nothing where it is the root.
    pub fn name(&self, place: usize) -> Option<String> {
        self.is_sharded().then(|| self.shard(place).dir_name())
    }

    /// Makes the fingerprints of the crawl, if its identity can be read.
    pub fn keys(&self) -> Option<&KeyMaker> {
        self.keys.as_ref()
    }

    /// The place of the directory whose shard owns `domain`.
    pub fn place_of(&self, domain: Fingerprint) -> usize {
        if self.is_sharded() { Shard::of(self.first.count(), domain) as usize } else { 0 }
    }

    /// The place of the directory whose shard owns the domain of `url`.
    pub fn place_of_url(&self, url: &CanonicalUrl) -> usize {
        match &self.keys {
            Some(keys) if self.is_sharded() => self.place_of(keys.keys(url).domain),
            _ => 0,
        }
    }

    /// The same for a text; one that is not a URL has no owner, and the first shard will do.
    pub fn place_of_text(&self, url: &str) -> usize {
        if !self.is_sharded() {
            return 0;
        }
        CanonicalUrl::parse(url).map_or(0, |url| self.place_of_url(&url))
    }

    /// Returns the place of the key record of the page that named a queued URL: the place of the directory, and the
    /// offset in its key.dat. `None` for a seed, and where that directory is not looked at.
    pub fn referrer(&self, via: u64) -> Option<(usize, u64)> {
        let (shard, offset) = self.first.named_by(via)?;
        let place = shard.checked_sub(self.first.index())? as usize;
        (place < self.dirs.len()).then_some((place, offset))
    }

    /// The figures of the last checkpoint, added up over all shards; nothing before the first one.
    pub fn snapshot(&self, disk: &Disk) -> Result<Option<Snapshot>> {
        Ok(Snapshot::sum(self.snapshots(disk)?.into_iter().flatten()))
    }

    /// Reads the snapshot of each shard; `None` for one that has made none yet.
    pub fn snapshots(&self, disk: &Disk) -> Result<Vec<Option<Snapshot>>> {
        self.dirs.iter().map(|dir| Snapshot::read(disk, dir)).collect()
    }

    /// Returns what was ever forgotten in the crawl, or taken back. The shards have the same list; the longest one has
    /// all of it, should the last act have been cut short.
    pub fn forgotten(&self, disk: &Disk) -> Result<ForgottenList> {
        let mut longest = ForgottenList::default();
        for dir in &self.dirs {
            let list = ForgottenList::read(disk, &dir.join(layout::PAGES))?;
            if list.acts().len() > longest.acts().len() {
                longest = list;
            }
        }
        Ok(longest)
    }

    /// The directories of shards that are not there.
    pub fn missing(&self, disk: &Disk) -> impl Iterator<Item = &Path> {
        self.dirs.iter().map(PathBuf::as_path).filter(move |dir| disk.list(dir).is_err_and(|e| e.is_not_found()))
    }
}

/// True if this is the identity of a crawl of several shards as a whole.
fn is_whole_of_several(identity: &Identity) -> bool {
    identity.sharding.is_some_and(|sharding| sharding.shard.is_none())
}

/// True if this is the identity of one shard beside others.
fn is_part(identity: &Identity) -> bool {
    identity.sharding.is_some_and(|sharding| sharding.shard.is_some())
}

/// The identity of a crawl of several shards in `dir`, by the first of them that can be read.
fn of_any_shard(disk: &Disk, dir: &Path) -> Option<Identity> {
    let mut names: Vec<String> = disk.list(dir).ok()?;
    names.retain(|name| name.starts_with("shard-"));
    names.sort();
    let identities = names.iter().filter_map(|name| Identity::read_copy(disk, &dir.join(name)).ok());
    let sharding = |identity: Identity| identity.sharding.map(|sharding| (identity, sharding));
    let (identity, sharding) = identities.filter_map(sharding).find(|(_, sharding)| sharding.shard.is_some())?;
    Some(Identity { sharding: Some(Sharding { shard: None, ..sharding }), ..identity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Shape;
    use crate::clock::Time;

    fn identity(shards: u32) -> Identity {
        let shape = Shape { buckets: 64, partitions: 16, strip_query_params: &[] };
        Identity::of_crawl(Time::from_ms(9), 77, shape, shards)
    }

    /// A crawl directory with the identities of this many shards.
    fn crawl(shards: u32) -> tempfile::TempDir {
        let (dir, disk, identity) = (tempfile::tempdir().unwrap(), Disk::real(), identity(shards));
        identity.write_copy(&disk, dir.path()).unwrap();
        for shard in Shard::all(shards).filter(|shard| !shard.is_whole()) {
            let path = dir.path().join(shard.dir_name());
            std::fs::create_dir(&path).unwrap();
            identity.of_shard(shard).write_copy(&disk, &path).unwrap();
        }
        dir
    }

    #[test]
    fn a_crawl_of_one_shard_is_its_directory_whether_its_identity_can_be_read_or_not() {
        let dir = crawl(1);
        for _ in 0..2 {
            let dirs = CrawlDirs::open(&Disk::real(), dir.path()).unwrap();
            assert_eq!(
                (dirs.root(), dirs.home(), dirs.shards()),
                (dir.path(), dir.path(), &[dir.path().to_owned()][..])
            );
            assert_eq!((dirs.is_sharded(), dirs.name(0), dirs.place_of_text("http://a.example/")), (false, None, 0));
            assert_eq!((dirs.referrer(41), dirs.referrer(0)), (Some((0, 40)), None));
            std::fs::write(dir.path().join("identity.json"), "{").unwrap();
        }
    }

    #[test]
    fn every_domain_has_a_directory_and_a_crawl_whose_copy_is_lost_is_known_by_its_shards() {
        let dir = crawl(4);
        let keys = identity(4).key_maker();
        for _ in 0..2 {
            let dirs = CrawlDirs::open(&Disk::real(), dir.path()).unwrap();
            assert_eq!((dirs.shards().len(), dirs.name(3).as_deref()), (4, Some("shard-003")));
            for number in 0..50 {
                let url = CanonicalUrl::parse(&format!("http://www.site{number}.example/")).unwrap();
                let place = dirs.place_of_url(&url);
                assert!(dirs.shard(place).owns(keys.keys(&url).domain));
                assert_eq!(place, dirs.place_of_text(&format!("http://site{number}.example/x")));
            }
            assert_eq!(dirs.referrer(Shard::new(2, 4).via(40)), Some((2, 40)));
            std::fs::remove_file(dir.path().join("identity.json")).unwrap_or_default();
        }
    }

    #[test]
    fn a_shard_is_read_by_itself_and_knows_the_crawl_around_it() {
        let dir = crawl(4);
        let part = dir.path().join("shard-002");
        let dirs = CrawlDirs::open(&Disk::real(), &part).unwrap();
        assert_eq!((dirs.is_sharded(), dirs.shard(0), dirs.home()), (false, Shard::new(2, 4), dir.path()));
        assert_eq!(dirs.referrer(Shard::new(2, 4).via(40)), Some((0, 40)));
        assert_eq!(dirs.referrer(Shard::new(1, 4).via(40)), None, "its archive is not looked at");
        assert_eq!(CrawlDirs::around(&Disk::real(), &part).unwrap().root(), dir.path());
        assert_eq!(CrawlDirs::around(&Disk::real(), dir.path()).unwrap().root(), dir.path());
    }

    #[test]
    fn a_shard_that_is_gone_is_damage() {
        let dir = crawl(3);
        std::fs::remove_dir_all(dir.path().join("shard-001")).unwrap();
        let error = CrawlDirs::open(&Disk::real(), dir.path()).unwrap_err();
        assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with("shard-001")), "{error}");
        assert_eq!(CrawlDirs::find(&Disk::real(), dir.path()).unwrap().missing(&Disk::real()).count(), 1);
    }
}
