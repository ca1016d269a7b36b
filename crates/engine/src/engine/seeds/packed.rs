//! A seed in memory, in eight bytes.

use super::SeedStatus;

/// The bit of an entry at which the offset of the record ends and the status of the seed begins.
const OFFSET_BITS: u32 = 48;
/// State of a seed, as far as the crawl decides by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    Waiting = 0,
    Answered = 1,
    Other = 2,
}

impl Stand {
    pub(super) fn of(status: &SeedStatus) -> Stand {
        match status {
            SeedStatus::Waiting => Stand::Waiting,
            SeedStatus::Answered(_) => Stand::Answered,
            SeedStatus::Failed(_) | SeedStatus::Dropped(_) => Stand::Other,
        }
    }
}

/// Offset of a record, and in the bits above it how the seed is, whether it has a fallback, and whether another
/// shard owns it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedSeed(u64);

impl PackedSeed {
    pub(super) fn new(offset: u64, has_fallback: bool) -> PackedSeed {
        PackedSeed(offset | u64::from(has_fallback) << (OFFSET_BITS + 2))
    }

    pub(super) fn offset(self) -> u64 {
        self.0 & ((1 << OFFSET_BITS) - 1)
    }

    pub(super) fn has_fallback(self) -> bool {
        self.0 >> (OFFSET_BITS + 2) & 1 == 1
    }

    pub(super) fn foreign(offset: u64) -> PackedSeed {
        PackedSeed(offset | 1 << (OFFSET_BITS + 3))
    }

    pub(super) fn is_foreign(self) -> bool {
        self.0 >> (OFFSET_BITS + 3) & 1 == 1
    }

    pub(super) fn stand(self) -> Stand {
        match self.0 >> OFFSET_BITS & 3 {
            0 => Stand::Waiting,
            1 => Stand::Answered,
            _ => Stand::Other,
        }
    }

    pub(super) fn set_stand(&mut self, stand: Stand) {
        self.0 = self.0 & !(3 << OFFSET_BITS) | (stand as u64) << OFFSET_BITS;
    }
}
