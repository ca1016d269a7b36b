//! Verifying a DRUM that somebody else owns, bucket by bucket: every file that a cut names is read to its end.
//!
//! Everything that is written twice is compared: headers and labels, checksums of chunks and blocks, lengths and counts
//! against the cut, keys against their bucket and their order, auxiliaries against the operations that they belong to,
//! values and auxiliaries against their types. Nothing is opened for writing. Memory holds a chunk and a block.
//!
//! What is wrong with a file ends the reading of that file only, and is a fault in a list; an error means that the disk
//! refused. A file that is not there is a fault, too: beside a running crawl it may be one that a newer cut has
//! replaced.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, Error, Result, SavedState};
use crate::varint;

use super::contract::{Aux, Value};
use super::names::{self, BucketFiles, Part};
use super::pending::{Chunks, Entry};
use super::repository::{Block, RepositoryReader};
use super::state::{self, BatchState, BucketState, DrumState, RamEntry};

/// An operation that is not merged, or not dispatched in full.
#[derive(Debug)]
pub struct Operation<V, A> {
    /// Its key.
    pub key: u64,
    /// The value that is stored under the key after it; `None` where it only asks.
    pub value: Option<V>,
    /// Its auxiliary, where somebody waits for the answer.
    pub waiting: Option<A>,
}

/// Returns whether `error` says something about a file, and not about the disk.
pub fn is_fault(error: &Error) -> bool {
    matches!(error, Error::Damaged { .. } | Error::Newer { .. }) || error.is_not_found()
}

/// Puts what is wrong with a file into `faults`; other errors come back.
fn gather(result: Result<()>, faults: &mut Vec<Error>) -> Result<()> {
    match result {
        Err(error) if is_fault(&error) => faults.push(error),
        other => other?,
    }
    Ok(())
}

/// The DRUM in a directory as a cut knows it.
#[derive(Debug)]
pub struct Check<'a> {
    pub(super) disk: Disk,
    pub(super) dir: &'a Path,
    pub(super) state: &'a DrumState,
    /// The arrays, where they could be read.
    pub(super) arrays: Vec<RamEntry<'a>>,
    unreadable: Option<Error>,
    /// Path of the checkpoint that has the arrays: named in errors where they are wrong.
    checkpoint: &'a Path,
}

impl<'a> Check<'a> {
    /// The DRUM in `dir`, as `saved` has it, whose arrays are in the file `checkpoint`. A state that no DRUM
    /// can have noted is refused.
    pub fn new(disk: &Disk, dir: &'a Path, saved: SavedState<'a, DrumState>, checkpoint: &'a Path) -> Result<Self> {
        let SavedState { state, ram } = saved;
        state.check(dir)?;
        let (arrays, unreadable) = match state::read_ram_section(ram, checkpoint) {
            Ok(arrays) => (arrays, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Ok(Check { disk: disk.clone(), dir, state, arrays, unreadable, checkpoint })
    }

    /// Takes out the error for which the arrays cannot be read, where they cannot.
    pub fn unreadable(&mut self) -> Option<Error> {
        self.unreadable.take()
    }

    /// The number of buckets.
    pub fn buckets(&self) -> usize {
        self.state.buckets()
    }

    /// The bucket of `key`.
    pub fn bucket_of(&self, key: u64) -> usize {
        names::bucket_of(key, self.buckets() as u32)
    }

    pub(super) fn place(&self, bucket: usize) -> BucketFiles {
        let (bucket, buckets) = (bucket as u32, self.buckets() as u32);
        BucketFiles { disk: self.disk.clone(), dir: self.dir.to_owned(), bucket, buckets }
    }

    pub(super) fn state_of(&self, bucket: usize) -> &BucketState {
        &self.state.buckets[bucket]
    }

    /// Bytes of the files of `bucket` that the cut names.
    pub fn bytes(&self, bucket: usize) -> u64 {
        let state = self.state_of(bucket);
        let repository = state.repository.as_ref().map_or(0, |file| file.bytes);
        repository + state.batches().map(BatchState::bytes).sum::<u64>()
    }

    /// Files that the cut names.
    pub fn files(&self) -> u64 {
        self.named().len() as u64
    }

    /// Goes through the repository of `bucket`: `each` gets its keys in rising order, with their values.
    pub fn repository<V: Value>(
        &self,
        bucket: usize,
        each: &mut dyn FnMut(u64, V) -> Result<()>,
        faults: &mut Vec<Error>,
    ) -> Result<()> {
        gather(self.read_repository::<V>(bucket, each), faults)
    }

    fn read_repository<V: Value>(&self, bucket: usize, each: &mut dyn FnMut(u64, V) -> Result<()>) -> Result<()> {
        let Some(state) = &self.state_of(bucket).repository else { return Ok(()) };
        let place = self.place(bucket);
        let mut reader = RepositoryReader::open(&place, state, V::FIXED_BYTES)?;
        let mut block = Block::default();
        while reader.next(&mut block, true)? {
            for (index, &key) in block.keys.iter().enumerate() {
                let bytes = if V::FIXED_BYTES == Some(0) { &[][..] } else { block.value(index) };
                let Some(value) = V::decode(bytes) else { return Err(reader.damaged_value(key)) };
                each(key, value)?;
            }
        }
        Ok(())
    }

    /// Goes through the operations of `bucket` that wait, in files and in RAM, oldest first: `each` gets them all.
    pub fn operations<V: Value, A: Aux>(
        &self,
        bucket: usize,
        each: &mut dyn FnMut(Operation<V, A>) -> Result<()>,
        faults: &mut Vec<Error>,
    ) -> Result<()> {
        let state = self.state_of(bucket);
        if let Some(frozen) = &state.frozen {
            gather(self.batch::<V, A>(bucket, &frozen.batch, frozen.dispatched, each), faults)?;
        }
        for batch in state.waiting() {
            gather(self.batch::<V, A>(bucket, batch, 0, each), faults)?;
        }
        gather(self.arrays::<V, A>(bucket, each), faults)
    }

    fn batch<V: Value, A: Aux>(
        &self,
        bucket: usize,
        batch: &BatchState,
        dispatched: u64,
        each: &mut dyn FnMut(Operation<V, A>) -> Result<()>,
    ) -> Result<()> {
        let place = self.place(bucket);
        let mut operations = Chunks::open(&place, batch.generation, Part::Operations, batch.kv_bytes)?;
        let mut auxiliaries = Chunks::open(&place, batch.generation, Part::Auxiliaries, batch.aux_bytes)?;
        let (mut count, mut checks) = (0, 0);
        while let Some(entry) = operations.next_entry(V::FIXED_BYTES)? {
            let Entry { op, has_aux, key, value } = entry;
            let value = if op.stores() { Some(V::decode(value)) } else { None };
            if !place.holds(key) || matches!(value, Some(None)) {
                return Err(operations.damaged("keys of its bucket with values of this DRUM"));
            }
            let aux = if has_aux { Some(A::decode(auxiliaries.next_aux()?)) } else { None };
            if matches!(aux, Some(None)) {
                return Err(auxiliaries.damaged("an auxiliary of this DRUM"));
            }
            let waiting = aux.flatten().filter(|_| count >= dispatched && op.asks());
            each(Operation { key, value: value.flatten(), waiting })?;
            count += 1;
            checks += u64::from(op.asks());
        }
        if (count, checks) != (batch.operations, batch.checks) {
            let path = place.path(batch.generation, Part::Operations);
            let expected = format!("{} operations, {} of them checks", batch.operations, batch.checks);
            return Err(Error::damaged(&path, batch.kv_bytes, expected, format!("{count} and {checks}")));
        }
        match batch.aux_bytes > 0 && !auxiliaries.is_at_end() {
            true => Err(auxiliaries.damaged("no more auxiliaries than operations that have one")),
            false => Ok(()),
        }
    }

    fn arrays<V: Value, A: Aux>(
        &self,
        bucket: usize,
        each: &mut dyn FnMut(Operation<V, A>) -> Result<()>,
    ) -> Result<()> {
        let place = self.place(bucket);
        let damaged = |at: usize| {
            let expected = format!("operations of bucket {bucket} of {}", self.dir.display());
            Error::damaged(self.checkpoint, at as u64, expected, "other bytes")
        };
        for entry in &self.arrays {
            if entry.bucket as usize >= self.buckets() {
                return Err(damaged(0));
            }
            if entry.bucket as usize != bucket {
                continue;
            }
            let (kv, aux) = (entry.kv, entry.aux);
            let (mut at, mut aux_at) = (0, 0);
            while at < kv.len() {
                let entry = Entry::read(kv, &mut at, V::FIXED_BYTES).ok_or_else(|| damaged(at))?;
                let value = if entry.op.stores() { Some(V::decode(entry.value)) } else { None };
                if !place.holds(entry.key) || matches!(value, Some(None)) {
                    return Err(damaged(at));
                }
                let mut waiting = None;
                if entry.has_aux {
                    let bytes = varint::read_slice(aux, &mut aux_at).ok_or_else(|| damaged(aux_at))?;
                    waiting = Some(A::decode(bytes).ok_or_else(|| damaged(aux_at))?);
                }
                let waiting = waiting.filter(|_| entry.op.asks());
                each(Operation { key: entry.key, value: value.flatten(), waiting })?;
            }
            if aux_at != aux.len() {
                return Err(damaged(aux_at));
            }
        }
        Ok(())
    }

    fn named(&self) -> Vec<(PathBuf, u64)> {
        files(self.state, self.dir)
    }

    /// Files that are longer than the cut notes, with the length that it notes.
    pub fn grown(&self) -> Result<Vec<(PathBuf, u64)>> {
        let mut grown = Vec::new();
        for (path, bytes) in self.named() {
            if let Some(file) = self.disk.open_if_there(&path)?
                && file.len()? > bytes
            {
                grown.push((path, bytes));
            }
        }
        Ok(grown)
    }

    /// Names in the directory that the cut does not name, and whether they are names of files of a DRUM.
    pub fn unknown(&self) -> Result<Vec<(PathBuf, bool)>> {
        let named: HashSet<PathBuf> = self.named().into_iter().map(|(path, _)| path).collect();
        unknown(&self.disk, self.dir, |path| named.contains(path))
    }
}

/// The files of the DRUM in `dir` that `state` names, and how many bytes of each count.
pub fn files(state: &DrumState, dir: &Path) -> Vec<(PathBuf, u64)> {
    let mut named = Vec::new();
    for (bucket, state) in (0..).zip(&state.buckets) {
        let repository = state.repository.iter().map(|file| (file.generation, Part::Repository, file.bytes));
        let batches = state.batches().flat_map(|batch| {
            let parts = [(Part::Operations, batch.kv_bytes), (Part::Auxiliaries, batch.aux_bytes)];
            parts.map(|(part, bytes)| (batch.generation, part, bytes))
        });
        let files = repository.chain(batches).filter(|&(_, _, bytes)| bytes > 0);
        named.extend(files.map(|(generation, part, bytes)| (dir.join(names::name(bucket, generation, part)), bytes)));
    }
    named
}

/// Names in `dir` that `keep` does not name, and whether they are names of files of a DRUM.
pub fn unknown(disk: &Disk, dir: &Path, keep: impl Fn(&Path) -> bool) -> Result<Vec<(PathBuf, bool)>> {
    let names = disk.list(dir)?.into_iter();
    let found = names.map(|name| (dir.join(&name), names::is_ours(&name)));
    Ok(found.filter(|(path, _)| !keep(path)).collect())
}
