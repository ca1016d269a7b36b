//! Reading the container, of a crawl that runs or of one that has stopped, without any lock.
//!
//! The address file covers key.dat up to the last checkpoint; what was appended since is read once when the reader is
//! opened. Pages that the crawl is rewriting are read again until they are whole. Where a compaction replaces a value
//! file, the key records of its pages name the new one, so that what is not found where a record says is looked for by
//! that record as it is now.
//!
//! A page that was removed, or whose URL is forgotten, is not shown: it is passed over as if it had never been stored.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::address::AddressFile;
use super::imported::is_imported;
use super::keys::{KeyFile, KeyRecord};
use super::retention::list::ForgottenList;
use super::values;
use super::versions::{Value, payload, value};
use crate::disk::{Disk, DiskFile, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::warc::{Header, PAYLOAD_IN_FIELD, Record, Truncation};
use crate::web::forgotten::Forgotten;
use crate::web::headers;
use crate::web::robots::{Lines, whole_lines};

/// A reader of the container in a directory.
#[derive(Debug)]
pub struct Reader {
    disk: Disk,
    dir: PathBuf,
    keys: KeyFile,
    addresses: AddressFile,
    /// Records that the address file does not cover.
    recent: HashMap<Fingerprint, u64>,
    /// The offset behind the last whole key record when the reader was opened.
    end: u64,
    /// Value files that were read last, the latest first.
    files: Mutex<Vec<(FileKey, Arc<DiskFile>)>>,
    /// URLs that are not shown.
    forgotten: Forgotten,
    /// True if the archive was imported.
    pub(super) is_imported: bool,
}

/// The parts of a record by which a compaction may have moved its value.
fn place_of(key: &KeyRecord) -> (u32, u8, u64, Option<u64>) {
    (key.file, key.generation, key.value_offset, key.payload_at)
}

/// Number and generation of a value file.
type FileKey = (u32, u8);

/// Value files that a reader keeps open.
const FILES_MAX: usize = 64;

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
    /// Headers that the body of a revisit came with.
    pub payload_headers: Vec<Header>,
    /// The body as sent; of a revisit, the body of the page it refers to; nothing where that is in another archive.
    pub body: Vec<u8>,
    /// Reference to the body of a revisit that is in another archive.
    pub external: Option<External>,
}

impl StoredResponse {
    /// Returns whether the body ended before its time.
    pub fn is_interrupted(&self) -> bool {
        let truncated = self.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("WARC-Truncated"));
        truncated.and_then(|(_, word)| Truncation::parse(word)).is_some_and(Truncation::is_interruption)
    }

    /// The lines of a robots.txt within the first `bytes_max` bytes, as the crawl reads them; `is_cut` says that its
    /// record was cut short. Nothing where nobody knows what it says.
    pub fn robots_lines(&self, is_cut: bool, bytes_max: usize) -> Option<Lines<'_>> {
        if self.is_interrupted() {
            return None;
        }
        let coding = headers::list(&self.headers, "content-encoding");
        whole_lines(&self.body, coding.as_deref(), is_cut, bytes_max)
    }
}

/// The record of another archive that has a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The URL that brought it.
    pub url: String,
    /// Date at which that request began.
    pub date: String,
    /// The id of the record, if it is known.
    pub record_id: Option<String>,
    /// The name of the archive.
    pub archive: String,
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
        let forgotten = ForgottenList::read(&disk, dir)?.in_effect().clone();
        let is_imported = is_imported(&disk, dir)?;
        let (dir, files) = (dir.to_owned(), Mutex::default());
        Ok(Reader { disk, dir, forgotten, keys, addresses, recent, end, files, is_imported })
    }

    /// The newest version of `url`, whose fingerprint is `key`.
    pub fn newest(&self, key: Fingerprint, url: &str) -> Result<Option<KeyRecord>> {
        if let Some(&offset) = self.recent.get(&key)
            && let Some(record) = self.keys.read_if_steady(offset)?
            && record.url == url
        {
            return Ok(Some(record).filter(|record| self.shows(record)));
        }
        let found = self.addresses.find(key, url, |offset| self.keys.read_if_steady(offset))?;
        Ok(found.filter(|record| self.shows(record)))
    }

    /// True if the page of `record` is in the archive and may be shown.
    fn shows(&self, record: &KeyRecord) -> bool {
        !record.is_removed && !self.forgotten.covers(&record.url)
    }

    /// The newest version of a URL whose fingerprint is `key`, in whatever spelling it was fetched.
    pub fn newest_of_key(&self, key: Fingerprint) -> Result<Option<KeyRecord>> {
        if let Some(&offset) = self.recent.get(&key)
            && let Some(record) = self.keys.read_if_steady(offset)?
            && self.shows(&record)
        {
            return Ok(Some(record));
        }
        self.addresses.find_where(key, |record| self.shows(record), |offset| self.keys.read_if_steady(offset))
    }

    /// The spellings in which a URL was fetched whose fingerprint is `key`.
    pub fn spellings(&self, key: Fingerprint) -> Result<Vec<String>> {
        let mut found: Vec<String> = Vec::new();
        let mut recent = self.recent.get(&key).map(|&offset| self.keys.read(offset)).transpose()?;
        while let Some(record) = recent {
            if self.shows(&record) && !found.contains(&record.url) {
                found.push(record.url.clone());
            }
            recent = self.previous(&record)?;
        }
        loop {
            let is_new = |record: &KeyRecord| self.shows(record) && !found.contains(&record.url);
            let other = self.addresses.find_where(key, is_new, |offset| self.keys.read_if_steady(offset))?;
            match other {
                Some(record) => found.push(record.url),
                None => return Ok(found),
            }
        }
    }

    /// URLs in the address file.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> u64 {
        self.addresses.slots()
    }

    /// The version before `record`.
    pub fn previous(&self, record: &KeyRecord) -> Result<Option<KeyRecord>> {
        let mut at = record.previous;
        while let Some(offset) = at {
            let record = self.keys.read(offset)?;
            if self.shows(&record) {
                return Ok(Some(record));
            }
            at = record.previous;
        }
        Ok(None)
    }

    /// All records in the order in which the pages were stored, up to the last one that was whole when the reader was
    /// opened: every pass sees the same ones, however far a crawl goes on meanwhile.
    pub fn records(&self) -> impl Iterator<Item = Result<KeyRecord>> + '_ {
        self.records_from(0)
    }

    /// The records of [`Reader::records`] from the one at `offset` on.
    pub fn records_from(&self, offset: u64) -> impl Iterator<Item = Result<KeyRecord>> + '_ {
        let records = self.keys.scan_to(offset, self.end).whole_to(self.addresses.covered());
        records.filter(|record| record.as_ref().map_or(true, |record| self.shows(record)))
    }

    /// Returns the records of [`Reader::records`] that begin from `from` on and before `to`, all in memory, and the
    /// offset of the next one. What is there was whole once: a record that is not is damage, which is an error when no
    /// record comes before it.
    pub fn records_within(&self, from: u64, to: u64) -> Result<(Vec<KeyRecord>, u64)> {
        let to = to.min(self.end);
        let mut scan = self.keys.scan_to(from, to).whole_to(to);
        let mut records = Vec::new();
        for record in &mut scan {
            match record {
                Ok(record) if self.shows(&record) => records.push(record),
                Ok(_) => {}
                Err(error) if records.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok((records, scan.reached()))
    }

    /// Returns the offset of the first record that begins before `to` and fits, removed ones included.
    pub fn find_record(&self, to: u64, fits: impl Fn(&KeyRecord) -> bool) -> Result<Option<u64>> {
        for record in self.keys.scan_to(0, to.min(self.end)) {
            let record = record?;
            if fits(&record) {
                return Ok(Some(record.offset));
            }
        }
        Ok(None)
    }

    /// Returns whether key.dat still has all that it had when the reader was opened: a crawl that resumes may have cut
    /// it, until its replay is done.
    pub fn is_whole(&self) -> Result<bool> {
        Ok(self.keys.file().len()? >= self.end)
    }

    /// The offset behind the last of them.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The record at `offset` of key.dat.
    pub fn record_at(&self, offset: u64) -> Result<KeyRecord> {
        self.keys.read(offset)
    }

    /// The response that `record` leads to: one value read, and for a revisit a key record and a value more.
    pub fn response(&self, record: &KeyRecord) -> Result<StoredResponse> {
        self.look_again(record, |record| self.response_at(record))
    }

    /// Returns what `read` finds by `key`; where that fails because a compaction has changed the record meanwhile, what
    /// it finds by the record as it is now.
    pub(super) fn look_again<T>(&self, key: &KeyRecord, read: impl Fn(&KeyRecord) -> Result<T>) -> Result<T> {
        let mut key = key.clone();
        loop {
            match read(&key) {
                Err(error @ Error::Damaged { .. }) => match self.keys.read_if_steady(key.offset)? {
                    Some(now) if now.is_removed => {
                        let found = format!("that a compaction has removed {}", now.url);
                        return Err(self.keys.damaged(key.offset, "a page that is still there", found));
                    }
                    // each time it is of a later generation
                    Some(now) if place_of(&now) != place_of(&key) => key = now,
                    _ => return Err(error),
                },
                read => return read,
            }
        }
    }

    fn response_at(&self, record: &KeyRecord) -> Result<StoredResponse> {
        self.response_of(record, &value(&*self.value_file(record)?, record)?)
    }

    /// The answer in the record `found`, to which `record` leads.
    pub(super) fn response_of(&self, record: &KeyRecord, found: &Value) -> Result<StoredResponse> {
        let (kind, fits) = match record.is_response() {
            true => ("response", found.has_payload()),
            false => ("revisit", found.record.kind() == "revisit"),
        };
        if !fits {
            return Err(found.wrong(&format!("a {kind} record"), format!("a {} record", found.record.kind())));
        }
        let (body, payload_headers) = match record.payload_at {
            None => (found.body().to_vec(), Vec::new()),
            Some(offset) => {
                let (_, first) = self.first_of_revisit(record, offset)?;
                (first.body().to_vec(), first.headers)
            }
        };
        let external = if record.is_external { Some(self.external(record, &found.record)?) } else { None };
        Ok(StoredResponse {
            fields: found.record.fields.clone(),
            status: found.status,
            reason: found.reason(),
            headers: if found.head().is_empty() { payload_headers.clone() } else { found.headers.clone() },
            payload_headers,
            body,
            external,
        })
    }

    /// Reads what `revisit`, the record of `key`, refers to.
    fn external(&self, key: &KeyRecord, revisit: &Record) -> Result<External> {
        let field = |name: &str| revisit.field(name).map(str::to_owned);
        let metadata = self.metadata(key)?;
        let fields = metadata.as_ref().map(|record| String::from_utf8_lossy(&record.block)).unwrap_or_default();
        let of_archive =
            |line: &str| line.split_once(": ").filter(|(name, _)| *name == PAYLOAD_IN_FIELD).map(|(_, v)| v.to_owned());
        Ok(External {
            url: field("WARC-Refers-To-Target-URI").unwrap_or_default(),
            date: field("WARC-Refers-To-Date").unwrap_or_default(),
            record_id: field("WARC-Refers-To"),
            archive: fields.lines().find_map(of_archive).unwrap_or_default(),
        })
    }

    /// The response whose key record is at `offset`, to which `revisit` refers.
    pub(super) fn first_of_revisit(&self, revisit: &KeyRecord, offset: u64) -> Result<(KeyRecord, Value)> {
        let first = self.keys.read(offset)?;
        if !first.is_response() || first.payload_sha1 != revisit.payload_sha1 {
            let found = format!("one of {} without it", first.url);
            return Err(self.keys.damaged(revisit.offset, "a reference to the record of its payload", found));
        }
        let found = payload(&*self.value_file(&first)?, &first)?;
        Ok((first, found))
    }

    /// The response or revisit record as it is in the value file, compressed.
    pub fn warc(&self, record: &KeyRecord) -> Result<Vec<u8>> {
        self.look_again(record, |record| {
            let file = self.value_file(record)?;
            let mut bytes = vec![0; usize::try_from(record.value_bytes).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut bytes, record.value_offset)?;
            Ok(bytes)
        })
    }

    /// The value file of `record`; a file that is renamed while it is open stays the same file.
    pub(super) fn value_file(&self, record: &KeyRecord) -> Result<Arc<DiskFile>> {
        let mut files = self.files.lock().expect("nobody panics with the lock");
        let name = (record.file, record.generation);
        if let Some(at) = files.iter().position(|(other, _)| *other == name) {
            files[..=at].rotate_right(1);
            return Ok(files[0].1.clone());
        }
        let file = Arc::new(values::open_named(&self.disk, &self.dir, record.file, record.generation)?);
        files.truncate(FILES_MAX - 1);
        files.insert(0, (name, file.clone()));
        Ok(file)
    }
}
