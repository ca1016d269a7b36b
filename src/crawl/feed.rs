//! The rules of a crawl, as its changes feed asks for them: its scope, and its robots.txt files.

use std::cell::OnceCell;
use std::path::Path;

use super::{CrawlError, options, sites};
use crate::archive::Page;
use crate::config::Config;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::engine::seeds::reader;
use crate::feed::Rules;
use crate::fingerprint::mix;
use crate::web::robots::RobotsRules;
use crate::web::scope::Scope;
use crate::web::site::SiteIndex;
use crate::web::url::CanonicalUrl;

/// The rules of the crawl in a directory, by the settings of its last run.
pub(crate) struct CrawlRules {
    dirs: CrawlDirs,
    config: Config,
    index: SiteIndex,
    /// Made when a document is asked for: it has all seeds.
    scope: OnceCell<Option<Scope>>,
}

impl CrawlRules {
    /// Reads the settings of the crawl in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<CrawlRules, CrawlError> {
        let disk = Disk::real();
        let dirs = CrawlDirs::around(&disk, dir)?;
        let config = options::read_copy(&disk, dirs.home())?.unwrap_or_default();
        let index = sites::index(&config)?;
        Ok(CrawlRules { dirs, config, index, scope: OnceCell::new() })
    }

    /// The scope with all seeds and all places to which they redirected; nothing where it is not known.
    fn scope(&self) -> Option<Scope> {
        let disk = Disk::real();
        let mut scope = Scope::begin(&options::scope(&self.config).ok()?).ok()?;
        let mut add = |seed: &str| CanonicalUrl::parse(seed).iter().for_each(|seed| scope.add(seed));
        let is_there = reader::for_each_listed(&disk, self.dirs.home(), |_, seed| add(&seed.url)).ok()?;
        let mut add = |joined: String| CanonicalUrl::parse(&joined).iter().for_each(|joined| scope.add_joined(joined));
        for dir in self.dirs.shards() {
            reader::for_each_scope(&disk, dir, &mut add).ok()?;
        }
        is_there.then(|| scope.finish())
    }

    /// The rules of an answer, if its head and its body say any.
    fn rules_of(&self, answer: &Page, agent: &str) -> Option<RobotsRules> {
        let (archives, at, record) = answer.parts();
        let response = archives.reader(at).ok()??.response(record).ok()?;
        let lines = response.robots_lines(record.truncated, self.config.robots.max_bytes.as_usize());
        RobotsRules::of_answer(record.status, lines.map(|lines| RobotsRules::parse(agent, &lines.text)))
    }
}

impl Rules for CrawlRules {
    fn scope_version(&self) -> u64 {
        let settings = (&self.config.scope, &self.config.crawl.max_depth, &self.config.site);
        let json = serde_json::to_vec(&settings).unwrap_or_default();
        mix(u64::from(crc32fast::hash(&json)))
    }

    /// A scope that is not known leaves nothing out.
    fn has(&self, url: &CanonicalUrl) -> bool {
        let scope = self.scope.get_or_init(|| self.scope());
        scope.as_ref().is_none_or(|scope| scope.judge(url, 0, 0).is_ok())
    }

    /// The file at the place of an origin's rules counts, and none to which it redirects.
    fn robots(&self, answer: &Page, url: &CanonicalUrl) -> Option<RobotsRules> {
        let there = sites::overlaid(&self.config, &self.index.of_url(url.as_str()));
        let counts = url.path_and_query() == "/robots.txt" && there.robots.obey;
        if counts { self.rules_of(answer, there.agent_token()) } else { None }
    }
}
