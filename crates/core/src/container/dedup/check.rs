//! Verifying the dedup index: every block, and the order of all entries. A rebuild removes a damaged one.

use std::path::Path;

use super::{BLOCK_BYTES, DedupIndex, FILE};
use crate::container::{Finding, Report};
use crate::disk::{Disk, Error, Result};

/// Removes the index of the crawl in `dir` if it is damaged: the next start makes it from its archives.
pub fn remove_damaged(disk: &Disk, dir: &Path) -> Result<()> {
    let (mut tell, mut still) = (|_: &Finding| {}, |_, _| {});
    let mut unheard = Report::new(&mut tell, &mut still);
    check(disk, dir, &mut unheard)?;
    if unheard.summary.findings > 0 { disk.remove(&dir.join(FILE)) } else { Ok(()) }
}

/// Checks the index of the crawl in `dir`, if it has one. Damage costs no page: the next run rebuilds it.
pub fn check(disk: &Disk, dir: &Path, report: &mut Report<'_>) -> Result<()> {
    let path = dir.join(FILE);
    let index = match DedupIndex::open(disk, dir) {
        Ok(None) => return Ok(()),
        Ok(Some(index)) => index,
        Err(error @ Error::Damaged { .. }) => {
            report.damage(&path, 0, error.to_string());
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let (mut last, mut entries) = (None, 0);
    for number in 0..index.blocks {
        let offset = index.start + number * BLOCK_BYTES as u64;
        match index.block(number) {
            Ok(block) => {
                for (sha1, _) in &block.entries {
                    if last.replace(*sha1) >= Some(*sha1) {
                        report.damage(&path, offset, "an entry out of the order of digests");
                    }
                    entries += 1;
                }
            }
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error) => {
                report.damage(&path, offset, error.to_string());
                return Ok(());
            }
        }
    }
    if entries != index.entries {
        report.damage(&path, 0, format!("{entries} entries; its head says {}", index.entries));
    }
    Ok(())
}
