//! The list of the seeds: URL and fallback of every seed in the order of their numbers.
//!
//! One process appends to it. In a crawl of several shards it is the crawl's, which no shard writes: a shard opens it
//! to read, and knows which of its seeds it owns. What was being written when a process ended is cut off, but nothing
//! that a checkpoint counts: a list that is whole up to less than that is damage, and stays as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::{Index, tag};
use super::packed::PackedSeed;
use super::records::{Fate, ListedSeed, Mark, Scan, fates_path, header, list_path, put, read, shared_list_path};
use super::{BUFFER_BYTES, cut};
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Kind, Mode, Result, Writer};
use crate::record::layout;
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Nobody, in a chain.
const NONE: u32 = u32::MAX;

/// The list.
#[derive(Debug)]
pub struct SeedList {
    file: Writer,
    places: Vec<PackedSeed>,
    by_url: Index,
    /// The last seed with a fallback of each origin, and by number the one of the same tag before it.
    by_origin: Index,
    before: Vec<u32>,
    /// Length that is known to be durable.
    durable_bytes: u64,
    record: Vec<u8>,
    /// The shard that reads it, and what that knows its seeds by; `None` where it is appended to.
    share: Option<(Shard, Arc<KeyMaker>)>,
}

impl SeedList {
    /// Opens the list of a crawl of several shards in `dir`; makes it where there is none, and no shard knows a seed.
    pub fn open(disk: &Disk, dir: &Path, shards: &[PathBuf]) -> Result<SeedList> {
        let known = known(disk, shards)?;
        if known == Mark::default() {
            make(disk, dir)?;
        }
        let mut list = SeedList::load(disk, dir, None)?;
        list.settle(disk, &known)?;
        Ok(list)
    }

    /// Reads the list of the crawl in `dir`, which is to be settled; with `share`, that of the crawl which has the
    /// shard in `dir`.
    pub(super) fn load(disk: &Disk, dir: &Path, share: Option<(Shard, Arc<KeyMaker>)>) -> Result<SeedList> {
        let path = shared_list_path(dir).filter(|_| share.is_some()).unwrap_or_else(|| list_path(dir));
        let file = open(disk, &path)?;
        let mut list = SeedList {
            places: Vec::new(),
            by_url: Index::default(),
            by_origin: Index::default(),
            before: Vec::new(),
            durable_bytes: 0,
            record: Vec::new(),
            share,
            file: Writer::new(open(disk, &path)?, 0, 0),
        };
        let end = list.take_in(&file, HEADER_BYTES)?;
        list.file = Writer::new(file, end, BUFFER_BYTES);
        Ok(list)
    }

    /// Cuts off what was being written, and makes the rest durable. A list that has not what the last checkpoint of the
    /// crawl counts, by its `mark`, is damage.
    pub(super) fn settle(&mut self, disk: &Disk, mark: &Mark) -> Result<()> {
        let (file, end) = (self.file.file(), self.file.position());
        if end < mark.list_bytes || self.len() < mark.seeds {
            let expected = format!("{} seeds in {} bytes", mark.seeds, mark.list_bytes);
            return Err(Error::damaged(file.path(), end, expected, format!("{} whole ones", self.len())));
        }
        if self.is_shared() {
            self.durable_bytes = end;
            return Ok(());
        }
        cut(file, end)?;
        if end > mark.list_bytes.max(HEADER_BYTES) {
            copy_again(disk, file, end)?;
        }
        let path = file.path().to_owned();
        self.file = Writer::new(open(disk, &path)?, end, BUFFER_BYTES);
        Ok(())
    }

    /// Takes in what `file` has from `from` on; returns where its whole records end.
    fn take_in(&mut self, file: &DiskFile, from: u64) -> Result<u64> {
        Scan::begin(file, Kind::Seeds)?;
        let mut scan = Scan::at_record(file, from)?;
        while let Some((at, seed)) = scan.next::<ListedSeed>()? {
            if self.owns(&seed.url) {
                self.index(at, &seed.url, seed.fallback.is_some());
            } else {
                self.places.push(PackedSeed::foreign(at));
            }
        }
        Ok(scan.at())
    }

    /// Returns whether this shard admits the seed `url`.
    fn owns(&self, url: &str) -> bool {
        let Some((shard, keys)) = &self.share else { return true };
        CanonicalUrl::parse(url).is_ok_and(|url| shard.owns(keys.keys(&url).domain))
    }

    /// Takes in what was appended to the crawl's list since.
    pub(in crate::engine) fn read_on(&mut self, disk: &Disk) -> Result<()> {
        let file = disk.open(self.file.file().path(), Mode::Read)?;
        let end = self.take_in(&file, self.file.position())?;
        self.durable_bytes = end;
        self.file = Writer::new(file, end, BUFFER_BYTES);
        Ok(())
    }

    /// True if the list is the crawl's, of which this is a shard.
    pub(in crate::engine) fn is_shared(&self) -> bool {
        self.share.is_some()
    }

    /// Returns whether another shard admits the seed `number`.
    pub(in crate::engine) fn is_foreign(&self, number: u32) -> bool {
        self.places.get(number as usize).is_some_and(|place| place.is_foreign())
    }

    /// Returns the number of seeds.
    pub fn len(&self) -> u32 {
        u32::try_from(self.places.len()).expect("fewer than 4 G seeds")
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes of memory that the list takes.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.places.capacity() * size_of::<PackedSeed>()
            + self.before.capacity() * size_of::<u32>()
            + self.by_url.bytes()
            + self.by_origin.bytes()
    }

    /// The entry of the seed `number`.
    pub(super) fn place(&self, number: u32) -> Option<&PackedSeed> {
        self.places.get(number as usize)
    }

    /// The same, to be changed.
    pub(super) fn place_mut(&mut self, number: u32) -> Option<&mut PackedSeed> {
        self.places.get_mut(number as usize)
    }

    /// Calls `each` with every seed, in the order of their numbers.
    pub(super) fn for_each(&mut self, mut each: impl FnMut(ListedSeed)) -> Result<()> {
        self.file.flush()?;
        let mut scan = Scan::begin(self.file.file(), Kind::Seeds)?;
        while let Some((_, seed)) = scan.next()? {
            each(seed);
        }
        Ok(())
    }

    /// The number of the seed `url`, which is added when it is new.
    pub fn number(&mut self, url: &str, fallback: Option<&str>) -> Result<u32> {
        let candidates: Vec<u32> = self.by_url.find(tag(url)).collect();
        for number in candidates {
            if self.listed(number)?.url == url {
                return Ok(number);
            }
        }
        if self.is_shared() {
            let path = self.file.file().path();
            return Err(Error::damaged(path, 0, format!("the seed {url}, which the crawl has numbered"), "none"));
        }
        let at = self.file.position();
        self.record.clear();
        put(&mut self.record, &(url, fallback));
        self.file.push(&self.record)?;
        Ok(self.index(at, url, fallback.is_some()))
    }

    /// Notes that the record of the next seed is at `at`.
    fn index(&mut self, at: u64, url: &str, has_fallback: bool) -> u32 {
        let number = self.len();
        self.places.push(PackedSeed::new(at, has_fallback));
        self.by_url.insert(tag(url), number);
        if has_fallback && let Ok(url) = CanonicalUrl::parse(url) {
            let before = self.by_origin.replace(tag(&url.origin()), number);
            self.before.resize(number as usize, NONE);
            self.before.push(before.unwrap_or(NONE));
        }
        number
    }

    /// Reads what was listed under `number`, which there is.
    fn listed(&mut self, number: u32) -> Result<ListedSeed> {
        let offset = self.places[number as usize].offset();
        self.file.flush()?;
        read(self.file.file(), offset)
    }

    /// The seed `number`, as it was listed.
    pub(crate) fn get(&mut self, number: u32) -> Result<Option<ListedSeed>> {
        match (number as usize) < self.places.len() {
            true => Ok(Some(self.listed(number)?)),
            false => Ok(None),
        }
    }

    /// Returns whether the line of the seed `number` may mean another URL too.
    pub(crate) fn has_fallback(&self, number: u32) -> bool {
        self.places.get(number as usize).is_some_and(|place| place.has_fallback())
    }

    /// Seeds below `origin` whose lines may mean another URL too, in the order of their numbers.
    pub(crate) fn guesses_at(&mut self, origin: &str) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        let mut next = self.by_origin.find(tag(origin)).next();
        while let Some(number) = next {
            let seed = self.listed(number)?;
            if CanonicalUrl::parse(&seed.url).is_ok_and(|url| url.origin() == origin) {
                found.push(number);
            }
            next = self.before.get(number as usize).copied().filter(|&before| before != NONE);
        }
        found.reverse();
        Ok(found)
    }

    /// Makes the numbers that were given so far durable, unless they are: no request may carry one that is not.
    pub fn make_durable(&mut self) -> Result<()> {
        let bytes = self.file.position();
        if self.durable_bytes < bytes {
            self.file.flush()?;
            self.file.file().sync()?;
            self.durable_bytes = bytes;
        }
        Ok(())
    }

    /// Writes what was gathered; returns the length.
    pub(super) fn flush(&mut self) -> Result<u64> {
        self.file.flush()?;
        Ok(self.file.position())
    }

    /// The first `bytes` of it are durable.
    pub(super) fn note_durable(&mut self, bytes: u64) {
        self.durable_bytes = self.durable_bytes.max(bytes);
    }

    /// The path of the list.
    pub(super) fn path(&self) -> &Path {
        self.file.file().path()
    }
}

/// Makes an empty list in `dir` where there is none.
pub(super) fn make(disk: &Disk, dir: &Path) -> Result<()> {
    disk.create_dir_all(&dir.join(layout::SEEDS))?;
    let path = list_path(dir);
    if disk.open_if_there(&path)?.is_none() {
        disk.replace(&path, &header(Kind::Seeds))?;
    }
    // a process that was killed may have made it without its name being durable
    disk.sync_dir(&dir.join(layout::SEEDS))?;
    disk.sync_dir(dir)
}

/// Opens one of the two files, which is there.
pub(super) fn open(disk: &Disk, path: &Path) -> Result<DiskFile> {
    match disk.open(path, Mode::Write) {
        Err(error) if error.is_not_found() => {
            Err(Error::damaged(path, 0, "the seeds that the last checkpoint knows", "no such file"))
        }
        opened => opened,
    }
}

/// The most that the `shards` of a crawl have noted of its list. One whose fates cannot be read says so itself.
fn known(disk: &Disk, shards: &[PathBuf]) -> Result<Mark> {
    let mut most = Mark::default();
    for dir in shards {
        let Some(file) = disk.open_if_there(fates_path(dir))? else { continue };
        let Ok(mut scan) = Scan::begin(&file, Kind::SeedFates) else { continue };
        while let Some((_, fate)) = scan.next::<Fate>()? {
            if let Fate::Cut(mark) = fate
                && mark.list_bytes >= most.list_bytes
            {
                most = mark;
            }
        }
    }
    Ok(most)
}

/// Puts a durable copy of the first `end` bytes of `file` in its place: after a sync that failed, what it covered may
/// be readable and not be on the disk. What is durable must not be written over, for that could fail too.
fn copy_again(disk: &Disk, file: &DiskFile, end: u64) -> Result<()> {
    let path = file.path();
    let aside = path.with_added_extension("tmp");
    let copy = disk.open(&aside, Mode::Create)?;
    copy.set_len(0)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut at = 0;
    while at < end {
        let wanted = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        file.read_exact_at(&mut buffer[..wanted], at)?;
        copy.write_all_at(&buffer[..wanted], at)?;
        at += wanted as u64;
    }
    copy.sync()?;
    disk.rename(&aside, path)?;
    disk.sync_dir(path.parent().expect("the list is in a directory"))
}
