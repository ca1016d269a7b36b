//! What the command line calls: the crawl and the reader of its archive.

use std::path::Path;

use super::archive::Archive;
use super::run::{CrawlError, CrawlRequest};
use crate::report::Finish;

/// Runs a crawl. This build has no engine.
pub(super) fn crawl(_request: CrawlRequest) -> Result<Finish, CrawlError> {
    Err(CrawlError::Internal("this build of crawler comes without the crawl engine".to_owned()))
}

/// Opens the archive in a crawl directory. This build has no reader.
pub(super) fn open_archive(dir: &Path) -> anyhow::Result<Box<dyn Archive>> {
    anyhow::bail!("cannot read {}: this build of crawler comes without the archive reader", dir.display())
}
