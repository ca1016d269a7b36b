//! What a simulated crawl is held to: the crash contract, clause by clause.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::case::{Case, WholeLimits};
use super::machine::{Machine, pages_dir};
use super::{outcomes, polite};
use crate::container::{KeyRecord, Reader, Report, Standing, verify};
use crate::engine::Accounts;
use crate::record::{Finish, Gauges, Statistics};

/// The clauses. docs/ARCHITECTURE.md has the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clause {
    /// It reopens unaided, and never panics on its own files.
    Reopens,
    /// Every URL has exactly one outcome, and before it one place to wait in.
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
    /// Budgets, limits and rates are not overrun.
    Limited,
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
    /// It was set back.
    pub clock_set_back: bool,
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

/// Judges the account of all URLs at a moment between two events; at the end of a crawl that is complete it is closed.
pub(super) fn balanced(accounts: &Accounts, complete: bool) -> Result<(), Violation> {
    if accounts.are_balanced() && (!complete || accounts.are_closed()) {
        return Ok(());
    }
    Err(Violation::new(Clause::OneOutcome, format!("the account does not balance: {accounts:?}")))
}

/// Judges a process that ended by a limit of the whole crawl, or could have: `stored_before` pages were there when it
/// began.
pub(super) fn within_limits(
    limits: WholeLimits,
    finish: Finish,
    statistics: &Statistics,
    stored_before: u64,
) -> Result<(), Violation> {
    let overrun = limits.pages.is_some_and(|limit| statistics.pages_stored > limit.max(stored_before));
    let early = match finish {
        Finish::PageLimit => limits.pages.is_none_or(|limit| statistics.pages_stored < limit),
        Finish::ByteLimit => limits.bytes.is_none_or(|limit| statistics.bytes_received < limit),
        Finish::TimeLimit => limits.time.is_none_or(|limit| statistics.elapsed < limit),
        _ => false,
    };
    if overrun || early {
        let what = format!("{finish} with {} pages, {limits:?}", statistics.pages_stored);
        return Err(Violation::new(Clause::Limited, what));
    }
    Ok(())
}

/// Whether an answer of `status` may ask for a rest that holds its host back.
pub(super) fn asks_for_rest(status: u16) -> bool {
    status == 429 || status >= 500
}

/// Judges a crawl that is complete.
pub(super) fn judge(machine: &Machine, statistics: &Statistics) -> Result<(), Violation> {
    polite::judge(machine)?;
    obeys(machine)?;
    let found = archive(machine, statistics)?;
    if machine.case().leaves_out() {
        outcomes::judge(machine, statistics, &found)?;
    } else {
        outcomes(machine, statistics)?;
    }
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

/// The newest version of each URL is what the web has; without settings that leave URLs out, all of it is there.
fn archive(machine: &Machine, statistics: &Statistics) -> Result<BTreeMap<String, KeyRecord>, Violation> {
    let unreadable = |error: crate::disk::Error| Violation::new(Clause::Sound, error.to_string());
    let reader = Reader::open(machine.disk(), &pages_dir()).map_err(unreadable)?;
    let mut found = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        if !record.robots {
            found.insert(record.url.clone(), record);
        }
    }
    // a budget may have been used up between two attempts
    found.retain(|_, record| !machine.case().leaves_out() || is_final(record.status, record.truncated));
    let network = machine.network();
    let expected = &network.web().expected().pages;
    for (url, record) in &found {
        let Some(page) = expected.get(url) else {
            return Err(Violation::new(Clause::Obeys, format!("{url} is in the archive, and is no page of the web")));
        };
        if (record.status, record.payload_sha1) != (page.status, page.body_sha1) {
            let what = format!("{url} is in the archive as {} with another body than {}", record.status, page.status);
            return Err(Violation::new(Clause::NothingMissing, what));
        }
        let body = reader.response(record).map_err(unreadable)?.body;
        if body.len() as u64 != record.payload_bytes {
            let what = format!("{url}: {} bytes of {}", body.len(), record.payload_bytes);
            return Err(Violation::new(Clause::Sound, what));
        }
    }
    let missing = expected.keys().find(|url| !found.contains_key(*url));
    match missing.filter(|_| !machine.case().leaves_out()) {
        Some(url) => {
            let what = format!("{url} is not in the archive; dropped: {:?}", statistics.dropped);
            Err(Violation::new(Clause::NothingMissing, what))
        }
        None => Ok(found),
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

/// Hosts of the requests, for a report.
pub(super) fn hosts(machine: &Machine) -> usize {
    machine.network().log.iter().map(|request| request.host.clone()).collect::<BTreeSet<_>>().len()
}
