//! The shards of a crawl one by one: `crawler status --shards`.
//!
//! Shards of a running crawl are shown as of this moment, all others as of their last checkpoint.

use std::fmt::Write as _;

use serde::Serialize;

use crate::clock::Time;
use crate::dirs::CrawlDirs;
use crate::record::{Doing, Live, ShardLive, Snapshot};
use crate::text::figures::{count, size, span};

/// The figures of a shard.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ShardRow {
    /// Its number.
    shard: u32,
    /// Its phase, where the crawl reports that.
    phase: Option<Doing>,
    /// Time at which its last checkpoint was made; `None` before the first one.
    checkpointed_ms: Option<Time>,
    pages_stored: u64,
    requests: u64,
    bytes_stored: u64,
    queued: u64,
    keys_seen: u64,
    hosts_ready: u64,
    hosts_waiting: u64,
    in_flight: u64,
}

impl ShardRow {
    fn live(live: &ShardLive, stored: Option<&Snapshot>) -> ShardRow {
        ShardRow {
            shard: live.shard,
            phase: Some(live.phase),
            checkpointed_ms: live.checkpointed.or(stored.map(|stored| stored.updated)),
            pages_stored: live.pages_stored,
            requests: live.requests,
            bytes_stored: live.bytes_stored,
            queued: live.queued,
            keys_seen: live.keys_seen,
            hosts_ready: live.hosts_ready,
            hosts_waiting: live.hosts_waiting,
            in_flight: live.in_flight,
        }
    }

    fn stored(shard: u32, stored: Option<&Snapshot>) -> ShardRow {
        let (statistics, gauges) = match stored {
            Some(stored) => (stored.statistics.clone(), stored.gauges.clone()),
            None => Default::default(),
        };
        ShardRow {
            shard,
            phase: None,
            checkpointed_ms: stored.map(|stored| stored.updated),
            pages_stored: statistics.pages_stored,
            requests: statistics.requests,
            bytes_stored: statistics.bytes_stored,
            queued: gauges.queued,
            keys_seen: gauges.keys_seen,
            hosts_ready: gauges.hosts_ready,
            hosts_waiting: gauges.hosts_waiting,
            in_flight: 0,
        }
    }
}

/// A row for each shard: as of this moment if the crawl answers, else as of its last checkpoint.
pub(super) fn rows(dirs: &CrawlDirs, live: Option<&Live>, stored: &[Option<Snapshot>]) -> Vec<ShardRow> {
    let row = |(place, stored): (usize, &Option<Snapshot>)| {
        let shard = dirs.shard(place).index();
        let live = live.and_then(|live| live.shards.iter().find(|live| live.shard == shard));
        match live {
            Some(live) => ShardRow::live(live, stored.as_ref()),
            None => ShardRow::stored(shard, stored.as_ref()),
        }
    };
    stored.iter().enumerate().map(row).collect()
}

/// The table of them.
pub(super) fn text(rows: &[ShardRow], now: Time) -> String {
    let mut text = format!(
        "\n{:>6} {:>12} {:>12} {:>10} {:>12} {:>14} {:>8} {:>8} {:>9}  last checkpoint\n",
        "shard", "pages", "requests", "stored", "queued", "URLs seen", "ready", "waiting", "in-flight",
    );
    for row in rows {
        let made = row.checkpointed_ms.map_or("none yet".to_owned(), |made| format!("{} ago", span(now.since(made))));
        let phase = row.phase.filter(|&phase| phase != Doing::Crawling);
        let phase = phase.map_or(String::new(), |phase| format!(", {phase}"));
        let _ = writeln!(
            text,
            "{:>6} {:>12} {:>12} {:>10} {:>12} {:>14} {:>8} {:>8} {:>9}  {made}{phase}",
            row.shard,
            count(row.pages_stored),
            count(row.requests),
            size(row.bytes_stored),
            count(row.queued),
            count(row.keys_seen),
            count(row.hosts_ready),
            count(row.hosts_waiting),
            count(row.in_flight),
        );
    }
    text
}
