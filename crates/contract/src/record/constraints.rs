//! Constraints that hold a crawl back, and limits at which it may end: the part of its gauges from which
//! [`Bottleneck`](super::Bottleneck) and [`TimeLeft`](super::TimeLeft) are computed.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text::figures::span;

/// The limits of a whole crawl that its end may come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlLimits {
    /// `crawl.max_pages`.
    pub pages: Option<u64>,
    /// `crawl.max_time`, in seconds.
    pub time_s: Option<u64>,
}

/// Causes that keep requests back and that only the engine knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraints {
    /// Every worker of the process has a request in flight.
    pub workers_busy: bool,
    /// The configured rates permit the next request later.
    pub rate_limited: bool,
    /// Pages stored and in flight are as many as `crawl.max_pages` permits.
    pub page_limit: bool,
    /// No request before a checkpoint is durable.
    pub checkpoint: bool,
    /// A merge of the stores is in progress.
    pub merging: bool,
    /// URLs are on disk or on their way from it, and no host is ready.
    pub refilling: bool,
    /// Seeds are read that no queue has yet.
    pub seeding: bool,
    /// Requests in flight that bring no page: DNS and robots.txt.
    pub lookups: u64,
    /// Hosts on disk wait, and nothing there comes before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_wait: Option<DiskWait>,
}

/// The time before which no host on disk may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskWait {
    /// Milliseconds from now on.
    pub ms: u64,
    /// True if the hosts rest, which takes longer than any delay.
    pub is_rest: bool,
}

impl DiskWait {
    /// The same as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.ms)
    }

    /// The wait of two shards: the first host that may be asked ends it.
    fn and(self, other: DiskWait) -> DiskWait {
        if other.ms < self.ms { other } else { self }
    }
}

/// One sentence for a line of the display.
impl fmt::Display for DiskWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the first host on disk may be asked in {}", span(self.duration()))
    }
}

impl Constraints {
    /// Returns the constraints of a crawl with one shard more, whose constraints are `other`.
    pub(super) fn and(self, other: &Constraints) -> Constraints {
        let Constraints {
            workers_busy,
            rate_limited,
            page_limit,
            checkpoint,
            merging,
            refilling,
            seeding,
            lookups,
            disk_wait,
        } = *other;
        Constraints {
            workers_busy: self.workers_busy || workers_busy,
            rate_limited: self.rate_limited || rate_limited,
            page_limit: self.page_limit || page_limit,
            checkpoint: self.checkpoint || checkpoint,
            merging: self.merging || merging,
            refilling: self.refilling || refilling,
            seeding: self.seeding || seeding,
            lookups: self.lookups + lookups,
            disk_wait: self.disk_wait.into_iter().chain(disk_wait).reduce(DiskWait::and),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_one_shard_back_holds_back_the_crawl() {
        let wait = |ms| Some(DiskWait { ms, is_rest: ms > 9 });
        let one = Constraints { merging: true, lookups: 2, disk_wait: wait(20), ..Constraints::default() };
        let other = Constraints { checkpoint: true, lookups: 3, disk_wait: wait(5), ..Constraints::default() };
        let both = one.and(&other);
        let disk_wait = wait(5);
        let expected = Constraints { merging: true, checkpoint: true, lookups: 5, disk_wait, ..Constraints::default() };
        assert_eq!(both, expected);
    }
}
