//! What hosts without end cost the others: a crawl of 1,000 ordinary hosts by the real binary, alone and among traps.
//!
//!     cargo bench --bench traps                     100 traps that do not drip, 50 ms between requests of a host
//!     cargo bench --bench traps -- rush             the same without delays: what the machine can do is shared
//!     cargo bench --bench traps -- drips            1,000 hosts that drip one byte every 10 s, without delays
//!     cargo bench --bench traps -- drips unslotted  the same without places for slow requests
//!     cargo bench --bench traps -- silent           3,000 hosts and domains that accept connections and say nothing
//!     cargo bench --bench traps -- drips 10         ten rounds instead of three
//!
//! Both crawls are made in turn, each against a web of its own on the same two cores. A crawl is stopped when
//! all pages of the ordinary hosts have been asked for; what counts is when the last of them was answered, and when
//! nine of ten were.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::collections::HashSet;
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use crawler::simweb::{SimOptions, TrapKind};
use site::{RUSH, Site, interrupt, ms};

#[path = "../../tests/site/mod.rs"]
mod site;

const ROUNDS: usize = 3;
/// No crawl takes nearly as long.
const PATIENCE: Duration = ms(1_200_000);

/// What one crawl took.
#[derive(Clone, Copy, Debug)]
struct Took {
    most_s: f64,
    all_s: f64,
    cpu_s: f64,
    trapped: usize,
}

/// Delays a twentieth of the usual ones and less, so that the largest hosts (several hundred pages) are done within a
/// minute; all traps are at one address.
const POLITE: &str = "delay_factor = 0.0\ndelay_min = \"50ms\"\ndelay_per_ip = \"2ms\"\n";

fn options(traps: usize, pages: usize, kinds: &[TrapKind]) -> SimOptions {
    SimOptions {
        hosts: 1_000,
        pages,
        addresses: 64,
        latency: ms(5),
        page_bytes: 4_000,
        links: 10,
        cross_links: 0.4,
        giant_share: 0.0,
        slow_share: 0.0,
        robots_crawl_delay_share: 0.0,
        robots_5xx_share: 0.0,
        server_error_share: 0.0,
        flaky_share: 0.0,
        unresolvable_share: 0.0,
        traps,
        trap_kinds: kinds.to_vec(),
        ..SimOptions::default()
    }
}

/// Crawls until the ordinary hosts are done.
fn crawl(options: SimOptions, config: &str) -> Took {
    let site = Site::new(options, config);
    let expected = site.web.expected();
    let child = site.crawl.start(&["-q"]);
    let start = Instant::now();
    loop {
        std::thread::sleep(ms(500));
        let log = site.log();
        let asked: HashSet<String> = log.iter().map(|request| request.url(site.web.http_port())).collect();
        if expected.pages.keys().all(|url| asked.contains(url)) {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "the ordinary hosts were not done in {PATIENCE:?}");
    }
    let cpu_s = cpu_s(&child);
    interrupt(child);
    let log = site.log();
    let first_us = log.iter().map(|request| request.started_us).min().unwrap();
    let ordinary = |url: &String| expected.pages.contains_key(url);
    let mut ends: Vec<u64> = log
        .iter()
        .filter(|request| ordinary(&request.url(site.web.http_port())))
        .map(|request| request.finished_us)
        .collect();
    ends.sort_unstable();
    let trapped = log.iter().filter(|request| expected.is_trap(&request.url(site.web.http_port()))).count();
    let seconds = |us: u64| (us - first_us) as f64 / 1e6;
    Took { most_s: seconds(ends[ends.len() * 9 / 10]), all_s: seconds(ends[ends.len() - 1]), cpu_s, trapped }
}

/// CPU time of a process so far, in seconds.
fn cpu_s(child: &Child) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    // user and system time in ticks of 10 ms
    [11, 12].iter().map(|&n| fields[n].parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let still = &TrapKind::ALL[..7];
    let (traps, pages, kinds) = match () {
        () if has("silent") => (3_000, 50_000, &[TrapKind::Silent][..]),
        () if has("drips") => (1_000, 50_000, &[TrapKind::Drip][..]),
        () => (100, 10_000, still),
    };
    let endless = !has("drips") && !has("silent");
    let delays = if !endless || has("rush") { RUSH } else { POLITE };
    let slots = if has("unslotted") { "[fetch]\nslow_workers = 0\n" } else { "" };
    let budgets = if !endless { "" } else { "[budget]\npages_per_host = 2000\npages_per_domain = 20000\n" };
    let config = format!("{delays}{budgets}{slots}");
    println!("load average {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!("{:<8}{:>12}{:>12}{:>10}{:>12}", "", "9 of 10, s", "all, s", "CPU, s", "to traps");
    let mut ratios = Vec::new();
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    for _ in 0..rounds {
        let alone = crawl(options(0, pages, kinds), &config);
        let among = crawl(options(traps, pages, kinds), &config);
        for (name, took) in [("alone", alone), ("among", among)] {
            let Took { most_s, all_s, cpu_s, trapped } = took;
            println!("{name:<8}{most_s:>12.2}{all_s:>12.2}{cpu_s:>10.2}{trapped:>12}");
        }
        ratios.push((among.most_s / alone.most_s, among.all_s / alone.all_s));
    }
    for (most, all) in ratios {
        println!("among traps, times as long: {most:.3} for 9 of 10 pages, {all:.3} for all");
    }
    println!("load average {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
}
