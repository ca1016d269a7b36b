//! Foreign readers judge what the crawler writes: warcio, py-wacz, pywb, wabac.js, DuckDB and Chromium, over small
//! crawls of a server whose every answer is known.
//!
//! `tests/commands/readers/install` puts them into `target/tools/readers`; Chromium is that of the system. What is
//! known to fail stands in [`expected_failure`] with its number, until it passes.

mod replay;
mod site;
mod texts;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use site::Site;

use crate::tools::{Tool, has};

const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/readers");
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/readers");

/// Returns the path of `name` among the readers, if it is installed.
fn tool(name: &str) -> Option<PathBuf> {
    let path = Path::new(TOOLS).join(name);
    has(Tool::Installed { path: &path, by: "tests/commands/readers/install" }).then_some(path)
}

/// Runs what is known to fail, by its number among the defects of what comes out. Once it passes, the mark has to go.
#[track_caller]
fn expected_failure(number: u32, body: impl FnOnce()) {
    let passes = catch_unwind(AssertUnwindSafe(body)).is_ok();
    assert!(!passes, "45.{number} passes now: take the mark away");
}

/// Runs a script of this folder by `program`; gives what it prints. It has to end well.
#[track_caller]
fn run(program: &Path, script: &str, args: &[&OsStr]) -> String {
    let mut command = Command::new(program);
    let output = command.arg(format!("{HERE}/{script}")).args(args).env("TOOLS", TOOLS).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Records and revisits that `records.py` verified in `files`.
#[track_caller]
fn verified(python: &Path, files: &[PathBuf]) -> (usize, usize) {
    let files: Vec<&OsStr> = files.iter().map(|file| file.as_os_str()).collect();
    let said = run(python, "records.py", &files);
    let line = said.lines().last().and_then(|line| line.strip_prefix("verified ")).unwrap();
    let (records, revisits) = line.split_once(' ').unwrap();
    (records.parse().unwrap(), revisits.parse().unwrap())
}

#[test]
fn warcio_finds_no_fault_and_the_original_of_every_revisit() {
    let Some(python) = tool("bin/python3") else { return };
    let site = Site::crawled_twice();
    let values = fs::read_dir(site.path("crawl/pages")).unwrap().map(|entry| entry.unwrap().path());
    let values: Vec<_> = values.filter(|path| path.to_string_lossy().ends_with(".warc.gz")).collect();
    // robots.txt, and what is not found, are records too
    let (records, revisits) = verified(&python, &values);
    let captures = site.captures(&["--all", "--robots"]).len();
    assert_eq!(records + revisits, captures);
    assert!(revisits >= site.captures(&[]).len(), "{revisits} revisits");
    site.run(&["export", "warc", "--all", "--robots", "--output", "all.warc.gz"]);
    let (records, revisits) = verified(&python, &[site.path("all.warc.gz")]);
    assert_eq!(records + revisits, captures);
    let second = site.url("/second");
    site.run(&["export", "warc", "--prefix", &second, "--output", "second.warc.gz"]);
    site.run(&["export", "warc", "--output", "newest.warc.gz"]);
    for name in ["second", "newest"] {
        let (records, revisits) = verified(&python, &[site.path(&format!("{name}.warc.gz"))]);
        assert!(records > 0 && revisits > 0, "{name}: {records} records, {revisits} revisits");
    }
}

#[test]
fn py_wacz_finds_the_wacz_export_valid() {
    let Some(wacz) = tool("bin/wacz") else { return };
    let site = Site::crawled_twice();
    for (name, more) in [("newest", &[][..]), ("all", &["--all", "--text", "--title", "All of it"])] {
        let file = format!("{name}.wacz");
        site.run(&[&["export", "wacz", "--output", &file], more].concat());
        let mut command = Command::new(&wacz);
        let output = command.args(["validate", "--file", &file]).current_dir(site.dir.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("the passed WACZ is valid"), "{name}: {said}");
    }
}

#[test]
fn a_feed_reader_has_the_changes_newest_first() {
    let Some(python) = tool("bin/python3") else { return };
    let site = Site::crawled_twice();
    let feed = site.run(&["changes", "--since", "2020-01-01", "--feed", "atom"]);
    fs::write(site.path("feed.xml"), &feed.stdout).unwrap();
    let said = run(&python, "feed.py", &[site.path("feed.xml").as_os_str()]);
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0][0], "atom10");
    assert!(lines[0][1].as_str().unwrap().starts_with("urn:uuid:"), "{lines:?}");
    let times: Vec<Vec<u64>> = lines[1..].iter().map(|line| serde_json::from_value(line[2].clone()).unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    let changes = site.run(&["changes", "--since", "2020-01-01", "--json"]);
    let pair = |url: &Value, kind: &Value| (url.as_str().unwrap().to_owned(), kind.as_str().unwrap().to_owned());
    let told: BTreeSet<_> = String::from_utf8(changes.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|change| pair(&change["url"], &change["change"]))
        .collect();
    assert!(!told.is_empty());
    assert_eq!(lines[1..].iter().map(|line| pair(&line[0], &line[1])).collect::<BTreeSet<_>>(), told);
}

#[test]
fn duckdb_reads_the_index_and_finds_the_payload_of_every_page() {
    let Some(python) = tool("bin/python3") else { return };
    let site = Site::crawled_twice();
    site.run(&["export", "index", "--output", "index.parquet"]);
    let table = site.path("index.parquet");
    let rows = |query: &str| -> Vec<Value> {
        let said = run(&python, "table.py", &[table.as_os_str(), OsStr::new(query)]);
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let captures = site.captures(&[]);
    assert_eq!(rows("SELECT count(*), count(DISTINCT content_digest) FROM pages"), [json!([captures.len(), 6])]);
    assert_eq!(rows("SELECT DISTINCT url_host_name, crawl FROM pages"), [json!(["127.0.0.1", "crawl"])]);
    assert_eq!(rows("SELECT DISTINCT fetch_status, subset FROM pages"), [json!([200, "warc"])]);
    let types = "SELECT DISTINCT typeof(fetch_status), typeof(url_port), typeof(warc_record_length) FROM pages";
    assert_eq!(rows(types), [json!(["SMALLINT", "INTEGER", "INTEGER"])], "as in the schema of Common Crawl");
    let places = "SELECT DISTINCT warc_segment, warc_filename, warc_record_offset, warc_record_length FROM pages";
    let kinds = rows(places).into_iter().map(|place| {
        let file = fs::read(site.path("crawl").join(place[0].as_str().unwrap()).join(place[1].as_str().unwrap()));
        let at = place[2].as_u64().unwrap() as usize;
        let record = &file.unwrap()[at..at + place[3].as_u64().unwrap() as usize];
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(record), &mut text).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().find_map(|line| line.strip_prefix("WARC-Type: ")).unwrap().to_owned()
    });
    let kinds: Vec<String> = kinds.collect();
    assert!(kinds.iter().all(|kind| kind == "response"), "{kinds:?}");
}
