//! A crawl directory as a console's source: each question goes to the part that reads it.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use super::aged::Aged;
use super::directories::fault;
use super::standing::{CommandRoute, Standing};
use super::tree_index::TreeIndex;
use super::{archive, logs, parts, queue, seeds, tree};
use crate::config::Config;
use crate::console::{
    Bottleneck, DiskUse, Limits, MetBudget, Problem, RecentWarnings, RequestRow, Seeds, Source, State, Tree, Version,
    Warning,
};
use crate::crawl::control::wire::Command;
use crate::crawl::reports::coverage::at_the_end;
use crate::crawl::{answers, options};
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::record::{self, QueuedHosts};

/// Figures of a moment serve all questions within this time.
const FIGURES_AGE: Duration = Duration::from_millis(500);
/// The settings of the last run change when a run begins.
const SETTINGS_AGE: Duration = Duration::from_secs(5);
/// The engine is asked for its hosts no more often than this, whatever the number of those who look.
const HOSTS_AGE: Duration = Duration::from_secs(2);
/// Coverage is no older than this on the page.
const COVERAGE_AGE: Duration = Duration::from_secs(30);
/// Hosts that are asked for then.
const HOSTS_ASKED: usize = 1_000;

/// A crawl directory, and the route to those who work there.
pub(super) struct CrawlSource {
    dir: PathBuf,
    route: CommandRoute,
    warnings: Option<RecentWarnings>,
    standing: Aged<Standing>,
    config: Aged<Config>,
    hosts: Aged<QueuedHosts>,
    coverage: Aged<Option<String>>,
    tree: Mutex<Option<TreeIndex>>,
}

impl CrawlSource {
    /// Makes the source for the crawl in `dir`. `warnings` are those of this process, where it is the crawl's.
    pub(crate) fn new(dir: PathBuf, route: CommandRoute, warnings: Option<RecentWarnings>) -> CrawlSource {
        CrawlSource {
            dir,
            route,
            warnings,
            standing: Aged::default(),
            config: Aged::default(),
            hosts: Aged::default(),
            coverage: Aged::default(),
            tree: Mutex::default(),
        }
    }

    pub(crate) fn route(&self) -> &CommandRoute {
        &self.route
    }

    fn standing(&self) -> Result<Standing, Problem> {
        self.standing.get(FIGURES_AGE, || self.route.standing(&self.dir))
    }

    /// The settings of the last run.
    fn config(&self) -> Result<Config, Problem> {
        self.config.get(SETTINGS_AGE, || {
            let disk = Disk::real();
            let home = CrawlDirs::find(&disk, &self.dir).map_err(fault)?.home().to_owned();
            Ok(options::read_copy(&disk, &home).map_err(fault)?.unwrap_or_default())
        })
    }
}

impl Source for CrawlSource {
    fn state(&self) -> Result<State, Problem> {
        let standing = self.standing()?;
        let limits = match standing.live.as_ref().filter(|_| standing.is_live) {
            // as they are in effect, also after a reload
            Some(live) => {
                let record::CrawlLimits { pages, time_s } = live.figures.gauges.limits;
                Limits { max_pages: pages, max_time_s: time_s }
            }
            None => self.config().map_or(Limits::default(), |config| Limits {
                max_pages: config.crawl.max_pages,
                max_time_s: config.crawl.max_time.map(|time| time.as_secs()),
            }),
        };
        let bottleneck = match (standing.stillness(), &standing.live) {
            (Some((code, phrase)), _) => Bottleneck { code: code.to_owned(), phrase },
            (None, live) => {
                let now = live.as_ref().map_or(record::Bottleneck::Nothing, record::Bottleneck::of_live);
                Bottleneck { code: now.code().to_owned(), phrase: now.to_string() }
            }
        };
        let left = standing.live.as_ref().filter(|_| standing.is_live).and_then(left);
        let dropped = standing.live.as_ref().and_then(|live| live.figures.statistics.most_dropped());
        Ok(State {
            most_left_out: dropped.map(|reason| reason.to_string()),
            coverage: self.coverage.get(COVERAGE_AGE, || Ok(at_the_end(&self.dir).map(|found| found.sentence())))?,
            dir: self.dir.display().to_string(),
            running: standing.running,
            controls: standing.is_live,
            live: standing.live,
            bottleneck,
            limits,
            left_s: left.map(|left| left.time.as_secs()),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    fn hosts(&self, limit: usize) -> Result<QueuedHosts, Problem> {
        let mut hosts = self.hosts.get(HOSTS_AGE, || {
            let standing = self.standing()?;
            if !standing.is_live {
                return queue::hosts(&self.dir, HOSTS_ASKED);
            }
            let reply = self.route.ask(&self.dir, &Command::Hosts { limit: HOSTS_ASKED })?;
            reply.hosts.ok_or(Problem::Refused(reply.message))
        })?;
        hosts.keep_longest(limit);
        Ok(hosts)
    }

    fn budgets(&self) -> Result<Vec<MetBudget>, Problem> {
        let standing = self.standing()?;
        match standing.live {
            Some(live) => Ok(parts::budgets(&live, &self.config()?)),
            None => Ok(Vec::new()),
        }
    }

    fn requests(&self, limit: usize) -> Result<Vec<RequestRow>, Problem> {
        logs::requests(&self.dir, limit)
    }

    fn warnings(&self) -> Result<Vec<Warning>, Problem> {
        Ok(self.warnings.as_ref().map(RecentWarnings::newest_first).unwrap_or_default())
    }

    fn seeds(&self, offset: u64, limit: usize) -> Result<Seeds, Problem> {
        seeds::rows(&self.dir, offset, limit)
    }

    fn disk(&self) -> Result<DiskUse, Problem> {
        let standing = self.standing()?;
        Ok(parts::disk_use(&self.dir, standing.live.as_ref()))
    }

    fn explain(&self, url: &str) -> Result<serde_json::Value, Problem> {
        let mut json = answers::explained(&self.dir, url)?;
        json["text"] = json["verdict"].clone();
        Ok(json)
    }

    fn versions(&self, url: &str) -> Result<Vec<Version>, Problem> {
        archive::versions(&self.dir, &answers::parsed(url)?)
    }

    fn tree(&self, under: &str) -> Result<Tree, Problem> {
        tree::below(&self.dir, &self.tree, under)
    }

    fn order(&self, command: &[u8]) -> Result<serde_json::Value, Problem> {
        let command: Command =
            serde_json::from_slice(command).map_err(|error| Problem::Question(format!("no command: {error}")))?;
        let reply = self.route.ask(&self.dir, &command)?;
        if !matches!(command, Command::Status {} | Command::Hosts { .. }) {
            tracing::info!("console: {}: {}", command.name(), reply.message);
        }
        serde_json::to_value(reply).map_err(|error| Problem::Fault(error.to_string()))
    }
}

/// The time that a crawl takes from now on, as its display shows it.
fn left(live: &record::Live) -> Option<record::TimeLeft> {
    record::TimeLeft::of(&live.figures.statistics, &live.figures.gauges, live.rates.pages)
}
