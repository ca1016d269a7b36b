//! Answers that are no content, by the real binary: what coverage says of them is what the synthetic web knows, also
//! after kills, and a wall that ends hides nothing in the end.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::hosts::{Answer, Hosts};
use crate::site::{Crawl, RUSH, Site, kill};
use crawler::clock::{Clock, SystemClock};
use crawler::simweb::{Expected, ExpectedPage, SimOptions};

fn walled(seed: u64) -> SimOptions {
    SimOptions { seed, hosts: 12, pages: 500, walls: 0.3, ..SimOptions::default() }.smooth()
}

fn site(options: SimOptions, retries: &str) -> Site {
    let config = format!("{RUSH}[crawl]\ncheckpoint_interval = \"1s\"\n[kinds]\nretries = {retries}\n");
    Site::new(options, &config)
}

/// Parts of the known URLs, by their names in the report.
fn truth(expected: &Expected) -> BTreeMap<String, u64> {
    let mut parts = BTreeMap::new();
    if !expected.disallowed.is_empty() {
        parts.insert("robots.txt".to_owned(), expected.disallowed.len() as u64);
    }
    for page in expected.pages.values() {
        let part = match (page.kind, page.status) {
            (Some(kind), _) => kind,
            (None, 200..=299) => "content",
            (None, 300..=399) => "redirects",
            (None, 404 | 410) => "gone",
            (None, 400..=499) => "refused by status",
            (None, _) => "server error",
        };
        *parts.entry(part.to_owned()).or_default() += 1;
    }
    parts
}

/// The same by `crawler report coverage`.
fn reported(site: &Site) -> (BTreeMap<String, u64>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let command = command.args(["report", "coverage", "--json", "--dir"]).arg(site.crawl.path("crawl"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let statement: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mut parts = BTreeMap::from([("content".to_owned(), statement["content"].as_u64().unwrap())]);
    for row in ["missing", "uncounted"].iter().flat_map(|part| statement[part].as_array().unwrap()) {
        parts.insert(row["what"].as_str().unwrap().to_owned(), row["urls"].as_u64().unwrap());
    }
    (parts, statement)
}

#[test]
fn coverage_is_what_the_web_knows_also_after_kills() {
    for kills in [0, 3] {
        let site = site(walled(7), "{}");
        for number in 0..kills {
            let child = site.crawl.start(&[]);
            site.wait_for_requests(60 + 60 * number);
            kill(child);
        }
        site.crawl.run(&["--min-coverage", "10"]).expect(0, &["known URLs are content"]);
        site.assert_whole();
        let (parts, statement) = reported(&site);
        let expected = truth(site.web.expected());
        assert_eq!(parts, expected, "{kills} kills: {statement}");
        let known: u64 = expected.iter().filter(|(part, _)| *part != "redirects").map(|(_, urls)| urls).sum();
        assert_eq!(statement["known"], known);
    }
}

#[test]
fn too_little_coverage_is_an_exit_code_and_every_kind_can_be_listed() {
    let site = site(walled(8), "{}");
    site.crawl.run(&["--min-coverage", "99.9"]).expect(1, &["less than 99.9 %"]);
    let expected = truth(site.web.expected());
    for (kind, urls) in expected.iter().filter(|(part, _)| crawler::web::kind::Kind::of_text(part).is_some()) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let command = command.args(["list", "--kind", kind, "--dir"]).arg(site.crawl.path("crawl"));
        let listed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert_eq!(listed.lines().count() as u64, *urls, "{kind}");
        let page = listed.lines().next().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(["explain", page, "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("it is no content but a") && said.contains(kind.as_str()), "{page}: {said}");
    }
}

/// Exit code and standard output of a command line.
fn said(site: &Site, line: &str) -> (Option<i32>, Vec<u8>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let command = command.args(line.split(' ')).current_dir(site.crawl.dir.path());
    let output = command.output().unwrap();
    (output.status.code(), output.stdout)
}

#[test]
fn readers_leave_other_kinds_out_unless_they_are_asked_for() {
    let site = site(walled(8), "{}");
    site.crawl.run(&[]).expect(0, &[]);
    for asked in [
        "extract --select title --kind all",
        "duplicates --kind all",
        "follow --kind all",
        "export urls --kind all",
        "export links --kind all",
        "export wet --kind all",
        "export wat --kind all",
        "export warc --kind all",
        "export wacz --kind all",
        "export cdxj --kind all",
        "export index --kind all",
        "export manifest --kind all",
    ] {
        let (usual, _) = asked.split_once(" --kind").unwrap();
        let ((code, without), (asked_code, with)) =
            (said(&site, &format!("{usual} --dir crawl")), said(&site, &format!("{asked} --dir crawl")));
        assert_eq!((code, asked_code), (Some(0), Some(0)), "{asked}");
        // these have every URL, or groups of them
        let shows_all = ["export urls", "duplicates", "export manifest"].contains(&usual);
        assert!(shows_all || without.len() < with.len(), "{asked}: {} of {} bytes", without.len(), with.len());
        assert!(!shows_all || without.len() <= with.len(), "{asked}: {} of {} bytes", without.len(), with.len());
    }
    for (line, code) in [
        ("report coverage --min-coverage 1 --dir crawl", 0),
        ("report coverage --min-coverage 99.9 --dir crawl", 1),
        ("crawl --seeds seeds.txt --config crawler.toml --dir crawl --min-coverage 99.9", 1),
    ] {
        assert_eq!(said(&site, line).0, Some(code), "{line}");
    }
}

#[test]
fn a_wall_that_ends_hides_nothing_in_the_end() {
    let end = SystemClock::new().now() + Duration::from_secs(8);
    let options = SimOptions { walls_end: Some(end), hosts: 4, pages: 120, walls: 0.15, ..walled(9) };
    let site = site(options, "{ challenge = 7, block = 7, rate-limit = 7 }");
    site.crawl.run(&[]).expect(0, &["complete"]);
    let expected = site.web.expected_after_walls();
    assert!(site.web.expected().pages.values().any(ExpectedPage::is_refused), "there are such walls");
    let stored = site.crawl.stored();
    for (url, page) in &expected.pages {
        assert_eq!(stored.get(url.as_str()), Some(&page.status), "{url}");
    }
    assert_eq!(reported(&site).0, truth(&expected));
}

#[test]
fn soft_404s_are_known_by_what_a_host_says_of_urls_that_are_gone_or_cannot_exist() {
    // words that no rule has
    let nothing = |path: &str| format!("<title>Emporium</title><p>Nescio {path}.{}", " Redi ad initium.".repeat(90));
    for ask in [true, false] {
        let hosts = Hosts::start(2, move |asked| match (asked.host, &*asked.path) {
            (_, "/robots.txt") => Answer::status(404),
            (_, "/") => Answer::page("<title>Emporium</title><a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>"),
            (_, "/a") => Answer::page(format!("<title>A</title><p>{}", "Merces bonae. ".repeat(100))),
            // one host says itself of one page that it is gone
            (2, "/b") => Answer { status: 404, ..Answer::page(nothing("/b")) },
            (_, path) => Answer::page(nothing(path)),
        });
        let seeds = format!("{}\n{}\n", hosts.url(1, "/"), hosts.url(2, "/"));
        let config = format!(
            "[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}[fetch]\nworkers = 1\n[kinds]\n\
             ask_missing = {ask}\n"
        );
        let crawl = Crawl::new(&seeds, &config);
        crawl.run(&[]).expect(0, &[]);
        let listed = |kind: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
            let output = command.args(["list", "--kind", kind, "--dir"]).arg(crawl.path("crawl")).output().unwrap();
            let mut urls: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
            urls.sort_unstable();
            urls
        };
        let missing = |host: u8| hosts.url(host, crawler::web::kind::MISSING_PATH);
        let mut expected = vec![hosts.url(2, "/c")];
        if ask {
            expected.extend([hosts.url(1, "/b"), hosts.url(1, "/c"), missing(1), missing(2)]);
        }
        expected.sort_unstable();
        assert_eq!(listed("soft-404"), expected, "asked: {ask}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(["report", "coverage", "--dir"]).arg(crawl.path("crawl")).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let sentence = if ask { "4 of 8 known URLs are content" } else { "6 of 8 known URLs are content" };
        assert!(said.contains(sentence), "asked: {ask}\n{said}");
        assert_eq!(said.contains("URLs that cannot exist"), ask, "{said}");
    }
}
