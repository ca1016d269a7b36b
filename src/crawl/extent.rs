//! The URLs that a crawl takes in, found out beside it: its scope by the settings of its last run, with all of its
//! seeds.
//!
//! Nothing is written and no lock is taken. Memory is the same as for the scope in the crawl itself: a name for each
//! domain, host or directory of a seed.

use std::path::Path;

use super::{CrawlError, options};
use crate::checkpoint::Identity;
use crate::config::Config;
use crate::container::retention::list::ForgottenList;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::engine::seeds::reader;
use crate::record::layout;
use crate::web::scope::{Rule, Scope};
use crate::web::url::CanonicalUrl;

/// The scope of a crawl, and the settings that define it.
#[derive(Debug)]
pub(crate) struct Extent {
    /// The settings of its last run, without the names and passwords of proxies.
    pub config: Config,
    /// Query parameters that do not distinguish its URLs.
    pub strip_query_params: Vec<String>,
    scope: Scope,
    /// Lists of what is forgotten, by shard.
    forgotten: Vec<ForgottenList>,
    dirs: CrawlDirs,
}

impl Extent {
    /// Reads the extent of the crawl in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Extent, CrawlError> {
        let disk = Disk::real();
        let dirs = CrawlDirs::open(&disk, dir)?;
        let config = options::read_copy(&disk, dirs.home())?.ok_or_else(|| {
            CrawlError::Usage(format!("{} has no readable copy of the settings of its last run", dir.display()))
        })?;
        let identity =
            Identity::read_copy(&disk, dirs.root()).or_else(|_| Identity::read_copy(&disk, &dirs.shards()[0]))?;
        let usage = |error: crate::web::scope::ScopeError| CrawlError::Usage(error.to_string());
        let mut scope = Scope::begin(&options::scope(&config)?).map_err(usage)?;
        let mut add = |url: &str| {
            let _ = CanonicalUrl::parse(url).map(|url| scope.add(&url));
        };
        if !reader::for_each_listed(&disk, dirs.home(), |_, seed| {
            [Some(seed.url), seed.fallback].iter().flatten().for_each(|url| add(url));
        })? {
            return Err(CrawlError::Usage(format!("{} has no list of its seeds", dir.display())));
        }
        // where seeds redirected to
        for shard in dirs.shards() {
            reader::for_each_scope(&disk, shard, |url| add(&url))?;
        }
        let forgotten = dirs.shards().iter().map(|shard| ForgottenList::read(&disk, &shard.join(layout::PAGES)));
        let forgotten = forgotten.collect::<Result<_, _>>()?;
        Ok(Extent { config, strip_query_params: identity.strip_query_params, scope: scope.finish(), forgotten, dirs })
    }

    /// True if `url` does not belong to the crawl because no seed and no pattern takes it in. What the operator
    /// excluded or had removed is not meant by that.
    pub(crate) fn is_outside(&self, url: &CanonicalUrl) -> bool {
        let is_forgotten = || self.forgotten[self.dirs.place_of_url(url)].covers(url.as_str());
        matches!(self.scope.explain(url, 0, 0).rule, Rule::Nothing(_)) && !is_forgotten()
    }
}
