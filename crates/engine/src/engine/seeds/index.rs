//! Numbers by 32 bits of a hash: an open table of 8-byte slots.
//!
//! It knows no texts: two that differ may have the same tag, so anyone who finds a number compares what it means.
//! At most seven of eight slots are taken, and the table doubles.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Slots of a table that holds something.
const SLOTS_MIN: usize = 64;

/// The tag of a text.
pub(super) fn tag(text: &str) -> u32 {
    // with the same keys in every process: what is looked up is the operator's own list
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    (hasher.finish() >> 32) as u32
}

/// Tag, and number + 1; nothing where that is 0.
type Slot = (u32, u32);

/// The table.
#[derive(Debug, Default)]
pub(super) struct Index {
    slots: Vec<Slot>,
    taken: usize,
}

impl Index {
    /// Numbers that were put there under `tag`.
    pub(super) fn find(&self, tag: u32) -> impl Iterator<Item = u32> {
        self.probe(tag).map(|place| self.slots[place]).filter(move |slot| slot.0 == tag).map(|(_, number)| number - 1)
    }

    /// Puts `number` there under `tag`, beside those that have it.
    pub(super) fn insert(&mut self, tag: u32, number: u32) {
        if (self.taken + 1) * 8 > self.slots.len() * 7 {
            let slots = vec![(0, 0); (self.slots.len() * 2).max(SLOTS_MIN)];
            let old = std::mem::replace(&mut self.slots, slots);
            old.into_iter().filter(|slot| slot.1 > 0).for_each(|slot| self.put(slot));
        }
        self.put((tag, number + 1));
        self.taken += 1;
    }

    /// Puts `number` there under `tag` in the place of the one that has it, which is returned.
    pub(super) fn replace(&mut self, tag: u32, number: u32) -> Option<u32> {
        let place = self.probe(tag).find(|&place| self.slots[place].0 == tag);
        match place {
            Some(place) => Some(std::mem::replace(&mut self.slots[place].1, number + 1) - 1),
            None => {
                self.insert(tag, number);
                None
            }
        }
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// Places from the one of `tag` on that are taken.
    fn probe(&self, tag: u32) -> impl Iterator<Item = usize> {
        let first = self.place(tag);
        let wrap = self.slots.len().saturating_sub(1);
        let places = (0..self.slots.len()).map(move |step| (first + step) & wrap);
        places.take_while(|&place| self.slots[place].1 > 0)
    }

    fn put(&mut self, slot: Slot) {
        let mut place = self.place(slot.0);
        while self.slots[place].1 > 0 {
            place = (place + 1) & (self.slots.len() - 1);
        }
        self.slots[place] = slot;
    }

    /// The tag's share of the table: its top bits.
    fn place(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.slots.len() as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_found_under_its_tag_and_none_under_others() {
        let mut index = Index::default();
        assert_eq!(index.find(7).count(), 0);
        for number in 0..20_000_u32 {
            index.insert(tag(&format!("http://h/{}", number / 2)), number);
        }
        for number in (0..20_000_u32).step_by(2) {
            let mut found: Vec<u32> = index.find(tag(&format!("http://h/{}", number / 2))).collect();
            found.sort_unstable();
            assert!(found.contains(&number) && found.contains(&(number + 1)) && found.len() <= 4, "{found:?}");
        }
        assert_eq!(index.find(tag("http://elsewhere/")).count(), 0);
        assert!(index.bytes() <= 20_000 * 2 * 8 * 8 / 7);
        let (one, two) = (tag("one"), tag("two"));
        let mut heads = Index::default();
        assert_eq!((heads.replace(one, 4), heads.replace(two, 5), heads.replace(one, 9)), (None, None, Some(4)));
        assert_eq!(heads.find(one).collect::<Vec<_>>(), [9]);
    }
}
