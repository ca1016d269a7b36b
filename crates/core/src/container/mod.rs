//! The page container: a standard web archive that is a hash table by URL at the same time.
//!
//! ```text
//!  URL ─► fingerprint ─► address.idx ─► key.dat ─► value-00042.warc.gz
//!                        4 KiB pages    records     WARC 1.1 records
//! ```
//! - **value files** have the content, append-only, a new one every `segment_bytes`. They are ordinary WARC files;
//!   what is not durable yet has the suffix `.open`.
//! - **key.dat** has a record for each page: its place, when and with which status it came, its digest, the previous
//!   version of the same URL, the URL ([`keys`]).
//! - **address.idx** has a slot for each URL (and interval between checkpoints), by linear hashing ([`address`]): it
//!   grows a page at a time, never stops to rehash, and a look-up reads one page.
//!
//! So a page is found by one address page, one key record and one value read, however many there are. Both index files
//! are derived from the value files. New slots gather in a map in memory and are written to the address pages at
//! checkpoints only, by a [`SyncJob`] while the crawl goes on.
//!
//! A payload that is there already is not stored again: the page becomes a *revisit*, which refers to the page that has
//! the payload. A table of bounded memory knows the digests. It costs a reader one more key record and value. A payload
//! that an earlier archive has can be left to that one ([`dedup`]): the revisit is *external*.
//!
//! # Durability
//!
//! Nothing that was stored ever goes, but by a compaction ([`retention`]).
//!
//! [`Container::cut`] notes the lengths of the value file and of key.dat; the job makes them durable. After a kill
//! [`Container::open`] cuts key.dat to the noted length and returns a [`Recovery`], which reads what the value files
//! hold beyond the noted place, passes over what is damaged there, cuts the one that ends in `.open` behind its last
//! whole exchange, and hands the exchanges to the engine, which takes them back in with [`Container::readopt`].

pub mod address;
mod boot;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod damage_tests;
pub mod dedup;
mod digests;
mod exchange;
mod fixture;
pub mod fuzzing;
pub mod imported;
mod index;
pub mod keys;
pub mod named;
#[cfg(test)]
mod read_tests;
mod reader;
mod rebuild;
mod recovery;
mod referrer;
mod renewed;
mod replayed;
mod resync;
pub mod retention;
#[cfg(test)]
mod revisit_tests;
mod sync;
#[cfg(test)]
mod tests;
mod unfinished;
mod values;
mod verify;
mod versions;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::disk::{Disk, Result};
use crate::fingerprint::Fingerprint;
use crate::warc::{Compression, Encoder, Profile, RevisitDraft};
use crate::web::kind::Kind;
use address::AddressFile;
use digests::Digests;
pub use exchange::StoredRecord;
pub use index::make_addresses;
use keys::KeyFile;
pub use keys::KeyRecord;
pub use reader::{External, Reader, StoredResponse};
pub use rebuild::{Rebuilt, STAGED, rebuild};
pub use recovery::Recovery;
pub use referrer::{KeyPlace, Referrer, foreign_keys};
pub use renewed::Form;
pub use replayed::{RefersTo, ReplayedPage};
use retention::Retention;
pub use retention::{CompactionDone, CompactionJob, Keep, RetentionOptions, VERSIONS_MAX};
pub use sync::{SyncDone, SyncJob};
pub use unfinished::is_being_rebuilt;
use values::ValueFiles;
pub use values::WarcInfo;
pub use verify::{Finding, Report, Standing, Summary, verify};
pub use versions::Condition;

/// Bytes of memory that a new slot takes: in a map just behind its doubling, one half of the time together with the map
/// before it.
const SLOT_BYTES: usize = 49;

/// Settings by which the container is written.
#[derive(Clone, Debug)]
pub struct ContainerOptions {
    /// A value file that would grow beyond this is closed.
    pub segment_bytes: u64,
    /// The compression of records.
    pub compression: Compression,
    /// Memory of the index of payloads; with none, every payload is stored.
    pub digest_memory: usize,
    /// Memory of new slots, with the slots of a cut in progress: [`Container::is_full`].
    pub slot_memory: usize,
    /// The crawl's id, from which the ids of records follow.
    pub crawl_id: u128,
    /// Rules by which versions stay, and settings of the removal of the others.
    pub retention: RetentionOptions,
}

impl Default for ContainerOptions {
    fn default() -> Self {
        ContainerOptions {
            segment_bytes: 1 << 30,
            compression: Compression::Gzip,
            digest_memory: 16 << 20,
            slot_memory: 32 << 20,
            crawl_id: 0,
            retention: RetentionOptions::default(),
        }
    }
}

/// A page to be stored.
#[derive(Clone, Debug)]
pub struct NewPage<'a> {
    /// Its URL.
    pub url: &'a str,
    /// The URL's fingerprint.
    pub key: Fingerprint,
    /// Status of the answer.
    pub status: u16,
    /// The kind of the answer, where it is no content.
    pub kind: Option<Kind>,
    /// Time at which the request began.
    pub time: Time,
    /// Media type.
    pub mime: &'a str,
    /// True for a robots.txt that the crawl fetched for itself.
    pub robots: bool,
    /// True if a page that was rendered asked for it.
    pub of_rendering: bool,
    /// True if its records have the page as a rendering left it.
    pub is_rendered: bool,
    /// SHA-1 of the body as sent.
    pub payload_sha1: [u8; 20],
    /// Length of the body as sent.
    pub payload_bytes: u64,
    /// The records of the exchange, as they go into the value file.
    pub records: &'a [u8],
    /// The response record among them, the last one.
    pub response: Range<usize>,
    /// Parts for the revisit record that is written in its place where the archive has the payload already.
    pub revisit: Option<&'a RevisitDraft>,
    /// True if the body was cut short.
    pub truncated: bool,
    /// True if the metadata record among them has statements about the page's use.
    pub has_statements: bool,
    /// True if its last record is a revisit of a record in another archive.
    pub is_external: bool,
    /// True if the URL may be stored already; where not, no older version is looked for.
    pub may_have_versions: bool,
    /// Record of the response that a 304 refers to, by the condition that was sent. A 304 without a condition refers to
    /// nothing and is stored as it came.
    pub condition: Option<u64>,
}

/// Result of the storing of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Offset of its record in key.dat.
    pub record: u64,
    /// Bytes that the value file grew by.
    pub bytes: u64,
    /// Bytes that a revisit of an identical payload saved: the response record that was not written, less its own; for
    /// one in another archive the bytes of the payload.
    pub saved: Option<u64>,
    /// True for a revisit that is one because the server said that nothing has changed.
    pub not_modified: bool,
    /// Length of the payload, wherever that is.
    pub payload_bytes: u64,
}

impl Stored {
    /// Nothing was written; the record at `record` of key.dat represents the page, if anything does.
    pub fn nothing(record: u64) -> Stored {
        Stored { record, bytes: 0, saved: None, not_modified: false, payload_bytes: 0 }
    }
}

/// Notes of a checkpoint about the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerState {
    /// The value file that was written.
    pub value_number: u32,
    /// Its length.
    pub value_bytes: u64,
    /// Length of key.dat.
    pub key_bytes: u64,
    /// Pages stored.
    pub pages: u64,
    /// Bytes of all value files as they were written, whatever compactions have freed since.
    pub total_bytes: u64,
    /// Length of key.dat up to which a rebuild has moved records; 0 where none has. An offset below it that somebody
    /// has kept from before names nobody.
    pub moved_bytes: u64,
}

/// A cut of the container.
#[derive(Debug)]
pub struct ContainerCut {
    /// State for the checkpoint record.
    pub state: ContainerState,
    /// Makes it durable.
    pub job: SyncJob,
}

/// The container of a crawl, owned by the engine.
#[derive(Debug)]
pub struct Container {
    disk: Disk,
    dir: PathBuf,
    values: ValueFiles,
    keys: KeyFile,
    addresses: AddressFile,
    /// Newest records of the URLs stored since the last cut: slots to be written.
    fresh: HashMap<Fingerprint, u64>,
    /// Slots of the cut in progress.
    frozen: Arc<HashMap<Fingerprint, u64>>,
    /// The number of slots in `fresh`, and in `frozen`, that fit into their memory.
    fresh_max: usize,
    pages: u64,
    /// The field of the same name of [`ContainerState`].
    moved_bytes: u64,
    digests: Digests,
    /// Writes revisits.
    encoder: Encoder,
    crawl_id: u128,
    retention: Retention,
}

impl Container {
    /// Opens the container in `dir`: at the state `saved`, or from its beginning where there is none.
    pub fn open(
        disk: Disk,
        dir: &Path,
        options: ContainerOptions,
        warcinfo: WarcInfo,
        saved: Option<&ContainerState>,
    ) -> Result<(Self, Recovery)> {
        disk.create_dir_all(dir)?;
        unfinished::refuse(&disk, dir)?;
        imported::refuse(&disk, dir, "crawl into")?;
        let retention = Retention::open(&disk, dir, options.retention, saved)?;
        let keys = KeyFile::open(&disk, dir, saved.map(|state| state.key_bytes))?;
        let addresses = match saved {
            Some(_) => AddressFile::open_existing(&disk, dir)?,
            None => AddressFile::open_or_create(&disk, dir)?,
        };
        let mut digests = Digests::new(options.digest_memory);
        digests.fill(&keys)?;
        let fresh_max = (options.slot_memory / 2 / SLOT_BYTES).max(1);
        let (encoder, crawl_id) = (Encoder::new(options.compression), options.crawl_id);
        let values = ValueFiles::open(disk.clone(), dir, options, warcinfo, saved)?;
        let recovery = Recovery::new(&values, saved, crawl_id)?;
        let container = Container {
            disk,
            dir: dir.to_owned(),
            values,
            keys,
            addresses,
            fresh: HashMap::new(),
            frozen: Arc::default(),
            fresh_max,
            pages: saved.map_or(0, |state| state.pages),
            moved_bytes: saved.map_or(0, |state| state.moved_bytes),
            digests,
            encoder,
            crawl_id,
            retention,
        };
        Ok((container, recovery))
    }

    /// Stores a page; where the archive has its payload already, as a revisit.
    pub fn append(&mut self, page: &NewPage<'_>) -> Result<Stored> {
        let newest = if page.may_have_versions { self.newest(page.key, page.url)? } else { None };
        let previous = newest.as_ref().map(|newest| newest.offset);
        let first = self.first_with_payload(page, newest)?;
        let revisit = first.as_ref().map(|first| self.records_of_revisit(page, first));
        let records = revisit.as_deref().unwrap_or(page.records);
        self.keys.check_room()?;
        let (file, offset) = self.values.append(records, page.time)?;
        let value_bytes = (records.len() - page.response.start) as u64;
        let stored = KeyRecord {
            offset: 0,
            key: page.key,
            file,
            generation: 0,
            value_offset: offset + page.response.start as u64,
            value_bytes,
            time: page.time,
            status: page.status,
            kind: page.kind,
            robots: page.robots,
            of_rendering: page.of_rendering,
            is_rendered: page.is_rendered,
            payload_sha1: first.as_ref().map_or(page.payload_sha1, |first| first.record.payload_sha1),
            payload_bytes: first.as_ref().map_or(page.payload_bytes, |first| first.record.payload_bytes),
            truncated: page.truncated,
            has_statements: page.has_statements,
            is_external: page.is_external,
            payload_at: first.as_ref().map(|first| first.record.offset),
            was_revisit: false,
            is_removed: false,
            moved_to: None,
            previous,
            mime: match &first {
                Some(first) if page.mime.is_empty() => first.record.mime.clone(),
                _ => page.mime.to_owned(),
            },
            url: page.url.to_owned(),
        };
        let bytes = records.len() as u64;
        let revisit_by = page.revisit.filter(|_| first.is_some()).map(|draft| draft.profile);
        let saved = match revisit_by {
            // what the response record would have taken is not known
            _ if page.is_external => Some(page.payload_bytes),
            Some(Profile::IdenticalPayload) => Some((page.response.len() as u64).saturating_sub(value_bytes)),
            _ => None,
        };
        let not_modified = revisit_by == Some(Profile::NotModified);
        let payload_bytes = stored.payload_bytes;
        Ok(Stored { record: self.index(stored)?, bytes, saved, not_modified, payload_bytes })
    }

    /// Takes a page back in that [`Recovery`] found in a value file, a revisit after [`Container::read_through`].
    pub fn readopt(&mut self, page: &ReplayedPage, key: Fingerprint) -> Result<Stored> {
        let previous = self.newest_offset(key, &page.url)?;
        let first = page.payload_at.map(|offset| self.keys.read(offset)).transpose()?;
        let record = self.index(KeyRecord {
            offset: 0,
            key,
            file: page.file,
            generation: 0,
            value_offset: page.value_offset,
            value_bytes: page.value_bytes,
            time: page.time,
            status: page.status,
            kind: page.kind,
            robots: page.robots,
            of_rendering: page.of_rendering,
            is_rendered: page.conversion.is_some(),
            payload_sha1: page.payload_sha1,
            payload_bytes: page.payload_bytes,
            truncated: page.truncated.is_some(),
            has_statements: page.has_statements,
            is_external: page.is_external,
            payload_at: page.payload_at,
            was_revisit: false,
            is_removed: false,
            moved_to: None,
            previous,
            mime: page.mime.clone(),
            url: page.url.clone(),
        })?;
        let profile = page.refers_to.as_ref().map(|refers_to| refers_to.profile);
        let saved = first
            .filter(|_| profile == Some(Profile::IdenticalPayload))
            .map(|first| first.value_bytes.saturating_sub(page.value_bytes));
        let saved = saved.or(page.is_external.then_some(page.payload_bytes));
        let not_modified = profile == Some(Profile::NotModified);
        Ok(Stored { record, bytes: page.exchange_bytes, saved, not_modified, payload_bytes: page.payload_bytes })
    }

    fn index(&mut self, record: KeyRecord) -> Result<u64> {
        let offset = self.keys.append(&record)?;
        self.fresh.insert(record.key, offset);
        if Digests::takes(&record) {
            self.digests.insert(&record.payload_sha1, offset);
        }
        self.pages += 1;
        Ok(offset)
    }

    /// The page whose record is at `offset` of key.dat, and which a history names `via`, to be read by somebody else.
    pub fn referrer(&self, offset: u64, via: u64) -> Referrer {
        if offset < self.moved_bytes {
            return Referrer::Nobody;
        }
        Referrer::Record(KeyPlace::new(self.keys.file().clone(), offset, via))
    }

    /// The newest version of `url`, whose fingerprint is `key`.
    pub fn newest(&self, key: Fingerprint, url: &str) -> Result<Option<KeyRecord>> {
        for map in [&self.fresh, &*self.frozen] {
            if let Some(&offset) = map.get(&key) {
                let record = self.keys.read(offset)?;
                if record.url == url {
                    return Ok(Some(record));
                }
            }
        }
        self.addresses.find(key, url, |offset| self.keys.read_if_whole(offset))
    }

    fn newest_offset(&self, key: Fingerprint, url: &str) -> Result<Option<u64>> {
        Ok(self.newest(key, url)?.map(|record| record.offset))
    }

    /// The offset of the next key record: no page is stored before it that comes after now.
    pub fn key_bytes(&self) -> u64 {
        self.keys.len()
    }

    /// The crawl's id.
    pub fn crawl_id(&self) -> u128 {
        self.crawl_id
    }

    /// Pages stored, every version counted.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Bytes of all value files.
    pub fn value_bytes(&self) -> u64 {
        self.values.total_bytes().saturating_sub(self.retention.freed())
    }

    /// Bytes of key.dat and, as of the last cut, of the address file.
    pub fn index_bytes(&self) -> u64 {
        self.keys.len() + self.addresses.bytes()
    }

    /// True if the memory of new slots is used up: a cut is due, and where one is in progress, no more should be stored
    /// than was asked for already.
    pub fn is_full(&self) -> bool {
        self.fresh.len() >= self.fresh_max
    }

    /// Notes the state as it is, and returns the work that makes it durable. The cut before must have come back.
    pub fn cut(&mut self) -> Result<ContainerCut> {
        self.frozen = Arc::new(std::mem::take(&mut self.fresh));
        let state = ContainerState {
            value_number: self.values.number(),
            value_bytes: self.values.position(),
            key_bytes: self.keys.len(),
            pages: self.pages,
            total_bytes: self.values.total_bytes(),
            moved_bytes: self.moved_bytes,
        };
        self.retention.cut(&state);
        let job = SyncJob {
            disk: self.disk.clone(),
            dir: self.dir.clone(),
            value: self.values.open_path(),
            slots: self.frozen.clone(),
            key_bytes: state.key_bytes,
        };
        Ok(ContainerCut { state, job })
    }

    /// The last cut is durable.
    pub fn synced(&mut self, _done: SyncDone) {
        self.frozen = Arc::default();
        self.retention.synced();
    }

    /// The value file in progress, if it will be full soon: a cut now spares anyone who appends then a long sync.
    pub fn nearly_full(&self) -> Option<u32> {
        self.values.is_nearly_full().then(|| self.values.number())
    }

    /// The crawl is over: the value file that was written is closed.
    pub fn close(&mut self) -> Result<()> {
        self.values.close()
    }
}
