//! Reading a wheel that somebody else owns: every record that a cut names, once, with all that is checked.
//!
//! Nothing is opened for writing. Memory holds one piece of a file.

use std::path::{Path, PathBuf};

use super::WheelOptions;
use super::frame;
use super::read::read_piece;
use super::state::{self, RamEntry, SlotState, WheelState};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result, SavedState};
pub use crate::drum::verify::is_fault;

pub use super::file::unknown;

/// Calls `each` with every record of the wheel in `dir` that `state` and `ram` describe, and when it is due: those in
/// memory first, then slot by slot. Every checksum, count and length is checked; what is wrong first ends it.
pub fn for_each(
    disk: &Disk,
    dir: &Path,
    state: &WheelState,
    ram: &[u8],
    each: &mut impl FnMut(Time, &[u8]) -> Result<()>,
) -> Result<()> {
    let check = Check::new(disk, dir, SavedState::new(state, ram), dir)?;
    check.memory(&mut *each)?;
    (0..check.slots()).try_for_each(|slot| check.slot(slot, &mut *each))
}

/// The wheel in a directory as a cut knows it.
#[derive(Debug)]
pub struct Check<'a> {
    disk: &'a Disk,
    dir: &'a Path,
    state: &'a WheelState,
    ram: &'a [u8],
    /// Path of the checkpoint that has what was in memory: named in errors where that is wrong.
    checkpoint: &'a Path,
}

impl<'a> Check<'a> {
    /// The wheel in `dir`, as `saved` has it; what was in memory is in the file `checkpoint`. A state that no
    /// wheel can have noted is refused.
    pub fn new(disk: &'a Disk, dir: &'a Path, saved: SavedState<'a, WheelState>, checkpoint: &'a Path) -> Result<Self> {
        let SavedState { state, ram } = saved;
        state.check(dir)?;
        Ok(Check { disk, dir, state, ram, checkpoint })
    }

    /// Files that the cut names, and how many bytes of each count.
    pub fn files(&self) -> impl Iterator<Item = (PathBuf, u64)> + '_ {
        self.state.files(self.dir)
    }

    /// Slots that have a file.
    pub(crate) fn slots(&self) -> usize {
        self.state.slots.len()
    }

    /// Goes through what was in memory.
    pub fn memory(&self, each: &mut dyn FnMut(Time, &[u8]) -> Result<()>) -> Result<()> {
        for RamEntry { payload, .. } in state::read_ram_section(self.ram, self.checkpoint)? {
            hand_out(payload, each)?;
        }
        Ok(())
    }

    /// Goes through what was not read of the file of slot number `slot`. What is wrong first ends it.
    pub fn slot(&self, slot: usize, each: &mut dyn FnMut(Time, &[u8]) -> Result<()>) -> Result<()> {
        let slot: &SlotState = &self.state.slots[slot];
        let file = slot.name().open(self.disk, self.dir, slot.file.bytes)?;
        let (mut at, mut records) = (slot.file.position, 0);
        while at < slot.file.bytes {
            let piece = read_piece(&file, slot.place, at, slot.file.bytes, WheelOptions::default().read_bytes)?;
            (at, records) = (piece.next, records + piece.count);
            hand_out(&piece.records, each)?;
        }
        if records != slot.file.records {
            let expected = format!("{} records from byte {} on", slot.file.records, slot.file.position);
            return Err(Error::damaged(file.path(), at, expected, records.to_string()));
        }
        Ok(())
    }
}

fn hand_out(records: &[u8], each: &mut dyn FnMut(Time, &[u8]) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < records.len() {
        let (due, record) = frame::read(records, &mut at).expect("records are checked when they are read");
        each(due, record)?;
    }
    Ok(())
}
