//! Activity of the hosts in memory at this moment: for the display, a few of them; for the time left, the longest
//! queue.
//!
//! One pass over the active hosts each. URLs in the tail of a partition are not counted, since nobody knows how many
//! they are of a host before the next merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::active::Active;
use super::host::{Host, WaitState};
use super::pacing::Pacing;
use crate::clock::Time;

/// A host with something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The URL in flight, or else the one that comes next; the origin alone while its name or robots.txt is asked for.
    pub url: Box<str>,
    /// URLs of the host that wait behind it, as far as that is known in memory.
    pub queued: u64,
    /// Time at which its next request may begin; `None` while one is in flight.
    pub next: Option<Time>,
}

impl Activity {
    /// The first `limit` of `all`: what is in flight, then what comes next.
    pub fn first(mut all: Vec<Activity>, limit: usize) -> Vec<Activity> {
        all.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        all.truncate(limit);
        all
    }

    /// The first `limit` hosts that are being asked, or are asked next; where there are fewer, the URLs that come
    /// after those too.
    pub(super) fn upcoming(active: &Active, pacing: &Pacing, now: Time, limit: usize) -> Vec<Activity> {
        // of those that are reported the last one is on top
        let mut first: BinaryHeap<(Option<Time>, u32)> = BinaryHeap::new();
        for index in active.indices() {
            let Some(next) = next_request(active.host(index), now) else { continue };
            first.push((next, index));
            if first.len() > limit {
                first.pop();
            }
        }
        let more = limit.checked_div(first.len()).unwrap_or(0).saturating_sub(1);
        let told = first.into_iter().flat_map(|(next, index)| {
            let host = active.host(index);
            std::iter::once(activity(host, next)).chain(Activity::after(
                host,
                pacing.delay_of(host),
                next.unwrap_or(now),
                next.is_some(),
                more,
            ))
        });
        Activity::first(told.collect(), limit)
    }

    /// Returns the next `count` URLs of a host that come after the one that is asked for at `from`, each after one more
    /// delay. `is_first` says whether that one is still the first of the buffer.
    fn after(host: &Host, delay: Duration, from: Time, is_first: bool, count: usize) -> impl Iterator<Item = Activity> {
        let urls = host.buffer.iter().skip(usize::from(is_first)).take(count);
        urls.zip(1_u32..).map(move |(item, turn)| Activity {
            url: (*item.url.url).into(),
            queued: host.queued().saturating_sub(u64::from(turn) + 1),
            next: Some(from + delay.saturating_mul(turn)),
        })
    }

    /// Returns the time that the longest queue of an active host takes at its delay.
    pub fn longest_queue(active: &Active, pacing: &Pacing) -> Duration {
        let of = |index: u32| {
            let queued = u32::try_from(active.host(index).queued()).unwrap_or(u32::MAX);
            // most hosts have next to nothing, and a delay has to be looked up
            if queued < 2 { Duration::ZERO } else { pacing.delay_of(active.host(index)).saturating_mul(queued) }
        };
        active.indices().map(of).max().unwrap_or_default()
    }

    fn order(&self) -> (Option<Time>, Reverse<u64>, &str) {
        (self.next, Reverse(self.queued), &self.url)
    }
}

/// Returns the time at which the next request of a host begins, `None` inside for now; `None` outside where it has
/// nothing to do.
fn next_request(host: &Host, now: Time) -> Option<Option<Time>> {
    if !host.is_at_rest() {
        return Some(None);
    }
    let due = match host.place {
        WaitState::Scheduled(due) => due,
        WaitState::Address | WaitState::Name | WaitState::Domain | WaitState::Suspect => host.comes_up(),
        WaitState::Nowhere | WaitState::Idle | WaitState::Round => return None,
    };
    (host.queued() > 0).then_some(Some(due.max(now)))
}

fn activity(host: &Host, next: Option<Time>) -> Activity {
    let in_flight = host.flights.first().map(|(_, item)| item);
    let item = in_flight.or_else(|| host.buffer.front().or(host.waiting.front()).filter(|_| next.is_some()));
    let url = item.map_or_else(|| host.origin_text.clone(), |item| (*item.url.url).into());
    Activity { url, queued: host.queued().saturating_sub(u64::from(item.is_some())), next }
}
