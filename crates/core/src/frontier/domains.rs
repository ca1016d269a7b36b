//! All domains of a frontier that somebody else owns: who supports them, what they had, what waits.
//!
//! Reads what a cut names, opens nothing for writing and needs no lock. Memory holds the domains of one partition.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::charge::Charges;
use super::look::DomainRound;
use super::partition::{DomainTally, Partition, partition_of};
use super::reputation::Saved;
use super::state::{FrontierState, read_host, read_partition};
use super::task::RulesDecoder;
use super::wire::Reader;
use crate::clock::Time;
use crate::disk::{Disk, Error, Result, SavedState};
use crate::fingerprint::Fingerprint;

/// A domain as a cut has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainLook {
    /// Fingerprint of the domain.
    pub domain: Fingerprint,
    /// Pages fetched of it.
    pub pages: u64,
    /// URLs of it that wait or are in progress.
    pub queued: u64,
    /// Its state in the round that goes on; without content where supporters are not counted.
    pub round: DomainRound,
}

/// Calls `each` with all domains of which anything is known, partition by partition; says whether their supporters are
/// counted.
pub fn for_each_domain(
    disk: &Disk,
    dir: &Path,
    saved: SavedState<'_, FrontierState>,
    rules: RulesDecoder,
    then: Time,
    each: &mut dyn FnMut(&DomainLook),
) -> Result<bool> {
    let SavedState { state, ram } = saved;
    let place = dir.join("active side in the checkpoint file");
    let sum = crc32fast::hash(ram);
    if (ram.len() as u64, sum) != (state.ram_bytes, state.ram_crc) || !state.partitions.len().is_power_of_two() {
        let expected = format!("{} bytes with checksum {:08x}", state.ram_bytes, state.ram_crc);
        return Err(Error::damaged(&place, 0, expected, format!("{} with {sum:08x}", ram.len())));
    }
    let mut reader = Reader::new(ram);
    let memory = read_memory(&mut reader, disk, dir, state, rules, then);
    let memory =
        memory.ok_or_else(|| Error::damaged(&place, reader.position() as u64, "a saved frontier", "other bytes"))?;
    let Memory { partitions, active, round } = memory;
    let mut active = active.into_iter().peekable();
    for (number, partition) in partitions.iter().enumerate() {
        let mut domains: BTreeMap<Fingerprint, DomainTally> = BTreeMap::new();
        let ours = |domain: Fingerprint| partition_of(domain, partitions.len()) == number;
        while let Some((domain, tally)) = active.next_if(|(domain, _)| ours(*domain)) {
            domains.entry(domain).or_default().add(&tally);
        }
        partition.tally_domains(state.partitions[number].base, &mut domains)?;
        for (domain, tally) in domains {
            let (number, limit) = round.unwrap_or_default();
            let round = DomainRound::of(&tally.totals, number, limit);
            each(&DomainLook { domain, pages: tally.totals.pages, queued: tally.urls, round });
        }
    }
    Ok(round.is_some())
}

/// The part of a cut's section of memory that concerns domains.
struct Memory {
    partitions: Vec<Partition>,
    /// Pages and URLs of active domains that the disk side does not know.
    active: BTreeMap<Fingerprint, DomainTally>,
    /// Number and limit of the round that goes on.
    round: Option<(u32, u64)>,
}

fn read_memory(
    reader: &mut Reader<'_>,
    disk: &Disk,
    dir: &Path,
    state: &FrontierState,
    rules: RulesDecoder,
    then: Time,
) -> Option<Memory> {
    reader.varint()?;
    let shared: Arc<Path> = dir.into();
    let mut memory = Memory { partitions: Vec::new(), active: BTreeMap::new(), round: None };
    for (number, saved) in state.partitions.iter().enumerate() {
        let mut partition = Partition::new(number, disk.clone(), shared.clone(), 0, 0);
        read_partition(reader, &mut partition)?;
        partition.recent.tails.clone_from(&saved.tails);
        memory.partitions.push(partition);
    }
    for _ in 0..reader.varint()? {
        let (domain, _, added) = (reader.fingerprint()?, reader.varint()?, reader.varint()?);
        memory.active.entry(domain).or_default().totals.pages = added;
    }
    for _ in 0..reader.varint()? {
        let saved = read_host(reader, then, rules)?;
        memory.active.entry(saved.host.domain).or_default().urls += saved.items.len() as u64;
    }
    for _ in 0..reader.varint()? {
        reader.fingerprint()?;
        reader.time()?;
        reader.u8()?;
    }
    Charges::read(reader)?;
    if let Some(saved) = Saved::read(reader, state.partitions.len())? {
        memory.round = Some((saved.round, saved.limit));
        for (domain, _, added) in saved.active {
            memory.active.entry(domain).or_default().totals = added;
        }
    }
    reader.is_at_end().then_some(memory)
}
