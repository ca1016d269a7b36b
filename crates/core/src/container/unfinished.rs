//! The mark of a rebuild that puts its files in place: as long as it is there, no crawl opens the directory.

use std::path::Path;

use crate::disk::{Disk, Error, Result};

/// Is there while they are put in place.
const MARK: &str = "rebuild.unfinished";

/// Makes the mark in `dir`, durably.
pub(super) fn mark(disk: &Disk, dir: &Path) -> Result<()> {
    disk.replace(&dir.join(MARK), b"index files are being put in place\n")
}

/// Removes it.
pub(super) fn clear(disk: &Disk, dir: &Path) -> Result<()> {
    disk.remove(&dir.join(MARK))?;
    disk.sync_dir(dir)
}

/// Returns whether files are being put in place in `dir`, or a rebuild was interrupted at that.
pub fn is_being_rebuilt(disk: &Disk, dir: &Path) -> Result<bool> {
    Ok(disk.open_if_there(dir.join(MARK))?.is_some())
}

/// Refuses a directory in which a rebuild was interrupted.
pub(super) fn refuse(disk: &Disk, dir: &Path) -> Result<()> {
    let mark = dir.join(MARK);
    match disk.open_if_there(&mark)? {
        None => Ok(()),
        Some(_) => {
            let found = "one that was interrupted: run crawler verify --rebuild again";
            Err(Error::damaged(&mark, 0, "no rebuild in progress", found))
        }
    }
}
