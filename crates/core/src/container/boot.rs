//! `boot`: in which run of the machine the value files were written.
//!
//! A process that is killed leaves all that it wrote where the next one reads it; only the write that was in progress
//! may be torn, and nothing is behind that. A power cut leaves of what was not synced any part, so that a hole in the
//! middle is no damage but what was never durable, and what is behind it came before its time. The two look alike in a
//! file. They are distinguished by the id that Linux gives every run: anyone who writes value files notes it here, once
//! what he found there is in order.
//!
//! The file need not be durable. Where it is missing, old or garbled, or where the system has no such id, the power may
//! have been cut. The same after a sync of a value file has failed: what it covered may be lost in any part as well, so
//! the note is taken back.

use std::path::Path;

use crate::disk::{Disk, DiskFile, Error, Mode, Result};

/// Its name.
const FILE: &str = "boot";

/// True if the value files in `dir` are as they were written, but for their very end and for damage.
pub(super) fn is_same(disk: &Disk, dir: &Path) -> Result<bool> {
    let Some(id) = disk.boot_id() else { return Ok(false) };
    match disk.read(dir.join(FILE)) {
        Ok(noted) => Ok(noted.trim_ascii() == id.as_bytes()),
        Err(error) if error.is_not_found() || matches!(error, Error::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Notes the present run of the machine: what was found in `dir` is in order, or cut off durably.
pub(super) fn note(disk: &Disk, dir: &Path) -> Result<()> {
    match disk.boot_id() {
        Some(id) if !is_same(disk, dir)? => {
            let file = disk.open(dir.join(FILE), Mode::Create)?;
            file.set_len(0)?;
            file.write_all_at(format!("{id}\n").as_bytes(), 0)
        }
        _ => Ok(()),
    }
}

/// Syncs `file`, a value file in `dir`.
pub(super) fn sync_value(disk: &Disk, dir: &Path, file: &DiskFile) -> Result<()> {
    file.sync().inspect_err(|_| {
        // the failed sync is what has to be reported; if this fails too, a hole counts as damage later on
        let _ = disk.remove(&dir.join(FILE));
    })
}
