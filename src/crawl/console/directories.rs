//! The directories of a crawl, for those who read them for a console, and what they say of a fault.

use std::path::Path;

use crate::console::Problem;
use crate::dirs::CrawlDirs;
use crate::disk::{self, Disk};

/// Turns a fault of the disk into a problem of the console.
pub(super) fn fault(error: disk::Error) -> Problem {
    Problem::Fault(error.to_string())
}

/// The directories of the crawl in `dir`; without one there is nothing to show.
pub(super) fn directories(disk: &Disk, dir: &Path) -> Result<CrawlDirs, Problem> {
    if !dir.exists() {
        return Err(Problem::Missing(format!("there is no crawl in {} yet", dir.display())));
    }
    CrawlDirs::open(disk, dir).map_err(fault)
}
