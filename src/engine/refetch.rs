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

use super::{Engine, Past};
use crate::disk::Result;
use crate::frontier::QueuedUrl;
use crate::outcome::{Verdict, judge_answer};
use crate::report::Finish;
use crate::web::seeds::Seed;

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

/// What [`Engine::refetch`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refetch {
    /// Number of the round.
    pub round: u32,
    /// Whether the round had begun in an earlier run.
    pub goes_on: bool,
    /// Seeds that were put into the round now.
    pub seeds: u64,
}

impl Engine {
    /// Admits the seeds of this run to be fetched again.
    pub fn refetch(&mut self, seeds: &[Seed]) -> Result<Refetch> {
        let goes_on = self.round_goes_on(seeds);
        if !goes_on {
            self.round.number += 1;
            self.round.from = self.container.key_bytes();
        }
        self.round.running = true;
        let mut put = 0;
        for seed in seeds {
            let number = self.seeds.number(seed.url.as_str(), seed.fallback.as_ref().map(|url| url.as_str()));
            if self.seeds.enter_round(number, self.round.number) {
                put += 1;
                // of an earlier round, whose URL ended before its turn came
                let key = self.keys.keys(&seed.url).key;
                let arrival = self.way.arrival();
                // its page has had its end; a URL of it that is still queued is told by the archive to be a known one
                arrival.again += u64::from(arrival.replayed.remove(&(key, true)));
                self.admit_seed_as(number, &seed.url, true)?;
            }
        }
        self.hold_until_durable();
        Ok(Refetch { round: self.round.number, goes_on, seeds: put })
    }

    fn round_goes_on(&self, seeds: &[Seed]) -> bool {
        let is_left = || seeds.iter().any(|seed| self.seeds.waits_in_round(seed.url.as_str(), self.round.number));
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
