//! The part of a checkpoint that belongs to a DRUM: the names and lengths of its files, and its arrays in RAM.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::{Error, Result};

/// The durable state of a DRUM: every file by bucket, generation and length. Small; part of a checkpoint's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrumState {
    pub(super) buckets: Vec<BucketState>,
}

impl DrumState {
    /// The RAM section of a DRUM with nothing in RAM.
    pub(crate) const EMPTY_RAM: &[u8] = &[0, 0, 0, 0, 0x1c, 0xdf, 0x44, 0x21];

    /// The number of buckets, which is fixed when a DRUM is made.
    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Keys in the repository.
    pub fn keys(&self) -> u64 {
        self.buckets.iter().filter_map(|bucket| bucket.repository.as_ref()).map(|repository| repository.keys).sum()
    }

    /// Bytes of the repository.
    pub fn bytes(&self) -> u64 {
        self.buckets.iter().filter_map(|bucket| bucket.repository.as_ref()).map(|repository| repository.bytes).sum()
    }

    /// Refuses what no DRUM can have noted, before anything is done with it.
    pub(super) fn check(&self, dir: &Path) -> Result<()> {
        let damaged = |expected: &str, found: String| Err(Error::damaged(dir, 0, expected, found));
        let count = self.buckets.len();
        if !count.is_power_of_two() || u32::try_from(count).is_err() {
            return damaged("a power of two of buckets in the checkpoint", count.to_string());
        }
        for (number, bucket) in self.buckets.iter().enumerate() {
            let dispatched = bucket.frozen.as_ref().is_none_or(|frozen| frozen.dispatched < frozen.batch.operations);
            if !bucket.generations().is_sorted_by(|older, newer| older < newer) || !dispatched {
                return damaged("rising generations in the checkpoint", format!("bucket {number}: {bucket:?}"));
            }
        }
        Ok(())
    }
}

/// One bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BucketState {
    /// The sorted file, where there is one yet.
    pub repository: Option<RepositoryState>,
    /// The batch that is being merged, or whose results are partly dispatched.
    pub frozen: Option<FrozenState>,
    /// Batches that are full and wait for their merge, the oldest first.
    pub full: VecDeque<BatchState>,
    /// The batch that is appended to.
    pub pending: BatchState,
}

impl BucketState {
    /// A bucket that nothing was asked of yet.
    pub(crate) fn fresh() -> Self {
        let pending = BatchState { generation: 1, ..BatchState::default() };
        BucketState { repository: None, frozen: None, full: VecDeque::new(), pending }
    }

    /// Batches that no merge has begun with, the oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &BatchState> {
        self.full.iter().chain([&self.pending])
    }

    /// All batches, the oldest first.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &BatchState> {
        self.frozen.iter().map(|frozen| &frozen.batch).chain(self.waiting())
    }

    /// Generations of everything that there is, from the oldest to the newest; none of them is 0.
    fn generations(&self) -> impl Iterator<Item = u64> {
        let repository = self.repository.as_ref().map_or(0, |repository| repository.generation);
        [repository].into_iter().chain(self.batches().map(|batch| batch.generation))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RepositoryState {
    pub generation: u64,
    pub bytes: u64,
    pub keys: u64,
}

/// The `.kv` and `.aux` file of a generation. A length of 0 says that there is no such file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BatchState {
    pub generation: u64,
    pub kv_bytes: u64,
    pub aux_bytes: u64,
    /// Operations in the `.kv` file.
    pub operations: u64,
    /// The number of these operations that somebody waits for: checks of either kind.
    pub checks: u64,
}

impl BatchState {
    /// Bytes of both files.
    pub fn bytes(&self) -> u64 {
        self.kv_bytes + self.aux_bytes
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FrozenState {
    pub batch: BatchState,
    /// Results that the dispatcher has got.
    pub dispatched: u64,
}

/// A consistent cut through a DRUM, to be made durable by the owner.
#[derive(Debug)]
pub struct DrumCut {
    /// The state for a checkpoint's record.
    pub state: DrumState,
    /// Files that were written since the last cut and must be synced before `state` is durable.
    pub sync: Vec<PathBuf>,
    /// Directories whose names changed since the last cut, to be synced after the files.
    pub sync_dirs: Vec<PathBuf>,
    /// Files that earlier cuts name and this one does not.
    pub superseded: Vec<PathBuf>,
}

/// The arrays of one bucket in the RAM section of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct RamEntry<'a> {
    pub bucket: u32,
    pub kv: &'a [u8],
    pub aux: &'a [u8],
}

const RAM_HEAD_BYTES: usize = 16;

impl RamEntry<'_> {
    /// Appends the entry: bucket | bytes of kv | bytes of aux | crc32 of all others | kv | aux.
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bucket.to_le_bytes());
        out.extend_from_slice(&(self.kv.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.aux.len() as u32).to_le_bytes());
        let sum = ram_checksum(&out[start..], self.kv, self.aux);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(self.kv);
        out.extend_from_slice(self.aux);
    }
}

fn ram_checksum(head: &[u8], kv: &[u8], aux: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(kv);
    hasher.update(aux);
    hasher.finalize()
}

/// Appends a RAM section: number of entries | crc32 of it | entries.
pub(super) fn push_ram_section(entries: &[RamEntry<'_>], out: &mut Vec<u8>) {
    let count = (entries.len() as u32).to_le_bytes();
    out.extend_from_slice(&count);
    out.extend_from_slice(&crc32fast::hash(&count).to_le_bytes());
    for entry in entries {
        entry.push(out);
    }
}

/// The entries of a RAM section, which must be exactly `section`; `dir` names the DRUM in errors.
pub(super) fn read_ram_section<'a>(section: &'a [u8], dir: &Path) -> Result<Vec<RamEntry<'a>>> {
    let damaged = |at: usize, found: &str| Error::damaged(dir, at as u64, "a RAM section in the checkpoint", found);
    let u32_at = |at: usize| Some(u32::from_le_bytes(section.get(at..at + 4)?.try_into().ok()?));
    let (Some(count), Some(sum)) = (u32_at(0), u32_at(4)) else { return Err(damaged(0, "its end")) };
    if crc32fast::hash(&section[..4]) != sum {
        return Err(damaged(0, "a wrong checksum of its count"));
    }
    let (mut at, mut entries) = (8, Vec::new());
    for _ in 0..count {
        let head = section.get(at..at + RAM_HEAD_BYTES).ok_or_else(|| damaged(at, "its end"))?;
        let number = |from: usize| u32::from_le_bytes(head[from..from + 4].try_into().expect("four bytes"));
        let (kv_bytes, aux_bytes) = (number(4) as usize, number(8) as usize);
        let content = &section[at + RAM_HEAD_BYTES..];
        let content = content.get(..kv_bytes + aux_bytes).ok_or_else(|| damaged(at, "lengths beyond its end"))?;
        let (kv, aux) = content.split_at(kv_bytes);
        if ram_checksum(&head[..12], kv, aux) != number(12) {
            return Err(damaged(at, "a wrong checksum"));
        }
        entries.push(RamEntry { bucket: number(0), kv, aux });
        at += RAM_HEAD_BYTES + content.len();
    }
    if at != section.len() { Err(damaged(at, "more bytes than it counts")) } else { Ok(entries) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_ram_section_is_the_constant() {
        let mut section = Vec::new();
        push_ram_section(&[], &mut section);
        assert_eq!(section, DrumState::EMPTY_RAM);
    }

    #[test]
    fn a_ram_section_comes_back_and_every_flipped_bit_and_cut_is_noticed() {
        let mut section = Vec::new();
        let entries =
            [RamEntry { bucket: 3, kv: b"operations", aux: b"context" }, RamEntry { bucket: 9, kv: b"x", aux: b"" }];
        push_ram_section(&entries, &mut section);
        let back = read_ram_section(&section, Path::new("d")).unwrap();
        assert_eq!(
            back.iter().map(|entry| (entry.bucket, entry.kv, entry.aux)).collect::<Vec<_>>(),
            [(3, &b"operations"[..], &b"context"[..]), (9, b"x", b"")]
        );
        for bit in 0..section.len() * 8 {
            let mut bytes = section.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read_ram_section(&bytes, Path::new("d")).is_err(), "bit {bit}");
        }
        for length in 0..section.len() {
            assert!(read_ram_section(&section[..length], Path::new("d")).is_err(), "cut at {length}");
        }
    }
}
