//! `crawler sink`: the targets that get the documents of a crawl, fed beside it, compared with it and repaired.

mod verify;

use std::path::PathBuf;
use std::thread;

use clap::{Args, Subcommand};

use super::exit::{Exit, UsageError, of_feed};
use super::follow::LOOK_EVERY;
use super::{GivenDir, Lasting, run, tell};
use crate::config::Config;
use crate::crawl::FeedWriter;
use crate::crawl::sinks::{self, Sinks, Target};
use crate::feed::{Documents, Subscription};
use crate::sink::Delivery;

#[derive(Debug, Args)]
#[command(after_help = "\
The sinks are the [sink.NAME] and [watch.NAME] tables of the settings. A crawl with these settings feeds them itself \
while it runs; these commands do it for a crawl that runs without them, that has ended, or whose targets were away. A \
sink keeps its place in the crawl directory: kill it at any time, and the same command continues.

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
    #[command(flatten)]
    lasting: Lasting,
}

#[derive(Debug, Args)]
struct TargetArgs {
    #[command(flatten)]
    dir: GivenDir,
    /// Settings with [sink.NAME] and [watch.NAME] tables
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Only this sink, or watch.NAME; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

impl TargetArgs {
    fn open(&self) -> anyhow::Result<Vec<Target>> {
        let targets = sinks::open(&Config::load(Some(&self.config))?, self.dir.path(), &self.only)?;
        if targets.is_empty() {
            let what = "no [sink.NAME] and no [watch.NAME] table in it";
            return Err(UsageError::because(format!("{}: {what}", self.config.display())));
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
        let dir = self.target.dir.path();
        self.lasting.require_crawl(dir)?;
        let sinks = Sinks::feed(self.target.open()?, dir, tell)?;
        while self.lasting.goes_on(dir) && !sinks.have_failed() {
            thread::sleep(LOOK_EVERY);
        }
        Ok(if sinks.finish(false) { Exit::Done } else { Exit::Internal })
    }
}

/// Delivers what is new, then prints what differs; delivers that, too, if it `repairs`.
fn compare(args: &TargetArgs, repairs: bool) -> anyhow::Result<Exit> {
    let dir = args.dir.path();
    run::require_crawl(dir)?;
    let targets = args.open()?;
    let mut writer = FeedWriter::new(dir, None, tell);
    while writer.write()?.has_more {}
    let mut exit = Exit::Done;
    for target in targets.into_iter().filter(|target| target.keeps_documents) {
        let name = target.name.clone();
        let mut documents = Documents::open(dir).map_err(of_feed)?;
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
