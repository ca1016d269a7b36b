//! URLs that failed by themselves (a 500, a body that broke off) and wait by themselves: their host goes on with
//! others.
//!
//! They are beside the buffer of their host, at most [`WAITING_MAX`] by failures; a host that has so many waits for the
//! first of them. The time before which one must not be asked for is in its place in the order of its host
//! ([`Item::again_at`]), so that it holds over a cut and over a stay on the disk side: of the URLs that are tried
//! again, the one whose time comes first is first, and all of them come before those that were never tried.

use super::Frontier;
use super::QueuedUrl;
use super::host::{Item, WaitState};
use super::options::Politeness;
use super::politeness::Trouble;
use super::task::Feedback;
use super::tuning::{FAULTS_MAX, WAITING_MAX};
use crate::clock::Time;
use crate::outcome::Blame;

impl Frontier {
    /// The place of a URL that is to be asked for again after an attempt that `feedback` reports.
    pub(super) fn again(&mut self, url: QueuedUrl, tried: &Item, feedback: &Feedback, now: Time) -> Item {
        if feedback.blame != Blame::Url {
            return Item::again(url, tried.sequence);
        }
        let wait = self.options.politeness.url_wait(trouble_of(feedback), tried.url.attempts, &mut self.rng);
        self.sequence += 1;
        Item::again_at(url, now + wait, self.sequence)
    }

    /// A URL of a host has failed by itself; too many in a row, or after a back-off, are the host's trouble. One that
    /// fails again is no news.
    pub(super) fn count_fault(&mut self, index: u32, tried: &Item, feedback: &Feedback, now: Time) {
        let host = self.active.host_mut(index);
        if feedback.failure.is_none() {
            host.standing.failures = 0;
        }
        if tried.url.attempts > 0 {
            return;
        }
        host.faults = host.faults.saturating_add(1);
        if host.faults >= FAULTS_MAX || host.standing.backoff_level > 0 {
            if feedback.failure.is_some() {
                self.count_failure(index, now);
            }
            self.back_off(index, trouble_of(feedback), feedback.retry_after, feedback.started, now);
        }
    }

    /// A host has answered as it should.
    pub(super) fn forgive(&mut self, index: u32, started: Time) {
        let host = self.active.host_mut(index);
        (host.faults, host.standing.failures) = (0, 0);
        Politeness::forgive(&mut host.standing, started);
    }

    /// A host with as many waiting URLs as may be waits for the first of them.
    pub(super) fn limit_waiting(&mut self, index: u32, now: Time) {
        let host = self.active.host(index);
        if host.waiting.len() >= WAITING_MAX
            && let Some(due) = host.first_retry()
        {
            self.hold_back(index, due, now);
        }
    }

    /// Moves URLs whose time has come into the buffer, and all of them where they are to be dropped.
    pub(super) fn ripen(&mut self, index: u32, now: Time) {
        if self.active.host(index).waiting.is_empty() {
            return;
        }
        let drops = [false, true].map(|are_counted| self.drops_all(index, now, are_counted).is_some());
        let host = self.active.host_mut(index);
        while host.waiting.front().is_some_and(|item| drops[usize::from(item.is_counted())] || item.due() <= now) {
            if let Some(item) = host.waiting.pop_front() {
                let at = host.buffer.partition_point(|other| other.order() < item.order());
                host.buffer.insert(at, item);
            }
        }
    }

    /// Returns whether a host waits for URLs: for new ones, or for the time of those that it has.
    pub(super) fn lacks_urls(&self, index: u32, now: Time) -> bool {
        let host = self.active.host(index);
        match host.place {
            WaitState::Idle | WaitState::Nowhere => true,
            WaitState::Scheduled(due) => due > now && due > host.standing.available(),
            _ => false,
        }
    }
}

fn trouble_of(feedback: &Feedback) -> Trouble {
    if feedback.failure.is_some() { Trouble::Connection } else { Trouble::Overload }
}
