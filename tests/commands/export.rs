//! Exports of a real crawl with the real binary: what other tools are given is whole and agrees with itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crawler::disk::{Disk, Mode};
use crawler::simweb::{SimOptions, SimWeb};
use crawler::web::warc::{Record, RecordReader};

struct Site {
    web: SimWeb,
    dir: tempfile::TempDir,
}

impl Site {
    fn start(options: SimOptions, extra: &str) -> Site {
        let web = SimWeb::start(options).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("seeds.txt"), web.seeds().join("\n")).unwrap();
        fs::write(dir.path().join("crawler.toml"), format!("{}\n{extra}", web.config_toml())).unwrap();
        Site { web, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn crawl(&self) -> Child {
        let mut command = self.command(&["--seeds", "seeds.txt", "--config", "crawler.toml", "-q"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// What `crawler ARGS` prints; it must succeed without a word on standard error.
    fn prints(&self, args: &[&str]) -> Vec<u8> {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", said(&output));
        output.stdout
    }

    fn lines(&self, args: &[&str]) -> Vec<String> {
        String::from_utf8(self.prints(args)).unwrap().lines().map(str::to_owned).collect()
    }

    fn json(&self, args: &[&str]) -> Vec<serde_json::Value> {
        self.lines(args).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The records of a WARC stream.
    fn records(&self, bytes: &[u8]) -> Vec<Record> {
        fs::write(self.path("stream"), bytes).unwrap();
        records_of(&self.path("stream"))
    }
}

fn records_of(path: &std::path::Path) -> Vec<Record> {
    let file = Disk::real().open(path, Mode::Read).unwrap();
    let mut reader = RecordReader::new(&file, 0, 64 << 20);
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

fn said(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}

fn url_of(record: &Record) -> String {
    record.field("WARC-Target-URI").unwrap_or_default().to_owned()
}

fn small() -> SimOptions {
    SimOptions { seed: 21, hosts: 20, pages: 200, page_bytes: 20_000, ..SimOptions::default() }
}

fn crawled(extra: &str) -> Site {
    let site = Site::start(small(), extra);
    assert_eq!(site.crawl().wait().unwrap().code(), Some(0));
    site
}

#[test]
fn an_index_leads_to_the_record_of_every_answer() {
    let site = crawled("[container]\nsegment_bytes = \"1MiB\"\ncompression = \"none\"\n");
    let lines = site.lines(&["export", "cdxj", "--all", "--robots"]);
    assert!(lines.is_sorted());
    let mut indexed = BTreeSet::new();
    for line in &lines {
        let mut parts = line.splitn(3, ' ');
        let (key, time, json) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let fields: BTreeMap<String, String> = serde_json::from_str(json).unwrap();
        let file = Disk::real().open(site.path("crawl/pages").join(&fields["filename"]), Mode::Read).unwrap();
        let offset: u64 = fields["offset"].parse().unwrap();
        let record = RecordReader::new(&file, offset, 64 << 20).next().unwrap().unwrap();
        assert_eq!(record.length.to_string(), fields["length"], "{line}");
        assert_eq!(url_of(&record), fields["url"]);
        assert_eq!(record.field("WARC-Payload-Digest"), Some(fields["digest"].as_str()));
        let date = record.field("WARC-Date").unwrap().replace(['-', ':', 'T'], "");
        assert_eq!(&date[..14], time);
        let kind = if fields["mime"] == "warc/revisit" { "revisit" } else { "response" };
        assert_eq!(record.kind(), kind);
        assert!(key.contains(")/") && !fields["url"].contains(key), "{line}");
        indexed.insert((fields["filename"].clone(), offset));
    }
    // nothing is left out: every answer of every value file has its line
    let mut stored = BTreeSet::new();
    for entry in fs::read_dir(site.path("crawl/pages")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("value-") {
            let records = records_of(&site.path("crawl/pages").join(&name));
            let answers = records.iter().filter(|record| matches!(record.kind(), "response" | "revisit"));
            stored.extend(answers.map(|record| (name.clone(), record.offset)));
        }
    }
    assert!(stored.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len() > 2, "too few value files to tell");
    assert_eq!(indexed, stored);
}

#[test]
fn selected_pages_come_as_one_warc_file_of_whole_exchanges() {
    for compression in ["gzip", "zstd", "none"] {
        let site = crawled(&format!("[container]\ncompression = \"{compression}\"\n"));
        site.prints(&["export", "warc", "--status", "200", "--mime", "text/*", "--output", "some.warc.gz"]);
        let records = records_of(&site.path("some.warc.gz"));
        assert_eq!(fs::read(site.path("some.warc.gz")).unwrap()[..2], [0x1f, 0x8b], "{compression}");
        assert_eq!(records[0].kind(), "warcinfo");
        let info = String::from_utf8_lossy(&records[0].block).into_owned();
        assert!(info.contains("selection: --status 200 --mime text/*; the newest"), "{info}");
        let exchanges: Vec<_> = records[1..].chunks(3).collect();
        for exchange in &exchanges {
            let kinds: Vec<_> = exchange.iter().map(Record::kind).collect();
            assert_eq!(kinds[..2], ["metadata", "request"], "{compression}");
            assert!(matches!(kinds[2], "response" | "revisit"));
            for record in &exchange[..2] {
                assert_eq!(record.field("WARC-Concurrent-To"), exchange[2].field("WARC-Record-ID"));
            }
        }
        let urls: Vec<String> = exchanges.iter().map(|exchange| url_of(&exchange[2])).collect();
        assert_eq!(urls, site.lines(&["list", "--status", "200", "--mime", "text/*"]));
        assert_eq!(urls, site.lines(&["export", "urls", "--status", "200", "--mime", "text/*"]));
        let piece = site.records(&site.prints(&["get", &urls[0], "--warc"]));
        assert_eq!(piece.len(), 3);
        for (got, exported) in piece.iter().zip(exchanges[0]) {
            assert_eq!(got.to_bytes(), exported.to_bytes());
        }
    }
}

#[test]
fn links_of_a_crawl_name_what_it_fetched() {
    let site = crawled("");
    let links = site.json(&["export", "links", "--jsonl"]);
    let targets: BTreeSet<&str> = links.iter().map(|link| link["target"].as_str().unwrap()).collect();
    let seeds = site.web.seeds();
    for url in site.web.expected().pages.keys().filter(|url| !seeds.contains(url)) {
        assert!(targets.contains(url.as_str()), "{url} was fetched and nothing links to it");
    }
    let followed: BTreeSet<&str> =
        links.iter().filter(|link| link["nofollow"] == false).map(|link| link["target"].as_str().unwrap()).collect();
    for url in &site.web.expected().never {
        assert!(!followed.contains(url.as_str()), "{url} must not be followed");
    }
    assert!(links.iter().any(|link| link["kind"] == "redirect"));
    assert!(links.iter().any(|link| link["kind"] == "anchor" && link["text"] != ""), "no anchor has a text");
    let text = site.lines(&["export", "links"]);
    assert_eq!(text.len(), links.len());
    assert!(text.iter().all(|line| line.split('\t').count() == 5));
}

#[test]
fn a_live_crawl_is_exported_whole_and_consistent_again_and_again() {
    let options = SimOptions { hosts: 60, pages: 900, latency: Duration::from_millis(2), ..small() };
    let extra = "[container]\nsegment_bytes = \"1MiB\"\ncompression = \"none\"\n";
    let site = Site::start(options, &format!("[crawl]\ncheckpoint_interval = \"1s\"\n{extra}"));
    let mut crawl = site.crawl();
    while !site.path("crawl/pages/address.idx").exists() {
        assert!(crawl.try_wait().unwrap().is_none(), "the crawl ended before it began to store");
        std::thread::yield_now();
    }
    let (mut rounds, mut before) = (0, 0);
    loop {
        let ended = crawl.try_wait().unwrap();
        let entries = site.json(&["list", "--json"]);
        let urls: BTreeSet<&str> = entries.iter().map(|entry| entry["url"].as_str().unwrap()).collect();
        assert_eq!(urls.len(), entries.len(), "a URL is listed twice");
        assert!(urls.len() >= before, "pages are gone");
        before = urls.len();
        for entry in entries.iter().rev().take(2) {
            let url = entry["url"].as_str().unwrap();
            assert_eq!(site.records(&site.prints(&["get", url, "--warc"])).len(), 3, "{url}");
        }
        let index = site.lines(&["export", "cdxj"]);
        assert!(index.is_sorted() && index.len() >= before, "{} lines after {before} pages", index.len());
        let records = site.records(&site.prints(&["export", "warc"]));
        assert_eq!(records.len() % 3, 1, "an exchange is not whole");
        assert!(records.len() > 3 * before);
        rounds += 1;
        if let Some(status) = ended {
            assert_eq!(status.code(), Some(0));
            break;
        }
    }
    assert!(rounds > 2, "the crawl ended before it could be read twice");
    assert_eq!(before, site.web.expected().pages.len());
}

#[test]
fn an_export_whose_reader_goes_away_is_a_quiet_end() {
    let site = crawled("");
    for args in [
        &["export", "warc"][..],
        &["export", "cdxj"],
        &["export", "urls"],
        &["export", "links"],
        &["list", "--all", "--jsonl"],
        &["get", &site.web.seeds()[0], "--warc"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = site.command(args).stdout(writer).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", said(&output));
    }
}
