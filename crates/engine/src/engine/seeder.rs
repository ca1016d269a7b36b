//! Seeds on their way in: those of this run and of earlier ones, those that are fetched again, and those that an
//! operator adds.
//!
//! What waits is in [`Seeding`], and every seed takes the way of what is found ([`Admission`]). Where a crash could
//! forget a seed for which something is archived, no request is made before a checkpoint that has it is durable.

use std::collections::HashSet;
use std::sync::Arc;

use super::admission::Admission;
use super::checkpoint::Checkpoints;
use super::discovery::Discovery;
use super::requests::Requests;
use super::round::{Refetch, RoundWanted};
use super::seeding::{Intake, Seeding, is_of_its_name};
use super::seeds::reader;
use crate::disk::{Error, Result};
use crate::web::seeds::Seed;
use crate::web::url::CanonicalUrl;

/// Seeds that are admitted between two looks at the network.
const SEEDS_PER_PUMP: usize = 500;

/// Lets seeds in.
pub struct Seeder<'a> {
    pub(super) admission: &'a mut Admission,
    pub(super) requests: &'a mut Requests,
    pub(super) checkpoints: &'a mut Checkpoints,
}

impl Seeder<'_> {
    /// Lets the seeds that the crawl was opened with in; says how many those of this run are.
    pub fn admit_listed(&mut self) -> usize {
        self.admission.seeding.intake.begin()
    }

    /// Does the same as [`Seeder::admit_listed`], for seeds that are to be fetched again although they were seen.
    pub fn refetch_listed(&mut self) -> Result<Refetch> {
        let listed = self.admission.seeding.intake.take_listed();
        self.begin_round(listed)
    }

    /// Returns how this shard would go on with the last round that it knows.
    pub fn round_wanted(&self) -> RoundWanted {
        let Seeding { intake, round, .. } = &self.admission.seeding;
        RoundWanted {
            number: round.number,
            goes_on: self.admission.seeding.round_goes_on(intake.listed(), &self.admission.books.seeds),
        }
    }

    /// Does the same as [`Seeder::refetch_listed`], in a round that was decided for all shards of the crawl.
    pub fn refetch_listed_in(&mut self, decided: RoundWanted) -> Result<Refetch> {
        let listed = self.admission.seeding.intake.take_listed();
        if self.admission.seeding.round.number == decided.number {
            self.admission.seeding.round.running = true;
        } else {
            self.admission.seeding.enter_round(decided.number, self.admission.container.key_bytes());
        }
        let refetch = self.admission.seeding.in_round(&listed, &self.admission.books.seeds, decided.goes_on);
        self.let_in_forced(listed);
        Ok(refetch)
    }

    /// Gives `seeds` their numbers, and lets them in to be fetched again.
    pub fn refetch(&mut self, seeds: &[Seed]) -> Result<Refetch> {
        let listed = Intake::number(&mut self.admission.books.seeds, seeds.iter().cloned())?.take_listed();
        self.begin_round(listed)
    }

    fn begin_round(&mut self, listed: Vec<u32>) -> Result<Refetch> {
        let refetch = self.round_of(&listed);
        self.let_in_forced(listed);
        Ok(refetch)
    }

    fn let_in_forced(&mut self, listed: Vec<u32>) {
        self.admission.seeding.intake.begin_forced(listed);
        if self.admission.seeding.intake.is_empty() {
            self.hold_until_durable();
        }
    }

    fn round_of(&mut self, listed: &[u32]) -> Refetch {
        self.admission.seeding.begin_round(listed, &self.admission.books.seeds, self.admission.container.key_bytes())
    }

    /// Puts the seeds of this run whose names could not be resolved, or only to addresses that were refused, into a
    /// round of fetching again, where the settings that decided about it have changed since; says how many they are.
    pub fn refetch_unresolved(&mut self) -> Result<usize> {
        if !self.admission.seeding.anew.resolves_otherwise() {
            return Ok(0);
        }
        let mut failed = HashSet::new();
        reader::for_each(&self.admission.home.disk, &self.admission.home.dir, |number, seed| {
            if is_of_its_name(&seed.status) {
                failed.insert(number);
            }
            Ok::<_, Error>(())
        })?;
        let listed = self.admission.seeding.intake.listed().iter().copied();
        let mut again: Vec<u32> = listed.filter(|number| failed.contains(number)).collect();
        again.sort_unstable();
        again.dedup();
        if !again.is_empty() {
            self.round_of(&again);
            again.iter().try_for_each(|&number| self.admission.force(number))?;
            self.hold_until_durable();
        }
        Ok(again.len())
    }

    /// Admits some of the seeds that wait.
    pub(crate) fn admit_waiting(&mut self) -> Result<()> {
        if !self.admission.seeding.intake.is_waiting() {
            return Ok(());
        }
        let holds = self.admission.seeding.intake.holds_requests();
        for _ in 0..SEEDS_PER_PUMP {
            let Some((number, forced)) = self.admission.seeding.intake.next() else { break };
            if forced {
                self.admission.force(number)?;
            } else {
                self.admission.admit_numbered(number)?;
            }
        }
        self.admission.collect_dropped()?;
        self.admission.seeding.intake.forget();
        if holds && !self.admission.seeding.intake.holds_requests() {
            self.hold_until_durable();
        }
        Ok(())
    }

    /// Admits a seed, and its number is remembered for ever.
    pub fn admit_seed(&mut self, url: &CanonicalUrl, fallback: Option<&CanonicalUrl>) -> Result<()> {
        let number = self.admission.books.seeds.number(url.as_str(), fallback.map(CanonicalUrl::as_str))?;
        self.admission.route(Discovery::Seed { number, url, forced: false })
    }

    /// Admits seeds as those of the file are admitted.
    pub(crate) fn take_seeds(&mut self, seeds: &[Seed]) -> Result<()> {
        for seed in seeds {
            self.admission.scope = Arc::new(self.admission.scope.with_seed(&seed.url));
            self.admit_seed(&seed.url, seed.fallback.as_ref())?;
        }
        self.hold_until_durable();
        Ok(())
    }

    /// Makes a checkpoint, and no request before it is durable.
    fn hold_until_durable(&mut self) {
        self.requests.hold_until(self.checkpoints.ahead());
        self.checkpoints.want();
    }
}
