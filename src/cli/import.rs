//! `crawler import`: archives of other programs as a crawl directory, which every reader of crawls reads.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::DirArg;
use super::exit::{Exit, UsageError};
use crate::container::imported::ImportedFile;
use crate::container::{Finding, Report};
use crate::crawl::import::{Imported, import};
use crate::import::{Damage, Listener, Refusal};
use crate::report::Screen;
use crate::text::escape::Escaped;
use crate::text::figures::{count, counted, size};

/// Time between two reports of the progress.
const REDRAW: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
#[command(after_help = "\
Files are WARC 1.0 or 1.1 (gzip, zstd or plain) or WACZ, by whatever program. Their records are taken over as they \
are, and the directory can then be read like that of a crawl: list, get, extract, audit, export, duplicates, changes, \
diff, follow, verify. It cannot be crawled further; container.dedup_against refers a crawl to it.

What has no whole record is left out and printed, FILE:OFFSET: problem; the exit code is then 3. An import that was \
interrupted is run again with the same files: those whose records are all there are passed over. More files can be \
imported into the directory later.

Examples:
  crawler import old/*.warc.gz --dir old-site
  crawler import site.wacz --dir site && crawler list --dir site

Exit codes: 0 done, 2 usage, 3 damage in a file, 4 disk, 6 in use.")]
pub(super) struct ImportArgs {
    /// WARC or WACZ files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    dir: DirArg,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
}

impl ImportArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let screen = Screen::stderr();
        let mut teller = Teller {
            screen: screen.clone(),
            quiet: self.quiet,
            drawn: Instant::now(),
            bytes: 0,
            total: ImportedFile::default(),
            written: Ok(()),
        };
        let (of_index, quiet, mut drawn) = (screen.clone(), self.quiet, Instant::now());
        let mut progress = |done, total| {
            if !quiet && of_index.is_terminal() && drawn.elapsed() >= REDRAW {
                drawn = Instant::now();
                of_index.redraw(&[format!("{} of {} in the index", size(done), size(total))]);
            }
        };
        // damage was told when records were taken over
        let mut tell = |_: &Finding| {};
        let mut report = Report::new(&mut tell, &mut progress);
        let imported = import(&self.dir.dir, &self.files, &mut teller, &mut report).map_err(refused)?;
        screen.redraw(&[]);
        teller.written?;
        write!(io::stdout(), "{}", summed_up(&teller.total, &imported))?;
        Ok(if teller.total.damaged > 0 { Exit::Damaged } else { Exit::Done })
    }
}

fn refused(refusal: Refusal) -> anyhow::Error {
    match refusal {
        Refusal::Unknown { path, what } => UsageError::because(format!("{}: {what}", path.display())),
        Refusal::Disk(error) => error.into(),
    }
}

/// Returns in a few lines what was taken over, and what is there now.
fn summed_up(total: &ImportedFile, imported: &Imported) -> String {
    let records: u64 = total.records.values().sum();
    let kinds: Vec<String> =
        total.records.iter().map(|(kind, of)| format!("{} {}", count(*of), Escaped(kind))).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    let mut text = format!("{} taken over{kinds}\n", counted(records, "record"));
    if total.damaged > 0 {
        text += &format!("{} left out, {}\n", counted(total.damaged, "damaged part"), size(total.damaged_bytes));
    }
    text += &format!("{} in the archive now", counted(imported.pages, "page"));
    if imported.unresolved > 0 {
        text += &format!("; {} to what is in no file", counted(imported.unresolved, "revisit"));
    }
    if imported.not_pages > 0 {
        text += &format!("; {} that no page is made of", counted(imported.not_pages, "answer"));
    }
    text + "\n"
}

/// Prints what happens.
struct Teller {
    screen: Screen,
    quiet: bool,
    drawn: Instant,
    /// Length of the source.
    bytes: u64,
    /// Counts of all sources.
    total: ImportedFile,
    written: io::Result<()>,
}

impl Listener for Teller {
    fn begins(&mut self, file: &str, bytes: u64, is_there: bool) {
        self.bytes = bytes;
        if is_there {
            self.screen.print(&format!("{}: is in the archive already\n", Escaped(file)));
        }
    }

    fn damaged(&mut self, file: &str, damage: &Damage) {
        self.screen.redraw(&[]);
        let Damage { offset, bytes, what } = damage;
        let line = format!("{}:{offset}: {}, {} left out", Escaped(file), Escaped(what), counted(*bytes, "byte"));
        let written = writeln!(io::stdout(), "{line}");
        self.written = std::mem::replace(&mut self.written, Ok(())).and(written);
    }

    fn reached(&mut self, offset: u64) {
        if !self.quiet && self.screen.is_terminal() && self.drawn.elapsed() >= REDRAW {
            self.drawn = Instant::now();
            self.screen.redraw(&[format!("{} of {} taken over", size(offset), size(self.bytes))]);
        }
    }

    fn ends(&mut self, file: &ImportedFile) {
        for (kind, of) in &file.records {
            *self.total.records.entry(kind.clone()).or_default() += of;
        }
        self.total.damaged += file.damaged;
        self.total.damaged_bytes += file.damaged_bytes;
        if !self.quiet {
            let records: u64 = file.records.values().sum();
            let line = format!("{}: {}\n", Escaped(&file.file), counted(records, "record"));
            self.screen.print(&line);
        }
    }
}
