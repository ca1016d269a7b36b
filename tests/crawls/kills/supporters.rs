//! Budgets by supporters over kills: what a crawl has counted is what the links of its archive say.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crawler::web::url::CanonicalUrl;

/// Counts that are a function of the archive, in rounds so short that most domains rest now and then.
const ROUNDS: &str = "[budget]\nby_supporters = \"on\"\nsupporters_by_network = false\nsupporters_by_standing = false\n\
                      round_pages_min = 8\nround_pages_max = 40\n";

/// Returns the rows that a command prints about the crawl: an object a line.
fn rows(site: &Site, args: &[&str]) -> Vec<serde_json::Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(args).arg("--dir").arg(site.crawl.path("crawl")).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn domain(url: &serde_json::Value) -> String {
    CanonicalUrl::parse(url.as_str().unwrap()).unwrap().registrable_domain().to_owned()
}

/// The domains that link to each domain, by the links of the archive.
fn linked(site: &Site) -> BTreeMap<String, f64> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for link in rows(site, &["export", "links", "--jsonl"]) {
        let (source, target) = (domain(&link["source"]), domain(&link["target"]));
        if link["kind"] != "embed" && link["nofollow"] == false && source != target {
            found.entry(target).or_default().insert(source);
        }
    }
    found.into_iter().map(|(target, sources)| (target, sources.len() as f64)).collect()
}

#[track_caller]
fn assert_sound(site: &Site) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn of_twenty_domains(sections: &str) -> Site {
    let options = SimOptions {
        domains: 20,
        hosts: 40,
        pages: 500,
        cross_links: 0.5,
        latency: Duration::from_millis(3),
        ..small(9)
    };
    Site::new(options, &format!("{RUSH}\n[crawl]\ncheckpoint_interval = \"1s\"\n{sections}"))
}

#[test]
fn supporters_after_several_kills_are_those_of_the_links_of_the_archive() {
    let site = of_twenty_domains(ROUNDS);
    for requests in [60, 150, 280, 400] {
        let child = site.crawl.start(&[]);
        site.wait_for_requests(requests);
        site.kill(child);
        assert_sound(&site);
    }
    assert_goes_on(&site);
    assert_sound(&site);
    let domains = rows(&site, &["report", "domains", "--json"]);
    let linked = linked(&site);
    // the line of a page in crawl.log may be gone with a process that was killed, and with the last one of a domain its
    // name, which the report then tells by its fingerprint
    let print = |name: &String| {
        let told = rows(&site, &["explain", &format!("http://{name}/"), "--json"]);
        format!("#{}", told[0]["fingerprints"]["domain"].as_str().unwrap())
    };
    let named = |told: &str| match told.starts_with('#') {
        true => linked.keys().find(|name| print(name) == told).map_or(told, |name| name).to_owned(),
        false => told.to_owned(),
    };
    let counted =
        domains.iter().map(|row| (named(row["domain"].as_str().unwrap()), row["supporters"].as_f64().unwrap()));
    let counted: BTreeMap<String, f64> = counted.filter(|(_, supporters)| *supporters > 0.0).collect();
    assert_eq!(counted, linked);
    assert!(counted.len() >= 19 && domains[0]["round"].as_u64() > Some(1), "{domains:#?}");
}

/// Returns how many supporters each domain has, by the links of the archive and by the domains of the seeds: the least
/// numbers that agree with all links.
fn standing(site: &Site) -> BTreeMap<String, f64> {
    let mut sources: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for link in rows(site, &["export", "links", "--jsonl"]) {
        let (source, target) = (domain(&link["source"]), domain(&link["target"]));
        if link["kind"] != "embed" && link["nofollow"] == false && source != target {
            sources.entry(target).or_default().insert(source);
        }
    }
    let seeds: BTreeSet<String> = site.web.seeds().iter().map(|seed| domain(&seed.as_str().into())).collect();
    let mut quarters: BTreeMap<String, u64> = BTreeMap::new();
    loop {
        let worth = |of: &String| match seeds.contains(of) {
            true => 4,
            false => (quarters.get(of).copied().unwrap_or(0) / 2).min(4),
        };
        let next = sources.iter().map(|(target, of)| (target.clone(), of.iter().map(worth).sum())).collect();
        if next == quarters {
            let counted = quarters.into_iter().filter(|(_, quarters)| *quarters > 0);
            return counted.map(|(domain, quarters)| (domain, quarters as f64 / 4.0)).collect();
        }
        quarters = next;
    }
}

#[test]
fn supporters_that_are_switched_on_later_count_as_if_all_pages_had_come_again() {
    let site = of_twenty_domains("[budget]\nby_supporters = \"off\"\n");
    assert_goes_on(&site);
    let path = site.crawl.path("crawler.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let on = "by_supporters = \"on\"\nsupporters_by_network = false\n";
    std::fs::write(&path, config.replace("by_supporters = \"off\"\n", on)).unwrap();
    assert_goes_on(&site);
    assert_sound(&site);
    let counted = rows(&site, &["report", "domains", "--json"]).into_iter().map(|row| {
        let name = row["domain"].as_str().unwrap().to_owned();
        (name, row["supporters"].as_f64().unwrap())
    });
    let counted: BTreeMap<String, f64> = counted.filter(|(_, supporters)| *supporters > 0.0).collect();
    assert_eq!(counted, standing(&site));
    assert!(counted.len() > 5, "{counted:#?}");
}

/// Checks crawls with the usual keys: counts depend on the order of pages, but every quarter that was counted has its
/// key.
#[test]
fn a_crawl_with_the_usual_budgets_of_the_whole_web_is_whole_and_sound_after_kills() {
    let site = of_twenty_domains("[budget]\nround_pages_min = 8\nround_pages_max = 40\n");
    for requests in [100, 300] {
        let child = site.crawl.start(&[]);
        site.wait_for_requests(requests);
        site.kill(child);
        assert_sound(&site);
    }
    assert_goes_on(&site);
    assert_sound(&site);
    let domains = rows(&site, &["report", "domains", "--json"]);
    assert!(domains.iter().any(|row| row["supporters"].as_f64() > Some(0.0)), "{domains:#?}");
    assert!(domains.iter().all(|row| row["queued"] == 0 && row["rests"] == false), "{domains:#?}");
}
