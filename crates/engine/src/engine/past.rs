//! The end of the run before, by which a start decides.

use super::checkpoint::Checkpoint;
use crate::record::Finish;

/// The way in which the last run left the crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// There was none.
    New,
    /// It stopped in good order, for this reason.
    Stopped(Finish),
    /// It was killed.
    Killed,
}

impl Past {
    /// Finds it out from the last checkpoint; `is_new` where the crawl was created just now.
    pub(super) fn of(saved: Option<&Checkpoint>, is_new: bool) -> Past {
        match saved {
            None if is_new => Past::New,
            // killed before its first checkpoint
            None => Past::Killed,
            Some(checkpoint) => match checkpoint.finish {
                Some(finish) if checkpoint.clean => Past::Stopped(finish),
                _ => Past::Killed,
            },
        }
    }
}
