//! Compaction of an archive that no crawl writes to: all at once, at full speed.

use std::path::Path;

use super::journal;
use super::plan::{Bounds, Plan, Rule};
use super::rewrite::{Site, rewrite};
use super::throttle::Throttle;
use crate::container::keys::KeyFile;
use crate::container::{ContainerState, imported, unfinished};
use crate::disk::{Disk, Result};

/// Counts of what a compaction does, or would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Value files that were rewritten, each as often as it was; those that would be at least.
    pub files: u64,
    /// Pages that were removed.
    pub pages: u64,
    /// Pages among them that are forgotten.
    pub forgotten: u64,
    /// Bytes that were freed; before the deed an estimate.
    pub bytes: u64,
    /// Bytes that were read and written.
    pub moved: u64,
}

/// Estimates what [`compact`] would do in the archive in `dir`, of which the last checkpoint notes `noted`. Only
/// key.dat is read.
pub fn estimate(disk: &Disk, dir: &Path, noted: &ContainerState, rule: Rule) -> Result<Compacted> {
    let keys = KeyFile::open_for_reading(disk, dir)?;
    let plan = Plan::make(&keys, bounds(noted), rule)?;
    let mut would = Compacted::default();
    for (_, file) in plan.files() {
        would.files += 1;
        would.pages += file.pages;
        would.forgotten += file.forgotten;
        would.bytes += file.freed;
    }
    // what waits for a payload to be moved goes in the end
    would.pages += plan.held;
    Ok(would)
}

/// Removes from the archive in `dir` what goes by `rule`. Nothing else may use it, and nothing may be behind the
/// checkpoint that notes `noted`. `tell` hears of every file that was rewritten, with what was done so far.
pub fn compact(
    disk: &Disk,
    dir: &Path,
    noted: &ContainerState,
    rule: &Rule,
    tell: &mut dyn FnMut(&str, &Compacted),
) -> Result<Compacted> {
    unfinished::refuse(disk, dir)?;
    imported::refuse(disk, dir, "compact")?;
    journal::settle(disk, dir)?;
    let mut done = Compacted::default();
    let keys = KeyFile::open_as_it_is(disk, dir)?;
    loop {
        let plan = Plan::make(&keys, bounds(noted), rule.clone())?;
        // payloads move first, from older files to newer ones; then goes what was only kept for them
        let moving: Vec<u32> = plan.files().filter(|(_, file)| file.moves > 0).map(|(number, _)| number).collect();
        let all: Vec<u32> = plan.files().map(|(number, _)| number).collect();
        let is_last = moving.is_empty();
        for number in if is_last { all } else { moving } {
            let forgotten = plan.file(number).map_or(0, |file| file.forgotten);
            let site = Site { disk, dir, keys: &keys };
            let Some(rewritten) = rewrite(site, &plan, number, &mut Throttle::unlimited())? else { continue };
            rewritten.journal.write(disk, dir)?;
            rewritten.journal.put_in_place(disk, dir)?;
            rewritten.journal.change_keys(&keys)?;
            rewritten.journal.finish(disk, dir)?;
            let (old, new) = rewritten.bytes;
            done.files += 1;
            done.pages += rewritten.pages;
            done.forgotten += forgotten;
            // a file that gets payloads may grow
            done.bytes = done.bytes.saturating_add(old).saturating_sub(new);
            done.moved += old + new;
            tell(&rewritten.journal.replacement.new, &done);
        }
        if is_last {
            return Ok(done);
        }
    }
}

fn bounds(noted: &ContainerState) -> Bounds {
    Bounds { key_bytes: noted.key_bytes, files: noted.value_number }
}
