//! Budgets of domains that follow from who links to them, given out in rounds.
//!
//! A domain is linked to by other domains, its *supporters*; they are counted once each, by the owner of the frontier
//! ([`Frontier::support`]). In a round a domain may have this many pages as its supporters are worth
//! ([`RoundBudgets::pages`]): the least where none is known, the most for the domains with most of them and for those
//! of the seeds, and linear in between. What exceeds that rests: it stays where it is, in memory or on disk, and no
//! take looks at it, until the next round gives every domain as much again. Nothing is dropped for it, and nothing is
//! read again.
//!
//! Guarantees:
//! - a domain has no more pages in a round than its budget was when the last of them began, pages in flight included,
//!   and its hosts' robots.txt are asked for no more often than that;
//! - a round begins only where something rests, a worker is idle, and no host with budget is ready. URLs on their way
//!   and hosts that wait for their delays hold it up for a hundredth of the time that the last one took
//!   ([`Patience`]). Between two rounds is the time in which one host has the least budget by its delay, so that a
//!   domain of many hosts without supporters gets no more than one host would ([`Frontier::round_due`]);
//! - supporters, pages and what was used of the round are sums that merges add up in passing ([`DomainTotals`]);
//! - how many supporters are worth the most follows from a histogram of all merged domains ([`Histogram`]), looked up
//!   where new ones came and a round begins, and whenever an eighth more supporters have come
//!   ([`Rounds::is_look_due`]), so that its cost is nothing beside theirs.
//!
//! Cost: some ten bytes in a tail for a new supporter, a histogram of some hundred bytes for each partition. Where
//! budgets do not follow from supporters there is no such part, and the files are as they were before.
//!
//! After IRLbot (Lee, Leonard, Wang, Loguinov, "IRLbot: Scaling to 6 Billion Pages and Beyond", WWW 2008): its budgets
//! by in-degree (STAR) and its delaying of what exceeds them (BEAST). Different here: what waits is in the partitions
//! of its hosts and is skipped there, where IRLbot writes it to a queue that it reads again and again; and the top is
//! found by a histogram, not by a sort.

mod histogram;
mod patience;
mod round;
mod saved;
mod totals;

pub(super) use histogram::Histogram;
use patience::Patience;
pub(super) use round::{Round, Rounds};
pub(super) use saved::{Saved, SavedDomain, SavedPartition};
pub(super) use totals::DomainTotals;

pub use round::{RoundBudgets, RoundLook};
