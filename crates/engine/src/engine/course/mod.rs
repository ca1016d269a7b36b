//! The course of a crawl: how long it has gone, and how it ends: by itself, by a limit, because somebody asks for it.
//!
//! A crawl goes through its [phases](Phase) in their order, and never back. What decides about the end and is no limit
//! of the crawl lies elsewhere: whether anything is left in the [account](super::Accounts), whether only silent hosts
//! are in [`linger`].

mod linger;

use std::sync::Arc;
use std::time::Duration;

use super::allowance::Allowance;
use super::quota::{OwnQuota, Quota};
use super::{Engine, Settings};
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
    linger: Linger,
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
    pub fn new(
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
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// True if requests are made.
    pub fn is_crawling(&self) -> bool {
        self.phase == Phase::Crawling
    }

    /// Begins a graceful stop, unless the crawl stops already; what is in progress has until `deadline`.
    pub fn stop(&mut self, finish: Finish, deadline: Time) {
        if self.is_crawling() {
            self.phase = Phase::Stopping { finish, deadline };
        }
    }

    /// The last checkpoint is to be made.
    fn close(&mut self, finish: Finish) {
        self.phase = Phase::Closing { finish };
    }

    /// The last checkpoint is durable.
    pub fn end(&mut self) {
        if let Phase::Closing { finish } = self.phase {
            self.phase = Phase::Done { finish };
        }
    }

    /// The while for which a crawl goes on of which only silent hosts are left.
    pub fn linger(&self) -> &Linger {
        &self.linger
    }

    /// Time spent crawling, over all runs.
    pub fn elapsed(&self, now: Time) -> Duration {
        self.elapsed_before + now.since(self.started)
    }

    /// Free bytes on the disk when that was asked last.
    pub fn disk_free(&self) -> u64 {
        self.disk_free
    }

    /// The limit of the whole crawl that is reached, if one is; `free_bytes` says what is free on the disk.
    fn limit_reached(
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

impl Engine {
    /// The stage of the crawl.
    pub fn phase(&self) -> Phase {
        self.course.phase()
    }

    /// Begins a graceful stop.
    pub(super) fn stop(&mut self, by: StopBy) {
        self.begin_stop(match by {
            StopBy::Signal => Finish::StoppedBySignal,
            StopBy::Control => Finish::StoppedByControl,
        });
    }

    fn begin_stop(&mut self, finish: Finish) {
        self.course.stop(finish, self.admission.clock.now() + self.admission.settings.stop_grace);
    }

    /// Returns whether fewer pages are done or in progress than the crawl may have: then one is reserved.
    pub(super) fn may_begin_page(&mut self, now: Time) -> bool {
        let is_reserved = self.course.quota.reserve(self.admission.settings.pages_max);
        if !is_reserved {
            let has_use = self.admission.stores.arrival.frontier.has_ready(now) || self.prerequisites.are_due(now);
            self.course.quota.wait(has_use);
        }
        is_reserved
    }

    /// Says what this engine has of the limits of the whole crawl.
    pub(super) fn settle_quota(&mut self) {
        let statistics = &self.admission.books.statistics;
        self.course.quota.settle(statistics.counted_pages(), self.requests.counted_pages(), statistics.bytes_received);
    }

    /// Stops when a limit of the whole crawl is reached.
    pub(super) fn watch_limits(&mut self, now: Time) -> Result<()> {
        if !self.course.is_crawling() {
            return Ok(());
        }
        let free_bytes = || self.admission.home.disk.free_bytes(&self.admission.home.dir);
        let reached = self.course.limit_reached(now, &self.admission.settings, free_bytes)?;
        reached.into_iter().for_each(|finish| self.course.quota.stop_all(finish));
        self.course.quota.stop().into_iter().for_each(|finish| self.begin_stop(finish));
        Ok(())
    }

    /// Stops when only hosts were left for long enough that never answered.
    pub(super) fn watch_silence(&mut self, now: Time) -> Result<()> {
        // pages that are due later keep the crawl from ending so
        let is_due_later = self.admission.recrawls.as_ref().is_some_and(|recrawls| !recrawls.is_over(now));
        if !self.course.is_crawling() || self.is_paused() || is_due_later {
            return Ok(());
        }
        let is_over = self.course.linger.is_over(now, &mut self.admission.stores, self.admission.settings.linger)?;
        match &mut self.admission.exchange {
            None if is_over => self.begin_stop(Finish::OnlySilentHosts),
            Some(exchange) if is_over => exchange.set_silent(true),
            Some(exchange) if !self.course.linger.has_begun() => exchange.set_silent(false),
            _ => {}
        }
        Ok(())
    }

    /// Time spent crawling, over all runs.
    pub fn elapsed(&self, now: Time) -> Duration {
        self.course.elapsed(now)
    }

    /// Moves on to the last checkpoint once nothing is left to do or to wait for.
    pub(super) fn watch_end(&mut self, now: Time) -> Result<()> {
        if self.course.is_crawling() {
            // one of several shards ends with all others
            let end = match self.admission.exchange.is_some() {
                true => self.admission.exchange.as_ref().and_then(|exchange| exchange.end_of_all()),
                false => self.nothing_left().then_some(Finish::Complete),
            };
            let is_fresh = self.admission.recrawls.as_ref().is_some_and(|recrawls| recrawls.has_pages(now));
            if end == Some(Finish::Complete) {
                self.check_account();
            }
            match end {
                Some(Finish::Complete) if is_fresh => self.course.close(Finish::Fresh),
                Some(Finish::Complete) => self.course.close(Finish::Complete),
                other => other.into_iter().for_each(|finish| self.begin_stop(finish)),
            }
        }
        if matches!(self.course.phase(), Phase::Stopping { .. }) {
            self.give_up_renderings()?;
        }
        match self.course.phase() {
            // merges too: a bucket or partition that is half way leaves a file behind that no checkpoint names
            Phase::Stopping { finish, deadline } if self.is_at_rest() || now >= deadline => {
                self.course.close(finish);
            }
            Phase::Closing { finish } if !self.checkpoints.are_under_way() => {
                self.cut(now, Some(finish))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Warns at the end of a crawl where URLs have no outcome, or two. A rebuild that could not keep all of them leaves
    /// it so, and does not keep a crawl from its end for ever.
    fn check_account(&self) {
        let accounts = self.accounts();
        if !accounts.are_balanced() {
            let (admitted, outcomes) = (accounts.admitted(), accounts.outcomes());
            tracing::warn!("{admitted} URLs were admitted, and there are {outcomes} outcomes: pages may be missing");
        }
    }

    /// Nothing but a checkpoint is in progress.
    fn is_at_rest(&self) -> bool {
        let is_reading = self.admission.exchange.as_ref().is_some_and(|exchange| exchange.is_reading());
        let is_reading = is_reading || self.admission.recrawls.as_ref().is_some_and(|recrawls| recrawls.is_reading());
        !is_reading
            && self.requests.in_flight() == 0
            && self.renderings.are_none()
            && self.admission.stores.are_idle()
            && !self.admission.stores.are_dispatching()
    }

    /// Nothing is in progress, and every URL that was ever admitted has its end.
    pub(super) fn nothing_left(&mut self) -> bool {
        let is_idle = self.requests.in_flight() == 0 && self.renderings.are_none() && self.admission.stores.are_idle();
        let all_are_in = !self.admission.seeding.intake.is_waiting() && !self.has_nearer();
        let is_done = is_idle && self.admission.stores.arrival.frontier.is_idle() && self.accounts().are_closed();
        let now = self.admission.clock.now();
        all_are_in && is_done && self.admission.recrawls.as_ref().is_none_or(|recrawls| recrawls.is_over(now))
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
