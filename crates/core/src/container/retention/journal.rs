//! The redo journal of a compaction: what key.dat has to say once a value file was rewritten.
//!
//! | step | on disk | after a crash |
//! |---|---|---|
//! | 1 | the new generation is written as `NAME.new`, synced, and its name | the next opening removes it |
//! | 2 | `compaction.redo` is written, synced and renamed into place: from here on the compaction counts | redo |
//! | 3 | `NAME.new` is renamed to `NAME`, and that is synced | redo |
//! | 4 | the key records of the file are overwritten in key.dat, and synced | redo |
//! | 5 | the old generation is removed, and that is synced | redo |
//! | 6 | `compaction.redo` is removed, and that is synced | redo, or nothing |
//!
//! The journal has the key records of the file as they are to be: a stretch of key.dat. To write them once more changes
//! nothing, so a redo may itself be cut short and done again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::container::keys::{KeyFile, VERSION as KEYS_VERSION};
use crate::disk::{Disk, Error, HEADER_BYTES, Header, Kind, Mode, Result};

/// Its name.
const FILE: &str = "compaction.redo";
const VERSION: u16 = 1;
/// Suffix of a value file that is not finished, or not in place.
pub const STAGED: &str = ".new";
/// Checksum, and length of the JSON.
const PREFIX_BYTES: usize = 8;

/// Journal of what has to be done to put a rewritten value file in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    /// The files that change places, which is written as JSON.
    pub replacement: Replacement,
    /// The key records of the file as they are to be.
    pub image: Vec<u8>,
}

/// Names of the file that is replaced and of its replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replacement {
    /// Number of the value file.
    pub number: u32,
    /// Name of the generation that goes.
    pub old: String,
    /// Name of the one that takes its place.
    pub new: String,
    /// Offset in key.dat at which its key records begin.
    pub keys_from: u64,
}

impl Journal {
    /// The journal of the archive in `dir`, if a compaction is in progress there.
    pub(crate) fn read(disk: &Disk, dir: &Path) -> Result<Option<Journal>> {
        let path = dir.join(FILE);
        let Some(file) = disk.open_if_there(&path)? else { return Ok(None) };
        Header::check(&file, Kind::Compaction, VERSION)?;
        let mut bytes = vec![0; usize::try_from(file.len()? - HEADER_BYTES).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, HEADER_BYTES)?;
        let parsed = parse(&bytes)
            .ok_or_else(|| Error::damaged(&path, HEADER_BYTES, "a redo journal with its checksum", "other bytes"))?;
        Ok(Some(parsed))
    }

    /// Makes it durable: from now on the compaction counts.
    pub(crate) fn write(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let json = serde_json::to_vec(&self.replacement).expect("names and numbers are plain data");
        let mut content = Header { kind: Kind::Compaction, version: VERSION }.to_bytes().to_vec();
        content.extend_from_slice(&[0; 4]);
        content.extend_from_slice(&(json.len() as u32).to_le_bytes());
        content.extend_from_slice(&json);
        content.extend_from_slice(&self.image);
        let at = HEADER_BYTES as usize;
        let sum = crc32fast::hash(&content[at + 4..]);
        content[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        disk.replace(&dir.join(FILE), &content)
    }

    /// The value file that is to be put in place.
    pub(crate) fn staged(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}{STAGED}", self.replacement.new))
    }

    /// Puts the value file in place, next to the old one.
    pub(crate) fn put_in_place(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let (staged, new) = (self.staged(dir), dir.join(&self.replacement.new));
        if disk.open_if_there(&staged)?.is_some() {
            disk.rename(&staged, &new)?;
        } else {
            drop(disk.open(&new, Mode::Read)?);
        }
        disk.sync_dir(dir)
    }

    /// Changes the key records; by the engine's thread where a crawl runs, for it reads them without looking twice.
    pub(crate) fn change_keys(&self, keys: &KeyFile) -> Result<()> {
        keys.overwrite(self.replacement.keys_from, &self.image)
    }

    /// The key records were changed: makes that durable, and removes what is not needed any more.
    pub(crate) fn finish(&self, disk: &Disk, dir: &Path) -> Result<()> {
        disk.open(dir.join("key.dat"), Mode::Read)?.sync()?;
        disk.remove(&dir.join(&self.replacement.old))?;
        disk.sync_dir(dir)?;
        disk.remove(&dir.join(FILE))?;
        disk.sync_dir(dir)
    }

    /// True if the key record at `offset` is one that it changes.
    pub(crate) fn changes(&self, offset: u64) -> bool {
        (self.replacement.keys_from..self.replacement.keys_from + self.image.len() as u64).contains(&offset)
    }
}

fn parse(bytes: &[u8]) -> Option<Journal> {
    let (prefix, rest) = bytes.split_at_checked(PREFIX_BYTES)?;
    let sum = u32::from_le_bytes(prefix[..4].try_into().ok()?);
    let length = u32::from_le_bytes(prefix[4..].try_into().ok()?) as usize;
    if crc32fast::hash(&bytes[4..]) != sum {
        return None;
    }
    let (json, image) = rest.split_at_checked(length)?;
    Some(Journal { replacement: serde_json::from_slice(json).ok()?, image: image.to_vec() })
}

/// Returns whether a compaction of the archive in `dir` counts and is not finished.
pub fn is_there(disk: &Disk, dir: &Path) -> Result<bool> {
    Ok(disk.open_if_there(dir.join(FILE))?.is_some())
}

/// Finishes a compaction of the archive in `dir` that counts, and removes what is left of one that does not. Nothing
/// else may use the archive meanwhile. Says whether one was finished.
pub fn settle(disk: &Disk, dir: &Path) -> Result<bool> {
    if let Some(journal) = Journal::read(disk, dir)? {
        journal.put_in_place(disk, dir)?;
        let keys = disk.open(dir.join("key.dat"), Mode::Write)?;
        Header { kind: Kind::Keys, version: KEYS_VERSION }.write(&keys)?;
        keys.write_all_at(&journal.image, journal.replacement.keys_from)?;
        journal.finish(disk, dir)?;
        return Ok(true);
    }
    remove_staged(disk, dir)?;
    Ok(false)
}

/// The same for anyone who makes the index again from the value files: a journal that cannot be read is not needed.
pub(crate) fn settle_for_rebuild(disk: &Disk, dir: &Path) -> Result<()> {
    match settle(disk, dir) {
        Err(Error::Damaged { .. }) => {}
        Err(error) if error.is_not_found() => {}
        done => return done.map(drop),
    }
    remove_staged(disk, dir)?;
    // the journal was durable before a second generation was put in place: the later one is whole
    let files = crate::container::values::find(disk, dir)?;
    for pair in files.windows(2).filter(|pair| pair[0].number == pair[1].number && !pair[1].open) {
        disk.remove(&pair[0].path)?;
    }
    disk.remove(&dir.join(FILE))?;
    disk.sync_dir(dir)
}

fn remove_staged(disk: &Disk, dir: &Path) -> Result<()> {
    for name in disk.list(dir)? {
        if name.starts_with("value-") && name.ends_with(STAGED) {
            disk.remove(&dir.join(name))?;
        }
    }
    Ok(())
}
