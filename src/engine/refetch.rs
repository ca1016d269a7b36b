//! Rounds of fetching again: seeds that are asked for although they were seen (`--force`).
//!
//! A round has a number, and every seed remembers the last round that it was put into. It is put into a round once,
//! whoever lists it how often. The seeds of a round enter the queue as *forced* URLs: the URL-seen test lets such a URL
//! through where its key is known, and everything behind it (robots.txt, budgets, politeness) treats it like any other.
//! One whose key is new is not forced but fetched as in any run. The target of a forced seed's redirect is forced too.
//!
//! A run with `--force` begins a round, or goes on with the last one: after a kill in it, and after a stop that left one
//! of its listed seeds without an outcome. A crawl that came to its end, or a stop after the last of them, ends a round.
//!
//! No request is made before the round, its seeds' marks and their queued URLs are in a durable checkpoint. So whatever
//! is stored in a round belongs to a URL that the checkpoint has, and a replay takes it out like any other.

use serde::{Deserialize, Serialize};

use super::{Engine, Past, queued_url};
use crate::disk::Result;
use crate::frontier::QueuedUrl;
use crate::outcome::{Verdict, judge_answer};
use crate::record::Finish;

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

impl Engine {
    /// Begins a round for the seeds of these numbers, or goes on with the last one.
    pub(super) fn round_of(&mut self, listed: &[u32]) -> Refetch {
        let goes_on = self.round_goes_on(listed);
        if !goes_on {
            self.round.number += 1;
            self.round.from = self.container.key_bytes();
        }
        self.round.running = true;
        let round = self.round.number;
        let mut new: Vec<u32> =
            listed.iter().copied().filter(|&seed| self.books.seeds.round_of(seed) != round).collect();
        new.sort_unstable();
        new.dedup();
        Refetch { round, goes_on, seeds: new.len() as u64, listed: listed.len() as u64 }
    }

    /// Puts the seed `number` into the round, and admits it, unless that was done before.
    pub(super) fn force(&mut self, number: u32) -> Result<()> {
        if !self.books.seeds.enter_round(number, self.round.number)? {
            return Ok(());
        }
        let Some(seed) = self.books.seeds.get(number)? else { return Ok(()) };
        let url = queued_url(&seed.url);
        // of an earlier round, whose URL ended before its turn came
        let key = self.keys.keys(&url).key;
        let arrival = self.way.arrival();
        // its page has had its end; a URL of it that is still queued is told by the archive to be a known one
        arrival.again += u64::from(arrival.replayed.remove(&(key, true)));
        self.admit_seed_as(number, &url, true)
    }

    fn round_goes_on(&self, listed: &[u32]) -> bool {
        let is_left = || listed.iter().any(|&seed| self.books.seeds.waits_in_round(seed, self.round.number));
        match self.past {
            _ if self.round.number == 0 => false,
            Past::New | Past::Stopped(Finish::Complete) => false,
            Past::Killed if self.killed_in_round => true,
            Past::Killed | Past::Stopped(_) => is_left(),
        }
    }

    /// The status of `url`, where it is to be fetched again and this round has done so: as the target of a redirect, say.
    pub(super) fn fetched_in_round(&self, url: &QueuedUrl) -> Result<Option<u16>> {
        if !url.forced || url.attempts > 0 {
            return Ok(None);
        }
        let newest = self.container.newest(url.key, &url.url)?;
        let of_round = newest.filter(|record| record.offset >= self.round.from && !record.robots);
        // an answer that is worth another attempt may be one whose second attempt a kill prevented
        let retries = self.settings.retries;
        let is_last = |status, cut| judge_answer(status, cut, 0, retries) != Verdict::Retry;
        Ok(of_round.filter(|record| is_last(record.status, record.truncated)).map(|record| record.status))
    }
}
