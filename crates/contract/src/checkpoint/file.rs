//! The file of a checkpoint: what was in RAM, what is in the stores' files, and whose crawl it is.
//!
//! ```text
//! checkpoint.g000042   header, then sections
//!                      section: length of the name u8, name, length u64, crc32 u32 of name and bytes, bytes
//! ```
//! The first section is the identity, the last one the record; between them is what was in RAM, as far as there was
//! anything ([`Sections`]). A section that is not known is one of a newer version.
//!
//! The file is written aside when everything that it names is durable, and then gets its name: at that moment the
//! checkpoint exists. So a file that is whole, that is: every section has its checksum, nothing is behind the record,
//! and that has the number of the name, is a state that the crawl can go on from. Checkpoint 0 has an identity and an
//! empty record.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Checkpoint;
use super::identity::Identity;
use crate::disk::{Disk, Error, HEADER_BYTES, Header, Kind, Mode, Result};
use crate::fingerprint::Fingerprint;
use crate::record::layout::{CHECKPOINT_PREFIX, StoreName};

const VERSION: u16 = 1;
/// Length and checksum of a section, behind its name.
const LENGTH_BYTES: usize = 12;
/// The first section.
const IDENTITY: &str = "identity";
/// The last one.
const RECORD: &str = "record";
/// The most bytes that are read of a file for its identity.
const IDENTITY_READ_MAX: u64 = 1 << 20;
/// Bytes of a replayed URL.
const REPLAYED_BYTES: usize = 9;
/// Times that a reader looks for a whole file while a crawl replaces them.
const LOOKS: usize = 20;

/// A URL whose page is in the archive already: its key, and true where it was the forced one of that key.
pub type Replayed = (Fingerprint, bool);

/// The data that was in RAM at a cut. Each section is empty where there was nothing.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    /// Arrays of the stores.
    pub stores: BTreeMap<StoreName, Vec<u8>>,
    /// The active side and the arrays of the frontier.
    pub frontier: Vec<u8>,
    /// Replayed URLs that were not met again.
    pub replayed: Vec<Replayed>,
    /// URLs by pattern.
    pub patterns: Vec<u8>,
    /// The part of the calendar that was in memory.
    pub calendar: Vec<u8>,
    /// Knowledge of the schedule of visits.
    pub schedule: Vec<u8>,
    /// Positions in the links of other shards, and the link files that others may have to read.
    pub exchange: Vec<u8>,
    /// Cookies that servers have set.
    pub cookies: Vec<u8>,
    /// Pages by what they say.
    pub texts: Vec<u8>,
    /// Depths of URLs by the shortest way, and pages that are to be read again for one.
    pub depths: Vec<u8>,
    /// Parameters of URLs that make no other page.
    pub session_params: Vec<u8>,
    /// Knowledge of pages that are rendered.
    pub rendering: Vec<u8>,
}

impl Sections {
    /// The arrays of a store; empty where the crawl has none of that name.
    pub fn store(&self, name: StoreName) -> &[u8] {
        self.stores.get(&name).map_or(&[], Vec::as_slice)
    }

    /// All of them, with their names in the file.
    fn named(&self) -> Vec<(&'static str, Cow<'_, [u8]>)> {
        let Sections { stores, frontier, replayed, patterns, calendar, schedule, .. } = self;
        let Sections { exchange, cookies, texts, depths, session_params, rendering, .. } = self;
        let stores = stores.iter().map(|(name, arrays)| (name.dir_name(), Cow::from(arrays)));
        let others = [
            ("frontier", frontier),
            ("patterns", patterns),
            ("calendar", calendar),
            ("schedule", schedule),
            ("exchange", exchange),
            ("cookies", cookies),
            ("texts", texts),
            ("depths", depths),
            ("session-params", session_params),
            ("rendering", rendering),
        ];
        let others = others.into_iter().map(|(name, section)| (name, Cow::from(section)));
        stores.chain(others).chain([("replayed", Cow::from(replayed_bytes(replayed)))]).collect()
    }

    /// Takes in the section of this name; returns false where no section has it.
    fn take_in(&mut self, name: &str, bytes: Vec<u8>) -> bool {
        if let Some(store) = StoreName::ALL.into_iter().find(|store| store.dir_name() == name) {
            self.stores.insert(store, bytes);
            return true;
        }
        let section = match name {
            "frontier" => &mut self.frontier,
            "patterns" => &mut self.patterns,
            "calendar" => &mut self.calendar,
            "schedule" => &mut self.schedule,
            "exchange" => &mut self.exchange,
            "cookies" => &mut self.cookies,
            "texts" => &mut self.texts,
            "depths" => &mut self.depths,
            "session-params" => &mut self.session_params,
            "rendering" => &mut self.rendering,
            "replayed" => {
                self.replayed = replayed(&bytes);
                return true;
            }
            _ => return false,
        };
        *section = bytes;
        true
    }
}

/// A checkpoint file as it was read.
#[derive(Debug)]
pub struct CheckpointFile {
    /// Whose crawl it is.
    pub identity: Identity,
    /// The data that was in RAM.
    pub sections: Sections,
    /// The files that it names: `None` for checkpoint 0, an error where that part alone is damaged.
    pub record: Result<Option<Checkpoint>>,
}

impl CheckpointFile {
    /// Reads the checkpoint file `number`.
    pub fn read(disk: &Disk, dir: &Path, number: u64) -> Result<Self> {
        let path = checkpoint_path(dir, number);
        Header::check(&disk.open(&path, Mode::Read)?, Kind::Checkpoint, VERSION)?;
        let bytes = disk.read(&path)?;
        let (identity, mut at) = read_identity(&path, &bytes)?;
        let mut sections = Sections::default();
        let record = loop {
            let section = Section::read(&path, &bytes, at);
            // all that was in RAM is read by then
            let is_record = section.as_ref().map_or_else(|_| is_record_at(&bytes, at), |found| found.name == RECORD);
            match section {
                Ok(found) if is_record => {
                    break read_record(&path, number, found.bytes).map(|record| (record, found.end));
                }
                Ok(found) if sections.take_in(found.name, found.bytes.to_vec()) => at = found.end,
                Ok(_) => return Err(Error::Newer { path, found: VERSION + 1, known: VERSION }),
                Err(error) if is_record => break Err(error),
                Err(error) => return Err(error),
            }
        };
        let record = record.and_then(|(record, end)| match end == bytes.len() {
            true => Ok(record),
            false => Err(Error::damaged(&path, end as u64, "the end of the file", format!("{} bytes", bytes.len()))),
        });
        Ok(CheckpointFile { identity, sections, record })
    }
}

/// The identity in the checkpoint file `number`, of which nothing else is read.
pub(super) fn identity_of(disk: &Disk, dir: &Path, number: u64) -> Result<Identity> {
    let path = checkpoint_path(dir, number);
    let file = disk.open(&path, Mode::Read)?;
    Header::check(&file, Kind::Checkpoint, VERSION)?;
    let there = file.len()?.min(HEADER_BYTES + IDENTITY_READ_MAX);
    let mut bytes = vec![0; there as usize];
    file.read_exact_at(&mut bytes, 0)?;
    read_identity(&path, &bytes).map(|(identity, _)| identity)
}

/// The identity at the beginning of a file, and the end of its section.
fn read_identity(path: &Path, bytes: &[u8]) -> Result<(Identity, usize)> {
    let first = Section::read(path, bytes, HEADER_BYTES as usize)?;
    if first.name != IDENTITY {
        return Err(Error::damaged(path, HEADER_BYTES, "the identity of the crawl", first.name));
    }
    Ok((Identity::from_bytes(first.bytes, path, HEADER_BYTES)?, first.end))
}

/// Writes the checkpoint file `number` and makes it and its name durable; returns its length. Everything that `record`
/// names has to be durable already.
pub fn write(
    disk: &Disk,
    dir: &Path,
    (number, identity): (u64, &Identity),
    sections: &Sections,
    record: Option<&Checkpoint>,
) -> Result<u64> {
    let encoded = record.map(|record| postcard::to_stdvec(record).expect("a checkpoint consists of plain data"));
    let mut bytes = Header { kind: Kind::Checkpoint, version: VERSION }.to_bytes().to_vec();
    put_section(&mut bytes, IDENTITY, &identity.to_bytes());
    for (name, section) in sections.named() {
        if !section.is_empty() {
            put_section(&mut bytes, name, &section);
        }
    }
    put_section(&mut bytes, RECORD, &encoded.unwrap_or_default());
    disk.replace(&checkpoint_path(dir, number), &bytes)?;
    Ok(bytes.len() as u64)
}

fn replayed_bytes(replayed: &[Replayed]) -> Vec<u8> {
    replayed.iter().flat_map(|(key, forced)| key.bits().to_le_bytes().into_iter().chain([u8::from(*forced)])).collect()
}

fn replayed(section: &[u8]) -> Vec<Replayed> {
    let (entries, _) = section.as_chunks::<REPLAYED_BYTES>();
    let entry = |&[a, b, c, d, e, f, g, h, forced]: &[u8; REPLAYED_BYTES]| {
        (Fingerprint::from_bits(u64::from_le_bytes([a, b, c, d, e, f, g, h])), forced != 0)
    };
    entries.iter().map(entry).collect()
}

fn read_record(path: &Path, number: u64, bytes: &[u8]) -> Result<Option<Checkpoint>> {
    if number == 0 && bytes.is_empty() {
        return Ok(None);
    }
    let damaged = |e: postcard::Error| Error::damaged(path, 0, "a readable checkpoint record", e.to_string());
    let record: Checkpoint = postcard::from_bytes(bytes).map_err(damaged)?;
    if record.number != number {
        let (expected, found) = (format!("checkpoint {number}"), format!("checkpoint {}", record.number));
        return Err(Error::damaged(path, 0, expected, found));
    }
    Ok(Some(record))
}

/// A section of a file.
struct Section<'a> {
    name: &'a str,
    bytes: &'a [u8],
    /// The place where the next one begins.
    end: usize,
}

impl<'a> Section<'a> {
    /// Reads the one that begins at `at` of the file, whose bytes these are.
    fn read(path: &Path, bytes: &'a [u8], at: usize) -> Result<Section<'a>> {
        let damaged = |expected: &str, found: String| Error::damaged(path, at as u64, expected, found);
        let Head { name, start, length } =
            Head::read(&bytes[at.min(bytes.len())..]).ok_or_else(|| damaged("a section", "end of file".into()))?;
        let (start, length) = (at + start, usize::try_from(length).unwrap_or(usize::MAX));
        let section = start
            .checked_add(length)
            .and_then(|end| bytes.get(start..end))
            .ok_or_else(|| damaged("a whole section", format!("a length of {length} in a file of {}", bytes.len())))?;
        let sum = u32::from_le_bytes(std::array::from_fn(|n| bytes[start - 4 + n]));
        let found = checksum(name, section);
        if found != sum {
            return Err(damaged(&format!("section checksum {sum:08x}"), format!("{found:08x}")));
        }
        let name = str::from_utf8(name).map_err(|_| damaged("the name of a section", format!("{name:02x?}")))?;
        Ok(Section { name, bytes: section, end: start + length })
    }
}

/// The head of a section.
struct Head<'a> {
    name: &'a [u8],
    /// Bytes of the head.
    start: usize,
    /// Bytes behind it.
    length: u64,
}

impl<'a> Head<'a> {
    /// The longest head there is.
    const BYTES_MAX: usize = 1 + u8::MAX as usize + LENGTH_BYTES;

    fn read(bytes: &'a [u8]) -> Option<Head<'a>> {
        let name_end = 1 + usize::from(*bytes.first()?);
        let (name, start) = (bytes.get(1..name_end)?, name_end + LENGTH_BYTES);
        let length = bytes.get(name_end..start)?;
        Some(Head { name, start, length: u64::from_le_bytes(std::array::from_fn(|n| length[n])) })
    }
}

fn put_section(out: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    out.push(u8::try_from(name.len()).expect("names of sections are short"));
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(&checksum(name.as_bytes(), bytes).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn checksum(name: &[u8], bytes: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(name);
    sum.update(bytes);
    sum.finalize()
}

/// Returns true where the section that begins at `at` has the name of the record, whole or not.
fn is_record_at(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..).and_then(Head::read).is_some_and(|head| head.name == RECORD.as_bytes())
}

/// The newest whole checkpoint file in `dir`, read without a lock; `None` where there is none, or only that with which
/// the crawl began. A crawl that runs deletes the file before: what vanishes between two looks is looked for again.
pub fn newest(disk: &Disk, dir: &Path) -> Result<Option<(Checkpoint, Sections)>> {
    newest_that(disk, dir, |number| {
        let file = CheckpointFile::read(disk, dir, number)?;
        Ok(file.record?.map(|record| (record, file.sections)))
    })
}

/// The record of the newest checkpoint file, without the data that was in RAM, which is not read: for readers who
/// only ask what is durable. All that a file names was so before its first byte was written.
pub fn newest_record(disk: &Disk, dir: &Path) -> Result<Option<Checkpoint>> {
    newest_that(disk, dir, |number| record_of(disk, dir, number))
}

/// The newest one beside a crawl that may run, of those that a crawl has made itself.
fn newest_that<T>(disk: &Disk, dir: &Path, read: impl Fn(u64) -> Result<Option<T>>) -> Result<Option<T>> {
    let read = |number| if number == 0 { Ok(None) } else { read(number) };
    for _ in 1..LOOKS {
        match newest_whole(disk, dir, read) {
            Ok(None) | Err(Error::Damaged { .. }) => {}
            found => return found,
        }
    }
    newest_whole(disk, dir, read)
}

/// Returns what `read` finds in the newest file of `dir` in which it finds something. Damaged files give way to older
/// ones, as do those that are gone: where none is whole, that is damage.
pub(super) fn newest_whole<T>(disk: &Disk, dir: &Path, read: impl Fn(u64) -> Result<Option<T>>) -> Result<Option<T>> {
    let mut damage = None;
    for number in numbers(disk, dir)?.into_iter().rev() {
        match read(number) {
            Ok(Some(found)) => return Ok(Some(found)),
            Ok(None) => {}
            Err(error) if error.is_not_found() => {}
            Err(error @ Error::Damaged { .. }) => {
                damage.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    damage.map_or(Ok(None), Err)
}

/// The record of the checkpoint file `number`: its last section.
fn record_of(disk: &Disk, dir: &Path, number: u64) -> Result<Option<Checkpoint>> {
    let path = checkpoint_path(dir, number);
    let file = disk.open(&path, Mode::Read)?;
    Header::check(&file, Kind::Checkpoint, VERSION)?;
    let length = file.len()?;
    let mut at = HEADER_BYTES;
    let mut head = [0; Head::BYTES_MAX];
    loop {
        let there = head.len().min(usize::try_from(length.saturating_sub(at)).unwrap_or(usize::MAX));
        file.read_exact_at(&mut head[..there], at)?;
        let found = Head::read(&head[..there]).ok_or_else(|| Error::damaged(&path, at, "a section", "end of file"))?;
        if found.name == RECORD.as_bytes() {
            break;
        }
        let end = (at + found.start as u64).checked_add(found.length).filter(|&end| end <= length);
        let too_long = || Error::damaged(&path, at, "a whole section", format!("a length of {}", found.length));
        at = end.ok_or_else(too_long)?;
    }
    let mut bytes = vec![0; usize::try_from(length - at).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, at)?;
    let section = Section::read(&path, &bytes, 0)?;
    if section.end != bytes.len() {
        let found = format!("{} bytes", bytes.len());
        return Err(Error::damaged(&path, at, "a record and the end of the file", found));
    }
    read_record(&path, number, section.bytes)
}

/// The numbers of the checkpoint files in `dir`, in their order.
pub(super) fn numbers(disk: &Disk, dir: &Path) -> Result<Vec<u64>> {
    let mut numbers: Vec<u64> = disk.list(dir)?.iter().filter_map(|name| number_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number of a checkpoint file by its name.
pub fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix(CHECKPOINT_PREFIX)?.parse().ok()
}

/// The path of the checkpoint file `number`.
pub fn checkpoint_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{CHECKPOINT_PREFIX}{number:06}"))
}

#[cfg(test)]
mod tests {
    use super::super::Last;
    use super::super::tests::{checkpoint, identity};
    use super::*;
    use crate::clock::Time;

    fn write_file(dir: &Path, number: u64) {
        let sections = Sections { stores: [(StoreName::Seen, vec![1, 2, 3])].into(), ..Sections::default() };
        let record = checkpoint(number);
        write(&Disk::real(), dir, (number, &identity()), &sections, Some(&record)).unwrap();
    }

    #[test]
    fn a_checkpoint_file_speaks_for_itself_and_the_newest_whole_one_counts() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        assert!(newest(&disk, dir.path()).unwrap().is_none());
        write(&disk, dir.path(), (0, &identity()), &Sections::default(), None).unwrap();
        assert!(newest(&disk, dir.path()).unwrap().is_none());
        assert_eq!(Last::find(&disk, dir.path()).unwrap().unwrap().number, 0);
        write_file(dir.path(), 7);
        write_file(dir.path(), 8);
        let (found, sections) = newest(&disk, dir.path()).unwrap().unwrap();
        assert_eq!((found.number, found.time, sections.store(StoreName::Seen)), (8, Time::from_ms(8), &[1, 2, 3][..]));
        assert_eq!(newest_record(&disk, dir.path()).unwrap().unwrap().time, Time::from_ms(8));
        assert_eq!(CheckpointFile::read(&disk, dir.path(), 8).unwrap().identity, identity());
        // one that is damaged
        let whole = std::fs::read(checkpoint_path(dir.path(), 8)).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(checkpoint_path(dir.path(), 8), &whole[..cut]).unwrap();
            assert_eq!(newest(&disk, dir.path()).unwrap().unwrap().0.number, 7, "{cut} bytes");
            assert_eq!(newest_record(&disk, dir.path()).unwrap().unwrap().number, 7, "{cut} bytes");
            assert_eq!(Last::find(&disk, dir.path()).unwrap().unwrap().number, 7, "{cut} bytes");
        }
        disk.remove(&checkpoint_path(dir.path(), 7)).unwrap();
        assert!(matches!(newest(&disk, dir.path()), Err(Error::Damaged { .. })));
    }

    #[test]
    fn every_section_is_read_back_and_none_that_is_empty_is_written() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let all = Sections {
            stores: StoreName::ALL.into_iter().map(|name| (name, name.dir_name().into())).collect(),
            frontier: vec![1],
            replayed: vec![(Fingerprint::from_bits(2), true), (Fingerprint::from_bits(3), false)],
            patterns: vec![4],
            calendar: vec![5],
            schedule: vec![6],
            exchange: vec![7],
            cookies: vec![8],
            texts: vec![9],
            depths: vec![10],
            session_params: vec![11],
            rendering: vec![12],
        };
        assert!(all.named().iter().all(|(_, section)| !section.is_empty()), "a section is not in this test");
        let length = write(&disk, dir.path(), (5, &identity()), &all, Some(&checkpoint(5))).unwrap();
        let read = CheckpointFile::read(&disk, dir.path(), 5).unwrap();
        assert_eq!(read.sections.named(), all.named());
        assert_eq!(read.record.unwrap().unwrap().number, 5);
        assert_eq!(newest_record(&disk, dir.path()).unwrap().unwrap().number, 5);
        let empty = write(&disk, dir.path(), (5, &identity()), &Sections::default(), Some(&checkpoint(5))).unwrap();
        let heads =
            all.named().iter().map(|(name, section)| 1 + name.len() + LENGTH_BYTES + section.len()).sum::<usize>();
        assert_eq!(length - empty, heads as u64);
    }

    #[test]
    fn a_section_or_a_version_that_is_not_known_is_refused_as_what_it_is() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        write_file(dir.path(), 5);
        let path = checkpoint_path(dir.path(), 5);
        let whole = std::fs::read(&path).unwrap();
        let at = Section::read(&path, &whole, HEADER_BYTES as usize).unwrap().end;
        let mut more = whole[..at].to_vec();
        put_section(&mut more, "of later", b"x");
        more.extend_from_slice(&whole[at..]);
        std::fs::write(&path, &more).unwrap();
        assert!(matches!(CheckpointFile::read(&disk, dir.path(), 5), Err(Error::Newer { .. })));
        let mut later = whole.clone();
        later[..16].copy_from_slice(&Header { kind: Kind::Checkpoint, version: 13 }.to_bytes());
        std::fs::write(&path, &later).unwrap();
        assert!(matches!(CheckpointFile::read(&disk, dir.path(), 5), Err(Error::Newer { found: 13, .. })));
        assert!(matches!(newest_record(&disk, dir.path()), Err(Error::Newer { .. })));
    }

    #[test]
    fn n02_a_whole_file_under_the_name_of_another_checkpoint_is_damage() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        write_file(dir.path(), 7);
        disk.rename(&checkpoint_path(dir.path(), 7), &checkpoint_path(dir.path(), 8)).unwrap();
        let record = CheckpointFile::read(&disk, dir.path(), 8).unwrap().record;
        assert!(matches!(record, Err(Error::Damaged { .. })), "{record:?}");
        assert!(matches!(Last::find(&disk, dir.path()), Err(Error::Damaged { .. })));
    }
}
