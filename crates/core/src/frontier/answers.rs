//! Consequences of an answer: for the URL, for its host, for its address.

use std::net::IpAddr;
use std::sync::Arc;

use super::Frontier;
use super::QueuedUrl;
use super::first_contacts::Contact;
use super::host::{Host, Item, Pending, WaitState, large_rules_memory};
use super::pacing::Woken;
use super::politeness::Trouble;
use super::schedule::HostRef;
use super::task::{Feedback, Held, HostId, NameAnswer, RobotsAnswer, Rules};
use super::tuning::{BACKOFF_MAX, HOLDS_MIN, LARGE_RULES_PART, SILENT_FOR};
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;

impl Frontier {
    /// The answer to a [`Task::Resolve`](super::Task::Resolve), and until when it holds.
    ///
    /// [`NameAnswer::NoSuchHost`] and [`NameAnswer::PrivateAddress`] end all URLs of the host, each by a
    /// [`Task::Drop`](super::Task::Drop) (the one for which the name was asked like the others), and those that come
    /// while the answer holds. [`NameAnswer::Unanswered`] holds the host back, for a time of its own, and counts
    /// towards its death.
    pub fn resolved(&mut self, host: HostId, answer: NameAnswer, expires: Time, now: Time) -> Result<()> {
        let Some(index) = self.answered(host, now, |pending| pending == Pending::Resolve) else { return Ok(()) };
        let expires = expires.max(now + HOLDS_MIN);
        match answer {
            NameAnswer::Found(addresses) if !addresses.is_empty() => {
                let domain = self.active.host(index).domain;
                if self.pacing.is_saturated(addresses[0], domain, self.address_share()) {
                    return self.postpone(index, addresses, expires, now);
                }
                self.release_domain(domain, addresses[0]);
                self.pacing.set_addresses(self.active.host_mut(index), addresses, expires);
            }
            NameAnswer::NoSuchHost => self.active.host_mut(index).give_up(Reason::HostGivenUp, expires),
            NameAnswer::PrivateAddress => self.active.host_mut(index).give_up(Reason::PrivateAddress, expires),
            NameAnswer::Found(_) | NameAnswer::Unanswered => {
                self.pacing.count_failure(self.active.host_mut(index), now);
                self.pacing.back_off(self.active.host_mut(index), Trouble::Connection, None, now, now);
            }
        }
        self.settle(index, now);
        Ok(())
    }

    /// Takes back a [`Task::Resolve`](super::Task::Resolve) instead of answering it: nothing is to be asked before
    /// `until`.
    pub fn defer(&mut self, host: HostId, until: Time, now: Time) {
        let Some(index) = self.answered(host, now, |pending| pending == Pending::Resolve) else { return };
        let until = until.clamp(now + HOLDS_MIN, now + BACKOFF_MAX);
        let standing = &mut self.active.host_mut(index).standing;
        standing.backoff_until = standing.backoff_until.max(until);
        self.settle(index, now);
    }

    /// Sets the number of [`Contact::Suspect`] that may still begin, before each [`Frontier::next`] where it matters.
    pub fn let_suspects_in(&mut self, room: usize) {
        self.pacing.lines.let_suspects_in(room);
    }

    /// Returns the kind of the request that was handed out for `host`.
    pub fn contact_of(&self, host: HostId) -> Contact {
        self.active.resolve_id(host).map_or(Contact::Known, |index| self.active.host(index).contact)
    }

    /// Returns how the host is held back, while it is active.
    pub fn held(&self, host: HostId) -> Option<Held> {
        let standing = &self.active.host(self.active.resolve_id(host)?).standing;
        let robots_failing_since = (standing.robots_level > 0).then_some(standing.robots_failing_since);
        Some(Held { until: standing.backoff_until, robots_failing_since })
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
            self.pacing.end_request(self.active.host(index), self.now);
        }
        self.end_contact(
            index,
            match &answer {
                // where robots.txt is not asked, nobody was
                RobotsAnswer::Rules { duration, .. } if duration.is_zero() => None,
                answer => Some(matches!(answer, RobotsAnswer::Rules { .. })),
            },
        );
        let answer = match answer {
            // there is no memory for them: their host waits like one whose rules cannot be had
            RobotsAnswer::Rules { rules, duration, .. } if !self.finds_memory_for(&*rules, now)? => {
                RobotsAnswer::Unreachable { duration, retry_after: None }
            }
            answer => answer,
        };
        match answer {
            RobotsAnswer::Rules { rules, expires, duration, bytes } => {
                self.set_rules(index, rules, expires.max(now + HOLDS_MIN));
                let politeness = self.pacing.politeness_of(self.active.host(index));
                let standing = &mut self.active.host_mut(index).standing;
                (standing.failures, standing.robots_level) = (0, 0);
                standing.bytes = standing.bytes.saturating_add(bytes);
                politeness.learn(standing, duration, false);
            }
            RobotsAnswer::NoServer => self.active.host_mut(index).give_up(Reason::HostGivenUp, now + SILENT_FOR),
            RobotsAnswer::PrivateAddress => {
                self.active.host_mut(index).give_up(Reason::PrivateAddress, now + HOLDS_MIN)
            }
            RobotsAnswer::Unreachable { duration, retry_after } => {
                let host = self.active.host_mut(index);
                let held = self.pacing.miss_robots(host, duration, retry_after, started, now);
                self.rest_with_names(held, now);
            }
        }
        self.pacing.rest(self.active.host_mut(index), now);
        self.settle(index, now);
        self.pacing.wake_name(&self.active, index);
        Ok(())
    }

    /// The answer to a [`Task::Fetch`](super::Task::Fetch). With [`Verdict::Retry`](crate::outcome::Verdict) the URL
    /// comes back as `requeue`, its attempts raised: the next of its host, or, if the attempt speaks for it alone,
    /// after a time of its own.
    pub fn done(&mut self, host: HostId, feedback: &Feedback, requeue: Option<QueuedUrl>, now: Time) -> Result<()> {
        self.now = self.now.max(now);
        let was_received = self.has_received(host);
        let Some((index, item)) = self.land(host) else { return Ok(()) };
        match feedback.failure {
            Some(_) => self.end_contact(index, Some(false)),
            None => self.note_answer(index),
        }
        self.count_page(index, feedback, now);
        if !was_received {
            self.pacing.learn(self.active.host_mut(index), feedback, now);
        }
        let held = self.pacing.judge(self.active.host_mut(index), &item, feedback, now);
        self.rest_with_names(held, now);
        if let Some(url) = requeue {
            let again = self.pacing.again(url, &item, feedback, &mut self.sequence, now);
            self.buffer(index, again);
            self.pacing.limit_waiting(self.active.host_mut(index), now);
        }
        self.settle(index, now);
        self.pacing.wake_name(&self.active, index);
        Ok(())
    }

    /// Takes back a [`Task::Fetch`](super::Task::Fetch) instead of answering it: the page of the URL is in the archive
    /// already and was counted ([`Frontier::charge`]), so its host was not asked and need not rest.
    pub fn withdraw(&mut self, host: HostId, now: Time) -> Result<()> {
        self.now = self.now.max(now);
        let Some((index, _)) = self.land(host) else { return Ok(()) };
        self.end_contact(index, None);
        let domain = self.active.host(index).domain;
        self.landed_of(domain, 0, now);
        self.pacing.withdraw(self.active.host_mut(index), now);
        self.settle(index, now);
        self.pacing.wake_name(&self.active, index);
        Ok(())
    }

    /// Takes back a [`Task::Fetch`](super::Task::Fetch) instead of answering it: the URL waits for something else, and
    /// is the first of its host again. The host was not asked, and is not before `until`.
    pub fn put_back(&mut self, host: HostId, until: Time, now: Time) -> Result<()> {
        self.not_asked(host, until, now, |item| Item::again(item.url, item.sequence))
    }

    /// The same, but the URL alone waits until then: its host goes on with others.
    pub fn put_aside(&mut self, host: HostId, until: Time, now: Time) -> Result<()> {
        self.sequence += 1;
        let (until, number) = (until.clamp(now, now + BACKOFF_MAX), self.sequence);
        self.not_asked(host, now, now, |item| Item::again_at(item.url, until, number))
    }

    /// The URL of a request that was not made goes where `place` says, and its host rests until `until`.
    fn not_asked(&mut self, host: HostId, until: Time, now: Time, place: impl FnOnce(Item) -> Item) -> Result<()> {
        self.now = self.now.max(now);
        let Some((index, item)) = self.land(host) else { return Ok(()) };
        self.end_contact(index, None);
        let domain = self.active.host(index).domain;
        self.landed_of(domain, 0, now);
        self.buffer(index, place(item));
        self.pacing.withdraw(self.active.host_mut(index), until.clamp(now, now + BACKOFF_MAX));
        self.pacing.limit_waiting(self.active.host_mut(index), now);
        self.settle(index, now);
        self.pacing.wake_name(&self.active, index);
        Ok(())
    }

    /// Takes the request that `host` names out of flight: its host and its URL.
    pub(super) fn land(&mut self, host: HostId) -> Option<(u32, Item)> {
        let index = self.active.resolve_id(host)?;
        let Host { flights, received, .. } = self.active.host_mut(index);
        let of_flight = |&(flight, _): &(u32, Item)| flight == host.flight;
        let under_way = flights.iter().position(of_flight);
        let (_, item) = match under_way {
            Some(at) => flights.swap_remove(at),
            None => received.iter().position(of_flight).map(|at| received.swap_remove(at))?,
        };
        self.active.in_flight -= 1;
        self.active.bytes = self.active.bytes.saturating_sub(item.memory());
        if under_way.is_some() {
            self.pacing.end_request(self.active.host(index), self.now);
        }
        Some((index, item))
    }

    /// Budgets, and the hosts that waited to see them.
    fn count_page(&mut self, index: u32, feedback: &Feedback, now: Time) {
        let host = self.active.host_mut(index);
        let page = u64::from(feedback.counts_as_page);
        host.standing.pages += page;
        host.standing.bytes = host.standing.bytes.saturating_add(feedback.bytes);
        let domain = host.domain;
        self.landed_of(domain, page, now);
    }

    /// A fetch of `domain` is over and brought so many pages: hosts that waited to see it are looked at again.
    pub(super) fn landed_of(&mut self, domain: Fingerprint, pages: u64, now: Time) {
        let round = self.rounds.as_ref().map(|rounds| rounds.now.number);
        let domain = self.domains.get_mut(domain);
        match round {
            Some(round) if pages > 0 => domain.added.use_up(round, pages, 0),
            _ => domain.added.pages += pages,
        }
        domain.in_flight = domain.in_flight.saturating_sub(1);
        for reference in std::mem::take(&mut domain.waiting) {
            if let Some(waiting) = self.active.resolve(reference)
                && self.active.host(waiting).place == WaitState::Domain
            {
                self.active.host_mut(waiting).place = WaitState::Nowhere;
                self.settle(waiting, now);
            }
        }
    }

    /// A request to an active host that began at `started` was answered from `address`, which need not be the first of
    /// its addresses.
    pub fn answered_from(&mut self, host: HostId, address: IpAddr, started: Time, now: Time) {
        if let Some(index) = self.active.resolve_id(host) {
            self.pacing.count_contact(self.active.host_mut(index), Some(address), started, now);
        }
    }

    /// The host that waited for this answer, if it did.
    fn answered(&mut self, host: HostId, now: Time, fits: impl FnOnce(Pending) -> bool) -> Option<u32> {
        self.now = self.now.max(now);
        let index = self.active.resolve_id(host)?;
        let waiting = self.active.host_mut(index);
        waiting.pending.filter(|&pending| fits(pending))?;
        waiting.pending = None;
        self.active.in_flight -= 1;
        Some(index)
    }

    /// Makes room for the `rules` of a host, and returns whether there is any. Rules of usual size always fit in; all
    /// large ones together have a share of the memory. Hosts that have nothing to do leave for it, and so do hosts with
    /// larger rules that are not being asked anything: they take their URLs to the disk side and come back when there
    /// is room.
    fn finds_memory_for(&mut self, rules: &dyn Rules, now: Time) -> Result<bool> {
        let mut encoded = Vec::new();
        rules.encode(&mut encoded);
        while !self.has_memory_for_rules(encoded.len()) {
            let larger =
                || self.active.greediest().filter(|&index| self.active.host(index).rules_bytes > encoded.len());
            match self.active.largest_idle(now).or_else(larger) {
                Some(index) => self.evict(index, now)?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns whether there is memory for rules that take `encoded` bytes.
    pub(super) fn has_memory_for_rules(&self, encoded: usize) -> bool {
        let bytes = large_rules_memory(encoded);
        bytes == 0 || self.active.large_rules.saturating_add(bytes) <= self.options.memory / LARGE_RULES_PART
    }

    pub(super) fn set_rules(&mut self, index: u32, rules: Arc<dyn Rules>, expires: Time) {
        let mut encoded = Vec::new();
        rules.encode(&mut encoded);
        self.active.change(index, |host| {
            host.rules_bytes = encoded.len();
            host.rules = Some((rules, expires));
        });
    }

    /// The host that `key` names, an origin or all origins of a name, must not be contacted before `until`: from the
    /// log of long back-offs, after a restart.
    pub fn hold(&mut self, key: Fingerprint, until: Time, now: Time) {
        self.pacing.hold(&mut self.active, key, until, now);
    }

    /// Lets hosts that waited in line at a name rest with it.
    fn rest_with_names(&mut self, held: Vec<HostRef>, now: Time) {
        for reference in held {
            if let Some(index) = self.active.resolve(reference)
                && self.active.host(index).place == WaitState::Name
            {
                self.pacing.rest_with_name(self.active.host_mut(index));
                self.settle(index, now);
            }
        }
    }

    /// Ends the first contact with a host, if one is in progress: `answered` says whether it was answered, if it was
    /// made.
    pub(super) fn end_contact(&mut self, index: u32, answered: Option<bool>) {
        let now = self.now;
        if let Some(Woken { network, count }) =
            self.pacing.lines.end_contact(self.active.host_mut(index), answered, now)
        {
            self.wake_suspects(network, count, now);
        }
    }

    pub(super) fn note_answer(&mut self, index: u32) {
        self.end_contact(index, Some(true));
        self.active.host_mut(index).note_answer();
    }
}
