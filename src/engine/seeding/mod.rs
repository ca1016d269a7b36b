//! Seeding: what a run lists comes into the crawl, once, or again where somebody wants that.
//!
//! [`intake`] has the seeds that wait, [`anew`] the bad answers that are asked for again; a [round](super::round) has
//! those that are fetched again. What became of each seed stands in the [table](super::seeds).

mod anew;
mod intake;

use std::collections::HashSet;

pub(super) use anew::Recheck;
pub(super) use intake::Intake;

use super::course::Phase;
use super::past::Past;
use super::round::{Refetch, Round, RoundWanted};
use super::route::Discovery;
use super::seeds::{SeedTable, reader};
use super::{Engine, queued_url};
use crate::calendar::{self, History, Recrawl};
use crate::clock::Time;
use crate::container::KeyRecord;
use crate::disk::{Error, Result};
use crate::frontier::QueuedUrl;
use crate::outcome::{Verdict, judge_answer};
use crate::record::Finish;
use crate::web::seeds::Seed;
use crate::web::url::CanonicalUrl;

/// Seeds that are admitted between two looks at the network.
const SEEDS_PER_PUMP: usize = 500;

/// The seeds of this run on their way in, and what is asked again.
pub(super) struct Seeding {
    /// Seeds that are not admitted yet.
    pub intake: Intake,
    /// The last round of fetching again.
    pub round: Round,
    /// Bad answers that are asked for again although they still hold.
    pub anew: Recheck,
    /// The way in which the run before left the crawl, and whether it was one with `--force` and did not end in good
    /// order.
    past: Past,
    killed_in_round: bool,
    /// Number of lists of the crawl that are fetched again and were looked at.
    lists_again: usize,
}

impl Seeding {
    /// The seeding of a run behind one that left the crawl like `past`, with this last round.
    pub fn new(intake: Intake, round: Round, anew: Recheck, past: Past) -> Seeding {
        let killed_in_round = past == Past::Killed && round.running;
        Seeding { intake, round: Round { running: false, ..round }, anew, past, killed_in_round, lists_again: 0 }
    }

    /// Begins a round for the seeds of these numbers, or goes on with the last one; `key_bytes` is the length of
    /// key.dat.
    fn begin_round(&mut self, listed: &[u32], seeds: &SeedTable, key_bytes: u64) -> Refetch {
        let goes_on = self.round_goes_on(listed, seeds);
        if !goes_on {
            self.round.number += 1;
            self.round.from = key_bytes;
        }
        self.round.running = true;
        self.in_round(listed, seeds, goes_on)
    }

    /// Returns which of the seeds of these numbers the round, which runs, does not have yet.
    fn in_round(&self, listed: &[u32], seeds: &SeedTable, goes_on: bool) -> Refetch {
        let round = self.round.number;
        let mut new: Vec<u32> = listed.iter().copied().filter(|&seed| seeds.round_of(seed) != round).collect();
        new.sort_unstable();
        new.dedup();
        Refetch { round, goes_on, seeds: new.len() as u64, listed: listed.len() as u64 }
    }

    /// Another shard has begun the round `number`: what lies in key.dat behind this moment belongs to it.
    pub fn enter_round(&mut self, number: u32, key_bytes: u64) {
        self.round = Round { number, from: key_bytes, running: true };
    }

    fn round_goes_on(&self, listed: &[u32], seeds: &SeedTable) -> bool {
        let is_left = || listed.iter().any(|&seed| seeds.waits_in_round(seed, self.round.number));
        match self.past {
            _ if self.round.number == 0 => false,
            Past::New | Past::Stopped(Finish::Complete) => false,
            Past::Killed if self.killed_in_round => true,
            Past::Killed | Past::Stopped(_) => is_left(),
        }
    }
}

impl Engine {
    /// Lets the seeds that the crawl was opened with in; says how many those of this run are.
    pub fn admit_listed(&mut self) -> usize {
        self.seeding.intake.begin()
    }

    /// Does the same as [`Engine::admit_listed`], for seeds that are to be fetched again although they were seen.
    pub fn refetch_listed(&mut self) -> Result<Refetch> {
        let listed = self.seeding.intake.take_listed();
        self.begin_round(listed)
    }

    /// Returns how this shard would go on with the last round that it knows.
    pub fn round_wanted(&self) -> RoundWanted {
        let Seeding { intake, round, .. } = &self.seeding;
        RoundWanted { number: round.number, goes_on: self.seeding.round_goes_on(intake.listed(), &self.books.seeds) }
    }

    /// Does the same as [`Engine::refetch_listed`], in a round that was decided for all shards of the crawl.
    pub fn refetch_listed_in(&mut self, decided: RoundWanted) -> Result<Refetch> {
        let listed = self.seeding.intake.take_listed();
        if self.seeding.round.number == decided.number {
            self.seeding.round.running = true;
        } else {
            self.seeding.enter_round(decided.number, self.container.key_bytes());
        }
        let refetch = self.seeding.in_round(&listed, &self.books.seeds, decided.goes_on);
        self.let_in_forced(listed);
        Ok(refetch)
    }

    /// Gives `seeds` their numbers, and lets them in to be fetched again.
    pub fn refetch(&mut self, seeds: &[Seed]) -> Result<Refetch> {
        let listed = Intake::number(&mut self.books.seeds, seeds.iter().cloned())?.take_listed();
        self.begin_round(listed)
    }

    /// Lets in what the whole crawl fetches again by lists that came since it began: seeds of this shard that were not
    /// put into the round of their list yet, nor into a later one.
    pub fn fetch_listed_again(&mut self) -> Result<()> {
        let Some(news) = self.news() else { return Ok(()) };
        let (lists, seeds) = (news.again.clone(), self.books.seeds.len());
        for list in lists.iter().skip(self.seeding.lists_again) {
            if list.seeds.iter().any(|&seed| seed >= seeds) {
                // the list of the seeds is read on before the next look
                return Ok(());
            }
            self.seeding.lists_again += 1;
            if list.round > self.seeding.round.number {
                self.seeding.enter_round(list.round, self.container.key_bytes());
            }
            let table = &self.books.seeds;
            let is_left = |seed: &u32| !table.is_foreign(*seed) && table.round_of(*seed) < list.round;
            let left: Vec<u32> = list.seeds.iter().copied().filter(is_left).collect();
            if left.is_empty() {
                continue;
            }
            tracing::info!(
                shard = self.home.shard.index(),
                round = list.round,
                "{} seeds are fetched again",
                left.len()
            );
            // a new order is a reason to think that bad answers are bad no longer
            let now = self.clock.now();
            (self.seeding.anew.since, self.stores.arrival.anew) = (now, now);
            self.seeding.intake.fetch_again(left.into_iter());
        }
        Ok(())
    }

    fn begin_round(&mut self, listed: Vec<u32>) -> Result<Refetch> {
        let refetch = self.round_of(&listed);
        self.let_in_forced(listed);
        Ok(refetch)
    }

    fn let_in_forced(&mut self, listed: Vec<u32>) {
        self.seeding.intake.begin_forced(listed);
        if self.seeding.intake.is_empty() {
            self.hold_until_durable();
        }
    }

    fn round_of(&mut self, listed: &[u32]) -> Refetch {
        self.seeding.begin_round(listed, &self.books.seeds, self.container.key_bytes())
    }

    /// Puts the seeds of this run whose names could not be resolved, or only to addresses that were refused, into a
    /// round of fetching again, where the settings that decided about it have changed since; says how many they are.
    pub fn refetch_unresolved(&mut self) -> Result<usize> {
        if !self.seeding.anew.is_changed {
            return Ok(0);
        }
        let mut failed = HashSet::new();
        reader::for_each(&self.home.disk, &self.home.dir, |number, seed| {
            if anew::is_of_its_name(&seed.status) {
                failed.insert(number);
            }
            Ok::<_, Error>(())
        })?;
        let listed = self.seeding.intake.listed().iter().copied();
        let mut again: Vec<u32> = listed.filter(|number| failed.contains(number)).collect();
        again.sort_unstable();
        again.dedup();
        if !again.is_empty() {
            self.round_of(&again);
            again.iter().try_for_each(|&number| self.force(number))?;
            self.hold_until_durable();
        }
        Ok(again.len())
    }

    /// Admits some of the seeds that wait.
    pub(super) fn admit_waiting(&mut self) -> Result<()> {
        if self.phase() != Phase::Crawling || !self.seeding.intake.is_waiting() {
            return Ok(());
        }
        let holds = self.seeding.intake.holds_requests();
        for _ in 0..SEEDS_PER_PUMP {
            let Some((number, forced)) = self.seeding.intake.next() else { break };
            if forced {
                self.force(number)?;
            } else {
                self.admit_numbered(number)?;
            }
        }
        self.collect_dropped()?;
        self.seeding.intake.forget();
        if holds && !self.seeding.intake.holds_requests() {
            self.hold_until_durable();
        }
        Ok(())
    }

    /// Admits a seed, and its number is remembered for ever.
    pub fn admit_seed(&mut self, url: &CanonicalUrl, fallback: Option<&CanonicalUrl>) -> Result<()> {
        let number = self.books.seeds.number(url.as_str(), fallback.map(CanonicalUrl::as_str))?;
        self.route(Discovery::Seed { number, url, forced: false })
    }

    /// Admits the seed `number` as it was listed.
    fn admit_numbered(&mut self, number: u32) -> Result<()> {
        if self.books.seeds.is_foreign(number) {
            return Ok(());
        }
        let Some(seed) = self.books.seeds.get(number)? else { return Ok(()) };
        self.route(Discovery::Seed { number, url: &queued_url(&seed.url), forced: false })
    }

    /// The seed `number` could not be fetched: what its line meant besides is tried.
    pub(super) fn admit_fallback(&mut self, number: u32, forced: bool) -> Result<()> {
        let Some(fallback) = self.books.seeds.get(number)?.and_then(|seed| seed.fallback) else { return Ok(()) };
        self.route(Discovery::Fallback { number, url: &queued_url(&fallback), forced })
    }

    /// Puts the seed `number` into the round, and admits it, unless that was done before.
    fn force(&mut self, number: u32) -> Result<()> {
        if self.books.seeds.is_foreign(number) || !self.books.seeds.enter_round(number, self.seeding.round.number)? {
            return Ok(());
        }
        let Some(seed) = self.books.seeds.get(number)? else { return Ok(()) };
        let url = queued_url(&seed.url);
        // of an earlier round, whose URL ended before its turn came
        let key = self.home.keys.keys(&url).key;
        let arrival = &mut self.stores.arrival;
        // its page has had its end; a URL of it that is still queued is told by the archive to be a known one
        arrival.again += u64::from(arrival.replayed.remove(&(key, true)));
        self.route(Discovery::Seed { number, url: &url, forced: true })
    }

    /// A URL of this shard is admitted. Of one that is to be fetched again, budgets need to know whether they have
    /// counted its page: the store of visits says so, or the archive where there is none.
    pub(super) fn admit_here(&mut self, mut url: QueuedUrl) -> Result<()> {
        if url.forced && self.stores.visits.is_none() {
            let answered = self.container.newest(url.key, &url.url)?.filter(|record| !record.robots);
            let past = answered.map(|record| calendar::Past::of_visited(record.time, Time::ZERO, History::default()));
            url.recrawl = past.map(|past| Recrawl::Wanted(past).to_bytes());
        }
        self.stores.admit(url)
    }

    /// The status of `url`, where it is to be fetched again and this round has done so: as the target of a redirect,
    /// say.
    pub(super) fn fetched_in_round(&self, url: &QueuedUrl) -> Result<Option<u16>> {
        if !url.forced || url.attempts > 0 || url.is_due_again() {
            return Ok(None);
        }
        let newest = self.container.newest(url.key, &url.url)?;
        let is_of_round = |record: &KeyRecord| record.offset >= self.seeding.round.from && !record.robots;
        // what an external revisit names may not have been looked at: a kill came between
        let of_round = newest.filter(|record| is_of_round(record) && !record.is_external);
        // an answer that is worth another attempt may be one whose second attempt a kill prevented
        let retries = self.settings.retries;
        let is_last = |status, cut| judge_answer(status, cut, 0, retries) != Verdict::Retry;
        Ok(of_round.filter(|record| is_last(record.status, record.truncated)).map(|record| record.status))
    }
}
