//! Where a directory is restored before it gets its place: beside it, so that a process that is killed meanwhile leaves
//! nothing that could be taken for a crawl.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Error, Result};

/// The directory in which that of `dir` is made.
pub(super) fn aside(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".restoring");
    name.into()
}

/// Removes `dir` with all that is in it; one that is not there is removed already.
pub(super) fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", dir, error)),
        _ => Ok(()),
    }
}
