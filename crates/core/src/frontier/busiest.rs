//! The active hosts with the longest queues: one pass over them, in the memory of those that are reported.
//!
//! What a host has in the tail of its partition is not counted, since nobody knows how much that is before the next
//! merge; hosts that are on disk alone are not met.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::active::Active;
use super::host::{Host, Pending, WaitState};
use crate::clock::Time;
use crate::outcome::{HostFault, Reason};

/// A host with URLs that wait.
#[derive(Clone, Debug)]
pub struct BusyHost {
    /// `http://host:port`.
    pub origin: Box<str>,
    /// URLs in memory, in flight, and in the base of its partition.
    pub queued: u64,
    /// Its present work, or what it waits for, in plain words.
    pub doing: &'static str,
    /// Time before which no request begins.
    pub next: Time,
    /// The delay that its last fetches ask for.
    pub pace: Duration,
    /// True if it is held back after trouble.
    pub is_held_back: bool,
    /// The cause for which it delivers nothing.
    pub blame: Option<HostFault>,
    /// The reason for which it is given up, if it is.
    pub gone: Option<Reason>,
    /// Pages fetched of it.
    pub pages: u64,
    /// Bytes received of it.
    pub bytes: u64,
    /// Failures in a row.
    pub failures: u32,
}

impl Active {
    /// The `limit` active hosts with the longest queues at `now`, the longest first.
    pub fn busiest(&self, now: Time, limit: usize) -> Vec<BusyHost> {
        let mut longest: BinaryHeap<Reverse<(u64, Reverse<u32>)>> = BinaryHeap::new();
        for index in self.indices() {
            let queued = self.host(index).queued();
            if queued == 0 || limit == 0 {
                continue;
            }
            if longest.len() == limit && longest.peek().is_some_and(|Reverse((least, _))| *least >= queued) {
                continue;
            }
            longest.push(Reverse((queued, Reverse(index))));
            if longest.len() > limit {
                longest.pop();
            }
        }
        let ranked = longest.into_sorted_vec().into_iter();
        ranked.map(|Reverse((queued, Reverse(index)))| busy(self.host(index), queued, now)).collect()
    }
}

fn busy(host: &Host, queued: u64, now: Time) -> BusyHost {
    let standing = &host.standing;
    BusyHost {
        origin: host.origin_text.clone(),
        queued,
        doing: doing(host, now),
        next: standing.due.max(standing.backoff_until),
        pace: standing.pace,
        is_held_back: standing.backoff_until > now,
        blame: standing.blame,
        gone: standing.gone.map(|(_, why)| why),
        pages: standing.pages,
        bytes: standing.bytes,
        failures: standing.failures,
    }
}

/// Says in plain words what a host does or waits for.
fn doing(host: &Host, now: Time) -> &'static str {
    let standing = &host.standing;
    match (host.pending, host.place) {
        _ if standing.gone.is_some() => "given up",
        (Some(Pending::Resolve), _) => "looking up its name",
        (Some(Pending::Robots { .. }), _) => "reading robots.txt",
        _ if !host.flights.is_empty() => "in flight",
        _ if standing.backoff_until > now => "backing off",
        (_, WaitState::Scheduled(due)) if due <= now => "ready",
        (_, WaitState::Scheduled(_)) => "waiting for its delay",
        (_, WaitState::Address) => "waiting for its address",
        (_, WaitState::Name) => "waiting for another origin of its name",
        (_, WaitState::Domain) => "waiting for the budget of its domain",
        (_, WaitState::Round) => "waiting for the next round of its domain",
        (_, WaitState::Suspect) => "waiting for its first contact",
        (_, WaitState::Nowhere) => "waiting for URLs from disk",
        (_, WaitState::Idle) => "idle",
    }
}
