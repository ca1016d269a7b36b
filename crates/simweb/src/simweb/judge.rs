//! The promises of a crawler, and a server's log held against them by the judge of politeness ([`crate::politeness`]).
//!
//! The server sees a request later than the client sends it, and an answer finished before the client has read it.
//! So a client that waits from the end of an answer never looks faster here than it was; one that counts from start
//! to start may by the jitter of loopback. [`Limits::slack`] is for clocks that count milliseconds, and for answers
//! that the client gives up, whose end the server sees late; [`Limits::per_ip_slack`] for the jitter.
//!
//! The log of one web is one log, however many processes of a crawler came by: what holds over a restart is judged
//! like everything else. Two things a crawler cannot know, and they are not held against it: a Crawl-delay before the
//! robots.txt that asks for it (so a request for robots.txt need not keep it), and an answer that has not ended.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use super::log::Request;
use crate::politeness::{self, AddressJudge, Early, HostJudge, Offence, Terms, pace};

/// The promises of a crawler. The default promises one request at a time to a host, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The least time between two requests to a host. With one connection a host: from the end of an answer to the next
    /// start. With several: from start to start.
    pub delay_min: Duration,
    /// The delay after an answer as a multiple of the time that it took, with one connection a host.
    pub delay_factor: f64,
    /// The longest delay that comes from `delay_factor`.
    pub delay_max: Duration,
    /// The delays that robots.txt files ask for, with one connection a host: by name of host, capped already.
    pub crawl_delays: HashMap<String, Duration>,
    /// The least time between the starts of two requests to an address.
    pub per_ip: Duration,
    /// The most requests to a host at the same time.
    pub connections_per_host: usize,
    /// The least time for which a host is left alone after a 429 or 503 that does not say for how long.
    pub back_off: Duration,
    /// The least time for which a host is left alone whose robots.txt cannot be had.
    pub robots_back_off: Duration,
    /// Time by which two requests to a host may look closer than promised.
    pub slack: Duration,
    /// Time by which two requests to an address may look closer than promised.
    pub per_ip_slack: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            delay_min: Duration::ZERO,
            delay_factor: 0.0,
            delay_max: Duration::MAX,
            crawl_delays: HashMap::new(),
            per_ip: Duration::ZERO,
            connections_per_host: 1,
            back_off: Duration::ZERO,
            robots_back_off: Duration::ZERO,
            slack: Duration::ZERO,
            per_ip_slack: Duration::ZERO,
        }
    }
}

impl Limits {
    /// The time that has to pass between the end of the answer `before` and the start of `next`, of the same host.
    pub(crate) fn after_end(&self, before: &Request, next: &Request) -> Duration {
        self.pause_after(before).max(self.crawl_delay_before(next))
    }

    /// Returns the pause that the answer `before` asks for by the time that it took.
    fn pause_after(&self, before: &Request) -> Duration {
        let took = Duration::from_micros(before.finished_us.saturating_sub(before.started_us));
        pace(took, self.delay_factor, self.delay_min, self.delay_max)
    }

    /// Returns the pause that robots.txt asks for between an answer and `next`.
    fn crawl_delay_before(&self, next: &Request) -> Duration {
        let asked = self.crawl_delays.get(&next.host).filter(|_| next.path != "/robots.txt");
        asked.copied().unwrap_or_default()
    }

    /// The time for which the answer `before` holds its host back, counted from its end.
    pub(crate) fn rest_after(&self, before: &Request) -> Duration {
        if let Some(until_us) = before.rest_until_us {
            return Duration::from_micros(until_us.saturating_sub(before.finished_us));
        }
        match before.status {
            0 | 429 | 500..600 if before.path == "/robots.txt" => self.robots_back_off,
            429 | 503 => self.back_off,
            _ => Duration::ZERO,
        }
    }
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Two requests to a host with several connections started too soon after each other.
    HostTooSoon {
        /// The earlier request.
        before: Box<Request>,
        /// The one that came too soon.
        request: Box<Request>,
        /// The time between their starts.
        gap: Duration,
    },
    /// A request to a host started too soon after an answer of it had ended.
    HostTooSoonAfterEnd {
        /// The request whose answer ended last.
        before: Box<Request>,
        /// The one that came too soon.
        request: Box<Request>,
        /// The time between the end and the start.
        gap: Duration,
        /// The least time that was promised.
        wanted: Duration,
    },
    /// A request to a host came before the rest was over that an answer of it asked for, or that it needs.
    RestCutShort {
        /// The request whose answer asked for a rest: by `Retry-After`, or by a status that speaks of load.
        before: Box<Request>,
        /// The one that came too soon.
        request: Box<Request>,
        /// The time between the end of the answer and the start.
        gap: Duration,
        /// The least time that was promised.
        wanted: Duration,
    },
    /// Two requests to an address started too soon after each other.
    AddressTooSoon {
        /// The earlier request.
        before: Box<Request>,
        /// The one that came too soon.
        request: Box<Request>,
        /// The time between their starts.
        gap: Duration,
    },
    /// Too many requests to a host at the same time.
    TooManyAtOnce {
        /// The one that was too many.
        request: Box<Request>,
        /// The number of requests in flight then, this one included.
        concurrent: usize,
    },
    /// A request outside of the hours of its host.
    OutsideHours {
        /// The one that came then.
        request: Box<Request>,
        /// The time until the hours begin.
        closed: Duration,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut late = |what: &str, before: &Request, request: &Request, gap: &Duration| {
            let from = format!("{}{}", before.host, before.path).escape_debug().to_string();
            let to = format!("{}{}", request.host, request.path).escape_debug().to_string();
            write!(f, "{what} {}: {to} came {gap:?} after {from}, at {} us", request.address, request.started_us)
        };
        match self {
            Violation::HostTooSoon { before, request, gap } => late("host too soon,", before, request, gap),
            Violation::HostTooSoonAfterEnd { before, request, gap, wanted } => {
                late(&format!("host too soon after an answer, not after {wanted:?},"), before, request, gap)
            }
            Violation::RestCutShort { before, request, gap, wanted } => {
                let what = format!("rest cut short, not {wanted:?} after a {},", before.status);
                late(&what, before, request, gap)
            }
            Violation::AddressTooSoon { before, request, gap } => late("address too soon,", before, request, gap),
            Violation::TooManyAtOnce { request, concurrent } => {
                let host = request.host.escape_debug();
                write!(f, "{concurrent} requests at once to {host}, at {} us", request.started_us)
            }
            Violation::OutsideHours { request, closed } => {
                let host = request.host.escape_debug();
                write!(f, "a request to {host} {closed:?} before its hours, at {} us", request.started_us)
            }
        }
    }
}

/// All that a log holds against the limits, in the order in which it happened.
pub fn judge(log: &[Request], limits: &Limits) -> Vec<Violation> {
    let terms = Terms {
        connections: limits.connections_per_host,
        slack: limits.slack,
        start_slack: limits.slack,
        per_address: limits.per_ip,
        address_slack: limits.per_ip_slack,
        ..Terms::default()
    };
    let mut hosts: HashMap<&str, HostJudge<&Request>> = HashMap::new();
    let mut addresses = AddressJudge::default();
    let mut violations = Vec::new();
    for request in in_order(log) {
        let made = limits.translate(request);
        let host = hosts.entry(&request.host).or_default();
        host.request(&made, request, &terms, |offence| violations.push(Violation::of(offence, request)));
        let at_address = addresses.request(request.address, made.started, request, &terms);
        violations.extend(at_address.map(|offence| Violation::of(offence, request)));
    }
    violations
}

/// The most requests that were in progress to one host at the same time, with the name of that host.
pub fn largest_concurrency(log: &[Request]) -> Option<(String, usize)> {
    let (limits, terms) = (Limits::default(), Terms::default());
    let mut hosts: HashMap<&str, HostJudge<()>> = HashMap::new();
    let mut largest: Option<(&str, usize)> = None;
    for request in in_order(log) {
        let concurrent = hosts.entry(&request.host).or_default().request(&limits.translate(request), (), &terms, drop);
        if largest.is_none_or(|(_, most)| concurrent > most) {
            largest = Some((&request.host, concurrent));
        }
    }
    largest.map(|(host, concurrent)| (host.to_owned(), concurrent))
}

fn in_order(log: &[Request]) -> Vec<&Request> {
    let mut requests: Vec<&Request> = log.iter().collect();
    requests.sort_by_key(|request| (request.started_us, request.finished_us));
    requests
}

impl Limits {
    /// `request` as the judge takes it.
    fn translate(&self, request: &Request) -> politeness::Request {
        // with several connections at once only starts are promised to be apart
        let (pause, lead) = match self.connections_per_host {
            1 => (self.pause_after(request), self.crawl_delay_before(request)),
            _ => (Duration::ZERO, self.delay_min),
        };
        politeness::Request {
            started: Duration::from_micros(request.started_us),
            ended: Duration::from_micros(request.finished_us),
            pause,
            lead,
            rest: self.rest_after(request),
            closed: Duration::ZERO,
        }
    }
}

impl Violation {
    fn of(offence: Offence<&Request>, request: &Request) -> Violation {
        let boxed = |request: &Request| Box::new(request.clone());
        let request = boxed(request);
        match offence {
            Offence::AfterStart(Early { before, gap, .. }) => {
                Violation::HostTooSoon { before: boxed(before), request, gap }
            }
            Offence::AfterEnd(Early { before, gap, owed }) => {
                Violation::HostTooSoonAfterEnd { before: boxed(before), request, gap, wanted: owed }
            }
            Offence::RestCutShort { early: Early { before, gap, owed }, .. } => {
                Violation::RestCutShort { before: boxed(before), request, gap, wanted: owed }
            }
            Offence::Address(Early { before, gap, .. }) => {
                Violation::AddressTooSoon { before: boxed(before), request, gap }
            }
            Offence::TooManyAtOnce(concurrent) => Violation::TooManyAtOnce { request, concurrent },
            Offence::OutsideHours(closed) => Violation::OutsideHours { request, closed },
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// A page of `host` that was asked for and answered at these times.
    pub(crate) fn request(host: &str, started_ms: u64, finished_ms: u64) -> Request {
        Request {
            host: host.to_owned(),
            path: "/".to_owned(),
            method: "GET".to_owned(),
            status: 200,
            address: Ipv4Addr::LOCALHOST,
            connection: 1,
            user_agent: String::new(),
            started_us: started_ms * 1_000,
            finished_us: finished_ms * 1_000,
            rest_until_us: None,
            version: None,
        }
    }

    fn limits(delay_ms: u64, per_ip_ms: u64, connections_per_host: usize) -> Limits {
        let ms = Duration::from_millis;
        Limits { delay_min: ms(delay_ms), per_ip: ms(per_ip_ms), connections_per_host, ..Limits::default() }
    }

    #[test]
    fn a_log_that_keeps_the_limits_is_clean() {
        let log = [request("a", 0, 10), request("b", 50, 60), request("a", 110, 120), request("b", 160, 170)];
        assert_eq!(judge(&log, &limits(100, 50, 1)), []);
        assert_eq!(largest_concurrency(&log), Some(("a".to_owned(), 1)));
    }

    #[test]
    fn a_start_too_soon_after_a_start_is_found() {
        let log = [request("a", 99, 100), request("b", 50, 60), request("a", 0, 10)];
        let found = judge(&log, &limits(100, 0, 2));
        assert_eq!(found.len(), 1);
        let Violation::HostTooSoon { before, request, gap } = &found[0] else { panic!("{found:?}") };
        assert_eq!((before.started_us, request.started_us, gap.as_millis()), (0, 99_000, 99));
        assert!(found[0].to_string().contains("99ms"));
    }

    #[test]
    fn a_start_too_soon_after_a_long_answer_is_found() {
        let log = [request("a", 0, 500), request("a", 550, 560)];
        let found = judge(&log, &limits(100, 0, 1));
        assert!(
            matches!(&found[..], [Violation::HostTooSoonAfterEnd { gap, .. }] if gap.as_millis() == 50),
            "{found:?}"
        );
        assert_eq!(judge(&log, &limits(50, 0, 1)), []);
    }

    #[test]
    fn hosts_on_one_address_that_come_too_soon_are_found() {
        let log = [request("a", 0, 1), request("b", 20, 21), request("c", 70, 71)];
        let found = judge(&log, &limits(0, 50, 1));
        assert!(matches!(&found[..], [Violation::AddressTooSoon { request, .. }] if request.host == "b"), "{found:?}");
    }

    #[test]
    fn one_request_too_many_at_once_is_found() {
        let log = [request("a", 0, 100), request("a", 10, 20), request("a", 20, 30), request("a", 25, 40)];
        let found = judge(&log, &limits(0, 0, 2));
        let [Violation::TooManyAtOnce { request, concurrent: 3 }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(request.started_us, 25_000);
        assert_eq!(largest_concurrency(&log), Some(("a".to_owned(), 3)));
    }

    #[test]
    fn a_slow_answer_and_a_crawl_delay_stretch_the_gap() {
        let log = [request("a", 0, 20), request("a", 110, 111), request("b", 0, 1), request("b", 200, 201)];
        let mut limits = Limits { delay_factor: 5.0, ..limits(10, 0, 1) };
        let found = judge(&log, &limits);
        let [Violation::HostTooSoonAfterEnd { wanted, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(wanted.as_millis(), 100);
        limits.delay_max = Duration::from_millis(90);
        assert_eq!(judge(&log, &limits), []);
        limits.slack = Duration::from_millis(1);
        limits.crawl_delays.insert("b".to_owned(), Duration::from_millis(200));
        assert_eq!(judge(&log, &limits), []);
        limits.crawl_delays.insert("b".to_owned(), Duration::from_millis(201));
        assert_eq!(judge(&log, &limits).len(), 1);
        let robots = Request { path: "/robots.txt".to_owned(), ..log[3].clone() };
        assert_eq!(judge(&[log[2].clone(), robots], &limits), []);
    }

    #[test]
    fn a_rest_that_was_asked_for_or_is_needed_and_was_cut_short_is_found() {
        let limits = Limits {
            back_off: Duration::from_millis(60),
            robots_back_off: Duration::from_millis(300),
            ..Limits::default()
        };
        let then = |before: Request, started_ms: u64| {
            let next = request("a", started_ms, started_ms + 1);
            judge(&[before, request("b", 5, 6), next], &limits).len()
        };
        let refused = Request { status: 429, ..request("a", 0, 10) };
        assert_eq!((then(refused.clone(), 69), then(refused.clone(), 70)), (1, 0));
        let asked = Request { rest_until_us: Some(40_000), ..refused.clone() };
        assert_eq!((then(asked.clone(), 39), then(asked, 40)), (1, 0));
        let robots = Request { path: "/robots.txt".to_owned(), status: 500, ..request("a", 0, 10) };
        assert_eq!((then(robots.clone(), 309), then(robots, 310)), (1, 0));
        // one that was in progress already is no offence
        let next = Request { finished_us: 30_000, ..request("a", 9, 10) };
        assert_eq!(judge(&[refused, next], &Limits { connections_per_host: 2, ..limits }), []);
    }
}
