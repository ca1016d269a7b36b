//! The file of a checkpoint: what was in RAM, what lies in the stores' files, and whose crawl it is.
//!
//! ```text
//! checkpoint.g000042   header, then 9 sections: length u64, crc32 u32, bytes
//!                      identity | URL-seen arrays | robots arrays | DNS arrays | frontier | replayed keys |
//!                      pattern budgets | positions in the links of other shards | the record
//! ```
//! In a crawl that fetches pages again, three more stand before the record: arrays of the store of visits, what of the
//! calendar was in memory, and what its schedule has learnt.

//! It is written when everything that it names is durable. So a file that is whole, that is: every section has its
//! checksum, nothing lies behind the last one, and the record has the number of the name, is a state that the crawl can
//! go on from. Checkpoint 0 has an identity and nothing else.
//!
//! Version 11 is that of a crawl with a calendar; no section is left out. Version 10 is that of a crawl that counts
//! supporters of domains: the arrays of its store of pairs stand right before the record, which ends with the state of
//! that store, and none of the sections before them is left out. Version 9 is
//! that of a crawl that renders pages: what was learnt of them stands before the record, behind the counts of pages by
//! what they say. Version 8 is that of a crawl that counts pages by what they say: the counts stand before the record,
//! behind the cookies, which are empty where there are none. Version 7 is that of a crawl that keeps cookies: they
//! stand before the record, behind the three sections of a calendar, which are empty where there is none. All others
//! write version 4, whose record ends before what is said of one. Versions 5 to 10 had calendars with places of the
//! archive: what they say of the calendar is left out, and it is made from the archive as if fetching again had just
//! been switched on. Version 3 had no count of requisites in its record (`earlier`). Version 2 was that of a crawl of
//! one shard, and had no section about links. Version 1 had no identity, and was written before the stores' files were
//! synced: it counts where a catalog names it, and for readers beside a crawl.

use std::path::{Path, PathBuf};

use super::super::identity::Identity;
use super::commit::Commit;
use super::{Checkpoint, earlier};
use crate::disk::{Disk, Error, HEADER_BYTES, Header, Kind, Mode, Result};
use crate::fingerprint::Fingerprint;

const VERSION: u16 = 11;
/// From this version on nothing of a calendar names a place of the archive.
const WITHOUT_PLACES: u16 = 11;
/// From this version on there are pairs of domains.
const WITH_SUPPORT: u16 = 10;
/// From this version on there is a section about renderings.
const WITH_RENDERING: u16 = 9;
/// From this version on there are counts of pages by what they say.
const WITH_TEXTS: u16 = 8;
/// From this version on there is a section of cookies, and none of a calendar is left out.
const WITH_COOKIES: u16 = 7;
/// From this version on there are the sections of a calendar.
const WITH_CALENDAR: u16 = 5;
/// From this version on the record has a count of requisites.
const WITH_REQUISITES: u16 = 4;
/// From this version on there is a section about the links of other shards, which is empty in a crawl of one.
const WITH_EXCHANGE: u16 = 3;
/// From this version on a file is written last, and has an identity.
const WRITTEN_LAST: u16 = 2;
const SECTION_HEAD_BYTES: usize = 12;
/// How often a reader looks for a whole file while a crawl replaces them.
const LOOKS: usize = 20;

/// A URL whose page is in the archive already: its key, and whether it was the forced one of that key.
pub type Replayed = (Fingerprint, bool);

/// What was in RAM at a cut.
#[derive(Debug, Default)]
pub struct Sections {
    /// Arrays of URL-seen.
    pub seen: Vec<u8>,
    /// Arrays of the robots store.
    pub robots: Vec<u8>,
    /// Arrays of the DNS store.
    pub dns: Vec<u8>,
    /// The active side and the arrays of the frontier.
    pub frontier: Vec<u8>,
    /// Replayed URLs that were not met again.
    pub replayed: Vec<Replayed>,
    /// URLs by pattern.
    pub patterns: Vec<u8>,
    /// Arrays of the store of visits; nothing where pages are not fetched again, as the next two.
    pub visits: Vec<u8>,
    /// What of the calendar was in memory.
    pub calendar: Vec<u8>,
    /// What the schedule has learnt.
    pub schedule: Vec<u8>,
    /// Positions in the links of other shards, and the link files that others may have to read; nothing in a crawl of
    /// one shard.
    pub exchange: Vec<u8>,
    /// Cookies that servers have set; nothing where there are none.
    pub cookies: Vec<u8>,
    /// Pages by what they say; nothing where the links of all are followed.
    pub texts: Vec<u8>,
    /// What was learnt of pages that are rendered; nothing where none is.
    pub rendering: Vec<u8>,
    /// Arrays of the store of pairs of domains; nothing where supporters are not counted.
    pub support: Vec<u8>,
}

/// A checkpoint file as it was read.
#[derive(Debug)]
pub struct CheckpointFile {
    /// Whose crawl it is; `None` in version 1.
    pub identity: Option<Identity>,
    /// What was in RAM.
    pub sections: Sections,
    /// What it names: `None` for checkpoint 0, an error where that part alone is damaged.
    pub record: Result<Option<Checkpoint>>,
    /// Its length.
    pub length: u64,
    /// crc32 of all of it.
    pub checksum: u32,
}

impl CheckpointFile {
    /// Reads the checkpoint file `number`.
    pub fn read(disk: &Disk, dir: &Path, number: u64) -> Result<Self> {
        let path = checkpoint_path(dir, number);
        let version = Header::check(&disk.open(&path, Mode::Read)?, Kind::Checkpoint, VERSION)?.version;
        let bytes = disk.read(&path)?;
        let mut at = HEADER_BYTES as usize;
        let mut section = || {
            let section = read_section(&path, &bytes, at)?;
            at += SECTION_HEAD_BYTES + section.len();
            Ok::<_, Error>(section.to_vec())
        };
        let identity = match version >= WRITTEN_LAST {
            true => Some(Identity::from_bytes(&section()?, &path, HEADER_BYTES)?),
            false => None,
        };
        let (seen, robots, dns, frontier) = (section()?, section()?, section()?, section()?);
        let (replayed, patterns) = (replayed(&section()?), section()?);
        let exchange = if version >= WITH_EXCHANGE { section()? } else { Vec::new() };
        let mut of_calendar = || if version >= WITH_CALENDAR { section() } else { Ok(Vec::new()) };
        let mut of_calendar = || of_calendar().map(|read| if version >= WITHOUT_PLACES { read } else { Vec::new() });
        let (visits, calendar, schedule) = (of_calendar()?, of_calendar()?, of_calendar()?);
        let cookies = if version >= WITH_COOKIES { section()? } else { Vec::new() };
        let texts = if version >= WITH_TEXTS { section()? } else { Vec::new() };
        let rendering = if version >= WITH_RENDERING { section()? } else { Vec::new() };
        let support = if version >= WITH_SUPPORT { section()? } else { Vec::new() };
        let memory = Sections { seen, robots, dns, frontier, replayed, patterns, exchange, ..Sections::default() };
        let sections = Sections { visits, calendar, schedule, cookies, texts, rendering, support, ..memory };
        let record = section().and_then(|record| read_record(&path, (number, version), &record));
        let end = at;
        let record = record.and_then(|record| match end == bytes.len() {
            true => Ok(record),
            false => Err(Error::damaged(&path, end as u64, "the end of the file", format!("{} bytes", bytes.len()))),
        });
        let checksum = crc32fast::hash(&bytes);
        Ok(CheckpointFile { identity, sections, record, length: bytes.len() as u64, checksum })
    }
}

/// Writes the checkpoint file `number` and makes it and its name durable. Everything that `record` names has to be so
/// already.
pub(in crate::engine) fn write(
    disk: &Disk,
    dir: &Path,
    (number, identity): (u64, &Identity),
    sections: &Sections,
    record: Option<&Checkpoint>,
) -> Result<Commit> {
    let replayed = sections.replayed.iter();
    let replayed: Vec<u8> =
        replayed.flat_map(|(key, forced)| key.bits().to_le_bytes().into_iter().chain([u8::from(*forced)])).collect();
    let encoded = record.map(|record| postcard::to_stdvec(record).expect("a checkpoint consists of plain data"));
    let (identity, mut encoded) = (identity.to_bytes(), encoded.unwrap_or_default());
    let Sections { seen, robots, dns, frontier, patterns, exchange, .. } = sections;
    let Sections { visits, calendar, schedule, cookies, texts, rendering, support, .. } = sections;
    // a section that is there needs all before it, too
    let is_written = |section: &Vec<u8>| record.is_some() && !section.is_empty();
    let has_calendar = record.is_some_and(|record| record.calendar.is_some());
    let has_support = has_calendar || record.is_some_and(|record| record.support.is_some());
    let has_rendering = has_support || is_written(rendering);
    let has_texts = has_rendering || is_written(texts);
    let has_cookies = has_texts || is_written(cookies);
    let version = match () {
        () if has_calendar => WITHOUT_PLACES,
        () if has_support => WITH_SUPPORT,
        () if has_rendering => WITH_RENDERING,
        () if has_texts => WITH_TEXTS,
        () if has_cookies => WITH_COOKIES,
        () => WITH_REQUISITES,
    };
    let of_calendar = [visits, calendar, schedule].into_iter().filter(|_| has_cookies);
    let more = [(cookies, has_cookies), (texts, has_texts), (rendering, has_rendering), (support, has_support)];
    let more = of_calendar.chain(more.into_iter().filter_map(|(section, is_there)| is_there.then_some(section)));
    let left_out = match (has_support, has_cookies) {
        (true, _) => 0,
        (false, true) => earlier::WITHOUT_SUPPORT.len(),
        (false, false) => earlier::WITHOUT_CALENDAR.len(),
    };
    encoded.truncate(encoded.len().saturating_sub(left_out));
    let mut bytes = Header { kind: Kind::Checkpoint, version }.to_bytes().to_vec();
    let before = [&identity, seen, robots, dns, frontier, &replayed, patterns, exchange];
    for section in before.into_iter().chain(more).chain([&encoded]) {
        bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(section).to_le_bytes());
        bytes.extend_from_slice(section);
    }
    let file = disk.open(checkpoint_path(dir, number), Mode::Create)?;
    file.set_len(0)?;
    file.write_all_at(&bytes, 0)?;
    file.sync()?;
    disk.sync_dir(dir)?;
    let clean = record.is_some_and(|record| record.clean);
    Ok(Commit { number, length: bytes.len() as u64, checksum: crc32fast::hash(&bytes), clean })
}

fn replayed(section: &[u8]) -> Vec<Replayed> {
    let (entries, _) = section.as_chunks::<9>();
    let entry = |&[a, b, c, d, e, f, g, h, forced]: &[u8; 9]| {
        (Fingerprint::from_bits(u64::from_le_bytes([a, b, c, d, e, f, g, h])), forced != 0)
    };
    entries.iter().map(entry).collect()
}

fn read_record(path: &Path, (number, version): (u64, u16), bytes: &[u8]) -> Result<Option<Checkpoint>> {
    if number == 0 && bytes.is_empty() {
        return Ok(None);
    }
    let damaged = |e: postcard::Error| Error::damaged(path, 0, "a readable checkpoint record", e.to_string());
    let record: Checkpoint = match version {
        WITHOUT_PLACES.. => postcard::from_bytes(bytes),
        WITH_SUPPORT => postcard::from_bytes(bytes).map(earlier::without_calendar),
        WITH_CALENDAR.. => earlier::read_without_support(bytes).map(earlier::without_calendar),
        WITH_REQUISITES => earlier::read_without_calendar(bytes),
        _ => earlier::read(bytes),
    }
    .map_err(damaged)?;
    if record.number != number {
        let (expected, found) = (format!("checkpoint {number}"), format!("checkpoint {}", record.number));
        return Err(Error::damaged(path, 0, expected, found));
    }
    Ok(Some(record))
}

fn read_section<'a>(path: &Path, bytes: &'a [u8], at: usize) -> Result<&'a [u8]> {
    let damaged = |expected: &str, found: String| Error::damaged(path, at as u64, expected, found);
    let head = bytes.get(at..at + SECTION_HEAD_BYTES).ok_or_else(|| damaged("a section", "end of file".into()))?;
    let (length, sum) = head.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("8 bytes were split off"));
    let sum = u32::from_le_bytes(sum.try_into().expect("4 bytes remain"));
    let start = at + SECTION_HEAD_BYTES;
    let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
    let section = end
        .and_then(|end| bytes.get(start..end))
        .ok_or_else(|| damaged("a whole section", format!("a length of {length} in a file of {}", bytes.len())))?;
    let found = crc32fast::hash(section);
    if found != sum {
        return Err(damaged(&format!("section checksum {sum:08x}"), format!("{found:08x}")));
    }
    Ok(section)
}

/// The newest whole checkpoint file in `dir`, read without the catalog and without a lock; `None` where there is none,
/// or only that with which the crawl began.
///
/// A crawl that runs deletes the file before, and may be writing the next one: what vanishes between two looks is
/// looked for again, a file that is not whole gives way to the one before it. The newest file may be one that its crawl
/// was killed over before the catalog knew it; what it says was true when it was made.
pub fn newest(disk: &Disk, dir: &Path) -> Result<Option<(Checkpoint, Sections)>> {
    newest_that(disk, dir, |number| {
        let file = CheckpointFile::read(disk, dir, number)?;
        Ok(file.record?.map(|record| (record, file.sections)))
    })
}

/// What the newest checkpoint file names, without what was in RAM, which is passed over unread: for readers who only
/// ask what is durable. All that a file names was so before its first byte was written. Nothing of a directory that was
/// last written by a version whose files were written first.
pub fn newest_record(disk: &Disk, dir: &Path) -> Result<Option<Checkpoint>> {
    newest_that(disk, dir, |number| record_of(disk, dir, number))
}

fn newest_that<T>(disk: &Disk, dir: &Path, read: impl Fn(u64) -> Result<Option<T>>) -> Result<Option<T>> {
    let mut damage = None;
    for _ in 0..LOOKS {
        let mut numbers = numbers(disk, dir)?;
        numbers.retain(|&number| number > 0);
        if numbers.is_empty() {
            return Ok(None);
        }
        for number in numbers.into_iter().rev() {
            match read(number) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(e) if e.is_not_found() => {}
                Err(e @ Error::Damaged { .. }) => damage = Some(e),
                Err(e) => return Err(e),
            }
        }
    }
    match damage {
        // the file before the first one is there until that one counts
        Some(_) if numbers(disk, dir)? == [0, 1] && CheckpointFile::read(disk, dir, 0).is_ok() => Ok(None),
        Some(damage) => Err(damage),
        None => Ok(None),
    }
}

/// The record of the checkpoint file `number`: its last section.
fn record_of(disk: &Disk, dir: &Path, number: u64) -> Result<Option<Checkpoint>> {
    let path = checkpoint_path(dir, number);
    let file = disk.open(&path, Mode::Read)?;
    let version = Header::check(&file, Kind::Checkpoint, VERSION)?.version;
    if version < WRITTEN_LAST {
        return Ok(None);
    }
    let before = 7 + u64::from(version >= WITH_EXCHANGE) + 3 * u64::from(version >= WITH_CALENDAR);
    let each = [WITH_COOKIES, WITH_TEXTS, WITH_RENDERING, WITH_SUPPORT];
    let before = before + each.into_iter().filter(|&from| version >= from).count() as u64;
    let length = file.len()?;
    let mut at = HEADER_BYTES;
    for _ in 0..before {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at)?;
        let section = u64::from_le_bytes(bytes);
        let end = at.checked_add(SECTION_HEAD_BYTES as u64).and_then(|start| start.checked_add(section));
        let end = end.filter(|&end| end <= length);
        at = end.ok_or_else(|| Error::damaged(&path, at, "a whole section", format!("a length of {section}")))?;
    }
    let mut bytes = vec![0; usize::try_from(length - at).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, at)?;
    let section = read_section(&path, &bytes, 0)?;
    if SECTION_HEAD_BYTES + section.len() != bytes.len() {
        let found = format!("{} bytes", bytes.len());
        return Err(Error::damaged(&path, at, "a record and the end of the file", found));
    }
    read_record(&path, (number, version), section)
}

/// The newest whole file of those that are written last: its number, its content, and whose crawl it is. Files that are
/// not whole are passed over; one of a later version, or one that cannot be read now, is an error.
pub(in crate::engine) fn newest_to_go_on_from(
    disk: &Disk,
    dir: &Path,
) -> Result<Option<(u64, Identity, CheckpointFile)>> {
    for number in numbers(disk, dir)?.into_iter().rev() {
        match CheckpointFile::read(disk, dir, number) {
            Ok(CheckpointFile { identity: Some(identity), sections, record: Ok(record), length, checksum }) => {
                let file = CheckpointFile { identity: None, sections, record: Ok(record), length, checksum };
                return Ok(Some((number, identity, file)));
            }
            Ok(_) | Err(Error::Damaged { .. }) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The numbers of the checkpoint files in `dir`, in their order.
pub(in crate::engine) fn numbers(disk: &Disk, dir: &Path) -> Result<Vec<u64>> {
    let mut numbers: Vec<u64> = disk.list(dir)?.iter().filter_map(|name| number_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number of a checkpoint file by its name.
pub fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("checkpoint.g")?.parse().ok()
}

/// Where the checkpoint file `number` lies.
pub fn checkpoint_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("checkpoint.g{number:06}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checkpoint, identity};
    use super::*;
    use crate::clock::Time;

    fn write_file(dir: &Path, number: u64) {
        let sections = Sections { seen: vec![1, 2, 3], ..Sections::default() };
        let record = checkpoint(number);
        write(&Disk::real(), dir, (number, &identity()), &sections, Some(&record)).unwrap();
    }

    #[test]
    fn a_checkpoint_file_speaks_for_itself_and_the_newest_whole_one_counts() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        assert!(newest(&disk, dir.path()).unwrap().is_none());
        write(&disk, dir.path(), (0, &identity()), &Sections::default(), None).unwrap();
        assert!(newest(&disk, dir.path()).unwrap().is_none());
        assert_eq!(newest_to_go_on_from(&disk, dir.path()).unwrap().unwrap().0, 0);
        write_file(dir.path(), 7);
        write_file(dir.path(), 8);
        let (found, sections) = newest(&disk, dir.path()).unwrap().unwrap();
        assert_eq!((found.number, found.time, sections.seen.as_slice()), (8, Time::from_ms(8), &[1, 2, 3][..]));
        assert_eq!(newest_record(&disk, dir.path()).unwrap().unwrap().time, Time::from_ms(8));
        assert_eq!(CheckpointFile::read(&disk, dir.path(), 8).unwrap().identity, Some(identity()));
        // the next one is being written
        let whole = std::fs::read(checkpoint_path(dir.path(), 8)).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(checkpoint_path(dir.path(), 8), &whole[..cut]).unwrap();
            assert_eq!(newest(&disk, dir.path()).unwrap().unwrap().0.number, 7, "{cut} bytes");
            assert_eq!(newest_record(&disk, dir.path()).unwrap().unwrap().number, 7, "{cut} bytes");
            assert_eq!(newest_to_go_on_from(&disk, dir.path()).unwrap().unwrap().0, 7, "{cut} bytes");
        }
        disk.remove(&checkpoint_path(dir.path(), 7)).unwrap();
        assert!(matches!(newest(&disk, dir.path()), Err(Error::Damaged { .. })));
    }

    #[test]
    fn a_first_checkpoint_that_is_not_whole_is_none_yet() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        write(&disk, dir.path(), (0, &identity()), &Sections::default(), None).unwrap();
        write_file(dir.path(), 1);
        let whole = std::fs::read(checkpoint_path(dir.path(), 1)).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(checkpoint_path(dir.path(), 1), &whole[..cut]).unwrap();
            assert!(newest(&disk, dir.path()).unwrap().is_none(), "{cut} bytes");
            assert!(newest_record(&disk, dir.path()).unwrap().is_none(), "{cut} bytes");
        }
        // it counted: then the one before was removed
        disk.remove(&checkpoint_path(dir.path(), 0)).unwrap();
        assert!(matches!(newest(&disk, dir.path()), Err(Error::Damaged { .. })));
    }

    #[test]
    fn a_file_has_no_more_sections_than_its_crawl_needs() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let (record, mut lengths) = (checkpoint(5), Vec::new());
        let seen = || Sections { seen: vec![1, 2, 3], ..Sections::default() };
        let cookies = Sections { cookies: vec![4], ..seen() };
        let texts = Sections { texts: vec![5, 6], ..seen() };
        let rendering = Sections { rendering: vec![7, 8, 9], ..seen() };
        let support = Sections { support: vec![10, 11, 12, 13], ..seen() };
        let counting = Checkpoint { support: Some(record.seen.clone()), ..checkpoint(5) };
        let all = [(seen(), 4), (cookies, 7), (texts, 8), (rendering, 9), (support, 10)];
        for (sections, version) in all {
            let record = if version == 10 { &counting } else { &record };
            write(&disk, dir.path(), (5, &identity()), &sections, Some(record)).unwrap();
            let path = checkpoint_path(dir.path(), 5);
            let header = Header::check(&disk.open(&path, Mode::Read).unwrap(), Kind::Checkpoint, VERSION).unwrap();
            assert_eq!(header.version, version);
            let read = CheckpointFile::read(&disk, dir.path(), 5).unwrap();
            let of = |sections: &Sections| {
                [&sections.cookies, &sections.texts, &sections.rendering, &sections.support].map(Clone::clone)
            };
            assert_eq!(of(&read.sections), of(&sections));
            assert_eq!(read.record.unwrap().unwrap().support, record.support);
            assert_eq!(newest_record(&disk, dir.path()).unwrap().unwrap().support, record.support);
            lengths.push(read.length);
        }
        let head = SECTION_HEAD_BYTES as u64;
        // the sections of a calendar, the two numbers that say that there is none, and the section itself
        assert_eq!(lengths[1] - lengths[0], 4 * head + 2 + 1);
        assert_eq!(lengths[2] - lengths[1], head + 2 - 1);
        assert_eq!(lengths[3] - lengths[2], head + 3 - 2);
        assert!(lengths[4] > lengths[3] + head + 4 - 3);
    }

    #[test]
    fn a_calendar_with_places_of_the_archive_is_left_out_with_all_that_belongs_to_it() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let of_calendar = || Sections { visits: vec![1], calendar: vec![2], schedule: vec![3], ..Sections::default() };
        let state = checkpoint(5).seen;
        let record = Checkpoint { calendar: Some(Default::default()), visits: Some(state), ..checkpoint(5) };
        write(&disk, dir.path(), (5, &identity()), &Sections { cookies: vec![4], ..of_calendar() }, Some(&record))
            .unwrap();
        let path = checkpoint_path(dir.path(), 5);
        let read = || CheckpointFile::read(&disk, dir.path(), 5).unwrap();
        let written = read().sections;
        assert_eq!([written.visits, written.calendar, written.schedule, written.cookies], [[1], [2], [3], [4]]);
        assert!(newest_record(&disk, dir.path()).unwrap().unwrap().calendar.is_some());
        // the version before had the same sections
        let header = Header { kind: Kind::Checkpoint, version: WITHOUT_PLACES - 1 }.to_bytes();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&header[..], &bytes[header.len()..]].concat()).unwrap();
        let CheckpointFile { sections, record, .. } = read();
        assert_eq!([sections.visits, sections.calendar, sections.schedule], [[0_u8; 0]; 3]);
        assert_eq!(sections.cookies, [4]);
        let record = record.unwrap().unwrap();
        assert!(record.calendar.is_none() && record.visits.is_none());
        assert!(newest_record(&disk, dir.path()).unwrap().unwrap().calendar.is_none());
    }

    #[test]
    fn n02_a_whole_file_under_the_name_of_another_checkpoint_is_damage() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        write_file(dir.path(), 7);
        disk.rename(&checkpoint_path(dir.path(), 7), &checkpoint_path(dir.path(), 8)).unwrap();
        let record = CheckpointFile::read(&disk, dir.path(), 8).unwrap().record;
        assert!(matches!(record, Err(Error::Damaged { .. })), "{record:?}");
        assert!(newest_to_go_on_from(&disk, dir.path()).unwrap().is_none());
    }
}
