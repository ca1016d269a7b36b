//! The files of the seeds that a checkpoint names, with the lengths that count.

use std::path::{Path, PathBuf};

use super::records::{Fate, Scan, fates_path, list_path};
use crate::disk::{Disk, Error, HEADER_BYTES, Kind, Result};

/// The two files in `dir` up to what checkpoint `number` has of them; without a number, that of a crawl which has made
/// none yet. A shard has no list of its own.
pub fn named(disk: &Disk, dir: &Path, number: Option<u64>) -> Result<Vec<(PathBuf, u64)>> {
    let Some(fates) = disk.open_if_there(fates_path(dir))? else { return Ok(Vec::new()) };
    let mut scan = Scan::begin(&fates, Kind::SeedFates)?;
    let mut mark = None;
    while mark.is_none()
        && number.is_some()
        && let Some((_, fate)) = scan.next::<Fate>()?
    {
        if let Fate::Cut(found) = fate {
            mark = Some(found).filter(|found| Some(found.checkpoint) == number);
        }
    }
    let (fates_bytes, list_bytes) = match (number, mark) {
        (Some(number), None) => {
            let expected = format!("the mark of checkpoint {number}");
            return Err(Error::damaged(fates.path(), scan.at(), expected, "no whole record"));
        }
        (_, mark) => (if mark.is_some() { scan.at() } else { HEADER_BYTES }, mark.map(|mark| mark.list_bytes)),
    };
    let mut files = vec![(fates.path().to_owned(), fates_bytes)];
    if let Some(list) = disk.open_if_there(list_path(dir))? {
        files.push((list.path().to_owned(), list_bytes.unwrap_or(HEADER_BYTES)));
    }
    Ok(files)
}
