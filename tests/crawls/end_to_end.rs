//! The real binary against the synthetic web: real sockets, real DNS, real files, real signals.
//!
//! The synthetic web knows what a right crawl ends with and keeps a log of every request it served; that log is the
//! judge of politeness and of what was asked for twice.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::site::{PATIENCE, RUSH, Site, kill, wait};
use crawler::simweb::{Limits, SimOptions, judge};

fn begun(options: SimOptions) -> Site {
    with(options, "")
}

/// A site whose configuration has `extra` sections. Twice is as often as a flaky page fails, and every retry of one
/// that stays broken holds its host back.
fn with(options: SimOptions, extra: &str) -> Site {
    Site::new(options, &format!("{RUSH}give_up = \"1s\"\n[fetch]\nretries = 2\n{extra}"))
}

/// Exit code and output of `crawler verify`.
fn verify(site: &Site, options: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).args(options).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

fn small() -> SimOptions {
    SimOptions { seed: 11, hosts: 60, pages: 900, latency: Duration::from_millis(2), ..SimOptions::default() }
}

#[test]
fn a_crawl_of_the_synthetic_web_ends_with_exactly_the_expected_pages() {
    let site = begun(SimOptions { seed: 5, hosts: 400, pages: 8_000, ..small() });
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    site.assert_obedient();
    assert_eq!(site.fetched_twice(), Vec::<String>::new());
}

#[test]
fn pages_with_the_same_content_are_stored_once_and_read_from_everywhere_also_after_a_kill() {
    use sha1::Digest;
    let site = with(
        SimOptions { hosts: 6, pages: 240, duplicate_share: 0.4, ..small().smooth() },
        "[crawl]\ncheckpoint_interval = \"1h\"\n",
    );
    let child = site.crawl.start(&[]);
    site.wait_for_requests(150);
    kill(child);
    site.crawl.run(&[]).expect(0, &["stored as references"]);
    site.assert_whole();
    let read = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(args).arg("--dir").arg(site.crawl.path("crawl")).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let lines = String::from_utf8(read(&["list", "--json"])).unwrap();
    let entries: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut stored: HashMap<&str, u32> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry["status"] == 200) {
        *stored.entry(entry["digest"].as_str().unwrap()).or_default() += u32::from(entry["revisit"] == false);
    }
    assert!(stored.values().all(|&times| times == 1), "{stored:#?}");
    let revisits: Vec<&str> =
        entries.iter().filter(|entry| entry["revisit"] == true).map(|entry| entry["url"].as_str().unwrap()).collect();
    assert!(revisits.len() > 30, "{}", revisits.len());
    let expected = site.web.expected();
    for url in &revisits {
        let digest: [u8; 20] = sha1::Sha1::digest(read(&["get", url])).into();
        assert_eq!(digest, expected.pages[*url].body_sha1, "{url}");
    }
    let record = String::from_utf8(read(&["get", revisits[0], "--warc"])).unwrap();
    assert!(record.contains("WARC-Type: revisit\r\n") && record.contains(revisits[0]), "{record}");
    let titles = String::from_utf8(read(&["extract", "--select", "title"])).unwrap();
    assert!(revisits.iter().all(|url| titles.contains(*url)), "{titles}");
    let status: serde_json::Value = serde_json::from_slice(&read(&["status", "--json"])).unwrap();
    assert!(status["statistics"]["revisits"].as_u64().unwrap() >= revisits.len() as u64, "{status}");
}

#[test]
fn delays_and_single_connections_hold_by_the_servers_own_log() {
    let options = SimOptions { hosts: 12, pages: 60, addresses: 3, ..small().smooth() };
    let politeness = "delay_min = \"150ms\"\ndelay_factor = 0.0\ndelay_per_ip = \"60ms\"\ngive_up = \"2s\"\n";
    let site = Site::new(options, politeness);
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    let limits = Limits {
        // from the end of an answer to the next request nothing can shrink the gap; between the starts of two hosts'
        // requests a busy machine can, by as much as the first one is seen late
        delay_min: Duration::from_millis(140),
        per_ip: Duration::from_millis(10),
        ..Limits::default()
    };
    let violations = judge(&site.web.log(), &limits);
    assert!(violations.is_empty(), "{violations:#?}");
}

#[test]
fn pages_that_only_sitemaps_name_are_found_also_after_kills() {
    let options = SimOptions { sitemap_share: 1.0, robots_share: 0.4, ..small() };
    let site = with(options, "[crawl]\ncheckpoint_interval = \"1s\"\n");
    let expected = site.web.expected();
    let (listed, sitemaps) =
        ["/listed/", "/sitemap"].map(|part| expected.pages.keys().filter(|url| url.contains(part)).count()).into();
    assert!(listed > 50 && sitemaps > 30, "{listed} pages, {sitemaps} sitemaps");
    for round in 1..=4 {
        let child = site.crawl.start(&[]);
        let before = site.web.log().len();
        site.wait_for_requests(before + 80 + 20 * round);
        kill(child);
    }
    let output = site.crawl.run(&[]);
    output.expect(0, &[]);
    site.assert_whole();
    site.assert_obedient();
    let row = output.said.lines().find(|line| line.starts_with("sitemaps")).map(str::to_owned);
    assert!(row.as_ref().is_some_and(|row| row.contains(" read, ")), "{row:?}");
}

#[test]
fn without_the_word_of_the_configuration_no_sitemap_is_fetched() {
    let site = with(
        SimOptions { sitemap_share: 1.0, hosts: 6, pages: 60, ..small().smooth() },
        "[robots]\nsitemaps = false\n",
    );
    site.crawl.run(&[]).expect(0, &[]);
    assert!(
        site.web.log().iter().all(|request| !request.path.contains("/sitemap") && !request.path.contains("/listed/"))
    );
}

#[test]
fn a_page_limit_counts_over_the_whole_crawl() {
    // what pages embed would not count
    let site = begun(SimOptions { varied_markup: false, ..small().smooth() });
    let limited = |limit: &str| site.crawl.run(&["--max-pages", limit]);
    // redirects do not count either
    let pages = || site.crawl.stored().into_values().filter(|status| !(300..400).contains(status)).count();
    limited("40").expect(0, &[]);
    assert_eq!(pages(), 40);
    limited("40").expect(0, &[]);
    assert_eq!(pages(), 40);
    limited("70").expect(0, &[]);
    assert_eq!(pages(), 70);
}

#[test]
fn one_page_stop_and_resume() {
    // what the page embeds would come with it
    let site = begun(SimOptions { varied_markup: false, ..small().smooth() });
    let one = &site.web.seeds()[0];
    fs::write(site.crawl.path("seeds.txt"), one).unwrap();
    let run = |depth: &str| site.crawl.run(&["--max-depth", depth]);
    run("0").expect(0, &[]);
    assert_eq!(site.crawl.stored().len(), 1);
    let again = run("0");
    again.expect(0, &["complete"]);
    assert_eq!(site.crawl.stored().len(), 1);
    assert_eq!(site.fetched_twice(), Vec::<String>::new());
}

#[test]
fn private_addresses_are_refused_without_the_configurations_word() {
    let site = begun(small().smooth());
    let config = site.web.config_toml().replace("allow = [\"127.0.0.0/8\"]", "allow = []");
    fs::write(site.crawl.path("crawler.toml"), config).unwrap();
    site.crawl.run(&[]).expect(5, &["network.allow"]);
    assert!(site.web.log().is_empty());
}

#[test]
fn a_seed_whose_host_does_not_resolve_ends_the_crawl_with_nothing_fetched() {
    let site = begun(small().smooth());
    fs::write(site.crawl.path("seeds.txt"), "http://nowhere.invalid/\n").unwrap();
    site.crawl.run(&[]).expect(5, &["no such host"]);
}

#[test]
fn a_bad_line_among_the_seeds_is_reported_and_the_rest_is_crawled() {
    let site = begun(small().smooth());
    let seeds = format!("# comment\r\n\r\nhttp://[broken\r\n{}\r\n", site.web.seeds()[0]);
    fs::write(site.crawl.path("seeds.txt"), format!("\u{feff}{seeds}")).unwrap();
    site.crawl.run(&["--max-depth", "0"]).expect(0, &["seeds.txt:3"]);
    assert_eq!(site.crawl.stored().len(), 1);
}

#[test]
fn a_second_signal_stops_at_once_and_the_next_run_goes_on() {
    let site = begun(SimOptions { latency: Duration::from_millis(800), hosts: 4, pages: 12, ..small().smooth() });
    let mut child = site.crawl.start(&[]);
    site.wait_for_requests(1);
    signal(&child, rustix::process::Signal::INT);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("stopping")), "no word of the graceful stop");
    signal(&child, rustix::process::Signal::INT);
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(13));
    let word = "stopped immediately; the next run recovers what was stored after the last checkpoint";
    assert!(said.iter().any(|line| line.contains(word)), "{said:#?}");
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
}

#[test]
fn a_crawl_that_was_stopped_at_once_before_its_first_checkpoint_tells_what_is_in_the_archive() {
    let options = SimOptions { latency: Duration::from_millis(400), hosts: 20, pages: 120, ..small().smooth() };
    let site = with(options, "[crawl]\ncheckpoint_interval = \"1h\"\n");
    let mut child = site.crawl.start(&[]);
    site.wait_for_requests(60);
    signal(&child, rustix::process::Signal::INT);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("stopping")), "no word of the graceful stop");
    signal(&child, rustix::process::Signal::INT);
    lines.for_each(|line| drop(line.unwrap()));
    assert_eq!(child.wait().unwrap().code(), Some(13));
    let told = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(args).args(["--dir", "crawl"]).current_dir(site.crawl.dir.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = told(&["list", "--all", "--robots"]).lines().count();
    let status = told(&["status"]);
    assert!(listed > 1, "{status}");
    let words = format!("run the same command again: {listed} records are in the archive");
    assert!(status.contains("no checkpoint yet") && status.contains(&words), "{status}");
    site.crawl.run(&[]).expect(0, &[&format!("{listed} responses stored after the last checkpoint")]);
    site.assert_whole();
}

#[test]
fn a_checkpoint_is_made_on_demand() {
    let site = with(small(), "[crawl]\ncheckpoint_interval = \"1h\"\n");
    let child = site.crawl.start(&[]);
    site.wait_for_requests(100);
    assert!(!site.crawl.path("crawl/checkpoint.g000001").exists());
    signal(&child, rustix::process::Signal::USR1);
    let start = Instant::now();
    while !site.crawl.path("crawl/status.json").exists() {
        assert!(start.elapsed() < PATIENCE, "no checkpoint came");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, rustix::process::Signal::TERM);
    wait(child).expect(11, &[]);
}

#[test]
fn a_seed_without_scheme_is_tried_by_https_and_then_by_http() {
    let site = begun(small().smooth());
    let plain = &site.web.seeds()[0];
    let bare = plain.strip_prefix("http://").unwrap();
    fs::write(site.crawl.path("seeds.txt"), bare).unwrap();
    site.crawl.run(&["--max-depth", "0"]).expect(0, &[]);
    assert_eq!(site.crawl.stored().keys().collect::<Vec<_>>(), [plain]);
}

#[test]
fn a_live_crawl_is_read_without_disturbing_it() {
    let site = with(small(), "[crawl]\ncheckpoint_interval = \"1s\"\n");
    let child = site.crawl.start(&[]);
    site.wait_for_requests(200);
    let listing = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["list", "--dir"])
        .arg(site.crawl.path("crawl"))
        .output()
        .unwrap();
    assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
    assert!(!listing.stdout.is_empty());
    wait(child).expect(0, &[]);
    site.assert_whole();
}

#[test]
fn verify_beside_a_running_crawl_finds_no_damage_and_after_a_kill_none_either() {
    let site =
        with(SimOptions { latency: Duration::from_millis(40), ..small() }, "[crawl]\ncheckpoint_interval = \"1s\"\n");
    let child = site.crawl.start(&[]);
    site.wait_for_requests(50);
    let (code, _) = verify(&site, &["--rebuild"]);
    assert_eq!(code, Some(6), "a rebuild beside a running crawl");
    for requests in [60, 150, 300] {
        site.wait_for_requests(requests);
        let (code, said) = verify(&site, &[]);
        assert_eq!(code, Some(0), "{said}");
    }
    kill(child);
    let (code, said) = verify(&site, &[]);
    assert_eq!(code, Some(0), "{said}");
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    let (code, said) = verify(&site, &[]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_crawl_goes_on_after_its_lost_index_was_made_again() {
    let site = with(small(), "[crawl]\ncheckpoint_interval = \"1s\"\n");
    // stopped in good order, then killed with pages behind the last checkpoint
    for kill in [false, true] {
        let mut child = site.crawl.start(&[]);
        let before = site.web.log().len();
        site.wait_for_requests(before + 250);
        if kill {
            child.kill().unwrap();
        } else {
            signal(&child, rustix::process::Signal::INT);
        }
        wait(child);
        let stored = site.crawl.stored();
        for name in ["key.dat", "address.idx", "address.ovf", "address.dw"] {
            let _ = fs::remove_file(site.crawl.path("crawl/pages").join(name));
        }
        if kill {
            fs::write(site.crawl.path("crawl/pages/key.dat"), b"garbage").unwrap();
            fs::write(site.crawl.path("crawl/pages/address.idx"), vec![7; 9_000]).unwrap();
        }
        let (code, said) = verify(&site, &[]);
        assert_eq!(code, Some(3), "{said}");
        let (code, said) = verify(&site, &["--rebuild"]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(site.crawl.stored(), stored);
        let (code, said) = verify(&site, &[]);
        assert_eq!(code, Some(0), "{said}");
    }
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    site.assert_obedient();
    let (code, said) = verify(&site, &[]);
    assert_eq!(code, Some(0), "{said}");
}

/// The directory of a crawl holds what the documentation says and nothing else.
#[test]
fn the_crawl_directory_has_the_documented_parts() {
    let site = begun(SimOptions { hosts: 4, pages: 20, ..small().smooth() });
    site.crawl.run(&[]).expect(0, &[]);
    let names = |dir: &Path| -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let top = names(&site.crawl.path("crawl"));
    for part in ["LOCK", "catalog", "dns", "frontier", "logs", "pages", "reports", "robots", "status.json", "url-seen"]
    {
        assert!(top.iter().any(|name| name == part), "{part} is missing in {top:?}");
    }
    let pages = names(&site.crawl.path("crawl/pages"));
    assert!(pages.iter().any(|name| name == "value-00000.warc.gz"), "{pages:?}");
    assert!(pages.iter().all(|name| !name.ends_with(".open")), "{pages:?}");
}
