//! The last checkpoint and the identity of a crawl, for anyone who verifies.

use std::path::Path;

use super::faults;
use crate::checkpoint::begin::any_checkpoint;
use crate::checkpoint::{Checkpoint, Identity, Last, Sections};
use crate::container::{Report, Standing};
use crate::disk::{Disk, Error, Result};
use crate::drum::verify::is_fault;
use crate::record::layout;

/// The last checkpoint of a directory in which no process crawls.
#[derive(Default)]
pub(super) struct Known {
    /// The identity that it has.
    pub identity: Option<Identity>,
    /// Its number; `None` where no file is whole.
    pub number: Option<u64>,
    /// Its record; `None` before the first one.
    pub checkpoint: Option<Checkpoint>,
    /// Sections of it: what was in memory then.
    pub sections: Sections,
}

impl Known {
    /// Finds it. Where no file is whole, that is damage, which makes it impossible to go on.
    pub(crate) fn find(
        disk: &Disk,
        dir: &Path,
        report: &mut Report<'_>,
        notice: &mut dyn FnMut(String),
    ) -> Result<Known> {
        match Last::find(disk, dir) {
            Ok(Some(Last { number, identity, checkpoint, sections })) => {
                Ok(Known { identity: Some(identity), number: Some(number), checkpoint, sections })
            }
            Ok(None) => {
                report.damage(&any_checkpoint(dir), 0, "no checkpoint of the crawl");
                notice(CANNOT_RESUME.to_owned());
                Ok(Known::default())
            }
            Err(error) if is_fault(&error) => {
                faults::tell(report, error);
                notice(CANNOT_RESUME.to_owned());
                Ok(Known::default())
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        if self.number.is_none() {
            return Standing::Unknown;
        }
        let noted = self.checkpoint.as_ref().map(|checkpoint| checkpoint.container.clone());
        Standing::Stopped { noted, clean: self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.clean) }
    }

    /// Returns true where the crawl has made no checkpoint of its own yet.
    pub(crate) fn is_new(&self) -> bool {
        self.number == Some(0)
    }
}

const CANNOT_RESUME: &str = "without a whole checkpoint file the crawl cannot resume: it has the only copy of what was \
                             in memory, including queued URLs; the stores are not verified";

/// The identity by its plain copy. That it is not there or damaged is reported; of a crawl that `is_new`, before its
/// first checkpoint, it need not be there yet.
pub(super) fn read_copy(disk: &Disk, dir: &Path, is_new: bool, report: &mut Report<'_>) -> Result<Option<Identity>> {
    match Identity::read_copy(disk, dir) {
        Ok(identity) => Ok(Some(identity)),
        Err(error) if is_new && error.is_not_found() => {
            report.unfinished(&dir.join(layout::IDENTITY), 0, "missing; the next start writes it");
            Ok(None)
        }
        Err(error) if error.is_not_found() || matches!(error, Error::Damaged { .. }) => {
            report.damage(&dir.join(layout::IDENTITY), 0, format!("{error}; the next start rewrites it"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The identity of the crawl: the one in the checkpoint file, and else that of the copy. A copy that differs misleads
/// readers.
pub(super) fn same_identity(
    dir: &Path,
    of_checkpoint: Option<Identity>,
    copy: Option<Identity>,
    report: &mut Report<'_>,
) -> Option<Identity> {
    if let (Some(identity), Some(copy)) = (&of_checkpoint, &copy)
        && identity != copy
    {
        let what = "not the identity in the checkpoint file; the next start rewrites it";
        report.damage(&dir.join(layout::IDENTITY), 0, what);
    }
    of_checkpoint.or(copy)
}
