//! The parts of the console that follow from figures alone: budgets that were met, memory, disk.

use std::fs;
use std::path::Path;

use crate::config::Config;
use crate::console::{Bytes, DiskUse, MetBudget};
use crate::crawl::sizes::file_bytes;
use crate::disk::Disk;
use crate::outcome::Reason;
use crate::record::layout;
use crate::record::limited::setting;
use crate::record::{Limited, Live};

/// Budgets of which URLs were left out, those with most of them first, behind the limits of the whole crawl.
pub(super) fn budgets(live: &Live, config: &Config) -> Vec<MetBudget> {
    let statistics = &live.figures.statistics;
    let of_crawl = [
        ("crawl.max_pages", config.crawl.max_pages, statistics.counted_pages()),
        ("crawl.max_bytes", config.crawl.max_bytes.map(|bytes| bytes.0), statistics.bytes_received),
        ("crawl.max_time", config.crawl.max_time.map(|time| time.as_secs()), statistics.elapsed.as_secs()),
    ];
    let met = of_crawl.into_iter().filter_map(|(what, limit, reached)| {
        let limit = limit.filter(|&limit| reached >= limit)?;
        let (limit, reached) = (Some(limit), Some(reached));
        Some(MetBudget { scope: "crawl".to_owned(), what: what.to_owned(), limit, reached, left_out: 0 })
    });
    let of_others = statistics.limited.by_count().into_iter().map(|limited: &Limited| MetBudget {
        scope: limited.name.clone(),
        what: setting(limited.reason).to_owned(),
        limit: limit(limited.reason, config),
        reached: None,
        left_out: limited.urls,
    });
    met.chain(of_others).collect()
}

fn limit(reason: Reason, config: &Config) -> Option<u64> {
    match reason {
        Reason::HostPages => config.budget.pages_per_host,
        Reason::HostBytes => config.budget.bytes_per_host.map(|bytes| bytes.0),
        Reason::DomainPages => config.budget.pages_per_domain,
        Reason::Pattern => config.scope.max_urls_per_pattern,
        Reason::Text => config.scope.max_pages_per_text,
        _ => None,
    }
}

/// Returns the memory and the disk space that the crawl in `dir` takes; `live` has its figures.
pub(super) fn disk_use(dir: &Path, live: Option<&Live>) -> DiskUse {
    let free_bytes = Disk::real().free_bytes(dir).unwrap_or(0);
    let Some(live) = live else { return DiskUse { free_bytes, ..DiskUse::default() } };
    let (stores, layers, gauges) = (&live.figures.stores, &live.figures.layers, &live.figures.gauges);
    let mut memory = Vec::new();
    if let Some(resident) = resident(live.pid) {
        memory.push(Bytes::of("process", resident));
        memory.push(Bytes::of("most by its settings", live.memory_ceiling_bytes));
        let blooms: u64 = layers.values().map(|layers| layers.bloom_bytes).sum();
        memory.push(Bytes::of("hosts and their URLs", gauges.hosts_active_bytes));
        memory.push(Bytes::of("Bloom filters", blooms));
    }
    let mut disk = vec![
        Bytes::of("archive", stores.pages),
        Bytes::of("index of the archive", stores.index),
        Bytes::of("queue", stores.frontier),
        Bytes::of("calendar", stores.calendar),
        Bytes::of("catalog", stores.catalog),
        Bytes::of("logs", file_bytes(&dir.join(layout::LOGS))),
    ];
    disk.extend(stores.stores.iter().map(|(store, bytes)| Bytes::of(store.title(), *bytes)));
    DiskUse { memory, disk, free_bytes }
}

/// Resident memory of the process with this number, if there is one.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok().filter(|_| pid > 0)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
