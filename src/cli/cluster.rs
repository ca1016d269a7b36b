//! `crawler cluster`: crawls that survive their machines, because their checkpoints are in a store, and crawls on many
//! machines, to which etcd assigns the shards.

mod answer;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::exit::{Exit, UsageError};
use super::run::{self, Standing};
use super::{CrawlFn, DirArg};
use crate::cluster::{EtcdOptions, State};
use crate::config::{Config, Origins};
use crate::crawl::cluster::{NodeRequest, Operated};
use crate::crawl::{CrawlRequest, GivenLimits, cluster, copied_config};
use crate::report::Screen;
use crate::text::figures::count;
use crate::web::secret::{Secret, SecretAddress};

/// The longest that an operator waits for one answer of etcd, and for a clear one.
const ANSWER_MAX: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Make a crawl for many machines
    Init(InitArgs),
    /// Take part in a crawl, or go on with one whose machine is lost
    Run(RunArgs),
    /// Show shards, their owners and their last checkpoints
    Status(StatusArgs),
    /// Have all machines start no new requests
    Pause(OfCrawl),
    /// Have all machines continue
    Resume(ResumeArgs),
    /// Have all machines stop, each behind a last checkpoint
    Stop(OfCrawl),
    /// Add seeds, or fetch seeds again
    AddSeeds(AddSeedsArgs),
    /// Have a machine give its shards to the others
    Drain(DrainArgs),
    /// Continue a crawl whose etcd is lost or was restored from a backup
    Recover(RecoverArgs),
}

/// The store and the registry in which crawls are.
#[derive(Debug, Args)]
struct Place {
    /// Settings in TOML; store and registry may be there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The store: s3://, gs://, az:// or file://
    #[arg(long, value_name = "URL")]
    store: Option<SecretAddress>,
    /// A member of etcd, such as http://10.0.0.1:2379; several with commas between them, or one by one
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    registry: Vec<SecretAddress>,
}

/// The crawl, and the store and the registry in which it is.
#[derive(Debug, Args)]
struct OfCrawl {
    #[command(flatten)]
    place: Place,
    /// First digits of the crawl's id, where the store has several
    #[arg(long, value_name = "ID")]
    crawl: Option<String>,
}

impl Place {
    /// The settings in the file, with what the command line says in their place.
    fn config(&self) -> anyhow::Result<Config> {
        let mut config = Config::load(self.config.as_deref())?;
        self.apply(&mut config)?;
        Ok(config)
    }

    fn apply(&self, config: &mut Config) -> anyhow::Result<()> {
        if let Some(store) = &self.store {
            config.cluster.store.clone_from(store);
        }
        if !self.registry.is_empty() {
            config.cluster.registry.clone_from(&self.registry);
        }
        config.check()?;
        if config.cluster.store == "off" {
            return Err(UsageError::because(
                "name the store by --store, or by cluster.store in a file that --config names",
            ));
        }
        Ok(())
    }
}

impl OfCrawl {
    /// The crawl, which machines share.
    fn operated(&self) -> anyhow::Result<Operated> {
        let config = self.place.config()?;
        // somebody waits for what it says, and can ask again
        let etcd = EtcdOptions { timeout: ANSWER_MAX, patience: PATIENCE, ..etcd(&config)? };
        Ok(Operated::open(&config, &etcd, self.crawl.as_deref())?)
    }
}

/// Returns the address of etcd, with the credentials of the environment that its own tool reads.
fn etcd(config: &Config) -> anyhow::Result<EtcdOptions> {
    if config.cluster.registry.is_empty() {
        return Err(UsageError::because(
            "name a member of etcd by --registry http://HOST:2379, or by cluster.registry in a file for --config",
        ));
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let certificate = variable("ETCDCTL_CERT").zip(variable("ETCDCTL_KEY"));
    let user = variable("ETCDCTL_USER").map(|user| match user.split_once(':') {
        Some((user, password)) => (user.to_owned(), Secret::new(password)),
        None => (user, Secret::new(variable("ETCDCTL_PASSWORD").unwrap_or_default())),
    });
    Ok(EtcdOptions {
        endpoints: config.cluster.registry.clone(),
        ca: variable("ETCDCTL_CACERT").map(PathBuf::from),
        certificate: certificate.map(|(certificate, key)| (certificate.into(), key.into())),
        user,
        ..EtcdOptions::default()
    })
}

#[derive(Debug, Args)]
#[command(after_help = "\
The number of shards is fixed now: crawl.shards, four for each machine of the largest size at least. So are the \
settings of --config, without secrets. A machine may have a separate file for its own settings: memory, workers, \
proxy, name servers, reports, [cluster].

Example:
  crawler cluster init --seeds seeds.txt --shards 12 \\
    --store s3://bucket/crawls --registry http://10.0.0.1:2379")]
struct InitArgs {
    #[command(flatten)]
    place: Place,
    /// File of seed URLs, one per line; - reads standard input
    #[arg(long, value_name = "FILE")]
    seeds: PathBuf,
    /// Shards of the crawl, in the place of crawl.shards
    #[arg(long, value_name = "N")]
    shards: Option<usize>,
    /// Make it although the store has a crawl: commands then have to name theirs by --crawl
    #[arg(long)]
    another: bool,
}

#[derive(Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    of: OfCrawl,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ResumeArgs {
    #[command(flatten)]
    of: OfCrawl,
    /// A shard that was halted because of damage, and may be claimed again
    #[arg(value_name = "SHARD")]
    shard: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Seeds that are known are passed over. With --force, every seed of the file is fetched again, once, by the machine that \
owns it, and so is what it redirects to. A crawl that has ended goes on, once machines take part in it again.

Example:
  crawler cluster add-seeds --force front-pages.txt \\
    --store s3://bucket/crawls --registry http://10.0.0.1:2379")]
struct AddSeedsArgs {
    #[command(flatten)]
    of: OfCrawl,
    /// File of seed URLs, one per line; - reads standard input
    #[arg(value_name = "FILE")]
    seeds: PathBuf,
    /// Fetch these seeds again, although they were fetched before
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
struct DrainArgs {
    #[command(flatten)]
    of: OfCrawl,
    /// The machine's name
    #[arg(value_name = "NODE")]
    node: String,
    /// Let it have shards again
    #[arg(long)]
    undo: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The crawl continues from the newest checkpoints in the store, in the etcd that is named, which may be a new one. Pages \
that were stored after these checkpoints are fetched again; no URL is lost. Stop all machines before, and start them \
again afterwards, with their directories or without. If this command is killed, run it again.

Example:
  crawler cluster recover --store s3://bucket/crawls \\
    --registry http://10.0.0.1:2379")]
struct RecoverArgs {
    #[command(flatten)]
    of: OfCrawl,
    /// Also if machines are registered, or etcd seems to have lost nothing: all must be stopped
    #[arg(long)]
    anyway: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
With a registry, this machine takes part in a crawl that crawler cluster init has made: it claims its share of the \
shards, and takes over the shards of machines that are lost. It may be stopped and started at any time. Hosts are \
asked by one machine at a time.

Without one, it continues a crawl that was started with --store: it makes the directory from the newest checkpoint of \
each shard in the store, and crawls. Pages that were stored after that checkpoint are fetched again; no URL is lost. \
One process at a time may work on such a crawl: make sure that the old one has ended for good.

Examples:
  crawler --seeds seeds.txt --store s3://bucket/crawls
  crawler cluster run --store s3://bucket/crawls --dir here
  crawler cluster run --store s3://bucket/crawls --registry http://10.0.0.1:2379

Exit codes: the same as of a crawl.")]
struct RunArgs {
    #[command(flatten)]
    of: OfCrawl,
    #[command(flatten)]
    dir: DirArg,
    /// The name of this machine among the others, in the place of cluster.name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

impl ClusterArgs {
    pub(super) fn run(self, crawl: CrawlFn) -> anyhow::Result<Exit> {
        let mut out = io::stdout().lock();
        match self.command {
            ClusterCommand::Init(args) => writeln!(out, "{}", args.init()?)?,
            ClusterCommand::Run(args) => {
                drop(out);
                return args.run(crawl);
            }
            ClusterCommand::Status(args) => {
                let look = args.of.operated()?.look()?;
                out.write_all(answer::status(&look, args.json).as_bytes())?;
            }
            ClusterCommand::Pause(of) => {
                writeln!(out, "{}", answer::wanted(State::Pause, &of.operated()?.want(State::Pause)?))?;
            }
            ClusterCommand::Resume(args) => match args.shard {
                Some(shard) => {
                    args.of.operated()?.resume_shard(shard)?;
                    writeln!(out, "shard {shard} may be claimed again")?;
                }
                None => {
                    writeln!(out, "{}", answer::wanted(State::Run, &args.of.operated()?.want(State::Run)?))?;
                }
            },
            ClusterCommand::Stop(of) => {
                writeln!(out, "{}", answer::wanted(State::Stop, &of.operated()?.want(State::Stop)?))?;
            }
            ClusterCommand::AddSeeds(args) => {
                let lines = run::read_seeds(&args.seeds)?;
                let added = args.of.operated()?.add_seeds(&lines, args.force)?;
                let seeds = count(added.seeds);
                match added.round {
                    0 => writeln!(out, "{seeds} seeds added; those that are known are passed over")?,
                    round => writeln!(out, "{seeds} seeds added, to be fetched again in round {round}")?,
                }
                if added.had_ended {
                    writeln!(out, "the crawl had ended, and goes on: start its machines with crawler cluster run")?;
                }
            }
            ClusterCommand::Drain(args) => {
                let operated = args.of.operated()?;
                match args.undo {
                    true => {
                        operated.undrain(&args.node)?;
                        writeln!(out, "{} may have shards again", args.node)?;
                    }
                    false => {
                        operated.drain(&args.node)?;
                        writeln!(out, "{} gives its shards to the others", args.node)?;
                    }
                }
            }
            ClusterCommand::Recover(args) => {
                let config = args.of.place.config()?;
                let id = args.of.crawl.as_deref();
                let mut say = |said: &str| eprintln!("{said}");
                let made = cluster::recover(&config, &etcd(&config)?, id, args.anyway, &mut say)?;
                let (restored, shards, pages) = (made.restored, made.shards, count(made.pages));
                writeln!(
                    out,
                    "crawl {}: era {}; {restored} of {shards} shards go on from a checkpoint, with {pages} pages; \
                     start the machines again",
                    made.id, made.era
                )?;
            }
        }
        Ok(Exit::Done)
    }
}

impl InitArgs {
    /// Makes the crawl; what is said of it.
    fn init(&self) -> anyhow::Result<String> {
        let mut config = Config::load(self.place.config.as_deref())?;
        config.crawl.shards = self.shards.unwrap_or(config.crawl.shards);
        self.place.apply(&mut config)?;
        if config.crawl.shards < 2 {
            return Err(UsageError::because(
                "a crawl for many machines has several shards: name their number by --shards",
            ));
        }
        if !self.another {
            cluster::refuse_another(&config)?;
        }
        let lines = run::read_seeds(&self.seeds)?;
        let id = cluster::init(&config, &etcd(&config)?, &lines)?;
        Ok(format!("crawl {id} of {} shards; crawler cluster run takes part in it", config.crawl.shards))
    }
}

impl RunArgs {
    fn run(mut self, crawl: CrawlFn) -> anyhow::Result<Exit> {
        let given = self.of.place.config.as_deref().map(|path| Config::load_with_origins(Some(path))).transpose()?;
        let screen = Screen::stderr();
        let verbosity = run::verbosity(self.quiet, 0);
        let mut config = given.as_ref().map(|(config, _)| config.clone()).unwrap_or_default();
        run::log_to(&screen, verbosity, config.report.log_format, None)?;
        self.of.place.apply(&mut config)?;
        let shares = !config.cluster.registry.is_empty();
        let mut config = match given {
            given if shares => {
                let (own, origins) = given.unwrap_or_default();
                self.on_this_machine(&config, &own, &origins)?
            }
            Some((own, _)) => {
                self.adopt(&config)?;
                own
            }
            None => self.adopt(&config)?,
        };
        self.of.place.apply(&mut config)?;
        if let Some(name) = self.name.take() {
            config.cluster.name = name;
            config.check()?;
        }
        let etcd = shares.then(|| etcd(&config)).transpose()?;
        let request = CrawlRequest {
            limits: GivenLimits { store: Some(config.cluster.store.clone()), ..GivenLimits::default() },
            config,
            config_path: self.of.place.config,
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
        match etcd {
            None => run::finish(crawl, request),
            Some(etcd) => {
                let finish = cluster::take_part(NodeRequest { crawl: request, etcd, id: self.of.crawl })?;
                Ok(Exit::from(finish))
            }
        }
    }

    /// The settings of the crawl, with the settings that belong to a machine from `own`, the file of this machine.
    fn on_this_machine(&self, config: &Config, own: &Config, origins: &Origins) -> anyhow::Result<Config> {
        let crawl = cluster::settings(config, self.of.crawl.as_deref())?;
        let (config, ignored) = crawl.on_machine(own, origins)?;
        for key in ignored {
            tracing::warn!("{key}: the crawl was made with another value, and that counts");
        }
        Ok(config)
    }

    /// Makes the directory from the store, where there is none; the settings that the crawl was run with.
    fn adopt(&self, config: &Config) -> anyhow::Result<Config> {
        let dir = &self.dir.dir;
        if run::standing(dir)? == Standing::Crawl {
            return settings_of(dir);
        }
        let made = cluster::adopt(config, self.of.crawl.as_deref(), dir)?;
        let (restored, shards, dir) = (made.restored, made.shards, dir.display());
        tracing::info!("{restored} of {shards} shards restored from {} to {dir}", config.cluster.store);
        Ok(made.config)
    }
}

/// The settings that the crawl in `dir` was run with last.
fn settings_of(dir: &Path) -> anyhow::Result<Config> {
    copied_config(dir)?.ok_or_else(|| {
        let dir = dir.display();
        UsageError::because(format!("{dir} has no copy of the settings that can be read: name a file by --config"))
    })
}
