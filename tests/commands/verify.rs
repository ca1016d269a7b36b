//! `crawler verify [--rebuild]` over whole crawl directories: every kind of file is harmed in every way, and found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::site::{RUSH, Site, ms};
use crawler::checkpoint::Checkpoint;
use crawler::checkpoint::{self, Sections};
use crawler::disk::Disk;
use crawler::drum::{Drum, DrumOptions};
use crawler::engine::seeds::{self, reader};
use crawler::record::layout::StoreName;
use crawler::simweb::SimOptions;

/// Buckets so small that a crawl of some hundred pages has files of every kind.
const SMALL: &str = "\n[drum]\nbuckets = 2\nram_per_bucket = \"4KiB\"\nmerge_threshold = \"8KiB\"\n\
                     \n[frontier]\nmemory = \"8MiB\"\nactive_hosts = 16\n\
                     \n[crawl]\ncheckpoint_interval = \"1s\"\n";

/// Result of `crawler verify`.
struct Verified {
    code: Option<i32>,
    /// Its findings and its sum.
    told: String,
    /// Other messages of it.
    said: String,
}

fn verify(site: &Site, options: &[&str]) -> Verified {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).args(options).output().unwrap();
    Verified {
        code: output.status.code(),
        told: String::from_utf8(output.stdout).unwrap(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[track_caller]
fn assert_sound(site: &Site) {
    let Verified { code, told, said } = verify(site, &[]);
    assert_eq!(code, Some(0), "{told}{said}");
    assert!(told.contains("no damage"), "{told}{said}");
}

/// Pages that are due again in some days: so many to a slot that slots have files. Half of them are due days before
/// the others, so that two slots at least have one at whatever time of the day.
const AGAIN: &str = "\n[recrawl]\nmode = \"fixed\"\ninterval = \"10d\"\n\
                     patterns = [{ include = \"[02468](\\\\D*)$\", interval = \"5d\" }]\n";

fn site(seed: u64) -> Site {
    site_with(seed, "")
}

fn site_with(seed: u64, config: &str) -> Site {
    // short pages: these tests are about the state beside the archive, and each look at it reads the archive too
    let options =
        SimOptions { seed, hosts: 400, pages: 4_000, page_bytes: 500, latency: ms(1), ..SimOptions::default() };
    Site::new(options.smooth(), &format!("{RUSH}{SMALL}{config}"))
}

/// A crawl that was stopped on its way, so that URLs wait everywhere.
fn stopped(seed: u64) -> Site {
    stopped_with(seed, "")
}

/// The same of a crawl whose pages are due again some time.
fn stopped_again(seed: u64) -> Site {
    stopped_with(seed, AGAIN)
}

fn stopped_with(seed: u64, config: &str) -> Site {
    let site = site_with(seed, config);
    let child = site.crawl.start(&[]);
    site.wait_for_requests(2_600);
    crate::site::interrupt(child).expect(11, &[]);
    site
}

/// All files below `dir`, without what sled and the lock own, and without the archive.
fn state_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for part in ["url-seen", "robots", "dns", "visits", "calendar", "frontier", "seeds"] {
        let entries = fs::read_dir(dir.join(part)).into_iter().flatten();
        found.extend(entries.map(|entry| entry.unwrap().path()));
    }
    found.extend(fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        ["checkpoint.", "identity", "status", "config"].iter().any(|start| name.starts_with(start))
    }));
    found.sort();
    found
}

fn kind(path: &Path) -> String {
    let parent = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    match path.extension().map(|end| end.to_string_lossy().into_owned()) {
        _ if parent == "calendar" => parent,
        Some(end) if parent != "crawl" => format!("{parent}/{end}"),
        _ if name.starts_with("checkpoint") => "checkpoint".to_owned(),
        _ => name,
    }
}

/// Up to two files of every kind: the largest ones.
fn of_every_kind(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kinds: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    files.into_iter().for_each(|path| kinds.entry(kind(&path)).or_default().push(path));
    for paths in kinds.values_mut() {
        paths.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).unwrap().len()));
        paths.truncate(2);
    }
    kinds.into_values().flatten().collect()
}

#[test]
fn a_crawl_that_ended_in_good_order_leaves_no_file_behind_that_no_checkpoint_names() {
    let site = stopped(20);
    let Verified { code, told, said } = verify(&site, &[]);
    assert_eq!((code, told.contains("unfinished")), (Some(0), false), "stopped: {told}{said}");
    site.crawl.run(&[]).expect(0, &[]);
    let Verified { code, told, said } = verify(&site, &[]);
    assert_eq!((code, told.contains("unfinished")), (Some(0), false), "complete: {told}{said}");
}

#[test]
fn a_file_of_any_kind_that_is_flipped_cut_or_gone_is_found_and_named() {
    let site = stopped_again(21);
    assert_sound(&site);
    let dir = site.crawl.path("crawl");
    let files = of_every_kind(state_files(&dir));
    let mut kinds = BTreeSet::new();
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for path in files {
        let whole = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        fs::remove_file(&path).unwrap();
        let gone = verify(&site, &[]);
        // a kill may have come before they were written
        let harmless = ["config.json", "status.json"].contains(&name.as_str());
        if gone.code == Some(0) && !harmless {
            // no checkpoint names it, so nobody misses it
            fs::write(path, whole).unwrap();
            continue;
        }
        let found = |how: &str, expected: i32, Verified { code, told, said }: Verified| {
            assert_eq!(code, Some(expected), "seed {seed}: {name} {how}\n{told}{said}");
            // of a checkpoint that is gone nobody knows the number
            let name = if how == "gone" && name.starts_with("checkpoint.g") { "checkpoint.g*" } else { &name };
            assert!(told.contains(name), "seed {seed}: {name} {how}\n{told}{said}");
        };
        found("gone", if harmless { 0 } else { 3 }, gone);
        kinds.insert(kind(&path));
        let mut harmed: Vec<(String, Vec<u8>)> = Vec::new();
        for at in [0, whole.len() / 2, random.usize(..whole.len()), whole.len() - 1] {
            let mut bytes = whole.clone();
            // in a plain copy some bytes mean nothing, a brace or a quote always does
            bytes[at] ^= if name.ends_with("json") || name.ends_with("jsonl") { 0x80 } else { 1 << random.u8(..8) };
            harmed.push((format!("flipped at {at}"), bytes));
        }
        let cut = random.usize(..whole.len() - 1);
        harmed.push((format!("cut at {cut}"), whole[..cut].to_vec()));
        for (how, bytes) in harmed {
            fs::write(&path, bytes).unwrap();
            found(&how, 3, verify(&site, &[]));
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_sound(&site);
    for expected in [
        "url-seen/repo",
        "visits/repo",
        "calendar",
        "frontier/base",
        "checkpoint",
        "identity.json",
        "status.json",
        "list",
        "fates",
    ] {
        assert!(kinds.contains(expected), "no {expected} in {kinds:?}");
    }
}

#[test]
fn two_files_of_one_kind_in_each_others_place_are_found_and_unknown_ones_are_no_damage() {
    let site = stopped_again(22);
    let dir = site.crawl.path("crawl");
    let mut kinds: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in state_files(&dir) {
        kinds.entry(kind(&path)).or_default().push(path);
    }
    let mut swapped = 0;
    for paths in kinds.values().filter(|paths| paths.len() > 1) {
        let (a, b) = (&paths[0], &paths[1]);
        let (of_a, of_b) = (fs::read(a).unwrap(), fs::read(b).unwrap());
        fs::write(a, &of_b).unwrap();
        fs::write(b, &of_a).unwrap();
        let Verified { code, told, said } = verify(&site, &[]);
        assert_eq!(code, Some(3), "{} and {}\n{told}{said}", a.display(), b.display());
        fs::write(a, &of_a).unwrap();
        fs::write(b, &of_b).unwrap();
        swapped += 1;
    }
    assert!(swapped > 2);
    for name in
        ["url-seen/bucket-001.g999999.kv", "robots/notes", "frontier/partition-003.g999999.base", "checkpoint.g999999"]
    {
        fs::write(dir.join(name), b"what is this").unwrap();
        let Verified { code, told, said } = verify(&site, &[]);
        assert_eq!(code, Some(0), "{told}{said}");
        assert!(told.contains("leftover"), "{name}\n{told}");
        fs::remove_file(dir.join(name)).unwrap();
    }
    fs::remove_dir_all(dir.join("logs")).unwrap();
    let Verified { code, said, .. } = verify(&site, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("crawl.log") && said.contains("nothing depends on it"), "{said}");
}

#[test]
fn a_crawl_that_runs_is_killed_and_goes_on_is_found_sound_all_the_while() {
    let site = site(23);
    for requests in [700, 1_400, 2_100] {
        let before = site.log().len();
        let child = site.crawl.start(&[]);
        // a crawl that was still beginning would be reported as one that was started meanwhile
        site.wait_for_requests((requests - 300).max(before + 1));
        assert_sound(&site);
        site.wait_for_requests(requests);
        assert_sound(&site);
        site.kill(child);
        assert_sound(&site);
    }
    site.crawl.run(&[]).expect(0, &[]);
    assert_sound(&site);
    site.assert_whole();
}

/// Harms files, rebuilds, and lets the crawl go on to its end.
fn harmed_and_rebuilt(seed: u64, harm: impl Fn(&Path)) -> Site {
    let site = stopped(seed);
    let dir = site.crawl.path("crawl");
    harm(&dir);
    let Verified { code, told, said } = verify(&site, &[]);
    assert_eq!(code, Some(3), "{told}{said}");
    let Verified { code, told, said } = verify(&site, &["--rebuild"]);
    assert_eq!(code, Some(0), "{told}{said}");
    assert_sound(&site);
    site.crawl.run(&[]).expect(0, &[]);
    assert_sound(&site);
    site
}

fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|found| found == end)).collect();
    paths.sort();
    paths
}

fn flip_middle(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_crawl_ends_with_the_expected_pages_after_url_seen_was_made_again() {
    // one repository damaged, all of them gone
    for (seed, all) in [(24, false), (25, true)] {
        let site = harmed_and_rebuilt(seed, |dir| {
            let repositories = files(&dir.join("url-seen"), "repo");
            assert!(!repositories.is_empty());
            flip_middle(&repositories[0]);
            if all {
                repositories.iter().for_each(|path| fs::remove_file(path).unwrap());
            }
        });
        site.assert_whole();
    }
}

#[test]
fn a_crawl_ends_with_the_expected_pages_after_its_caches_were_emptied_and_its_copies_made_again() {
    let site = harmed_and_rebuilt(26, |dir| {
        for store in ["robots", "dns"] {
            for path in files(&dir.join(store), "repo") {
                flip_middle(&path);
            }
        }
        for name in ["identity.json", "status.json", "config.json"] {
            fs::write(dir.join(name), b"{").unwrap();
        }
    });
    site.assert_whole();
}

/// Pages in the calendar, by the sum that `verify` ends with.
fn in_calendar(site: &Site) -> u64 {
    let Verified { told, said, .. } = verify(site, &[]);
    let (before, _) = told.split_once(" in the calendar").unwrap_or_else(|| panic!("{told}{said}"));
    before.rsplit(", ").next().unwrap().replace([',', ' '], "").parse().unwrap()
}

#[test]
fn pages_of_damaged_slots_and_visits_are_in_the_calendar_again_after_a_rebuild() {
    let site = stopped_again(36);
    let dir = site.crawl.path("crawl");
    let before = in_calendar(&site);
    assert!(before > 1_000, "{before}");
    for part in ["calendar", "visits"] {
        let mut files: Vec<_> = fs::read_dir(dir.join(part)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() > 1, "{files:?}");
        files.iter().for_each(|path| flip_middle(path));
        fs::remove_file(&files[0]).unwrap();
        let Verified { code, told, said } = verify(&site, &[]);
        assert_eq!(code, Some(3), "{part}: {told}{said}");
        assert!(said.contains("into the calendar again"), "{part}: {said}");
        let Verified { code, told, said } = verify(&site, &["--rebuild"]);
        assert_eq!(code, Some(0), "{part}: {told}{said}");
        assert_sound(&site);
        assert_eq!(in_calendar(&site), before, "{part}: {said}");
    }
    site.crawl.run(&["--until-fresh"]).expect(0, &[]);
    assert_sound(&site);
    site.assert_whole();
}

#[test]
fn what_waited_behind_a_damaged_place_is_met_again_or_told_as_lost() {
    let site = stopped(27);
    let dir = site.crawl.path("crawl");
    files(&dir.join("url-seen"), "kv").iter().for_each(|path| flip_middle(path));
    let Verified { code, told, said } = verify(&site, &[]);
    assert_eq!(code, Some(3), "{told}{said}");
    assert!(said.contains("URLs on their way to the queue are lost"), "{said}");
    let Verified { code, told, said } = verify(&site, &["--rebuild"]);
    assert_eq!(code, Some(0), "{told}{said}");
    assert_sound(&site);
    site.crawl.run(&[]).expect(0, &[]);
    assert_sound(&site);
    let expected = &site.web.expected().pages;
    let stored = site.crawl.stored();
    let surplus: Vec<_> = stored.keys().filter(|url| !expected.contains_key(*url)).collect();
    assert!(surplus.is_empty(), "{surplus:?}");
}

/// Makes another last checkpoint of a crawl in good order, as `change` says.
fn with_checkpoint(site: &Site, change: impl FnOnce(&Path, &mut Checkpoint, &mut Sections)) {
    let (dir, disk) = (site.crawl.path("crawl"), Disk::real());
    let last = checkpoint::Last::find(&disk, &dir).unwrap().unwrap();
    let (identity, mut last, mut sections) = (last.identity, last.checkpoint.unwrap(), last.sections);
    fs::remove_file(checkpoint::checkpoint_path(&dir, last.number)).unwrap();
    last.number += 1;
    change(&dir, &mut last, &mut sections);
    seeds::renew(&disk, &dir, last.number - 1, last.number).unwrap();
    checkpoint::renew(&disk, &dir, &identity, &last, &sections).unwrap();
}

#[test]
fn what_url_seen_forgot_is_found_key_by_key_and_put_back() {
    let site = stopped(30);
    with_checkpoint(&site, |dir, last, sections| {
        // a store of the same shape with nothing in it, sound in itself
        fs::remove_dir_all(dir.join("url-seen")).unwrap();
        let options = DrumOptions { buckets: 2, ..DrumOptions::default() };
        let mut drum: Drum<u64, (), String> = Drum::open(Disk::real(), &dir.join("url-seen"), options, None).unwrap();
        let mut arrays = Vec::new();
        last.stores.insert(StoreName::Seen, drum.cut(&mut arrays).unwrap().state);
        sections.stores.insert(StoreName::Seen, arrays);
    });
    let Verified { code, told, said } = verify(&site, &[]);
    assert_eq!(code, Some(3), "{told}{said}");
    assert!(told.contains("URL-seen does not know"), "{told}");
    assert!(told.contains("more keys that URL-seen does not have"), "{told}");
    let Verified { code, told, said } = verify(&site, &["--rebuild"]);
    assert_eq!(code, Some(0), "{told}{said}");
    assert_sound(&site);
    let before = site.crawl.stored();
    let requests = site.log().len();
    site.crawl.run(&[]).expect(0, &[]);
    assert_sound(&site);
    let port = site.web.http_port();
    let later = site.log().split_off(requests);
    let pages = later.iter().filter(|request| !request.path.starts_with("/robots.txt"));
    let again: Vec<_> = pages.map(|request| request.url(port)).filter(|url| before.get(url) == Some(&200)).collect();
    assert!(again.is_empty(), "fetched once more: {again:?}");
}

#[test]
fn seeds_pages_and_counts_that_do_not_fit_each_other_are_found() {
    let site = stopped(31);
    with_checkpoint(&site, |dir, last, _| {
        let header = 16;
        last.container.key_bytes = header;
        last.container.pages = 0;
        assert!(reader::count(&Disk::real(), dir).unwrap().unwrap() > 1);
    });
    let Verified { code, told, said } = verify(&site, &[]);
    assert_eq!(code, Some(3), "{told}{said}");
    assert!(told.contains("says that its page has a key record at byte"), "{told}");
    assert!(told.contains("0 pages; the statistics of the last checkpoint count"), "{told}");

    let site = stopped(32);
    let list = site.crawl.path("crawl/seeds/list");
    let whole = fs::read(&list).unwrap();
    // a header, and the first seed
    let first = 16 + 8 + u32::from_le_bytes(whole[16..20].try_into().unwrap()) as usize;
    fs::write(&list, &whole[..first]).unwrap();
    let Verified { code, told, said } = verify(&site, &[]);
    assert_eq!(code, Some(3), "{told}{said}");
    assert!(told.contains("which does not exist"), "{told}");
    assert!(told.contains("seeds/list") && told.contains("the others cannot be rebuilt"), "{told}");
}

#[test]
fn a_rebuild_that_is_killed_is_run_again_and_the_crawl_goes_on() {
    let site = stopped(33);
    let dir = site.crawl.path("crawl");
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    files(&dir.join("url-seen"), "repo").iter().for_each(|path| flip_middle(path));
    let staged = dir.join("pages/rebuild/key.dat");
    for _ in 0..6 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let mut child =
            command.args(["verify", "--rebuild", "-q", "--dir"]).arg(&dir).stdout(Stdio::null()).spawn().unwrap();
        // somewhere between its first file and its end
        let mut looks = random.u32(..400);
        while looks > 0 && child.try_wait().unwrap().is_none() {
            looks -= u32::from(staged.exists() || dir.join("pages/rebuild.unfinished").exists());
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
    }
    let Verified { code, told, said } = verify(&site, &["--rebuild"]);
    assert_eq!(code, Some(0), "seed {seed}: {told}{said}");
    assert_sound(&site);
    site.crawl.run(&[]).expect(0, &[]);
    assert_sound(&site);
    site.assert_whole();
}

#[test]
fn nothing_depends_on_the_catalog() {
    let site = stopped(34);
    fs::remove_dir_all(site.crawl.path("crawl/catalog")).unwrap();
    assert_sound(&site);
    fs::create_dir(site.crawl.path("crawl/catalog")).unwrap();
    fs::write(site.crawl.path("crawl/catalog/conf"), "no settings of sled").unwrap();
    assert_sound(&site);
    assert_eq!(verify(&site, &["--rebuild"]).code, Some(0));
    site.crawl.run(&[]).expect(0, &["it is set aside as catalog.damaged"]);
    assert_sound(&site);
    site.assert_whole();
}

#[test]
fn a_damaged_queue_is_told_and_no_rebuild_pretends_to_mend_it() {
    let site = stopped(28);
    let dir = site.crawl.path("crawl");
    let queue = dir.join("frontier");
    ["tail", "base"].iter().flat_map(|end| files(&queue, end)).for_each(|path| flip_middle(&path));
    for options in [&[][..], &["--rebuild"], &[]] {
        let Verified { code, told, said } = verify(&site, options);
        assert_eq!(code, Some(3), "{told}{said}");
        assert!(said.contains("the queue is damaged"), "{said}");
    }
}

#[test]
fn the_speed_is_told_where_it_is_wanted() {
    let site = site(29);
    site.crawl.run(&[]).expect(0, &[]);
    let Verified { code, told, said } = verify(&site, &["-v"]);
    assert_eq!(code, Some(0), "{told}{said}");
    assert!(said.contains("MB/s"), "{said}");
    assert!(told.contains("no damage"), "{told}");
}

/// `cargo test --release --test commands verify:: -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn how_fast_a_crawl_of_20_000_pages_is_verified() {
    let options = SimOptions { seed: 5, hosts: 1_000, pages: 20_000, latency: Duration::ZERO, ..SimOptions::default() };
    let site = Site::new(options.smooth(), RUSH);
    site.crawl.run(&[]).expect(0, &[]);
    let Verified { told, said, .. } = verify(&site, &["-v"]);
    println!("{told}{said}");
}
