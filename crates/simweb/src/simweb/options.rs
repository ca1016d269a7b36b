//! The parameters of a synthetic web.
//!
//! Two webs with equal options are equal to the byte, except for their ports. [`SimOptions::check`] refuses numbers
//! that describe no web; everything behind it may rely on them.

use std::io;
use std::time::Duration;

use super::changes::Changes;
use super::conduct::Plea;
use super::farm_kinds::FarmKind;
use super::trap_kinds::TrapKind;
use crate::clock::Time;

/// The most hosts and loopback addresses that can be distinguished.
const HOSTS_MAX: usize = 1_000_000;
const ADDRESSES_MAX: usize = 60_000;
const TRAPS_MAX: usize = 1_000_000;
const FARMS_MAX: usize = 1_000_000;
/// Networks of 127.0.0.0/16, in each of which is one address where there are domains.
const NETWORKS_MAX: usize = 250;
const PAGES_MAX: usize = 50_000_000;
const PAGE_BYTES_MAX: usize = 256 << 20;
const LINKS_MAX: usize = 100_000;
const OVERLOAD_S_MAX: u64 = 86_400;

/// Sizes, shares and speeds of a synthetic web. Shares are between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct SimOptions {
    /// Seed of all random choices.
    pub seed: u64,
    /// Host names that resolve.
    pub hosts: usize,
    /// URLs over all hosts, redirects and errors included; a few hosts are large, many small. Every host has a root
    /// page, so that a number below `hosts` means `hosts`.
    pub pages: usize,
    /// Registrable domains that the hosts are spread over, each with about as many; 0 for the mixture of names that a
    /// web has which is for nothing in particular. Where there are domains, those that link a domain are drawn: their
    /// numbers follow a power law, domains with many of them have more pages, and every address is in a network of its
    /// own.
    pub domains: usize,
    /// The exponent of that power law; 2.1 is the exponent for pages (Broder et al. 2000).
    pub in_degree_exponent: f64,
    /// Loopback addresses from 127.0.0.1 on that the hosts are spread over.
    pub addresses: usize,
    /// Mean time until an answer starts; each URL has its own between half and one and a half of it.
    pub latency: Duration,
    /// Mean size of a page's identity body; each page has its own between half and one and a half of it.
    pub page_bytes: usize,
    /// Mean number of links of a page, beside those that make every page reachable.
    pub links: usize,
    /// Share of those links that lead to other hosts.
    pub cross_links: f64,
    /// URLs that redirect (301, 302, 307, 308), in chains of up to three.
    pub redirect_share: f64,
    /// URLs that answer 404.
    pub not_found_share: f64,
    /// URLs that always answer 500.
    pub server_error_share: f64,
    /// True if those answers take no time at all.
    pub fast_errors: bool,
    /// URLs that answer 503 with Retry-After once or twice, and are fine as long as the web runs then.
    pub flaky_share: f64,
    /// Seconds that Retry-After names, with 503 and 500.
    pub retry_after_s: u64,
    /// URLs that are linked only where a crawler must not follow: nofollow, comments, scripts.
    pub hidden_share: f64,
    /// Pages whose body is the same for all such pages of a host.
    pub duplicate_share: f64,
    /// Pages that forbid to follow their links (meta robots or X-Robots-Tag).
    pub sealed_share: f64,
    /// Hosts whose robots.txt excludes some of their URLs; one in eight of them excludes everything.
    pub robots_share: f64,
    /// Hosts whose robots.txt asks for a Crawl-delay.
    pub robots_crawl_delay_share: f64,
    /// The delay that those ask for.
    pub robots_crawl_delay: Duration,
    /// Hosts whose robots.txt always answers 503.
    pub robots_5xx_share: f64,
    /// Hosts whose robots.txt answers 404.
    pub robots_missing_share: f64,
    /// Hosts whose robots.txt names a sitemap, as a share of those whose robots.txt lets something be fetched: half of
    /// them a plain one, half of them an index with a gzipped one. Some of their pages are reached in no other way.
    pub sitemap_share: f64,
    /// Hosts whose robots.txt is a redirect to another host, which has it.
    pub robots_moved_share: f64,
    /// Hosts whose robots.txt answers 403.
    pub robots_forbidden_share: f64,
    /// Hosts whose robots.txt cannot be had: it answers 429 or 500, or the connection is closed, or no answer comes.
    pub robots_broken_share: f64,
    /// The share that the first host has of all URLs beyond one a host.
    pub giant_share: f64,
    /// Hosts that answer the first requests for pages with 429 or 503.
    pub overload_share: f64,
    /// The number of requests for pages that such a host refuses.
    pub overload_answers: u8,
    /// Ways in which such hosts say when to come back; each host has one of them.
    pub pleas: Vec<Plea>,
    /// The wait that they ask for, where they ask for one, in seconds.
    pub overload_s: u64,
    /// Hosts that take longer than others.
    pub slow_share: f64,
    /// The factor by which they take longer.
    pub slow_factor: f64,
    /// Hosts that resolve and are dead: no connection, one that is closed, or one on which nothing comes.
    pub dead_share: f64,
    /// True if there are hosts and robots.txt that never answer. Without them a crawl need not wait for its time-out.
    pub silent_hosts: bool,
    /// Names that are linked and do not exist, as a share of `hosts`.
    pub unresolvable_share: f64,
    /// Hosts without end, beside the others; see [`TrapKind`]. What they hold is in no expected set.
    pub traps: usize,
    /// Kinds of these, in turn. Empty for all kinds.
    pub trap_kinds: Vec<TrapKind>,
    /// Time between two bytes of a host of the kind drip.
    pub drip: Duration,
    /// Registrable domains of link farms, beside the others; see [`FarmKind`]. What they hold is in no expected set.
    pub farms: usize,
    /// Shapes of these, in turn. Empty for all shapes.
    pub farm_kinds: Vec<FarmKind>,
    /// Domains of one farm; 0 for one farm of each shape.
    pub farm_size: usize,
    /// Networks (/24) that the machines of one farm are in.
    pub farm_networks: usize,
    /// Pages sent with Content-Encoding gzip, where the client accepts it.
    pub gzip_share: f64,
    /// Answers sent in chunks instead of with a Content-Length.
    pub chunked_share: f64,
    /// Links from images, frames, areas and meta refresh beside plain anchors.
    pub varied_markup: bool,
    /// Pages that embed style sheets, pictures and frames of hosts of other domains, which have nothing else.
    pub requisite_share: f64,
    /// The way in which pages change by the clock, if they do.
    pub changes: Option<Changes>,
    /// Ordinary pages that answer with something which is no content: a challenge, a log-in, a parked domain, and so
    /// on. Each has one of 13 kinds. Seeds have none.
    pub walls: f64,
    /// Time from which challenges, blocks and rate limits are gone, and their pages have their content; `None` if they
    /// stay. The other kinds stay in any case.
    pub walls_end: Option<Time>,
    /// TTL of the DNS answers, in seconds.
    pub dns_ttl_s: u32,
}

impl Default for SimOptions {
    fn default() -> Self {
        SimOptions {
            seed: 1,
            hosts: 50,
            pages: 1_000,
            domains: 0,
            in_degree_exponent: 2.1,
            addresses: 4,
            latency: Duration::ZERO,
            page_bytes: 4_096,
            links: 12,
            cross_links: 0.2,
            redirect_share: 0.05,
            not_found_share: 0.03,
            server_error_share: 0.005,
            fast_errors: false,
            flaky_share: 0.01,
            retry_after_s: 1,
            hidden_share: 0.02,
            duplicate_share: 0.02,
            sealed_share: 0.01,
            robots_share: 0.2,
            robots_crawl_delay_share: 0.0,
            robots_crawl_delay: Duration::from_millis(200),
            robots_5xx_share: 0.02,
            robots_missing_share: 0.2,
            sitemap_share: 0.0,
            robots_moved_share: 0.0,
            robots_forbidden_share: 0.0,
            robots_broken_share: 0.0,
            giant_share: 0.0,
            overload_share: 0.0,
            overload_answers: 2,
            pleas: Plea::USUAL.to_vec(),
            overload_s: 1,
            slow_share: 0.0,
            slow_factor: 20.0,
            dead_share: 0.0,
            silent_hosts: false,
            unresolvable_share: 0.04,
            traps: 0,
            trap_kinds: TrapKind::ALL.to_vec(),
            drip: Duration::from_secs(10),
            farms: 0,
            farm_kinds: FarmKind::ALL.to_vec(),
            farm_size: 0,
            farm_networks: 1,
            gzip_share: 0.3,
            chunked_share: 0.3,
            varied_markup: true,
            requisite_share: 0.0,
            changes: None,
            walls: 0.0,
            walls_end: None,
            dns_ttl_s: 300,
        }
    }
}

impl SimOptions {
    /// These options with nothing that takes time or fails: every URL answers at once, and no answer has to be asked
    /// for twice, but for the refusals among walls.
    pub fn smooth(self) -> Self {
        SimOptions {
            latency: Duration::ZERO,
            server_error_share: 0.0,
            flaky_share: 0.0,
            robots_crawl_delay_share: 0.0,
            robots_5xx_share: 0.0,
            robots_broken_share: 0.0,
            overload_share: 0.0,
            slow_share: 0.0,
            dead_share: 0.0,
            unresolvable_share: 0.0,
            ..self
        }
    }

    /// These options with nothing but pages: each URL is a separate page, and everybody may have it.
    pub fn plain(self) -> Self {
        SimOptions {
            redirect_share: 0.0,
            not_found_share: 0.0,
            hidden_share: 0.0,
            duplicate_share: 0.0,
            sealed_share: 0.0,
            robots_share: 0.0,
            robots_missing_share: 0.0,
            gzip_share: 0.0,
            chunked_share: 0.0,
            walls: 0.0,
            ..self
        }
    }

    /// Refuses options that describe no web.
    pub(super) fn check(&self) -> io::Result<()> {
        in_range("hosts", self.hosts, HOSTS_MAX)?;
        in_range("addresses", self.addresses, ADDRESSES_MAX)?;
        in_range("pages", self.pages, PAGES_MAX)?;
        in_range("page_bytes", self.page_bytes, PAGE_BYTES_MAX)?;
        in_range("links", self.links, LINKS_MAX)?;
        if self.traps > TRAPS_MAX {
            return Err(refuse(format!("traps is {}, but must be at most {TRAPS_MAX}", self.traps)));
        }
        self.check_domains()?;
        let kinds = [
            ("redirect_share", self.redirect_share),
            ("not_found_share", self.not_found_share),
            ("server_error_share", self.server_error_share),
            ("flaky_share", self.flaky_share),
            ("hidden_share", self.hidden_share),
            ("duplicate_share", self.duplicate_share),
            ("sealed_share", self.sealed_share),
        ];
        let robots = [
            ("robots_share", self.robots_share),
            ("robots_5xx_share", self.robots_5xx_share),
            ("robots_missing_share", self.robots_missing_share),
        ];
        let moved = [
            ("robots_moved_share", self.robots_moved_share),
            ("robots_forbidden_share", self.robots_forbidden_share),
            ("robots_broken_share", self.robots_broken_share),
        ];
        let troubles =
            [("dead_share", self.dead_share), ("overload_share", self.overload_share), ("slow_share", self.slow_share)];
        let single = [
            ("giant_share", self.giant_share),
            ("cross_links", self.cross_links),
            ("robots_crawl_delay_share", self.robots_crawl_delay_share),
            ("sitemap_share", self.sitemap_share),
            ("unresolvable_share", self.unresolvable_share),
            ("gzip_share", self.gzip_share),
            ("requisite_share", self.requisite_share),
            ("chunked_share", self.chunked_share),
            ("walls", self.walls),
        ];
        for (name, share) in kinds.iter().chain(&robots).chain(&moved).chain(&troubles).chain(&single) {
            if !(0.0..=1.0).contains(share) {
                return Err(refuse(format!("{name} is {share}, but a share is between 0 and 1")));
            }
        }
        self.changes.map_or(Ok(()), |changes| changes.check().map_err(refuse))?;
        for shares in [&kinds[..], &robots[..], &moved[..], &troubles[..]] {
            let sum: f64 = shares.iter().map(|(_, share)| share).sum();
            if sum > 1.0 {
                let names: Vec<_> = shares.iter().map(|(name, _)| *name).collect();
                return Err(refuse(format!("{} add up to {sum}, more than 1: lower one", names.join(", "))));
            }
        }
        if !(0.0..=10_000.0).contains(&self.slow_factor) {
            return Err(refuse(format!("slow_factor is {}, but must be between 0 and 10000", self.slow_factor)));
        }
        if self.overload_s > OVERLOAD_S_MAX {
            return Err(refuse(format!(
                "overload_s is {}, but must be at most {OVERLOAD_S_MAX}, one day",
                self.overload_s
            )));
        }
        Ok(())
    }

    /// Refuses domains and farms that cannot be.
    fn check_domains(&self) -> io::Result<()> {
        if self.domains > self.hosts {
            return Err(refuse(format!("domains is {}, but must be at most hosts, {}", self.domains, self.hosts)));
        }
        if self.domains > 0 && self.addresses > NETWORKS_MAX {
            let most = format!("at most {NETWORKS_MAX} where there are domains");
            return Err(refuse(format!("addresses is {}, but must be {most}", self.addresses)));
        }
        if !(1.1..=10.0).contains(&self.in_degree_exponent) {
            let exponent = self.in_degree_exponent;
            return Err(refuse(format!("in_degree_exponent is {exponent}, but must be between 1.1 and 10")));
        }
        if self.farms > FARMS_MAX {
            return Err(refuse(format!("farms is {}, but must be at most {FARMS_MAX}", self.farms)));
        }
        in_range("farm_networks", self.farm_networks, NETWORKS_MAX)
    }
}

fn in_range(name: &str, number: usize, max: usize) -> io::Result<()> {
    if (1..=max).contains(&number) {
        return Ok(());
    }
    Err(refuse(format!("{name} is {number}, but must be between 1 and {max}")))
}

fn refuse(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_describe_no_web_are_refused_by_name() {
        let message = |options: SimOptions| options.check().unwrap_err().to_string();
        assert!(message(SimOptions { hosts: 0, ..Default::default() }).contains("hosts is 0"));
        assert!(message(SimOptions { hosts: 9, domains: 10, ..Default::default() }).contains("domains is 10"));
        assert!(message(SimOptions { farm_networks: 0, ..Default::default() }).contains("farm_networks is 0"));
        let never = Changes { per_day: 0.0, ..Changes::from(Time::ZERO) };
        assert!(message(SimOptions { changes: Some(never), ..Default::default() }).contains("per_day is 0"));
        assert!(message(SimOptions { gzip_share: f64::NAN, ..Default::default() }).contains("gzip_share"));
        assert!(message(SimOptions { walls: 1.5, ..Default::default() }).contains("walls is 1.5"));
        assert!(message(SimOptions { redirect_share: 0.6, flaky_share: 0.6, ..Default::default() }).contains("add up"));
        SimOptions::default().check().unwrap();
        SimOptions::default().smooth().check().unwrap();
    }
}
