//! The most memory that a crawl takes: the sum of its bounded parts, computed from the configuration.
//!
//! Every part that can grow with what servers send has a bound in its own module; here they are added up, so that
//! `crawler status` can say before the machine does. It is a ceiling, not an estimate: what a usual crawl takes is a
//! small part of it, since nothing fills all parts at once.

use std::path::Path;

use serde::Serialize;

use super::files::{self, IDLE_CONNECTIONS_MAX, WORKERS_MOST};
use super::{machine, options, share, sites, threads};
use crate::config::{Bytes, Config, Workers};
use crate::disk::{self, Disk};
use crate::drum::{UNMERGED_BYTES, VALUE_BYTES_PER_ENTRY};
use crate::engine::seeds::reader;
use crate::engine::{DEPTHS_BYTES_MAX, SESSION_PARAMS_BYTES_MAX, WORKERS_START};
use crate::feed::{PASS_BYTES, READ_BYTES};
use crate::fetch::{SMALL_BODY_BYTES, large_bodies};
use crate::process::{LARGE_FINDINGS, SITEMAP_LINK_BYTES, SMALL_FINDINGS_BYTES};
use crate::sink::{Limits, Settings};
use crate::web::html::BYTES_PER_LINK;
use crate::web::kind::HOSTS_BYTES_MAX;
use crate::web::sitemap;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// The program, its stacks, root certificates, logs, counters.
const PROGRAM: u64 = 48 * MIB;
/// The catalog: its cache with all that is around it.
const CATALOG: u64 = 32 * MIB;
/// Links to other shards that wait for their file, and links from others that wait for the engine.
const EXCHANGE: u64 = 4 * MIB;
/// A sketch of patterns or texts, and its copy for a checkpoint.
const PATTERNS: u64 = 4 * MIB;
/// A connection in use: the head or what an HTTP/2 server sends ahead, and TLS.
const CONNECTION: u64 = 640 * KIB;
/// A connection that is kept without a request.
const IDLE_CONNECTION: u64 = 32 * KIB;
/// A key and a value of a front, without what the value holds.
const FRONT_ENTRY: u64 = 72;
/// A link beside its text.
const LINK: u64 = 64;
/// A seed: its places in the table of each shard, and what its name takes in the scope.
const SEED_PLACES: u64 = 64;
const SEED_SCOPE: u64 = 80;
/// Decoded text as it was, in UTF-8 (three bytes for one at worst), and what was taken out of it.
const COPIES_OF_TEXT: u64 = 6;
/// A body beside its record, and the record compressed, in buffers that stay.
const COPIES_OF_BODY: u64 = 3;

/// The workers that are found leave the ceiling within this share of the machine's memory, in quarters.
const MEMORY_QUARTERS: u64 = 3;

/// A part of the ceiling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Name of the part: what the memory is for.
    pub name: &'static str,
    /// The keys of the configuration that decide about it.
    pub keys: &'static str,
    /// Bytes.
    pub bytes: u64,
}

/// The most memory that a crawl takes, part by part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ceiling {
    /// All parts together.
    pub bytes: u64,
    /// The parts, which say what may be configured.
    pub parts: Vec<Part>,
    #[serde(skip)]
    shards: u64,
}

impl Ceiling {
    /// The ceiling of the crawl in `dir` on this machine, by the settings of its last run; nothing where they cannot be
    /// read.
    pub(crate) fn of_crawl(disk: &Disk, dir: &Path) -> disk::Result<Option<Ceiling>> {
        let config = super::options::read_copy(disk, dir)?;
        let seeds = reader::count(disk, dir)?.unwrap_or(0);
        let bytes = reader::bytes(disk, dir)?;
        Ok(config.map(|config| Ceiling::of(&config, super::threads::cores()).with_seeds(seeds, bytes)))
    }

    /// The ceiling with this many seeds, whose texts have this many bytes: the lines of the file while they are
    /// numbered, and what they take into scope.
    pub(crate) fn with_seeds(mut self, seeds: u64, bytes: u64) -> Ceiling {
        self.parts.pop();
        let of_seed = SEED_PLACES * self.shards + SEED_SCOPE;
        self.parts.push(part("seeds: table and scope", "", seeds * of_seed + 2 * bytes));
        Ceiling::sum(self.parts, self.shards)
    }

    /// The ceiling of a crawl by `config` with `cores` process threads, and with as many workers as it may have.
    pub(crate) fn of(config: &Config, cores: usize) -> Ceiling {
        Ceiling::with_workers(config, workers_most(config), cores)
    }

    fn with_workers(config: &Config, workers: usize, cores: usize) -> Ceiling {
        let requests = workers as u64 + config.fetch.slow_workers as u64;
        let shards = config.crawl.shards as u64;
        let mut parts = stores(&share::of_shard(config));
        parts.iter_mut().for_each(|part| part.bytes *= shards);
        parts.extend(network(config, requests));
        parts.extend(processing(config, requests, cores as u64));
        parts.push(part("program and catalog", "", PROGRAM + CATALOG));
        parts.extend(sinks(config));
        if shards > 1 {
            parts.push(part("links of shards to one another", "crawl.shards", shards * EXCHANGE));
        }
        Ceiling::sum(parts, shards)
    }

    fn sum(mut parts: Vec<Part>, shards: u64) -> Ceiling {
        let sum: u64 = parts.iter().map(|part| part.bytes).sum();
        parts.push(part("allocator overhead, a quarter", "", sum / 4));
        Ceiling { bytes: sum + sum / 4, parts, shards }
    }
}

/// Workers at most: those that are configured, or as many as may be found, which `crawl.memory` or this machine has
/// room for, and open files.
pub(super) fn workers_most(config: &Config) -> usize {
    match config.fetch.workers {
        Workers::Fixed(workers) => workers,
        Workers::Auto => {
            let memory = config.crawl.memory.map(Bytes::get);
            let room = memory.or_else(|| machine::memory().map(|memory| memory / 4 * MEMORY_QUARTERS));
            let by_memory = room.map_or(WORKERS_START, |room| workers_in(config, room));
            by_memory.min(files::workers_most(config, files::limit())).clamp(1, WORKERS_MOST)
        }
    }
}

/// Returns the number of workers with which the ceiling is at most `memory`; it is no less than at the start.
fn workers_in(config: &Config, memory: u64) -> usize {
    const MANY: usize = 1_000;
    let ceiling = |workers| Ceiling::with_workers(config, workers, threads::cores()).bytes;
    let least = ceiling(WORKERS_START);
    let each = (ceiling(WORKERS_START + MANY) - least) / MANY as u64;
    let room = memory.saturating_sub(least);
    WORKERS_START + usize::try_from(room / each.max(1)).unwrap_or(WORKERS_MOST)
}

fn part(name: &'static str, keys: &'static str, bytes: u64) -> Part {
    Part { name, keys, bytes }
}

/// Returns the part of the sinks, if there are any: a pass of the feed, and of each a batch and what is made of it.
fn sinks(config: &Config) -> Option<Part> {
    let document = sites::body_max(config) as u64 * COPIES_OF_TEXT;
    let of_target = |batch_bytes: usize| READ_BYTES as u64 + 3 * batch_bytes as u64 + document;
    let watches = config.watch.len() as u64 * of_target(Limits::default().batch_bytes);
    let of_sink = |sink: &Settings| of_target(sink.batch_bytes) + sink.kind.memory() as u64;
    let targets = config.sink.values().map(of_sink).sum::<u64>() + watches;
    (targets > 0).then(|| part("sinks", "sink.NAME.batch_bytes", PASS_BYTES as u64 + document + targets))
}

/// Returns the parts of one shard, by its share of the settings.
fn stores(config: &Config) -> Vec<Part> {
    let (drum, seen, front) = (&config.drum, &config.seen, share::host_front(config, config.crawl.shards));
    let buckets = drum.buckets as u64;
    let (urls, hosts) = (seen.lru_entries as u64, front.lru_entries as u64);
    // an array may exceed its share by one entry, and is copied for a checkpoint
    let arrays = 3 * buckets * (drum.ram_per_bucket.get() + config.scope.max_url_length as u64);
    let rules = buckets * config.robots.max_bytes.get();
    let held_by_values = hosts * VALUE_BYTES_PER_ENTRY as u64;
    let pairs = hosts * FRONT_ENTRY + front.bloom_memory as u64 + arrays;
    let pairs = options::support(config)
        .is_on
        .then(|| part("pairs of domains: LRU, Bloom filter, arrays", "budget.by_supporters", pairs));
    let mut parts = vec![
        part("URL-seen: LRU and Bloom filter", "seen.lru_entries, seen.bloom_memory", {
            urls * 8 + seen.bloom_memory.get()
        }),
        part("robots.txt and DNS: LRU and Bloom filter", "", {
            2 * (hosts * FRONT_ENTRY + front.bloom_memory as u64 + UNMERGED_BYTES as u64) + held_by_values
        }),
        part("stores: arrays, and their copy for a checkpoint", "drum.buckets, drum.ram_per_bucket", {
            2 * (arrays + rules)
        }),
        // while one bucket is merged, the answers of the one before are handed out
        part("stores: a merge, and the answers of the last one", "drum.merge_memory", 2 * drum.merge_memory.get()),
        // half of it is copied for a checkpoint
        part("queue, and its copy for a checkpoint", "frontier.memory", config.frontier.memory.get() / 2 * 3),
        part("archive: index of payloads, new slots", "container.digest_memory, container.slot_memory", {
            config.container.digest_memory.get() + config.container.slot_memory.get()
        }),
        part("patterns of URLs", "", PATTERNS),
        part("pages by what they say", "scope.max_pages_per_text", {
            if config.scope.max_pages_per_text.is_some() { PATTERNS } else { 0 }
        }),
        part("depths of URLs", "crawl.max_depth", {
            let is_limited = options::scope(config).is_ok_and(|scope| scope.limits_depth());
            if is_limited { DEPTHS_BYTES_MAX } else { 0 }
        }),
        part("session parameters", "scope.learn_session_params", {
            if config.scope.learn_session_params { SESSION_PARAMS_BYTES_MAX } else { 0 }
        }),
    ];
    parts.extend(pairs);
    parts
}

fn network(config: &Config, requests: u64) -> Vec<Part> {
    let body = sites::body_max(config) as u64;
    // a place lasts until the records that were made of the body are in the archive
    let large = large_bodies(sites::body_max(config)) as u64 * 2 * body;
    vec![
        part("requests in flight: connection, head, small body", "fetch.workers, fetch.slow_workers", {
            requests * (CONNECTION + 2 * SMALL_BODY_BYTES as u64)
        }),
        part("large bodies, until they are in the archive", "fetch.max_body", large),
        part("idle connections", "", IDLE_CONNECTIONS_MAX as u64 * IDLE_CONNECTION),
    ]
}

fn processing(config: &Config, requests: u64, cores: u64) -> Vec<Part> {
    let body = sites::body_max(config) as u64;
    let links = config.scope.max_links_per_page as u64 * (BYTES_PER_LINK as u64 + LINK);
    let listed = SITEMAP_LINK_BYTES as u64 + sitemap::URLS_MAX * LINK;
    let waiting = links.max(listed);
    vec![
        part("pages being read, one a core", "fetch.max_body", {
            cores * (body * (COPIES_OF_TEXT + COPIES_OF_BODY) + 2 * waiting)
        }),
        part("the one sitemap being read", "", 5 * sitemap::BYTES_MAX as u64),
        part("what hosts say where a page is gone", "kinds.judge", {
            if config.kinds.judge { HOSTS_BYTES_MAX } else { 0 }
        }),
        part("links that wait for the engine", "fetch.workers, fetch.slow_workers, scope.max_links_per_page", {
            requests * SMALL_FINDINGS_BYTES as u64 + LARGE_FINDINGS as u64 * waiting
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_is_the_sum_of_its_parts_and_follows_the_configuration() {
        let mut config = Config::default();
        config.fetch.workers = Workers::Fixed(64);
        let ceiling = Ceiling::of(&config, 2);
        assert_eq!(ceiling.bytes, ceiling.parts.iter().map(|part| part.bytes).sum::<u64>());
        assert!(ceiling.bytes < 4 << 30, "{ceiling:#?}");
        let seeded = ceiling.clone().with_seeds(1_000_000, 60 << 20);
        assert_eq!(seeded.bytes, seeded.parts.iter().map(|part| part.bytes).sum::<u64>());
        assert!((seeded.bytes - ceiling.bytes) / 1_000_000 > 250);
        let mut larger = config.clone();
        larger.frontier.memory = Bytes::gib(4);
        assert!(Ceiling::of(&larger, 2).bytes >= ceiling.bytes + (3 << 30));
        let sink = Config::parse("[sink.s]\nkind = \"sqlite\"\npath = \"x\"", "x").unwrap().sink;
        let fed = Config { sink, ..config.clone() };
        assert!(Ceiling::of(&fed, 2).bytes >= ceiling.bytes + (250 << 20));
        let mut slots = config.clone();
        slots.container.slot_memory = Bytes::gib(2);
        assert!(Ceiling::of(&slots, 2).bytes > ceiling.bytes + (1 << 30));
        let mut smaller = config;
        smaller.fetch.workers = Workers::Fixed(1);
        assert!(Ceiling::of(&smaller, 2).bytes < ceiling.bytes);
        smaller.fetch.slow_workers = 0;
        assert!(Ceiling::of(&smaller, 2).bytes + (1 << 30) < ceiling.bytes);
        assert!(Ceiling::of(&smaller, 64).bytes > Ceiling::of(&smaller, 2).bytes);
    }

    #[test]
    fn memory_bounds_the_workers_that_are_found() {
        let config = Config::default();
        const GIB: u64 = 1 << 30;
        assert!(workers_in(&config, 48 * GIB) > WORKERS_MOST);
        assert_eq!(workers_in(&config, GIB), WORKERS_START, "never fewer for the sake of memory");
        let some = workers_in(&config, 6 * GIB);
        assert!((500..3_000).contains(&some), "{some}");
        assert!(Ceiling::with_workers(&config, some, threads::cores()).bytes <= 6 * GIB);
        let most = workers_most(&config);
        assert_eq!(Ceiling::of(&config, 2), Ceiling::with_workers(&config, most, 2));
        let fixed = Config { fetch: crate::config::Fetch { workers: Workers::Fixed(9), ..config.fetch }, ..config };
        assert_eq!(workers_most(&fixed), 9, "a number is the number, whatever the machine has");
    }

    #[test]
    fn the_ceiling_of_a_crawl_is_within_its_memory_where_that_has_room_for_the_least() {
        for (memory, is_least) in [("2GiB", true), ("4GiB", false), ("8GiB", false), ("16GiB", false)] {
            let config = Config::parse(&format!("[crawl]\nmemory = \"{memory}\"\n"), "x").unwrap();
            let ceiling = Ceiling::with_workers(&config, workers_in(&config, config.crawl.memory.unwrap().get()), 2);
            let memory = config.crawl.memory.unwrap().get();
            let room = memory.saturating_sub(ceiling.bytes);
            assert!(ceiling.bytes <= memory || is_least && ceiling.bytes < memory / 4 * 5, "{memory} {ceiling:#?}");
            let is_full = workers_in(&config, memory) >= WORKERS_MOST;
            assert!(room < memory / 4 || is_full, "{memory} is not used: {}", ceiling.bytes);
        }
    }

    #[test]
    fn shards_share_the_memory_of_the_process_until_each_has_its_least() {
        let of = |shards| {
            let mut config = Config::default();
            config.crawl.shards = shards;
            config.fetch.workers = Workers::Fixed(64);
            let ceiling = Ceiling::of(&config, 2);
            assert_eq!(ceiling.bytes, ceiling.parts.iter().map(|part| part.bytes).sum::<u64>());
            ceiling.with_seeds(1_000, 1 << 20)
        };
        let [one, four, many, most] = [1, 4, 64, 256].map(|shards| of(shards).bytes);
        assert!(four < one + (320 << 20), "a robots.txt in each bucket is not divided: {one} {four}");
        let least = (most - many) / (256 - 64);
        assert!((16 << 20..192 << 20).contains(&least), "a shard takes {least} at most");
    }
}
