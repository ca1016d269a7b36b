//! What holds a crawl back, and what its end may come by: the part of its gauges that [`Bottleneck`](super::Bottleneck)
//! and [`TimeLeft`](super::TimeLeft) are told from.

use serde::{Deserialize, Serialize};

/// The limits of a whole crawl that its end may come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlLimits {
    /// `crawl.max_pages`.
    pub pages: Option<u64>,
    /// `crawl.max_time`, in seconds.
    pub time_s: Option<u64>,
}

/// What keeps requests back, as far as only the engine knows it.
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
}

impl Constraints {
    /// Those of a crawl of which other shards have `other`.
    pub(super) fn and(self, other: &Constraints) -> Constraints {
        let Constraints { workers_busy, rate_limited, page_limit, checkpoint, merging, refilling, seeding, lookups } =
            *other;
        Constraints {
            workers_busy: self.workers_busy || workers_busy,
            rate_limited: self.rate_limited || rate_limited,
            page_limit: self.page_limit || page_limit,
            checkpoint: self.checkpoint || checkpoint,
            merging: self.merging || merging,
            refilling: self.refilling || refilling,
            seeding: self.seeding || seeding,
            lookups: self.lookups + lookups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_one_shard_back_holds_back_the_crawl() {
        let one = Constraints { merging: true, lookups: 2, ..Constraints::default() };
        let both = one.and(&Constraints { checkpoint: true, lookups: 3, ..Constraints::default() });
        let expected = Constraints { merging: true, checkpoint: true, lookups: 5, ..Constraints::default() };
        assert_eq!(both, expected);
    }
}
