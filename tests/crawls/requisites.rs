//! Crawls of some domains of a web whose pages embed what is on others: with all that, and with nothing else of them.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use crate::site::{Crawl, RUSH, Site, kill};
use crawler::simweb::{Expected, SimOptions, SimWeb};

const DOMAINS: [&str; 1] = ["sim0.test"];

fn options() -> SimOptions {
    let options = SimOptions {
        seed: 5,
        hosts: 40,
        pages: 600,
        latency: Duration::from_millis(2),
        requisite_share: 0.4,
        varied_markup: false,
        ..SimOptions::default()
    };
    options.smooth()
}

/// A crawl of [`DOMAINS`] with these settings of its scope.
fn begun(shards: usize, scope: &str) -> Site {
    let web = SimWeb::start(options()).unwrap();
    let more = format!("{RUSH}give_up = \"1s\"\n[crawl]\nshards = {shards}\ncheckpoint_interval = \"1s\"\n");
    let config = web.config_with(&more).replace("mode = \"any\"", &format!("mode = \"domain\"\n{scope}"));
    let crawl = Crawl::new(&web.seeds_in(&DOMAINS).join("\n"), &config);
    Site { web, crawl }
}

/// The archive has exactly these pages, and nothing was asked for that must not be.
#[track_caller]
fn assert_exactly(site: &Site, expected: &Expected) {
    let right: BTreeMap<String, u16> = expected.pages.iter().map(|(url, page)| (url.clone(), page.status)).collect();
    let stored = site.crawl.stored();
    let missing: Vec<_> = right.iter().filter(|(url, status)| stored.get(*url) != Some(status)).collect();
    let surplus: Vec<_> = stored.iter().filter(|(url, _)| !right.contains_key(*url)).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:#?}\nsurplus {surplus:#?}");
    for request in site.log() {
        let url = request.url(site.web.http_port());
        assert!(!expected.disallowed.contains(&url) && !expected.never.contains(&url), "{url} was requested");
    }
}

fn elsewhere(expected: &Expected) -> usize {
    expected.pages.keys().filter(|url| url.contains(".assets")).count()
}

/// Returns the number that `crawler report crawl` has in the row `name`.
fn reported(site: &Site, name: &str) -> usize {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["report", "crawl", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let row = said.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{said}"));
    row.split_ascii_whitespace().next().unwrap().replace(',', "").parse().unwrap()
}

#[test]
fn pages_come_with_what_they_embed_from_other_domains_however_many_shards_there_are() {
    for (shards, hops) in [(1, 3), (4, 3), (1, 1), (4, 10)] {
        let site = begun(shards, &format!("requisite_hops = {hops}\n"));
        site.crawl.run(&[]).expect(0, &["finish reason            complete", "requisites "]);
        let expected = site.web.expected_in(&DOMAINS, hops);
        assert_exactly(&site, &expected);
        let requisites = elsewhere(&expected);
        assert!(requisites > 20, "{requisites}");
        assert_eq!(site.fetched_twice(), Vec::<String>::new(), "{shards} shards");
        let pages = expected.pages.len() - requisites;
        assert_eq!((reported(&site, "requisites"), reported(&site, "pages stored")), (requisites, pages));
    }
}

#[test]
fn with_the_scope_alone_nothing_of_other_domains_is_asked_for() {
    let site = begun(1, "requisites = \"scope\"\n");
    let ended = site.crawl.run(&[]);
    ended.expect(0, &["finish reason            complete"]);
    assert!(!ended.said.contains("\nrequisites "), "{}", ended.said);
    let expected = site.web.expected_in(&DOMAINS, 0);
    assert_eq!(elsewhere(&expected), 0);
    assert_exactly(&site, &expected);
}

#[test]
fn kills_of_one_shard_and_of_four_lose_nothing_of_it() {
    for shards in [1, 4] {
        let site = begun(shards, "requisite_hops = 3\n");
        let seed = u64::from(std::process::id());
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..6 {
            let mut child = site.crawl.start(&[]);
            site.wait_for_requests_or_end(site.log().len() + rng.usize(10..60), &mut child);
            kill(child);
        }
        site.crawl.run(&[]).expect(0, &[]);
        println!("seed {seed}, {shards} shards: {} requests", site.log().len());
        assert_exactly(&site, &site.web.expected_in(&DOMAINS, 3));
    }
}

#[test]
fn explain_says_whose_requisite_it_is_and_how_far_away() {
    let site = begun(1, "requisite_hops = 3\n");
    site.crawl.run(&[]).expect(0, &[]);
    let expected = site.web.expected_in(&DOMAINS, 3);
    let explain = |url: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(["explain", url, "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let frame = expected.pages.keys().find(|url| url.contains("/2/frame-")).unwrap();
    let said = explain(frame);
    assert!(said.contains("a page embeds it, hop 3 of 3"), "{said}");
    let page = said.lines().find_map(|line| line.trim().strip_prefix("requisite of")).unwrap().trim();
    assert!(page.contains(".sim0.test") && expected.pages.contains_key(page), "{said}");
    let never = expected.never.iter().find(|url| url.contains("/page-")).unwrap();
    let said = explain(never);
    assert!(said.contains("never: out of scope") && said.contains("if a page of the crawl embedded it"), "{said}");
}
