//! Damaged and newer files: an error that names the file, or the right result; never a panic, never a wrong one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crawler::catalog::{Batch, Catalog, SledCatalog};
use crawler::simweb::SimOptions;

use super::recovery::unfinished;
use super::site::Site;
use super::{assert_goes_on, copy, fetched_twice, small, stopped, stopped_with};

/// Every file of the state; logs and plain copies are derived and no state.
fn state_files(crawl: &Path) -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            match () {
                () if path.is_dir() && !matches!(name, "logs" | "reports") => walk(&path, found),
                () if path.is_dir() || name == "LOCK" || name.contains(".json") => {}
                () => found.push(path),
            }
        }
    }
    let mut found = Vec::new();
    walk(crawl, &mut found);
    found.sort();
    found
}

fn restore(site: &Site) {
    fs::remove_dir_all(site.crawl.path("crawl")).unwrap();
    copy(&site.crawl.path("sound"), &site.crawl.path("crawl"));
}

/// One file of each kind, the first that has content: name without numbers, path below the crawl directory.
fn one_of_each(site: &Site) -> Vec<(String, PathBuf)> {
    let crawl = site.crawl.path("crawl");
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for path in state_files(&crawl) {
        let below = path.strip_prefix(&crawl).unwrap().to_owned();
        let kind: String = below.to_str().unwrap().chars().filter(|c| !c.is_ascii_digit()).collect();
        if fs::metadata(&path).unwrap().len() <= 16 {
            continue;
        }
        // the last one is of the newest generation, which no other has superseded
        match found.iter_mut().find(|(known, _)| *known == kind) {
            Some(earlier) => earlier.1 = below,
            None => found.push((kind, below)),
        }
    }
    found
}

#[test]
fn c10_a_newer_format_of_any_file_is_refused_and_nothing_is_changed() {
    // small arrays and few places for hosts, so that all kinds of files come to be
    let shape = "[drum]\nbuckets = 2\nram_per_bucket = \"4KiB\"\nmerge_threshold = \"4KiB\"\n\
                 [frontier]\nactive_hosts = 4\nmemory = \"8MiB\"\n";
    let options = SimOptions { hosts: 300, pages: 3_000, cross_links: 0.8, ..small(41) };
    let site = stopped_with(options, 900, shape);
    fs::rename(site.crawl.path("crawl"), site.crawl.path("sound")).unwrap();
    copy(&site.crawl.path("sound"), &site.crawl.path("crawl"));
    let mut refused = Vec::new();
    for (kind, file) in one_of_each(&site) {
        restore(&site);
        let path = site.crawl.path("crawl").join(&file);
        let mut bytes = fs::read(&path).unwrap();
        if !bytes.starts_with(b"CRAWL\n") {
            continue;
        }
        bytes[8] = 99;
        let sum = crc32fast::hash(&bytes[..12]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let ended = site.crawl.run(&[]);
        if ended.code == Some(0) && !path.exists() {
            // left over from before the last checkpoint, and removed unread
            continue;
        }
        ended.expect(3, &["format version 99", "use a newer crawler", file.file_name().unwrap().to_str().unwrap()]);
        assert_eq!(fs::read(&path).unwrap(), bytes, "{kind} was changed");
        refused.push(kind);
    }
    println!("refused: {refused:?}");
    for kind in [".repo", "key.dat", "address.idx", "address.dw", ".base", "checkpoint.g"] {
        assert!(refused.iter().any(|refused| refused.ends_with(kind)), "no {kind} among {refused:?}");
    }
}

#[test]
fn c10_a_newer_format_of_the_directory_is_refused_and_a_catalog_without_identity_is_damage() {
    let site = stopped(small(43), 60);
    let path = site.crawl.path("crawl/catalog");
    let set = |value: Option<Vec<u8>>| {
        let catalog = SledCatalog::open(&path).unwrap();
        let before = catalog.get("identity").unwrap();
        let mut batch = Batch::new();
        match value {
            Some(value) => batch.put("identity", value),
            None => batch.remove("identity"),
        }
        catalog.commit(&batch).unwrap();
        before
    };
    let mut newer = set(None).unwrap();
    site.crawl.run(&[]).expect(3, &["damaged", "catalog", "identity"]);
    let sound = newer.clone();
    newer[0] = 99;
    set(Some(newer));
    site.crawl.run(&[]).expect(3, &["catalog: format version 99", "use a newer crawler"]);
    set(Some(sound));
    assert_goes_on(&site);
}

#[test]
fn c6_an_empty_or_lost_catalog_is_damage_and_no_empty_crawl() {
    let site = stopped(small(44), 60);
    copy(&site.crawl.path("crawl"), &site.crawl.path("sound"));
    for file in ["db", ""] {
        restore(&site);
        let path = site.crawl.path("crawl/catalog").join(file);
        if file.is_empty() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::write(path, b"").unwrap()
        }
        site.crawl.run(&[]).expect(3, &["damaged", "catalog"]);
    }
    restore(&site);
    assert_goes_on(&site);
}

#[test]
fn c6_a_file_that_is_cut_or_flipped_is_named_or_made_again_and_never_misleads() {
    let site = stopped(SimOptions { hosts: 12, pages: 120, ..small(42) }, 40);
    fs::rename(site.crawl.path("crawl"), site.crawl.path("sound")).unwrap();
    copy(&site.crawl.path("sound"), &site.crawl.path("crawl"));
    let samples: usize = std::env::var("KILLS_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let seed: u64 = std::env::var("KILLS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut told, mut ended_right, mut wrong) = (0, 0, Vec::new());
    for (kind, file) in one_of_each(&site) {
        for sample in 0..samples {
            restore(&site);
            let path = site.crawl.path("crawl").join(&file);
            let mut bytes = fs::read(&path).unwrap();
            let at = rng.usize(..bytes.len());
            let cut = sample % 2 == 0;
            if cut {
                bytes.truncate(at)
            } else {
                bytes[at] ^= 1 << rng.u8(..8)
            }
            fs::write(&path, &bytes).unwrap();
            let ended = site.crawl.run(&[]);
            let what = format!("{kind} {} at byte {at}", if cut { "cut" } else { "flipped" });
            match ended.code {
                Some(3) if names_a_file(&ended.said) => told += 1,
                // what is damaged may be of no use any more: then nothing may be missing
                Some(0) => match listing(&site) {
                    // what a crawl need not read to go on, those who read it are told of
                    Err(said) if names_a_file(&said) => told += 1,
                    Ok(()) => ended_right += 1,
                    Err(said) => wrong.push(format!("{what}: {said}")),
                },
                _ => wrong.push(format!("{what}: code {:?}: {}", ended.code, ended.said)),
            }
        }
    }
    println!("seed {seed}: {told} told, {ended_right} ended with the right pages");
    assert!(wrong.is_empty(), "seed {seed}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn names_a_file(said: &str) -> bool {
    said.contains("damaged at byte") || said.contains("use a newer crawler")
}

/// Whether the archive has the expected pages, or what is said instead.
fn listing(site: &Site) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let listing = command.args(["list", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    if !listing.status.success() {
        return Err(String::from_utf8_lossy(&listing.stderr).into_owned());
    }
    let (pages, stored) = (&site.web.expected().pages, site.crawl.stored());
    let missing: Vec<_> = pages.iter().filter(|(url, page)| stored.get(*url) != Some(&page.status)).collect();
    let surplus = stored.keys().filter(|url| !pages.contains_key(*url)).count();
    let whole = missing.is_empty() && surplus == 0;
    if whole { Ok(()) } else { Err(format!("{} pages missing, {surplus} too many", missing.len())) }
}

#[test]
fn n09_a_missing_index_is_damage_with_the_command_that_makes_it_again() {
    let site = stopped(small(45), 60);
    copy(&site.crawl.path("crawl"), &site.crawl.path("sound"));
    for file in ["address.idx", "address.ovf", "key.dat"] {
        restore(&site);
        let path = site.crawl.path("crawl/pages").join(file);
        fs::remove_file(&path).unwrap();
        site.crawl.run(&[]).expect(3, &["damaged", file, "no such file", "crawler verify --rebuild"]);
        assert!(!path.exists(), "{file} was made anew");
        let mut rebuild = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let rebuilt = rebuild.args(["verify", "--rebuild", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
        assert_eq!(rebuilt.status.code(), Some(0), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    }
    assert_goes_on(&site);
}

#[test]
fn n08_a_record_that_is_damaged_after_a_kill_costs_its_own_page_and_is_named_by_the_start_and_by_verify() {
    let site = unfinished(46, 300);
    let pages = site.crawl.path("crawl/pages");
    let path = fs::read_dir(pages).unwrap().map(|entry| entry.unwrap().path());
    let path = path.into_iter().find(|path| path.to_str().unwrap().ends_with(".open")).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() / 3;
    bytes[at..at + 8].fill(0);
    fs::write(&path, bytes).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    site.crawl.run(&[]).expect(0, &["are passed over", name, "crawler verify"]);
    site.assert_whole();
    // what was under way at the kill, and what was damaged
    assert!(fetched_twice(&site) <= 40 + 2, "{} pages were fetched twice", fetched_twice(&site));
    let mut verify = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let verified = verify.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert_eq!(verified.status.code(), Some(3), "{said}");
    assert!(said.contains(name.strip_suffix(".open").unwrap()) && said.contains("passed over"), "{said}");
}

#[test]
fn n23_links_in_the_place_of_files_are_refused_with_code_3_and_what_they_lead_to_stays_as_it_is() {
    let site = stopped(small(47), 40);
    let target = site.crawl.path("mine");
    for file in
        ["LOCK", "logs/crawl.log", "logs/politeness.jsonl", "logs/skipped.jsonl", "status.json.tmp", "catalog/db"]
    {
        fs::write(&target, "mine\n").unwrap();
        let path = site.crawl.path("crawl").join(file);
        let aside = site.crawl.path("aside");
        let _ = fs::rename(&path, &aside);
        std::os::unix::fs::symlink(&target, &path).unwrap();
        site.crawl.run(&[]).expect(3, &[file, "symbolic link"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n", "{file}");
        fs::remove_file(&path).unwrap();
        let _ = fs::rename(&aside, &path);
    }
    assert_goes_on(&site);
    let mode = |file: &str| std::os::unix::fs::MetadataExt::mode(&fs::metadata(site.crawl.path(file)).unwrap()) & 0o777;
    assert_eq!((mode("crawl") & 0o077, mode("crawl/LOCK")), (0, 0o600));
}
