//! Reading the seeds beside a crawl that runs, without a lock: as streams, with a few bytes of memory a seed.
//!
//! A crawl of several shards has one list, and fates in each of its shards: those of a seed are noted by the shard that
//! owns its domain, and behind a redirect to another shard's domain by that one (`SeedReader::for_each_owned`).

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::slice;

use super::records::{Fate, ListedSeed, Scan, fates_path, list_path, open_list, read};
use super::{SeedRecord, SeedStatus};
use crate::disk::{Disk, DiskFile, Kind, Result};

/// Directories with the seeds of a crawl.
pub struct SeedPlaces<'a> {
    /// The directory of the list.
    pub list: &'a Path,
    /// The directories of the shards, which have the fates; that of the list where there is only one.
    pub fates: &'a [PathBuf],
    /// The place in `fates` of the shard that owns a URL.
    pub owner: Box<dyn Fn(&str) -> usize + 'a>,
}

impl fmt::Debug for SeedPlaces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeedPlaces").field("list", &self.list).field("fates", &self.fates).finish_non_exhaustive()
    }
}

impl<'a> SeedPlaces<'a> {
    /// The directories of a crawl of one shard.
    pub(crate) fn of(dir: &'a PathBuf) -> Self {
        SeedPlaces { list: dir, fates: slice::from_ref(dir), owner: Box::new(|_| 0) }
    }
}

/// The seeds of a crawl at one moment.
#[derive(Debug)]
pub struct SeedReader {
    list: DiskFile,
    /// Fates by shard; nothing for one that has noted none yet.
    fates: Vec<Option<Fates>>,
}

/// Notes of one shard about its seeds.
#[derive(Debug)]
struct Fates {
    file: DiskFile,
    last: Lasts,
}

/// The last words about seeds by number.
#[derive(Debug)]
enum Lasts {
    /// Words of a crawl of one shard, which has one about nearly every seed.
    Dense(Vec<Last>),
    /// Words of one of several shards.
    Sparse(HashMap<u32, Last>),
}

/// Offsets of the last word about a seed, and its round; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    status: u64,
    redirect: u64,
    round: u32,
}

impl Lasts {
    fn of(&mut self, number: u32) -> &mut Last {
        match self {
            Lasts::Dense(last) => {
                if last.len() <= number as usize {
                    last.resize(number as usize + 1, Last::default());
                }
                &mut last[number as usize]
            }
            Lasts::Sparse(last) => last.entry(number).or_default(),
        }
    }

    fn get(&self, number: u32) -> Last {
        match self {
            Lasts::Dense(last) => last.get(number as usize),
            Lasts::Sparse(last) => last.get(&number),
        }
        .copied()
        .unwrap_or_default()
    }
}

impl Fates {
    /// Reads what a shard noted; `is_only` says that there are no other shards.
    fn read(file: DiskFile, is_only: bool) -> Result<Fates> {
        let mut last = if is_only { Lasts::Dense(Vec::new()) } else { Lasts::Sparse(HashMap::new()) };
        let mut scan = Scan::begin(&file, Kind::SeedFates)?;
        while let Some((at, fate)) = scan.next::<Fate>()? {
            match fate {
                Fate::Status(number, _) => last.of(number).status = at,
                Fate::Redirect(number, _) => last.of(number).redirect = at,
                Fate::Round(number, round) => *last.of(number) = Last { round, ..Last::default() },
                Fate::Scope(_) | Fate::Cut(_) => {}
            }
        }
        Ok(Fates { file, last })
    }

    fn at(&self, at: u64) -> Result<Option<Fate>> {
        if at == 0 { Ok(None) } else { read(&self.file, at).map(Some) }
    }

    fn status(&self, number: u32) -> Result<SeedStatus> {
        Ok(match self.at(self.last.get(number).status)? {
            Some(Fate::Status(_, status)) => status,
            _ => SeedStatus::Waiting,
        })
    }

    fn redirect(&self, number: u32) -> Result<Option<String>> {
        Ok(match self.at(self.last.get(number).redirect)? {
            Some(Fate::Redirect(_, to)) => Some(to),
            _ => None,
        })
    }
}

impl SeedReader {
    /// Opens the seeds of the crawl of one shard in `dir`; `None` where it has none, as one that an earlier version
    /// left.
    pub fn open(disk: &Disk, dir: &Path) -> Result<Option<Self>> {
        SeedReader::open_in(disk, &SeedPlaces::of(&dir.to_owned()))
    }

    /// Opens those in `places`.
    pub(crate) fn open_in(disk: &Disk, places: &SeedPlaces<'_>) -> Result<Option<Self>> {
        let is_only = places.fates.len() == 1;
        let mut fates = Vec::new();
        for dir in places.fates {
            // whatever the one says of a number was written after the other had it
            let file = disk.open_if_there(fates_path(dir))?;
            fates.push(file.map(|file| Fates::read(file, is_only)).transpose()?);
        }
        if is_only && fates[0].is_none() {
            return Ok(None);
        }
        let Some(list) = disk.open_if_there(list_path(places.list))? else { return Ok(None) };
        Ok(Some(SeedReader { list, fates }))
    }

    /// Calls `each` with every seed of a crawl of one shard and its number, in the order of the numbers.
    pub fn for_each<E: From<crate::disk::Error>>(
        &self,
        each: impl FnMut(u32, SeedRecord) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.for_each_owned(&|_| 0, each)
    }

    /// The same in a crawl of several shards, where `owner` says which of them owns a URL. What became of a seed is
    /// what its owner noted, and, where that is a redirect to another shard's domain, what that shard noted for the
    /// same number behind it, and so on.
    pub(crate) fn for_each_owned<E: From<crate::disk::Error>>(
        &self,
        owner: &dyn Fn(&str) -> usize,
        mut each: impl FnMut(u32, SeedRecord) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut scan = Scan::begin(&self.list, Kind::Seeds)?;
        let mut number = 0;
        while let Some((_, ListedSeed { url, fallback })) = scan.next()? {
            let shard = owner(&url);
            let round = self.of_shard(shard).map_or(0, |fates| fates.last.get(number).round);
            let (status, redirected_to) = self.outcome(number, shard, owner)?;
            each(number, SeedRecord { url, fallback, status, redirected_to, round })?;
            number += 1;
        }
        Ok(())
    }

    fn of_shard(&self, shard: usize) -> Option<&Fates> {
        self.fates.get(shard)?.as_ref()
    }

    /// Returns the fate of the seed `number` that `shard` owns, and the target of its redirect.
    fn outcome(
        &self,
        number: u32,
        mut shard: usize,
        owner: &dyn Fn(&str) -> usize,
    ) -> Result<(SeedStatus, Option<String>)> {
        let (mut status, mut redirected_to, mut passed) = (SeedStatus::Waiting, None, Vec::new());
        loop {
            let Some(fates) = self.of_shard(shard) else { return Ok((status, redirected_to)) };
            // as one table notes it: an answer is not taken back, and what was never fetched again changes nothing
            let noted = fates.status(number)?;
            if !matches!(status, SeedStatus::Answered(_)) || matches!(noted, SeedStatus::Answered(_)) {
                status = noted;
            }
            // a chain that comes back to a shard ends there
            let next = if passed.contains(&shard) { None } else { fates.redirect(number)? };
            match next.as_deref().map(owner).filter(|&further| further != shard) {
                None => return Ok((status, next.or(redirected_to))),
                Some(further) => {
                    passed.push(shard);
                    (redirected_to, shard) = (next, further);
                }
            }
        }
    }
}

/// Calls `each` with every seed of the crawl of one shard in `dir` as it is, by number; says whether there are any.
/// Those that an earlier version left are read from its log.
pub fn for_each<E: From<crate::disk::Error>>(
    disk: &Disk,
    dir: &Path,
    each: impl FnMut(u32, SeedRecord) -> std::result::Result<(), E>,
) -> std::result::Result<bool, E> {
    for_each_in(disk, &SeedPlaces::of(&dir.to_owned()), each)
}

/// The same for the seeds in `places`.
pub fn for_each_in<E: From<crate::disk::Error>>(
    disk: &Disk,
    places: &SeedPlaces<'_>,
    mut each: impl FnMut(u32, SeedRecord) -> std::result::Result<(), E>,
) -> std::result::Result<bool, E> {
    let mut any = false;
    let mut each = |number, seed| {
        any = true;
        each(number, seed)
    };
    if let Some(reader) = SeedReader::open_in(disk, places)? {
        reader.for_each_owned(&places.owner, &mut each)?;
    }
    Ok(any)
}

/// Calls `each` with every seed of the crawl in `dir` as it was listed, by number; says whether there is a list.
pub fn for_each_listed(disk: &Disk, dir: &Path, mut each: impl FnMut(u32, ListedSeed)) -> Result<bool> {
    let Some(file) = open_list(disk, dir)? else { return Ok(false) };
    let mut scan = Scan::begin(&file, Kind::Seeds)?;
    let mut number = 0;
    while let Some((_, seed)) = scan.next()? {
        each(number, seed);
        number += 1;
    }
    Ok(true)
}

/// Calls `each` with the URLs whose territories joined the scope of the crawl in `dir`.
pub fn for_each_scope(disk: &Disk, dir: &Path, mut each: impl FnMut(String)) -> Result<()> {
    let Some(file) = disk.open_if_there(fates_path(dir))? else { return Ok(()) };
    let mut scan = Scan::begin(&file, Kind::SeedFates)?;
    while let Some((_, fate)) = scan.next()? {
        if let Fate::Scope(url) = fate {
            each(url);
        }
    }
    Ok(())
}

/// Counts the seeds of the crawl in `dir`; `None` where there is no list.
pub fn count(disk: &Disk, dir: &Path) -> Result<Option<u64>> {
    let mut count = 0;
    let there = for_each_listed(disk, dir, |number, _| count = u64::from(number) + 1)?;
    Ok(there.then_some(count))
}

/// Bytes of the files.
pub fn bytes(disk: &Disk, dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in [list_path(dir), fates_path(dir)] {
        bytes += disk.open_if_there(path)?.map_or(Ok(0), |file| file.len())?;
    }
    Ok(bytes)
}

/// Bytes of the files in `places`.
pub fn bytes_in(disk: &Disk, places: &SeedPlaces<'_>) -> Result<u64> {
    let paths = std::iter::once(list_path(places.list)).chain(places.fates.iter().map(|dir| fates_path(dir)));
    let length = |path| disk.open_if_there(path)?.map_or(Ok(0), |file| file.len());
    paths.map(length).sum()
}

#[cfg(test)]
mod tests {
    use super::super::{SeedList, SeedTable};
    use super::*;
    use crate::disk::Error;

    /// Returns the number in the host's name: `http://s2.example/` belongs to shard 2.
    fn owner(url: &str) -> usize {
        url.as_bytes()[8].wrapping_sub(b'0').into()
    }

    /// The seeds of a crawl of three shards, after `note` has noted what became of them.
    fn seeds(urls: &[&str], note: impl Fn(&mut [SeedTable])) -> Vec<SeedRecord> {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let fates: Vec<PathBuf> = (0..3).map(|shard| dir.path().join(format!("part{shard}"))).collect();
        let mut tables: Vec<_> = fates.iter().map(|dir| SeedTable::open(&disk, dir, None, None).unwrap()).collect();
        let mut list = SeedList::open(&disk, dir.path(), &[]).unwrap();
        for url in urls {
            list.number(url, None).unwrap();
            tables.iter_mut().for_each(|table| _ = table.number(url, None).unwrap());
        }
        note(&mut tables);
        tables.iter_mut().for_each(|table| _ = table.cut(1).unwrap());
        list.make_durable().unwrap();
        let places = SeedPlaces { list: dir.path(), fates: &fates, owner: Box::new(owner) };
        let mut found = Vec::new();
        let mut each = |number: u32, seed| {
            assert_eq!(number as usize, found.len());
            found.push(seed);
            Ok::<_, Error>(())
        };
        assert!(for_each_in(&disk, &places, &mut each).unwrap());
        found
    }

    #[test]
    fn what_became_of_a_seed_is_what_the_shard_noted_that_fetched_it_last() {
        let urls = ["http://s0.example/", "http://s1.example/", "http://s2.example/", "http://s0.example/x"];
        let answered = |status| SeedStatus::Answered(status);
        let seeds = seeds(&urls, |shards| {
            shards[0].set_status(0, answered(200)).unwrap();
            // to another shard and on from there, within it
            shards[1].set_redirect(1, "http://s2.example/a").unwrap();
            shards[1].set_status(1, SeedStatus::Dropped("no word of its own".to_owned())).unwrap();
            shards[2].set_redirect(1, "http://s2.example/b").unwrap();
            shards[2].set_status(1, answered(404)).unwrap();
            // the target was not fetched yet, or was known before
            shards[2].set_status(2, answered(301)).unwrap();
            shards[2].set_redirect(2, "http://s0.example/later").unwrap();
            // there and back again
            shards[0].set_status(3, SeedStatus::Failed("an earlier attempt".to_owned())).unwrap();
            shards[0].set_redirect(3, "http://s1.example/y").unwrap();
            shards[1].set_redirect(3, "http://s0.example/z").unwrap();
            shards[0].set_status(3, answered(410)).unwrap();
            // of a seed of another shard that nobody redirected here
            shards[1].set_status(0, answered(500)).unwrap();
        });
        let told: Vec<_> = seeds.into_iter().map(|seed| (seed.status, seed.redirected_to)).collect();
        let to = |url: &str| Some(url.to_owned());
        let expected = [
            (answered(200), None),
            (answered(404), to("http://s2.example/b")),
            (answered(301), to("http://s0.example/later")),
            (answered(410), to("http://s0.example/z")),
        ];
        assert_eq!(told, expected);
    }
}
