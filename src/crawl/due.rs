//! The demands of a recrawl calendar: the pages that will be due in the next hours and days, and the visits that the
//! settings want of a number of pages. Records are counted by their slots; none is read.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::calendar::wheel::Level;
use crate::checkpoint::{self, checkpoint_path};
use crate::clock::Time;
use crate::config::{Config, RecrawlMode};
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, Result};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
/// Ends of the times in which pages are counted together, and their names.
const TERMS: [(Duration, &str); 6] = [
    (Duration::ZERO, "now"),
    (HOUR, "within an hour"),
    (DAY, "within a day"),
    (DAY.saturating_mul(7), "within a week"),
    (DAY.saturating_mul(30), "within 30 days"),
    (Duration::MAX, "later"),
];
/// Pages by which needs are computed where neither a calendar nor a limit says how many there are.
const PAGES: u64 = 1_000_000;

/// Pages that are due in a time; pages of the terms before are not counted again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DueIn {
    /// The time in words.
    pub term: &'static str,
    /// Number of these pages.
    pub pages: u64,
}

/// Visits that the settings want.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Needs {
    /// Number of pages that are visited.
    pub pages: u64,
    /// Visits a day if every page has the longest interval; in mode `fixed`, the interval.
    pub visits_per_day_least: f64,
    /// Visits a day if every page has the shortest interval.
    pub visits_per_day_most: f64,
}

/// The pages that are due, by the newest checkpoint of the crawl in `dir`; nothing where there is none with a calendar.
/// Pages of coarse slots count by the beginning of their hour or day.
pub fn due(disk: &Disk, dir: &Path, now: Time) -> Result<Vec<DueIn>> {
    let mut counts = [0; TERMS.len()];
    let mut is_there = false;
    if dir.is_dir() {
        for dir in CrawlDirs::find(disk, dir)?.shards().iter().filter(|dir| dir.is_dir()) {
            let Some((checkpoint, sections)) = checkpoint::newest(disk, dir)? else { continue };
            let Some(calendar) = &checkpoint.calendar else { continue };
            is_there = true;
            let path = checkpoint_path(dir, checkpoint.number);
            for (place, records) in calendar.records_by_slot(&sections.calendar, &path)? {
                let start = place.map_or(Time::ZERO, |place| match place.level {
                    Level::Minutes => place.end(),
                    Level::Hours | Level::Days | Level::Later => place.start(),
                });
                counts[term(start, now)] += records;
            }
        }
    }
    let terms = TERMS.iter().zip(counts).map(|(&(_, term), pages)| DueIn { term, pages });
    Ok(if is_there { terms.collect() } else { Vec::new() })
}

/// The first term that has what is due at `start`.
fn term(start: Time, now: Time) -> usize {
    let wait = start.since(now);
    TERMS.iter().position(|(until, _)| wait <= *until).unwrap_or(TERMS.len() - 1)
}

/// The visits that `config` wants of the pages of a calendar, else of as many as it permits, else of a million; nothing
/// where pages are fetched once.
pub fn needs(config: &Config, due: &[DueIn]) -> Option<Needs> {
    let recrawl = &config.recrawl;
    let (longest, shortest) = match recrawl.mode {
        RecrawlMode::Off => return None,
        RecrawlMode::Fixed => (recrawl.interval, recrawl.interval),
        RecrawlMode::Adaptive => (recrawl.max, recrawl.min),
    };
    let known: u64 = due.iter().map(|due| due.pages).sum();
    let pages = Some(known).filter(|&known| known > 0).or(config.crawl.max_pages).unwrap_or(PAGES);
    let per_day = |interval: Duration| pages as f64 * DAY.as_secs_f64() / interval.as_secs_f64().max(1.0);
    Some(Needs { pages, visits_per_day_least: per_day(longest), visits_per_day_most: per_day(shortest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_belongs_to_the_first_term_that_reaches_it() {
        let now = Time::from_ms(1_800_000_000_000);
        let at = |after: Duration| TERMS[term(now + after, now)].1;
        assert_eq!(TERMS[term(Time::ZERO, now)].1, "now");
        assert_eq!((at(Duration::ZERO), at(HOUR), at(HOUR * 2)), ("now", "within an hour", "within a day"));
        assert_eq!((at(DAY * 7), at(DAY * 30), at(DAY * 31)), ("within a week", "within 30 days", "later"));
    }

    #[test]
    fn needs_follow_intervals_and_pages() {
        let of = |text: &str, due: &[DueIn]| needs(&Config::parse(text, "my.toml").unwrap(), due);
        assert_eq!(of("", &[]), None);
        let fixed = "[crawl]\nmax_pages = 7000\n[recrawl]\nmode = \"fixed\"\ninterval = \"7d\"\n";
        let fixed = of(&fixed.replace("7d", "168h"), &[]).unwrap();
        assert_eq!((fixed.pages, fixed.visits_per_day_least, fixed.visits_per_day_most), (7_000, 1_000.0, 1_000.0));
        let due = [DueIn { term: "now", pages: 10 }, DueIn { term: "later", pages: 20 }];
        let adaptive = of("[recrawl]\nmode = \"adaptive\"\nmin = \"1h\"\nmax = \"240h\"", &due).unwrap();
        assert_eq!((adaptive.pages, adaptive.visits_per_day_least, adaptive.visits_per_day_most), (30, 3.0, 720.0));
        assert_eq!(of("[recrawl]\nmode = \"adaptive\"", &[]).unwrap().pages, PAGES);
    }
}
