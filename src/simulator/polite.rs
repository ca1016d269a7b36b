//! Politeness by the log of the network, in true time: hosts and their rests, addresses, the age of rules, rates.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::case::Case;
use super::clause::{Clause, Violation};
use super::machine::Machine;
use super::moment::Ended;
use super::network::{Request, millis};

/// Judges all requests of a crawl.
pub(super) fn judge(machine: &Machine) -> Result<(), Violation> {
    let network = machine.network();
    let mut requests: Vec<&Request> = network.log.iter().collect();
    requests.sort_by_key(|request| (request.start, request.end));
    hosts(machine, &requests)?;
    addresses(machine, &requests)?;
    rules(machine, &requests)?;
    rates(machine, &requests)
}

fn hosts(machine: &Machine, requests: &[&Request]) -> Result<(), Violation> {
    let case = machine.case();
    let mut hosts: HashMap<&str, Vec<&Request>> = HashMap::new();
    for &request in requests {
        let before = hosts.entry(&request.host).or_default();
        host_polite(case, &machine.ends, before, request)?;
        before.push(request);
    }
    Ok(())
}

fn host_polite(case: &Case, ends: &[Ended], before: &[&Request], request: &Request) -> Result<(), Violation> {
    let politeness = &case.frontier.politeness;
    let impolite = |what: String| Err(Violation::new(Clause::Polite, what));
    let under_way = before.iter().filter(|other| other.end > request.start).count() + 1;
    if under_way > politeness.connections_per_host {
        return impolite(format!("{} requests at once to {} at {} ms", under_way, request.host, request.start));
    }
    let Some(last) = before.last() else { return Ok(()) };
    // with several connections the delay counts from start to start
    let from = if politeness.connections_per_host == 1 { last.end } else { last.start };
    let gap = request.start.saturating_sub(from);
    if gap < millis(politeness.delay_min) && !clock_says_over(last, request, ends) {
        return impolite(format!("{} came {gap} ms after {}, at {} ms", request.url, last.url, request.start));
    }
    for other in before.iter().filter(|other| !other.rest.is_zero() && other.end <= request.start) {
        let rested = request.start - other.end;
        if rested < millis(other.rest) && !may_be_forgotten(other, request, ends) {
            return impolite(format!(
                "{} came {rested} ms after {} asked for {:?}, at {} ms",
                request.url, other.url, other.rest, request.start
            ));
        }
    }
    Ok(())
}

/// Whether the clock was set forward between the two: who starts again has only the clock to tell how long it was away.
fn clock_says_over(before: &Request, request: &Request, ends: &[Ended]) -> bool {
    let between = |end: &&Ended| (before.end..request.start.saturating_add(1)).contains(&end.at);
    ends.iter().filter(between).any(|end| end.clock_set_forward)
}

/// Whether a rest may be forgotten: it began right before a death that the answer itself did not survive either, or the
/// clock says that it is over.
fn may_be_forgotten(rest: &Request, request: &Request, ends: &[Ended]) -> bool {
    /// From the answer to the moment at which its rest is on the disk for certain.
    const WRITTEN: Duration = Duration::from_secs(4);
    if clock_says_over(rest, request, ends) {
        return true;
    }
    if rest.archived {
        return false;
    }
    let dies = |end: &&Ended| !end.clean && (rest.end..request.start.saturating_add(1)).contains(&end.at);
    ends.iter().filter(dies).any(|end| {
        let lived = end.at - rest.end;
        lived == 0 || (end.power_cut && lived < millis(WRITTEN))
    })
}

/// Two requests to an address begin `delay_per_ip` apart, whatever host they are for, also over a restart.
fn addresses(machine: &Machine, requests: &[&Request]) -> Result<(), Violation> {
    let least = millis(machine.case().frontier.politeness.delay_per_ip);
    let mut last: HashMap<Ipv4Addr, &Request> = HashMap::new();
    for &request in requests {
        let Some(address) = request.address else { continue };
        if let Some(before) = last.insert(address, request)
            && request.start - before.start < least
            && !clock_says_over(before, request, &machine.ends)
        {
            return Err(Violation::new(
                Clause::Polite,
                format!(
                    "{} came {} ms after {} to the same address, at {} ms",
                    request.url,
                    request.start - before.start,
                    before.url,
                    request.start
                ),
            ));
        }
    }
    Ok(())
}

/// No page is asked for by rules that have expired.
fn rules(machine: &Machine, requests: &[&Request]) -> Result<(), Violation> {
    /// Rules that have expired when they come serve once; and a request may take its turn before the clock moves on.
    const SLACK: u64 = 1_000;
    let network = machine.network();
    let pages = &network.web().expected().pages;
    let cache = millis(machine.case().settings.robots_cache);
    let mut newest: HashMap<&str, &Request> = HashMap::new();
    let mut moved: HashMap<&str, bool> = HashMap::new();
    let mut by_end: Vec<&Request> = requests.iter().copied().filter(|r| r.url.ends_with("/robots.txt")).collect();
    by_end.sort_by_key(|request| request.end);
    let mut answers = by_end.into_iter().peekable();
    for request in requests.iter().filter(|request| pages.contains_key(&request.url)) {
        while let Some(answer) = answers.next_if(|answer| answer.end <= request.start) {
            match answer.status {
                // the rules are those of another place then, which is asked for its own sake too
                Some(300..400) => drop(moved.insert(&answer.host, true)),
                Some(200..300 | 400..=428 | 430..500) => drop(newest.insert(&answer.host, answer)),
                _ => {}
            }
        }
        let host = request.host.as_str();
        let Some(answer) = newest.get(host).filter(|_| !moved.contains_key(host)) else { continue };
        let set_back = |end: &Ended| end.clock_set_back && (answer.end..=request.start).contains(&end.at);
        if request.start - answer.end > cache + SLACK && !machine.ends.iter().any(set_back) {
            let what = format!(
                "{} was asked for at {} ms by rules that came at {} ms and hold for {cache} ms",
                request.url, request.start, answer.end
            );
            return Err(Violation::new(Clause::Obeys, what));
        }
    }
    Ok(())
}

/// Requests a second and bytes a second, process by process: an account does not outlive its process.
fn rates(machine: &Machine, requests: &[&Request]) -> Result<(), Violation> {
    /// Requests that may start together, one whose right was taken before, and one that a clock of milliseconds rounds.
    const TOGETHER: f64 = 3.0;
    /// What was under way when the account of bytes was last asked.
    const BYTES_UNDER_WAY: u64 = 100_000;
    let settings = &machine.case().settings;
    let ends: Vec<u64> = machine.ends.iter().map(|end| end.at).chain([u64::MAX]).collect();
    let mut from = 0;
    for end in ends {
        let of_process = || requests.iter().filter(|request| (from..end).contains(&request.start));
        if let Some(rate) = settings.requests_per_second {
            let (mut level, mut last) = (0.0_f64, from);
            for request in of_process() {
                level = (level - rate * (request.start - last) as f64 / 1_000.0).max(0.0) + 1.0;
                last = request.start;
                if level > TOGETHER + rate * 0.02 {
                    let what = format!("{level} requests at once at {} ms, at {rate} a second", request.start);
                    return Err(Violation::new(Clause::Limited, what));
                }
            }
        }
        if let Some(rate) = settings.bytes_per_second
            && let Some(first) = of_process().next()
        {
            let mut answers: Vec<_> = of_process().map(|request| (request.end, request.bytes)).collect();
            answers.sort_unstable();
            let (mut received, mut answers) = (0, answers.into_iter().peekable());
            for request in of_process() {
                while let Some((_, bytes)) = answers.next_if(|&(end, _)| end <= request.start) {
                    received += bytes;
                }
                let paid = rate + rate * (request.start - first.start) / 1_000;
                if received > paid + BYTES_UNDER_WAY {
                    let what = format!("{received} bytes came until {} ms, at {rate} a second", request.start);
                    return Err(Violation::new(Clause::Limited, what));
                }
            }
        }
        from = end;
    }
    Ok(())
}
