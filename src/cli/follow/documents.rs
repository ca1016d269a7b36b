//! `crawler follow --documents`: documents as a stream of upserts and deletions.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::super::exit::{Exit, UsageError};
use super::batch::Batch;
use super::target::{Target, pause};
use super::verify::verify;
use super::{BATCH_BYTES, FollowArgs, LOOK_EVERY};
use crate::clock::{Clock, SystemClock};
use crate::config::reference::resolved;
use crate::crawl::CrawlRules;
use crate::disk::DirectoryLock;
use crate::feed::{Allowed, Cursor, Documents, Error, Limits, Step, Updater};
use crate::sink::{self, Delivery};
use crate::text::escape::{Escaped, json_line};
use crate::text::figures::counted;

/// The word for all hosts.
const ALL: &str = "all";

/// Options of `--documents`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DocumentsArgs {
    /// Documents instead of versions: upserts and deletions, so that a consumer ends with what the site has
    #[arg(long, conflicts_with_all = ["Selection", "KindArgs", "fields", "bodies", "from"])]
    pub(super) documents: bool,
    /// Share of its documents that a host may lose in a day, besides ten; beyond it deletions wait
    #[arg(long, value_name = "SHARE", requires = "documents", default_value_t = 0.05, value_parser = share)]
    deletions_max: f64,
    /// File with the settings of a search engine, a database or a directory that gets the documents
    #[arg(long, value_name = "FILE", requires = "documents")]
    #[arg(conflicts_with_all = ["exec", "webhook", "batch", "retries"])]
    sink: Option<PathBuf>,
    /// Then print the ids of documents that the sink lacks, has too many or has in another version; code 1 if there are
    /// any. Ends at what is there now
    #[arg(long, requires = "sink", requires = "cursor")]
    verify: bool,
    /// The same, and repair the sink
    #[arg(long, requires = "sink", requires = "cursor")]
    repair: bool,
    /// Delete what waits: HOST, or all; may be given several times
    #[arg(long, value_name = "HOST", requires = "documents")]
    allow_deletions: Vec<String>,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or("write a share from 0 to 1, such as 0.05".to_owned())
}

impl DocumentsArgs {
    fn limits(&self) -> Limits {
        let allowed = match &self.allow_deletions[..] {
            [] => Allowed::None,
            hosts if hosts.iter().any(|host| host == ALL) => Allowed::All,
            hosts => Allowed::Hosts(hosts.to_vec()),
        };
        Limits { share: self.deletions_max, allowed, ..Limits::default() }
    }
}

/// The target of changes.
enum Out {
    /// Lines, for a target of lines.
    Lines { target: Target, batch: Batch, lines_max: usize },
    /// A sink.
    Sink(Box<Delivery>),
}

impl Out {
    /// The target that `args` name.
    fn of(args: &FollowArgs) -> anyhow::Result<Out> {
        if let Some(file) = &args.documents.sink {
            return Ok(Out::Sink(Box::new(delivery(file)?)));
        }
        let target = args.target()?;
        let lines_max = args.batch_lines(&target);
        Ok(Out::Lines { target, batch: Batch::default(), lines_max })
    }

    /// Takes a step. Says whether all that it has taken has arrived.
    fn take(&mut self, step: Step) -> anyhow::Result<bool> {
        match self {
            Out::Sink(delivery) => {
                let mut has_arrived = false;
                for (number, change) in (step.number..).zip(step.changes) {
                    has_arrived = delivery.push(number, change)?;
                }
                Ok(has_arrived)
            }
            Out::Lines { batch, lines_max, .. } => {
                for change in &step.changes {
                    batch.push(change.url(), &json_line(change)?);
                }
                let is_full = batch.lines() >= *lines_max || batch.bytes() >= BATCH_BYTES;
                if is_full {
                    self.flush()?;
                }
                Ok(is_full)
            }
        }
    }

    /// Has all that it has taken arrive.
    fn flush(&mut self) -> anyhow::Result<()> {
        match self {
            Out::Sink(delivery) => Ok(delivery.flush()?),
            Out::Lines { target, batch, .. } if batch.lines() > 0 => {
                target.deliver(batch)?;
                batch.clear();
                Ok(())
            }
            Out::Lines { .. } => Ok(()),
        }
    }
}

/// The sink whose settings are in `file`.
fn delivery(file: &Path) -> anyhow::Result<Delivery> {
    let refuse = |why: &str| UsageError::because(format!("--sink {}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refuse(&error.to_string()))?;
    let settings: sink::Settings = toml::from_str(&text).map_err(|error| refuse(error.message()))?;
    let refers = !settings.secret.written().is_empty();
    let secret = refers.then(|| resolved(settings.secret.written())).transpose().map_err(|why| refuse(&why))?;
    let opened = sink::open(&settings, secret.as_ref()).map_err(|error| refuse(&error.to_string()))?;
    let name = file.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let waits = |wait: Duration, why: &str| {
        pause(wait, why);
        true
    };
    Ok(Delivery::new(&name, opened, settings.limits(), Box::new(waits)))
}

/// A feed that is followed.
pub(super) struct Run<'a> {
    args: &'a FollowArgs,
    out: Out,
    /// The writer of the feed, unless another process has it.
    updater: Option<Updater>,
    cursor: Option<Cursor>,
    /// True when the changes of the passes before this process have arrived.
    has_delivered: bool,
    /// Hosts of which was said that their deletions wait.
    waiting: usize,
}

impl Run<'_> {
    /// Follows the documents of the crawl in `dir`, until it ends.
    pub(super) fn follow(args: &FollowArgs) -> anyhow::Result<Exit> {
        let out = Out::of(args)?;
        let cursor = args.cursor.as_deref().map(Cursor::read).transpose().map_err(usage)?.flatten();
        let mut run = Run { args, out, updater: None, cursor, has_delivered: false, waiting: 0 };
        loop {
            let is_once = args.once || args.documents.verify || args.documents.repair;
            let goes_on = !is_once && (args.forever || DirectoryLock::is_held_or_listed(args.dir()));
            let has_more = run.step()?;
            if !goes_on && !has_more {
                return run.end();
            }
            if !has_more {
                thread::sleep(LOOK_EVERY);
            }
        }
    }

    fn end(&mut self) -> anyhow::Result<Exit> {
        let DocumentsArgs { verify: verifies, repair: repairs, .. } = self.args.documents;
        match &mut self.out {
            Out::Sink(delivery) if verifies || repairs => {
                verify(&mut Documents::open(self.args.dir())?, delivery, repairs)
            }
            _ => Ok(Exit::Done),
        }
    }

    /// Makes a pass, and delivers what it has changed. Says whether there is more to read.
    fn step(&mut self) -> anyhow::Result<bool> {
        let dir = self.args.dir();
        if self.updater.is_none() {
            self.updater = match Updater::open(dir, self.args.documents.limits()) {
                Err(Error::Archive(crate::archive::Error::NothingStored(_))) => return Ok(false),
                updater => updater?,
            };
        }
        let updated = match &mut self.updater {
            Some(updater) => updater.update(&CrawlRules::read(dir)?, SystemClock::new().now())?,
            None => None,
        };
        if let Some(updated) = updated.filter(|updated| updated.unreadable > 0) {
            let answers = counted(updated.unreadable, "answer");
            let _ = writeln!(io::stderr(), "crawler: {answers} cannot be read, and changed nothing");
        }
        // what another process has changed is not known
        if updated.is_some() || self.updater.is_none() || !self.has_delivered {
            self.deliver(dir)?;
            self.has_delivered = true;
        }
        Ok(updated.is_some_and(|updated| updated.has_more))
    }

    fn deliver(&mut self, dir: &Path) -> anyhow::Result<()> {
        let mut documents = match Documents::open(dir) {
            Err(Error::NoFeed(_)) => return Ok(()),
            documents => documents?,
        };
        self.warn(&documents);
        let cursor = self.cursor.clone().unwrap_or_else(|| documents.start());
        let mut changes = documents.changes(&cursor).map_err(usage)?;
        while let Some(step) = changes.next_step()? {
            if self.out.take(step)? {
                self.keep(changes.cursor())?;
            }
        }
        self.out.flush()?;
        self.keep(changes.cursor())
    }

    /// Keeps the cursor behind what has arrived.
    fn keep(&mut self, cursor: &Cursor) -> anyhow::Result<()> {
        if self.cursor.as_ref() != Some(cursor) {
            self.args.cursor.iter().try_for_each(|path| cursor.write(path))?;
            self.cursor = Some(cursor.clone());
        }
        Ok(())
    }

    /// Says which deletions wait, when there are more hosts than before.
    fn warn(&mut self, documents: &Documents) {
        let waiting = documents.waiting();
        for host in waiting.iter().take(10).filter(|_| waiting.len() > self.waiting) {
            let deletions = counted(host.deletions, "document");
            let _ = writeln!(
                io::stderr(),
                "crawler: {deletions} of {host} would go, which is more than a day's share: nothing of it is deleted. \
                 If that is right: crawler follow --documents --allow-deletions {host}",
                host = Escaped(&host.host)
            );
        }
        self.waiting = waiting.len();
    }
}

fn usage(error: Error) -> anyhow::Error {
    match error {
        Error::Cursor(_) | Error::OtherFeed => UsageError::because(error.to_string()),
        error => error.into(),
    }
}
