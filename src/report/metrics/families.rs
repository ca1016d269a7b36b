//! Families of metrics that are exported, each with its name, its help and its samples.

use std::fs;

use super::sinks::SinkCounters;
use super::text::{Exposition, Kind};
use crate::record::{Bottleneck, Doing, Layers, Live, ShardLive, WorkersBound};
use Kind::{Counter, Gauge};

/// Figures of this process from the system. `None` where it gives none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// Resident memory now.
    pub resident_bytes: Option<u64>,
    /// Time on processors so far.
    pub cpu_seconds: Option<f64>,
    /// Open files and connections.
    pub open_fds: Option<u64>,
    /// Time at which it began, in seconds since 1970.
    pub started_seconds: f64,
}

impl Process {
    /// Reads the figures of this process, which began at `started_seconds`.
    pub(crate) fn now(started_seconds: f64) -> Self {
        let status = fs::read_to_string("/proc/self/status").ok();
        let resident = status.as_deref().and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        });
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let open_fds = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64);
        Process {
            resident_bytes: resident,
            cpu_seconds: Some(cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9),
            open_fds,
            started_seconds,
        }
    }
}

/// The metrics as text; of a node of a crawl on many machines, with its name. `sinks` are those of this process.
pub fn render(live: &Live, process: &Process, node: &str, sinks: &SinkCounters) -> String {
    let mut out = Exposition::default();
    crawl(&mut out, live, node);
    pages(&mut out, live);
    links(&mut out, live);
    hosts(&mut out, live);
    if let Some(calendar) = &live.figures.gauges.calendar {
        super::calendar::calendar(&mut out, calendar);
    }
    if let Some(rounds) = &live.figures.gauges.rounds {
        super::rounds::rounds(&mut out, rounds);
    }
    stores(&mut out, live);
    checkpoints(&mut out, live);
    if !live.shards.is_empty() {
        shards(&mut out, live);
    }
    if !sinks.is_empty() {
        super::sinks::sinks(&mut out, sinks);
    }
    this_process(&mut out, live, process);
    out.finish()
}

fn crawl(out: &mut Exposition, live: &Live, node: &str) {
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("node", node)];
    let labels = if node.is_empty() { &labels[..1] } else { &labels };
    out.family("crawler_build_info", Gauge, "The version of the program.").labelled(labels, 1);
    out.family("crawler_phase", Gauge, "1 for the current phase of the crawl.");
    for doing in Doing::ALL {
        out.labelled(&[("phase", &doing.to_string())], u8::from(live.phase == doing));
    }
    let (statistics, gauges) = (&live.figures.statistics, &live.figures.gauges);
    out.family("crawler_crawl_seconds_total", Counter, "Crawl time of all sessions together.")
        .value(statistics.elapsed.as_secs_f64());
    out.family("crawler_queued_urls", Gauge, "URLs queued to be fetched.").value(gauges.queued);
    out.family("crawler_requests_in_flight", Gauge, "Requests in flight.").value(gauges.in_flight);
    if let Some(workers) = &gauges.workers {
        out.family("crawler_workers", Gauge, "Requests that may be in flight beside slow ones, as found by the crawl.")
            .value(workers.now);
        out.family("crawler_workers_most", Gauge, "Workers that memory and open files permit.").value(workers.most);
        out.family("crawler_workers_bound", Gauge, "1 for what bounds the number of workers now.");
        for bound in WorkersBound::ALL {
            out.labelled(&[("bound", &bound.to_string())], u8::from(workers.bound == bound));
        }
    }
    out.family("crawler_depth_reached", Gauge, "Most links between a seed and a fetched page.")
        .value(statistics.depth_max);
}

fn pages(out: &mut Exposition, live: &Live) {
    let statistics = &live.figures.statistics;
    out.family("crawler_pages_stored_total", Counter, "Pages in the archive, revisits and requisites included.")
        .value(statistics.pages_stored);
    out.family("crawler_requisites_stored_total", Counter, "Pages in the archive that others embed.")
        .value(statistics.requisites_stored);
    out.family("crawler_requests_total", Counter, "Requests, robots.txt and retries included.")
        .value(statistics.requests);
    out.family("crawler_retries_total", Counter, "Attempts after the first.").value(statistics.retries);
    out.family("crawler_received_bytes_total", Counter, "Body bytes as sent.").value(statistics.bytes_received);
    out.family("crawler_stored_bytes_total", Counter, "Bytes added to the archive.").value(statistics.bytes_stored);
    out.family("crawler_responses_total", Counter, "Pages by status code.");
    for (code, pages) in &statistics.statuses {
        out.labelled(&[("code", &code.to_string())], pages);
    }
    out.family("crawler_failures_total", Counter, "Attempts without a response, by cause.");
    for (failure, attempts) in &statistics.failures {
        out.labelled(&[("cause", &failure.to_string())], attempts);
    }
    out.family("crawler_revisits_total", Counter, "Payloads that were already in the archive.")
        .value(statistics.revisits);
    out.family("crawler_revisit_saved_bytes_total", Counter, "Bytes that were not stored again because of revisits.")
        .value(statistics.revisit_bytes_saved);
    out.family("crawler_refetched_pages_total", Counter, "Pages fetched again after an earlier fetch.")
        .value(statistics.refetched);
    out.family("crawler_not_modified_total", Counter, "Responses 304 (not modified).").value(statistics.not_modified);
    let help = "Duration of requests, including those without a response, since the process began.";
    out.family("crawler_request_duration_seconds", Kind::Histogram, help);
    let mut all = 0;
    for (bound, count) in live.durations.cumulative() {
        let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
        out.suffixed("_bucket", &[("le", &bound)], count);
        all = count;
    }
    out.suffixed("_sum", &[], live.durations.sum().as_secs_f64()).suffixed("_count", &[], all);
}

fn links(out: &mut Exposition, live: &Live) {
    let statistics = &live.figures.statistics;
    out.family("crawler_links_found_total", Counter, "Links found on pages.").value(statistics.links_found);
    out.family("crawler_links_known_total", Counter, "Links whose URL was already known.").value(statistics.duplicates);
    out.family("crawler_urls_new_total", Counter, "URLs that were new.").value(statistics.unique);
    out.family("crawler_dropped_urls_total", Counter, "URLs that were never requested, by reason.");
    for (reason, urls) in &statistics.dropped {
        out.labelled(&[("reason", &reason.to_string())], urls);
    }
    out.family("crawler_sitemaps_total", Counter, "Sitemaps read.").value(statistics.sitemaps);
    out.family("crawler_sitemap_urls_total", Counter, "URLs taken from sitemaps.").value(statistics.sitemap_urls);
    out.family("crawler_sitemap_urls_dropped_total", Counter, "URLs of sitemaps that were invalid or beyond a limit.")
        .value(statistics.sitemap_urls_dropped);
}

fn hosts(out: &mut Exposition, live: &Live) {
    let (statistics, gauges) = (&live.figures.statistics, &live.figures.gauges);
    out.family("crawler_hosts_known", Gauge, "Hosts met.").value(statistics.hosts);
    out.family(
        "crawler_active_hosts",
        Gauge,
        "Hosts in memory: ready hosts may be requested now, waiting hosts may not, the others are idle.",
    )
    .labelled(&[("state", "ready")], gauges.hosts_ready)
    .labelled(&[("state", "waiting")], gauges.hosts_waiting)
    .labelled(&[("state", "idle")], {
        gauges.hosts_active.saturating_sub(gauges.hosts_ready).saturating_sub(gauges.hosts_waiting)
    });
    out.family("crawler_limited_by", Gauge, "1 for what limits the crawl at this moment, 0 for everything else.");
    let limit = Bottleneck::of_live(live);
    for bottleneck in Bottleneck::ALL {
        out.labelled(&[("by", bottleneck.code())], u64::from(bottleneck == limit));
    }
    if let Some(wait) = gauges.constraints.disk_wait {
        out.family(
            "crawler_disk_wait_seconds",
            Gauge,
            "Time before which no host on disk may be asked, while none is ready.",
        )
        .value(wait.duration().as_secs_f64());
    }
    out.family("crawler_active_hosts_bytes", Gauge, "Memory of the hosts in memory and their URLs.")
        .value(gauges.hosts_active_bytes);
    out.family("crawler_robots_fetched_total", Counter, "robots.txt files whose rules are known.")
        .value(statistics.robots_fetched);
    out.family(
        "crawler_robots_unreachable_total",
        Counter,
        "Attempts to fetch a robots.txt that left its rules unknown.",
    )
    .value(statistics.robots_unreachable);
    out.family("crawler_robots_denied_urls_total", Counter, "URLs that robots.txt forbids.")
        .value(statistics.robots_denied);
    out.family("crawler_dns_lookups_total", Counter, "DNS lookups, by result.")
        .labelled(&[("result", "resolved")], statistics.dns_resolved)
        .labelled(&[("result", "failed")], statistics.dns_failed);
}

fn stores(out: &mut Exposition, live: &Live) {
    let (bytes, layers) = (&live.figures.stores, &live.figures.layers);
    out.family("crawler_store_bytes", Gauge, "Bytes on disk.");
    for (store, bytes) in bytes.each() {
        out.labelled(&[("store", store)], bytes);
    }
    let mut each = |name, kind, help: &str, value: fn(&Layers) -> u64| {
        out.family(name, kind, help);
        for (store, layers) in layers {
            out.labelled(&[("store", store.label())], value(layers));
        }
    };
    each("crawler_store_keys", Gauge, "Keys in the repository.", |layers| layers.keys);
    each("crawler_store_pending", Gauge, "Operations waiting for a merge.", |layers| layers.pending);
    each("crawler_store_bloom_bytes", Gauge, "Memory of the Bloom filter.", |layers| layers.bloom_bytes);
    each("crawler_store_lru_hits_total", Counter, "Lookups answered by the LRU, since the process began.", |layers| {
        layers.lru_hits
    });
    let help = "Keys that the Bloom filter proved new, since the process began.";
    each("crawler_store_bloom_negatives_total", Counter, help, |layers| layers.bloom_negatives);
    let help = "Lookups left to the disk, since the process began.";
    each("crawler_store_bloom_positives_total", Counter, help, |layers| layers.bloom_positives);
    let help = "Lookups left to the disk whose key was new, since the process began.";
    each("crawler_store_bloom_false_positives_total", Counter, help, |layers| layers.bloom_false_positives);
    each("crawler_store_merges_total", Counter, "Merges since the process began.", |layers| layers.merges);
    let help = "Bytes that merges and dispatch read, since the process began.";
    each("crawler_store_merge_read_bytes_total", Counter, help, |layers| layers.merge_bytes_read);
    let help = "Bytes written for merges and by merges, since the process began.";
    each("crawler_store_merge_written_bytes_total", Counter, help, |layers| layers.merge_bytes_written);
    out.family("crawler_disk_free_bytes", Gauge, "Free space on the disk of the crawl directory.")
        .value(live.figures.gauges.disk_free_bytes);
}

fn checkpoints(out: &mut Exposition, live: &Live) {
    let costs = &live.figures.statistics.checkpoints;
    out.family("crawler_checkpoints_total", Counter, "Checkpoints that became durable.").value(costs.count);
    out.family("crawler_checkpoint_pause_seconds_total", Counter, "Time for which the crawl paused for checkpoints.")
        .value(costs.pause.as_secs_f64());
    out.family("crawler_checkpoint_pause_longest_seconds", Gauge, "The longest pause for a checkpoint.")
        .value(costs.pause_max.as_secs_f64());
    out.family(
        "crawler_checkpoint_durable_seconds_total",
        Counter,
        "Time from the cut of a checkpoint until it was durable.",
    )
    .value(costs.beside.as_secs_f64());
    out.family(
        "crawler_checkpoint_durable_longest_seconds",
        Gauge,
        "The longest time from a cut until its checkpoint was durable.",
    )
    .value(costs.beside_max.as_secs_f64());
    out.family("crawler_checkpoint_written_bytes_total", Counter, "Bytes written only for checkpoints.")
        .value(costs.bytes);
    out.family(
        "crawler_last_checkpoint_timestamp_seconds",
        Gauge,
        "When the last checkpoint of this process became durable.",
    );
    if let Some(time) = live.checkpointed {
        out.value(time.ms() as f64 / 1e3);
    }
}

/// Writes the figures by which one sees a shard that lags behind, of a crawl that has several.
fn shards(out: &mut Exposition, live: &Live) {
    let mut each = |name, kind, help: &str, value: fn(&ShardLive) -> u64| {
        out.family(name, kind, help);
        for shard in &live.shards {
            out.labelled(&[("shard", &shard.shard.to_string())], value(shard));
        }
    };
    each("crawler_shard_pages_stored_total", Counter, "Pages in the archive of the shard.", |shard| shard.pages_stored);
    each("crawler_shard_requests_total", Counter, "Requests of the shard.", |shard| shard.requests);
    each("crawler_shard_received_bytes_total", Counter, "Body bytes that the shard received.", |shard| {
        shard.bytes_received
    });
    each("crawler_shard_stored_bytes_total", Counter, "Bytes added to the archive of the shard.", |shard| {
        shard.bytes_stored
    });
    each("crawler_shard_queued_urls", Gauge, "URLs queued in the shard.", |shard| shard.queued);
    each("crawler_shard_hosts_ready", Gauge, "Hosts of the shard that may be requested now.", |shard| {
        shard.hosts_ready
    });
    each("crawler_shard_requests_in_flight", Gauge, "Requests of the shard in flight.", |shard| shard.in_flight);
    let help = "When the last checkpoint of the shard became durable in this process.";
    out.family("crawler_shard_last_checkpoint_timestamp_seconds", Gauge, help);
    for shard in &live.shards {
        if let Some(time) = shard.checkpointed {
            out.labelled(&[("shard", &shard.shard.to_string())], time.ms() as f64 / 1e3);
        }
    }
}

fn this_process(out: &mut Exposition, live: &Live, process: &Process) {
    out.family(
        "crawler_memory_ceiling_bytes",
        Gauge,
        "The most memory that the crawl may take with this configuration.",
    )
    .value(live.memory_ceiling_bytes);
    out.family("process_resident_memory_bytes", Gauge, "Resident memory now.");
    process.resident_bytes.map(|bytes| out.value(bytes));
    out.family("process_cpu_seconds_total", Counter, "CPU time.");
    process.cpu_seconds.map(|seconds| out.value(seconds));
    out.family("process_open_fds", Gauge, "Open files and connections.");
    process.open_fds.map(|files| out.value(files));
    out.family("process_start_time_seconds", Gauge, "When the process began.").value(process.started_seconds);
}
