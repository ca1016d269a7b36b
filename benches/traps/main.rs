//! The cost of hosts without end for the others: a crawl of 1,000 ordinary hosts by the real binary, alone and among
//! traps.
//!
//!     cargo bench --bench traps                     100 traps that do not drip, 50 ms between requests of a host
//!     cargo bench --bench traps -- rush             the same without delays: what the machine can do is shared
//!     cargo bench --bench traps -- drips            1,000 hosts that drip one byte every 10 s, without delays
//!     cargo bench --bench traps -- drips unslotted  the same without places for slow requests
//!     cargo bench --bench traps -- silent           3,000 hosts and domains that accept connections and say nothing
//!     cargo bench --bench traps -- drips 10         ten rounds instead of three
//!
//! Crawls are made in turn, each against its own web on the same two cores: alone, among traps, alone, among
//! traps, alone. A crawl is stopped when all pages of the ordinary hosts have been asked for. What counts is when the
//! last of them was answered, and when nine of ten were; and when the last host had its first page, for nobody is to
//! wait long. A crawl among traps is compared with the mean of the crawls alone before and after it, so that a machine
//! that becomes slower counts for nothing; and each crawl alone with the one before, which says what the machine makes
//! of equal crawls.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use crawler::simweb::{Expected, SimOptions, TrapKind};
use site::{RUSH, Site, interrupt, ms};

#[path = "../../tests/site/mod.rs"]
mod site;

const ROUNDS: usize = 3;
/// No crawl takes nearly as long.
const PATIENCE: Duration = ms(1_200_000);
/// Time between two readings of the log. A reading takes in what is new.
const READ_EVERY: Duration = ms(100);

/// Times and CPU that one crawl took.
#[derive(Clone, Copy, Debug)]
struct Took {
    /// Time until nine of ten pages were answered, and all.
    most_s: f64,
    all_s: f64,
    /// Time until every host had its first page.
    hosts_s: f64,
    /// CPU time of the crawler until nine of ten pages were answered, and all.
    most_cpu_s: f64,
    cpu_s: f64,
    /// CPU time of the web, which is on the same cores.
    web_cpu_s: f64,
    trapped: usize,
}

impl Took {
    fn print(&self, name: &str) {
        let Took { most_s, all_s, hosts_s, most_cpu_s, cpu_s, web_cpu_s, trapped } = self;
        println!(
            "{name:<8}{most_s:>12.2}{all_s:>12.2}{hosts_s:>12.2}\
             {most_cpu_s:>14.2}{cpu_s:>10.2}{web_cpu_s:>10.2}{trapped:>10}"
        );
    }

    /// Returns what is compared: pages, nine of ten and all, and CPU for them.
    fn compared(&self) -> [f64; 4] {
        [self.most_s, self.all_s, self.most_cpu_s, self.cpu_s]
    }
}

/// The log of a web as far as it was read.
#[derive(Debug, Default)]
struct Progress {
    read: usize,
    first_us: Option<u64>,
    /// Times at which pages of the ordinary hosts were answered.
    ends_us: Vec<u64>,
    /// URLs of these pages.
    asked: HashSet<String>,
    /// Times at which hosts had their first page.
    hosts_us: HashMap<String, u64>,
    trapped: usize,
}

impl Progress {
    /// Takes in what is new.
    fn read(&mut self, site: &Site, expected: &Expected) {
        let new = site.web.log_after(self.read);
        self.read += new.len();
        for request in new {
            let url = request.url(site.web.http_port());
            self.first_us = Some(self.first_us.map_or(request.started_us, |first| first.min(request.started_us)));
            if expected.pages.contains_key(&url) {
                let first = self.hosts_us.entry(request.host).or_insert(request.finished_us);
                *first = request.finished_us.min(*first);
                self.ends_us.push(request.finished_us);
                self.asked.insert(url);
            } else if expected.is_trap(&url) {
                self.trapped += 1;
            }
        }
    }

    fn seconds(&self, us: u64) -> f64 {
        (us - self.first_us.unwrap_or(us)) as f64 / 1e6
    }
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
    let web_cpu_s = cpu_s(std::process::id());
    let child = site.crawl.start(&["-q"]);
    let start = Instant::now();
    let mut progress = Progress::default();
    let mut cpu = Vec::new();
    while progress.asked.len() < expected.pages.len() {
        assert!(start.elapsed() < PATIENCE, "the ordinary hosts were not done in {PATIENCE:?}");
        std::thread::sleep(READ_EVERY);
        progress.read(&site, expected);
        cpu.push((progress.ends_us.len(), cpu_s(child.id())));
    }
    let web_cpu_s = cpu_s(std::process::id()) - web_cpu_s;
    interrupt(child);
    let ends = progress.ends_us.len();
    progress.ends_us.sort_unstable();
    let most_cpu = cpu.iter().find(|&&(count, _)| count >= ends * 9 / 10);
    let took = Took {
        most_s: progress.seconds(progress.ends_us[ends * 9 / 10]),
        all_s: progress.seconds(progress.ends_us[ends - 1]),
        hosts_s: progress.seconds(*progress.hosts_us.values().max().unwrap()),
        most_cpu_s: most_cpu.unwrap().1,
        cpu_s: cpu.last().unwrap().1,
        web_cpu_s,
        trapped: 0,
    };
    // what hung or dripped is in the log now that its connection is broken
    progress.read(&site, expected);
    Took { trapped: progress.trapped, ..took }
}

/// CPU time of a process so far, in seconds.
fn cpu_s(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    // user and system time in ticks of 10 ms
    [11, 12].iter().map(|&n| fields[n].parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// The median of each figure, and all of them.
fn print_ratios(name: &str, ratios: &[[f64; 4]]) {
    for (figure, what) in ["9 of 10 pages", "all", "CPU for 9 of 10", "CPU for all"].into_iter().enumerate() {
        let mut sorted: Vec<f64> = ratios.iter().map(|ratio| ratio[figure]).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let half = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 };
        let all: Vec<String> = sorted.iter().map(|ratio| format!("{ratio:.3}")).collect();
        println!("{name}, times as much: {median:.3} {what:<16} ({})", all.join(" "));
    }
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
    println!(
        "{:<8}{:>12}{:>12}{:>12}{:>14}{:>10}{:>10}{:>10}",
        "", "9 of 10, s", "all, s", "hosts, s", "CPU 9/10, s", "CPU, s", "web, s", "to traps"
    );
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    let crawl = |name: &str, traps| {
        let took = crawl(options(traps, pages, kinds), &config);
        took.print(name);
        took
    };
    let (mut among_alone, mut equal) = (Vec::new(), Vec::new());
    let mut before = crawl("alone", 0).compared();
    for _ in 0..rounds {
        let among = crawl("among", traps).compared();
        let after = crawl("alone", 0).compared();
        among_alone.push(std::array::from_fn(|n| among[n] / ((before[n] + after[n]) / 2.0)));
        equal.push(std::array::from_fn(|n| after[n] / before[n]));
        before = after;
    }
    print_ratios("among traps", &among_alone);
    print_ratios("alone again", &equal);
    println!("load average {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
}
