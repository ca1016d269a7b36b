//! The time for which the disk side has nothing to give.

use super::Frontier;
use super::tuning::PARK_AFTER;
use crate::clock::Time;

/// A moment before which no host on the disk side may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdWait {
    /// The moment.
    pub until: Time,
    /// True if that is longer than hosts wait for their delays: they rest.
    pub is_rest: bool,
}

impl Frontier {
    /// The wait of hosts on the disk side, where no host is ready and nothing is to be done for one there before.
    pub fn cold_wait(&self, now: Time) -> Option<ColdWait> {
        if self.has_ready(now) || self.is_cold_side_at_work(now) {
            return None;
        }
        let waits = self.cold.partitions.iter().filter(|partition| partition.base_left() > 0);
        let until = waits.filter_map(|partition| partition.walk.due()).filter(|&due| due > now).min()?;
        Some(ColdWait { until, is_rest: until > now + PARK_AFTER })
    }
}
