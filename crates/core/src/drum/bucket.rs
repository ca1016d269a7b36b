//! One bucket: its array in RAM, its pending files, its frozen batch, its part of the repository.

use std::path::PathBuf;

use crate::disk::{Error, FileChanges, Result};

use super::Keys;
use super::contract::{Aux, Value};
use super::names::{BucketFiles, CONTENT_AT, Part};
use super::pending::{Chunks, Entry, Op, RamArray, TooLong};
use super::repository::{Block, RepositoryReader};
use super::state::{BatchState, BucketState, FrozenState, RepositoryState};

/// Bytes that a merge holds for an operation in addition to values: its slot, the same again to sort it, a bit of its
/// outcome, and the index of the value that it is to see.
const OPERATION_BYTES_IN_MERGE: u64 = 40;

/// Limits of memory at which a bucket writes its array to the files and closes a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of the array in RAM, at which it goes to the files.
    pub ram: usize,
    /// Bytes that the merge of a batch may hold in memory; a batch that would need more is full.
    pub merge_memory: u64,
}

#[derive(Debug)]
pub(super) struct Bucket {
    pub place: BucketFiles,
    pub state: BucketState,
    pub ram: RamArray,
    /// Checks of the frozen batch that are not dispatched.
    pub frozen_checks: u64,
}

impl Bucket {
    pub(crate) fn new(place: BucketFiles, state: Option<BucketState>) -> Self {
        Bucket { place, state: state.unwrap_or_else(BucketState::fresh), ram: RamArray::default(), frozen_checks: 0 }
    }

    /// Counts the checks of a batch that was frozen before the bucket was opened, as far as they are not dispatched.
    pub(crate) fn count_frozen(&mut self, fixed: Option<usize>) -> Result<()> {
        let Some(frozen) = &self.state.frozen else { return Ok(()) };
        self.frozen_checks = frozen.batch.checks;
        let mut left = frozen.dispatched;
        let mut chunks = Chunks::open(&self.place, frozen.batch.generation, Part::Operations, frozen.batch.kv_bytes)?;
        while left > 0
            && let Some(entry) = chunks.next_entry(fixed)?
        {
            self.frozen_checks = self.frozen_checks.saturating_sub(u64::from(entry.op.asks()));
            left -= 1;
        }
        Ok(())
    }

    /// Adds an operation to the array, and the array to the files when it is full.
    #[inline]
    pub(crate) fn push<V: Value, A: Aux>(
        &mut self,
        op: Op,
        key: u64,
        value: Option<&V>,
        aux: Option<&A>,
        limits: Limits,
        changes: &mut FileChanges,
    ) -> Result<()> {
        self.ram.push(op, key, value, aux).map_err(|TooLong| {
            let path = self.place.path(self.state.pending.generation, Part::Operations);
            Error::limit("write", &path, "a value or an auxiliary of more than 1 GiB")
        })?;
        if self.ram.bytes() >= limits.ram { self.flush::<V>(limits, changes) } else { Ok(()) }
    }

    fn flush<V: Value>(&mut self, limits: Limits, changes: &mut FileChanges) -> Result<()> {
        let (operations, bytes) = (self.ram.operations, self.ram.contents().0.len() as u64);
        let pending = &self.state.pending;
        let needed = self.merge_memory::<V>(pending.operations + operations, pending.kv_bytes + bytes);
        if pending.operations > 0 && needed > limits.merge_memory {
            let full = self.close_pending();
            self.state.full.push_back(full);
        }
        let generation = self.state.pending.generation;
        let place = &self.place;
        self.ram.flush(place, &mut self.state.pending, |part, is_new| match is_new {
            true => changes.added(place.path(generation, part)),
            false => changes.wrote(place.path(generation, part)),
        })
    }

    /// Bytes that the merge of this many operations holds in memory, if they meet stored values of the usual length.
    fn merge_memory<V: Value>(&self, operations: u64, kv_bytes: u64) -> u64 {
        let values = match (&self.state.repository, V::FIXED_BYTES) {
            (_, Some(0)) => 0,
            (None, _) => kv_bytes,
            (Some(repository), _) => kv_bytes + operations * (repository.bytes / repository.keys.max(1)),
        };
        operations * OPERATION_BYTES_IN_MERGE + values
    }

    fn close_pending(&mut self) -> BatchState {
        let next = BatchState { generation: self.state.pending.generation + 1, ..BatchState::default() };
        std::mem::replace(&mut self.state.pending, next)
    }

    /// Makes the oldest batch the one to merge; what comes now goes to later ones.
    pub(crate) fn freeze<V: Value>(&mut self, limits: Limits, changes: &mut FileChanges) -> Result<()> {
        debug_assert!(self.state.frozen.is_none(), "one batch of a bucket is merged at a time");
        if self.state.full.is_empty() {
            self.flush::<V>(limits, changes)?;
        }
        let batch = self.state.full.pop_front().unwrap_or_else(|| self.close_pending());
        self.frozen_checks = batch.checks;
        self.state.frozen = Some(FrozenState { batch, dispatched: 0 });
        Ok(())
    }

    /// Puts the new generation in the place of the old one and of the batch, all of whose results are dispatched.
    pub(crate) fn supersede(&mut self, repository: Option<RepositoryState>, changes: &mut FileChanges) {
        let Some(frozen) = self.state.frozen.take() else { return };
        self.frozen_checks = 0;
        let parts = [(Part::Operations, frozen.batch.kv_bytes), (Part::Auxiliaries, frozen.batch.aux_bytes)];
        for (part, _) in parts.into_iter().filter(|&(_, bytes)| bytes > 0) {
            changes.supersede(self.place.path(frozen.batch.generation, part));
        }
        let Some(repository) = repository else { return };
        changes.added(self.place.path(repository.generation, Part::Repository));
        if let Some(old) = self.state.repository.replace(repository) {
            changes.supersede(self.place.path(old.generation, Part::Repository));
        }
    }

    /// Operations in the array and the batches that wait.
    pub(crate) fn waiting_operations(&self) -> u64 {
        self.ram.operations + self.state.waiting().map(|batch| batch.operations).sum::<u64>()
    }

    /// Checks among them. Those of the frozen batch are [`Bucket::frozen_checks`].
    pub(crate) fn waiting_checks(&self) -> u64 {
        self.ram.checks + self.state.waiting().map(|batch| batch.checks).sum::<u64>()
    }

    /// Bytes of them.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.ram.bytes() as u64 + self.state.waiting().map(BatchState::bytes).sum::<u64>()
    }

    pub(crate) fn repository_bytes(&self) -> u64 {
        self.state.repository.as_ref().map_or(0, |repository| repository.bytes)
    }

    /// Operations that are not dispatched.
    pub(crate) fn undispatched(&self) -> u64 {
        let frozen = self.state.frozen.as_ref().map_or(0, |frozen| frozen.batch.operations - frozen.dispatched);
        self.waiting_operations() + frozen
    }

    /// The files that the state names, with the lengths it notes; exact ones for immutable files.
    fn files(&self) -> Vec<(u64, Part, u64)> {
        let mut files: Vec<_> = self
            .state
            .batches()
            .flat_map(|batch| {
                [
                    (batch.generation, Part::Operations, batch.kv_bytes),
                    (batch.generation, Part::Auxiliaries, batch.aux_bytes),
                ]
            })
            .collect();
        files.extend(self.state.repository.iter().map(|file| (file.generation, Part::Repository, file.bytes)));
        files.retain(|&(_, _, bytes)| bytes > 0);
        files
    }

    /// The files that the state names, with the lengths that it notes.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        self.files().into_iter().map(|(generation, part, bytes)| (self.place.path(generation, part), bytes))
    }

    /// Checks that every file of the state is there and whole in length, and cuts pending files to what is noted.
    pub(crate) fn recover(&self) -> Result<()> {
        for (generation, part, noted) in self.files() {
            let file = self.place.open(generation, part).map_err(Error::of_named_file)?;
            let found = file.len()?;
            if noted < CONTENT_AT || found < noted || (part == Part::Repository && found != noted) {
                return Err(Error::damaged(file.path(), found, format!("{noted} bytes"), format!("{found}")));
            }
            if found > noted {
                self.place.disk.open(file.path(), crate::disk::Mode::Write)?.set_len(noted)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with every key that is stored, unless only pending ones are wanted, or will be when what is pending
    /// is merged, and with whether it comes from an operation that is not dispatched. A key may come more than once.
    pub(crate) fn for_each_key(
        &self,
        keys: Keys,
        fixed: Option<usize>,
        each: &mut impl FnMut(u64, bool),
    ) -> Result<()> {
        if let Some(state) = self.state.repository.as_ref().filter(|_| keys == Keys::All) {
            let mut reader = RepositoryReader::open(&self.place, state, fixed)?;
            let mut block = Block::default();
            while reader.next(&mut block, false)? {
                block.keys.iter().for_each(|&key| each(key, false));
            }
        }
        if let Some(frozen) = &self.state.frozen {
            self.for_each_pending(&frozen.batch, fixed, frozen.dispatched, each)?;
        }
        for batch in self.state.waiting() {
            self.for_each_pending(batch, fixed, 0, each)?;
        }
        let (kv, mut at) = (self.ram.contents().0, 0);
        while let Some(entry) = Entry::read(kv, &mut at, fixed) {
            if entry.op.stores() {
                each(entry.key, true);
            }
        }
        Ok(())
    }

    fn for_each_pending(
        &self,
        batch: &BatchState,
        fixed: Option<usize>,
        dispatched: u64,
        each: &mut impl FnMut(u64, bool),
    ) -> Result<()> {
        let mut chunks = Chunks::open(&self.place, batch.generation, Part::Operations, batch.kv_bytes)?;
        let mut position = 0;
        while let Some(entry) = chunks.next_entry(fixed)? {
            if entry.op.stores() {
                each(entry.key, position >= dispatched);
            }
            position += 1;
        }
        Ok(())
    }
}
