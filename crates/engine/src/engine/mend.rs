//! Checks that a crawl's catalog and the files next to it belong together, and rebuilds the catalog where it is lost.
//!
//! sled takes what it cannot read for the end of its log, and rewrites the file: what it says then is what was true
//! some commits ago, or nothing. So its word is held against the directory before anything is deleted by it:
//!
//! | the catalog has | the directory has | then |
//! |---|---|---|
//! | nothing | no file of a crawl | a new crawl begins |
//! | identity and commit N | `checkpoint.gN` | it is believed |
//! | identity and commit N | no `checkpoint.gN`, a later one | it has fallen behind: damage |
//! | identity and commit N | no `checkpoint.gN`, no later one | it is believed; the missing file is damage |
//! | anything else, or it cannot be read | | damage |
//!
//! A damaged catalog is rebuilt from the newest whole checkpoint file: [`super::checkpoint`] shows why that is a
//! state to go on from. The old one is kept aside. What fails with an error of the system stays as it is: the next
//! start may read it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint::file::{newest_to_go_on_from, numbers};
use super::checkpoint::{self, Checkpoint, Commit, Sections, checkpoint_path, file};
use super::identity::Identity;
use crate::catalog::{Batch, Catalog, SledCatalog};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::record::layout;

/// The identity of the crawl in `dir`, if its catalog and its files belong together; `None` where there is no crawl
/// yet.
pub fn look(disk: &Disk, catalog: &dyn Catalog, dir: &Path) -> Result<Option<Identity>> {
    let damaged = |expected: &str, found: String| Err(Error::damaged(&dir.join(layout::CATALOG), 0, expected, found));
    let noted = Commit::load(catalog, dir)?;
    let Some(identity) = Identity::load(catalog, dir)? else {
        return match (noted, trace(disk, dir)?) {
            (None, None) => Ok(None),
            (None, Some(trace)) => {
                damaged("the identity of the crawl", format!("none, but {trace} beside it: this is not a new crawl"))
            }
            (Some(_), _) => damaged("the identity of the crawl", "none, but a checkpoint".to_owned()),
        };
    };
    let files = numbers(disk, dir)?;
    let newest = files.last().copied().unwrap_or(0);
    match noted {
        Some(Commit { number, .. }) if !files.contains(&number) && newest > number => damaged(
            "the last checkpoint",
            format!("checkpoint {number}, which has no file, while that of checkpoint {newest} exists"),
        ),
        Some(_) => Ok(Some(identity)),
        None => damaged("the last checkpoint", format!("none; the newest file is that of checkpoint {newest}")),
    }
}

/// The identity of the crawl in `dir`, or that of a new one, durable with its first checkpoint when this returns; and
/// whether it is new.
pub fn begin(
    disk: &Disk,
    catalog: &dyn Catalog,
    dir: &Path,
    (now, random): (Time, u128),
    shape: (usize, usize, &[String]),
) -> Result<(Identity, bool)> {
    match look(disk, catalog, dir)? {
        Some(identity) => Ok((identity, false)),
        None => {
            let identity = Identity::new(now, random, shape);
            put_first(disk, catalog, dir, &identity)?;
            Ok((identity, true))
        }
    }
}

/// The same for a shard of a crawl that has this `identity`. A directory of another crawl, or of another shard, is
/// damage.
pub fn begin_shard(disk: &Disk, catalog: &dyn Catalog, dir: &Path, identity: &Identity) -> Result<bool> {
    match look(disk, catalog, dir)? {
        Some(found) if found == *identity => Ok(false),
        Some(found) => {
            let named = |of: &Identity| format!("shard {} of {} of crawl {:x}", of.shard().index(), of.shards(), of.id);
            Err(Error::damaged(&dir.join(layout::CATALOG), 0, named(identity), named(&found)))
        }
        None => {
            put_first(disk, catalog, dir, identity)?;
            Ok(true)
        }
    }
}

/// Makes the checkpoint with which a crawl begins.
fn put_first(disk: &Disk, catalog: &dyn Catalog, dir: &Path, identity: &Identity) -> Result<()> {
    let mut batch = Batch::new();
    file::write(disk, dir, (0, identity), &Sections::default(), None)?.put(&mut batch);
    identity.put(&mut batch);
    catalog.commit(&batch)
}

/// A file that only a crawl makes, if one lies in `dir`. The file of checkpoint 0 is none: it is written before the
/// catalog knows of the crawl.
fn trace(disk: &Disk, dir: &Path) -> Result<Option<String>> {
    let names = list(disk, dir)?;
    for entry in layout::ENTRIES.into_iter().filter(|entry| entry.is_trace) {
        let found = if entry.is_directory() {
            list(disk, &dir.join(entry.name))?.into_iter().next().map(|name| format!("{}/{name}", entry.name))
        } else {
            names.iter().find(|name| entry.has(name) && checkpoint::number_of(name) != Some(0)).cloned()
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns whether there is a crawl in `dir`, or what is left of one.
pub fn is_begun(disk: &Disk, dir: &Path) -> bool {
    dir.join(layout::CATALOG).exists() || numbers(disk, dir).is_ok_and(|numbers| !numbers.is_empty())
}

/// Names in a directory that need not be there.
fn list(disk: &Disk, dir: &Path) -> Result<Vec<String>> {
    match disk.list(dir) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        names => names,
    }
}

/// Opens the catalog of the crawl in `dir`. One that is lost or damaged is rebuilt from the newest whole checkpoint
/// file, where there is one, and `tell` hears of it.
pub fn open_catalog(disk: &Disk, dir: &Path, tell: &mut dyn FnMut(String)) -> Result<SledCatalog> {
    let path = dir.join(layout::CATALOG);
    let opened = SledCatalog::open(&path).and_then(|catalog| look(disk, &catalog, dir).map(|_| catalog));
    let damage = match opened {
        Err(error @ Error::Damaged { .. }) => error,
        opened => return opened,
    };
    let Some(number) = make_again(disk, dir)? else { return Err(damage) };
    let aside = layout::CATALOG_DAMAGED;
    tell(format!("{damage}; the catalog was rebuilt from checkpoint {number}, the damaged one is {aside}"));
    SledCatalog::open(&path)
}

/// The checkpoint that the catalog of the crawl in `dir` can be rebuilt from, and whose crawl it is.
pub fn find(disk: &Disk, dir: &Path) -> Result<Option<(Identity, Option<Checkpoint>)>> {
    let found = newest_to_go_on_from(disk, dir)?;
    found.map(|(_, file)| Ok((file.identity, file.record?))).transpose()
}

/// Puts into `catalog`, which is empty, what the newest whole checkpoint file in `dir` says; its number, `None` where
/// there is none.
pub fn refill(disk: &Disk, catalog: &dyn Catalog, dir: &Path) -> Result<Option<u64>> {
    let Some((number, file)) = newest_to_go_on_from(disk, dir)? else { return Ok(None) };
    // it may be in memory only, after a sync that failed
    let path = checkpoint_path(dir, number);
    disk.replace(&path, &disk.read(&path)?)?;
    let clean = false;
    let mut batch = Batch::new();
    Commit { number, length: file.length, checksum: file.checksum, clean }.put(&mut batch);
    file.identity.put(&mut batch);
    catalog.commit(&batch)?;
    Ok(Some(number))
}

/// Makes the catalog of the crawl in `dir` from its newest whole checkpoint file; that one's number, `None` where there
/// is none. A catalog that is there is put aside.
pub fn make_again(disk: &Disk, dir: &Path) -> Result<Option<u64>> {
    let (made, catalog, aside) =
        (dir.join(layout::CATALOG_MADE), dir.join(layout::CATALOG), dir.join(layout::CATALOG_DAMAGED));
    remove_dir(&made)?;
    let Some(number) = refill(disk, &SledCatalog::open(&made)?, dir)? else {
        remove_dir(&made)?;
        return Ok(None);
    };
    remove_dir(&aside)?;
    match fs::rename(&catalog, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("rename", &catalog, error)),
        _ => {}
    }
    fs::rename(&made, &catalog).map_err(|e| Error::io("rename", &made, e))?;
    disk.sync_dir(dir)?;
    Ok(Some(number))
}

fn remove_dir(path: &PathBuf) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::tests::{checkpoint, identity};
    use super::*;
    use crate::catalog::MemoryCatalog;

    const SHAPE: (usize, usize, &[String]) = (4, 16, &[]);
    const NOW: Time = Time::from_ms(9);

    fn is_damage<T: std::fmt::Debug>(looked: Result<T>, dir: &Path) -> bool {
        matches!(looked, Err(Error::Damaged { path, .. }) if path == dir.join(layout::CATALOG))
    }

    #[test]
    fn n02_a_crawl_begins_with_a_checkpoint_and_an_identity_without_one_is_damage() {
        let (dir, disk, catalog) = (tempfile::tempdir().unwrap(), Disk::real(), MemoryCatalog::default());
        let dir = dir.path();
        let (made, is_new) = begin(&disk, &catalog, dir, (NOW, 7), SHAPE).unwrap();
        assert!(is_new && checkpoint::Last::load(&disk, &catalog, dir).unwrap().unwrap().checkpoint.is_none());
        // killed before its first checkpoint
        fs::create_dir(dir.join("url-seen")).unwrap();
        fs::write(dir.join("url-seen/bucket-000.g000001.kv"), b"x").unwrap();
        assert_eq!(begin(&disk, &catalog, dir, (NOW, 8), SHAPE).unwrap(), (made.clone(), false));
        let mut batch = Batch::new();
        batch.remove("commit");
        catalog.commit(&batch).unwrap();
        assert!(is_damage(begin(&disk, &catalog, dir, (NOW, 8), SHAPE), dir));
        // nor is it a new crawl without the identity
        batch.remove("identity");
        catalog.commit(&batch).unwrap();
        assert!(is_damage(begin(&disk, &catalog, dir, (NOW, 8), SHAPE), dir));
        assert_eq!(find(&disk, dir).unwrap().unwrap().0, made);
    }

    #[test]
    fn n02_a_crawl_that_was_killed_while_it_was_created_is_created_again() {
        let (dir, disk, catalog) = (tempfile::tempdir().unwrap(), Disk::real(), MemoryCatalog::default());
        let dir = dir.path();
        // its first checkpoint lies there, whole or not, and the catalog has not heard of it
        file::write(&disk, dir, (0, &identity()), &Sections::default(), None).unwrap();
        for length in [200, 40, 7] {
            let whole = disk.read(checkpoint_path(dir, 0)).unwrap();
            fs::write(checkpoint_path(dir, 0), &whole[..whole.len().min(length)]).unwrap();
            let catalog = MemoryCatalog::default();
            assert!(begin(&disk, &catalog, dir, (NOW, 8), SHAPE).unwrap().1);
        }
        assert!(begin(&disk, &catalog, dir, (NOW, 8), SHAPE).unwrap().1);
    }

    #[test]
    fn n03_a_checkpoint_file_that_cannot_be_read_now_is_an_error_and_no_reason_to_take_an_older_one() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let dir = dir.path();
        file::write(&disk, dir, (3, &identity()), &Sections::default(), Some(&checkpoint(3))).unwrap();
        // a directory in its place cannot be read
        fs::create_dir(checkpoint_path(dir, 4)).unwrap();
        assert!(matches!(find(&disk, dir), Err(Error::Io { .. })));
        let opened = open_catalog(&disk, dir, &mut |_| panic!("it was rebuilt"));
        assert!(matches!(opened, Err(Error::Io { .. })), "{opened:?}");
    }

    #[test]
    fn n09_a_catalog_that_has_fallen_behind_is_damage_of_the_catalog_and_made_again_from_the_newest_whole_file() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let dir = dir.path();
        let catalog = SledCatalog::open(&dir.join(layout::CATALOG)).unwrap();
        let mut batch = Batch::new();
        identity().put(&mut batch);
        file::write(&disk, dir, (3, &identity()), &Sections::default(), Some(&checkpoint(3))).unwrap().put(&mut batch);
        catalog.commit(&batch).unwrap();
        file::write(&disk, dir, (7, &identity()), &Sections::default(), Some(&checkpoint(7))).unwrap();
        // its own file is there: the later one was not committed
        assert_eq!(look(&disk, &catalog, dir).unwrap(), Some(identity()));
        disk.remove(&checkpoint_path(dir, 3)).unwrap();
        assert!(is_damage(look(&disk, &catalog, dir), dir));
        drop(catalog);
        // one that is not whole does not count
        fs::write(checkpoint_path(dir, 8), b"CRAWL").unwrap();
        let mut told = Vec::new();
        let catalog = open_catalog(&disk, dir, &mut |what| told.push(what)).unwrap();
        assert!(told.len() == 1 && told[0].contains("was rebuilt from checkpoint 7"), "{told:?}");
        let last = checkpoint::Last::load(&disk, &catalog, dir).unwrap().unwrap();
        assert_eq!((last.commit.number, last.commit.clean), (7, false));
        assert_eq!(look(&disk, &catalog, dir).unwrap(), Some(identity()));
        drop(catalog);
        open_catalog(&disk, dir, &mut |what| panic!("{what}")).unwrap();
        // without any file of its own that is whole, the damage is told
        fs::remove_file(checkpoint_path(dir, 7)).unwrap();
        fs::remove_dir_all(dir.join(layout::CATALOG)).unwrap();
        assert!(is_damage(open_catalog(&disk, dir, &mut |what| panic!("{what}")), dir));
    }
}
