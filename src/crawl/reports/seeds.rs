//! The seeds report: what became of every seed, and where it redirected.

use std::path::Path;

use serde::Serialize;

use super::summary::NO_CHECKPOINT;
use super::waiting::Waiting;
use super::{Out, ReportError};
use crate::disk::Disk;
use crate::engine::{SeedLine, SeedStatus};
use crate::report::escape::field;

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

    /// In words.
    pub fn text(&self) -> String {
        let Counts { seeds, answered, failed, left_out, waiting } = self;
        format!("{seeds}: {answered} answered, {failed} failed, {left_out} left out, {waiting} waiting")
    }
}

/// Columns of a table for `name` and what stands below it; what is longer is not cut, and moves the rest of its line.
fn width<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> usize {
    values.map(|value| field(value).chars().count()).max().unwrap_or(0).min(WIDTH_MAX).max(name.len())
}

/// All seeds, counted.
pub(super) fn counts(disk: &Disk, dir: &Path) -> Result<Counts, ReportError> {
    let mut counts = Counts::default();
    SeedLine::read(disk, dir)?.values().for_each(|seed| counts.count(&seed.status));
    Ok(counts)
}

/// Writes the report; what hosts say to the seeds that wait is told if `tells_hosts`.
pub(super) fn write(disk: &Disk, dir: &Path, out: &mut Out<'_>, tells_hosts: bool) -> Result<(), ReportError> {
    let seeds = SeedLine::read(disk, dir)?;
    if seeds.is_empty() {
        return out.text(format_args!("{NO_CHECKPOINT}"));
    }
    let mut counts = Counts::default();
    let waiting = seeds.values().filter(|seed| tells_hosts && seed.status == SeedStatus::Waiting);
    let waiting = Waiting::look(disk, dir, waiting.map(|seed| seed.url.as_str()));
    let widths = [
        width("seed", seeds.values().map(|seed| seed.url.as_str())),
        width("redirected-to", seeds.values().filter_map(|seed| seed.redirected_to.as_deref())),
    ];
    let [wide, to_wide] = widths;
    out.text(format_args!("{:>8} {:<wide$} {:<to_wide$} why\n", "status", "seed", "redirected-to"))?;
    for (number, seed) in seeds {
        counts.count(&seed.status);
        let wait;
        let (status, code, why) = match &seed.status {
            SeedStatus::Waiting => {
                wait = waiting.why(&seed.url);
                ("waiting", None, wait.as_str())
            }
            SeedStatus::Answered(code) => ("answered", Some(*code), ""),
            SeedStatus::Failed(why) => ("failed", None, why.as_str()),
            SeedStatus::Dropped(why) => ("left-out", None, why.as_str()),
        };
        let redirected_to = seed.redirected_to.as_deref();
        let row = Row { number, url: &seed.url, status, code, why, redirected_to, fallback: seed.fallback.as_deref() };
        let shown = code.map_or(status.to_owned(), |code| code.to_string());
        let (url, to) = (field(&seed.url), field(redirected_to.unwrap_or_default()));
        let why = if why.is_empty() { "-".into() } else { crate::report::escape::escaped(why) };
        out.row(&row, format_args!("{shown:>8} {url:<wide$} {to:<to_wide$} {why}\n"))?;
    }
    out.text(format_args!("\nseeds {}\n", counts.text()))
}
