//! Recently used keys with their values: a set-associative cache.
//!
//! The key chooses a set of eight places, which are kept in the order of their use: the least recently used key of a
//! set makes room for a new one. Over all keys this forgets nearly what one list by use would forget, but where the
//! list costs eight cache misses an operation (table, entry, neighbours in the list, and the same for the entry that
//! goes), the keys of a set are one cache line.
//!
//! Cost: 8 bytes a key, and its value.

use crate::fingerprint::Fingerprint;

use super::lines::{CacheLines, WORDS, place_among};

/// Sets whose values are in memory together.
const SEGMENT_SETS: usize = 16;

/// A map of bounded size that forgets what was not used for long.
///
/// The fingerprint 0 is never remembered: it marks an empty place.
#[derive(Debug)]
pub struct Lru<V> {
    /// The keys of a set in a line, the last used one first; 0 where there is none.
    keys: CacheLines,
    /// Their values, in the same order, in segments, each of which is empty until one of its keys comes; values
    /// without content are one place for all.
    values: Vec<Vec<Option<V>>>,
    sets: usize,
}

impl<V> Lru<V> {
    /// Room for `entries_max` keys, rounded up to a multiple of eight; with none, nothing is ever found.
    pub(crate) fn new(entries_max: usize) -> Self {
        let sets = entries_max.min(1 << 30).div_ceil(WORDS);
        let values = match size_of::<V>() {
            0 => vec![vec![None]],
            _ => std::iter::repeat_with(Vec::new).take(sets.div_ceil(SEGMENT_SETS)).collect(),
        };
        Lru { keys: CacheLines::new(sets), values, sets }
    }

    /// The value of `key`, which counts as a use.
    #[inline]
    pub(crate) fn get(&mut self, key: Fingerprint) -> Option<&V> {
        let set = self.set(key)?;
        let at = self.keys.get(set).iter().position(|&other| other == key.bits())?;
        self.values_mut(set, key, at).first().and_then(Option::as_ref)
    }

    /// Puts `value` under `key`, in the place of what was there, and forgets the oldest of its set where there is no
    /// room.
    #[inline]
    pub(crate) fn insert(&mut self, key: Fingerprint, value: V) {
        let Some(set) = self.set(key) else { return };
        let at = self.keys.get(set).iter().position(|&other| other == key.bits()).unwrap_or(WORDS - 1);
        self.values_mut(set, key, at)[0] = Some(value);
    }

    /// Forgets values of the set of `key`, the least recently used first, until those that stay hold `bytes_max` bytes
    /// at most by `bytes_of`; one that holds more by itself does not stay.
    pub(crate) fn trim(&mut self, key: Fingerprint, bytes_max: usize, bytes_of: impl Fn(&V) -> usize) {
        let Some(set) = self.set(key).filter(|_| size_of::<V>() > 0) else { return };
        let mut keys = self.keys.get(set);
        let mut kept = 0;
        for (key, place) in keys.iter_mut().zip(self.places(set)) {
            let bytes = place.as_ref().map_or(0, &bytes_of);
            if bytes > bytes_max - kept {
                (*key, *place) = (0, None);
            } else {
                kept += bytes;
            }
        }
        self.keys.set(set, &keys);
    }

    /// Looks at a word of each set that asking for `keys` will look at.
    #[inline]
    pub(super) fn touch(&self, keys: impl Iterator<Item = Fingerprint>) -> u64 {
        keys.fold(0, |sum, key| sum ^ self.set(key).map_or(0, |set| self.keys.touch(set)))
    }

    fn set(&self, key: Fingerprint) -> Option<usize> {
        // the top bits choose Bloom blocks and buckets already; any bits of a fingerprint are as good
        (key.bits() != 0 && self.sets > 0).then(|| place_among(key.bits().rotate_left(32), self.sets))
    }

    /// The values of `set`, after `key` and what is at `at` moved to the front.
    #[inline]
    fn values_mut(&mut self, set: usize, key: Fingerprint, at: usize) -> &mut [Option<V>] {
        let old = self.keys.get(set);
        let moved = std::array::from_fn(|place| match place {
            0 => key.bits(),
            _ if place <= at => old[place - 1],
            _ => old[place],
        });
        self.keys.set(set, &moved);
        if size_of::<V>() == 0 {
            return &mut self.values[0];
        }
        let values = self.places(set);
        values[..=at].rotate_right(1);
        values
    }

    /// The places of the values of `set`.
    #[inline]
    fn places(&mut self, set: usize) -> &mut [Option<V>] {
        let segment = &mut self.values[set / SEGMENT_SETS];
        if segment.is_empty() {
            segment.resize_with(SEGMENT_SETS * WORDS, || None);
        }
        &mut segment[set % SEGMENT_SETS * WORDS..][..WORDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_agrees_with_a_list_that_is_searched() {
        for seed in 0..60 {
            let mut random = fastrand::Rng::with_seed(seed);
            let room = random.usize(0..40);
            let mut lru = Lru::new(room);
            let sets = room.div_ceil(8);
            let mut model: Vec<Vec<(u64, u32)>> = vec![Vec::new(); sets]; // newest last
            for step in 0..2_000 {
                let key = Fingerprint::from_bits(random.u64(0..60).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let mut nothing = Vec::new();
                let set = if key.bits() == 0 { None } else { lru.set(key) };
                let list = set.map_or(&mut nothing, |set| &mut model[set]);
                let at = list.iter().position(|&(other, _)| other == key.bits());
                let used = at.map(|at| list.remove(at));
                if random.bool() {
                    assert_eq!(lru.get(key).copied(), used.map(|(_, value)| value), "seed {seed}, step {step}");
                    list.extend(used);
                } else {
                    lru.insert(key, step);
                    list.push((key.bits(), step));
                    if list.len() > 8 {
                        list.remove(0);
                    }
                }
            }
        }
    }

    #[test]
    fn the_values_of_a_set_hold_no_more_than_their_share_of_memory() {
        // one set
        let mut lru: Lru<Vec<u8>> = Lru::new(8);
        let key = Fingerprint::from_bits;
        for number in 1..=8 {
            lru.insert(key(number), vec![0; 100]);
            lru.trim(key(number), 350, Vec::len);
        }
        let kept: Vec<u64> = (1..=8).filter(|&number| lru.get(key(number)).is_some()).collect();
        assert_eq!(kept, [6, 7, 8], "the ones that were used last");
        lru.insert(key(9), vec![0; 351]);
        lru.trim(key(9), 350, Vec::len);
        assert!(lru.get(key(9)).is_none(), "it is too large by itself");
        assert!((6..=8).all(|number| lru.get(key(number)).is_some()), "and takes nobody's place");
        lru.insert(key(7), vec![0; 400]);
        lru.trim(key(7), 350, Vec::len);
        assert!(lru.get(key(7)).is_none(), "an older value is not told for it");
    }

    /// Share of hits of an LRU kept as one list.
    fn hits_of_one_list(keys: &[u64], room: usize) -> usize {
        let (mut used_at, mut by_use) = (std::collections::HashMap::new(), std::collections::BTreeMap::new());
        let mut hits = 0;
        for (time, &key) in keys.iter().enumerate() {
            if let Some(before) = used_at.insert(key, time) {
                by_use.remove(&before);
                hits += 1;
            }
            by_use.insert(time, key);
            if by_use.len() > room {
                let (_, oldest) = by_use.pop_first().unwrap();
                used_at.remove(&oldest);
            }
        }
        hits
    }

    #[test]
    fn it_hits_nearly_as_often_as_one_list_by_use() {
        let mut random = fastrand::Rng::with_seed(4);
        // links lead to few pages often and to many pages rarely: the n-th page as often as 1/n
        let keys: Vec<u64> = (0..200_000)
            .map(|_| ((random.f64() * 100_000_f64.ln()).exp() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let mut lru = Lru::new(4_096);
        let mut hits = 0;
        for key in keys.iter().map(|&bits| Fingerprint::from_bits(bits)) {
            hits += usize::from(lru.get(key).is_some());
            lru.insert(key, ());
        }
        let list = hits_of_one_list(&keys, 4_096);
        assert!(hits * 100 > list * 97, "{hits} of 200,000, a list {list}");
    }
}
