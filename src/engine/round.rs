//! Rounds of fetching again: seeds that are asked for although they were seen (`--force`).
//!
//! A round has a number, and every seed remembers the last round that it was put into. It is put into a round once,
//! no matter who lists it or how often. The seeds of a round enter the queue as *forced* URLs: the URL-seen test lets
//! such a URL through where its key is known, and everything behind it (robots.txt, budgets, politeness) treats it like
//! any other. One whose key is new is not forced but fetched as in any run. The target of a forced seed's redirect is
//! forced too.
//!
//! A run with `--force` begins a round, or goes on with the last one: after a kill in it, and after a stop that left
//! one of its listed seeds without an outcome. A crawl that came to its end, or a stop after the last of them, ends a
//! round.
//!
//! No request is made before the round, its seeds' marks and their queued URLs are in a durable checkpoint. So whatever
//! is stored in a round belongs to a URL that the checkpoint has, and a replay takes it out like any other.

use serde::{Deserialize, Serialize};

/// The last round of fetching again, as a checkpoint notes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// 1, 2, 3, ...; 0 where there was none.
    pub number: u32,
    /// Length of key.dat when it began: what lies behind was stored in it or later.
    pub from: u64,
    /// Whether the run that made the checkpoint is one with `--force`.
    pub running: bool,
}

/// A round that was begun, or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refetch {
    /// Number of the round.
    pub round: u32,
    /// Whether the round had begun in an earlier run.
    pub goes_on: bool,
    /// Listed seeds that were not in it yet.
    pub seeds: u64,
    /// Lines that list a seed.
    pub listed: u64,
}
