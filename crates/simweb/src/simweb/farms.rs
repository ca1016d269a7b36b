//! Link farms: registrable domains with pages without end that link one another, so as to look important.
//!
//! A farm is what one spammer has: [`SimOptions::farm_size`] domains of one [`FarmKind`], on machines of a few
//! networks. One ordinary page links the first domain of a farm; the others are found from there. A ring has bought its
//! link on a popular site, other farms have one on a site that few link. Farms link nothing but themselves.
//!
//! As with traps, an answer is a function of the seed and the URL, and nothing is remembered. No domain of a farm is
//! linked by an ordinary one but the first, so that the requests to farms show how a crawler values links.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::ops::Range;

use super::answer::SimResponse;
use super::farm_kinds::{FarmKind, domain, host_name};
use super::options::SimOptions;

/// Links of a page to new pages of its own domain.
const OWN_LINKS: usize = 8;
/// Links of a page to other domains, where a farm is dense.
const FELLOW_LINKS: usize = 8;
/// Domains that a domain with wildcard hosts leads to.
const FAN: usize = 8;
/// Networks in which farms are, at most: a listener each.
const NETWORKS_MAX: usize = 250;
/// The first network of farms is 127.1.0.0/24.
const FIRST_NETWORK: u32 = 0x7f01_0000;

/// The place of a domain: its farm, and its number among the domains of that farm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub kind: FarmKind,
    /// Index of its kind among the kinds that there are.
    slot: usize,
    /// Index of its farm among the farms of that kind.
    pub farm: usize,
    member: usize,
    members: usize,
}

/// The place of the domain of that number.
pub(super) fn place(options: &SimOptions, number: u32) -> Place {
    let kinds = kinds(options);
    let (slot, at) = (number as usize % kinds.len(), number as usize / kinds.len());
    let alike = (options.farms - slot).div_ceil(kinds.len());
    let size = size(options, alike);
    let farm = at / size;
    Place { kind: kinds[slot], slot, farm, member: at % size, members: size.min(alike - farm * size) }
}

/// The first domains of all farms, which ordinary pages link.
pub(super) fn first_domains(options: &SimOptions) -> impl Iterator<Item = (u32, Place)> {
    let numbers = 0..options.farms as u32;
    numbers.map(|number| (number, place(options, number))).filter(|(_, place)| place.member == 0)
}

/// The domain that has a host of that name, in lower case.
pub(super) fn domain_named(options: &SimOptions, name: &str) -> Option<u32> {
    let (below, rest) = name.strip_suffix(".example")?.rsplit_once('.')?;
    let digits = rest.strip_prefix("farm")?;
    let number: u32 = digits.parse().ok()?;
    let exists = (number as usize) < options.farms && number.to_string() == digits;
    let lives = || below == "www" || (place(options, number).kind == FarmKind::Wildcard && !below.is_empty());
    (exists && lives()).then_some(number)
}

/// The address of a domain.
pub(super) fn address(options: &SimOptions, number: u32) -> Ipv4Addr {
    network(network_of(options, place(options, number)))
}

/// The addresses of all domains.
pub(super) fn addresses(options: &SimOptions) -> impl Iterator<Item = Ipv4Addr> {
    let used = (0..options.farms as u32).map(|number| network_of(options, place(options, number)));
    used.collect::<std::collections::BTreeSet<_>>().into_iter().map(network)
}

/// Answers a request for `path` at the host `name` of a domain. `lots` are the random numbers of the URL.
pub(super) fn answer(options: &SimOptions, port: u16, number: u32, path: &str, mut lots: fastrand::Rng) -> SimResponse {
    let latency = options.latency.mul_f64(0.5 + lots.f64());
    if path == "/robots.txt" {
        let body = b"User-agent: *\nDisallow:\n".to_vec();
        return SimResponse { status: 200, content_type: "text/plain", body, latency, ..Default::default() };
    }
    let bytes = options.page_bytes / 2 + lots.usize(0..=options.page_bytes);
    let mut page = Page { options, port, number, place: place(options, number), lots };
    let body = page.html(bytes).into_bytes();
    SimResponse { status: 200, content_type: "text/html; charset=utf-8", body, latency, ..Default::default() }
}

/// One page of a domain.
struct Page<'a> {
    options: &'a SimOptions,
    port: u16,
    number: u32,
    place: Place,
    lots: fastrand::Rng,
}

impl Page<'_> {
    fn html(&mut self, bytes: usize) -> String {
        let links = self.links();
        let mut html = format!("<!DOCTYPE html>\n<title>{}</title>\n", self.word());
        let between = bytes / links.len();
        for link in links {
            html.push_str("<p>");
            let end = html.len() + between.saturating_sub(link.len() + 20);
            while html.len() < end {
                html.push_str(&self.word());
                html.push(' ');
            }
            writeln!(html, "<a href=\"{link}\">more</a></p>").expect("a string grows");
        }
        html
    }

    fn links(&mut self) -> Vec<String> {
        match self.place.kind {
            FarmKind::Dense => {
                let own = self.own_pages();
                let fellows: Vec<String> = (0..FELLOW_LINKS).map(|_| self.page_of_any()).collect();
                own.into_iter().chain(fellows).collect()
            }
            FarmKind::Wildcard => {
                let (domain, port) = (domain(self.number), self.port);
                let hosts = (0..OWN_LINKS).map(|_| format!("http://{}-{}.{domain}:{port}/", self.word(), self.word()));
                let hosts: Vec<String> = hosts.collect();
                let first = self.place.member * FAN + 1;
                let next = (first..first + FAN).filter(|&member| member < self.place.members);
                hosts.into_iter().chain(next.map(|member| self.url(member, "/"))).collect()
            }
            FarmKind::Ring => {
                let next = self.url((self.place.member + 1) % self.place.members, "/");
                self.own_pages().into_iter().chain([next]).collect()
            }
        }
    }

    fn own_pages(&mut self) -> Vec<String> {
        (0..OWN_LINKS).map(|_| self.new_path()).collect()
    }

    /// A page of a domain of the farm; of four, three are roots.
    fn page_of_any(&mut self) -> String {
        let member = self.lots.usize(0..self.place.members);
        let path = if self.lots.u8(0..4) == 0 { self.new_path() } else { "/".to_owned() };
        self.url(member, &path)
    }

    fn url(&self, member: usize, path: &str) -> String {
        let kinds = kinds(self.options).len();
        let steps = member as i64 - self.place.member as i64;
        let number = i64::from(self.number) + steps * kinds as i64;
        format!("http://{}:{}{path}", host_name(number as u32), self.port)
    }

    fn new_path(&mut self) -> String {
        format!("/{}/{}", self.word(), self.word())
    }

    /// A word that has not been there before, as far as 26^9 words reach.
    fn word(&mut self) -> String {
        (0..9).map(|_| self.lots.lowercase()).collect()
    }
}

fn kinds(options: &SimOptions) -> &[FarmKind] {
    if options.farm_kinds.is_empty() { &FarmKind::ALL } else { &options.farm_kinds }
}

/// Returns how many domains a farm has, where its kind has `alike` of them.
fn size(options: &SimOptions, alike: usize) -> usize {
    if options.farm_size == 0 { alike.max(1) } else { options.farm_size }
}

/// The number of the network in which a domain is: its farm has some of its own, until there are too many.
fn network_of(options: &SimOptions, place: Place) -> u32 {
    let farms_of_a_kind = options.farms.div_ceil(kinds(options).len());
    let farm = place.slot * farms_of_a_kind + place.farm;
    let networks = options.farm_networks;
    ((farm * networks + place.member % networks) % NETWORKS_MAX) as u32
}

fn network(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_NETWORK + (number << 8) + 1)
}

/// The positions among ordinary sites, the most popular first, at which a farm may have its link.
pub(super) fn sites_with_link(place: Place, sites: usize) -> Range<usize> {
    match place.kind {
        FarmKind::Ring => sites / 50..(sites / 10).max(sites / 50 + 1),
        FarmKind::Dense | FarmKind::Wildcard => sites / 2..sites.max(1),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashSet};

    use super::*;
    use crate::simweb::lots::lots;

    fn options(farms: usize, farm_size: usize) -> SimOptions {
        SimOptions { farms, farm_size, ..SimOptions::default() }
    }

    fn links_of(options: &SimOptions, number: u32, name: &str, path: &str) -> Vec<String> {
        let answer = answer(options, 80, number, path, lots(options.seed, name, path));
        let body = String::from_utf8(answer.body).unwrap();
        body.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    }

    /// The domain of a link of a page of `number`.
    fn target(options: &SimOptions, number: u32, link: &str) -> u32 {
        let Some(rest) = link.strip_prefix("http://") else { return number };
        domain_named(options, rest.split(':').next().unwrap()).unwrap()
    }

    #[test]
    fn a_name_leads_to_its_domain_and_others_lead_nowhere() {
        let options = options(30, 4);
        for number in 0..30 {
            assert_eq!(domain_named(&options, &host_name(number)), Some(number));
            let below = domain_named(&options, &format!("never-seen.{}", domain(number)));
            assert_eq!(below.is_some(), place(&options, number).kind == FarmKind::Wildcard);
        }
        for name in ["www.farm30.example", "www.farm01.example", "farm1.example", "www.farmx.example", "x.test"] {
            assert_eq!(domain_named(&options, name), None, "{name}");
        }
    }

    #[test]
    fn all_domains_of_a_farm_are_found_from_its_first_and_no_others() {
        for (farms, size, count) in [(30, 4, 9), (31, 0, 3), (8, 1, 8), (2, 0, 2), (0, 0, 0)] {
            let options = options(farms, size);
            let mut found = BTreeMap::new();
            for (first, place) in first_domains(&options) {
                let (mut seen, mut queue) = (BTreeSet::from([first]), vec![(first, host_name(first), "/".to_owned())]);
                let mut pages = 0;
                while let Some((number, name, path)) = queue.pop() {
                    pages += 1;
                    for link in links_of(&options, number, &name, &path) {
                        let other = target(&options, number, &link);
                        if seen.insert(other) {
                            queue.push((other, host_name(other), "/".to_owned()));
                        } else if pages < 40 && !link.starts_with("http:") {
                            queue.insert(0, (number, name.clone(), link));
                        }
                    }
                }
                assert!(seen.iter().all(|&other| super::place(&options, other).kind == place.kind));
                assert_eq!(seen.len(), place.members, "{place:?}");
                found.insert(first, seen);
            }
            assert_eq!(found.len(), count);
            assert_eq!(found.values().map(BTreeSet::len).sum::<usize>(), farms, "none is in two farms");
        }
    }

    #[test]
    fn domains_of_a_dense_farm_have_many_supporters_and_of_a_ring_one() {
        let options = options(90, 0);
        let mut supporters: BTreeMap<u32, HashSet<u32>> = BTreeMap::new();
        for number in 0..90 {
            for page in 0..20 {
                for link in links_of(&options, number, &host_name(number), &format!("/{page}")) {
                    supporters.entry(target(&options, number, &link)).or_default().insert(number);
                }
            }
        }
        for (number, from) in supporters {
            let others = from.iter().filter(|&&other| other != number).count();
            match place(&options, number).kind {
                FarmKind::Dense => assert!(others > 10, "{number}: {others}"),
                FarmKind::Ring => assert_eq!(others, 1, "{number}"),
                FarmKind::Wildcard => assert_eq!(others, usize::from(place(&options, number).member > 0), "{number}"),
            }
        }
    }

    #[test]
    fn a_farm_is_in_as_many_networks_as_it_is_told() {
        let options = SimOptions { farm_networks: 3, ..options(90, 0) };
        for kind in FarmKind::ALL {
            let numbers = (0..90).filter(|&number| place(&options, number).kind == kind);
            let networks: BTreeSet<Ipv4Addr> = numbers.map(|number| address(&options, number)).collect();
            assert_eq!(networks.len(), 3);
        }
        assert_eq!(addresses(&options).count(), 9);
    }
}
