//! The files of a checkpoint at their places, as they are shipped.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, Mode, Result};
use crate::record::{FileKind, NamedFile};
use crate::store::Part;

/// The number of bytes before those appended to a file that are compared.
const SEAM_BYTES: u64 = 4_096;
const BUFFER_BYTES: u64 = 256 << 10;

/// The directory of a shard.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub disk: &'a Disk,
    pub dir: &'a Path,
}

impl Source<'_> {
    /// Opens the file, which may get its name at this moment.
    pub(crate) fn open(&self, file: &NamedFile) -> Result<DiskFile> {
        let path = self.dir.join(&file.path);
        if let Some(open_path) = &file.open_path {
            if let Some(found) = self.disk.open_if_there(&path)? {
                return Ok(found);
            }
            let found = self.disk.open_if_there(self.dir.join(open_path))?;
            // the file there may be its successor, if it got its name between these two looks
            match (self.disk.open_if_there(&path)?, found) {
                (Some(found), _) | (None, Some(found)) => return Ok(found),
                (None, None) => {}
            }
        }
        self.disk.open(path, Mode::Read)
    }

    /// The range of `file`, which is `opened`, as a part of an object.
    pub(crate) fn part(&self, file: &NamedFile, opened: &Arc<DiskFile>, range: Range<u64>) -> Part {
        let (offset, bytes) = (range.start, range.end - range.start);
        match file.open_path {
            Some(_) => Part::Open { file: opened.clone(), offset, bytes },
            None => Part::File { path: self.dir.join(&file.path), offset, bytes },
        }
    }
}

/// The checksum of a range of the file.
pub(super) fn crc(file: &DiskFile, range: Range<u64>) -> Result<u32> {
    let (mut sum, mut at) = (crc32fast::Hasher::new(), range.start);
    let mut buffer = vec![0; BUFFER_BYTES.min(range.end - range.start) as usize];
    while at < range.end {
        let piece = &mut buffer[..BUFFER_BYTES.min(range.end - at) as usize];
        file.read_exact_at(piece, at)?;
        sum.update(piece);
        at += piece.len() as u64;
    }
    Ok(sum.finalize())
}

/// The checksum of the last bytes before `end`, where a file of that kind is appended to.
pub(super) fn seam(file: &DiskFile, kind: FileKind, end: u64) -> Result<u32> {
    match kind {
        FileKind::Grows | FileKind::Archive => crc(file, end.saturating_sub(SEAM_BYTES)..end),
        FileKind::Whole | FileKind::Replaced | FileKind::Links => Ok(0),
    }
}
