//! Verifying the container: everything that is said twice is compared, and nothing is written.
//!
//! 1. Every value file is read once, as a stream: members and frames with their checksums, heads, digests of blocks
//!    and payloads, exchanges that are whole ([`record`], [`walk`]).
//! 2. key.dat is read along with them. Both have the same order, so every response meets its key record, or one of the
//!    two is missing ([`keys`]).
//! 3. The address pages are read, once for every [`CHUNK_RECORDS`] key records: every page has its checksum, every slot
//!    leads to a key record that belongs there, the newest version of every URL is found
//!    ([`index`]).
//!
//! Memory does not depend on the archive, but for one bit an overflow page. A damaged stretch ends nothing: it is
//! reported and passed over. What a kill may leave behind the last checkpoint is not damage ([`Standing`]).
//!
//! What is in damaged files comes from anywhere. A stretch that is passed over ends where the next record seems to
//! begin: a body that imitates one is not distinguished from a record there.

mod asked;
mod expected;
pub(super) mod index;
pub(super) mod keys;
pub(super) mod order;
pub(super) mod record;
mod report;
#[cfg(test)]
pub(super) mod tests;
pub(super) mod walk;

use std::path::Path;

use super::keys::KeyFile;
use super::retention::journal::Journal;
use super::retention::list::ForgottenList;
use super::{ContainerState, unfinished};
use crate::disk::{Disk, Error, Result};
use crate::web::url::KeyMaker;
use keys::Comparison;
pub use report::{Finding, Report, Summary};
use walk::Walk;

/// Key records that are held in memory for a pass over the address pages.
const CHUNK_RECORDS: usize = 2 << 20;

/// State of the crawl in the directory, as far as it is known. It decides what is damage and what is the trace of a
/// kill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A crawl runs: files grow while they are read.
    Running,
    /// No crawl runs.
    Stopped {
        /// The state that the last checkpoint notes; `None` before the first one.
        noted: Option<ContainerState>,
        /// True if the crawl ended with it: then nothing is behind it.
        clean: bool,
    },
    /// No crawl runs, and no checkpoint can be read.
    Unknown,
}

impl Standing {
    /// The state that the last checkpoint notes.
    pub(super) fn noted(&self) -> Option<&ContainerState> {
        match self {
            Standing::Stopped { noted, .. } => noted.as_ref(),
            _ => None,
        }
    }

    /// True if no checkpoint vouches for what is at `offset` of value file `number`.
    pub(super) fn may_be_torn(&self, number: u32, offset: u64) -> bool {
        self.noted().is_none_or(|noted| (number, offset) >= (noted.value_number, noted.value_bytes))
    }

    /// True if no checkpoint vouches for the key record at `offset`.
    pub(super) fn key_may_be_torn(&self, offset: u64) -> bool {
        self.noted().is_none_or(|noted| offset >= noted.key_bytes)
    }

    /// True if the address pages may be ahead of key.dat, or half written.
    pub(super) fn pages_may_be_ahead(&self) -> bool {
        !matches!(self, Standing::Stopped { clean: true, .. })
    }
}

/// Verifies the container in `dir`. `maker` makes the fingerprints of the crawl; without it they are not compared.
pub fn verify(
    disk: &Disk,
    dir: &Path,
    standing: &Standing,
    maker: Option<&KeyMaker>,
    report: &mut Report<'_>,
) -> Result<()> {
    verify_in_chunks(disk, dir, standing, maker, CHUNK_RECORDS, report)
}

fn verify_in_chunks(
    disk: &Disk,
    dir: &Path,
    standing: &Standing,
    maker: Option<&KeyMaker>,
    chunk_records: usize,
    report: &mut Report<'_>,
) -> Result<()> {
    match unfinished::refuse(disk, dir) {
        Ok(()) => {}
        Err(Error::Damaged { path, found, .. }) => {
            report.damage(&path, 0, format!("a rebuild is in progress, or {found}"))
        }
        Err(error) => return Err(error),
    }
    check_forgotten(disk, dir, report)?;
    let journal = in_progress(disk, dir, standing, report)?;
    // the length of key.dat first: what it leads to is in the value files by then
    let keys = match KeyFile::open_damaged(disk, dir) {
        Ok(keys) => Some(keys),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let end = keys.as_ref().map_or(0, KeyFile::len);
    let mut walk =
        Walk::begin(disk, dir, standing, journal.as_ref().map(|journal| journal.replacement.number), report)?;
    let Some(keys) = &keys else {
        let mut pages = false;
        while walk.next(report)?.is_some() {
            pages = true;
        }
        if pages || standing.noted().is_some() {
            report.damage(&dir.join("key.dat"), 0, "missing; crawler verify --rebuild rebuilds it");
        }
        return Ok(());
    };
    report.expect(end);
    report.summary.files += 1;
    report.summary.bytes += end;
    let comparison = Comparison { keys, end, standing, maker, journal: journal.as_ref() };
    comparison.check_file(disk, dir, report)?;
    comparison.run(&mut walk, report)?;
    index::check(disk, dir, &comparison, chunk_records, report)
}

/// Reports damage to the list of what is forgotten.
pub(super) fn check_forgotten(disk: &Disk, dir: &Path, report: &mut Report<'_>) -> Result<()> {
    match ForgottenList::read(disk, dir) {
        Ok(_) => Ok(()),
        Err(Error::Damaged { path, offset, expected, found }) => {
            let remedy = "it has no second copy, and the crawl does not start without it, lest a removed page come \
                          back: put a copy in its place, or move it away and run crawler forget again for each of its \
                          lines";
            report.damage(&path, offset, format!("expected {expected}, found {found}; {remedy}"));
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The journal of a compaction that was interrupted: its value file is not looked at, and neither are the key records
/// that it changes. The next start finishes it.
fn in_progress(disk: &Disk, dir: &Path, standing: &Standing, report: &mut Report<'_>) -> Result<Option<Journal>> {
    match Journal::read(disk, dir) {
        Ok(Some(journal)) => {
            if !matches!(standing, Standing::Running) {
                let what = "unfinished: a compaction was interrupted here; the next start finishes it";
                report.unfinished(&dir.join(&journal.replacement.new), 0, what);
            }
            Ok(Some(journal))
        }
        Err(Error::Damaged { path, offset, expected, found }) => {
            let what = format!("expected {expected}, found {found}; crawler verify --rebuild does without it");
            report.damage(&path, offset, what);
            Ok(None)
        }
        other => other,
    }
}
