//! The small files beside the stores: plain copies of what checkpoints have, seeds, rests, logs.
//!
//! A plain copy that is wrong misleads readers and nobody else: it is reported, and rebuilt. One that is older than the
//! last checkpoint, or not there yet, was left so by a kill, and the next checkpoint or start replaces it.

use std::path::Path;

use super::faults;
use super::known::Known;
use crate::checkpoint::{self, Checkpoint, checkpoint_path};
use crate::container::Report;
use crate::crawl::{figures, options};
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, Error, Mode, Result};
use crate::engine::hold_log;
use crate::engine::seeds;

use crate::record::layout;
use crate::record::{CrawlLog, SkippedLog, Snapshot};
use crate::shard::Shard;

const REWRITTEN: &str = "crawler verify --rebuild rebuilds it";
/// The directory of a crawl of one shard, or of a shard.
pub(super) struct CrawlDir<'a> {
    pub disk: &'a Disk,
    pub dir: &'a Path,
    pub shard: Shard,
}

/// Checks them all against the last checkpoint.
pub(super) fn check(
    place: &CrawlDir<'_>,
    known: &Known,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<()> {
    check_status(place, known.checkpoint.as_ref(), report)?;
    if place.shard.is_whole() {
        check_config(place, report)?;
    }
    check_seeds(place, known, report)?;
    check_rests(place, known.number.unwrap_or(0), report)?;
    check_logs(place, notice)?;
    check_names(place, known.number, report)
}

/// Checks that the figures are those of the last checkpoint.
fn check_status(place: &CrawlDir<'_>, checkpoint: Option<&Checkpoint>, report: &mut Report<'_>) -> Result<()> {
    let path = place.dir.join(layout::STATUS);
    let snapshot = match Snapshot::read(place.disk, place.dir) {
        Ok(snapshot) => snapshot,
        Err(Error::Damaged { offset, found, .. }) => {
            report.damage(&path, offset, format!("not the figures of a checkpoint ({found}); {REWRITTEN}"));
            return Ok(());
        }
        Err(error @ Error::Newer { .. }) => {
            faults::tell(report, error);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    match (snapshot, checkpoint) {
        // a kill may come between any checkpoint and its figures
        (None, Some(_)) => report.unfinished(&path, 0, "missing; the next checkpoint writes it"),
        (Some(found), Some(of)) if found.updated < of.time => {
            report.unfinished(&path, 0, "of an earlier checkpoint; the next one replaces it");
        }
        (Some(found), Some(of)) if found.updated > of.time || found.statistics != of.statistics => {
            report.damage(&path, 0, format!("other figures than those of the last checkpoint; {REWRITTEN}"));
        }
        _ => {}
    }
    Ok(())
}

/// Checks that the settings can be read.
pub(super) fn check_config(place: &CrawlDir<'_>, report: &mut Report<'_>) -> Result<()> {
    let path = place.dir.join(layout::SETTINGS);
    if place.disk.open_if_there(&path)?.is_none() {
        report.unfinished(&path, 0, "missing; the next start writes it");
    } else if options::read_copy(place.disk, place.dir)?.is_none() {
        report.damage(&path, 0, "not the settings of a crawl; the next start writes it, --rebuild removes this one");
    }
    Ok(())
}

/// Checks that the seeds are those that the last checkpoint knows.
pub(super) fn check_seeds(place: &CrawlDir<'_>, known: &Known, report: &mut Report<'_>) -> Result<()> {
    let number = known.number.filter(|&number| number > 0);
    let path = place.dir.join(layout::SEEDS).join("list");
    match seeds::check(place.disk, place.dir, number) {
        Ok(None) if number.is_some() => {
            report.damage(&path, 0, "missing; the last checkpoint lists it, and it cannot be rebuilt");
        }
        // before the first checkpoint the next start makes it
        Ok(None) => {}
        Ok(Some(findings)) => {
            report.summary.files += 2;
            // shards have one list together: the first of them reports it
            let is_told = |path: &Path| place.shard.index() == 0 || path.starts_with(place.dir);
            for (path, at, what, is_damage) in findings.into_iter().filter(|(path, ..)| is_told(path)) {
                if is_damage { report.damage(&path, at, what) } else { report.unfinished(&path, at, what) }
            }
        }
        Err(error) if crate::drum::verify::is_fault(&error) => faults::tell(report, error),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Checks that the rests since the last checkpoint can be read.
fn check_rests(place: &CrawlDir<'_>, number: u64, report: &mut Report<'_>) -> Result<()> {
    let mut older = Vec::new();
    for (of, path) in hold_log::files(place.disk, place.dir)? {
        if of < number {
            older.push((path, true));
            continue;
        }
        report.summary.files += 1;
        match hold_log::check(place.disk, &path) {
            Ok(None) => {}
            Ok(Some((whole, true))) => report.unfinished(&path, whole, "unfinished: a hold that was being written"),
            Ok(Some((whole, false))) => report.damage(
                &path,
                whole,
                "no whole record: long holds of hosts from here on are lost and cannot be rebuilt",
            ),
            Err(error) if crate::drum::verify::is_fault(&error) => faults::tell(report, error),
            Err(error) => return Err(error),
        }
    }
    super::stores::left_over(report, place.dir, older);
    Ok(())
}

/// Checks that the logs are there. Nothing depends on them.
fn check_logs(place: &CrawlDir<'_>, notice: &mut dyn FnMut(String)) -> Result<()> {
    for path in [CrawlLog::path(place.dir), SkippedLog::path(place.dir)] {
        let read = place.disk.open(&path, Mode::Read).and_then(|file| file.read_at(&mut [0; 1], 0));
        match read {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {
                notice(format!(
                    "{}: the log is missing; its lines are lost, and nothing depends on it",
                    path.display()
                ));
            }
            Err(error) => notice(format!("{error}; nothing depends on it")),
        }
    }
    Ok(())
}

/// Reports names in the directory that belong to nothing.
fn check_names(place: &CrawlDir<'_>, number: Option<u64>, report: &mut Report<'_>) -> Result<()> {
    let named = number.map(|number| checkpoint_path(place.dir, number));
    let names = place.disk.list(place.dir)?.into_iter();
    let is_part = |name: &String| layout::of_shard(place.shard).any(|entry| entry.has(name));
    let unknown = names.filter(|name| checkpoint::number_of(name).is_some() || !is_part(name));
    let unknown = unknown.map(|name| {
        let ours = checkpoint::number_of(&name).is_some();
        (place.dir.join(name), ours)
    });
    let unknown = unknown.filter(|(path, _)| Some(path) != named.as_ref()).collect();
    super::stores::left_over(report, place.dir, unknown);
    Ok(())
}

/// Reports names in the directory of a crawl of several shards that belong to nothing.
pub(super) fn check_root_names(root: &CrawlDir<'_>, dirs: &CrawlDirs, report: &mut Report<'_>) -> Result<()> {
    let names = root.disk.list(root.dir)?.into_iter();
    let is_shard = |name: &String| dirs.shards().iter().any(|dir| dir.ends_with(name));
    let is_part = |name: &String| layout::of_crawl().any(|entry| entry.has(name));
    let unknown = names.filter(|name| !is_part(name) && !is_shard(name));
    super::stores::left_over(report, root.dir, unknown.map(|name| (root.dir.join(name), false)).collect());
    Ok(())
}

/// Makes the plain copies again that are not as the checkpoint says. Figures of the moment that no checkpoint keeps are
/// 0.
pub(super) fn renew(disk: &Disk, dir: &Path, shard: Shard, known: &Known, created: crate::clock::Time) -> Result<()> {
    if shard.is_whole() {
        renew_config(disk, dir)?;
    }
    let Some(checkpoint) = &known.checkpoint else { return Ok(()) };
    let sound = Snapshot::read(disk, dir).ok().flatten();
    if sound.is_some_and(|found| found.updated == checkpoint.time && found.statistics == checkpoint.statistics) {
        return Ok(());
    }
    figures::of_checkpoint(checkpoint, created).write(disk, dir)
}

/// Removes settings that cannot be read.
pub(super) fn renew_config(disk: &Disk, dir: &Path) -> Result<()> {
    match options::read_copy(disk, dir)? {
        Some(_) => Ok(()),
        None => disk.remove(&dir.join(layout::SETTINGS)),
    }
}
