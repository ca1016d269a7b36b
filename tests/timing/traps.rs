//! Traps among ordinary hosts, against the real binary: the ordinary ones end exactly as expected, the traps within
//! their budgets, and the crawl says which they were.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::site::{RUSH, Site, ms};
use crawler::simweb::{SimOptions, TrapKind};

const HOSTS: usize = 100;
const TRAPS: usize = 16;
const PER_HOST: u64 = 150;
const PER_DOMAIN: u64 = 400;
const PER_PATTERN: u64 = 70;

fn web(traps: usize, kinds: &[TrapKind]) -> SimOptions {
    SimOptions {
        hosts: HOSTS,
        pages: 500,
        page_bytes: 800,
        links: 6,
        robots_5xx_share: 0.0,
        traps,
        trap_kinds: kinds.to_vec(),
        drip: ms(400),
        ..SimOptions::default()
    }
    .smooth()
}

fn config() -> String {
    format!(
        "{RUSH}give_up = \"2s\"\n[budget]\npages_per_host = {PER_HOST}\npages_per_domain = {PER_DOMAIN}\n\
         [fetch]\nretries = 1\ntimeout_head = \"2s\"\ntimeout_connect = \"3s\"\ntimeout_total = \"3s\"\n"
    )
}

/// Returns a site with the settings of a synthetic web that have to be in its configuration's sections.
fn site(options: SimOptions) -> Site {
    site_with(options, &format!("max_urls_per_pattern = {PER_PATTERN}\n"))
}

fn site_with(options: SimOptions, scope: &str) -> Site {
    let site = Site::new(options, &config());
    let path = site.crawl.path("crawler.toml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("mode = \"any\"\n", &format!("mode = \"any\"\n{scope}"));
    fs::write(path, text).unwrap();
    site
}

/// Pages stored of every trap, by the domain's name, and of every host of them.
fn trapped(site: &Site) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let (mut domains, mut hosts) = (BTreeMap::new(), BTreeMap::new());
    for url in site.crawl.stored().keys().filter(|url| site.web.expected().is_trap(url)) {
        let host = url.split('/').nth(2).unwrap().split(':').next().unwrap();
        *domains.entry(host.split_once('.').unwrap().1.to_owned()).or_default() += 1;
        *hosts.entry(host.to_owned()).or_default() += 1;
    }
    (domains, hosts)
}

fn skipped(site: &Site) -> Vec<(String, String, String)> {
    let text = fs::read_to_string(site.crawl.path("crawl/logs/skipped.jsonl")).unwrap();
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        ["url", "reason", "rule"].map(|key| line[key].as_str().unwrap().to_owned()).into()
    };
    text.lines().map(line).collect()
}

#[test]
fn s18_traps_end_within_their_budgets_and_the_other_hosts_are_crawled_exactly() {
    let site = site(web(TRAPS, &TrapKind::ALL));
    let ended = site.crawl.run(&[]);
    ended.expect(0, &["complete: no URL is left"]);
    site.assert_whole();

    let (domains, hosts) = trapped(&site);
    assert_eq!(site.web.expected().traps.len(), TRAPS);
    assert!(hosts.values().all(|&pages| pages <= PER_HOST), "{hosts:?}");
    assert!(domains.values().all(|&pages| pages <= PER_DOMAIN), "{domains:?}");
    // of each kind: the domain or host, and what has to be said of it
    let port = site.web.http_port();
    let said = |kind: TrapKind| {
        let trap = TrapKind::ALL.iter().position(|&other| other == kind).unwrap();
        (format!("http://www.trap{trap}.example:{port}"), format!("trap{trap}.example"))
    };
    let skipped = skipped(&site);
    let rules: BTreeSet<(&str, &str)> = skipped.iter().map(|(_, reason, rule)| (&**reason, &**rule)).collect();
    for kind in [TrapKind::Maze, TrapKind::SessionQuery, TrapKind::Sitemaps] {
        let (origin, domain) = said(kind);
        assert_eq!(domains[&domain], PER_HOST, "{kind:?}");
        let rule = format!("budget.pages_per_host = {PER_HOST}: {origin}");
        assert!(rules.contains(&("page budget of its host", &rule)), "{kind:?}: {rules:?}");
    }
    let (_, wildcard) = said(TrapKind::Wildcard);
    assert_eq!(domains[&wildcard], PER_DOMAIN);
    let rule = format!("budget.pages_per_domain = {PER_DOMAIN}: {wildcard}");
    assert!(rules.contains(&("page budget of its domain", &rule)), "{rules:?}");
    let (_, calendar) = said(TrapKind::Calendar);
    // the root, and what the pattern lets in
    assert_eq!(domains[&calendar], PER_PATTERN + 1);
    assert!(rules.contains(&("too many of its pattern", "/cal/#/#/#")), "{rules:?}");
    assert!(rules.contains(&("too many of its pattern", "/s/#/apples")), "{rules:?}");

    // the closing report names the worst of them
    for name in [&wildcard, &said(TrapKind::Maze).0, &said(TrapKind::SessionQuery).0] {
        let told = ended.said.lines().any(|line| line.starts_with("over ") && line.contains(&**name));
        assert!(told, "{name} is not named in\n{}", ended.said);
    }
    assert!(ended.said.contains("over pages_per_host") && ended.said.contains("over pages_per_domain"));
    assert!(ended.said.contains("over a limit"), "{}", ended.said);
    assert!(ended.said.lines().filter(|line| line.starts_with("over ")).count() <= 11, "{}", ended.said);
}

#[test]
fn s18_a_trap_that_was_killed_over_and_over_keeps_to_its_budget() {
    let kinds = [TrapKind::Maze, TrapKind::Wildcard, TrapKind::SessionPath, TrapKind::Sitemaps];
    let site = site(SimOptions { hosts: 10, pages: 60, ..web(4, &kinds) });
    for round in 1..=3 {
        let child = site.crawl.start(&[]);
        let before = site.log().len();
        site.wait_for_requests(before + 30 * round);
        site.kill(child);
    }
    site.crawl.run(&[]).expect(0, &["complete: no URL is left"]);
    site.assert_whole();
    let (domains, hosts) = trapped(&site);
    assert!(hosts.values().all(|&pages| pages <= PER_HOST), "{hosts:?}");
    assert_eq!(domains["trap1.example"], PER_DOMAIN, "{domains:?}");
}

#[test]
fn s18_a_trap_that_says_the_same_everywhere_ends_soon_and_is_told_whatever_kills_the_crawl() {
    const FOLLOWED: u64 = 10;
    // links of a page of the trap
    const FAN: u64 = 8;
    for kills in [0, 3] {
        let options = SimOptions { hosts: 10, pages: 60, ..web(2, &[TrapKind::SameText]) };
        let site = site_with(options, &format!("max_pages_per_text = {FOLLOWED}\n"));
        for round in 1..=kills {
            let child = site.crawl.start(&[]);
            let before = site.log().len();
            site.wait_for_requests(before + 20 * round);
            site.kill(child);
        }
        let ended = site.crawl.run(&[]);
        ended.expect(0, &["complete: no URL is left", "max_pages_per_text"]);
        site.assert_whole();
        let (domains, _) = trapped(&site);
        let stored = 1 + FOLLOWED * FAN;
        assert_eq!((domains["trap0.example"], domains["trap1.example"]), (stored, stored), "{kills} kills");
        if kills > 0 {
            continue;
        }
        let skipped = skipped(&site);
        let left_out: Vec<_> = skipped.iter().filter(|(_, why, _)| why == "on one of many pages of one text").collect();
        assert_eq!(left_out.len() as u64, 2 * (stored - FOLLOWED) * FAN);
        let (link, _, rule) = left_out[0];
        let page = rule.strip_prefix("scope.max_pages_per_text = 10: ").unwrap();
        let explain = |url: &str| {
            let run = std::process::Command::new(env!("CARGO_BIN_EXE_crawler"))
                .args(["explain", url])
                .current_dir(site.crawl.dir.path())
                .output()
                .unwrap();
            String::from_utf8(run.stdout).unwrap()
        };
        let told = explain(page);
        assert!(told.contains("its links are not followed: too many pages of its host say nearly the same"), "{told}");
        let told = explain(link);
        assert!(told.contains("was skipped: on one of many pages of one text"), "{told}");
    }
}

#[test]
fn s19_every_crawl_draws_fingerprints_of_its_own_and_keeps_them() {
    let site = site(SimOptions { hosts: 2, pages: 4, ..web(0, &[]) });
    let url = site.web.seeds()[0].clone();
    let fingerprints = |dir: &str| {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_crawler"))
            .args(["explain", &url, "--json", "--dir", dir])
            .current_dir(site.crawl.dir.path())
            .output()
            .unwrap();
        let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let found = told.pointer("/url/fingerprints").or_else(|| told.pointer("/fingerprints"));
        found.unwrap_or_else(|| panic!("no fingerprints in {told}")).clone()
    };
    site.crawl.run(&[]).expect(0, &[]);
    let first = fingerprints("crawl");
    site.crawl.run(&[]).expect(0, &[]);
    assert_eq!(fingerprints("crawl"), first, "a resumed crawl keeps its polynomial");
    site.crawl.run(&["--fresh"]).expect(0, &[]);
    assert_ne!(fingerprints("crawl"), first, "a fresh crawl has another one");
}

#[test]
fn n14_servers_that_drip_do_not_end_a_crawl_that_may_open_few_files() {
    const DRIPPING: usize = 260;
    let options = SimOptions { drip: ms(3_600_000), hosts: 20, pages: 60, ..web(DRIPPING, &[TrapKind::Drip]) };
    let config = format!(
        "{RUSH}give_up = \"1s\"\n[fetch]\nworkers = 4\n\
         timeout_head = \"500ms\"\ntimeout_connect = \"500ms\"\ntimeout_total = \"1s\"\n"
    );
    let site = Site::new(options, &config);
    let child = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 256 && exec \"$0\" --seeds seeds.txt --config crawler.toml --dir crawl --max-time 15s"])
        .arg(env!("CARGO_BIN_EXE_crawler"))
        .current_dir(site.crawl.dir.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let ended = crate::site::wait(child);
    // what drips would go on for long
    ended.expect(0, &["time limit reached", "the limit of open files is 256: fetch.slow_workers is 33"]);
    for words in ["no file is left", "Too many open files"] {
        assert!(!ended.said.contains(words), "{}", ended.said);
    }
    let pages = &site.web.expected().pages;
    assert!(site.crawl.stored().keys().any(|url| pages.contains_key(url)), "{}", ended.said);
}
