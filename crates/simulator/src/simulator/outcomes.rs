//! The ends of URLs in a crawl whose settings leave some out: which ones depends on the order of things, so that no set
//! of pages is the right one. What was stored names what had to be admitted; all of that is stored too, or one of the
//! settings explains why not; and none of them is overrun.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::clause::{Clause, Violation};
use super::machine::Machine;
use crate::container::{KeyRecord, Reader};
use crate::record::Statistics;
use crate::simweb::Expected;
use crate::web::pattern::pattern;
use crate::web::scope::{Requisites, Scope, ScopeMode};
use crate::web::url::CanonicalUrl;

/// Pages and bytes of hosts, pages of domains, as the archive has them.
#[derive(Default)]
struct Used<'a> {
    pages_of_hosts: BTreeMap<&'a str, u64>,
    pages_of_domains: BTreeMap<String, u64>,
    /// Those, and what their pages name that may have been charged to them: what is elsewhere and out of scope.
    charged_to_domains: BTreeMap<String, u64>,
    bytes_of_hosts: BTreeMap<String, u64>,
    patterns: BTreeMap<(&'a str, String), u64>,
}

/// Judges a complete crawl that has stored `stored`.
pub(super) fn judge(
    machine: &Machine,
    statistics: &Statistics,
    stored: &BTreeMap<String, KeyRecord>,
) -> Result<(), Violation> {
    let records = all_records(machine)?;
    let named = &machine.named;
    let seeds: BTreeSet<&str> = seeds(machine)?;
    let admitted = admitted(machine, &seeds, stored, &records);
    let most = named.ever.iter().map(String::as_str).chain(seeds.iter().copied()).collect::<BTreeSet<_>>();
    if statistics.pages_stored != stored.len() as u64 {
        let what = format!("{} pages are counted, and {} in the archive", statistics.pages_stored, stored.len());
        return Err(Violation::new(Clause::OneOutcome, what));
    }
    // what the domain of its page had no budget for was never admitted
    let is_charged = is_charged(machine);
    let certain = admitted.iter().filter(|url| !is_charged || !is_outside(machine, url)).count();
    if !(certain as u64..=most.len() as u64).contains(&statistics.unique) {
        let what = format!("{} new URLs, not {certain} to {}", statistics.unique, most.len());
        return Err(Violation::new(Clause::OneOutcome, what));
    }
    if let Some(strange) = stored.keys().find(|url| !most.contains(url.as_str())) {
        return Err(Violation::new(Clause::Obeys, format!("{strange} is stored, and nothing named it")));
    }
    let used = used(machine, stored, &records, &most, &seeds);
    let network = machine.network();
    let expected = network.web().expected();
    for url in admitted.iter().filter(|url| !stored.contains_key(**url)) {
        if !is_explained(machine, expected, &used, seeds.contains(url), url) {
            let what = format!("{url} is not in the archive, and no setting says why: {:?}", statistics.dropped);
            return Err(Violation::new(Clause::NothingMissing, what));
        }
    }
    within_budgets(machine, stored, &records, &used)?;
    within_patterns(machine, stored, &seeds)
}

fn all_records(machine: &Machine) -> Result<Vec<KeyRecord>, Violation> {
    let unreadable = |error: crate::disk::Error| Violation::new(Clause::Sound, error.to_string());
    let mut records = Vec::new();
    for pages in machine.archives() {
        let reader = Reader::open(machine.disk(), &pages).map_err(unreadable)?;
        records.extend(reader.records().collect::<Result<Vec<_>, _>>().map_err(unreadable)?);
    }
    Ok(records)
}

/// Seeds in scope.
fn seeds(machine: &Machine) -> Result<BTreeSet<&str>, Violation> {
    let scope = Scope::new(&machine.case().scope, machine.seeds().iter());
    let scope = scope.map_err(|error| Violation::new(Clause::Reopens, error.to_string()))?;
    Ok(machine.seeds().iter().filter(|seed| scope.judge(seed, 0, 0).is_ok()).map(CanonicalUrl::as_str).collect())
}

/// URLs that have been admitted for certain: seeds, and what stored answers name.
fn admitted<'a>(
    machine: &'a Machine,
    seeds: &BTreeSet<&'a str>,
    stored: &BTreeMap<String, KeyRecord>,
    records: &[KeyRecord],
) -> BTreeSet<&'a str> {
    let (named, scope) = (&machine.named, &machine.case().scope);
    let mut admitted = seeds.clone();
    for url in stored.keys() {
        admitted.extend(named.links.get(url).into_iter().flatten().map(String::as_str));
        // outside of the scope a redirect ends
        if scope.mode == ScopeMode::Any {
            admitted.extend(named.redirects.get(url).map(String::as_str));
        }
    }
    // what a robots.txt names is as deep as the URL that waited for it
    let robots = records.iter().filter(|record| record.robots && scope.max_depth.is_none());
    for record in robots {
        admitted.extend(named.links.get(&record.url).into_iter().flatten().map(String::as_str));
    }
    admitted
}

fn used<'a>(
    machine: &Machine,
    stored: &'a BTreeMap<String, KeyRecord>,
    records: &[KeyRecord],
    named: &BTreeSet<&'a str>,
    seeds: &BTreeSet<&str>,
) -> Used<'a> {
    let mut used = Used::default();
    for url in stored.keys() {
        *used.pages_of_hosts.entry(host(url)).or_default() += 1;
        *used.pages_of_domains.entry(domain(url)).or_default() += 1;
    }
    used.charged_to_domains = used.pages_of_domains.clone();
    for url in stored.keys().filter(|_| machine.case().scope.requisites == Requisites::Page) {
        let (links, redirect) = (machine.named.links.get(url), machine.named.redirects.get(url));
        let named = links.into_iter().flatten().chain(redirect);
        let foreign = named.filter(|named| domain(named) != domain(url) && is_outside(machine, named)).count();
        *used.charged_to_domains.entry(domain(url)).or_default() += foreign as u64;
    }
    for record in records {
        *used.bytes_of_hosts.entry(host(&record.url).to_owned()).or_default() += record.payload_bytes;
    }
    if machine.case().settings.urls_per_pattern.is_some() {
        for url in named.iter().filter(|url| !seeds.contains(*url)) {
            if let Some(pattern) = pattern(url) {
                *used.patterns.entry((host(url), pattern)).or_default() += 1;
            }
        }
    }
    used
}

/// Returns whether there is a reason for which `url` was not fetched.
fn is_explained(machine: &Machine, expected: &Expected, used: &Used<'_>, is_seed: bool, url: &str) -> bool {
    let (case, host) = (machine.case(), host(url));
    let budget = &case.frontier.budget;
    let reached = |limit: Option<u64>, found: Option<&u64>| {
        limit.is_some_and(|limit| found.copied().unwrap_or_default() >= limit)
    };
    // the bytes of a robots.txt that is elsewhere count here
    let bytes_elsewhere = case.web.robots_moved_share > 0.0 && budget.bytes_per_host.is_some();
    let of_pattern = pattern(url).and_then(|pattern| used.patterns.get(&(host, pattern)));
    let over = |limit: u64| !is_seed && of_pattern.is_some_and(|&found| found > limit);
    expected.disallowed.contains(url)
        || expected.unfetched.contains(url)
        || reached(budget.pages_per_host, used.pages_of_hosts.get(host))
        || reached(budget.pages_per_domain, used.charged_to_domains.get(&domain(url)))
        || reached(budget.bytes_per_host, used.bytes_of_hosts.get(host))
        || bytes_elsewhere
        // the domain of any page that names it may have paid for others
        || is_charged(machine) && is_outside(machine, url)
        || case.settings.urls_per_pattern.is_some_and(over)
        // what pages say is nothing that the judge compares
        || case.settings.pages_per_text.is_some()
}

/// Returns whether what pages embed from elsewhere counts against a budget.
fn is_charged(machine: &Machine) -> bool {
    let case = machine.case();
    case.frontier.budget.pages_per_domain.is_some() && case.scope.requisites == Requisites::Page
}

/// Returns whether the scope takes the URL in only because a page embeds it.
fn is_outside(machine: &Machine, url: &str) -> bool {
    let scope = Scope::new(&machine.case().scope, machine.seeds().iter()).ok();
    scope.zip(CanonicalUrl::parse(url).ok()).is_some_and(|(scope, url)| !scope.takes_in(&url))
}

fn within_budgets(
    machine: &Machine,
    stored: &BTreeMap<String, KeyRecord>,
    records: &[KeyRecord],
    used: &Used<'_>,
) -> Result<(), Violation> {
    let case = machine.case();
    let budget = &case.frontier.budget;
    let over = |limit: Option<u64>, found: u64| limit.is_some_and(|limit| found > limit);
    for (host, &pages) in &used.pages_of_hosts {
        if over(budget.pages_per_host, pages) {
            return Err(Violation::new(Clause::Limited, format!("{pages} pages of {host}: {budget:?}")));
        }
    }
    for (domain, &pages) in &used.pages_of_domains {
        if over(budget.pages_per_domain, pages) {
            return Err(Violation::new(Clause::Limited, format!("{pages} pages of {domain}: {budget:?}")));
        }
    }
    // of a host with one connection nothing was asked for after its bytes were used up; times of a clock that was set
    // do not tell what came first
    let in_order = case.frontier.politeness.connections_per_host == 1
        && !machine.ends.iter().any(|end| end.clock_set_back || end.clock_set_forward);
    let Some(limit) = budget.bytes_per_host.filter(|_| in_order) else { return Ok(()) };
    let mut pages: Vec<&KeyRecord> = records.iter().filter(|record| stored.contains_key(&record.url)).collect();
    pages.sort_by_key(|record| record.time);
    let mut bytes: HashMap<&str, u64> = HashMap::new();
    for record in pages {
        let before = bytes.entry(host(&record.url)).or_default();
        if *before >= limit {
            let what = format!("{} was asked for after {before} bytes of its host, of {limit}", record.url);
            return Err(Violation::new(Clause::Limited, what));
        }
        *before += record.payload_bytes;
    }
    Ok(())
}

/// Checks that limits of patterns are kept. After a death URLs may be counted in another order, and those that were
/// stored before stay.
fn within_patterns(
    machine: &Machine,
    stored: &BTreeMap<String, KeyRecord>,
    seeds: &BTreeSet<&str>,
) -> Result<(), Violation> {
    let limit = machine.case().settings.urls_per_pattern.filter(|_| machine.ends.iter().all(|end| end.clean));
    let Some(limit) = limit else { return Ok(()) };
    let mut found: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for url in stored.keys().filter(|url| !seeds.contains(url.as_str())) {
        let Some(pattern) = pattern(url) else { continue };
        let count = found.entry((host(url), pattern)).or_default();
        *count += 1;
        if *count > limit {
            return Err(Violation::new(Clause::Limited, format!("{url} is one of more than {limit} of its pattern")));
        }
    }
    Ok(())
}

/// The authority of a URL: all URLs of the simulated web have one scheme.
fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or_default()
}

fn domain(url: &str) -> String {
    CanonicalUrl::parse(url).map(|url| url.registrable_domain().to_owned()).unwrap_or_default()
}
