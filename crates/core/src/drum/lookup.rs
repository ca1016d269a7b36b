//! One key in a DRUM that somebody else owns: what is stored under it, and what is still asked about it.
//!
//! Reads what a cut names (repository, batches, arrays) and opens nothing for writing, so that it serves beside a crawl
//! that runs. The answer is exact for the moment of the cut: the operations on the key are carried out in their order,
//! as the merges will. Costs one pass over a bucket's files, in the memory of a block and a chunk. Files that the
//! owner has deleted since are an error that says `not found`: a newer cut names others.

use std::path::Path;

use crate::disk::{Disk, Error, Result, SavedState};
use crate::varint;

use super::contract::{Aux, Key, Value};
use super::names::{self, BucketFiles, Part};
use super::pending::{Chunks, Entry};
use super::repository::{Block, RepositoryReader};
use super::state::{self, BatchState, DrumState, RepositoryState};

/// A key, as a cut knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<V> {
    /// The value that is stored under it, or will be when everything is merged; `None` where there is none.
    pub value: Option<V>,
    /// Checks of the key that wait for their answer.
    pub waiting: u64,
}

/// Looks for `key` in the DRUM in `dir` as the cut `saved` knows it. `each` gets the auxiliary of every
/// check that waits for its answer, and whether the key was stored before it.
pub fn look_up<K: Key, V: Value, A: Aux>(
    disk: &Disk,
    dir: &Path,
    saved: SavedState<'_, DrumState>,
    key: K,
    each: &mut dyn FnMut(A, bool),
) -> Result<Found<V>> {
    let SavedState { state, ram } = saved;
    state.check(dir)?;
    let buckets = u32::try_from(state.buckets()).expect("checked above");
    let bucket = names::bucket_of(key.to_bits(), buckets);
    let place = BucketFiles { disk: disk.clone(), dir: dir.to_owned(), bucket: bucket as u32, buckets };
    let found = Found { value: None, waiting: 0 };
    let mut look = Look { place: &place, key: key.to_bits(), found, each };
    let bucket = &state.buckets[bucket];
    if let Some(repository) = &bucket.repository {
        look.repository(repository)?;
    }
    if let Some(frozen) = &bucket.frozen {
        look.batch(&frozen.batch, frozen.dispatched)?;
    }
    for batch in bucket.waiting() {
        look.batch(batch, 0)?;
    }
    for entry in state::read_ram_section(ram, dir)?.iter().filter(|entry| entry.bucket == place.bucket) {
        look.arrays(entry.kv, entry.aux)?;
    }
    Ok(look.found)
}

/// A look-up in progress.
struct Look<'a, V, A> {
    place: &'a BucketFiles,
    key: u64,
    found: Found<V>,
    each: &'a mut dyn FnMut(A, bool),
}

impl<V: Value, A: Aux> Look<'_, V, A> {
    fn repository(&mut self, repository: &RepositoryState) -> Result<()> {
        let mut reader = RepositoryReader::open(self.place, repository, V::FIXED_BYTES)?;
        let mut block = Block::default();
        while reader.next(&mut block, true)? {
            if let Ok(index) = block.keys.binary_search(&self.key) {
                self.found.value = Some(self.decode(block.value(index))?);
            }
            if block.keys.last().is_some_and(|&last| last >= self.key) {
                break;
            }
        }
        Ok(())
    }

    /// Goes over the operations of a batch, of which the results of the first `dispatched` were handed out.
    fn batch(&mut self, batch: &BatchState, dispatched: u64) -> Result<()> {
        let mut operations = Chunks::open(self.place, batch.generation, Part::Operations, batch.kv_bytes)?;
        // read no further than to the last auxiliary that is reported
        let mut auxiliaries = None;
        let (mut position, mut auxes, mut auxes_read) = (0, 0, 0);
        while let Some(entry) = operations.next_entry(V::FIXED_BYTES)? {
            if entry.key == self.key {
                let before = self.found.value.is_some();
                let waits = position >= dispatched && entry.op.asks();
                self.found.waiting += u64::from(waits);
                if waits && entry.has_aux {
                    let chunks = match &mut auxiliaries {
                        Some(chunks) => chunks,
                        none => none.insert(self.auxiliaries(batch)?),
                    };
                    for _ in auxes_read..auxes {
                        chunks.next_aux()?;
                    }
                    auxes_read = auxes + 1;
                    let aux = A::decode(chunks.next_aux()?);
                    (self.each)(aux.ok_or_else(|| chunks.damaged("an auxiliary of this DRUM"))?, before);
                }
                self.apply(&entry)?;
            }
            auxes += u64::from(entry.has_aux);
            position += 1;
        }
        Ok(())
    }

    fn auxiliaries(&self, batch: &BatchState) -> Result<Chunks> {
        Chunks::open(self.place, batch.generation, Part::Auxiliaries, batch.aux_bytes)
    }

    /// The operations that were in RAM.
    fn arrays(&mut self, kv: &[u8], aux: &[u8]) -> Result<()> {
        let (mut at, mut aux_at) = (0, 0);
        while at < kv.len() {
            let entry = Entry::read(kv, &mut at, V::FIXED_BYTES).ok_or_else(|| self.damaged_arrays(at))?;
            let aux = match entry.has_aux {
                true => Some(varint::read_slice(aux, &mut aux_at).ok_or_else(|| self.damaged_arrays(aux_at))?),
                false => None,
            };
            if entry.key != self.key {
                continue;
            }
            let before = self.found.value.is_some();
            if entry.op.asks() {
                self.found.waiting += 1;
                if let Some(aux) = aux {
                    let aux = A::decode(aux).ok_or_else(|| self.damaged_arrays(aux_at))?;
                    (self.each)(aux, before);
                }
            }
            self.apply(&entry)?;
        }
        Ok(())
    }

    fn apply(&mut self, entry: &Entry<'_>) -> Result<()> {
        if !entry.op.stores() {
            return Ok(());
        }
        self.found.value = Some(self.decode(entry.value)?);
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<V> {
        V::decode(bytes).ok_or_else(|| {
            let found = format!("{} bytes that are none, in bucket {}", bytes.len(), self.place.bucket);
            Error::damaged(&self.place.dir, 0, "a value of this DRUM", found)
        })
    }

    fn damaged_arrays(&self, at: usize) -> Error {
        let expected = format!("the arrays of bucket {} in the checkpoint", self.place.bucket);
        Error::damaged(&self.place.dir, at as u64, expected, "other bytes")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::disk::Removal;

    use super::super::{Dispatcher, Drum, DrumOptions, Need};
    use super::*;

    /// A dispatcher that takes everything and remembers nothing.
    struct Deaf;

    impl Dispatcher<u64, Vec<u8>, String> for Deaf {}

    fn found(
        disk: &Disk,
        dir: &Path,
        state: &DrumState,
        ram: &[u8],
        key: u64,
    ) -> (Found<Vec<u8>>, Vec<(String, bool)>) {
        let mut told = Vec::new();
        let mut each = |aux: String, before| told.push((aux, before));
        let found = look_up::<u64, Vec<u8>, String>(disk, dir, SavedState::new(state, ram), key, &mut each).unwrap();
        (found, told)
    }

    #[test]
    fn every_cut_of_a_random_life_is_read_as_a_map_would_tell() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::real();
        let options = DrumOptions { buckets: 2, ram_per_bucket: 300, merge_threshold: 2_000, merge_memory: 1 << 20 };
        let mut drum: Drum<u64, Vec<u8>, String> = Drum::open(disk.clone(), dir.path(), options, None).unwrap();
        let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        // what waits, in the order of asking; a dispatch takes them out in its own order, so it empties all
        let mut waiting: Vec<(u64, String, bool)> = Vec::new();
        for step in 0..3_000_u32 {
            let key = (random.u64(..20) << 59) | 7;
            let value = step.to_le_bytes()[..random.usize(..4)].to_vec();
            let aux = random.bool().then(|| format!("context {step}"));
            let before = model.contains_key(&key);
            let op = random.u32(..3);
            match op {
                0 => drum.check(key, aux.clone()).unwrap(),
                1 => drum.update(key, value.clone(), aux.clone()).unwrap(),
                _ => drum.check_update(key, value.clone(), aux.clone()).unwrap(),
            }
            if op > 0 {
                model.insert(key, value);
            }
            if matches!(op, 0 | 2)
                && let Some(aux) = aux
            {
                waiting.push((key, aux, before));
            }
            if random.u32(..200) == 0 {
                drum.synchronize(&mut Deaf).unwrap();
                waiting.clear();
            }
            if random.u32(..40) == 0 {
                let mut ram = Vec::new();
                let cut = drum.cut(&mut ram).unwrap();
                for bucket_key in (0..20).map(|key| key << 59 | 7) {
                    let (found, told) = found(&disk, dir.path(), &cut.state, &ram, bucket_key);
                    assert_eq!(found.value.as_ref(), model.get(&bucket_key), "seed {seed}, step {step}");
                    let expected = waiting.iter().filter(|(key, ..)| *key == bucket_key);
                    let expected: Vec<_> = expected.map(|(_, aux, b)| (aux.clone(), *b)).collect();
                    assert_eq!(told, expected, "seed {seed}, step {step}");
                }
                Removal::new(&disk, cut.superseded).run().unwrap();
            }
        }
    }

    #[test]
    fn results_that_were_handed_out_do_not_wait_and_their_keys_are_stored() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let options = DrumOptions { buckets: 1, ..DrumOptions::default() };
        let mut drum: Drum<u64, Vec<u8>, String> = Drum::open(disk.clone(), dir.path(), options, None).unwrap();
        for key in 0..10 {
            drum.check_update(key, vec![key as u8], Some(format!("of {key}"))).unwrap();
        }
        let done = drum.next_merge(Need::All).unwrap().unwrap().run().unwrap();
        drum.finish_merge(done);
        assert_eq!(drum.dispatch(&mut Deaf, 4).unwrap(), 4);
        let mut ram = Vec::new();
        let cut = drum.cut(&mut ram).unwrap();
        let at = |key| found(&disk, dir.path(), &cut.state, &ram, key);
        assert_eq!(at(3), (Found { value: Some(vec![3]), waiting: 0 }, Vec::new()));
        assert_eq!(at(4), (Found { value: Some(vec![4]), waiting: 1 }, vec![("of 4".to_owned(), false)]));
        assert_eq!(at(11), (Found { value: None, waiting: 0 }, Vec::new()));
    }

    #[test]
    fn a_file_that_is_gone_is_told_apart_from_damage() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let options = DrumOptions { buckets: 1, ..DrumOptions::default() };
        let mut drum: Drum<u64, Vec<u8>, String> = Drum::open(disk.clone(), dir.path(), options, None).unwrap();
        drum.update(1, vec![1], None).unwrap();
        let state = drum.close(&mut Deaf).unwrap();
        for name in disk.list(dir.path()).unwrap() {
            disk.remove(&dir.path().join(name)).unwrap();
        }
        let saved = SavedState::new(&state, DrumState::EMPTY_RAM);
        let look = look_up::<u64, Vec<u8>, String>(&disk, dir.path(), saved, 1, &mut |_, _| {});
        assert!(look.unwrap_err().is_not_found());
    }
}
