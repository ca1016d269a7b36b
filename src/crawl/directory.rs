//! A crawl directory: what the crawl has once (lock, identity, settings), and its shards, each in a directory of its
//! own.
//!
//! A crawl of one shard has both in the same directory. One of several has `shard-000/`, `shard-001/`, ... in it, each
//! laid out as a crawl of one shard is. It is made in this order: its identity is put aside, durably; every shard is
//! made, with that identity and its own number; the identity is renamed to its place. A process that is killed
//! meanwhile leaves the identity aside, by which the next one goes on. Once it is in its place, a shard that is missing
//! is damage.

use std::path::Path;
use std::sync::Arc;

use super::shard_directory::ShardDirectory;
use super::{CrawlError, CrawlRequest, import, options, share, warnings};
use crate::checkpoint::{Identity, begin};
use crate::clock::Clock;
use crate::disk::{self, DirectoryLock, Disk, Error};
use crate::engine::seeds::reader;
use crate::record::Snapshot;
use crate::record::layout;
use crate::shard::Shard;
use crate::web::url::KeyMaker;

/// A crawl directory that was opened, and has no engine yet.
pub(super) struct Directory {
    pub keys: Arc<KeyMaker>,
    pub shards: Vec<Arc<ShardDirectory>>,
    _lock: DirectoryLock,
}

/// True if there is a crawl in `dir`, or what is left of one.
pub(super) fn is_begun(disk: &Disk, dir: &Path) -> bool {
    begin::is_begun(disk, dir) || Identity::copy_path(dir).exists() || dir.join(layout::IDENTITY_MADE).exists()
}

/// Makes `crawl.shards` the number that the crawl in the directory was created with, if there is one.
pub(super) fn keep_shards(request: &mut CrawlRequest) -> Result<(), CrawlError> {
    let disk = Disk::real();
    // of a crawl with one shard the checkpoint files have the identity, and the copy may be lost
    let created = match begin::is_begun(&disk, &request.dir) {
        true => 1,
        false => match find(&disk, &request.dir)? {
            Some(identity) => identity.shards() as usize,
            None => return Ok(()),
        },
    };
    let configured = &mut request.config.crawl.shards;
    if std::mem::replace(configured, created) != created {
        tracing::warn!("crawl.shards was fixed when this crawl was created, and stays {created}");
    }
    Ok(())
}

/// The identity of the crawl in `dir` by the copy there, if there is one, or that of one whose shards are being made.
pub(super) fn find(disk: &Disk, dir: &Path) -> disk::Result<Option<Identity>> {
    match Identity::read_copy(disk, dir) {
        Err(error) if error.is_not_found() => read_making(disk, dir),
        identity => identity.map(Some),
    }
}

fn read_making(disk: &Disk, dir: &Path) -> disk::Result<Option<Identity>> {
    let path = dir.join(layout::IDENTITY_MADE);
    match disk.read(&path) {
        Err(error) if error.is_not_found() => Ok(None),
        json => serde_json::from_slice(&json?)
            .map(Some)
            .map_err(|error| Error::damaged(&path, 0, "the identity of a crawl", error.to_string())),
    }
}

impl Directory {
    /// Opens the one of `request`; makes it where there is none. As long as it is kept it is this process's.
    pub(crate) fn open(request: &CrawlRequest, clock: &dyn Clock) -> Result<Directory, CrawlError> {
        let disk = Disk::real();
        let instead = "and are not crawled further; crawl into another directory (container.dedup_against can name \
                       the index that crawler export cdxj makes of this one)";
        import::refuse(&disk, &request.dir, instead)?;
        disk::create_crawl_dir(&request.dir, options::readers(&request.config))?;
        let lock = DirectoryLock::acquire(&request.dir)?;
        let shards = match request.config.crawl.shards {
            1 => vec![Arc::new(ShardDirectory::open_alone(request, clock.now())?)],
            shards => open_shards(request, &disk, clock, shards)?,
        };
        // a copy that cannot be read is for `verify`
        let before = options::read_copy(&disk, &request.dir).ok().flatten();
        let past: Vec<Snapshot> =
            shards.iter().filter_map(|shard| Snapshot::read(&disk, &shard.dir).ok().flatten()).collect();
        warnings::look_at_depth(&past, before.as_ref(), request);
        options::write_copy(&request.config, &disk, &request.dir)?;
        warnings::look_at_past(&past, clock.now());
        let keys = Arc::new(shards[0].identity.key_maker());
        Ok(Directory { keys, shards, _lock: lock })
    }

    /// Seeds that earlier runs have listed.
    pub(crate) fn listed(&self, request: &CrawlRequest) -> disk::Result<u64> {
        Ok(reader::count(&Disk::real(), &request.dir)?.unwrap_or(0))
    }
}

/// Opens the shards of a crawl that has this many, or makes them.
fn open_shards(
    request: &CrawlRequest,
    disk: &Disk,
    clock: &dyn Clock,
    count: usize,
) -> Result<Vec<Arc<ShardDirectory>>, CrawlError> {
    let dir = &request.dir;
    let is_made = Identity::copy_path(dir).exists();
    let identity = match find(disk, dir)? {
        Some(identity) => identity,
        None => make(request, disk, clock, count)?,
    };
    if identity.shards() as usize != count {
        let path = Identity::copy_path(dir);
        return Err(Error::damaged(&path, 0, format!("{count} shards"), identity.shards().to_string()).into());
    }
    if !identity.knows_its_domains() {
        return Err(CrawlError::Usage(format!(
            "{}: this crawl was created with another version of the public suffix list, by which domains fall to its \
             shards; go on with the version of the crawler that created it",
            dir.display()
        )));
    }
    options::tell_fixed(&identity, &share::of_shard(&request.config));
    let shards = Shard::all(identity.shards());
    let shards: Vec<_> = shards
        .map(|shard| ShardDirectory::open_shard(request, disk.clone(), identity.of_shard(shard), is_made).map(Arc::new))
        .collect::<Result<_, _>>()?;
    if !is_made {
        // the names of the shards first, then the word that all of them are there
        disk.sync_dir(dir)?;
        disk.rename(&dir.join(layout::IDENTITY_MADE), &Identity::copy_path(dir))?;
        disk.sync_dir(dir)?;
    }
    Ok(shards)
}

/// Begins to make the crawl with this `identity` in `dir`: it is made of several shards when it is opened.
pub(super) fn begin(disk: &Disk, dir: &Path, identity: &Identity) -> disk::Result<()> {
    let json = serde_json::to_vec_pretty(identity).expect("an identity consists of plain data");
    disk.replace(&dir.join(layout::IDENTITY_MADE), &json)
}

/// Gives `made`, a whole directory of a crawl, the name `dir`, durably; an empty directory may be there.
pub(super) fn put_in_place(disk: &Disk, made: &Path, dir: &Path) -> disk::Result<()> {
    std::fs::create_dir_all(dir).and_then(|()| std::fs::rename(made, dir)).map_err(|e| Error::io("rename", made, e))?;
    disk.sync_dir(dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// Begins to make a crawl of this many shards: its identity, put aside.
fn make(request: &CrawlRequest, disk: &Disk, clock: &dyn Clock, count: usize) -> Result<Identity, CrawlError> {
    if let Some(name) = stray_shard(&request.dir) {
        let path = Identity::copy_path(&request.dir);
        return Err(
            Error::damaged(&path, 0, "the identity of a crawl of several shards", format!("none, but {name}")).into()
        );
    }
    let own = share::of_shard(&request.config);
    let count = u32::try_from(count).expect("a crawl has few shards");
    let identity = Identity::of_crawl(clock.now(), options::random(), options::shape(&own), count);
    begin(disk, &request.dir, &identity)?;
    Ok(identity)
}

/// The directory of a shard in a directory that is none of a crawl.
fn stray_shard(dir: &Path) -> Option<String> {
    let entries = std::fs::read_dir(dir).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("shard-") && dir.join(name).is_dir()).min()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::clock::{ManualClock, Time};
    use crate::config::Config;
    use crate::crawl::{GivenLimits, Verbosity};
    use crate::report::Screen;

    fn request(dir: &Path, shards: usize) -> CrawlRequest {
        let mut config = Config::default();
        config.crawl.shards = shards;
        CrawlRequest {
            config,
            config_path: None,
            limits: GivenLimits::default(),
            seeds_path: Some(PathBuf::from("-")),
            urls: Vec::new(),
            json_path: None,
            seeds: Vec::new(),
            dir: dir.to_owned(),
            force: false,
            until_fresh: false,
            verbosity: Verbosity::Quiet,
            warnings: None,
            screen: Screen::new(Box::new(std::io::sink()), false, false),
        }
    }

    fn open(dir: &Path, shards: usize) -> Result<Directory, CrawlError> {
        let mut request = request(dir, shards);
        keep_shards(&mut request)?;
        Directory::open(&request, &ManualClock::new(Time::from_ms(1_000)))
    }

    fn damage(opened: Result<Directory, CrawlError>) -> String {
        match opened {
            Err(CrawlError::Disk(error @ Error::Damaged { .. })) => error.to_string(),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it was opened"),
        }
    }

    #[test]
    fn all_shards_of_a_crawl_have_its_polynomial_and_a_number_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let made = open(dir, 3).unwrap();
        let whole = Identity::read_copy(&Disk::real(), dir).unwrap();
        assert!(made.shards.iter().all(|shard| shard.is_new) && !dir.join(layout::IDENTITY_MADE).exists());
        for (shard, opened) in Shard::all(3).zip(&made.shards) {
            assert_eq!(opened.identity, whole.of_shard(shard));
            assert_eq!(opened.dir, dir.join(shard.dir_name()));
            assert_eq!(Identity::read_copy(&Disk::real(), &opened.dir).unwrap(), opened.identity);
        }
        drop(made);
        // another number later changes nothing
        let again = open(dir, 7).unwrap();
        assert!(again.shards.len() == 3 && !again.shards.iter().any(|shard| shard.is_new));
    }

    #[test]
    fn a_crawl_of_one_shard_has_no_directory_for_it_and_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        drop(open(dir, 1).unwrap());
        let names = || {
            let mut names: Vec<_> = std::fs::read_dir(dir)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let before = names();
        assert!(before.iter().all(|name| !name.starts_with("shard")), "{before:?}");
        assert_eq!(open(dir, 4).unwrap().shards.len(), 1);
        assert_eq!(names(), before);
    }

    #[test]
    fn a_process_that_is_killed_while_it_makes_shards_leaves_what_the_next_one_goes_on_from() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, other) = (one.path(), other.path());
        drop(open(one, 3).unwrap());
        let identity = std::fs::read(one.join("identity.json")).unwrap();
        for made in 0..=3 {
            let _ = std::fs::remove_dir_all(other);
            std::fs::create_dir(other).unwrap();
            let mut request = request(other, 3);
            std::fs::write(other.join(layout::IDENTITY_MADE), &identity).unwrap();
            let whole = read_making(&Disk::real(), other).unwrap().unwrap();
            for shard in Shard::all(3).take(made) {
                drop(ShardDirectory::open_shard(&request, Disk::real(), whole.of_shard(shard), false).unwrap());
            }
            assert!(is_begun(&Disk::real(), other));
            // whatever is configured by now
            request.config.crawl.shards = 5;
            drop(open(other, 5).unwrap());
            assert_eq!(std::fs::read(other.join("identity.json")).unwrap(), identity, "{made}");
        }
    }

    #[test]
    fn a_shard_that_is_missing_is_damage_once_all_were_there() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        drop(open(dir, 3).unwrap());
        std::fs::rename(dir.join("shard-001"), dir.join("aside")).unwrap();
        assert!(damage(open(dir, 3)).contains("shard-001"));
        assert!(!dir.join("shard-001").exists(), "nothing is made in its place");
        // nor is another shard taken for it
        let _ = std::fs::remove_dir_all(dir.join("shard-001"));
        std::fs::rename(dir.join("shard-002"), dir.join("shard-001")).unwrap();
        std::fs::rename(dir.join("aside"), dir.join("shard-002")).unwrap();
        assert!(damage(open(dir, 3)).contains("shard 1 of 3"), "{}", damage(open(dir, 3)));
    }

    #[test]
    fn shards_without_their_crawl_and_a_crawl_by_another_suffix_list_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        drop(open(dir, 2).unwrap());
        let path = dir.join("identity.json");
        let json = std::fs::read_to_string(&path).unwrap();
        let known = crate::shard::SUFFIXES.to_string();
        assert!(json.contains(&known), "{json}");
        std::fs::write(&path, json.replace(&known, "7")).unwrap();
        let refused = open(dir, 2).err().unwrap();
        assert!(matches!(&refused, CrawlError::Usage(said) if said.contains("public suffix list")), "{refused}");
        std::fs::remove_file(&path).unwrap();
        assert!(damage(open(dir, 2)).contains("none, but shard-000"));
    }
}
