//! The clauses of the crash contract, and what breaks one.

use std::fmt;

/// The clauses. docs/architecture/checkpoints.md has the contract.
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
    /// No request is made for a URL that robots.txt forbids or that nobody links.
    Obeys,
    /// Requests in flight, active hosts and their memory stay within what the settings allow.
    Bounded,
    /// Cookies go back to those alone who have set them.
    Cookies,
    /// Budgets, limits and rates are not overrun.
    Limited,
    /// Supporters of domains follow from the links of the pages in the archive.
    Counts,
    /// No worker is idle for long while a URL with budget could be asked for.
    Busy,
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
