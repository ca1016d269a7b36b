//! The seeds of a crawl and what became of them, in the catalog by number.
//!
//! A seed keeps its number for ever: queued URLs and archived records refer to it. New seeds of a later run get the
//! next numbers. Only seeds that changed are part of a checkpoint's batch.
//!
//! `seeds.jsonl` is a plain copy of their URLs, a line a seed in the order of their numbers, for readers beside a crawl
//! that has the catalog locked. It is derived: nothing is recovered from it.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::{Batch, Catalog};
use crate::disk::{Disk, DiskFile, Error, Mode, Result, Writer};
use crate::outcome::Failure;
use crate::web::url::CanonicalUrl;

const PREFIX: &str = "seed/";
/// A plain copy of the seeds' URLs.
const COPY_FILE: &str = "seeds.jsonl";
/// Longest line of the copy that is read: two URLs, every byte of them escaped.
const LINE_BYTES_MAX: u64 = 2 * 6 * CanonicalUrl::LENGTH_MAX as u64 + 100;
const COPY_BUFFER_BYTES: usize = 256 << 10;

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
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// A line of the plain copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedCopy {
    /// As [`SeedRecord::url`].
    pub url: String,
    /// As [`SeedRecord::fallback`].
    pub fallback: Option<String>,
}

impl SeedCopy {
    /// Calls `each` with the seeds of the crawl in `dir` and their numbers, as the plain copy has them; says whether there
    /// is a copy. It is read as a stream. A line that is damaged keeps its number and is passed over.
    pub fn for_each(disk: &Disk, dir: &Path, mut each: impl FnMut(u32, SeedCopy)) -> Result<bool> {
        let path = seeds_copy_path(dir);
        let Some(file) = disk.open_if_there(&path)? else { return Ok(false) };
        let mut input = BufReader::with_capacity(COPY_BUFFER_BYTES, Stream { file: &file, at: 0 });
        let mut line = Vec::new();
        for number in 0.. {
            line.clear();
            let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if read.map_err(|e| Error::io("read", &path, e))? == 0 {
                break;
            }
            if let Ok(seed) = serde_json::from_slice(&line) {
                each(number, seed);
            }
        }
        Ok(true)
    }
}

/// A file from its start to its end.
struct Stream<'a> {
    file: &'a DiskFile,
    at: u64,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at).map_err(io::Error::other)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Lines of the copy at `path`, if it is there.
fn lines(disk: &Disk, path: &Path) -> Result<Option<usize>> {
    let Some(file) = disk.open_if_there(path)? else { return Ok(None) };
    let mut input = BufReader::with_capacity(COPY_BUFFER_BYTES, Stream { file: &file, at: 0 });
    let mut count = 0;
    loop {
        let bytes = input.fill_buf().map_err(|e| Error::io("read", path, e))?;
        if bytes.is_empty() {
            return Ok(Some(count));
        }
        count += memchr::memchr_iter(b'\n', bytes).count();
        let read = bytes.len();
        input.consume(read);
    }
}

/// Where the plain copy of the seeds lies.
pub fn seeds_copy_path(dir: &Path) -> PathBuf {
    dir.join(COPY_FILE)
}

/// All seeds.
#[derive(Debug, Default)]
pub struct SeedTable {
    seeds: Vec<SeedRecord>,
    /// Seeds that the catalog knew when the table was loaded.
    loaded: usize,
    numbers: HashMap<String, u32>,
    /// Seeds with a fallback, by origin.
    guesses: HashMap<String, Vec<u32>>,
    changed: BTreeSet<u32>,
}

impl SeedTable {
    /// The seeds in `catalog`.
    pub fn load(catalog: &dyn Catalog, dir: &Path) -> Result<Self> {
        let mut table = SeedTable::default();
        for (key, bytes) in catalog.scan(PREFIX)? {
            let seed: SeedRecord = postcard::from_bytes(&bytes).map_err(|e| {
                Error::damaged(&dir.join("catalog"), 0, format!("a readable record {key}"), e.to_string())
            })?;
            table.insert(seed);
        }
        table.changed.clear();
        table.loaded = table.seeds.len();
        Ok(table)
    }

    /// Puts the plain copy into `dir`, unless the one that is there has all seeds.
    pub fn write_copy(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let path = seeds_copy_path(dir);
        // one more than the catalog has: a process that was killed had written them, and made no checkpoint with them
        if self.loaded == self.seeds.len() && lines(disk, &path)? == Some(self.seeds.len()) {
            return Ok(());
        }
        self.renew_copy(disk, dir)
    }

    /// Puts the plain copy into `dir`, whatever lies there.
    pub fn renew_copy(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let path = seeds_copy_path(dir);
        let aside = dir.join(format!("{COPY_FILE}.tmp"));
        let file = disk.open(&aside, Mode::Create)?;
        file.set_len(0)?;
        let mut writer = Writer::new(file, 0, COPY_BUFFER_BYTES);
        for seed in &self.seeds {
            let copy = SeedCopy { url: seed.url.clone(), fallback: seed.fallback.clone() };
            let mut line = serde_json::to_vec(&copy).expect("a seed consists of plain data");
            line.push(b'\n');
            writer.push(&line)?;
        }
        writer.flush()?;
        writer.file().sync()?;
        disk.rename(&aside, &path)?;
        disk.sync_dir(dir)
    }

    /// The number of the seed `url`, which is added when it is new.
    pub fn number(&mut self, url: &str, fallback: Option<&str>) -> u32 {
        if let Some(&number) = self.numbers.get(url) {
            return number;
        }
        let fallback = fallback.map(str::to_owned);
        let status = SeedStatus::Waiting;
        self.insert(SeedRecord { url: url.to_owned(), fallback, status, redirected_to: None, round: 0 })
    }

    fn insert(&mut self, seed: SeedRecord) -> u32 {
        let number = u32::try_from(self.seeds.len()).expect("fewer than 4 G seeds");
        self.numbers.insert(seed.url.clone(), number);
        if seed.fallback.is_some()
            && let Ok(url) = CanonicalUrl::parse(&seed.url)
        {
            self.guesses.entry(url.origin()).or_default().push(number);
        }
        self.seeds.push(seed);
        self.changed.insert(number);
        number
    }

    /// Whether `url` is a seed already.
    pub fn has(&self, url: &str) -> bool {
        self.numbers.contains_key(url)
    }

    /// Whether `url` is a seed whose name could not be resolved, or only to addresses that were refused.
    pub fn failed_by_name(&self, url: &str) -> bool {
        let names = [Failure::NoSuchHost, Failure::Dns, Failure::PrivateAddress].map(|failure| failure.to_string());
        let of_names = |why: &str| names.iter().any(|name| why.contains(name.as_str())) || why.contains("name servers");
        match self.numbers.get(url).and_then(|&number| self.get(number)).map(|seed| &seed.status) {
            Some(SeedStatus::Failed(why) | SeedStatus::Dropped(why)) => of_names(why),
            _ => false,
        }
    }

    /// The seed `number`.
    pub fn get(&self, number: u32) -> Option<&SeedRecord> {
        self.seeds.get(number as usize)
    }

    /// Seeds below `origin` whose lines may mean another URL too.
    pub fn guesses_at(&self, origin: &str) -> Vec<u32> {
        self.guesses.get(origin).cloned().unwrap_or_default()
    }

    /// Puts the seed `number` into a round of fetching again, and forgets what became of it before; says whether it was
    /// not in that round already.
    pub fn enter_round(&mut self, number: u32, round: u32) -> bool {
        let Some(seed) = self.seeds.get_mut(number as usize).filter(|seed| seed.round != round) else { return false };
        (seed.round, seed.status, seed.redirected_to) = (round, SeedStatus::Waiting, None);
        self.changed.insert(number);
        true
    }

    /// Whether `url` is a seed of that round and nothing has become of it yet.
    pub fn waits_in_round(&self, url: &str, round: u32) -> bool {
        let number = self.numbers.get(url);
        number.is_some_and(|&number| self.number_waits_in_round(number, round))
    }

    /// Whether the seed `number` is one of that round and nothing has become of it yet.
    pub fn number_waits_in_round(&self, number: u32, round: u32) -> bool {
        let seed = self.get(number).filter(|seed| round > 0 && seed.round == round);
        seed.is_some_and(|seed| seed.status == SeedStatus::Waiting)
    }

    /// Notes what became of the seed `number`. An answer is not taken back: of the two URLs that a line may mean, one
    /// can fail after the other was fetched.
    pub fn set_status(&mut self, number: u32, status: SeedStatus) {
        if let Some(seed) = self.seeds.get_mut(number as usize)
            && (!matches!(seed.status, SeedStatus::Answered(_)) || matches!(status, SeedStatus::Answered(_)))
        {
            seed.status = status;
            self.changed.insert(number);
        }
    }

    /// Notes where the seed `number` redirects.
    pub fn set_redirect(&mut self, number: u32, to: &str) {
        if let Some(seed) = self.seeds.get_mut(number as usize) {
            seed.redirected_to = Some(to.to_owned());
            self.changed.insert(number);
        }
    }

    /// All seeds by number.
    pub fn all(&self) -> &[SeedRecord] {
        &self.seeds
    }

    /// What has changed since [`SeedTable::drain_changes`] was called last.
    pub(super) fn changes(&self) -> impl Iterator<Item = (u32, &SeedRecord)> {
        self.changed.iter().filter_map(|&number| Some((number, self.get(number)?)))
    }

    /// Puts what has changed since the last call into `batch`.
    pub fn drain_changes(&mut self, batch: &mut Batch) {
        for number in std::mem::take(&mut self.changed) {
            let seed = &self.seeds[number as usize];
            let bytes = postcard::to_stdvec(seed).expect("a seed consists of plain data");
            batch.put(format!("{PREFIX}{number:010}"), bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::MemoryCatalog;

    #[test]
    fn seeds_keep_their_numbers_and_only_changes_are_written() {
        let catalog = MemoryCatalog::default();
        let mut table = SeedTable::default();
        let first = table.number("http://a.example/", None);
        let second = table.number("https://b.example/", Some("http://b.example/"));
        assert_eq!((first, second), (0, 1));
        let mut batch = Batch::new();
        table.drain_changes(&mut batch);
        catalog.commit(&batch).unwrap();

        let mut table = SeedTable::load(&catalog, Path::new("crawl")).unwrap();
        assert_eq!(table.number("https://b.example/", None), 1);
        table.set_status(1, SeedStatus::Answered(200));
        let mut batch = Batch::new();
        table.drain_changes(&mut batch);
        assert_eq!(batch.changes().len(), 1);
        catalog.commit(&batch).unwrap();
        let table = SeedTable::load(&catalog, Path::new("crawl")).unwrap();
        assert_eq!(table.get(1).unwrap().status, SeedStatus::Answered(200));
        assert_eq!(table.get(1).unwrap().fallback.as_deref(), Some("http://b.example/"));
    }

    #[test]
    fn the_plain_copy_has_every_seed_under_its_number() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let read = || {
            let mut seeds = Vec::new();
            let there = SeedCopy::for_each(&disk, dir.path(), |number, seed| seeds.push((number, seed.url))).unwrap();
            there.then_some(seeds)
        };
        assert_eq!(read(), None);
        let mut table = SeedTable::default();
        table.number("http://a.example/", None);
        table.write_copy(&disk, dir.path()).unwrap();
        table.number("https://b.example/", Some("http://b.example/"));
        table.write_copy(&disk, dir.path()).unwrap();
        let both = [(0, "http://a.example/".to_owned()), (1, "https://b.example/".to_owned())];
        assert_eq!(read().unwrap(), both);
        let path = dir.path().join(COPY_FILE);
        let text = std::fs::read_to_string(&path).unwrap().replace("{\"url\":\"http://a", "{\"url\":http://a");
        std::fs::write(&path, text).unwrap();
        assert_eq!(read().unwrap(), both[1..]);
    }
}
