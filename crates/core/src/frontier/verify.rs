//! Verifying a frontier that somebody else owns: what was in memory at a cut, and the partitions on disk.
//!
//! Every queued URL is handed out with the place where it is, so that its owner can ask the other stores about it. It
//! opens nothing for writing. Memory holds what a frontier has in memory besides its hosts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::QueuedUrl;
use super::partition::{FileState, Partition, file_path, partition_of, verify::Asked};
use super::saved_memory::{SavedMemory, SavedSection};
use super::state::{FrontierState, PartitionState};
use super::task::RulesDecoder;
use crate::clock::Time;
use crate::disk::{Disk, Error, Result, SavedState};
use crate::fingerprint::Fingerprint;

/// A listener to queued URLs: it gets a URL, whether a host took it from the base already, and its file and offset.
pub(crate) type EachUrl<'a> = dyn FnMut(&QueuedUrl, bool, &Path, u64) -> Result<()> + 'a;

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
        let state = saved.state;
        let SavedMemory { partitions, hosts, .. } = SavedSection { disk, dir, saved, rules, then }.read(checkpoint)?;
        let urls = hosts.into_iter().flat_map(|saved| saved.items).map(|item| item.url).collect();
        Ok(Check { disk: disk.clone(), dir, state, checkpoint, partitions, urls })
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
