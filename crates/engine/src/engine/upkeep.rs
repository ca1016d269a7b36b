//! Work on the stores beside the crawl: merges, takes, checkpoints.

use super::admission::Admission;
use super::checkpoint::{Checkpoint, CheckpointDone, CheckpointJob, Sections};
use super::stores::{StoreCuts, StoreMerge};
use super::{Engine, Phase};
use crate::clock::Time;
use crate::container::CompactionDone;
use crate::disk::Result;
use crate::drum::Need;
use crate::record::Finish;

impl Engine {
    pub(super) fn upkeep(&mut self, now: Time) -> Result<()> {
        if self.course.is_crawling() {
            self.merge(now)?;
            self.serve_frontier(now)?;
            if let Some(job) = self.admission.container.compaction(now) {
                self.fetching.executors.compact(job);
            }
        }
        self.log_holds(now)?;
        self.admission.books.flush_when_due(now)?;
        let open = matches!(self.phase(), Phase::Crawling | Phase::Stopping { .. });
        let has_nothing = self.admission.exchange.as_ref().is_some_and(|exchange| exchange.has_nothing_to_cut());
        if has_nothing && !self.admission.is_changed && self.fetching.requests.in_flight() == 0 {
            self.checkpoints.skip_unchanged(now, now + self.admission.settings.checkpoint_interval);
        }
        let is_early = self.early_cut_due().is_some_and(|due| due <= now);
        if open && (is_early || self.checkpoints.is_due(now, &self.admission.container)) {
            self.cut(now, None)?;
        }
        Ok(())
    }

    /// Writes long holds that have begun where a restart finds them.
    fn log_holds(&mut self, now: Time) -> Result<()> {
        let begun = self.admission.stores.sink.frontier.pacing_mut().take_long_backoffs();
        self.checkpoints.rests.push(&begun)?;
        if let Some(job) = self.checkpoints.rests.next_sync(now) {
            self.fetching.executors.sync_holds(job);
        }
        Ok(())
    }

    /// Starts one merge of one store: when a bucket has gathered enough, when workers are idle, or when nothing else is
    /// left; no more of them than their pace permits.
    fn merge(&mut self, now: Time) -> Result<()> {
        if self.admission.stores.are_merging() {
            return Ok(());
        }
        let needs = self.merge_needs(now);
        let Some(bucket) = self.admission.stores.next_merge(needs, now)? else { return Ok(()) };
        self.discard_unneeded();
        let removal = self.checkpoints.take_some(&self.admission.home.disk);
        self.fetching.executors.merge(StoreMerge { removal, bucket });
        Ok(())
    }

    /// Returns what merges are wanted for at this moment, the most urgent need first.
    fn merge_needs(&mut self, now: Time) -> impl Iterator<Item = Need> + use<> {
        let waiting = self.admission.stores.waiting() > 0;
        let frontier = &self.admission.stores.sink.frontier;
        let idle = waiting && self.fetching.requests.in_flight() == 0 && frontier.is_idle();
        let starving = waiting && self.fetching.requests.are_spare(now) && !frontier.has_ready(now);
        [(idle, Need::All), (starving, Need::Starving), (true, Need::Threshold), (true, Need::Full)]
            .into_iter()
            .filter_map(|(wanted, need)| wanted.then_some(need))
    }

    fn serve_frontier(&mut self, now: Time) -> Result<()> {
        // while nearly all of them are busy, what a costly merge brings has to wait for them anyway
        let spare = !self.fetching.requests.are_many(now);
        while let Some(job) = self.admission.stores.next_partition(spare, now)? {
            self.fetching.executors.partition(job);
        }
        Ok(())
    }

    /// A step of a compaction is done; the next one is sent out.
    pub(super) fn compacted(&mut self, done: CompactionDone) -> Result<()> {
        if let Some(job) = self.admission.container.compacted(done, self.admission.clock.now())? {
            self.fetching.executors.compact(job);
        }
        Ok(())
    }

    /// Makes a consistent cut and sends it out to be made durable. With `finish`, it is the last one.
    pub(super) fn cut(&mut self, now: Time, finish: Option<Finish>) -> Result<()> {
        let begun = self.admission.clock.elapsed();
        let idle = self.idle();
        let number = self.checkpoints.begin(now + self.admission.settings.checkpoint_interval, finish.is_some());
        self.admission.is_changed = false;
        let mut sections = Sections::default();
        let StoreCuts { stores, frontier, mut sync, mut sync_dirs, mut superseded } =
            self.admission.stores.cut(&mut sections)?;
        let calendar = self.admission.recrawls.as_mut().map(|recrawls| recrawls.cut(&mut sections)).transpose()?;
        let calendar = calendar.map(|mut cut| {
            sync.append(&mut cut.sync);
            sync_dirs.append(&mut cut.sync_dirs);
            superseded.append(&mut cut.superseded);
            cut.state
        });
        sections.cookies = self.fetching.sessions.cookies_to_bytes();
        sections.rendering = self.fetching.renderings.to_bytes();
        let dir = &self.admission.home.dir;
        let exchange = self.admission.exchange.as_mut().map(|exchange| exchange.cut(number, idle, dir)).transpose()?;
        let mut exchange = exchange.unwrap_or_default();
        superseded.append(&mut exchange.superseded);
        self.checkpoints.supersede(superseded);
        sync.append(&mut exchange.sync);
        sync_dirs.append(&mut exchange.sync_dirs);
        sections.exchange = exchange.section;
        if finish.is_some() {
            self.admission.container.close()?;
        }
        let container = self.admission.container.cut()?;
        self.admission.books.flush()?;
        if self.admission.seeding.intake.is_empty() {
            self.admission.books.seeds.all_admitted();
        }
        sync.append(&mut self.admission.books.seeds.cut(number)?);
        let mut figures = self.figures();
        figures.count(now);
        let snapshot = figures.snapshot(now, finish);
        let checkpoint = Checkpoint {
            number,
            time: now,
            clean: finish.is_some(),
            finish,
            stores,
            frontier,
            container: container.state,
            statistics: self.admission.books.statistics.clone(),
            round: self.admission.seeding.round,
            calendar,
            rechecked: self.admission.seeding.anew.kept(),
        };
        self.fetching.executors.checkpoint(CheckpointJob {
            home: self.admission.home.clone(),
            superseded: self.checkpoints.take_all(&self.admission.home.disk),
            checkpoint,
            sections,
            sync,
            sync_dirs,
            container: container.job,
            publish: exchange.publish,
            snapshot,
        });
        let cut_at = self.admission.clock.elapsed();
        self.checkpoints.cut(cut_at);
        self.admission.books.statistics.checkpoints.count_pause(cut_at - begun);
        Ok(())
    }

    /// Discards what the stores and the calendar have written and need no more, in the same way as what a cut
    /// supersedes.
    fn discard_unneeded(&mut self) {
        self.checkpoints.discard(self.admission.stores.take_unneeded());
        if let Some(recrawls) = &mut self.admission.recrawls {
            self.checkpoints.discard(recrawls.take_unneeded());
        }
    }

    /// A checkpoint is durable: what only its forerunners named may be deleted.
    pub(super) fn checkpointed(&mut self, done: CheckpointDone) -> Result<()> {
        let begun = self.admission.clock.elapsed();
        self.discard_unneeded();
        let after = self.checkpoints.committed(self.admission.clock.now(), begun);
        self.admission.books.statistics.checkpoints.count_durable(after, done.bytes);
        tracing::debug!(number = done.number, bytes = done.bytes, ?after, "checkpoint durable");
        self.admission.books.seeds.committed();
        self.admission.container.synced(done.container);
        self.admission.books.statistics.checkpoints.count_pause(self.admission.clock.elapsed() - begun);
        let now = self.admission.clock.now();
        self.from_shards().committed(now, after)?;
        if self.checkpoints.are_over() {
            self.checkpoints.take_all(&self.admission.home.disk).run()?;
            self.course.end();
        }
        Ok(())
    }

    /// Has links of other shards read, and says whether this one waits for some.
    pub(super) fn exchange_links(&mut self, now: Time) -> Result<()> {
        if self.admission.exchange.is_none() {
            return Ok(());
        }
        let is_open = self.course.is_crawling();
        let is_hungry = is_open
            && self.may_request_now()
            && self.fetching.requests.are_few(now)
            && !self.admission.stores.sink.frontier.has_ready(now);
        let keys = self.admission.home.keys.clone();
        let Some(exchange) = &mut self.admission.exchange else { return Ok(()) };
        exchange.set_hungry(is_hungry);
        while is_open && let Some(job) = exchange.next_job(&keys) {
            self.fetching.executors.read_links(job);
        }
        Ok(())
    }

    /// Returns when a checkpoint is to be made before its time, for the sake of other shards or of the end; `None`
    /// where there is no reason for one.
    pub(super) fn early_cut_due(&mut self) -> Option<Time> {
        self.admission.exchange.as_ref()?;
        if !self.course.is_crawling() || self.checkpoints.are_in_progress() {
            return None;
        }
        let idle = self.idle();
        let Admission { home, settings, exchange, .. } = &self.admission;
        let shipped = home.shipping.as_ref().map(|_| settings.checkpoint_interval);
        exchange.as_ref()?.early_cut_due(idle, shipped)
    }
}
