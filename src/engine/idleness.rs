//! Workers that are left when all requests have begun that can: what they have to wait for.

use super::Engine;
use crate::clock::Time;

/// Why workers are idle, of an engine that may make requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idleness {
    /// A host is ready all the same.
    pub has_ready: bool,
    /// The round of budgets that goes on, while something waits for the next one and that may begin.
    pub ends_round: Option<u32>,
}

impl Engine {
    /// Why workers are idle now; `None` where none is, or something else than hosts holds requests back.
    pub fn idleness(&self) -> Option<Idleness> {
        let now = self.clock.now();
        let is_held = self.course.quota.waits() || !self.has_room_to_render() || !self.may_request_now();
        if is_held || !self.course.is_crawling() || !self.has_idle_workers(now) {
            return None;
        }
        let frontier = &self.stores.arrival.frontier;
        Some(Idleness { has_ready: frontier.has_ready(now), ends_round: frontier.round_that_may_end() })
    }

    /// Tells the frontier whether workers are left, now that all requests have begun that can.
    pub(super) fn note_idle_workers(&mut self, now: Time) {
        let has_idle_workers = self.has_idle_workers(now);
        self.stores.arrival.frontier.note_workers(has_idle_workers, now);
    }

    fn has_idle_workers(&self, now: Time) -> bool {
        !self.requests.are_all_busy(now) && !self.requests.are_limited(now)
    }
}
