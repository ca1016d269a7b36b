//! `crawler cluster`: crawls that survive their machines, because their checkpoints are in a store.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::exit::{Exit, UsageError};
use super::run::{self, Standing};
use super::{CrawlFn, DirArg};
use crate::config::Config;
use crate::crawl::{CrawlRequest, GivenLimits, cluster, copied_config};
use crate::report::Screen;

#[derive(Debug, Args)]
pub(super) struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Go on with a crawl whose checkpoints are in a store
    Run(RunArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A crawl that is started with --store, or with cluster.store in its settings, ships every checkpoint there. When its \
machine is lost, or is to be replaced, this command goes on with it: it makes the directory from the newest checkpoint \
of each shard in the store, and crawls. Pages that came after that checkpoint are fetched again; no URL is lost. Run \
again, it goes on from its directory.

One process at a time may work on a crawl: make sure that the old one has ended for good.

Examples:
  crawler --seeds seeds.txt --store s3://bucket/crawls
  crawler cluster run --store s3://bucket/crawls --dir here

Exit codes: those of a crawl.")]
struct RunArgs {
    /// The store: s3://, gs://, az:// or file://
    #[arg(long, value_name = "URL")]
    store: String,
    /// Which crawl, by the first digits of its id, where the store has several
    #[arg(long, value_name = "ID")]
    crawl: Option<String>,
    #[command(flatten)]
    dir: DirArg,
    /// Settings in TOML, in the place of those that the crawl was started with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

impl ClusterArgs {
    pub(super) fn run(self, crawl: CrawlFn) -> anyhow::Result<Exit> {
        match self.command {
            ClusterCommand::Run(args) => args.run(crawl),
        }
    }
}

impl RunArgs {
    fn run(self, crawl: CrawlFn) -> anyhow::Result<Exit> {
        let dir = &self.dir.dir;
        let given = self.config.as_deref().map(|path| Config::load(Some(path))).transpose()?;
        let verbosity = run::verbosity(self.quiet, 0);
        let screen = Screen::stderr();
        let mut config = given.clone().unwrap_or_default();
        run::log_to(&screen, verbosity, config.report.log_format, None)?;
        config.cluster.store.clone_from(&self.store);
        config.check()?;
        let kept = match run::standing(dir)? {
            Standing::New => {
                let made = cluster::adopt(&config, self.crawl.as_deref(), dir)?;
                tracing::info!(
                    "{} of {} shards restored from {} to {}",
                    made.restored,
                    made.shards,
                    self.store,
                    dir.display()
                );
                made.config
            }
            Standing::Crawl => settings_of(dir)?,
        };
        let mut config = given.unwrap_or(kept);
        config.cluster.store.clone_from(&self.store);
        config.check()?;
        let request = CrawlRequest {
            config,
            config_path: self.config,
            limits: GivenLimits { store: Some(self.store), ..GivenLimits::default() },
            seeds_path: None,
            urls: Vec::new(),
            seeds: Vec::new(),
            dir: self.dir.dir,
            force: false,
            until_fresh: false,
            json_path: None,
            verbosity,
            warnings: None,
            screen,
        };
        run::finish(crawl, request)
    }
}

/// The settings that the crawl in `dir` was run with last.
fn settings_of(dir: &Path) -> anyhow::Result<Config> {
    copied_config(dir)?.ok_or_else(|| {
        let dir = dir.display();
        UsageError::because(format!("{dir} has no copy of the settings that can be read: name a file by --config"))
    })
}
