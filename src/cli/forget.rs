//! `crawler forget`: has pages removed from the archive for good, and keeps them from being fetched again.

use std::io::{self, Write};

use clap::Args;

use super::exit::{Exit, UsageError};
use super::get::parse;
use super::{DirArg, compact, run};
use crate::clock::{Clock, SystemClock};
use crate::container::Keep;
use crate::container::retention::list::Act;
use crate::crawl::control::ask;
use crate::crawl::control::wire::Command;
use crate::crawl::related::{Related, Relatives};
use crate::crawl::retention;
use crate::disk::DirectoryLock;
use crate::text::escape::{Escaped, escaped, json_line};
use crate::web::url::CanonicalUrl;

#[derive(Debug, Args)]
#[command(after_help = "\
From then on get, list, extract and export do not show the pages, and the crawl does not fetch their URLs, wherever \
they wait or are found; --undo takes that back. What is archived of them leaves the disk with the next compaction: in \
a running crawl within minutes of the next checkpoint, else with --now or crawler compact. The URL, the date and the \
reason stay in forgotten.jsonl and in a tombstone. The texts of URLs also stay in the index, in logs, in the queue \
and in other pages: docs/OPERATING.md says where, and what to do about it.

All spellings of a URL are removed: the ones in the archive, and its key form (crawler canonical shows it). Related \
pages stay, and are named: the same URL with the other scheme, and the target of its redirect. --prefix takes only \
what begins like it: crawler list --prefix shows that.

Examples:
  crawler forget https://example.com/a --reason 'case 12/345'
  crawler forget --prefix https://example.com/private/ --now
  crawler forget --undo https://example.com/a
  crawler forget --list

Exit codes: 0 done, 1 the running crawl refused, 2 usage, 3 damaged, 4 disk, 6 in use.")]
pub(super) struct ForgetArgs {
    /// URLs, with their scheme
    #[arg(value_name = "URL", required_unless_present_any = ["prefix", "list"])]
    urls: Vec<String>,
    /// Forget all URLs that begin like this; it needs a scheme and a host with its /
    #[arg(long, value_name = "PREFIX")]
    prefix: Vec<String>,
    /// Reason, for the record
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Take it back: the URLs may be fetched and shown again
    #[arg(long, conflicts_with = "now")]
    undo: bool,
    /// Compact at once, so that nothing is left on the disk when the command returns; no crawl may run
    #[arg(long)]
    now: bool,
    /// Print what was forgotten and taken back so far, as lines of JSON
    #[arg(long, conflicts_with_all = ["urls", "prefix", "reason", "undo", "now"])]
    list: bool,
    #[command(flatten)]
    dir: DirArg,
}

impl ForgetArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let dir = &self.dir.dir;
        run::require_crawl(dir)?;
        if self.list {
            let mut out = io::stdout().lock();
            for act in retention::forgotten(dir)?.acts() {
                writeln!(out, "{}", json_line(act)?)?;
            }
            return Ok(Exit::Done);
        }
        let related = self.related()?;
        let acts = self.acts(&related)?;
        if DirectoryLock::is_held(dir) {
            return self.tell_crawl(acts, &related);
        }
        let new = retention::forget(dir, &acts)?;
        let mut out = io::stdout().lock();
        self.tell_related(&related, &mut out)?;
        let word = if self.undo { "taken back" } else { "taken down" };
        let others = if new < acts.len() { "; the others were so already" } else { "" };
        writeln!(out, "{new} of {} entries {word}{others}", acts.len())?;
        if self.now {
            let done = retention::compact(dir, Some(Keep::All), &mut compact::progress(false))?;
            writeln!(out, "{}", compact::was(&done))?;
        } else if !self.undo {
            writeln!(out, "what is archived leaves the disk with crawler compact, or with the next crawl")?;
        }
        Ok(Exit::Done)
    }

    fn tell_crawl(&self, acts: Vec<Act>, related: &[Related]) -> anyhow::Result<Exit> {
        if self.now {
            let why = "--now needs a stopped crawl: without it the running crawl removes the pages by itself";
            return Err(UsageError::because(why.to_owned()));
        }
        let reply = ask(&self.dir.dir, &Command::Forget { acts })?;
        if reply.ok {
            self.tell_related(related, &mut io::stdout())?;
            writeln!(io::stdout(), "{}", escaped(&reply.message))?;
            return Ok(Exit::Done);
        }
        writeln!(io::stderr(), "crawler: {}", escaped(&reply.message))?;
        Ok(Exit::Internal)
    }

    /// Returns for each of the URLs what belongs to the same page, and the pages that stay.
    fn related(&self) -> anyhow::Result<Vec<Related>> {
        if self.urls.is_empty() {
            return Ok(Vec::new());
        }
        let relatives = Relatives::open(&self.dir.dir)?;
        let of = |url: &String| Ok(relatives.of(&CanonicalUrl::parse(&parse(url)?)?)?);
        self.urls.iter().map(of).collect()
    }

    /// Names the other spellings that go too, and the pages that stay.
    fn tell_related(&self, related: &[Related], out: &mut dyn Write) -> io::Result<()> {
        let word = if self.undo { "taken back" } else { "taken down" };
        for Related { spellings, beside } in related {
            for spelling in spellings {
                writeln!(out, "also {word}, the same page: {}", escaped(spelling))?;
            }
            for (url, what) in beside.iter().filter(|_| !self.undo) {
                writeln!(out, "not {word}, {what}: {}", escaped(url))?;
            }
        }
        Ok(())
    }

    /// Returns the acts that take everything down that was asked for.
    fn acts(&self, related: &[Related]) -> anyhow::Result<Vec<Act>> {
        let now = SystemClock::new().now();
        let mut acts = Vec::new();
        for url in &self.urls {
            acts.push(Act::url(&parse(url)?, now, &self.reason));
        }
        for url in related.iter().flat_map(|related| &related.spellings) {
            acts.push(Act::url(url, now, &self.reason));
        }
        for prefix in &self.prefix {
            acts.push(Act::prefix(&self.whole_prefix(prefix)?, now, &self.reason));
        }
        Ok(if self.undo { acts.into_iter().map(Act::undo).collect() } else { acts })
    }

    /// A prefix in the spelling of URLs. One that ends within a host would cover strangers.
    fn whole_prefix(&self, prefix: &str) -> anyhow::Result<String> {
        let refuse = |why: &str| UsageError::because(format!("--prefix {}: {why}", Escaped(prefix)));
        let canonical = parse(prefix)?;
        let host_end = prefix.find("://").and_then(|at| prefix[at + 3..].find('/'));
        if host_end.is_none() {
            return Err(refuse(&format!("write it with the / behind the host: {canonical}")));
        }
        Ok(canonical)
    }
}
