//! The part of a checkpoint that belongs to the wheel: the names and lengths of its files and how far each was read,
//! and the records that were in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{CONTENT_AT, SlotFile};
use super::frame::Head;
use super::place::{Level, Place};
use crate::disk::{Error, Result};

/// The durable state of a wheel; small, part of a checkpoint's record. The default is the state of an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WheelState {
    /// The newest generation that a file was given.
    pub(super) generation: u64,
    /// Files by slot, in the order of levels and time.
    pub(super) slots: Vec<SlotState>,
}

/// The file of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SlotState {
    pub place: Place,
    pub file: FileState,
}

/// The part of a file that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileState {
    pub generation: u64,
    /// Length of the file. Bytes behind it do not count: they were written after the checkpoint.
    pub bytes: u64,
    /// Offset of the first frame that was not read.
    pub position: u64,
    /// Records from there on.
    pub records: u64,
}

impl FileState {
    /// State of a file with header and label alone.
    pub(crate) fn empty(generation: u64) -> Self {
        FileState { generation, bytes: CONTENT_AT, position: CONTENT_AT, records: 0 }
    }

    /// Bytes that are not read.
    pub(crate) fn left(&self) -> u64 {
        self.bytes - self.position
    }
}

impl SlotState {
    /// Its file.
    pub(crate) fn name(&self) -> SlotFile {
        SlotFile { place: self.place, generation: self.file.generation }
    }
}

impl WheelState {
    /// The RAM section of a wheel with nothing in RAM.
    pub(crate) const EMPTY_RAM: &[u8] = &[0, 0, 0, 0, 0x1c, 0xdf, 0x44, 0x21];

    /// The files of a wheel in `dir`, and how many bytes of each count.
    pub fn files<'a>(&'a self, dir: &'a Path) -> impl Iterator<Item = (PathBuf, u64)> + 'a {
        self.slots.iter().map(|slot| (slot.name().path(dir), slot.file.bytes))
    }

    /// Records by slot, those of the RAM section `ram` among them, which is in the file `path`; without a slot those
    /// that are ready to be given out. No file is opened.
    pub fn records_by_slot(&self, ram: &[u8], path: &Path) -> Result<BTreeMap<Option<Place>, u64>> {
        let mut slots = BTreeMap::new();
        let files = self.slots.iter().map(|slot| (Some(slot.place), slot.file.records));
        let entries = read_ram_section(ram, path)?;
        let in_memory = entries.iter().map(|entry| (entry.place, u64::from(entry.records)));
        for (place, records) in files.chain(in_memory) {
            *slots.entry(place).or_default() += records;
        }
        Ok(slots)
    }

    /// Refuses what no wheel can have noted, before anything is done with it.
    pub(super) fn check(&self, dir: &Path) -> Result<()> {
        let damaged = |found: String| Err(Error::damaged(dir, 0, "slots of a wheel in the checkpoint", found));
        if !self.slots.is_sorted_by(|one, next| one.place < next.place) {
            return damaged("slots without order".to_owned());
        }
        for slot in &self.slots {
            let FileState { generation, bytes, position, records } = slot.file;
            let is_read = position == bytes;
            let is_right = slot.place.is_in_time()
                && (1..=self.generation).contains(&generation)
                && (CONTENT_AT..=bytes).contains(&position);
            if !is_right || is_read != (records == 0) || records > bytes - position {
                return damaged(format!("{slot:?}"));
            }
        }
        Ok(())
    }
}

/// A consistent cut through a wheel, to be made durable by the owner.
#[derive(Debug)]
pub struct WheelCut {
    /// The state for a checkpoint's record.
    pub state: WheelState,
    /// Files that were written since the last cut and must be synced before `state` is durable.
    pub sync: Vec<PathBuf>,
    /// Directories whose names changed since the last cut, to be synced after the files.
    pub sync_dirs: Vec<PathBuf>,
    /// Files that earlier cuts name and this one does not.
    pub superseded: Vec<PathBuf>,
}

/// Records of a slot in the RAM section of a checkpoint; without a slot, those that are ready to be given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RamEntry<'a> {
    pub place: Option<Place>,
    pub records: u32,
    pub payload: &'a [u8],
}

/// Level, number, bytes, records, checksum of these and of the records.
const ENTRY_HEAD_BYTES: usize = 4 + 8 + 12;
/// The level of what is ready.
const READY: u32 = 4;

impl RamEntry<'_> {
    /// Appends the entry: level | number | bytes | records | crc32 of all others | records.
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        let (level, number) = self.place.map_or((READY, 0), |place| (place.level as u32, place.number));
        let start = out.len();
        out.extend_from_slice(&level.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&(self.payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.records.to_le_bytes());
        let sum = ram_checksum(&out[start..], self.payload);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(self.payload);
    }
}

fn ram_checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(payload);
    sum.finalize()
}

/// Appends a RAM section: number of entries | crc32 of it | entries.
pub(super) fn push_ram_section<'a>(entries: impl Iterator<Item = RamEntry<'a>>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(WheelState::EMPTY_RAM);
    let mut count = 0_u32;
    for entry in entries {
        entry.push(out);
        count += 1;
    }
    let count = count.to_le_bytes();
    out[start..start + 4].copy_from_slice(&count);
    out[start + 4..start + 8].copy_from_slice(&crc32fast::hash(&count).to_le_bytes());
}

/// The entries of a RAM section, which must be exactly `section`; `path` names it in errors.
pub(super) fn read_ram_section<'a>(section: &'a [u8], path: &Path) -> Result<Vec<RamEntry<'a>>> {
    let damaged = |at: usize, found: String| Error::damaged(path, at as u64, "a RAM section of the wheel", found);
    let ends = |at: usize| damaged(at, "its end".to_owned());
    let (head, _) = section.split_first_chunk::<8>().ok_or_else(|| ends(0))?;
    if crc32fast::hash(&head[..4]).to_le_bytes() != head[4..] {
        return Err(damaged(0, "a wrong checksum of its count".to_owned()));
    }
    let (mut at, mut entries) = (8, Vec::new());
    for _ in 0..u32::from_le_bytes(std::array::from_fn(|n| head[n])) {
        let head = section[at..].first_chunk::<ENTRY_HEAD_BYTES>().ok_or_else(|| ends(at))?;
        let word = |from: usize| u32::from_le_bytes(std::array::from_fn(|n| head[from + n]));
        let content = at + ENTRY_HEAD_BYTES;
        let payload = section[content..].get(..word(12) as usize).ok_or_else(|| ends(at))?;
        if ram_checksum(&head[..20], payload) != word(20) {
            return Err(damaged(at, "a wrong checksum".to_owned()));
        }
        let place = place_of(word(0), u64::from_le_bytes(std::array::from_fn(|n| head[4 + n])));
        let place = place.ok_or_else(|| damaged(at, format!("what is no slot, of level {}", word(0))))?;
        let entry = RamEntry { place, records: word(16), payload };
        let takes = |due| place.is_none_or(|place| place.takes(due));
        if let Some(found) = Head::of(payload, entry.records).fault(payload, takes) {
            return Err(damaged(at, found));
        }
        entries.push(entry);
        at = content + payload.len();
    }
    if at != section.len() { Err(damaged(at, "more bytes than it counts".to_owned())) } else { Ok(entries) }
}

fn place_of(level: u32, number: u64) -> Option<Option<Place>> {
    match u8::try_from(level) {
        Ok(level) if u32::from(level) == READY => (number == 0).then_some(None),
        Ok(level) => {
            let place = Place { level: Level::from_number(level)?, number };
            place.is_in_time().then_some(Some(place))
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame;
    use super::*;
    use crate::clock::Time;

    #[test]
    fn an_empty_ram_section_is_the_constant() {
        let mut section = Vec::new();
        push_ram_section([].into_iter(), &mut section);
        assert_eq!(section, WheelState::EMPTY_RAM);
    }

    #[test]
    fn a_ram_section_comes_back_and_every_flipped_bit_and_cut_is_noticed() {
        let mut payload = Vec::new();
        frame::push(Time::from_ms(9), b"record", &mut payload);
        let place = Place { level: Level::Days, number: 7 };
        let entries = [
            RamEntry { place: None, records: 1, payload: &payload },
            RamEntry { place: Some(place), records: 1, payload: &payload },
        ];
        let mut section = b"before".to_vec();
        push_ram_section(entries.into_iter(), &mut section);
        let section = &section[6..];
        assert_eq!(read_ram_section(section, Path::new("d")).unwrap(), entries);
        for bit in 0..section.len() * 8 {
            let mut bytes = section.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read_ram_section(&bytes, Path::new("d")).is_err(), "bit {bit}");
        }
        for length in 0..section.len() {
            assert!(read_ram_section(&section[..length], Path::new("d")).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn states_that_no_wheel_notes_are_refused() {
        let file = FileState { generation: 2, bytes: 100, position: 50, records: 3 };
        let slot = |number: u64, file: &FileState| SlotState {
            place: Place { level: Level::Hours, number },
            file: file.clone(),
        };
        let check = |slots: Vec<SlotState>| WheelState { generation: 2, slots }.check(Path::new("d"));
        check(vec![slot(1, &file), slot(2, &file)]).unwrap();
        check(vec![slot(2, &file), slot(2, &file)]).unwrap_err();
        let changes: [fn(&mut FileState); 6] = [
            |file| file.generation = 3,
            |file| file.generation = 0,
            |file| file.position = 101,
            |file| file.position = 39,
            |file| file.records = 0,
            |file| file.position = 100,
        ];
        for change in changes {
            let mut file = file.clone();
            change(&mut file);
            check(vec![slot(1, &file)]).unwrap_err();
        }
    }
}
