//! A file of records in order, written once and read from its beginning.
//!
//! Behind the header of the file come the records, each with its length before it, and at its end their number and the
//! checksum of all of it. A reader checks these when it comes to the end: what was read before is to be kept aside
//! until then.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::disk::{self, Disk, DiskFile, Error, FileStream, HEADER_BYTES, Header, Kind, Mode, Result, Writer};

/// The version of the file and of its records.
const VERSION: u16 = 1;
const BUFFER_BYTES: usize = 256 << 10;
/// Length of the number of records and of their checksum.
const END_BYTES: u64 = 12;
/// Longest record.
const RECORD_MAX: usize = 64 << 20;

/// A file that is being written.
pub(super) struct RunWriter {
    writer: Writer,
    sum: crc32fast::Hasher,
    records: u64,
}

impl RunWriter {
    /// Begins the file at `path`, in place of one that a process left there unfinished.
    pub fn create(disk: &Disk, path: PathBuf) -> Result<RunWriter> {
        let file = disk.open(path, Mode::Create)?;
        file.set_len(0)?;
        let mut writer = Writer::new(file, 0, BUFFER_BYTES);
        writer.push(&Header { kind: Kind::Feed, version: VERSION }.to_bytes())?;
        Ok(RunWriter { writer, sum: crc32fast::Hasher::new(), records: 0 })
    }

    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        let length = u32::try_from(record.len()).ok().filter(|&length| length as usize <= RECORD_MAX);
        let too_long = || Error::limit("write", self.writer.file().path(), "records of more than 64 MiB");
        let length = length.ok_or_else(too_long)?.to_le_bytes();
        for part in [&length[..], record] {
            self.sum.update(part);
            self.writer.push(part)?;
        }
        self.records += 1;
        Ok(())
    }

    /// Makes the file durable, but not its name.
    pub fn finish(mut self) -> Result<()> {
        self.writer.push(&self.records.to_le_bytes())?;
        self.writer.push(&self.sum.finalize().to_le_bytes())?;
        self.writer.finish()?.sync()
    }
}

/// A file that is read.
pub(super) struct RunReader {
    stream: FileStream,
    path: PathBuf,
    /// Offset at which the records end.
    end: u64,
    sum: Option<crc32fast::Hasher>,
    records: u64,
    record: Vec<u8>,
}

impl RunReader {
    /// Opens the file at `path`.
    pub fn open(disk: &Disk, path: &Path) -> Result<RunReader> {
        let file: DiskFile = disk.open(path, Mode::Read)?;
        Header::check(&file, Kind::Feed, VERSION)?;
        let length = file.len()?;
        let end = length.checked_sub(END_BYTES).filter(|&end| end >= HEADER_BYTES);
        let end = end.ok_or_else(|| Error::damaged(path, length, "records and their checksum", "the end"))?;
        let mut stream = FileStream::new(file, length);
        stream.seek(HEADER_BYTES);
        let sum = Some(crc32fast::Hasher::new());
        Ok(RunReader { stream, path: path.to_owned(), end, sum, records: 0, record: Vec::new() })
    }

    /// Goes back to the first record.
    pub fn rewind(&mut self) {
        self.stream.seek(HEADER_BYTES);
        (self.sum, self.records) = (Some(crc32fast::Hasher::new()), 0);
    }

    /// The next record; nothing at the end of the file, which is whole then.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        let Some(sum) = self.sum.as_mut() else { return Ok(None) };
        let at = self.stream.offset();
        if at >= self.end {
            self.check()?;
            return Ok(None);
        }
        let mut length = [0; 4];
        read(&mut self.stream, &mut length, &self.path)?;
        let bytes = u32::from_le_bytes(length) as usize;
        if bytes > RECORD_MAX || at + 4 + bytes as u64 > self.end {
            return Err(Error::damaged(&self.path, at, "a record within the file", format!("{bytes} bytes")));
        }
        self.record.resize(bytes, 0);
        read(&mut self.stream, &mut self.record, &self.path)?;
        sum.update(&length);
        sum.update(&self.record);
        self.records += 1;
        Ok(Some(&self.record))
    }

    fn check(&mut self) -> Result<()> {
        let (mut records, mut sum) = ([0; 8], [0; 4]);
        read(&mut self.stream, &mut records, &self.path)?;
        read(&mut self.stream, &mut sum, &self.path)?;
        let found = self.sum.take().map_or(0, crc32fast::Hasher::finalize);
        let expected = u32::from_le_bytes(sum);
        if u64::from_le_bytes(records) != self.records || found != expected {
            let expected = format!("checksum {expected:08x}");
            return Err(Error::damaged(&self.path, self.end, expected, format!("{found:08x}")));
        }
        Ok(())
    }
}

fn read(stream: &mut FileStream, buffer: &mut [u8], path: &Path) -> Result<()> {
    stream.read_exact(buffer).map_err(|error| disk::Error::io("read", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(records: &[&[u8]]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let mut writer = RunWriter::create(&Disk::real(), path.clone()).unwrap();
        records.iter().for_each(|record| writer.push(record).unwrap());
        writer.finish().unwrap();
        (dir, path)
    }

    fn all(path: &Path) -> Result<Vec<Vec<u8>>> {
        let mut reader = RunReader::open(&Disk::real(), path)?;
        let mut records = Vec::new();
        while let Some(record) = reader.next()? {
            records.push(record.to_vec());
        }
        assert!(reader.next()?.is_none());
        Ok(records)
    }

    #[test]
    fn records_come_back_in_their_order() {
        let long = vec![7; 300 << 10];
        let (_dir, path) = written(&[b"one", b"", &long]);
        assert_eq!(all(&path).unwrap(), [b"one".to_vec(), Vec::new(), long]);
        let (_dir, path) = written(&[]);
        assert!(all(&path).unwrap().is_empty());
    }

    #[test]
    fn a_changed_bit_and_a_cut_are_damage() {
        let (_dir, path) = written(&[b"one", b"two"]);
        let whole = std::fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &changed).unwrap();
            // bytes of the header that say nothing may differ
            assert!(all(&path).is_err() || all(&path).unwrap() == [b"one", b"two"], "bit {bit}");
            assert!(bit / 8 < 16 || all(&path).is_err(), "bit {bit}");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(all(&path).is_err(), "{length} bytes");
        }
    }
}
