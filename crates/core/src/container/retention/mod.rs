//! Removal from the archive: of old versions by a rule, and of what an operator wants forgotten.
//!
//! The archive is append-only, but for this. A *compaction* writes a value file again without what goes, as its next
//! generation, and changes the key records of its pages in place: their offsets in key.dat are names. A record of a
//! removed page stays, and so does a tombstone in the value file. Order of steps and crashes: [`journal`]; which pages
//! go: [`rule`], [`list`]; what becomes of a payload that others refer to: [`plan`].
//!
//! While a crawl runs a [`CompactionJob`] does the long parts, one file at a time, when [`Container::compaction`] says
//! that it is time. Where every version is kept and nothing was forgotten, it never says so, and nothing is read for
//! that.

pub mod job;
pub mod journal;
pub mod list;
pub mod offline;
pub mod plan;
pub mod rewrite;
pub mod rule;
#[cfg(test)]
mod tests;
pub mod throttle;
pub mod tombstone;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::keys::KeyRecord;
use super::{Container, ContainerState, values};
use crate::clock::Time;
use crate::disk::{Disk, Mode, Result};
use crate::web::forgotten::Forgotten;
pub use job::{CompactionDone, CompactionJob};
use job::{Done, Look, Step};
use list::ForgottenList;
use plan::{Bounds, Rule};
pub use rule::{Keep, VERSIONS_MAX};

/// Settings of what goes from an archive, and when and how fast it is compacted.
#[derive(Clone, Copy, Debug)]
pub struct RetentionOptions {
    /// The rule of which versions stay.
    pub keep: Keep,
    /// The part of a value file that has to go before it is rewritten. What is forgotten goes however little it is.
    pub share: f64,
    /// Waits before a look: from the start of a crawl, and from a look that found nothing to do.
    pub rest: (Duration, Duration),
    /// Bytes a second that are read and written.
    pub bytes_per_second: Option<u64>,
    /// True if archives are compacted while a crawl runs. One whose checkpoints are shipped must not be, since a
    /// compaction changes what a checkpoint names.
    pub while_crawling: bool,
}

impl Default for RetentionOptions {
    fn default() -> Self {
        RetentionOptions {
            keep: Keep::All,
            share: 0.25,
            rest: (Duration::from_secs(600), Duration::from_secs(6 * 3_600)),
            bytes_per_second: Some(32 << 20),
            while_crawling: true,
        }
    }
}

/// State of the compactions of a container.
#[derive(Debug)]
pub(super) struct Retention {
    options: RetentionOptions,
    list: Arc<ForgottenList>,
    /// The bounds by the last durable checkpoint; `cut` has those by the one in progress.
    durable: Option<Bounds>,
    cut: Option<Bounds>,
    /// The number of value files that a checkpoint has to cover before there is anything to do.
    files_min: u32,
    is_out: bool,
    /// Responses that go with the step in progress: nothing may refer to them any more.
    leaving: HashSet<u64>,
    /// Time at which the next look is due; `None` before the first one.
    due: Option<Time>,
    /// True if something forgotten may still be there.
    owes: bool,
    /// Bytes that compactions have freed.
    freed: u64,
    skipped: Vec<u32>,
    stop: Arc<AtomicBool>,
}

impl Retention {
    pub(super) fn open(
        disk: &Disk,
        dir: &Path,
        options: RetentionOptions,
        saved: Option<&ContainerState>,
    ) -> Result<Retention> {
        if journal::settle(disk, dir)? {
            tracing::info!("a compaction of the archive that was interrupted was finished");
        }
        let list = ForgottenList::read(disk, dir)?;
        let mut freed = 0;
        for found in values::find(disk, dir)?.iter().filter(|found| found.generation > 0) {
            let bytes = disk.open(&found.path, Mode::Read)?.len()?;
            // a damaged one is reported by verify
            freed += rewrite::written_bytes(disk, found).unwrap_or(bytes).saturating_sub(bytes);
        }
        Ok(Retention {
            options,
            owes: !list.in_effect().is_empty(),
            list: Arc::new(list),
            durable: saved.map(bounds),
            cut: None,
            files_min: 0,
            is_out: false,
            leaving: HashSet::new(),
            due: None,
            freed,
            skipped: Vec::new(),
            stop: Arc::default(),
        })
    }

    /// A checkpoint that notes `state` is on its way.
    pub(super) fn cut(&mut self, state: &ContainerState) {
        self.cut = Some(bounds(state));
    }

    /// Notes that this checkpoint is durable.
    pub(super) fn synced(&mut self) {
        self.durable = self.cut.take().or(self.durable);
    }

    /// Bytes that were freed.
    pub(super) fn freed(&self) -> u64 {
        self.freed
    }

    /// True if nothing new may refer to the payload of `record`: it goes, or its URL is forgotten.
    pub(super) fn is_leaving(&self, record: &KeyRecord) -> bool {
        self.leaving.contains(&record.offset) || self.list.covers(&record.url)
    }
}

impl Drop for Retention {
    fn drop(&mut self) {
        // the thread that rewrites a file is not waited for longer than it takes to notice
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn bounds(state: &ContainerState) -> Bounds {
    Bounds { key_bytes: state.key_bytes, files: state.value_number }
}

impl Container {
    /// The first step of a compaction, when it is time for one; its result goes to [`Container::compacted`].
    pub fn compaction(&mut self, now: Time) -> Option<CompactionJob> {
        let retention = &mut self.retention;
        let has_nothing = retention.options.keep == Keep::All && !retention.owes;
        if has_nothing || retention.is_out || !retention.options.while_crawling {
            return None;
        }
        let due = *retention.due.get_or_insert(now + retention.options.rest.0);
        let bounds = retention.durable.filter(|bounds| due <= now && bounds.files >= retention.files_min)?;
        retention.is_out = true;
        let look = Look {
            rule: Rule { keep: retention.options.keep, now, list: retention.list.clone(), strict: false },
            bounds,
            share: retention.options.share,
            bytes_per_second: retention.options.bytes_per_second,
            skipped: retention.skipped.clone(),
            stop: retention.stop.clone(),
        };
        Some(self.step(Step::Rewrite(look)))
    }

    /// A step is done; returns the next one.
    pub fn compacted(&mut self, CompactionDone(done): CompactionDone, now: Time) -> Result<Option<CompactionJob>> {
        match done {
            Done::Nothing { is_held } => {
                self.retention.owes &= is_held;
                let rest = self.retention.options.rest;
                self.rest(now + if is_held && self.retention.owes { rest.0 } else { rest.1 });
            }
            Done::Skipped(number) => {
                self.retention.skipped.extend(number);
                self.rest(now + self.retention.options.rest.1);
            }
            Done::Rewritten(rewritten) if self.is_referred(&rewritten)? => {
                rewritten.discard(&self.disk, &self.dir)?;
                self.rest(now + self.retention.options.rest.0);
            }
            Done::Rewritten(rewritten) => {
                self.retention.leaving = rewritten.dropped.iter().copied().collect();
                return Ok(Some(self.step(Step::Commit(rewritten))));
            }
            Done::Committed(rewritten) => {
                rewritten.journal.change_keys(&self.keys)?;
                self.retention.leaving.clear();
                for (sha1, offset) in &rewritten.promoted {
                    self.digests.insert(sha1, *offset);
                }
                return Ok(Some(self.step(Step::Finish(rewritten))));
            }
            Done::Finished(rewritten) => {
                let (old, new) = rewritten.bytes;
                self.retention.freed = (self.retention.freed + old).saturating_sub(new);
                let (name, pages) = (&rewritten.journal.replacement.new, rewritten.pages);
                tracing::info!(pages, freed = old.saturating_sub(new), "the archive was compacted: {name}");
                self.rest(now);
            }
        }
        Ok(None)
    }

    /// The next look is due at `due`.
    fn rest(&mut self, due: Time) {
        self.retention.is_out = false;
        self.retention.due = Some(due);
    }

    fn step(&self, step: Step) -> CompactionJob {
        CompactionJob { disk: self.disk.clone(), dir: self.dir.clone(), step }
    }

    /// Returns whether a page that was stored since the plan was made refers to a response that is to go.
    fn is_referred(&self, rewritten: &rewrite::Rewritten) -> Result<bool> {
        for record in self.keys.scan(rewritten.planned_to) {
            if record?.payload_at.is_some_and(|at| rewritten.dropped.binary_search(&at).is_ok()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The URLs that an operator wants forgotten.
    pub fn forgotten(&self) -> Arc<Forgotten> {
        Arc::new(self.retention.list.in_effect().clone())
    }

    /// The list of what is forgotten has changed on disk: from now on it counts. The value file in progress is closed,
    /// so that what is in it can go too.
    pub fn forget(&mut self) -> Result<()> {
        self.retention.list = Arc::new(ForgottenList::read(&self.disk, &self.dir)?);
        self.retention.owes = true;
        self.retention.due = Some(Time::ZERO);
        self.values.close()?;
        self.retention.files_min = self.values.number();
        Ok(())
    }
}
