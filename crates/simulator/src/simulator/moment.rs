//! Rules for a simulated crawl between two events, and at the end of a process.

use super::case::{Case, WholeLimits};
use super::clause::{Clause, Violation};
use crate::engine::Accounts;
use crate::record::{Finish, Gauges, Statistics};

/// Time and way in which a process ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Time in true milliseconds.
    pub at: u64,
    /// True if it ended by a stop, not by a death.
    pub clean: bool,
    /// The machine lost what was not synced.
    pub power_cut: bool,
    /// The clock was set forward before the next process began: to it, more time has passed than has.
    pub clock_set_forward: bool,
    /// It was set back.
    pub clock_set_back: bool,
    /// Another node goes on from what was committed.
    pub taken_over: bool,
}

/// Returns whether an answer ends its URL, which is then not asked for again.
pub(super) fn is_final(status: u16, truncated: bool) -> bool {
    !truncated && !matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// Judges what a crawl holds in memory at this moment.
pub(super) fn bounded(case: &Case, gauges: &Gauges) -> Result<(), Violation> {
    // one take may bring this many URLs of up to 2 KiB beyond the limit at which no more are begun
    const TAKE: u64 = 512 << 10;
    let memory = case.frontier.memory as u64 + TAKE;
    // hosts that come back from a job are let in although others have taken their places meanwhile
    let hosts = case.frontier.active_hosts as u64 + 64;
    let slots = &case.settings.slots;
    let workers = slots.workers_most.unwrap_or(slots.workers);
    let bounds = [
        ("requests in flight", gauges.in_flight, (workers + slots.slow) as u64),
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
    let overrun = limits.pages.is_some_and(|limit| statistics.counted_pages() > limit.max(stored_before));
    let early = match finish {
        Finish::PageLimit => limits.pages.is_none_or(|limit| statistics.counted_pages() < limit),
        Finish::ByteLimit => limits.bytes.is_none_or(|limit| statistics.bytes_received < limit),
        Finish::TimeLimit => limits.time.is_none_or(|limit| statistics.elapsed < limit),
        _ => false,
    };
    if overrun || early {
        let what = format!("{finish} with {} pages, {limits:?}", statistics.counted_pages());
        return Err(Violation::new(Clause::Limited, what));
    }
    Ok(())
}

/// Returns whether an answer of `status` may ask for a rest that holds its host back.
pub(super) fn asks_for_rest(status: u16) -> bool {
    status == 429 || status >= 500
}
