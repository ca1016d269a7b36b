//! A compaction while a crawl runs, in steps: what takes long on a thread, what touches the engine's state between two
//! events.
//!
//! ```text
//! thread: plan, write the next generation of a file ─► engine: has anything come to refer to what goes? ─►
//! thread: journal, put in place ─► engine: change the key records ─►
//! thread: sync, remove the old generation ─► engine
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::plan::{Bounds, Plan, Rule};
use super::rewrite::{Rewritten, Site, rewrite};
use super::throttle::Throttle;
use crate::container::keys::KeyFile;
use crate::disk::{Disk, Error, Result};

/// A step that is to be done on a thread.
#[derive(Debug)]
pub struct CompactionJob {
    pub(super) disk: Disk,
    pub(super) dir: PathBuf,
    pub(super) step: Step,
}

/// The steps of a compaction.
#[derive(Debug)]
pub(super) enum Step {
    /// Look what goes, and write the next generation of a file.
    Rewrite(Look),
    /// Make the journal durable, and put the file in place.
    Commit(Box<Rewritten>),
    /// Make the changed key records durable, and remove the old file.
    Finish(Box<Rewritten>),
}

/// Settings of the step that looks what goes.
#[derive(Debug)]
pub(super) struct Look {
    pub rule: Rule,
    pub bounds: Bounds,
    /// The part of a file that has to go at least.
    pub share: f64,
    pub bytes_per_second: Option<u64>,
    pub skipped: Vec<u32>,
    pub stop: Arc<AtomicBool>,
}

/// A step that is done.
#[derive(Debug)]
pub struct CompactionDone(pub(super) Done);

/// Results of a step.
#[derive(Debug)]
pub(super) enum Done {
    /// Nothing is to be rewritten now. Something may have to go all the same, once the crawl has gone on.
    Nothing {
        is_held: bool,
    },
    /// This value file cannot be rewritten: it is damaged.
    Skipped(Option<u32>),
    Rewritten(Box<Rewritten>),
    Committed(Box<Rewritten>),
    Finished(Box<Rewritten>),
}

impl CompactionJob {
    /// Does the work.
    pub fn run(self) -> Result<CompactionDone> {
        let CompactionJob { disk, dir, step } = self;
        Ok(CompactionDone(match step {
            Step::Rewrite(look) => look.run(&disk, &dir)?,
            Step::Commit(rewritten) => {
                rewritten.journal.write(&disk, &dir)?;
                rewritten.journal.put_in_place(&disk, &dir)?;
                Done::Committed(rewritten)
            }
            Step::Finish(rewritten) => {
                rewritten.journal.finish(&disk, &dir)?;
                Done::Finished(rewritten)
            }
        }))
    }
}

impl Look {
    fn run(self, disk: &Disk, dir: &Path) -> Result<Done> {
        let keys = KeyFile::open_for_reading(disk, dir)?;
        let plan = match Plan::make(&keys, self.bounds, self.rule) {
            Ok(plan) => plan,
            Err(error @ Error::Damaged { .. }) => {
                tracing::warn!(%error, "the archive is not compacted: crawler verify reports all damage");
                return Ok(Done::Skipped(None));
            }
            Err(error) => return Err(error),
        };
        let Some(number) = plan.next(self.share, &self.skipped) else {
            return Ok(Done::Nothing { is_held: plan.held > 0 });
        };
        let wanted = plan.file(number).map_or(0, |file| file.bytes);
        // next to the file, room for the crawl itself
        if disk.free_bytes(dir)? / 2 < wanted {
            tracing::warn!("the archive is not compacted: there is no room for a second copy of value file {number}");
            return Ok(Done::Skipped(None));
        }
        let mut throttle = Throttle::new(self.bytes_per_second, self.stop);
        match rewrite(Site { disk, dir, keys: &keys }, &plan, number, &mut throttle) {
            Ok(Some(rewritten)) => Ok(Done::Rewritten(Box::new(rewritten))),
            Ok(None) => Ok(Done::Nothing { is_held: true }),
            Err(error @ Error::Damaged { .. }) => {
                tracing::warn!(%error, "value file {number} is not compacted: crawler verify reports all damage");
                Ok(Done::Skipped(Some(number)))
            }
            Err(error) => Err(error),
        }
    }
}
