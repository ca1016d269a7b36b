//! Every small file of the state, cut at any byte and with any byte flipped: the engine says which file is damaged and
//! where, or what is damaged is derived and is made again, and the crawl ends with the right pages.
//!
//! The state is on a disk in memory, so a case takes some milliseconds: open, replay, crawl to the end, read
//! everything.
//!
//! ```text
//! cargo test --test engine c6_                                  some places of each file, by a printed seed
//! DAMAGE_PLACES=200 DAMAGE_SEED=5 cargo test --test engine c6_ -- --nocapture   more, and others
//! DAMAGE_PLACES=all cargo test --release --test engine c6_ -- --nocapture       every byte of every file, both ways
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::thread;

use super::*;
use crawler::checkpoint::Identity;
use crawler::container::Reader;
use crawler::disk::Error;
use crawler::disk::simulated::SimulatedDisk;
use crawler::engine::StopBy;
use crawler::record::Snapshot;

const START: Time = Time::from_ms(1_000_000_000_000);
/// Directory of the crawl on the disk in memory.
pub(super) const DIR: &str = "/crawl";

/// The small sites; one host asks for a long rest once, so that there is a log of rests, and arrays and memory are so
/// small that every kind of file comes to be.
struct Resting;

impl Web for Resting {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        SmallSites.answer(url, now)
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let (status, body) = self.answer(&job.url, now);
        let headers = vec![("content-type", "text/html".to_owned())];
        if job.url.as_str() == "http://h2.test/3" && now < START + Duration::from_secs(60) {
            let headers = vec![("retry-after", "120".to_owned())];
            return Ok(Reply { status: 503, headers, body: Vec::new() });
        }
        Ok(Reply { status, headers, body: body.into_bytes() })
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        // so merges are not begun for want of work
        settings.slots.workers = 1;
        frontier.active_hosts = 2;
    }

    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 2, ram_per_bucket: 100, merge_threshold: 2_000, ..DrumOptions::default() }
    }
}

/// Files and clock that a process left.
#[derive(Clone)]
pub(super) struct State {
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    pub(super) now: Time,
}

impl State {
    /// The state after this many requests, stopped in good order.
    pub(super) fn after(requests: usize) -> State {
        State::when(true, |_, made| made >= requests)
    }

    /// The state as soon as there is a file of that kind; stopped in good order, or as it was at that moment.
    pub(super) fn with_file(part: &'static str) -> State {
        State::when(false, |disk, _| disk.paths().iter().any(|path| path.to_str().unwrap().contains(part)))
    }

    /// A crawl that was stopped in good order, with such a file among those that its last checkpoint names.
    pub(super) fn stopped_with(part: &'static str) -> State {
        let stopped = (1..100).map(|requests| State::when(true, |_, made| made == requests));
        let has_one = |state: &State| state.files.keys().any(|path| path.to_str().unwrap().contains(part));
        stopped.into_iter().find(has_one).expect("a stop leaves such a file at some time")
    }

    pub(super) fn when(clean: bool, reached: impl Fn(&SimulatedDisk, usize) -> bool) -> State {
        let disk = SimulatedDisk::default();
        let mut run = try_open(Rc::new(Resting), disk.disk(), Path::new(DIR), START).unwrap();
        run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
        assert_eq!(run.go_until(|run| reached(&disk, run.record.borrow().requests.len())), None);
        if clean {
            run.engine.handle(Event::Stop(StopBy::Signal)).unwrap();
            assert_eq!(run.go(usize::MAX), Some(Finish::StoppedBySignal));
        }
        State::of(&disk, run.clock.now())
    }

    pub(super) fn of(disk: &SimulatedDisk, now: Time) -> State {
        State { files: disk.files(), now }
    }
}

/// The result for a state that was harmed.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The damage was reported, with file and offset.
    Told,
    /// The crawl ended with the right pages.
    Right,
    /// Anything else.
    Wrong(String),
}

/// Takes the crawl up from `state`, in which `harmed` was harmed, and goes to its end.
pub(super) fn outcome(state: &State, harmed: &Path) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| go_on(state))) {
        Ok(Ok(())) => Outcome::Right,
        Ok(Err(Fault::Disk(Error::Damaged { path, .. } | Error::Newer { path, .. }))) if is_of(&path, harmed) => {
            Outcome::Told
        }
        Ok(Err(Fault::Disk(error))) => Outcome::Wrong(error.to_string()),
        Ok(Err(Fault::Other(what))) => Outcome::Wrong(what),
        Err(panic) => {
            let word = panic.downcast_ref::<String>().cloned();
            let word = word.or_else(|| panic.downcast_ref::<&str>().map(|word| (*word).to_owned()));
            Outcome::Wrong(format!("it panics: {}", word.unwrap_or_default()))
        }
    }
}

/// True if the damage in the file at `told` is the one of `harmed`: a value file has another name when it is full, and
/// any when it is missing.
fn is_of(told: &Path, harmed: &Path) -> bool {
    let (told_name, harmed_name) = (told.to_str().unwrap(), harmed.to_str().unwrap());
    let is_pattern = told_name.strip_suffix('*').is_some_and(|start| harmed_name.starts_with(start));
    told == harmed || harmed_name.strip_suffix(".open") == Some(told_name) || is_pattern
}

enum Fault {
    Disk(Error),
    Other(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Disk(error)
    }
}

fn go_on(state: &State) -> Result<(), Fault> {
    let (disk, dir) = (SimulatedDisk::holding(&state.files), Path::new(DIR));
    let run = try_open(Rc::new(Resting), disk.disk(), dir, state.now);
    let mut run = run.map_err(|error| match error {
        OpenError::Disk(error) => Fault::Disk(error),
        error => Fault::Other(error.to_string()),
    })?;
    run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None)?;
    if run.try_go_until(|_| false)? != Some(Finish::Complete) {
        return Err(Fault::Other("it ended otherwise".to_owned()));
    }
    // readers see what the crawl need not look at
    let reader = Reader::open(disk.disk(), &dir.join("pages"))?;
    let mut pages = Vec::new();
    for record in reader.records() {
        let record = record?;
        if record.robots || record.status == 503 {
            continue;
        }
        let url = CanonicalUrl::parse(&record.url).map_err(|error| Fault::Other(error.to_string()))?;
        let body = reader.response(&record)?.body;
        if body != SmallSites.answer(&url, START).1.into_bytes() {
            return Err(Fault::Other(format!("another content of {}", record.url)));
        }
        let found = reader.newest(record.key, &record.url)?.map(|found| found.offset);
        if found != Some(record.offset) {
            return Err(Fault::Other(format!("{} is found at {found:?}, not at {}", record.url, record.offset)));
        }
        pages.push(record.url);
    }
    pages.sort();
    if pages != every_page() {
        return Err(Fault::Other(format!("{} pages in the archive, {} expected", pages.len(), every_page().len())));
    }
    Ok(())
}

/// The places of a file that are tried: all, or some by chance, always with the first and the last.
fn places(length: usize, rng: &mut fastrand::Rng) -> Vec<usize> {
    let wanted = std::env::var("DAMAGE_PLACES").unwrap_or_default();
    let wanted = if wanted == "all" { length } else { wanted.parse().unwrap_or(4) };
    if wanted >= length {
        return (0..length).collect();
    }
    [0, length - 1].into_iter().chain((2..wanted).map(|_| rng.usize(..length))).collect()
}

fn seed() -> u64 {
    std::env::var("DAMAGE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| fastrand::u64(..))
}

/// `bytes` cut at a place, and with a bit flipped there.
fn harmed_at(bytes: &[u8], at: usize, rng: &mut fastrand::Rng) -> [(&'static str, Vec<u8>); 2] {
    let mut flipped = bytes.to_vec();
    flipped[at] ^= 1 << rng.u8(..8);
    [("cut", bytes[..at].to_vec()), ("flipped", flipped)]
}

/// The kind of a file: its name without numbers.
fn kind(path: &Path) -> String {
    path.strip_prefix(DIR).unwrap().to_str().unwrap().chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[test]
fn c6_a_state_file_that_is_cut_at_any_byte_or_has_any_byte_flipped_is_named_or_made_again_and_never_misleads() {
    let seed = seed();
    println!("DAMAGE_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut cases, mut told, mut kinds, mut wrong) = (0, 0, BTreeMap::new(), Vec::new());
    let states = [
        State::after(40),
        State::with_file("rests.g"),
        State::stopped_with(".aux"),
        State::stopped_with(".kv"),
        State::stopped_with(".repo"),
    ];
    for state in states {
        assert!(go_on(&state).is_ok(), "the state is sound");
        let logs = Path::new(DIR).join("logs");
        for (path, whole) in state.files.iter().filter(|(path, whole)| !path.starts_with(&logs) && !whole.is_empty()) {
            *kinds.entry(kind(path)).or_insert(0) += 1;
            for at in places(whole.len(), &mut rng) {
                for (how, bytes) in harmed_at(whole, at, &mut rng) {
                    let mut state = state.clone();
                    state.files.insert(path.clone(), bytes);
                    cases += 1;
                    match outcome(&state, path) {
                        Outcome::Told => told += 1,
                        Outcome::Right => {}
                        Outcome::Wrong(what) => wrong.push(format!("{} {how} at {at}: {what}", path.display())),
                    }
                }
            }
        }
    }
    println!("{cases} cases, {told} told, {} ended with the right pages; files: {kinds:?}", cases - told - wrong.len());
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "DAMAGE_SEED={seed}: {} wrong:\n{shown}", wrong.len());
    for expected in [
        "checkpoint.g",
        "rests.g",
        "seeds/list",
        "seeds/fates",
        "pages/key.dat",
        "pages/address.idx",
        "pages/address.dw",
    ] {
        assert!(kinds.contains_key(expected), "no {expected} among {kinds:?}");
    }
    for end in [".repo", ".kv", ".aux", ".tail", ".base", ".open"] {
        assert!(kinds.keys().any(|kind| kind.ends_with(end)), "no {end} among {kinds:?}");
    }
}

#[test]
fn n09_a_file_of_the_last_checkpoint_that_is_missing_is_damage_and_never_an_empty_store() {
    let (mut told, mut wrong) = (Vec::new(), Vec::new());
    let states = [
        State::after(40),
        State::with_file("rests.g"),
        State::stopped_with(".aux"),
        State::stopped_with(".kv"),
        State::stopped_with(".repo"),
    ];
    for state in states {
        let logs = Path::new(DIR).join("logs");
        for path in state.files.keys().filter(|path| !path.starts_with(&logs)) {
            let mut state = state.clone();
            state.files.remove(path);
            match outcome(&state, path) {
                Outcome::Told => told.push(kind(path)),
                Outcome::Right => {}
                Outcome::Wrong(what) => wrong.push(format!("{}: {what}", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    for expected in ["pages/key.dat", "pages/address.idx", "pages/address.ovf", "checkpoint.g"] {
        assert!(told.iter().any(|kind| kind == expected), "{expected} can be missing");
    }
    for end in [".repo", ".kv", ".aux", ".base", ".open"] {
        assert!(told.iter().any(|kind| kind.ends_with(end)), "{end} can be missing");
    }
}

#[test]
fn c9_the_same_checkpoint_restored_twice_gives_the_same_requests_and_the_same_directory_byte_for_byte() {
    for state in [State::after(30), State::with_file("rests.g")] {
        let restored = || {
            let disk = SimulatedDisk::holding(&state.files);
            let mut run = try_open(Rc::new(Resting), disk.disk(), Path::new(DIR), state.now).unwrap();
            run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
            assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
            let requests = run.requests();
            (requests, State::of(&disk, run.clock.now()))
        };
        let (first, second) = (restored(), restored());
        assert_eq!(first.0, second.0);
        for (path, content) in &first.1.files {
            assert!(second.1.files.get(path) == Some(content), "{} differs", path.display());
        }
        assert_eq!(first.1.files.len(), second.1.files.len());
    }
}

#[test]
fn c6_a_plain_copy_that_is_cut_or_flipped_is_an_error_or_read_as_other_words_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let (mut run, disk) = (open(dir.path(), START), Disk::real());
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let identity = begin::look(&disk, dir.path()).unwrap().unwrap();
    identity.write_copy(&disk, dir.path()).unwrap();
    let status = dir.path().join("status.json");
    for path in [status.clone(), dir.path().join("identity.json")] {
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for (how, bytes) in harmed_at(&whole, at, &mut fastrand::Rng::with_seed(at as u64)) {
                std::fs::write(&path, bytes).unwrap();
                let sound = match path == status {
                    true => Snapshot::read(&disk, dir.path()).map(|_| how == "cut"),
                    false => Identity::read_copy(&disk, dir.path()).map(|_| how == "cut"),
                };
                // a file of JSON ends with a brace and a line's end: without that end it is whole all the same
                let cut_is_told = !matches!(sound, Ok(true)) || at + 1 == whole.len();
                assert!(cut_is_told, "{} {how} at {at} is read as if it were whole", path.display());
                if let Err(error) = sound {
                    assert!(error.to_string().contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
                }
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
}

/// Threads of a test that waits most of the time.
const WAITING: usize = 16;

#[test]
fn c6_key_records_that_are_cut_or_flipped_are_never_read_as_others() {
    let state = State::after(40);
    let path = Path::new(DIR).join("pages/key.dat");
    let pages: BTreeMap<PathBuf, Vec<u8>> =
        state.files.clone().into_iter().filter(|(path, _)| path.starts_with(Path::new(DIR).join("pages"))).collect();
    let whole = &pages[&path];
    let records = |files: &BTreeMap<PathBuf, Vec<u8>>| {
        let reader = Reader::open(SimulatedDisk::holding(files).disk(), &Path::new(DIR).join("pages"))?;
        reader.records().collect::<disk::Result<Vec<_>>>()
    };
    let sound = records(&pages).unwrap();
    assert!(sound.len() > 20);
    let judge = |at: usize| {
        for (how, bytes) in harmed_at(whole, at, &mut fastrand::Rng::with_seed(at as u64)) {
            let mut files = pages.clone();
            files.insert(path.clone(), bytes);
            match records(&files) {
                Ok(found) => assert!(sound.starts_with(&found), "{how} at {at}: other records"),
                Err(Error::Damaged { path: named, .. } | Error::Newer { path: named, .. }) => assert_eq!(named, path),
                Err(error) => panic!("{how} at {at}: {error}"),
            }
        }
    };
    // a reader waits for a compaction that may be changing the record
    thread::scope(|scope| {
        let judge = &judge;
        for first in 0..WAITING {
            let places = (first..whole.len()).step_by(WAITING);
            scope.spawn(move || places.for_each(judge));
        }
    });
}
