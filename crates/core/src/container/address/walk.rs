//! The way along the pages of a bucket, which ends also where damage leads it in a circle.

use super::page::PageId;
use crate::disk::{DiskFile, Error, Result};

/// A walk from a bucket page along its overflow pages.
///
/// Checksums do not reveal a page that leads back. No walk passes a page twice, so one that meets the page again that
/// it marked last goes in a circle. The mark is put again after 1, 2, 4, ... steps (Brent 1980): a walk ends after at
/// most three times as many steps as there are pages on it, and costs no memory.
#[derive(Debug, Default)]
pub(super) struct Walk {
    mark: Option<PageId>,
    steps: u64,
}

impl Walk {
    /// The step from the page `at`, which is in `file`, to `next`.
    pub(super) fn step(&mut self, file: &DiskFile, at: PageId, next: Option<PageId>) -> Result<Option<PageId>> {
        let Some(id) = next else { return Ok(None) };
        if self.mark == next {
            let what = "one that leads back to it";
            return Err(Error::damaged(file.path(), at.position() + 16, "another overflow page or none", what));
        }
        self.steps += 1;
        if self.steps.is_power_of_two() {
            self.mark = Some(id);
        }
        Ok(next)
    }
}
