//! Archived versions of a URL.

use std::path::Path;

use super::directories::{directories, fault};
use crate::console::{Problem, Version};
use crate::container::KeyRecord;
use crate::crawl::options;
use crate::dirs::CrawlDirs;
use crate::dirs::{Archives, has_no_page};
use crate::disk::Disk;
use crate::web::url::CanonicalUrl;

/// Versions that are shown.
const VERSIONS_MAX: usize = 1_000;

/// The archive of the crawl in `dir`.
pub(super) fn open(dir: &Path) -> Result<Archives, Problem> {
    let disk = Disk::real();
    let dirs: CrawlDirs = directories(&disk, dir)?;
    let keys = match dirs.keys() {
        Some(keys) => keys.clone(),
        None if has_no_page(&disk, dir) => return Err(Problem::Missing("nothing is archived yet".to_owned())),
        None => options::key_maker(dir).map_err(|error| Problem::Fault(error.to_string()))?,
    };
    Ok(Archives::new(disk, dirs, keys))
}

/// The versions of `url` in the archive of the crawl in `dir`, the newest first.
pub(super) fn versions(dir: &Path, url: &CanonicalUrl) -> Result<Vec<Version>, Problem> {
    let archives = open(dir)?;
    let versions = archives.versions(url, VERSIONS_MAX).map_err(fault)?.into_iter().enumerate();
    Ok(versions.map(|(number, (_, record))| version(number, record)).collect())
}

fn version(number: usize, record: KeyRecord) -> Version {
    Version {
        number,
        at: record.time,
        status: record.status,
        mime: record.mime,
        bytes: record.payload_bytes,
        url: record.url,
    }
}
