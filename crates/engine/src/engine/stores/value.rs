//! The values in each of the stores, and the work that is done for all of them alike: merges, cuts, files that go.

use std::path::{Path, PathBuf};

use super::Stores;
use crate::calendar::Visited;
use crate::checkpoint::{Checkpoint, Sections};
use crate::disk::{Disk, Result};
use crate::drum::{self, Aux, DrumCut, Found, MergeDone, MergeJob, Need, Store, Value};
use crate::engine::pair::{Pair, Supported};
use crate::engine::values::{Addresses, Robots};
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::record::Layers;
use crate::record::layout::StoreName;

/// The values of one of the stores.
pub trait StoreValue: Value {
    /// Data that travels with a question.
    type Asks: Aux;
    /// Their store.
    const STORE: StoreName;

    /// Their store, where the crawl has it.
    fn store(stores: &mut Stores) -> Option<&mut Store<Self, Self::Asks>>;
}

impl StoreValue for () {
    type Asks = QueuedUrl;
    const STORE: StoreName = StoreName::Seen;

    fn store(stores: &mut Stores) -> Option<&mut Store<(), QueuedUrl>> {
        Some(&mut stores.seen)
    }
}

impl StoreValue for Robots {
    type Asks = QueuedUrl;
    const STORE: StoreName = StoreName::Robots;

    fn store(stores: &mut Stores) -> Option<&mut Store<Robots, QueuedUrl>> {
        Some(&mut stores.robots)
    }
}

impl StoreValue for Addresses {
    type Asks = QueuedUrl;
    const STORE: StoreName = StoreName::Dns;

    fn store(stores: &mut Stores) -> Option<&mut Store<Addresses, QueuedUrl>> {
        Some(&mut stores.dns)
    }
}

impl StoreValue for Visited {
    type Asks = QueuedUrl;
    const STORE: StoreName = StoreName::Visits;

    fn store(stores: &mut Stores) -> Option<&mut Store<Visited, QueuedUrl>> {
        stores.visits.as_mut()
    }
}

impl StoreValue for Pair {
    type Asks = Supported;
    const STORE: StoreName = StoreName::Support;

    fn store(stores: &mut Stores) -> Option<&mut Store<Pair, Supported>> {
        stores.support.as_mut()
    }
}

/// Returns what a checkpoint has under `key` in the store of these values, where the crawl in `dir` has that store.
/// `each` gets every question that waits for its answer, and true where the key was stored before it.
pub fn look_up<V: StoreValue>(
    disk: &Disk,
    dir: &Path,
    checkpoint: &Checkpoint,
    sections: &Sections,
    key: Fingerprint,
    each: &mut dyn FnMut(V::Asks, bool),
) -> Result<Option<Found<V>>> {
    let stored = checkpoint.store(V::STORE, sections);
    stored.map(|stored| drum::look_up(disk, &V::STORE.dir(dir), stored, key, each)).transpose()
}

/// One of the stores, whatever its values are.
pub(super) trait AnyStore {
    fn name(&self) -> StoreName;
    fn next_merge(&mut self, need: Need) -> Result<Option<Box<dyn BucketMerge>>>;
    /// The worth of that merge compared with those of other stores, if there is one.
    fn merge_gain(&self, need: Need) -> Option<f64>;
    fn cut(&mut self, arrays: &mut Vec<u8>) -> Result<DrumCut>;
    fn take_unneeded(&mut self) -> Vec<PathBuf>;
    fn repository_bytes(&self) -> u64;
    /// The figures of its layers.
    fn layers(&self) -> Layers;
}

impl<V: StoreValue> AnyStore for Store<V, V::Asks> {
    fn name(&self) -> StoreName {
        V::STORE
    }

    fn next_merge(&mut self, need: Need) -> Result<Option<Box<dyn BucketMerge>>> {
        Ok(Store::next_merge(self, need)?.map(|job| Box::new(job) as Box<dyn BucketMerge>))
    }

    fn merge_gain(&self, need: Need) -> Option<f64> {
        Store::merge_gain(self, need)
    }

    fn cut(&mut self, arrays: &mut Vec<u8>) -> Result<DrumCut> {
        Store::cut(self, arrays)
    }

    fn take_unneeded(&mut self) -> Vec<PathBuf> {
        Store::take_unneeded(self)
    }

    fn repository_bytes(&self) -> u64 {
        self.drum_counters().repository_bytes
    }

    fn layers(&self) -> Layers {
        let (front, drum) = (self.counters(), self.drum_counters());
        Layers {
            lru_hits: front.lru_hits,
            bloom_negatives: front.negatives,
            bloom_positives: front.positives,
            bloom_false_positives: front.false_positives,
            bloom_bytes: front.bloom_bytes as u64,
            keys: self.keys(),
            pending: self.pending(),
            merges: drum.merges,
            merge_bytes_read: drum.bytes_read,
            merge_bytes_written: drum.bytes_written,
        }
    }
}

/// A bucket of one of the stores that is to be merged.
pub(in crate::engine) trait BucketMerge: Send {
    fn run(self: Box<Self>) -> Result<Box<dyn BucketMerged>>;
}

/// One that was merged.
pub(in crate::engine) trait BucketMerged: Send {
    fn store(&self) -> StoreName;
    /// Bytes that were read and written.
    fn bytes(&self) -> u64;
    /// Hands the results to the store.
    fn finish(self: Box<Self>, stores: &mut Stores);
}

impl<V: StoreValue> BucketMerge for MergeJob<Fingerprint, V, V::Asks> {
    fn run(self: Box<Self>) -> Result<Box<dyn BucketMerged>> {
        Ok(Box::new(MergeJob::run(*self)?))
    }
}

impl<V: StoreValue> BucketMerged for MergeDone<Fingerprint, V, V::Asks> {
    fn store(&self) -> StoreName {
        V::STORE
    }

    fn bytes(&self) -> u64 {
        MergeDone::bytes(self)
    }

    fn finish(self: Box<Self>, stores: &mut Stores) {
        if let Some(store) = V::store(stores) {
            store.finish_merge(*self);
        }
    }
}
