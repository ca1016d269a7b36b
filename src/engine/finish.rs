//! How a crawl ends: by itself, by a limit, because somebody asks for it.

use super::Engine;
use crate::clock::Time;
use crate::disk::Result;
use crate::record::Finish;

/// Free space is asked for this often.
const DISK_CHECK_MS: u64 = 5_000;

/// Where a crawl stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Requests are made.
    Crawling,
    /// No new requests; those under way may finish until the deadline.
    Stopping {
        /// Why.
        finish: Finish,
        /// What is not there by then is asked for again by the next run.
        deadline: Time,
    },
    /// The last checkpoint is made.
    Closing {
        /// Why.
        finish: Finish,
    },
    /// The last checkpoint is durable.
    Done {
        /// Why.
        finish: Finish,
    },
}

/// Who asks a crawl to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopBy {
    /// A signal.
    Signal,
    /// `crawler ctl stop`.
    Control,
}

impl Engine {
    /// Where the crawl stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Begins a graceful stop.
    pub(super) fn stop(&mut self, by: StopBy) {
        self.begin_stop(match by {
            StopBy::Signal => Finish::StoppedBySignal,
            StopBy::Control => Finish::StoppedByControl,
        });
    }

    pub(super) fn begin_stop(&mut self, finish: Finish) {
        if self.phase == Phase::Crawling {
            let deadline = self.clock.now() + self.settings.stop_grace;
            self.phase = Phase::Stopping { finish, deadline };
        }
    }

    /// Whether as many pages are done or under way as the crawl may have.
    pub(super) fn page_limit_reached(&self) -> bool {
        let pages = self.books.statistics.pages_stored + self.requests.pages();
        self.settings.pages_max.is_some_and(|limit| pages >= limit)
    }

    /// Stops when a limit of the whole crawl is reached.
    pub(super) fn watch_limits(&mut self, now: Time) -> Result<()> {
        if self.phase != Phase::Crawling {
            return Ok(());
        }
        let reached = |limit: Option<u64>, value: u64| limit.is_some_and(|limit| value >= limit);
        if reached(self.settings.pages_max, self.books.statistics.pages_stored) {
            self.begin_stop(Finish::PageLimit);
        } else if reached(self.settings.bytes_max, self.books.statistics.bytes_received) {
            self.begin_stop(Finish::ByteLimit);
        } else if self.settings.time_max.is_some_and(|limit| self.elapsed(now) >= limit) {
            self.begin_stop(Finish::TimeLimit);
        } else if now >= self.disk_check_due {
            self.disk_check_due = Time::from_ms(now.ms() + DISK_CHECK_MS);
            self.disk_free = self.disk.free_bytes(&self.dir)?;
            if self.disk_free < self.settings.disk_floor {
                self.begin_stop(Finish::DiskLow);
            }
        }
        Ok(())
    }

    /// Time spent crawling, over all runs.
    pub fn elapsed(&self, now: Time) -> std::time::Duration {
        self.elapsed_before + now.since(self.started)
    }

    /// Moves on to the last checkpoint once nothing is left to do or to wait for.
    pub(super) fn watch_end(&mut self, now: Time) -> Result<()> {
        let nothing_left = self.phase == Phase::Crawling && self.nothing_left();
        match self.phase {
            Phase::Crawling if nothing_left => self.phase = Phase::Closing { finish: Finish::Complete },
            // merges too: a bucket or partition that is half way leaves a file behind that no checkpoint names
            Phase::Stopping { finish, deadline } if self.is_at_rest() || now >= deadline => {
                self.phase = Phase::Closing { finish };
            }
            Phase::Closing { finish } if !self.under_way.checkpoint => {
                self.cut(now, Some(finish))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Nothing but a checkpoint is under way.
    fn is_at_rest(&self) -> bool {
        let under_way = &self.under_way;
        self.requests.under_way() + under_way.merges + under_way.partitions == 0 && !self.dispatching
    }

    /// Nothing is under way, and every URL that was ever admitted has its end.
    fn nothing_left(&mut self) -> bool {
        let under_way = &self.under_way;
        let is_idle = self.requests.under_way() + under_way.merges + under_way.partitions == 0;
        let all_are_in = !self.intake.is_waiting();
        all_are_in && is_idle && self.way.arrival().frontier.is_idle() && self.accounts().are_closed()
    }
}
