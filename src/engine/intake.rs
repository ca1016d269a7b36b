//! Seeds on their way into the crawl: numbered before anything else, admitted a few at a time between two events.
//!
//! All seeds of a run get their numbers when the crawl is opened, before the replay, so that what is replayed finds the
//! seeds that it speaks of. They are admitted once [`Engine::admit_listed`] or [`Engine::refetch_listed`] says so: those of
//! this run in their order, then those that an earlier run listed and did not come to admit before it was killed. A
//! million of them hold up no event, and the first ones are asked for while the last ones wait here, four bytes each.
//!
//! The next checkpoint notes that all are admitted; one in between does not, and a start behind it begins again. To be
//! admitted twice does no harm: the URL-seen test passes over the second time.

use std::ops::Range;

use super::seeds::SeedTable;
use super::{Engine, Phase, Refetch, queued_url};
use crate::disk::Result;
use crate::web::seeds::Seed;

/// Seeds that are admitted between two looks at the network.
const SEEDS_PER_PUMP: usize = 500;

/// Seeds that wait.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// Those of this run, and how many of them are in.
    listed: Vec<u32>,
    taken: usize,
    /// Of earlier runs.
    backlog: Range<u32>,
    begun: bool,
    /// Whether those of this run are fetched again.
    forced: bool,
}

impl Intake {
    /// Gives the seeds of this run their numbers.
    pub(super) fn number(table: &mut SeedTable, seeds: impl Iterator<Item = Seed>) -> Result<Intake> {
        let backlog = table.admitted()..table.len();
        let number = |seed: Seed| table.number(seed.url.as_str(), seed.fallback.as_ref().map(|url| url.as_str()));
        let listed = seeds.map(number).collect::<Result<Vec<u32>>>()?;
        Ok(Intake { listed, backlog, ..Intake::default() })
    }

    /// The seeds of this run, by number.
    pub(super) fn listed(&self) -> &[u32] {
        &self.listed
    }

    /// Whether there are seeds that `pump` has to admit.
    pub(super) fn is_waiting(&self) -> bool {
        self.begun && !self.is_empty()
    }

    /// Whether every seed is in.
    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.listed.len() && self.backlog.is_empty()
    }

    /// Whether some of them have to be in, and durable, before any request is made.
    pub(super) fn holds_requests(&self) -> bool {
        self.is_waiting() && self.forced
    }

    /// The next one, and whether it is fetched again.
    fn next(&mut self) -> Option<(u32, bool)> {
        match self.listed.get(self.taken) {
            Some(&number) => {
                self.taken += 1;
                Some((number, self.forced))
            }
            None => self.backlog.next().map(|number| (number, false)),
        }
    }
}

impl Engine {
    /// Lets the seeds that the crawl was opened with in; says how many those of this run are.
    pub fn admit_listed(&mut self) -> usize {
        self.intake.begun = true;
        self.intake.listed.len()
    }

    /// As [`Engine::admit_listed`], to be fetched again although they were seen.
    pub fn refetch_listed(&mut self) -> Result<Refetch> {
        let listed = std::mem::take(&mut self.intake.listed);
        self.begin_round(listed)
    }

    /// Gives `seeds` their numbers, and lets them in to be fetched again.
    pub fn refetch(&mut self, seeds: &[Seed]) -> Result<Refetch> {
        let listed = Intake::number(&mut self.books.seeds, seeds.iter().cloned())?.listed;
        self.begin_round(listed)
    }

    fn begin_round(&mut self, listed: Vec<u32>) -> Result<Refetch> {
        let refetch = self.round_of(&listed);
        let backlog = self.intake.backlog.clone();
        self.intake = Intake { listed, taken: 0, backlog, begun: true, forced: true };
        if self.intake.is_empty() {
            self.hold_until_durable();
        }
        Ok(refetch)
    }

    /// Admits some of the seeds that wait.
    pub(super) fn admit_waiting(&mut self) -> Result<()> {
        if self.phase != Phase::Crawling || !self.intake.is_waiting() {
            return Ok(());
        }
        let holds = self.intake.holds_requests();
        for _ in 0..SEEDS_PER_PUMP {
            let Some((number, forced)) = self.intake.next() else { break };
            if forced {
                self.force(number)?;
            } else {
                self.admit_numbered(number, false)?;
            }
        }
        self.collect_dropped()?;
        if self.intake.is_empty() {
            self.intake.listed = Vec::new();
            self.intake.taken = 0;
            if holds {
                self.hold_until_durable();
            }
        }
        Ok(())
    }

    /// Admits the seed `number` as it was listed.
    pub(super) fn admit_numbered(&mut self, number: u32, forced: bool) -> Result<()> {
        match self.books.seeds.get(number)? {
            Some(seed) => self.admit_seed_as(number, &queued_url(&seed.url), forced),
            None => Ok(()),
        }
    }
}
