//! The end of a right crawl, found by a walk over the plan: no request is made, no page is parsed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use sha1::{Digest, Sha1};

use super::answers::{RULES_PATH, SimResponses};
use super::conduct::Robots;
use super::farm_kinds::{self, FarmKind};
use super::farms;
use super::host_names::gone_name;
use super::links::{Base, links, sealed};
use super::names::address;
use super::plan::{Kind, Plan, Target};
use super::requisites::{Naming, Requisite};
use super::robots::allows;
use super::sitemaps;
use super::trap_kinds;
use super::walls;
use crate::clock::Time;

/// A URL that a right crawl stores; where pages change, the first version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedPage {
    /// The status of its last answer.
    pub status: u16,
    /// The SHA-1 digest of its body without transfer and content encoding.
    pub body_sha1: [u8; 20],
    /// The kind of the wall in its place, if one is: "challenge", "block", "rate-limit", "login", "consent", "paywall",
    /// "soft-404", "shell", "parked", "placeholder", "payment", "geo" or "age".
    pub kind: Option<&'static str>,
}

impl ExpectedPage {
    /// Returns whether a wall refuses the page, so that it may be had later: a challenge, a block or a rate limit.
    pub fn is_refused(&self) -> bool {
        self.kind.is_some_and(walls::is_refusal)
    }
}

/// The ends of all URLs of a synthetic web, for a crawl that starts with its seeds and has no limits. robots.txt files
/// are in none of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Pages that are stored in the end, by URL: pages, redirects, 404 and, after all attempts, 500.
    pub pages: BTreeMap<String, ExpectedPage>,
    /// URLs that are linked and excluded by robots.txt. They must never be requested.
    pub disallowed: BTreeSet<String>,
    /// URLs that exist and are mentioned, but never as a link that may be followed, and the links of parked pages. They
    /// must never be requested.
    pub never: BTreeSet<String>,
    /// URLs that are linked and whose host cannot be fetched from.
    pub unfetched: BTreeSet<String>,
    /// Names of hosts that are linked and do not exist.
    pub unresolvable: BTreeSet<String>,
    /// Names of hosts whose robots.txt cannot be had: it is never answered with more than an error of the server, or
    /// the whole host is dead.
    pub robots_unreachable: BTreeSet<String>,
    /// Registrable domains without end: whatever is stored of them is neither missing nor too much.
    pub traps: BTreeSet<String>,
    /// Registrable domains of link farms, with their shapes: likewise.
    pub farms: BTreeMap<String, FarmKind>,
    /// Crawl-delays asked for, by name of host, of the hosts with stored pages.
    pub crawl_delays: BTreeMap<String, Duration>,
}

impl Expected {
    /// Returns whether a URL may be requested: it is stored in the end, or it is a robots.txt.
    pub fn may_request(&self, url: &str) -> bool {
        self.may_store(url) || url.ends_with("/robots.txt") || url.contains(RULES_PATH)
    }

    /// Returns whether a URL may be in the archive: it is expected, or of a domain without end.
    pub fn may_store(&self, url: &str) -> bool {
        self.pages.contains_key(url) || self.is_trap(url) || self.farm_of(url).is_some()
    }

    /// Returns whether a URL belongs to a trap.
    pub fn is_trap(&self, url: &str) -> bool {
        domains_of(url).any(|domain| self.traps.contains(domain))
    }

    /// The shape of the farm that a URL belongs to, if it does.
    pub(crate) fn farm_of(&self, url: &str) -> Option<FarmKind> {
        domains_of(url).find_map(|domain| self.farms.get(domain).copied())
    }
}

/// The domains above the host of a URL.
fn domains_of(url: &str) -> impl Iterator<Item = &str> {
    let host = url.split('/').nth(2).and_then(|authority| authority.split(':').next()).unwrap_or_default();
    host.match_indices('.').map(|(dot, _)| &host[dot + 1..])
}

/// Walks the web from its seeds.
pub(super) fn walk(answers: &SimResponses) -> Expected {
    walk_from(answers, None, answers.begin())
}

/// Walks the web from its seeds when the walls have ended that end.
pub(super) fn walk_after_walls(answers: &SimResponses) -> Expected {
    walk_from(answers, None, answers.plan.options.walls_end.unwrap_or_default().max(answers.begin()))
}

/// The same within a scope of these registrable domains, and what pages there embed, this many embeds away.
pub(super) fn walk_in(answers: &SimResponses, domains: &[&str], requisite_hops: usize) -> Expected {
    walk_from(answers, Some(Within { domains, requisite_hops }), answers.begin())
}

/// Returns whether a host belongs to one of these registrable domains, which have two labels here.
pub(super) fn lies_in(domains: &[&str], name: &str) -> bool {
    let start = name.rmatch_indices('.').nth(1).map_or(0, |(dot, _)| dot + 1);
    domains.contains(&&name[start..])
}

/// The bounds of a crawl: its domains, and how many embeds in a row it follows out of them.
#[derive(Clone, Copy)]
struct Within<'a> {
    domains: &'a [&'a str],
    requisite_hops: usize,
}

/// Walks the web with the walls that are there at `now`.
fn walk_from(answers: &SimResponses, within: Option<Within<'_>>, now: Time) -> Expected {
    let plan = &answers.plan;
    let mut walk = Walk {
        within,
        now,
        seen: vec![false; plan.len()],
        mentioned: vec![false; plan.len()],
        asked: vec![false; plan.hosts.len()],
        requisites: BTreeSet::new(),
        refused: BTreeSet::new(),
        queue: VecDeque::new(),
    };
    let mut expected = Expected::default();
    for &host in plan.seeds() {
        walk.reach(plan, Target::Url(host, 0));
    }
    let (mut stored, mut embedded) = (Vec::new(), Vec::new());
    while let Some(target) = walk.queue.pop_front() {
        let (host, url) = match target {
            Target::Url(host, url) => (host, url),
            Target::Trap(trap) => {
                expected.traps.insert(trap_kinds::domain(trap));
                continue;
            }
            // its other domains are found from this one
            Target::Farm(_) => {
                let all = (0..plan.options.farms as u32).map(|number| (number, farms::place(&plan.options, number)));
                expected.farms = all.map(|(number, place)| (farm_kinds::domain(number), place.kind)).collect();
                continue;
            }
            Target::Gone(_) => {
                expected.unfetched.insert(address(plan, answers.port, target));
                continue;
            }
            Target::Requisite(requisite) if requisite.is_allowed() => {
                embedded.push(requisite);
                walk.follow_requisite(plan, requisite);
                continue;
            }
            Target::Requisite(_) => {
                expected.disallowed.insert(address(plan, answers.port, target));
                continue;
            }
        };
        walk.ask_robots(plan, host);
        if matches!(plan.host(host).robots, Robots::Failing(_)) {
            expected.unfetched.insert(address(plan, answers.port, target));
            expected.robots_unreachable.insert(plan.host(host).name.clone());
        } else if !allows(plan, host, url) {
            expected.disallowed.insert(address(plan, answers.port, target));
        } else {
            stored.push((host, url));
            walk.follow(plan, host, url);
        }
    }
    expected.unresolvable = (0..plan.gone).map(gone_name).collect();
    expected.never = walk.only_mentioned(plan, answers.port);
    let never = walk.refused.difference(&walk.requisites);
    expected.never.extend(never.map(|requisite| requisite.url(answers.port)));
    expected.never.extend(stored.iter().flat_map(|&(host, url)| {
        let base = Base { plan, port: answers.port, host, directory: "/" };
        walls::advertisements(&base, url, now)
    }));
    expected.pages = pages(answers, &stored, now);
    for requisite in embedded {
        let answer = requisite.answer(answers.port);
        let page = ExpectedPage { status: answer.status, body_sha1: Sha1::digest(&answer.body).into(), kind: None };
        expected.pages.insert(requisite.url(answers.port), page);
    }
    for host in (0..).zip(&walk.asked).filter_map(|(host, &asked)| asked.then_some(host)) {
        for &file in sitemaps::files(plan, host) {
            let body = sitemaps::content(plan, answers.port, host, file, answers.begin()).1;
            let page = ExpectedPage { status: 200, body_sha1: Sha1::digest(body).into(), kind: None };
            expected.pages.insert(sitemaps::url(plan, answers.port, host, file), page);
        }
    }
    for host in stored.iter().filter(|(_, url)| *url == 0).map(|(host, _)| plan.host(*host)) {
        if host.crawl_delay {
            expected.crawl_delays.insert(host.name.clone(), plan.options.robots_crawl_delay);
        }
    }
    expected
}

struct Walk<'a> {
    within: Option<Within<'a>>,
    /// Time at which the walls are looked at.
    now: Time,
    seen: Vec<bool>,
    mentioned: Vec<bool>,
    /// Hosts whose robots.txt was asked for.
    asked: Vec<bool>,
    /// Requisites that pages embed from elsewhere: all that was reached, and those that were named where nobody
    /// follows.
    requisites: BTreeSet<Requisite>,
    refused: BTreeSet<Requisite>,
    queue: VecDeque<Target>,
}

impl Walk<'_> {
    /// Returns whether a crawl of this scope wants the target.
    fn wants(&self, plan: &Plan, target: Target) -> bool {
        let Some(Within { domains, requisite_hops }) = self.within else { return true };
        match target {
            Target::Url(host, _) => lies_in(domains, &plan.host(host).name),
            Target::Gone(gone) => lies_in(domains, &gone_name(gone)),
            Target::Trap(trap) => lies_in(domains, &trap_kinds::domain(trap)),
            Target::Farm(number) => lies_in(domains, &farm_kinds::domain(number)),
            Target::Requisite(requisite) => requisite.embeds() <= requisite_hops,
        }
    }

    fn reach(&mut self, plan: &Plan, target: Target) {
        if !self.wants(plan, target) {
            return self.refuse(target);
        }
        // A name that does not exist leads nowhere, so that it does no harm to come here again.
        let new = match target {
            Target::Url(host, url) => !std::mem::replace(&mut self.seen[plan.place(host, url)], true),
            Target::Gone(_) | Target::Trap(_) | Target::Farm(_) => true,
            Target::Requisite(requisite) => self.requisites.insert(requisite),
        };
        if new {
            self.queue.push_back(target);
        }
    }

    fn refuse(&mut self, target: Target) {
        if let Target::Requisite(requisite) = target {
            self.refused.insert(requisite);
        }
    }

    /// Fetches what the requisite embeds or redirects to. The page that a frame links to, and the sitemap of its host,
    /// are fetched only where everything is.
    fn follow_requisite(&mut self, plan: &Plan, requisite: Requisite) {
        let sitemap = (Naming::Links, requisite.sitemap());
        for (naming, there) in requisite.names().into_iter().chain([sitemap]) {
            let target = Target::Requisite(there);
            match naming {
                Naming::Links if self.within.is_some() => self.refuse(target),
                _ => self.reach(plan, target),
            }
        }
    }

    /// The robots.txt of a host, where it is asked for first, leads to what its sitemaps list.
    fn ask_robots(&mut self, plan: &Plan, host: u32) {
        if !std::mem::replace(&mut self.asked[host as usize], true) {
            for url in sitemaps::listed(plan, host) {
                self.reach(plan, Target::Url(host, url));
            }
        }
    }

    fn follow(&mut self, plan: &Plan, host: u32, url: u32) {
        if plan.kind(host, url) == Kind::Redirect {
            return self.reach(plan, plan.redirect_target(host, url));
        }
        let sealed = sealed(plan, host, url);
        let links = match walls::at(plan, host, url, self.now) {
            Some(wall) => wall.links(plan, host, url),
            None => links(plan, host, url),
        };
        for link in links {
            match link.target {
                target if link.markup.followed() && !sealed => self.reach(plan, target),
                Target::Url(host, url) => self.mentioned[plan.place(host, url)] = true,
                Target::Gone(_) | Target::Trap(_) | Target::Farm(_) | Target::Requisite(_) => {}
            }
        }
    }

    fn only_mentioned(&self, plan: &Plan, port: u16) -> BTreeSet<String> {
        let places = (0..plan.len()).filter(|&place| self.mentioned[place] && !self.seen[place]);
        places.map(|place| plan.at(place)).map(|(host, url)| address(plan, port, Target::Url(host, url))).collect()
    }
}

/// Digests what is stored, on as many threads as the machine has.
fn pages(answers: &SimResponses, stored: &[(u32, u32)], now: Time) -> BTreeMap<String, ExpectedPage> {
    let digest = |&(host, url): &(u32, u32)| {
        // a page that has had a wall does not change
        let has_wall = walls::drawn(&answers.plan, host, url).is_some();
        let (status, body) = answers.last(host, url, if has_wall { now } else { answers.begin() });
        let kind = walls::at(&answers.plan, host, url, now).map(|wall| wall.name);
        let page = ExpectedPage { status, body_sha1: Sha1::digest(body).into(), kind };
        (address(&answers.plan, answers.port, Target::Url(host, url)), page)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = stored.len().div_ceil(threads).max(1);
    let parts: Vec<Vec<(String, ExpectedPage)>> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            stored.chunks(share).map(|part| scope.spawn(move || part.iter().map(digest).collect())).collect();
        workers.into_iter().map(|worker| worker.join().expect("a digest does not panic")).collect()
    });
    parts.into_iter().flatten().collect()
}
