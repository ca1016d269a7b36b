//! The catalog under power cuts: a process commits batches as checkpoints do, `strace` records what it tells the
//! kernel, and every state that the disk may be left in is built from the record and opened.
//!
//! What has to hold for each: the catalog opens, and holds exactly the batches up to the newest whose commit had
//! returned, or up to the one that was being committed. Another process makes whole checkpoints, file and commit: the
//! last one is there, whole, and as new as that, also where the catalog is lost altogether. Without `strace` the tests
//! say so and check nothing.
//!
//! ```text
//! cargo test --release --test crawls power_cut:: -- --nocapture               a few hundred images
//! POWER_CUT_BATCHES=150 POWER_CUT_MIXTURES=20 TMPDIR=/dev/shm ...    some thousand
//! ```

mod images;
mod trace;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crawler::catalog::{Batch, Catalog, SledCatalog};
use crawler::clock::Time;
use crawler::container::ContainerState;
use crawler::disk::Disk;
use crawler::engine::checkpoint::{self, Checkpoint, Sections, checkpoint_path};
use crawler::engine::{Round, mend};
use crawler::frontier::FrontierState;
use crawler::record::Statistics;
use images::{Cut, Image};
use trace::{Act, Event};

use crate::tools::{Tool, has};

/// Environment variable with the directory of the writer.
const DIR: &str = "POWER_CUT_DIR";
/// The number of times that the writer closes its catalog and opens it again.
const OPENINGS: usize = 3;
/// Batches of a run that nobody asked more of.
const BATCHES: usize = 12;
const CALLS: &str =
    "trace=openat,pwrite64,write,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat";

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Batch `number`: an entry of some 60 KB, a few seeds, one removal; what a checkpoint commits is much less.
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

/// Returns what a catalog holds after 0, 1, 2, ... of `batches` batches.
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

/// The process that is traced, which is not a test by itself.
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

/// Checkpoint `number`, and what was in memory then.
fn made(number: u64) -> (Checkpoint, Sections) {
    let mut rng = fastrand::Rng::with_seed(number);
    let checkpoint = Checkpoint {
        number,
        time: Time::from_ms(rng.u64(1..)),
        clean: false,
        finish: None,
        stores: BTreeMap::new(),
        frontier: FrontierState { partitions: Vec::new(), ram_bytes: 0, ram_crc: 0 },
        container: ContainerState {
            value_number: 0,
            value_bytes: 0,
            key_bytes: 16,
            pages: number,
            total_bytes: 0,
            moved_bytes: 0,
        },
        statistics: Statistics::default(),
        round: Round::default(),
        calendar: None,
        rechecked: Default::default(),
    };
    let frontier = (0..rng.usize(..200_000)).map(|_| rng.u8(..)).collect();
    (checkpoint, Sections { frontier, ..Sections::default() })
}

/// Another process that is traced, which is not a test by itself.
#[test]
#[ignore = "the process that the other test traces"]
fn makes_checkpoints() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let (crawl, disk) = (Path::new(&dir).join("traced"), Disk::real());
    std::fs::create_dir(&crawl).unwrap();
    let mut diary = std::fs::File::create(Path::new(&dir).join("diary")).unwrap();
    let checkpoints = number("POWER_CUT_BATCHES", BATCHES);
    let mut done = 0;
    for opening in 1..=OPENINGS {
        let catalog = mend::open_catalog(&disk, &crawl, &mut |what| panic!("{what}")).unwrap();
        let (identity, _) = mend::begin(&disk, &catalog, &crawl, (Time::from_ms(1), 7), (4, 16, &[])).unwrap();
        let last = checkpoint::Last::load(&disk, &catalog, &crawl).unwrap().unwrap();
        checkpoint::remove_others(&disk, &crawl, last.commit.number).unwrap();
        while done < checkpoints * opening / OPENINGS {
            let (made, sections) = made(done as u64 + 1);
            diary.write_all(format!("commits {}\n", done + 1).as_bytes()).unwrap();
            checkpoint::renew(&disk, &crawl, &catalog, &identity, &made, &sections).unwrap();
            checkpoint::remove_others(&disk, &crawl, made.number).unwrap();
            done += 1;
            diary.write_all(format!("committed {done}\n").as_bytes()).unwrap();
        }
    }
}

/// Returns what the process of `test` did to the directory `below`, and a place for images. `None` where it cannot be
/// traced.
fn trace_of(test: &str, below: &str) -> Option<(tempfile::TempDir, PathBuf, Vec<Event>)> {
    if !has(Tool::Strace) {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let traced = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "100000000", "-e", CALLS, "-o"])
        .arg(root.join("trace"))
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", &format!("power_cut::{test}")])
        .env(DIR, &root)
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(traced.status.success(), "{}{}", said(&traced.stderr), said(&traced.stdout));
    let text = std::fs::read_to_string(root.join("trace")).unwrap();
    let events = trace::read(&text, &root.join(below), &root.join("diary"));
    Some((dir, root, events))
}

#[test]
fn whatever_a_power_cut_leaves_of_the_catalog_is_the_newest_batch_that_was_committed_or_the_one_under_way() {
    let Some((_dir, root, events)) = trace_of("writes_batches", "catalog") else { return };
    let expected = expected(number("POWER_CUT_BATCHES", BATCHES));
    judge(&events, (&root.join("catalog"), &root), |dir, allowed| check_entries(&expected, dir, allowed));
}

#[test]
fn n02_n03_whatever_a_power_cut_leaves_the_last_checkpoint_is_whole_and_no_older_than_what_was_committed() {
    let Some((_dir, root, events)) = trace_of("makes_checkpoints", "traced") else { return };
    judge(&events, (&root.join("traced"), &root), check_checkpoint);
}

/// Cuts the power at every moment, and has `check` judge what may be on the disk then.
fn judge(events: &[Event], (traced, scratch): (&Path, &Path), check: impl Fn(&Path, Allowed) -> Result<(), String>) {
    let seed = number("POWER_CUT_SEED", 1);
    let mut trial = Trial::new(traced, scratch, seed as u64, Box::new(check));
    for moment in moments(events) {
        trial.cut(events, moment);
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

/// The newest batch whose commit had returned, and the newest whose commit had begun.
type Allowed = [usize; 2];
/// Says what is wrong with a directory, by what is allowed to be in it.
type Check<'a> = Box<dyn Fn(&Path, Allowed) -> Result<(), String> + 'a>;

fn check_entries(expected: &[Entries], dir: &Path, allowed: Allowed) -> Result<(), String> {
    let found = SledCatalog::open(dir).and_then(|catalog| catalog.scan("")).map_err(|error| error.to_string())?;
    let found: Entries = found.into_iter().collect();
    if allowed.iter().any(|&batches| found == expected[batches]) {
        return Ok(());
    }
    let newest = found.get("number").map(|bytes| usize::from_le_bytes(bytes.as_slice().try_into().unwrap()));
    let mixed = newest.is_some_and(|newest| expected.get(newest) != Some(&found));
    Err(format!("it holds batch {newest:?}{}", if mixed { ", mixed with others" } else { "" }))
}

fn check_checkpoint(dir: &Path, allowed: Allowed) -> Result<(), String> {
    let disk = Disk::real();
    let opened = |told: &mut usize| {
        let catalog = mend::open_catalog(&disk, dir, &mut |_| *told += 1)?;
        checkpoint::Last::load(&disk, &catalog, dir)
    };
    let judged = |how: &str, told: &mut usize| match opened(told).map_err(|error| format!("{how}: {error}"))? {
        None if allowed[0] == 0 => Ok(()),
        None => Err(format!("{how}: there is none")),
        Some(last) => {
            let number = last.commit.number;
            let is_made = number == 0 || last.sections.frontier == made(number).1.frontier;
            match (allowed[0]..=allowed[1]).contains(&(number as usize)) && is_made {
                true => Ok(()),
                false => Err(format!("{how}: checkpoint {number}")),
            }
        }
    };
    let mut told = 0;
    judged("with the catalog", &mut told)?;
    if told > 0 {
        return Err("the catalog was made again".to_owned());
    }
    // before the first commit has returned there may be nothing to make it from
    if allowed[0] > 0 {
        std::fs::remove_dir_all(dir.join("catalog")).unwrap();
        judged("without the catalog", &mut told)?;
    }
    let left = (0..=allowed[1] as u64).filter(|&number| checkpoint_path(dir, number).exists()).count();
    if left <= 2 { Ok(()) } else { Err(format!("{left} checkpoint files")) }
}

/// Measurement, not a test: how large a catalog is, and how long it opens, after a checkpoint every 30 s for a week.
#[test]
#[ignore = "a measurement of some minutes: --ignored --exact power_cut::measures_a_week_of_checkpoints --nocapture"]
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
    traced: &'a Path,
    scratch: &'a Path,
    rng: fastrand::Rng,
    mixtures: usize,
    check: Check<'a>,
    seen: HashSet<u64>,
    cuts: usize,
    images: usize,
    opened: usize,
    wrong: Vec<String>,
}

impl<'a> Trial<'a> {
    fn new(traced: &'a Path, scratch: &'a Path, seed: u64, check: Check<'a>) -> Self {
        let (rng, mixtures) = (fastrand::Rng::with_seed(seed), number("POWER_CUT_MIXTURES", 4));
        let (seen, wrong) = (HashSet::new(), Vec::new());
        Trial { traced, scratch, rng, mixtures, check, seen, cuts: 0, images: 0, opened: 0, wrong }
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
                    "line {moment} of the trace, batches {allowed:?}: {problem}; \
                     {fates:?}, {named} of {} names, {names:?}",
                    cut.names.len()
                ));
            }
        }
    }

    fn check(&self, image: &Image, allowed: Allowed) -> Result<(), String> {
        let dir = self.scratch.join("image");
        let _ = std::fs::remove_dir_all(&dir);
        images::write(image, self.traced, &dir).unwrap();
        catch_unwind(AssertUnwindSafe(|| (self.check)(&dir, allowed))).unwrap_or_else(|_| Err("it panics".to_owned()))
    }
}
