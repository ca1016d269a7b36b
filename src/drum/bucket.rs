//! One bucket: its array in RAM, its pending files, its frozen batch, its part of the repository.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::disk::{Error, Result};

use super::contract::{Aux, Value};
use super::names::{CONTENT_AT, Part, Place};
use super::pending::{Chunks, Entry, Op, RamArray, TooLong};
use super::repository::{Block, RepositoryReader};
use super::state::{BatchState, BucketState, FrozenState, RepositoryState};

/// Names of files since the last cut, for all buckets together.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Written to, not synced.
    pub dirty: BTreeSet<PathBuf>,
    /// Whether names were added to the directory.
    pub names_changed: bool,
    /// Named by the last cut or before, but by nothing present.
    pub superseded: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Bucket {
    pub place: Place,
    pub state: BucketState,
    pub ram: RamArray,
}

impl Bucket {
    pub fn new(place: Place, state: Option<BucketState>) -> Self {
        let fresh = || BucketState {
            repository: None,
            pending: BatchState { generation: 1, ..BatchState::default() },
            frozen: None,
        };
        Bucket { place, state: state.unwrap_or_else(fresh), ram: RamArray::default() }
    }

    /// Adds an operation to the array, and the array to the files when it has `ram_max` bytes.
    #[inline]
    pub fn push<V: Value, A: Aux>(
        &mut self,
        op: Op,
        key: u64,
        value: Option<&V>,
        aux: Option<&A>,
        ram_max: usize,
        ledger: &mut Ledger,
    ) -> Result<()> {
        self.ram.push(op, key, value, aux).map_err(|TooLong| {
            let reason = std::io::Error::other("a value or an auxiliary of more than 1 GiB");
            Error::io("write", &self.place.path(self.state.pending.generation, Part::Operations), reason)
        })?;
        if self.ram.bytes() >= ram_max { self.flush(ledger) } else { Ok(()) }
    }

    pub fn flush(&mut self, ledger: &mut Ledger) -> Result<()> {
        let generation = self.state.pending.generation;
        let place = &self.place;
        self.ram.flush(place, &mut self.state.pending, |part, is_new| {
            ledger.names_changed |= is_new;
            ledger.dirty.insert(place.path(generation, part));
        })
    }

    /// Closes the pending files as a batch to merge; what comes now goes to the next generation.
    pub fn freeze(&mut self, ledger: &mut Ledger) -> Result<()> {
        debug_assert!(self.state.frozen.is_none(), "one batch of a bucket is merged at a time");
        self.flush(ledger)?;
        let next = BatchState { generation: self.state.pending.generation + 1, ..BatchState::default() };
        let batch = std::mem::replace(&mut self.state.pending, next);
        self.state.frozen = Some(FrozenState { batch, dispatched: 0 });
        Ok(())
    }

    /// Puts the new generation in the place of the old one and of the batch, all of whose results are dispatched.
    pub fn supersede(&mut self, repository: Option<RepositoryState>, ledger: &mut Ledger) {
        let Some(frozen) = self.state.frozen.take() else { return };
        for part in [Part::Operations, Part::Auxiliaries] {
            let path = self.place.path(frozen.batch.generation, part);
            ledger.dirty.remove(&path);
            ledger.superseded.push(path);
        }
        let Some(repository) = repository else { return };
        if let Some(old) = self.state.repository.replace(repository) {
            ledger.superseded.push(self.place.path(old.generation, Part::Repository));
        }
    }

    /// Operations in the array and the pending files.
    pub fn waiting_operations(&self) -> u64 {
        self.ram.operations + self.state.pending.operations
    }

    /// Checks among them.
    pub fn waiting_checks(&self) -> u64 {
        self.ram.checks + self.state.pending.checks
    }

    pub fn pending_bytes(&self) -> u64 {
        self.state.pending.kv_bytes + self.state.pending.aux_bytes + self.ram.bytes() as u64
    }

    pub fn repository_bytes(&self) -> u64 {
        self.state.repository.as_ref().map_or(0, |repository| repository.bytes)
    }

    /// Operations that are not dispatched.
    pub fn undispatched(&self) -> u64 {
        let frozen = self.state.frozen.as_ref().map_or(0, |frozen| frozen.batch.operations - frozen.dispatched);
        self.waiting_operations() + frozen
    }

    /// The files that the state names, with the lengths it notes; exact ones for immutable files.
    fn files(&self) -> Vec<(u64, Part, u64)> {
        let batches = self.state.frozen.iter().map(|frozen| &frozen.batch).chain([&self.state.pending]);
        let mut files: Vec<_> = batches
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
    pub fn lengths(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        self.files().into_iter().map(|(generation, part, bytes)| (self.place.path(generation, part), bytes))
    }

    /// Checks that every file of the state is there and whole in length, and cuts pending files to what is noted.
    pub fn recover(&self) -> Result<()> {
        for (generation, part, noted) in self.files() {
            let file = self.place.open(generation, part)?;
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

    /// Calls `each` with every key that is stored, or will be when what is pending is merged, and with whether it
    /// comes from an operation that is not dispatched. A key may come more than once.
    pub fn for_each_key(&self, fixed: Option<usize>, each: &mut impl FnMut(u64, bool)) -> Result<()> {
        if let Some(state) = &self.state.repository {
            let mut reader = RepositoryReader::open(&self.place, state, fixed)?;
            let mut block = Block::default();
            while reader.next(&mut block, false)? {
                block.keys.iter().for_each(|&key| each(key, false));
            }
        }
        if let Some(frozen) = &self.state.frozen {
            self.for_each_pending(&frozen.batch, fixed, frozen.dispatched, each)?;
        }
        self.for_each_pending(&self.state.pending, fixed, 0, each)?;
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
