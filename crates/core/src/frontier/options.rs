//! Decisions of the operator about the frontier: sizes, politeness, budgets.
//!
//! Sizes are taken when the frontier is opened (the number of partitions only when it is made); politeness and
//! budgets may change between two runs or by [`super::Frontier::reconfigure`].

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::reputation::RoundBudgets;
use crate::clock::Time;
use crate::hours::Hours;

/// Sizes and limits of a frontier.
#[derive(Clone, Debug)]
pub struct FrontierOptions {
    /// Partitions of the disk side, a power of two; an existing frontier keeps its own number.
    pub partitions: usize,
    /// Bytes of memory for everything: half for the active side (of it, half for robots rules above 2 KiB), an eighth
    /// each for the partitions' arrays, their newer host records and their filters, a sixteenth for a merge.
    pub memory: usize,
    /// Hosts that are in memory at once.
    pub active_hosts: usize,
    /// URLs that an active host has in memory; its others are on disk.
    pub buffer_urls: usize,
    /// Bytes of a block of URLs on the disk side, before it is compressed.
    pub block_bytes: usize,
    /// Delays and limits with which hosts are treated.
    pub politeness: Politeness,
    /// Limits of what is fetched of a host or domain.
    pub budget: Budget,
    /// Hosts that are treated otherwise, if there are any.
    pub treatments: Option<Arc<dyn Treatments>>,
    /// The time for which a host may be dead, or its robots.txt unreachable, before its URLs are dropped.
    pub give_up: Duration,
    /// Time before which what was known of hosts is not held against those that were given up, or never answered: they
    /// are asked again.
    pub forgiven: Time,
    /// Time up to which rules of robots.txt files are not believed: they are asked for again.
    pub rules_since: Time,
    /// Active hosts with URLs that share an address, at most, and fewer where places are scarce; of no effect without
    /// `delay_per_ip`.
    pub per_address_active_max: usize,
    /// Active hosts with URLs that share a registrable domain, at most, and fewer where places are scarce.
    pub per_domain_active_max: usize,
    /// Share of a host's turns that pages have that are due again, while it has new ones.
    pub due_share: f32,
    /// Budgets of domains in a round by their supporters, where these are counted.
    pub rounds: Option<RoundBudgets>,
    /// Turns that this frontier shares with others of the process, if there are others.
    pub ledger: Option<Arc<Ledger>>,
}

/// The sizes among the options, which stay as they are while a frontier is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub memory: usize,
    pub active_hosts: usize,
    pub buffer_urls: usize,
    pub block_bytes: usize,
    pub forgiven: Time,
    pub rules_since: Time,
    pub per_address_active_max: usize,
    pub per_domain_active_max: usize,
}

impl FrontierOptions {
    /// Returns the sizes.
    pub(super) fn sizes(&self) -> Sizes {
        let FrontierOptions { memory, active_hosts, buffer_urls, block_bytes, forgiven, rules_since, .. } = *self;
        let (per_address_active_max, per_domain_active_max) = (self.per_address_active_max, self.per_domain_active_max);
        Sizes {
            memory,
            active_hosts,
            buffer_urls,
            block_bytes,
            forgiven,
            rules_since,
            per_address_active_max,
            per_domain_active_max,
        }
    }
}

impl Default for FrontierOptions {
    fn default() -> Self {
        FrontierOptions {
            partitions: 256,
            memory: 128 << 20,
            active_hosts: 4_096,
            buffer_urls: 64,
            block_bytes: 32 << 10,
            politeness: Politeness::default(),
            budget: Budget::default(),
            treatments: None,
            give_up: Duration::from_secs(24 * 3_600),
            forgiven: Time::ZERO,
            rules_since: Time::ZERO,
            per_address_active_max: 512,
            per_domain_active_max: 512,
            due_share: 0.5,
            rounds: None,
            ledger: None,
        }
    }
}

/// Delays and limits with which a host is treated. `delay_factor = 0`, `delay_min = 0` and `delay_per_ip = 0` together
/// mean no delay at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Politeness {
    /// The least time between two requests of a host.
    pub delay_min: Duration,
    /// The longest delay that comes from a host's slowness.
    pub delay_max: Duration,
    /// The delay as a multiple of the duration of the last fetch.
    pub delay_factor: f64,
    /// A longer Crawl-delay counts as this.
    pub crawl_delay_max: Duration,
    /// True if hosts that ask for a longer Crawl-delay are left alone.
    pub skip_beyond: bool,
    /// Requests of a host that may run at the same time.
    pub connections_per_host: usize,
    /// The least time between the starts of two requests to an address, whatever the hosts.
    pub delay_per_ip: Duration,
    /// Failures in a row that a host needs to be dead, however long it has failed.
    pub dead_after: u32,
    /// Hours in which requests to a host begin; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<Arc<Hours>>,
}

impl Default for Politeness {
    fn default() -> Self {
        Politeness {
            delay_min: Duration::from_secs(1),
            delay_max: Duration::from_secs(30),
            delay_factor: 5.0,
            crawl_delay_max: Duration::from_secs(300),
            skip_beyond: false,
            connections_per_host: 1,
            delay_per_ip: Duration::from_millis(250),
            dead_after: 3,
            hours: None,
        }
    }
}

/// Limits of what is fetched; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Pages of an origin.
    pub pages_per_host: Option<u64>,
    /// Pages of all origins of a registrable domain.
    pub pages_per_domain: Option<u64>,
    /// Bytes of an origin.
    pub bytes_per_host: Option<u64>,
}

impl Budget {
    /// No limits.
    pub const UNLIMITED: Budget = Budget { pages_per_host: None, pages_per_domain: None, bytes_per_host: None };
}

/// Limits that hold against sites without an end.
impl Default for Budget {
    fn default() -> Self {
        Budget { pages_per_host: Some(100_000), pages_per_domain: Some(500_000), bytes_per_host: None }
    }
}

/// The treatment of a host. An address has one delay, whatever hosts it has, so `delay_per_ip` does not count in the
/// politeness here; nor do the pages of a domain in the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Treatment {
    /// Its delays and connections.
    pub politeness: Politeness,
    /// Limits of what is fetched of it.
    pub budget: Budget,
}

/// Knows the hosts that are treated otherwise than the rest.
pub trait Treatments: Debug + Send + Sync {
    /// Returns how `host`, a name or an address, is treated; `None` where it is treated as the rest.
    fn of(&self, host: &str) -> Option<Arc<Treatment>>;
    /// The longest delay after a request that any of them has.
    fn delay_max(&self) -> Duration;
    /// Returns how they are treated, as JSON for those who judge the log of requests; empty where they are treated as
    /// the rest.
    fn as_json(&self) -> &str;
}
