//! `crawler follow --documents`: documents as a stream of upserts and deletions.

use std::path::Path;
use std::thread;
use std::time::Instant;

use clap::Args;

use super::super::exit::{Exit, of_feed};
use super::super::tell;
use super::batch::Batch;
use super::target::Target;
use super::{BATCH_BYTES, FollowArgs, LOOK_EVERY};
use crate::crawl::{FeedReader, FeedWriter, Written};
use crate::feed::{Allowed, Consumer, Step, Subscription, Updater};
use crate::text::escape::json_line;

/// The word for all hosts.
const ALL: &str = "all";

/// Options of `--documents`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DocumentsArgs {
    /// Documents instead of versions: upserts and deletions, so that a consumer ends with what the site has
    #[arg(long, conflicts_with_all = ["Selection", "KindArgs", "fields", "bodies", "from"])]
    pub(super) documents: bool,
    /// Share of its documents that a host may lose in a day, besides ten; beyond it deletions wait. Without it,
    /// feed.deletions_max of the crawl counts
    #[arg(long, value_name = "SHARE", requires = "documents", value_parser = share)]
    deletions_max: Option<f64>,
    /// Delete what waits: HOST, or all; may be given several times. The writer of the feed does it at its next pass
    #[arg(long, value_name = "HOST", requires = "documents")]
    allow_deletions: Vec<String>,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or("write a share from 0 to 1, such as 0.05".to_owned())
}

impl DocumentsArgs {
    /// Notes which deletions the operator allows.
    fn allow(&self, dir: &Path) -> anyhow::Result<()> {
        let of = |host: &String| if host == ALL { Allowed::All } else { Allowed::Host(host.clone()) };
        let allowed: Vec<_> = self.allow_deletions.iter().map(of).collect();
        if !allowed.is_empty() {
            Updater::allow(dir, &allowed).map_err(of_feed)?;
        }
        Ok(())
    }
}

/// The target of changes.
struct Out {
    target: Target,
    batch: Batch,
    lines_max: usize,
}

impl Consumer for Out {
    type Error = anyhow::Error;

    fn take(&mut self, step: Step) -> anyhow::Result<bool> {
        for change in &step.changes {
            self.batch.push(change.url(), &json_line(change)?);
        }
        let is_full = self.batch.lines() >= self.lines_max || self.batch.bytes() >= BATCH_BYTES;
        if is_full {
            self.flush()?;
        }
        Ok(is_full)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        if self.batch.lines() > 0 {
            self.target.deliver(&self.batch)?;
            self.batch.clear();
        }
        Ok(())
    }
}

/// A feed that is followed.
pub(super) struct Run {
    writer: FeedWriter,
    reader: FeedReader,
    subscription: Subscription<Out>,
}

impl Run {
    /// Follows the documents of the crawl in `dir`, until it ends.
    pub(super) fn follow(args: &FollowArgs) -> anyhow::Result<Exit> {
        let target = args.target()?;
        let lines_max = args.batch_lines(&target);
        let mut subscription = Subscription::new(Out { target, batch: Batch::default(), lines_max });
        args.cursor.clone().map_or(Ok(()), |file| subscription.keep_in(file)).map_err(of_feed)?;
        args.documents.allow(args.dir())?;
        let writer = FeedWriter::new(args.dir(), args.documents.deletions_max, tell);
        let mut run = Run { writer, reader: FeedReader::new(args.dir(), tell), subscription };
        loop {
            let goes_on = || args.lasting.goes_on(args.dir());
            let is_last = !goes_on();
            let has_more = run.step()?;
            if is_last && !has_more {
                return Ok(Exit::Done);
            }
            let next = Instant::now() + run.writer.rest();
            while !has_more && goes_on() && Instant::now() < next {
                thread::sleep(LOOK_EVERY);
            }
        }
    }

    /// Makes a pass, and delivers what it has changed. Says whether there is more to read.
    fn step(&mut self) -> anyhow::Result<bool> {
        let Written { may_have_changed, has_more } = self.writer.write()?;
        if may_have_changed && let Some(mut documents) = self.reader.documents()? {
            self.subscription.deliver(&mut documents).map_err(|error| match error.downcast() {
                Ok(error) => of_feed(error),
                Err(error) => error,
            })?;
        }
        Ok(has_more)
    }
}
