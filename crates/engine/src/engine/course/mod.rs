//! The course of a crawl: how long it has gone, and how it ends: by itself, by a limit, because somebody asks for it.
//!
//! A crawl goes through its [phases](Phase) in their order, and never back. What decides about the end and is no limit
//! of the crawl is elsewhere: whether anything is left in the [account](super::Accounts), whether only silent hosts
//! are in [`linger`].

mod linger;

use std::sync::Arc;
use std::time::Duration;

use super::Settings;
use super::allowance::Allowance;
use super::quota::{OwnQuota, Quota};
use crate::clock::Time;
use crate::disk::Result;
use crate::record::Finish;
use linger::Linger;

/// Free space is asked for this often.
const DISK_CHECK_MS: u64 = 5_000;

/// The stage of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Requests are made.
    Crawling,
    /// No new requests; those in progress may finish until the deadline.
    Stopping {
        /// Reason for the stop.
        finish: Finish,
        /// Time until which requests in progress may finish. What has not come by then is asked for again by the next
        /// run.
        deadline: Time,
    },
    /// The last checkpoint is made.
    Closing {
        /// Reason for the end.
        finish: Finish,
    },
    /// The last checkpoint is durable.
    Done {
        /// Reason for the end.
        finish: Finish,
    },
}

/// Source of the wish that a crawl stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopBy {
    /// A signal.
    Signal,
    /// `crawler ctl stop`.
    Control,
}

/// The stage of a crawl, its limits, and its times.
pub(super) struct Course {
    phase: Phase,
    /// The while for which a crawl goes on of which only silent hosts are left.
    pub linger: Linger,
    /// Free bytes on the disk when that was asked last, and when it is asked again.
    disk_free: u64,
    disk_check_due: Time,
    started: Time,
    elapsed_before: Duration,
    /// Limits of the whole crawl that all engines of the process keep together.
    pub quota: OwnQuota,
}

impl Course {
    /// The course of a crawl that took `elapsed_before` so far, and goes on from `now` with `disk_free` bytes.
    pub(crate) fn new(
        now: Time,
        elapsed_before: Duration,
        disk_free: u64,
        quota: Arc<Quota>,
        allowance: Option<Arc<Allowance>>,
    ) -> Course {
        Course {
            phase: Phase::Crawling,
            linger: Linger::default(),
            disk_free,
            disk_check_due: now,
            started: now,
            elapsed_before,
            quota: OwnQuota::new(quota, allowance),
        }
    }

    /// The stage of the crawl.
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// True if requests are made.
    pub(crate) fn is_crawling(&self) -> bool {
        self.phase == Phase::Crawling
    }

    /// Begins a graceful stop, unless the crawl stops already; what is in progress has until `deadline`.
    pub(crate) fn stop(&mut self, finish: Finish, deadline: Time) {
        if self.is_crawling() {
            self.phase = Phase::Stopping { finish, deadline };
        }
    }

    /// The last checkpoint is to be made.
    pub(crate) fn close(&mut self, finish: Finish) {
        self.phase = Phase::Closing { finish };
    }

    /// The last checkpoint is durable.
    pub(crate) fn end(&mut self) {
        if let Phase::Closing { finish } = self.phase {
            self.phase = Phase::Done { finish };
        }
    }

    /// Time spent crawling, over all runs.
    pub(crate) fn elapsed(&self, now: Time) -> Duration {
        self.elapsed_before + now.since(self.started)
    }

    /// Free bytes on the disk when that was asked last.
    pub(crate) fn disk_free(&self) -> u64 {
        self.disk_free
    }

    /// The limit of the whole crawl that is reached, if one is; `free_bytes` says what is free on the disk.
    pub(crate) fn limit_reached(
        &mut self,
        now: Time,
        settings: &Settings,
        free_bytes: impl FnOnce() -> Result<u64>,
    ) -> Result<Option<Finish>> {
        let reached = |limit: Option<u64>, value: u64| limit.is_some_and(|limit| value >= limit);
        // that those are reached which are dealt out is found out elsewhere
        let is_own = !self.quota.is_granted();
        if is_own && reached(settings.pages_max, self.quota.stored()) {
            return Ok(Some(Finish::PageLimit));
        }
        if is_own && reached(settings.bytes_max, self.quota.bytes()) {
            return Ok(Some(Finish::ByteLimit));
        }
        if settings.time_max.is_some_and(|limit| self.elapsed(now) >= limit) {
            return Ok(Some(Finish::TimeLimit));
        }
        if now >= self.disk_check_due {
            self.disk_check_due = Time::from_ms(now.ms() + DISK_CHECK_MS);
            self.disk_free = free_bytes()?;
            return Ok((self.disk_free < settings.disk_floor).then_some(Finish::DiskLow));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_000);

    #[test]
    fn a_crawl_stops_once_and_ends_only_behind_its_last_checkpoint() {
        let mut course = Course::new(NOW, Duration::from_secs(5), 9, Arc::default(), None);
        assert_eq!(course.elapsed(NOW + Duration::from_secs(2)), Duration::from_secs(7));
        assert_eq!(course.disk_free(), 9, "also where a limit is reached before the disk is asked again");
        course.end();
        assert!(course.is_crawling());
        course.stop(Finish::PageLimit, NOW);
        course.stop(Finish::TimeLimit, NOW);
        assert_eq!(course.phase(), Phase::Stopping { finish: Finish::PageLimit, deadline: NOW });
        course.close(Finish::PageLimit);
        course.end();
        assert_eq!(course.phase(), Phase::Done { finish: Finish::PageLimit });
    }
}
