//! The request to run a crawl, and the reasons for which it may not be run.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{Config, LogFormat};
use crate::console::RecentWarnings;
use crate::contract::Fault;
use crate::disk;
use crate::engine::OpenError;
use crate::fetch::StartError;
use crate::node;
use crate::report::closing::{Closing, LineOptions, peak_memory};
use crate::report::{Mode, Progress, Screen};
use crate::shard::Shard;
use crate::web::secret::SecretAddress;

/// The amount that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Progress, notices and warnings.
    Normal,
    /// Notices of what the program does and why, too.
    Verbose,
    /// Everything, also from the libraries.
    Loud,
}

/// Settings of the command line: they replace the settings of the file, also when that is read again.
#[derive(Clone, Debug, Default)]
pub struct GivenLimits {
    /// `crawl.max_pages`.
    pub max_pages: Option<u64>,
    /// `crawl.max_time`.
    pub max_time: Option<Duration>,
    /// `crawl.max_depth`.
    pub max_depth: Option<u16>,
    /// `cluster.store`.
    pub store: Option<SecretAddress>,
    /// `report.log_format`.
    pub log_format: Option<LogFormat>,
    /// `report.console`.
    pub console: Option<String>,
}

impl GivenLimits {
    /// Puts those that were given into `config`.
    pub(crate) fn apply(&self, config: &mut Config) {
        let limits = &mut config.crawl;
        limits.max_pages = self.max_pages.or(limits.max_pages);
        limits.max_time = self.max_time.or(limits.max_time);
        limits.max_depth = self.max_depth.or(limits.max_depth);
        if let Some(store) = &self.store {
            config.cluster.store.clone_from(store);
        }
        let report = &mut config.report;
        report.log_format = self.log_format.unwrap_or(report.log_format);
        if let Some(console) = &self.console {
            report.console.clone_from(console);
        }
    }
}

/// A crawl that can be run: everything was read and checked.
#[derive(Debug)]
pub struct CrawlRequest {
    /// The configuration, the limits of the command line merged in.
    pub config: Config,
    /// The configuration file, where one was given.
    pub config_path: Option<PathBuf>,
    /// The limits of the command line.
    pub limits: GivenLimits,
    /// The seeds file, where one was given; `-` for standard input.
    pub seeds_path: Option<PathBuf>,
    /// Seeds of the command line, without user and password.
    pub urls: Vec<String>,
    /// Raw bytes of the seeds file, and behind them the seeds of the command line, one per line.
    pub seeds: Vec<u8>,
    /// The crawl directory: one of a crawl, an empty one, or none yet.
    pub dir: PathBuf,
    /// True to fetch the listed URLs although they were seen before.
    pub force: bool,
    /// True to end the crawl when no page is due, where pages are fetched again.
    pub until_fresh: bool,
    /// File for the closing statistics as JSON; `-` for standard output.
    pub json_path: Option<PathBuf>,
    /// Amount that is logged.
    pub verbosity: Verbosity,
    /// The last warnings of the process, where a console shows them.
    pub warnings: Option<RecentWarnings>,
    /// Screen for progress and the closing statistics; the log goes there already.
    pub screen: Screen,
}

impl CrawlRequest {
    /// The directories of the shards: of a crawl with one, the crawl directory.
    pub(super) fn dirs(&self) -> Vec<PathBuf> {
        match u32::try_from(self.config.crawl.shards).expect("a crawl has few shards") {
            1 => vec![self.dir.clone()],
            shards => Shard::all(shards).map(|shard| self.dir.join(shard.dir_name())).collect(),
        }
    }

    /// The progress display that suits this run.
    pub(crate) fn progress(&self) -> Progress {
        let mode = Mode::on(&self.screen, self.verbosity == Verbosity::Quiet, self.logs_json());
        Progress::on(self.screen.clone(), mode, self.config.report.interval)
    }

    /// True if the log is written as JSON.
    pub(crate) fn logs_json(&self) -> bool {
        self.config.report.log_format == LogFormat::Json
    }

    /// Returns the name by which messages call the place that the seeds are from.
    pub(crate) fn seeds_name(&self) -> String {
        self.seeds_path.as_deref().map_or_else(|| "command line".to_owned(), |path| path.display().to_string())
    }

    /// Returns the facts about this run that the closing statistics name.
    pub(crate) fn closing(&self) -> Closing<'_> {
        let GivenLimits { max_pages, max_time, max_depth, ref store, .. } = self.limits;
        Closing {
            dir: &self.dir,
            seeds: self.seeds_path.as_deref(),
            urls: &self.urls,
            config: self.config_path.as_deref(),
            options: LineOptions { max_pages, max_time, max_depth, force: self.force },
            store: store.as_ref(),
            memory_bytes: peak_memory(),
            coverage: None,
        }
    }
}

/// The reason for which a crawl could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// The disk, or its content.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The user has to write something differently.
    #[error("{0}")]
    Usage(String),
    /// Not one page could be fetched; why.
    #[error("nothing could be fetched: {0}")]
    NothingFetched(String),
    /// The store of objects.
    #[error(transparent)]
    Store(crate::store::Error),
    /// The registry of the cluster.
    #[error(transparent)]
    Cluster(crate::cluster::ClusterError),
    /// A fault of the program.
    #[error("internal fault: {0}")]
    Internal(String),
}

impl From<OpenError> for CrawlError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Disk(error) => CrawlError::Disk(error),
            OpenError::Scope(error) => CrawlError::Usage(error.to_string()),
        }
    }
}

impl From<node::Error> for CrawlError {
    fn from(error: node::Error) -> Self {
        match error {
            node::Error::Disk(error) => CrawlError::Disk(error),
            node::Error::Store(error) => CrawlError::Store(error),
            error @ node::Error::Recovered => CrawlError::Usage(error.to_string()),
        }
    }
}

impl From<Fault> for CrawlError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Disk(error) => CrawlError::Disk(error),
            Fault::Panic(said) => CrawlError::Internal(said),
        }
    }
}

impl From<StartError> for CrawlError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Dns(_) | StartError::Client(_) | StartError::Root(_) => CrawlError::Usage(error.to_string()),
            StartError::Tls(_) | StartError::Runtime(_) => CrawlError::Internal(error.to_string()),
        }
    }
}
