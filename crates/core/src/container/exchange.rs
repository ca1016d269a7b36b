//! Records as they are in the value files: what an export copies.
//!
//! A key record leads to the last record of its exchange. The ones before it (metadata, request) are found by walking
//! back: a member that ends exactly where the next one begins, whose checksum holds, and that names the response in
//! `WARC-Concurrent-To`. Nothing else is taken for part of the exchange, whatever is there.

use super::imported::are_concurrent;
use super::keys::KeyRecord;
use super::reader::{Reader, StoredResponse};
use super::renewed::{Form, Original, Renewed};
use super::replayed::{ReplayedPage, page_of};
use super::values;
use super::versions::value;
use crate::disk::{DiskFile, Error, Result};
use crate::warc::{Compression, Encoder, Record, RecordReader, format_date};
use crate::web::kind::Judged;
use crate::web::statements::Statements;

/// Bytes in which the record before is looked for, step by step; heads of a few hundred bytes are the rule.
const WINDOWS_BYTES: [u64; 5] = [4 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20];
/// The number of windows, from the first on, that suffice where the page was not rendered: no record is longer there.
const SMALL_WINDOWS: usize = 3;
/// Places of a window where a record may begin that are tried.
const CANDIDATES_MAX: usize = 64;
/// Bytes of a metadata or request block.
const SMALL_BLOCK_MAX: u64 = 1 << 20;
/// Bytes of a rendered page or a picture of it.
const RENDITION_MAX: u64 = 64 << 20;
/// Records before the response.
const RECORDS_MAX: usize = 6;
/// Bytes that a member or a record begins with: gzip, zstd, none.
const STARTS: [&[u8]; 3] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd], b"WARC/1.1\r\n"];

/// A record of an exchange and the bytes that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// The record.
    pub record: Record,
    /// Its bytes in the value file, compressed as they are there.
    pub stored: Vec<u8>,
}

impl Reader {
    /// The page that `key` leads to, with all that its exchange says of it, so that its links can be found again, and
    /// with the body that it refers to where it is a revisit; nothing where its metadata
    /// is gone, or its body is in another archive.
    pub fn page(&self, key: &KeyRecord) -> Result<Option<ReplayedPage>> {
        if key.is_external {
            return Ok(None);
        }
        let records = self.exchange(key)?;
        let mut records: Vec<_> = records.into_iter().map(|stored| stored.record).collect();
        let Some(answer) = records.pop() else { return Ok(None) };
        if records.first().is_none_or(|first| first.kind() != "metadata") {
            return Ok(None);
        }
        let Some(page) = page_of(key.file, &records, &answer) else { return Ok(None) };
        Ok(Some(match page.refers_to {
            None => page,
            Some(_) => ReplayedPage { body: self.response(key)?.body, mime: key.mime.clone(), ..page },
        }))
    }

    /// Reads the statements about the use of a page. The flag in key.dat says whether a record has any, so that only
    /// those are read.
    pub fn statements(&self, record: &KeyRecord) -> Result<Statements> {
        if !record.has_statements {
            return Ok(Statements::default());
        }
        Ok(self.metadata(record)?.map(|metadata| Statements::parse(&metadata.block)).unwrap_or_default())
    }

    /// Reads the kind of an answer that is no content, with its evidence. key.dat says whether it has one, so that only
    /// those are read.
    pub fn judged(&self, record: &KeyRecord) -> Result<Option<Judged>> {
        match record.kind {
            Some(_) => Ok(self.metadata(record)?.and_then(|metadata| Judged::parse(&metadata.block))),
            None => Ok(None),
        }
    }

    /// The records of the exchange that `key` leads to, in the order of the file; the last one is the answer's.
    /// All are whole: checksums and lengths were verified.
    pub fn exchange(&self, key: &KeyRecord) -> Result<Vec<StoredRecord>> {
        self.look_again(key, |key| self.exchange_at(key))
    }

    /// The same with the answer as [`Reader::response`] gives it; its record is read once for both.
    pub fn exchange_and_response(&self, key: &KeyRecord) -> Result<(Vec<StoredRecord>, StoredResponse)> {
        self.look_again(key, |key| {
            let file = self.value_file(key)?;
            let found = value(&file, key)?;
            let response = self.response_of(key, &found)?;
            Ok((self.exchange_of(&file, key, found.record)?, response))
        })
    }

    fn exchange_at(&self, key: &KeyRecord) -> Result<Vec<StoredRecord>> {
        let file = self.value_file(key)?;
        let answer = value(&file, key)?.record;
        self.exchange_of(&file, key, answer)
    }

    /// The exchange that `key`, a revisit, leads to, with the answer in another form; all in gzip. The caller has the
    /// body `elsewhere` of a payload in another archive.
    pub fn renewed(&self, key: &KeyRecord, form: Form, elsewhere: Option<&[u8]>) -> Result<Vec<StoredRecord>> {
        self.look_again(key, |key| {
            let mut before: Vec<Record> = self.exchange_at(key)?.into_iter().map(|stored| stored.record).collect();
            let revisit = before.pop().expect("an exchange has an answer");
            let renewed = match (elsewhere, key.payload_at) {
                (Some(body), _) => Renewed::new(key, before, &revisit, &Original::elsewhere(&revisit, body), form),
                (None, Some(offset)) => {
                    let (first, value) = self.first_of_revisit(key, offset)?;
                    Renewed::new(key, before, &revisit, &Original::of(&first, &value), form)
                }
                (None, None) => return self.exchange_at(key),
            };
            let mut encoder = Encoder::new(Compression::Gzip);
            let stored = |(place, record): (usize, &Record)| {
                let mut stored = Vec::new();
                renewed.append(place, record, &mut encoder, &mut stored);
                StoredRecord { record: record.clone(), stored }
            };
            Ok(renewed.records.iter().enumerate().map(stored).collect())
        })
    }

    /// The records of the exchange that ends with `answer`.
    fn exchange_of(&self, file: &DiskFile, key: &KeyRecord, answer: Record) -> Result<Vec<StoredRecord>> {
        if self.is_imported {
            return foreign_exchange(file, answer);
        }
        let id = answer.field("WARC-Record-ID").unwrap_or_default().to_owned();
        let mut records = vec![stored(file, answer)?];
        let mut start = key.value_offset;
        while records.len() <= RECORDS_MAX
            && let Some(record) = record_before(file, start, key.is_rendered)?
            && record.field("WARC-Concurrent-To") == Some(&id)
        {
            start = record.offset;
            let is_first = record.kind() == "metadata";
            records.push(stored(file, record)?);
            if is_first {
                break;
            }
        }
        records.reverse();
        Ok(records)
    }

    /// The metadata record of the page that `key` leads to, if it is where it should be. The answer is not read.
    pub fn metadata(&self, key: &KeyRecord) -> Result<Option<Record>> {
        self.look_again(key, |key| self.metadata_at(key))
    }

    fn metadata_at(&self, key: &KeyRecord) -> Result<Option<Record>> {
        if self.is_imported {
            let mut records = self.exchange_at(key)?.into_iter().map(|stored| stored.record);
            return Ok(records.find(|record| record.kind() == "metadata"));
        }
        let file = self.value_file(key)?;
        let date = format_date(key.time);
        let mut start = key.value_offset;
        for _ in 0..RECORDS_MAX {
            let Some(record) = record_before(&file, start, key.is_rendered)? else { break };
            let of_page = |name: &str, value: &str| record.field(name) == Some(value);
            let is_picture = record.kind() == "resource";
            if !(is_picture || of_page("WARC-Target-URI", &key.url)) || !of_page("WARC-Date", &date) {
                break;
            }
            if record.kind() == "metadata" {
                return Ok(Some(record));
            }
            start = record.offset;
        }
        Ok(None)
    }

    /// The name of the value file that `key` leads to, as it is when nothing more is written to it.
    pub fn value_name(&self, key: &KeyRecord) -> Result<String> {
        let file = self.look_again(key, |key| self.value_file(key))?;
        let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(name.strip_suffix(values::OPEN).map_or(name.clone(), str::to_owned))
    }
}

/// The records of the exchange with `answer`, which comes last, in an archive that was imported: those around it of
/// which one names the other. Programs differ in their order, and in which of two names the other.
fn foreign_exchange(file: &DiskFile, answer: Record) -> Result<Vec<StoredRecord>> {
    let mut behind = RecordReader::new(file, answer.offset + answer.length, SMALL_BLOCK_MAX);
    let mut start = answer.offset;
    let mut records = vec![answer];
    let is_of = |record: &Record, records: &[Record]| {
        matches!(record.kind(), "request" | "metadata")
            && records.iter().any(|other| are_concurrent(&record.fields, &other.fields))
    };
    while records.len() <= RECORDS_MAX
        && let Some(record) = record_before(file, start, false)?.filter(|record| is_of(record, &records))
    {
        start = record.offset;
        records.push(record);
    }
    while records.len() <= RECORDS_MAX {
        match behind.next() {
            Ok(Some(record)) if is_of(&record, &records) => records.push(record),
            Err(error @ Error::Io { .. }) => return Err(error),
            _ => break,
        }
    }
    records.reverse();
    records.into_iter().map(|record| stored(file, record)).collect()
}

/// `record` with its bytes.
fn stored(file: &DiskFile, record: Record) -> Result<StoredRecord> {
    // the record was read: it has this many bytes
    let mut stored = vec![0; usize::try_from(record.length).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut stored, record.offset)?;
    Ok(StoredRecord { record, stored })
}

/// The record that ends where the one at `end` begins; none where no whole one does. It is a small one unless it may be
/// a rendered page.
fn record_before(file: &DiskFile, end: u64, may_be_large: bool) -> Result<Option<Record>> {
    let mut tried = end;
    let (windows, block_max) = match may_be_large {
        true => (&WINDOWS_BYTES[..], RENDITION_MAX),
        false => (&WINDOWS_BYTES[..SMALL_WINDOWS], SMALL_BLOCK_MAX),
    };
    for &window in windows {
        let start = end.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, start)?;
        let begins = |at: &usize| STARTS.iter().any(|known| bytes[*at..].starts_with(known));
        let unseen = usize::try_from(tried - start).unwrap_or(usize::MAX);
        for at in (0..unseen).rev().filter(begins).take(CANDIDATES_MAX) {
            match RecordReader::new(file, start + at as u64, block_max).next() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Time;
    use crate::disk::{Disk, Mode};

    /// A value file of `parts`, and where each begins.
    fn file_of(dir: &tempfile::TempDir, parts: &[&[u8]]) -> (DiskFile, Vec<u64>) {
        let mut starts = vec![0];
        starts.extend(parts.iter().scan(0, |end, part| {
            *end += part.len() as u64;
            Some(*end)
        }));
        std::fs::write(dir.path().join("value"), parts.concat()).unwrap();
        (Disk::real().open(dir.path().join("value"), Mode::Read).unwrap(), starts)
    }

    fn record(compression: Compression, config: &str) -> Vec<u8> {
        Encoder::new(compression).warcinfo("x", "y", &[], config, Time::ZERO, 7)
    }

    #[test]
    fn the_record_before_is_found_whatever_its_coding_and_length() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
            for length in [0, 3_000, 5_000, 60_000, 300_000] {
                let config: String = (0..length).map(|_| random.alphanumeric()).collect();
                let (long, short) = (record(compression, &config), record(compression, ""));
                let dir = tempfile::tempdir().unwrap();
                let (file, starts) = file_of(&dir, &[&short, &long, &short]);
                for at in [1, 2, 3] {
                    let found = record_before(&file, starts[at], false).unwrap().map(|record| record.offset);
                    assert_eq!(found, Some(starts[at - 1]), "seed {seed}, {compression:?} {length}");
                }
                assert_eq!(record_before(&file, 0, false).unwrap(), None);
            }
        }
    }

    #[test]
    fn what_does_not_end_where_it_should_is_no_record_before() {
        for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
            let whole = record(compression, "a = 1");
            let mut damaged = whole.clone();
            damaged[whole.len() / 2] ^= 1;
            let starts_only = STARTS.concat().repeat(2_000);
            let dir = tempfile::tempdir().unwrap();
            let (file, starts) = file_of(&dir, &[&whole, b"gap", &whole, &damaged, &starts_only]);
            assert_eq!(record_before(&file, starts[2], false).unwrap(), None, "{compression:?}");
            assert_eq!(record_before(&file, starts[3], false).unwrap().map(|record| record.offset), Some(starts[2]));
            assert_eq!(record_before(&file, starts[5], false).unwrap(), None, "{compression:?}");
            if compression != Compression::None {
                // an uncompressed record has no checksum
                assert_eq!(record_before(&file, starts[4], false).unwrap(), None, "{compression:?}");
            }
        }
    }
}
