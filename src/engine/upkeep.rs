//! Work on the stores beside the crawl: merges, takes, checkpoints.

use super::checkpoint::{Checkpoint, CheckpointDone, CheckpointJob, Sections};
use super::executors::StoreMerge;
use super::job::StoreMerged;
use super::{Engine, Phase};
use crate::catalog::Batch;
use crate::clock::Time;
use crate::disk::Result;
use crate::drum::Need;
use crate::record::Finish;

/// Takes and merges of the frontier that may be under way.
const PARTITION_JOBS_MAX: usize = 4;

impl Engine {
    pub(super) fn upkeep(&mut self, now: Time) -> Result<()> {
        if self.phase == Phase::Crawling {
            self.merge(now)?;
            self.serve_frontier(now)?;
        }
        self.log_rests(now)?;
        self.books.flush_when_due(now)?;
        let nearly_full = self.container.nearly_full().filter(|&number| self.cut_before_full != Some(number));
        let early = nearly_full.is_some() || self.container.is_full();
        let due = self.checkpoint_wanted || now >= self.checkpoint_due || early;
        let open = matches!(self.phase, Phase::Crawling | Phase::Stopping { .. });
        if due && open && !self.under_way.checkpoint {
            self.cut_before_full = nearly_full.or(self.cut_before_full);
            self.cut(now, None)?;
        }
        Ok(())
    }

    /// Writes long rests that have begun where a restart finds them.
    fn log_rests(&mut self, now: Time) -> Result<()> {
        let begun = self.way.arrival().frontier.take_long_backoffs();
        self.rests.push(&begun)?;
        if let Some(job) = self.rests.next_sync(now) {
            self.executors.sync_rests(job);
        }
        Ok(())
    }

    /// Starts one merge of one store: when a bucket has gathered enough, when workers are idle, or when nothing else is
    /// left; no more of them than their pace permits.
    fn merge(&mut self, now: Time) -> Result<()> {
        if self.under_way.merges > 0 {
            return Ok(());
        }
        for need in self.merge_needs(now) {
            if !self.merge_pace.permits(need, now) {
                continue;
            }
            let job = if let Some(job) = self.way.next.next.store.next_merge(need)? {
                StoreMerge::Dns(job)
            } else if let Some(job) = self.way.next.store.next_merge(need)? {
                StoreMerge::Robots(job)
            } else if let Some(job) = self.way.store.next_merge(need)? {
                StoreMerge::Seen(job)
            } else {
                continue;
            };
            self.under_way.merges += 1;
            self.merge_pace.begin(now);
            self.executors.merge(job);
            break;
        }
        Ok(())
    }

    /// What merges are wanted for at this moment, the most urgent need first.
    fn merge_needs(&mut self, now: Time) -> impl Iterator<Item = Need> + use<> {
        let waiting = self.way.waiting() > 0;
        let (requests, busy) = (self.requests.under_way(), self.requests.busy(now));
        let frontier = &self.way.arrival().frontier;
        let idle = waiting && requests == 0 && frontier.is_idle();
        let starving = waiting && busy < self.settings.slots.workers / 2 && !frontier.has_ready(now);
        [(idle, Need::All), (starving, Need::Starving), (true, Need::Threshold), (true, Need::Full)]
            .into_iter()
            .filter_map(|(wanted, need)| wanted.then_some(need))
    }

    pub(super) fn merged(&mut self, merged: StoreMerged) -> Result<()> {
        self.under_way.merges -= 1;
        self.merge_pace.end(merged.bytes(), self.clock.now());
        match merged {
            StoreMerged::Seen(done) => self.way.store.finish_merge(done),
            StoreMerged::Robots(done) => self.way.next.store.finish_merge(done),
            StoreMerged::Dns(done) => self.way.next.next.store.finish_merge(done),
        }
        Ok(())
    }

    fn serve_frontier(&mut self, now: Time) -> Result<()> {
        let workers = self.settings.slots.workers;
        // while nearly all of them are busy, what a costly merge brings has to wait for them anyway
        let spare = self.requests.busy(now) < workers - workers / 8;
        while self.under_way.partitions < PARTITION_JOBS_MAX {
            let frontier = &mut self.way.arrival().frontier;
            let starving = spare && frontier.starving(now);
            let Some(job) = frontier.next_job(starving)? else { return Ok(()) };
            self.under_way.partitions += 1;
            self.executors.partition(job);
        }
        Ok(())
    }

    /// Makes a consistent cut and sends it out to be made durable. With `finish`, it is the last one.
    pub(super) fn cut(&mut self, now: Time, finish: Option<Finish>) -> Result<()> {
        let begun = self.clock.elapsed();
        self.checkpoint_number += 1;
        self.checkpoint_due = now + self.settings.checkpoint_interval;
        self.checkpoint_wanted = false;
        self.under_way.checkpoint = true;
        self.last_cut = finish.is_some();
        let mut sections = Sections::default();
        let seen = self.way.store.cut(&mut sections.seen)?;
        let robots = self.way.next.store.cut(&mut sections.robots)?;
        let dns = self.way.next.next.store.cut(&mut sections.dns)?;
        self.way.next.patterns.encode(&mut sections.patterns);
        let arrival = self.way.arrival();
        let frontier = arrival.frontier.cut(&mut sections.frontier)?;
        self.rests.cut(self.checkpoint_number);
        sections.replayed = arrival.replayed.iter().copied().collect();
        // the same state gives the same bytes
        sections.replayed.sort_unstable();
        if finish.is_some() {
            self.container.close()?;
        }
        let container = self.container.cut()?;
        self.books.flush()?;
        if self.intake.is_empty() {
            self.books.seeds.all_admitted();
        }
        let seeds = self.books.seeds.cut(self.checkpoint_number)?;
        let sync = [seen.sync, robots.sync, dns.sync, frontier.sync, seeds].into_iter().flatten().collect();
        let sync_dirs =
            [seen.sync_dirs, robots.sync_dirs, dns.sync_dirs, frontier.sync_dirs].into_iter().flatten().collect();
        let mut batch = Batch::new();
        self.anew.put(&mut batch);
        self.count(now);
        let snapshot = self.snapshot(now, finish);
        let checkpoint = Checkpoint {
            number: self.checkpoint_number,
            time: now,
            clean: finish.is_some(),
            finish,
            seen: seen.state,
            robots: robots.state,
            dns: dns.state,
            frontier: frontier.state,
            container: container.state,
            statistics: self.books.statistics.clone(),
            scope_added: Vec::new(),
            round: self.round,
        };
        self.executors.checkpoint(CheckpointJob {
            disk: self.disk.clone(),
            dir: self.dir.clone(),
            catalog: self.catalog.clone(),
            superseded: std::mem::take(&mut self.superseded),
            identity: self.identity.clone(),
            checkpoint,
            sections,
            sync,
            sync_dirs,
            container: container.job,
            batch,
            snapshot,
        });
        self.cut_at = self.clock.elapsed();
        self.books.statistics.checkpoints.count_pause(self.cut_at - begun);
        Ok(())
    }

    /// A checkpoint is durable: what only its forerunners named is deleted.
    pub(super) fn checkpointed(&mut self, done: CheckpointDone) -> Result<()> {
        let begun = self.clock.elapsed();
        self.books.statistics.checkpoints.count_durable(begun - self.cut_at, done.bytes);
        tracing::debug!(number = done.number, bytes = done.bytes, after = ?(begun - self.cut_at), "checkpoint durable");
        self.under_way.checkpoint = false;
        self.checkpointed = Some(self.clock.now());
        self.books.seeds.committed();
        self.container.synced(done.container);
        self.way.store.committed();
        self.way.next.store.committed();
        self.way.next.next.store.committed();
        self.superseded = self.way.arrival().frontier.release();
        self.rests.committed()?;
        self.books.statistics.checkpoints.count_pause(self.clock.elapsed() - begun);
        if let Phase::Closing { finish } = self.phase
            && self.last_cut
        {
            // no merge and no checkpoint comes any more that would do it
            self.superseded.drain(..).try_for_each(|path| self.disk.remove(&path))?;
            self.way.store.remove_superseded()?;
            self.way.next.store.remove_superseded()?;
            self.way.next.next.store.remove_superseded()?;
            self.phase = Phase::Done { finish };
        }
        Ok(())
    }
}
