//! The part of a crawl that link farms take: the real binary crawls ordinary domains among as many domains of farms.
//!
//!     cargo bench --bench reputation                         1,000 ordinary domains, 1,000 of farms, in turn without
//!                                                            reputation and with it
//!     cargo bench --bench reputation -- without              only without (or `with`)
//!     cargo bench --bench reputation -- domains=300 pages=9000 farms=300     a smaller web
//!     cargo bench --bench reputation -- size=30              farms of 30 domains each (0: one farm of each shape)
//!     cargo bench --bench reputation -- networks=8           machines of a farm in this many networks (/24)
//!     cargo bench --bench reputation -- kinds=dense,ring     only these shapes
//!     cargo bench --bench reputation -- seed=2 times=4       another web; crawled until 4 times what an oracle needs
//!     cargo bench --bench reputation -- per_ip=250           ms between two requests to an address (usually 0)
//!     cargo bench --bench reputation -- supporters_by_network=true round_pages_max=1000
//!                                                            any other word: a key of the section [budget] of the
//!                                                            crawl with reputation
//!
//! A crawl ends when all ordinary pages have been asked for, or after `times` the requests that an oracle needs, which
//! asks ordinary domains only. The table (`simweb::Shares`) has for each tenth of those requests which of them went to
//! ordinary domains. Without `per_ip` there is no delay between requests: what is shared is the crawler's own time.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::time::{Duration, Instant};

use crawler::simweb::{FarmKind, Shares, SimOptions};
use site::{RUSH, Site, interrupt, ms, wait};

#[path = "../../tests/site/mod.rs"]
mod site;

/// No crawl takes nearly as long.
const PATIENCE: Duration = ms(3_600_000);
/// Time between two readings of the number of requests.
const READ_EVERY: Duration = ms(50);
/// Requests at the same time: few, so that there is a choice between domains nearly all the time.
const WORKERS: usize = 16;
/// Sections of a crawl without reputation, and of one with it.
const WITHOUT: &str = "[budget]\nby_supporters = \"off\"\n";
const WITH: &str = "[budget]\nby_supporters = \"on\"\n";

struct Options {
    domains: usize,
    pages: usize,
    times: f64,
    per_ip_ms: usize,
    without: bool,
    with: bool,
    /// Lines of the section of the crawl with reputation.
    lines: Vec<String>,
    web: SimOptions,
}

impl Options {
    fn of(words: impl Iterator<Item = String>) -> Options {
        let mut options = Options {
            domains: 1_000,
            pages: 40_000,
            times: 3.0,
            per_ip_ms: 0,
            without: true,
            with: true,
            lines: Vec::new(),
            web: SimOptions { farms: 1_000, ..SimOptions::default() },
        };
        for word in words {
            options.take(&word);
        }
        let Options { domains, pages, .. } = options;
        options.web = SimOptions {
            hosts: domains * 5 / 2,
            pages,
            domains,
            addresses: 200,
            latency: ms(2),
            page_bytes: 3_000,
            links: 8,
            cross_links: 0.4,
            robots_share: 0.0,
            robots_5xx_share: 0.0,
            server_error_share: 0.0,
            flaky_share: 0.0,
            unresolvable_share: 0.0,
            ..options.web
        };
        options
    }

    fn take(&mut self, word: &str) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<usize>().unwrap();
        match name {
            "without" => self.with = false,
            "with" => self.without = false,
            "domains" => self.domains = number(),
            "pages" => self.pages = number(),
            "per_ip" => self.per_ip_ms = number(),
            "times" => self.times = value.parse().unwrap(),
            "seed" => self.web.seed = value.parse().unwrap(),
            "farms" => self.web.farms = number(),
            "size" => self.web.farm_size = number(),
            "networks" => self.web.farm_networks = number(),
            "kinds" => {
                let kind = |name: &str| FarmKind::ALL.into_iter().find(|kind| kind.name() == name).unwrap();
                self.web.farm_kinds = value.split(',').map(kind).collect();
            }
            _ => self.lines.push(format!("{name} = {value}\n")),
        }
    }
}

/// Crawls until the ordinary pages are done, or for this many times the requests that an oracle needs.
fn crawl(options: &Options, sections: &str) -> Shares {
    let politeness = RUSH.replace("delay_per_ip = \"0s\"", &format!("delay_per_ip = \"{}ms\"", options.per_ip_ms));
    let site = Site::new(options.web.clone(), &format!("{politeness}[fetch]\nworkers = {WORKERS}\n{sections}"));
    let expected = site.web.expected();
    let shares = || Shares::of(&site.web.log(), expected, site.web.http_port());
    let needed = shares().needed;
    let mut child = site.crawl.start(&["-q"]);
    let (start, mut read, mut looked) = (Instant::now(), 0, 0);
    let is_over = loop {
        assert!(start.elapsed() < PATIENCE, "no end after {PATIENCE:?}");
        std::thread::sleep(READ_EVERY);
        read += site.web.log_after(read).len();
        // a tenth of what is needed is a large part of a second
        let is_over = child.try_wait().unwrap().is_some();
        if is_over || read as f64 >= options.times * needed as f64 {
            break is_over;
        }
        if read >= needed && read >= looked + needed / 20 {
            looked = read;
            if shares().all_after.is_some() {
                break false;
            }
        }
    };
    let took_s = start.elapsed().as_secs_f64();
    if is_over {
        wait(child)
    } else {
        interrupt(child)
    };
    let shares = shares();
    println!("{shares}{took_s:.0} s, {} requests", shares.tenths.iter().map(|tenth| tenth.requests).sum::<usize>());
    println!("ordinary from the second tenth to the tenth one: {:.2} %\n", 100.0 * shares.from(1));
    shares
}

fn main() {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let options = Options::of(words);
    let web = &options.web;
    println!(
        "seed {}: {} ordinary domains with {} pages on {} hosts, in-degrees by k^-{}; {} domains of farms of {} in {} \
         networks each",
        web.seed,
        web.domains,
        web.pages,
        web.hosts,
        web.in_degree_exponent,
        web.farms,
        if web.farm_size == 0 { "one size a shape".to_owned() } else { web.farm_size.to_string() },
        web.farm_networks
    );
    if options.without {
        println!("\nwithout reputation");
        crawl(&options, WITHOUT);
    }
    if options.with {
        println!("\nwith reputation");
        crawl(&options, &format!("{WITH}{}", options.lines.concat()));
    }
}
