//! The counters of a crawl over all its sessions, and the gauges of the moment.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CalendarFigures, Constraints, CrawlLimits, LimitedList, RenderFigures, Resting, RoundFigures, Workers};
use crate::outcome::{Failure, Reason};

/// Counts of what has happened over all sessions. The engine owns them; a checkpoint keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Pages in the archive, revisits and what pages embed included.
    pub pages_stored: u64,
    /// Requests made, robots.txt and retries included.
    pub requests: u64,
    /// Bytes of answers, as sent.
    pub bytes_received: u64,
    /// Bytes added to the archive.
    pub bytes_stored: u64,
    /// Answers by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Attempts without a response, by cause.
    pub failures: BTreeMap<Failure, u64>,
    /// URLs that were never requested, by reason.
    pub dropped: BTreeMap<Reason, u64>,
    /// Hosts, domains and patterns of which URLs were left out for a budget or a trap rule.
    pub limited: LimitedList,
    /// Links found on pages.
    pub links_found: u64,
    /// Links that were known already.
    pub duplicates: u64,
    /// Links that were new.
    pub unique: u64,
    /// Payloads that were already in the archive.
    pub revisits: u64,
    /// Bytes that the archive would be larger by if those had been stored again.
    pub revisit_bytes_saved: u64,
    /// Pages that were fetched although they had been seen before.
    pub refetched: u64,
    /// Answers that nothing has changed since the stored version.
    pub not_modified: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// robots.txt files fetched.
    pub robots_fetched: u64,
    /// robots.txt files that could not be reached.
    pub robots_unreachable: u64,
    /// URLs that robots.txt forbids.
    pub robots_denied: u64,
    /// Sitemaps read.
    pub sitemaps: u64,
    /// URLs taken from them.
    pub sitemap_urls: u64,
    /// URLs in them that were beyond a limit, or no good.
    pub sitemap_urls_dropped: u64,
    /// Names resolved.
    pub dns_resolved: u64,
    /// Names that could not be resolved.
    pub dns_failed: u64,
    /// Hosts met.
    pub hosts: u64,
    /// Most links between a seed and a fetched page.
    pub depth_max: u16,
    /// Crawl time of all sessions together.
    #[serde(rename = "elapsed_s", with = "super::seconds")]
    pub elapsed: Duration,
    /// Costs of checkpoints.
    #[serde(default)]
    pub checkpoints: CheckpointCosts,
    /// Ends of URLs that are not in the archive.
    #[serde(default)]
    pub ends: Ends,
    /// Pages in the archive that others embed: style sheets, pictures, fonts, frames. Always 0 with `scope.requisites =
    /// "scope"`, where they are not distinguished.
    #[serde(default)]
    pub requisites_stored: u64,
    /// Redirects among the other pages in the archive.
    #[serde(default)]
    pub redirects_stored: u64,
}

/// Ends of URLs that were admitted and did not come into the archive. [`Statistics::dropped`] also counts links that
/// were never admitted, and [`Statistics::failures`] attempts: neither says how many URLs ended so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// URLs that were admitted once more, to be fetched again, beside those that were new.
    pub again: u64,
    /// URLs given up after attempts that brought no answer.
    pub failed: u64,
    /// URLs that were admitted and never asked for.
    pub dropped: u64,
}

/// Costs of checkpoints. A checkpoint has the costs of those before it: its own are known when it is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointCosts {
    /// Checkpoints that became durable.
    pub count: u64,
    /// Time for which the crawl was stopped for their cuts, and afterwards for the removal of what they supersede.
    #[serde(rename = "pause_s", with = "super::seconds")]
    pub pause: Duration,
    /// The longest pause among those.
    #[serde(rename = "pause_max_s", with = "super::seconds")]
    pub pause_max: Duration,
    /// Time from the cuts to the moments at which they were durable, beside the crawl.
    #[serde(rename = "durable_s", with = "super::seconds")]
    pub beside: Duration,
    /// The longest among those.
    #[serde(rename = "durable_max_s", with = "super::seconds")]
    pub beside_max: Duration,
    /// Bytes written only for them: checkpoint files, address pages.
    pub bytes: u64,
}

impl CheckpointCosts {
    /// Counts a time for which the crawl stood still.
    pub fn count_pause(&mut self, pause: Duration) {
        self.pause += pause;
        self.pause_max = self.pause_max.max(pause);
    }

    /// Counts a checkpoint that is durable, so long after its cut, for that many bytes.
    pub fn count_durable(&mut self, after: Duration, bytes: u64) {
        self.count += 1;
        self.beside += after;
        self.beside_max = self.beside_max.max(after);
        self.bytes += bytes;
    }
}

impl Statistics {
    /// Pages in the archive that are no requisites of others.
    pub fn pages(&self) -> u64 {
        self.pages_stored.saturating_sub(self.requisites_stored)
    }

    /// Returns the number of pages that `crawl.max_pages` counts: a redirect leads to a page, and is none.
    pub fn counted_pages(&self) -> u64 {
        self.pages().saturating_sub(self.redirects_stored)
    }

    /// Counts an answer.
    pub fn count_status(&mut self, status: u16) {
        *self.statuses.entry(status).or_default() += 1;
    }

    /// Counts a sitemap with that many URLs taken and left out.
    pub fn count_sitemap(&mut self, urls: u64, dropped: u64) {
        self.sitemaps += 1;
        self.sitemap_urls += urls;
        self.sitemap_urls_dropped += dropped;
    }

    /// Counts an attempt without an answer.
    pub fn count_failure(&mut self, failure: Failure) {
        *self.failures.entry(failure).or_default() += 1;
    }

    /// Counts a URL that is not asked for.
    pub fn count_dropped(&mut self, reason: Reason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// Answers by the first digit of their status, 1xx first.
    pub fn status_classes(&self) -> [u64; 5] {
        let mut classes = [0; 5];
        for (status, count) in &self.statuses {
            if let Some(class) = classes.get_mut(usize::from(status / 100).wrapping_sub(1)) {
                *class += count;
            }
        }
        classes
    }

    /// Attempts without an answer, all causes together.
    pub fn failures_total(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Returns the reason for which most URLs were never asked for.
    pub fn most_dropped(&self) -> Option<Reason> {
        self.dropped.iter().max_by_key(|(_, urls)| **urls).map(|(reason, _)| *reason)
    }

    /// URLs never asked for, all reasons together.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Gauges: the state of a crawl at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauges {
    /// URLs queued to be fetched.
    pub queued: u64,
    /// Active hosts that may be asked now.
    pub hosts_ready: u64,
    /// Active hosts that rest, back off, or wait for DNS or robots.txt.
    pub hosts_waiting: u64,
    /// Hosts held in memory.
    pub hosts_active: u64,
    /// Bytes of memory that active hosts and their URLs take.
    pub hosts_active_bytes: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Keys that wait for a merge.
    pub keys_pending: u64,
    /// URLs seen.
    pub keys_seen: u64,
    /// Bytes of the store of URLs seen.
    pub url_seen_bytes: u64,
    /// Free space on the disk of the crawl directory.
    pub disk_free_bytes: u64,
    /// Hosts that rest, if any does.
    #[serde(default)]
    pub resting: Option<Resting>,
    /// Workers, where the crawl finds their number itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
    /// Causes that keep requests back.
    #[serde(default)]
    pub constraints: Constraints,
    /// Limits of the whole crawl.
    #[serde(default)]
    pub limits: CrawlLimits,
    /// Time that the longest queue of a host in memory takes at its delay, in milliseconds.
    #[serde(default)]
    pub longest_queue_ms: u64,
    /// The recrawl calendar, of a crawl that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarFigures>,
    /// Pages that were rendered, of a crawl that renders any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendering: Option<RenderFigures>,
    /// The round of budgets, where these follow from supporters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundFigures>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_falls_into_one_class_and_strange_ones_into_none() {
        let mut statistics = Statistics::default();
        for status in [100, 200, 204, 301, 404, 503, 0, 99, 600, 999] {
            statistics.count_status(status);
        }
        assert_eq!(statistics.status_classes(), [1, 2, 1, 1, 1]);
    }

    #[test]
    fn statistics_survive_json_and_the_checkpoints_format() {
        let mut statistics =
            Statistics { pages_stored: 7, elapsed: Duration::from_millis(1_234), ..Default::default() };
        statistics.count_status(200);
        statistics.count_failure(Failure::Tls);
        statistics.count_dropped(Reason::Robots);
        statistics.limited.count(Reason::HostPages, "http://a", 3);
        let json = serde_json::to_string(&statistics).unwrap();
        assert_eq!(serde_json::from_str::<Statistics>(&json).unwrap(), statistics);
        let bytes = postcard::to_allocvec(&statistics).unwrap();
        assert_eq!(postcard::from_bytes::<Statistics>(&bytes).unwrap(), statistics);
    }
}
