//! Reading the seeds beside a crawl that runs, without a lock: as streams, with a few bytes of memory a seed.

use std::path::Path;

use super::migrate::OldLine;
use super::records::{Fate, ListedSeed, Scan, fates_path, list_path, open_list, read};
use super::{SeedRecord, SeedStatus};
use crate::disk::{Disk, DiskFile, Kind, Result};

/// The seeds of a crawl at one moment.
#[derive(Debug)]
pub struct SeedReader {
    list: DiskFile,
    fates: DiskFile,
    /// By number.
    last: Vec<Last>,
}

/// Where the last word about a seed lies, and its round; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    status: u64,
    redirect: u64,
    round: u32,
}

impl SeedReader {
    /// Opens the seeds of the crawl in `dir`; `None` where it has none, as one that an earlier version left.
    pub fn open(disk: &Disk, dir: &Path) -> Result<Option<Self>> {
        // whatever the one says of a number was written after the other had it
        let Some(fates) = disk.open_if_there(fates_path(dir))? else { return Ok(None) };
        let mut last: Vec<Last> = Vec::new();
        let mut scan = Scan::begin(&fates, Kind::SeedFates)?;
        while let Some((at, fate)) = scan.next::<Fate>()? {
            let (number, change): (u32, &dyn Fn(&mut Last)) = match &fate {
                Fate::Status(number, _) => (*number, &|last| last.status = at),
                Fate::Redirect(number, _) => (*number, &|last| last.redirect = at),
                Fate::Round(number, round) => (*number, &|last| *last = Last { round: *round, ..Last::default() }),
                Fate::Scope(_) | Fate::Cut(_) => continue,
            };
            if last.len() <= number as usize {
                last.resize(number as usize + 1, Last::default());
            }
            change(&mut last[number as usize]);
        }
        let Some(list) = open_list(disk, dir)? else { return Ok(None) };
        Ok(Some(SeedReader { list, fates, last }))
    }

    /// Calls `each` with every seed and its number, in the order of the numbers.
    pub fn for_each<E: From<crate::disk::Error>>(
        &self,
        mut each: impl FnMut(u32, SeedRecord) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut scan = Scan::begin(&self.list, Kind::Seeds)?;
        let mut number = 0;
        while let Some((_, ListedSeed { url, fallback })) = scan.next()? {
            let last = self.last.get(number as usize).copied().unwrap_or_default();
            let status = match self.fate(last.status)? {
                Some(Fate::Status(_, status)) => status,
                _ => SeedStatus::Waiting,
            };
            let redirected_to = match self.fate(last.redirect)? {
                Some(Fate::Redirect(_, to)) => Some(to),
                _ => None,
            };
            each(number, SeedRecord { url, fallback, status, redirected_to, round: last.round })?;
            number += 1;
        }
        Ok(())
    }

    fn fate(&self, at: u64) -> Result<Option<Fate>> {
        if at == 0 { Ok(None) } else { read(&self.fates, at).map(Some) }
    }
}

/// Calls `each` with every seed of the crawl in `dir` as it stands, by number; says whether there are any. Those that
/// an earlier version left are read from its log.
pub fn for_each<E: From<crate::disk::Error>>(
    disk: &Disk,
    dir: &Path,
    mut each: impl FnMut(u32, SeedRecord) -> std::result::Result<(), E>,
) -> std::result::Result<bool, E> {
    let mut any = false;
    let mut each = |number, seed| {
        any = true;
        each(number, seed)
    };
    match SeedReader::open(disk, dir)? {
        Some(reader) => reader.for_each(&mut each)?,
        None => OldLine::read(disk, dir)?.into_iter().try_for_each(|(number, line)| each(number, line.into()))?,
    }
    Ok(any)
}

/// Calls `each` with every seed of the crawl in `dir` as it was listed, by number; says whether there is a list.
pub fn for_each_listed(disk: &Disk, dir: &Path, mut each: impl FnMut(u32, ListedSeed)) -> Result<bool> {
    let Some(file) = open_list(disk, dir)? else {
        let old = OldLine::read(disk, dir)?;
        let any = !old.is_empty();
        old.into_iter().for_each(|(number, line)| each(number, line.listed()));
        return Ok(any);
    };
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

/// How many seeds the crawl in `dir` has; `None` where there is no list.
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
