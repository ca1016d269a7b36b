//! The agreement of the shards of a crawl: one identity, link files that are whole, and no shard at an earlier
//! checkpoint than the others knew of.
//!
//! Beside a running crawl a shard may have gone on since the others were looked at. So what one shard said of another
//! is compared with the last checkpoint of the other, which is found when all have been looked at: no shard goes back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::faults;
use super::known::Known;
use super::stores::{Cut, left_over};
use crate::checkpoint::{self, checkpoint_path};
use crate::checkpoint::{Identity, Sharding};
use crate::container::Report;
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, Mode, Result};
use crate::drum::verify::is_fault;
use crate::engine::{ExchangeState, Kept};
use crate::exchange::{Account, Difference, LinkFile, LinkJob, Position, link_path, links_dir, number_of};
use crate::record::layout;
use crate::shard::Shard;
use crate::ship::Manifest;
use crate::web::url::KeyMaker;

/// The state of one shard when it was looked at, as far as others depend on it.
#[derive(Debug, Default)]
pub(super) struct ShardNoted {
    /// Its last checkpoint; nothing where that cannot be known.
    pub number: Option<u64>,
    /// Positions up to which it has read the others, and the files that it has for them; `None` where that cannot be
    /// known.
    pub exchange: Option<ExchangeState>,
}

impl ShardNoted {
    /// Reads the state from the last checkpoint of the shard in `dir`, as far as it can be read.
    pub(super) fn of(dir: &Path, cut: Option<&Cut>, known: Option<&Known>, report: &mut Report<'_>) -> ShardNoted {
        let Some(cut) = cut else {
            let is_new = known.is_some_and(Known::is_new);
            return ShardNoted { number: is_new.then_some(0), exchange: is_new.then(ExchangeState::default) };
        };
        let number = cut.checkpoint.number;
        match ExchangeState::read(&cut.sections.exchange, &checkpoint_path(dir, number)) {
            Ok(exchange) => ShardNoted { number: Some(number), exchange: Some(exchange) },
            Err(fault) => {
                faults::tell(report, fault);
                ShardNoted { number: Some(number), exchange: None }
            }
        }
    }
}

/// The state of a shard after all had been looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Last {
    /// Its last checkpoint.
    pub number: u64,
    /// Positions up to which it had read the links of each shard; empty where that cannot be known.
    pub positions: Vec<Position>,
    /// Links that it had sent and read.
    pub account: Account,
}

impl Last {
    /// Returns the state by what the shard noted.
    fn of(noted: &ShardNoted) -> Option<Last> {
        let number = noted.number?;
        let Some(ExchangeState { positions, account, .. }) = noted.exchange.clone() else {
            return Some(Last { number, ..Last::default() });
        };
        Some(Last { number, positions, account })
    }

    /// Returns the state by the last manifest of the shard, or by what it noted where there is none.
    pub(super) fn of_manifest(manifest: Option<&Manifest>, noted: &ShardNoted) -> Option<Last> {
        let Some(Manifest { number, head, .. }) = manifest else { return Last::of(noted) };
        Some(Last { number: *number, positions: head.positions.clone(), account: head.account.clone() })
    }
}

/// The states of the shards of a crawl, in their order.
pub(super) struct Shards<'a> {
    /// States by the checkpoints that were looked at.
    pub noted: &'a [ShardNoted],
    /// States after all had been looked at; `None` where that cannot be known.
    pub last: &'a [Option<Last>],
    /// True where they may go on meanwhile.
    pub running: bool,
}

impl Shards<'_> {
    /// The differences between what shards have sent and what others have read, which have read all their files.
    fn differences(&self) -> Vec<Difference> {
        let mut found = Vec::new();
        for (from, sender) in self.noted.iter().enumerate() {
            let Some(sender) = &sender.exchange else { continue };
            for (to, reader) in self.last.iter().enumerate().filter(|&(to, _)| to != from) {
                let Some(reader) = reader else { continue };
                let has_read = |kept: &Kept| reader.positions.get(from).is_some_and(|at| at.number > kept.number);
                // beside a running crawl the reader may have read what the sender has sent since
                let is_lost = |of: &Difference| !self.running || of.read < of.sent;
                let difference = sender.account.difference(from as u32, to as u32, &reader.account);
                found.extend(difference.filter(|of| is_lost(of) && sender.kept.iter().all(has_read)));
            }
        }
        found
    }
}

/// Returns the states of the shards by their directories, once all have been looked at.
pub(super) fn last(disk: &Disk, dirs: &CrawlDirs, running: bool, noted: &[ShardNoted]) -> Result<Vec<Option<Last>>> {
    let mut last = Vec::with_capacity(noted.len());
    for (dir, of) in dirs.shards().iter().zip(noted) {
        let newest = if running { checkpoint::newest(disk, dir)? } else { None };
        last.push(match newest {
            Some((checkpoint, sections)) => {
                let number = checkpoint.number;
                // a fault here is reported when this checkpoint is looked at
                let exchange = ExchangeState::read(&sections.exchange, &checkpoint_path(dir, number)).ok();
                Last::of(&ShardNoted { number: Some(number), exchange })
            }
            None => Last::of(of),
        });
    }
    Ok(last)
}

/// Checks what shards say of each other.
pub(super) fn check(
    disk: &Disk,
    dirs: &CrawlDirs,
    shards: &Shards<'_>,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<()> {
    let Shards { noted, running, .. } = *shards;
    for (place, of) in noted.iter().enumerate() {
        if let Some(exchange) = &of.exchange {
            check_heads(dirs, place, exchange, shards, report);
        }
    }
    for difference in shards.differences() {
        let reader = &dirs.shards()[difference.reader as usize];
        report.damage(reader, 0, format!("{difference}: pages may be missing"));
    }
    for (place, of) in noted.iter().enumerate() {
        let Some(exchange) = &of.exchange else { continue };
        if !check_files(disk, dirs, running, place, &exchange.kept, report)? {
            notice(format!(
                "{}: --rebuild drops a damaged link file, and the next start sends the links of all archived pages to \
                 other shards again; no page is fetched again for it",
                dirs.shard(place).dir_name()
            ));
        }
    }
    Ok(())
}

/// The identity of the crawl against those of its shards, in their order.
pub(super) fn check_identities(
    disk: &Disk,
    dirs: &CrawlDirs,
    shards: &[Option<Identity>],
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<()> {
    let whole = super::known::read_copy(disk, dirs.root(), false, report)?;
    let Some(first) = shards.iter().flatten().next() else { return Ok(()) };
    let of_shards = whole_of(first);
    if let Some(whole) = whole.as_ref().filter(|&whole| *whole != of_shards) {
        let what = match (whole.shards(), of_shards.shards()) {
            (found, expected) if found != expected => format!("a crawl of {found} shards; the shards are {expected}"),
            _ => "another crawl than that of the shards".to_owned(),
        };
        report.damage(&dirs.root().join(layout::IDENTITY), 0, what);
    }
    for (place, identity) in shards.iter().enumerate() {
        let expected = of_shards.of_shard(dirs.shard(place));
        if identity.as_ref().is_some_and(|identity| *identity != expected) {
            let what = "not this shard of the crawl: the directory is that of another one";
            report.damage(&dirs.shards()[place].join(layout::IDENTITY), 0, what);
        }
    }
    if !of_shards.knows_its_domains() {
        notice(
            "the crawl was created with another version of the public suffix list, so it is not checked which shard \
             owns a URL; this version of the crawler cannot resume it"
                .to_owned(),
        );
    }
    Ok(())
}

/// The identity of the crawl by that of one of its shards.
pub(super) fn whole_of(shard: &Identity) -> Identity {
    let sharding = shard.sharding.map(|sharding| Sharding { shard: None, ..sharding });
    Identity { sharding, ..shard.clone() }
}

/// Checks that no shard is at an earlier checkpoint than the shard at `place` knew of.
fn check_heads(dirs: &CrawlDirs, place: usize, exchange: &ExchangeState, shards: &Shards<'_>, report: &mut Report<'_>) {
    let path = match shards.noted[place].number {
        Some(number) => checkpoint_path(&dirs.shards()[place], number),
        None => dirs.shards()[place].clone(),
    };
    for (other, &known) in exchange.heads.iter().enumerate().filter(|&(other, _)| other != place) {
        let Some(last) = shards.last.get(other).and_then(|last| Some(last.as_ref()?.number)) else { continue };
        if last < known {
            let what = format!(
                "it knew of checkpoint {known} of {}, whose last one is {last}: one of the two directories was put \
                 back; the crawl cannot resume",
                dirs.shard(other).dir_name()
            );
            report.damage(&path, 0, what);
        }
    }
}

/// The link files of a shard: whole, and every URL in them one of the shard that it is for.
fn check_files(
    disk: &Disk,
    dirs: &CrawlDirs,
    running: bool,
    place: usize,
    kept: &[Kept],
    report: &mut Report<'_>,
) -> Result<bool> {
    let mut is_whole = true;
    let (dir, sender) = (&dirs.shards()[place], dirs.shard(place));
    for Kept { number, .. } in kept {
        match check_file(disk, dir, sender, *number, dirs.keys()) {
            Ok(bytes) => {
                report.summary.files += 1;
                report.summary.bytes += bytes;
            }
            // read by everybody meanwhile
            Err(error) if running && is_fault(&error) && is_gone(disk, &link_path(dir, *number))? => {}
            Err(error) if is_fault(&error) => {
                is_whole = false;
                faults::tell(report, error);
            }
            Err(error) => return Err(error),
        }
    }
    if running {
        return Ok(is_whole);
    }
    let links = links_dir(dir);
    let names = match disk.list(&links) {
        Err(error) if error.is_not_found() => return Ok(is_whole),
        names => names?.into_iter(),
    };
    let is_kept = |name: &str| number_of(name).is_some_and(|number| kept.iter().any(|kept| kept.number == number));
    let unknown: Vec<(PathBuf, bool)> =
        names.filter(|name| !is_kept(name)).map(|name| (links.join(&name), number_of(&name).is_some())).collect();
    left_over(report, &links, unknown);
    Ok(is_whole)
}

fn is_gone(disk: &Disk, path: &Path) -> Result<bool> {
    Ok(disk.open_if_there(path)?.is_none())
}

/// Takes the link files of a shard that are not whole out of what its checkpoint keeps, and has their links sent again;
/// says of each. `keys` are those of the crawl.
pub(super) fn drop_damaged(
    disk: &Disk,
    dir: &Path,
    sender: Shard,
    state: &mut ExchangeState,
    keys: &KeyMaker,
    notice: &mut dyn FnMut(String),
) -> Result<()> {
    let mut whole = Vec::new();
    for kept in std::mem::take(&mut state.kept) {
        match check_file(disk, dir, sender, kept.number, Some(keys)) {
            Ok(_) => whole.push(kept),
            Err(error) if is_fault(&error) => {
                state.resends = true;
                state.account.stop_counting();
                notice(format!("{error}; the next start sends the links of all archived pages to other shards again"));
            }
            Err(error) => return Err(error),
        }
    }
    state.kept = whole;
    Ok(())
}

/// Reads a link file, and says how long it is.
fn check_file(disk: &Disk, dir: &Path, sender: Shard, number: u64, keys: Option<&KeyMaker>) -> Result<u64> {
    let file = LinkFile::open(disk, dir, sender, number)?;
    file.check()?;
    for section in file.sections().iter().filter(|section| section.receiver < sender.count()) {
        let Some(keys) = keys else { break };
        let (reader, keys) = (Shard::new(section.receiver, sender.count()), Arc::new(keys.clone()));
        let mut from = Position { number, frames: 0 };
        while from.number == number {
            let (disk, dir, keys) = (disk.clone(), dir.to_owned(), keys.clone());
            from = LinkJob { disk, dir, sender, reader, from, keys }.run()?.to;
        }
    }
    disk.open(link_path(dir, number), Mode::Read)?.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The position behind all files.
    fn all() -> Position {
        Position::behind(7)
    }

    fn noted(position: Position, kept: &[u64], account: Account) -> ShardNoted {
        let kept = kept.iter().map(|&number| Kept { number, has_notes: false }).collect();
        let exchange = ExchangeState { positions: vec![position; 2], kept, account, ..ExchangeState::default() };
        ShardNoted { number: Some(9), exchange: Some(exchange) }
    }

    /// The first of two shards, which has sent that many links and has these files.
    fn sender(sent: u64, kept: &[u64]) -> ShardNoted {
        noted(Position::default(), kept, Account { sent: vec![0, sent], read: vec![0, 0] })
    }

    /// The second of them, which has read that many.
    fn reader(read: u64, position: Position) -> ShardNoted {
        noted(position, &[], Account { sent: vec![0, 0], read: vec![read, 0] })
    }

    fn found(running: bool, noted: &[ShardNoted], last: &[ShardNoted]) -> Vec<String> {
        let last: Vec<Option<Last>> = last.iter().map(Last::of).collect();
        let found = Shards { noted, last: &last, running }.differences();
        found.iter().map(Difference::to_string).collect()
    }

    /// Returns the differences of shards that did not go on meanwhile.
    fn found_at_rest(running: bool, sent: u64, read: u64, position: Position) -> Vec<String> {
        let noted = [sender(sent, &[4, 7]), reader(read, position)];
        found(running, &noted, &noted)
    }

    #[test]
    fn links_that_were_sent_and_not_read_are_found_once_all_files_are_read() {
        let lost = found_at_rest(false, 9, 8, all());
        assert_eq!(lost.len(), 1);
        assert!(lost[0].contains("shard-001 has read 8 of the 9 links that shard-000 has sent to it"), "{lost:?}");
        assert_eq!(found_at_rest(true, 9, 8, all()).len(), 1);
        assert!(found_at_rest(false, 9, 9, all()).is_empty());
        assert!(found_at_rest(false, 9, 4, Position::behind(4)).is_empty(), "there is a file to be read");
        assert_eq!(found_at_rest(false, 9, 10, all()).len(), 1, "read twice");
        assert!(found_at_rest(true, 9, 12, all()).is_empty(), "read since the sender was looked at");
    }

    #[test]
    fn a_shard_that_reads_files_after_it_was_looked_at_has_lost_nothing() {
        // the file behind the ninth link was read by all and deleted before its sender was looked at
        let noted = [sender(9, &[]), reader(8, Position::behind(6))];
        let last = [sender(9, &[]), reader(9, all())];
        assert!(found(true, &noted, &last).is_empty());
        let last = [sender(9, &[]), reader(8, all())];
        assert_eq!(found(true, &noted, &last).len(), 1);
    }
}
