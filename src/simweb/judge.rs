//! The judge of politeness: finds, in a server's log, requests that came too soon or too many at once.
//!
//! The server sees a request later than the client sends it, and an answer finished before the client has read it.
//! So a client that waits from the end of an answer never looks faster here than it was; one that counts from start
//! to start may by the jitter of loopback, for which the caller leaves room in the limits.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::log::Request;

/// What a crawler promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The least time between the starts of two requests to a host, and, with one connection a host, between the end
    /// of an answer and the next start.
    pub delay_min: Duration,
    /// The least time between the starts of two requests to an address.
    pub per_ip: Duration,
    /// The most requests to a host at the same time.
    pub connections_per_host: usize,
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Two requests to a host started too soon after each other.
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
        /// How many there were then, it included.
        concurrent: usize,
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
            Violation::HostTooSoonAfterEnd { before, request, gap } => {
                late("host too soon after an answer,", before, request, gap)
            }
            Violation::AddressTooSoon { before, request, gap } => late("address too soon,", before, request, gap),
            Violation::TooManyAtOnce { request, concurrent } => {
                let host = request.host.escape_debug();
                write!(f, "{concurrent} requests at once to {host}, at {} us", request.started_us)
            }
        }
    }
}

/// All that a log holds against the limits, in the order in which it happened.
pub fn judge(log: &[Request], limits: Limits) -> Vec<Violation> {
    let mut requests: Vec<&Request> = log.iter().collect();
    requests.sort_by_key(|request| (request.started_us, request.finished_us));
    let mut hosts: HashMap<&str, Seen> = HashMap::new();
    let mut addresses: HashMap<Ipv4Addr, &Request> = HashMap::new();
    let mut violations = Vec::new();
    for request in requests {
        hosts.entry(&request.host).or_default().judge(request, limits, &mut violations);
        if let Some(before) = addresses.insert(request.address, request) {
            let gap = between(before.started_us, request);
            if gap < limits.per_ip {
                violations.push(Violation::AddressTooSoon { before: boxed(before), request: boxed(request), gap });
            }
        }
    }
    violations
}

/// The most requests that were under way to one host at the same time, with the name of that host.
pub fn largest_concurrency(log: &[Request]) -> Option<(String, usize)> {
    let mut requests: Vec<&Request> = log.iter().collect();
    requests.sort_by_key(|request| (request.started_us, request.finished_us));
    let mut hosts: HashMap<&str, Seen> = HashMap::new();
    let mut largest: Option<(&str, usize)> = None;
    for request in requests {
        let concurrent = hosts.entry(&request.host).or_default().add(request);
        if largest.is_none_or(|(_, most)| concurrent > most) {
            largest = Some((&request.host, concurrent));
        }
    }
    largest.map(|(host, concurrent)| (host.to_owned(), concurrent))
}

/// What was seen of one host so far.
#[derive(Default)]
struct Seen<'a> {
    last_started: Option<&'a Request>,
    last_finished: Option<&'a Request>,
    under_way: Vec<u64>,
}

impl<'a> Seen<'a> {
    fn judge(&mut self, request: &'a Request, limits: Limits, violations: &mut Vec<Violation>) {
        if let Some(before) = self.last_started {
            let gap = between(before.started_us, request);
            if gap < limits.delay_min {
                violations.push(Violation::HostTooSoon { before: boxed(before), request: boxed(request), gap });
            }
        }
        if let Some(before) = self.last_finished.filter(|_| limits.connections_per_host == 1) {
            let gap = between(before.finished_us, request);
            if gap < limits.delay_min {
                let (before, request) = (boxed(before), boxed(request));
                violations.push(Violation::HostTooSoonAfterEnd { before, request, gap });
            }
        }
        let concurrent = self.add(request);
        if concurrent > limits.connections_per_host {
            violations.push(Violation::TooManyAtOnce { request: boxed(request), concurrent });
        }
    }

    /// Takes note of a request and says how many are under way with it.
    fn add(&mut self, request: &'a Request) -> usize {
        self.last_started = Some(request);
        if self.last_finished.is_none_or(|last| last.finished_us <= request.finished_us) {
            self.last_finished = Some(request);
        }
        self.under_way.retain(|&finished_us| finished_us > request.started_us);
        self.under_way.push(request.finished_us);
        self.under_way.len()
    }
}

fn between(earlier_us: u64, request: &Request) -> Duration {
    Duration::from_micros(request.started_us.saturating_sub(earlier_us))
}

fn boxed(request: &Request) -> Box<Request> {
    Box::new(request.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str, started_ms: u64, finished_ms: u64) -> Request {
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
        }
    }

    fn limits(delay_ms: u64, per_ip_ms: u64, connections_per_host: usize) -> Limits {
        let ms = Duration::from_millis;
        Limits { delay_min: ms(delay_ms), per_ip: ms(per_ip_ms), connections_per_host }
    }

    #[test]
    fn a_log_that_keeps_the_limits_is_clean() {
        let log = [request("a", 0, 10), request("b", 50, 60), request("a", 110, 120), request("b", 160, 170)];
        assert_eq!(judge(&log, limits(100, 50, 1)), []);
        assert_eq!(largest_concurrency(&log), Some(("a".to_owned(), 1)));
    }

    #[test]
    fn a_start_too_soon_after_a_start_is_found() {
        let log = [request("a", 99, 100), request("b", 50, 60), request("a", 0, 10)];
        let found = judge(&log, limits(100, 0, 2));
        assert_eq!(found.len(), 1);
        let Violation::HostTooSoon { before, request, gap } = &found[0] else { panic!("{found:?}") };
        assert_eq!((before.started_us, request.started_us, gap.as_millis()), (0, 99_000, 99));
        assert!(found[0].to_string().contains("99ms"));
    }

    #[test]
    fn a_start_too_soon_after_a_long_answer_is_found() {
        let log = [request("a", 0, 500), request("a", 550, 560)];
        let found = judge(&log, limits(100, 0, 1));
        assert!(
            matches!(&found[..], [Violation::HostTooSoonAfterEnd { gap, .. }] if gap.as_millis() == 50),
            "{found:?}"
        );
        assert_eq!(judge(&log, limits(50, 0, 1)), []);
    }

    #[test]
    fn hosts_on_one_address_that_come_too_soon_are_found() {
        let log = [request("a", 0, 1), request("b", 20, 21), request("c", 70, 71)];
        let found = judge(&log, limits(0, 50, 1));
        assert!(matches!(&found[..], [Violation::AddressTooSoon { request, .. }] if request.host == "b"), "{found:?}");
    }

    #[test]
    fn one_request_too_many_at_once_is_found() {
        let log = [request("a", 0, 100), request("a", 10, 20), request("a", 20, 30), request("a", 25, 40)];
        let found = judge(&log, limits(0, 0, 2));
        let [Violation::TooManyAtOnce { request, concurrent: 3 }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(request.started_us, 25_000);
        assert_eq!(largest_concurrency(&log), Some(("a".to_owned(), 3)));
    }
}
