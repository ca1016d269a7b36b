//! The parts that the command line calls: the crawl, and the reader of its archive.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::archive::{self, Archive};
use super::exit::NothingStored;
use crate::archive::Error;
use crate::crawl::{self, CrawlError, CrawlRequest};
use crate::disk::Disk;
use crate::record::Finish;

/// Runs a crawl.
pub(super) fn crawl(request: CrawlRequest) -> Result<Finish, CrawlError> {
    // the panic's own message and place are on standard error by then
    let run = AssertUnwindSafe(|| crawl::run(request));
    catch_unwind(run).unwrap_or_else(|_| Err(CrawlError::Internal("the engine panicked".to_owned())))
}

/// Opens the archive in a crawl directory.
pub(super) fn open_archive(disk: &Disk, dir: &Path) -> anyhow::Result<Box<dyn Archive>> {
    match archive::open(disk, dir) {
        Ok(archive) => Ok(Box::new(archive)),
        Err(Error::NothingStored(dir)) => Err(NothingStored(dir.display().to_string()).into()),
        Err(e) => Err(e.into()),
    }
}
