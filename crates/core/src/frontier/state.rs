//! The part of a checkpoint that belongs to the frontier, and the way in which it is taken up again.
//!
//! [`FrontierState`] names the files of the disk side with their lengths; everything else is one section of bytes that
//! goes into the checkpoint's file of what was in memory: arrays, cursors, newer records, and the whole active side
//! with the URLs that are in flight (they are first of their host again). A take or merge that is in progress is as if
//! it had not begun: what it reads stays until the next cut holds. docs/FORMATS.md draws the section.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::QueuedUrl;
use super::holds::SavedHolds;
use super::host::{Host, Item};
use super::partition::{Cursor, FileState, Filter, HostKey, Partition, Recent, Spot};
use super::queues::Queues;
use super::record::HostRecord;
use super::reputation::DomainTotals;
use super::wire::{self, Reader};
use super::writer::{Beginning, Writer};
use crate::clock::{Era, Stored, Time};
use crate::disk::{Error, Result};

/// The frontier's part of a checkpoint record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontierState {
    /// The partitions, by number.
    pub partitions: Vec<PartitionState>,
    /// Length of the section of what was in memory.
    pub ram_bytes: u64,
    /// Its checksum.
    pub ram_crc: u32,
}

impl FrontierState {
    /// Fails unless `ram`, which is in the file at `path`, is the section of what was in memory.
    pub(super) fn check_section(&self, ram: &[u8], path: &Path) -> Result<()> {
        let (bytes, sum) = (ram.len() as u64, crc32fast::hash(ram));
        if (bytes, sum) != (self.ram_bytes, self.ram_crc) {
            let expected = format!("a frontier of {} bytes with checksum {:08x}", self.ram_bytes, self.ram_crc);
            return Err(Error::damaged(path, 0, expected, format!("{bytes} with {sum:08x}")));
        }
        if !self.partitions.len().is_power_of_two() {
            return Err(Error::damaged(path, 0, "a power of two of partitions", self.partitions.len().to_string()));
        }
        Ok(())
    }
}

/// The files of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionState {
    /// Tails, in the order in which they were written.
    pub tails: Vec<FileState>,
    /// The base, if there is one.
    pub base: Option<FileState>,
    /// The generation that the next file gets.
    pub generation_next: u64,
}

/// A frontier as a checkpoint has it.
#[derive(Clone, Copy, Debug)]
pub struct SavedFrontier<'a> {
    /// The files of its disk side.
    pub state: &'a FrontierState,
    /// The section of what was in memory.
    pub ram: &'a [u8],
    /// Time at which it was cut.
    pub cut: Stored,
}

/// A consistent cut through the frontier.
#[derive(Debug)]
pub struct FrontierCut {
    /// The state for the checkpoint record.
    pub state: FrontierState,
    /// Files to sync before that is written.
    pub sync: Vec<PathBuf>,
    /// Directories to sync after them.
    pub sync_dirs: Vec<PathBuf>,
    /// Files that earlier cuts may name and this one does not: they may be deleted when it is durable. There may be
    /// hundreds.
    pub superseded: Vec<PathBuf>,
}

impl FrontierCut {
    /// Cuts: appends what is in memory to `ram`, and says which files belong to the cut and which of them have to be
    /// synced. The bytes appended here are what [`Frontier::open`] wants again.
    pub(super) fn of(queues: &mut Queues, ram: &mut Vec<u8>) -> Self {
        let start = ram.len();
        let arrays: usize = queues.cold.partitions.iter().map(|partition| partition.array.len()).sum();
        ram.reserve(arrays + queues.active.bytes);
        FrontierCut::put_ram(queues, ram);
        let section = &ram[start..];
        let partitions = queues.cold.partitions.iter().map(|partition| PartitionState {
            tails: partition.frozen.tails.iter().chain(&partition.recent.tails).copied().collect(),
            base: partition
                .base
                .as_ref()
                .map(|base| FileState { generation: base.generation, bytes: base.summary.bytes }),
            generation_next: partition.generation_next,
        });
        let state = FrontierState {
            partitions: partitions.collect(),
            ram_bytes: section.len() as u64,
            ram_crc: crc32fast::hash(section),
        };
        let sync: Vec<_> = std::mem::take(&mut queues.cold.files.unsynced).into_iter().collect();
        let sync_dirs = if sync.is_empty() { Vec::new() } else { vec![queues.cold.dir.to_path_buf()] };
        let superseded = std::mem::take(&mut queues.cold.files.superseded);
        queues.pacing.take_long_backoffs();
        FrontierCut { state, sync, sync_dirs, superseded }
    }

    fn put_ram(queues: &Queues, out: &mut Vec<u8>) {
        wire::put_varint(out, queues.cold.sequence);
        for partition in &queues.cold.partitions {
            put_partition(out, partition);
        }
        queues.budgets.put_domains(out);
        wire::put_varint(out, queues.active.len() as u64);
        for index in queues.active.indices() {
            let host = queues.active.host(index);
            put_host(out, host, queues.now);
        }
        queues.pacing.saved_holds(queues.now).put(out);
        queues.budgets.put_charges_and_rounds(&queues.cold, out);
    }
}

/// The place of the section of the frontier in `dir`, for errors.
pub(super) fn in_checkpoint(dir: &Path) -> PathBuf {
    dir.join("active side in the checkpoint file")
}

impl SavedFrontier<'_> {
    /// Takes up what was saved.
    pub(super) fn restore(self, queues: &mut Queues, now: Time) -> Result<()> {
        let SavedFrontier { state, ram, cut } = self;
        let path = in_checkpoint(&queues.cold.dir);
        state.check_section(ram, &path)?;
        let mut reader = Reader::new(ram);
        let hosts = SavedFrontier::read_ram(queues, state, &mut reader, Era::before(now, cut), now);
        let hosts =
            hosts.ok_or_else(|| Error::damaged(&path, reader.position() as u64, "a saved frontier", "other bytes"))?;
        for (partition, saved) in queues.cold.partitions.iter_mut().zip(&state.partitions) {
            partition.reopen(saved.base)?;
            partition.walk.wake_at(now);
            queues.cold.urls += partition.tail_urls() + partition.base_left();
        }
        for SavedHost { mut host, items, under_way, written } in hosts {
            if written <= queues.sizes.forgiven {
                host.standing.forgive(now);
            }
            if written <= queues.sizes.rules_since {
                host.forget_rules();
            }
            if under_way {
                // its requests ended with the process that saved it, at the latest: nobody knows when
                let politeness = queues.pacing.politeness_for(host.name());
                let delay = politeness.delay(host.standing.pace, host.crawl_delay());
                host.standing.due = host.standing.due.max(now + delay);
            }
            let index = queues.activate(host, &DomainTotals::default());
            items.into_iter().for_each(|item| queues.buffer(index, item));
            let host = queues.active.host(index);
            if let Some(name) = host.name_key.filter(|_| under_way) {
                queues.pacing.rest_name(name, host.standing.due, now);
            }
            queues.settle(index, now);
        }
        queues.budgets.forget_uninhabited();
        queues.enter_holds(now)
    }

    fn read_ram(
        queues: &mut Queues,
        state: &FrontierState,
        reader: &mut Reader<'_>,
        era: Era,
        now: Time,
    ) -> Option<Vec<SavedHost>> {
        queues.cold.sequence = reader.varint()?;
        queues.beginning = Beginning { at: now, sequence: queues.cold.sequence };
        for (partition, saved) in queues.cold.partitions.iter_mut().zip(&state.partitions) {
            read_partition(reader, partition)?;
            partition.recent.renew_records(Writer::Before(now))?;
            partition.recent.since = now;
            partition.recent.has_first_contacts = true;
            partition.recent.tails.clone_from(&saved.tails);
            partition.generation_next = saved.generation_next;
        }
        queues.budgets.read_domains(reader)?;
        let mut hosts = Vec::new();
        for _ in 0..reader.varint()? {
            hosts.push(read_host(reader, now, queues.decode_rules)?);
        }
        queues.pacing.restore_holds(&mut queues.active, SavedHolds::read(reader)?, era, now);
        queues.budgets.read_charges_and_rounds(&mut queues.cold, reader, now)?;
        reader.is_at_end().then_some(hosts)
    }
}

fn put_partition(out: &mut Vec<u8>, partition: &Partition) {
    wire::put_varint(out, partition.tail_urls());
    wire::put_sized(out, &partition.array);
    let mut filter = partition.recent.filter.clone();
    if !partition.frozen.filter.is_clear() {
        filter.join(&partition.frozen.filter);
    }
    wire::put_sized(out, &if filter.is_clear() { Vec::new() } else { filter.to_bytes() });
    let (frozen, recent) = (&partition.frozen.records, &partition.recent.records);
    let older = frozen.iter().filter(|(origin, _)| !recent.contains_key(origin));
    wire::put_varint(out, (older.clone().count() + recent.len()) as u64);
    for (&origin, record) in older.chain(recent) {
        wire::put_fingerprint(out, origin);
        wire::put_sized(out, record);
    }
    let mut domains = partition.newer_domains();
    domains.retain(|_, totals| totals.pages > 0);
    wire::put_varint(out, domains.len() as u64);
    for (domain, totals) in domains {
        wire::put_fingerprint(out, domain);
        wire::put_varint(out, totals.pages);
    }
    wire::put_varint(out, partition.consumed);
    wire::put_varint(out, partition.cursors.begun.len() as u64);
    for (host, cursor) in &partition.cursors.begun {
        wire::put_fingerprint(out, host.domain);
        wire::put_fingerprint(out, host.origin);
        for number in [cursor.spot.offset, cursor.spot.index.into(), cursor.taken] {
            wire::put_varint(out, number);
        }
    }
    wire::put_varint(out, partition.cursors.spent.len() as u64);
    partition.cursors.spent.iter().for_each(|&origin| wire::put_fingerprint(out, origin));
}

pub(super) fn read_partition(reader: &mut Reader<'_>, partition: &mut Partition) -> Option<()> {
    let urls = reader.varint()?;
    partition.restore_array(reader.sized()?);
    let recent: &mut Recent = &mut partition.recent;
    recent.urls = urls;
    let filter = reader.sized()?;
    if !filter.is_empty() {
        recent.filter.join(&Filter::from_bytes(filter));
    }
    for _ in 0..reader.varint()? {
        let origin = reader.fingerprint()?;
        recent.insert_record(origin, reader.sized()?.into());
    }
    for _ in 0..reader.varint()? {
        recent.domains.insert(reader.fingerprint()?, DomainTotals::of_pages(reader.varint()?));
    }
    let cursors = Arc::make_mut(&mut partition.cursors);
    partition.consumed = reader.varint()?;
    for _ in 0..reader.varint()? {
        let host = HostKey { domain: reader.fingerprint()?, origin: reader.fingerprint()? };
        let spot = Spot { offset: reader.varint()?, index: reader.small()? };
        let cursor = Cursor { spot, taken: reader.varint()? };
        cursors.begun.insert(host, cursor);
    }
    for _ in 0..reader.varint()? {
        cursors.spent.insert(reader.fingerprint()?);
    }
    Some(())
}

/// A host of the active side, as a cut has it.
pub(super) struct SavedHost {
    pub host: Host,
    /// URLs that were in flight and in its buffer.
    pub items: Vec<Item>,
    /// Requests to it were in progress.
    pub under_way: bool,
    /// Time at which it was saved.
    pub written: Time,
}

/// Flag of a [`SavedHost`]: its tail may hold more of its URLs.
const MAY_TAIL: u8 = 1;
/// Flag of a [`SavedHost`]: requests were in progress.
const UNDER_WAY: u8 = 2;

fn put_host(out: &mut Vec<u8>, host: &Host, now: Time) {
    wire::put_fingerprint(out, host.origin);
    wire::put_fingerprint(out, host.domain);
    wire::put_sized(out, host.origin_text.as_bytes());
    let mut record = Vec::new();
    host.record(now).encode(&mut record);
    wire::put_sized(out, &record);
    wire::put_varint(out, host.base_left);
    let flag = |flag, set| if set { flag } else { 0 };
    out.push(flag(MAY_TAIL, host.may_tail || host.may_frozen) | flag(UNDER_WAY, !host.is_at_rest()));
    wire::put_varint(out, (host.flights.len() + host.received.len() + host.buffer.len() + host.waiting.len()) as u64);
    for (_, item) in host.flights.iter().chain(&host.received) {
        put_item(out, 0, item);
    }
    for item in host.buffer.iter().chain(&host.waiting) {
        put_item(out, item.rank, item);
    }
}

fn put_item(out: &mut Vec<u8>, rank: u16, item: &Item) {
    wire::put_varint(out, rank.into());
    wire::put_varint(out, item.sequence);
    item.url.encode(out);
}

pub(super) fn read_host(reader: &mut Reader<'_>, now: Time, decode: super::RulesDecoder) -> Option<SavedHost> {
    let (origin, domain) = (reader.fingerprint()?, reader.fingerprint()?);
    let mut host = Host::new(origin, domain, reader.text()?.into());
    let mut record = HostRecord::read(reader.sized()?, Writer::Before(now))?;
    record.forget_expired(now);
    let written = record.written;
    host.adopt(record, decode);
    host.base_left = reader.varint()?;
    let flags = reader.u8()?;
    host.may_tail = flags & MAY_TAIL != 0;
    let mut items = Vec::new();
    for _ in 0..reader.varint()? {
        let (rank, sequence) = (reader.small()?, reader.varint()?);
        let (url, len) = QueuedUrl::decode(reader.rest())?;
        reader.take(len)?;
        items.push(Item { rank, sequence, url });
    }
    Some(SavedHost { host, items, under_way: flags & UNDER_WAY != 0, written })
}
