//! Writing a wheel on where slots of it are damaged.
//!
//! The new wheel begins with what the old cut says of the slots that are whole. No file is removed, and nothing that
//! the old cut counts is written over: it holds until the owner has made the new cut durable. Then the files of damaged
//! slots are unnamed, and removed by anyone who opens the wheel. So is what an interrupted renewal has left.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Wheel, WheelOptions, WheelState};
use crate::disk::{Disk, Result, SavedState};

impl Wheel {
    /// The wheel in `dir` as `saved` has it, but for the slots with the numbers `lost`, by the numbers of
    /// [`Check::slot`](super::verify::Check::slot). Nothing else may use the directory.
    pub fn renew(disk: Disk, dir: &Path, saved: SavedState<'_, WheelState>, lost: &BTreeSet<usize>) -> Result<Wheel> {
        let SavedState { state, ram } = saved;
        let kept = state.slots.iter().enumerate().filter(|(number, _)| !lost.contains(number));
        let kept = WheelState { slots: kept.map(|(_, slot)| slot.clone()).collect(), ..state.clone() };
        Wheel::restored(disk, dir, WheelOptions::default(), Some(SavedState::new(&kept, ram)))
    }
}
