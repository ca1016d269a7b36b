//! Commands that read a crawl in a store: they tell what they tell of the directory, and `verify` finds every harm to
//! an object.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::site::{RUSH, Site};
use crawler::simweb::SimOptions;

/// A crawl of this many shards that has ended, with all of it in a store beside it.
fn shipped(shards: usize, seed: u64) -> Site {
    let sections = format!("{RUSH}\n[crawl]\nshards = {shards}\n[cluster]\ncommit_interval = \"1s\"\n");
    let site = Site::new(SimOptions { seed, hosts: 20, pages: 160, ..SimOptions::default() }.smooth(), &sections);
    site.crawl.run(&["--store", &store(&site)]).expect(0, &[]);
    site
}

fn store(site: &Site) -> String {
    format!("file://{}", fs::canonicalize(site.crawl.dir.path()).unwrap().join("store").display())
}

/// Runs a command line, in which the store has its place.
fn command(site: &Site, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.current_dir(site.crawl.dir.path()).stdin(Stdio::null());
    for word in line.split(' ') {
        match word {
            "STORE" => command.arg(store(site)),
            word => command.arg(word),
        };
    }
    command.output().unwrap()
}

/// The same: exit code, and all that it says.
fn said(site: &Site, line: &str) -> (Option<i32>, String) {
    let output = command(site, line);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[track_caller]
fn rows(site: &Site, line: &str) -> Vec<Value> {
    let output = command(site, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

/// The objects of the crawl, by the ends of their names.
fn objects(dir: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(objects(&path)),
            false => _ = found.insert(path.to_str().unwrap().to_owned(), path),
        }
    }
    found
}

/// The last object whose name has this in it: of the newest checkpoint.
fn newest(site: &Site, part: &str) -> PathBuf {
    let all = objects(&site.crawl.path("store"));
    let found = all.into_iter().rev().find(|(name, _)| name.contains(part) && !name.contains("/crawls/"));
    found.unwrap_or_else(|| panic!("no object has {part} in its name")).1
}

fn name_of(object: &Path) -> &str {
    object.file_name().unwrap().to_str().unwrap()
}

#[test]
fn every_harm_to_an_object_in_a_store_is_found() {
    let site = shipped(1, 401);
    let line = "verify --store STORE";
    let (code, told) = said(&site, line);
    assert!(code == Some(0) && told.contains(": no damage"), "{told}");
    for part in [".pack", "value-", ".manifest"] {
        let object = newest(&site, part);
        let (whole, name) = (fs::read(&object).unwrap(), name_of(&object).to_owned());
        let mut flipped = whole.clone();
        // of a byte that compressed data end in some bits alone mean nothing
        flipped[whole.len() / 2] ^= 0xff;
        fs::write(&object, &flipped).unwrap();
        let (code, told) = said(&site, line);
        // what is in a value file is reported by its place in there
        let expected = if part == "value-" { "/pages/value-" } else { name.as_str() };
        assert!(code == Some(3) && told.contains(expected), "{name} flipped: {told}");
        fs::write(&object, &whole[..whole.len() - 1]).unwrap();
        let (code, told) = said(&site, line);
        assert!(code == Some(3) && told.contains(&name), "{name} cut: {told}");
        fs::remove_file(&object).unwrap();
        let (code, told) = said(&site, line);
        match part {
            ".manifest" => assert!(told.contains("and no manifest"), "{told}"),
            _ => assert!(code == Some(3) && told.contains(&format!("{name}:0: missing")), "{name} gone: {told}"),
        }
        // readers do not take what is left for the whole
        if part == "value-" {
            let (code, told) = said(&site, "list --store STORE");
            assert!(code == Some(3) && told.contains("crawler verify --store"), "{told}");
        }
        fs::write(&object, &whole).unwrap();
    }
    let (code, told) = said(&site, line);
    assert!(code == Some(0) && told.contains(": no damage"), "{told}");
}

#[test]
fn a_crawl_of_several_shards_in_a_store_is_verified_explained_and_reported_as_its_directory_is() {
    let site = shipped(2, 402);
    let named = fs::read_dir(site.crawl.path("store/crawls")).unwrap().next().unwrap().unwrap().file_name();
    let id = named.to_str().unwrap().trim_end_matches(".json").to_owned();
    for line in [
        "verify --store STORE --crawl ID --quiet",
        "report crawl --store STORE --crawl ID --json",
        "explain https://nobody.example/x --store STORE --crawl ID",
    ] {
        let (code, told) = said(&site, &line.replace("ID", &id));
        assert_eq!(code, Some(0), "{line}: {told}");
    }
    let (code, told) = said(&site, "verify --store STORE --verbose");
    assert!(code == Some(0) && told.contains(": no damage"), "{told}");
    for report in ["hosts", "seeds", "status-codes", "mime-types"] {
        let here = rows(&site, &format!("report {report} --dir crawl --json"));
        let there = rows(&site, &format!("report {report} --store STORE --json"));
        assert!(!here.is_empty() && here == there, "{report}: {here:?}\n{there:?}");
    }
    let crawl = |line: &str| rows(&site, line).remove(0);
    let (here, there) = (crawl("report crawl --dir crawl --json"), crawl("report crawl --store STORE --json"));
    assert_eq!((&here["statistics"], &here["seeds"]), (&there["statistics"], &there["seeds"]));
    let stored = site.crawl.stored();
    let link = site.web.expected().pages.keys().find(|url| !site.web.seeds().contains(url)).unwrap().clone();
    for url in [stored.keys().next().unwrap(), &link, "https://nobody.example/x"] {
        let mut here = crawl(&format!("explain {url} --dir crawl --json"));
        let mut there = crawl(&format!("explain {url} --store STORE --json"));
        for told in [&mut here, &mut there] {
            told["crawl"]["now"] = Value::Null;
            told["crawl"]["in_store"] = Value::Null;
        }
        assert_eq!(here, there);
    }
    // a shard of which nothing is left, though others have read its links
    let gone = newest(&site, "/001/");
    fs::remove_dir_all(gone.parent().unwrap().parent().unwrap()).unwrap();
    let (code, told) = said(&site, "verify --store STORE");
    assert!(code == Some(3) && told.contains("it knew of checkpoint"), "{told}");
}

#[test]
fn what_reads_no_store_says_so() {
    let site = Site::new(SimOptions { hosts: 1, pages: 1, ..SimOptions::default() }, RUSH);
    for command in ["status", "ctl status", "console", "compact"] {
        let (code, told) = said(&site, &format!("{command} --store STORE"));
        assert!(code == Some(2) && told.contains("A store is read by list"), "{command}: {told}");
    }
    let (code, told) = said(&site, "verify --store STORE --rebuild");
    assert!(code == Some(2) && told.contains("cannot be used with"), "{told}");
    let (code, told) = said(&site, "verify --store STORE");
    assert!(code == Some(2) && told.contains("there is no such crawl"), "{told}");
}
