//! How the run before left the crawl: what a start decides by.

use super::checkpoint::Checkpoint;
use crate::record::Finish;

/// How the last run left the crawl.
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
    /// What the last checkpoint says; `is_new` where the crawl was created just now.
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
