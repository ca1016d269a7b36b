//! The dedup index: which payloads earlier archives have, so that they are not stored again.
//!
//! It is one file, sorted by digest and exact, made when a run begins ([`Builder`]) and only read after that. A payload
//! is found by a few reads of 4 KiB: SHA-1 spreads evenly, so the place of a digest is guessed from its first bits, and
//! the guess is corrected by what is read there. Memory does not grow with the index.
//!
//! ```text
//! header 16 | crc32 u32 of the rest of the head | entries u64 | blocks u64 | length u32 | sources as JSON | zeros
//! blocks of 4096: crc32 u32 of the rest | entries u16 | bytes of entries u16 | entries | zeros
//! entry: SHA-1 20 | flags u8: 1 record id, 2 time to the second | source u16 | time, ms since 1970, 6 bytes |
//!        seed of the record id, 16 bytes, where flagged | length u16 | URL
//! ```
//! The head is padded to whole blocks. Each digest is there once: the first source in the list that has it counts, and
//! of several records there the earliest.
//!
//! An entry names a record by URL, date and, of crawl directories, its id. Which URL brought the payload does not
//! matter: a page at a new address, or an icon that every site has, is stored once, as within one archive. Heritrix'
//! content digest history works likewise.

mod build;
mod cdxj;
mod check;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

pub use build::{Builder, Built};
pub use check::{check, remove_damaged};

use crate::clock::Time;
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Result};
use crate::warc::format_date;

/// Its name in the crawl directory.
pub const FILE: &str = "dedup.idx";

const VERSION: u16 = 1;
const BLOCK_BYTES: usize = 4096;
/// Bytes before the entries of a block.
const BLOCK_HEAD: usize = 8;
/// Bytes before the sources in the head, the header not counted.
const HEAD_FIXED: usize = 4 + 8 + 8 + 4;
const SHA1_BYTES: usize = 20;
const FLAG_ID: u8 = 1;
const FLAG_SECONDS: u8 = 2;
/// Guesses before the range is halved.
const GUESSES_MAX: usize = 8;

/// An earlier archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Path of a directory or a file.
    pub path: PathBuf,
    /// True for a crawl directory; it is a CDXJ file otherwise.
    pub is_crawl: bool,
    /// State of the files, by which a change since is noticed.
    pub state: String,
}

impl Source {
    /// Its name, as metadata records have it.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// The exchange in an earlier archive that has a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// The URL that brought it.
    pub url: String,
    /// Time at which that request began.
    pub time: Time,
    /// True if that time is known to the second only.
    pub to_second: bool,
    /// Seed of the ids of its records, where they are known.
    pub id_seed: Option<u128>,
    /// Number of the archive among the sources.
    pub source: u16,
}

impl Original {
    /// The date of its record.
    pub fn date(&self) -> String {
        let date = format_date(self.time);
        match date.split_once('.').filter(|_| self.to_second) {
            Some((second, _)) => format!("{second}Z"),
            None => date,
        }
    }
}

/// The index, open for reading; threads share it.
#[derive(Debug)]
pub struct DedupIndex {
    file: DiskFile,
    sources: Vec<Source>,
    entries: u64,
    blocks: u64,
    /// Offset at which the first block begins.
    start: u64,
    /// True once damage was reported.
    is_told: AtomicBool,
}

impl DedupIndex {
    /// The one in the crawl directory `dir`, if there is any.
    pub fn open(disk: &Disk, dir: &Path) -> Result<Option<Self>> {
        match disk.open(dir.join(FILE), Mode::Read) {
            Ok(file) => DedupIndex::of(file).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of(file: DiskFile) -> Result<Self> {
        Header::check(&file, Kind::Dedup, VERSION)?;
        let wrong = |found: &str| Error::damaged(file.path(), HEADER_BYTES, "the head of a dedup index", found);
        let mut fixed = [0; HEAD_FIXED];
        file.read_exact_at(&mut fixed, HEADER_BYTES)?;
        let length = u64::from(u32::from_le_bytes([fixed[20], fixed[21], fixed[22], fixed[23]]));
        let start = head_bytes(length);
        if start > file.len()? {
            return Err(wrong("a head longer than the file"));
        }
        let mut head = vec![0; (start - HEADER_BYTES) as usize];
        file.read_exact_at(&mut head, HEADER_BYTES)?;
        if crc32fast::hash(&head[4..]).to_le_bytes() != head[..4] {
            return Err(wrong("a wrong checksum"));
        }
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let (entries, blocks) = (number(4), number(12));
        let sources = &head[HEAD_FIXED..HEAD_FIXED + length as usize];
        let sources = serde_json::from_slice(sources).map_err(|error| wrong(&error.to_string()))?;
        Ok(DedupIndex { file, sources, entries, blocks, start, is_told: AtomicBool::new(false) })
    }

    /// The archives that it knows.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Payloads that it knows.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// The name of the archive that has `original`.
    pub fn name_of(&self, original: &Original) -> String {
        self.sources.get(usize::from(original.source)).map_or_else(String::new, Source::name)
    }

    /// Finds the payload with this digest, if an earlier archive has it. Damage of the index is reported once, and
    /// means that a payload may be stored again.
    pub fn find(&self, sha1: &[u8; 20]) -> Result<Option<Original>> {
        match self.search(sha1) {
            Err(error @ Error::Damaged { .. }) => {
                if !self.is_told.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "{error}: payloads in it are stored again; remove the file and the next run rebuilds it"
                    );
                }
                Ok(None)
            }
            found => found,
        }
    }

    fn search(&self, sha1: &[u8; 20]) -> Result<Option<Original>> {
        // blocks that may have it, and what digests at the ends of that range begin with
        let (mut low, mut high) = (0, self.blocks);
        let (mut first, mut last) = (0, u64::MAX);
        let wanted = prefix(sha1);
        for step in 0.. {
            if low >= high {
                break;
            }
            let part = u128::from(wanted.saturating_sub(first)) * u128::from(high - low);
            let guess = low + u64::try_from(part / (u128::from(last - first) + 1)).unwrap_or(u64::MAX);
            let at = if step < GUESSES_MAX { guess.min(high - 1) } else { low + (high - low) / 2 };
            let block = self.block(at)?;
            let (Some(smallest), Some(greatest)) = (block.first(), block.last()) else { break };
            if *sha1 < smallest {
                (high, last) = (at, prefix(&smallest).max(first));
            } else if *sha1 > greatest {
                (low, first) = (at + 1, prefix(&greatest).min(last));
            } else {
                return Ok(block.entries.into_iter().find(|(found, _)| found == sha1).map(|(_, original)| original));
            }
        }
        Ok(None)
    }

    fn block(&self, number: u64) -> Result<Block> {
        let offset = self.start + number * BLOCK_BYTES as u64;
        let mut bytes = [0; BLOCK_BYTES];
        self.file.read_exact_at(&mut bytes, offset)?;
        let wrong = || Error::damaged(self.file.path(), offset, "a whole block of a dedup index", "other bytes");
        Block::decode(&bytes).ok_or_else(wrong)
    }
}

/// Length of header and head with this many bytes of sources: whole blocks.
fn head_bytes(sources: u64) -> u64 {
    (HEADER_BYTES + HEAD_FIXED as u64 + sources).next_multiple_of(BLOCK_BYTES as u64)
}

/// The entries of a block, by their digests.
struct Block {
    entries: Vec<([u8; SHA1_BYTES], Original)>,
}

impl Block {
    fn first(&self) -> Option<[u8; SHA1_BYTES]> {
        self.entries.first().map(|(sha1, _)| *sha1)
    }

    fn last(&self) -> Option<[u8; SHA1_BYTES]> {
        self.entries.last().map(|(sha1, _)| *sha1)
    }

    fn decode(bytes: &[u8; BLOCK_BYTES]) -> Option<Self> {
        if crc32fast::hash(&bytes[4..]).to_le_bytes() != bytes[..4] {
            return None;
        }
        let count = u16::from_le_bytes([bytes[4], bytes[5]]);
        let used = usize::from(u16::from_le_bytes([bytes[6], bytes[7]]));
        let mut rest = bytes.get(BLOCK_HEAD..BLOCK_HEAD + used)?;
        let entries = (0..count).map(|_| decode(&mut rest)).collect::<Option<_>>()?;
        rest.is_empty().then_some(Block { entries })
    }
}

/// Appends an entry.
fn encode(sha1: &[u8], original: &Original, out: &mut Vec<u8>) {
    out.extend_from_slice(sha1);
    let flags = [(original.id_seed.is_some(), FLAG_ID), (original.to_second, FLAG_SECONDS)];
    out.push(flags.iter().map(|&(set, flag)| u8::from(set) * flag).sum());
    out.extend_from_slice(&original.source.to_le_bytes());
    out.extend_from_slice(&original.time.ms().to_le_bytes()[..6]);
    if let Some(seed) = original.id_seed {
        out.extend_from_slice(&seed.to_le_bytes());
    }
    out.extend_from_slice(&(original.url.len() as u16).to_le_bytes());
    out.extend_from_slice(original.url.as_bytes());
}

/// Takes an entry from the front of `bytes`.
fn decode(bytes: &mut &[u8]) -> Option<([u8; SHA1_BYTES], Original)> {
    let sha1 = take(bytes, SHA1_BYTES)?.try_into().ok()?;
    let flags = take(bytes, 1)?[0];
    let source = u16::from_le_bytes(take(bytes, 2)?.try_into().ok()?);
    let mut ms = [0; 8];
    ms[..6].copy_from_slice(take(bytes, 6)?);
    let id_seed = match flags & FLAG_ID {
        0 => None,
        _ => Some(u128::from_le_bytes(take(bytes, 16)?.try_into().ok()?)),
    };
    let length = u16::from_le_bytes(take(bytes, 2)?.try_into().ok()?);
    let url = std::str::from_utf8(take(bytes, usize::from(length))?).ok()?.to_owned();
    let (time, to_second) = (Time::from_ms(u64::from_le_bytes(ms)), flags & FLAG_SECONDS != 0);
    Some((sha1, Original { url, time, to_second, id_seed, source }))
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn prefix(sha1: &[u8; SHA1_BYTES]) -> u64 {
    sha1[..8].iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests;
