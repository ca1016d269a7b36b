//! The tables in `reports/`: what people read of a crawl when it is over, and while it runs.
//!
//! | report | from | when |
//! |---|---|---|
//! | `crawl`, `status-codes` | the last checkpoint; before the first, a crawl that runs | at every checkpoint |
//! | `seeds` | seeds/list and seeds/fates | at every checkpoint while it is short, else at the end |
//! | `mime-types` | logs/crawl.log | at the end |
//! | `hosts` | logs/crawl.log and the queue | at the end |
//! | `coverage` | the archive's index, the queue and the last checkpoint | at the end |
//! | `domains` | the queue and logs/crawl.log | on demand alone |
//!
//! All of them are made on demand by `crawler report`, beside a crawl that runs or on one that stopped: nothing is
//! locked and nothing but `reports/` is written. Memory is bounded whatever the numbers of hosts and pages; that of
//! `seeds` is some twenty bytes a seed, with several shards some forty. At the end of a crawl those that take long are
//! left out: `crawler report` makes them then. A file has the first ten thousand hosts alone: a trap has millions.
//! Nothing depends on the files. Of a crawl of several shards they are made from what all shards have, and are in the
//! directory of the crawl.

pub(crate) mod coverage;
mod domains;
mod hosts;
mod left;
mod mime_types;
mod remaining;
mod seeds;
mod summary;
mod tally;
mod waiting;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::clock::{Clock, SystemClock};
use crate::crawl::seed_places::seed_places;
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, Error, Mode, Writer};
use crate::engine::seeds::reader;
use crate::record::layout;
use crate::report::closing::shell_word;
use crate::text::escape::json_line;
use crate::text::figures::date;
pub use hosts::Totals;
pub use left::{Left, left, left_reads};
pub(super) use remaining::for_each_host as for_each_queued_host;
use remaining::for_each_waiting;
pub use tally::HostRow;

/// Most bytes of logs and queue that are read at the end of a crawl. Four times as much took 7 to 12 s.
const AT_THE_END_BYTES: u64 = 64 << 20;
/// Hosts in a file of the report, at most; a pipe gets all of them.
const HOSTS_IN_FILE: usize = 10_000;
/// Most bytes of the seeds that are read at a checkpoint: some ten thousand of them.
const AT_CHECKPOINTS_BYTES: u64 = 2 << 20;
const BUFFER_BYTES: usize = 256 << 10;
/// Columns of hosts in their table; a longer one moves the rest of its line.
const HOST_COLUMNS: usize = 40;

/// Line in the place of figures before there are any.
const NO_CHECKPOINT: &str = "no checkpoint yet: there are no figures\n";

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The state of the crawl as a whole.
    Crawl,
    /// A row a host: how it was treated.
    Hosts,
    /// A row a seed: what became of it.
    Seeds,
    /// URLs by status of the answer, or by the obstacle.
    StatusCodes,
    /// Pages and bytes by type.
    MimeTypes,
    /// A row a domain: who supports it, and what it had.
    Domains,
    /// The share of known URLs that were got, and what was not.
    Coverage,
}

impl Name {
    /// All reports except `domains`, which is made only when it is named.
    pub const ALL: [Name; 6] =
        [Name::Crawl, Name::Coverage, Name::Hosts, Name::Seeds, Name::StatusCodes, Name::MimeTypes];

    /// As it is called.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Name::Crawl => "crawl",
            Name::Hosts => "hosts",
            Name::Seeds => "seeds",
            Name::StatusCodes => "status-codes",
            Name::MimeTypes => "mime-types",
            Name::Domains => "domains",
            Name::Coverage => "coverage",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The form in which a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A table for people.
    Text,
    /// A JSON object a row.
    Json,
}

/// The reason for which a report could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ReportError {
    /// The files that it is made from cannot be read, or a file cannot be written.
    #[error("{0}")]
    Disk(#[from] Error),
    /// The output does not take the report.
    #[error("the report cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The target of a report.
struct Out<'a> {
    to: &'a mut dyn Write,
    form: Form,
    /// True for a report on a crawl in a store: then it is not known whether one runs.
    is_of_store: bool,
    /// Rows of hosts, at most; none where there is no limit.
    hosts_max: Option<usize>,
}

impl Out<'_> {
    /// Text, where a table is wanted.
    fn text(&mut self, text: fmt::Arguments<'_>) -> Result<(), ReportError> {
        if self.form == Form::Text {
            self.to.write_fmt(text)?;
        }
        Ok(())
    }

    /// A row in the one form or the other.
    fn row(&mut self, row: &impl Serialize, text: fmt::Arguments<'_>) -> Result<(), ReportError> {
        match self.form {
            Form::Text => self.to.write_fmt(text)?,
            Form::Json => writeln!(self.to, "{}", json_line(row).map_err(io::Error::from)?)?,
        }
        Ok(())
    }
}

/// Writes the report `name` of the crawl in `dir` to `to`.
pub fn write(name: Name, dir: &Path, to: &mut dyn Write, form: Form) -> Result<(), ReportError> {
    let out = Out { to, form, is_of_store: false, hosts_max: None };
    write_out(name, &Disk::real(), dir, out, true)
}

/// The same of a crawl in a store, which `disk` shows in `dir`.
pub(crate) fn write_stored(
    name: Name,
    disk: &Disk,
    dir: &Path,
    to: &mut dyn Write,
    form: Form,
) -> Result<(), ReportError> {
    write_out(name, disk, dir, Out { to, form, is_of_store: true, hosts_max: None }, true)
}

/// The same; at a checkpoint of the crawl, that one is not read for it (`is_alone`).
fn write_out(name: Name, disk: &Disk, dir: &Path, mut out: Out<'_>, is_alone: bool) -> Result<(), ReportError> {
    let dirs = CrawlDirs::open(disk, dir)?;
    let now = date(SystemClock::new().now());
    out.text(format_args!("{name} report of {}, {now}\n\n", shell_word(dir)))?;
    match name {
        Name::Crawl => summary::crawl(disk, &dirs, &mut out),
        Name::StatusCodes => summary::status_codes(disk, &dirs, &mut out),
        Name::Seeds => seeds::write(disk, &dirs, &mut out, is_alone),
        Name::MimeTypes => mime_types::write(disk, &dirs, &mut out),
        Name::Hosts => write_hosts(disk, &dirs, &mut out),
        Name::Domains => domains::write(disk, &dirs, &mut out),
        Name::Coverage => coverage::write(disk, &dirs, &mut out),
    }
}

/// Returns the path of the report `name` of the crawl in `dir`.
pub fn path(dir: &Path, name: Name) -> PathBuf {
    dir.join(layout::REPORTS).join(format!("{name}.txt"))
}

/// Puts the report `name` into the crawl directory `dir`, in the place of an older one. It is not synced: it can be
/// rebuilt.
pub fn put(name: Name, dir: &Path) -> Result<(), ReportError> {
    put_at(name, dir, true)
}

fn put_at(name: Name, dir: &Path, is_alone: bool) -> Result<(), ReportError> {
    let (disk, path) = (Disk::real(), path(dir, name));
    disk.create_dir_all(&dir.join(layout::REPORTS))?;
    // several processes may write reports of one crawl, and several threads of one that has shards
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let aside = path.with_extension(format!("tmp{}-{number}", std::process::id()));
    let file = disk.open(&aside, Mode::Create)?;
    file.set_len(0)?;
    let mut file = FileOut { writer: Writer::new(file, 0, BUFFER_BYTES), fault: None };
    let out = Out { to: &mut file, form: Form::Text, is_of_store: false, hosts_max: Some(HOSTS_IN_FILE) };
    let written = write_out(name, &disk, dir, out, is_alone);
    let flushed = file.writer.flush();
    let done = match file.fault {
        Some(fault) => Err(fault.into()),
        None => written.and_then(|()| Ok(flushed?)),
    };
    match done {
        Ok(()) => Ok(disk.rename(&aside, &path)?),
        Err(error) => {
            disk.remove(&aside)?;
            Err(error)
        }
    }
}

/// Puts those reports into the crawl directory that cost next to nothing. `dir` is the one in which a checkpoint was
/// made: if that belongs to a shard, the reports are of the whole crawl.
pub(super) fn put_cheap(dir: &Path) -> Result<(), ReportError> {
    let disk = Disk::real();
    let dirs = CrawlDirs::around(&disk, dir)?;
    put(Name::Crawl, dirs.root())?;
    put(Name::StatusCodes, dirs.root())?;
    if reader::bytes_in(&disk, &seed_places(&dirs))? <= AT_CHECKPOINTS_BYTES {
        put_at(Name::Seeds, dirs.root(), false)?;
    }
    Ok(())
}

/// Puts all reports into the crawl directory `dir` that do not take long; says which were left out.
pub(super) fn put_at_the_end(dir: &Path) -> Result<Vec<Name>, ReportError> {
    let disk = Disk::real();
    let dirs = CrawlDirs::open(&disk, dir)?;
    let (log, queue) = left::log_and_queue(&disk, &dirs)?;
    let mut left_out = Vec::new();
    for name in Name::ALL {
        let reads = match name {
            Name::Hosts | Name::Domains => log.saturating_add(queue),
            Name::MimeTypes => log,
            Name::Coverage => coverage::coverage_reads(&disk, &dirs)?,
            Name::Crawl | Name::Seeds | Name::StatusCodes => 0,
        };
        if reads <= AT_THE_END_BYTES { put(name, dir)? } else { left_out.push(name) }
    }
    Ok(left_out)
}

/// A file on our own disk as any writer.
struct FileOut {
    writer: Writer,
    fault: Option<Error>,
}

impl Write for FileOut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.push(bytes).map_err(|fault| {
            self.fault = Some(fault);
            io::Error::other("the disk failed")
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_hosts(disk: &Disk, dirs: &CrawlDirs, out: &mut Out<'_>) -> Result<(), ReportError> {
    out.text(format_args!(
        "{:>10} {:<HOST_COLUMNS$} {:>9} {:>9} {:>13} {:>7} {:>10} {:>10} {:>10} {:>10} {:>4} \
         {:>12} {:>11} {:>6} {:>6} {:>9}\n",
        "violations",
        "host",
        "requests",
        "pages",
        "bytes",
        "errors",
        "remaining",
        "gap-min-ms",
        "median-ms",
        "owed-ms",
        "peak",
        "robots",
        "crawl-delay",
        "429",
        "503",
        "kept",
    ))?;
    let hosts_max = out.hosts_max;
    let totals = hosts::for_each(disk, dirs, hosts_max, &mut |row| {
        let optional = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let kept = format!("{}/{}", row.retry_after - row.retry_after_broken.min(row.retry_after), row.retry_after);
        out.row(
            row,
            format_args!(
                "{:>10} {:<HOST_COLUMNS$} {:>9} {:>9} {:>13} {:>7} {:>10} {:>10} {:>10} {:>10} {:>4} \
                 {:>12} {:>11} {:>6} {:>6} {kept:>9}\n",
                row.violations,
                crate::text::escape::field(&row.host),
                row.requests,
                row.pages,
                row.bytes,
                row.errors,
                row.remaining,
                optional(row.gap_min_ms),
                optional(row.gap_median_ms),
                optional(row.owed_min_ms),
                row.peak,
                row.robots.as_deref().unwrap_or("-"),
                row.crawl_delay.map_or("-".to_owned(), |delay| delay.to_string()),
                row.answers_429,
                row.answers_503,
            ),
        )
    })?;
    let left_out = hosts_max.map_or(0, |most| totals.hosts.saturating_sub(most as u64));
    if left_out > 0 {
        let dir = shell_word(dirs.root());
        out.text(format_args!("\n{left_out} hosts with fewer requests: crawler report hosts --dir {dir} has them\n"))?;
    }
    out.text(format_args!("{}", tail(&totals)))
}

/// Returns the text below the table of hosts.
fn tail(totals: &Totals) -> String {
    let gap = totals.gap_min_ms.map_or("none".to_owned(), |gap| format!("{gap} ms"));
    let (asked, broken) = totals.retry_after;
    let mut text = format!(
        "\n{} hosts, {} requests, {} queued URLs\nsmallest gap: {gap}\nmost requests to a host at once: {}\n\
         Retry-After: sent {asked} times, respected {} times\nviolations: {}\n\n\
         A gap is the time from the end of a request to the start of the next one, robots.txt and retries included. \
         Owed\nis the least gap that settings, durations and Crawl-delay required; kept is how often \
         Retry-After was met.\n",
        totals.hosts,
        totals.requests,
        totals.remaining,
        totals.peak,
        asked - broken.min(asked),
        totals.violations,
    );
    for fault in &totals.faults {
        text.push_str(&format!("queued URLs are counted only in part: {}\n", crate::text::escape::Escaped(fault)));
    }
    text
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
