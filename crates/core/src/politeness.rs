//! The judge of politeness: which requests of a log came too soon, or were too many at once.
//!
//! It is pure: a sequence of requests with their times goes in, offences come out. The synthetic web, the simulator and
//! the hosts report each have their own log; they translate it into [`Request`]s and have the same judge. It knows
//! nothing of how the crawler decides, apart from [`pace`], the one formula of what a slow answer asks for.
//!
//! # What is owed
//! - Nothing begins before the `pause` and the `rest` of every earlier answer are over, counted from its end.
//! - Nothing begins before `lead` has passed: with one connection per host since the last answer ended, with several
//!   since the last start.
//! - No more requests of a host are in flight than [`Terms::connections`], and two requests to an address begin
//!   [`Terms::per_address`] apart.
//! - Nothing begins outside of the hours of its host ([`crate::hours`]).
//!
//! An answer that has not ended is not held against a request: nobody could know of it. Requests have to come in the
//! order of their starts.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// Rests of a host that are remembered, the longest ones: more of them at once take as many offences before.
const RESTS_MAX: usize = 64;

/// The pause that an answer asks for that took `took`: `factor` times as long, at most `max` and at least `min`.
pub fn pace(took: Duration, factor: f64, min: Duration, max: Duration) -> Duration {
    let factor = if factor.is_finite() { factor.max(0.0) } else { 0.0 };
    let wanted = Duration::try_from_secs_f64(took.as_secs_f64() * factor).unwrap_or(Duration::MAX);
    wanted.min(max).max(min)
}

/// A request to a host; its times count from any moment that is the same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Time at which it began.
    pub started: Duration,
    /// Time at which its answer had ended.
    pub ended: Duration,
    /// Time after it in which nothing may begin.
    pub pause: Duration,
    /// Time that has to have passed before it: since the end of the last answer, or since the last start where there
    /// are several connections.
    pub lead: Duration,
    /// Time for which its answer wants the host to be left alone.
    pub rest: Duration,
    /// Time from its beginning until the hours of its host begin; zero within them.
    pub closed: Duration,
}

/// Promises to all hosts at the time of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Requests of a host that may be in flight at once.
    pub connections: usize,
    /// Time by which the pause after an answer may seem shorter than owed.
    pub slack: Duration,
    /// Time by which the pause between two starts may seem shorter than owed.
    pub start_slack: Duration,
    /// Time after its end from which on an answer counts; before, the crawler may not have taken it in.
    pub taken_in_after: Duration,
    /// The least time between the starts of two requests to an address.
    pub per_address: Duration,
    /// Time by which that may seem shorter than owed.
    pub address_slack: Duration,
}

impl Default for Terms {
    /// One request at a time, and exact clocks.
    fn default() -> Self {
        Terms {
            connections: 1,
            slack: Duration::ZERO,
            start_slack: Duration::ZERO,
            taken_in_after: Duration::ZERO,
            per_address: Duration::ZERO,
            address_slack: Duration::ZERO,
        }
    }
}

/// A promise that was not kept. `T` distinguishes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offence<T> {
    /// A start too soon after the last one.
    AfterStart(Early<T>),
    /// A start too soon after the end of an answer.
    AfterEnd(Early<T>),
    /// A start before a rest was over.
    RestCutShort {
        /// The request that the rest was owed to, and by how much it was broken.
        early: Early<T>,
        /// True if an earlier request has broken the same rest.
        again: bool,
    },
    /// This many requests of the host at once, the last one included.
    TooManyAtOnce(usize),
    /// A start too soon after the last one at the same address.
    Address(Early<T>),
    /// A start outside of the hours of the host, which begin after this time.
    OutsideHours(Duration),
}

/// A request that came too early, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Early<T> {
    /// The request that time was owed to.
    pub before: T,
    /// The time that had passed.
    pub gap: Duration,
    /// The time that should have passed.
    pub owed: Duration,
}

/// Judges the requests of one host.
#[derive(Clone, Debug)]
pub struct HostJudge<T> {
    last_start: Option<(Duration, T)>,
    last_end: Option<(Duration, T)>,
    /// Ends of requests that may be in flight.
    under_way: Vec<Duration>,
    /// Debts to answers that may not have been taken in yet.
    coming: Vec<Debt<T>>,
    /// The pause that ends last.
    pause: Option<Debt<T>>,
    rests: Vec<Debt<T>>,
}

/// Time that is owed from an end on.
#[derive(Clone, Copy, Debug)]
struct Debt<T> {
    to: T,
    from: Duration,
    until: Duration,
    is_rest: bool,
    is_broken: bool,
}

impl<T> Default for HostJudge<T> {
    fn default() -> Self {
        let (coming, rests) = (Vec::new(), Vec::new());
        HostJudge { last_start: None, last_end: None, under_way: Vec::new(), coming, pause: None, rests }
    }
}

impl<T: Copy> HostJudge<T> {
    /// Judges the next request and says how many were in flight with it.
    pub fn request(&mut self, request: &Request, tag: T, terms: &Terms, mut found: impl FnMut(Offence<T>)) -> usize {
        let started = request.started;
        self.take_in(started, terms.taken_in_after);
        if !request.closed.is_zero() {
            found(Offence::OutsideHours(request.closed));
        }
        if terms.connections > 1
            && let Some((start, before)) = self.last_start
            && started + terms.start_slack < start.saturating_add(request.lead)
        {
            found(Offence::AfterStart(Early { before, gap: started.saturating_sub(start), owed: request.lead }));
        }
        self.after_end(request, terms, &mut found);
        for rest in self.rests.iter_mut().filter(|rest| started + terms.slack < rest.until) {
            let again = std::mem::replace(&mut rest.is_broken, true);
            let (gap, owed) = (started.saturating_sub(rest.from), rest.until - rest.from);
            found(Offence::RestCutShort { early: Early { before: rest.to, gap, owed }, again });
        }
        self.under_way.retain(|&end| end > started);
        self.under_way.push(request.ended);
        let at_once = self.under_way.len();
        if at_once > terms.connections.max(1) {
            found(Offence::TooManyAtOnce(at_once));
        }
        self.remember(request, tag);
        at_once
    }

    /// Moves what is owed to answers that count by now to what has to be kept, and forgets what is over.
    fn take_in(&mut self, now: Duration, taken_in_after: Duration) {
        self.rests.retain(|rest| rest.until > now);
        let (pause, rests) = (&mut self.pause, &mut self.rests);
        self.coming.retain(|debt| {
            let counts = debt.from + taken_in_after <= now;
            if counts && debt.is_rest {
                rests.push(*debt);
            } else if counts && pause.is_none_or(|pause| pause.until <= debt.until) {
                *pause = Some(*debt);
            }
            !counts
        });
        if self.rests.len() > RESTS_MAX {
            self.rests.sort_by_key(|rest| std::cmp::Reverse(rest.until));
            self.rests.truncate(RESTS_MAX);
        }
    }

    /// The pauses of earlier answers, and with one connection the lead of this request.
    fn after_end(&self, request: &Request, terms: &Terms, found: &mut impl FnMut(Offence<T>)) {
        let lead = self.last_end.filter(|_| terms.connections <= 1 && !request.lead.is_zero());
        let lead = lead.map(|(end, before)| (before, end, end.saturating_add(request.lead)));
        let pause = self.pause.map(|pause| (pause.to, pause.from, pause.until));
        if let Some((before, from, until)) = lead.into_iter().chain(pause).max_by_key(|(_, _, until)| *until)
            && request.started + terms.slack < until
        {
            found(Offence::AfterEnd(Early { before, gap: request.started.saturating_sub(from), owed: until - from }));
        }
    }

    fn remember(&mut self, request: &Request, tag: T) {
        let (from, to) = (request.ended, tag);
        for (owed, is_rest) in [(request.pause, false), (request.rest, true)] {
            if !owed.is_zero() {
                let until = from.saturating_add(owed);
                self.coming.push(Debt { to, from, until, is_rest, is_broken: false });
            }
        }
        self.last_start = Some((request.started, tag));
        if self.last_end.is_none_or(|(end, _)| end <= request.ended) {
            self.last_end = Some((request.ended, tag));
        }
    }
}

/// Judges requests of all hosts by the address that they went to.
#[derive(Clone, Debug)]
pub struct AddressJudge<A, T> {
    last: HashMap<A, (Duration, T)>,
}

impl<A, T> Default for AddressJudge<A, T> {
    fn default() -> Self {
        AddressJudge { last: HashMap::new() }
    }
}

impl<A: Eq + Hash, T: Copy> AddressJudge<A, T> {
    /// Judges the next request, which began at `started`.
    pub fn request(&mut self, address: A, started: Duration, tag: T, terms: &Terms) -> Option<Offence<T>> {
        let (start, before) = self.last.insert(address, (started, tag))?;
        let gap = started.saturating_sub(start);
        let early = Early { before, gap, owed: terms.per_address };
        (gap + terms.address_slack < terms.per_address).then_some(Offence::Address(early))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn request(started_ms: u64, ended_ms: u64) -> Request {
        Request { started: MS(started_ms), ended: MS(ended_ms), ..Request::default() }
    }

    fn judged(terms: &Terms, requests: &[Request]) -> Vec<(usize, Offence<usize>)> {
        let (mut judge, mut found) = (HostJudge::default(), Vec::new());
        for (number, request) in requests.iter().enumerate() {
            judge.request(request, number, terms, |offence| found.push((number, offence)));
        }
        found
    }

    #[test]
    fn a_pause_binds_whatever_comes_after_it_and_a_lead_only_its_own_request() {
        let slow = Request { pause: MS(100), ..request(0, 10) };
        let quick = Request { pause: MS(20), ..request(50, 51) };
        let too_soon = |before, gap, owed| Offence::AfterEnd(Early { before, gap: MS(gap), owed: MS(owed) });
        // the long pause of the first answer is not over because a quick one came in between
        let found = judged(&Terms::default(), &[slow, quick, request(80, 81), request(110, 111)]);
        assert_eq!(found, [(1, too_soon(0, 40, 100)), (2, too_soon(0, 70, 100))]);
        let led = |started, lead| Request { lead: MS(lead), ..request(started, started + 1) };
        let found = judged(&Terms::default(), &[request(0, 10), led(30, 20), led(50, 20), led(60, 0)]);
        assert_eq!(found, [(2, too_soon(1, 19, 20))]);
    }

    #[test]
    fn with_several_connections_starts_are_apart_and_answers_count_when_they_are_taken_in() {
        let terms = Terms { connections: 2, taken_in_after: MS(50), start_slack: MS(2), ..Terms::default() };
        let led = |started, ended| Request { lead: MS(20), ..request(started, ended) };
        let found = judged(&terms, &[led(0, 100), led(18, 30), led(35, 36)]);
        assert_eq!(found, [(2, Offence::AfterStart(Early { before: 1, gap: MS(17), owed: MS(20) }))]);
        let resting = Request { rest: MS(200), ..request(0, 10) };
        let cut = |gap, again| {
            let early = Early { before: 0, gap: MS(gap), owed: MS(200) };
            Offence::RestCutShort { early, again }
        };
        let found = judged(&terms, &[resting, request(59, 60), request(60, 61), request(209, 210), request(210, 211)]);
        assert_eq!(found, [(2, cut(50, false)), (3, cut(199, true))]);
        let found = judged(&terms, &[request(0, 100), request(1, 100), request(2, 3), request(100, 101)]);
        assert_eq!(found, [(2, Offence::TooManyAtOnce(3))]);
    }

    #[test]
    fn a_request_outside_of_hours_is_an_offence_whatever_came_before() {
        let early = Request { closed: MS(7), ..request(0, 10) };
        assert_eq!(judged(&Terms::default(), &[early, request(20, 30)]), [(0, Offence::OutsideHours(MS(7)))]);
    }

    #[test]
    fn rests_that_nobody_keeps_take_bounded_memory() {
        let mut judge = HostJudge::default();
        for number in 0..10_000 {
            let request = Request { rest: Duration::from_secs(100_000), ..request(number, number) };
            judge.request(&request, number, &Terms::default(), drop);
        }
        assert!(judge.rests.len() + judge.coming.len() <= RESTS_MAX + 1, "{}", judge.rests.len());
    }

    #[test]
    fn addresses_are_judged_apart_from_each_other() {
        let terms = Terms { per_address: MS(50), address_slack: MS(1), ..Terms::default() };
        let mut judge = AddressJudge::default();
        assert_eq!(judge.request("a", MS(0), 0, &terms), None);
        assert_eq!(judge.request("b", MS(10), 1, &terms), None);
        assert_eq!(judge.request("a", MS(49), 2, &terms), None);
        assert_eq!(
            judge.request("a", MS(97), 3, &terms),
            Some(Offence::Address(Early { before: 2, gap: MS(48), owed: MS(50) }))
        );
    }

    #[test]
    fn a_pace_is_between_its_bounds_whatever_the_factor() {
        assert_eq!(pace(MS(20), 5.0, MS(10), MS(1_000)), MS(100));
        assert_eq!(pace(MS(1), 5.0, MS(10), MS(1_000)), MS(10));
        assert_eq!(pace(MS(900), 5.0, MS(10), MS(1_000)), MS(1_000));
        assert_eq!(pace(MS(900), f64::NAN, MS(10), MS(1_000)), MS(10));
        assert_eq!(pace(Duration::MAX, 1e300, MS(10), MS(1_000)), MS(1_000));
    }
}
