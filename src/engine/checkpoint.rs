//! Checkpoints: one consistent cut of everything, made durable beside the crawl.
//!
//! Between two events the engine writes down what is in RAM and notes every file's generation and length (the cut);
//! [`CheckpointJob::run`] then does the slow part on its own thread: the checkpoint file, the fsyncs, the address
//! pages, and last the one catalog batch that makes the checkpoint exist. Only when that has come back are the files
//! deleted that no checkpoint names any more.
//!
//! ```text
//! checkpoint.g000042   header, then 7 sections: length u64, crc32 u32, bytes
//!                      URL-seen arrays | robots arrays | DNS arrays | frontier | replayed keys | pattern budgets |
//!                      the record itself
//! ```
//! The record lies in the file too, so that a reader beside a running crawl needs no catalog ([`newest`]). The catalog's
//! word is the one that a crawl goes on from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::refetch::Round;
use super::way::Replayed;
use crate::catalog::{Batch, Catalog};
use crate::clock::Time;
use crate::container::{ContainerState, SyncDone, SyncJob};
use crate::disk::{Disk, Error, HEADER_BYTES, Header, Kind, Mode, Result};
use crate::drum::DrumState;
use crate::fingerprint::Fingerprint;
use crate::frontier::FrontierState;
use crate::report::{Finish, Snapshot, Statistics};

/// Key of the checkpoint in the catalog.
pub const CHECKPOINT_KEY: &str = "checkpoint";
const VERSION: u16 = 1;
const SECTION_HEAD_BYTES: usize = 12;
/// How often a reader looks for a whole file while a crawl replaces them.
const LOOKS: usize = 20;

/// A cut: what lies in the catalog.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// 1, 2, 3, ...
    pub number: u64,
    /// When the cut was made.
    pub time: Time,
    /// Whether the crawl stopped with it in good order, and nobody has gone on from it since.
    pub clean: bool,
    /// How the crawl ended, where it did.
    pub finish: Option<Finish>,
    /// URL-seen.
    pub seen: DrumState,
    /// Robots.
    pub robots: DrumState,
    /// DNS.
    pub dns: DrumState,
    /// Frontier.
    pub frontier: FrontierState,
    /// Container.
    pub container: ContainerState,
    /// Counters.
    pub statistics: Statistics,
    /// URLs whose domains joined the scope because a seed redirects there: only in directories of format 1, later ones have
    /// them beside the seeds.
    pub scope_added: Vec<String>,
    /// The last round of fetching again.
    pub round: Round,
}

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
}

impl Sections {
    /// Writes the sections and the encoded `record` to the checkpoint file `number` and makes it durable; its length.
    fn write(&self, disk: &Disk, dir: &Path, number: u64, record: &[u8]) -> Result<u64> {
        let replayed = self.replayed.iter();
        let replayed: Vec<u8> = replayed
            .flat_map(|(key, forced)| key.bits().to_le_bytes().into_iter().chain([u8::from(*forced)]))
            .collect();
        let mut bytes = Header { kind: Kind::Checkpoint, version: VERSION }.to_bytes().to_vec();
        let (seen, patterns) = (self.seen.as_slice(), self.patterns.as_slice());
        for section in [seen, &self.robots, &self.dns, &self.frontier, &replayed, patterns, record] {
            bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&crc32fast::hash(section).to_le_bytes());
            bytes.extend_from_slice(section);
        }
        let file = disk.open(checkpoint_path(dir, number), Mode::Create)?;
        file.set_len(0)?;
        file.write_all_at(&bytes, 0)?;
        file.sync()?;
        disk.sync_dir(dir)?;
        Ok(bytes.len() as u64)
    }

    /// Reads the checkpoint file `number`.
    pub fn read(disk: &Disk, dir: &Path, number: u64) -> Result<Self> {
        Ok(Sections::read_with_record(disk, dir, number)?.0)
    }

    /// Reads the checkpoint file `number`, and what it says of its record.
    pub fn read_with_record(disk: &Disk, dir: &Path, number: u64) -> Result<(Self, Result<Checkpoint>)> {
        let path = checkpoint_path(dir, number);
        Header::check(&disk.open(&path, Mode::Read)?, Kind::Checkpoint, VERSION)?;
        let bytes = disk.read(&path)?;
        let mut at = HEADER_BYTES as usize;
        let mut section = || {
            let section = read_section(&path, &bytes, at)?;
            at += SECTION_HEAD_BYTES + section.len();
            Ok::<_, Error>(section.to_vec())
        };
        let (seen, robots, dns, frontier) = (section()?, section()?, section()?, section()?);
        let (replayed, patterns) = (section()?, section()?);
        let (entries, _) = replayed.as_chunks::<9>();
        let entry = |&[a, b, c, d, e, f, g, h, forced]: &[u8; 9]| {
            (Fingerprint::from_bits(u64::from_le_bytes([a, b, c, d, e, f, g, h])), forced != 0)
        };
        let replayed = entries.iter().map(entry).collect();
        let record = section().and_then(|record| {
            let damaged = |e: postcard::Error| Error::damaged(&path, 0, "a readable checkpoint record", e.to_string());
            postcard::from_bytes(&record).map_err(damaged)
        });
        let end = at;
        let record = record.and_then(|record| match end == bytes.len() {
            true => Ok(record),
            false => Err(Error::damaged(&path, end as u64, "the end of the file", format!("{} bytes", bytes.len()))),
        });
        Ok((Sections { seen, robots, dns, frontier, replayed, patterns }, record))
    }
}

/// The newest whole checkpoint file in `dir`, read without the catalog and without a lock; `None` where there is none.
///
/// A crawl that runs deletes the file before, and may be writing the next one: what vanishes between two looks is looked
/// for again, a file that is not whole gives way to the one before it. The newest file may be one that its crawl was
/// killed over before the catalog knew it; what it says was true when it was made.
pub fn newest(disk: &Disk, dir: &Path) -> Result<Option<(Checkpoint, Sections)>> {
    let mut damage = None;
    for _ in 0..LOOKS {
        let names = disk.list(dir)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name)).collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        numbers.sort_unstable();
        for number in numbers.into_iter().rev() {
            match Sections::read_with_record(disk, dir, number).and_then(|(sections, record)| Ok((record?, sections))) {
                Ok(found) => return Ok(Some(found)),
                Err(e) if e.is_not_found() => {}
                Err(e @ Error::Damaged { .. }) => damage = Some(e),
                Err(e) => return Err(e),
            }
        }
    }
    damage.map_or(Ok(None), Err)
}

/// The number of a checkpoint file by its name.
pub fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("checkpoint.g")?.parse().ok()
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

/// Where the checkpoint file `number` lies.
pub fn checkpoint_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("checkpoint.g{number:06}"))
}

/// The slow part of a checkpoint.
pub struct CheckpointJob {
    pub(super) disk: Disk,
    pub(super) dir: PathBuf,
    pub(super) catalog: Arc<dyn Catalog>,
    /// Files that only checkpoints before the last durable one name. Hundreds of names may take seconds to remove.
    pub(super) superseded: Vec<PathBuf>,
    pub(super) checkpoint: Checkpoint,
    pub(super) sections: Sections,
    pub(super) sync: Vec<PathBuf>,
    pub(super) sync_dirs: Vec<PathBuf>,
    pub(super) container: SyncJob,
    pub(super) batch: Batch,
    pub(super) snapshot: Snapshot,
}

impl std::fmt::Debug for CheckpointJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckpointJob").field("number", &self.checkpoint.number).finish_non_exhaustive()
    }
}

/// A checkpoint that is durable.
#[derive(Debug)]
pub struct CheckpointDone {
    /// Its number.
    pub number: u64,
    /// Bytes that were written only for it.
    pub bytes: u64,
    /// For the container.
    pub container: SyncDone,
}

impl CheckpointJob {
    /// The crawl directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the cut durable. After an error the stores must not be used any more: reopening is the cure.
    pub fn run(mut self) -> Result<CheckpointDone> {
        let number = self.checkpoint.number;
        self.superseded.iter().try_for_each(|path| self.disk.remove(path))?;
        let record = postcard::to_stdvec(&self.checkpoint).expect("a checkpoint consists of plain data");
        let file_bytes = self.sections.write(&self.disk, &self.dir, number, &record)?;
        for path in &self.sync {
            // a file that a merge has replaced since the cut is not named by it
            if let Some(file) = self.disk.open_if_there(path)? {
                file.sync()?;
            }
        }
        for dir in &self.sync_dirs {
            self.disk.sync_dir(dir)?;
        }
        let container = self.container.run()?;
        let bytes = file_bytes + container.address_bytes() + record.len() as u64;
        self.batch.put(CHECKPOINT_KEY, record);
        self.catalog.commit(&self.batch)?;
        self.snapshot.write(&self.disk, &self.dir)?;
        Ok(CheckpointDone { number, bytes, container })
    }
}

/// The last checkpoint of the catalog.
pub fn load(catalog: &dyn Catalog, dir: &Path) -> Result<Option<Checkpoint>> {
    let Some(bytes) = catalog.get(CHECKPOINT_KEY)? else { return Ok(None) };
    let checkpoint = postcard::from_bytes(&bytes)
        .map_err(|e| Error::damaged(&dir.join("catalog"), 0, "a readable checkpoint record", e.to_string()))?;
    Ok(Some(checkpoint))
}

/// Notes that a process goes on from `checkpoint`, the last one: if it is killed before it makes one of its own, the next
/// process must not take the crawl for one that has rested since.
pub fn go_on_from(catalog: &dyn Catalog, checkpoint: Checkpoint) -> Result<()> {
    if !checkpoint.clean {
        return Ok(());
    }
    let begun = Checkpoint { clean: false, ..checkpoint };
    let mut batch = Batch::new();
    batch.put(CHECKPOINT_KEY, postcard::to_stdvec(&begun).expect("a checkpoint consists of plain data"));
    catalog.commit(&batch)
}

/// Makes `checkpoint` with `sections` the last one: its file first, then the catalog's record. It must have a number that
/// no file has. Whoever opens the crawl removes the file of the one before.
pub fn renew(
    disk: &Disk,
    dir: &Path,
    catalog: &dyn Catalog,
    checkpoint: &Checkpoint,
    sections: &Sections,
) -> Result<()> {
    let record = postcard::to_stdvec(checkpoint).expect("a checkpoint consists of plain data");
    sections.write(disk, dir, checkpoint.number, &record)?;
    let mut batch = Batch::new();
    batch.put(CHECKPOINT_KEY, record);
    catalog.commit(&batch)
}

/// Whether the record in a checkpoint's file and that in the catalog are one. Whoever goes on from a checkpoint notes
/// that in the catalog only.
pub fn is_same(in_file: &Checkpoint, in_catalog: &Checkpoint) -> bool {
    let bytes = |checkpoint: &Checkpoint, clean: bool| {
        let mut bytes = postcard::to_stdvec(&checkpoint.number).expect("a number is plain data");
        bytes.push(u8::from(clean));
        for part in [
            postcard::to_stdvec(&(checkpoint.time, checkpoint.finish, &checkpoint.seen, &checkpoint.robots)),
            postcard::to_stdvec(&(&checkpoint.dns, &checkpoint.frontier, &checkpoint.container)),
            postcard::to_stdvec(&(&checkpoint.statistics, &checkpoint.scope_added, checkpoint.round)),
        ] {
            bytes.extend(part.expect("a checkpoint consists of plain data"));
        }
        bytes
    };
    bytes(in_file, in_catalog.clean) == bytes(in_catalog, in_catalog.clean) && (in_file.clean || !in_catalog.clean)
}

/// Notes `container` in the last checkpoint, which says `checkpoint` otherwise.
pub fn renew_container(catalog: &dyn Catalog, checkpoint: Checkpoint, container: ContainerState) -> Result<()> {
    let renewed = Checkpoint { container, ..checkpoint };
    let mut batch = Batch::new();
    batch.put(CHECKPOINT_KEY, postcard::to_stdvec(&renewed).expect("a checkpoint consists of plain data"));
    catalog.commit(&batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(number: u64) -> Checkpoint {
        let nothing = || postcard::from_bytes(&[0]).expect("a store without buckets");
        Checkpoint {
            number,
            time: Time::from_ms(number),
            clean: false,
            finish: None,
            seen: nothing(),
            robots: nothing(),
            dns: nothing(),
            frontier: FrontierState { partitions: Vec::new(), ram_bytes: 0, ram_crc: 0 },
            container: ContainerState { value_number: 0, value_bytes: 0, key_bytes: 16, pages: 0, total_bytes: 0 },
            statistics: Statistics::default(),
            scope_added: vec!["http://a.example/".to_owned()],
            round: Round::default(),
        }
    }

    fn write(dir: &Path, number: u64) {
        let sections = Sections { seen: vec![1, 2, 3], ..Sections::default() };
        let record = postcard::to_stdvec(&checkpoint(number)).unwrap();
        sections.write(&Disk::real(), dir, number, &record).unwrap();
    }

    #[test]
    fn a_checkpoint_file_speaks_for_itself_and_the_newest_whole_one_counts() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        assert!(newest(&disk, dir.path()).unwrap().is_none());
        write(dir.path(), 7);
        write(dir.path(), 8);
        let (found, sections) = newest(&disk, dir.path()).unwrap().unwrap();
        assert_eq!((found.number, found.time, sections.seen.as_slice()), (8, Time::from_ms(8), &[1, 2, 3][..]));
        assert_eq!(found.scope_added, ["http://a.example/"]);
        // the next one is being written
        let whole = std::fs::read(checkpoint_path(dir.path(), 8)).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(checkpoint_path(dir.path(), 8), &whole[..cut]).unwrap();
            assert_eq!(newest(&disk, dir.path()).unwrap().unwrap().0.number, 7, "{cut} bytes");
        }
        disk.remove(&checkpoint_path(dir.path(), 7)).unwrap();
        assert!(matches!(newest(&disk, dir.path()), Err(Error::Damaged { .. })));
    }
}
