//! The hosts of the web, their sizes, and the kind of each of their URLs.
//!
//! The plan holds some bytes a host and five bytes a URL; everything else about a URL (path, links, body) is a
//! function of the seed, its host and its number. It also holds the two trees that make the web whole: every host
//! hangs on a page of another host, every URL of a host on a page of that host, and only what a crawler may fetch
//! and follow carries others.

use crate::fingerprint::mix_next;
use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::ops::Range;

use super::conduct::{Failing, Robots};
use super::domains;
use super::farms;
use super::host_names::{host_name, host_name_in};
use super::options::SimOptions;
use super::requisites::{self, Requisite};
use super::traps;
use super::trouble::{RobotsTrouble, Trouble};

/// Roots that start a crawl, at most.
const SEEDS: usize = 8;
/// The number of times that a page is drawn until it may support a domain.
const DRAWS: usize = 200;
/// The number of hosts that hang on one host.
const HOST_FAN: usize = 10;
/// The number of ordinary pages that hang on one page. URLs of other kinds come on top.
const PAGE_FAN: usize = 10;
/// Share of the pages of a host with a sitemap that nothing but the sitemap names.
const LISTED_SHARE: f64 = 0.2;
/// Share of a host's URLs that its robots.txt excludes, where it excludes some.
const EXCLUDED_SHARE: f64 = 0.15;

/// Kinds of URLs, by their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page with links.
    Page,
    /// A page with links, after one or two 503.
    Flaky,
    /// A redirect.
    Redirect,
    /// 404.
    NotFound,
    /// 500, always.
    ServerError,
    /// A page that is linked only where nobody may follow.
    Hidden,
    /// A page with the body of all such pages of its host.
    Duplicate,
    /// A page that forbids to follow its links.
    Sealed,
    /// A page that robots.txt excludes.
    Excluded,
    /// A page that only a sitemap names.
    Listed,
}

/// Kinds of sitemap that the robots.txt of a host may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sitemap {
    /// One file.
    Plain,
    /// An index with a gzipped one.
    Indexed,
}

/// One host.
#[derive(Debug)]
pub(super) struct Host {
    pub name: String,
    pub address: Ipv4Addr,
    pub robots: Robots,
    /// The host that has its robots.txt, if a redirect leads there.
    pub robots_at: Option<u32>,
    pub trouble: Trouble,
    pub crawl_delay: bool,
    pub sitemap: Option<Sitemap>,
    /// Its URLs in the numbering of the whole web.
    pub urls: Range<usize>,
    ordinary: Range<usize>,
    redirects: Range<usize>,
    /// Hosts that hang on its root page.
    pub hosts: Vec<u32>,
    /// Names without a host that its root page links.
    pub gone: Vec<u32>,
    /// Traps that its root page links.
    pub traps: Vec<u32>,
    /// Domains that the pages of the host support, where there are domains: the page that links each and the first host
    /// of the domain, in the order of the pages.
    pub supported: Vec<(u32, u32)>,
    /// Domains of farms that its root page links.
    pub farms: Vec<u32>,
}

impl Host {
    /// Returns whether a crawler may fetch pages of the host.
    pub(crate) fn sound(&self) -> bool {
        !matches!(self.robots, Robots::Closed | Robots::Failing(_))
    }

    /// Returns the number of URLs of the host.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.urls.len()).expect("a host has fewer URLs than the web, whose number is checked")
    }
}

/// The target of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// A URL of this web.
    Url(u32, u32),
    /// The root of a name that does not exist.
    Gone(u32),
    /// The root of a host without end.
    Trap(u32),
    /// The root of a domain of a farm.
    Farm(u32),
    /// A requisite, which pages embed from elsewhere.
    Requisite(Requisite),
}

/// The whole web in outline.
#[derive(Debug)]
pub(super) struct Plan {
    pub options: SimOptions,
    pub hosts: Vec<Host>,
    /// The number of names that are linked and do not exist.
    pub gone: u32,
    seeds: Vec<u32>,
    by_name: HashMap<String, u32>,
    kinds: Vec<Kind>,
    /// Numbers of the ordinary pages and of the redirects of all hosts, ascending in each host.
    ordinary: Vec<u32>,
    redirects: Vec<u32>,
}

impl Plan {
    /// Draws up the web that the options describe.
    pub(crate) fn new(options: SimOptions) -> io::Result<Plan> {
        options.check()?;
        let gone = (options.unresolvable_share * options.hosts as f64).ceil() as u32;
        let mut plan = Plan {
            hosts: Vec::with_capacity(options.hosts),
            gone,
            seeds: Vec::new(),
            by_name: HashMap::with_capacity(options.hosts),
            kinds: Vec::with_capacity(options.pages),
            ordinary: Vec::new(),
            redirects: Vec::new(),
            options,
        };
        for (host, urls) in (0..).zip(sizes(&plan.options)) {
            plan.add_host(host, urls);
        }
        plan.hang_hosts();
        plan.draw_supporters();
        plan.hang_endless();
        plan.seeds = plan.draw_seeds();
        Ok(plan)
    }

    /// The random numbers for one purpose at one place of the web.
    pub(crate) fn dice(&self, purpose: Purpose, host: u32, url: u32) -> fastrand::Rng {
        let place = u64::from(host) << 32 | u64::from(url);
        fastrand::Rng::with_seed(mix(mix(self.options.seed ^ (purpose as u64) << 56) ^ place))
    }

    /// The same for the number `nth` of many.
    pub(crate) fn dice_at(&self, purpose: Purpose, host: u32, url: u32, nth: u64) -> fastrand::Rng {
        let place = self.dice(purpose, host, url).u64(..);
        fastrand::Rng::with_seed(mix(place ^ mix(nth)))
    }

    /// The number of the host of that name, in lower case.
    pub(crate) fn host_named(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The host of that number.
    pub(crate) fn host(&self, host: u32) -> &Host {
        &self.hosts[host as usize]
    }

    /// The address of a name in lower case, if it exists.
    pub(crate) fn resolve(&self, name: &str) -> Option<Ipv4Addr> {
        let options = &self.options;
        let trap = || traps::trap_named(options, name).map(|_| self.trap_address());
        let farm = || farms::domain_named(options, name).map(|number| farms::address(options, number));
        let requisites = || self.requisite_host(name).map(|(_, address)| address);
        self.host_named(name).map(|host| self.host(host).address).or_else(trap).or_else(farm).or_else(requisites)
    }

    /// The addresses at which something listens, the first of all hosts first.
    pub(crate) fn addresses(&self) -> Vec<Ipv4Addr> {
        let hosts = 0..self.options.addresses.min(self.options.hosts) as u32;
        let traps = (self.options.traps > 0).then(|| self.trap_address());
        hosts.map(|number| self.address(number)).chain(traps).chain(farms::addresses(&self.options)).collect()
    }

    /// The address of that number; where there are domains, each is in its own network.
    fn address(&self, number: u32) -> Ipv4Addr {
        loopback(if self.options.domains > 0 { number << 8 } else { number })
    }

    /// The address of all traps: behind that at which nothing listens.
    pub(crate) fn trap_address(&self) -> Ipv4Addr {
        self.address(self.options.addresses as u32 + 1)
    }

    /// Returns the links of a page to domains that its host supports, each after the number of the page.
    pub(crate) fn supported_at(&self, host: u32, url: u32) -> &[(u32, u32)] {
        let supported = &self.host(host).supported;
        let first = supported.partition_point(|&(page, _)| page < url);
        let count = supported[first..].partition_point(|&(page, _)| page == url);
        &supported[first..first + count]
    }

    /// Returns number and address of the host of that name if it is one of those of which pages elsewhere embed
    /// something.
    pub(crate) fn requisite_host(&self, name: &str) -> Option<(u32, Ipv4Addr)> {
        let host = requisites::host_named(&self.options, name)?;
        let addresses = self.options.addresses.min(self.options.hosts) as u32;
        Some((host, self.address(host % addresses)))
    }

    /// Returns the kind of a URL.
    pub(crate) fn kind(&self, host: u32, url: u32) -> Kind {
        self.kinds[self.place(host, url)]
    }

    /// The URL's number in the whole web.
    pub(crate) fn place(&self, host: u32, url: u32) -> usize {
        self.host(host).urls.start + url as usize
    }

    /// Returns the number of URLs of the web.
    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The URL of that number in the whole web.
    pub(crate) fn at(&self, place: usize) -> (u32, u32) {
        let host = self.hosts.partition_point(|host| host.urls.end <= place);
        (host as u32, (place - self.hosts[host].urls.start) as u32)
    }

    /// The hosts whose roots start a crawl, ascending: all of the web can be reached from any of them. Where there are
    /// domains, the most popular ones.
    pub(crate) fn seeds(&self) -> &[u32] {
        &self.seeds
    }

    fn draw_seeds(&self) -> Vec<u32> {
        let sound = self.sound_roots();
        if self.options.domains > 0 {
            return sound[..sound.len().min(SEEDS)].to_vec();
        }
        sound.iter().copied().step_by(sound.len().div_ceil(SEEDS)).collect()
    }

    /// The hosts that others may link from outside and a crawler may fetch from: all, or the first of each domain.
    fn sound_roots(&self) -> Vec<u32> {
        let first = if self.options.domains > 0 { self.options.domains } else { self.hosts.len() };
        (0..first as u32).filter(|&host| self.host(host).sound()).collect()
    }

    /// The URLs of its host that hang on an ordinary page.
    pub(crate) fn children(&self, host: u32, url: u32) -> Range<u32> {
        let ordinary = &self.ordinary[self.host(host).ordinary.clone()];
        let Ok(rank) = ordinary.binary_search(&url) else { return 0..0 };
        let Some(&first) = ordinary.get(rank * PAGE_FAN) else { return 0..0 };
        let last = ordinary.get((rank + 1) * PAGE_FAN).copied().unwrap_or(self.host(host).len() - 1);
        first + 1..last + 1
    }

    /// Returns the target of a redirect: the next one of its chain, or the URL after it, or another host, or a URL that
    /// leads back to it in a circle.
    pub(crate) fn redirect_target(&self, host: u32, url: u32) -> Target {
        let redirects = &self.redirects[self.host(host).redirects.clone()];
        let rank = redirects.binary_search(&url).expect("every redirect is listed");
        if !rank.is_multiple_of(3) {
            return Target::Url(host, redirects[rank - 1]);
        }
        let mut dice = self.dice(Purpose::Redirect, host, url);
        let next = url + 1;
        match dice.u8(0..16) {
            0 => Target::Url(host, redirects.get(rank + 2).copied().unwrap_or(url)),
            1..=4 if self.options.domains > 0 => Target::Url(host, 0),
            1..=4 => self.any_root(&mut dice),
            _ if next < self.host(host).len()
                && !matches!(self.kind(host, next), Kind::Hidden | Kind::Listed | Kind::Redirect) =>
            {
                Target::Url(host, next)
            }
            _ => Target::Url(host, 0),
        }
    }

    /// Returns whether a URL is reached by the redirect before it instead of by a link of the page it hangs on.
    pub(crate) fn behind_redirect(&self, host: u32, url: u32) -> bool {
        url > 0
            && self.kind(host, url - 1) == Kind::Redirect
            && self.redirect_target(host, url - 1) == Target::Url(host, url)
    }

    /// The root page of some host with an even number. Links by lot lead to even numbers only: the others hang on one
    /// link each, so that a crawler that misses a link misses a URL.
    pub(crate) fn any_root(&self, dice: &mut fastrand::Rng) -> Target {
        Target::Url(dice.usize(0..self.hosts.len()) as u32 & !1, 0)
    }

    /// Some URL with an even number that may be linked.
    pub(crate) fn any_url(&self, dice: &mut fastrand::Rng, places: Range<usize>) -> Target {
        let (host, url) = self.at(dice.usize(places));
        let even = url & !1;
        let may_be_linked = !matches!(self.kind(host, even), Kind::Hidden | Kind::Listed);
        Target::Url(host, if may_be_linked { even } else { 0 })
    }

    fn add_host(&mut self, host: u32, urls: usize) {
        let mut dice = self.dice(Purpose::Host, host, 0);
        let drawn = if host == 0 { Robots::Open } else { robots(&self.options, &mut dice) };
        let (robots, robots_at, trouble) = self.trouble(host, drawn);
        let crawl_delay =
            dice.f64() < self.options.robots_crawl_delay_share && matches!(robots, Robots::Open | Robots::Some(_));
        // of their own, so that a web with sitemaps is otherwise the same
        let mut lots = self.dice(Purpose::Sitemap, host, 0);
        let sitemap = sitemap(&self.options, robots, &mut lots);
        let (first, ordinary, redirects) = (self.kinds.len(), self.ordinary.len(), self.redirects.len());
        for url in 0..urls as u32 {
            let mut kind = if url == 0 { Kind::Page } else { kind(&self.options, robots, &mut dice) };
            if sitemap.is_some() && url > 0 && kind == Kind::Page && lots.f64() < LISTED_SHARE {
                kind = Kind::Listed;
            }
            self.kinds.push(kind);
            match kind {
                Kind::Page | Kind::Flaky => self.ordinary.push(url),
                Kind::Redirect => self.redirects.push(url),
                _ => {}
            }
        }
        let name = match self.options.domains {
            0 => host_name(host, self.options.hosts),
            domains => host_name_in(domains, host),
        };
        self.by_name.insert(name.clone(), host);
        self.hosts.push(Host {
            name,
            // nothing listens at the address after the last one
            address: self.address(match trouble {
                Trouble::Refuses => self.options.addresses as u32,
                _ => host % self.options.addresses as u32,
            }),
            robots,
            robots_at,
            trouble,
            crawl_delay,
            sitemap,
            urls: first..self.kinds.len(),
            ordinary: ordinary..self.ordinary.len(),
            redirects: redirects..self.redirects.len(),
            hosts: Vec::new(),
            gone: Vec::new(),
            traps: Vec::new(),
            supported: Vec::new(),
            farms: Vec::new(),
        });
    }

    /// Returns the troubles of a host, and its robots.txt after them, which was drawn as `robots`.
    fn trouble(&self, host: u32, robots: Robots) -> (Robots, Option<u32>, Trouble) {
        if host == 0 {
            return (robots, None, Trouble::None);
        }
        let mut dice = self.dice(Purpose::Trouble, host, 0);
        let trouble = Trouble::draw(&self.options, &mut dice);
        let robots_trouble = RobotsTrouble::draw(&self.options, &mut dice);
        match (trouble, robots_trouble, robots) {
            (dead, ..) if dead.is_dead() => (Robots::Failing(Failing::Status(503)), None, dead),
            (_, RobotsTrouble::Instead(instead), _) => (instead, None, trouble),
            (_, RobotsTrouble::Moved, Robots::Open | Robots::Some(_) | Robots::Closed) => {
                let other = (0..8)
                    .map(|_| dice.u32(0..host))
                    .find(|&other| self.host(other).trouble == Trouble::None && self.host(other).robots_at.is_none());
                (robots, Some(other.unwrap_or(0)), trouble)
            }
            _ => (robots, None, trouble),
        }
    }

    /// Hangs every host but the first on an earlier sound host. Where there are domains, all but their first hosts
    /// hang on those, and their first hosts on supporters.
    fn hang_hosts(&mut self) {
        let mut sound = Vec::new();
        for host in 0..self.hosts.len() as u32 {
            let parent = match self.options.domains as u32 {
                0 if host > 0 => Some(sound[(sound.len() - 1) / HOST_FAN]),
                domains if domains > 0 && host >= domains => {
                    let first = host % domains;
                    Some(if self.host(first).sound() { first } else { 0 })
                }
                _ => None,
            };
            if let Some(parent) = parent {
                self.hosts[parent as usize].hosts.push(host);
            }
            if self.host(host).sound() {
                sound.push(host);
            }
        }
    }

    /// Draws the pages that link the first host of each domain, of as many other domains as it is to have supporters.
    /// The first of them is in a domain before it, so that all are reached from domain 0.
    fn draw_supporters(&mut self) {
        let domains = self.options.domains as u32;
        for target in 1..domains {
            let mut dice = self.dice(Purpose::Supporters, target, 0);
            let mut drawn = vec![target];
            for nth in 0..domains::supporters(target, domains, self.options.in_degree_exponent) {
                let upto = if nth == 0 { target } else { domains };
                let found = (0..DRAWS).find_map(|_| self.supporting_page(&mut dice, upto, &drawn));
                // domain 0 has a sound root
                let Some((host, url)) = found.or((nth == 0).then_some((0, 0))) else { continue };
                drawn.push(host % domains);
                self.hosts[host as usize].supported.push((url, target));
            }
        }
        for host in &mut self.hosts {
            host.supported.sort_unstable();
        }
    }

    /// An ordinary page drawn from all, if it is in a domain below `upto` that is none of `others`.
    fn supporting_page(&self, dice: &mut fastrand::Rng, upto: u32, others: &[u32]) -> Option<(u32, u32)> {
        let at = dice.usize(0..self.ordinary.len());
        let host = self.hosts.partition_point(|host| host.ordinary.end <= at) as u32;
        let domain = host % self.options.domains as u32;
        let may = domain < upto && !others.contains(&domain) && self.host(host).sound();
        may.then(|| (host, self.ordinary[at]))
    }

    /// Hangs what has no end on sound hosts, and names that do not exist.
    fn hang_endless(&mut self) {
        let sound: Vec<u32> = (0..self.hosts.len() as u32).filter(|&host| self.host(host).sound()).collect();
        for gone in 0..self.gone {
            let parent = sound[gone as usize % sound.len()];
            self.hosts[parent as usize].gone.push(gone);
        }
        for trap in 0..self.options.traps {
            let parent = sound[trap % sound.len()];
            self.hosts[parent as usize].traps.push(trap as u32);
        }
        let roots = self.sound_roots();
        for (number, place) in farms::first_domains(&self.options).collect::<Vec<_>>() {
            let sites = farms::sites_with_link(place, roots.len());
            let site = sites.start + place.farm % sites.len();
            self.hosts[roots[site] as usize].farms.push(number);
        }
    }
}

/// Purposes for which random numbers are drawn, kept apart so that one does not disturb another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Sizes = 1,
    Host,
    Redirect,
    Path,
    Links,
    Body,
    SimResponse,
    Words,
    Sitemap,
    Trouble,
    Requisites,
    Rate,
    Change,
    Version,
    Supporters,
    Walls,
}

/// The loopback address of that number; 0 is 127.0.0.1.
pub(super) fn loopback(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + number)
}

/// Returns the number of URLs of each host: one, and a share of the rest by Zipf's law in an order drawn by lot.
fn sizes(options: &SimOptions) -> Vec<usize> {
    let all = options.pages.saturating_sub(options.hosts);
    let giant = (all as f64 * options.giant_share) as usize;
    let rest = all - giant;
    let steepness = if options.domains > 0 { domains::SIZE_STEEPNESS } else { 0.9 };
    let weight = |rank: usize| 1.0 / (rank as f64 + 1.0).powf(steepness);
    let total: f64 = (0..options.hosts).map(weight).sum();
    let mut sizes: Vec<usize> =
        (0..options.hosts).map(|rank| 1 + (rest as f64 * weight(rank) / total) as usize).collect();
    let missing = (options.pages.max(options.hosts) - giant).saturating_sub(sizes.iter().sum());
    for size in sizes.iter_mut().take(missing) {
        *size += 1;
    }
    let mut dice = fastrand::Rng::with_seed(mix(options.seed ^ (Purpose::Sizes as u64) << 56));
    match options.domains {
        0 => dice.shuffle(&mut sizes),
        count => sizes = domains::sizes_by_popularity(&sizes, count, &mut dice),
    }
    sizes[0] += giant;
    sizes
}

fn robots(options: &SimOptions, dice: &mut fastrand::Rng) -> Robots {
    let (lot, way) = (dice.f64(), dice.u8(0..32));
    let mut upto = options.robots_5xx_share;
    if lot < upto {
        return Robots::Failing(Failing::Status(503));
    }
    upto += options.robots_missing_share;
    if lot < upto {
        return Robots::Missing;
    }
    upto += options.robots_share;
    match way {
        _ if lot >= upto => Robots::Open,
        0..4 => Robots::Closed,
        _ => Robots::Some(way % 4),
    }
}

fn sitemap(options: &SimOptions, robots: Robots, lots: &mut fastrand::Rng) -> Option<Sitemap> {
    let (lot, is_plain) = (lots.f64(), lots.bool());
    if lot >= options.sitemap_share || !matches!(robots, Robots::Open | Robots::Some(_)) {
        return None;
    }
    Some(if is_plain { Sitemap::Plain } else { Sitemap::Indexed })
}

fn kind(options: &SimOptions, robots: Robots, dice: &mut fastrand::Rng) -> Kind {
    let excluded = dice.f64() < EXCLUDED_SHARE;
    let mut lot = dice.f64();
    if excluded && matches!(robots, Robots::Some(_)) {
        return Kind::Excluded;
    }
    for (share, kind) in [
        (options.redirect_share, Kind::Redirect),
        (options.not_found_share, Kind::NotFound),
        (options.server_error_share, Kind::ServerError),
        (options.flaky_share, Kind::Flaky),
        (options.hidden_share, Kind::Hidden),
        (options.duplicate_share, Kind::Duplicate),
        (options.sealed_share, Kind::Sealed),
    ] {
        if lot < share {
            return kind;
        }
        lot -= share;
    }
    Kind::Page
}

/// A bijection of 64-bit numbers that leaves no pattern.
fn mix(bits: u64) -> u64 {
    mix_next(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up_and_are_skewed() {
        for (hosts, pages) in [(1, 1), (1, 50), (10, 3), (100, 1_000), (1_000, 20_000)] {
            let mut sizes = sizes(&SimOptions { hosts, pages, ..Default::default() });
            assert_eq!(sizes.iter().sum::<usize>(), pages.max(hosts), "{hosts} hosts, {pages} pages");
            assert!(sizes.iter().all(|&size| size > 0));
            sizes.sort_unstable();
            if hosts == 1_000 {
                assert!(sizes[999] > 50 * sizes[500]);
            }
        }
    }

    #[test]
    fn every_url_hangs_on_exactly_one_earlier_page() {
        let plan = Plan::new(SimOptions { hosts: 20, pages: 3_000, ..Default::default() }).unwrap();
        for host in 0..20 {
            let mut parents = vec![0; plan.host(host).urls.len()];
            for url in 0..plan.host(host).len() {
                for child in plan.children(host, url) {
                    assert!(child > url);
                    parents[child as usize] += 1;
                }
            }
            assert_eq!(parents[0], 0);
            assert!(parents[1..].iter().all(|&count| count == 1), "host {host}");
        }
    }

    #[test]
    fn numbers_of_the_whole_web_lead_back_to_host_and_url() {
        let plan = Plan::new(SimOptions { hosts: 30, pages: 500, ..Default::default() }).unwrap();
        for place in 0..plan.len() {
            let (host, url) = plan.at(place);
            assert_eq!(plan.place(host, url), place);
        }
    }

    #[test]
    fn chains_of_redirects_end_after_three_or_turn_in_a_circle() {
        let options = SimOptions { hosts: 3, pages: 2_000, redirect_share: 0.3, ..Default::default() };
        let plan = Plan::new(options).unwrap();
        let (mut longest, mut circles) = (0, 0);
        for place in 0..plan.len() {
            let (mut at, mut hops) = (plan.at(place), 0);
            while plan.kind(at.0, at.1) == Kind::Redirect && hops < 5 {
                let Target::Url(host, url) = plan.redirect_target(at.0, at.1) else { panic!("to a name that is gone") };
                (at, hops) = ((host, url), hops + 1);
            }
            if hops < 5 {
                longest = longest.max(hops);
            } else {
                circles += 1;
            }
        }
        assert_eq!(longest, 3);
        assert!(circles > 0);
    }
}
