//! The places of a crawl's seeds, whatever the number of its shards.

use crate::dirs::CrawlDirs;
use crate::engine::seeds::reader::SeedPlaces;

/// Returns the places of the seeds of the crawl in `dirs`.
pub(super) fn seed_places(dirs: &CrawlDirs) -> SeedPlaces<'_> {
    SeedPlaces { list: dirs.home(), fates: dirs.shards(), owner: Box::new(|url| dirs.place_of_text(url)) }
}
