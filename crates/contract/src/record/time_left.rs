//! The time that a crawl still takes, as far as that is known while it runs: cheap enough to be computed every second.
//!
//! Known are the time that all queued URLs take at the pace of the last seconds, and the time that the longest queue of
//! a host in memory takes at its delay. Not known is what links will add, nor what hosts on disk have: so the time for
//! the queue rises while new links are found. A limit of the crawl may come first. `crawler status --estimate` reads
//! log and queue, and knows more.

use std::fmt;
use std::time::Duration;

use super::{DiskWait, Gauges, Statistics};
use crate::text::figures::{short, span};

/// A slower pace is taken for no progress.
const PACE_MIN: f64 = 0.01;

/// The event by which the crawl is expected to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// This many URLs that are queued now are done.
    Queue(u64),
    /// `crawl.max_pages`.
    Pages(u64),
    /// `crawl.max_time`.
    Time,
}

/// The time left, and the event at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLeft {
    /// Approximate time until then.
    pub time: Duration,
    /// The event that comes first.
    pub until: Until,
}

impl TimeLeft {
    /// Returns the time left for a crawl with these figures that stores `pages_per_second`; `None` where nothing is
    /// known.
    pub fn of(statistics: &Statistics, gauges: &Gauges, pages_per_second: f64) -> Option<TimeLeft> {
        let at_pace = |pages: u64| {
            let seconds = pages as f64 / pages_per_second;
            (pages_per_second >= PACE_MIN).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
        };
        let queued = gauges.queued + gauges.in_flight;
        let by_hosts = Duration::from_millis(gauges.longest_queue_ms);
        let on_disk = gauges.constraints.disk_wait.map_or(Duration::ZERO, DiskWait::duration);
        let queue = at_pace(queued).map(|time| time.max(by_hosts).max(on_disk)).filter(|_| queued > 0);
        let pages = gauges.limits.pages.map(|limit| (limit, limit.saturating_sub(statistics.counted_pages())));
        let time = gauges.limits.time_s.map(|limit| Duration::from_secs(limit).saturating_sub(statistics.elapsed));
        let all = [
            queue.map(|time| TimeLeft { time, until: Until::Queue(queued) }),
            pages.and_then(|(limit, left)| Some(TimeLeft { time: at_pace(left)?, until: Until::Pages(limit) })),
            time.map(|time| TimeLeft { time, until: Until::Time }),
        ];
        all.into_iter().flatten().min_by_key(|left| left.time)
    }
}

/// About how long, and until what.
impl fmt::Display for TimeLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = span(self.time);
        match self.until {
            Until::Queue(urls) => write!(f, "about {time} for {} queued URLs, more for new links", short(urls)),
            Until::Pages(limit) => write!(f, "about {time} to the limit of {} pages", short(limit)),
            Until::Time => write!(f, "{time} to the time limit at most"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Constraints, CrawlLimits};

    #[test]
    fn what_comes_first_is_told_and_nothing_where_nothing_is_known() {
        let statistics = Statistics { pages_stored: 26, elapsed: Duration::from_secs(50), ..Statistics::default() };
        let of = |queued, pages, time_s, longest_queue_ms, pace| {
            let limits = CrawlLimits { pages, time_s };
            let gauges = Gauges { queued, limits, longest_queue_ms, ..Gauges::default() };
            TimeLeft::of(&statistics, &gauges, pace).map(|left| left.to_string())
        };
        let told = |text: &str| Some(text.to_owned());
        let queue = "about 1m 40s for 1,000 queued URLs, more for new links";
        assert_eq!(of(1_000, None, None, 0, 10.0), told(queue));
        // one host alone takes longer
        assert_eq!(of(10, None, None, 100_000, 10.0), told("about 1m 40s for 10 queued URLs, more for new links"));
        assert_eq!(of(1_000, Some(100), None, 0, 7.4), told("about 10s to the limit of 100 pages"));
        assert_eq!(of(1_000, Some(100), Some(55), 0, 7.4), told("5s to the time limit at most"));
        assert_eq!(of(10, Some(100), None, 0, 5.0), told("about 2s for 10 queued URLs, more for new links"));
        assert_eq!(of(1_000, Some(100), None, 0, 0.0), None, "a crawl that stands still");
        assert_eq!(of(0, None, None, 0, 9.0), None, "nothing is queued");
    }

    #[test]
    fn a_host_that_rests_on_disk_takes_as_long_as_it_rests() {
        let disk_wait = Some(DiskWait { ms: 3_600_000, is_rest: true });
        let constraints = Constraints { disk_wait, ..Constraints::default() };
        let gauges = Gauges { queued: 2, constraints, ..Gauges::default() };
        let left = TimeLeft::of(&Statistics::default(), &gauges, 1.0).map(|left| left.to_string());
        assert_eq!(left.as_deref(), Some("about 1h 00m for 2 queued URLs, more for new links"));
    }
}
