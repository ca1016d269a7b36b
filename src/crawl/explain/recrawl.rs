//! A page in the recrawl calendar: when it is due, what its visits have found, and why its interval is what it is.
//!
//! The store of visits says whether the page has a record at all; only then is the calendar gone through, once, for the
//! record of the moment that the store names. No other record is decoded.

use std::path::Path;

use super::model;
use crate::calendar::{JITTER, Mode, PageKind, Past, Recrawl, Schedule, ScheduleOptions, Visited, wheel};
use crate::checkpoint::{Checkpoint, Sections};
use crate::clock::Time;
use crate::config::Config;
use crate::crawl::{CrawlError, recrawl};
use crate::disk::{Disk, Result};
use crate::engine::look_up;
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::record::layout;
use crate::text::figures::{date, rate, span};

/// Visits of a page, as a checkpoint knows them.
pub(super) struct Visits {
    visited: Visited,
    /// Its record in the calendar; `None` where it has none, because it is queued or ended.
    waiting: Option<Past>,
    /// State of the schedule: what it had learnt.
    learnt: Vec<u8>,
    host: Fingerprint,
}

/// Reads it; `None` where the page was never visited, or pages are not fetched again. Queued URLs that wait in the
/// store of visits go to `meet`.
pub(super) fn read(
    disk: &Disk,
    dir: &Path,
    checkpoint: &Checkpoint,
    sections: &Sections,
    key: Fingerprint,
    host: Fingerprint,
    meet: &mut dyn FnMut(QueuedUrl),
) -> Result<Option<Visits>> {
    let Some(calendar) = &checkpoint.calendar else { return Ok(None) };
    let mut each = |url: QueuedUrl, _: bool| meet(url);
    let found = look_up::<Visited>(disk, dir, checkpoint, sections, key, &mut each)?;
    let Some(visited) = found.and_then(|found| found.value) else { return Ok(None) };
    let mut waiting = None;
    if !visited.is_gone {
        let second = |time: Time| time.ms() / 1_000;
        wheel::for_each(disk, &dir.join(layout::CALENDAR), calendar, &sections.calendar, &mut |due, record| {
            if second(due) == second(visited.due)
                && let Some((url, _)) = QueuedUrl::decode(record)
                && url.key == key
            {
                waiting = Recrawl::past(url.recrawl.as_deref());
            }
            Ok(())
        })?;
    }
    let learnt = crate::engine::learnt(&sections.schedule).to_vec();
    Ok(Some(Visits { visited, waiting, learnt, host }))
}

impl Visits {
    /// Returns the recrawl part of the explanation of `url`, by the settings in `config`.
    pub(super) fn explain(&self, url: &str, config: &Config) -> std::result::Result<model::Recrawl, CrawlError> {
        let Visits { visited, waiting, .. } = self;
        let history = waiting.as_ref().map_or(visited.history, |past| past.history);
        let options = recrawl::schedule(config)?;
        let schedule = options.clone().map(|options| Schedule::new(options, &self.learnt));
        let estimate = schedule.as_ref().map(|schedule| schedule.estimate(self.host, &history));
        let known = waiting.clone().unwrap_or_else(|| visited.to_past());
        Ok(model::Recrawl {
            place: match (visited.is_gone, waiting) {
                (true, _) => "ended",
                (false, Some(_)) => "calendar",
                (false, None) => "queued",
            },
            due: Some(visited.due).filter(|_| !visited.is_gone),
            last_visit: visited.fetched,
            last_change: waiting.as_ref().map(|past| past.changed),
            visits: history.visits,
            changes: history.changes,
            days: history.days,
            interval_s: (!visited.is_gone).then(|| visited.due.since(visited.fetched).as_secs()),
            changes_per_day: estimate.map(|estimate| estimate.per_day),
            changes_factor: estimate.map(|estimate| estimate.factor),
            stretch: schedule.as_ref().map(Schedule::stretch),
            missing_visits: known.gone.map(|gone| gone.visits),
            missing_since: known.gone.map(|gone| gone.since),
            why: match (options, schedule) {
                (Some(options), Some(schedule)) => why(url, &known, &options, &schedule, self.host),
                _ => "recrawl.mode is off: pages are not fetched again, and the calendar is kept".to_owned(),
            },
        })
    }
}

/// Returns the reasons for the interval: the first of those that decide, then what moved it.
fn why(url: &str, past: &Past, options: &ScheduleOptions, schedule: &Schedule, host: Fingerprint) -> String {
    let kind = if past.is_map { PageKind::Map } else { PageKind::Page };
    let (mode, bounds) = schedule.rule_of(url, kind);
    let pattern = options.rules.iter().find(|rule| !past.is_map && rule.holds_for(url));
    let by = pattern.map_or(String::new(), |rule| format!(" ({})", rule.name));
    if let Some(gone) = past.gone {
        let (visits, since) = (times(gone.visits), date(gone.since));
        return format!(
            "it was missing {visits} since {since}: it is looked for until three visits over a week found none"
        );
    }
    let mut parts = Vec::new();
    let estimate = schedule.estimate(host, &past.history);
    let per_day = format!("about {} changes a day, {:.1} times more or less", rate(estimate.per_day), estimate.factor);
    parts.push(match mode {
        Mode::Off => format!("its visits are off{by}"),
        Mode::Fixed { interval } => format!("fixed at {}{by}", span(interval)),
        Mode::Adaptive { .. } if !Schedule::is_estimated(&past.history) => {
            format!("adaptive{by}; few visits so far: half or twice the time before, or what suits pages of its host")
        }
        Mode::Adaptive { gain } => format!("adaptive{by}: {per_day}, where a visit has to win {}", span(gain)),
    });
    let stretch = schedule.stretch();
    if matches!(mode, Mode::Adaptive { .. }) {
        let interval = past.interval().as_secs_f64() / stretch;
        let near = |bound: std::time::Duration| (interval / bound.as_secs_f64() - 1.0).abs() <= JITTER;
        let names =
            if past.is_map { ["recrawl.sitemap_min", "recrawl.sitemap_max"] } else { ["recrawl.min", "recrawl.max"] };
        if near(bounds.min) {
            parts.push(format!("the shortest that {} permits", names[0]));
        } else if near(bounds.max) {
            parts.push(format!("the longest that {} permits", names[1]));
        }
    }
    if stretch >= 1.005 {
        parts.push(format!("{stretch:.2} times as long, because more is due than the crawl can visit"));
    }
    parts.join("; ")
}

fn times(number: u8) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}
