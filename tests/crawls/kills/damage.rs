//! Damaged and newer files: an error that names the file, or the right result; never a panic, never a wrong one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crawler::disk::{Header, Kind};
use crawler::simweb::SimOptions;

use super::recovery::unfinished;
use super::{assert_goes_on, copy, fetched_twice, small, stopped, traced_at};
use crate::site::Site;
use crate::tools::{Tool, has};

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

fn remove_checkpoints(crawl: &Path) {
    for path in fs::read_dir(crawl).unwrap().map(|entry| entry.unwrap().path()) {
        if path.file_name().unwrap().to_str().unwrap().starts_with("checkpoint.g") {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn c10_a_newer_format_of_a_checkpoint_is_refused() {
    let site = stopped(small(43), 60);
    let paths = fs::read_dir(site.crawl.path("crawl")).unwrap().map(|entry| entry.unwrap().path());
    let path = paths.into_iter().find(|path| path.to_str().unwrap().contains("/checkpoint.g")).unwrap();
    let sound = fs::read(&path).unwrap();
    let mut newer = Header { kind: Kind::Checkpoint, version: 99 }.to_bytes().to_vec();
    newer.extend_from_slice(&sound[newer.len()..]);
    fs::write(&path, newer).unwrap();
    site.crawl.run(&[]).expect(3, &["checkpoint.g", "format version 99", "use a newer crawler"]);
    fs::write(&path, sound).unwrap();
    assert_goes_on(&site);
}

#[test]
fn n02_files_of_a_crawl_without_a_checkpoint_are_damage_and_no_new_crawl() {
    let site = stopped(small(45), 60);
    let crawl = site.crawl.path("crawl");
    for keeps_identity in [true, false] {
        remove_checkpoints(&crawl);
        if !keeps_identity {
            fs::remove_file(crawl.join("identity.json")).unwrap();
        }
        let files = state_files(&crawl);
        site.crawl.run(&[]).expect(3, &["damaged", "a checkpoint of the crawl", "this is not a new crawl"]);
        assert_eq!(files, state_files(&crawl));
    }
}

#[test]
fn n03_a_catalog_whose_reads_fail_costs_the_crawl_nothing() {
    if !has(Tool::Strace) {
        return;
    }
    let site = stopped(SimOptions { hosts: 12, pages: 120, ..small(46) }, 60);
    copy(&site.crawl.path("crawl"), &site.crawl.path("sound"));
    // the count is each thread's own
    for places in ["1", "2", "3", "5", "8", "1+"] {
        restore(&site);
        let ended = traced_at(&site, "catalog/db", &format!("pread64:error=EIO:when={places}"));
        ended.expect(0, &[]);
        site.assert_whole();
        assert_eq!(super::stored_twice(&site), Vec::<String>::new(), "{places}");
    }
}

#[test]
fn n03_a_catalog_that_is_lost_or_damaged_costs_the_crawl_nothing() {
    let site = stopped(SimOptions { hosts: 12, pages: 120, ..small(47) }, 60);
    copy(&site.crawl.path("crawl"), &site.crawl.path("sound"));
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 4] = [
        ("no directory", |catalog| fs::remove_dir_all(catalog).unwrap()),
        ("an empty log", |catalog| fs::write(catalog.join("db"), b"").unwrap()),
        ("a log of noise", |catalog| fs::write(catalog.join("db"), [0x5a; 70_000]).unwrap()),
        ("settings of noise", |catalog| fs::write(catalog.join("conf"), [0x5a; 70]).unwrap()),
    ];
    for (what, harm) in harms {
        restore(&site);
        harm(&site.crawl.path("crawl/catalog"));
        site.crawl.run(&[]).expect(0, &[]);
        site.assert_whole();
        assert_eq!(super::stored_twice(&site), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn n09_a_checkpoint_that_is_lost_is_told_and_the_crawl_goes_on_from_the_newest_there_is() {
    let site = stopped(SimOptions { hosts: 20, pages: 400, ..small(48) }, 60);
    copy(&site.crawl.path("crawl"), &site.crawl.path("sound"));
    let child = site.crawl.start(&[]);
    site.wait_for_requests(site.log().len() + 120);
    crate::site::interrupt(child).expect(11, &[]);
    // somebody put an old copy back, but not its catalog
    fs::rename(site.crawl.path("crawl/catalog"), site.crawl.path("newer")).unwrap();
    restore(&site);
    fs::remove_dir_all(site.crawl.path("crawl/catalog")).unwrap();
    fs::rename(site.crawl.path("newer"), site.crawl.path("crawl/catalog")).unwrap();
    site.crawl.run(&[]).expect(0, &["is lost: the crawl goes on from checkpoint"]);
    site.assert_whole();
    assert_eq!(super::stored_twice(&site), Vec::<String>::new());
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

/// Checks that the archive has the expected pages, and returns what is said instead if it has not.
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
    site.crawl.run(&[]).expect(0, &["are skipped", name, "crawler verify"]);
    site.assert_whole();
    // what was under way at the kill, and what was damaged
    assert!(fetched_twice(&site) <= 40 + 2, "{} pages were fetched twice", fetched_twice(&site));
    let mut verify = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let verified = verify.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert_eq!(verified.status.code(), Some(3), "{said}");
    assert!(said.contains(name.strip_suffix(".open").unwrap()) && said.contains("are skipped"), "{said}");
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
