//! The tail of a partition: an append-only file of what came in, in frames.
//!
//! ```text
//! | header 16 | frame | frame | ...        frame = | length 4 | crc32 4 | entries |
//! ```
//! A frame is one array that was full, written by one call. Which part of the file counts is known by its length in
//! the checkpoint; what is behind is cut off at the next start. The runs that a merge sorts aside have the same form.

use std::path::Path;

use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Result};

const VERSION: u16 = 1;
const FRAME_HEADER_BYTES: usize = 8;

/// Writes `entries` as a frame at `len` of the file at `path` (0: the file is made) and says its new length.
pub(super) fn append(disk: &Disk, path: &Path, len: u64, entries: &[u8]) -> Result<u64> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize + FRAME_HEADER_BYTES + entries.len());
    let file = if len == 0 {
        let file = disk.open(path, Mode::Create)?;
        file.set_len(0)?;
        bytes.extend_from_slice(&Header { kind: Kind::Tail, version: VERSION }.to_bytes());
        file
    } else {
        disk.open(path, Mode::Write)?
    };
    let size = u32::try_from(entries.len()).expect("a frame is one array, far below 4 GiB");
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&checksum(size, entries).to_le_bytes());
    bytes.extend_from_slice(entries);
    file.write_all_at(&bytes, len)?;
    Ok(len + bytes.len() as u64)
}

fn checksum(size: u32, entries: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&size.to_le_bytes());
    sum.update(entries);
    sum.finalize()
}

/// Cuts the tail at `path` to `len`, which a checkpoint noted.
pub(super) fn cut(disk: &Disk, path: &Path, len: u64) -> Result<()> {
    let file = disk.open(path, Mode::Write)?;
    Header::check(&file, Kind::Tail, VERSION)?;
    let found = file.len()?;
    if found < len {
        return Err(Error::damaged(path, found, format!("{len} bytes, as the checkpoint says"), "end of file"));
    }
    if found > len { file.set_len(len) } else { Ok(()) }
}

/// Reads the frames of a tail, or a stretch of a file of runs, one after the other.
#[derive(Debug)]
pub(super) struct Frames {
    file: DiskFile,
    position: u64,
    end: u64,
}

impl Frames {
    /// The frames of the tail at `path`, which is `len` bytes long.
    pub(super) fn of_tail(disk: &Disk, path: &Path, len: u64) -> Result<Self> {
        let file = disk.open(path, Mode::Read)?;
        Header::check(&file, Kind::Tail, VERSION)?;
        Ok(Frames { file, position: HEADER_BYTES, end: len })
    }

    /// The frames from `start` to `end`.
    pub(super) fn of_run(disk: &Disk, path: &Path, start: u64, end: u64) -> Result<Self> {
        Ok(Frames { file: disk.open(path, Mode::Read)?, position: start, end })
    }

    /// Reads the entries of the next frame, and says where in the file they start.
    pub(super) fn next(&mut self, entries: &mut Vec<u8>) -> Result<Option<u64>> {
        if self.position >= self.end {
            return Ok(None);
        }
        let mut head = [0; FRAME_HEADER_BYTES];
        self.file.read_exact_at(&mut head, self.position)?;
        let size = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let expected = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let start = self.position + FRAME_HEADER_BYTES as u64;
        let room = self.end.min(self.file.len()?).saturating_sub(start);
        if u64::from(size) > room {
            let found = format!("a frame of {size}");
            return Err(Error::damaged(
                self.file.path(),
                self.position,
                format!("a frame of at most {room} bytes"),
                found,
            ));
        }
        entries.resize(size as usize, 0);
        self.file.read_exact_at(entries, start)?;
        let found = checksum(size, entries);
        if found != expected {
            let (expected, found) = (format!("frame checksum {expected:08x}"), format!("{found:08x}"));
            return Err(Error::damaged(self.file.path(), self.position, expected, found));
        }
        self.position = start + u64::from(size);
        Ok(Some(start))
    }

    /// Makes the error for an entry at `offset` that cannot be read although its checksum holds.
    pub(super) fn malformed(&self, offset: u64) -> Error {
        Error::damaged(self.file.path(), offset, "an entry of a partition", "other bytes")
    }
}
