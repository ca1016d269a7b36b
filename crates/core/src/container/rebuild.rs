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

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use super::ContainerState;
use super::address::AddressFile;
use super::keys::{KeyFile, KeyRecord};
use super::retention::journal::settle_for_rebuild;
use super::retention::tombstone::Tombstone;
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

/// An index that was rebuilt and is in place.
#[derive(Debug)]
pub struct Rebuilt {
    /// Key records that were written.
    pub records: u64,
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
    index.keys.sync()?;
    drop(index);
    for found in values::find(disk, dir)? {
        disk.open(&found.path, Mode::Read)?.sync()?;
    }
    put_in_place(disk, dir, &staged)?;
    let noted = noted.map(|noted| {
        let has_moved = key_bytes != noted.key_bytes;
        let moved_bytes = if has_moved { noted.key_bytes.max(key_bytes) } else { 0 }.max(noted.moved_bytes);
        ContainerState { key_bytes, pages, moved_bytes, ..noted.clone() }
    });
    Ok(Rebuilt { records, noted, disk: disk.clone(), dir: dir.to_owned() })
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
                record.payload_at = Some(first.offset);
                record.payload_bytes = first.payload_bytes;
                if record.mime.is_empty() {
                    record.mime = first.mime;
                }
                return Ok(true);
            }
            at = first.previous.map(|offset| self.keys.read(offset)).transpose()?;
        }
        Ok(false)
    }

    /// Writes the slots that have gathered; returns the length of key.dat that is covered now.
    fn apply(&mut self) -> Result<u64> {
        AddressFile::open_for_writing(&self.disk, &self.dir)?.apply(&self.fresh, self.keys.len())?;
        self.fresh.clear();
        Ok(self.keys.len())
    }
}
