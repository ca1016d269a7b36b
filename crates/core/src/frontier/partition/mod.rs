//! A partition of the disk side: array, tails, base, and what is newer than the base.
//!
//! What comes in is appended to the array; a full array becomes a frame of the tail. A take reads the base, a merge
//! folds the tails into its next generation. A partition has one job at a time; meanwhile it takes in as always, for a
//! merge works on tails that were closed when it began.
//!
//! Guarantees: a URL that was pushed is in exactly one of array, tail and unconsumed base until it is taken; a host's
//! URLs leave by rank and sequence as far as they were merged together; no file that a checkpoint may name is changed
//! before its noted length, or deleted. Cost: a URL is written once to a tail and, as tails grow with their base,
//! two to four times to a base; in memory are the array, filters, cursors of begun hosts, fingerprints of spent
//! ones, and newer records of hosts that can still be taken.

mod base;
mod block;
mod entry;
mod filter;
mod front;
mod key;
mod look;
mod merge;
mod output;
mod scan;
mod tail;
mod take;
mod tally;
pub(super) mod verify;
mod view;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(super) use base::{Spot, Summary};
pub(super) use filter::{Filter, domain_key};
pub(super) use key::HostKey;
pub(super) use look::Cold;
pub(super) use merge::Merge;
pub(super) use output::{MergeDone, NewBase};
pub(super) use take::{Cursor, Cursors, Refill, RoundLeft, Take, TakeDone, Taken};
pub(super) use tally::DomainTally;

use entry::Entry;
use front::Front;
use view::UrlView;
use walk::Walk;

use super::host::Item;
use super::policy::PartitionSnapshot;
use super::record::HostRecord;
use super::reputation::{DomainTotals, Histogram, SavedPartition};
use super::tuning::{DOMAIN_BYTES, DOMAIN_TOTALS_BYTES};
use super::writer::Writer;
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::fingerprint::Fingerprint;

/// The file of a generation of partition `number`; `kind` is `tail`, `base` or `runs`.
pub(super) fn file_path(dir: &Path, number: usize, generation: u64, kind: &str) -> PathBuf {
    dir.join(format!("partition-{number:03}.g{generation:06}.{kind}"))
}

/// Returns to which of `count` partitions, a power of two, a domain belongs: by the top bits of its fingerprint.
pub(super) fn partition_of(domain: Fingerprint, count: usize) -> usize {
    let bits = count.trailing_zeros();
    if bits == 0 { 0 } else { (domain.bits() >> (64 - bits)) as usize }
}

/// A file of a partition as a checkpoint knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Its generation, part of its name.
    pub generation: u64,
    /// Its length.
    pub bytes: u64,
}

/// Work on a partition, to be done on another thread.
#[derive(Debug)]
pub struct PartitionJob {
    pub(super) number: usize,
    pub(super) work: Work,
}

/// The two kinds of work.
#[derive(Debug)]
pub(super) enum Work {
    Take(Take),
    Merge(Merge),
}

/// Result of a [`PartitionJob`].
#[derive(Debug)]
pub struct PartitionDone {
    pub(super) number: usize,
    pub(super) result: Done,
}

/// Result of one of the two kinds of work.
#[derive(Debug)]
pub(super) enum Done {
    Take(TakeDone),
    Merge(MergeDone),
}

impl PartitionJob {
    /// Does the work; reads and writes files of the partition only.
    pub fn run(self) -> Result<PartitionDone> {
        let result = match self.work {
            Work::Take(take) => Done::Take(take.run()?),
            Work::Merge(merge) => Done::Merge(merge.run()?),
        };
        Ok(PartitionDone { number: self.number, result })
    }

    /// Returns whether the job is a merge, which writes and is long; takes are not.
    pub fn is_merge(&self) -> bool {
        matches!(self.work, Work::Merge(_))
    }
}

/// The base of a partition.
#[derive(Clone, Debug)]
pub(super) struct BaseFile {
    pub generation: u64,
    pub summary: Summary,
}

/// Tails since a moment, and what is known of them in memory.
#[derive(Debug, Default)]
pub(super) struct Recent {
    pub tails: Vec<FileState>,
    pub urls: u64,
    /// True if some of the URLs are of hosts that were not active when they came, or have left since.
    pub has_first_contacts: bool,
    /// Time at which the first of them came, or the first totals that were to be added to a domain's.
    pub since: Time,
    /// Filter of the origins and domains of the entries.
    pub filter: Filter,
    /// Records of hosts that may have URLs in the base.
    pub records: BTreeMap<Fingerprint, Box<[u8]>>,
    pub records_bytes: usize,
    /// Totals of domains that came since and are not in the base's totals.
    pub domains: BTreeMap<Fingerprint, DomainTotals>,
    /// True if the tails have supporters of more domains than are known in memory.
    pub is_partial: bool,
    /// True if URLs came of domains that rest until the next round, and nobody wants them before.
    pub has_resting: bool,
}

impl Recent {
    fn new(filter_bytes: usize) -> Self {
        Recent { filter: Filter::with_bytes(filter_bytes), ..Recent::default() }
    }

    pub(super) fn tail_bytes(&self) -> u64 {
        self.tails.iter().map(|tail| tail.bytes).sum()
    }

    /// Adds what came of a domain. Of one that is not known here yet, supporters alone are left out where `domains_max`
    /// are known: the next merge adds them up all the same.
    pub(super) fn add_domain(&mut self, domain: Fingerprint, totals: &DomainTotals, domains_max: usize) {
        let has_room = self.domains.len() < domains_max || totals.pages > 0 || totals.round > 0;
        if has_room || self.domains.contains_key(&domain) {
            self.domains.entry(domain).or_default().add(totals);
        } else {
            self.is_partial = true;
        }
    }

    /// Renews the records of `writer`.
    pub(super) fn renew_records(&mut self, writer: Writer) -> Option<()> {
        self.records_bytes = 0;
        for (origin, record) in std::mem::take(&mut self.records) {
            let renewed = HostRecord::renewed(&record, writer)?.into_owned().into_boxed_slice();
            self.insert_record(origin, renewed);
        }
        Some(())
    }

    pub(super) fn insert_record(&mut self, origin: Fingerprint, record: Box<[u8]>) {
        const NODE_BYTES: usize = 48;
        self.records_bytes += record.len() + NODE_BYTES;
        if let Some(old) = self.records.insert(origin, record) {
            self.records_bytes -= old.len() + NODE_BYTES;
        }
    }
}

/// A partition.
#[derive(Debug)]
pub(super) struct Partition {
    number: usize,
    disk: Disk,
    dir: Arc<Path>,
    array_bytes: usize,
    filter_bytes: usize,
    /// Domains with new supporters that are known in memory, where supporters are counted.
    pub supported_max: Option<usize>,
    /// Entries that are not in a file yet; they belong to `recent`.
    pub array: Vec<u8>,
    /// State of the front-coding of the URLs in the array.
    front: Front,
    pub recent: Recent,
    /// Tails on which a merge that is in progress works.
    pub frozen: Recent,
    pub base: Option<BaseFile>,
    /// True for a base that this process has merged.
    pub base_is_own: bool,
    pub base_filter: Filter,
    /// Histogram of the domains in the base by their supporters.
    pub supporters: Histogram,
    pub cursors: Arc<Cursors>,
    /// URLs before all cursors.
    pub consumed: u64,
    pub generation_next: u64,
    /// True while a job is out.
    pub busy: bool,
    /// Its active hosts: origin and place.
    pub active: BTreeMap<Fingerprint, u32>,
    /// Active hosts that need what they have in the tail.
    pub thirsty: usize,
    /// Active hosts that run dry.
    pub wanted: BTreeSet<HostKey>,
    pub walk: Walk,
    /// Domains that are held back, until when (`frontier::queues`).
    pub held: BTreeMap<Fingerprint, Time>,
    pub merged_at: Time,
}

/// The files of all partitions, as far as a checkpoint has to care.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Files that were written since the last cut.
    pub unsynced: BTreeSet<PathBuf>,
    /// Files that are no longer needed, but that the checkpoint that holds may name.
    pub superseded: Vec<PathBuf>,
}

impl Files {
    fn supersede(&mut self, path: PathBuf) {
        self.unsynced.remove(&path);
        self.superseded.push(path);
    }
}

impl Partition {
    pub(super) fn new(number: usize, disk: Disk, dir: Arc<Path>, array_bytes: usize, filter_bytes: usize) -> Self {
        Partition {
            number,
            disk,
            dir,
            array_bytes,
            filter_bytes,
            supported_max: None,
            array: Vec::new(),
            front: Front::default(),
            recent: Recent::new(filter_bytes),
            frozen: Recent::default(),
            base: None,
            base_is_own: true,
            base_filter: Filter::default(),
            supporters: Histogram::default(),
            cursors: Arc::default(),
            consumed: 0,
            generation_next: 1,
            busy: false,
            active: BTreeMap::new(),
            thirsty: 0,
            wanted: BTreeSet::new(),
            walk: Walk::default(),
            held: BTreeMap::new(),
            merged_at: Time::ZERO,
        }
    }

    /// The file of a generation; `kind` is `tail`, `base` or `runs`.
    pub(super) fn path(&self, generation: u64, kind: &str) -> PathBuf {
        file_path(&self.dir, self.number, generation, kind)
    }

    /// Takes in a URL.
    pub(super) fn push_url(&mut self, item: &Item, now: Time, files: &mut Files) -> Result<()> {
        Entry::Url(UrlView::of(item)).put(&mut self.array, &mut self.front);
        let is_first = self.recent.urls == 0 && (self.supported_max.is_none() || self.recent.domains.is_empty());
        if is_first {
            self.recent.since = now;
        }
        self.recent.urls += 1;
        self.recent.filter.insert(item.url.origin);
        self.flush_if_full(files)
    }

    /// Takes in the record of a host that leaves the active side.
    pub(super) fn push_record(&mut self, host: HostKey, sequence: u64, record: &[u8], files: &mut Files) -> Result<()> {
        Entry::Record { host, sequence, record }.put_alone(&mut self.array);
        self.recent.filter.insert(host.origin);
        self.note_record(host.origin, record);
        self.flush_if_full(files)
    }

    /// Keeps a newer record of a host that may be taken from the base, or from the one that is being made.
    pub(super) fn note_record(&mut self, origin: Fingerprint, record: &[u8]) {
        let may_be_taken = self.base_filter.may_hold(origin) && !self.cursors.spent.contains(&origin);
        if may_be_taken || self.frozen.filter.may_hold(origin) {
            self.recent.insert_record(origin, record.into());
        }
    }

    /// Takes in what is to be added to the totals of a domain.
    pub(super) fn push_domain(
        &mut self,
        domain: Fingerprint,
        totals: &DomainTotals,
        now: Time,
        files: &mut Files,
    ) -> Result<()> {
        if self.recent.urls == 0 && self.recent.domains.is_empty() {
            self.recent.since = now;
        }
        Entry::Domain { domain, totals: *totals }.put_alone(&mut self.array);
        self.recent.filter.insert(domain_key(domain));
        self.recent.add_domain(domain, totals, self.supported_max.unwrap_or(usize::MAX));
        self.flush_if_full(files)
    }

    /// Takes back what was in the array at a cut.
    pub(super) fn restore_array(&mut self, entries: &[u8]) {
        self.array = entries.to_vec();
        self.front = Front::anew();
    }

    fn flush_if_full(&mut self, files: &mut Files) -> Result<()> {
        if self.array.len() >= self.array_bytes { self.flush(files) } else { Ok(()) }
    }

    /// Writes the array to the tail.
    fn flush(&mut self, files: &mut Files) -> Result<()> {
        if self.array.is_empty() {
            return Ok(());
        }
        if self.recent.tails.is_empty() {
            self.recent.tails.push(FileState { generation: self.generation_next, bytes: 0 });
            self.generation_next += 1;
        }
        let last = self.recent.tails.len() - 1;
        let tail = self.recent.tails[last];
        let path = self.path(tail.generation, "tail");
        self.recent.tails[last].bytes = tail::append(&self.disk, &path, tail.bytes, &self.array)?;
        files.unsynced.insert(path);
        self.array.clear();
        self.front.clear();
        self.array.shrink_to(self.array_bytes);
        Ok(())
    }

    /// Returns whether `key` (an origin, or the key of a domain) may be in this partition.
    pub(super) fn may_hold(&self, key: Fingerprint) -> bool {
        // Most of what is here is in the base.
        self.base_filter.may_hold(key) || self.recent.filter.may_hold(key) || self.frozen.filter.may_hold(key)
    }

    /// URLs in array and tails.
    pub(super) fn tail_urls(&self) -> u64 {
        self.recent.urls + self.frozen.urls
    }

    /// Returns whether a host that is ready for them needs some of the URLs in array and tails.
    pub(super) fn is_tail_wanted(&self) -> bool {
        self.thirsty > 0 || self.recent.has_first_contacts
    }

    /// Returns the numbers that decide whether it is taken from or merged.
    pub(super) fn snapshot(&self) -> PartitionSnapshot {
        PartitionSnapshot {
            is_busy: self.busy,
            base_bytes: self.base.as_ref().map_or(0, |base| base.summary.bytes),
            consumed: self.consumed,
            left: self.base_left(),
            tail_bytes: self.recent.tail_bytes(),
            tail_urls: self.recent.urls,
            tail_since: self.recent.since,
            tail_is_wanted: self.is_tail_wanted(),
            overlay_bytes: self.overlay_bytes(),
            tail_domains: self.supported_max.map_or(0, |_| self.recent.domains.len()),
            merged_at: self.merged_at,
            runs_dry: !self.wanted.is_empty(),
            walk_due: self.walk.due(),
        }
    }

    /// URLs in the base before no cursor.
    pub(super) fn base_left(&self) -> u64 {
        self.base.as_ref().map_or(0, |base| base.summary.urls.saturating_sub(self.consumed))
    }

    /// Bytes in memory that a merge would free: newer records, pages of domains, cursors.
    fn overlay_bytes(&self) -> usize {
        let domain_bytes = if self.supported_max.is_some() { DOMAIN_TOTALS_BYTES } else { DOMAIN_BYTES };
        self.recent.records_bytes
            + self.recent.domains.len() * domain_bytes
            + self.cursors.memory()
            + self.frozen.records_bytes
    }

    /// The newest record of a host outside of the base, if there is one.
    pub(super) fn newer_record(&self, origin: Fingerprint) -> Option<&[u8]> {
        self.recent.records.get(&origin).or_else(|| self.frozen.records.get(&origin)).map(|record| &**record)
    }

    /// Returns the totals of a domain outside of the base's.
    pub(super) fn newer_totals(&self, domain: Fingerprint) -> DomainTotals {
        let of = |recent: &Recent| recent.domains.get(&domain).copied().unwrap_or_default();
        let mut totals = of(&self.frozen);
        totals.add(&of(&self.recent));
        totals
    }

    /// Returns whether [`Partition::newer_totals`] is all that is known of a domain.
    pub(super) fn knows_all_of(&self, domain: Fingerprint) -> bool {
        !self.base_filter.may_hold(domain_key(domain)) && !self.recent.is_partial && !self.frozen.is_partial
    }

    /// Takes over what a cut kept of its domains' supporters.
    pub(super) fn take_saved(&mut self, saved: SavedPartition) {
        self.supporters = saved.histogram;
        self.recent.is_partial = saved.is_partial;
        self.recent.domains.extend(saved.domains);
    }

    /// The domains of which there is anything outside of the base's totals, with that.
    pub(super) fn newer_domains(&self) -> BTreeMap<Fingerprint, DomainTotals> {
        let mut all = self.frozen.domains.clone();
        self.recent.domains.iter().for_each(|(&domain, totals)| all.entry(domain).or_default().add(totals));
        all
    }

    /// Returns the times from which on hosts with newer records are available.
    pub(super) fn availability(&self, forgiven: Time) -> BTreeMap<Fingerprint, Time> {
        let records = self.recent.records.iter();
        let available = |record| HostRecord::available_in(record, forgiven, Writer::This);
        records.filter_map(|(&origin, record)| Some((origin, available(record)?))).collect()
    }

    /// Moves the cursor of a host whose URLs were accepted; `left` are behind it.
    pub(super) fn consume(&mut self, host: HostKey, cursor: Cursor, urls: u64, left: u64) {
        Arc::make_mut(&mut self.cursors).advance(host, cursor, left);
        self.consumed += urls;
    }

    /// Closes the tails for a merge: from now on another tail is written.
    pub(super) fn freeze(&mut self, files: &mut Files) -> Result<()> {
        self.flush(files)?;
        self.frozen = std::mem::replace(&mut self.recent, Recent::new(self.filter_bytes));
        Ok(())
    }

    /// Puts a new base in the place of the old one and of the tails that are in it.
    pub(super) fn replace_base(&mut self, done: MergeDone, files: &mut Files) {
        let generation = done.generation;
        let frozen = std::mem::take(&mut self.frozen);
        for tail in &frozen.tails {
            files.supersede(self.path(tail.generation, "tail"));
        }
        if let Some(old) = &self.base {
            files.supersede(self.path(old.generation, "base"));
        }
        self.base = done.summary.map(|summary| BaseFile { generation, summary });
        self.base_is_own = true;
        if self.base.is_some() {
            files.unsynced.insert(self.path(generation, "base"));
        }
        (self.base_filter, self.supporters) = (done.filter, done.supporters);
        self.cursors = Arc::default();
        self.consumed = 0;
    }

    /// Prepares the files for use again: cuts the tails to their noted lengths, reads the base's filter.
    pub(super) fn reopen(&mut self, base: Option<FileState>) -> Result<()> {
        for tail in &self.recent.tails {
            tail::cut(&self.disk, &self.path(tail.generation, "tail"), tail.bytes).map_err(Error::of_named_file)?;
        }
        if let Some(state) = base {
            let path = self.path(state.generation, "base");
            let mut base = base::Base::open(&self.disk, &path, state.bytes).map_err(Error::of_named_file)?;
            self.base_filter = base.filter()?;
            self.base = Some(BaseFile { generation: state.generation, summary: base.summary.clone() });
            self.base_is_own = false;
        }
        Ok(())
    }
}
