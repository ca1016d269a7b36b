//! Keys whose newest value was put and is not dispatched yet, in a fixed amount of memory.
//!
//! While there is one, what a merge finds under the key is older than what was put, and must not be remembered as the
//! present value. Asking costs a byte: a counter by the key's hash (a counting Bloom filter with one hash; Fan, Cao,
//! Almeida and Broder 2000). It may say so of a key that shares the counter of another; then a value that was found is
//! not remembered, and is read once more when it is asked for again. It never denies one that was put. A counter that
//! reached its end stays there until nothing at all waits.

use crate::fingerprint::Fingerprint;

/// Bits of a place: 2 M counters. With as many keys waiting, six of ten values that were found are not remembered.
const PLACE_BITS: u32 = 21;
/// Bytes that it takes, from the first key on.
pub const UNMERGED_BYTES: usize = 1 << PLACE_BITS;

/// The counters.
#[derive(Debug, Default)]
pub(super) struct Unmerged {
    counters: Vec<u8>,
    waiting: u64,
    /// True once a counter has reached its end.
    stuck: bool,
}

impl Unmerged {
    /// A value was put under `key`.
    pub(super) fn note(&mut self, key: Fingerprint) {
        if self.counters.is_empty() {
            self.counters = vec![0; UNMERGED_BYTES];
        }
        let counter = &mut self.counters[place(key)];
        *counter = counter.saturating_add(1);
        self.stuck |= *counter == u8::MAX;
        self.waiting += 1;
    }

    /// A value that was put under `key` is dispatched.
    pub(super) fn merged(&mut self, key: Fingerprint) {
        let Some(counter) = self.counters.get_mut(place(key)).filter(|counter| **counter > 0) else { return };
        if *counter < u8::MAX {
            *counter -= 1;
        }
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 && std::mem::take(&mut self.stuck) {
            self.counters.fill(0);
        }
    }

    /// Returns whether a value that was put under `key` may wait.
    pub(super) fn may_hold(&self, key: Fingerprint) -> bool {
        self.counters.get(place(key)).is_some_and(|&counter| counter > 0)
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.counters.capacity()
    }
}

fn place(key: Fingerprint) -> usize {
    (key.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACE_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n26_keys_that_wait_take_a_fixed_amount_of_memory_and_none_is_denied() {
        let mut unmerged = Unmerged::default();
        assert_eq!(unmerged.bytes(), 0);
        let keys = || {
            let mut random = fastrand::Rng::with_seed(3);
            std::iter::repeat_with(move || Fingerprint::from_bits(random.u64(..))).take(400_000)
        };
        keys().for_each(|key| unmerged.note(key));
        assert!(keys().all(|key| unmerged.may_hold(key)));
        assert_eq!(unmerged.bytes(), UNMERGED_BYTES);
        keys().skip(100_000).for_each(|key| unmerged.merged(key));
        assert!(keys().take(100_000).all(|key| unmerged.may_hold(key)));
        let others = keys().skip(100_000).filter(|&key| unmerged.may_hold(key)).count();
        assert!(others < 300_000 / 10, "{others} of 300,000 share a counter");
        keys().take(100_000).for_each(|key| unmerged.merged(key));
        assert!(!keys().any(|key| unmerged.may_hold(key)));
    }

    #[test]
    fn n26_a_counter_at_its_end_begins_anew_when_nothing_waits() {
        let mut unmerged = Unmerged::default();
        let (key, other) = (Fingerprint::from_bits(7), Fingerprint::from_bits(8));
        (0..1_000).for_each(|_| unmerged.note(key));
        unmerged.note(other);
        (0..1_000).for_each(|_| unmerged.merged(key));
        assert!(unmerged.may_hold(key) && unmerged.may_hold(other));
        unmerged.merged(other);
        assert!(!unmerged.may_hold(key) && !unmerged.may_hold(other));
    }
}
