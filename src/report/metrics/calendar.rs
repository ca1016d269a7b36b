//! The families of the recrawl calendar, of a crawl that has one.

use super::text::{Exposition, Kind};
use crate::record::{CalendarFigures, VisitCounts};
use Kind::{Counter, Gauge};

/// Adds them to `out`.
pub(super) fn calendar(out: &mut Exposition, calendar: &CalendarFigures) {
    let seconds = |ms: u64| ms as f64 / 1_000.0;
    out.family("crawler_recrawl_pages", Gauge, "Pages that wait for their next visit.").value(calendar.pages);
    out.family("crawler_recrawl_bytes", Gauge, "Bytes of the recrawl calendar.").value(calendar.bytes);
    out.family("crawler_recrawl_due_pages", Gauge, "Pages that are due: now, and within a day, those of now included.")
        .labelled(&[("within", "now")], calendar.due_now)
        .labelled(&[("within", "day")], calendar.due_today);
    if let Some(ms) = calendar.next_due_ms {
        out.family("crawler_recrawl_next_due_seconds", Gauge, "Time until the next page is due.").value(seconds(ms));
    }
    out.family("crawler_recrawl_late_seconds", Gauge, "By how much the oldest page is late that is due.")
        .value(seconds(calendar.late_ms));
    out.family("crawler_recrawl_lag_seconds", Gauge, "By how much the last visits started late, on average.")
        .value(seconds(calendar.lag_ms));
    out.family("crawler_recrawl_stretch_ratio", Gauge, "Factor by which intervals are longer for want of capacity.")
        .value(calendar.stretch);
    if let (Some(age), Some(freshness)) = (calendar.mean_age_ms, calendar.freshness) {
        out.family("crawler_recrawl_mean_age_seconds", Gauge, "Mean time since the last visit, of a sample of pages.")
            .value(seconds(age));
        out.family("crawler_recrawl_freshness_ratio", Gauge, "Estimated part of the pages that are as last fetched.")
            .value(freshness);
    }
    let VisitCounts { same, changed, missing, unanswered, .. } = calendar.visits;
    out.family("crawler_recrawl_visits_total", Counter, "Pages fetched again, by what was found.");
    for (found, visits) in [("same", same), ("changed", changed), ("missing", missing), ("unanswered", unanswered)] {
        out.labelled(&[("found", found)], visits);
    }
    out.family(
        "crawler_recrawl_ended_pages_total",
        Counter,
        "Pages that were missing too often and are not fetched again.",
    )
    .value(calendar.visits.ended);
    out.family("crawler_recrawl_not_modified_total", Counter, "Visits that a response 304 (not modified) answered.")
        .value(calendar.visits.not_modified);
    out.family("crawler_recrawl_saved_bytes_total", Counter, "Bytes of bodies that were not sent because of a 304.")
        .value(calendar.visits.not_modified_bytes);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_family_is_documented_with_its_kind_and_none_other() {
        let mut out = Exposition::default();
        let all =
            CalendarFigures { next_due_ms: Some(1), mean_age_ms: Some(1), freshness: Some(0.5), ..Default::default() };
        calendar(&mut out, &all);
        let text = out.finish();
        let operating = include_str!("../../../docs/OPERATING.md");
        let mut names = BTreeSet::new();
        for (name, kind) in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')) {
            assert!(operating.contains(&format!("| `{name}` | {kind} |")), "{name} {kind}");
            names.insert(name);
        }
        let words = operating.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let told: BTreeSet<&str> = words.filter(|word| word.starts_with("crawler_recrawl_")).collect();
        assert_eq!(told, names);
        assert!(text.contains("crawler_recrawl_due_pages{within=\"day\"} 0\n"), "{text}");
    }
}
