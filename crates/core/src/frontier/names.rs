//! Names: all origins of a host name, http and https and whatever ports, have one delay and one limit of connections.
//!
//! Queues and robots.txt belong to origins, but what answers is one host. So each name has the moment before which
//! nothing is asked of any of its origins, and the number of requests in progress to all of them; a Retry-After, 429 or
//! 503 of one holds back all. An origin that asks for a Crawl-delay has it before its own requests too, whichever
//! origin was asked before. Origins whose own time has come wait in line while the name is taken: each has its turn,
//! and thousands of ports cost no more than thousands of hosts.
//!
//! A name is remembered while one of its origins is active or is asked for the sake of another host
//! ([`prerequisite`](super::prerequisite)), and for as long as it rests and a Crawl-delay may last, unless more than
//! [`NAMES_RESTING_MAX`] do.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use super::active::Active;
use super::holds::SavedHold;
use super::host::{Host, WaitState};
use super::options::Politeness;
use super::schedule::HostRef;
use super::tuning::{NAME_REMEMBERED, NAMES_RESTING_MAX, NAMES_SPARE};
use crate::clock::Time;
use crate::fingerprint::ByFingerprint;
use crate::fingerprint::Fingerprint;

#[derive(Debug, Default)]
struct Name {
    /// Time before which no request begins: the delay after the last one.
    due: Time,
    /// Time at which a request was in progress last.
    last: Time,
    /// `due` and `last` before the request that began last.
    before: (Time, Time),
    /// Time before which no requisite is asked for.
    requisite_due: Time,
    /// Time until which it is held back by what one of its origins answered.
    held_until: Time,
    /// Requests in flight.
    requests: u32,
    /// Active origins.
    origins: u32,
    queue: Option<Box<NameQueue>>,
}

/// Origins that wait for their turn, the first one first.
#[derive(Debug, Default)]
struct NameQueue {
    waiting: VecDeque<HostRef>,
    /// Time at which it comes up, if that is known.
    scheduled: Option<Time>,
}

/// All names of active origins, and those that rest.
#[derive(Debug, Default)]
pub(super) struct Names {
    map: ByFingerprint<Name>,
    swept: usize,
    /// Time until which any name, and any origin of it, may have been asked without our knowing: the start of the
    /// first process after an unclean stop.
    asked_until: Time,
}

impl Names {
    /// Names of which each may have been asked until `asked_until`.
    pub(super) fn maybe_asked_until(asked_until: Time) -> Self {
        Names { asked_until, ..Names::default() }
    }

    /// Each may have been asked until `until` as well.
    pub(super) fn may_be_asked_until(&mut self, until: Time) {
        self.asked_until = self.asked_until.max(until);
    }

    /// Returns the time until which any name and its origins may have been asked without our knowing.
    pub(super) fn asked_until(&self) -> Time {
        self.asked_until
    }

    /// Returns the time before which no request to `name` begins: the delay after the last one, and its rest.
    pub(super) fn due(&self, name: Fingerprint) -> Time {
        self.map.get(&name).map_or(Time::ZERO, |name| name.due.max(name.held_until))
    }

    /// Returns the time until which an answer of one of its origins holds `name` back.
    pub(super) fn held_until(&self, name: Fingerprint) -> Time {
        self.map.get(&name).map_or(Time::ZERO, |name| name.held_until)
    }

    /// Returns the time from which on an origin of `name` that wants a delay of `own` before its requests may begin
    /// one; `None` while there are `connections` requests in progress.
    fn free_at(&self, name: Fingerprint, own: Duration, connections: usize) -> Option<Time> {
        let Some(name) = self.map.get(&name) else { return Some(Time::ZERO) };
        ((name.requests as usize) < connections).then(|| name.due.max(name.last + own))
    }

    /// Requests to `name` that are in progress.
    pub(super) fn requests(&self, name: Fingerprint) -> usize {
        self.map.get(&name).map_or(0, |name| name.requests as usize)
    }

    /// Returns whether origins of `name` wait in line.
    pub(super) fn has_queue(&self, name: Fingerprint) -> bool {
        self.map.get(&name).and_then(|name| name.queue.as_ref()).is_some_and(|queue| !queue.waiting.is_empty())
    }

    /// Returns whether the queue at `name` comes up at `due`.
    pub(super) fn is_scheduled(&self, name: Fingerprint, due: Time) -> bool {
        let queue = self.map.get(&name).and_then(|name| name.queue.as_ref());
        queue.is_some_and(|queue| queue.scheduled == Some(due))
    }

    /// Keeps the places of those that are `live`, of several of one host the first.
    pub(super) fn retain_waiting(&mut self, live: impl Fn(HostRef) -> bool) {
        let mut seen = HashSet::new();
        for queue in self.map.values_mut().filter_map(|name| name.queue.as_mut()) {
            queue.waiting.retain(|&host| live(host) && seen.insert(host));
        }
    }

    /// Returns the time before which no requisite from `name` is asked for: the delay after the last one, and its rest.
    pub(super) fn requisite_due(&self, name: Fingerprint) -> Time {
        self.map.get(&name).map_or(Time::ZERO, |name| name.requisite_due.max(name.held_until))
    }

    /// A requisite is asked for at `now`: the next one may not be before the time `requisite`, the next page not before
    /// the time `page`.
    pub(super) fn begin_requisite(&mut self, name: Fingerprint, requisite: Time, page: Time, now: Time) {
        self.begin(name, page, now);
        let name = self.entry(name, now);
        name.requisite_due = name.requisite_due.max(requisite);
    }

    /// A request to `name` begins at `now`; the next one may not begin before `due`.
    pub(super) fn begin(&mut self, name: Fingerprint, due: Time, now: Time) {
        let name = self.entry(name, now);
        name.before = (name.due, name.last);
        (name.due, name.last) = (name.due.max(due), now);
        name.requests += 1;
    }

    /// A request to `name` is over; how long it rests then is for [`Names::rest`] to say.
    pub(super) fn end(&mut self, name: Fingerprint) {
        if let Some(name) = self.map.get_mut(&name) {
            name.requests = name.requests.saturating_sub(1);
        }
    }

    /// The request that began last was not made, and is over: the name need not rest for it.
    pub(super) fn withdraw(&mut self, name: Fingerprint) {
        if let Some(name) = self.map.get_mut(&name).filter(|name| name.requests == 0) {
            (name.due, name.last) = name.before;
        }
    }

    /// Lets `name` rest until `due` after a request that ended at `now`.
    pub(super) fn rest(&mut self, name: Fingerprint, due: Time, now: Time) {
        let name = self.entry(name, now);
        (name.due, name.last) = (name.due.max(due), now);
    }

    /// An answer of one of its origins holds `name` back. `false` if the name is not remembered.
    pub(super) fn hold(&mut self, name: Fingerprint, until: Time) -> bool {
        let Some(name) = self.map.get_mut(&name) else { return false };
        name.held_until = name.held_until.max(until);
        true
    }

    /// An origin of `name` is active from now on.
    pub(super) fn enter(&mut self, name: Fingerprint, now: Time) {
        self.entry(name, now).origins += 1;
    }

    /// One is not any more.
    pub(super) fn leave(&mut self, name: Fingerprint) {
        if let Some(name) = self.map.get_mut(&name) {
            name.origins = name.origins.saturating_sub(1);
        }
    }

    fn entry(&mut self, name: Fingerprint, now: Time) -> &mut Name {
        if self.map.len() > 2 * self.swept + NAMES_SPARE {
            self.sweep(now);
        }
        let last = self.asked_until;
        self.map.entry(name).or_insert_with(|| Name { last, ..Name::default() })
    }

    /// Forgets names that nobody uses: those that have rested for long, and if too many are left, those that owe
    /// nothing to themselves, and then whichever.
    fn sweep(&mut self, now: Time) {
        self.map.retain(|_, name| name.is_used() || name.owes(now) || name.last + NAME_REMEMBERED > now);
        for owes_at in [Some(now), None] {
            let mut room = NAMES_RESTING_MAX / 2;
            if self.map.values().filter(|name| !name.is_used()).count() <= room {
                break;
            }
            self.map.retain(|_, name| {
                let kept = match owes_at {
                    Some(now) => name.owes(now),
                    None => room > 0,
                };
                room -= usize::from(owes_at.is_none() && kept && !name.is_used());
                name.is_used() || kept
            });
        }
        self.swept = self.map.len();
    }

    /// Returns the names that have to be kept over a restart at `now`, in order.
    pub(super) fn saved(&self, now: Time) -> Vec<SavedHold<Time>> {
        let names = self.map.iter().filter(|(_, name)| name.owes(now) || name.requests > 0);
        let saved = |(&key, name): (&Fingerprint, &Name)| SavedHold {
            key,
            until: name.due.max(name.held_until),
            under_way: name.requests > 0,
        };
        let mut saved: Vec<_> = names.map(saved).collect();
        saved.sort_unstable_by_key(|saved| saved.key);
        saved
    }

    /// Returns the time from which on the name of a host is free for it, as far as requests that are over are
    /// concerned.
    fn free_for(&self, host: &Host, politeness: &Politeness) -> Option<Time> {
        let Some(name) = host.name_key else { return Some(Time::ZERO) };
        let own = match host.crawl_delay() {
            // those who ask for nothing have it from the request before
            None => Duration::ZERO,
            asked => politeness.delay(Duration::ZERO, asked),
        };
        self.free_at(name, own, politeness.connections_per_host.max(1))
    }

    /// Returns whether `name` is free for `host` at `now`, and nobody waits in line there.
    pub(super) fn is_free(&self, name: Fingerprint, host: &Host, politeness: &Politeness, now: Time) -> bool {
        !self.has_queue(name) && self.free_for(host, politeness).is_some_and(|time| time <= now)
    }

    /// Lets a host wait in line at `name`.
    pub(super) fn wait(&mut self, name: Fingerprint, host: HostRef, now: Time) {
        self.entry(name, now).queue.get_or_insert_default().waiting.push_back(host);
    }

    /// The first host in line at `name`; those that have gone elsewhere lose their place.
    fn first_in_queue(&mut self, name: Fingerprint, active: &Active) -> Option<u32> {
        let queue = self.map.get_mut(&name)?.queue.as_mut()?;
        loop {
            let index = active.resolve(*queue.waiting.front()?);
            match index.filter(|&index| active.host(index).place == WaitState::Name) {
                Some(index) => return Some(index),
                None => queue.waiting.pop_front(),
            };
        }
    }

    /// Returns the time at which the queue at `name` has to come up, which is when its first host may go on, unless it
    /// is known already or a request has to end before. A queue without hosts goes.
    pub(super) fn reschedule(&mut self, name: Fingerprint, active: &Active, politeness: &Politeness) -> Option<Time> {
        let first = self.first_in_queue(name, active);
        let due = first.and_then(|index| self.free_for(active.host(index), politeness));
        let entry = self.map.get_mut(&name)?;
        let queue = entry.queue.as_mut()?;
        if first.is_none() {
            entry.queue = None;
            return None;
        }
        let due = due.filter(|&due| queue.scheduled.is_none_or(|scheduled| due < scheduled))?;
        queue.scheduled = Some(due);
        Some(due)
    }

    /// Says whether the queue at `name` comes up at `due`; then it is not in the schedule any more.
    pub(super) fn begin_turns(&mut self, name: Fingerprint, due: Time) -> bool {
        let queue = self.map.get_mut(&name).and_then(|name| name.queue.as_mut());
        let Some(queue) = queue.filter(|queue| queue.scheduled == Some(due)) else { return false };
        queue.scheduled = None;
        true
    }

    /// Takes the first host out of the queue at `name`, if it may go on at `now`.
    pub(super) fn pop(
        &mut self,
        name: Fingerprint,
        active: &Active,
        politeness: &Politeness,
        now: Time,
    ) -> Option<u32> {
        let index = self.first_in_queue(name, active)?;
        self.free_for(active.host(index), politeness).filter(|&time| time <= now)?;
        self.map.get_mut(&name)?.queue.as_mut()?.waiting.pop_front();
        Some(index)
    }

    /// Holds all origins of `name` back until `until`, and returns those that wait in line: they may leave meanwhile.
    pub(super) fn hold_queue(&mut self, name: Fingerprint, until: Time) -> Vec<HostRef> {
        if !self.hold(name, until) {
            return Vec::new();
        }
        let queue = self.map.get_mut(&name).and_then(|name| name.queue.take());
        queue.into_iter().flat_map(|queue| queue.waiting).collect()
    }
}

impl Name {
    fn is_used(&self) -> bool {
        self.origins > 0 || self.requests > 0
    }

    fn owes(&self, now: Time) -> bool {
        self.due.max(self.held_until) > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n15_names_that_nobody_uses_are_forgotten_and_those_that_rest_are_bounded() {
        let mut names = Names::default();
        let name = |n: u32| Fingerprint::from_bits(n.into());
        let (day, second) = (Duration::from_secs(86_400), Duration::from_secs(1));
        for n in 0..100_000 {
            let now = Time::from_ms(u64::from(n) * 1_000);
            names.enter(name(n), now);
            names.begin(name(n), now + second, now);
            names.end(name(n));
            names.leave(name(n));
        }
        assert!(names.map.len() <= 1_000, "{}", names.map.len());
        let now = Time::from_ms(1 << 40);
        for n in 0..200_000 {
            names.enter(name(n), now);
            names.hold(name(n), now + day);
            names.leave(name(n));
        }
        assert!(names.map.len() <= NAMES_RESTING_MAX + NAMES_SPARE + 1, "{}", names.map.len());
        names.enter(name(1), now);
        names.begin(name(1), now + second, now);
        (300_000..500_000).for_each(|n| names.rest(name(n), now + day, now));
        assert_eq!(names.requests(name(1)), 1, "one in use stays");
    }

    #[test]
    fn n15_a_request_that_was_not_made_leaves_no_rest() {
        let mut names = Names::default();
        let (name, second) = (Fingerprint::from_bits(1), Duration::from_secs(1));
        let at = |ms| Time::from_ms(ms);
        names.enter(name, at(0));
        names.begin(name, at(5_000), at(4_000));
        names.end(name);
        names.rest(name, at(6_000), at(5_000));
        names.begin(name, at(9_000), at(8_000));
        names.end(name);
        names.withdraw(name);
        assert_eq!(names.free_at(name, second * 2, 1), Some(at(7_000)));
    }

    #[test]
    fn a_cut_keeps_names_that_rest_or_are_being_asked_and_no_others() {
        let mut names = Names::default();
        let name = |n: u32| Fingerprint::from_bits(n.into());
        let at = |ms| Time::from_ms(ms);
        (1..=4).for_each(|n| names.enter(name(n), at(0)));
        names.begin(name(1), at(1_000), at(0));
        names.end(name(1));
        names.begin(name(2), at(1_000), at(0));
        names.hold(name(3), at(60_000));
        let saved: Vec<_> = names.saved(at(5_000)).iter().map(|saved| (saved.key, saved.under_way)).collect();
        assert_eq!(saved, [(name(2), true), (name(3), false)]);
    }
}
