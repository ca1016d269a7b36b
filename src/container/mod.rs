//! The page container: a standard web archive that is a hash table by URL at the same time.
//!
//! ```text
//!  URL ─► fingerprint ─► address.idx ─► key.dat ─► value-00042.warc.gz
//!                        4 KiB pages    records     WARC 1.1 records
//! ```
//! - **value files** hold the content, append-only, a new one every `segment_bytes`. They are WARC files as they lie;
//!   the one that is written has the suffix `.open`.
//! - **key.dat** holds a record a page: where it lies, when and with which status it came, its digest, the previous
//!   version of the same URL, the URL ([`keys`]).
//! - **address.idx** holds a slot a URL (and interval between checkpoints), by linear hashing ([`address`]): it grows a page at a time, never stops to
//!   rehash, and a look-up reads one page.
//!
//! So a page is found by one address page, one key record and one value read, however many there are. Both index files
//! are derived from the value files. New slots gather in a map in memory and are written to the address pages at
//! checkpoints only, by a [`SyncJob`] beside the crawl.
//!
//! # Durability
//!
//! [`Container::cut`] notes the lengths of the value file and of key.dat; the job makes them durable. After a kill
//! [`Container::open`] cuts key.dat to the noted length and returns a [`Recovery`], which reads what the value files
//! hold beyond the noted place, cuts the last of them behind its last whole exchange, and hands the exchanges to the
//! engine, which takes them back in with [`Container::readopt`].

pub mod address;
mod exchange;
pub mod keys;
mod reader;
mod recovery;
mod sync;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::disk::{Disk, Result};
use crate::fingerprint::Fingerprint;
use crate::web::warc::Compression;
use address::AddressFile;
pub use exchange::StoredRecord;
use keys::KeyFile;
pub use keys::KeyRecord;
pub use reader::{Reader, StoredResponse};
pub use recovery::{Recovery, ReplayedPage};
pub use sync::{SyncDone, SyncJob};
use values::ValueFiles;
pub use values::WarcInfo;

/// How the container is written.
#[derive(Clone, Debug)]
pub struct ContainerOptions {
    /// A value file that would grow beyond this is closed.
    pub segment_bytes: u64,
    /// How records are compressed.
    pub compression: Compression,
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
    /// When the request began.
    pub time: Time,
    /// Media type.
    pub mime: &'a str,
    /// Whether it is a robots.txt that the crawl fetched for itself.
    pub robots: bool,
    /// SHA-1 of the body as sent.
    pub payload_sha1: [u8; 20],
    /// Length of the body as sent.
    pub payload_bytes: u64,
    /// The records of the exchange, as they go into the value file.
    pub records: &'a [u8],
    /// The response record among them.
    pub response: Range<usize>,
    /// Whether the URL may be stored already; where not, no older version is looked for.
    pub may_have_versions: bool,
}

/// What a checkpoint notes of the container.
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
    /// Bytes of all value files.
    pub total_bytes: u64,
}

/// A cut of the container.
#[derive(Debug)]
pub struct ContainerCut {
    /// For the checkpoint record.
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
    /// Slots of the cut under way.
    frozen: Arc<HashMap<Fingerprint, u64>>,
    pages: u64,
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
        let keys = KeyFile::open(&disk, dir, saved.map(|state| state.key_bytes))?;
        let addresses = AddressFile::open_or_create(&disk, dir)?;
        let values = ValueFiles::open(disk.clone(), dir, options, warcinfo, saved)?;
        let recovery = Recovery::new(&values, saved);
        let container = Container {
            disk,
            dir: dir.to_owned(),
            values,
            keys,
            addresses,
            fresh: HashMap::new(),
            frozen: Arc::default(),
            pages: saved.map_or(0, |state| state.pages),
        };
        Ok((container, recovery))
    }

    /// Stores a page; returns the offset of its record in key.dat.
    pub fn append(&mut self, page: &NewPage<'_>) -> Result<u64> {
        let previous = if page.may_have_versions { self.newest_offset(page.key, page.url)? } else { None };
        let (file, offset) = self.values.append(page.records, page.time)?;
        let response = page.response.clone();
        self.index(KeyRecord {
            offset: 0,
            key: page.key,
            file,
            value_offset: offset + response.start as u64,
            value_bytes: response.len() as u64,
            time: page.time,
            status: page.status,
            robots: page.robots,
            payload_sha1: page.payload_sha1,
            payload_bytes: page.payload_bytes,
            previous,
            mime: page.mime.to_owned(),
            url: page.url.to_owned(),
        })
    }

    /// Takes a page back in that [`Recovery`] found in a value file; returns the offset of its record in key.dat.
    pub fn readopt(&mut self, page: &ReplayedPage, key: Fingerprint) -> Result<u64> {
        let previous = self.newest_offset(key, &page.url)?;
        self.index(KeyRecord {
            offset: 0,
            key,
            file: page.file,
            value_offset: page.value_offset,
            value_bytes: page.value_bytes,
            time: page.time,
            status: page.status,
            robots: page.robots,
            payload_sha1: page.payload_sha1,
            payload_bytes: page.payload_bytes,
            previous,
            mime: page.mime.clone(),
            url: page.url.clone(),
        })
    }

    fn index(&mut self, record: KeyRecord) -> Result<u64> {
        let offset = self.keys.append(&record)?;
        self.fresh.insert(record.key, offset);
        self.pages += 1;
        Ok(offset)
    }

    /// The URL of the record at `offset` of key.dat; `None` where no record lies.
    pub fn url_of(&self, offset: u64) -> Result<Option<String>> {
        Ok(self.keys.read_if_whole(offset)?.map(|record| record.url))
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

    /// Pages stored, every version counted.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Bytes of all value files.
    pub fn value_bytes(&self) -> u64 {
        self.values.total_bytes()
    }

    /// Bytes of key.dat and, as of the last cut, of the address file.
    pub fn index_bytes(&self) -> u64 {
        self.keys.len() + self.addresses.bytes()
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
        };
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
    }

    /// The crawl is over: the value file that was written is closed.
    pub fn close(&mut self) -> Result<()> {
        self.values.close()
    }
}
