//! Replay by other programs: pywb's server, and wabac.js, which is inside ReplayWeb.page. Both have to give status 200
//! and the body for every capture.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::site::{Capture, Site};
use super::{run, tool};
use crate::site::next_second;

/// A collection of a reader, and what is asked of it.
struct Collection<'a> {
    name: &'a str,
    captures: Vec<Capture>,
}

/// An answer of a reader for a capture where it was not what it should be.
struct Fault {
    capture: String,
    what: String,
}

/// Asks `script`, run by `program`, for all captures of the collections in `folder`.
fn faults(program: &Path, script: &str, folder: &Path, collections: &[Collection<'_>]) -> Vec<Fault> {
    let asked = collections.iter().flat_map(|collection| {
        collection.captures.iter().map(|capture| {
            json!({
                "collection": collection.name, "timestamp": capture.timestamp, "method": capture.method,
                "url": capture.url, "body": capture.sent,
                "type": if capture.method == "POST" { "application/json" } else { "" },
            })
        })
    });
    let asked: Vec<String> = asked.map(|question| question.to_string()).collect();
    let questions = folder.join("questions.jsonl");
    fs::write(&questions, asked.join("\n") + "\n").unwrap();
    let said = run(program, script, &[folder.as_os_str(), questions.as_os_str()]);
    let answers: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), asked.len(), "{said}");
    let captures = collections.iter().flat_map(|collection| collection.captures.iter().map(move |c| (collection, c)));
    let mut faults = Vec::new();
    for ((collection, capture), answer) in captures.zip(answers) {
        let body = BASE64.decode(answer["body"].as_str().unwrap().as_bytes()).unwrap();
        let kind = answer["type"].as_str().unwrap();
        if answer["status"] != 200 || body != capture.body.as_bytes() || kind != capture.kind {
            let start: String = String::from_utf8_lossy(&body).chars().take(80).collect();
            let what = format!("status {}, {kind:?}, {} bytes: {start:?}", answer["status"], body.len());
            faults.push(Fault { capture: format!("{}: {}", collection.name, capture.name), what });
        }
    }
    faults
}

/// Fails if there is any.
#[track_caller]
fn assert_none(faults: &[Fault]) {
    let found: Vec<_> = faults.iter().map(|fault| format!("{}: {}", fault.capture, fault.what)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A collection of pywb in `site` with these files in its archive.
fn collection(site: &Site, name: &str, files: &[PathBuf]) {
    let archive = site.path(&format!("pywb/collections/{name}/archive"));
    fs::create_dir_all(&archive).unwrap();
    for file in files {
        symlink(file, archive.join(file.file_name().unwrap())).unwrap();
    }
}

/// Fails unless pywb replays the value files of `site` by their CDXJ index, and the WARC exports by its own.
fn assert_replayed_by_pywb(site: &Site, python: &Path) {
    let values = fs::read_dir(site.path("crawl/pages")).unwrap().map(|entry| entry.unwrap().path());
    let values: Vec<_> = values.filter(|path| path.to_string_lossy().ends_with(".warc.gz")).collect();
    assert!(!values.is_empty());
    collection(site, "archive", &values);
    let indexes = site.path("pywb/collections/archive/indexes");
    fs::create_dir(&indexes).unwrap();
    site.run(&["export", "cdxj", "--all", "--output", indexes.join("index.cdxj").to_str().unwrap()]);
    site.run(&["export", "warc", "--output", "newest.warc.gz"]);
    site.run(&["export", "warc", "--all", "--output", "all.warc.gz"]);
    collection(site, "newest-warc", &[site.path("newest.warc.gz")]);
    collection(site, "all-warc", &[site.path("all.warc.gz")]);
    let collections = [
        Collection { name: "archive", captures: site.captures(&["--all"]) },
        Collection { name: "newest-warc", captures: site.captures(&[]) },
        Collection { name: "all-warc", captures: site.captures(&["--all"]) },
    ];
    assert_none(&faults(python, "pywb_replay.py", &site.path("pywb"), &collections));
}

#[test]
fn pywb_replays_the_archive_by_its_index_and_the_warc_export() {
    let Some(python) = tool("bin/python3") else { return };
    let site = Site::crawled_twice();
    assert_replayed_by_pywb(&site, &python);
    // versions that were revisits have the payload now, those of requests by POST among them
    site.run(&["compact", "--keep", "1", "--quiet"]);
    fs::remove_dir_all(site.path("pywb")).unwrap();
    assert_replayed_by_pywb(&site, &python);
}

#[test]
fn wabac_replays_the_wacz_export_and_the_warc_export() {
    let Some(_) = tool("node_modules/@webrecorder/wabac") else { return };
    let site = Site::crawled_twice();
    site.run(&["export", "wacz", "--output", "newest.wacz"]);
    site.run(&["export", "wacz", "--all", "--output", "all.wacz"]);
    site.run(&["export", "warc", "--output", "newest.warc.gz"]);
    let collections = [
        Collection { name: "newest.wacz", captures: site.captures(&[]) },
        Collection { name: "all.wacz", captures: site.captures(&["--all"]) },
        Collection { name: "newest.warc.gz", captures: site.captures(&[]) },
    ];
    assert_none(&faults(Path::new("node"), "wabac_replay.mjs", site.dir.path(), &collections));
}

#[test]
fn wabac_verifies_the_signature_of_a_wacz_and_python_the_one_of_a_manifest() {
    let Some(_) = tool("node_modules/@webrecorder/wabac") else { return };
    let site = Site::crawled_twice();
    site.run(&["identity", "init", "--dir", "keys"]);
    site.run(&["export", "wacz", "--key", "keys/key.pem", "--output", "signed.wacz"]);
    let folder = site.dir.path();
    let compared = |name: &str| -> Vec<Value> {
        let said = run(Path::new("node"), "wabac_signed.mjs", &[folder.as_os_str(), name.as_ref()]);
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let verdict = |all: &[Value], id: &str| all.iter().find(|one| one["id"] == id).map(|one| one["matched"].clone());
    let found = compared("signed.wacz");
    assert_eq!(verdict(&found, "signature"), Some(Value::Bool(true)), "{found:?}");
    assert!(verdict(&found, "publicKey").is_some(), "{found:?}");
    let Some(python) = tool("bin/python3") else { return };
    site.run(&["export", "manifest", "--key", "keys/key.pem", "--output", "manifest.jsonl"]);
    let said = run(&python, "manifest.py", &[folder.join("manifest.jsonl").as_os_str()]);
    let shown = site.run(&["export", "manifest", "--check", "manifest.jsonl"]).stdout;
    let key = said.trim_end().rsplit_once(' ').unwrap().1;
    assert!(String::from_utf8(shown).unwrap().contains(key), "{said}");
}

/// A crawl without the content that an earlier one has, which knew only one of the requests with the same answer.
fn crawled_against_earlier() -> Site {
    let site = Site::start(Vec::new());
    let seeds = fs::read_to_string(site.path("seeds.txt")).unwrap();
    let some = seeds.lines().filter(|seed| !seed.contains("/found") && !seed.contains("dogs"));
    fs::write(site.path("seeds.txt"), some.collect::<Vec<_>>().join("\n")).unwrap();
    site.crawl("earlier", &[]);
    next_second();
    fs::write(site.path("seeds.txt"), seeds).unwrap();
    site.configure("crawler.toml", "dedup_against = [\"earlier\"]");
    site.crawl("crawl", &[]);
    site
}

#[test]
fn what_refers_to_an_earlier_crawl_replays_from_an_export_alone() {
    let Some(_) = tool("node_modules/@webrecorder/wabac") else { return };
    let site = crawled_against_earlier();
    site.run(&["export", "wacz", "--output", "newest.wacz"]);
    site.run(&["export", "warc", "--output", "newest.warc.gz"]);
    // nothing but the files is there
    fs::rename(site.path("earlier"), site.path("gone")).unwrap();
    let of = |name| Collection { name, captures: site.captures(&[]) };
    let collections = [of("newest.wacz"), of("newest.warc.gz")];
    assert_none(&faults(Path::new("node"), "wabac_replay.mjs", site.dir.path(), &collections));
}

#[test]
fn what_refers_to_an_earlier_crawl_replays_by_the_indexes_of_both() {
    let Some(python) = tool("bin/python3") else { return };
    let site = crawled_against_earlier();
    let (archive, indexes) = (site.path("pywb/collections/both/archive"), site.path("pywb/collections/both/indexes"));
    fs::create_dir_all(&archive).unwrap();
    fs::create_dir_all(&indexes).unwrap();
    for crawl in ["earlier", "crawl"] {
        symlink(site.path(crawl).join("pages"), archive.join(crawl)).unwrap();
        let index = String::from_utf8(site.run(&["export", "cdxj", "--all", "--dir", crawl]).stdout).unwrap();
        assert!(crawl == "earlier" || index.matches("warc/revisit").count() > 3, "{index}");
        let named = index.replace("\"filename\":\"", &format!("\"filename\":\"{crawl}/"));
        fs::write(indexes.join(format!("{crawl}.cdxj")), named).unwrap();
    }
    let collections = [Collection { name: "both", captures: site.captures(&[]) }];
    assert_none(&faults(&python, "pywb_replay.py", &site.path("pywb"), &collections));
}
