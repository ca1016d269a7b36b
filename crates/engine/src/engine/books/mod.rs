//! The books of a crawl: what it counts, what it writes down for people, and what became of its seeds.
//!
//! - Nothing here decides what is fetched: an event is decided first, and entered here with what was decided.
//! - The counters and the seeds are part of every checkpoint, and a restart counts on from there; the replay enters
//!   what the archive has beyond it. The two logs are not: they are appended to, and a line that a kill loses is not
//!   written again.
//! - What was reported to the operator, and how long requests took, is of the process only.

mod lines;
mod oddities;

use std::time::Duration;

pub(super) use oddities::oddity_of;

use super::seeds::SeedTable;
use crate::clock::Time;
use crate::container::Stored;
use crate::contract::RecentUrls;
use crate::disk::Result;
use crate::frontier::{Politeness, QueuedUrl};
use crate::outcome::Reason;
use crate::record::{CrawlLog, Histogram, Oddities, Oddity, SkippedLog, Statistics};
use crate::web::pattern::pattern;
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// Lines of the logs reach readers after this long at the latest, and survive a kill from then on.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// The books.
pub(super) struct Books {
    /// Counters, over all runs.
    pub statistics: Statistics,
    /// Durations of requests, in the life of the process.
    pub durations: Histogram,
    /// The seeds, and what became of them.
    pub seeds: SeedTable,
    /// URLs of the seeds that log lines named last, by number.
    seed_urls: RecentUrls,
    /// Sites that show less to a crawler than to a person.
    oddities: Oddities,
    pub crawl_log: CrawlLog,
    skipped_log: SkippedLog,
    flush_due: Time,
    /// The operator was warned of a Crawl-delay that is not kept to as it is written.
    has_told_delay_cap: bool,
}

impl Books {
    /// The books of a crawl that has counted `statistics` so far.
    pub(crate) fn new(statistics: Statistics, seeds: SeedTable, crawl_log: CrawlLog, skipped_log: SkippedLog) -> Books {
        Books {
            statistics,
            durations: Histogram::default(),
            seeds,
            seed_urls: RecentUrls::default(),
            oddities: Oddities::default(),
            crawl_log,
            skipped_log,
            flush_due: Time::ZERO,
            has_told_delay_cap: false,
        }
    }

    /// A request was made that took `duration`.
    pub(crate) fn count_request(&mut self, duration: Duration) {
        self.statistics.requests += 1;
        self.durations.count(duration);
    }

    /// An answer is in the archive.
    pub(crate) fn count_stored(&mut self, stored: &Stored) {
        self.statistics.bytes_stored += stored.bytes;
        self.statistics.revisits += u64::from(stored.saved.is_some());
        self.statistics.revisit_bytes_saved += stored.saved.unwrap_or(0);
        self.statistics.not_modified += u64::from(stored.not_modified);
    }

    /// Links that processing left out of the page at `url`.
    pub(crate) fn count_dropped_links(&mut self, url: &str, dropped: &[(Reason, u32)]) {
        for &(reason, count) in dropped {
            self.statistics.links_found += u64::from(count);
            *self.statistics.dropped.entry(reason).or_default() += u64::from(count);
            self.count_limited(url, reason, u64::from(count));
        }
    }

    /// One URL is never asked for, admitted or not; `rule` is what decided that.
    pub(crate) fn skip(&mut self, url: &str, reason: Reason, rule: &str) -> Result<()> {
        self.statistics.count_dropped(reason);
        self.count_limited(url, reason, 1);
        self.skipped_log.push(url, reason, rule)
    }

    /// Lists a URL that is left out with a link which [`Books::count_dropped_links`] counts.
    pub(crate) fn note_left_out(&mut self, url: &str, reason: Reason, why: &str) -> Result<()> {
        self.skipped_log.push(url, reason, why)
    }

    /// Counts a URL that a budget or a trap rule left out among those of the same host, domain or pattern.
    fn count_limited(&mut self, url: &str, reason: Reason, urls: u64) {
        if is_limit(reason) {
            let whose = whose(&super::queued_url(url), reason);
            self.statistics.limited.count(reason, &whose, urls);
        }
    }

    /// Sites that show less to a crawler than to a person, as met by this process.
    pub(crate) fn oddities(&self) -> &Oddities {
        &self.oddities
    }

    /// The operator hears of a site that shows less to a crawler than to a person: the first is a warning.
    pub(crate) fn tell_oddity(&mut self, oddity: Oddity, url: &CanonicalUrl) {
        match self.oddities.note(oddity, url.host(), url.as_str()) {
            Some(news) if self.oddities.is_first(oddity) => tracing::warn!("{news}"),
            Some(news) => tracing::info!("{news}"),
            None => {}
        }
    }

    /// The operator hears of a robots.txt that asks for more than is kept to.
    pub(crate) fn tell_crawl_delay(&mut self, origin: &str, rules: &RobotsRules, politeness: &Politeness) {
        let asked = rules.crawl_delay();
        if let Some(delay) = asked.filter(|_| politeness.is_beyond(asked)) {
            let (delay, cap) = (delay.as_secs_f64(), politeness.crawl_delay_max.as_secs_f64());
            let what = if politeness.skips(asked) { "nothing is fetched from it" } else { "that counts" };
            if std::mem::replace(&mut self.has_told_delay_cap, true) {
                tracing::info!("{origin}: Crawl-delay {delay} s; politeness.crawl_delay_max is {cap} s: {what}");
            } else {
                tracing::warn!(
                    "{origin}: Crawl-delay {delay} s; politeness.crawl_delay_max is {cap} s: {what} (for other hosts \
                     this is logged as information)"
                );
            }
        }
    }

    /// Lets readers see what was logged, now and then.
    pub(crate) fn flush_when_due(&mut self, now: Time) -> Result<()> {
        if now < self.flush_due {
            return Ok(());
        }
        self.flush_due = now + FLUSH_EVERY;
        self.flush()
    }

    /// Lets readers see what was logged.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.crawl_log.flush()?;
        self.skipped_log.flush()
    }

    /// Returns whether `url` is a seed whose line may mean another URL too.
    pub(crate) fn has_fallback(&mut self, url: &QueuedUrl) -> Result<bool> {
        if !url.hops.as_str().is_empty() || !self.seeds.has_fallback(url.seed) {
            return Ok(false);
        }
        Ok(self.seeds.get(url.seed)?.is_some_and(|seed| *seed.url == *url.url))
    }

    /// The URL of a seed; one that was asked for lately is not read again.
    fn seed_url(&mut self, number: u32) -> Result<String> {
        let url = self.seed_urls.get(number.into(), || Ok(self.seeds.get(number)?.map(|seed| seed.url)))?;
        Ok(url.unwrap_or_default())
    }
}

/// Returns true where a budget or a trap rule leaves URLs of a host, a domain or a pattern out.
fn is_limit(reason: Reason) -> bool {
    match reason {
        Reason::HostPages
        | Reason::HostBytes
        | Reason::DomainPages
        | Reason::Pattern
        | Reason::Text
        | Reason::SessionParam
        | Reason::Trap => true,
        Reason::Scope
        | Reason::Depth
        | Reason::Robots
        | Reason::TooLong
        | Reason::Redirects
        | Reason::PrivateAddress
        | Reason::HostGivenUp
        | Reason::PageLimit
        | Reason::EmbeddedPages
        | Reason::Login
        | Reason::Kind
        | Reason::Purpose => false,
    }
}

/// Returns whose limit `reason` is: the registrable domain of `url`, its origin, or its origin and pattern.
pub(super) fn whose(url: &CanonicalUrl, reason: Reason) -> String {
    match reason {
        Reason::DomainPages => url.registrable_domain().to_owned(),
        Reason::Pattern => format!("{}{}", url.origin(), pattern(url.as_str()).unwrap_or_default()),
        _ => url.origin(),
    }
}
