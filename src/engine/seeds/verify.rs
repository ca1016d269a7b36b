//! Whether the two files are as the last checkpoint says, and their mark for one that is rebuilt.

use std::path::Path;

use super::records::{Fate, ListedSeed, Mark, Scan, fates_path, open_list, put};
use crate::disk::{Disk, DiskFile, Error, Kind, Mode, Result};

/// What is wrong, with what was only being written at a crash: path, offset, what, and whether it is damage.
pub type Finding = (std::path::PathBuf, u64, String, bool);

/// Checks the files in `dir` against checkpoint `number`, or none; `None` where the directory has no list.
pub fn check(disk: &Disk, dir: &Path, number: Option<u64>) -> Result<Option<Vec<Finding>>> {
    let Some(list) = open_list(disk, dir)? else { return Ok(None) };
    let mut findings = Vec::new();
    let mut tell = |file: &DiskFile, at: u64, what: String, damage| {
        findings.push((file.path().to_owned(), at, what, damage));
    };
    let (mut scan, mut seeds) = (Scan::begin(&list, Kind::Seeds)?, 0_u32);
    while scan.next::<ListedSeed>()?.is_some() {
        seeds += 1;
    }
    let whole = scan.at();
    let fates = disk.open(fates_path(dir), Mode::Read)?;
    let mut scan = Scan::begin(&fates, Kind::SeedFates)?;
    let (mut mark, mut cut) = (None, scan.at());
    while mark.is_none()
        && number.is_some()
        && let Some((at, fate)) = scan.next::<Fate>()?
    {
        match fate {
            Fate::Status(seed, _) | Fate::Redirect(seed, _) | Fate::Round(seed, _) if seed >= seeds => {
                tell(&fates, at, format!("the fate of seed {seed}, which does not exist"), true);
            }
            Fate::Cut(found) if Some(found.checkpoint) == number => mark = Some(found),
            _ => {}
        }
        cut = scan.at();
    }
    if let (None, Some(number)) = (mark, number) {
        let what = format!("no whole record, and the mark of checkpoint {number} should follow; it cannot be rebuilt");
        tell(&fates, cut, what, true);
    } else if fates.len()? > cut {
        tell(&fates, cut, "unfinished: data after the last checkpoint will be truncated".to_owned(), false);
    }
    let Mark { list_bytes, seeds: known, .. } = mark.unwrap_or_default();
    if whole < list_bytes || seeds < known {
        let what = format!("no whole record: {seeds} seeds of {known}; the others cannot be rebuilt");
        tell(&list, whole, what, true);
    } else if list.len()? > whole {
        tell(&list, whole, "unfinished: a seed that was being written".to_owned(), false);
    }
    Ok(Some(findings))
}

/// Marks checkpoint `to` where `from` was the last one: the seeds are the same. Nothing is done in a directory without
/// a list.
pub fn renew(disk: &Disk, dir: &Path, from: u64, to: u64) -> Result<()> {
    if open_list(disk, dir)?.is_none() {
        return Ok(());
    }
    let file = disk.open(fates_path(dir), Mode::Write)?;
    let mut scan = Scan::begin(&file, Kind::SeedFates)?;
    while let Some((_, fate)) = scan.next::<Fate>()? {
        if let Fate::Cut(mark) = fate
            && mark.checkpoint == from
        {
            let mut record = Vec::new();
            put(&mut record, &Fate::Cut(Mark { checkpoint: to, ..mark }));
            let at = scan.at();
            file.set_len(at)?;
            file.sync()?;
            file.write_all_at(&record, at)?;
            return file.sync();
        }
    }
    Err(Error::damaged(file.path(), scan.at(), format!("the mark of checkpoint {from}"), "no whole record"))
}
