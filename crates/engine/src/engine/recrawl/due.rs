//! Records that are due come out of the calendar, and go the way of known URLs.

use std::path::Path;

use super::Recrawls;
use crate::calendar::{SlotDone, SlotRead};
use crate::clock::Time;
use crate::disk::{Error, Result};
use crate::engine::stores::Stores;
use crate::frontier::QueuedUrl;
use crate::record::layout;

/// Records that are handed on between two looks at the network.
const RECORDS_PER_PUMP: usize = 500;

impl Recrawls {
    /// Returns when something may be due.
    pub(crate) fn next_due(&self, now: Time) -> Option<Time> {
        let next = self.wheel.next_due(now).filter(|_| self.options.is_on)?;
        // a read that is in progress wakes the engine by its end
        (!self.is_reading || next > now).then_some(next)
    }

    /// Hands on what is due to `stores`; returns what is to be read next of the calendar of the crawl in `dir`.
    pub(crate) fn serve(&mut self, stores: &mut Stores, dir: &Path, now: Time) -> Result<Option<SlotRead>> {
        if !self.options.is_on {
            return Ok(None);
        }
        let read = self.wheel.next_read(now)?;
        self.is_reading |= read.is_some();
        for _ in 0..RECORDS_PER_PUMP {
            let Some((_, record)) = self.wheel.pop() else { break };
            let Some((url, _)) = QueuedUrl::decode(&record).filter(|(_, used)| *used == record.len()) else {
                let path = dir.join(layout::CALENDAR);
                return Err(Error::damaged(&path, 0, "a URL in a record", "other bytes under a right checksum"));
            };
            stores.admit_due(url)?;
        }
        Ok(read)
    }

    /// A slot was read.
    pub(crate) fn finish_read(&mut self, done: SlotDone, now: Time) -> Result<()> {
        self.is_reading = false;
        self.wheel.finish_read(done, now)
    }

    /// True if a slot is being read.
    pub(crate) fn is_reading(&self) -> bool {
        self.is_reading
    }
}
