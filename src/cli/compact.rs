//! `crawler compact`: removes from the archive of a stopped crawl what its rule and its operator do not keep.

use std::io::{self, Write};

use clap::Args;

use super::exit::{Exit, UsageError};
use super::{DirArg, run};
use crate::config::{Config, parse_keep};
use crate::container::Keep;
use crate::container::retention::offline::Compacted;
use crate::crawl::retention;
use crate::report::Screen;
use crate::text::figures::{count, size};

#[derive(Debug, Args)]
#[command(after_help = "\
Rewrites the WARC files that have something to remove: versions that container.keep does not keep, and pages that \
crawler forget has named. Each file is replaced by its next generation (value-00003.g1.warc.gz). The index is changed \
to fit; nothing else is touched. No crawl may run, and the last one must have ended or been stopped gracefully. You \
can kill it at any time: run it again, or start the crawl.

A running crawl with container.keep compacts by itself, slowly, when a quarter of a file can be removed. This command \
does it at once, for every file, and also moves a payload to the oldest version that stays where a removed one had it.

It needs room for a copy of the largest WARC file.

Examples:
  crawler compact --dry-run              what container.keep would remove
  crawler compact --dir news --keep 90d  older versions are removed

Exit codes: 0 done, 2 usage or not a stopped crawl, 3 damaged, 4 disk, 6 in use.")]
pub(super) struct CompactArgs {
    #[command(flatten)]
    dir: DirArg,
    /// Versions to keep instead of container.keep: all, a number, or an age
    #[arg(long, value_name = "KEEP")]
    keep: Option<String>,
    /// Print what would be removed, and change nothing; works beside a running crawl too
    #[arg(long)]
    dry_run: bool,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
}

impl CompactArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let dir = &self.dir.dir;
        run::require_crawl(dir)?;
        let keep = self.keep.as_deref().map(keep).transpose()?;
        let mut out = io::stdout().lock();
        if self.dry_run {
            writeln!(out, "{}", would(&retention::estimate(dir, keep)?))?;
            return Ok(Exit::Done);
        }
        let done = retention::compact(dir, keep, &mut progress(self.quiet))?;
        writeln!(out, "{}", was(&done))?;
        Ok(Exit::Done)
    }
}

/// A rule from the command line, within the limits of the setting.
fn keep(text: &str) -> anyhow::Result<Keep> {
    let refuse = |why: &str| UsageError::because(format!("--keep {text}: {why}"));
    let keep = parse_keep(text).ok_or_else(|| refuse("write all, a number of versions, or an age such as 90d"))?;
    let mut config = Config::default();
    config.container.keep = keep;
    config.check().map_err(|error| refuse(&error.to_string()))?;
    Ok(keep)
}

/// Prints a line for each file that was rewritten.
pub(super) fn progress(quiet: bool) -> impl FnMut(&str, &Compacted) {
    let screen = Screen::stderr();
    move |name, done| {
        if !quiet {
            screen.print(&format!("{name}: {} pages removed so far, {} freed\n", count(done.pages), size(done.bytes)));
        }
    }
}

fn would(would: &Compacted) -> String {
    format!(
        "{} pages would go ({} of them forgotten) in {} WARC files, some {}",
        count(would.pages),
        count(would.forgotten),
        count(would.files),
        size(would.bytes)
    )
}

/// Returns in one line what was done.
pub(super) fn was(done: &Compacted) -> String {
    format!(
        "{} pages removed ({} of them forgotten), {} WARC files rewritten, {} freed",
        count(done.pages),
        count(done.forgotten),
        count(done.files),
        size(done.bytes)
    )
}
