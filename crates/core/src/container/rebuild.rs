//! Making key.dat and the address file again, from the value files alone.
//!
//! The new files are written to the directory [`STAGED`] next to the old ones, as the crawl wrote those: key records in
//! the order of the value files, slots an interval at a time, every version of a URL with the one before it. Then:
//!
//! 1. the staged files are synced, with all value files: what they lead to is durable;
//! 2. a mark ([`unfinished`]) is made and synced. As long as it is there, no crawl opens the directory;
//! 3. the staged files are renamed over the old ones, address.dw is removed;
//! 4. the caller renews what the last checkpoint notes of key.dat, by a new checkpoint;
//! 5. the mark is removed ([`Rebuilt::finish`]).
//!
//! A kill before 2 leaves the old files as they were. A kill after it leaves the mark, and anyone who opens the
//! directory has to rebuild again, which does all of it again: value files are only read.
//!
//! A resumed crawl cuts key.dat to the length that its last checkpoint notes, and takes the exchanges behind the noted
//! place of the value files back in. So [`Rebuilt::noted`] has the length of key.dat before the first exchange behind
//! that place. Nothing is lost where all value files are whole: the records are the same, and are where they were.
//! Where records were damaged, later ones move up. Queued URLs name the page that they were found on by its old place,
//! so [`ContainerState::moved_bytes`] says that such a place names nobody.
//!
//! The index of an archive that was imported is made in the same way, for the first time or when more is imported; its
//! key records are in the order of time.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use super::ContainerState;
use super::address::AddressFile;
use super::digests::Digests;
use super::imported::{self, is_imported};
use super::keys::{KeyFile, KeyRecord};
use super::retention::journal::settle_for_rebuild;
use super::retention::tombstone::Tombstone;
use super::verify::order::{ForeignRevisit, Imported, InOrder};
use super::verify::walk::{Exchange, Walk};
use super::verify::{Report, Standing, check_forgotten};
use super::{unfinished, values};
use crate::disk::{Disk, Mode, Result};
use crate::fingerprint::Fingerprint;
use crate::warc::parse_date;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Directory in which new index files are written.
pub const STAGED: &str = "rebuild";
const FILES: [&str; 3] = ["key.dat", "address.ovf", "address.idx"];
/// Slots that gather in memory before they are written to the address pages.
const INTERVAL_SLOTS: usize = 1 << 20;
/// Memory in which payloads of an imported archive are known by their digests.
const DIGEST_MEMORY: usize = 64 << 20;

/// An index that was rebuilt and is in place.
#[derive(Debug)]
pub struct Rebuilt {
    /// Key records that were written.
    pub records: u64,
    /// Revisits of an imported archive that refer to what is not there, and have none.
    pub unresolved: u64,
    /// State that the last checkpoint has to note now; `None` where there was none.
    pub noted: Option<ContainerState>,
    disk: Disk,
    dir: PathBuf,
}

impl Rebuilt {
    /// The checkpoint was renewed: the directory can be opened again.
    pub fn finish(self) -> Result<()> {
        unfinished::clear(&self.disk, &self.dir)
    }
}

/// Makes the index of the container in `dir` again. `noted` is what the last checkpoint notes. Nothing else may use the
/// directory meanwhile. Damage of the value files goes to `report`.
pub fn rebuild(
    disk: &Disk,
    dir: &Path,
    noted: Option<&ContainerState>,
    maker: &KeyMaker,
    report: &mut Report<'_>,
) -> Result<Rebuilt> {
    rebuild_in_intervals(disk, dir, noted, maker, INTERVAL_SLOTS, report)
}

pub(super) fn rebuild_in_intervals(
    disk: &Disk,
    dir: &Path,
    noted: Option<&ContainerState>,
    maker: &KeyMaker,
    interval_slots: usize,
    report: &mut Report<'_>,
) -> Result<Rebuilt> {
    if is_imported(disk, dir)? {
        return rebuild_imported(disk, dir, noted, maker, interval_slots, report);
    }
    settle_for_rebuild(disk, dir)?;
    check_forgotten(disk, dir, report)?;
    let standing = Standing::Stopped { noted: noted.cloned(), clean: false };
    let staged = dir.join(STAGED);
    let mut index = Index::create(disk, &staged, interval_slots)?;
    let mut walk = Walk::begin(disk, dir, &standing, None, report)?;
    let mut at_note = None;
    let mut tombs = VecDeque::new();
    while let Some(exchange) = walk.next(report)? {
        tombs.extend(walk.take_tombstones());
        index.bury(&mut tombs, exchange.file, maker)?;
        let behind =
            noted.is_some_and(|noted| (exchange.file, exchange.start) >= (noted.value_number, noted.value_bytes));
        if behind && at_note.is_none() {
            // the address pages end where the checkpoint does, as they do while a crawl runs
            at_note = Some((index.apply()?, index.records));
        }
        let Some(mut record) = exchange.key_record(Some(maker)) else { continue };
        if exchange.answer.kind() == "revisit" && !record.is_external && !index.refer(&exchange, &mut record, maker)? {
            let what = format!("a revisit whose payload is not in the archive any more: {}", record.url);
            walk.tell(&exchange, what, report);
            continue;
        }
        index.append(record)?;
    }
    tombs.extend(walk.take_tombstones());
    index.bury(&mut tombs, u32::MAX, maker)?;
    let (key_bytes, pages) = match at_note {
        Some(at_note) => at_note,
        None => (index.apply()?, index.records),
    };
    let records = index.records;
    index.end(dir)?;
    let noted = noted.map(|noted| {
        let has_moved = key_bytes != noted.key_bytes;
        let moved_bytes = if has_moved { noted.key_bytes.max(key_bytes) } else { 0 }.max(noted.moved_bytes);
        ContainerState { key_bytes, pages, moved_bytes, ..noted.clone() }
    });
    Ok(Rebuilt { records, unresolved: 0, noted, disk: disk.clone(), dir: dir.to_owned() })
}

/// The same of an archive that was imported.
fn rebuild_imported(
    disk: &Disk,
    dir: &Path,
    noted: Option<&ContainerState>,
    maker: &KeyMaker,
    interval_slots: usize,
    report: &mut Report<'_>,
) -> Result<Rebuilt> {
    // what the checkpoint notes is of the sources that were there then
    let standing = Standing::Stopped { noted: None, clean: false };
    let mut index = Index::create(disk, &dir.join(STAGED), interval_slots)?;
    let mut walk = Walk::begin(disk, dir, &standing, None, report)?;
    let mut pages = InOrder::read(&mut walk, Some(maker), report)?;
    let (mut digests, mut unresolved) = (Digests::new(DIGEST_MEMORY), 0);
    while let Some(Imported { mut record, revisit }) = pages.next()? {
        if let Some(revisit) = revisit {
            let Some(first) = index.referred(&record, &revisit, &digests, maker)? else {
                unresolved += 1;
                continue;
            };
            refer_to(first, &mut record);
        } else {
            digests.insert(&record.payload_sha1, index.keys.len());
        }
        index.append(record)?;
    }
    let (key_bytes, records) = (index.apply()?, index.records);
    index.end(dir)?;
    let moved_bytes = noted.map_or(0, |noted| noted.key_bytes.max(noted.moved_bytes));
    let noted = Some(imported::state(disk, dir, key_bytes, records, moved_bytes)?);
    Ok(Rebuilt { records, unresolved, noted, disk: disk.clone(), dir: dir.to_owned() })
}

/// Completes the record of a revisit by that of the response it refers to.
fn refer_to(first: KeyRecord, record: &mut KeyRecord) {
    record.payload_at = Some(first.offset);
    record.payload_bytes = first.payload_bytes;
    record.payload_sha1 = first.payload_sha1;
    if record.status == 0 {
        record.status = first.status;
    }
    if record.mime.is_empty() {
        record.mime = first.mime;
    }
}

fn put_in_place(disk: &Disk, dir: &Path, staged: &Path) -> Result<()> {
    disk.sync_dir(staged)?;
    unfinished::mark(disk, dir)?;
    disk.remove(&dir.join("address.dw"))?;
    for name in FILES {
        disk.rename(&staged.join(name), &dir.join(name))?;
    }
    disk.sync_dir(dir)?;
    disk.remove(&staged.join("address.dw"))
}

/// The index files in progress.
struct Index {
    disk: Disk,
    dir: PathBuf,
    keys: KeyFile,
    addresses: AddressFile,
    /// Newest records of URLs that have no slot yet.
    fresh: HashMap<Fingerprint, u64>,
    interval_slots: usize,
    records: u64,
}

impl Index {
    /// Starts again in `dir`, whatever is there.
    fn create(disk: &Disk, dir: &Path, interval_slots: usize) -> Result<Self> {
        disk.create_dir_all(dir)?;
        for name in disk.list(dir)? {
            disk.remove(&dir.join(name))?;
        }
        let keys = KeyFile::open(disk, dir, None)?;
        let addresses = AddressFile::open_or_create(disk, dir)?;
        let (disk, dir) = (disk.clone(), dir.to_owned());
        Ok(Index { disk, dir, keys, addresses, fresh: HashMap::new(), interval_slots, records: 0 })
    }

    fn append(&mut self, mut record: KeyRecord) -> Result<()> {
        record.previous = self.newest(record.key, &record.url)?.map(|newest| newest.offset);
        if let Some(&offset) = self.fresh.get(&record.key)
            && record.previous != Some(offset)
        {
            // two URLs of one key: each gets its own slot
            self.apply()?;
        }
        let offset = self.keys.append(&record)?;
        self.records += 1;
        self.fresh.insert(record.key, offset);
        if self.fresh.len() >= self.interval_slots {
            self.apply()?;
        }
        Ok(())
    }

    /// The newest record of `url` so far.
    fn newest(&self, key: Fingerprint, url: &str) -> Result<Option<KeyRecord>> {
        if let Some(&offset) = self.fresh.get(&key) {
            let record = self.keys.read(offset)?;
            if record.url == url {
                return Ok(Some(record));
            }
        }
        self.addresses.find(key, url, |offset| self.keys.read_if_whole(offset))
    }

    /// Appends the records of removed pages of files before `file`, and of the ones in that file whose place has come:
    /// where no record was lost, each is again where it was.
    fn bury(&mut self, tombs: &mut VecDeque<((u32, u8), Tombstone)>, file: u32, maker: &KeyMaker) -> Result<()> {
        while let Some(((number, generation), tomb)) = tombs.front() {
            if *number == file && tomb.at > self.keys.len() {
                break;
            }
            let key = CanonicalUrl::parse(&tomb.url).ok().map(|url| maker.keys(&url).key);
            if let Some(record) = key.and_then(|key| tomb.key_record(*number, *generation, key)) {
                self.append(record)?;
            }
            tombs.pop_front();
        }
        Ok(())
    }

    /// Completes the record of a revisit by the response that it refers to; says whether that was found.
    fn refer(&self, exchange: &Exchange, record: &mut KeyRecord, maker: &KeyMaker) -> Result<bool> {
        let answer = &exchange.answer;
        let url = answer.field("WARC-Refers-To-Target-URI").and_then(|url| CanonicalUrl::parse(url).ok());
        let time = answer.field("WARC-Refers-To-Date").and_then(parse_date);
        let (Some(url), Some(time)) = (url, time) else { return Ok(false) };
        let mut at = self.newest(maker.keys(&url).key, url.as_str())?;
        while let Some(first) = at {
            if first.is_response() && first.time == time && first.payload_sha1 == record.payload_sha1 {
                refer_to(first, record);
                return Ok(true);
            }
            at = first.previous.map(|offset| self.keys.read(offset)).transpose()?;
        }
        Ok(false)
    }

    /// The response that a revisit of an imported archive refers to: the one that it names, or else the last one before
    /// it with the payload.
    fn referred(
        &self,
        record: &KeyRecord,
        revisit: &ForeignRevisit,
        digests: &Digests,
        maker: &KeyMaker,
    ) -> Result<Option<KeyRecord>> {
        let has_payload = |first: &KeyRecord| {
            first.is_response() && (!revisit.has_digest || first.payload_sha1 == record.payload_sha1)
        };
        let url = revisit.url.as_ref().and_then(|url| CanonicalUrl::parse(url).ok());
        let newest = url.map(|url| self.newest(maker.keys(&url).key, url.as_str())).transpose()?;
        let (mut at, mut last_with_payload) = (newest.flatten(), None);
        while let Some(first) = at {
            let previous = first.previous;
            if has_payload(&first) && revisit.time_ms == Some(first.time.ms()) {
                return Ok(Some(first));
            }
            if has_payload(&first) && revisit.has_digest && last_with_payload.is_none() {
                last_with_payload = Some(first);
            }
            at = previous.map(|offset| self.keys.read(offset)).transpose()?;
        }
        if last_with_payload.is_some() || !revisit.has_digest {
            return Ok(last_with_payload);
        }
        for offset in digests.candidates(&record.payload_sha1) {
            let found = self.keys.read_if_whole(offset)?;
            if let Some(first) = found.filter(has_payload) {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// Makes all of it durable, and puts it into the place of the index in `dir`.
    fn end(self, dir: &Path) -> Result<()> {
        let Index { disk, dir: staged, keys, addresses, .. } = self;
        keys.sync()?;
        drop((keys, addresses));
        for found in values::find(&disk, dir)? {
            disk.open(&found.path, Mode::Read)?.sync()?;
        }
        put_in_place(&disk, dir, &staged)
    }

    /// Writes the slots that have gathered; returns the length of key.dat that is covered now.
    fn apply(&mut self) -> Result<u64> {
        AddressFile::open_for_writing(&self.disk, &self.dir)?.apply(&self.fresh, self.keys.len())?;
        self.fresh.clear();
        Ok(self.keys.len())
    }
}
