//! `crawler explain` and its sisters against real crawls of the synthetic web: stopped, killed, running.

use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::site::{PATIENCE, RUSH, Site, everything, interrupt, kill, wait};
use crawler::checkpoint::newest_record;
use crawler::disk::Disk;
use crawler::simweb::SimOptions;
use serde_json::Value;

fn begun(options: SimOptions) -> Site {
    let site = Site::new(options, &format!("{RUSH}give_up = \"1s\"\n[fetch]\nretries = 2\n"));
    configure(&site, |config| config.replace("mode = \"any\"", "mode = \"any\"\nexclude = ['\\.zip$']"));
    site
}

/// Changes the configuration.
fn configure(site: &Site, change: impl Fn(String) -> String) {
    let path = site.crawl.path("crawler.toml");
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
}

fn run(site: &Site, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).args(["--dir", "crawl"]).current_dir(site.crawl.dir.path()).output().unwrap()
}

fn explain(site: &Site, url: &str) -> Value {
    let output = run(site, &["explain", url, "--json"]);
    assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the last line of the report for people.
fn verdict(site: &Site, url: &str) -> String {
    let output = run(site, &["explain", url]);
    assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim_end().lines().last().unwrap().to_owned()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "no {what} came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn small() -> SimOptions {
    SimOptions {
        seed: 11,
        hosts: 60,
        pages: 900,
        latency: Duration::from_millis(2),
        server_error_share: 0.0,
        flaky_share: 0.0,
        robots_crawl_delay_share: 0.0,
        ..SimOptions::default()
    }
}

fn checkpoints(config: String) -> String {
    format!("{config}\n[crawl]\ncheckpoint_interval = \"1s\"\n")
}

fn said(told: &Value) -> &str {
    told["verdict"].as_str().unwrap()
}

#[test]
fn a_finished_crawl_answers_for_every_kind_of_url_and_is_not_touched() {
    let site = begun(SimOptions { robots_5xx_share: 0.1, robots_share: 0.5, ..small() });
    site.crawl.run(&["--quiet"]).expect(0, &[]);
    let before = everything(&site.crawl.path("crawl"));
    let (expected, port) = (site.web.expected(), site.web.http_port());

    let (page, _) = expected.pages.iter().find(|(_, page)| page.status == 200).unwrap();
    let told = explain(&site, page);
    assert!(said(&told).starts_with("was fetched 20") && said(&told).contains(", 200 OK, "), "{told:#}");
    assert_eq!(told["versions"].as_array().unwrap().len(), 1, "{told:#}");
    assert_eq!(told["versions"][0]["file"], "value-00000.warc.gz");
    assert_eq!((&told["seen"]["seen"], &told["queue"]), (&Value::Bool(true), &Value::Null), "{told:#}");
    assert!(told["crawl_log"].as_str().unwrap().contains(page.as_str()), "{told:#}");
    assert_eq!(told["crawl"]["settings"], "the last run");
    assert!(told["dns"]["addresses"][0].as_str().unwrap().starts_with("127."), "{told:#}");

    // a redirect and what it leads to tell of each other
    let redirects = expected.pages.iter().filter(|(_, page)| (301..400).contains(&page.status));
    let mut met = 0;
    for (url, _) in redirects.take(12) {
        let told = explain(&site, url);
        let Some(target) = told["redirects_to"][0]["url"].as_str() else { panic!("{told:#}") };
        assert!(said(&told).contains("; it redirects to "), "{told:#}");
        let back = explain(&site, target);
        let from = back["redirected_from"].as_array().unwrap();
        if back["found"]["hops"].as_str().is_some_and(|hops| hops.ends_with('R')) {
            assert!(!from.is_empty(), "{back:#}");
            met += usize::from(from[0]["url"] == url.as_str());
        } else {
            assert!(from.is_empty(), "{back:#}");
        }
    }
    assert!(met > 0, "no target was found by its redirect");

    for url in expected.disallowed.iter().take(8) {
        let told = explain(&site, url);
        assert!(said(&told).starts_with("never: robots.txt line "), "{told:#}");
        assert!(said(&told).contains("(group *"), "{told:#}");
        assert_eq!(told["robots"]["allowed"], false);
        assert_eq!(told["robots"]["archived"]["status"], 200);
    }
    for host in expected.robots_unreachable.iter().take(3) {
        let told = explain(&site, &format!("http://{host}:{port}/"));
        assert!(said(&told).contains("host given up") || said(&told).contains("host is given up"), "{told:#}");
        assert_eq!(told["host"]["gone"], "host given up", "{told:#}");
    }
    let gone =
        expected.unfetched.iter().find(|url| expected.unresolvable.iter().any(|name| url.contains(name.as_str())));
    if let Some(gone) = gone {
        let told = explain(&site, gone);
        assert!(said(&told).contains("no such host") || said(&told).contains("given up"), "{told:#}");
    }
    let root = page.split('/').take(3).collect::<Vec<_>>().join("/");
    let unknown = explain(&site, &format!("{root}/nobody-links-to-this"));
    assert!(said(&unknown).starts_with("is not known"), "{unknown:#}");
    assert_eq!(unknown["seen"]["seen"], false);
    let outside = verdict(&site, &format!("{root}/x.zip"));
    assert!(outside.ends_with("never: out of scope: scope.exclude: \\.zip$."), "{outside}");
    assert!(
        verdict(&site, "http://10.0.0.1/").contains("never: private address: 10.0.0.1 is outside the public internet")
    );
    assert!(verdict(&site, &format!("{root}/a?\u{1b}[2J")).starts_with("http"), "escapes are encoded");
    assert_eq!(everything(&site.crawl.path("crawl")), before, "explain changed a file");
}

#[test]
fn n21_a_url_of_another_spelling_is_known_and_another_configuration_can_be_asked() {
    let site = begun(SimOptions { hosts: 4, pages: 30, sitemap_share: 1.0, ..small().smooth() });
    site.crawl.run(&["--quiet"]).expect(0, &[]);
    let log = fs::read_to_string(site.crawl.path("crawl/logs/crawl.log")).unwrap();
    let (sitemap, notes) = log
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
        .find_map(|columns| columns[11].contains("itemap").then(|| (columns[3].to_owned(), columns[11].to_owned())))
        .unwrap();
    let kinds = [("sitemap:", "a sitemap"), ("sitemapIndex:", "an index of sitemaps"), ("text", "a text sitemap")];
    let (_, kind) = kinds.iter().find(|(note, _)| notes.starts_with(note)).unwrap();
    assert_eq!(explain(&site, &sitemap)["listing"], *kind, "{notes}");
    let text = String::from_utf8(run(&site, &["explain", &sitemap]).stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("read as") && line.ends_with(kind)), "{text}");
    let seed = site.web.seeds()[0].clone();
    let told = explain(&site, &format!("{seed}?utm_source=x"));
    assert!(said(&told).starts_with(&format!("was fetched as {seed} 20")), "{told:#}");
    assert_eq!(told["fetched_as"], seed.as_str(), "{told:#}");
    assert!(told["crawl_log"].as_str().unwrap().contains(seed.as_str()), "{told:#}");
    let by_key = run(&site, &["get", &format!("{seed}?utm_source=x"), "--headers"]);
    assert_eq!((by_key.status.code(), by_key.stdout.starts_with(b"HTTP/1.1 200")), (Some(0), true));
    assert_eq!(String::from_utf8(by_key.stderr).unwrap(), format!("crawler: it was fetched as {seed}\n"));
    assert_eq!((told["key_form"].as_str(), told["found"]["seed"].as_str()), (Some(seed.as_str()), Some(seed.as_str())));
    fs::write(site.crawl.path("strict.toml"), "[scope]\nmode = \"host\"\n[crawl]\nmax_depth = 0\n").unwrap();
    let output = run(&site, &["explain", "http://elsewhere.example/", "--config", "strict.toml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("never: out of scope: no seed takes it in by scope.mode = \"host\""), "{text}");
    let told: Value = serde_json::from_slice(
        &run(&site, &["explain", &format!("{seed}deep"), "--config", "strict.toml", "--json"]).stdout,
    )
    .unwrap();
    assert_eq!(told["scope"]["seed"], seed.as_str(), "{told:#}");
}

#[test]
fn a_url_that_is_left_out_as_too_deep_says_so_and_names_the_page_that_links_there() {
    let site = begun(small().smooth());
    site.crawl.run(&["--quiet", "--max-depth", "1"]).expect(0, &[]);
    let skipped = fs::read_to_string(site.crawl.path("crawl/logs/skipped.jsonl")).unwrap();
    let mut lines = skipped.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.find(|line| line["reason"] == "too deep").unwrap();
    let (url, rule) = (line["url"].as_str().unwrap(), line["rule"].as_str().unwrap());
    let (limit, page) = rule.split_once(": a link of ").unwrap();
    assert_eq!(limit, "depth 2 is more than crawl.max_depth = 1");
    assert_eq!(said(&explain(&site, url)), format!("was skipped: too deep: {rule}"));
    assert!(said(&explain(&site, page)).starts_with("was fetched"), "{page}");
    let unknown = explain(&site, &format!("{page}/nowhere"));
    let others = "apart from nofollow links and pages and links deeper than crawl.max_depth = 1";
    assert!(said(&unknown).contains(others), "{unknown:#}");
}

#[test]
fn a_crawl_that_was_killed_says_what_is_queued_and_what_was_fetched() {
    let site = begun(small().smooth());
    // no domain has had its pages of a round, which explain would say instead
    configure(&site, |config| format!("{}[budget]\nby_supporters = \"off\"\n", checkpoints(config)));
    let child = site.crawl.start(&["--quiet"]);
    // a file that is being written is none yet
    wait_until("checkpoint", || {
        let found = newest_record(&Disk::real(), &site.crawl.path("crawl"));
        found.is_ok_and(|checkpoint| checkpoint.is_some())
    });
    site.wait_for_requests(120);
    kill(child);
    let stored = site.crawl.stored();
    let expected = site.web.expected();
    for url in stored.keys().step_by(stored.len() / 10 + 1) {
        let told = explain(&site, url);
        assert!(said(&told).starts_with("was fetched"), "{told:#}");
    }
    let waiting: Vec<&String> = expected.pages.keys().filter(|url| !stored.contains_key(*url)).collect();
    let mut queued = 0;
    for url in waiting.iter().step_by(waiting.len() / 25 + 1) {
        let told = explain(&site, url);
        assert_eq!(told["versions"].as_array().unwrap().len(), 0, "{told:#}");
        let words = ["is queued; ", "is on its way", "is not known", "was seen, but is neither"];
        assert!(words.iter().any(|word| said(&told).starts_with(word)), "{told:#}");
        queued += usize::from(told["queue"].is_object());
        assert_eq!(told["crawl"]["running"], false);
    }
    assert!(queued > 0 || waiting.is_empty(), "of {} nothing is queued", waiting.len());
    // and it goes on as if nobody had asked
    site.crawl.run(&["--quiet"]).expect(0, &[]);
    let stored = site.crawl.stored();
    assert!(expected.pages.keys().all(|url| stored.contains_key(url)) || stored.len() >= expected.pages.len());
    for url in waiting.iter().take(5) {
        assert!(said(&explain(&site, url)).starts_with("was fetched"), "{url}");
    }
}

#[test]
fn a_resting_host_says_when_and_how_many_come_before() {
    let site = begun(SimOptions { hosts: 1, pages: 40, robots_share: 0.0, ..small().smooth() });
    let slow = "delay_factor = 0.0\ndelay_min = \"3s\"";
    configure(&site, |config| config.replace("delay_factor = 0.0\ndelay_min = \"0s\"", slow));
    let child = site.crawl.start(&["--quiet"]);
    wait_until("page", || site.web.log().iter().any(|request| !request.path.starts_with("/robots.txt")));
    // the page that was asked for is stored and its links are queued when the crawl has stopped gracefully
    interrupt(child).expect(11, &[]);
    let stored = site.crawl.stored();
    let mut places = Vec::new();
    for url in site.web.expected().pages.keys().filter(|url| !stored.contains_key(*url)) {
        let told = explain(&site, url);
        let Some(queue) = told["queue"].as_object() else { continue };
        assert!(said(&told).starts_with("is queued; would be fetched when the crawl continues, "), "{told:#}");
        assert_eq!((&told["host"]["delay_ms"], &told["robots"]["allowed"]), (&3_000.into(), &true.into()), "{told:#}");
        places.push((queue["before"].as_u64().unwrap(), said(&told).to_owned()));
        assert_eq!(told["found"]["via"], site.web.seeds()[0].as_str(), "{told:#}");
    }
    places.sort();
    assert!(places.len() > 2, "{places:?}");
    assert!(places.iter().enumerate().all(|(n, (before, _))| *before == n as u64), "{places:#?}");
    assert!(places[2].1.contains("2 URLs of its host are ahead of it, one every 3 s or more"), "{places:#?}");
}

#[test]
fn a_running_crawl_is_explained_again_and_again_and_not_disturbed() {
    let site = begun(SimOptions { latency: Duration::from_millis(15), pages: 1_500, ..small() });
    configure(&site, |config| {
        format!("{config}\n[crawl]\ncheckpoint_interval = \"1s\"\n[drum]\nram_per_bucket = \"4KiB\"\n")
    });
    let mut child = site.crawl.start(&["--quiet"]);
    site.wait_for_requests(20);
    let urls: Vec<String> = site.web.expected().pages.keys().cloned().collect();
    let (mut asked, mut running, mut with_checkpoint) = (0, 0, 0);
    while child.try_wait().unwrap().is_none() && asked < 400 {
        let told = explain(&site, &urls[asked * 37 % urls.len()]);
        asked += 1;
        running += usize::from(told["crawl"]["running"] == true);
        with_checkpoint += usize::from(told["crawl"]["checkpoint"].is_u64());
    }
    assert!(running > 0 && with_checkpoint > 0, "{asked} asked, {running} while it ran, {with_checkpoint} with state");
    wait(child).expect(0, &[]);
    let stored = site.crawl.stored();
    let missing: Vec<_> = urls.iter().filter(|url| !stored.contains_key(*url)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn private_addresses_and_a_crawl_without_checkpoint_are_told() {
    let site = begun(SimOptions { hosts: 4, pages: 12, ..small().smooth() });
    configure(&site, |config| config.replace("allow = [\"127.0.0.0/8\"]", "allow = []"));
    site.crawl.run(&["--quiet"]).expect(5, &[]);
    let told = explain(&site, &site.web.seeds()[0]);
    assert!(said(&told).contains("private address"), "{told:#}");
    assert_eq!(told["dns"]["answer"], "private address", "{told:#}");

    let site = begun(SimOptions { latency: Duration::from_millis(50), ..small().smooth() });
    configure(&site, |config| format!("{config}\n[crawl]\ncheckpoint_interval = \"1h\"\n"));
    let child = site.crawl.start(&["--quiet"]);
    site.wait_for_requests(10);
    kill(child);
    let told = explain(&site, &format!("{}nowhere", site.web.seeds()[0]));
    assert!(said(&told).contains("there is no checkpoint yet"), "{told:#}");
    assert!(told["notes"][0].as_str().unwrap().contains("no checkpoint yet"), "{told:#}");
}

#[test]
fn a_directory_without_a_crawl_and_what_is_no_url_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (args, hint) in [
        (&["explain", "https://example.com/"][..], "no crawl in ./crawl"),
        (&["explain", "example.com"], "write it with its scheme"),
        (&["explain", "ftp://example.com/"], "only http and https"),
        (&["canonical", "https://example.com/", "--dir", "none"], "no crawl in none"),
        (&["robots", "none.txt", "--agent", "x", "/"], "cannot read none.txt"),
        (&["robots", "none.txt", "/"], "--agent"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_crawler")).args(args).current_dir(dir.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(hint) && output.stdout.is_empty(), "{args:?}: {said}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn canonical_forms_have_the_fingerprints_that_explain_tells() {
    let site = begun(SimOptions { hosts: 4, pages: 12, ..small().smooth() });
    site.crawl.run(&["--quiet"]).expect(0, &[]);
    let seed = &site.web.seeds()[0];
    let told = explain(&site, seed);
    let output = run(&site, &["canonical", seed]);
    let line = String::from_utf8(output.stdout).unwrap();
    let columns: Vec<&str> = line.trim_end().split('\t').collect();
    assert_eq!(columns.len(), 9, "{line}");
    let prints = &told["fingerprints"];
    assert_eq!(
        columns[5..],
        [&prints["key"], &prints["origin"], &prints["host"], &prints["domain"]].map(|v| v.as_str().unwrap())
    );
    let output = run(&site, &["canonical", seed, "nonsense"]);
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(2), line.clone()));
}
