//! The disk side: all partitions with their files, and the jobs of them that are out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::host::Item;
use super::partition::{Files, Partition, partition_of};
use super::policy::MergePolicy;
use super::tuning::{
    ARRAY_BYTES_MAX, ARRAY_BYTES_MIN, ARRAYS_PART, DOMAIN_TOTALS_BYTES, SUPPORTED_PART, TAIL_FILTER_BYTES_MAX,
    TAIL_FILTER_BYTES_MIN, TAIL_FILTER_PART,
};
use crate::clock::Time;
use crate::disk::{Disk, Removal, Result};
use crate::fingerprint::Fingerprint;

/// All partitions.
#[derive(Debug)]
pub(super) struct ColdSide {
    pub disk: Disk,
    pub dir: Arc<Path>,
    pub partitions: Vec<Partition>,
    pub files: Files,
    /// URLs in all of them.
    pub urls: u64,
    pub jobs_out: usize,
    /// The partition with which the next search for a job begins.
    pub rover: usize,
    /// True if the last job was a take.
    pub took_last: bool,
    pub merges: MergePolicy,
}

impl ColdSide {
    /// `count` empty partitions in `dir`; `memory` is that of the whole frontier, which counts supporters or not.
    pub(super) fn new(disk: Disk, dir: &Path, memory: usize, counts: bool, count: usize) -> Self {
        let dir: Arc<Path> = dir.into();
        let share = memory / ARRAYS_PART / count.max(1);
        let array_bytes = share.clamp(ARRAY_BYTES_MIN, ARRAY_BYTES_MAX);
        let filter_bytes = (share / TAIL_FILTER_PART).clamp(TAIL_FILTER_BYTES_MIN, TAIL_FILTER_BYTES_MAX);
        let merges = MergePolicy::new(memory, count);
        let supported_max = counts.then_some(merges.overlay_bytes_max / SUPPORTED_PART / DOMAIN_TOTALS_BYTES);
        let partition = |number| {
            let mut partition = Partition::new(number, disk.clone(), dir.clone(), array_bytes, filter_bytes);
            partition.supported_max = supported_max;
            partition
        };
        ColdSide {
            partitions: (0..count).map(partition).collect(),
            merges,
            disk,
            dir,
            files: Files::default(),
            urls: 0,
            jobs_out: 0,
            rover: 0,
            took_last: false,
        }
    }

    /// The number of the partition of a domain.
    pub(super) fn number_of(&self, domain: Fingerprint) -> usize {
        partition_of(domain, self.partitions.len())
    }

    /// Takes in a URL.
    pub(super) fn push(&mut self, item: &Item, now: Time) -> Result<()> {
        let number = self.number_of(item.url.domain);
        self.urls += 1;
        self.partitions[number].push_url(item, now, &mut self.files)
    }

    /// Deletes files of partitions that the state does not name: they were made after the cut.
    pub(super) fn delete_unknown(&self) -> Result<()> {
        let mut known = BTreeSet::new();
        for partition in &self.partitions {
            known.extend(partition.recent.tails.iter().map(|tail| partition.path(tail.generation, "tail")));
            known.extend(partition.base.iter().map(|base| partition.path(base.generation, "base")));
        }
        let ours = |name: &String| {
            name.starts_with("partition-") && [".tail", ".base", ".runs"].iter().any(|end| name.ends_with(end))
        };
        let ours = self.disk.list(&self.dir)?.into_iter().filter(ours).map(|name| self.dir.join(name));
        Removal::new(&self.disk, ours.filter(|path| !known.contains(path)).collect()).run()
    }
}
