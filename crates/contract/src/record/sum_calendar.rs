//! The calendars of the shards of a crawl, added up: what is counted adds up, means are of all pages, and of delays
//! and of the stretch the worst holds.

use std::ops::AddAssign;

use super::calendar::{CalendarFigures, VisitCounts};

impl AddAssign<&VisitCounts> for VisitCounts {
    fn add_assign(&mut self, other: &VisitCounts) {
        let VisitCounts { visits, same, not_modified, changed, missing, ended, unanswered, not_modified_bytes } = other;
        self.visits += visits;
        self.same += same;
        self.not_modified += not_modified;
        self.changed += changed;
        self.missing += missing;
        self.ended += ended;
        self.unanswered += unanswered;
        self.not_modified_bytes += not_modified_bytes;
    }
}

impl AddAssign<&CalendarFigures> for CalendarFigures {
    fn add_assign(&mut self, other: &CalendarFigures) {
        let CalendarFigures {
            is_on,
            pages,
            bytes,
            due_now,
            due_today,
            next_due_ms,
            late_ms,
            lag_ms,
            stretch,
            mean_age_ms,
            freshness,
            visits,
        } = other;
        let (own, others) = (self.pages as f64, *pages as f64);
        let age = mean(self.mean_age_ms.map(|ms| ms as f64), mean_age_ms.map(|ms| ms as f64), own, others);
        self.mean_age_ms = age.map(|ms| ms.round() as u64);
        self.freshness = mean(self.freshness, *freshness, own, others);
        self.is_on |= is_on;
        self.pages += pages;
        self.bytes += bytes;
        self.due_now += due_now;
        self.due_today += due_today;
        self.next_due_ms = self.next_due_ms.into_iter().chain(*next_due_ms).min();
        self.late_ms = self.late_ms.max(*late_ms);
        self.lag_ms = self.lag_ms.max(*lag_ms);
        self.stretch = self.stretch.max(*stretch);
        self.visits += visits;
    }
}

/// The mean of two means, of `pages` and of `others`; one of which nothing is known does not count.
fn mean(own: Option<f64>, other: Option<f64>, pages: f64, others: f64) -> Option<f64> {
    match (own, other) {
        (Some(own), Some(other)) if pages + others > 0.0 => Some((own * pages + other * others) / (pages + others)),
        (own, other) => own.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_add_up_pages_and_weigh_means_by_them() {
        let one = CalendarFigures {
            is_on: true,
            pages: 300,
            due_now: 1,
            next_due_ms: Some(0),
            stretch: 1.0,
            mean_age_ms: Some(1_000),
            freshness: Some(1.0),
            visits: VisitCounts { visits: 4, same: 3, changed: 1, ..VisitCounts::default() },
            ..CalendarFigures::default()
        };
        let other = CalendarFigures {
            pages: 100,
            due_now: 2,
            late_ms: 9,
            next_due_ms: Some(60_000),
            stretch: 1.25,
            mean_age_ms: Some(5_000),
            freshness: Some(0.5),
            ..one
        };
        let mut sum = one;
        sum += &other;
        assert_eq!((sum.pages, sum.due_now, sum.next_due_ms, sum.late_ms), (400, 3, Some(0), 9));
        assert_eq!((sum.mean_age_ms, sum.freshness, sum.stretch), (Some(2_000), Some(0.875), 1.25));
        assert_eq!((sum.visits.visits, sum.visits.same, sum.visits.changed), (8, 6, 2));
        let mut empty = CalendarFigures::default();
        empty += &one;
        assert_eq!(empty, one);
    }
}
