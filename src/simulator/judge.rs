//! What a simulated crawl is held to: the crash contract, clause by clause.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use super::case::Case;
use super::machine::{Machine, pages_dir};
use super::network::{Request, millis};
use crate::container::{Reader, Report, Standing, verify};
use crate::report::{Gauges, Statistics};

/// The clauses. docs/ARCHITECTURE.md has the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clause {
    /// It reopens unaided, and never panics on its own files.
    Reopens,
    /// Every URL has exactly one outcome.
    OneOutcome,
    /// A page whose record is whole in the archive is not fetched again.
    NothingTwice,
    /// The pages are those of an uninterrupted crawl, with the same content.
    NothingMissing,
    /// Delays, rests and connections hold over every restart.
    Polite,
    /// The archive is sound by its own verification.
    Sound,
    /// What robots.txt forbids is never asked for, nor what nobody links.
    Obeys,
    /// Requests in flight, active hosts and their memory stay within what the settings allow.
    Bounded,
    /// The crawl ends.
    Ends,
}

/// A clause that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub clause: Clause,
    /// How.
    pub what: String,
}

impl Violation {
    pub(super) fn new(clause: Clause, what: impl Into<String>) -> Self {
        Violation { clause, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.clause, self.what)
    }
}

/// When and how a process ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// In true milliseconds.
    pub at: u64,
    /// By a stop, not by a death.
    pub clean: bool,
    /// The machine lost what was not synced.
    pub power_cut: bool,
    /// The clock was set forward before the next process began: to it, more time has passed than has.
    pub clock_set_forward: bool,
}

/// Whether an answer ends its URL: not one that is asked for again.
pub(super) fn is_final(status: u16, truncated: bool) -> bool {
    !truncated && !matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// Judges what a crawl holds in memory at this moment.
pub(super) fn bounded(case: &Case, gauges: &Gauges) -> Result<(), Violation> {
    // one take may bring so many URLs of up to 2 KiB beyond the limit at which no more are begun
    const TAKE: u64 = 512 << 10;
    let memory = case.frontier.memory as u64 + TAKE;
    // hosts that come back from a job are let in although others have taken their places meanwhile
    let hosts = case.frontier.active_hosts as u64 + 64;
    let bounds = [
        ("requests in flight", gauges.in_flight, (case.settings.slots.workers + case.settings.slots.slow) as u64),
        ("active hosts", gauges.hosts_active, hosts),
        ("bytes of active hosts", gauges.hosts_active_bytes, memory),
    ];
    match bounds.into_iter().find(|(_, found, bound)| found > bound) {
        Some((what, found, bound)) => Err(Violation::new(Clause::Bounded, format!("{found} {what}, not {bound}"))),
        None => Ok(()),
    }
}

/// Judges a crawl that is complete.
pub(super) fn judge(machine: &Machine, statistics: &Statistics) -> Result<(), Violation> {
    polite(machine)?;
    obeys(machine)?;
    archive(machine, statistics)?;
    outcomes(machine, statistics)?;
    sound(machine)
}

fn obeys(machine: &Machine) -> Result<(), Violation> {
    let network = machine.network();
    let expected = network.web().expected();
    let strange = network.log.iter().find(|request| !expected.may_request(&request.url));
    strange.map_or(Ok(()), |request| {
        Err(Violation::new(Clause::Obeys, format!("{} was asked for at {} ms", request.url, request.start)))
    })
}

/// The newest version of each URL is what the web has.
fn archive(machine: &Machine, statistics: &Statistics) -> Result<(), Violation> {
    let unreadable = |error: crate::disk::Error| Violation::new(Clause::Sound, error.to_string());
    let reader = Reader::open(machine.disk(), &pages_dir()).map_err(unreadable)?;
    let mut found = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        if !record.robots {
            found.insert(record.url.clone(), record);
        }
    }
    let network = machine.network();
    let expected = &network.web().expected().pages;
    for (url, page) in expected {
        let Some(record) = found.remove(url) else {
            let what = format!("{url} is not in the archive; dropped: {:?}", statistics.dropped);
            return Err(Violation::new(Clause::NothingMissing, what));
        };
        if (record.status, record.payload_sha1) != (page.status, page.body_sha1) {
            let what = format!("{url} is in the archive as {} with another body than {}", record.status, page.status);
            return Err(Violation::new(Clause::NothingMissing, what));
        }
        let body = reader.response(&record).map_err(unreadable)?.body;
        if body.len() as u64 != record.payload_bytes {
            return Err(Violation::new(
                Clause::Sound,
                format!("{url}: {} bytes of {}", body.len(), record.payload_bytes),
            ));
        }
    }
    match found.keys().next() {
        Some(url) => Err(Violation::new(Clause::Obeys, format!("{url} is in the archive, and is no page of the web"))),
        None => Ok(()),
    }
}

/// The counters, which are part of every checkpoint, count every URL once.
fn outcomes(machine: &Machine, statistics: &Statistics) -> Result<(), Violation> {
    let network = machine.network();
    let expected = network.web().expected();
    let known = expected.pages.len() + expected.disallowed.len() + expected.unfetched.len();
    let dropped: u64 = statistics.dropped.values().sum();
    let failed = statistics.unique.saturating_sub(statistics.pages_stored + dropped);
    let pairs = [
        ("URLs that were new", statistics.unique, known as u64),
        ("pages stored", statistics.pages_stored, expected.pages.len() as u64),
        ("URLs without an outcome", failed, 0),
    ];
    for (what, found, right) in pairs {
        if found != right {
            return Err(Violation::new(Clause::OneOutcome, format!("{what}: {found}, not {right}: {statistics:?}")));
        }
    }
    Ok(())
}

fn sound(machine: &Machine) -> Result<(), Violation> {
    let mut damage = Vec::new();
    let mut tell = |finding: &crate::container::Finding| {
        if finding.damage {
            damage.push(format!("{} at {}: {}", finding.file.display(), finding.offset, finding.what));
        }
    };
    let mut quiet = |_, _| {};
    let mut report = Report::new(&mut tell, &mut quiet);
    let verified =
        verify(&machine.disk(), &pages_dir(), &Standing::Stopped { noted: None, clean: true }, None, &mut report);
    verified.map_err(|error| Violation::new(Clause::Sound, error.to_string()))?;
    match damage.into_iter().next() {
        Some(found) => Err(Violation::new(Clause::Sound, found)),
        None => Ok(()),
    }
}

/// Politeness by the log of the network, in true time.
fn polite(machine: &Machine) -> Result<(), Violation> {
    let case = machine.case();
    let network = machine.network();
    let mut requests: Vec<&Request> = network.log.iter().collect();
    requests.sort_by_key(|request| (request.start, request.end));
    let mut hosts: HashMap<&str, Vec<&Request>> = HashMap::new();
    for request in requests {
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

/// Whether a rest may be forgotten: it began right before a death, or the clock says that it is over.
fn may_be_forgotten(rest: &Request, request: &Request, ends: &[Ended]) -> bool {
    /// From the answer to the moment at which its rest is on the disk for certain.
    const WRITTEN: Duration = Duration::from_secs(4);
    if clock_says_over(rest, request, ends) {
        return true;
    }
    let dies = |end: &&Ended| !end.clean && (rest.end..request.start.saturating_add(1)).contains(&end.at);
    ends.iter().filter(dies).any(|end| {
        let lived = end.at - rest.end;
        lived == 0 || (end.power_cut && lived < millis(WRITTEN))
    })
}

/// Hosts of the requests, for a report.
pub(super) fn hosts(machine: &Machine) -> usize {
    machine.network().log.iter().map(|request| request.host.clone()).collect::<BTreeSet<_>>().len()
}
