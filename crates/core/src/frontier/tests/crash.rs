//! Cuts, reopening at any of them, and damage.

use std::path::PathBuf;

use super::*;
use crate::disk::Removal;

/// A cut, and the model at that moment.
struct Saved {
    state: FrontierState,
    ram: Vec<u8>,
    expected: BTreeSet<Fingerprint>,
    pushed: u64,
    superseded: Vec<PathBuf>,
}

impl Saved {
    /// Makes it durable: what only earlier ones name goes.
    fn hold(&self) {
        Removal::new(&Disk::real(), self.superseded.clone()).run().unwrap();
    }
}

fn cut(crawl: &mut Crawl, pushed: u64) -> Saved {
    let mut ram = b"something before".to_vec();
    let start = ram.len();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    for path in &cut.sync {
        assert!(path.exists(), "{path:?}");
    }
    let (ram, superseded) = (ram.split_off(start), cut.superseded);
    Saved { state: cut.state, ram, expected: crawl.expected.clone(), pushed, superseded }
}

#[test]
fn every_cut_can_be_opened_again_and_loses_and_doubles_nothing() {
    for seed in 0..12 {
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut options = small_options();
        options.active_hosts = rng.usize(1..20);
        options.buffer_urls = rng.usize(1..10);
        options.memory = rng.usize(1..8) << 18;
        let mut crawl = Crawl::new(options, plain);
        let mut pushed = 0;
        let mut saved = cut(&mut crawl, 0);
        for _ in 0..600 {
            match rng.u8(..100) {
                0..60 => {
                    for _ in 0..rng.u64(..30) {
                        crawl.push(url(rng.u64(..50) * rng.u64(..2), pushed, rng.u8(..3)));
                        pushed += 1;
                    }
                }
                60..80 => drop(crawl.step()),
                // A job that stays out while other things happen.
                80..88 => crawl.jobs.extend(crawl.frontier.next_job(true).unwrap()),
                88..91 => crawl.work(),
                91..96 => {
                    saved = cut(&mut crawl, pushed);
                    saved.hold();
                }
                96..98 => {
                    // The crash comes between cut and commit: the one before is opened.
                    let mut ram = Vec::new();
                    crawl.frontier.cut(&mut ram).unwrap();
                    (crawl.expected, pushed) = (saved.expected.clone(), saved.pushed);
                    crawl.reopen(&saved.state, &saved.ram, rng.bool());
                }
                _ => {
                    for job in std::mem::take(&mut crawl.jobs) {
                        // Work that was done, but not taken over.
                        if rng.bool() {
                            job.run().unwrap();
                        }
                    }
                    (crawl.expected, pushed) = (saved.expected.clone(), saved.pushed);
                    crawl.reopen(&saved.state, &saved.ram, rng.bool());
                }
            }
            let waiting = crawl.frontier.queued() as usize;
            assert!(waiting <= crawl.expected.len(), "seed {seed}: {waiting} of {}", crawl.expected.len());
        }
        crawl.run();
    }
}

#[test]
fn the_same_cut_opened_twice_is_the_same_and_cuts_to_the_same_bytes() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..2_000).for_each(|n| crawl.push(url(n % 100, n, 1)));
    crawl.run_until(START + S * 20);
    let saved = cut(&mut crawl, 0);
    crawl.reopen(&saved.state, &saved.ram, true);
    let first = cut(&mut crawl, 0);
    crawl.reopen(&saved.state, &saved.ram, true);
    let second = cut(&mut crawl, 0);
    assert_eq!((first.state.clone(), first.ram), (second.state, second.ram));
    assert_eq!(first.state.partitions, saved.state.partitions);
}

#[test]
fn unknown_files_are_deleted_and_others_are_let_alone() {
    let mut crawl = Crawl::new(small_options(), plain);
    let saved = cut(&mut crawl, 0);
    let names = ["partition-001.g000009.tail", "partition-001.g000010.base", "partition-001.g000010.runs", "mine"];
    names.iter().for_each(|name| std::fs::write(crawl.dir.path().join(name), "x").unwrap());
    crawl.reopen(&saved.state, &saved.ram, true);
    assert_eq!(Disk::real().list(crawl.dir.path()).unwrap(), ["mine"]);
}

#[test]
fn superseded_files_stay_until_a_cut_without_them_holds() {
    let mut options = small_options();
    options.partitions = 1;
    options.active_hosts = 1;
    let mut crawl = Crawl::new(options, plain);
    (0..5_000).for_each(|n| crawl.push(url(n % 9, n, 1)));
    let saved = cut(&mut crawl, 0);
    let named = |crawl: &Crawl| Disk::real().list(crawl.dir.path()).unwrap();
    let before = named(&crawl);
    crawl.work();
    assert!(before.iter().all(|name| named(&crawl).contains(name)), "named by the checkpoint that holds");
    saved.hold();
    assert!(before.iter().all(|name| named(&crawl).contains(name)), "the cut that holds now still names them");
    cut(&mut crawl, 0).hold();
    assert!(before.iter().all(|name| !named(&crawl).contains(name)), "{before:?} {:?}", named(&crawl));
}

fn with_files() -> (Crawl, Saved) {
    let mut options = small_options();
    options.partitions = 1;
    options.active_hosts = 1;
    options.memory = 1 << 16;
    let mut crawl = Crawl::new(options, plain);
    (0..300).for_each(|n| crawl.push(url(n % 9, n, 1)));
    crawl.dispatch();
    crawl.work();
    (300..1_000).for_each(|n| crawl.push(url(n % 9, n, 1)));
    let saved = cut(&mut crawl, 1_000);
    saved.hold();
    (crawl, saved)
}

/// Opens a frontier and drains it; the first error of either.
fn drain(crawl: &Crawl, saved: &Saved) -> Result<usize> {
    let options = crawl.options.clone();
    let cut = Some(SavedFrontier { state: &saved.state, ram: &saved.ram, cut: Stored::new(START) });
    let mut frontier = Frontier::open(Disk::real(), crawl.dir.path(), options, decode_rules, 7, cut, START, true)?;
    let (mut dropped, mut now) = (0, START);
    while !frontier.is_idle() {
        assert!(now < START + S * 10_000, "{} never come out", frontier.queued());
        while let Some(job) = frontier.next_job(true)? {
            frontier.finish_job(job.run()?, now)?;
        }
        while let Some(task) = frontier.next(now)? {
            match task {
                Task::Resolve { host, .. } => frontier.resolved(host, NameAnswer::NoSuchHost, now + NEGATIVE, now)?,
                Task::Drop { .. } => dropped += 1,
                _ => unreachable!(),
            }
        }
        now = now + S;
    }
    Ok(dropped)
}

#[test]
fn a_flipped_byte_in_tail_or_base_is_damage_with_file_and_offset() {
    let (crawl, saved) = with_files();
    let waiting = drain(&crawl, &saved).unwrap();
    assert!(waiting >= 300);
    for end in ["tail", "base"] {
        let (crawl, saved) = with_files();
        let name = Disk::real().list(crawl.dir.path()).unwrap().into_iter().find(|name| name.ends_with(end)).unwrap();
        let path = crawl.dir.path().join(name);
        let content = std::fs::read(&path).unwrap();
        let snapshot: Vec<_> = Disk::real().list(crawl.dir.path()).unwrap();
        let keep: Vec<_> =
            snapshot.iter().map(|name| (name, std::fs::read(crawl.dir.path().join(name)).unwrap())).collect();
        for at in (0..content.len()).step_by(content.len() / 150 + 1) {
            keep.iter().for_each(|(name, bytes)| std::fs::write(crawl.dir.path().join(name), bytes).unwrap());
            let mut bytes = content.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, bytes).unwrap();
            match drain(&crawl, &saved) {
                Err(crate::disk::Error::Damaged { path: found, offset, .. }) => {
                    assert_eq!(found, path);
                    assert!(offset <= at as u64, "{offset} for byte {at}");
                }
                // A few bytes of a header and a footer are room for later.
                other => panic!("byte {at} of {end}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_file_that_is_too_short_or_gone_is_an_error() {
    for end in ["tail", "base"] {
        let (crawl, saved) = with_files();
        let name = Disk::real().list(crawl.dir.path()).unwrap().into_iter().find(|name| name.ends_with(end)).unwrap();
        let path = crawl.dir.path().join(name);
        let content = std::fs::read(&path).unwrap();
        for len in [0, 5, 16, 40, content.len() - 1] {
            std::fs::write(&path, &content[..len]).unwrap();
            let error = drain(&crawl, &saved).unwrap_err();
            assert!(matches!(error, crate::disk::Error::Damaged { .. }), "{end} of {len}: {error}");
        }
        std::fs::remove_file(&path).unwrap();
        let error = drain(&crawl, &saved).unwrap_err();
        assert!(matches!(error, crate::disk::Error::Damaged { .. }), "{end} gone: {error}");
    }
}

#[test]
fn a_damaged_active_side_is_refused() {
    let (crawl, saved) = with_files();
    for at in 0..saved.ram.len() {
        let mut ram = saved.ram.clone();
        ram[at] ^= 4;
        let damaged =
            Saved { ram, expected: BTreeSet::new(), state: saved.state.clone(), pushed: 0, superseded: Vec::new() };
        assert!(matches!(drain(&crawl, &damaged), Err(crate::disk::Error::Damaged { .. })), "byte {at}");
    }
    // Under a right checksum, bytes that make no sense are an error too, and never a panic.
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..300 {
        let mut ram = saved.ram.clone();
        let at = rng.usize(..ram.len());
        ram[at] = rng.u8(..);
        let mut state = saved.state.clone();
        state.ram_crc = crc32fast::hash(&ram);
        let cut = Some(SavedFrontier { state: &state, ram: &ram, cut: Stored::new(START) });
        let _ =
            Frontier::open(Disk::real(), crawl.dir.path(), crawl.options.clone(), decode_rules, 7, cut, START, true);
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_hold_hosts_for_years() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..300).for_each(|n| crawl.push(url(n % 100, n, 1)));
    crawl.run_until(START + S * 2);
    let saved = cut(&mut crawl, 300);
    let earlier = Time::from_ms(1_000_000);
    crawl.clock = ManualClock::new(earlier);
    crawl.reopen(&saved.state, &saved.ram, false);
    crawl.run();
    assert!(crawl.clock.now().since(earlier) < S * 3_600);
}
