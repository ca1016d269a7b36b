//! `crawler URL...` and `crawler --seeds FILE`: everything is read and checked before the first byte is written, then
//! the crawl is called.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::CrawlFn;
use super::exit::{self, Exit, UsageError};
use super::{lines, seed_words};
use crate::clock::{Clock, SystemClock, Time};
use crate::config::{Config, ConfigError, LogFormat, Origins, parse_duration};
use crate::console::{DEFAULT_ADDRESS, RecentWarnings};
use crate::crawl::reports::coverage::coverage;
use crate::crawl::{self, CrawlRequest, GivenLimits, Verbosity, signals};
use crate::dirs::CrawlDirs;
use crate::disk::{self, DirectoryLock, Disk};
use crate::report::closing::shell_word;
use crate::report::{JsonScreen, Screen};
use crate::text::figures::{iso_ms, stamp};
use crate::web::secret::SecretAddress;
use crate::web::seeds::{LINE_BYTES_MAX, without_user_information};

/// Longest seeds file: some ten million URLs.
const SEEDS_BYTES_MAX: u64 = 1 << 30;

/// The command line of a crawl.
#[derive(Debug, Args)]
pub(super) struct CrawlArgs {
    /// URLs or hosts to crawl: seeds, as the lines of a seeds file are
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// File of seed URLs, one per line; - reads standard input
    #[arg(long, value_name = "FILE")]
    seeds: Option<PathBuf>,
    /// Settings in TOML; crawler config lists all of them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Crawl directory; created if it does not exist, resumed if it does
    #[arg(long, value_name = "DIR", default_value = "./crawl")]
    dir: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
    /// Show the crawl in the browser; the address of the page is printed when it starts
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    #[arg(default_missing_value = DEFAULT_ADDRESS, value_parser = console_address)]
    console: Option<SocketAddr>,
    /// Start a new crawl; an old crawl directory is moved aside, never deleted
    #[arg(long)]
    fresh: bool,
    /// Fetch the seed URLs again as new versions, even if they were fetched before
    ///
    /// A page with an entity tag or a date is requested conditionally; a 304 is stored as a reference to the stored
    /// version. The targets of redirects are fetched again too. Of the links, only new ones are followed, as always. A
    /// sitemap is read again only if it is a seed itself, not if robots.txt names it. After a kill, or a stop that left
    /// seed URLs unfetched, the same command resumes the round and does not repeat fetches. In every other case it
    /// starts a new round. The command without --force only finishes what was queued.
    #[arg(long)]
    force: bool,
    /// End when no page is due, instead of waiting for the next one (with [recrawl]; for cron)
    ///
    /// The crawl fetches the pages that are due and new ones that they lead to, then it ends. The next run continues.
    /// If [recrawl] is off, a crawl ends by itself anyway.
    #[arg(long)]
    until_fresh: bool,
    /// End with exit code 1 where less than this share of the known URLs was got as content, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    min_coverage: Option<f64>,
    /// Write the closing statistics to this file as one JSON object; - writes them to standard output
    // `ctl` has an option of this name for all its commands, which clap looks for here too
    #[arg(id = "json_file", long = "json", value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print only errors: a crawl that succeeds prints nothing
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more; twice: everything, including messages of the libraries
    ///
    /// RUST_LOG sets levels in detail, unless -q is given, for example RUST_LOG=crawler=debug,hickory_resolver=info.
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
    /// Format of log and progress on standard error: text, or json with one object per line
    #[arg(long, value_name = "FORMAT", value_parser = log_format)]
    log_format: Option<LogFormat>,
}

/// Settings of the command line.
#[derive(Debug, Args)]
pub(super) struct LimitArgs {
    /// Pages to store over the whole crawl, resumes included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_pages: Option<u64>,
    /// Time to crawl over all sessions, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = max_time)]
    max_time: Option<Duration>,
    /// Links to follow from a seed; 0 fetches only the seeds
    #[arg(long, value_name = "N")]
    max_depth: Option<u16>,
    /// Store that checkpoints are shipped to: s3://, gs://, az:// or file://
    ///
    /// The crawl then survives its machine: crawler cluster run continues it elsewhere.
    #[arg(long, value_name = "URL")]
    store: Option<SecretAddress>,
}

impl LimitArgs {
    /// The configuration in the file at `path` with these settings in it, and where each value comes from.
    pub(super) fn configure(&self, path: Option<&Path>) -> Result<(Config, Origins), ConfigError> {
        let (mut config, mut origins) = Config::load_with_origins(path)?;
        self.given().apply(&mut config);
        let options = [
            ("crawl.max_pages", "--max-pages", self.max_pages.is_some()),
            ("crawl.max_time", "--max-time", self.max_time.is_some()),
            ("crawl.max_depth", "--max-depth", self.max_depth.is_some()),
            ("cluster.store", "--store", self.store.is_some()),
        ];
        for (key, option, _) in options.into_iter().filter(|&(_, _, given)| given) {
            origins.set_by_option(key, option);
        }
        config.check()?;
        Ok((config, origins))
    }

    /// The limits that were given.
    fn given(&self) -> GivenLimits {
        let (max_pages, max_time, max_depth) = (self.max_pages, self.max_time, self.max_depth);
        GivenLimits { max_pages, max_time, max_depth, store: self.store.clone(), ..GivenLimits::default() }
    }
}

/// The state of a crawl directory before the crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is missing, or empty.
    New,
    /// It has a crawl.
    Crawl,
}

/// Reads, checks, and calls the crawl.
pub(super) fn run(args: CrawlArgs, commands: &clap::Command, crawl: CrawlFn) -> anyhow::Result<Exit> {
    if args.seeds.is_none() && args.urls.is_empty() {
        return Err(UsageError::because(HOW_TO_START));
    }
    let names = commands.get_subcommands().map(clap::Command::get_name);
    let from_line = seed_words::lines(&args.urls, names)?;
    // without a handler the signal ends the process, which is what happens where there can be none
    let _ = signals::survive_checkpoint_signal();
    let (mut config, _) = args.limits.configure(args.config.as_deref())?;
    let given = GivenLimits {
        log_format: args.log_format,
        console: args.console.map(|address| address.to_string()),
        ..args.limits.given()
    };
    given.apply(&mut config);
    let mut seeds = args.seeds.as_deref().map_or(Ok(Vec::new()), read_seeds)?;
    if !seeds.is_empty() && !seeds.ends_with(b"\n") {
        seeds.push(b'\n');
    }
    seeds.extend_from_slice(&from_line);
    let standing = standing(&args.dir)?;
    if (standing == Standing::New || args.fresh) && !has_seed(&seeds) {
        let name = args.seeds.as_deref().map_or(String::new(), seeds_name);
        return Err(UsageError::because(format!("{name} has no URL; {HOW_TO_SEED}")));
    }
    args.json.as_deref().map_or(Ok(()), check_json)?;
    let verbosity = verbosity(args.quiet, args.verbose);
    let screen = Screen::stderr();
    let warnings = (config.report.console != "off").then(RecentWarnings::default);
    log_to(&screen, verbosity, config.report.log_format, warnings.clone())?;
    if args.fresh && standing == Standing::Crawl {
        let aside = move_aside(&args.dir, SystemClock::new().now())?;
        tracing::info!("the old crawl was moved to {}", aside.display());
    }
    if config.crawl.contact.is_empty() {
        tracing::info!(
            "tip: set crawl.contact, so that webmasters can reach you (crawler init writes a settings file)"
        );
    }
    let (min_coverage, dir) = (args.min_coverage, args.dir.clone());
    let request = CrawlRequest {
        config,
        config_path: args.config,
        limits: given,
        seeds_path: args.seeds,
        urls: args.urls.into_iter().map(without_user_information).collect(),
        seeds,
        dir: args.dir,
        force: args.force,
        until_fresh: args.until_fresh,
        json_path: args.json,
        verbosity,
        warnings,
        screen,
    };
    let exit = finish(crawl, request)?;
    match min_coverage {
        Some(least) if exit == Exit::Done => enough_coverage(&dir, least),
        _ => Ok(exit),
    }
}

/// A share in percent.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let share = text.trim_end_matches('%').parse().ok().filter(|share| (0.0..=100.0).contains(share));
    share.ok_or("write a share from 0 to 100, such as 95".to_owned())
}

/// Says where less than `least` percent of the known URLs of the crawl in `dir` are content.
pub(super) fn enough_coverage(dir: &Path, least: f64) -> anyhow::Result<Exit> {
    let disk = Disk::real();
    let found = coverage(&disk, &CrawlDirs::open(&disk, dir)?)?;
    if found.as_ref().and_then(|found| found.percent).is_some_and(|percent| percent >= least) {
        return Ok(Exit::Done);
    }
    let what = found.map_or("there is no checkpoint yet".to_owned(), |found| found.sentence());
    writeln!(io::stderr(), "crawler: less than {least} %: {what}")?;
    Ok(Exit::Internal)
}

/// Returns how much is written to the log; `verbose` is the number of times that the option was given.
pub(super) fn verbosity(quiet: bool, verbose: u8) -> Verbosity {
    match (quiet, verbose) {
        (true, _) => Verbosity::Quiet,
        (_, 0) => Verbosity::Normal,
        (_, 1) => Verbosity::Verbose,
        _ => Verbosity::Loud,
    }
}

/// Calls the crawl, and says how the process ends.
pub(super) fn finish(crawl: CrawlFn, request: CrawlRequest) -> anyhow::Result<Exit> {
    let json = request.logs_json();
    let error = match crawl(request) {
        Ok(finish) => return Ok(Exit::from(finish)),
        Err(error) => anyhow::Error::from(error),
    };
    if !json {
        return Err(error);
    }
    // standard error is read by a program
    tracing::error!("{}", exit::message(&error).trim_end());
    Ok(exit::of(&error))
}

const HOW_TO_SEED: &str = "write one URL per line, for example:

    # lines like this one are skipped
    https://example.com/

crawler init writes such a file, and a settings file.";

const HOW_TO_START: &str = "nothing to crawl: name a URL or host, or a file of URLs, one per line:

    crawler https://example.com/ --max-pages 100
    crawler --seeds seeds.txt

crawler demo shows a crawl without the internet; crawler init writes a seeds file and a settings file
All commands: crawler --help";

/// Refuses a file for the closing statistics that could not be written at the end.
fn check_json(path: &Path) -> anyhow::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if path.is_dir() || parent.is_some_and(|parent| !parent.is_dir()) {
        let path = path.display();
        return Err(UsageError::because(format!("--json {path}: write a file in a directory that exists")));
    }
    Ok(())
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("write text or json".to_owned()),
    }
}

/// Reads the address that follows `--console`; an error where the word is no address but belongs to the rest of the
/// line.
pub(super) fn console_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("write an address such as {DEFAULT_ADDRESS} behind --console, or put --console at the end of the line")
    })
}

pub(super) fn max_time(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text).ok_or("write a duration with its unit, such as 90s, 10m or 2h")?;
    if duration.is_zero() { Err("0 would fetch nothing".to_owned()) } else { Ok(duration) }
}

fn seeds_name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

pub(super) fn read_seeds(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = seeds_name(path);
    read_whole(path).map_err(|e| match e.kind() {
        io::ErrorKind::FileTooLarge => {
            UsageError::because(format!("{name} is longer than 1 GiB: split it, and add the parts one by one"))
        }
        io::ErrorKind::NotFound => UsageError::because(format!("cannot read the seeds in {name}: {e}\n{HOW_TO_SEED}")),
        _ => UsageError::because(format!("cannot read the seeds in {name}: {e}")),
    })
}

/// All of the file of seeds at `path`, or of standard input, lines beyond [`LINE_BYTES_MAX`] cut; `FileTooLarge` where
/// that is more than any has.
pub(super) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = fs::File::open(path)?;
        if file.metadata()?.len() > SEEDS_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Box::new(file)
    };
    lines::read(source, LINE_BYTES_MAX, SEEDS_BYTES_MAX)
}

/// True if any line is neither blank nor a comment. The crawl itself checks that it is a URL, and names its number.
fn has_seed(seeds: &[u8]) -> bool {
    let seeds = seeds.strip_prefix(b"\xef\xbb\xbf").unwrap_or(seeds);
    seeds.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).any(|line| !line.is_empty() && line[0] != b'#')
}

/// Returns the state of `dir`; a directory with other things in it is refused, so that nothing is written among them.
pub(super) fn standing(dir: &Path) -> anyhow::Result<Standing> {
    let list = |e| disk::Error::io("list", dir, e);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Standing::New),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            return Err(UsageError::because(format!("{} is a file, not a directory", dir.display())));
        }
        Err(e) => return Err(list(e).into()),
    };
    if crawl::is_begun(dir) {
        return Ok(Standing::Crawl);
    }
    let mut empty = true;
    for entry in entries {
        let name = entry.map_err(list)?.file_name();
        // a crawl that has just been begun
        if name == disk::LOCK_FILE {
            return Ok(Standing::Crawl);
        }
        empty = false;
    }
    if empty {
        return Ok(Standing::New);
    }
    let name = dir.display();
    Err(UsageError::because(format!("{name} is not a crawl directory, and not empty; choose another --dir")))
}

/// Refuses a directory that no crawl was made in; nothing is written.
pub(super) fn require_crawl(dir: &Path) -> anyhow::Result<()> {
    match standing(dir)? {
        Standing::Crawl => Ok(()),
        Standing::New => Err(UsageError::because(format!(
            "no crawl in {}; choose another --dir, or start one: crawler https://example.com/ --dir {}",
            dir.display(),
            shell_word(dir)
        ))),
    }
}

/// Renames the crawl directory to `DIR.old-YYYYMMDD-HHMMSS`, unless a crawler works on it.
pub(super) fn move_aside(dir: &Path, now: Time) -> anyhow::Result<PathBuf> {
    let _lock = DirectoryLock::acquire(dir)?;
    rename_aside(dir, now)
}

/// Renames `dir`, which nobody works on, in the same way.
pub(super) fn rename_aside(dir: &Path, now: Time) -> anyhow::Result<PathBuf> {
    // `crawl/` and `.` name their directory in ways that cannot be renamed.
    let whole = fs::canonicalize(dir).map_err(|e| disk::Error::io("find", dir, e))?;
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(UsageError::because(format!("{} cannot be moved aside; choose another --dir", dir.display())));
    };
    let mut aside_name = name.to_owned();
    aside_name.push(format!(".old-{}", stamp(now)));
    let mut aside = parent.join(&aside_name);
    for number in 2..1_000 {
        if fs::symlink_metadata(&aside).is_err() {
            break;
        }
        let mut numbered = aside_name.clone();
        numbered.push(format!("-{number}"));
        aside = parent.join(numbered);
    }
    let disk = Disk::real();
    disk.rename(&whole, &aside)?;
    disk.sync_dir(parent)?;
    Ok(aside)
}

/// The time of a line on a terminal, where room is scarce and nobody counts microseconds.
struct WholeSeconds;

impl FormatTime for WholeSeconds {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let now = iso_ms(SystemClock::new().now());
        write!(writer, "{}Z", now.split('.').next().unwrap_or(&now))
    }
}

/// Sends the log to `screen`, and its warnings to `warnings` too, however little is said. A second call in a process
/// keeps the first one's.
pub(super) fn log_to(
    screen: &Screen,
    verbosity: Verbosity,
    format: LogFormat,
    warnings: Option<RecentWarnings>,
) -> anyhow::Result<()> {
    let (level, others) = match verbosity {
        Verbosity::Quiet => (LevelFilter::ERROR, LevelFilter::ERROR),
        Verbosity::Normal => (LevelFilter::INFO, LevelFilter::ERROR),
        Verbosity::Verbose => (LevelFilter::DEBUG, LevelFilter::ERROR),
        Verbosity::Loud => (LevelFilter::TRACE, LevelFilter::DEBUG),
    };
    let usual = Targets::new().with_default(others).with_target("crawler", level);
    let wanted = std::env::var("RUST_LOG").ok().filter(|wanted| !wanted.is_empty() && verbosity != Verbosity::Quiet);
    let targets = match wanted {
        Some(wanted) => wanted.parse().map_err(|e| UsageError::because(format!("RUST_LOG={wanted}: {e}")))?,
        None => usual,
    };
    let warnings = warnings.map(|warnings| warnings.with_filter(LevelFilter::WARN));
    let registry = tracing_subscriber::registry().with(warnings);
    let _ = match format {
        LogFormat::Text => {
            let layer = tracing_subscriber::fmt::layer().with_writer(screen.clone()).with_ansi(screen.colour());
            let layer = layer.with_target(verbosity >= Verbosity::Verbose);
            if screen.is_terminal() {
                registry.with(layer.with_timer(WholeSeconds).with_filter(targets)).try_init()
            } else {
                registry.with(layer.with_filter(targets)).try_init()
            }
        }
        LogFormat::Json => {
            let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false);
            let layer = layer.with_span_list(false).with_writer(JsonScreen(screen.clone()));
            registry.with(layer.with_filter(targets)).try_init()
        }
    };
    Ok(())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
