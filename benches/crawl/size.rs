//! The size of a directory.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// Bytes of all files below a directory.
pub fn size_of(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        bytes += if kind.is_dir() { size_of(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
