//! Pages that are fetched and not done: they are rendered, and ask for more before they have their end.
//!
//! The request of such a page is over: its host rests as after any other, and may be asked for the next page. Its URL
//! stays in flight, so that a cut has it, until [`Frontier::done`] or [`Frontier::put_off`] says what becomes of it.
//!
//! What the page asks for meanwhile are *requisites*: requests on behalf of a person who would wait before the page.
//! They have a delay of their own, between them, which is shorter than that between pages, and a number of connections.
//! What a server asks for is kept to all the same: no requisite is asked for while a Retry-After, 429 or 503 holds its
//! host back, and none sooner after another request to its address than `delay_per_ip` says. The next page of the host
//! waits for its own delay from the last requisite on.

use std::net::IpAddr;
use std::time::Duration;

use super::Frontier;
use super::host::{Host, Item};
use super::prerequisite::Asked;
use super::task::{Feedback, HostId};
use crate::clock::Time;
use crate::disk::Result;

/// The pace at which hosts are asked for what a page needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequisitePace {
    /// The least time between two of these requests to one host.
    pub delay: Duration,
    /// The most of them to one host at the same time.
    pub connections: usize,
}

impl Frontier {
    /// The answer to a [`Task::Fetch`](super::Task::Fetch) has come as `feedback` says, and its URL is not done.
    pub fn received(&mut self, host: HostId, feedback: &Feedback, now: Time) {
        self.now = self.now.max(now);
        let Some(index) = self.active.resolve_id(host) else { return };
        let Host { flights, received, .. } = self.active.host_mut(index);
        let Some(at) = flights.iter().position(|&(flight, _)| flight == host.flight) else { return };
        received.push(flights.swap_remove(at));
        self.pacing.end_request(self.active.host(index), self.now);
        self.note_answer(index);
        self.pacing.learn(self.active.host_mut(index), feedback, now);
        self.settle(index, now);
        self.pacing.wake_name(&self.active, index);
    }

    /// Returns whether the request that `host` names is over, and its URL not done.
    pub(super) fn has_received(&self, host: HostId) -> bool {
        let found = self.active.resolve_id(host).map(|index| self.active.host(index));
        found.is_some_and(|found| found.received.iter().any(|&(flight, _)| flight == host.flight))
    }

    /// A page that was received is to be asked for again: its URL is the first of its host.
    pub fn put_off(&mut self, host: HostId, now: Time) -> Result<()> {
        self.now = self.now.max(now);
        let Some((index, item)) = self.land(host) else { return Ok(()) };
        let domain = self.active.host(index).domain;
        self.landed_of(domain, 0, now);
        self.buffer(index, Item::again(item.url, item.sequence));
        self.pacing.limit_waiting(self.active.host_mut(index), now);
        self.settle(index, now);
        Ok(())
    }

    /// Takes `asked`, and `address` for a requisite at `now`; or says when to ask again. Once it is made,
    /// [`Frontier::end_prerequisite`] has to be called.
    pub fn begin_requisite(
        &mut self,
        asked: Asked,
        address: IpAddr,
        pace: RequisitePace,
        now: Time,
    ) -> std::result::Result<(), Time> {
        self.now = self.now.max(now);
        let there = self.active.find(asked.origin).map(|index| self.active.host(index));
        self.pacing.begin_requisite(asked, there, address, pace, now)
    }
}
