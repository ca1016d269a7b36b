//! Files and checkpoints that are not as they were written.

use super::*;
use crate::disk::simulated::Fault;

/// A wheel with files on each level, some of them half read, with buffers and with records that are ready; a cut of it.
struct Saved {
    memory: SimulatedDisk,
    state: WheelState,
    ram: Vec<u8>,
    records: usize,
    now: Time,
}

const OPTIONS: WheelOptions = WheelOptions { buffer_bytes: 90, memory_bytes: 2_000, read_bytes: 1, ready_bytes: 100 };

fn in_the_middle() -> Saved {
    let memory = SimulatedDisk::default();
    let mut wheel = open(&memory, OPTIONS, None).unwrap();
    let now = start();
    let mut put = 0;
    let mut fill = |wheel: &mut Wheel, delay: Duration, count: u64| {
        for _ in 0..count {
            wheel.put(now + delay, &[put as u8; 20], now).unwrap();
            put += 1;
        }
    };
    for (delay, count) in [(Duration::ZERO, 250), (HOUR, 8), (HOUR * 5, 8), (DAY * 9, 8), (DAY * 80, 9)] {
        fill(&mut wheel, delay, count);
    }
    let now = comes_at(now);
    let read = wheel.next_read(now).unwrap().unwrap();
    wheel.finish_read(read.run().unwrap(), now).unwrap();
    wheel.pop().unwrap();
    let mut ram = Vec::new();
    let state = wheel.cut(&mut ram).unwrap().state;
    assert_eq!(memory.files().len(), 5);
    assert!(state.slots.iter().any(|slot| slot.file.position > file::CONTENT_AT && slot.file.records > 0));
    Saved { memory, state, ram, records: put - 1, now }
}

impl Saved {
    /// Goes through everything, and opens it and has everything come out.
    fn read(&self, memory: &SimulatedDisk) -> (Result<usize>, Result<usize>) {
        let mut counted = 0;
        let all = for_each(&memory.disk(), Path::new(DIR), &self.state, &self.ram, &mut |_, _| {
            counted += 1;
            Ok(())
        });
        let mut taken = 0;
        let opened = open(memory, OPTIONS, Some(SavedState::new(&self.state, &self.ram)));
        let drained = opened.and_then(|mut wheel| {
            let mut now = self.now;
            drain(&mut wheel, now, |_, _| taken += 1)?;
            while let Some(next) = wheel.next_due(now) {
                now = next;
                drain(&mut wheel, now, |_, _| taken += 1)?;
            }
            Ok(())
        });
        (all.map(|()| counted), drained.map(|()| taken))
    }

    fn copy(&self) -> SimulatedDisk {
        SimulatedDisk::holding(&self.memory.files())
    }
}

fn is_damage(error: &Error, path: &Path) -> bool {
    matches!(error, Error::Damaged { path: found, .. } if found == path)
}

#[test]
fn a_flipped_bit_in_any_file_is_an_error_with_file_and_offset() {
    let saved = in_the_middle();
    let (all, drained) = saved.read(&saved.copy());
    assert_eq!((all.unwrap(), drained.unwrap()), (saved.records, saved.records));
    for slot in &saved.state.slots {
        let path = slot.name().path(Path::new(DIR));
        let content = saved.memory.get(&path).unwrap();
        let position = slot.file.position as usize;
        for at in (0..file::CONTENT_AT as usize).chain(position..content.len()) {
            let memory = saved.copy();
            let mut bytes = content.clone();
            bytes[at] ^= 1 << (at % 8);
            memory.put(&path, bytes);
            let (all, drained) = saved.read(&memory);
            for error in [all.unwrap_err(), drained.unwrap_err()] {
                let Error::Damaged { path: found, offset, .. } = &error else { panic!("byte {at}: {error}") };
                assert!(*found == path && *offset <= at as u64, "byte {at}: {error}");
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_or_gone_is_an_error() {
    let saved = in_the_middle();
    for (path, content) in saved.memory.files() {
        for length in (0..content.len()).step_by(7) {
            let memory = saved.copy();
            memory.put(&path, content[..length].to_vec());
            let (all, drained) = saved.read(&memory);
            assert!(is_damage(&all.unwrap_err(), &path) && is_damage(&drained.unwrap_err(), &path), "cut at {length}");
        }
        let memory = saved.copy();
        memory.disk().remove(&path).unwrap();
        let (all, drained) = saved.read(&memory);
        assert!(is_damage(&all.unwrap_err(), &path) && is_damage(&drained.unwrap_err(), &path), "gone");
    }
}

#[test]
fn what_lies_behind_the_noted_length_is_cut_and_files_that_are_not_named_go() {
    let saved = in_the_middle();
    for (path, content) in saved.memory.files() {
        saved.memory.put(&path, [&content[..], b"torn"].concat());
    }
    let place = Place::of(Level::Hours, start());
    let unnamed = file::SlotFile { place, generation: 99 }.path(Path::new(DIR));
    saved.memory.put(&unnamed, b"of a time that never was".to_vec());
    saved.memory.put("calendar/notes", b"mine".to_vec());
    let known: Vec<PathBuf> = saved.state.files(Path::new(DIR)).map(|(path, _)| path).collect();
    let unknown = verify::unknown(&saved.memory.disk(), Path::new(DIR), |path| known.iter().any(|one| one == path));
    assert_eq!(unknown.unwrap(), [(unnamed, true), ("calendar/notes".into(), false)]);
    let (all, drained) = saved.read(&saved.memory);
    assert_eq!((all.unwrap(), drained.unwrap()), (saved.records, saved.records));
    assert!(saved.memory.get("calendar/notes").is_some());
}

#[test]
fn a_damaged_checkpoint_is_refused_without_panic() {
    let mut saved = in_the_middle();
    let ram = saved.ram.clone();
    for bit in (0..ram.len() * 8).step_by(3) {
        saved.ram.clone_from(&ram);
        saved.ram[bit / 8] ^= 1 << (bit % 8);
        let (all, drained) = saved.read(&saved.copy());
        assert!(is_damage(&all.unwrap_err(), Path::new(DIR)) && is_damage(&drained.unwrap_err(), Path::new(DIR)));
    }
    saved.ram = ram;
    let sound = postcard::to_stdvec(&saved.state).unwrap();
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(state) = postcard::from_bytes(&bytes) else { continue };
        saved.state = state;
        let _ = saved.read(&saved.copy());
    }
}

#[test]
fn after_a_fault_every_call_refuses_and_reopening_cures() {
    let memory = SimulatedDisk::default();
    let mut wheel = open(&memory, OPTIONS, None).unwrap();
    let now = start();
    wheel.put(now + DAY * 3, b"record", now).unwrap();
    memory.fail_at(memory.changes() + 1, Fault::Error);
    let failed = (0..20).find_map(|_| wheel.put(now + DAY * 3, b"record", now).err()).unwrap();
    assert!(matches!(failed, Error::Io { action: "create", .. }), "{failed}");
    assert!(wheel.put(now, b"record", now).unwrap_err().is_secondary());
    assert!(wheel.next_read(now).unwrap_err().is_secondary());
    assert!(wheel.cut(&mut Vec::new()).unwrap_err().is_secondary());
    assert_eq!(wheel.next_due(now), None);
    let mut wheel = open(&memory, OPTIONS, None).unwrap();
    wheel.put(now, b"record", now).unwrap();
    assert_eq!(wheel.figures(now).records, 1);
}

#[test]
fn damage_that_is_met_while_reading_stops_the_wheel() {
    let saved = in_the_middle();
    let mut state = saved.state.clone();
    let slot = state.slots.iter_mut().find(|slot| slot.place.level == Level::Minutes).unwrap();
    slot.file.records += 1;
    let mut wheel = open(&saved.copy(), OPTIONS, Some(SavedState::new(&state, &saved.ram))).unwrap();
    let error = drain(&mut wheel, saved.now, |_, _| ()).unwrap_err();
    assert!(matches!(&error, Error::Damaged { .. }), "{error}");
    assert!(wheel.next_read(saved.now).unwrap_err().is_secondary());
}
