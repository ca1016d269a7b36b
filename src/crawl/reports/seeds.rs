//! The seeds report: what became of every seed, and where it redirected.

use serde::Serialize;

use super::waiting::Waiting;
use super::{NO_CHECKPOINT, Out, ReportError};
use crate::crawl::seed_places::seed_places;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::engine::seeds::reader;
use crate::engine::{SeedRecord, SeedStatus};
use crate::text::escape::field;

/// Columns that one long URL does not make wider.
const WIDTH_MAX: usize = 60;

#[derive(Serialize)]
struct Row<'a> {
    number: u32,
    url: &'a str,
    status: &'static str,
    code: Option<u16>,
    why: &'a str,
    redirected_to: Option<&'a str>,
    fallback: Option<&'a str>,
}

/// Seeds by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub seeds: u64,
    pub answered: u64,
    pub failed: u64,
    pub left_out: u64,
    pub waiting: u64,
}

impl Counts {
    fn count(&mut self, status: &SeedStatus) {
        self.seeds += 1;
        match status {
            SeedStatus::Answered(_) => self.answered += 1,
            SeedStatus::Failed(_) => self.failed += 1,
            SeedStatus::Dropped(_) => self.left_out += 1,
            SeedStatus::Waiting => self.waiting += 1,
        }
    }

    /// Returns the counts in words.
    pub(crate) fn text(&self) -> String {
        let Counts { seeds, answered, failed, left_out, waiting } = self;
        format!("{seeds}: {answered} answered, {failed} failed, {left_out} left out, {waiting} waiting")
    }
}

/// Columns of a table for the values below a name; what is longer is not cut, and moves the rest of its line.
fn widen(width: &mut usize, value: &str) {
    *width = (*width).max(field(value).chars().count().min(WIDTH_MAX));
}

/// All seeds, counted.
pub(super) fn counts(disk: &Disk, dirs: &CrawlDirs) -> Result<Counts, ReportError> {
    let mut counts = Counts::default();
    reader::for_each_in(disk, &seed_places(dirs), |_, seed| {
        counts.count(&seed.status);
        Ok::<_, ReportError>(())
    })?;
    Ok(counts)
}

/// Writes the report; the answers of hosts to waiting seeds are included if `tells_hosts`.
pub(super) fn write(disk: &Disk, dirs: &CrawlDirs, out: &mut Out<'_>, tells_hosts: bool) -> Result<(), ReportError> {
    let (mut wide, mut to_wide) = ("seed".len(), "redirected-to".len());
    let mut waiting = Waiting::wanted(dirs);
    let any = reader::for_each_in(disk, &seed_places(dirs), |_, seed| {
        widen(&mut wide, &seed.url);
        widen(&mut to_wide, seed.redirected_to.as_deref().unwrap_or_default());
        if tells_hosts && seed.status == SeedStatus::Waiting {
            waiting.want(&seed.url);
        }
        Ok::<_, ReportError>(())
    })?;
    if !any {
        return out.text(format_args!("{NO_CHECKPOINT}"));
    }
    let waiting = waiting.look(disk);
    let mut counts = Counts::default();
    out.text(format_args!("{:>8} {:<wide$} {:<to_wide$} why\n", "status", "seed", "redirected-to"))?;
    reader::for_each_in(disk, &seed_places(dirs), |number, seed| {
        counts.count(&seed.status);
        row(number, &seed, &waiting.why(&seed), wide, to_wide, out)
    })?;
    out.text(format_args!("\nseeds {}\n", counts.text()))
}

fn row(
    number: u32,
    seed: &SeedRecord,
    wait: &str,
    wide: usize,
    to_wide: usize,
    out: &mut Out<'_>,
) -> Result<(), ReportError> {
    let (status, code, why) = match &seed.status {
        SeedStatus::Waiting => ("waiting", None, wait),
        SeedStatus::Answered(code) => ("answered", Some(*code), ""),
        SeedStatus::Failed(why) => ("failed", None, why.as_str()),
        SeedStatus::Dropped(why) => ("left-out", None, why.as_str()),
    };
    let redirected_to = seed.redirected_to.as_deref();
    let row = Row { number, url: &seed.url, status, code, why, redirected_to, fallback: seed.fallback.as_deref() };
    let shown = code.map_or(status.to_owned(), |code| code.to_string());
    let (url, to) = (field(&seed.url), field(redirected_to.unwrap_or_default()));
    let why = if why.is_empty() { "-".into() } else { crate::text::escape::escaped(why) };
    out.row(&row, format_args!("{shown:>8} {url:<wide$} {to:<to_wide$} {why}\n"))
}
