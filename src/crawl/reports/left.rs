//! The least time that what is queued takes, by politeness alone: the slowest host decides.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::{HostRow, ReportError, hosts};
use crate::clock::Time;
use crate::crawl::options;
use crate::crawl::sizes::file_bytes;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::record::layout;
use crate::record::{CrawlLog, Resting, log_files};

/// The time left, and what decides about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Left {
    /// Time that passes at least.
    #[serde(rename = "at_least_s", with = "crate::record::seconds")]
    pub at_least: Duration,
    /// The host that needs so long; empty where the rate of the whole crawl decides.
    pub host: String,
    /// URLs of it that wait; of all where the rate decides.
    pub urls: u64,
    /// Hosts that have URLs that wait.
    pub hosts: u64,
    /// Time until which `host` rests, where that decides.
    #[serde(rename = "rests_until_ms")]
    pub rests_until: Option<Time>,
    /// Reason for which it rests.
    pub why: String,
}

impl Left {
    /// The same where hosts rest longer than politeness takes.
    pub(crate) fn with_resting_hosts(mut self, resting: Option<&Resting>, now: Time) -> Left {
        let longest = resting.and_then(|resting| resting.longest.first());
        if let Some(host) = longest.filter(|host| host.until.since(now) > self.at_least) {
            self.at_least = host.until.since(now);
            self.host.clone_from(&host.host);
            self.why.clone_from(&host.why);
            self.rests_until = Some(host.until);
            self.hosts = self.hosts.max(1);
        }
        self
    }
}

/// Bytes that [`left`] reads.
pub fn left_reads(dir: &Path) -> Result<u64, ReportError> {
    let disk = Disk::real();
    let (log, queue) = log_and_queue(&disk, &CrawlDirs::open(&disk, dir)?)?;
    Ok(log.saturating_add(queue))
}

/// Bytes of crawl.log, and of the queue.
pub(super) fn log_and_queue(disk: &Disk, dirs: &CrawlDirs) -> Result<(u64, u64), ReportError> {
    let (mut log, mut queue) = (0_u64, 0_u64);
    for dir in dirs.shards() {
        log = log.saturating_add(log_files::bytes(disk, &CrawlLog::path(dir))?);
        queue = queue.saturating_add(file_bytes(&dir.join(layout::FRONTIER)));
    }
    Ok((log, queue))
}

/// The time that the queue of the crawl in `dir` takes at least, by the last checkpoint. Links that are not found yet
/// come on top of it.
pub fn left(dir: &Path) -> Result<Left, ReportError> {
    let disk = Disk::real();
    let dirs = CrawlDirs::open(&disk, dir)?;
    let config = options::read_copy(&disk, dirs.home())?.unwrap_or_default();
    let politeness = options::frontier(&config, 1).politeness;
    let (mut left, mut waiting) = (Left::default(), 0_u64);
    hosts::for_each(&disk, &dirs, None, &mut |row: &HostRow| {
        if row.remaining == 0 {
            return Ok(());
        }
        left.hosts += 1;
        waiting = waiting.saturating_add(row.remaining);
        let crawl_delay = row.crawl_delay.and_then(|delay| Duration::try_from_secs_f64(delay).ok());
        let owed = politeness.delay(Duration::ZERO, crawl_delay);
        // the first one of them may come at once
        let gaps = u32::try_from(row.remaining - 1).unwrap_or(u32::MAX);
        let needs = owed.saturating_mul(gaps) / u32::try_from(politeness.connections_per_host.max(1)).unwrap_or(1);
        if needs > left.at_least {
            left.at_least = needs;
            left.host.clone_from(&row.host);
            left.urls = row.remaining;
        }
        Ok(())
    })?;
    let by_rate = config.politeness.requests_per_second.filter(|&rate| rate > 0.0);
    let by_rate = by_rate.and_then(|rate| Duration::try_from_secs_f64(waiting as f64 / rate).ok());
    if let Some(needs) = by_rate.filter(|&needs| needs > left.at_least) {
        left.at_least = needs;
        left.host.clear();
        left.urls = waiting;
    }
    Ok(left)
}
