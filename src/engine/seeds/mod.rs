//! The seeds of a crawl and what became of them, in two files of their own.
//!
//! ```text
//! seeds/list     url and fallback of every seed in the order of their numbers; only appended to, whole records stay
//! seeds/fates    what became of them, rounds, territories that joined the scope; cut back to the last checkpoint
//! ```
//! A seed keeps its number for ever: queued URLs and archived records refer to it. So a number is durable before the
//! first request that carries one (`SeedTable::make_durable`), and a start keeps every whole record of the list, also
//! those that no checkpoint knows: an archived number means the same URL whatever the seeds file says later. Seeds that
//! a run listed and never admitted are admitted by the next one.
//!
//! The fates begin again behind the mark of the last checkpoint ([`Mark`]): what was written after it is done again, by
//! the replay or because the URL is still queued.
//!
//! In a crawl of several shards the list is the crawl's, one directory up, and has one writer, which is no shard: the
//! process appends to it, and syncs it before any shard hears of it. So numbers are those of the whole crawl. A shard
//! opens it to read, admits the seeds that it owns, and notes in fates of its own what becomes of whatever it fetches.
//!
//! Memory is some ten to fifty bytes a seed, whatever its URL: where its record lies and how it stands, its place in an
//! `index` and, with a fallback, in another one. Texts are read from the file when they are needed. Readers beside a
//! crawl take no lock ([`reader`]).

mod index;
mod named;
pub mod reader;
mod records;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use named::named;
pub use reader::SeedReader;
pub use records::{Fate, ListedSeed, Mark, list_path};
pub use verify::{check, renew};

use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Kind, Mode, Result, Writer};
use crate::record::layout;
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};
use index::{Index, tag};
use records::{Scan, fates_path, header, put, read, shared_list_path};

/// What is gathered before it is written.
const BUFFER_BYTES: usize = 64 << 10;
/// Where in an entry the offset of the record ends and how the seed stands begins.
const OFFSET_BITS: u32 = 48;
/// Nobody, in a chain.
const NONE: u32 = u32::MAX;

/// A URL that takes others into scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Territory {
    /// A seed.
    Seed(CanonicalUrl),
    /// A URL that joined when a seed was redirected.
    Joined(CanonicalUrl),
}

/// What became of a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeedStatus {
    /// Not fetched yet.
    Waiting,
    /// Answered with this status, after redirects.
    Answered(u16),
    /// No answer.
    Failed(String),
    /// Never asked for.
    Dropped(String),
}

/// A seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedRecord {
    /// In the fetch form.
    pub url: String,
    /// What is tried when the seed itself cannot be fetched: http for a host named without scheme.
    pub fallback: Option<String>,
    /// What became of it.
    pub status: SeedStatus,
    /// Where it redirects.
    pub redirected_to: Option<String>,
    /// The last round of fetching again that it was put into; 0 for none.
    pub round: u32,
}

/// How a seed stands, as far as the crawl decides by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Waiting = 0,
    Answered = 1,
    Other = 2,
}

impl Stand {
    fn of(status: &SeedStatus) -> Stand {
        match status {
            SeedStatus::Waiting => Stand::Waiting,
            SeedStatus::Answered(_) => Stand::Answered,
            SeedStatus::Failed(_) | SeedStatus::Dropped(_) => Stand::Other,
        }
    }
}

/// Offset of a record, and in the bits above it how the seed stands, whether it has a fallback, and whether another
/// shard owns it.
#[derive(Clone, Copy, Debug)]
struct PackedSeed(u64);

impl PackedSeed {
    fn new(offset: u64, has_fallback: bool) -> PackedSeed {
        PackedSeed(offset | u64::from(has_fallback) << (OFFSET_BITS + 2))
    }

    fn offset(self) -> u64 {
        self.0 & ((1 << OFFSET_BITS) - 1)
    }

    fn has_fallback(self) -> bool {
        self.0 >> (OFFSET_BITS + 2) & 1 == 1
    }

    fn foreign(offset: u64) -> PackedSeed {
        PackedSeed(offset | 1 << (OFFSET_BITS + 3))
    }

    fn is_foreign(self) -> bool {
        self.0 >> (OFFSET_BITS + 3) & 1 == 1
    }

    fn stand(self) -> Stand {
        match self.0 >> OFFSET_BITS & 3 {
            0 => Stand::Waiting,
            1 => Stand::Answered,
            _ => Stand::Other,
        }
    }

    fn set_stand(&mut self, stand: Stand) {
        self.0 = self.0 & !(3 << OFFSET_BITS) | (stand as u64) << OFFSET_BITS;
    }
}

/// All seeds.
#[derive(Debug)]
pub struct SeedTable {
    list: Writer,
    fates: Writer,
    places: Vec<PackedSeed>,
    /// Of seeds by number; nothing until there is a round.
    rounds: Vec<u32>,
    by_url: Index,
    /// The last seed with a fallback of each origin, and by number the one of the same tag before it.
    by_origin: Index,
    before: Vec<u32>,
    /// Length of the list that is known to be durable, and that the checkpoint in progress makes so.
    durable_bytes: u64,
    cut_bytes: u64,
    mark: Mark,
    record: Vec<u8>,
    /// The shard that the table is of, and what it knows its seeds by; `None` where it is the whole crawl's.
    share: Option<(Shard, Arc<KeyMaker>)>,
}

impl SeedTable {
    /// Opens the files in `dir` as the checkpoint of this number has them, or as a crawl that made none left them.
    /// Where there are none, and no checkpoint that would name them, they are made.
    pub fn open(disk: &Disk, dir: &Path, checkpoint: Option<u64>) -> Result<Self> {
        SeedTable::open_share(disk, dir, checkpoint, None)
    }

    /// The same for a shard: the list is the crawl's, and only read.
    pub fn open_share(
        disk: &Disk,
        dir: &Path,
        checkpoint: Option<u64>,
        share: Option<(Shard, Arc<KeyMaker>)>,
    ) -> Result<Self> {
        let is_shared = share.is_some();
        let list_path = shared_list_path(dir).filter(|_| is_shared).unwrap_or_else(|| list_path(dir));
        if checkpoint.is_none() {
            let first = if is_shared { fates_path(dir) } else { list_path.clone() };
            if disk.open_if_there(first)?.is_none() {
                create(disk, dir, is_shared)?;
            }
            // a process that was killed may have made them without their names being durable
            disk.sync_dir(&dir.join(layout::SEEDS))?;
            disk.sync_dir(dir)?;
        }
        let file = |path: PathBuf| match disk.open(&path, Mode::Write) {
            Err(error) if error.is_not_found() => {
                Err(Error::damaged(&path, 0, "the seeds that the last checkpoint knows", "no such file"))
            }
            opened => opened,
        };
        let (list, fates) = (file(list_path.clone())?, file(fates_path(dir))?);
        let mut table = SeedTable {
            places: Vec::new(),
            rounds: Vec::new(),
            by_url: Index::default(),
            by_origin: Index::default(),
            before: Vec::new(),
            durable_bytes: 0,
            cut_bytes: 0,
            mark: Mark::default(),
            record: Vec::new(),
            share,
            list: Writer::new(file(list_path.clone())?, 0, 0),
            fates: Writer::new(file(fates_path(dir))?, 0, 0),
        };
        let end = table.load_list(&list, HEADER_BYTES)?;
        let fates_end = match checkpoint {
            None => Scan::begin(&fates, Kind::SeedFates).map(|_| HEADER_BYTES)?,
            Some(number) => table.load_fates(&fates, number)?,
        };
        if end < table.mark.list_bytes || table.len() < table.mark.seeds {
            let expected = format!("{} seeds in {} bytes", table.mark.seeds, table.mark.list_bytes);
            return Err(Error::damaged(list.path(), end, expected, format!("{} whole ones", table.len())));
        }
        if !is_shared {
            cut(&list, end)?;
        }
        cut(&fates, fates_end)?;
        let list = if is_shared {
            table.durable_bytes = end;
            list
        } else {
            if end > table.mark.list_bytes.max(HEADER_BYTES) {
                copy_again(disk, &list, end)?;
            }
            file(list_path)?
        };
        table.list = Writer::new(list, end, BUFFER_BYTES);
        table.fates = Writer::new(fates, fates_end, BUFFER_BYTES);
        Ok(table)
    }

    /// Takes in what the list has from `from` on, and says where its whole records end.
    fn load_list(&mut self, file: &DiskFile, from: u64) -> Result<u64> {
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

    /// Whether this shard admits the seed `url`.
    fn owns(&self, url: &str) -> bool {
        let Some((shard, keys)) = &self.share else { return true };
        CanonicalUrl::parse(url).is_ok_and(|url| shard.owns(keys.keys(&url).domain))
    }

    /// Takes in what was appended to the crawl's list since.
    pub(super) fn read_on(&mut self, disk: &Disk) -> Result<()> {
        let file = disk.open(self.list.file().path(), Mode::Read)?;
        let end = self.load_list(&file, self.list.position())?;
        self.durable_bytes = end;
        self.list = Writer::new(file, end, BUFFER_BYTES);
        Ok(())
    }

    /// Whether the list is the crawl's, of which this is a shard.
    pub(super) fn is_shared(&self) -> bool {
        self.share.is_some()
    }

    /// Whether another shard admits the seed `number`.
    pub(super) fn is_foreign(&self, number: u32) -> bool {
        self.places.get(number as usize).is_some_and(|place| place.is_foreign())
    }

    /// Takes in what the file says up to the mark of checkpoint `number`, and says where that ends.
    fn load_fates(&mut self, file: &DiskFile, number: u64) -> Result<u64> {
        let mut scan = Scan::begin(file, Kind::SeedFates)?;
        while let Some((_, fate)) = scan.next::<Fate>()? {
            match fate {
                // one that the list has lost is found missing by the mark
                Fate::Status(seed, status) => self.note_stand(seed, Stand::of(&status)),
                Fate::Round(seed, round) => _ = self.note_round(seed, round),
                Fate::Cut(mark) if mark.checkpoint == number => {
                    self.mark = mark;
                    return Ok(scan.at());
                }
                Fate::Redirect(..) | Fate::Scope(_) | Fate::Cut(_) => {}
            }
        }
        Err(Error::damaged(file.path(), scan.at(), format!("the mark of checkpoint {number}"), "no whole record"))
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        u32::try_from(self.places.len()).expect("fewer than 4 G seeds")
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many seeds, from the first on, are sure to have been admitted.
    pub(super) fn admitted(&self) -> u32 {
        self.mark.admitted
    }

    /// Every seed that there is was admitted.
    pub(super) fn all_admitted(&mut self) {
        self.mark.admitted = self.len();
    }

    /// Bytes of memory that the table takes.
    pub fn memory(&self) -> usize {
        self.places.capacity() * size_of::<PackedSeed>()
            + (self.rounds.capacity() + self.before.capacity()) * size_of::<u32>()
            + self.by_url.bytes()
            + self.by_origin.bytes()
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
            let path = self.list.file().path();
            return Err(Error::damaged(path, 0, format!("the seed {url}, which the crawl has numbered"), "none"));
        }
        let at = self.list.position();
        self.record.clear();
        put(&mut self.record, &(url, fallback));
        self.list.push(&self.record)?;
        Ok(self.index(at, url, fallback.is_some()))
    }

    /// Notes that the record of the next seed lies at `at`.
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

    /// What was listed under `number`, which there is.
    fn listed(&mut self, number: u32) -> Result<ListedSeed> {
        let offset = self.places[number as usize].offset();
        self.list.flush()?;
        read(self.list.file(), offset)
    }

    /// The seed `number`, as it was listed.
    pub fn get(&mut self, number: u32) -> Result<Option<ListedSeed>> {
        match (number as usize) < self.places.len() {
            true => Ok(Some(self.listed(number)?)),
            false => Ok(None),
        }
    }

    /// Whether the line of the seed `number` may mean another URL too.
    pub fn has_fallback(&self, number: u32) -> bool {
        self.places.get(number as usize).is_some_and(|place| place.has_fallback())
    }

    /// Seeds below `origin` whose lines may mean another URL too, in the order of their numbers.
    pub fn guesses_at(&mut self, origin: &str) -> Result<Vec<u32>> {
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

    /// Puts the seed `number` into a round of fetching again, and forgets what became of it before; says whether it was
    /// not in that round already.
    pub fn enter_round(&mut self, number: u32, round: u32) -> Result<bool> {
        if self.round_of(number) == round || !self.note_round(number, round) {
            return Ok(false);
        }
        self.write(&Fate::Round(number, round))?;
        Ok(true)
    }

    /// The last round that the seed `number` was put into.
    pub fn round_of(&self, number: u32) -> u32 {
        self.rounds.get(number as usize).copied().unwrap_or(0)
    }

    fn note_round(&mut self, number: u32, round: u32) -> bool {
        let seeds = self.places.len();
        let Some(place) = self.places.get_mut(number as usize) else { return false };
        place.set_stand(Stand::Waiting);
        if self.rounds.len() <= number as usize {
            self.rounds.resize(seeds, 0);
        }
        self.rounds[number as usize] = round;
        true
    }

    /// Whether the seed `number` is one of that round and nothing has become of it yet.
    pub fn waits_in_round(&self, number: u32, round: u32) -> bool {
        let waits = |place: &PackedSeed| place.stand() == Stand::Waiting;
        round > 0 && self.round_of(number) == round && self.places.get(number as usize).is_some_and(waits)
    }

    /// Notes what became of the seed `number`. An answer is not taken back: of the two URLs that a line may mean, one
    /// can fail after the other was fetched.
    pub fn set_status(&mut self, number: u32, status: SeedStatus) -> Result<()> {
        let Some(place) = self.places.get(number as usize) else { return Ok(()) };
        if place.stand() == Stand::Answered && !matches!(status, SeedStatus::Answered(_)) {
            return Ok(());
        }
        self.note_stand(number, Stand::of(&status));
        self.write(&Fate::Status(number, status))
    }

    fn note_stand(&mut self, number: u32, stand: Stand) {
        if let Some(place) = self.places.get_mut(number as usize) {
            place.set_stand(stand);
        }
    }

    /// Notes where the seed `number` redirects.
    pub fn set_redirect(&mut self, number: u32, to: &str) -> Result<()> {
        match (number as usize) < self.places.len() {
            true => self.write(&Fate::Redirect(number, to.to_owned())),
            false => Ok(()),
        }
    }

    /// Notes that `url` joined the scope.
    pub(super) fn add_scope(&mut self, url: &str) -> Result<()> {
        self.write(&Fate::Scope(url.to_owned()))
    }

    fn write(&mut self, fate: &Fate) -> Result<()> {
        self.record.clear();
        put(&mut self.record, fate);
        self.fates.push(&self.record)
    }

    /// Calls `each` with the URL of every seed, and then with every one that joined the scope.
    pub(super) fn for_each_territory(&mut self, mut each: impl FnMut(Territory)) -> Result<()> {
        self.list.flush()?;
        self.fates.flush()?;
        let parse = |url: &str| CanonicalUrl::parse(url).ok();
        let mut scan = Scan::begin(self.list.file(), Kind::Seeds)?;
        while let Some((_, seed)) = scan.next::<ListedSeed>()? {
            parse(&seed.url).map(Territory::Seed).into_iter().for_each(&mut each);
        }
        let mut scan = Scan::begin(self.fates.file(), Kind::SeedFates)?;
        while let Some((_, fate)) = scan.next::<Fate>()? {
            if let Fate::Scope(url) = fate {
                parse(&url).map(Territory::Joined).into_iter().for_each(&mut each);
            }
        }
        Ok(())
    }

    /// Makes the numbers that were given so far durable, unless they are: no request may carry one that is not.
    pub fn make_durable(&mut self) -> Result<()> {
        let bytes = self.list.position();
        if self.durable_bytes < bytes {
            self.list.flush()?;
            self.list.file().sync()?;
            self.durable_bytes = bytes;
        }
        Ok(())
    }

    /// Cuts the files for checkpoint `number`, and says which have to be synced before it counts.
    pub(super) fn cut(&mut self, number: u64) -> Result<Vec<PathBuf>> {
        let (list_bytes, seeds) = (self.list.position(), self.len());
        self.mark = Mark { checkpoint: number, list_bytes, seeds, ..self.mark };
        self.write(&Fate::Cut(self.mark))?;
        self.list.flush()?;
        self.fates.flush()?;
        self.cut_bytes = list_bytes;
        let list = (!self.is_shared()).then(|| self.list.file().path().to_owned());
        Ok(list.into_iter().chain([self.fates.file().path().to_owned()]).collect())
    }

    /// The checkpoint of the last cut is durable.
    pub(super) fn committed(&mut self) {
        self.durable_bytes = self.durable_bytes.max(self.cut_bytes);
    }
}

/// Makes the two files, empty; the list last, for where it is, the other one is too. A shard has no list of its own.
fn create(disk: &Disk, dir: &Path, is_shared: bool) -> Result<()> {
    disk.create_dir_all(&dir.join(layout::SEEDS))?;
    disk.replace(&fates_path(dir), &header(Kind::SeedFates))?;
    if is_shared { Ok(()) } else { disk.replace(&list_path(dir), &header(Kind::Seeds)) }
}

/// Cuts what was being written when a process ended. That is durable before anything is appended, so that nothing of it
/// comes back.
fn cut(file: &DiskFile, end: u64) -> Result<()> {
    let bytes = file.len()?;
    if bytes > end {
        let path = file.path().display();
        tracing::debug!("{path}: {} bytes after byte {end} belong to no checkpoint, and are cut off", bytes - end);
        file.set_len(end)?;
        file.sync()?;
    }
    Ok(())
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
    disk.sync_dir(path.parent().expect("the list lies in a directory"))
}

#[cfg(test)]
mod tests;
