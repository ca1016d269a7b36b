//! Politeness by the log of the network, in true time: hosts and their rests, addresses, the age of rules, rates.

use std::collections::HashMap;
use std::time::Duration;

use super::BEGIN;
use super::case::Case;
use super::clause::{Clause, Violation};
use super::machine::Machine;
use super::moment::Ended;
use super::network::{Request, millis};
use crate::politeness::{self, AddressJudge, Early, HostJudge, Offence, Terms};

/// Judges all requests of a crawl.
pub(super) fn judge(machine: &Machine) -> Result<(), Violation> {
    let network = machine.network();
    let mut requests: Vec<&Request> = network.log.iter().collect();
    requests.sort_by_key(|request| (request.start, request.end));
    requisites(machine, &requests)?;
    rules(machine, &requests)?;
    requests.retain(|request| !request.is_for_page);
    hosts_and_addresses(machine, &requests)?;
    rates(machine, &requests)
}

/// Judges the requests of pages that are rendered: they have their own pace, and keep to every rest, and the next
/// page keeps its delay from them.
fn requisites(machine: &Machine, requests: &[&Request]) -> Result<(), Violation> {
    let (pace, ends) = (&machine.case().settings.rendering.pace, &machine.ends);
    let (pause, delay) = (millis(pace.delay), millis(machine.case().frontier.politeness.delay_min));
    let mut hosts: HashMap<&str, Vec<&Request>> = HashMap::new();
    for &request in requests {
        let closed = closed(machine.case(), request);
        if request.is_for_page && !closed.is_zero() {
            let what = format!("{} at {} ms: {closed:?} before the hours of its host", request.url, request.start);
            return Err(Violation::new(Clause::Polite, what));
        }
        let before = hosts.entry(&request.host).or_default();
        let died = |since: &Request| ends.iter().any(|end| (since.start..=request.start).contains(&end.at));
        let offence = |other: &&Request, what: &str| {
            let what = format!("{} at {} ms after {}: {what}", request.url, request.start, other.url);
            Err(Violation::new(Clause::Polite, what))
        };
        for other in before.iter().filter(|other| !died(other)) {
            let is_first = other.is_for_page && request.is_for_page && request.start < other.start + pause;
            let is_next = other.is_for_page && !request.is_for_page && request.start < other.end + delay;
            let rests = request.is_for_page && request.start < other.end + millis(other.rest);
            // a robots.txt that is asked for by a page is asked for again by its host
            if is_first {
                return offence(other, "too soon after another of a page");
            }
            if is_next && machine.case().frontier.politeness.connections_per_host == 1 {
                return offence(other, "a page too soon after what another one asked for");
            }
            // what is asked for in the millisecond in which the answer comes was on its way before
            if rests && other.end < request.start {
                return offence(other, "a rest was asked for");
            }
        }
        let open = before.iter().filter(|other| other.is_for_page && other.end > request.start).count();
        if request.is_for_page && open >= pace.connections {
            return offence(&request, "too many at once");
        }
        before.push(request);
    }
    Ok(())
}

/// Hosts and addresses, by the judge that reports and the synthetic web have too. What the crawler could not know is
/// left out: deaths and clocks that were set.
fn hosts_and_addresses(machine: &Machine, requests: &[&Request]) -> Result<(), Violation> {
    let (politeness, ends) = (&machine.case().frontier.politeness, &machine.ends);
    let terms = Terms {
        connections: politeness.connections_per_host,
        per_address: Duration::from_millis(millis(politeness.delay_per_ip)),
        ..Terms::default()
    };
    // of all nodes together, and of each: a host of another node that is asked for rules alone has its turn in the
    // asking node only
    let mut hosts: HashMap<(&str, Option<u32>), HostJudge<&Request>> = HashMap::new();
    // hosts of one address may be on several nodes, which know nothing of each other's turns
    let mut addresses: HashMap<Option<u32>, AddressJudge<_, &Request>> = HashMap::new();
    for &request in requests {
        let made = translate(machine.case(), request);
        let mut offences = Vec::new();
        for node in [request.node(), None] {
            if node.is_none() && request.asker.is_some() && request.is_for_another {
                continue;
            }
            let of_host = hosts.entry((&request.host, node)).or_default();
            of_host.request(&made, request, &terms, |offence| offences.push(offence));
            if request.asker.is_none() {
                break;
            }
        }
        let at_address = request.address.map(|address| {
            let of_asker = addresses.entry(request.node()).or_default();
            of_asker.request(address, made.started, request, &terms)
        });
        offences.extend(at_address.flatten());
        if let Some(offence) = offences.iter().find(|offence| !is_excused(offence, request, ends)) {
            let what = format!("{} at {} ms: {}", request.url, request.start, described(offence));
            return Err(Violation::new(Clause::Polite, what));
        }
    }
    Ok(())
}

/// `request` as the judge takes it. With several connections the delay counts from start to start.
fn translate(case: &Case, request: &Request) -> politeness::Request {
    let politeness = &case.frontier.politeness;
    let delay = Duration::from_millis(millis(politeness.delay_min));
    let one = politeness.connections_per_host == 1;
    politeness::Request {
        started: Duration::from_millis(request.start),
        ended: Duration::from_millis(request.end),
        pause: if one { delay } else { Duration::ZERO },
        lead: if one { Duration::ZERO } else { delay },
        rest: Duration::from_millis(millis(request.rest)),
        closed: closed(case, request),
    }
}

/// Returns the time until the hours of a host begin that is asked; cases with hours have clocks that nobody sets.
fn closed(case: &Case, request: &Request) -> Duration {
    let treatment = case.frontier.treatments.as_ref().and_then(|treatments| treatments.of(&request.host));
    let politeness = treatment.as_ref().map_or(&case.frontier.politeness, |treatment| &treatment.politeness);
    politeness.closed(BEGIN + Duration::from_millis(request.start))
}

fn is_excused(offence: &Offence<&Request>, request: &Request, ends: &[Ended]) -> bool {
    match offence {
        Offence::TooManyAtOnce(_) => false,
        // so is what is sent again when a lease is back
        Offence::OutsideHours(_) => request.again,
        Offence::RestCutShort { early, .. } => may_be_forgotten(early.before, request, ends),
        // what is sent again when a lease is back has no turn of its own: neither at its address, nor at a host with
        // several connections
        Offence::AfterStart(early) | Offence::Address(early) if early.before.again || request.again => true,
        Offence::AfterStart(early) | Offence::AfterEnd(early) | Offence::Address(early) => {
            clock_says_over(early.before, request, ends)
        }
    }
}

fn described(offence: &Offence<&Request>) -> String {
    let early = |what: &str, early: &Early<&Request>| {
        format!("{:?} after {}, not {:?}: {what}", early.gap, early.before.url, early.owed)
    };
    match offence {
        Offence::TooManyAtOnce(number) => format!("one of {number} requests at once to its host"),
        Offence::AfterStart(late) => early("between two starts", late),
        Offence::AfterEnd(late) => early("after an answer", late),
        Offence::RestCutShort { early: late, .. } => early("a rest was asked for", late),
        Offence::Address(late) => early("at the same address", late),
        Offence::OutsideHours(closed) => format!("{closed:?} before the hours of its host"),
    }
}

/// Returns whether the clock was set forward between the two. A process that starts again has only the clock to know
/// how long it was away.
fn clock_says_over(before: &Request, request: &Request, ends: &[Ended]) -> bool {
    let between = |end: &&Ended| (before.end..request.start.saturating_add(1)).contains(&end.at);
    ends.iter().filter(between).any(|end| end.clock_set_forward)
}

/// Returns whether a rest may be forgotten: it began right before a death that the answer itself did not survive
/// either, or the clock says that it is over.
fn may_be_forgotten(rest: &Request, request: &Request, ends: &[Ended]) -> bool {
    /// Time from the answer to the moment at which its rest is on the disk for certain.
    const WRITTEN: Duration = Duration::from_secs(4);
    if clock_says_over(rest, request, ends) {
        return true;
    }
    if rest.archived {
        return false;
    }
    let since = rest.start..request.start.saturating_add(1);
    let taken_over = |end: &&Ended| end.taken_over && since.contains(&end.at);
    if ends.iter().any(|end| taken_over(&end)) {
        return true;
    }
    let dies = |end: &&Ended| !end.clean && (rest.end..request.start.saturating_add(1)).contains(&end.at);
    ends.iter().filter(dies).any(|end| {
        let lived = end.at - rest.end;
        lived == 0 || (end.power_cut && lived < millis(WRITTEN))
    })
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
    for request in requests.iter().filter(|request| !request.is_for_page && pages.contains_key(&request.url)) {
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
    /// Bytes that may have been in progress when the account of bytes was last asked.
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
