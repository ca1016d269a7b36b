//! A log over time: how many requests were in progress and how many hosts had work, and when politeness alone would
//! have let the crawl end.
//!
//! The forced end counts, for each host, its requests one after the other with what has to pass between them, from
//! its first request on, and, for each address, its requests at `per_ip` from each other. Nothing that keeps the limits
//! and makes these requests ends sooner; a crawl that found a host earlier could have.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::judge::Limits;
use super::log::Request;

/// Rows of the table.
const ROWS: u64 = 20;

/// A log over time. Displays as a table.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Time from the first start to the last end.
    pub took: Duration,
    /// The earliest end that hosts allow, and the host that ends last.
    pub forced_by_hosts: (Duration, String),
    /// The earliest end that addresses allow, and the address that ends last.
    pub forced_by_addresses: (Duration, String),
    /// Time at which the last of all hosts but the one with most requests had its last answer.
    pub others_took: Duration,
    /// The host with most requests, and their number.
    pub largest: (String, usize),
    rows: Vec<Row>,
}

/// One part of the time.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    from: Duration,
    started: usize,
    /// Mean number of requests in progress.
    under_way: f64,
    /// Hosts that were asked before or now and are asked now or later.
    hosts: usize,
}

/// The requests to one host or address in the log: their number, and the times from which its pace follows.
#[derive(Default)]
struct Span<'a> {
    requests: usize,
    first_us: u64,
    last_us: u64,
    forced_us: u64,
    before: Option<&'a Request>,
}

impl Timeline {
    /// Looks at a log, in the light of what was promised.
    pub fn of(log: &[Request], limits: &Limits) -> Timeline {
        let mut requests: Vec<&Request> = log.iter().collect();
        requests.sort_by_key(|request| (request.started_us, request.finished_us));
        let (Some(first), Some(last_us)) = (requests.first(), requests.iter().map(|request| request.finished_us).max())
        else {
            return Timeline::default();
        };
        let epoch_us = first.started_us;
        let since = |us: u64| Duration::from_micros(us.saturating_sub(epoch_us));
        let mut hosts: BTreeMap<&str, Span<'_>> = BTreeMap::new();
        let mut addresses: BTreeMap<_, Span<'_>> = BTreeMap::new();
        for &request in &requests {
            hosts.entry(&request.host).or_default().add_to_host(request, limits);
            addresses.entry(request.address).or_default().add_to_address(request, limits);
        }
        let by_hosts =
            hosts.iter().max_by_key(|(_, span)| span.forced_us).map(|(name, span)| (span, (*name).to_owned()));
        let by_addresses =
            addresses.iter().max_by_key(|(_, span)| span.forced_us).map(|(ip, span)| (span, ip.to_string()));
        let forced = |found: Option<(&Span<'_>, String)>| {
            found.map_or_else(Default::default, |(span, name)| (since(span.forced_us), name))
        };
        let largest = hosts.iter().max_by_key(|(_, span)| span.requests).map(|(&name, span)| (name, span.requests));
        let (largest, count) = largest.unwrap_or_default();
        let others = hosts.iter().filter(|(name, _)| **name != largest).map(|(_, span)| span.last_us).max();
        Timeline {
            took: since(last_us),
            forced_by_hosts: forced(by_hosts),
            forced_by_addresses: forced(by_addresses),
            others_took: since(others.unwrap_or(epoch_us)),
            largest: (largest.to_owned(), count),
            rows: rows(&requests, hosts.values(), epoch_us, last_us),
        }
    }
}

impl<'a> Span<'a> {
    fn add_to_host(&mut self, request: &'a Request, limits: &Limits) {
        let took_us = request.finished_us.saturating_sub(request.started_us);
        match self.before.replace(request) {
            None => (self.first_us, self.forced_us) = (request.started_us, request.started_us + took_us),
            Some(before) => {
                let pause = limits.after_end(before, request).max(limits.rest_after(before));
                self.forced_us += pause.as_micros() as u64 + took_us;
            }
        }
        self.count(request);
    }

    fn add_to_address(&mut self, request: &'a Request, limits: &Limits) {
        match self.requests {
            0 => (self.first_us, self.forced_us) = (request.started_us, request.started_us),
            _ => self.forced_us += limits.per_ip.as_micros() as u64,
        }
        self.count(request);
    }

    fn count(&mut self, request: &Request) {
        self.requests += 1;
        self.last_us = self.last_us.max(request.finished_us);
    }
}

fn rows<'a>(
    requests: &[&Request],
    hosts: impl Iterator<Item = &'a Span<'a>> + Clone,
    epoch_us: u64,
    last_us: u64,
) -> Vec<Row> {
    let step_us = (last_us - epoch_us).div_ceil(ROWS).max(1);
    let overlap = |from_us: u64, first_us: u64, last_us: u64| {
        last_us.min(from_us + step_us).saturating_sub(first_us.max(from_us))
    };
    let row = |number: u64| {
        let from_us = epoch_us + number * step_us;
        let to_us = from_us + step_us;
        let busy_us: u64 = requests.iter().map(|r| overlap(from_us, r.started_us, r.finished_us)).sum();
        Row {
            from: Duration::from_micros(number * step_us),
            started: requests.iter().filter(|r| (from_us..to_us).contains(&r.started_us)).count(),
            under_way: busy_us as f64 / step_us as f64,
            hosts: hosts.clone().filter(|span| span.first_us < to_us && span.last_us >= from_us).count(),
        }
    };
    (0..ROWS).map(row).collect()
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BAR: usize = 30;
        let most = self.rows.iter().map(|row| row.started).max().unwrap_or(0).max(1);
        writeln!(f, "    from s  requests  in flight  hosts with work")?;
        for row in &self.rows {
            let bar = "#".repeat((row.started * BAR).div_ceil(most));
            let from_s = row.from.as_secs_f64();
            writeln!(f, "{from_s:>10.1}  {:>8}  {:>9.2}  {:>15}  {bar}", row.started, row.under_way, row.hosts)?;
        }
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        let line = |f: &mut fmt::Formatter<'_>, what: &str, time: Duration, who: &str| {
            writeln!(f, "{what:<34}{} {}", seconds(time), who.escape_debug())
        };
        line(f, "from first to last request", self.took, "")?;
        line(f, "required by the slowest host", self.forced_by_hosts.0, &self.forced_by_hosts.1)?;
        line(f, "required by the busiest address", self.forced_by_addresses.0, &self.forced_by_addresses.1)?;
        line(f, "all hosts but the largest ended at", self.others_took, "")?;
        writeln!(f, "{:<34}{} {}", "requests to the largest host", self.largest.1, self.largest.0.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simweb::judge::tests::request;

    #[test]
    fn the_forced_end_counts_pauses_of_hosts_and_addresses() {
        let request = |host: &str, started_ms: u64| request(host, started_ms, started_ms + 10);
        let log = [request("a", 100), request("a", 400), request("b", 200), request("a", 1_000)];
        let ms = Duration::from_millis;
        let limits = Limits { delay_min: ms(100), per_ip: ms(50), ..Limits::default() };
        let timeline = Timeline::of(&log, &limits);
        assert_eq!(timeline.took, ms(910));
        assert_eq!(timeline.forced_by_hosts, (ms(230), "a".to_owned()));
        assert_eq!(timeline.forced_by_addresses, (ms(150), "127.0.0.1".to_owned()));
        assert_eq!((timeline.others_took, timeline.largest.1), (ms(110), 3));
        assert_eq!(timeline.rows.iter().map(|row| row.started).sum::<usize>(), 4);
        assert_eq!(timeline.rows[0].hosts, 1);
        assert!(timeline.to_string().contains("required by the slowest host"), "{timeline}");
        assert!(Timeline::of(&[], &limits).to_string().contains("0.0 s"));
    }
}
