//! key.dat: a record a stored page, append-only; a compaction changes records in place ([`retention`]).
//!
//! ```text
//! header (16 bytes), then records:
//! 0   4  crc32 of the rest
//! 4   2  length of the record
//! 6   1  flags: 1 robots.txt of the crawl, 2 mime written out, 4 revisit, 8 body cut short, 16 the metadata record
//!        has statements about the page's use, 32 revisit of a record in another archive, 64 removed
//! 7   1  mime: number in the table, or length of the text before the URL
//! 8   8  fingerprint of the URL
//! 16  3  value file: its number, and in the highest 4 bits its generation modulo 16
//! 19  5  offset of the response record in it; of a removed page: record of the response that has its payload now:
//!        offset in key.dat, 0 for none
//! 24  4  its length there; of a removed page 0
//! 28  6  time, milliseconds since the Unix epoch
//! 34  2  status, and in the highest 6 bits the kind of an answer that is no content: its place in the list of
//!        kinds, from 1 on
//! 36 20  SHA-1 of the payload
//! 56  4  length of the payload
//! 60  5  previous version of the same URL: offset in key.dat, 0 for none
//! 65  5  of a revisit only: record of the response that has the payload: offset in key.dat, smaller than its own; 0
//!        where a compaction has put the payload here, so that this is a response now
//!        mime text, URL
//! ```
//! 65 bytes a page beside its URL; with 8 bytes of slot at the address file's load that is less than 80. A revisit has
//! 5 more. What it says of the payload (digest, length) is what the record that it refers to says.
//!
//! Offsets in the file are names: other records, the address pages and queued URLs have them. So no record ever moves
//! or changes its length.
//!
//! [`retention`]: super::retention

mod record;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Result};
use record::{FIXED_BYTES, whole};

pub use record::KeyRecord;

pub(super) const VERSION: u16 = 1;
/// One read of this size has most records whole.
const READ_BYTES: usize = 512;
/// A record that a compaction is changing at this moment is read again so often.
const PATIENCE: u32 = 20;
const LOOK_AGAIN: Duration = Duration::from_millis(1);
const SCAN_BYTES: usize = 1 << 20;
/// Offsets in key.dat have 40 bits, here as in address.idx: no record begins behind.
const OFFSET_MAX: u64 = (1 << 40) - 1;
/// Bytes in which a record is looked for, to go on from any offset; one longer than `COMMON_BYTES_MAX` is passed over.
const SEARCH_BYTES: usize = 128 << 10;
const COMMON_BYTES_MAX: usize = 4 << 10;

/// The file, open for the engine or for a reader.
#[derive(Debug)]
pub struct KeyFile {
    file: Arc<DiskFile>,
    len: u64,
}

impl KeyFile {
    /// Opens key.dat in `dir` for appending, making it when it is not there, and cuts it to `len` bytes: all of it
    /// where `len` is `None`, because no checkpoint knows of any record.
    pub(crate) fn open(disk: &Disk, dir: &Path, len: Option<u64>) -> Result<Self> {
        let mode = if len.is_none() { Mode::Create } else { Mode::Write };
        let file = disk.open(dir.join("key.dat"), mode).map_err(Error::of_named_file)?;
        let found = file.len()?;
        let wanted = len.unwrap_or(HEADER_BYTES);
        if len.is_none() {
            Header { kind: Kind::Keys, version: VERSION }.write(&file)?;
        } else {
            Header::check(&file, Kind::Keys, VERSION)?;
        }
        if found < wanted && len.is_some() {
            return Err(Error::damaged(file.path(), found, format!("{wanted} bytes"), "end of file"));
        }
        file.set_len(wanted)?;
        Ok(KeyFile { file: Arc::new(file), len: wanted })
    }

    /// Opens key.dat in `dir` for reading what is there now.
    pub fn open_for_reading(disk: &Disk, dir: &Path) -> Result<Self> {
        let file = disk.open(dir.join("key.dat"), Mode::Read)?;
        Header::check(&file, Kind::Keys, VERSION)?;
        let len = file.len()?;
        Ok(KeyFile { file: Arc::new(file), len })
    }

    /// Opens key.dat in `dir` for changing what is there.
    pub(super) fn open_as_it_is(disk: &Disk, dir: &Path) -> Result<Self> {
        let file = disk.open(dir.join("key.dat"), Mode::Write)?;
        Header::check(&file, Kind::Keys, VERSION)?;
        let len = file.len()?;
        Ok(KeyFile { file: Arc::new(file), len })
    }

    /// Opens key.dat in `dir` as it is, whatever its header says: for those who look for damage.
    pub(super) fn open_damaged(disk: &Disk, dir: &Path) -> Result<Self> {
        let file = disk.open(dir.join("key.dat"), Mode::Read)?;
        let len = file.len()?;
        Ok(KeyFile { file: Arc::new(file), len })
    }

    /// Returns the offset of the next whole record that begins at or behind `offset` and before `end`.
    pub(super) fn next_whole(&self, offset: u64, end: u64) -> Result<Option<u64>> {
        let mut buffer = vec![0; SCAN_BYTES];
        let mut start = offset;
        while start < end {
            let wanted = buffer.len().min(usize::try_from(end - start).unwrap_or(usize::MAX));
            let got = self.file.read_at(&mut buffer[..wanted], start)?;
            for at in 0..got.saturating_sub(FIXED_BYTES - 1) {
                let length = usize::from(u16::from_le_bytes([buffer[at + 4], buffer[at + 5]]));
                // most places are ruled out before a checksum is computed
                if length < FIXED_BYTES {
                    continue;
                }
                let offset = start + at as u64;
                if offset + length as u64 <= end && self.read_if_whole(offset)?.is_some() {
                    return Ok(Some(offset));
                }
            }
            if got < wanted || got < FIXED_BYTES {
                return Ok(None);
            }
            start += (got - FIXED_BYTES + 1) as u64;
        }
        Ok(None)
    }

    /// Makes the records durable.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync()
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Length in bytes, and so the offset of the next record.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// True if there is no record.
    pub fn is_empty(&self) -> bool {
        self.len == HEADER_BYTES
    }

    /// Checks that a record can still be appended: where not, nothing else should be written of its page.
    pub(super) fn check_room(&self) -> Result<()> {
        if self.len <= OFFSET_MAX { Ok(()) } else { Err(self.too_large("no record can begin after its first TiB")) }
    }

    fn too_large(&self, what: impl Into<String>) -> Error {
        let hint = "this crawl can store no more pages: start another one in its own directory";
        Error::limit("append to", self.file.path(), format!("{}; {hint}", what.into()))
    }

    /// Appends `record`; returns its offset.
    pub(crate) fn append(&mut self, record: &KeyRecord) -> Result<u64> {
        self.check_room()?;
        let encoded = record.encode();
        let bytes = encoded.map_err(|what| self.too_large(format!("{what} is too large ({})", record.url)))?;
        let offset = self.len;
        self.file.write_all_at(&bytes, offset)?;
        self.len += bytes.len() as u64;
        Ok(offset)
    }

    /// Puts `records` in the place of those from `offset` on: the same records, changed by a compaction.
    pub(super) fn overwrite(&self, offset: u64, records: &[u8]) -> Result<()> {
        for (number, part) in records.chunks(SCAN_BYTES).enumerate() {
            self.file.write_all_at(part, offset + (number * SCAN_BYTES) as u64)?;
        }
        Ok(())
    }

    /// The record at `offset`, which must be there.
    pub(crate) fn read(&self, offset: u64) -> Result<KeyRecord> {
        read_steady(&self.file, offset)?.ok_or_else(|| {
            Error::damaged(self.file.path(), offset, "a whole key record", "other bytes, or the end of the file")
        })
    }

    /// The file itself, for those who read a record elsewhere.
    pub(super) fn file(&self) -> &Arc<DiskFile> {
        &self.file
    }

    /// The same while a crawl runs, which may be changing the record.
    pub(super) fn read_if_steady(&self, offset: u64) -> Result<Option<KeyRecord>> {
        read_steady(&self.file, offset)
    }

    /// The record at `offset`; `None` where there is no whole record.
    pub fn read_if_whole(&self, offset: u64) -> Result<Option<KeyRecord>> {
        read_if_whole(&self.file, offset)
    }

    /// Damage at `offset`.
    pub(super) fn damaged(&self, offset: u64, expected: &str, found: String) -> Error {
        Error::damaged(self.file.path(), offset, expected, found)
    }

    /// Returns the offset of the first whole record that begins at `from` or behind it; `None` where none begins soon.
    /// Records of uncommon length are passed over.
    pub(crate) fn first_behind(&self, from: u64) -> Result<Option<u64>> {
        let from = from.max(HEADER_BYTES);
        let mut bytes = vec![0; SEARCH_BYTES + COMMON_BYTES_MAX];
        let got = self.file.read_at(&mut bytes, from)?;
        let found = (0..SEARCH_BYTES.min(got)).find(|&at| {
            let rest = &bytes[at..got];
            let length = rest.get(4..6).map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])));
            (FIXED_BYTES..=COMMON_BYTES_MAX.min(rest.len())).contains(&length)
                && whole(&rest[..length], from + at as u64).is_some()
        });
        Ok(found.map(|at| from + at as u64))
    }

    /// All records from `offset` on, in order. The end is where no whole record follows: behind the last one, or at
    /// one that a running crawl is just writing.
    pub(crate) fn scan(&self, offset: u64) -> Scan<'_> {
        self.scan_to(offset, u64::MAX)
    }

    /// The records from `offset` on that begin before `end`, in order.
    pub fn scan_to(&self, offset: u64, end: u64) -> Scan<'_> {
        Scan {
            keys: self,
            buffer: Vec::new(),
            start: offset.max(HEADER_BYTES),
            at: 0,
            end,
            whole_to: 0,
            done: false,
            looks: PATIENCE,
        }
    }
}

/// The record at `offset` of the key file `file`; `None` where there is no whole record.
pub(super) fn read_if_whole(file: &DiskFile, offset: u64) -> Result<Option<KeyRecord>> {
    let mut bytes = vec![0; READ_BYTES];
    let got = file.read_at(&mut bytes, offset)?;
    if got < FIXED_BYTES || offset < HEADER_BYTES {
        return Ok(None);
    }
    let length = usize::from(u16::from_le_bytes([bytes[4], bytes[5]]));
    if length < FIXED_BYTES {
        return Ok(None);
    }
    if length > got {
        bytes.resize(length, 0);
        if file.read_at(&mut bytes, offset)? < length {
            return Ok(None);
        }
    }
    Ok(whole(&bytes[..length], offset))
}

/// The same of a record that a compaction may be changing at this moment, in another thread or process: then it is
/// looked at again.
pub(super) fn read_steady(file: &DiskFile, offset: u64) -> Result<Option<KeyRecord>> {
    for _ in 0..PATIENCE {
        if let Some(record) = read_if_whole(file, offset)? {
            return Ok(Some(record));
        }
        if offset >= file.len()? {
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    read_if_whole(file, offset)
}

/// Records in the order of the file.
#[derive(Debug)]
pub struct Scan<'a> {
    keys: &'a KeyFile,
    buffer: Vec<u8>,
    /// Offset of the buffer in the file.
    start: u64,
    at: usize,
    /// No record that begins here or later is given.
    end: u64,
    /// The offset before which records were whole once: one that is not whole there is damage.
    whole_to: u64,
    done: bool,
    /// The number of times that it may look again.
    looks: u32,
}

impl Scan<'_> {
    /// Takes it for damage, and not for the end, where a record that begins before `offset` is not whole.
    pub(super) fn whole_to(self, offset: u64) -> Self {
        Scan { whole_to: offset, ..self }
    }

    /// The offset behind the last record that was given, at which the next one begins.
    pub(crate) fn reached(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Has at least `count` bytes in the buffer from `at` on, where the file has them.
    fn fill(&mut self, count: usize) -> Result<bool> {
        if self.buffer.len() - self.at >= count {
            return Ok(true);
        }
        self.start += self.at as u64;
        self.at = 0;
        // no more than is left: most scans are of a few records, and a buffer is filled with zeros before it is read to
        let end = self.end.min(self.keys.file.len()?);
        let left = usize::try_from(end.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.buffer.resize(left.clamp(count, SCAN_BYTES), 0);
        let got = self.keys.file.read_at(&mut self.buffer, self.start)?;
        self.buffer.truncate(got);
        Ok(got >= count)
    }

    /// Reads again what is in the buffer, which a compaction may have been changing when it was read.
    fn look_again(&mut self) -> bool {
        if self.looks == 0 {
            return false;
        }
        self.looks -= 1;
        std::thread::sleep(LOOK_AGAIN);
        self.start = self.reached();
        self.at = 0;
        self.buffer.clear();
        true
    }

    fn step(&mut self) -> Result<Option<KeyRecord>> {
        let offset = self.reached();
        if offset >= self.end {
            return Ok(None);
        }
        if !self.fill(FIXED_BYTES)? {
            return if self.buffer.len() == self.at { Ok(None) } else { self.half_written(offset) };
        }
        let length = usize::from(u16::from_le_bytes([self.buffer[self.at + 4], self.buffer[self.at + 5]]));
        if length < FIXED_BYTES {
            return Err(self.keys.damaged(offset, "a whole key record", "other bytes".to_owned()));
        }
        if !self.fill(length)? {
            return self.half_written(offset);
        }
        match whole(&self.buffer[self.at..self.at + length], offset) {
            Some(record) => {
                self.at += length;
                Ok(Some(record))
            }
            None if self.look_again() => self.step(),
            None if offset + length as u64 >= self.keys.file.len()? => self.half_written(offset),
            None => Err(self.keys.damaged(offset, "a whole key record", "a wrong checksum".to_owned())),
        }
    }

    /// The last record may be half written, unless it was known as whole.
    fn half_written(&self, offset: u64) -> Result<Option<KeyRecord>> {
        if offset >= self.whole_to {
            return Ok(None);
        }
        Err(self.keys.damaged(offset, "a whole key record", "other bytes, or the end of the file".to_owned()))
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<KeyRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let step = self.step().transpose();
        self.done = !matches!(step, Some(Ok(_)));
        step
    }
}

#[cfg(test)]
pub(super) mod tests;
