//! Verifying a frontier that somebody else owns: what was in memory at a cut, and the partitions on disk.
//!
//! Every queued URL is handed out with the place where it is, so that its owner can ask the other stores about it. It
//! opens nothing for writing. Memory holds what a frontier has in memory besides its hosts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::QueuedUrl;
use super::charge::Charges;
use super::partition::{FileState, Partition, file_path, partition_of, verify::Asked};
use super::reputation::Saved;
use super::state::{FrontierState, PartitionState, read_host, read_partition};
use super::task::RulesDecoder;
use super::wire::Reader;
use crate::clock::Time;
use crate::disk::{Disk, Error, Result, SavedState};
use crate::fingerprint::Fingerprint;

/// A listener to queued URLs: it gets a URL, whether a host took it from the base already, and its file and offset.
pub type EachUrl<'a> = dyn FnMut(&QueuedUrl, bool, &Path, u64) -> Result<()> + 'a;

/// The frontier in a directory as a cut knows it.
#[derive(Debug)]
pub struct Check<'a> {
    disk: Disk,
    dir: &'a Path,
    state: &'a FrontierState,
    checkpoint: &'a Path,
    partitions: Vec<Partition>,
    urls: Vec<QueuedUrl>,
}

impl<'a> Check<'a> {
    /// Reads what was in memory at the cut `saved`, made at `then`, which is in the file `checkpoint`.
    pub fn new(
        disk: &Disk,
        dir: &'a Path,
        saved: SavedState<'a, FrontierState>,
        checkpoint: &'a Path,
        rules: RulesDecoder,
        then: Time,
    ) -> Result<Self> {
        let SavedState { state, ram } = saved;
        let sum = crc32fast::hash(ram);
        if (ram.len() as u64, sum) != (state.ram_bytes, state.ram_crc) || !state.partitions.len().is_power_of_two() {
            let expected = format!("a frontier of {} bytes with checksum {:08x}", state.ram_bytes, state.ram_crc);
            return Err(Error::damaged(checkpoint, 0, expected, format!("{} with {sum:08x}", ram.len())));
        }
        let mut check = Check { disk: disk.clone(), dir, state, checkpoint, partitions: Vec::new(), urls: Vec::new() };
        let mut reader = Reader::new(ram);
        let read = check.read(&mut reader, rules, then);
        read.ok_or_else(|| Error::damaged(checkpoint, reader.position() as u64, "a saved frontier", "other bytes"))?;
        Ok(check)
    }

    fn read(&mut self, reader: &mut Reader<'_>, rules: RulesDecoder, then: Time) -> Option<()> {
        reader.varint()?;
        let shared: Arc<Path> = self.dir.into();
        for (number, saved) in self.state.partitions.iter().enumerate() {
            let mut partition = Partition::new(number, self.disk.clone(), shared.clone(), 0, 0);
            read_partition(reader, &mut partition)?;
            partition.recent.tails.clone_from(&saved.tails);
            self.partitions.push(partition);
        }
        for _ in 0..reader.varint()? {
            reader.fingerprint()?;
            reader.varint()?;
            reader.varint()?;
        }
        for _ in 0..reader.varint()? {
            let saved = read_host(reader, then, rules)?;
            self.urls.extend(saved.items.into_iter().map(|item| item.url));
        }
        for _ in 0..reader.varint()? {
            reader.fingerprint()?;
            reader.time()?;
            reader.u8()?;
        }
        Charges::read(reader)?;
        Saved::read(reader, self.state.partitions.len())?;
        reader.is_at_end().then_some(())
    }

    /// The number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Bytes of the files of a partition that the cut names.
    pub fn bytes(&self, number: usize) -> u64 {
        let state = &self.state.partitions[number];
        state.tails.iter().chain(&state.base).map(|file| file.bytes).sum()
    }

    /// Files that the cut names, with their lengths.
    pub fn named(&self) -> Vec<(PathBuf, u64)> {
        files(self.state, self.dir)
    }

    /// The URLs of active hosts.
    pub fn memory(&self, each: &mut EachUrl<'_>) -> Result<u64> {
        for url in &self.urls {
            each(url, false, self.checkpoint, 0)?;
        }
        Ok(self.urls.len() as u64)
    }

    /// Goes through a partition; says how many URLs are in it that no host has taken.
    pub fn partition(&self, number: usize, each: &mut EachUrl<'_>, faults: &mut Vec<Error>) -> Result<u64> {
        let count = self.partitions.len();
        let owns = |domain: Fingerprint| partition_of(domain, count) == number;
        let asked = Asked { owns: &owns, checkpoint: self.checkpoint };
        self.partitions[number].verify(self.state.partitions[number].base, &asked, each, faults)
    }

    /// Tails that are longer than the cut notes, with the length that it notes.
    pub fn grown(&self) -> Result<Vec<(PathBuf, u64)>> {
        let mut grown = Vec::new();
        for (path, bytes) in self.named() {
            let file = self.disk.open_if_there(&path)?.filter(|_| path.extension().is_some_and(|end| end == "tail"));
            if let Some(file) = file
                && file.len()? > bytes
            {
                grown.push((path, bytes));
            }
        }
        Ok(grown)
    }

    /// Names in the directory that the cut does not name, and whether they are those of files of a frontier.
    pub fn unknown(&self) -> Result<Vec<(PathBuf, bool)>> {
        let named: HashSet<PathBuf> = self.named().into_iter().map(|(path, _)| path).collect();
        unknown(&self.disk, self.dir, |path| named.contains(path))
    }
}

/// The files of the frontier in `dir` that `state` names, and how many bytes of each count.
pub fn files(state: &FrontierState, dir: &Path) -> Vec<(PathBuf, u64)> {
    let of = |(number, state): (usize, &PartitionState)| {
        let path = |file: FileState, kind| (file_path(dir, number, file.generation, kind), file.bytes);
        let tails: Vec<_> = state.tails.iter().map(|&tail| path(tail, "tail")).collect();
        tails.into_iter().chain(state.base.map(|base| path(base, "base")))
    };
    state.partitions.iter().enumerate().flat_map(of).collect()
}

/// Names in `dir` but for those that `keep` names, and whether they are those of files of a frontier.
pub fn unknown(disk: &Disk, dir: &Path, keep: impl Fn(&Path) -> bool) -> Result<Vec<(PathBuf, bool)>> {
    let names = disk.list(dir)?.into_iter();
    let ours = |name: &str| {
        name.starts_with("partition-") && [".tail", ".base", ".runs"].iter().any(|end| name.ends_with(end))
    };
    let found = names.map(|name| (dir.join(&name), ours(&name)));
    Ok(found.filter(|(path, _)| !keep(path)).collect())
}
