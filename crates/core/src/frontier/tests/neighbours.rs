//! Hosts of several domains at one address.

use super::*;

/// Requests of a host in each minute.
fn by_minute(crawl: &Crawl, host: u64) -> Vec<usize> {
    let of_host = crawl.requests.iter().filter(|request| request.host == host);
    let mut minutes = Vec::new();
    for request in of_host {
        let minute = usize::try_from(request.start.since(START).as_secs() / 60).unwrap();
        minutes.resize(minutes.len().max(minute + 1), 0);
        minutes[minute] += 1;
    }
    minutes
}

#[test]
fn a_domain_of_hosts_without_end_leaves_its_neighbour_at_the_address_the_pace_of_its_delay() {
    const GOOD: u64 = 4_000;
    for active_hosts in [100, 1_000] {
        let options = FrontierOptions { active_hosts, ..small_options() };
        let mut crawl = Crawl::new(options, |host| Site { address: Ok(7), ..plain(host) });
        let trap = |host: u64, n| QueuedUrl { domain: fingerprint(9 | 3 << 60), ..url(host, n, 1) };
        (0..600).for_each(|host| (0..20).for_each(|n| crawl.push(trap(host, n))));
        (0..400).for_each(|n| crawl.push(url(GOOD, n, 1)));
        crawl.run_until(START + S * 300);
        let minutes = by_minute(&crawl, GOOD);
        // one a second, and twenty milliseconds for an answer
        assert!(minutes.len() == 5 && minutes[1..].iter().all(|&requests| requests >= 43), "{minutes:?}");
        let all = crawl.requests.len();
        assert!(all > 4 * 300 * 9 / 10, "the address is asked as often as it may be: {all}");
    }
}

#[test]
fn a_host_that_answers_has_its_pace_beside_thousands_of_silent_ones_at_its_address() {
    const GOOD: u64 = 40_000;
    let options = FrontierOptions { active_hosts: 1_000, ..small_options() };
    let mut crawl =
        Crawl::new(options, |host| Site { address: Ok(7), robots: (host == GOOD).then_some(None), ..plain(host) });
    (0..600).for_each(|n| crawl.push(url(GOOD, n, 1)));
    (0..3_000).for_each(|host| crawl.push(url(4 * host, 0, 1)));
    crawl.run_until(START + S * 300);
    let minutes = by_minute(&crawl, GOOD);
    // until its first page it is a stranger as all of them are
    assert!(minutes.len() == 5 && minutes[2..].iter().all(|&requests| requests >= 43), "{minutes:?}");
}
