//! DRUM, a disk repository with update management: exact answers about billions of keys without random access.
//!
//! A [`Drum`] stores keys with values. What is asked of it is not answered at once: every operation is appended to
//! its key's *bucket* (the top bits of the key), and when a bucket has gathered enough, its operations are sorted and
//! merged with the bucket's part of the sorted repository in one sequential pass. The answers go to a [`Dispatcher`],
//! each with the *auxiliary* that came with the question. In front of it, a [`Store`] answers most questions at once
//! from an LRU and a Bloom filter.
//!
//! # What is promised
//! - **Results are the same as of carrying out the operations one by one.** `check` says whether its key is stored at
//!   its place in the order, with the value it then has; `check_update` says the same and stores; `update` stores. So
//!   of several `check_update`s of a new key the first is unique and the rest are duplicates, all of them are when an
//!   `update` came before, and the last update wins.
//! - **Order.** Results of a bucket come in the order in which its operations were asked for, over all batches.
//!   Between buckets there is no order. Every operation is dispatched exactly once.
//! - **Durability.** [`Drum::cut`] takes a consistent cut. Once its owner has made it durable (synced the files,
//!   stored state and RAM section), reopening with it continues as if nothing had happened after it: what was
//!   dispatched before the cut does not come again, what was not does. Files that neither that cut nor the present
//!   needs are superseded, and the [`Ledger`](crate::disk::Ledger) says when they are deleted, never before.
//! - **Damage is an error** with file and offset, never another answer: every byte of every file is under a checksum,
//!   and every file says which bucket and generation it is.
//! - "Exact" is meant up to equal keys: of 10^10 URLs with 64-bit fingerprints, about 3 share one with another.
//!
//! # What it costs
//! RAM: [`DrumOptions::ram_per_bucket`] for every bucket, and [`DrumOptions::merge_memory`] in a merge: some 40 bytes
//! an operation, its value, and the stored values that it is to see. Disk: an operation is written and read once (9
//! bytes and its auxiliary); a merge reads and writes its bucket (5 bytes a key). A bucket waits with its merge until
//! it has gathered twice as many bytes as it stores, or as much as one merge may hold: up to then the repository costs
//! no more than the operations do, and beyond it more buckets help.
//!
//! # What it refuses
//! After an error of the disk or of the dispatcher every call fails: the cure is to reopen at the last durable cut.
//! Only one merge runs at a time. It is not for threads to share; a [`MergeJob`] runs on any.
//!
//! # Source
//! H.-T. Lee, D. Leonard, X. Wang, D. Loguinov: *IRLbot: Scaling to 6 Billion Pages and Beyond* (2008); L. T. C. Melo's
//! article on implementing it, whose names the interface keeps. Different here: one repository file a bucket instead of
//! one for all, so that a merge stops nobody and replaces atomically; keys coded to 4.9 bytes; generations and
//! cuts; a bucket's threshold that grows with its repository.

mod bloom;
mod bucket;
mod contract;
mod front;
pub mod fuzzing;
mod lines;
mod lookup;
mod lru;
mod merge;
mod merging;
#[cfg(test)]
mod model_tests;
mod names;
mod pace;
mod pending;
mod renew;
mod repository;
mod results;
mod rice;
mod sequential;
mod sort;
mod state;
mod store;
#[cfg(test)]
mod store_tests;
mod unmerged;
pub mod verify;

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, Error, FileChanges, Removal, Result, SavedState};

pub use bloom::Bloom;
use bucket::{Bucket, Limits};
pub use contract::{Aux, Dispatcher, Key, Value};
pub use front::{Front, FrontCounters, FrontOptions, USELESS, VALUE_BYTES_PER_ENTRY};
pub use lookup::{Found, look_up};
pub use lru::Lru;
pub use merge::{MergeDone, MergeJob};
use merging::{Merging, Moved};
use names::BucketFiles;
pub use pace::{Pace, PaceOptions};
use pending::{Op, RamArray};
pub use renew::{Renewal, Renewed};
use results::Results;
use state::{BatchState, RamEntry};
pub use state::{DrumCut, DrumState};
pub use store::{Admission, Store, StoreAnswer};
pub use unmerged::UNMERGED_BYTES;

const DISPATCH_AT_ONCE: usize = 4096;

/// The keys that [`Drum::for_each_key`] goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// All of them.
    All,
    /// Keys of operations that wait: the repository is not read.
    Pending,
}

/// The shape of a DRUM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrumOptions {
    /// Number of buckets, a power of two. A DRUM that exists keeps its own.
    pub buckets: usize,
    /// Bytes that each bucket gathers in RAM before it appends them to its files.
    pub ram_per_bucket: usize,
    /// Bytes that a bucket gathers in all before it is merged; twice the bytes of its repository, where that is more.
    pub merge_threshold: u64,
    /// Bytes that a merge may hold in memory. A batch that would need more is closed, and the next one begun.
    pub merge_memory: u64,
}

impl Default for DrumOptions {
    fn default() -> Self {
        DrumOptions { buckets: 64, ram_per_bucket: 64 << 10, merge_threshold: 1 << 20, merge_memory: 80 << 20 }
    }
}

impl DrumOptions {
    fn limits(&self) -> Limits {
        Limits { ram: self.ram_per_bucket, merge_memory: self.merge_memory }
    }
}

/// The reason for which a merge is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A bucket that has closed a batch: to wait longer would gain nothing.
    Full,
    /// A bucket that has gathered enough, in the ordinary course.
    Threshold,
    /// The owner has little to do: the bucket that gives most answers for its cost, unless they cost too much.
    Starving,
    /// Everything must come out: the bucket with most answers, whatever it costs.
    All,
}

/// Figures of a DRUM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrumCounters {
    /// Merges finished since it was opened.
    pub merges: u64,
    /// Bytes of the repository.
    pub repository_bytes: u64,
    /// Bytes of operations in files, frozen ones included.
    pub pending_bytes: u64,
    /// Bytes written since it was opened, of batches and repositories, counted when their merge is finished.
    pub bytes_written: u64,
    /// Bytes read since it was opened, for merges and for dispatch, counted likewise.
    pub bytes_read: u64,
}

/// A repository of keys and values with asynchronous operations; see the [module](self).
#[derive(Debug)]
pub struct Drum<K, V, A> {
    disk: Disk,
    dir: PathBuf,
    options: DrumOptions,
    buckets: Vec<Bucket>,
    changes: FileChanges,
    merging: Merging<V>,
    /// Merges, and the bytes that they moved.
    moved: Moved,
    failed: bool,
    /// True if no bucket was due when it was looked for last, and no array has gone to the files since: the owner asks
    /// often.
    none_due: bool,
    types: PhantomData<fn() -> (K, A)>,
}

impl<K: Key, V: Value, A: Aux> Drum<K, V, A> {
    /// Opens the DRUM in `dir`: an empty one, or the one that a cut's state and RAM section describe.
    ///
    /// Files in `dir` that the state does not name are deleted, pending files cut to the lengths it notes; a file that
    /// is missing or too short is an error. A state has its own number of buckets, which takes the place of the
    /// option's.
    ///
    /// # Panics
    /// When `options.buckets` is not a power of two.
    pub fn open(
        disk: Disk,
        dir: &Path,
        options: DrumOptions,
        saved: Option<SavedState<'_, DrumState>>,
    ) -> Result<Self> {
        assert!(options.buckets.is_power_of_two(), "drum.buckets must be a power of two, not {}", options.buckets);
        disk.create_dir_all(dir)?;
        let count = saved.map_or(options.buckets, |saved| saved.state.buckets());
        if let Some(SavedState { state, .. }) = saved {
            state.check(dir)?;
        }
        let place = |bucket| BucketFiles { disk: disk.clone(), dir: dir.to_owned(), bucket, buckets: count as u32 };
        let state = |index: usize| saved.map(|saved| saved.state.buckets[index].clone());
        let mut buckets: Vec<_> = (0..count).map(|index| Bucket::new(place(index as u32), state(index))).collect();
        buckets.iter().try_for_each(Bucket::recover)?;
        buckets.iter_mut().try_for_each(|bucket| bucket.count_frozen(V::FIXED_BYTES))?;
        let named: std::collections::HashSet<PathBuf> =
            buckets.iter().flat_map(Bucket::lengths).map(|(path, _)| path).collect();
        names::remove_unknown(&disk, dir, |path| named.contains(path))?;
        if let Some(SavedState { ram, .. }) = saved {
            restore_ram(&mut buckets, ram, dir, V::FIXED_BYTES)?;
        }
        Ok(Drum {
            disk,
            dir: dir.to_owned(),
            options,
            buckets,
            changes: FileChanges::of_a_new_directory(),
            merging: Merging::none(),
            moved: Moved::default(),
            failed: false,
            none_due: false,
            types: PhantomData,
        })
    }

    /// Says that some ten to a hundred operations on `keys` come next: memory is then looked at for all of them at the
    /// same time, which takes a fraction of the time that it takes one by one.
    #[inline]
    pub fn prefetch(&mut self, keys: impl Iterator<Item = K>) {
        let buckets = self.buckets.len() as u32;
        keys.for_each(|key| self.buckets[names::bucket_of(key.to_bits(), buckets)].ram.touch());
    }

    /// Asks whether `key` is stored, and what under it.
    #[inline]
    pub fn check(&mut self, key: K, aux: Option<A>) -> Result<()> {
        self.push(Op::Check, key, None, aux)
    }

    /// Stores `value` under `key`.
    #[inline]
    pub fn update(&mut self, key: K, value: V, aux: Option<A>) -> Result<()> {
        self.push(Op::Update, key, Some(value), aux)
    }

    /// Stores `value` under `key` and asks whether `key` was stored before.
    #[inline]
    pub fn check_update(&mut self, key: K, value: V, aux: Option<A>) -> Result<()> {
        self.push(Op::CheckUpdate, key, Some(value), aux)
    }

    /// The worth of the merge that [`Drum::next_merge`] would hand out now, compared with the merges of other DRUMs for
    /// the same need; `None` where there is none.
    pub fn merge_gain(&self, need: Need) -> Option<f64> {
        let chosen = self.merging.choose(&self.buckets, &self.options, need).filter(|_| self.merging.has_room());
        chosen.map(|(_, gain)| gain)
    }

    /// Freezes the bucket that is to be merged now, if any is, and gives the job. `None` while a merge is running, or
    /// when the results of two wait to be dispatched. A batch that was frozen before a restart comes first.
    pub fn next_merge(&mut self, need: Need) -> Result<Option<MergeJob<K, V, A>>> {
        self.refuse_after_failure()?;
        let ordinary = matches!(need, Need::Threshold | Need::Full);
        if !self.merging.has_room() || (ordinary && self.none_due) {
            return Ok(None);
        }
        let Some((index, _)) = self.merging.choose(&self.buckets, &self.options, need) else {
            self.none_due |= need == Need::Threshold;
            return Ok(None);
        };
        let bucket = &mut self.buckets[index];
        if bucket.state.frozen.is_none() {
            let result = bucket.freeze::<V>(self.options.limits(), &mut self.changes);
            self.failed |= result.is_err();
            result?;
        }
        let batch = bucket.state.frozen.as_ref().expect("frozen above or before").batch.clone();
        self.merging.running = Some(index);
        let repository = bucket.state.repository.clone();
        Ok(Some(MergeJob { place: bucket.place.clone(), batch, repository, types: PhantomData }))
    }

    /// Takes back the merge that [`Drum::next_merge`] handed out; its results can now be dispatched.
    ///
    /// # Panics
    /// When it is not the one that was handed out last.
    pub fn finish_merge(&mut self, done: MergeDone<K, V, A>) {
        let index = done.bucket as usize;
        let frozen = self.buckets.get(index).and_then(|bucket| bucket.state.frozen.as_ref());
        let frozen = frozen.filter(|frozen| frozen.batch.generation == done.generation);
        let ours = frozen.filter(|_| self.merging.running == Some(index));
        let batch = &ours.expect("a merge goes back to the DRUM that handed it out").batch;
        self.moved.count(batch, self.buckets[index].repository_bytes(), done.repository.as_ref());
        self.merging.running = None;
        self.merging.done.push_back(Results::new(index, done.repository, done.outcomes));
    }

    /// Hands up to `results_max` results to `dispatcher` and says how many there were; 0 when none is ready.
    pub fn dispatch(&mut self, dispatcher: &mut impl Dispatcher<K, V, A>, results_max: usize) -> Result<usize> {
        self.refuse_after_failure()?;
        let Some(results) = self.merging.done.front_mut() else { return Ok(0) };
        let bucket = &mut self.buckets[results.bucket];
        let frozen = bucket.state.frozen.as_mut().expect("a merge keeps its bucket frozen");
        let checks = &mut bucket.frozen_checks;
        let dispatched = results.dispatch(&bucket.place, &mut *frozen, checks, dispatcher, results_max);
        self.failed |= dispatched.is_err();
        let dispatched = dispatched?;
        if frozen.dispatched == frozen.batch.operations {
            bucket.supersede(results.repository.take(), &mut self.changes);
            self.none_due = false;
            self.merging.done.pop_front();
        }
        Ok(dispatched)
    }

    /// Operations that are not dispatched yet, wherever they are.
    pub fn pending(&self) -> u64 {
        self.buckets.iter().map(Bucket::undispatched).sum()
    }

    /// Checks that wait for a merge to begin: what starves while nothing is merged. Those of a merge that is in
    /// progress, or whose results are being dispatched, are not counted; those of a batch that was frozen before a
    /// restart are.
    pub(crate) fn pending_checks(&self) -> u64 {
        let checks = |(index, bucket): (usize, &Bucket)| {
            let frozen = if self.merging.has(index) { 0 } else { bucket.frozen_checks };
            bucket.waiting_checks() + frozen
        };
        self.buckets.iter().enumerate().map(checks).sum()
    }

    /// Checks whose answers were not dispatched, wherever they are: nobody who asked is forgotten in this number.
    pub(crate) fn unanswered(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.waiting_checks() + bucket.frozen_checks).sum()
    }

    /// Keys in the repository.
    pub fn keys(&self) -> u64 {
        self.buckets.iter().filter_map(|bucket| bucket.state.repository.as_ref()).map(|file| file.keys).sum()
    }

    /// Figures for reports.
    pub fn counters(&self) -> DrumCounters {
        let batches = self.buckets.iter().flat_map(|bucket| bucket.state.batches());
        DrumCounters {
            merges: self.moved.merges,
            bytes_written: self.moved.bytes_written,
            bytes_read: self.moved.bytes_read,
            repository_bytes: self.buckets.iter().map(Bucket::repository_bytes).sum(),
            pending_bytes: batches.map(BatchState::bytes).sum(),
        }
    }

    /// Calls `each` with every key that is stored or will be, possibly several times, and with whether it comes from
    /// an operation that is not dispatched. `progress` gets the number of keys passed and how many there may be, now
    /// and then.
    fn for_each_key(
        &self,
        keys: Keys,
        mut each: impl FnMut(K, bool),
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let total = if keys == Keys::All { self.keys() + self.pending() } else { self.pending() };
        let mut count = 0_u64;
        for bucket in &self.buckets {
            bucket.for_each_key(keys, V::FIXED_BYTES, &mut |key, undispatched| {
                each(K::from_bits(key), undispatched);
                count += 1;
                if count.is_multiple_of(1 << 20) {
                    progress(count, total);
                }
            })?;
        }
        progress(count, total);
        Ok(())
    }

    /// Takes a consistent cut: appends the arrays in RAM to `ram` and says what to sync and to store.
    ///
    /// Cuts are made durable one after the other. When this one is, what it supersedes may be deleted; it is the
    /// owner's to do so ([`Ledger`](crate::disk::Ledger)).
    pub fn cut(&mut self, ram: &mut Vec<u8>) -> Result<DrumCut> {
        self.refuse_after_failure()?;
        let held = self.buckets.iter().filter(|bucket| bucket.ram.operations > 0);
        let entries: Vec<_> = held
            .map(|bucket| {
                let (kv, aux) = bucket.ram.contents();
                RamEntry { bucket: bucket.place.bucket, kv, aux }
            })
            .collect();
        state::push_ram_section(&entries, ram);
        let FileChanges { dirty, names_changed, superseded, .. } = self.changes.cut();
        let sync_dirs = if names_changed { vec![self.dir.clone()] } else { Vec::new() };
        let state = DrumState { buckets: self.buckets.iter().map(|bucket| bucket.state.clone()).collect() };
        Ok(DrumCut { state, sync: dirty.into_iter().collect(), sync_dirs, superseded })
    }

    /// Files that no cut ever named and that are not needed any more: they may be deleted at any time.
    pub fn take_unneeded(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.changes.unneeded)
    }

    /// Merges and dispatches everything, here and now.
    ///
    /// # Panics
    /// When a merge that was handed out is not finished.
    pub fn synchronize(&mut self, dispatcher: &mut impl Dispatcher<K, V, A>) -> Result<()> {
        assert!(self.merging.running.is_none(), "a merge that was handed out must be finished first");
        loop {
            while self.dispatch(dispatcher, DISPATCH_AT_ONCE)? > 0 {}
            let Some(job) = self.next_merge(Need::All)? else { break };
            let done = job.run();
            self.failed |= done.is_err();
            self.finish_merge(done?);
        }
        let unneeded = self.take_unneeded();
        Removal::new(&self.disk, unneeded).run()
    }

    /// Merges and dispatches everything, makes it durable and gives the state to open it with again. The RAM section
    /// that goes with it is [`DrumState::EMPTY_RAM`].
    ///
    /// # Panics
    /// When a merge that was handed out is not finished.
    pub(crate) fn close(mut self, dispatcher: &mut impl Dispatcher<K, V, A>) -> Result<DrumState> {
        self.synchronize(dispatcher)?;
        let cut = self.cut(&mut Vec::new())?;
        for path in cut.sync {
            self.disk.open(path, crate::disk::Mode::Write)?.sync()?;
        }
        self.disk.sync_dir(&self.dir)?;
        Ok(cut.state)
    }

    #[inline]
    fn push(&mut self, op: Op, key: K, value: Option<V>, aux: Option<A>) -> Result<()> {
        self.refuse_after_failure()?;
        let key = key.to_bits();
        let index = names::bucket_of(key, self.buckets.len() as u32);
        let bucket = &mut self.buckets[index];
        let limits = self.options.limits();
        let result = bucket.push(op, key, value.as_ref(), aux.as_ref(), limits, &mut self.changes);
        self.failed |= result.is_err();
        self.none_due &= bucket.ram.operations > 0;
        result
    }

    #[inline]
    fn refuse_after_failure(&self) -> Result<()> {
        if self.failed { Err(self.failure()) } else { Ok(()) }
    }

    #[cold]
    fn failure(&self) -> Error {
        Error::poisoned("go on with the DRUM in", &self.dir)
    }
}

fn restore_ram(buckets: &mut [Bucket], ram: &[u8], dir: &Path, fixed: Option<usize>) -> Result<()> {
    for entry in state::read_ram_section(ram, dir)? {
        let array = RamArray::restore(entry.kv, entry.aux, fixed);
        let bucket = buckets.get_mut(entry.bucket as usize);
        let (Some(bucket), Some(array)) = (bucket, array) else {
            let found = format!("an entry for bucket {} that is none", entry.bucket);
            return Err(Error::damaged(dir, 0, "the arrays of a bucket in the checkpoint", found));
        };
        bucket.ram = array;
    }
    Ok(())
}
