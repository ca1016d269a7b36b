//! The front with its DRUM against a map: whichever layer answers, the answer is the map's.

use std::collections::HashMap;
use std::path::Path;

use crate::disk::simulated::{Restart, SimulatedDisk};
use crate::disk::{Result, SavedState};
use crate::fingerprint::Fingerprint;

use super::*;

const DIR: &str = "store";

/// Answers that were promised for later, by the number that travels as auxiliary.
#[derive(Clone, Debug, Default)]
struct Promises {
    unique: HashMap<String, bool>,
    found: HashMap<String, Option<u64>>,
}

impl<V: Into<Option<u64>>> Dispatcher<Fingerprint, V, String> for Promises {
    fn unique_key_check(&mut self, _: Fingerprint, aux: Option<String>) -> Result<()> {
        assert_eq!(self.found.remove(&aux.unwrap()), Some(None));
        Ok(())
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, value: V, aux: Option<String>) -> Result<()> {
        assert_eq!(self.found.remove(&aux.unwrap()), Some(value.into()));
        Ok(())
    }

    fn unique_key_update(&mut self, _: Fingerprint, _: V, aux: Option<String>) -> Result<()> {
        assert_eq!(self.unique.remove(&aux.unwrap()), Some(true));
        Ok(())
    }

    fn duplicate_key_update(&mut self, _: Fingerprint, _: V, aux: Option<String>) -> Result<()> {
        assert_eq!(self.unique.remove(&aux.unwrap()), Some(false));
        Ok(())
    }
}

struct World<V> {
    random: fastrand::Rng,
    memory: SimulatedDisk,
    drum: DrumOptions,
    front: FrontOptions,
    store: Store<V, String>,
    model: HashMap<Fingerprint, V>,
    promises: Promises,
    keys: u64,
    number: u64,
}

impl<V: Value + PartialEq + std::fmt::Debug + Into<Option<u64>>> World<V> {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let drum = DrumOptions {
            merge_memory: random.u64(40..8_000),
            buckets: 1 << random.u32(0..3),
            ram_per_bucket: random.usize(1..500),
            merge_threshold: random.u64(1..3_000),
        };
        // a tiny filter, so that most of its answers are "perhaps"
        let memory_max = if random.bool() { 64 } else { 1 << 20 };
        let front = FrontOptions { lru_entries: random.usize(0..30), bloom_memory: memory_max, bloom_fpr: 0.1 };
        let memory = SimulatedDisk::new(seed);
        let store = Store::open(memory.disk(), Path::new(DIR), drum, front, None, &mut |_, _| {}).unwrap();
        let keys = random.u64(1..400);
        World {
            random,
            memory,
            drum,
            front,
            store,
            model: HashMap::new(),
            promises: Promises::default(),
            keys,
            number: 0,
        }
    }

    fn key(&mut self) -> Fingerprint {
        Fingerprint::from_bits(self.random.u64(0..self.keys).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn aux(&mut self) -> String {
        self.number += 1;
        self.number.to_string()
    }

    fn admit(&mut self, value: V) {
        let (key, aux) = (self.key(), self.aux());
        let is_new = self.model.insert(key, value.clone()).is_none();
        match self.store.admit(key, value, aux.clone()).unwrap() {
            Admission::Unique(back) => assert_eq!((back, is_new), (aux, true)),
            Admission::Duplicate(back) => assert_eq!((back, is_new), (aux, false)),
            Admission::Pending => drop(self.promises.unique.insert(aux, is_new)),
        }
    }

    fn ask(&mut self) {
        let (key, aux) = (self.key(), self.aux());
        let stored = self.model.get(&key);
        match self.store.ask(key, aux.clone()).unwrap() {
            StoreAnswer::Known(value, back) => assert_eq!((back, Some(&value)), (aux, stored)),
            StoreAnswer::Unknown(back) => assert_eq!((back, None), (aux, stored)),
            StoreAnswer::Pending => {
                let stored = stored.and_then(|value| value.clone().into());
                self.promises.found.insert(aux, stored);
            }
        }
        let key = self.key();
        if let Some(value) = self.store.peek(key) {
            assert_eq!(Some(&value), self.model.get(&key));
        }
    }

    fn put(&mut self, value: V) {
        let key = self.key();
        self.model.insert(key, value.clone());
        self.store.put(key, value).unwrap();
    }

    fn merge_a_little(&mut self) {
        if let Some(job) = self.store.next_merge(Need::All).unwrap() {
            self.store.finish_merge(job.run().unwrap());
        }
        let results_max = self.random.usize(0..50);
        self.store.dispatch(&mut self.promises, results_max).unwrap();
    }

    fn cut_and_reopen(&mut self) {
        let mut ram = Vec::new();
        let cut = self.store.cut(&mut ram).unwrap();
        let disk = self.memory.disk();
        cut.sync.into_iter().for_each(|path| disk.open(path, crate::disk::Mode::Write).unwrap().sync().unwrap());
        cut.sync_dirs.iter().for_each(|dir| disk.sync_dir(dir).unwrap());
        self.memory.restart(Restart::PowerCut);
        let saved = Some(SavedState::new(&cut.state, &ram));
        let mut last = 0;
        let mut progress = |keys, _| last = keys;
        self.store =
            Store::open(self.memory.disk(), Path::new(DIR), self.drum, self.front, saved, &mut progress).unwrap();
        assert!(last >= self.store.keys());
    }

    fn finish(mut self) {
        self.store.synchronize(&mut self.promises).unwrap();
        assert!(self.promises.unique.is_empty() && self.promises.found.is_empty(), "{:?}", self.promises);
        assert_eq!((self.store.pending(), self.store.keys()), (0, self.model.len() as u64));
    }
}

/// Values without content, which `None` represents.
#[derive(Clone, Debug, PartialEq)]
struct Nothing;

impl From<Nothing> for Option<u64> {
    fn from(_: Nothing) -> Self {
        None
    }
}

impl Value for Nothing {
    const FIXED_BYTES: Option<usize> = Some(0);

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(Nothing)
    }
}

#[test]
fn every_key_is_admitted_once() {
    for seed in 0..150 {
        let run = std::panic::catch_unwind(|| {
            let mut world = World::<Nothing>::new(seed);
            for _ in 0..1_000 {
                match world.random.u16(0..300) {
                    0 => world.cut_and_reopen(),
                    1..30 => world.merge_a_little(),
                    _ => world.admit(Nothing),
                }
            }
            world.finish();
        });
        assert!(run.is_ok(), "seed {seed}");
    }
}

#[test]
fn the_present_value_is_found_wherever_it_is() {
    for seed in 0..150 {
        let run = std::panic::catch_unwind(|| {
            let mut world = World::<u64>::new(seed);
            for step in 0..1_000 {
                match world.random.u16(0..300) {
                    0 => world.cut_and_reopen(),
                    1..30 => world.merge_a_little(),
                    30..100 => world.put(step),
                    _ => world.ask(),
                }
            }
            world.finish();
        });
        assert!(run.is_ok(), "seed {seed}");
    }
}

#[test]
fn every_layer_is_counted_and_false_positives_are_those_that_the_drum_denies() {
    let mut world = World::<Nothing>::new(1);
    world.front = FrontOptions { lru_entries: 1_000, bloom_memory: 20_000, bloom_fpr: 0.01 };
    world.store =
        Store::open(SimulatedDisk::default().disk(), Path::new(DIR), world.drum, world.front, None, &mut |_, _| {})
            .unwrap();
    world.keys = u64::MAX;
    (0..30_000).for_each(|_| world.admit(Nothing));
    let before = world.store.counters();
    assert_eq!((before.lru_hits, before.negatives + before.positives), (0, 30_000));
    world.store.synchronize(&mut world.promises).unwrap();
    let after = world.store.counters();
    assert!(after.positives > 0 && after.false_positives == after.positives, "all keys were new: {after:?}");
    assert!(after.slices > 1 && after.bloom_bytes <= 20_000, "{after:?}");
    world.keys = 50;
    (0..100).for_each(|_| world.admit(Nothing));
    assert!(world.store.counters().lru_hits >= 50);
    world.finish();
}

impl<V: Value + PartialEq + std::fmt::Debug + Into<Option<u64>>> World<V> {
    /// Everybody who waits is counted; says whether some wait for the rest of a dispatch.
    fn counts_all(&self) -> bool {
        let waiting = self.promises.unique.len() + self.promises.found.len();
        assert_eq!(self.store.unanswered(), waiting as u64);
        self.store.pending_checks() < self.store.unanswered()
    }
}

#[test]
fn n1_nobody_who_asked_is_forgotten_whatever_becomes_of_the_question() {
    let mut half_dispatched = 0;
    for seed in 0..60 {
        let (mut seen, mut values) = (World::<Nothing>::new(seed), World::<u64>::new(seed));
        for step in 0..600 {
            match seen.random.u16(0..300) {
                0..4 => seen.cut_and_reopen(),
                4..40 => seen.merge_a_little(),
                _ => seen.admit(Nothing),
            }
            match values.random.u16(0..300) {
                0..4 => values.cut_and_reopen(),
                4..40 => values.merge_a_little(),
                40..100 => values.put(step),
                _ => values.ask(),
            }
            half_dispatched += u64::from(seen.counts_all()) + u64::from(values.counts_all());
        }
        seen.finish();
        values.finish();
    }
    assert!(half_dispatched > 1_000, "{half_dispatched}");
}
