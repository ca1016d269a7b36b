//! The beginning of a crawl in a directory, and how a start knows whether there is one.
//!
//! | the directory has | then |
//! |---|---|
//! | no file of a crawl | a new crawl begins |
//! | a checkpoint file with an identity | the crawl goes on |
//! | checkpoint files, and no identity in one | damage |
//! | no checkpoint file, and others of a crawl | damage: this is no new crawl |
//!
//! A new crawl begins with checkpoint 0. What is in the directory of a start that was killed before has no file of a
//! crawl, and the next start begins again.

use std::path::{Path, PathBuf};

use super::Sections;
use super::file::{identity_of, newest_whole, numbers, write};
use super::identity::{Identity, Shape};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::record::layout;

/// The identity of the crawl in `dir`; `None` where there is no crawl yet. It is the same in each checkpoint file.
pub fn look(disk: &Disk, dir: &Path) -> Result<Option<Identity>> {
    if let Some(identity) = newest_whole(disk, dir, |number| identity_of(disk, dir, number).map(Some))? {
        return Ok(Some(identity));
    }
    match trace(disk, dir)? {
        Some(trace) => {
            let found = format!("none, but {trace} beside it: this is not a new crawl");
            Err(Error::damaged(&any_checkpoint(dir), 0, "a checkpoint of the crawl", found))
        }
        None => Ok(None),
    }
}

/// The identity of the crawl in `dir`, or that of a new one, durable with its first checkpoint when this returns; and
/// whether it is new.
pub fn begin(disk: &Disk, dir: &Path, now: Time, random: u128, shape: Shape<'_>) -> Result<(Identity, bool)> {
    match look(disk, dir)? {
        Some(identity) => Ok((identity, false)),
        None => {
            let identity = Identity::new(now, random, shape);
            put_first(disk, dir, &identity)?;
            Ok((identity, true))
        }
    }
}

/// Begins a shard of a crawl that has this `identity`; returns whether it is new. A directory of another crawl, or of
/// another shard, is damage.
pub fn begin_shard(disk: &Disk, dir: &Path, identity: &Identity) -> Result<bool> {
    match look(disk, dir)? {
        Some(found) if found == *identity => Ok(false),
        Some(found) => {
            let named = |of: &Identity| format!("shard {} of {} of crawl {:x}", of.shard().index(), of.shards(), of.id);
            Err(Error::damaged(dir, 0, named(identity), named(&found)))
        }
        None => put_first(disk, dir, identity).map(|()| true),
    }
}

/// Makes the checkpoint with which a crawl begins.
fn put_first(disk: &Disk, dir: &Path, identity: &Identity) -> Result<()> {
    write(disk, dir, (0, identity), &Sections::default(), None).map(drop)
}

/// The path of checkpoint files, for errors.
pub fn any_checkpoint(dir: &Path) -> PathBuf {
    dir.join(format!("{}*", layout::CHECKPOINT_PREFIX))
}

/// A file that only a crawl makes, if one is in `dir`.
fn trace(disk: &Disk, dir: &Path) -> Result<Option<String>> {
    let names = list(disk, dir)?;
    for entry in layout::ENTRIES.into_iter().filter(|entry| entry.is_trace) {
        let found = if entry.is_directory() {
            list(disk, &dir.join(entry.name))?.into_iter().next().map(|name| format!("{}/{name}", entry.name))
        } else {
            names.iter().find(|name| entry.has(name)).cloned()
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns whether there is a crawl in `dir`, or what is left of one.
pub fn is_begun(disk: &Disk, dir: &Path) -> bool {
    numbers(disk, dir).is_ok_and(|numbers| !numbers.is_empty())
}

/// Names in a directory that need not be there.
fn list(disk: &Disk, dir: &Path) -> Result<Vec<String>> {
    match disk.list(dir) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        names => names,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::{checkpoint, identity};
    use super::super::{Checkpoint, Last, checkpoint_path};
    use super::*;

    const SHAPE: Shape<'_> = Shape { buckets: 4, partitions: 16, strip_query_params: &[] };
    const NOW: Time = Time::from_ms(9);

    #[test]
    fn n02_a_crawl_begins_with_a_checkpoint_and_files_of_a_crawl_without_one_are_damage() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let dir = dir.path();
        let (made, is_new) = begin(&disk, dir, NOW, 7, SHAPE).unwrap();
        assert!(is_new && Last::find(&disk, dir).unwrap().unwrap().checkpoint.is_none());
        // killed before its first checkpoint
        fs::create_dir(dir.join("url-seen")).unwrap();
        fs::write(dir.join("url-seen/bucket-000.g000001.kv"), b"x").unwrap();
        assert_eq!(begin(&disk, dir, NOW, 8, SHAPE).unwrap(), (made, false));
        fs::remove_file(checkpoint_path(dir, 0)).unwrap();
        assert!(matches!(begin(&disk, dir, NOW, 8, SHAPE), Err(Error::Damaged { .. })));
    }

    #[test]
    fn n02_a_crawl_that_was_killed_while_it_was_created_is_created_again() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let dir = dir.path();
        write(&disk, dir, (0, &identity()), &Sections::default(), None).unwrap();
        let whole = disk.read(checkpoint_path(dir, 0)).unwrap();
        fs::remove_file(checkpoint_path(dir, 0)).unwrap();
        for length in [whole.len(), 40, 7, 0] {
            fs::write(dir.join("checkpoint.g000000.tmp"), &whole[..length]).unwrap();
            assert_eq!(look(&disk, dir).unwrap(), None);
        }
        assert!(begin(&disk, dir, NOW, 8, SHAPE).unwrap().1);
        assert!(!begin(&disk, dir, NOW, 8, SHAPE).unwrap().1);
    }

    #[test]
    fn n03_a_checkpoint_file_that_cannot_be_read_now_is_an_error_and_no_reason_to_take_an_older_one() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let dir = dir.path();
        write(&disk, dir, (3, &identity()), &Sections::default(), Some(&checkpoint(3))).unwrap();
        // a directory in its place cannot be read
        fs::create_dir(checkpoint_path(dir, 4)).unwrap();
        assert!(matches!(look(&disk, dir), Err(Error::Io { .. })));
        assert!(matches!(Last::find(&disk, dir), Err(Error::Io { .. })));
    }

    #[test]
    fn n09_a_file_that_is_damaged_gives_way_to_the_one_before_and_one_alone_is_damage() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let dir = dir.path();
        write(&disk, dir, (3, &identity()), &Sections::default(), Some(&checkpoint(3))).unwrap();
        fs::write(checkpoint_path(dir, 4), b"CRAWL").unwrap();
        assert_eq!(look(&disk, dir).unwrap(), Some(identity()));
        assert_eq!(Last::find(&disk, dir).unwrap().unwrap().number, 3);
        fs::remove_file(checkpoint_path(dir, 3)).unwrap();
        assert!(matches!(look(&disk, dir), Err(Error::Damaged { .. })));
        assert!(matches!(Last::find(&disk, dir), Err(Error::Damaged { .. })));
    }

    #[test]
    fn a_crawl_that_stopped_in_good_order_did_so_until_somebody_goes_on() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let dir = dir.path();
        let stopped = Checkpoint { clean: true, ..checkpoint(3) };
        let sections = Sections { frontier: vec![1, 2], ..Sections::default() };
        write(&disk, dir, (2, &identity()), &sections, Some(&checkpoint(2))).unwrap();
        write(&disk, dir, (3, &identity()), &sections, Some(&stopped)).unwrap();
        let mut last = Last::find(&disk, dir).unwrap().unwrap();
        assert!(last.checkpoint.as_ref().unwrap().clean);
        last.keep_alone(&disk, dir).unwrap();
        assert_eq!(numbers(&disk, dir).unwrap(), [3]);
        last.go_on(&disk, dir).unwrap();
        let again = Last::find(&disk, dir).unwrap().unwrap();
        assert_eq!((again.number, again.sections.frontier), (3, vec![1, 2]));
        assert!(!again.checkpoint.unwrap().clean && !last.checkpoint.unwrap().clean);
    }
}
