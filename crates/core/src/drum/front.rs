//! The front of a DRUM, which answers most questions at once: an LRU of recent keys, then a Bloom filter.
//!
//! A filter under a ceiling of memory helps less and less as keys come. Of 160 MiB, laid out for 1 %, it takes 1 % of
//! new keys for stored ones with 100 M keys, 23 % with 300 M, 66 % with 500 M, 91 % with 760 M and all but 1 in 100
//! with 1.1 G. To fill it at a start, every key has to be read: 3.6 GB with 760 M, 42 GB with 10 G. So where it would
//! be [`USELESS`], there is none, and nothing is read for it.

use crate::fingerprint::Fingerprint;

use super::bloom::Bloom;
use super::contract::Value;
use super::lines::WORDS;
use super::lru::Lru;

/// Memory for what the values of the LRU hold beside their own size, for each entry.
pub const VALUE_BYTES_PER_ENTRY: usize = 4 << 10;

/// Share of new keys that a Bloom filter may take for stored ones; with more of them a start goes without it.
pub const USELESS: f64 = 0.9;

/// The shape of a front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontOptions {
    /// Keys that the LRU remembers, with their values.
    pub lru_entries: usize,
    /// Most bytes of the Bloom filter.
    pub bloom_memory: usize,
    /// Share of new keys that the Bloom filter may take for stored ones while its memory lasts.
    pub bloom_fpr: f64,
}

impl Default for FrontOptions {
    fn default() -> Self {
        FrontOptions { lru_entries: 1 << 18, bloom_memory: 125 << 20, bloom_fpr: 0.01 }
    }
}

/// Counts of the answers that each layer gave, since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontCounters {
    /// Keys that were known from the LRU.
    pub lru_hits: u64,
    /// Keys that were new for certain, by the Bloom filter.
    pub negatives: u64,
    /// Keys that were left to the DRUM because the Bloom filter may know them.
    pub positives: u64,
    /// Keys among these positives that the DRUM found to be new.
    pub false_positives: u64,
    /// Slices of the Bloom filter.
    pub slices: usize,
    /// Bytes of the Bloom filter.
    pub bloom_bytes: usize,
}

/// An answer of the front about a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known<V> {
    /// It is stored, with this value.
    Recent(V),
    /// It is not stored.
    New,
    /// Only the DRUM knows.
    Perhaps,
}

/// LRU and Bloom filter. It never says that a key is stored unless that was noted, nor that it is new when it was.
#[derive(Debug)]
pub struct Front<V> {
    pub(super) lru: Lru<V>,
    /// The filter; `None` where it would help nobody.
    bloom: Option<Bloom>,
    pub(super) counted: FrontCounters,
}

impl<V: Value> Front<V> {
    /// A front that knows of no key yet, its Bloom filter with room for `keys`.
    pub(crate) fn new(options: FrontOptions, keys: u64) -> Self {
        let useful = Bloom::fpr_with(options.bloom_memory, options.bloom_fpr, keys) <= USELESS;
        let bloom = useful.then(|| Bloom::with_room(options.bloom_memory, options.bloom_fpr, keys));
        Front { lru: Lru::new(options.lru_entries), bloom, counted: FrontCounters::default() }
    }

    /// Returns whether there is a Bloom filter, to which every key has to be added.
    pub(super) fn has_bloom(&self) -> bool {
        self.bloom.is_some()
    }

    /// Distinct keys that were added to the Bloom filter, but for those that it took for others.
    pub(super) fn keys(&self) -> Option<u64> {
        self.bloom.as_ref().map(Bloom::len)
    }

    /// Looks at what the questions about `keys` will look at, so that the cache misses of all of them overlap.
    #[inline]
    pub(super) fn prefetch(&self, keys: impl Iterator<Item = Fingerprint> + Clone) {
        let touched = self.bloom.as_ref().map_or(0, |bloom| bloom.touch(keys.clone()));
        std::hint::black_box(self.lru.touch(keys) ^ touched);
    }

    /// Adds stored keys, some ten to a hundred, to the Bloom filter only.
    pub(super) fn remember(&mut self, keys: &[Fingerprint]) {
        let Some(bloom) = &mut self.bloom else { return };
        std::hint::black_box(bloom.touch(keys.iter().copied()));
        for &key in keys {
            bloom.insert(key);
        }
    }

    /// Returns whether `key` was stored lately.
    pub(super) fn is_recent(&mut self, key: Fingerprint) -> bool {
        let is_recent = self.lru.get(key).is_some();
        self.counted.lru_hits += u64::from(is_recent);
        is_recent
    }

    /// Returns what is known of `key`, which counts as stored with `value` from then on.
    pub(super) fn admit(&mut self, key: Fingerprint, value: &V) -> Known<()> {
        if self.is_recent(key) {
            return Known::Recent(());
        }
        self.keep(key, value.clone());
        let maybe = self.bloom.as_mut().is_none_or(|bloom| bloom.insert(key));
        self.count(maybe)
    }

    /// Returns what is known of `key`.
    pub(super) fn ask(&mut self, key: Fingerprint) -> Known<V> {
        if let Some(value) = self.lru.get(key) {
            self.counted.lru_hits += 1;
            return Known::Recent(value.clone());
        }
        let maybe = self.bloom.as_ref().is_none_or(|bloom| bloom.contains(key));
        self.count(maybe)
    }

    /// `key` is stored with `value` from now on.
    pub(super) fn put(&mut self, key: Fingerprint, value: V) {
        self.keep(key, value);
        if let Some(bloom) = &mut self.bloom {
            bloom.insert(key);
        }
    }

    /// The LRU has `value` from now on, if there is memory for it.
    pub(super) fn keep(&mut self, key: Fingerprint, value: V) {
        let bytes = value.heap_bytes();
        self.lru.insert(key, value);
        if bytes > 0 {
            self.lru.trim(key, VALUE_BYTES_PER_ENTRY * WORDS, V::heap_bytes);
        }
    }

    /// Figures for reports.
    pub(crate) fn counters(&self) -> FrontCounters {
        let (slices, bloom_bytes) = self.bloom.as_ref().map_or((0, 0), |bloom| (bloom.slices(), bloom.bytes()));
        FrontCounters { slices, bloom_bytes, ..self.counted }
    }

    fn count<T>(&mut self, maybe: bool) -> Known<T> {
        if maybe {
            self.counted.positives += 1;
            Known::Perhaps
        } else {
            self.counted.negatives += 1;
            Known::New
        }
    }
}
