//! The most recently used keys with their values: a hash table whose entries form a list by use.
//!
//! Keys are mixed fingerprints, so that their low bits index the table as they are; collisions go to the next free
//! place. Cost: 24 bytes an entry and its value, allocated as it fills; an operation touches some four cache lines.

use crate::fingerprint::Fingerprint;

const NONE: u32 = u32::MAX;

/// A map of bounded size that forgets what was not used for longest.
#[derive(Debug)]
pub struct Lru<V> {
    entries: Vec<Entry<V>>,
    /// Indexes of entries by key, [`NONE`] where free; a power of two, at most half full.
    table: Vec<u32>,
    newest: u32,
    oldest: u32,
    entries_max: usize,
}

#[derive(Debug)]
struct Entry<V> {
    key: u64,
    value: V,
    newer: u32,
    older: u32,
}

impl<V> Lru<V> {
    /// Room for `entries_max` keys; with none, nothing is ever found.
    pub fn new(entries_max: usize) -> Self {
        let entries_max = entries_max.min(1 << 30);
        Lru { entries: Vec::new(), table: vec![NONE; 16], newest: NONE, oldest: NONE, entries_max }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of `key`, which counts as a use.
    pub fn get(&mut self, key: Fingerprint) -> Option<&V> {
        let index = self.table[self.place(key.bits()).ok()?];
        self.touch(index);
        Some(&self.entries[index as usize].value)
    }

    /// Whether `key` is there, which does not count as a use.
    pub fn contains(&self, key: Fingerprint) -> bool {
        self.place(key.bits()).is_ok()
    }

    /// Puts `value` under `key`, in the place of what was there, and forgets the oldest entry where there is no room.
    pub fn insert(&mut self, key: Fingerprint, value: V) {
        if self.entries_max == 0 {
            return;
        }
        let key = key.bits();
        if let Ok(place) = self.place(key) {
            let index = self.table[place];
            self.entries[index as usize].value = value;
            return self.touch(index);
        }
        let index = if self.entries.len() < self.entries_max {
            self.make_room();
            self.entries.push(Entry { key, value, newer: NONE, older: NONE });
            self.entries.len() as u32 - 1
        } else {
            let index = self.oldest;
            self.unlink(index);
            self.remove_from_table(self.entries[index as usize].key);
            let entry = &mut self.entries[index as usize];
            (entry.key, entry.value) = (key, value);
            index
        };
        let (Ok(place) | Err(place)) = self.place(key);
        self.table[place] = index;
        self.link(index);
    }

    /// Where in the table `key` is, or where it would go.
    fn place(&self, key: u64) -> Result<usize, usize> {
        let mask = self.table.len() - 1;
        let mut place = key as usize & mask;
        loop {
            match self.table[place] {
                NONE => return Err(place),
                index if self.entries[index as usize].key == key => return Ok(place),
                _ => place = (place + 1) & mask,
            }
        }
    }

    fn make_room(&mut self) {
        if (self.entries.len() + 1) * 2 <= self.table.len() {
            return;
        }
        let places = self.table.len() * 2;
        self.table = vec![NONE; places];
        for index in 0..self.entries.len() {
            let (Ok(place) | Err(place)) = self.place(self.entries[index].key);
            self.table[place] = index as u32;
        }
    }

    /// Frees the place of `key` and moves those back that were pushed beyond it.
    fn remove_from_table(&mut self, key: u64) {
        let mask = self.table.len() - 1;
        let Ok(mut hole) = self.place(key) else { return };
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let index = self.table[at];
            if index == NONE {
                break;
            }
            let home = self.entries[index as usize].key as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.table[hole] = index;
                hole = at;
            }
        }
        self.table[hole] = NONE;
    }

    fn touch(&mut self, index: u32) {
        if index != self.newest {
            self.unlink(index);
            self.link(index);
        }
    }

    fn link(&mut self, index: u32) {
        let older = std::mem::replace(&mut self.newest, index);
        let entry = &mut self.entries[index as usize];
        (entry.newer, entry.older) = (NONE, older);
        match older {
            NONE => self.oldest = index,
            older => self.entries[older as usize].newer = index,
        }
    }

    fn unlink(&mut self, index: u32) {
        let Entry { newer, older, .. } = self.entries[index as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_a_list_that_is_searched() {
        for seed in 0..60 {
            let mut random = fastrand::Rng::with_seed(seed);
            let room = random.usize(0..40);
            let mut lru = Lru::new(room);
            let mut model: Vec<(u64, u32)> = Vec::new(); // newest last
            for step in 0..2_000 {
                // few low bits, so that places collide
                let key = random.u64(0..60) << 4 | random.u64(0..60) << 40;
                let at = model.iter().position(|&(other, _)| other == key);
                let used = at.map(|at| model.remove(at));
                let fingerprint = Fingerprint::from_bits(key);
                assert_eq!(lru.contains(fingerprint), used.is_some(), "seed {seed}, step {step}");
                if random.bool() {
                    assert_eq!(lru.get(fingerprint).copied(), used.map(|(_, value)| value), "seed {seed}, step {step}");
                    model.extend(used);
                } else {
                    lru.insert(fingerprint, step);
                    model.push((key, step));
                    if model.len() > room {
                        model.remove(0);
                    }
                }
                assert_eq!(lru.len(), model.len());
            }
        }
    }
}
