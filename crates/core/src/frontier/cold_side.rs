//! The disk side: all partitions with their files, and the jobs of them that are out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::host::Item;
use super::partition::{Files, HostKey, Partition, partition_of};
use super::policy::{self, MergePolicy};
use super::record::HostRecord;
use super::reputation::{DomainTotals, Saved};
use super::silence::ColdSilence;
use super::task::Known;
use super::tuning::{
    ARRAY_BYTES_MAX, ARRAY_BYTES_MIN, ARRAYS_PART, DOMAIN_TOTALS_BYTES, HELD_DOMAINS_MAX, PARK_AFTER, SATURATED_MAX,
    SUPPORTED_PART, TAIL_FILTER_BYTES_MAX, TAIL_FILTER_BYTES_MIN, TAIL_FILTER_PART,
};
use crate::clock::Time;
use crate::disk::{Disk, Removal, Result};
use crate::fingerprint::Fingerprint;

/// A moment before which no host on the disk side may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdWait {
    /// The moment.
    pub until: Time,
    /// True if that is longer than hosts wait for their delays: they rest.
    pub is_rest: bool,
}

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
    /// Sequence number of the next URL or record.
    pub sequence: u64,
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
            sequence: 1,
        }
    }

    /// The number of the partition of a domain.
    pub(super) fn number_of(&self, domain: Fingerprint) -> usize {
        partition_of(domain, self.partitions.len())
    }

    /// The partition of a domain.
    pub(super) fn partition(&self, domain: Fingerprint) -> &Partition {
        &self.partitions[self.number_of(domain)]
    }

    /// The partition of a domain, to change it.
    pub(super) fn partition_mut(&mut self, domain: Fingerprint) -> &mut Partition {
        let number = self.number_of(domain);
        &mut self.partitions[number]
    }

    /// Takes the number of the next URL or record.
    pub(super) fn take_number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    /// Takes in what became known of a host.
    pub(super) fn push_record(&mut self, host: HostKey, record: &HostRecord) -> Result<()> {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        let number = self.number_of(host.domain);
        self.partitions[number].push_record(host, self.sequence, &bytes, &mut self.files)?;
        self.sequence += 1;
        Ok(())
    }

    /// Takes in what was added to a domain.
    pub(super) fn push_domain(&mut self, domain: Fingerprint, totals: &DomainTotals, now: Time) -> Result<()> {
        let number = self.number_of(domain);
        self.partitions[number].push_domain(domain, totals, now, &mut self.files)
    }

    /// Takes in a URL of a host that is not active; where its domain `rests`, nobody wants it before the next round.
    pub(super) fn push_stranger(&mut self, item: &Item, rests: bool, now: Time) -> Result<()> {
        let recent = &mut self.partition_mut(item.url.domain).recent;
        *(if rests { &mut recent.has_resting } else { &mut recent.has_first_contacts }) = true;
        self.push(item, now)
    }

    /// Takes in what is known of the host of a URL, before its first one, where nothing of it is here yet.
    pub(super) fn introduce(&mut self, item: &Item, known: &Known, now: Time) -> Result<()> {
        let key = HostKey { domain: item.url.domain, origin: item.url.origin };
        if known.is_nothing() || self.partition(key.domain).may_hold(key.origin) {
            return Ok(());
        }
        let mut record = HostRecord { written: now, ..HostRecord::default() };
        record.standing.learn(known, now);
        record.rules = known.rules.as_ref().map(|(rules, expires)| {
            let mut bytes = Vec::new();
            rules.encode(&mut bytes);
            (bytes.into(), *expires)
        });
        record.addresses = known.addresses.as_ref().map(|(list, expires)| (list.to_vec(), *expires));
        self.push_record(key, &record)
    }

    /// Holds hosts of `domain` back until `until`, since others of it found their address saturated.
    pub(super) fn hold_domain(&mut self, domain: Fingerprint, until: Time, now: Time) {
        let partition = self.partition_mut(domain);
        let held = &mut partition.held;
        held.retain(|_, &mut until| until + SATURATED_MAX > now);
        if held.len() < HELD_DOMAINS_MAX || held.contains_key(&domain) {
            let before = held.entry(domain).or_insert(until);
            *before = until.max(*before);
        }
        partition.walk.wake_at(until);
    }

    /// Returns the time at which another host of `domain`, of which `busy` are active, may become active, if it has to
    /// wait at `now`: while the domain is held back, and then one at a time until one finds its address not saturated.
    pub(super) fn held_until(&self, domain: Fingerprint, busy: u32, now: Time) -> Option<Time> {
        let until = *self.partition(domain).held.get(&domain)?;
        (until > now || busy > 0).then_some(until)
    }

    /// Returns whether anything here waits for the next round.
    pub(super) fn has_resting(&self) -> bool {
        let rests = |partition: &Partition| partition.walk.has_resting() || partition.recent.has_resting;
        self.partitions.iter().any(rests)
    }

    /// Lets everything here that waits for the next round come up again.
    pub(super) fn wake_resting(&mut self, now: Time) {
        for partition in &mut self.partitions {
            partition.walk.round_begins(now);
            let recent = &mut partition.recent;
            recent.has_first_contacts |= std::mem::take(&mut recent.has_resting);
        }
    }

    /// Returns whether something is done here that may bring a host, or can be now.
    pub(super) fn is_at_work(&self, now: Time) -> bool {
        let may_find = |partition: &Partition| {
            let walks = partition.base_left() > 0 && partition.walk.due().is_some_and(|due| due <= now);
            walks || partition.busy || partition.recent.urls > 0 && partition.is_tail_wanted()
        };
        self.jobs_out > 0 || self.partitions.iter().any(may_find)
    }

    /// Returns the time at which a partition may have a job that it has not at `now`.
    pub(super) fn next_due(&self, now: Time) -> Option<Time> {
        let due = |partition: &Partition| policy::next_due(&partition.snapshot(), &self.merges, now);
        self.partitions.iter().filter_map(due).min()
    }

    /// Returns the moment before which no host here may be asked.
    pub(super) fn wait(&self, now: Time) -> Option<ColdWait> {
        let waits = self.partitions.iter().filter(|partition| partition.base_left() > 0);
        let until = waits.filter_map(|partition| partition.walk.due()).filter(|&due| due > now).min()?;
        Some(ColdWait { until, is_rest: until > now + PARK_AFTER })
    }

    /// Finds out what is here other than URLs of active hosts; reads the directories of all bases.
    pub(super) fn silence(&self) -> Result<ColdSilence> {
        if self.urls == 0 {
            return Ok(ColdSilence::Silent);
        }
        for partition in &self.partitions {
            if partition.busy {
                return Ok(ColdSilence::Unsorted);
            }
            if !partition.is_silent()? {
                return Ok(ColdSilence::Others);
            }
        }
        let mut partitions = self.partitions.iter();
        let unsorted = partitions.any(|partition| partition.recent.urls > 0 && partition.recent.has_first_contacts);
        Ok(if unsorted { ColdSilence::Unsorted } else { ColdSilence::Silent })
    }

    /// Appends what is kept of the supporters of domains to the section of a cut.
    pub(super) fn put_supporters(&self, out: &mut Vec<u8>) {
        for partition in &self.partitions {
            let mut domains: Vec<_> = partition.newer_domains().into_iter().collect();
            domains.retain(|(_, totals)| !totals.is_plain());
            let is_partial = partition.recent.is_partial || partition.frozen.is_partial;
            Saved::put_partition(&partition.supporters, is_partial, &domains, out);
        }
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
