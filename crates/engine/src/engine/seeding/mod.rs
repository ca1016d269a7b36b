//! Seeding: what a run lists comes into the crawl, once, or again where somebody wants that.
//!
//! [`intake`] has the seeds that wait, [`anew`] the answers that are asked for again; a [round](super::round) has
//! those that are fetched again. What became of each seed is in the [table](super::seeds).

mod anew;
mod intake;

pub use anew::AnswerSettings;
pub(super) use anew::{Recheck, is_of_its_name};
pub(super) use intake::Intake;

use super::past::Past;
use super::round::Refetch;
use super::seeds::SeedTable;
use crate::checkpoint::Round;
use crate::record::Finish;

/// The seeds of this run on their way in, and what is asked again.
pub(super) struct Seeding {
    /// Seeds that are not admitted yet.
    pub intake: Intake,
    /// The last round of fetching again.
    pub round: Round,
    /// Answers that are asked for again although they still hold.
    pub anew: Recheck,
    /// The way in which the run before left the crawl, and whether it was one with `--force` and did not end in good
    /// order.
    past: Past,
    killed_in_round: bool,
    /// Number of lists of the crawl that are fetched again and were looked at.
    pub lists_again: usize,
}

impl Seeding {
    /// The seeding of a run behind one that left the crawl like `past`, with this last round.
    pub(crate) fn new(intake: Intake, round: Round, anew: Recheck, past: Past) -> Seeding {
        let killed_in_round = past == Past::Killed && round.running;
        Seeding { intake, round: Round { running: false, ..round }, anew, past, killed_in_round, lists_again: 0 }
    }

    /// Begins a round for the seeds of these numbers, or goes on with the last one; `key_bytes` is the length of
    /// key.dat.
    pub(crate) fn begin_round(&mut self, listed: &[u32], seeds: &SeedTable, key_bytes: u64) -> Refetch {
        let goes_on = self.round_goes_on(listed, seeds);
        if !goes_on {
            self.round.number += 1;
            self.round.from = key_bytes;
        }
        self.round.running = true;
        self.in_round(listed, seeds, goes_on)
    }

    /// Returns which of the seeds of these numbers the round, which runs, does not have yet.
    pub(crate) fn in_round(&self, listed: &[u32], seeds: &SeedTable, goes_on: bool) -> Refetch {
        let round = self.round.number;
        let mut new: Vec<u32> = listed.iter().copied().filter(|&seed| seeds.round_of(seed) != round).collect();
        new.sort_unstable();
        new.dedup();
        Refetch { round, goes_on, seeds: new.len() as u64, listed: listed.len() as u64 }
    }

    /// Another shard has begun the round `number`: what is in key.dat behind this moment belongs to it.
    pub(crate) fn enter_round(&mut self, number: u32, key_bytes: u64) {
        self.round = Round { number, from: key_bytes, running: true };
    }

    pub(crate) fn round_goes_on(&self, listed: &[u32], seeds: &SeedTable) -> bool {
        let is_left = || listed.iter().any(|&seed| seeds.waits_in_round(seed, self.round.number));
        match self.past {
            _ if self.round.number == 0 => false,
            Past::New | Past::Stopped(Finish::Complete) => false,
            Past::Killed if self.killed_in_round => true,
            Past::Killed | Past::Stopped(_) => is_left(),
        }
    }
}
