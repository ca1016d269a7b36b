//! A shard's directory from the store: the files of a manifest, on another machine.
//!
//! Objects are read side by side, each from its beginning to its end as far as files of the checkpoint are there, in
//! few large requests. Every part is compared with its checksum. All is synced, then the address file of the archive is
//! made from key.dat, and last comes the checkpoint's own file: a directory that was not finished has none, and is no
//! crawl.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::manifest::{Manifest, ShippedFile};
use super::parts::{self, Read, Wanted};
use crate::container;
use crate::disk::{self, Disk, DiskFile, Mode};
use crate::record::FileKind;
use crate::record::layout::{CHECKPOINT_PREFIX, PAGES};
use crate::store::{ObjectStore, Result};

/// The choice whether value files are restored too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archive {
    /// They stay in the store, and are read there by a [`StoreView`](super::StoreView).
    Left,
    /// They come too.
    Too,
}

/// Puts the files of `manifest` into `dir`, which has to be empty, and makes them durable.
pub fn restore(store: &dyn ObjectStore, manifest: &Manifest, disk: &Disk, dir: &Path, archive: Archive) -> Result<()> {
    refuse_full(disk, dir)?;
    let is_wanted = |file: &&ShippedFile| archive == Archive::Too || file.kind != FileKind::Archive;
    let files: Vec<&ShippedFile> = manifest.files.iter().filter(is_wanted).collect();
    let (last, files): (Vec<&ShippedFile>, Vec<&ShippedFile>) =
        files.into_iter().partition(|file| file.path.starts_with(CHECKPOINT_PREFIX));
    let target = Target { disk, dir };
    target.bring(store, manifest, &files)?;
    let keys = keys_path();
    let keys = keys.to_str().and_then(|path| manifest.file(path));
    make_derived(disk, dir, keys.map(ShippedFile::bytes))?;
    target.bring(store, manifest, &last)?;
    if let Some(parent) = dir.parent() {
        disk.sync_dir(parent)?;
    }
    Ok(())
}

/// The file with the keys of the archive.
pub(super) fn keys_path() -> PathBuf {
    Path::new(PAGES).join("key.dat")
}

/// Makes what a shard's directory has beside the files that a checkpoint names: directories that may be empty, and the
/// address file of an archive whose key.dat has this many bytes.
pub(super) fn make_derived(disk: &Disk, dir: &Path, keys: Option<u64>) -> disk::Result<()> {
    super::dirs().try_for_each(|name| disk.create_dir_all(&dir.join(name)))?;
    keys.map_or(Ok(()), |bytes| container::make_addresses(disk, &dir.join(PAGES), bytes))
}

fn refuse_full(disk: &Disk, dir: &Path) -> Result<()> {
    disk.create_dir_all(dir)?;
    match disk.list(dir)?.into_iter().find(|name| name != disk::LOCK_FILE) {
        None => Ok(()),
        Some(name) => {
            let what = format!("an empty directory is needed, and it has {name}");
            Err(disk::Error::limit("restore a checkpoint into", dir, what).into())
        }
    }
}

#[derive(Clone, Copy)]
struct Target<'a> {
    disk: &'a Disk,
    dir: &'a Path,
}

impl Target<'_> {
    /// Makes the files, with their bytes, durable.
    fn bring(&self, store: &dyn ObjectStore, manifest: &Manifest, files: &[&ShippedFile]) -> Result<()> {
        let mut dirs: BTreeSet<PathBuf> = BTreeSet::from([self.dir.to_owned()]);
        for &file in files {
            let path = self.dir.join(&file.path);
            for dir in path.ancestors().skip(1).take_while(|dir| dir.starts_with(self.dir)) {
                if dirs.insert(dir.to_owned()) {
                    self.disk.create_dir_all(dir)?;
                }
            }
            self.disk.open(path, Mode::CreateNew)?.set_len(file.bytes())?;
        }
        let objects = parts::by_object(manifest, files.iter().copied()).collect();
        parts::side_by_side(store, objects, &|name, wanted| self.read_object(store, name, wanted))?;
        for file in files {
            self.disk.open(self.dir.join(&file.path), Mode::Read)?.sync()?;
        }
        Ok(dirs.iter().rev().try_for_each(|dir| self.disk.sync_dir(dir))?)
    }

    /// Reads what is wanted of an object, in its order.
    fn read_object(&self, store: &dyn ObjectStore, name: &str, mut wanted: Vec<Wanted<'_>>) -> Result<()> {
        let mut open: Option<(u64, &str, DiskFile)> = None;
        parts::read(store, name, &mut wanted, &mut |wanted, read| match read {
            Read::Piece(bytes, at) => {
                let (path, begin) = (wanted.file.path.as_str(), wanted.at);
                if open.as_ref().is_none_or(|(of, at, _)| (*of, *at) != (begin, path)) {
                    open = Some((begin, path, self.disk.open(self.dir.join(path), Mode::Write)?));
                }
                let (.., file) = open.as_ref().expect("it was opened just now");
                Ok(file.write_all_at(bytes, begin + at)?)
            }
            Read::Damaged(error) => Err(error),
        })
    }
}
