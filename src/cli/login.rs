//! `crawler login test URL`: does the login that a page needs, and says step by step what came of it.
//!
//! It is a crawl of that one page, with the settings of the file, in a directory that is removed behind it. So
//! robots.txt, delays, the address guard and the login itself are the same as in a crawl; its log is printed.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::exit::{Exit, UsageError};
use super::{CrawlFn, run};
use crate::config::{Bytes, Config};
use crate::console::RecentWarnings;
use crate::crawl::{CrawlRequest, GivenLimits, Verbosity, sites};
use crate::disk::scratch;
use crate::record::ReadLine;
use crate::report::Screen;
use crate::text::escape::Escaped;
use crate::web::secret::SecretAddress;
use crate::web::url::CanonicalUrl;

/// A login takes no longer, whatever its site does.
const TIME_MAX: Duration = Duration::from_secs(180);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler login test https://example.org/members/ --config my.toml

Exit codes: 0 logged in, 1 not, 2 no [[site.login]] holds for the URL or its secrets are not sent there, or a secret \
is missing.")]
pub(super) struct LoginArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Log in as a crawl would, fetch one page, and print each request and what came of it
    ///
    /// The page is one behind the login. Nothing is kept.
    Test(TestArgs),
}

#[derive(Debug, Args)]
struct TestArgs {
    /// A page behind the login
    #[arg(value_name = "URL")]
    url: String,
    /// Settings in TOML, with the [[site.login]]
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

impl LoginArgs {
    pub(super) fn run(&self, crawl: CrawlFn) -> anyhow::Result<Exit> {
        let What::Test(test) = &self.what;
        test.run(crawl)
    }
}

impl TestArgs {
    fn run(&self, crawl: CrawlFn) -> anyhow::Result<Exit> {
        let url = CanonicalUrl::parse(&self.url)
            .map_err(|error| UsageError::because(format!("{}: {error}", Escaped(&self.url))))?;
        let config = Config::load(Some(&self.config))?;
        let index = sites::index(&config)?;
        let tables = index.of_url(url.as_str());
        let file = self.config.display();
        let Some(&first) = tables.iter().find(|&&number| config.site[usize::from(number)].login.is_some()) else {
            return Err(UsageError::because(format!("no [[site.login]] of {file} holds for {}", url.as_str())));
        };
        if let Some(why) = sites::withheld(&config, &index, first, &url) {
            let problem = format!("{file}: [[site]] {}: {why}; asked for {}", usize::from(first) + 1, url.as_str());
            return Err(UsageError::because(problem));
        }
        let place = scratch::directory()?;
        let (screen, warnings) = (Screen::stderr(), RecentWarnings::default());
        run::log_to(&screen, Verbosity::Quiet, config.report.log_format, Some(warnings.clone()))?;
        let request = CrawlRequest {
            config: of_one_page(config),
            config_path: None,
            limits: GivenLimits::default(),
            seeds_path: None,
            urls: vec![url.as_str().to_owned()],
            seeds: url.as_str().into(),
            dir: place.path().to_owned(),
            force: false,
            until_fresh: false,
            json_path: None,
            verbosity: Verbosity::Quiet,
            warnings: None,
            screen,
        };
        // without a page it ends with an error, and the log says why
        let ended = crawl(request);
        let log = fs::read_to_string(place.path().join("logs/crawl.log")).unwrap_or_default();
        if log.is_empty() {
            ended?;
        }
        let lines = log.lines().filter_map(|line| ReadLine::parse(line.as_bytes()));
        let steps: Vec<(&str, ReadLine<'_>)> = lines.map(|line| (step(&line), line)).collect();
        let mut out = io::stdout().lock();
        for (step, line) in &steps {
            writeln!(out, "{step:<11} {:>4}  {}", line.status, Escaped(line.url))?;
        }
        let mut failures = warnings.newest_first().into_iter().map(|warning| warning.message);
        let failure = failures.find(|message| message.starts_with("the login at "));
        let is_in = ["login", "page"].iter().all(|wanted| steps.iter().any(|(step, _)| step == wanted));
        match failure {
            _ if is_in => writeln!(out, "logged in")?,
            Some(why) => writeln!(out, "not logged in: {}", Escaped(&why))?,
            None => writeln!(out, "not logged in")?,
        }
        out.flush()?;
        Ok(if is_in { Exit::Done } else { Exit::Internal })
    }
}

/// A crawl of one page, which leaves nothing anywhere.
fn of_one_page(mut config: Config) -> Config {
    config.crawl.max_pages = Some(1);
    config.crawl.max_depth = Some(0);
    config.crawl.max_time = Some(TIME_MAX);
    config.crawl.shards = 1;
    config.crawl.disk_floor = Bytes::mib(1);
    config.scope.favicon = false;
    config.scope.licenses = false;
    config.robots.sitemaps = false;
    config.cluster.store = SecretAddress::new("off");
    // one try that is refused is enough to know
    config.fetch.retries = 1;
    (config.politeness.give_up, config.politeness.linger) = (Duration::ZERO, Duration::ZERO);
    config.container.dedup_against = Vec::new();
    config.report.console = "off".to_owned();
    config.report.metrics = "off".to_owned();
    config
}

/// Returns a word for the step that a line of crawl.log is about.
fn step(line: &ReadLine<'_>) -> &'static str {
    match () {
        () if line.has_note("sessionLost") => "turned away",
        () if line.is_prerequisite() && line.url.ends_with("/robots.txt") => "robots.txt",
        () if line.is_prerequisite() => "login",
        () => "page",
    }
}
