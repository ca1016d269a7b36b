//! The state of a running crawl at this moment, as `crawler status`, `crawler ctl status` and the metrics show it. All
//! of it is made in one place, so that no two of them differ.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Histogram;
use super::Snapshot;
use crate::clock::Time;

/// The phase of a crawl. Where its shards are in different phases, the earliest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// Requests are made.
    Crawling,
    /// No requests are made until `crawler ctl resume`.
    Paused,
    /// Requests in progress may finish, then the crawl ends.
    Stopping,
    /// The last checkpoint is being made.
    Closing,
    /// Its last checkpoint is durable.
    Done,
}

impl Doing {
    /// All of them.
    pub const ALL: [Doing; 5] = [Doing::Crawling, Doing::Paused, Doing::Stopping, Doing::Closing, Doing::Done];

    /// Returns the phase in words for the user.
    pub fn meaning(self) -> &'static str {
        match self {
            Doing::Crawling => "crawling",
            Doing::Paused => "paused: no new requests until crawler ctl resume",
            Doing::Stopping => "stopping: requests in flight may finish",
            Doing::Closing => "stopping: writing the last checkpoint",
            Doing::Done => "stopping: the last checkpoint is durable",
        }
    }
}

/// One word.
impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doing::Crawling => "crawling",
            Doing::Paused => "paused",
            Doing::Stopping => "stopping",
            Doing::Closing => "closing",
            Doing::Done => "done",
        })
    }
}

/// A crawl that runs, at this moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Phase of the crawl.
    pub phase: Doing,
    /// Its process.
    pub pid: u32,
    /// The last checkpoint that is durable; 0 before the first one.
    pub checkpoint: u64,
    /// Time at which the last checkpoint of this process became durable.
    #[serde(rename = "checkpointed_ms")]
    pub checkpointed: Option<Time>,
    /// Rates over the last moments.
    pub rates: Rates,
    /// The most memory that the configuration lets it take.
    pub memory_ceiling_bytes: u64,
    /// Durations of requests, in the life of the process.
    pub durations: Histogram,
    /// The figures, as a checkpoint of this moment would have them.
    pub figures: Snapshot,
    /// Its shards, if it has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardLive>,
}

/// One shard of a crawl, at this moment: figures that show whether it lags behind the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardLive {
    /// Its number, from 0 on.
    pub shard: u32,
    /// Phase of the shard.
    pub phase: Doing,
    /// Its last checkpoint that is durable; 0 before the first one.
    pub checkpoint: u64,
    /// Time at which its last checkpoint of this process became durable.
    #[serde(rename = "checkpointed_ms")]
    pub checkpointed: Option<Time>,
    /// Rates over the last moments.
    pub rates: Rates,
    /// Pages in its archive.
    pub pages_stored: u64,
    /// Requests made.
    pub requests: u64,
    /// Bytes of answers.
    pub bytes_received: u64,
    /// Bytes added to its archive.
    pub bytes_stored: u64,
    /// URLs queued.
    pub queued: u64,
    /// URLs seen.
    pub keys_seen: u64,
    /// Hosts that may be asked now.
    pub hosts_ready: u64,
    /// Hosts that rest, back off, or wait for DNS or robots.txt.
    pub hosts_waiting: u64,
    /// Requests in flight.
    pub in_flight: u64,
}

impl ShardLive {
    /// The shard of this `number`, of which `live` says all.
    pub(crate) fn of(number: usize, live: &Live) -> ShardLive {
        let Snapshot { statistics, gauges, .. } = &live.figures;
        ShardLive {
            shard: u32::try_from(number).expect("a crawl has few shards"),
            phase: live.phase,
            checkpoint: live.checkpoint,
            checkpointed: live.checkpointed,
            rates: live.rates,
            pages_stored: statistics.pages_stored,
            requests: statistics.requests,
            bytes_received: statistics.bytes_received,
            bytes_stored: statistics.bytes_stored,
            queued: gauges.queued,
            keys_seen: gauges.keys_seen,
            hosts_ready: gauges.hosts_ready,
            hosts_waiting: gauges.hosts_waiting,
            in_flight: gauges.in_flight,
        }
    }
}

/// Events per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Pages stored.
    #[serde(rename = "pages_per_second")]
    pub pages: f64,
    /// Requests.
    #[serde(rename = "requests_per_second")]
    pub requests: f64,
    /// Bytes received.
    #[serde(rename = "bytes_per_second")]
    pub bytes: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_one_name_everywhere() {
        for doing in Doing::ALL {
            assert_eq!(serde_json::to_string(&doing).unwrap(), format!("\"{doing}\""));
        }
    }
}
