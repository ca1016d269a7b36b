//! Checking whether the two files are as the last checkpoint says.

use std::path::Path;

use super::records::{Fate, ListedSeed, Mark, Scan, fates_path, find_mark, open_list};
use crate::disk::{Disk, DiskFile, Error, Kind, Mode, Result};

/// A finding: path, offset, what is wrong, and whether it is damage. What was only being written at a crash is no
/// damage.
pub type Finding = (std::path::PathBuf, u64, String, bool);

/// The whole records of the list.
pub(super) struct WholeList {
    pub(super) bytes: u64,
    pub(super) seeds: u32,
    /// The length of the file.
    file_bytes: u64,
}

impl WholeList {
    pub(super) fn of(list: &DiskFile) -> Result<WholeList> {
        let (mut scan, mut seeds) = (Scan::begin(list, Kind::Seeds)?, 0);
        while scan.next::<ListedSeed>()?.is_some() {
            seeds += 1;
        }
        Ok(WholeList { bytes: scan.at(), seeds, file_bytes: list.len()? })
    }

    /// Returns what is missing of the list that `mark` counts, if anything is.
    pub(super) fn lacks(&self, mark: &Mark) -> Option<String> {
        let is_short = self.bytes < mark.list_bytes || self.seeds < mark.seeds;
        is_short.then(|| {
            format!(
                "no whole record: {} seeds of {}; the others cannot be rebuilt, and without their numbers the crawl \
                 cannot resume",
                self.seeds, mark.seeds
            )
        })
    }

    /// Returns true where something is behind the whole records.
    pub(super) fn has_more(&self) -> bool {
        self.file_bytes > self.bytes
    }
}

/// Checks the files in `dir` against checkpoint `number`; without one only the list, for the next start replaces the
/// other file. `None` where the directory has no list.
pub fn check(disk: &Disk, dir: &Path, number: Option<u64>) -> Result<Option<Vec<Finding>>> {
    let Some(list) = open_list(disk, dir)? else { return Ok(None) };
    let whole = WholeList::of(&list)?;
    let mut findings = Vec::new();
    let mark = number.map(|number| check_fates(disk, dir, number, whole.seeds, &mut findings)).transpose()?;
    if let Some(what) = whole.lacks(&mark.unwrap_or_default()) {
        findings.push((list.path().to_owned(), whole.bytes, what, true));
    } else if whole.has_more() {
        let what = "unfinished: a seed that was being written".to_owned();
        findings.push((list.path().to_owned(), whole.bytes, what, false));
    }
    Ok(Some(findings))
}

/// Checks the fates in `dir`, of a list of `seeds` seeds; returns the mark of checkpoint `number`, an empty one where
/// there is none.
fn check_fates(disk: &Disk, dir: &Path, number: u64, seeds: u32, findings: &mut Vec<Finding>) -> Result<Mark> {
    let path = fates_path(dir);
    let fates = match disk.open(&path, Mode::Read) {
        Err(error) if error.is_not_found() => {
            let what = "missing; --rebuild makes it again, without the outcomes of seeds";
            findings.push((path, 0, what.to_owned(), true));
            return Ok(Mark::default());
        }
        opened => opened?,
    };
    let found = find_mark(&fates, number, |at, fate| match fate {
        Fate::Status(seed, _) | Fate::Redirect(seed, _) | Fate::Round(seed, _) if seed >= seeds => {
            let what = format!("the fate of seed {seed}, which does not exist");
            findings.push((path.clone(), at, what, true));
        }
        _ => {}
    });
    match found {
        Ok((end, mark)) => {
            if fates.len()? > end {
                let what = "unfinished: data after the last checkpoint will be truncated".to_owned();
                findings.push((path, end, what, false));
            }
            Ok(mark)
        }
        Err(Error::Damaged { offset, expected, found, .. }) => {
            findings.push((path, offset, format!("expected {expected}, found {found}"), true));
            Ok(Mark::default())
        }
        Err(error) => Err(error),
    }
}
