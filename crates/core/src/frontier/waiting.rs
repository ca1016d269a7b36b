//! URLs that failed by themselves (a 500, a body that broke off) and wait by themselves: their host goes on with
//! others.
//!
//! They are beside the buffer of their host, at most [`WAITING_MAX`] by failures; a host that has so many waits for the
//! first of them. The time before which one must not be asked for is in its place in the order of its host
//! ([`Item::again_at`]), so that it holds over a cut and over a stay on the disk side: of the URLs that are tried
//! again, the one whose time comes first is first, and all of them come before those that were never tried.

use super::Frontier;
use super::host::WaitState;
use crate::clock::Time;

impl Frontier {
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
