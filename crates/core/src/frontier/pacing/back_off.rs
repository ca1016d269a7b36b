//! Back-offs and holds after answers, and requests that are made to a host for the sake of another one.
//!
//! URLs that failed by themselves (a 500, a body that broke off) wait by themselves: their host goes on with others.
//! They are beside the buffer of their host, at most [`WAITING_MAX`] by failures; a host that has so many waits for the
//! first of them. The time before which one must not be asked for is in its place in the order of its host
//! ([`Item::again_at`]), so that it holds over a cut and over a stay on the disk side: of the URLs that are tried
//! again, the one whose time comes first is first, and all of them come before those that were never tried.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::Pacing;
use crate::clock::{Era, Stored, Time};
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::frontier::active::Active;
use crate::frontier::holds::{SavedHold, SavedHolds};
use crate::frontier::host::{Host, Item};
use crate::frontier::ledger::Turn;
use crate::frontier::options::Politeness;
use crate::frontier::politeness::Trouble;
use crate::frontier::prerequisite::Asked;
use crate::frontier::received::RequisitePace;
use crate::frontier::schedule::HostRef;
use crate::frontier::task::Feedback;
use crate::frontier::tuning::{BACKOFF_MAX, FAULTS_MAX, PREREQUISITE_ASKS_AGAIN, SILENT_FOR, WAITING_MAX};
use crate::outcome::{Blame, Reason};

/// A turn that a request wants which no queue makes.
struct WantedTurn<'a> {
    asked: &'a Asked,
    address: IpAddr,
    /// Time before which its host has none.
    due: Time,
    /// Requests to its host that may be in progress at once.
    connections: usize,
    /// The delay after it.
    delay: Duration,
}

impl Pacing {
    /// Returns the time for which what cannot be reached is asked again before the crawl goes on without it.
    pub fn gives_up_after(&self) -> Duration {
        self.give_up
    }

    /// Returns the time for which a host rests at least that says that it is overloaded, and does not say for how long.
    pub fn overload_back_off(&self) -> Duration {
        self.politeness.backoff_base(Trouble::Overload)
    }

    /// Returns the time for which a host rests at least whose robots.txt cannot be had: no longer than until it is
    /// given up.
    pub fn robots_back_off(&self) -> Duration {
        self.politeness.backoff_base(Trouble::Robots).min(self.give_up)
    }

    /// The robots.txt of a host was asked for at `started` and could not be had. Returns the hosts that wait in line at
    /// its name, if that is held back.
    pub(in crate::frontier) fn miss_robots(
        &mut self,
        host: &mut Host,
        duration: Duration,
        retry_after: Option<Duration>,
        started: Time,
        now: Time,
    ) -> Vec<HostRef> {
        let standing = &mut host.standing;
        if standing.robots_level == 0 {
            standing.robots_failing_since = now;
        }
        let since = standing.robots_failing_since;
        host.learn_pace(&self.politeness, duration, false);
        if now.since(since) >= self.give_up {
            host.give_up(Reason::HostGivenUp, now + self.give_up.max(SILENT_FOR));
        }
        let held = retry_after.map(|wait| self.hold_all_origins(host, now + wait.min(BACKOFF_MAX), now));
        let before = host.standing.backoff_until;
        self.back_off(host, Trouble::Robots, retry_after, started, now);
        // the last attempt comes when the host would be given up, not after it
        let asked = retry_after.map_or(before, |wait| now + wait);
        let last = (since + self.give_up).max(now + self.robots_back_off()).max(before).max(asked);
        host.standing.backoff_until = host.standing.backoff_until.min(last);
        self.holds.shorten(host.origin, last);
        held.unwrap_or_default()
    }

    /// Delays after an answer.
    pub(in crate::frontier) fn learn(&mut self, host: &mut Host, feedback: &Feedback, now: Time) {
        host.learn_pace(&self.politeness, feedback.duration, feedback.may_lower_delay);
        self.rest(host, now);
        self.count_contact(host, feedback.address, feedback.started, now);
    }

    /// Back-off, failures in a row, death. Returns the hosts that wait in line at the name, if that is held back.
    pub(in crate::frontier) fn judge(
        &mut self,
        host: &mut Host,
        tried: &Item,
        feedback: &Feedback,
        now: Time,
    ) -> Vec<HostRef> {
        let mut held = Vec::new();
        match (feedback.blame, feedback.failure) {
            (Blame::Nobody, _) => host.forgive(feedback.started),
            (Blame::Url, _) => self.count_fault(host, tried, feedback, now),
            (Blame::Host, Some(_)) => {
                self.count_failure(host, now);
                self.back_off(host, Trouble::Connection, feedback.retry_after, feedback.started, now);
            }
            (Blame::Host, None) => {
                match feedback.is_turned_away {
                    true => self.count_failure(host, now),
                    false => host.standing.failures = 0,
                }
                let until = self.raise_back_off(host, Trouble::Overload, feedback.retry_after, feedback.started, now);
                held.append(&mut self.hold_all_origins(host, until, now));
            }
        }
        if let Some(wait) = feedback.retry_after {
            held.append(&mut self.hold_all_origins(host, now + wait.min(BACKOFF_MAX), now));
        }
        held
    }

    /// A URL of a host has failed by itself; too many in a row, or after a back-off, are the host's trouble. One that
    /// fails again is no news.
    fn count_fault(&mut self, host: &mut Host, tried: &Item, feedback: &Feedback, now: Time) {
        if feedback.failure.is_none() {
            host.standing.failures = 0;
        }
        if tried.url.attempts > 0 {
            return;
        }
        host.faults = host.faults.saturating_add(1);
        if host.faults >= FAULTS_MAX || host.standing.backoff_level > 0 {
            if feedback.failure.is_some() {
                self.count_failure(host, now);
            }
            self.back_off(host, trouble_of(feedback), feedback.retry_after, feedback.started, now);
        }
    }

    /// The place of a URL that is to be asked for again after an attempt that `feedback` reports; where it waits by
    /// itself, `number` makes it differ from others of the same time.
    pub(in crate::frontier) fn again(
        &mut self,
        url: QueuedUrl,
        tried: &Item,
        feedback: &Feedback,
        number: &mut u64,
        now: Time,
    ) -> Item {
        if feedback.blame != Blame::Url {
            return Item::again(url, tried.sequence);
        }
        let wait = self.politeness.url_wait(trouble_of(feedback), tried.url.attempts, &mut self.rng);
        *number += 1;
        Item::again_at(url, now + wait, *number)
    }

    /// A host with as many waiting URLs as may be waits for the first of them.
    pub(in crate::frontier) fn limit_waiting(&mut self, host: &mut Host, now: Time) {
        if host.waiting.len() >= WAITING_MAX
            && let Some(due) = host.first_retry()
        {
            self.hold_back(host, due, now);
        }
    }

    /// Holds back all origins of the host's name until `until`: what one of them answered speaks for all. Returns those
    /// that wait in line there, and may leave meanwhile.
    fn hold_all_origins(&mut self, host: &mut Host, until: Time, now: Time) -> Vec<HostRef> {
        let Some(name) = host.name_key else {
            self.hold_back(host, until, now);
            return Vec::new();
        };
        host.standing.backoff_until = host.standing.backoff_until.max(until);
        let waiting = self.wait_queues.names.hold_queue(name, until);
        self.holds.note(name, until, now);
        self.ledger.iter().for_each(|ledger| ledger.rest(name, until, now));
        waiting
    }

    /// Counts a failure; a host that has failed for long enough is given up.
    pub(in crate::frontier) fn count_failure(&mut self, host: &mut Host, now: Time) {
        let (dead_after, give_up) = (self.politeness.dead_after.max(1), self.give_up);
        let standing = &mut host.standing;
        if standing.failures == 0 {
            standing.failing_since = now;
        }
        standing.failures = standing.failures.saturating_add(1);
        if standing.failures >= dead_after && now.since(standing.failing_since) >= give_up {
            host.give_up(Reason::HostGivenUp, now + give_up.max(SILENT_FOR));
        }
    }

    /// Holds a host back for `trouble` that a request of `started` met.
    pub(in crate::frontier) fn back_off(
        &mut self,
        host: &mut Host,
        trouble: Trouble,
        retry_after: Option<Duration>,
        started: Time,
        now: Time,
    ) {
        let until = self.raise_back_off(host, trouble, retry_after, started, now);
        self.hold_back(host, until, now);
    }

    fn raise_back_off(
        &mut self,
        host: &mut Host,
        trouble: Trouble,
        retry_after: Option<Duration>,
        started: Time,
        now: Time,
    ) -> Time {
        let politeness = host.treatment.as_ref().map_or(&self.politeness, |treatment| &treatment.politeness);
        politeness.back_off(&mut host.standing, trouble, retry_after, started, now, &mut self.rng)
    }

    /// Holds a host back until `until`, at least.
    fn hold_back(&mut self, host: &mut Host, until: Time, now: Time) {
        host.standing.backoff_until = host.standing.backoff_until.max(until);
        self.holds.note(host.origin, until, now);
        self.ledger.iter().for_each(|ledger| ledger.rest(host.origin, until, now));
    }

    /// Back-offs of more than a second that were set since this was asked last: to be made durable before the
    /// next checkpoint, and given to the next process by [`Frontier::hold`](crate::frontier::Frontier::hold).
    pub fn take_long_backoffs(&mut self) -> Vec<(Fingerprint, Time)> {
        self.holds.take_noted()
    }

    /// The holds whose host or name was not met since, and what names owe, for a cut.
    pub(in crate::frontier) fn saved_holds(&self, now: Time) -> SavedHolds<Time> {
        let names = &self.wait_queues.names;
        let mut holds: BTreeMap<_, _> = self.holds.unmet().map(|(key, until)| (key, (until, false))).collect();
        for saved in names.saved(now) {
            let (until, under_way) = holds.entry(saved.key).or_default();
            *until = (*until).max(saved.until);
            *under_way = saved.under_way;
        }
        holds.retain(|_, (until, under_way)| *under_way || *until > now);
        let hold = |(key, (until, under_way))| SavedHold { key, until, under_way };
        SavedHolds { asked_until: names.asked_until(), holds: holds.into_iter().map(hold).collect() }
    }

    /// Takes up what a cut says of holds, written in `era`, at `now`.
    pub(in crate::frontier) fn restore_holds(
        &mut self,
        active: &mut Active,
        saved: SavedHolds<Stored>,
        era: Era,
        now: Time,
    ) {
        // a process that goes on after a kill may stop before the delays of that kill are over
        self.wait_queues.names.may_be_asked_until(era.passed(saved.asked_until));
        let usual = self.politeness.delay_after(Duration::ZERO);
        let longest = self.treatments.as_ref().map_or(usual, |treatments| usual.max(treatments.delay_max()));
        for SavedHold { key, until, under_way } in saved.holds {
            // of its host only the fingerprint is known
            let rest = if under_way { longest } else { Duration::ZERO };
            self.hold(active, key, era.rest(until, BACKOFF_MAX).max(now + rest), now);
        }
    }

    /// Sets the number of [`Contact::Suspect`](crate::frontier::Contact) that may still begin, before each
    /// [`Frontier::next`](crate::frontier::Frontier::next) where it matters.
    pub fn let_suspects_in(&mut self, room: usize) {
        self.wait_queues.let_suspects_in(room);
    }

    /// The host that `key` names, an origin or all origins of a name, must not be contacted before `until`.
    pub(in crate::frontier) fn hold(&mut self, active: &mut Active, key: Fingerprint, until: Time, now: Time) {
        let until = until.min(now + BACKOFF_MAX);
        if until <= now {
            return;
        }
        self.ledger.iter().for_each(|ledger| ledger.rest(key, until, now));
        if let Some(host) = active.find_mut(key) {
            host.standing.backoff_until = host.standing.backoff_until.max(until);
        } else if !self.wait_queues.names.hold(key, until) {
            self.holds.keep(key, until);
        }
    }

    /// Returns the time before which a host is not asked after a stop that was none of ours. It may have been contacted
    /// until the start of this process, by a pace that was not saved: from then on the longest delay has to pass that
    /// its pace can have come to by `politeness`.
    pub(super) fn unclean_floor(&self, politeness: &Politeness, pace: Duration, crawl_delay: Option<Duration>) -> Time {
        let longest = if politeness.delay_factor > 0.0 { politeness.delay_max } else { politeness.delay_min };
        self.wait_queues.names.asked_until() + politeness.delay(pace.max(longest), crawl_delay)
    }

    /// Takes the turn that is wanted beside the queues, as far as others share it; or says when to ask again.
    fn take_turn_beside(&self, wanted: &WantedTurn<'_>, now: Time) -> Result<(), Time> {
        let WantedTurn { asked, address, connections, .. } = *wanted;
        let Asked { origin, name, ref politeness, .. } = *asked;
        let connections = connections.max(1);
        if self.wait_queues.names.requests(name) >= connections {
            return Err(now + PREREQUISITE_ASKS_AGAIN);
        }
        let held = self.holds.until(origin).max(self.holds.until(name));
        let mut due = wanted.due.max(held).max(self.unclean_floor(politeness, Duration::ZERO, None));
        let delay_per_ip = self.politeness.delay_per_ip;
        if !delay_per_ip.is_zero() {
            due = due.max(self.wait_queues.addresses.due(address));
        }
        due = politeness.hours.as_ref().map_or(due, |hours| hours.opens(due.max(now)));
        if due > now {
            return Err(due);
        }
        if let Some(ledger) = &self.ledger {
            let delay = wanted.delay * wanted.asked.turns(Some(ledger));
            ledger.take(Turn { origin, name, connections, delay, address, delay_per_ip }, now)?;
        }
        Ok(())
    }

    /// Takes `asked`, which is `there` while it is active, and `address` for a request at `now`; or says when to ask
    /// again.
    pub(in crate::frontier) fn begin_prerequisite(
        &mut self,
        asked: &Asked,
        there: Option<&mut Host>,
        address: IpAddr,
        now: Time,
    ) -> Result<(), Time> {
        let Asked { name, ref politeness, .. } = *asked;
        let mut due = self.wait_queues.names.due(name);
        if let Some(host) = &there {
            due = due.max(host.standing.due).max(host.standing.backoff_until);
        }
        let usual = || politeness.delay_after(Duration::ZERO);
        let delay = there.as_deref().map_or_else(usual, |host| self.delay_of(host));
        let connections = politeness.connections_per_host;
        self.take_turn_beside(&WantedTurn { asked, address, due, connections, delay }, now)?;
        let delay = self.rest_after_prerequisite(asked, there, now) * asked.turns(self.ledger.as_deref());
        self.wait_queues.names.begin(name, now + delay, now);
        self.delay_address(address, now, now);
        Ok(())
    }

    /// The request of a prerequisite to `asked` took `duration` and is over, answered or not.
    pub(in crate::frontier) fn end_prerequisite(
        &mut self,
        asked: &Asked,
        mut there: Option<&mut Host>,
        duration: Duration,
        now: Time,
    ) {
        let Asked { name, ref politeness, .. } = *asked;
        if let Some(host) = &mut there {
            politeness.learn(&mut host.standing, duration, false);
        }
        let delay = self.rest_after_prerequisite(asked, there, now).max(politeness.delay_after(duration));
        let delay = delay * asked.turns(self.ledger.as_deref());
        self.wait_queues.names.end(name);
        self.wait_queues.names.rest(name, now + delay, now);
        if let Some(ledger) = &self.ledger {
            ledger.end(name, now);
            ledger.rest(name, now + delay, now);
        }
    }

    /// Takes `asked`, which is `there` while it is active, and `address` for a requisite at `now`; or says when to ask
    /// again.
    pub(in crate::frontier) fn begin_requisite(
        &mut self,
        asked: &Asked,
        there: Option<&Host>,
        address: IpAddr,
        pace: RequisitePace,
        now: Time,
    ) -> Result<(), Time> {
        let Asked { name, ref politeness, .. } = *asked;
        let mut due = self.wait_queues.names.requisite_due(name);
        if let Some(host) = there {
            due = due.max(host.standing.backoff_until);
        }
        let RequisitePace { connections, delay, .. } = pace;
        self.take_turn_beside(&WantedTurn { asked, address, due, connections, delay }, now)?;
        let rest = there.map_or_else(|| politeness.delay_after(Duration::ZERO), |host| self.delay_of(host));
        self.wait_queues.names.begin_requisite(
            name,
            now + pace.delay,
            now + rest * asked.turns(self.ledger.as_deref()),
            now,
        );
        self.delay_address(address, now, now);
        Ok(())
    }

    fn rest_after_prerequisite(&mut self, asked: &Asked, there: Option<&mut Host>, now: Time) -> Duration {
        let Some(host) = there else { return asked.politeness.delay_after(Duration::ZERO) };
        self.rest(host, now);
        self.delay_of(host)
    }
}

fn trouble_of(feedback: &Feedback) -> Trouble {
    if feedback.failure.is_some() { Trouble::Connection } else { Trouble::Overload }
}
