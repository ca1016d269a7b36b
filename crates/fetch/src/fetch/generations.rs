//! A memory of a bounded number of keys: those that were used last stay.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Keys with what is known of each.
///
/// Two generations approximate an order by use: when the younger one is full, the older one is forgotten.
#[derive(Debug)]
pub(super) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// Keys of a generation.
    each: usize,
}

impl<K: Eq + Hash, V: Copy> Generations<K, V> {
    /// Nothing yet; at most `keys_max` keys later.
    pub(super) fn of(keys_max: usize) -> Self {
        Generations { young: HashMap::new(), old: HashMap::new(), each: keys_max / 2 }
    }

    /// Returns the value of `key`, which is young again.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let Some(&value) = self.young.get(key) {
            return Some(value);
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.put(key, value);
        Some(value)
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        if self.young.len() >= self.each && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub(super) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// Keys that are known.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
