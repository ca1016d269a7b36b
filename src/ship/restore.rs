//! A shard's directory from the store: the files of a manifest, on another machine.
//!
//! Objects are read side by side, each from its beginning to its end as far as files of the checkpoint lie there, in
//! few large requests. Every part is compared with its checksum. All is synced, then the address file of the archive is
//! made from key.dat, and last comes the checkpoint's own file: a directory that was not finished has none, and is no
//! crawl. The catalog is made at opening, as that of a crawl which has lost it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::manifest::{Manifest, Part, ShippedFile};
use super::{DIRS, FileKind};
use crate::container;
use crate::disk::{self, Disk, DiskFile, Mode};
use crate::store::{Error, ObjectStore, Result};

/// Requests at a time.
const THREADS: usize = 8;
/// What is asked for at a time.
const READ_BYTES: u64 = 8 << 20;
/// So much that nobody wants is read along rather than asked around.
const GAP_BYTES: u64 = 64 << 10;
const CHECKPOINT: &str = "checkpoint.g";
const PAGES: &str = "pages";

/// Whether value files come too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archive {
    /// They stay in the store, and are read there by a [`StoreView`](super::StoreView).
    Left,
    /// They come too.
    Too,
}

/// A part of a file that is to be read.
#[derive(Clone, Copy, Debug)]
struct Wanted<'a> {
    file: &'a ShippedFile,
    /// Where it begins in the file.
    at: u64,
    part: Part,
}

/// Puts the files of `manifest` into `dir`, which has to be empty, and makes them durable.
pub fn restore(store: &dyn ObjectStore, manifest: &Manifest, disk: &Disk, dir: &Path, archive: Archive) -> Result<()> {
    refuse_full(disk, dir)?;
    let is_wanted = |file: &&ShippedFile| archive == Archive::Too || file.kind != FileKind::Archive;
    let files: Vec<&ShippedFile> = manifest.files.iter().filter(is_wanted).collect();
    let (last, files): (Vec<&ShippedFile>, Vec<&ShippedFile>) =
        files.into_iter().partition(|file| file.path.starts_with(CHECKPOINT));
    let target = Target { disk, dir };
    DIRS.iter().try_for_each(|name| disk.create_dir_all(&dir.join(name)))?;
    target.bring(store, manifest, &files)?;
    let keys = Path::new(PAGES).join("key.dat");
    if let Some(keys) = keys.to_str().and_then(|path| manifest.file(path)) {
        container::make_addresses(disk, &dir.join(PAGES), keys.bytes())?;
    }
    target.bring(store, manifest, &last)?;
    if let Some(parent) = dir.parent() {
        disk.sync_dir(parent)?;
    }
    Ok(())
}

fn refuse_full(disk: &Disk, dir: &Path) -> Result<()> {
    disk.create_dir_all(dir)?;
    match disk.list(dir)?.into_iter().find(|name| name != "LOCK") {
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
        let mut wanted: BTreeMap<u32, Vec<Wanted<'_>>> = BTreeMap::new();
        for &file in files {
            let path = self.dir.join(&file.path);
            for dir in path.ancestors().skip(1).take_while(|dir| dir.starts_with(self.dir)) {
                if dirs.insert(dir.to_owned()) {
                    self.disk.create_dir_all(dir)?;
                }
            }
            self.disk.open(path, Mode::CreateNew)?.set_len(file.bytes())?;
            let mut at = 0;
            for part in &file.parts {
                wanted.entry(part.object).or_default().push(Wanted { file, at, part: *part });
                at += part.bytes;
            }
        }
        let work: VecDeque<(&str, Vec<Wanted<'_>>)> =
            wanted.into_iter().map(|(at, wanted)| (manifest.objects[at as usize].name.as_str(), wanted)).collect();
        self.read_all(store, work)?;
        for file in files {
            self.disk.open(self.dir.join(&file.path), Mode::Read)?.sync()?;
        }
        Ok(dirs.iter().rev().try_for_each(|dir| self.disk.sync_dir(dir))?)
    }

    /// Reads all objects, several at a time.
    fn read_all(&self, store: &dyn ObjectStore, work: VecDeque<(&str, Vec<Wanted<'_>>)>) -> Result<()> {
        let threads = THREADS.min(work.len());
        let (work, failed) = (Mutex::new(work), Mutex::new(None));
        let next = || work.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((name, wanted)) = next() {
                        if let Err(error) = self.read_object(store, name, wanted) {
                            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            // nobody begins with another one
                            work.lock().unwrap_or_else(PoisonError::into_inner).clear();
                        }
                    }
                });
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Reads what is wanted of an object, in its order.
    fn read_object(&self, store: &dyn ObjectStore, name: &str, mut wanted: Vec<Wanted<'_>>) -> Result<()> {
        wanted.sort_by_key(|wanted| wanted.part.offset);
        let mut block = Block::default();
        for Wanted { file, at, part } in &wanted {
            let to = self.disk.open(self.dir.join(&file.path), Mode::Write)?;
            let (mut sum, mut done) = (crc32fast::Hasher::new(), 0);
            while done < part.bytes {
                let from = part.offset + done;
                if !block.range().contains(&from) {
                    let end = stretch(&wanted, from).min(from + READ_BYTES);
                    block = Block { begin: from, bytes: store.get(name, from..end)? };
                    whole(&block, from..end, name)?;
                }
                let begin = (from - block.begin) as usize;
                let piece = &block.bytes[begin..block.bytes.len().min(begin + (part.bytes - done) as usize)];
                sum.update(piece);
                write(&to, piece, at + done)?;
                done += piece.len() as u64;
            }
            let found = sum.finalize();
            if found != part.crc {
                let expected = format!("{} bytes of {} with checksum {:08x}", part.bytes, file.path, part.crc);
                let (name, found) = (name.to_owned(), format!("{found:08x}"));
                return Err(Error::Damaged { name, offset: part.offset, expected, found });
            }
        }
        Ok(())
    }
}

/// Bytes of an object that are in memory.
#[derive(Default)]
struct Block {
    begin: u64,
    bytes: Vec<u8>,
}

impl Block {
    fn range(&self) -> Range<u64> {
        self.begin..self.begin + self.bytes.len() as u64
    }
}

/// Where what is wanted ends that begins at `from` and goes on without a long gap.
fn stretch(wanted: &[Wanted<'_>], from: u64) -> u64 {
    let mut end = from;
    let first = wanted.partition_point(|wanted| wanted.part.offset + wanted.part.bytes <= from);
    for Wanted { part, .. } in &wanted[first..] {
        if part.offset > end + GAP_BYTES {
            break;
        }
        end = end.max(part.offset + part.bytes);
    }
    end
}

fn whole(block: &Block, range: Range<u64>, name: &str) -> Result<()> {
    match block.range() == range {
        true => Ok(()),
        false => Err(Error::Damaged {
            name: name.to_owned(),
            offset: range.start,
            expected: format!("{} bytes", range.end - range.start),
            found: block.bytes.len().to_string(),
        }),
    }
}

fn write(file: &DiskFile, bytes: &[u8], at: u64) -> disk::Result<()> {
    file.write_all_at(bytes, at)
}
