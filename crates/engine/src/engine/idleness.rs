//! Workers that are left when all requests have begun that can: what they have to wait for.

use super::Engine;
use crate::clock::Time;

/// Reasons for which workers are idle, of an engine that may make requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idleness {
    /// A host is ready all the same.
    pub has_ready: bool,
    /// Something waits for the next round of budgets, and that may begin.
    pub ends_round: bool,
}

impl Engine {
    /// Returns why workers are idle now; `None` where none is, or something else than hosts holds requests back.
    pub fn idleness(&self) -> Option<Idleness> {
        let now = self.admission.clock.now();
        let is_at_limit = self.course.quota.is_taken(self.admission.settings.pages_max);
        let is_held = is_at_limit || !self.has_room_to_render() || !self.may_request_now();
        if is_held || !self.course.is_crawling() || !self.has_idle_workers(now) {
            return None;
        }
        let frontier = &self.admission.stores.arrival.frontier;
        Some(Idleness { has_ready: frontier.has_ready(now), ends_round: frontier.round_that_may_end().is_some() })
    }

    /// The round of budgets that goes on, where there are any.
    pub fn round_number(&self) -> Option<u32> {
        self.admission.stores.arrival.frontier.round().map(|(round, _)| round.number)
    }

    /// Tells the frontier whether workers are left, now that everything has begun that can: work on the frontier may
    /// have sent hosts to rest.
    pub(super) fn note_idle_workers(&mut self, now: Time) {
        let has_idle_workers = self.course.is_crawling() && self.may_request_now() && self.has_idle_workers(now);
        self.admission.stores.arrival.frontier.note_workers(has_idle_workers, now);
    }

    pub(super) fn has_idle_workers(&self, now: Time) -> bool {
        !self.requests.are_all_busy(now) && !self.requests.are_limited(now)
    }
}
