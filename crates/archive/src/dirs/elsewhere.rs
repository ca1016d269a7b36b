//! Bodies that are in the archive of an earlier crawl (`container.dedup_against`).

use super::{Archives, CrawlDirs};
use crate::container::External;
use crate::container::dedup::{DedupIndex, Source};
use crate::disk::{self, Disk};
use crate::warc::parse_date;
use crate::web::url::CanonicalUrl;

/// The body that an external revisit of the crawl in `dirs` refers to, where that is in a crawl directory which is
/// still there.
pub fn payload_of(disk: &Disk, dirs: &CrawlDirs, revisit: &External, sha1: &[u8; 20]) -> disk::Result<Option<Vec<u8>>> {
    let Some(index) = DedupIndex::open(disk, dirs.home())? else { return Ok(None) };
    let Ok(url) = CanonicalUrl::parse(&revisit.url) else { return Ok(None) };
    let is_named = |source: &&Source| source.is_crawl && source.name() == revisit.archive;
    for source in index.sources().iter().filter(is_named) {
        let Ok(dirs) = CrawlDirs::open(disk, &source.path) else { continue };
        let Some(keys) = dirs.keys().cloned() else { continue };
        let archives = Archives::new(disk.clone(), dirs, keys);
        let mut next = archives.newest(&url)?;
        while let Some((place, record)) = next {
            let is_it = record.is_response() && record.payload_sha1 == *sha1;
            if is_it && parse_date(&revisit.date) == Some(record.time) {
                let Some(reader) = archives.reader(place)? else { break };
                return Ok(Some(reader.response(&record)?.body));
            }
            next = archives.previous(&(place, record))?;
        }
    }
    Ok(None)
}
