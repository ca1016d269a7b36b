//! The hosts of a crawl with the longest queues, for people who look at it.

use serde::{Deserialize, Serialize};

use crate::clock::Time;

/// Some of the hosts, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedHosts {
    /// Moment at which they were looked at.
    pub as_of: Time,
    /// The hosts, those with the longest queues first.
    pub hosts: Vec<QueuedHost>,
}

/// A host with URLs that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedHost {
    /// `scheme://host:port`.
    pub host: String,
    /// URLs that wait, those in flight included.
    pub queued: u64,
    /// State of the host in a word or two: what it does or waits for.
    pub state: String,
    /// No request before.
    pub next_request: Option<Time>,
    /// Time between two requests to it.
    pub delay_ms: u64,
    /// Reason for which the host brings nothing; empty where it brings pages.
    pub reason: String,
    /// Pages fetched of it.
    pub pages: u64,
    /// Bytes received of it.
    pub bytes: u64,
    /// Failures in a row.
    pub errors: u64,
}

impl QueuedHosts {
    /// Returns the first `limit` hosts of all shards of a crawl; `None` where there is no shard.
    pub fn of_shards(shards: impl IntoIterator<Item = QueuedHosts>, limit: usize) -> Option<QueuedHosts> {
        let mut all = shards.into_iter().reduce(|mut all, shard| {
            all.as_of = all.as_of.min(shard.as_of);
            all.hosts.extend(shard.hosts);
            all
        })?;
        all.keep_longest(limit);
        Some(all)
    }

    /// Leaves those `limit` hosts that have the longest queues, in their order.
    pub fn keep_longest(&mut self, limit: usize) {
        self.hosts.sort_by(|a, b| b.queued.cmp(&a.queued).then_with(|| a.host.cmp(&b.host)));
        self.hosts.truncate(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_shards_are_ranked_together_as_of_the_oldest_moment() {
        let shard = |ms: u64, queues: &[(&str, u64)]| QueuedHosts {
            as_of: Time::from_ms(ms),
            hosts: queues
                .iter()
                .map(|&(host, queued)| QueuedHost { host: host.to_owned(), queued, ..QueuedHost::default() })
                .collect(),
        };
        let all = QueuedHosts::of_shards([shard(5, &[("a", 9), ("b", 1)]), shard(4, &[("c", 9), ("d", 3)])], 3);
        assert_eq!(all, Some(shard(4, &[("a", 9), ("c", 9), ("d", 3)])));
        assert_eq!(QueuedHosts::of_shards([], 3), None);
    }
}
