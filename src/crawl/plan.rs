//! The consequences of a configuration before anything is fetched: rates that politeness allows, memory, disk, and what
//! an operator should think about again. Nothing is asked of the network.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::due::{self, DueIn, Needs};
use super::hours::HoursNow;
use super::memory::{Ceiling, workers_most};
use super::{machine, options, threads};
use crate::clock::{Clock, SystemClock};
use crate::config::{Bytes, Config};
use crate::disk::Disk;
use crate::text::figures;
use crate::warc::Compression;
use crate::web::scope::ScopeMode;
use crate::web::seeds::{Seed, SeedProblems};

/// Times that servers may take for an answer; the rates of each are shown.
const ANSWERS: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];
/// Bytes of a page for the heads of request and response and the metadata record, compressed.
const HEADS: u64 = 1_200;
/// HTML shrinks to about a quarter.
const COMPRESSION: u64 = 4;
/// `key.dat` beside the URL, and its share of the address file.
const INDEX: u64 = 65 + 11;
/// URLs in the archive's index, the queue and the logs.
const URL_BYTES: u64 = 70;
/// New URLs that a page brings.
const NEW_URLS: u64 = 10;
/// A URL in URL-seen, and in the queue.
const SEEN_TENTHS: u64 = 50;
const QUEUED: u64 = 40;
/// A line of crawl.log with two URLs and a seed.
const LINE: u64 = 330;
const MILLION: u64 = 1_000_000;
/// Most shards a core without a warning: the machine may change, and some have more to do than others.
const SHARDS_A_CORE_MAX: u64 = 4;

/// The consequences of a configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Seeds that can be crawled.
    pub seeds: u64,
    /// Host names of them.
    pub hosts: u64,
    /// Registrable domains of them.
    pub domains: u64,
    /// Shards, each with its own engine; shown where there are several.
    #[serde(skip_serializing_if = "is_one")]
    pub shards: u64,
    /// Rates by how long answers take.
    pub rates: Vec<RateBound>,
    /// Hours in which hosts are asked; empty where that is at any hour.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<HoursNow>,
    /// Memory at most.
    pub memory: Ceiling,
    /// Bytes of memory of the machine, if it reports them.
    pub machine_memory: Option<u64>,
    /// Disk for a million pages, part by part.
    pub disk_per_million: Vec<DiskPart>,
    /// Free bytes at the place of the crawl directory.
    pub disk_free: Option<u64>,
    /// Pages of the recrawl calendar of the crawl that there is, by when they are due; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<DueIn>,
    /// Visits that `[recrawl]` wants, where pages are fetched again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recrawl: Option<Needs>,
    /// Warnings: settings to think about again.
    pub warnings: Vec<String>,
}

/// Requests a second that there can be at most while no other hosts are found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct RateBound {
    /// Time that an answer takes.
    #[serde(rename = "answer_s", with = "crate::record::seconds")]
    pub answer: Duration,
    /// The delay that follows from it.
    #[serde(rename = "delay_s", with = "crate::record::seconds")]
    pub delay: Duration,
    /// Requests a second to a host.
    #[serde(rename = "requests_per_second_per_host")]
    pub per_host: f64,
    /// Requests a second to all of them.
    #[serde(rename = "requests_per_second")]
    pub all: f64,
    /// The setting or rule that sets the limit.
    pub by: &'static str,
}

/// Disk of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DiskPart {
    /// Name of the part.
    pub name: &'static str,
    /// Bytes.
    pub bytes: u64,
}

impl Plan {
    /// Computes what `config` implies for these seeds in `dir`, with pages of `page_bytes` on average.
    pub(crate) fn of(config: &Config, seeds: &[Seed], problems: &SeedProblems, dir: &Path, page_bytes: u64) -> Plan {
        let hosts: HashSet<&str> = seeds.iter().map(|seed| seed.url.host()).collect();
        let domains: HashSet<&str> = seeds.iter().map(|seed| seed.url.registrable_domain()).collect();
        let there = dir.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let mut plan = Plan {
            seeds: seeds.len() as u64,
            hosts: hosts.len() as u64,
            domains: domains.len() as u64,
            shards: config.crawl.shards as u64,
            rates: ANSWERS.iter().map(|&answer| rate(config, hosts.len(), answer)).collect(),
            hours: HoursNow::all(config, SystemClock::new().now()),
            memory: Ceiling::of(config, threads::cores()),
            machine_memory: machine::memory(),
            disk_per_million: disk_per_million(config, page_bytes),
            disk_free: Disk::real().free_bytes(there).ok(),
            due: Vec::new(),
            recrawl: due::needs(config, &[]),
            warnings: Vec::new(),
        };
        plan.warnings = plan.warn(config, seeds, problems);
        plan
    }

    /// The same with what is due in the crawl's calendar: `due`.
    pub(crate) fn with_due(mut self, config: &Config, due: Vec<DueIn>) -> Plan {
        self.recrawl = due::needs(config, &due);
        self.due = due;
        let possible = self.rates.first().map_or(0.0, |bound| bound.all * 86_400.0);
        if let Some(needs) =
            self.recrawl.as_ref().filter(|needs| needs.visits_per_day_least > possible && possible > 0.0)
        {
            let (wanted, pages) = (figures::count(needs.visits_per_day_least as u64), figures::count(needs.pages));
            self.warnings.push(format!(
                "[recrawl] wants {wanted} visits a day of {pages} pages, the hosts of the seeds permit {} requests: \
                 intervals will be about {:.1} times as long as set",
                figures::count(possible as u64),
                needs.visits_per_day_least / possible,
            ));
        }
        self
    }

    /// Disk for a million pages, all parts together.
    pub(crate) fn disk_total(&self) -> u64 {
        self.disk_per_million.iter().map(|part| part.bytes).sum()
    }

    fn warn(&self, config: &Config, seeds: &[Seed], problems: &SeedProblems) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut warn = |holds: bool, text: String| {
            if holds {
                warnings.push(text);
            }
        };
        if let Some(named) = seeds.iter().find(|seed| seed.names_user) {
            warn(
                true,
                format!("line {}: user and password of a seed are ignored: the crawler never logs in", named.line),
            );
        }
        for problem in &problems.first {
            warn(true, problem.to_string());
        }
        warn(problems.more > 0, problems.rest().unwrap_or_default());
        warn(seeds.is_empty(), "the seeds have no URL: nothing would be fetched".to_owned());
        let (shards, cores) = (self.shards, threads::cores() as u64);
        let few = shards > 1 && self.domains > 0 && self.domains < shards;
        warn(
            few,
            format!(
                "crawl.shards = {shards}, and the seeds have {} registrable domains: a domain belongs to one shard, so \
                 some have nothing to do until links lead to more",
                self.domains
            ),
        );
        warn(
            shards > cores.max(1) * SHARDS_A_CORE_MAX,
            format!("crawl.shards = {shards} on {cores} cores: more shards than cores cost memory and gain nothing"),
        );
        warn(config.crawl.contact.is_empty(), "crawl.contact is empty: webmasters cannot reach you".to_owned());
        warn(!config.robots.obey, "robots.obey = false: only for servers of your own".to_owned());
        let politeness = options::frontier(config, 1).politeness;
        let none = politeness.delay(Duration::from_secs(1), None).is_zero();
        warn(none, "no delay between requests: only for servers of your own".to_owned());
        let short = !none && politeness.delay_min < Duration::from_millis(500);
        warn(short, "politeness.delay_min is below half a second: most site owners do not want that".to_owned());
        warn(
            politeness.connections_per_host > 1,
            format!(
                "politeness.connections_per_host = {}: several requests to one host at the same time",
                politeness.connections_per_host
            ),
        );
        let crawl = &config.crawl;
        let endless = crawl.max_pages.is_none() && crawl.max_bytes.is_none() && crawl.max_time.is_none();
        let any = config.scope.mode == ScopeMode::Any;
        warn(
            any && endless,
            "scope.mode = \"any\" without a limit of pages, bytes or time: the crawl never ends".to_owned(),
        );
        warn(!config.network.allow.is_empty(), format!("network.allow permits {}", config.network.allow.join(", ")));
        for (room, what) in [(self.machine_memory, "the machine has"), (crawl.memory.map(Bytes::get), "crawl.memory")] {
            let Some(over) = room.and_then(|room| self.memory.bytes.checked_sub(room)).filter(|&over| over > 0) else {
                continue;
            };
            let over = crate::text::figures::size(over);
            warn(true, format!("the memory ceiling is {over} more than {what}; crawler plan --memory lists its parts"));
        }
        if let Some(free) = self.disk_free {
            let floor = crawl.disk_floor.get();
            warn(free < floor, "less disk is free than crawl.disk_floor: the crawl would stop immediately".to_owned());
            let pages = crawl.max_pages.unwrap_or(0);
            let needs = self.disk_total().saturating_mul(pages.div_ceil(1_000)) / 1_000;
            let room = free.saturating_sub(floor);
            let sizes = (crate::text::figures::size(needs), crate::text::figures::size(room));
            warn(needs > room, format!("crawl.max_pages needs about {}, and {} are available", sizes.0, sizes.1));
        }
        warnings
    }
}

fn is_one(shards: &u64) -> bool {
    *shards == 1
}

/// The rate at which `hosts` hosts may be asked that take `answer` for an answer.
fn rate(config: &Config, hosts: usize, answer: Duration) -> RateBound {
    let politeness = options::frontier(config, 1).politeness;
    let delay = politeness.delay(politeness.pace(answer), None);
    let connections = politeness.connections_per_host.max(1) as f64;
    let per_host = connections / (answer + delay).as_secs_f64().max(1e-6);
    let workers = workers_most(config) as f64 / answer.as_secs_f64();
    let limits = [
        (per_host * hosts as f64, "hosts and their delays"),
        (workers, "fetch.workers"),
        (config.politeness.requests_per_second.unwrap_or(f64::INFINITY), "politeness.requests_per_second"),
    ];
    let (all, by) = limits.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are three");
    RateBound { answer, delay, per_host, all, by }
}

fn disk_per_million(config: &Config, page_bytes: u64) -> Vec<DiskPart> {
    let shrinks = if config.container.compression == Compression::None { 1 } else { COMPRESSION };
    let part = |name, bytes: u64| DiskPart { name, bytes: bytes.saturating_mul(MILLION) };
    vec![
        part("archive", page_bytes / shrinks + HEADS),
        part("archive index", INDEX + URL_BYTES),
        part("URL-seen", NEW_URLS * SEEN_TENTHS / 10),
        part("queue", NEW_URLS * QUEUED),
        part("logs", LINE),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::seeds::parse_seeds;

    fn plan(config: &Config, seeds: &str) -> Plan {
        let (seeds, problems) = parse_seeds(seeds.as_bytes());
        Plan::of(config, &seeds, &problems, Path::new("nowhere/crawl"), 30_000)
    }

    #[test]
    fn the_rate_is_bounded_by_hosts_and_delays_then_by_workers_and_by_the_whole_crawl() {
        let mut config = Config::default();
        config.fetch.workers = crate::config::Workers::Fixed(64);
        let few = plan(&config, "http://a.example/\nhttps://a.example/x\nhttp://b.example/\n");
        assert_eq!((few.seeds, few.hosts, few.domains), (3, 2, 2));
        // 100 ms and a second of delay; 2 s and ten
        assert!((few.rates[0].all - 2.0 / 1.1).abs() < 1e-9, "{:?}", few.rates);
        assert!((few.rates[2].per_host - 1.0 / 12.0).abs() < 1e-9);
        let many: String = (0..10_000).map(|n| format!("http://h{n}.example/\n")).collect();
        let by_workers = plan(&config, &many).rates[0];
        assert_eq!((by_workers.by, by_workers.all.round()), ("fetch.workers", 640.0));
        config.politeness.requests_per_second = Some(7.0);
        assert_eq!(plan(&config, &many).rates.map_all(), [7.0; 3]);
    }

    trait MapAll {
        fn map_all(&self) -> Vec<f64>;
    }

    impl MapAll for Vec<RateBound> {
        fn map_all(&self) -> Vec<f64> {
            self.iter().map(|rate| rate.all).collect()
        }
    }

    #[test]
    fn what_an_operator_should_think_about_is_said() {
        let mut config = Config::default();
        config.crawl.contact = "https://example.com/bot".to_owned();
        let calm = plan(&config, "http://a.example/\n");
        assert!(
            calm.warnings.iter().all(|warning| warning.contains("memory") || warning.contains("disk")),
            "{calm:#?}"
        );
        config.crawl.contact.clear();
        config.robots.obey = false;
        config.scope.mode = ScopeMode::Any;
        (config.politeness.delay_factor, config.politeness.delay_min) = (0.0, Duration::ZERO);
        config.politeness.delay_per_ip = Duration::ZERO;
        config.crawl.disk_floor = crate::config::Bytes::gib(1 << 30);
        config.crawl.shards = 256;
        let bold = plan(&config, "http://a.example/\nnot a url\x1b[2J\n").warnings.join("\n");
        for words in [
            "1 registrable domains",
            "256 on ",
            "line 2",
            "crawl.contact",
            "robots.obey",
            "no delay",
            "never ends",
            "crawl.disk_floor",
        ] {
            assert!(bold.contains(words), "{words} in\n{bold}");
        }
        assert!(!bold.contains('\x1b'));
        assert!(plan(&config, "").warnings.iter().any(|warning| warning.contains("nothing would be fetched")));
    }
}
