//! `crawler follow`: stored pages as JSON lines, as they come, to standard output, a program or a web server.
//!
//! Pages and their order come from [`crate::archive::Follower`], which says what is promised. Here is what a cursor
//! file adds: it is replaced, durably, only after the lines before it were delivered. Lines go in batches; a batch is
//! delivered when it was written and flushed (standard output), when the program that read it has ended with code 0
//! (`--exec`), or when the server has answered with 2xx (`--webhook`). A batch that was not delivered is tried again,
//! and nothing behind it before. So after a kill at any moment the lines since the cursor come again; none is missing.
//!
//! A batch is full at a number of lines or bytes, and is delivered without being full when nothing more is there. So
//! nothing waits for a batch to fill.

mod batch;
mod bodies;
mod documents;
mod exec;
mod line;
mod target;
mod webhook;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::archive::Damage;
use super::archive::of_page;
use super::exit::{Exit, UsageError};
use super::preferences::StatementFilter;
use super::selection::{KindArgs, KindChoice, Selection};
use super::{GivenDir, Lasting};
use crate::archive::{Cursor, Error, Follower, Page};
use crate::text::escape::Escaped;
use crate::web::secret::SecretAddress;
use batch::Batch;
use bodies::Bodies;
use documents::DocumentsArgs;
use line::{Field, Lines};
use target::Target;

/// Time between two looks at a crawl for more.
pub(in crate::cli) const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Lines of a batch, unless it is said.
const BATCH_LINES: usize = 1_000;
/// A batch is full beyond this many bytes.
const BATCH_BYTES: usize = 8 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Prints one JSON line per stored page, in the order in which pages were stored, while the crawl runs, and ends when the \
crawl has ended. Only pages that a checkpoint of the crawl covers are told, so that no power cut takes back what was \
told; crawl.checkpoint_interval is therefore how late lines come. The crawl is never slowed: files are read, nothing \
else.

With --cursor you can kill it at any time and run the same command again: it continues behind the last lines that were \
delivered. Lines may come twice then, never not at all; place tells which ones are the same.

Fields: place, url, status, mime, bytes, time, digest, revisit, depth, via, hops (those are the default); truncated, \
seed, attempt, duration_ms, content_type, redirect, headers, title, text, links, body (Base64), body_path (with \
--bodies), warc. all means all but the last five.

--exec CMD runs CMD in a shell and writes a batch of lines to its input; the batch counts as delivered when CMD ends \
with code 0, and comes again when it fails. With {} in it, CMD runs once per page, without a shell: each {} is \
replaced by the URL, and the line is its input.

--webhook URL sends batches by POST (application/x-ndjson), signed as Standard Webhooks has it: webhook-id, \
webhook-timestamp, and webhook-signature: v1,BASE64 with HMAC-SHA256 of ID.TIMESTAMP.BODY. Any answer of 2xx is a \
delivery; all others are tried again. The URL has to be https, or http to this machine.

Examples:
  crawler follow                  the crawl in ./crawl, until it ends
  crawler follow --from end       only what is stored from now on
  crawler follow --once --status 200 --fields url,title,text
  crawler follow news --cursor news.cursor --forever | consumer
  crawler follow --cursor c --exec 'kcat -P -b broker -t pages'
  crawler follow --cursor c --exec './index {}'
  crawler follow --webhook https://example.com/pages --secret-file key")]
pub(super) struct FollowArgs {
    #[command(flatten)]
    dir: GivenDir,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
    #[command(flatten)]
    documents: DocumentsArgs,
    /// Place to begin at: start, end (what is stored from now on), or behind the places of earlier lines, separated by
    /// commas, one for each shard
    #[arg(long, value_name = "PLACE", default_value = "start", value_parser = From::parse)]
    from: From,
    /// File that keeps how far lines were delivered. If it is there, --from does not count
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
    /// Fields of each line, in this order, separated by commas
    #[arg(long, value_enum, value_name = "FIELD", value_delimiter = ',')]
    fields: Vec<Field>,
    /// Write bodies to files below this directory, named by their digests, and have body_path in lines
    #[arg(long, value_name = "DIR")]
    bodies: Option<PathBuf>,
    #[command(flatten)]
    lasting: Lasting,
    /// Program that reads the lines
    #[arg(long, value_name = "CMD", conflicts_with = "webhook")]
    exec: Option<String>,
    /// Web server that gets the lines
    #[arg(long, value_name = "URL", requires = "secret_file")]
    webhook: Option<SecretAddress>,
    /// File with the secret that signs batches, 16 bytes or more, readable by its owner alone; whsec_BASE64 is decoded
    #[arg(long, value_name = "FILE", requires = "webhook")]
    secret_file: Option<PathBuf>,
    /// Lines of a batch at most
    #[arg(long, value_name = "N", default_value_t = BATCH_LINES, value_parser = lines_of_batch)]
    batch: usize,
    /// Give up after a batch has failed so often (exit code 1); without it, failures are tried again for ever
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
}

fn lines_of_batch(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|lines| (1..=100_000).contains(lines)).ok_or("write a number from 1 to 100000".to_owned())
}

/// The place to begin at without a cursor file.
#[derive(Clone, Debug)]
enum From {
    End,
    Behind(Cursor),
}

impl From {
    fn parse(text: &str) -> Result<From, String> {
        match text {
            "start" => Ok(From::Behind(Cursor::start())),
            "end" => Ok(From::End),
            places => places.parse().map(From::Behind).map_err(|e| format!("write start, end or places: {e}")),
        }
    }
}

impl FollowArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        self.follow().map_err(|error| match error.downcast_ref::<Error>() {
            Some(wrong @ (Error::Cursor(..) | Error::OtherCrawl { .. })) => UsageError::because(wrong.to_string()),
            _ => error,
        })
    }

    fn follow(&self) -> anyhow::Result<Exit> {
        if self.documents.documents {
            self.lasting.require_crawl(self.dir())?;
            return documents::Run::follow(self);
        }
        let bodies = self.bodies.as_deref().map(Bodies::new).transpose()?;
        let lines = Lines::new(&self.fields, bodies)?;
        let target = self.target()?;
        self.lasting.require_crawl(self.dir())?;
        let Some(follower) = self.open()? else { return Ok(Exit::Done) };
        let selection = self.kind.narrow(&self.selection, KindChoice::Unjudged);
        let (statements, damage) = (selection.statements(), Damage::default());
        let run = Run {
            args: self,
            selection,
            follower,
            lines,
            target,
            statements,
            damage,
            saved: None,
            batch: Batch::default(),
        };
        run.follow()
    }

    fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn target(&self) -> anyhow::Result<Target> {
        match (&self.exec, &self.webhook, &self.secret_file) {
            (Some(command), ..) => Target::exec(command, self.retries),
            (_, Some(url), Some(secret)) => Target::webhook(url, secret, self.retries),
            _ => Ok(Target::Output),
        }
    }

    /// Opens the crawl at its cursor; waits for one where that is wanted. Nothing where it ended before it was one.
    fn open(&self) -> anyhow::Result<Option<Follower>> {
        let kept = self.cursor.as_ref().map(Cursor::read).transpose()?.flatten();
        let (cursor, to_end) = match (kept, &self.from) {
            (Some(cursor), _) => (cursor, false),
            (None, From::End) => (Cursor::start(), true),
            (None, From::Behind(cursor)) => (cursor.clone(), false),
        };
        loop {
            let goes_on = self.lasting.goes_on(self.dir());
            match Follower::open(self.dir(), &cursor) {
                Ok(mut follower) => {
                    if to_end {
                        follower.skip_to_end()?;
                    }
                    return Ok(Some(follower));
                }
                Err(Error::NothingStored(_)) if goes_on => thread::sleep(LOOK_EVERY),
                Err(Error::NothingStored(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Lines of a batch: one where each line has its own process.
    fn batch_lines(&self, target: &Target) -> usize {
        if target.takes_single_lines() { 1 } else { self.batch }
    }
}

/// A crawl that is followed.
struct Run<'a> {
    args: &'a FollowArgs,
    selection: Selection,
    follower: Follower,
    lines: Lines,
    target: Target,
    statements: Option<StatementFilter>,
    damage: Damage,
    /// The cursor that was kept last.
    saved: Option<Cursor>,
    batch: Batch,
}

impl Run<'_> {
    fn follow(mut self) -> anyhow::Result<Exit> {
        loop {
            let goes_on = self.args.lasting.goes_on(self.args.dir());
            self.deliver_all()?;
            if !goes_on {
                return self.damage.or(Exit::Done, &mut io::stderr());
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Delivers all that is there.
    fn deliver_all(&mut self) -> anyhow::Result<()> {
        let lines_max = self.args.batch_lines(&self.target);
        while let Some(page) = self.follower.next_page()? {
            if self.wants(&page)? {
                self.lines.add(&page, &mut self.batch, &mut self.damage)?;
            }
            if self.batch.lines() >= lines_max || self.batch.bytes() >= BATCH_BYTES {
                self.deliver()?;
            }
        }
        for notice in self.follower.notices() {
            let _ = writeln!(io::stderr(), "crawler: {}", Escaped(&notice));
        }
        self.deliver()
    }

    fn wants(&mut self, page: &Page) -> anyhow::Result<bool> {
        let (archive, entry) = of_page(page);
        if !self.selection.wants(&entry) {
            return Ok(false);
        }
        let Some(filter) = &self.statements else { return Ok(true) };
        match filter.leaves_out(&archive, &entry) {
            Ok(is_left_out) => Ok(!is_left_out),
            // what it states is not known: it stays out
            Err(error) => {
                self.damage.note(error, &mut io::stderr());
                Ok(false)
            }
        }
    }

    /// Delivers the batch, then keeps the cursor behind it.
    fn deliver(&mut self) -> anyhow::Result<()> {
        if self.batch.lines() > 0 {
            self.lines.make_durable()?;
            self.target.deliver(&self.batch)?;
            self.batch.clear();
        }
        let Some(path) = &self.args.cursor else { return Ok(()) };
        let cursor = self.follower.cursor();
        if self.saved.as_ref() != Some(&cursor) {
            cursor.write(path)?;
            self.saved = Some(cursor);
        }
        Ok(())
    }
}
