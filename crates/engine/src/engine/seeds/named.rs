//! The files of the seeds that a checkpoint names, with the lengths that count.

use std::path::{Path, PathBuf};

use super::records::{fates_path, find_mark, list_path};
use crate::disk::{Disk, HEADER_BYTES, Result};

/// The two files in `dir` up to what checkpoint `number` has of them; without a number, that of a crawl which has made
/// none yet. A shard has no list of its own.
pub fn named(disk: &Disk, dir: &Path, number: Option<u64>) -> Result<Vec<(PathBuf, u64)>> {
    let Some(fates) = disk.open_if_there(fates_path(dir))? else { return Ok(Vec::new()) };
    let found = number.map(|number| find_mark(&fates, number, |_, _| {})).transpose()?;
    let (fates_bytes, list_bytes) = found.map_or((HEADER_BYTES, HEADER_BYTES), |(end, mark)| (end, mark.list_bytes));
    let mut files = vec![(fates.path().to_owned(), fates_bytes)];
    if let Some(list) = disk.open_if_there(list_path(dir))? {
        files.push((list.path().to_owned(), list_bytes));
    }
    Ok(files)
}
