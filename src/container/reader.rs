//! Reading the container, of a crawl that runs or of one that has stopped, without any lock.
//!
//! The address file covers key.dat up to the last checkpoint; what was appended since is read once when the reader is
//! opened. Pages that the crawl is rewriting are read again until they are whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::address::AddressFile;
use super::keys::{KeyFile, KeyRecord};
use crate::disk::{Disk, DiskFile, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::web::warc::{Header, parse_http_head};

/// A reader of the container in a directory.
#[derive(Debug)]
pub struct Reader {
    disk: Disk,
    dir: PathBuf,
    keys: KeyFile,
    addresses: AddressFile,
    /// Records that the address file does not cover.
    recent: HashMap<Fingerprint, u64>,
    /// Behind the last whole key record when the reader was opened.
    end: u64,
    /// The value file that was read last.
    pub(super) last_value: Mutex<Option<(u32, Arc<DiskFile>)>>,
}

/// A stored response.
#[derive(Clone, Debug)]
pub struct StoredResponse {
    /// Named fields of the record.
    pub fields: Vec<(String, String)>,
    /// Status of the answer.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Headers of the answer.
    pub headers: Vec<Header>,
    /// The body as sent.
    pub body: Vec<u8>,
    /// The whole record, uncompressed.
    pub record: Vec<u8>,
}

impl Reader {
    /// Opens the container in `dir`.
    pub fn open(disk: Disk, dir: &Path) -> Result<Self> {
        let addresses = AddressFile::open_for_reading(&disk, dir)?;
        let keys = KeyFile::open_for_reading(&disk, dir)?;
        let mut recent = HashMap::new();
        let mut scan = keys.scan(addresses.covered().min(keys.len()));
        for record in &mut scan {
            let record = record?;
            recent.insert(record.key, record.offset);
        }
        let end = scan.reached();
        Ok(Reader { disk, dir: dir.to_owned(), keys, addresses, recent, end, last_value: Mutex::new(None) })
    }

    /// The newest version of `url`, whose fingerprint is `key`.
    pub fn newest(&self, key: Fingerprint, url: &str) -> Result<Option<KeyRecord>> {
        if let Some(&offset) = self.recent.get(&key)
            && let Some(record) = self.keys.read_if_whole(offset)?
            && record.url == url
        {
            return Ok(Some(record));
        }
        self.addresses.find(key, url, |offset| self.keys.read_if_whole(offset))
    }

    /// URLs in the address file.
    pub fn slots(&self) -> u64 {
        self.addresses.slots()
    }

    /// The version before `record`.
    pub fn previous(&self, record: &KeyRecord) -> Result<Option<KeyRecord>> {
        record.previous.map(|offset| self.keys.read(offset)).transpose()
    }

    /// All records in the order in which the pages were stored, up to the last one that was whole when the reader was
    /// opened: every pass sees the same ones, however far a crawl goes on meanwhile.
    pub fn records(&self) -> impl Iterator<Item = Result<KeyRecord>> + '_ {
        self.keys.scan_to(0, self.end)
    }

    /// The record at `offset` of key.dat.
    pub fn record_at(&self, offset: u64) -> Result<KeyRecord> {
        self.keys.read(offset)
    }

    /// The response that `record` leads to.
    pub fn response(&self, record: &KeyRecord) -> Result<StoredResponse> {
        let file = self.value_file(record.file)?;
        let value = self.answer(&file, record)?;
        let wrong = |found: String| Error::damaged(file.path(), record.value_offset, "a response record", found);
        let (status, headers, body_at) =
            parse_http_head(&value.block).ok_or_else(|| wrong("no HTTP head".to_owned()))?;
        let line = value.block.split(|&byte| byte == b'\r').next().unwrap_or_default();
        let reason = String::from_utf8_lossy(line.get(13..).unwrap_or_default()).into_owned();
        let (record, body) = (value.to_bytes(), value.block[body_at..].to_vec());
        Ok(StoredResponse { fields: value.fields, status, reason, headers, body, record })
    }

    /// The response record as it lies in the value file, compressed.
    pub fn warc(&self, record: &KeyRecord) -> Result<Vec<u8>> {
        let file = self.value_file(record.file)?;
        let mut bytes = vec![0; usize::try_from(record.value_bytes).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, record.value_offset)?;
        Ok(bytes)
    }

    /// Where the container lies.
    pub(super) fn place(&self) -> (&Disk, &Path) {
        (&self.disk, &self.dir)
    }
}
