//! The merge of a frozen batch with its bucket of the repository: one sequential pass, on any thread.

use std::marker::PhantomData;

use crate::disk::{Error, Result};

use super::contract::Value;
use super::names::{BucketFiles, Part};
use super::pending::{Chunks, Op};
use super::repository::{Block, RepositoryReader, RepositoryWriter};
use super::sort::{self, Slot};
use super::state::{BatchState, RepositoryState};

/// Types that are named in an interface and held by nothing.
pub(super) type Types<K, V, A> = PhantomData<fn() -> (K, V, A)>;

/// A merge to be run off the owner's thread: [`MergeJob::run`], then [`super::Drum::finish_merge`] with what it gives.
///
/// It reads the frozen files and the old generation of the bucket and writes the new one.
#[derive(Debug)]
#[must_use = "the DRUM waits for its result"]
pub struct MergeJob<K, V, A> {
    pub(super) place: BucketFiles,
    pub(super) batch: BatchState,
    pub(super) repository: Option<RepositoryState>,
    pub(super) types: Types<K, V, A>,
}

/// A merge that was run: the new generation of the bucket and the outcomes of the operations.
#[derive(Debug)]
#[must_use = "the DRUM waits for it"]
pub struct MergeDone<K, V, A> {
    pub(super) bucket: u32,
    pub(super) generation: u64,
    /// Bytes read and written.
    pub(super) bytes: u64,
    /// The new generation; `None` when nothing was to be stored.
    pub(super) repository: Option<RepositoryState>,
    pub(super) outcomes: Outcomes<V>,
    pub(super) types: PhantomData<fn() -> (K, A)>,
}

/// Results of the operations of a batch, by position.
#[derive(Debug)]
pub(super) struct Outcomes<V> {
    /// A bit an operation: its key was stored before it.
    duplicates: Vec<u64>,
    /// The values that were found or made, each once, and by rising position who is to see which. Both are empty where
    /// values have no bytes.
    values: Vec<V>,
    seen: Vec<(u32, u32)>,
}

impl<V: Value> Outcomes<V> {
    fn new(operations: usize) -> Self {
        Outcomes { duplicates: vec![0; operations.div_ceil(64)], values: Vec::new(), seen: Vec::new() }
    }

    pub(crate) fn is_duplicate(&self, position: u64) -> bool {
        self.duplicates[(position / 64) as usize] >> (position % 64) & 1 == 1
    }

    /// The value for the operation at `position`; `cursor` moves on with rising positions.
    pub(crate) fn value(&self, position: u64, cursor: &mut usize) -> Option<V> {
        while self.seen.get(*cursor).is_some_and(|&(at, _)| u64::from(at) < position) {
            *cursor += 1;
        }
        match self.seen.get(*cursor) {
            Some(&(at, value)) if u64::from(at) == position => self.values.get(value as usize).cloned(),
            _ => V::decode(&[]).filter(|_| V::FIXED_BYTES == Some(0)),
        }
    }
}

impl<K, V, A> MergeDone<K, V, A> {
    /// Bytes that were read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<K, V: Value, A> MergeJob<K, V, A> {
    /// Operations in the batch.
    #[cfg(test)]
    pub(crate) fn operations(&self) -> u64 {
        self.batch.operations
    }

    /// Bytes that the merge reads: what it costs.
    pub fn bytes(&self) -> u64 {
        self.batch.kv_bytes + self.repository.as_ref().map_or(0, |repository| repository.bytes)
    }

    /// Reads the batch, sorts it, passes once over the old generation and writes the new one.
    ///
    /// Holds some 40 bytes an operation, its value, and once each of the stored values that the checks met. After an
    /// error the DRUM waits for this merge for ever: the cure is to reopen it at the last durable cut.
    pub fn run(self) -> Result<MergeDone<K, V, A>> {
        let batch = Batch::load(&self.place, &self.batch, V::FIXED_BYTES)?;
        let mut old = Old::open(&self.place, self.repository.as_ref(), V::FIXED_BYTES)?;
        let generation = self.batch.generation;
        let writer = match batch.stores {
            true => Some(RepositoryWriter::create(&self.place, generation, V::FIXED_BYTES)?),
            false => None,
        };
        let outcomes = Outcomes::new(batch.slots.len());
        let mut merge = Merge { batch: &batch, writer, outcomes, place: &self.place, generation };
        for group in batch.slots.chunk_by(|a, b| a.key == b.key) {
            merge.copy_below(&mut old, group[0].key)?;
            merge.apply(&mut old, group)?;
        }
        if merge.writer.is_some() {
            merge.copy_rest(&mut old)?;
        }
        let Merge { writer, mut outcomes, .. } = merge;
        outcomes.seen.sort_unstable();
        let repository = writer.map(RepositoryWriter::finish).transpose()?;
        let bytes = self.bytes() + repository.as_ref().map_or(0, |repository| repository.bytes);
        Ok(MergeDone { bucket: self.place.bucket, generation, bytes, repository, outcomes, types: PhantomData })
    }
}

/// The operations of a batch, sorted by key.
struct Batch {
    slots: Vec<Slot>,
    /// Encoded values, and where each operation's begins; empty where values have no bytes.
    values: Vec<u8>,
    starts: Vec<usize>,
    /// True if any operation stores its key.
    stores: bool,
}

impl Batch {
    fn load(place: &BucketFiles, batch: &BatchState, fixed: Option<usize>) -> Result<Self> {
        let path = place.path(batch.generation, Part::Operations);
        let mut chunks = Chunks::open(place, batch.generation, Part::Operations, batch.kv_bytes)?;
        // an operation takes nine bytes at least: a wrong count allocates no more than the file is long
        let room = batch.operations.min(batch.kv_bytes / 9) as usize;
        let mut loaded =
            Batch { slots: Vec::with_capacity(room), values: Vec::new(), starts: Vec::new(), stores: false };
        while let Some(entry) = chunks.next_entry(fixed)? {
            let position = u32::try_from(loaded.slots.len())
                .map_err(|_| Error::limit("merge", &path, "more than 2^32 operations in a batch"))?;
            if !place.holds(entry.key) {
                return Err(chunks.damaged("keys of this bucket"));
            }
            loaded.slots.push(Slot { key: entry.key, position, op: entry.op });
            loaded.stores |= entry.op.stores();
            if fixed != Some(0) {
                loaded.starts.push(loaded.values.len());
                loaded.values.extend_from_slice(entry.value);
            }
        }
        if loaded.slots.len() as u64 != batch.operations {
            return Err(chunks.damaged(&format!("{} operations in the file", batch.operations)));
        }
        sort::sort(&mut loaded.slots, place.buckets.trailing_zeros());
        Ok(loaded)
    }

    fn value(&self, position: u32) -> &[u8] {
        let index = position as usize;
        match self.starts.get(index) {
            Some(&start) => &self.values[start..self.starts.get(index + 1).copied().unwrap_or(self.values.len())],
            None => &[],
        }
    }
}

/// The old generation, read forwards.
struct Old {
    reader: Option<RepositoryReader>,
    block: Block,
    at: usize,
}

impl Old {
    fn open(place: &BucketFiles, state: Option<&RepositoryState>, fixed: Option<usize>) -> Result<Self> {
        let reader = state.map(|state| RepositoryReader::open(place, state, fixed)).transpose()?;
        Ok(Old { reader, block: Block::default(), at: 0 })
    }

    /// Loads the next block where this one is used up; `false` at the end.
    fn load(&mut self) -> Result<bool> {
        while self.at == self.block.keys.len() {
            self.at = 0;
            let Some(reader) = &mut self.reader else { return Ok(false) };
            if !reader.next(&mut self.block, true)? {
                self.reader = None;
            }
        }
        Ok(true)
    }
}

/// The pass.
struct Merge<'a, V> {
    batch: &'a Batch,
    writer: Option<RepositoryWriter>,
    outcomes: Outcomes<V>,
    place: &'a BucketFiles,
    generation: u64,
}

impl<V: Value> Merge<'_, V> {
    /// Takes over the old keys below `key`.
    fn copy_below(&mut self, old: &mut Old, key: u64) -> Result<()> {
        while old.load()? {
            let keys = &old.block.keys[old.at..];
            let below = keys.iter().position(|&old| old >= key).unwrap_or(keys.len());
            self.copy(old, below)?;
            if old.at < old.block.keys.len() {
                break;
            }
        }
        Ok(())
    }

    fn copy_rest(&mut self, old: &mut Old) -> Result<()> {
        while old.load()? {
            self.copy(old, old.block.keys.len() - old.at)?;
        }
        Ok(())
    }

    fn copy(&mut self, old: &mut Old, count: usize) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            for index in old.at..old.at + count {
                writer.push(old.block.keys[index], old.block.value(index))?;
            }
        }
        old.at += count;
        Ok(())
    }

    /// Carries out the operations on one key in the order in which they were asked for.
    fn apply(&mut self, old: &mut Old, group: &[Slot]) -> Result<()> {
        let batch = self.batch;
        let key = group[0].key;
        let in_old = old.block.keys.get(old.at) == Some(&key);
        let mut stored = in_old.then(|| old.block.value(old.at));
        let mut shown = None;
        for slot in group {
            if stored.is_some() {
                self.outcomes.duplicates[slot.position as usize / 64] |= 1 << (slot.position % 64);
            }
            let newer = batch.value(slot.position);
            match (slot.op, stored) {
                (Op::Check, None) => {}
                (Op::Check, Some(value)) => self.show(slot.position, value, &mut shown)?,
                (Op::Update | Op::CheckUpdate, _) => (stored, shown) = (Some(newer), None),
            }
        }
        if let (Some(writer), Some(value)) = (&mut self.writer, stored) {
            writer.push(key, value)?;
        }
        old.at += usize::from(in_old);
        Ok(())
    }

    /// Keeps `value` for the dispatch of the operation at `position`; `shown` is where it is kept already.
    fn show(&mut self, position: u32, value: &[u8], shown: &mut Option<u32>) -> Result<()> {
        if V::FIXED_BYTES == Some(0) {
            return Ok(());
        }
        let index = match *shown {
            Some(index) => index,
            None => {
                self.outcomes.values.push(self.decode(value)?);
                self.outcomes.values.len() as u32 - 1
            }
        };
        *shown = Some(index);
        self.outcomes.seen.push((position, index));
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<V> {
        V::decode(bytes).ok_or_else(|| {
            let path = self.place.path(self.generation, Part::Repository);
            let found = format!("{} bytes that are none, in this merge's sources", bytes.len());
            Error::damaged(&path, 0, "a value of this DRUM", found)
        })
    }
}
