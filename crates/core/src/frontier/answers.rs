//! Consequences of an answer: for the URL, for its host, for its address.

use std::net::IpAddr;
use std::time::Duration;

use super::Frontier;
use super::QueuedUrl;
use super::host::{Host, Item, Pending};
use super::politeness::Trouble;
use super::prerequisite::Asked;
use super::received::RequisitePace;
use super::task::{Feedback, HostId, NameAnswer, RobotsAnswer};
use super::tuning::{BACKOFF_MAX, HOLDS_MIN, SILENT_FOR};
use crate::clock::Time;
use crate::disk::Result;
use crate::outcome::Reason;

impl Frontier {
    /// The answer to a [`Task::Resolve`](super::Task::Resolve), and until when it holds.
    ///
    /// [`NameAnswer::NoSuchHost`] and [`NameAnswer::PrivateAddress`] end all URLs of the host, each by a
    /// [`Task::Drop`](super::Task::Drop) (the one for which the name was asked like the others), and those that come
    /// while the answer holds. [`NameAnswer::Unanswered`] holds the host back, for its own time, and counts
    /// towards its death.
    pub fn resolved(&mut self, host: HostId, answer: NameAnswer, expires: Time, now: Time) -> Result<()> {
        let Some(index) = self.answered(host, now, |pending| pending == Pending::Resolve) else { return Ok(()) };
        let expires = expires.max(now + HOLDS_MIN);
        match answer {
            NameAnswer::Found(addresses) if !addresses.is_empty() => {
                let domain = self.queues.active.host(index).domain;
                if self.queues.pacing.is_saturated(addresses[0], domain, self.queues.address_share()) {
                    return self.queues.postpone(index, addresses, expires, now);
                }
                self.queues.release_domain(domain, addresses[0]);
                self.queues.pacing.set_addresses(self.queues.active.host_mut(index), addresses, expires);
            }
            NameAnswer::NoSuchHost => self.queues.active.host_mut(index).give_up(Reason::HostGivenUp, expires),
            NameAnswer::PrivateAddress => self.queues.active.host_mut(index).give_up(Reason::PrivateAddress, expires),
            NameAnswer::Found(_) | NameAnswer::Unanswered => {
                self.queues.pacing.count_failure(self.queues.active.host_mut(index), now);
                self.queues.pacing.back_off(self.queues.active.host_mut(index), Trouble::Connection, None, now, now);
            }
        }
        self.queues.settle(index, now);
        Ok(())
    }

    /// Takes back a [`Task::Resolve`](super::Task::Resolve) instead of answering it: nothing is to be asked before
    /// `until`.
    pub fn defer(&mut self, host: HostId, until: Time, now: Time) {
        let Some(index) = self.answered(host, now, |pending| pending == Pending::Resolve) else { return };
        let until = until.clamp(now + HOLDS_MIN, now + BACKOFF_MAX);
        let standing = &mut self.queues.active.host_mut(index).standing;
        standing.backoff_until = standing.backoff_until.max(until);
        self.queues.settle(index, now);
    }

    /// The answer to a [`Task::Robots`](super::Task::Robots). It is a request like any other: it counts for the delays
    /// of host and address.
    pub fn robots(&mut self, host: HostId, answer: RobotsAnswer, now: Time) -> Result<()> {
        let mut started = now;
        let mut is_under_way = false;
        let is_robots = |pending| match pending {
            Pending::Robots { started: at, moved } => {
                (started, is_under_way) = (at, !moved);
                true
            }
            Pending::Resolve => false,
        };
        let Some(index) = self.answered(host, now, is_robots) else { return Ok(()) };
        if is_under_way {
            self.queues.pacing.end_request(self.queues.active.host(index), self.queues.now);
        }
        self.queues.end_contact(
            index,
            match &answer {
                // where robots.txt is not asked, nobody was
                RobotsAnswer::Rules { duration, .. } if duration.is_zero() => None,
                answer => Some(matches!(answer, RobotsAnswer::Rules { .. })),
            },
        );
        let answer = match answer {
            // there is no memory for them: their host waits like one whose rules cannot be had
            RobotsAnswer::Rules { rules, duration, .. } if !self.queues.finds_memory_for(&*rules, now)? => {
                RobotsAnswer::Unreachable { duration, retry_after: None }
            }
            answer => answer,
        };
        match answer {
            RobotsAnswer::Rules { rules, expires, duration, bytes } => {
                self.queues.set_rules(index, rules, expires.max(now + HOLDS_MIN));
                let host = self.queues.active.host_mut(index);
                (host.standing.failures, host.standing.robots_level) = (0, 0);
                host.standing.bytes = host.standing.bytes.saturating_add(bytes);
                host.learn_pace(self.queues.pacing.politeness(), duration, false);
            }
            RobotsAnswer::NoServer => self.queues.active.host_mut(index).give_up(Reason::HostGivenUp, now + SILENT_FOR),
            RobotsAnswer::PrivateAddress => {
                self.queues.active.host_mut(index).give_up(Reason::PrivateAddress, now + HOLDS_MIN)
            }
            RobotsAnswer::Unreachable { duration, retry_after } => {
                let host = self.queues.active.host_mut(index);
                let held = self.queues.pacing.miss_robots(host, duration, retry_after, started, now);
                self.queues.rest_with_names(held, now);
            }
        }
        self.queues.pacing.rest(self.queues.active.host_mut(index), now);
        self.queues.settle(index, now);
        self.queues.pacing.wake_name(&self.queues.active, index);
        Ok(())
    }

    /// The answer to a [`Task::Fetch`](super::Task::Fetch). With [`Verdict::Retry`](crate::outcome::Verdict) the URL
    /// comes back as `requeue`, its attempts raised: the next of its host, or, if the attempt speaks for it alone,
    /// after its own time.
    pub fn done(&mut self, host: HostId, feedback: &Feedback, requeue: Option<QueuedUrl>, now: Time) -> Result<()> {
        self.queues.now = self.queues.now.max(now);
        let was_received = self.queues.active.has_received(host);
        let Some((index, item)) = self.queues.land(host) else { return Ok(()) };
        match feedback.failure {
            Some(_) => self.queues.end_contact(index, Some(false)),
            None => self.queues.note_answer(index),
        }
        let pages = self.queues.active.host_mut(index).count_page(feedback);
        let domain = self.queues.active.host(index).domain;
        self.queues.landed_of(domain, pages, now);
        if !was_received {
            self.queues.pacing.learn(self.queues.active.host_mut(index), feedback, now);
        }
        let held = self.queues.pacing.judge(self.queues.active.host_mut(index), &item, feedback, now);
        self.queues.rest_with_names(held, now);
        if let Some(url) = requeue {
            let again = self.queues.pacing.again(url, &item, feedback, &mut self.queues.cold.sequence, now);
            self.queues.buffer(index, again);
            self.queues.pacing.limit_waiting(self.queues.active.host_mut(index), now);
        }
        self.queues.settle(index, now);
        self.queues.pacing.wake_name(&self.queues.active, index);
        Ok(())
    }

    /// Takes back a [`Task::Fetch`](super::Task::Fetch) instead of answering it: the page of the URL is in the archive
    /// already and was counted ([`Frontier::charge`]), so its host was not asked and need not rest.
    pub fn withdraw(&mut self, host: HostId, now: Time) -> Result<()> {
        self.queues.now = self.queues.now.max(now);
        let Some((index, _)) = self.queues.land(host) else { return Ok(()) };
        self.queues.end_contact(index, None);
        let domain = self.queues.active.host(index).domain;
        self.queues.landed_of(domain, 0, now);
        self.queues.pacing.withdraw(self.queues.active.host_mut(index), now);
        self.queues.settle(index, now);
        self.queues.pacing.wake_name(&self.queues.active, index);
        Ok(())
    }

    /// Takes back a [`Task::Fetch`](super::Task::Fetch) instead of answering it: the URL waits for something else, and
    /// is the first of its host again. The host was not asked, and is not before `until`.
    pub fn put_back(&mut self, host: HostId, until: Time, now: Time) -> Result<()> {
        self.not_asked(host, until, now, |item| Item::again(item.url, item.sequence))
    }

    /// The same, but the URL alone waits until then: its host goes on with others.
    pub fn put_aside(&mut self, host: HostId, until: Time, now: Time) -> Result<()> {
        self.queues.cold.sequence += 1;
        let (until, number) = (until.clamp(now, now + BACKOFF_MAX), self.queues.cold.sequence);
        self.not_asked(host, now, now, |item| Item::again_at(item.url, until, number))
    }

    /// The URL of a request that was not made goes where `place` says, and its host rests until `until`.
    fn not_asked(&mut self, host: HostId, until: Time, now: Time, place: impl FnOnce(Item) -> Item) -> Result<()> {
        self.queues.now = self.queues.now.max(now);
        let Some((index, item)) = self.queues.land(host) else { return Ok(()) };
        self.queues.end_contact(index, None);
        let domain = self.queues.active.host(index).domain;
        self.queues.landed_of(domain, 0, now);
        self.queues.buffer(index, place(item));
        self.queues.pacing.withdraw(self.queues.active.host_mut(index), until.clamp(now, now + BACKOFF_MAX));
        self.queues.pacing.limit_waiting(self.queues.active.host_mut(index), now);
        self.queues.settle(index, now);
        self.queues.pacing.wake_name(&self.queues.active, index);
        Ok(())
    }

    /// A request to an active host that began at `started` was answered from `address`, which need not be the first of
    /// its addresses.
    pub fn answered_from(&mut self, host: HostId, address: IpAddr, started: Time, now: Time) {
        if let Some(index) = self.queues.active.resolve_id(host) {
            self.queues.pacing.count_contact(self.queues.active.host_mut(index), Some(address), started, now);
        }
    }

    /// The host that waited for this answer, if it did.
    fn answered(&mut self, host: HostId, now: Time, fits: impl FnOnce(Pending) -> bool) -> Option<u32> {
        self.queues.now = self.queues.now.max(now);
        let index = self.queues.active.resolve_id(host)?;
        let waiting = self.queues.active.host_mut(index);
        waiting.pending.filter(|&pending| fits(pending))?;
        waiting.pending = None;
        self.queues.active.in_flight -= 1;
        Some(index)
    }

    /// The answer to a [`Task::Fetch`](super::Task::Fetch) has come as `feedback` says, and its URL is not done.
    pub fn received(&mut self, host: HostId, feedback: &Feedback, now: Time) {
        self.queues.now = self.queues.now.max(now);
        let Some(index) = self.queues.active.resolve_id(host) else { return };
        let Host { flights, received, .. } = self.queues.active.host_mut(index);
        let Some(at) = flights.iter().position(|&(flight, _)| flight == host.flight) else { return };
        received.push(flights.swap_remove(at));
        self.queues.pacing.end_request(self.queues.active.host(index), self.queues.now);
        self.queues.note_answer(index);
        self.queues.pacing.learn(self.queues.active.host_mut(index), feedback, now);
        self.queues.settle(index, now);
        self.queues.pacing.wake_name(&self.queues.active, index);
    }

    /// A page that was received is to be asked for again: its URL is the first of its host.
    pub fn put_off(&mut self, host: HostId, now: Time) -> Result<()> {
        self.queues.now = self.queues.now.max(now);
        let Some((index, item)) = self.queues.land(host) else { return Ok(()) };
        let domain = self.queues.active.host(index).domain;
        self.queues.landed_of(domain, 0, now);
        self.queues.buffer(index, Item::again(item.url, item.sequence));
        self.queues.pacing.limit_waiting(self.queues.active.host_mut(index), now);
        self.queues.settle(index, now);
        Ok(())
    }

    /// Takes `asked`, and `address` for a requisite at `now`; or says when to ask again. Once it is made,
    /// [`Frontier::end_prerequisite`] has to be called.
    pub fn begin_requisite(
        &mut self,
        asked: &Asked,
        address: IpAddr,
        pace: RequisitePace,
        now: Time,
    ) -> std::result::Result<(), Time> {
        self.queues.now = self.queues.now.max(now);
        let there = self.queues.active.find(asked.origin).map(|index| self.queues.active.host(index));
        self.queues.pacing.begin_requisite(asked, there, address, pace, now)
    }

    /// Takes `asked`, and `address` for a request at `now`; or says when to ask again.
    /// Once it is made, [`Frontier::end_prerequisite`] has to be called.
    pub fn begin_prerequisite(&mut self, asked: &Asked, address: IpAddr, now: Time) -> std::result::Result<(), Time> {
        self.queues.now = self.queues.now.max(now);
        let there = self.queues.active.find_mut(asked.origin);
        self.queues.pacing.begin_prerequisite(asked, there, address, now)
    }

    /// The request of a prerequisite to `asked` took `duration` and is over, answered or not.
    pub fn end_prerequisite(&mut self, asked: &Asked, duration: Duration, now: Time) {
        self.queues.now = self.queues.now.max(now);
        let there = self.queues.active.find_mut(asked.origin);
        self.queues.pacing.end_prerequisite(asked, there, duration, now);
        self.queues.pacing.schedule_name(&self.queues.active, asked.name);
    }

    /// The robots.txt of a host was answered with a redirect, after `duration`: the host rests before the next request
    /// to it, and waits on for its rules.
    pub fn robots_moved(&mut self, host: HostId, duration: Duration, now: Time) {
        self.queues.now = self.queues.now.max(now);
        let Some(index) = self.queues.active.resolve_id(host) else { return };
        let waiting = self.queues.active.host_mut(index);
        waiting.learn_pace(self.queues.pacing.politeness(), duration, false);
        // hops are prerequisites, whose requests are their own
        let is_over = match &mut waiting.pending {
            Some(Pending::Robots { moved, .. }) => !std::mem::replace(moved, true),
            _ => false,
        };
        if is_over {
            self.queues.pacing.end_request(self.queues.active.host(index), self.queues.now);
            self.queues.pacing.rest(self.queues.active.host_mut(index), now);
            self.queues.pacing.wake_name(&self.queues.active, index);
        }
    }

    /// `host` answered a request.
    pub fn note_answer(&mut self, host: HostId) {
        if let Some(index) = self.queues.active.resolve_id(host) {
            self.queues.note_answer(index);
        }
    }
}
