//! Consequences of an answer: for the URL, for its host, for its address.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Frontier;
use super::QueuedUrl;
use super::host::{Host, Item, Pending, WaitState, large_rules_memory};
use super::politeness::Trouble;
use super::task::{Feedback, Held, HostId, NameAnswer, RobotsAnswer, Rules};
use super::tuning::{ADDRESSES_KEPT, BACKOFF_MAX, HOLDS_MIN, LARGE_RULES_PART, SILENT_FOR};
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::outcome::{Blame, Reason};

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
                if self.is_saturated(addresses[0], domain) {
                    return self.postpone(index, addresses, expires, now);
                }
                self.release_domain(domain, addresses[0]);
                self.set_addresses(index, addresses, expires);
            }
            NameAnswer::NoSuchHost => self.give_up(index, Reason::HostGivenUp, expires),
            NameAnswer::PrivateAddress => self.give_up(index, Reason::PrivateAddress, expires),
            NameAnswer::Found(_) | NameAnswer::Unanswered => {
                self.count_failure(index, now);
                self.back_off(index, Trouble::Connection, None, now, now);
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

    /// Returns how the host is held back, while it is active.
    pub fn held(&self, host: HostId) -> Option<Held> {
        let standing = &self.active.host(self.active.resolve_id(host)?).standing;
        let robots_failing_since = (standing.robots_level > 0).then_some(standing.robots_failing_since);
        Some(Held { until: standing.backoff_until, robots_failing_since })
    }

    /// Returns the time for which what cannot be reached is asked again before the crawl goes on without it.
    pub fn gives_up_after(&self) -> Duration {
        self.options.give_up
    }

    /// Returns the time for which a host rests at least that says that it is overloaded, and does not say for how long.
    pub fn overload_back_off(&self) -> Duration {
        self.options.politeness.backoff_base(Trouble::Overload)
    }

    /// Returns the time for which a host rests at least whose robots.txt cannot be had: no longer than until it is
    /// given up.
    pub fn robots_back_off(&self) -> Duration {
        self.options.politeness.backoff_base(Trouble::Robots).min(self.options.give_up)
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
            self.end_request(index);
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
                let politeness = self.politeness_of(index);
                let standing = &mut self.active.host_mut(index).standing;
                (standing.failures, standing.robots_level) = (0, 0);
                standing.bytes = standing.bytes.saturating_add(bytes);
                politeness.learn(standing, duration, false);
            }
            RobotsAnswer::NoServer => self.give_up(index, Reason::HostGivenUp, now + SILENT_FOR),
            RobotsAnswer::PrivateAddress => self.give_up(index, Reason::PrivateAddress, now + HOLDS_MIN),
            RobotsAnswer::Unreachable { duration, retry_after } => {
                let politeness = self.politeness_of(index);
                let standing = &mut self.active.host_mut(index).standing;
                if standing.robots_level == 0 {
                    standing.robots_failing_since = now;
                }
                let since = standing.robots_failing_since;
                politeness.learn(standing, duration, false);
                if now.since(since) >= self.options.give_up {
                    self.give_up(index, Reason::HostGivenUp, now + self.options.give_up.max(SILENT_FOR));
                }
                if let Some(wait) = retry_after {
                    self.hold_all_origins(index, now + wait.min(BACKOFF_MAX), now);
                }
                let before = self.active.host(index).standing.backoff_until;
                self.back_off(index, Trouble::Robots, retry_after, started, now);
                // the last attempt comes when the host would be given up, not after it
                let asked = retry_after.map_or(before, |wait| now + wait);
                let last = (since + self.options.give_up).max(now + self.robots_back_off()).max(before).max(asked);
                let host = self.active.host_mut(index);
                host.standing.backoff_until = host.standing.backoff_until.min(last);
                self.holds.shorten(host.origin, last);
            }
        }
        self.rest(index, now);
        self.settle(index, now);
        self.wake_name(index);
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
            self.learn(index, feedback, now);
        }
        self.judge(index, &item, feedback, now);
        if let Some(url) = requeue {
            let again = self.again(url, &item, feedback, now);
            self.buffer(index, again);
            self.limit_waiting(index, now);
        }
        self.settle(index, now);
        self.wake_name(index);
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
        let host = self.active.host_mut(index);
        host.standing.due = now;
        host.name_key.into_iter().for_each(|name| self.names.withdraw(name));
        self.settle(index, now);
        self.wake_name(index);
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
        let host = self.active.host_mut(index);
        host.standing.due = until.clamp(now, now + BACKOFF_MAX);
        host.name_key.into_iter().for_each(|name| self.names.withdraw(name));
        self.limit_waiting(index, now);
        self.settle(index, now);
        self.wake_name(index);
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
            self.end_request(index);
        }
        Some((index, item))
    }

    /// A request of the host is over.
    pub(super) fn end_request(&mut self, index: u32) {
        if let Some(name) = self.active.host(index).name_key {
            self.names.end(name);
            self.options.ledger.iter().for_each(|ledger| ledger.end(name, self.now));
        }
    }

    /// Lets other origins of its name go on now, or know when.
    pub(super) fn wake_name(&mut self, index: u32) {
        if let Some(name) = self.active.host(index).name_key.filter(|&name| self.names.has_line(name)) {
            self.schedule_name(name);
        }
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

    /// Delays.
    pub(super) fn learn(&mut self, index: u32, feedback: &Feedback, now: Time) {
        let politeness = self.politeness_of(index);
        let standing = &mut self.active.host_mut(index).standing;
        politeness.learn(standing, feedback.duration, feedback.may_lower_delay);
        self.rest(index, now);
        self.count_contact(index, feedback.address, feedback.started, now);
    }

    /// A request to an active host that began at `started` was answered from `address`, which need not be the first of
    /// its addresses.
    pub fn answered_from(&mut self, host: HostId, address: IpAddr, started: Time, now: Time) {
        if let Some(index) = self.active.resolve_id(host) {
            self.count_contact(index, Some(address), started, now);
        }
    }

    fn count_contact(&mut self, index: u32, address: Option<IpAddr>, started: Time, now: Time) {
        self.active.host_mut(index).answered_by = address;
        let delay_per_ip = self.options.politeness.delay_per_ip;
        if let Some(ip) = address.filter(|_| !delay_per_ip.is_zero()) {
            self.addresses.delay_until(ip, started + delay_per_ip, now);
            let ledger = self.options.ledger.iter();
            ledger.for_each(|ledger| ledger.rest_address(ip, started + delay_per_ip, now));
        }
    }

    /// Back-off, failures in a row, death.
    fn judge(&mut self, index: u32, tried: &Item, feedback: &Feedback, now: Time) {
        match (feedback.blame, feedback.failure) {
            (Blame::Nobody, _) => self.forgive(index, feedback.started),
            (Blame::Url, _) => self.count_fault(index, tried, feedback, now),
            (Blame::Host, Some(_)) => {
                self.count_failure(index, now);
                self.back_off(index, Trouble::Connection, feedback.retry_after, feedback.started, now);
            }
            (Blame::Host, None) => {
                self.active.host_mut(index).standing.failures = 0;
                let until = self.raise_back_off(index, Trouble::Overload, feedback.retry_after, feedback.started, now);
                self.hold_all_origins(index, until, now);
            }
        }
        if let Some(wait) = feedback.retry_after {
            self.hold_all_origins(index, now + wait.min(BACKOFF_MAX), now);
        }
    }

    /// Holds back all origins of the host's name until `until`: what one of them answered speaks for all.
    fn hold_all_origins(&mut self, index: u32, until: Time, now: Time) {
        let host = self.active.host_mut(index);
        let Some(name) = host.name_key else { return self.hold_back(index, until, now) };
        host.standing.backoff_until = host.standing.backoff_until.max(until);
        self.hold_name(name, until, now);
        self.holds.tell(name, until, now);
        self.options.ledger.iter().for_each(|ledger| ledger.rest(name, until, now));
    }

    /// Lets the host rest after a request that was answered at `now`.
    pub(super) fn rest(&mut self, index: u32, now: Time) {
        let delay = self.delay_of(index);
        let standing = &mut self.active.host_mut(index).standing;
        standing.due = standing.due.max(now + delay);
        if let Some(name) = self.active.host(index).name_key {
            self.names.rest(name, now + delay, now);
            self.options.ledger.iter().for_each(|ledger| ledger.rest(name, now + delay, now));
        }
    }

    pub(super) fn count_failure(&mut self, index: u32, now: Time) {
        let (dead_after, give_up) = (self.options.politeness.dead_after.max(1), self.options.give_up);
        let standing = &mut self.active.host_mut(index).standing;
        if standing.failures == 0 {
            standing.failing_since = now;
        }
        standing.failures = standing.failures.saturating_add(1);
        if standing.failures >= dead_after && now.since(standing.failing_since) >= give_up {
            self.give_up(index, Reason::HostGivenUp, now + give_up.max(SILENT_FOR));
        }
    }

    pub(super) fn back_off(
        &mut self,
        index: u32,
        trouble: Trouble,
        retry_after: Option<Duration>,
        started: Time,
        now: Time,
    ) {
        let until = self.raise_back_off(index, trouble, retry_after, started, now);
        self.hold_back(index, until, now);
    }

    fn raise_back_off(
        &mut self,
        index: u32,
        trouble: Trouble,
        retry_after: Option<Duration>,
        started: Time,
        now: Time,
    ) -> Time {
        let politeness = self.politeness_of(index);
        let standing = &mut self.active.host_mut(index).standing;
        politeness.back_off(standing, trouble, retry_after, started, now, &mut self.rng)
    }

    pub(super) fn hold_back(&mut self, index: u32, until: Time, now: Time) {
        let host = self.active.host_mut(index);
        host.standing.backoff_until = host.standing.backoff_until.max(until);
        let origin = host.origin;
        self.holds.tell(origin, until, now);
        self.options.ledger.iter().for_each(|ledger| ledger.rest(origin, until, now));
    }

    fn give_up(&mut self, index: u32, reason: Reason, until: Time) {
        self.active.host_mut(index).standing.gone = Some((until, reason));
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

    pub(super) fn set_addresses(&mut self, index: u32, addresses: Arc<[IpAddr]>, expires: Time) {
        let addresses = if addresses.len() > ADDRESSES_KEPT { addresses[..ADDRESSES_KEPT].into() } else { addresses };
        self.active.host_mut(index).addresses = Some((addresses, expires));
        self.count_at_address(index);
    }

    /// Back-offs of more than a second that were set since this was asked last: to be made durable before the
    /// next checkpoint, and given to the next process by [`Frontier::hold`].
    pub fn take_long_backoffs(&mut self) -> Vec<(Fingerprint, Time)> {
        self.holds.take_told()
    }

    /// The host that `key` names, an origin or all origins of a name, must not be contacted before `until`: from the
    /// log of long back-offs, after a restart.
    pub fn hold(&mut self, key: Fingerprint, until: Time, now: Time) {
        let until = until.min(now + BACKOFF_MAX);
        if until <= now {
            return;
        }
        self.options.ledger.iter().for_each(|ledger| ledger.rest(key, until, now));
        if let Some(index) = self.active.find(key) {
            let standing = &mut self.active.host_mut(index).standing;
            standing.backoff_until = standing.backoff_until.max(until);
        } else if !self.names.hold(key, until) {
            self.holds.keep(key, until);
        }
    }
}
