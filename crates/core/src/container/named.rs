//! The files of an archive that a checkpoint names, with the lengths that count.

use std::path::{Path, PathBuf};

use super::ContainerState;
use super::imported;
use super::retention::{journal, list};
use super::values::{self, OPEN};
use crate::disk::{Disk, Error, Mode, Result};

/// The files; paths have the directory.
#[derive(Debug)]
pub struct Named {
    /// key.dat with its length.
    pub keys: (PathBuf, u64),
    /// Changes whenever a compaction has changed key records in place.
    pub lineage: u32,
    /// Value files under the names that they have when they are closed, and their lengths.
    pub values: Vec<(PathBuf, u64)>,
    /// The list of what is forgotten, and that of the sources of an imported archive, as far as they are there.
    pub lists: Vec<(PathBuf, u64)>,
}

/// The files of the archive in `dir` that `state` notes. One in which a compaction is in progress is refused: it
/// changes what an earlier checkpoint names.
pub fn named(disk: &Disk, dir: &Path, state: &ContainerState) -> Result<Named> {
    if journal::is_there(disk, dir)? {
        let what = "a compaction is in progress, which changes what the last checkpoint names: try again later. A \
                    crawl that ships its checkpoints keeps all versions (container.keep = \"all\"), and forgets \
                    pages while it is stopped";
        return Err(Error::limit("copy the archive in", dir, what));
    }
    let (mut found, mut lineage) = (Vec::new(), crc32fast::Hasher::new());
    for file in values::find(disk, dir)? {
        let bytes = match file.number.cmp(&state.value_number) {
            std::cmp::Ordering::Less => disk.open(&file.path, Mode::Read)?.len()?,
            std::cmp::Ordering::Equal if state.value_bytes > 0 => state.value_bytes,
            _ => continue,
        };
        if file.generation > 0 {
            lineage.update(&[file.number.to_le_bytes(), file.generation.to_le_bytes()].concat());
        }
        let name = file.path.to_string_lossy();
        found.push((PathBuf::from(name.strip_suffix(OPEN).unwrap_or(&name)), bytes));
    }
    let mut lists = Vec::new();
    for path in [list::path(dir), imported::list_path(dir)] {
        if let Some(file) = disk.open_if_there(path)? {
            lists.push((file.path().to_owned(), file.len()?));
        }
    }
    let keys = (dir.join("key.dat"), state.key_bytes);
    Ok(Named { keys, lineage: lineage.finalize(), values: found, lists })
}

/// The path of a value file while it is written.
pub fn open_path(value: &Path) -> PathBuf {
    let mut path = value.as_os_str().to_owned();
    path.push(OPEN);
    PathBuf::from(path)
}
