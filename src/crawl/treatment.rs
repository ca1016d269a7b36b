//! The treatment of hosts by settings: delays, connections, budgets.

use std::sync::Arc;

use crate::config::{self, Config};
use crate::frontier::{Budget, Politeness, Treatment};
use crate::hours::Hours;

/// The hours in which hosts are asked by `config`, which has been checked; `None` for all.
pub(super) fn hours(config: &Config) -> Option<Arc<Hours>> {
    Hours::read(&config.politeness.hours).ok().flatten().map(Arc::new)
}

/// Returns how hosts are treated by `config`.
pub(super) fn of(config: &Config) -> Treatment {
    let politeness = &config.politeness;
    Treatment {
        politeness: Politeness {
            delay_min: politeness.delay_min,
            delay_max: politeness.delay_max,
            delay_factor: politeness.delay_factor,
            crawl_delay_max: politeness.crawl_delay_max,
            skip_beyond: politeness.crawl_delay_beyond == config::CrawlDelayBeyond::Skip,
            connections_per_host: politeness.connections_per_host,
            delay_per_ip: politeness.delay_per_ip,
            hours: hours(config),
            ..Politeness::default()
        },
        budget: Budget {
            pages_per_host: config.budget.pages_per_host,
            pages_per_domain: config.budget.pages_per_domain,
            bytes_per_host: config.budget.bytes_per_host.map(config::Bytes::get),
        },
    }
}
