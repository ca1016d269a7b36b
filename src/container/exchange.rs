//! Records as they lie in the value files: what an export copies.
//!
//! A key record leads to the last record of its exchange. The ones before it (metadata, request) are found by walking
//! back: a member that ends exactly where the next one begins, whose checksum holds, and that names the response in
//! `WARC-Concurrent-To`. Nothing else is taken for part of the exchange, whatever lies there.

use std::sync::Arc;

use super::keys::KeyRecord;
use super::reader::Reader;
use super::values;
use crate::disk::{DiskFile, Error, Mode, Result};
use crate::web::warc::{Record, RecordReader};

/// How far back the record before is looked for, step by step; heads of a few hundred bytes are the rule.
const WINDOWS_BYTES: [u64; 3] = [4 << 10, 64 << 10, 512 << 10];
/// Places of a window where a record may begin that are tried.
const CANDIDATES_MAX: usize = 64;
/// Bytes of a metadata or request block.
const SMALL_BLOCK_MAX: u64 = 1 << 20;
/// Bytes of an answer's block beside its payload.
const HEAD_BYTES_MAX: u64 = 16 << 20;
/// Records before the response.
const RECORDS_MAX: usize = 4;
/// What a member or a record begins with: gzip, zstd, none.
const STARTS: [&[u8]; 3] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd], b"WARC/1.1\r\n"];

/// A record of an exchange and the bytes that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// The record.
    pub record: Record,
    /// Its bytes in the value file, compressed as they lie there.
    pub stored: Vec<u8>,
}

impl Reader {
    /// The records of the exchange that `key` leads to, in the order of the file; the last one is the answer's.
    /// All are whole: checksums and lengths were verified.
    pub fn exchange(&self, key: &KeyRecord) -> Result<Vec<StoredRecord>> {
        let file = self.value_file(key.file)?;
        let answer = self.answer(&file, key)?;
        let id = answer.field("WARC-Record-ID").unwrap_or_default().to_owned();
        let mut records = vec![stored(&file, answer)?];
        let mut start = key.value_offset;
        while records.len() <= RECORDS_MAX
            && let Some(record) = record_before(&file, start)?
            && record.field("WARC-Concurrent-To") == Some(&id)
        {
            start = record.offset;
            let is_first = record.kind() == "metadata";
            records.push(stored(&file, record)?);
            if is_first {
                break;
            }
        }
        records.reverse();
        Ok(records)
    }

    /// The record that `key` leads to.
    pub(super) fn answer(&self, file: &DiskFile, key: &KeyRecord) -> Result<Record> {
        let block_max = key.payload_bytes.saturating_add(HEAD_BYTES_MAX);
        let read = RecordReader::new(file, key.value_offset, block_max).next()?;
        let wrong =
            |found: String| Error::damaged(file.path(), key.value_offset, "the record that key.dat names", found);
        let record = read.ok_or_else(|| wrong("end of file".to_owned()))?;
        if record.field("WARC-Target-URI") != Some(key.url.as_str()) {
            return Err(wrong(format!("a {} record of another URL", record.kind())));
        }
        Ok(record)
    }

    /// The name of the value file that `key` leads to, as it is when nothing more is written to it.
    pub fn value_name(&self, key: &KeyRecord) -> Result<String> {
        let file = self.value_file(key.file)?;
        let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(name.strip_suffix(values::OPEN).map_or(name.clone(), str::to_owned))
    }

    /// Value file `number`, which stays open until another one is asked for: neighbours in key.dat are neighbours there.
    pub(super) fn value_file(&self, number: u32) -> Result<Arc<DiskFile>> {
        let mut last = self.last_value.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((known, file)) = last.as_ref()
            && *known == number
        {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(self.open_value(number)?);
        *last = Some((number, Arc::clone(&file)));
        Ok(file)
    }

    /// Opens value file `number`. A crawl may rename it between the look and the opening: then it is looked for again.
    fn open_value(&self, number: u32) -> Result<DiskFile> {
        let (disk, dir) = self.place();
        let look = || -> Result<Option<DiskFile>> {
            let found = values::find(disk, dir)?.into_iter().find(|file| file.number == number);
            found.map(|file| disk.open(&file.path, Mode::Read)).transpose()
        };
        let opened = match look() {
            Err(e) if e.is_not_found() => look(),
            other => other,
        };
        opened?.ok_or_else(|| {
            Error::damaged(&dir.join(format!("value-{number:05}.warc*")), 0, "a value file", "no such file")
        })
    }
}

/// `record` with its bytes.
fn stored(file: &DiskFile, record: Record) -> Result<StoredRecord> {
    // the record was read: so many bytes are there
    let mut stored = vec![0; usize::try_from(record.length).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut stored, record.offset)?;
    Ok(StoredRecord { record, stored })
}

/// The small record that ends where the one at `end` begins; none where no whole one does.
fn record_before(file: &DiskFile, end: u64) -> Result<Option<Record>> {
    let mut tried = end;
    for window in WINDOWS_BYTES {
        let start = end.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, start)?;
        let begins = |at: &usize| STARTS.iter().any(|known| bytes[*at..].starts_with(known));
        let unseen = usize::try_from(tried - start).unwrap_or(usize::MAX);
        for at in (0..unseen).rev().filter(begins).take(CANDIDATES_MAX) {
            match RecordReader::new(file, start + at as u64, SMALL_BLOCK_MAX).next() {
                Ok(Some(record)) if record.offset + record.length == end => return Ok(Some(record)),
                Err(e @ Error::Io { .. }) => return Err(e),
                _ => {}
            }
        }
        if start == 0 {
            break;
        }
        tried = start;
    }
    Ok(None)
}
