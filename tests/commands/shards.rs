//! Commands over a crawl of several shards tell what they tell of the same web crawled by one: a user sees one crawl.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::site::{Ended, RUSH, Site, interrupt, kill, ms, wait};
use crawler::disk::{Disk, Mode};
use crawler::simweb::SimOptions;
use crawler::warc::{Record, RecordReader};
use serde_json::Value;

/// The crawl of one shard, and that of four.
const ONE: &str = "crawl";
const FOUR: &str = "four";

fn web() -> SimOptions {
    let steady =
        SimOptions { flaky_share: 0.0, robots_5xx_share: 0.0, server_error_share: 0.0, ..SimOptions::default() };
    SimOptions {
        seed: 11,
        hosts: 160,
        pages: 700,
        redirect_share: 0.2,
        robots_moved_share: 0.2,
        cross_links: 0.4,
        silent_hosts: false,
        dead_share: 0.0,
        ..steady
    }
}

fn site(options: SimOptions) -> Site {
    let site = Site::new(options, RUSH);
    let config = fs::read_to_string(site.crawl.path("crawler.toml")).unwrap();
    fs::write(site.crawl.path("four.toml"), format!("{config}\n[crawl]\nshards = 4\n")).unwrap();
    site
}

fn command(site: &Site, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).current_dir(site.crawl.dir.path()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start_four(site: &Site) -> std::process::Child {
    command(site, &["--seeds", "seeds.txt", "--config", "four.toml", "--dir", FOUR]).spawn().unwrap()
}

fn run_four(site: &Site) -> Ended {
    wait(start_four(site))
}

fn crawler(site: &Site, args: &[&str]) -> Output {
    command(site, args).output().unwrap()
}

/// Returns what a subcommand prints of the crawl in `dir`. It must end well.
fn bytes(site: &Site, dir: &str, args: &[&str]) -> Vec<u8> {
    let output = crawler(site, &[args, &["--dir", dir]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn lines(site: &Site, dir: &str, args: &[&str]) -> Vec<String> {
    String::from_utf8(bytes(site, dir, args)).unwrap().lines().map(str::to_owned).collect()
}

fn sorted(site: &Site, dir: &str, args: &[&str]) -> Vec<String> {
    let mut lines = lines(site, dir, args);
    lines.sort();
    lines
}

/// Objects without the fields that differ between two crawls of one web.
fn rows(site: &Site, dir: &str, args: &[&str], but: &[&str]) -> BTreeSet<String> {
    let row = |line: &String| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        but.iter().for_each(|field| _ = row.as_object_mut().unwrap().remove(*field));
        if row["redirected_to"].is_string() {
            // a target that a link led to first has no answer to the seed
            assert!(row["code"].is_u64(), "{row}");
            row["code"] = Value::Null;
        }
        row.to_string()
    };
    lines(site, dir, args).iter().map(row).collect()
}

fn records_of(path: &Path) -> Vec<Record> {
    let file = Disk::real().open(path, Mode::Read).unwrap();
    let mut reader = RecordReader::new(&file, 0, 64 << 20);
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

/// Fails with what is different.
#[track_caller]
fn assert_same(one: &BTreeSet<String>, four: &BTreeSet<String>, what: &str) {
    let differences: Vec<&String> = one.symmetric_difference(four).collect();
    assert!(differences.is_empty(), "{what}: {differences:#?}");
}

fn crawled() -> Site {
    let site = site(web());
    // seeds that redirect, some of them to the domain of another shard
    let pages = site.web.expected().pages.iter();
    let moved: Vec<&str> = pages.filter(|(_, page)| (300..400).contains(&page.status)).map(|(url, _)| &**url).collect();
    let seeds = format!("{}\n{}\n", site.web.seeds().join("\n"), moved.join("\n"));
    fs::write(site.crawl.path("seeds.txt"), seeds).unwrap();
    site.crawl.run(&["-q"]).expect(0, &[]);
    run_four(&site).expect(0, &[]);
    site
}

#[test]
fn archives_reports_and_explanations_of_four_shards_are_those_of_one() {
    let site = crawled();
    let used = (0..4).filter(|n| !bytes_of_shard(&site, *n).is_empty()).count();
    assert!(used > 2, "the web has hosts of several shards");
    archives_are_equal(&site);
    index_and_warc_lead_to_the_records(&site);
    reports_are_equal(&site);
    explanations_are_equal(&site);
}

fn bytes_of_shard(site: &Site, number: usize) -> Vec<String> {
    let output = crawler(site, &["list", "--dir", &format!("{FOUR}/shard-{number:03}")]);
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn archives_are_equal(site: &Site) {
    for args in [
        &["list"][..],
        &["list", "--robots"],
        &["list", "--status", "3xx"],
        &["list", "--prefix", "http://h00"],
        &["export", "urls", "--status", "2xx", "--mime", "text/html"],
        &["export", "links"],
        &["export", "links", "--jsonl"],
        &["extract"],
        &["extract", "--select", "a", "--attr", "href", "--jsonl"],
    ] {
        let [one, four] = [ONE, FOUR].map(|dir| sorted(site, dir, args));
        assert!(!one.is_empty(), "{args:?}");
        assert_eq!(one, four, "{args:?}");
    }
    let but = ["time", "revisit"];
    assert_eq!(rows(site, ONE, &["list", "--json"], &but), rows(site, FOUR, &["list", "--json"], &but));
    // each shard by itself has the URLs that it owns, and all of them together are the crawl
    let mut of_shards: Vec<String> = (0..4).flat_map(|number| bytes_of_shard(site, number)).collect();
    of_shards.sort();
    assert_eq!(of_shards, sorted(site, FOUR, &["list"]));
    for url in of_shards.iter().step_by(25) {
        let [one, four] = [ONE, FOUR].map(|dir| bytes(site, dir, &["get", url]));
        assert_eq!(one, four, "{url}");
        let canonical = lines(site, FOUR, &["canonical", url]);
        let shard: usize = canonical[0].rsplit("shard-").next().unwrap().parse().unwrap();
        assert!(bytes_of_shard(site, shard).contains(url), "{canonical:?}");
    }
    let none = crawler(site, &["get", "http://nowhere.example/", "--dir", FOUR]);
    assert_eq!(none.status.code(), Some(1));
}

/// Every line of the index leads to its record in the file that it names below the crawl directory.
fn index_and_warc_lead_to_the_records(site: &Site) {
    let index = lines(site, FOUR, &["export", "cdxj", "--all", "--robots"]);
    assert!(index.is_sorted());
    let mut indexed = BTreeSet::new();
    for line in &index {
        let fields: BTreeMap<String, String> = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let file = Disk::real().open(site.crawl.path(FOUR).join(&fields["filename"]), Mode::Read).unwrap();
        let offset: u64 = fields["offset"].parse().unwrap();
        let record = RecordReader::new(&file, offset, 64 << 20).next().unwrap().unwrap();
        assert_eq!(record.field("WARC-Target-URI"), Some(fields["url"].as_str()));
        assert_eq!(record.length.to_string(), fields["length"], "{line}");
        indexed.insert((fields["filename"].clone(), offset));
    }
    let mut stored = BTreeSet::new();
    for shard in 0..4 {
        let pages = format!("shard-{shard:03}/pages");
        for entry in fs::read_dir(site.crawl.path(FOUR).join(&pages)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.starts_with("value-") {
                let name = format!("{pages}/{name}");
                let records = records_of(&site.crawl.path(FOUR).join(&name));
                let answers = records.iter().filter(|record| matches!(record.kind(), "response" | "revisit"));
                stored.extend(answers.map(|record| (name.clone(), record.offset)));
            }
        }
    }
    assert_eq!(indexed, stored);
    let exported = |dir: &str| {
        fs::write(site.crawl.path("stream"), bytes(site, dir, &["export", "warc"])).unwrap();
        let records = records_of(&site.crawl.path("stream"));
        let kind =
            |record: &Record| if record.kind() == "revisit" { "response".into() } else { record.kind().to_owned() };
        let url = |record: &Record| record.field("WARC-Target-URI").unwrap_or_default().to_owned();
        let mut named: Vec<_> = records.iter().map(|record| (url(record), kind(record))).collect();
        // every page but a seed names its referrer, whichever shard has that
        for record in records.iter().filter(|record| record.kind() == "metadata") {
            let text = String::from_utf8_lossy(&record.block).into_owned();
            let is_found = text.lines().any(|line| line.starts_with("hopsFromSeed: ") && line.len() > 14);
            assert!(!is_found || text.contains("via: http"), "{text}");
        }
        named.sort();
        named
    };
    assert_eq!(exported(ONE), exported(FOUR));
}

fn reports_are_equal(site: &Site) {
    for name in ["seeds", "status-codes", "mime-types"] {
        let [one, four] = [ONE, FOUR].map(|dir| rows(site, dir, &["report", name, "--json"], &[]));
        assert_same(&one, &four, name);
    }
    // times differ, and what a robots.txt that is elsewhere costs
    let but = ["gap_min_ms", "gap_median_ms", "requests", "bytes", "violations", "peak"];
    let [one, four] = [ONE, FOUR].map(|dir| rows(site, dir, &["report", "hosts", "--json"], &but));
    assert_same(&one, &four, "hosts");
    for name in ["crawl", "hosts", "seeds", "status-codes", "mime-types"] {
        let written = fs::read_to_string(site.crawl.path(&format!("{FOUR}/reports/{name}.txt"))).unwrap();
        let now = lines(site, FOUR, &["report", name]);
        assert_eq!(written.lines().skip(1).collect::<Vec<_>>(), now[1..], "{name}");
    }
    let status = |dir: &str, args: &[&str]| -> Value {
        serde_json::from_slice(&bytes(site, dir, &[&["status", "--json"], args].concat())).unwrap()
    };
    let (one, four) = (status(ONE, &[]), status(FOUR, &["--shards"]));
    let value = |status: &Value, field: &str| status["statistics"][field].clone();
    for field in ["pages_stored", "statuses", "robots_denied", "unique", "links_found"] {
        assert_eq!(value(&one, field), value(&four, field), "{field}");
        assert!(!value(&four, field).is_null());
    }
    // the host of a robots.txt that is elsewhere is known to each shard that asks it
    assert!(value(&one, "hosts").as_u64() <= value(&four, "hosts").as_u64());
    assert_eq!((&one["state"], &one["finish"]), (&four["state"], &four["finish"]));
    assert!(one.get("shards").is_none());
    let shards = four["shards"].as_array().unwrap();
    let sum = |field: &str| shards.iter().map(|shard| shard[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!(shards.len(), 4);
    assert_eq!(Some(sum("pages_stored")), four["statistics"]["pages_stored"].as_u64());
    assert_eq!(Some(sum("requests")), four["statistics"]["requests"].as_u64());
    let table = lines(site, FOUR, &["status", "--shards"]);
    assert_eq!(table.iter().rev().take(4).filter(|row| row.ends_with(" ago")).count(), 4, "{table:?}");
    let verified = verify(site, &[]);
    assert_eq!(verified.0, Some(0), "{}", verified.1);
    assert!(verified.1.contains("no damage") && !verified.1.contains("unfinished"), "{}", verified.1);
}

fn explanations_are_equal(site: &Site) {
    let explain = |dir: &str, url: &str| -> Value {
        serde_json::from_slice(&bytes(site, dir, &["explain", url, "--json"])).unwrap()
    };
    let urls = sorted(site, ONE, &["list"]);
    let moved = sorted(site, ONE, &["list", "--status", "3xx"]);
    let never = ["http://nowhere.example/".to_owned(), format!("{}no-such-page", &urls[0])];
    for url in urls.iter().step_by(30).chain(moved.iter().step_by(5)).chain(&never) {
        let (one, four) = (explain(ONE, url), explain(FOUR, url));
        for field in ["url", "key_form", "surt", "domain", "redirects_to", "fetched_as", "nofollow", "queue"] {
            assert_eq!(one[field], four[field], "{url}: {field}");
        }
        for (part, field) in [("seen", "seen"), ("robots", "allowed"), ("robots", "rule"), ("scope", "refused")] {
            assert_eq!(one[part][field], four[part][field], "{url}: {part}.{field}");
        }
        let versions = |told: &Value| told["versions"].as_array().unwrap().len();
        assert_eq!(versions(&one), versions(&four), "{url}");
        assert!(one.get("shard").is_none() && four["shard"].as_str().unwrap().starts_with("shard-00"), "{four}");
        let seeds = |told: &Value| told["found"]["seed"].as_str().map(str::to_owned);
        assert_eq!(seeds(&one).is_some(), seeds(&four).is_some(), "{url}");
    }
}

/// Exit code of `crawler verify`, and what it printed.
fn verify(site: &Site, options: &[&str]) -> (Option<i32>, String) {
    let output = crawler(site, &[&["verify", "--dir", FOUR], options].concat());
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[track_caller]
fn assert_found(site: &Site, words: &[&str]) {
    let (code, told) = verify(site, &[]);
    assert_eq!(code, Some(3), "{told}");
    words.iter().for_each(|word| assert!(told.contains(word), "{word:?} is missing in\n{told}"));
}

#[track_caller]
fn assert_sound(site: &Site) {
    let (code, told) = verify(site, &[]);
    assert_eq!(code, Some(0), "{told}");
}

fn slow_site() -> Site {
    site(SimOptions { pages: 3_000, latency: ms(4), redirect_share: 0.05, robots_moved_share: 0.0, ..web() })
}

/// Stops the crawl of four shards after this many requests.
fn stop_after(site: &Site, requests: usize) {
    let child = start_four(site);
    site.wait_for_requests(requests);
    interrupt(child).expect(11, &[]);
}

#[test]
fn a_crawl_of_shards_that_was_stopped_or_killed_is_told_as_one_and_goes_on() {
    let site = slow_site();
    let child = start_four(&site);
    site.wait_for_requests(600);
    kill(child);
    // as in a copy of the directory
    fs::remove_file(site.crawl.path(FOUR).join("LOCK")).unwrap();
    assert_sound(&site);
    assert!(lines(&site, FOUR, &["status"])[0].contains("it was killed"));
    let child = start_four(&site);
    site.wait_for_requests(1_200);
    // beside the crawl
    let (code, told) = verify(&site, &[]);
    assert_eq!(code, Some(0), "{told}");
    interrupt(child).expect(11, &[]);
    assert_sound(&site);
    let status: Value = serde_json::from_slice(&bytes(&site, FOUR, &["status", "--json"])).unwrap();
    assert_eq!((&status["state"], &status["finish"]), (&Value::from("stopped"), &Value::from("stopped-by-signal")));
    let queued = status["gauges"]["queued"].as_u64().unwrap();
    assert!(queued > 0, "{status}");
    let hosts = lines(&site, FOUR, &["report", "hosts", "--json"]);
    let hosts: Vec<Value> = hosts.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
    let remaining: u64 = hosts.iter().map(|host| host["remaining"].as_u64().unwrap()).sum();
    assert_eq!(remaining, queued);
    every_page_is_explained(&site);
    run_four(&site).expect(0, &[]);
    assert_sound(&site);
    let stored: BTreeSet<String> = lines(&site, FOUR, &["list"]).into_iter().collect();
    let expected: BTreeSet<String> = site.web.expected().pages.keys().cloned().collect();
    assert_eq!(stored, expected);
}

/// Checks the pages that are not fetched yet: some are queued by their shard, with the page that named them, some wait
/// in the links of another shard, and some nobody has found.
fn every_page_is_explained(site: &Site) {
    let stored: BTreeSet<String> = lines(site, FOUR, &["list"]).into_iter().collect();
    let (mut queued, mut sent) = (0, 0);
    for url in site.web.expected().pages.keys().filter(|url| !stored.contains(*url)).step_by(7) {
        let told: Value = serde_json::from_slice(&bytes(site, FOUR, &["explain", url, "--json"])).unwrap();
        let is_sent = told["seen"]["sent_by"].is_string();
        if told["queue"].is_object() || is_sent {
            let hops = told["found"]["hops"].as_str().unwrap();
            let via = told["found"]["via"].as_str();
            assert_eq!(via.is_some(), !hops.is_empty(), "{told}");
            assert!(via.is_none_or(|via| stored.contains(via)), "{told}");
        }
        queued += usize::from(told["queue"].is_object());
        sent += usize::from(is_sent);
    }
    assert!(queued > 0, "{queued} queued, {sent} sent");
}

#[test]
fn damage_of_what_shards_have_of_one_another_is_found_and_named() {
    let site = slow_site();
    stop_after(&site, 700);
    assert_sound(&site);
    let four = site.crawl.path(FOUR);
    // a link file that others have to read
    let links = (0..4).flat_map(|shard| fs::read_dir(four.join(format!("shard-{shard:03}/links"))).unwrap());
    let link_file = links.map(|entry| entry.unwrap().path()).next().expect("links that wait");
    let whole = fs::read(&link_file).unwrap();
    let name = link_file.file_name().unwrap().to_str().unwrap();
    for at in [20, whole.len() / 2, whole.len() - 3] {
        let mut harmed = whole.clone();
        harmed[at] ^= 1;
        fs::write(&link_file, harmed).unwrap();
        assert_found(&site, &[name]);
    }
    fs::remove_file(&link_file).unwrap();
    assert_found(&site, &[name]);
    fs::write(&link_file, &whole).unwrap();
    fs::write(link_file.with_file_name("out.g999999"), "x").unwrap();
    let (code, told) = verify(&site, &[]);
    assert!(code == Some(0) && told.contains("leftover: no checkpoint lists out.g999999"), "{told}");
    // two shards in each other's place
    let exchange = || {
        fs::rename(four.join("shard-000"), four.join("x")).unwrap();
        fs::rename(four.join("shard-001"), four.join("shard-000")).unwrap();
        fs::rename(four.join("x"), four.join("shard-001")).unwrap();
    };
    exchange();
    assert_found(&site, &["shard-000/identity.json", "not this shard of the crawl", "another shard owns"]);
    exchange();
    // one that is gone
    fs::rename(four.join("shard-002"), site.crawl.path("aside")).unwrap();
    assert_found(&site, &["shard-002:0: missing"]);
    let list = crawler(&site, &["list", "--dir", FOUR]);
    assert_eq!(list.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&list.stderr).contains("shard-002"));
    fs::rename(site.crawl.path("aside"), four.join("shard-002")).unwrap();
    // the copy of the crawl's identity is made again from those of the shards
    let before = sorted(&site, FOUR, &["list"]);
    fs::remove_file(four.join("identity.json")).unwrap();
    assert_eq!(sorted(&site, FOUR, &["list"]), before);
    let (code, told) = verify(&site, &["--rebuild"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(four.join("identity.json").exists());
    assert_sound(&site);
    run_four(&site).expect(0, &[]);
    assert_sound(&site);
}

#[test]
fn links_that_are_lost_with_a_damaged_file_are_sent_again_from_the_archive() {
    // most URLs are named once
    let site = site(SimOptions { links: 1, hosts: 80, pages: 500, latency: ms(4), robots_moved_share: 0.0, ..web() });
    stop_after(&site, 120);
    let four = site.crawl.path(FOUR);
    let mut lost = 0;
    for shard in 0..4 {
        for (number, entry) in fs::read_dir(four.join(format!("shard-{shard:03}/links"))).unwrap().enumerate() {
            let path = entry.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            let at = if number % 2 == 0 { 60 } else { bytes.len() - 3 };
            bytes[at] ^= 0x55;
            fs::write(&path, bytes).unwrap();
            lost += 1;
        }
    }
    assert!(lost > 1, "links wait");
    let before = site.log().len();
    let refused = run_four(&site);
    assert_eq!(refused.code, Some(3), "{}", refused.said);
    assert!(refused.said.contains("links/out.g"), "{}", refused.said);
    assert_found(&site, &["links/out.g", "--rebuild drops a damaged link file"]);
    let (code, told) = verify(&site, &["--rebuild"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("sends the links of all archived pages to other shards again"), "{told}");
    assert_sound(&site);
    run_four(&site).expect(0, &["archived pages are sent again"]);
    assert_sound(&site);
    let stored: BTreeSet<String> = lines(&site, FOUR, &["list"]).into_iter().collect();
    let expected: BTreeSet<String> = site.web.expected().pages.keys().cloned().collect();
    assert_same(&stored, &expected, "pages");
    assert!(site.log().len() > before);
    assert!(site.fetched_twice().is_empty(), "nothing is fetched again for it: {:?}", site.fetched_twice());
    // it is done once
    let again = run_four(&site);
    assert!(!again.said.contains("are sent again"), "{}", again.said);
}

#[test]
fn a_shard_that_was_put_back_is_found_by_those_that_knew_more_of_it() {
    let site = slow_site();
    stop_after(&site, 400);
    let four = site.crawl.path(FOUR);
    let copied = Command::new("cp").arg("-a").arg(&four).arg(site.crawl.path("older")).status().unwrap();
    assert!(copied.success());
    // every stop is a checkpoint of each shard
    stop_after(&site, 900);
    stop_after(&site, 1_400);
    assert_sound(&site);
    let number = |dir: &Path| {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter_map(|name| name.strip_prefix("checkpoint.g")?.parse::<u64>().ok()).max().unwrap()
    };
    let advanced = |shard: &usize| {
        let [now, then] = ["four", "older"].map(|dir| site.crawl.path(&format!("{dir}/shard-{shard:03}")));
        number(&now) > number(&then) + 1
    };
    let shard = (0..4).find(advanced).expect("a shard that went on");
    let dir = four.join(format!("shard-{shard:03}"));
    fs::remove_dir_all(&dir).unwrap();
    fs::rename(site.crawl.path(&format!("older/shard-{shard:03}")), &dir).unwrap();
    assert_found(&site, &["it knew of checkpoint ", &format!("of shard-{shard:03}, whose last one"), "was put back"]);
}
