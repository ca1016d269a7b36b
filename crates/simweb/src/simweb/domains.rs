//! The popularity of registrable domains: how many others link one, and how large it is.
//!
//! Domain 0 is the most popular one. The number of supporters of a domain follows a power law, and who they are is
//! drawn by page: a domain with many pages supports many others. So out-degrees are as unequal as sizes are. Where the
//! number is one, as it is for about half of all domains, a supporter is all that distinguishes a new site from a farm
//! that has one link.

/// Hosts by size: the host of rank r has r^-0.5 of the pages of the largest.
pub(super) const SIZE_STEEPNESS: f64 = 0.5;
/// The factor by which the rank of a domain in size may differ from its rank in popularity, either way: e^1.5.
const SIZE_SPREAD: f64 = 1.5;

/// Returns how many other domains link the domain with the number `domain`, of `domains` in all: the quantile of a
/// power law with this exponent, and at most a third of the others.
pub(super) fn supporters(domain: u32, domains: u32, exponent: f64) -> u32 {
    let share_above = (f64::from(domain) + 0.5) / f64::from(domains);
    let count = share_above.powf(-1.0 / (exponent - 1.0)) as u32;
    count.clamp(1, (domains / 3).max(1))
}

/// Sizes of hosts in the order of their numbers, of those in `sizes`, the largest first: larger ones to more popular
/// domains, within a factor that is drawn for each host.
pub(super) fn sizes_by_popularity(sizes: &[usize], domains: usize, dice: &mut fastrand::Rng) -> Vec<usize> {
    let mut order: Vec<(f64, usize)> = (0..sizes.len())
        .map(|host| (((host % domains + 1) as f64).ln() + (2.0 * dice.f64() - 1.0) * SIZE_SPREAD, host))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut found = vec![0; sizes.len()];
    for (&size, &(_, host)) in sizes.iter().zip(&order) {
        found[host] = size;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::simweb::SimOptions;
    use crate::simweb::links::links;
    use crate::simweb::plan::{Plan, Target};

    /// The supporters that each domain has by the links of all pages.
    fn linked(plan: &Plan, domains: u32) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut found: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for place in 0..plan.len() {
            let (host, url) = plan.at(place);
            for link in links(plan, host, url) {
                let Target::Url(to, _) = link.target else { continue };
                if to % domains != host % domains {
                    found.entry(to % domains).or_default().insert(host % domains);
                }
            }
        }
        found
    }

    #[test]
    fn supporters_by_the_links_of_pages_follow_the_power_law() {
        let domains = 1_000;
        let options = SimOptions {
            hosts: 2_500,
            pages: 30_000,
            domains: domains as usize,
            cross_links: 0.4,
            robots_share: 0.0,
            robots_5xx_share: 0.0,
            ..SimOptions::default()
        };
        let plan = Plan::new(options).unwrap();
        let linked = linked(&plan, domains);
        assert_eq!(linked.len(), 999, "domain 0 is a seed and has none");
        let degree = |domain: u32| linked[&domain].len() as u32;
        for domain in 1..domains {
            let drawn = supporters(domain, domains, 2.1);
            // of the most popular ones, some are drawn in vain
            assert!(degree(domain) <= drawn && degree(domain) * 10 >= drawn * 9, "{domain}: {drawn}");
        }
        // the estimate for discrete power laws of Clauset, Shalizi and Newman (2009), equation 3.7
        let least = 3;
        let tail: Vec<f64> = (1..domains).map(degree).filter(|&k| k >= least).map(f64::from).collect();
        let sum: f64 = tail.iter().map(|k| (k / (f64::from(least) - 0.5)).ln()).sum();
        let exponent = 1.0 + tail.len() as f64 / sum;
        assert!((1.9..2.3).contains(&exponent), "{exponent}");
        let single = (1..domains).filter(|&domain| degree(domain) == 1).count();
        assert!((400..600).contains(&single), "{single}");
    }

    #[test]
    fn popular_domains_are_larger_and_some_are_not() {
        let sizes: Vec<usize> = (1..=1_000).rev().collect();
        let placed = sizes_by_popularity(&sizes, 500, &mut fastrand::Rng::with_seed(1));
        let mean = |hosts: std::ops::Range<usize>| placed[hosts.clone()].iter().sum::<usize>() / hosts.len();
        assert!(mean(0..50) > 900 && mean(450..500) < 500, "{} {}", mean(0..50), mean(450..500));
        assert!(placed[0..50].iter().any(|&size| size < 950));
        let mut sorted = placed.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(sorted, sizes);
    }
}
