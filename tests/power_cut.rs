//! The catalog under power cuts: a process commits batches as checkpoints do, `strace` records what it tells the kernel,
//! and every state that the disk may be left in is built from the record and opened.
//!
//! What has to hold for each: the catalog opens, and holds exactly the batches up to the newest whose commit had
//! returned, or up to the one that was being committed. Without `strace` the test says so and checks nothing.
//!
//! ```text
//! cargo test --release --test power_cut -- --nocapture               a few hundred images
//! POWER_CUT_BATCHES=150 POWER_CUT_MIXTURES=20 TMPDIR=/dev/shm ...    some thousand
//! ```

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "power_cut/images.rs"]
mod images;
#[path = "power_cut/trace.rs"]
mod trace;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crawler::catalog::{Batch, Catalog, SledCatalog};
use images::{Cut, Image};
use trace::{Act, Event};

/// Where the writer finds its directory.
const DIR: &str = "POWER_CUT_DIR";
/// How often the writer closes its catalog and opens it again.
const OPENINGS: usize = 3;
/// Batches of a run that nobody asked more of.
const BATCHES: usize = 12;
const CALLS: &str =
    "trace=openat,pwrite64,write,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat";

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Batch `number`: a record of some 60 KB as a checkpoint has, a few seeds, one removal.
fn batch(number: usize) -> Batch {
    let mut rng = fastrand::Rng::with_seed(number as u64);
    let record: Vec<u8> = (0..rng.usize(55_000..65_000)).map(|_| rng.u8(..)).collect();
    let mut batch = Batch::new();
    batch.put("checkpoint", record);
    for _ in 0..rng.usize(..6) {
        batch.put(format!("seed/{:04}", rng.u32(..500)), vec![rng.u8(..); rng.usize(10..200)]);
    }
    batch.remove(format!("seed/{:04}", rng.u32(..500)));
    batch.put("number", number.to_le_bytes().to_vec());
    batch
}

type Entries = BTreeMap<String, Vec<u8>>;

/// What a catalog holds after 0, 1, 2, ... of `batches` batches.
fn expected(batches: usize) -> Vec<Entries> {
    let mut all = vec![Entries::new()];
    for number in 1..=batches {
        let mut map = all[number - 1].clone();
        for (key, value) in batch(number).changes() {
            match value {
                Some(value) => drop(map.insert(key.clone(), value.clone())),
                None => drop(map.remove(key)),
            }
        }
        all.push(map);
    }
    all
}

/// Not a test by itself: the process that is traced.
#[test]
#[ignore = "the process that the other test traces"]
fn writes_batches() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let dir = Path::new(&dir);
    let mut diary = std::fs::File::create(dir.join("diary")).unwrap();
    let batches = number("POWER_CUT_BATCHES", BATCHES);
    let mut done = 0;
    for opening in 1..=OPENINGS {
        let catalog = SledCatalog::open(&dir.join("catalog")).unwrap();
        while done < batches * opening / OPENINGS {
            let batch = batch(done + 1);
            diary.write_all(format!("commits {}\n", done + 1).as_bytes()).unwrap();
            catalog.commit(&batch).unwrap();
            done += 1;
            diary.write_all(format!("committed {done}\n").as_bytes()).unwrap();
        }
    }
}

/// Nothing is checked. In CI, that must not pass.
fn skip(why: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "{why}; with CI=false this test is skipped");
    println!("skipped: {why}");
}

#[test]
fn whatever_a_power_cut_leaves_of_the_catalog_is_the_newest_batch_that_was_committed_or_the_one_under_way() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("strace is not installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let traced = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "100000000", "-e", CALLS, "-o"])
        .arg(root.join("trace"))
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "writes_batches"])
        .env(DIR, &root)
        .output()
        .unwrap();
    if !traced.status.success() {
        let said = String::from_utf8_lossy(&traced.stderr).into_owned();
        assert!(said.contains("ptrace"), "{said}{}", String::from_utf8_lossy(&traced.stdout));
        return skip(&format!("strace may not trace here: {said}"));
    }
    let catalog = root.join("catalog");
    let text = std::fs::read_to_string(root.join("trace")).unwrap();
    let events = trace::read(&text, &catalog, &root.join("diary"));
    let seed = number("POWER_CUT_SEED", 1);
    let mut trial = Trial::new(&catalog, &root, seed as u64);
    for moment in moments(&events) {
        trial.cut(&events, moment);
    }
    println!(
        "{} power cuts, {} images, {} different ones opened; seed {seed}; wrong: {}",
        trial.cuts,
        trial.images,
        trial.opened,
        trial.wrong.len()
    );
    let shown = trial.wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(trial.wrong.is_empty(), "seed {seed}, {} wrong images:\n{shown}", trial.wrong.len());
    assert!(trial.opened > 100, "the trace shows only {} images", trial.opened);
}

/// Not a test: how large a catalog is, and how long it opens, after a checkpoint every 30 s for a week.
#[test]
#[ignore = "a measurement of some minutes: --ignored --exact measures_a_week_of_checkpoints --nocapture"]
fn measures_a_week_of_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let (batches, start) = (number("POWER_CUT_BATCHES", 20_160), Instant::now());
    let catalog = SledCatalog::open(dir.path()).unwrap();
    for batch in (1..=batches).map(batch) {
        catalog.commit(&batch).unwrap();
    }
    println!("{batches} commits in {:?}", start.elapsed());
    // what a kill would leave
    let (copy, mut bytes) = (tempfile::tempdir().unwrap(), 0);
    for path in std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        bytes += std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    let open = |dir: &Path, how: &str| {
        let start = Instant::now();
        let entries = SledCatalog::open(dir).unwrap().scan("").unwrap().len();
        println!("{how}: {bytes} bytes, {entries} entries read after {:?}", start.elapsed());
    };
    open(copy.path(), "killed");
    drop(catalog);
    open(dir.path(), "closed");
}

/// The power is cut before and after each sync and each word of the writer.
fn moments(events: &[Event]) -> Vec<usize> {
    let boundary = |event: &&Event| matches!(event.act, Act::SyncFile { .. } | Act::SyncNames { .. } | Act::Said(_));
    let mut moments: Vec<usize> =
        events.iter().filter(boundary).flat_map(|event| [event.began.saturating_sub(1), event.returned]).collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}

struct Trial<'a> {
    catalog: &'a Path,
    scratch: &'a Path,
    rng: fastrand::Rng,
    mixtures: usize,
    expected: Vec<Entries>,
    seen: HashSet<u64>,
    cuts: usize,
    images: usize,
    opened: usize,
    wrong: Vec<String>,
}

impl<'a> Trial<'a> {
    fn new(catalog: &'a Path, scratch: &'a Path, seed: u64) -> Self {
        let (rng, mixtures) = (fastrand::Rng::with_seed(seed), number("POWER_CUT_MIXTURES", 4));
        let (seen, wrong) = (HashSet::new(), Vec::new());
        let expected = expected(number("POWER_CUT_BATCHES", BATCHES));
        Trial { catalog, scratch, rng, mixtures, expected, seen, cuts: 0, images: 0, opened: 0, wrong }
    }

    fn cut(&mut self, events: &[Event], moment: usize) {
        let said = |word: &str| {
            let words = events.iter().filter(|event| event.began <= moment).filter_map(|event| match &event.act {
                Act::Said(said) => said.strip_prefix(word)?.parse::<usize>().ok(),
                _ => None,
            });
            words.max().unwrap_or(0)
        };
        let allowed = [said("committed "), said("commits ")];
        let cut = Cut::new(events, moment);
        self.cuts += 1;
        for (fates, named) in cut.fates(self.mixtures, &mut self.rng) {
            self.images += 1;
            let image = cut.image(&fates, named);
            let mut hasher = DefaultHasher::new();
            (&image, allowed).hash(&mut hasher);
            if !self.seen.insert(hasher.finish()) {
                continue;
            }
            self.opened += 1;
            if let Err(problem) = self.check(&image, allowed) {
                let names: Vec<_> =
                    image.iter().map(|(path, bytes)| (path.file_name().unwrap(), bytes.len())).collect();
                self.wrong.push(format!(
                    "line {moment} of the trace, batches {allowed:?}: {problem}; {fates:?}, {named} of {} names, {names:?}",
                    cut.names.len()
                ));
            }
        }
    }

    fn check(&self, image: &Image, allowed: [usize; 2]) -> Result<(), String> {
        let dir = self.scratch.join("image");
        let _ = std::fs::remove_dir_all(&dir);
        images::write(image, self.catalog, &dir).unwrap();
        let found = catch_unwind(AssertUnwindSafe(|| SledCatalog::open(&dir).and_then(|catalog| catalog.scan(""))));
        let found = found.map_err(|_| "it panics".to_owned())?.map_err(|error| error.to_string())?;
        let found: Entries = found.into_iter().collect();
        if allowed.iter().any(|&batches| found == self.expected[batches]) {
            return Ok(());
        }
        let newest = found.get("number").map(|bytes| usize::from_le_bytes(bytes.as_slice().try_into().unwrap()));
        let mixed = newest.is_some_and(|newest| self.expected.get(newest) != Some(&found));
        Err(format!("it holds batch {newest:?}{}", if mixed { ", mixed with others" } else { "" }))
    }
}
