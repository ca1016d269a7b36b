//! The proof of politeness in large: 10,000 hosts on 50 addresses, one of them giant, others slow, overloaded, dead, or
//! with every kind of robots.txt, crawled by the real binary through a stop and a kill, and judged by the web's log.
//!
//!     cargo bench --bench politeness             10,000 hosts, some ten minutes
//!     cargo bench --bench politeness -- 1000     1,000 hosts
//!
//! It crawls a second time without the giant, to see whether the others end later because of it. Exits with 1 if
//! anything was promised and not kept.

use std::fmt::Write as _;
use std::time::Duration;

use crawler::simweb::{Limits, SimOptions, Timeline, largest_concurrency};
use site::{Site, interrupt, ms, wait_at_most};

#[path = "../../tests/site/mod.rs"]
mod site;

const DELAY: Duration = ms(100);
const PER_IP: Duration = ms(50);
const DELAY_MAX: Duration = ms(2_000);
const GIVE_UP: Duration = ms(20_000);
/// No crawl takes nearly as long.
const PATIENCE: Duration = ms(3_600_000);

fn options(hosts: usize) -> SimOptions {
    SimOptions {
        hosts,
        pages: 2 * hosts,
        addresses: (hosts / 200).max(5),
        latency: ms(20),
        page_bytes: 2_000,
        links: 8,
        cross_links: 0.4,
        redirect_share: 0.08,
        server_error_share: 0.0,
        flaky_share: 0.01,
        giant_share: 0.2,
        overload_share: 0.05,
        overload_answers: 1,
        overload_s: 5,
        slow_share: 0.05,
        dead_share: 0.03,
        silent_hosts: true,
        robots_moved_share: 0.05,
        robots_forbidden_share: 0.05,
        robots_broken_share: 0.03,
        robots_5xx_share: 0.02,
        robots_crawl_delay_share: 0.05,
        robots_crawl_delay: ms(300),
        ..SimOptions::default()
    }
}

fn site(options: SimOptions) -> Site {
    let mut politeness = String::from("delay_factor = 5.0\n");
    for (key, time) in [("delay_min", DELAY), ("delay_max", DELAY_MAX), ("delay_per_ip", PER_IP), ("give_up", GIVE_UP)]
    {
        writeln!(politeness, "{key} = \"{}ms\"", time.as_millis()).expect("a string grows");
    }
    let rest = "[fetch]\nworkers = 128\ntimeout_total = \"5s\"\ntimeout_connect = \"5s\"\n\
                [crawl]\ncheckpoint_interval = \"2s\"\n";
    Site::new(options, &(politeness + rest))
}

fn limits(site: &Site) -> Limits {
    Limits {
        delay_min: DELAY,
        delay_factor: 5.0,
        delay_max: DELAY_MAX,
        crawl_delays: site.web.expected().crawl_delays.clone().into_iter().collect(),
        per_ip: PER_IP,
        connections_per_host: 1,
        back_off: Duration::from_secs(60),
        robots_back_off: GIVE_UP,
        // two for clocks of milliseconds, and the rest for the server, which notices late that a client has given up
        slack: ms(10),
        // from start to start is counted on the crawler's side, and the server may see the first of two late
        per_ip_slack: PER_IP / 2,
    }
}

fn report(site: &Site, killed_us: &[u64]) -> (Timeline, usize) {
    let (log, limits) = (site.log(), limits(site));
    let timeline = Timeline::of(&log, &limits);
    let offences = site.offences(&limits, killed_us);
    println!("{timeline}");
    println!("{:<34}{}", "requests", log.len());
    println!("{:<34}{:?}", "most requests to a host at once", largest_concurrency(&log).unwrap_or_default());
    println!("{:<34}{}", "offences", offences.len());
    offences.iter().take(20).for_each(|offence| println!("  {offence}"));
    site.assert_whole();
    println!("{:<34}{}", "stored, as expected", site.web.expected().pages.len());
    (timeline, offences.len())
}

fn main() {
    let hosts = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(10_000);
    println!("== {hosts} hosts, stopped and killed on the way");
    let broken = site(options(hosts));
    let child = broken.crawl.start(&[]);
    broken.wait_for_requests(hosts);
    interrupt(child).expect(11, &[]);
    let child = broken.crawl.start(&[]);
    broken.wait_for_requests(hosts * 2);
    let killed_us = broken.kill(child);
    wait_at_most(broken.crawl.start(&[]), PATIENCE).expect(0, &[]);
    let (_, first) = report(&broken, &[killed_us]);

    println!("\n== the same, in one go");
    let whole = site(options(hosts));
    wait_at_most(whole.crawl.start(&[]), PATIENCE).expect(0, &[]);
    let (with, second) = report(&whole, &[]);

    println!("\n== without the giant");
    let small = site(SimOptions { giant_share: 0.0, pages: hosts + (hosts as f64 * 0.8) as usize, ..options(hosts) });
    wait_at_most(small.crawl.start(&[]), PATIENCE).expect(0, &[]);
    let (without, third) = report(&small, &[]);
    println!("\nthe others ended after {:?} with the giant, after {:?} without", with.others_took, without.took);
    if first + second + third > 0 {
        std::process::exit(1);
    }
}
