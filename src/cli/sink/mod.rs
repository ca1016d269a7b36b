//! `crawler sink`: the targets that get the documents of a crawl, fed beside it, compared with it and repaired.

mod verify;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::DirArg;
use super::exit::{Exit, UsageError};
use super::run;
use crate::config::Config;
use crate::crawl::FeedWriter;
use crate::crawl::sinks::{self, Sinks, Target};
use crate::disk::DirectoryLock;
use crate::feed::{self, Documents, Subscription};
use crate::sink::Delivery;

/// Time between two looks at the crawl.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
#[command(after_help = "\
The sinks are the [sink.NAME] tables of the settings. A crawl with these settings feeds them itself while it runs; \
these commands do it for a crawl that runs without them, that has ended, or whose targets were away. A sink keeps its \
place in the crawl directory: kill it at any time, and the same command continues.

verify and repair first deliver what is new. They print a line for each difference: the sink, missing, extra or stale, \
and the id of the document.

Examples:
  crawler sink run news --config my.toml             until the crawl ends
  crawler sink run news --config my.toml --forever
  crawler sink verify news --config my.toml --only search
  crawler sink repair news --config my.toml")]
pub(super) struct SinkArgs {
    #[command(subcommand)]
    command: SinkCommand,
}

#[derive(Debug, Subcommand)]
enum SinkCommand {
    /// Deliver documents to the sinks, until the crawl ends
    Run(RunArgs),
    /// Compare the sinks with the crawl; code 1 if a document is missing, too many or in another version
    Verify(TargetArgs),
    /// The same, and deliver what differs
    Repair(TargetArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// End at what is there now
    #[arg(long)]
    once: bool,
    /// Never end: wait for the crawl to begin, and to be run again
    #[arg(long, conflicts_with = "once")]
    forever: bool,
}

#[derive(Debug, Args)]
struct TargetArgs {
    /// Crawl directory, the same as --dir
    #[arg(value_name = "DIR", conflicts_with = "dir")]
    of: Option<PathBuf>,
    #[command(flatten)]
    dir: DirArg,
    /// Settings with [sink.NAME] tables
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Only this sink; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

impl TargetArgs {
    fn dir(&self) -> &Path {
        self.of.as_ref().unwrap_or(&self.dir.dir)
    }

    fn open(&self) -> anyhow::Result<Vec<Target>> {
        let targets = sinks::open(&Config::load(Some(&self.config))?, &self.only)?;
        if targets.is_empty() {
            return Err(UsageError::because(format!("{}: no [sink.NAME] table in it", self.config.display())));
        }
        Ok(targets)
    }
}

impl SinkArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        match &self.command {
            SinkCommand::Run(args) => args.run(),
            SinkCommand::Verify(args) => compare(args, false),
            SinkCommand::Repair(args) => compare(args, true),
        }
    }
}

impl RunArgs {
    fn run(&self) -> anyhow::Result<Exit> {
        let dir = self.target.dir();
        if !self.forever {
            run::require_crawl(dir)?;
        }
        let sinks = Sinks::feed(self.target.open()?, dir, tell)?;
        let goes_on = || !self.once && (self.forever || DirectoryLock::is_held_or_listed(dir));
        while goes_on() && !sinks.have_failed() {
            thread::sleep(LOOK_EVERY);
        }
        Ok(if sinks.finish(false) { Exit::Done } else { Exit::Internal })
    }
}

fn tell(sentence: &str) {
    let _ = writeln!(io::stderr(), "crawler: {sentence}");
}

/// Delivers what is new, then prints what differs; delivers that, too, if it `repairs`.
fn compare(args: &TargetArgs, repairs: bool) -> anyhow::Result<Exit> {
    let dir = args.dir();
    run::require_crawl(dir)?;
    let targets = args.open()?;
    let mut writer = FeedWriter::new(dir, None);
    while writer.write()?.has_more {}
    let mut exit = Exit::Done;
    for target in targets {
        let name = target.name.clone();
        let mut documents = Documents::open(dir).map_err(usage)?;
        let mut subscription = Subscription::new(delivery(target));
        subscription.keep_in_feed(dir, &name)?;
        subscription.deliver(&mut documents)?;
        let differs = verify::verify(&name, &mut documents, subscription.consumer(), repairs)?;
        if differs && !repairs {
            exit = Exit::Internal;
        }
    }
    Ok(exit)
}

fn delivery(target: Target) -> Delivery {
    let name = target.name.clone();
    target.delivery(Box::new(move |wait, why| {
        tell(&sinks::again(&name, wait, why));
        thread::sleep(wait);
        true
    }))
}

fn usage(error: feed::Error) -> anyhow::Error {
    match error {
        feed::Error::NoFeed(_) => UsageError::because(error.to_string()),
        error => error.into(),
    }
}
