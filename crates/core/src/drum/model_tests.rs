//! Random operations, merges, cuts, faults and crashes against a map that does everything at once.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::path::Path;

use crate::disk::simulated::{Fault, Restart, SimulatedDisk};
use crate::disk::{Error, Ledger, Result, SavedState};

use super::*;

trait TestValue: Value + PartialEq + Debug {
    fn draw(random: &mut fastrand::Rng) -> Self;
}

impl TestValue for () {
    fn draw(_: &mut fastrand::Rng) -> Self {}
}

impl TestValue for u64 {
    fn draw(random: &mut fastrand::Rng) -> Self {
        random.u64(..)
    }
}

impl TestValue for Vec<u8> {
    fn draw(random: &mut fastrand::Rng) -> Self {
        let length = if random.u8(0..50) == 0 { random.usize(0..3_000) } else { random.usize(0..6) };
        vec![random.u8(..); length]
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Dispatched<V> {
    UniqueCheck,
    DuplicateCheck(V),
    UniqueUpdate(V),
    DuplicateUpdate(V),
    Update(V),
}

type DispatchedWithAux<V> = (u64, Dispatched<V>, Option<String>);

/// Model of a DRUM: the values that are stored, and the results that each bucket has still to dispatch, in order.
#[derive(Clone, Debug)]
struct Model<V> {
    stored: BTreeMap<u64, V>,
    expected: Vec<VecDeque<DispatchedWithAux<V>>>,
}

impl<V: TestValue> Model<V> {
    fn new(buckets: usize) -> Self {
        Model { stored: BTreeMap::new(), expected: vec![VecDeque::new(); buckets] }
    }

    fn apply(&mut self, op: Op, key: u64, value: V, aux: Option<String>) {
        let before = self.stored.get(&key).cloned();
        let dispatched = match (op, before) {
            (Op::Check, None) => Dispatched::UniqueCheck,
            (Op::Check, Some(stored)) => Dispatched::DuplicateCheck(stored),
            (Op::CheckUpdate, None) => Dispatched::UniqueUpdate(value.clone()),
            (Op::CheckUpdate, Some(_)) => Dispatched::DuplicateUpdate(value.clone()),
            (Op::Update, _) => Dispatched::Update(value.clone()),
        };
        match &dispatched {
            Dispatched::UniqueUpdate(value) | Dispatched::DuplicateUpdate(value) | Dispatched::Update(value) => {
                self.stored.insert(key, value.clone());
            }
            _ => {}
        }
        let bucket = names::bucket_of(key, self.expected.len() as u32);
        self.expected[bucket].push_back((key, dispatched, aux));
    }

    fn check(&mut self, key: u64, dispatched: Dispatched<V>, aux: Option<String>) -> Result<()> {
        let bucket = names::bucket_of(key, self.expected.len() as u32);
        assert_eq!(Some((key, dispatched, aux)), self.expected[bucket].pop_front());
        Ok(())
    }

    fn pending(&self) -> u64 {
        self.expected.iter().map(|queue| queue.len() as u64).sum()
    }
}

impl<V: TestValue> Dispatcher<u64, V, String> for Model<V> {
    fn unique_key_check(&mut self, key: u64, aux: Option<String>) -> Result<()> {
        self.check(key, Dispatched::UniqueCheck, aux)
    }

    fn duplicate_key_check(&mut self, key: u64, value: V, aux: Option<String>) -> Result<()> {
        self.check(key, Dispatched::DuplicateCheck(value), aux)
    }

    fn unique_key_update(&mut self, key: u64, value: V, aux: Option<String>) -> Result<()> {
        self.check(key, Dispatched::UniqueUpdate(value), aux)
    }

    fn duplicate_key_update(&mut self, key: u64, value: V, aux: Option<String>) -> Result<()> {
        self.check(key, Dispatched::DuplicateUpdate(value), aux)
    }

    fn update(&mut self, key: u64, value: V, aux: Option<String>) -> Result<()> {
        self.check(key, Dispatched::Update(value), aux)
    }
}

/// A cut that may become durable, with the world as it was.
#[derive(Clone)]
struct Saved<V> {
    state: Vec<u8>,
    ram: Vec<u8>,
    model: Model<V>,
}

struct World<V> {
    random: fastrand::Rng,
    memory: SimulatedDisk,
    options: DrumOptions,
    keys: u64,
    drum: Drum<u64, V, String>,
    model: Model<V>,
    durable: Option<Saved<V>>,
    cuts: u64,
    ledger: Ledger,
    job: Option<MergeJob<u64, V, String>>,
    done: Option<MergeDone<u64, V, String>>,
}

const DIR: &str = "drum";

fn open<V: TestValue>(
    memory: &SimulatedDisk,
    options: DrumOptions,
    saved: Option<&Saved<V>>,
) -> Result<Drum<u64, V, String>> {
    let state: Option<DrumState> = saved.map(|saved| postcard::from_bytes(&saved.state).unwrap());
    let saved = state.as_ref().zip(saved).map(|(state, saved)| SavedState::new(state, &saved.ram));
    Drum::open(memory.disk(), Path::new(DIR), options, saved)
}

/// The disk has room, and fails no more.
fn heal(memory: &SimulatedDisk) {
    memory.clear_faults();
    memory.make_room();
}

impl<V: TestValue> World<V> {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let options = DrumOptions {
            buckets: 1 << random.u32(0..4),
            ram_per_bucket: random.usize(1..400),
            merge_threshold: random.u64(1..1_500),
            merge_memory: random.u64(40..8_000),
        };
        let memory = SimulatedDisk::new(seed);
        let drum = open(&memory, options, None).unwrap();
        let (keys, model) = (random.u64(1..300), Model::new(options.buckets));
        let (durable, cuts, ledger) = (None, 0, Ledger::new(0));
        World { random, memory, options, keys, drum, model, durable, cuts, ledger, job: None, done: None }
    }

    fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            if self.random.u16(0..400) == 0 {
                let fault = if self.random.bool() { Fault::Error } else { Fault::Full };
                self.memory.fail_at(self.memory.changes() + self.random.u64(1..=20), fault);
            }
            let crash = self.random.u8(0..100) == 0;
            if crash || self.step().is_err() {
                self.crash();
            }
            assert_eq!(self.drum.pending(), self.model.pending());
        }
        heal(&self.memory);
        if self.drum.failed || self.job.is_some() || self.done.is_some() {
            self.crash();
        }
        self.drum.synchronize(&mut self.model).unwrap();
        assert_eq!(self.model.pending(), 0);
        assert_eq!(self.drum.keys(), self.model.stored.len() as u64);
        self.compare_all_stored();
        let cut = self.drum.cut(&mut Vec::new()).unwrap();
        self.ledger.supersede(0, cut.superseded);
        self.ledger.take(&self.memory.disk(), usize::MAX).run().unwrap();
        self.drum.synchronize(&mut self.model).unwrap();
        self.compare_files();
    }

    fn step(&mut self) -> Result<()> {
        match self.random.u8(0..24) {
            0 => self.cut(),
            1 => {
                let need = [Need::Threshold, Need::Starving, Need::All][self.random.usize(0..3)];
                if let Some(job) = self.drum.next_merge(need)? {
                    self.job = Some(job);
                }
                Ok(())
            }
            2 => {
                if let Some(job) = self.job.take() {
                    self.ledger.supersede(0, self.drum.take_unneeded());
                    self.ledger.take(&self.memory.disk(), usize::MAX).run()?;
                    self.done = Some(job.run()?);
                }
                Ok(())
            }
            3 => {
                if let Some(done) = self.done.take() {
                    self.drum.finish_merge(done);
                }
                Ok(())
            }
            4 | 5 => {
                let results_max = self.random.usize(0..60);
                assert!(self.drum.dispatch(&mut self.model, results_max)? <= results_max);
                Ok(())
            }
            6 if self.job.is_none() && self.done.is_none() && self.random.u8(0..10) == 0 => {
                self.drum.synchronize(&mut self.model)
            }
            _ => self.ask(),
        }
    }

    fn ask(&mut self) -> Result<()> {
        let number = self.random.u64(0..self.keys);
        let key = if number.is_multiple_of(5) { number } else { number.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        let aux = match self.random.u8(0..4) {
            0 => None,
            1 => Some("x".repeat(self.random.usize(0..300))),
            _ => Some(format!("context {number}")),
        };
        let value = V::draw(&mut self.random);
        let op = [Op::Check, Op::Update, Op::CheckUpdate][self.random.usize(0..3)];
        match op {
            Op::Check => self.drum.check(key, aux.clone())?,
            Op::Update => self.drum.update(key, value.clone(), aux.clone())?,
            Op::CheckUpdate => self.drum.check_update(key, value.clone(), aux.clone())?,
        }
        self.model.apply(op, key, value, aux);
        Ok(())
    }

    /// Takes a cut and makes it durable, or dies on the way.
    fn cut(&mut self) -> Result<()> {
        let mut ram = Vec::new();
        let cut = self.drum.cut(&mut ram)?;
        self.cuts += 1;
        self.ledger.supersede(self.cuts, cut.superseded);
        let saved = Saved { state: postcard::to_stdvec(&cut.state).unwrap(), ram, model: self.model.clone() };
        for _ in 0..self.random.usize(0..10) {
            self.ask()?;
        }
        self.drum.dispatch(&mut self.model, 5)?;
        let disk = self.memory.disk();
        for path in cut.sync {
            disk.open(path, crate::disk::Mode::Write)?.sync()?;
        }
        cut.sync_dirs.iter().try_for_each(|dir| disk.sync_dir(dir))?;
        if self.random.u8(0..10) == 0 {
            return Err(Error::io("go on", Path::new(DIR), std::io::Error::other("a death before the checkpoint")));
        }
        self.durable = Some(saved);
        if self.random.u8(0..10) == 0 {
            return Err(Error::io("go on", Path::new(DIR), std::io::Error::other("a death before the deletion")));
        }
        self.ledger.durable(self.cuts);
        Ok(())
    }

    fn crash(&mut self) {
        (self.job, self.done) = (None, None);
        heal(&self.memory);
        self.ledger = Ledger::new(self.cuts);
        self.memory.restart(Restart::PowerCut);
        self.drum = open(&self.memory, self.options, self.durable.as_ref()).unwrap();
        self.model = match &self.durable {
            Some(saved) => saved.model.clone(),
            None => Model::new(self.options.buckets),
        };
        self.compare_files();
    }

    /// Files are those of the state and no longer than it notes.
    fn compare_files(&self) {
        let mut noted: Vec<_> = self.drum.buckets.iter().flat_map(Bucket::lengths).collect();
        noted.sort_unstable();
        let found: Vec<_> =
            self.memory.files().into_iter().map(|(path, content)| (path, content.len() as u64)).collect();
        assert_eq!(found, noted);
    }

    fn compare_all_stored(&mut self) {
        let mut keys = Vec::new();
        self.drum.for_each_key(Keys::All, |key, _| keys.push(key), &mut |_, _| {}).unwrap();
        assert!(keys.iter().eq(self.model.stored.keys()));
        for key in keys {
            self.drum.check(key, None).unwrap();
            self.model.apply(Op::Check, key, V::draw(&mut self.random), None);
        }
        self.drum.synchronize(&mut self.model).unwrap();
        assert_eq!(self.model.pending(), 0);
    }
}

fn model<V: TestValue>(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let run = std::panic::catch_unwind(|| World::<V>::new(seed).run(900));
        assert!(run.is_ok(), "seed {seed}");
    }
}

#[test]
fn a_drum_of_keys_answers_as_a_map_does_whatever_happens_to_it() {
    model::<()>(0..1_000);
}

#[test]
fn a_drum_of_numbers_answers_as_a_map_does_whatever_happens_to_it() {
    model::<u64>(1_000..2_000);
}

#[test]
fn a_drum_of_bytes_answers_as_a_map_does_whatever_happens_to_it() {
    model::<Vec<u8>>(2_000..3_000);
}

/// A DRUM with a repository, a frozen batch partly dispatched, pending files and arrays in RAM, and a cut of it.
fn in_the_middle() -> (SimulatedDisk, DrumOptions, Saved<Vec<u8>>) {
    let mut world = World::<Vec<u8>>::new(17);
    world.options = DrumOptions { buckets: 1, ram_per_bucket: 200, merge_threshold: 1, ..DrumOptions::default() };
    world.drum = open(&world.memory, world.options, None).unwrap();
    world.model = Model::new(1);
    world.keys = 50;
    (0..60).for_each(|_| world.ask().unwrap());
    world.drum.synchronize(&mut world.model).unwrap();
    (0..40).for_each(|_| world.ask().unwrap());
    let job = world.drum.next_merge(Need::Threshold).unwrap().unwrap();
    world.drum.finish_merge(job.run().unwrap());
    world.drum.dispatch(&mut world.model, 15).unwrap();
    (0..41).for_each(|_| world.ask().unwrap());
    let mut ram = Vec::new();
    let cut = world.drum.cut(&mut ram).unwrap();
    assert!(ram.len() > 16 && cut.sync.len() == 5, "{cut:?}");
    let saved = Saved { state: postcard::to_stdvec(&cut.state).unwrap(), ram, model: world.model };
    let memory = world.memory;
    drop(open(&memory, world.options, Some(&saved)).unwrap()); // deletes the generation that is not named
    assert_eq!(memory.files().len(), 5);
    (memory, world.options, saved)
}

/// Reopens and brings out everything; results are compared on the way.
fn finish(memory: &SimulatedDisk, options: DrumOptions, saved: &Saved<Vec<u8>>) -> Result<()> {
    let mut model = saved.model.clone();
    let mut drum = open(memory, options, Some(saved))?;
    drum.synchronize(&mut model)?;
    assert_eq!((model.pending(), drum.keys()), (0, model.stored.len() as u64));
    drum.cut(&mut Vec::new()).map(drop)
}

#[test]
fn a_flipped_bit_in_any_file_is_an_error_with_file_and_offset() {
    let (memory, options, saved) = in_the_middle();
    let sound = memory.files();
    for (path, content) in &sound {
        for at in 0..content.len() {
            let memory = SimulatedDisk::holding(&sound);
            let mut bytes = content.clone();
            bytes[at] ^= 1 << (at % 8);
            memory.put(path, bytes);
            let error = finish(&memory, options, &saved).expect_err(&format!("{} byte {at}", path.display()));
            assert!(matches!(&error, Error::Damaged { path: found, .. } if found == path), "byte {at}: {error}");
        }
    }
}

#[test]
fn a_file_that_is_cut_or_gone_is_an_error() {
    let (memory, options, saved) = in_the_middle();
    finish(&SimulatedDisk::holding(&memory.files()), options, &saved).unwrap();
    for (path, content) in memory.files() {
        for length in 0..content.len() {
            let memory = SimulatedDisk::holding(&memory.files());
            memory.put(&path, content[..length].to_vec());
            let error = finish(&memory, options, &saved).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{} cut at {length}: {error}", path.display());
        }
        let memory = SimulatedDisk::holding(&memory.files());
        memory.disk().remove(&path).unwrap();
        let error = finish(&memory, options, &saved).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{} gone: {error}", path.display());
    }
}

#[test]
fn a_damaged_checkpoint_is_refused_without_panic() {
    let (memory, options, saved) = in_the_middle();
    for bit in 0..saved.ram.len() * 8 {
        let mut damaged = saved.clone();
        damaged.ram[bit / 8] ^= 1 << (bit % 8);
        let memory = SimulatedDisk::holding(&memory.files());
        assert!(finish(&memory, options, &damaged).is_err(), "bit {bit}");
    }
    for at in 0..saved.state.len() * 8 {
        let mut state = saved.state.clone();
        state[at / 8] ^= 1 << (at % 8);
        let Ok(state) = postcard::from_bytes::<DrumState>(&state) else { continue };
        let memory = SimulatedDisk::holding(&memory.files());
        let saved = Some(SavedState::new(&state, &saved.ram));
        let opened = Drum::<u64, Vec<u8>, String>::open(memory.disk(), Path::new(DIR), options, saved);
        let _ = opened.map(|mut drum| drum.synchronize(&mut Silent));
    }
}

struct Silent;
impl<V> Dispatcher<u64, V, String> for Silent {}

#[test]
fn after_a_fault_every_call_refuses_and_reopening_cures() {
    let memory = SimulatedDisk::default();
    let options = DrumOptions { buckets: 2, ram_per_bucket: 60, merge_threshold: 100, ..DrumOptions::default() };
    let mut drum = open::<()>(&memory, options, None).unwrap();
    drum.update(1, (), None).unwrap();
    memory.fail_at(memory.changes() + 1, Fault::Error);
    let failed = (0..20).find_map(|key| drum.update(key, (), None).err()).unwrap();
    assert!(matches!(failed, Error::Io { action: "create", .. }), "{failed}");
    assert!(drum.update(5, (), None).is_err());
    assert!(drum.next_merge(Need::All).is_err());
    assert!(drum.cut(&mut Vec::new()).is_err());
    let mut drum = open::<()>(&memory, options, None).unwrap();
    drum.update(5, (), None).unwrap();
    assert_eq!(drum.pending(), 1);
}

#[test]
fn a_closed_drum_opens_again_with_its_keys() {
    let memory = SimulatedDisk::default();
    let options = DrumOptions { buckets: 4, ram_per_bucket: 100, merge_threshold: 100, ..DrumOptions::default() };
    let mut drum = open::<u64>(&memory, options, None).unwrap();
    (0..500_u64).for_each(|key| drum.update(key << 54, key, None).unwrap());
    let state = drum.close(&mut Silent).unwrap();
    memory.restart(Restart::PowerCut);
    let saved = Some(SavedState::new(&state, DrumState::EMPTY_RAM));
    let mut drum = Drum::<u64, u64, String>::open(memory.disk(), Path::new(DIR), options, saved).unwrap();
    assert_eq!((drum.keys(), drum.pending(), state.buckets()), (500, 0, 4));
    let mut model = Model::<u64>::new(4);
    model.stored.insert(7 << 54, 7);
    drum.check(7 << 54, None).unwrap();
    model.apply(Op::Check, 7 << 54, 0, None);
    drum.synchronize(&mut model).unwrap();
}

#[test]
fn a_bucket_is_due_when_it_has_gathered_enough_for_its_repository() {
    let memory = SimulatedDisk::default();
    let options = DrumOptions { buckets: 1, ram_per_bucket: 1_000, merge_threshold: 2_000, ..DrumOptions::default() };
    let mut drum = open::<u64>(&memory, options, None).unwrap();
    let mut operations_before_merge = || {
        for number in 0.. {
            if let Some(job) = drum.next_merge(Need::Threshold).unwrap() {
                drum.finish_merge(job.run().unwrap());
                while drum.dispatch(&mut Silent, 10).unwrap() > 0 {}
                return number;
            }
            drum.update(fastrand::u64(..), 1, None).unwrap();
        }
        unreachable!()
    };
    let gaps: Vec<u32> = (0..6).map(|_| operations_before_merge()).collect();
    assert!(gaps[0] >= 100 && gaps[5] > 2 * gaps[0], "{gaps:?}");
}

#[test]
fn who_starves_gets_answers_but_not_at_any_price() {
    let memory = SimulatedDisk::default();
    let options = DrumOptions { buckets: 2, ram_per_bucket: 1_000, merge_threshold: 1 << 40, ..DrumOptions::default() };
    let mut drum = open::<()>(&memory, options, None).unwrap();
    assert!(drum.next_merge(Need::Starving).unwrap().is_none());
    drum.update(1, (), None).unwrap();
    assert!(drum.next_merge(Need::Starving).unwrap().is_none(), "an update answers nobody");
    drum.check(u64::MAX, None).unwrap();
    assert_eq!(drum.pending_checks(), 1);
    assert!(drum.next_merge(Need::Threshold).unwrap().is_none());
    let job = drum.next_merge(Need::Starving).unwrap().unwrap();
    assert_eq!((job.operations(), job.bytes() > 0), (1, true));
    assert!(drum.next_merge(Need::All).unwrap().is_none(), "one merge at a time");
    drum.finish_merge(job.run().unwrap());
    drum.dispatch(&mut Silent, 10).unwrap();
    assert!(drum.next_merge(Need::Starving).unwrap().is_none());
    assert!(drum.next_merge(Need::All).unwrap().is_some());
}

#[test]
fn the_disk_may_fail_at_any_change() {
    for nth in 0..600 {
        let seed = 3_000 + nth % 5;
        let run = std::panic::catch_unwind(|| {
            let mut world = World::<Vec<u8>>::new(seed);
            world.memory.fail_at(world.memory.changes() + 1 + nth, Fault::Error);
            world.run(400);
        });
        assert!(run.is_ok(), "seed {seed}, change {nth}");
    }
}
