//! Writing buckets of a DRUM again, beside the old ones, where these are damaged.
//!
//! A renewed bucket has a new generation: one repository of the keys that its owner knows, and one batch of the
//! operations whose answers are still waited for. The old files are not touched: they are what the last cut names until
//! its owner has made the new state durable; then they are unnamed, and removed by anyone who opens the DRUM. So is a
//! renewal that was interrupted. Memory holds a block and an array.

use std::marker::PhantomData;
use std::path::PathBuf;

use crate::disk::{Error, Result};

use super::contract::{Aux, Value};
use super::names;
use super::pending::{Op, RamArray, TooLong};
use super::repository::RepositoryWriter;
use super::state::{self, BatchState, BucketState, DrumState, RamEntry};
use super::verify::Check;

/// Bytes of operations that gather before they are written.
const ARRAY_BYTES: usize = 256 << 10;

/// A DRUM of which some buckets are rewritten.
#[derive(Debug)]
pub struct Renewal<'a, V, A> {
    old: &'a Check<'a>,
    state: DrumState,
    renewed: Vec<u32>,
    written: Vec<PathBuf>,
    types: PhantomData<fn() -> (V, A)>,
}

/// A bucket that is being written.
#[derive(Debug)]
struct Under {
    bucket: usize,
    generation: u64,
    repository: Option<RepositoryWriter>,
    last: Option<u64>,
    pending: BatchState,
    ram: RamArray,
}

impl<'a, V: Value, A: Aux> Renewal<'a, V, A> {
    /// Begins with what `old` says, and removes what its cut does not name. Nothing else may use the directory.
    pub fn begin(old: &'a Check<'a>) -> Result<Self> {
        for (path, ours) in old.unknown()? {
            if ours {
                old.disk.remove(&path)?;
            }
        }
        let state = old.state.clone();
        Ok(Renewal { old, state, renewed: Vec::new(), written: Vec::new(), types: PhantomData })
    }

    /// Writes `bucket` again. `fill` is given a writer for keys with their values, in rising order or equal to the one
    /// before, which counts then, and for operations that wait.
    pub fn bucket(&mut self, bucket: usize, fill: &mut dyn FnMut(&mut dyn Renewed<V, A>) -> Result<()>) -> Result<()> {
        let newest = self.old.state_of(bucket).pending.generation;
        let mut under = Writing::<V, A> {
            renewal: self,
            under: Under {
                bucket,
                generation: newest + 1,
                repository: None,
                last: None,
                pending: BatchState { generation: newest + 2, ..BatchState::default() },
                ram: RamArray::default(),
            },
        };
        fill(&mut under)?;
        under.finish()
    }

    /// Makes the new files durable; says what the next cut has to note of the DRUM, and its RAM section.
    pub fn finish(self) -> Result<(DrumState, Vec<u8>)> {
        for path in &self.written {
            self.old.disk.open(path, crate::disk::Mode::Read)?.sync()?;
        }
        self.old.disk.sync_dir(self.old.dir)?;
        let arrays = self.old.arrays.iter().filter(|array| !self.renewed.contains(&array.bucket));
        let arrays: Vec<RamEntry<'_>> = arrays.copied().collect();
        let mut ram = Vec::new();
        state::push_ram_section(&arrays, &mut ram);
        Ok((self.state, ram))
    }
}

/// Takes what a renewed bucket holds.
pub trait Renewed<V, A> {
    /// A key that is stored.
    fn store(&mut self, key: u64, value: &V) -> Result<()>;
    /// A check whose answer is waited for; it stores its key where values have no content.
    fn wait(&mut self, key: u64, aux: &A) -> Result<()>;
}

struct Writing<'r, 'a, V, A> {
    renewal: &'r mut Renewal<'a, V, A>,
    under: Under,
}

impl<V: Value, A: Aux> Renewed<V, A> for Writing<'_, '_, V, A> {
    fn store(&mut self, key: u64, value: &V) -> Result<()> {
        let under = &mut self.under;
        if under.last == Some(key) {
            return Ok(());
        }
        let writer = match &mut under.repository {
            Some(writer) => writer,
            none => {
                let place = self.renewal.old.place(under.bucket);
                none.insert(RepositoryWriter::create(&place, under.generation, V::FIXED_BYTES)?)
            }
        };
        under.last = Some(key);
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        writer.push(key, &bytes)
    }

    fn wait(&mut self, key: u64, aux: &A) -> Result<()> {
        let value = V::FIXED_BYTES.filter(|&bytes| bytes == 0).and_then(|_| V::decode(&[]));
        let op = if value.is_some() { Op::CheckUpdate } else { Op::Check };
        let pushed = self.under.ram.push(op, key, value.as_ref(), Some(aux));
        pushed.map_err(|TooLong| Error::limit("write", self.renewal.old.dir, "an auxiliary of more than 1 GiB"))?;
        if self.under.ram.bytes() >= ARRAY_BYTES { self.flush() } else { Ok(()) }
    }
}

impl<V: Value, A: Aux> Writing<'_, '_, V, A> {
    fn flush(&mut self) -> Result<()> {
        let place = self.renewal.old.place(self.under.bucket);
        let generation = self.under.pending.generation;
        let written = &mut self.renewal.written;
        self.under.ram.flush(&place, &mut self.under.pending, |part, is_new| {
            if is_new {
                written.push(place.path(generation, part));
            }
        })
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        let Under { bucket, repository, pending, .. } = self.under;
        let repository = repository.map(RepositoryWriter::finish).transpose()?;
        let place = self.renewal.old.place(bucket);
        let path = repository.iter().map(|file| place.path(file.generation, names::Part::Repository));
        self.renewal.written.extend(path);
        self.renewal.renewed.push(bucket as u32);
        self.renewal.state.buckets[bucket] =
            BucketState { repository, frozen: None, full: std::collections::VecDeque::new(), pending };
        Ok(())
    }
}
