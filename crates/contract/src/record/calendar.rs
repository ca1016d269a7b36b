//! The state of the recrawl calendar of a crawl: pages that are due, how fresh the archive is, and what visits have
//! found.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text::figures::{count, counted, short, size, span};

/// Shortest time that counts as late, in milliseconds: a record is given out when its minute is over.
const LATE_MIN_MS: u64 = 90_000;
/// A stretch below this is none.
const STRETCH_MIN: f64 = 1.005;

/// Results of the visits so far. A visit is a page that was fetched again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitCounts {
    /// Pages that were fetched again because they were due, or before that.
    pub visits: u64,
    /// Visits that found the page as it was.
    pub same: u64,
    /// Those of `same` that were answered by a 304.
    pub not_modified: u64,
    /// Visits that found the page changed.
    pub changed: u64,
    /// Visits that did not find the page.
    pub missing: u64,
    /// Pages that were missing often enough, and are not looked for any more.
    pub ended: u64,
    /// Visits that gave no answer about the page.
    pub unanswered: u64,
    /// Bytes of payloads that a 304 made it unnecessary to send.
    pub not_modified_bytes: u64,
}

/// Figures of a recrawl calendar at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalendarFigures {
    /// True while pages are fetched again. If false, the calendar is only kept.
    pub is_on: bool,
    /// Records in it: pages that wait for their next visit. A page that was fetched before its time has two of them
    /// until the older one is read.
    pub pages: u64,
    /// Its bytes, on disk and in memory.
    pub bytes: u64,
    /// Records whose time has come.
    pub due_now: u64,
    /// Records whose time comes within a day, those that are due now included.
    pub due_today: u64,
    /// Time until the next page is due, in milliseconds: to the minute if that is within two hours, else to the hour or
    /// day; 0 where one is due now.
    pub next_due_ms: Option<u64>,
    /// Time since the oldest page became due that was not queued yet, in milliseconds.
    pub late_ms: u64,
    /// Mean time from when the last visits were due to their start, in milliseconds.
    pub lag_ms: u64,
    /// Factor by which intervals are longer than they should be, because more is due than can be visited.
    pub stretch: f64,
    /// Mean age of the newest versions: time since the last visit that had an answer; by a sample of the pages.
    pub mean_age_ms: Option<u64>,
    /// The part of the pages that are probably still as the last visit found them; by the same sample.
    pub freshness: Option<f64>,
    /// Results of the visits.
    pub visits: VisitCounts,
}

impl CalendarFigures {
    /// True where the crawl has nothing else to do than to wait for a page of the calendar.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_on && self.pages > 0
    }

    /// The same in the words of people who wait for it.
    pub fn next(&self) -> String {
        match self.next_due_ms {
            None => "no page is due".to_owned(),
            Some(0) => "the next page is due now".to_owned(),
            Some(ms) => {
                format!("the next page is due in {}", span(Duration::from_millis(ms) + Duration::from_millis(999)))
            }
        }
    }

    /// One line for a display.
    pub fn line(&self) -> String {
        let mut parts = vec![
            format!("{} pages", short(self.pages)),
            format!("{} due now, {} today", short(self.due_now), short(self.due_today)),
        ];
        parts.extend(self.freshness.map(|share| format!("{} fresh", percent(share))));
        parts.push(format!("{} visits, {} changed", short(self.visits.visits), short(self.visits.changed)));
        if self.is_stretched() {
            parts.push(format!("stretch {:.2}", self.stretch));
        }
        parts.join("  ")
    }

    /// True where intervals are longer than they should be.
    pub(crate) fn is_stretched(&self) -> bool {
        self.stretch >= STRETCH_MIN
    }

    /// Rows of a table, each with its name.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let visits = &self.visits;
        let mut rows = Vec::new();
        let kept = if self.is_on { "" } else { "; recrawl.mode is off: they are kept" };
        rows.push(("calendar", format!("{}, {}{kept}", counted(self.pages, "page"), size(self.bytes))));
        if self.is_on {
            let next = if self.due_now > 0 { String::new() } else { format!("; {}", self.next()) };
            let (now, today) = (count(self.due_now), count(self.due_today));
            rows.push(("due", format!("{now} now, {today} within a day{next}")));
        }
        if let (Some(freshness), Some(age)) = (self.freshness, self.mean_age_ms) {
            let age = span(Duration::from_millis(age));
            rows.push(("freshness", format!("{} estimated; newest versions {age} old on average", percent(freshness))));
        }
        rows.push((
            "visits",
            format!(
                "{}: {} the same, {} changed, {} missing, {} unanswered; {} gone for good",
                count(visits.visits),
                count(visits.same),
                count(visits.changed),
                count(visits.missing),
                count(visits.unanswered),
                count(visits.ended),
            ),
        ));
        if visits.not_modified > 0 {
            let saved = size(visits.not_modified_bytes);
            rows.push(("saved by 304", format!("{saved} of {}", counted(visits.not_modified, "page"))));
        }
        if self.is_on {
            let late = |ms: u64| span(Duration::from_millis(ms));
            let lag =
                if self.lag_ms < LATE_MIN_MS { "in time".to_owned() } else { format!("{} late", late(self.lag_ms)) };
            let oldest = match self.late_ms < LATE_MIN_MS {
                true => String::new(),
                false => format!("; the oldest page due waits for {}", late(self.late_ms)),
            };
            let stretch = match self.is_stretched() {
                true => format!("intervals {:.2} times as long: more is due than the crawl can visit", self.stretch),
                false => "intervals not stretched".to_owned(),
            };
            rows.push(("recrawl pace", format!("visits start {lag}{oldest}; {stretch}")));
        }
        rows
    }
}

/// A share as people write it: a whole number, but at the ends, where the digits behind the point count.
fn percent(share: f64) -> String {
    let percent = share.clamp(0.0, 1.0) * 100.0;
    if (1.0..99.0).contains(&percent) { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> CalendarFigures {
        CalendarFigures {
            is_on: true,
            pages: 1_200,
            due_today: 300,
            next_due_ms: Some(719_500),
            lag_ms: 60_000,
            stretch: 1.0,
            mean_age_ms: Some(7_200_000),
            freshness: Some(0.934),
            visits: VisitCounts {
                visits: 50,
                same: 40,
                not_modified: 30,
                changed: 9,
                not_modified_bytes: 2_048,
                ..VisitCounts::default()
            },
            ..CalendarFigures::default()
        }
    }

    #[test]
    fn a_calendar_is_told_in_rows_and_in_a_line() {
        let rows = figures().rows();
        let text: Vec<String> = rows.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected = [
            "calendar: 1,200 pages, 0 B",
            "due: 0 now, 300 within a day; the next page is due in 12m 00s",
            "freshness: 93 % estimated; newest versions 2h 00m old on average",
            "visits: 50: 40 the same, 9 changed, 0 missing, 0 unanswered; 0 gone for good",
            "saved by 304: 2.0 KiB of 30 pages",
            "recrawl pace: visits start in time; intervals not stretched",
        ];
        assert_eq!(text, expected);
        assert_eq!(figures().line(), "1,200 pages  0 due now, 300 today  93 % fresh  50 visits, 9 changed");
    }

    #[test]
    fn a_calendar_that_is_behind_says_by_how_much() {
        let behind = CalendarFigures { due_now: 7, late_ms: 7_200_000, lag_ms: 3_600_000, stretch: 1.5, ..figures() };
        let rows = behind.rows();
        let pace = &rows.last().unwrap().1;
        assert_eq!(
            pace,
            "visits start 1h 00m late; the oldest page due waits for 2h 00m; intervals 1.50 times as long: more is due \
             than the crawl can visit"
        );
        assert!(behind.line().ends_with("stretch 1.50"));
        let off = CalendarFigures { is_on: false, ..figures() };
        assert!(off.rows()[0].1.contains("recrawl.mode is off") && !off.is_waiting());
    }

    #[test]
    fn shares_have_digits_where_they_count() {
        let shares = [1.0, 0.998, 0.5, 0.004, 2.0].map(percent);
        assert_eq!(shares, ["100.0 %", "99.8 %", "50 %", "0.4 %", "100.0 %"]);
    }
}
