//! Records that are due come out of the calendar, and go the way of known URLs.

use super::Recrawls;
use crate::calendar::SlotDone;
use crate::clock::Time;
use crate::disk::{Error, Result};
use crate::engine::Engine;
use crate::frontier::QueuedUrl;
use crate::record::layout;

/// Records that are handed on between two looks at the network.
const RECORDS_PER_PUMP: usize = 500;

impl Recrawls {
    /// Returns when something may be due.
    fn next_due(&self, now: Time) -> Option<Time> {
        let next = self.wheel.next_due(now).filter(|_| self.options.is_on)?;
        // a read that is in progress wakes the engine by its end
        (!self.is_reading || next > now).then_some(next)
    }

    /// A slot was read.
    pub fn finish_read(&mut self, done: SlotDone, now: Time) -> Result<()> {
        self.is_reading = false;
        self.wheel.finish_read(done, now)
    }

    /// True if a slot is being read.
    pub fn is_reading(&self) -> bool {
        self.is_reading
    }
}

impl Engine {
    /// Hands on what is due, and reads what comes next.
    pub(in crate::engine) fn serve_calendar(&mut self, now: Time) -> Result<()> {
        if self.must_leave_due_pages() {
            return Ok(());
        }
        let Some(recrawls) = self.admission.recrawls.as_mut().filter(|recrawls| recrawls.options.is_on) else {
            return Ok(());
        };
        if let Some(read) = recrawls.wheel.next_read(now)? {
            recrawls.is_reading = true;
            self.executors.read_calendar(read);
        }
        for _ in 0..RECORDS_PER_PUMP {
            let Some((_, record)) = recrawls.wheel.pop() else { break };
            let Some((url, _)) = QueuedUrl::decode(&record).filter(|(_, used)| *used == record.len()) else {
                let path = self.admission.home.dir.join(layout::CALENDAR);
                return Err(Error::damaged(&path, 0, "a URL in a record", "other bytes under a right checksum"));
            };
            self.admission.stores.admit_due(url)?;
        }
        self.admission.collect_dropped()
    }

    /// Returns when something of the calendar may be due.
    pub(in crate::engine) fn calendar_due(&self, now: Time) -> Option<Time> {
        let recrawls = self.admission.recrawls.as_ref().filter(|_| !self.must_leave_due_pages())?;
        recrawls.next_due(now)
    }

    /// Returns true where a shard has said to the others that it has nothing left: the crawl may have ended by that, so
    /// what is due since stays in the calendar until a checkpoint says otherwise.
    fn must_leave_due_pages(&self) -> bool {
        self.admission.exchange.as_ref().is_some_and(|exchange| exchange.has_said_that_nothing_is_left())
    }
}
