//! The two files of the seeds, byte by byte: a header, then records one behind the other.
//!
//! ```text
//! record = | length u32 | crc32 u32 of the length's bytes and the payload | payload, postcard |
//! ```

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::SeedStatus;
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Result};
use crate::record::layout;
use crate::web::url::CanonicalUrl;

pub(super) const VERSION: u16 = 1;
/// Length and checksum before a payload.
const HEAD_BYTES: usize = 8;
/// Longest payload: two URLs, and what is around them.
const PAYLOAD_BYTES_MAX: usize = 2 * CanonicalUrl::LENGTH_MAX + 64;
/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// A seed as it was listed: a record of `seeds/list`. Its number is its place, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedSeed {
    /// The URL in the fetch form.
    pub url: String,
    /// URL that is tried when the seed itself cannot be fetched: http for a host named without scheme.
    pub fallback: Option<String>,
}

/// A record of `seeds/fates`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// Fate of the seed of this number.
    Status(u32, SeedStatus),
    /// Target of its redirect.
    Redirect(u32, String),
    /// It was put into this round of fetching again: what became of it before is forgotten.
    Round(u32, u32),
    /// A URL whose territory joined the scope, because a seed redirects there.
    Scope(String),
    /// A checkpoint: what is before belongs to it.
    Cut(Mark),
}

/// A checkpoint's word about the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    /// Length of `seeds/list`.
    pub list_bytes: u64,
    /// Seeds in it.
    pub seeds: u32,
    /// Number of those, from the first on, that were admitted.
    pub admitted: u32,
}

/// Path of the list of the crawl in `dir`.
pub fn list_path(dir: &Path) -> PathBuf {
    dir.join(layout::SEEDS).join("list")
}

/// The list of the crawl in `dir`, if it is there. That of a shard is the crawl's, one directory up.
pub(super) fn open_list(disk: &Disk, dir: &Path) -> Result<Option<DiskFile>> {
    if let Some(file) = disk.open_if_there(list_path(dir))? {
        return Ok(Some(file));
    }
    match shared_list_path(dir) {
        Some(path) => disk.open_if_there(path),
        None => Ok(None),
    }
}

/// Path of the list that the shard in `dir` shares with the others; `None` for what cannot be a shard.
pub(super) fn shared_list_path(dir: &Path) -> Option<PathBuf> {
    let name = dir.file_name()?.to_str()?;
    name.starts_with("shard-").then(|| list_path(dir.parent().unwrap_or(Path::new(""))))
}

/// Path of the fates of the seeds.
pub(super) fn fates_path(dir: &Path) -> PathBuf {
    dir.join(layout::SEEDS).join("fates")
}

/// The header of one of the two files.
pub(super) fn header(kind: Kind) -> Vec<u8> {
    Header { kind, version: VERSION }.to_bytes().to_vec()
}

/// Appends a record to `out`.
pub(super) fn put(out: &mut Vec<u8>, record: &impl Serialize) {
    let payload = postcard::to_stdvec(record).expect("a record of a seed consists of plain data");
    let length = u32::try_from(payload.len()).expect("a record is two URLs at most").to_le_bytes();
    let mut sum = crc32fast::Hasher::new();
    sum.update(&length);
    sum.update(&payload);
    out.extend_from_slice(&length);
    out.extend_from_slice(&sum.finalize().to_le_bytes());
    out.extend_from_slice(&payload);
}

/// The length of the payload that `head` announces, and its checksum.
fn announced(head: &[u8]) -> Option<(usize, u32)> {
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|n| head[at + n]));
    let length = usize::try_from(word(0)).ok().filter(|&length| length <= PAYLOAD_BYTES_MAX)?;
    Some((length, word(4)))
}

fn is_whole(head: &[u8], payload: &[u8], sum: u32) -> bool {
    let mut found = crc32fast::Hasher::new();
    found.update(&head[..4]);
    found.update(payload);
    found.finalize() == sum
}

/// Goes through the records of a file from the first one to the last that is whole.
pub(super) struct Scan<'a> {
    file: &'a DiskFile,
    /// Offset of the block in memory, and how much of it was passed.
    from: u64,
    block: Vec<u8>,
    passed: usize,
    end: u64,
}

impl<'a> Scan<'a> {
    /// Begins behind the header of `file`, which has to be of `kind`.
    pub(super) fn begin(file: &'a DiskFile, kind: Kind) -> Result<Self> {
        Header::check(file, kind, VERSION)?;
        Ok(Scan { file, from: HEADER_BYTES, block: Vec::new(), passed: 0, end: file.len()? })
    }

    /// Goes on at `from`, where a record begins.
    pub(super) fn at_record(file: &'a DiskFile, from: u64) -> Result<Self> {
        Ok(Scan { file, from, block: Vec::new(), passed: 0, end: file.len()? })
    }

    /// Offset of the next record, after the last one; at the end, the offset at which the whole ones end.
    pub(super) fn at(&self) -> u64 {
        self.from + self.passed as u64
    }

    /// The next record with its offset; `None` where no whole one follows. One that is whole and says something else is
    /// damage.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<(u64, T)>> {
        let at = self.at();
        if !self.fill(HEAD_BYTES)? {
            return Ok(None);
        }
        let Some((length, sum)) = announced(&self.block[self.passed..]) else { return Ok(None) };
        if !self.fill(HEAD_BYTES + length)? {
            return Ok(None);
        }
        let (head, payload) = self.block[self.passed..][..HEAD_BYTES + length].split_at(HEAD_BYTES);
        if !is_whole(head, payload, sum) {
            return Ok(None);
        }
        let record = parse(self.file, at, payload)?;
        self.passed += HEAD_BYTES + length;
        Ok(Some((at, record)))
    }

    /// The next whole record, whatever is before it; `None` where none follows.
    pub(super) fn next_whole<T: DeserializeOwned>(&mut self) -> Result<Option<(u64, T)>> {
        loop {
            match self.next() {
                Ok(None) | Err(Error::Damaged { .. }) if self.fill(1)? => self.passed += 1,
                Err(Error::Damaged { .. }) => return Ok(None),
                other => return other,
            }
        }
    }

    /// Has that many bytes in memory from the next record on, if the file has as many.
    fn fill(&mut self, bytes: usize) -> Result<bool> {
        if self.block.len() - self.passed >= bytes {
            return Ok(true);
        }
        let at = self.at();
        self.block.drain(..self.passed);
        (self.from, self.passed) = (at, 0);
        let known = self.block.len();
        let left = self.end.saturating_sub(at + known as u64);
        let more = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK_BYTES.max(bytes - known));
        self.block.resize(known + more, 0);
        let got = self.file.read_at(&mut self.block[known..], at + known as u64)?;
        self.block.truncate(known + got);
        Ok(self.block.len() >= bytes)
    }
}

/// Finds the offset at which the fates in `file` that belong to checkpoint `number` end, and its mark; damage where
/// there is no whole one. `each` gets the fates before it.
pub(super) fn find_mark(file: &DiskFile, number: u64, mut each: impl FnMut(u64, Fate)) -> Result<(u64, Mark)> {
    let mut scan = Scan::begin(file, Kind::SeedFates)?;
    while let Some((at, fate)) = scan.next::<Fate>()? {
        match fate {
            Fate::Cut(mark) if mark.checkpoint == number => return Ok((scan.at(), mark)),
            fate => each(at, fate),
        }
    }
    let found = "no whole record; crawler verify --rebuild keeps the outcomes of seeds that can be read";
    Err(Error::damaged(file.path(), scan.at(), format!("the mark of checkpoint {number}"), found))
}

/// The record at `offset` of `file`, which has to be there.
pub(super) fn read<T: DeserializeOwned>(file: &DiskFile, offset: u64) -> Result<T> {
    // most records are short: one read
    let mut bytes = vec![0; 256];
    let got = file.read_at(&mut bytes, offset)?;
    bytes.truncate(got);
    let damaged = |found: &str| Error::damaged(file.path(), offset, "a whole record of a seed", found.to_owned());
    let head = bytes.get(..HEAD_BYTES).ok_or_else(|| damaged("the end of the file"))?;
    let (length, sum) = announced(head).ok_or_else(|| damaged("a length that none has"))?;
    if bytes.len() < HEAD_BYTES + length {
        let known = bytes.len();
        bytes.resize(HEAD_BYTES + length, 0);
        file.read_exact_at(&mut bytes[known..], offset + known as u64)?;
    }
    let (head, payload) = bytes[..HEAD_BYTES + length].split_at(HEAD_BYTES);
    if !is_whole(head, payload, sum) {
        return Err(damaged("another checksum"));
    }
    parse(file, offset, payload)
}

fn parse<T: DeserializeOwned>(file: &DiskFile, offset: u64, payload: &[u8]) -> Result<T> {
    let damaged = |found: String| Error::damaged(file.path(), offset, "a record of a seed", found);
    postcard::from_bytes(payload).map_err(|error| damaged(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Mode;

    fn seed(number: usize) -> ListedSeed {
        let url = format!("http://{}.example/", "x".repeat(number % 400));
        ListedSeed { fallback: number.is_multiple_of(3).then(|| url.clone()), url }
    }

    #[test]
    fn records_are_read_one_behind_the_other_and_each_at_its_place() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("list");
        let mut bytes = header(Kind::Seeds);
        (0..3_000).for_each(|number| put(&mut bytes, &seed(number)));
        disk.replace(&path, &bytes).unwrap();
        let file = disk.open(&path, Mode::Read).unwrap();
        let mut scan = Scan::begin(&file, Kind::Seeds).unwrap();
        for number in 0..3_000 {
            let (at, found) = scan.next::<ListedSeed>().unwrap().unwrap();
            assert_eq!(found, seed(number));
            assert_eq!(read::<ListedSeed>(&file, at).unwrap(), found);
        }
        assert!(scan.next::<ListedSeed>().unwrap().is_none());
        assert_eq!(scan.at(), bytes.len() as u64);
    }

    #[test]
    fn a_file_that_is_cut_or_flipped_anywhere_is_read_up_to_the_last_whole_record() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = dir.path().join("list");
        let mut bytes = header(Kind::Seeds);
        let ends: Vec<usize> = (0..4)
            .map(|number| {
                put(&mut bytes, &seed(number * 10));
                bytes.len()
            })
            .collect();
        let whole = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            let file = disk.open(&path, Mode::Read).unwrap();
            let mut scan = Scan::begin(&file, Kind::Seeds).unwrap();
            let mut count = 0;
            while scan.next::<ListedSeed>().unwrap().is_some() {
                count += 1;
            }
            count
        };
        for at in 16..bytes.len() {
            let before = ends.iter().filter(|&&end| end <= at).count();
            assert_eq!(whole(&bytes[..at]), before, "cut at {at}");
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            assert_eq!(whole(&flipped), before, "flipped at {at}");
        }
        bytes.extend([0; 600]);
        assert_eq!(whole(&bytes), 4, "zeros are no records");
        // behind what is damaged the others are found
        bytes.extend(&bytes[ends[2]..ends[3]].to_vec());
        for at in 16..ends[3] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, flipped).unwrap();
            let file = disk.open(&path, Mode::Read).unwrap();
            let mut scan = Scan::begin(&file, Kind::Seeds).unwrap();
            let mut count = 0;
            while scan.next_whole::<ListedSeed>().unwrap().is_some() {
                count += 1;
            }
            assert_eq!(count, 4, "flipped at {at}");
        }
    }
}
