//! A DRUM with its front: URL-seen ([`Store::admit`]), and the stores of robots rules and addresses ([`Store::ask`],
//! [`Store::put`]).
//!
//! Answers are exact whichever layer gives them: the LRU holds only what was stored, the Bloom filter decides only
//! "new", and everything else is left to the DRUM. The layers see operations in the order of the calls, so that an
//! answer that comes at once and one that comes later are of the same order.

use std::path::{Path, PathBuf};

use crate::disk::{Disk, Result, SavedState};
use crate::fingerprint::Fingerprint;

use super::contract::{Aux, Dispatcher, Value};
use super::front::{Front, FrontCounters, FrontOptions, Known};
use super::merge::{MergeDone, MergeJob};
use super::unmerged::Unmerged;
use super::{Drum, DrumCounters, DrumCut, DrumOptions, DrumState, Keys, Need};

/// Keys that are prefetched when the Bloom filter is filled.
const KEYS_AT_ONCE: usize = 64;

/// Result of admitting a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission<A> {
    /// It is new, and stored now. It will not be dispatched as unique.
    Unique(A),
    /// It is stored already.
    Duplicate(A),
    /// The dispatcher gets the answer, by `unique_key_update` or `duplicate_key_update`.
    Pending,
}

/// Answer to the question of what is stored under a key.
#[derive(Debug, PartialEq, Eq)]
pub enum StoreAnswer<V, A> {
    /// This value.
    Known(V, A),
    /// Nothing.
    Unknown(A),
    /// The dispatcher gets the answer, by `unique_key_check` or `duplicate_key_check`.
    Pending,
}

/// Keys with values, on disk, that mostly answers at once.
#[derive(Debug)]
pub struct Store<V, A> {
    front: Front<V>,
    drum: Drum<Fingerprint, V, A>,
    /// Keys of values that are not dispatched: of such a one, what a merge found is older than what was put, and must
    /// not be remembered as the present value. Not kept for values without content.
    unmerged: Unmerged,
}

impl<V: Value, A: Aux> Store<V, A> {
    /// Opens the DRUM as [`Drum::open`] does and fills the Bloom filter with every key that is stored or will be,
    /// unless there are too many for it to help: then nothing but what is pending is read. `progress` gets the number
    /// of keys passed so far and how many there may be, now and then.
    pub fn open(
        disk: Disk,
        dir: &Path,
        drum: DrumOptions,
        front: FrontOptions,
        saved: Option<SavedState<'_, DrumState>>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self> {
        let drum = Drum::open(disk, dir, drum, saved)?;
        let mut front = Front::new(front, drum.keys() + drum.pending());
        let mut unmerged = Unmerged::default();
        let mut keys = Vec::with_capacity(KEYS_AT_ONCE);
        let has_values = V::FIXED_BYTES != Some(0);
        let reads = match (front.has_bloom(), has_values) {
            (true, _) => Some(Keys::All),
            (false, true) => Some(Keys::Pending),
            (false, false) => None,
        };
        let remember = |key, undispatched| {
            keys.push(key);
            if keys.len() == KEYS_AT_ONCE {
                front.remember(&keys);
                keys.clear();
            }
            if undispatched && has_values {
                unmerged.note(key);
            }
        };
        if let Some(reads) = reads {
            drum.for_each_key(reads, remember, progress)?;
        }
        front.remember(&keys);
        Ok(Store { front, drum, unmerged })
    }

    /// Admits `key` if it is new, storing `value` with it; in every case the key is stored after it.
    ///
    /// A key in the LRU is a duplicate now, and its value stays. One that the Bloom filter does not know is unique now.
    /// For others the DRUM is asked, which stores `value` and gives the dispatcher the answer.
    pub fn admit(&mut self, key: Fingerprint, value: V, aux: A) -> Result<Admission<A>> {
        match self.front.admit(key, &value) {
            Known::Recent(()) => Ok(Admission::Duplicate(aux)),
            Known::New => {
                self.note_unmerged(key);
                self.drum.update(key, value, None)?;
                Ok(Admission::Unique(aux))
            }
            Known::Perhaps => {
                self.note_unmerged(key);
                self.drum.check_update(key, value, Some(aux))?;
                Ok(Admission::Pending)
            }
        }
    }

    /// Returns whether `key` is in the LRU: then [`Store::admit`] would say that it is a duplicate, and need not be
    /// asked, nor an auxiliary made for it.
    pub fn is_recent(&mut self, key: Fingerprint) -> bool {
        self.front.is_recent(key)
    }

    /// Notes in the LRU alone that `key` counts as recent, without storing it: of keys that another store has.
    pub fn remember(&mut self, key: Fingerprint, value: V) {
        self.front.keep(key, value);
    }

    /// [`Drum::prefetch`], for the LRU and the Bloom filter as well.
    #[inline]
    pub fn prefetch(&mut self, keys: impl Iterator<Item = Fingerprint> + Clone) {
        self.front.prefetch(keys.clone());
        self.drum.prefetch(keys);
    }

    /// Asks what is stored under `key`: from the LRU, or nothing because the Bloom filter does not know the key, or
    /// later from the DRUM.
    pub fn ask(&mut self, key: Fingerprint, aux: A) -> Result<StoreAnswer<V, A>> {
        match self.front.ask(key) {
            Known::Recent(value) => Ok(StoreAnswer::Known(value, aux)),
            Known::New => Ok(StoreAnswer::Unknown(aux)),
            Known::Perhaps => {
                self.drum.check(key, Some(aux))?;
                Ok(StoreAnswer::Pending)
            }
        }
    }

    /// The value of `key` where the LRU has it.
    pub fn peek(&mut self, key: Fingerprint) -> Option<V> {
        self.front.lru.get(key).cloned()
    }

    /// Stores `value` under `key`. The dispatcher learns it by `update` when it has been merged.
    pub fn put(&mut self, key: Fingerprint, value: V) -> Result<()> {
        self.front.put(key, value.clone());
        self.note_unmerged(key);
        self.drum.update(key, value, None)
    }

    /// [`Drum::merge_gain`].
    pub fn merge_gain(&self, need: Need) -> Option<f64> {
        self.drum.merge_gain(need)
    }

    /// [`Drum::next_merge`].
    pub fn next_merge(&mut self, need: Need) -> Result<Option<MergeJob<Fingerprint, V, A>>> {
        self.drum.next_merge(need)
    }

    /// [`Drum::finish_merge`].
    pub fn finish_merge(&mut self, done: MergeDone<Fingerprint, V, A>) {
        self.drum.finish_merge(done);
    }

    /// [`Drum::dispatch`]; values that were found come into the LRU.
    pub fn dispatch(
        &mut self,
        dispatcher: &mut impl Dispatcher<Fingerprint, V, A>,
        results_max: usize,
    ) -> Result<usize> {
        let mut witness = Witness { front: &mut self.front, unmerged: &mut self.unmerged, dispatcher };
        self.drum.dispatch(&mut witness, results_max)
    }

    /// [`Drum::synchronize`].
    pub fn synchronize(&mut self, dispatcher: &mut impl Dispatcher<Fingerprint, V, A>) -> Result<()> {
        let mut witness = Witness { front: &mut self.front, unmerged: &mut self.unmerged, dispatcher };
        self.drum.synchronize(&mut witness)
    }

    /// [`Drum::pending`].
    pub fn pending(&self) -> u64 {
        self.drum.pending()
    }

    /// Returns `Drum::pending_checks`.
    pub fn pending_checks(&self) -> u64 {
        self.drum.pending_checks()
    }

    /// Returns `Drum::unanswered`.
    pub fn unanswered(&self) -> u64 {
        self.drum.unanswered()
    }

    /// Distinct keys that were ever put or admitted, but for those that the Bloom filter took for others; where there
    /// is no such filter, those that were merged.
    pub fn known(&self) -> u64 {
        self.front.keys().unwrap_or_else(|| self.drum.keys())
    }

    /// [`Drum::keys`].
    pub fn keys(&self) -> u64 {
        self.drum.keys()
    }

    /// [`Drum::cut`].
    pub fn cut(&mut self, ram: &mut Vec<u8>) -> Result<DrumCut> {
        self.drum.cut(ram)
    }

    /// [`Drum::take_unneeded`].
    pub fn take_unneeded(&mut self) -> Vec<PathBuf> {
        self.drum.take_unneeded()
    }

    /// Returns how often each layer answered.
    pub fn counters(&self) -> FrontCounters {
        self.front.counters()
    }

    /// Figures of the DRUM.
    pub fn drum_counters(&self) -> DrumCounters {
        self.drum.counters()
    }

    fn note_unmerged(&mut self, key: Fingerprint) {
        if V::FIXED_BYTES != Some(0) {
            self.unmerged.note(key);
        }
    }
}

/// Sees the results on their way to the dispatcher.
struct Witness<'a, V, D> {
    front: &'a mut Front<V>,
    unmerged: &'a mut Unmerged,
    dispatcher: &'a mut D,
}

impl<V: Value, A: Aux, D: Dispatcher<Fingerprint, V, A>> Dispatcher<Fingerprint, V, A> for Witness<'_, V, D> {
    fn unique_key_check(&mut self, key: Fingerprint, aux: Option<A>) -> Result<()> {
        self.front.counted.false_positives += 1;
        self.dispatcher.unique_key_check(key, aux)
    }

    fn duplicate_key_check(&mut self, key: Fingerprint, value: V, aux: Option<A>) -> Result<()> {
        if !self.unmerged.may_hold(key) {
            self.front.keep(key, value.clone());
        }
        self.dispatcher.duplicate_key_check(key, value, aux)
    }

    fn unique_key_update(&mut self, key: Fingerprint, value: V, aux: Option<A>) -> Result<()> {
        self.front.counted.false_positives += 1;
        self.unmerged.merged(key);
        self.dispatcher.unique_key_update(key, value, aux)
    }

    fn duplicate_key_update(&mut self, key: Fingerprint, value: V, aux: Option<A>) -> Result<()> {
        self.unmerged.merged(key);
        self.dispatcher.duplicate_key_update(key, value, aux)
    }

    fn update(&mut self, key: Fingerprint, value: V, aux: Option<A>) -> Result<()> {
        self.unmerged.merged(key);
        self.dispatcher.update(key, value, aux)
    }
}
