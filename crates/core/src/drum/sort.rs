//! Stable radix sort of the operations of a batch by key.

use super::pending::Op;

/// An operation on its way through a merge: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub key: u64,
    /// Its number in the batch.
    pub position: u32,
    pub op: Op,
}

const DIGIT_BITS: u32 = 8;
/// Groups up to this size are sorted by insertion.
const SMALL: usize = 32;

/// Sorts by key; slots of the same key keep their order.
///
/// From the most significant digit down: keys are spread evenly, so that two digits leave groups small enough for
/// insertion, where sorting from the other end would move every slot eight times. `shift` says how many of the
/// top bits all keys share.
pub(super) fn sort(slots: &mut [Slot], shared_bits: u32) {
    let mut scratch = vec![Slot::default(); slots.len()];
    sort_digit(slots, &mut scratch, 64 - shared_bits.min(63));
}

/// Sorts by the lowest `bits` bits.
fn sort_digit(slots: &mut [Slot], scratch: &mut [Slot], bits: u32) {
    if slots.len() <= SMALL {
        return insert(slots);
    }
    let shift = bits.saturating_sub(DIGIT_BITS);
    let digit = |slot: &Slot| (slot.key >> shift) as usize & ((1 << DIGIT_BITS) - 1);
    let mut ends = [0_usize; 1 << DIGIT_BITS];
    for slot in slots.iter() {
        ends[digit(slot)] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    for slot in slots.iter() {
        let end = &mut ends[digit(slot)];
        scratch[*end] = *slot;
        *end += 1;
    }
    slots.copy_from_slice(scratch);
    if shift == 0 {
        return;
    }
    let mut start = 0;
    for end in ends {
        sort_digit(&mut slots[start..end], &mut scratch[start..end], shift);
        start = end;
    }
}

fn insert(slots: &mut [Slot]) {
    for end in 1..slots.len() {
        let slot = slots[end];
        let mut at = end;
        while at > 0 && slots[at - 1].key > slot.key {
            slots[at] = slots[at - 1];
            at -= 1;
        }
        slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sorts_as_the_standard_library_does_and_keeps_the_order_of_equals() {
        let mut random = fastrand::Rng::with_seed(3);
        for seed in 0..200 {
            let shared = random.u32(0..10);
            let few = random.u64(1..5_000);
            let mut slots: Vec<Slot> = (0..random.u32(0..3_000))
                .map(|position| {
                    let key = if seed % 2 == 0 { random.u64(..) } else { random.u64(0..few) << (seed % 50) };
                    Slot { key: key << shared >> shared, position, op: Op::Check }
                })
                .collect();
            let mut expected = slots.clone();
            expected.sort_by_key(|slot| slot.key);
            sort(&mut slots, shared);
            assert!(slots == expected, "seed {seed}");
        }
    }
}
