//! The choice of the parts of a file that stay in the store as they are, and of those that are packed again.
//!
//! Two rules keep what a reader has to put together small, and what the store holds near to what is alive:
//!
//! - A file of more than 64 parts gets its last ones packed again: at least the last 32, and those before as long as
//!   one is at most twice as long as all behind it. So a file that grows by a little at every checkpoint is sent
//!   again a number of times that is the logarithm of its length.
//! - Of a pack of which less than a quarter is alive, that is packed again, and the pack goes.

use std::collections::HashMap;

use super::manifest::{Manifest, Part};
use super::names;

/// Parts of a file.
const PARTS_MAX: usize = 64;
/// The number of parts that are packed again at least, where there are more.
const PARTS_MERGED: usize = 32;
/// A pack is packed again when one byte of this many is alive.
const ALIVE_SHARE: u64 = 4;

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Offset in the file.
    pub at: u64,
    /// Length.
    pub bytes: u64,
    /// Place in the store where it is already: a part of the former manifest.
    pub kept: Option<Part>,
}

/// Takes the last parts of a file out of the store's keeping where it has too many.
pub(super) fn merge_last(stretches: &mut [Stretch]) {
    let count = stretches.len();
    if count <= PARTS_MAX {
        return;
    }
    let (mut from, mut sum) = (count, 0_u64);
    while from > 0 && (count - from < PARTS_MERGED || stretches[from - 1].bytes <= 2 * sum) {
        from -= 1;
        sum += stretches[from].bytes;
    }
    stretches[from..].iter_mut().for_each(|stretch| stretch.kept = None);
}

/// Takes everything in packs that are hardly alive out of the store's keeping.
pub(super) fn leave_packs(files: &mut [Vec<Stretch>], last: &Manifest) {
    let mut alive: HashMap<u32, u64> = HashMap::new();
    for part in files.iter().flatten().filter_map(|stretch| stretch.kept) {
        *alive.entry(part.object).or_default() += part.bytes;
    }
    let is_left = |part: Part| {
        let object = last.object(&part);
        names::is_pack(&object.name) && alive[&part.object].saturating_mul(ALIVE_SHARE) < object.bytes
    };
    for stretch in files.iter_mut().flatten() {
        stretch.kept = stretch.kept.filter(|part| !is_left(*part));
    }
}

/// Makes one of neighbours that are both to be sent.
pub(super) fn join(stretches: &mut Vec<Stretch>) {
    stretches.dedup_by(|next, one| {
        let joins = next.kept.is_none() && one.kept.is_none();
        one.bytes += if joins { next.bytes } else { 0 };
        joins
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that grows by one byte at each of `rounds` checkpoints: its most parts, and the bytes that were sent.
    fn grow(rounds: u64) -> (usize, u64) {
        let (mut stretches, mut most, mut sent) = (Vec::new(), 0, 0);
        for at in 0..rounds {
            stretches.push(Stretch { at, bytes: 1, kept: None });
            merge_last(&mut stretches);
            join(&mut stretches);
            for stretch in &mut stretches {
                if stretch.kept.is_none() {
                    sent += stretch.bytes;
                    stretch.kept = Some(Part { object: 0, offset: 0, bytes: stretch.bytes, crc: 0 });
                }
            }
            most = most.max(stretches.len());
        }
        assert_eq!(stretches.iter().map(|stretch| stretch.bytes).sum::<u64>(), rounds);
        (most, sent)
    }

    #[test]
    fn a_file_that_grows_has_few_parts_and_is_sent_again_a_few_times() {
        for (rounds, times) in [(64, 1), (1_000, 5), (100_000, 12)] {
            let (most, sent) = grow(rounds);
            assert!(most <= PARTS_MAX, "{most} parts");
            assert!(sent <= times * rounds, "{rounds} rounds: {sent} bytes");
        }
    }
}
