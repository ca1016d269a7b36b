//! `crawler verify`: checks a crawl directory for damage, or rebuilds what can be rebuilt.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::Args;

use super::exit::Exit;
use super::{ArchiveArg, run};
use crate::container::{Finding, Report, Summary};
use crate::crawl::cluster::StoredCrawl;
use crate::crawl::verify::{rebuild, verify, verify_stored};
use crate::report::Screen;
use crate::text::escape::Escaped;
use crate::text::figures::{count, size};

/// Time between two reports of the progress, on a terminal and elsewhere.
const REDRAW: Duration = Duration::from_millis(250);
const TELL: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
#[command(after_help = "\
Checks the archive, the stores, the queue, the checkpoint and the plain copies, and whether they agree. Every finding \
is one line, FILE:OFFSET: problem; the last line is a summary. The exit code is 3 if there is damage. Data that a kill \
left unfinished after the last checkpoint is reported too, but is not damage: the next start truncates, removes or \
recovers it. Nothing is written, and a running crawl is not disturbed.

With --store, the crawl in a store is checked, while it runs or afterwards: that every object is there with its \
length, and that its bytes are what was put there; then all that is checked in a directory. Objects are named by their \
place in the store.

--rebuild rebuilds key.dat and the address files from the value files, damaged parts of URL-seen from the archive and \
the queue, and the plain copies. Damaged parts of the robots.txt \
and DNS stores are emptied and fetched again. No crawl may run. The old files are replaced when the new ones are \
complete; if it is interrupted, run it again. The queue and the memory of the last checkpoint have no second copy and \
cannot be rebuilt.

Examples:
  crawler verify
  crawler verify --dir news --rebuild
  crawler verify --store s3://bucket/crawls")]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    archive: ArchiveArg,
    /// Rebuild what can be rebuilt: the index of the archive, URL-seen, caches, plain copies
    #[arg(long, conflicts_with = "store")]
    rebuild: bool,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print the speed
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

impl VerifyArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let dir = &self.archive.dir.dir;
        let store = self.archive.store.as_ref();
        let stored = store.map(|store| StoredCrawl::find(store, self.archive.crawl.as_deref())).transpose()?;
        if stored.is_none() {
            run::require_crawl(dir)?;
        }
        let (screen, began) = (Screen::stderr(), Instant::now());
        let mut progress = progress(screen.clone(), self.quiet);
        let mut written = Ok(());
        let mut tell = |finding: &Finding| {
            if written.is_ok() {
                // the display goes before a finding comes, on a terminal that shows both
                screen.redraw(&[]);
                written = writeln!(io::stdout(), "{}", line(finding));
            }
        };
        let mut notice = |what: String| screen.print(&format!("crawler: {}\n", Escaped(&what)));
        let mut report = Report::new(&mut tell, &mut progress);
        let mut records = None;
        match &stored {
            Some(stored) => verify_stored(stored, &mut report, &mut notice)?,
            None if self.rebuild => records = Some(rebuild(dir, &mut report, &mut notice)?),
            None => verify(dir, &mut report, &mut notice)?,
        }
        let summary = report.summary;
        written?;
        screen.redraw(&[]);
        writeln!(io::stdout(), "{}", summed_up(&summary, records))?;
        if self.verbose {
            screen.print(&format!("{}\n", speed(summary.bytes, began.elapsed())));
        }
        Ok(if summary.findings > 0 { Exit::Damaged } else { Exit::Done })
    }
}

/// A finding as a line that no quoted text can break.
fn line(finding: &Finding) -> String {
    format!("{}:{}: {}", Escaped(&finding.file.to_string_lossy()), finding.offset, Escaped(&finding.what))
}

fn summed_up(summary: &Summary, rebuilt: Option<u64>) -> String {
    let mut text = format!(
        "{} files, {} records, {} pages and robots.txt, {}: {}",
        count(summary.files),
        count(summary.records),
        count(summary.pages),
        size(summary.bytes),
        match summary.findings {
            0 => "no damage".to_owned(),
            1 => "1 finding".to_owned(),
            findings => format!("{} findings", count(findings)),
        }
    );
    if summary.unfinished > 0 {
        text += &format!(", {} unfinished", count(summary.unfinished));
    }
    if summary.due + summary.stale > 0 {
        text += &format!(", {} in the calendar", count(summary.due));
        if summary.stale > 0 {
            text += &format!(" ({} stale records)", count(summary.stale));
        }
    }
    if let Some(records) = rebuilt {
        text += &format!("; the index was rebuilt, {} key records", count(records));
    }
    text
}

/// Returns the number of bytes, the time, and the speed.
fn speed(bytes: u64, took: Duration) -> String {
    let megabytes = bytes as f64 / 1e6;
    let seconds = took.as_secs_f64().max(1e-6);
    format!("{megabytes:.1} MB in {seconds:.2} s: {:.1} MB/s", megabytes / seconds)
}

/// Shows how far the check is: by a line that is redrawn on a terminal, elsewhere by one now and then.
fn progress(screen: Screen, quiet: bool) -> impl FnMut(u64, u64) {
    let every = if screen.is_terminal() { REDRAW } else { TELL };
    let mut told = Instant::now();
    move |done, total| {
        if quiet || told.elapsed() < every {
            return;
        }
        told = Instant::now();
        let line = format!("{} of {} verified", size(done), size(total));
        if screen.is_terminal() {
            screen.redraw(&[line]);
        } else {
            screen.print(&format!("{line}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_that_moves_no_cursor() {
        let finding = Finding {
            file: "crawl/pages/key.dat".into(),
            offset: 16,
            what: "no whole response: http://a/\x1b[2J\n".into(),
            damage: true,
        };
        assert_eq!(line(&finding), "crawl/pages/key.dat:16: no whole response: http://a/\\x1b[2J\\n");
    }

    #[test]
    fn the_last_line_has_all_counts() {
        let summary = Summary {
            files: 4,
            records: 1_201,
            pages: 400,
            bytes: 1 << 20,
            findings: 0,
            unfinished: 0,
            due: 0,
            stale: 0,
        };
        assert_eq!(summed_up(&summary, None), "4 files, 1,201 records, 400 pages and robots.txt, 1.0 MiB: no damage");
        let damaged = Summary { findings: 2, unfinished: 1, ..summary };
        assert!(
            summed_up(&damaged, Some(7)).ends_with("2 findings, 1 unfinished; the index was rebuilt, 7 key records")
        );
    }

    #[test]
    fn the_speed_is_told_in_megabytes_a_second() {
        assert_eq!(speed(50_000_000, Duration::from_millis(500)), "50.0 MB in 0.50 s: 100.0 MB/s");
    }

    #[test]
    fn progress_is_silent_where_nobody_wants_it() {
        let screen = Screen::new(Box::new(io::sink()), false, false);
        progress(screen, true)(1, 2);
    }
}
