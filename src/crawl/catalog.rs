//! The catalog: the index of the last checkpoint of each shard, which a start reads and each checkpoint writes.
//!
//! It is derived. What counts are the checkpoint files; the catalog says which ones there must be, so that a start
//! notices a checkpoint that is lost. One that cannot be opened or written costs that notice and nothing else: it is
//! set aside, or left as it is, with a warning, and the crawl goes on. So nothing here is an error of the crawl, not
//! even a panic of sled's.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::database::{self, attempt};
use crate::disk;
use crate::record::layout;
use crate::shard::Shard;

/// The catalog of a crawl directory.
pub(super) struct Catalog {
    /// `None` where it could not be opened, and once it has failed.
    db: Mutex<Option<sled::Db>>,
}

impl Catalog {
    /// Opens the catalog of the crawl in `dir`, and makes it where there is none. Only links that lead elsewhere are an
    /// error.
    pub(crate) fn open(dir: &Path) -> disk::Result<Catalog> {
        disk::refuse_links(dir, &[layout::CATALOG, layout::CATALOG_DAMAGED])?;
        let path = dir.join(layout::CATALOG);
        disk::only_regular_files(&path)?;
        let opened = database::open(&path).or_else(|why| {
            let aside = dir.join(layout::CATALOG_DAMAGED);
            tracing::warn!("{}: {why}; it is set aside as {}", path.display(), layout::CATALOG_DAMAGED);
            let _ = fs::remove_dir_all(&aside);
            fs::rename(&path, &aside).map_err(|error| error.to_string())?;
            database::open(&path)
        });
        let db = opened.inspect_err(|why| tracing::warn!("the crawl goes on without a catalog: {why}")).ok();
        Ok(Catalog { db: Mutex::new(db) })
    }

    /// The number of the last checkpoint of `shard`, if it is known.
    pub(crate) fn last(&self, shard: Shard) -> Option<u64> {
        let found = self.with(|db| db.get(shard.dir_name()))??;
        Some(u64::from_le_bytes(found.as_ref().try_into().ok()?))
    }

    /// Notes that `number` is the last checkpoint of `shard`.
    pub(crate) fn note(&self, shard: Shard, number: u64) {
        self.with(|db| {
            db.insert(shard.dir_name(), &number.to_le_bytes())?;
            db.flush()
        });
    }

    /// The result of `act`; `None` where it fails now, or the catalog has failed before.
    fn with<T>(&self, act: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Option<T> {
        let mut kept = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let db = kept.as_ref()?;
        match attempt(|| act(db)) {
            Ok(done) => Some(done),
            Err(why) => {
                tracing::warn!("the catalog is not written any more, which the crawl does not need: {why}");
                // dropping it would write once more
                std::mem::forget(kept.take());
                None
            }
        }
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        let db = self.db.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // it syncs, and panics where that fails
        let _ = attempt(|| {
            drop(db);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shard_has_its_last_checkpoint_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        for number in 1..4 {
            let catalog = Catalog::open(dir.path()).unwrap();
            for shard in Shard::all(2) {
                let before = u64::from(shard.index()) + number;
                assert_eq!(catalog.last(shard), Some(before - 1).filter(|_| number > 1));
                catalog.note(shard, before);
            }
        }
    }

    #[test]
    fn one_that_cannot_be_opened_is_set_aside_and_begun_again() {
        let dir = tempfile::tempdir().unwrap();
        Catalog::open(dir.path()).unwrap().note(Shard::WHOLE, 7);
        let settings = dir.path().join("catalog/conf");
        // the second time another one was set aside before
        for _ in 0..2 {
            fs::write(&settings, "no settings of sled").unwrap();
            let catalog = Catalog::open(dir.path()).unwrap();
            assert_eq!(catalog.last(Shard::WHOLE), None);
            assert!(dir.path().join("catalog.damaged").is_dir());
            catalog.note(Shard::WHOLE, 8);
            drop(catalog);
            assert_eq!(Catalog::open(dir.path()).unwrap().last(Shard::WHOLE), Some(8));
        }
    }

    #[test]
    fn whatever_is_cut_or_flipped_in_its_files_it_is_opened() {
        let sound = tempfile::tempdir().unwrap();
        for number in 0..40 {
            Catalog::open(sound.path()).unwrap().note(Shard::WHOLE, number);
        }
        let names = ["conf", "db"];
        for (name, at) in names.into_iter().flat_map(|name| [0, 8, 40, 200, 1_000].map(|at| (name, at))) {
            for is_cut in [true, false] {
                let dir = tempfile::tempdir().unwrap();
                fs::create_dir(dir.path().join("catalog")).unwrap();
                for name in names {
                    fs::copy(sound.path().join("catalog").join(name), dir.path().join("catalog").join(name)).unwrap();
                }
                let path = dir.path().join("catalog").join(name);
                let mut bytes = fs::read(&path).unwrap();
                let at = at.min(bytes.len() - 1);
                if is_cut {
                    bytes.truncate(at)
                } else {
                    bytes[at] ^= 0x10
                }
                fs::write(&path, bytes).unwrap();
                let catalog = Catalog::open(dir.path()).unwrap();
                assert!(catalog.last(Shard::WHOLE).is_none_or(|number| number < 40), "{name} {at} {is_cut}");
                catalog.note(Shard::WHOLE, 41);
            }
        }
    }
}
