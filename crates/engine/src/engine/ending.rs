//! The end of a crawl: by itself, by a limit, because somebody asks for it. The [course](super::course) has the stage;
//! this is what takes all parts of the engine to decide.

use super::{Engine, Phase, StopBy};
use crate::clock::Time;
use crate::disk::Result;
use crate::exchange::Idle;
use crate::record::Finish;

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
            let has_use =
                self.admission.stores.sink.frontier.has_ready(now) || self.fetching.prerequisites.are_due(now);
            self.course.quota.wait(has_use);
        }
        is_reserved
    }

    /// Says what this engine has of the limits of the whole crawl.
    pub(super) fn settle_quota(&mut self) {
        let statistics = &self.admission.books.statistics;
        self.course.quota.settle(
            statistics.counted_pages(),
            self.fetching.requests.counted_pages(),
            statistics.bytes_received,
        );
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
            self.fetching.give_up_renderings(&mut self.admission)?;
        }
        match self.course.phase() {
            // merges too: a bucket or partition that is half way leaves a file behind that no checkpoint names
            Phase::Stopping { finish, deadline } if self.is_at_rest() || now >= deadline => {
                self.course.close(finish);
            }
            Phase::Closing { finish } if !self.checkpoints.are_in_progress() => {
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
            && self.fetching.requests.in_flight() == 0
            && self.fetching.renderings.are_none()
            && self.admission.stores.are_idle()
            && !self.admission.stores.are_dispatching()
    }

    /// Nothing is in progress, and every URL that was ever admitted has its end.
    pub(super) fn nothing_left(&mut self) -> bool {
        let is_idle = self.fetching.requests.in_flight() == 0
            && self.fetching.renderings.are_none()
            && self.admission.stores.are_idle();
        let all_are_in = !self.admission.seeding.intake.is_waiting() && !self.has_nearer();
        let is_done = is_idle && self.admission.stores.sink.frontier.is_idle() && self.accounts().are_closed();
        let now = self.admission.clock.now();
        all_are_in && is_done && self.admission.recrawls.as_ref().is_none_or(|recrawls| recrawls.is_over(now))
    }

    /// Returns what is left to do in this shard.
    pub(super) fn idle(&mut self) -> Idle {
        let Some(exchange) = &self.admission.exchange else { return Idle::No };
        if !self.course.is_crawling() || !exchange.is_read() {
            return Idle::No;
        }
        let is_silent = exchange.is_silent();
        match () {
            () if self.nothing_left() => Idle::Yes,
            // hosts that wait for a page to be granted could not be asked meanwhile
            () if is_silent && !self.admission.seeding.intake.is_waiting() && !self.course.quota.waits() => {
                Idle::Silent
            }
            () => Idle::No,
        }
    }
}
