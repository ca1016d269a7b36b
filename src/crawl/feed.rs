//! The changes feed of a crawl: its writer, and the rules that it asks for, which are the scope and robots.txt files.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{CrawlError, options, sites};
use crate::archive::{self, Page};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::engine::seeds::reader;
use crate::feed::{self, Documents, Limits, Rules, Updater};
use crate::fingerprint::mix;
use crate::text::escape::Escaped;
use crate::text::figures::counted;
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

    /// The settings as they are at a URL.
    fn there(&self, url: &CanonicalUrl) -> Config {
        sites::overlaid(&self.config, &self.index.of_url(url.as_str()))
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
    fn version(&self) -> u64 {
        let config = &self.config;
        let settings = (&config.scope, &config.crawl.max_depth, &config.site, &config.robots.obey);
        let json = serde_json::to_vec(&settings).unwrap_or_default();
        mix(u64::from(crc32fast::hash(&json)))
    }

    fn near_duplicates(&self) -> Option<f64> {
        Some(self.config.feed.near_duplicates).filter(|&share| share > 0.0)
    }

    /// A scope that is not known leaves nothing out.
    fn has(&self, url: &CanonicalUrl) -> bool {
        let scope = self.scope.get_or_init(|| self.scope());
        scope.as_ref().is_none_or(|scope| scope.judge(url, 0, 0).is_ok())
    }

    fn obeys(&self, url: &CanonicalUrl) -> bool {
        self.there(url).robots.obey
    }

    /// An answer counts that was asked for at the place of an origin's rules.
    fn robots(&self, answer: &Page, asked: &CanonicalUrl) -> Option<RobotsRules> {
        let there = self.there(asked);
        let counts = asked.path_and_query() == "/robots.txt" && there.robots.obey;
        if counts { self.rules_of(answer, there.agent_token()) } else { None }
    }
}

/// Says something to the operator.
pub(crate) type Tell = fn(&str);

/// Hosts of which is told at once that their deletions wait.
const WAITING_TOLD: usize = 10;
/// Time between two looks at a crawl for more.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A pass is followed by this many times its own time without one: it reads and writes all URLs of the feed.
const REST: u32 = 9;

/// The writer of a crawl's feed, as long as no other process is it.
pub(crate) struct FeedWriter {
    dir: PathBuf,
    /// The share of its documents that a host may lose in a day; without it, the one of the crawl's settings.
    share: Option<f64>,
    updater: Option<Updater>,
    /// Time of the last pass.
    pass: Duration,
    tell: Tell,
}

/// The result of a step of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// True if there may be changes since the last step. At the first one, and where another process writes, nobody
    /// knows.
    pub may_have_changed: bool,
    /// True if there is more to read.
    pub has_more: bool,
}

impl FeedWriter {
    /// A writer for the crawl in `dir`, which need not be there yet.
    pub(crate) fn new(dir: &Path, share: Option<f64>, tell: Tell) -> FeedWriter {
        FeedWriter { dir: dir.to_owned(), share, updater: None, pass: Duration::ZERO, tell }
    }

    /// Makes a pass over what the crawl has stored since the last one. Tells of answers that cannot be read.
    pub(crate) fn write(&mut self) -> Result<Written, FeedError> {
        let is_first = self.updater.is_none();
        if is_first {
            self.updater = self.open()?;
        }
        let Some(updater) = &mut self.updater else { return Ok(Written { may_have_changed: true, has_more: false }) };
        let begin = Instant::now();
        let updated = updater.update(&CrawlRules::read(&self.dir)?, SystemClock::new().now())?;
        self.pass = begin.elapsed();
        let may_have_changed = is_first || updated.is_some();
        let updated = updated.unwrap_or_default();
        if updated.unreadable > 0 {
            (self.tell)(&format!("{} cannot be read, and changed nothing", counted(updated.unreadable, "answer")));
        }
        Ok(Written { may_have_changed, has_more: updated.has_more })
    }

    /// Opens the feed, unless nothing is stored yet or another process writes it.
    fn open(&self) -> Result<Option<Updater>, FeedError> {
        let of_settings = || Ok(options::copied_config(&self.dir)?.unwrap_or_default().feed.deletions_max);
        let share = self.share.map_or_else(of_settings, Ok::<_, CrawlError>)?;
        match Updater::open(&self.dir, Limits::of_share(share)) {
            Err(feed::Error::Archive(archive::Error::NothingStored(_))) => Ok(None),
            updater => Ok(updater?),
        }
    }

    /// The time to the next pass.
    pub(crate) fn rest(&self) -> Duration {
        LOOK_EVERY.max(self.pass * REST)
    }
}

/// A reader of a crawl's feed, which need not be there yet.
pub(crate) struct FeedReader {
    dir: PathBuf,
    tell: Tell,
    /// Hosts of which was told that their deletions wait.
    hosts_told: usize,
}

impl FeedReader {
    /// A reader for the crawl in `dir`.
    pub(crate) fn new(dir: &Path, tell: Tell) -> FeedReader {
        FeedReader { dir: dir.to_owned(), tell, hosts_told: 0 }
    }

    /// The documents as of the last pass; nothing before the first. Tells which deletions wait, when they are those of
    /// more hosts than before.
    pub(crate) fn documents(&mut self) -> feed::Result<Option<Documents>> {
        let documents = match Documents::open(&self.dir) {
            Err(feed::Error::NoFeed(_)) => return Ok(None),
            documents => documents?,
        };
        let hosts = documents.waiting();
        for host in hosts.iter().take(WAITING_TOLD).filter(|_| hosts.len() > self.hosts_told) {
            let (deletions, host) = (counted(host.deletions, "document"), Escaped(&host.host));
            (self.tell)(&format!(
                "{deletions} of {host} would go, which is more than a day's share: nothing of it is deleted. If that \
                 is right: crawler follow --documents --allow-deletions {host}"
            ));
        }
        self.hosts_told = hosts.len();
        Ok(Some(documents))
    }
}

/// Reasons for which a feed cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    /// The settings of the crawl cannot be read.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// The feed cannot be continued.
    #[error(transparent)]
    Feed(#[from] feed::Error),
}
