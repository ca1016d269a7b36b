//! A cut's section of memory, read whole by somebody who does not own the frontier: verify, explain, reports.

use std::path::Path;
use std::sync::Arc;

use super::charge::Charges;
use super::holds::SavedHolds;
use super::partition::Partition;
use super::reputation::{Saved, SavedDomain};
use super::state::{FrontierState, SavedHost, read_host, read_partition};
use super::task::RulesDecoder;
use super::wire::Reader;
use crate::clock::{Stored, Time};
use crate::disk::{Disk, Error, Result, SavedState};

/// All of it that somebody else asks about.
pub(super) struct SavedMemory {
    /// The partitions, with the tails that the cut names.
    pub partitions: Vec<Partition>,
    /// Pages of domains with active hosts.
    pub domains: Vec<SavedDomain>,
    pub hosts: Vec<SavedHost>,
    pub holds: SavedHolds<Stored>,
    /// Rounds and supporters, where they are counted.
    pub rounds: Option<Saved>,
}

/// A section that is to be read.
pub(super) struct SavedSection<'a> {
    pub disk: &'a Disk,
    /// The frontier's directory.
    pub dir: &'a Path,
    pub saved: SavedState<'a, FrontierState>,
    pub rules: RulesDecoder,
    /// Time at which it was cut.
    pub then: Time,
}

impl SavedSection<'_> {
    /// Reads it; damage is reported of `place`, the file that has it.
    pub(super) fn read(&self, place: &Path) -> Result<SavedMemory> {
        let SavedState { state, ram } = self.saved;
        state.check_section(ram, place)?;
        let mut reader = Reader::new(ram);
        let memory = self.memory(&mut reader).filter(|_| reader.is_at_end());
        memory.ok_or_else(|| Error::damaged(place, reader.position() as u64, "a saved frontier", "other bytes"))
    }

    fn memory(&self, reader: &mut Reader<'_>) -> Option<SavedMemory> {
        reader.varint()?;
        let shared: Arc<Path> = self.dir.into();
        let mut partitions = Vec::new();
        for (number, saved) in self.saved.state.partitions.iter().enumerate() {
            let mut partition = Partition::new(number, self.disk.clone(), shared.clone(), 0, 0);
            read_partition(reader, &mut partition)?;
            partition.recent.tails.clone_from(&saved.tails);
            partitions.push(partition);
        }
        let domains = Saved::read_pages(reader)?;
        let mut hosts = Vec::new();
        for _ in 0..reader.varint()? {
            hosts.push(read_host(reader, self.then, self.rules)?);
        }
        let holds = SavedHolds::read(reader)?;
        Charges::read(reader)?;
        let rounds = Saved::read(reader, partitions.len())?;
        Some(SavedMemory { partitions, domains, hosts, holds, rounds })
    }
}
