//! The files of a wheel as any bytes: a slot of hours, one of `later`, and what was in memory.

use std::path::Path;
use std::time::Duration;

use super::file::{CONTENT_AT, SlotFile};
use super::frame::{FRAME_HEAD_BYTES, Head};
use super::place::{Level, Place};
use super::state::{FileState, SlotState};
use super::{Wheel, WheelOptions, WheelState, for_each};
use crate::clock::Time;
use crate::disk::SavedState;
use crate::disk::simulated::SimulatedDisk;

const DIR: &str = "calendar";
const OPTIONS: WheelOptions =
    WheelOptions { buffer_bytes: 300, memory_bytes: 2_000, read_bytes: 1 << 10, ready_bytes: 500 };
/// Length of the head of an entry in a RAM section.
const ENTRY_HEAD_BYTES: usize = 24;
const WAKES_MAX: usize = 500;
const NOW: Time = Time::from_ms(1_700_000_000_000);
const DAY: Duration = Duration::from_secs(86_400);

fn slots() -> [SlotFile; 2] {
    let later = Place { level: Level::Later, number: NOW.ms() / 86_400_000 / 32 * 32 + 64 };
    [Place::of(Level::Hours, NOW + DAY), later].map(|place| SlotFile { place, generation: 7 })
}

/// Goes through a wheel of these files, opens it and lets time pass until all came out: as the files are, and with
/// their checksums made right. What comes out is what is in them.
pub fn calendar(files: [Vec<u8>; 4]) -> bool {
    let mut repaired = files.clone();
    repaired[1..3].iter_mut().for_each(|file| repair_frames(file));
    repair_memory(&mut repaired[3]);
    let whole = read(&files);
    read(&repaired) || whole
}

fn read([counts, hours, later, ram]: &[Vec<u8>; 4]) -> bool {
    let memory = SimulatedDisk::with_dir(DIR);
    let (disk, dir) = (memory.disk(), Path::new(DIR));
    let count = |at: usize| counts.get(at).map_or(0, |&byte| u64::from(byte));
    let mut state = WheelState { generation: 7, slots: Vec::new() };
    for (number, (slot, content)) in slots().into_iter().zip([hours, later]).enumerate() {
        if !content.is_empty() {
            memory.put(slot.path(dir), content.clone());
            let records = count(number);
            let file = FileState { generation: 7, bytes: content.len() as u64, position: CONTENT_AT, records };
            state.slots.push(SlotState { place: slot.place, file });
        }
    }
    let mut found = Vec::new();
    let all = for_each(&disk, dir, &state, ram, &mut |due, record| {
        found.push((due, record.to_vec()));
        Ok(())
    });
    let opened = Wheel::open(disk, dir, OPTIONS, Some(SavedState::new(&state, ram)));
    let taken = opened.and_then(|mut wheel| {
        let (mut now, mut taken) = (NOW, Vec::new());
        // what is due in millions of years is dealt that often
        for _ in 0..WAKES_MAX {
            let Some(next) = wheel.next_due(now) else { break };
            now = next;
            while let Some(read) = wheel.next_read(now)? {
                wheel.finish_read(read.run()?, now)?;
                taken.extend(std::iter::from_fn(|| wheel.pop()).map(|(due, record)| (due, record.into_vec())));
            }
            taken.extend(std::iter::from_fn(|| wheel.pop()).map(|(due, record)| (due, record.into_vec())));
        }
        Ok((taken, wheel.figures(now).records))
    });
    let Ok((mut taken, left)) = taken else { return false };
    assert!(all.is_ok(), "what can be read to its end can be gone through");
    assert_eq!(found.len() as u64, taken.len() as u64 + left, "every record is there once");
    found.sort();
    taken.sort();
    assert!(left > 0 || found == taken, "every record comes out as it is");
    !found.is_empty()
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize)
}

/// bytes | records | crc32 | records
fn repair_frames(file: &mut [u8]) {
    let mut at = CONTENT_AT as usize;
    while let Some(bytes) = word(file, at) {
        let content = at + FRAME_HEAD_BYTES;
        let Some(payload) = file.get(content..content + bytes) else { return };
        let records = word(file, at + 4).expect("a head is longer") as u32;
        let head = Head::of(payload, records).to_bytes();
        file[at..content].copy_from_slice(&head);
        at = content + bytes;
    }
}

/// count | crc32 | entries: level | number | bytes | records | crc32 | records
fn repair_memory(section: &mut [u8]) {
    if section.len() < 8 {
        return;
    }
    let sum = crc32fast::hash(&section[..4]);
    section[4..8].copy_from_slice(&sum.to_le_bytes());
    let mut at = 8;
    while let Some(bytes) = word(section, at + 12) {
        let content = at + ENTRY_HEAD_BYTES;
        let Some(payload) = section.get(content..content + bytes) else { return };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&section[at..at + 20]);
        sum.update(payload);
        let sum = sum.finalize();
        section[at + 20..content].copy_from_slice(&sum.to_le_bytes());
        at = content + bytes;
    }
}

/// A wheel with two files, and with records that are in buffers and ready.
pub fn sample() -> [Vec<u8>; 4] {
    let memory = SimulatedDisk::with_dir(DIR);
    let dir = Path::new(DIR);
    let mut wheel = Wheel::open(memory.disk(), dir, OPTIONS, None).expect("memory takes all");
    wheel.generation = 6;
    let put = |wheel: &mut Wheel, due: Time, count: u8| {
        for n in 0..count {
            wheel.put(due, &vec![n; usize::from(n % 40)], NOW).expect("memory takes all");
        }
    };
    put(&mut wheel, NOW, 3);
    assert!(wheel.next_read(NOW).expect("memory takes all").is_none(), "three records stay in memory");
    put(&mut wheel, NOW + DAY, 30);
    wheel.generation = 6;
    put(&mut wheel, NOW + DAY * 90, 30);
    let mut ram = Vec::new();
    let state = wheel.cut(&mut ram).expect("memory takes all").state;
    let counts = state.slots.iter().map(|slot| slot.file.records as u8).collect();
    let [hours, later] = slots().map(|slot| memory.get(slot.path(dir)).expect("it was written"));
    [counts, hours, later, ram]
}
