//! Damage in value files behind the last checkpoint: what it costs, what is reported of it, and what it is
//! distinguished from.

use std::fs;
use std::io::Write;
use std::sync::{Arc, Mutex};

use super::tests::{body, checkpoint, key_of, open, options, pages};
use super::*;
use crate::disk::simulated::{Fault, Restart, SimulatedDisk};
use crate::disk::{Error, Mode};
use crate::warc::{Exchange, id_seed};

const CODINGS: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::None];

fn url(number: usize) -> String {
    format!("http://a.example/{number}")
}

/// Returns the result of `act`, and what is logged while it runs.
fn logged<T>(act: impl FnOnce() -> T) -> (T, String) {
    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);
    impl Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = LogBuffer::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let result = tracing::subscriber::with_default(subscriber, act);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    (result, text)
}

/// An archive whose crawl was killed: pages 0 and 1 are in its checkpoint, those up to `PAGES` behind it.
struct Killed {
    dir: tempfile::TempDir,
    state: ContainerState,
    /// Value file of each page, and the bytes of its exchange there.
    places: Vec<(u32, std::ops::Range<u64>)>,
}

const PAGES: usize = 7;

impl Killed {
    fn new(segment_bytes: u64, compression: Compression) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (mut container, _) = open(dir.path(), options(segment_bytes, compression), None);
        let (mut pages, mut places, mut state) = (pages(compression), Vec::new(), None);
        for number in 0..PAGES {
            let stored = pages.store(&mut container, &url(number), &format!("body of {number}"), false);
            let (file, end) = (container.values.number(), container.values.position());
            places.push((file, end - stored.bytes..end));
            if number == 1 {
                state = Some(checkpoint(&mut container));
            }
        }
        Killed { dir, state: state.unwrap(), places }
    }

    fn value(&self, number: u32) -> PathBuf {
        let found = values::find(&Disk::real(), self.dir.path()).unwrap();
        found.into_iter().find(|file| file.number == number).unwrap().path
    }

    /// A copy in which `harm` was done to value file `number`, and the file's path there.
    fn harmed(&self, number: u32, harm: impl Fn(&mut Vec<u8>)) -> (tempfile::TempDir, PathBuf) {
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(self.dir.path()).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        }
        // the address pages are not at stake: without it their repair, and its syncs, are left out
        fs::remove_file(copy.path().join("address.dw")).unwrap();
        let path = copy.path().join(self.value(number).file_name().unwrap());
        let mut bytes = fs::read(&path).unwrap();
        harm(&mut bytes);
        fs::write(&path, bytes).unwrap();
        (copy, path)
    }
}

/// Numbers of the pages that were recovered.
fn numbers(replayed: &[ReplayedPage]) -> Vec<usize> {
    replayed.iter().map(|page| page.url.rsplit('/').next().unwrap().parse().unwrap()).collect()
}

fn findings(dir: &Path, noted: ContainerState) -> Vec<Finding> {
    let mut found = Vec::new();
    let (mut tell, mut quiet) = (|finding: &Finding| found.push(finding.clone()), |_, _| {});
    let mut report = Report::new(&mut tell, &mut quiet);
    let standing = Standing::Stopped { noted: Some(noted), clean: false };
    verify(&Disk::real(), dir, &standing, None, &mut report).unwrap();
    found
}

#[test]
fn n08_a_damaged_record_costs_its_own_exchange_and_no_other_and_is_told() {
    for compression in CODINGS {
        let killed = Killed::new(1 << 20, compression);
        for harmed in 2..PAGES {
            let range = killed.places[harmed].1.clone();
            let others: Vec<usize> = (2..PAGES).filter(|&number| number != harmed).collect();
            for at in range.clone().step_by(89) {
                let (dir, path) = killed.harmed(0, |bytes| bytes[at as usize] ^= 0x10);
                let context = format!("{compression:?}, page {harmed}, byte {at} of {range:?}");
                let options = options(1 << 20, compression);
                let ((mut container, replayed), log) =
                    logged(|| open(dir.path(), options.clone(), Some(&killed.state)));
                let found = numbers(&replayed);
                if log.is_empty() && found.len() == PAGES - 2 {
                    // a byte that no checksum covers: heads of gzip members, and of records that are not compressed
                    continue;
                }
                assert_eq!(found, others, "{context}");
                let named = format!("from byte {} on", range.start);
                let bytes = format!("{} bytes", range.end - range.start);
                assert!(log.contains(path.to_str().unwrap()), "{context}: {log}");
                assert!(log.contains(&named) && log.contains(&bytes), "{context}: {log}");
                assert_eq!(log.lines().count(), 1, "{context}: {log}");
                // the crawl goes on, and everything that was whole can be read
                pages(compression).store(&mut container, &url(99), "more", false);
                let noted = checkpoint(&mut container);
                let reader = Reader::open(Disk::real(), dir.path()).unwrap();
                for number in [0, 1].iter().chain(&others) {
                    let expected = format!("body of {number}");
                    assert_eq!(body(&reader, &url(*number)), Some(expected), "{context}: page {number}");
                }
                assert_eq!(body(&reader, &url(99)).as_deref(), Some("more"), "{context}");
                let damage: Vec<_> = findings(dir.path(), noted).into_iter().filter(|found| found.damage).collect();
                if harmed + 1 == PAGES {
                    // nothing follows: it was cut off
                    assert!(damage.is_empty(), "{context}: {damage:?}");
                } else {
                    let told = |found: &Finding| found.file == path && range.contains(&found.offset);
                    assert!(!damage.is_empty() && damage.iter().all(told), "{context}: {damage:?}");
                }
            }
        }
    }
}

#[test]
fn n08_damage_in_a_full_file_costs_its_own_exchanges_and_a_file_that_is_cut_short_no_later_one() {
    for compression in CODINGS {
        let killed = Killed::new(1_500, compression);
        let last = killed.places[PAGES - 1].0;
        assert!(last >= 3, "{last} value files");
        for harmed in (2..PAGES).filter(|&page| killed.places[page].0 != last) {
            let (file, range) = killed.places[harmed].clone();
            for cut in [false, true] {
                let at = (range.start + range.end) as usize / 2;
                let (dir, path) = killed.harmed(file, |bytes| match cut {
                    true => bytes.truncate(at),
                    false => bytes[at..at + 40].fill(0),
                });
                let options = options(1_500, compression);
                let ((mut container, replayed), log) = logged(|| open(dir.path(), options, Some(&killed.state)));
                let lost = |page: usize| page == harmed || (cut && killed.places[page].0 == file && page > harmed);
                let expected: Vec<usize> = (2..PAGES).filter(|&page| !lost(page)).collect();
                assert_eq!(numbers(&replayed), expected, "{compression:?} {harmed} {cut}");
                assert!(log.contains(path.to_str().unwrap()) && log.contains(&format!("{} on", range.start)), "{log}");
                let noted = checkpoint(&mut container);
                let total: u64 = values::find(&Disk::real(), dir.path())
                    .unwrap()
                    .iter()
                    .map(|found| fs::metadata(&found.path).unwrap().len())
                    .sum();
                assert_eq!(noted.total_bytes, total);
                let damage = findings(dir.path(), noted);
                assert!(damage.iter().any(|found| found.damage && found.file == path), "{damage:?}");
            }
        }
    }
}

#[test]
fn n08_what_follows_a_hole_after_a_power_cut_is_cut_off_with_it_and_that_is_told() {
    for compression in CODINGS {
        let killed = Killed::new(1 << 20, compression);
        let range = killed.places[3].1.clone();
        let (dir, path) = killed.harmed(0, |bytes| bytes[range.start as usize..range.end as usize].fill(0));
        fs::write(dir.path().join("boot"), "another run of the machine\n").unwrap();
        let length = fs::metadata(&path).unwrap().len();
        let ((container, replayed), log) =
            logged(|| open(dir.path(), options(1 << 20, compression), Some(&killed.state)));
        assert_eq!(numbers(&replayed), [2], "{compression:?}");
        let told = format!("the last {} bytes, from byte {} on, are cut off", length - range.start, range.start);
        assert!(log.contains(&told) && log.contains(path.to_str().unwrap()), "{log}");
        drop(container);
        assert_eq!(fs::metadata(&path).unwrap().len(), range.start);
        // from now on the file is in order, and what is written to it is of this run
        assert_eq!(
            Some(fs::read_to_string(dir.path().join("boot")).unwrap().trim().to_owned()),
            Disk::real().boot_id()
        );
    }
}

#[test]
fn n08_records_in_a_damaged_body_that_its_server_made_up_are_not_taken_for_the_crawls() {
    for compression in CODINGS {
        let forged_url = "http://a.example/77";
        let forged = |crawl| {
            let id_seed = id_seed(crawl, forged_url, Time::from_ms(5));
            let exchange = Exchange { id_seed, ..fixture::answer(forged_url, Time::from_ms(5), b"forged") };
            Encoder::new(compression).encode(&exchange).bytes
        };
        for (crawl, is_taken) in [(1, false), (0, true)] {
            let dir = tempfile::tempdir().unwrap();
            let (mut container, _) = open(dir.path(), options(1 << 20, compression), None);
            let mut pages = pages(compression);
            pages.store(&mut container, &url(0), "x", false);
            let state = checkpoint(&mut container);
            let end = container.values.position();
            pages.store(&mut container, &url(1), "x", false);
            pages.store(&mut container, &url(2), "x", false);
            drop(container);
            // its exchange is damaged, and has such bytes in it as they were sent
            let path = values::find(&Disk::real(), dir.path()).unwrap().remove(0).path;
            let mut bytes = fs::read(&path).unwrap();
            bytes.splice(end as usize..end as usize + 5, b"rubbish".iter().copied().chain(forged(crawl)));
            fs::write(&path, bytes).unwrap();
            let (_, replayed) = open(dir.path(), options(1 << 20, compression), Some(&state));
            let expected: &[usize] = if is_taken { &[77, 2] } else { &[2] };
            assert_eq!(numbers(&replayed), expected, "{compression:?}");
        }
    }
}

/// A container on `disk` with its pages replayed, and their numbers.
fn reopened(disk: &SimulatedDisk, saved: Option<&ContainerState>) -> Result<(Container, Vec<usize>)> {
    let dir = Path::new("/pages");
    let options = options(1 << 20, Compression::None);
    let (mut container, mut recovery) = Container::open(disk.disk(), dir, options, WarcInfo::default(), saved)?;
    let mut replayed = Vec::new();
    while let Some(page) = recovery.next(&mut container)? {
        container.readopt(&page, key_of(&page.url))?;
        replayed.push(page);
    }
    Ok((container, numbers(&replayed)))
}

#[test]
fn n10_pages_that_were_taken_back_in_after_a_failed_sync_are_on_the_disk_at_the_next_checkpoint() {
    let mut taken_back = 0;
    for seed in 0..200 {
        let simulated = SimulatedDisk::new(seed);
        let (mut container, _) = reopened(&simulated, None).unwrap();
        let mut pages = pages(Compression::None);
        pages.store(&mut container, &url(0), "body of 0", false);
        let state = checkpoint(&mut container);
        for number in 1..4 {
            pages.store(&mut container, &url(number), &format!("body of {number}"), false);
        }
        let cut = container.cut().unwrap();
        // the value file is the first that a checkpoint syncs
        simulated.fail_at(simulated.changes() + 1, Fault::Error);
        let failed = cut.job.run().unwrap_err();
        assert!(matches!(&failed, Error::Io { path, .. } if path.to_string_lossy().contains("value-")), "{failed}");
        drop(container);
        // the process ends; the system may still have in memory what it could not write
        simulated.restart(Restart::Killed);
        let (mut container, replayed) = reopened(&simulated, Some(&state)).unwrap();
        assert!(replayed.iter().copied().eq(1..=replayed.len()), "seed {seed}: {replayed:?}");
        taken_back += replayed.len();
        let state = checkpoint(&mut container);
        drop(container);
        simulated.restart(Restart::PowerCut);
        let (_, none) = reopened(&simulated, Some(&state)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(none.is_empty(), "seed {seed}: {none:?}");
        let reader = Reader::open(simulated.disk(), Path::new("/pages")).unwrap();
        for number in 0..=replayed.len() {
            assert_eq!(body(&reader, &url(number)), Some(format!("body of {number}")), "seed {seed}");
        }
    }
    assert!(taken_back > 200, "{taken_back}");
}

#[test]
fn n10_images_of_address_pages_whose_sync_failed_are_written_again_before_a_repair_trusts_them() {
    for seed in 0..100 {
        let simulated = SimulatedDisk::new(seed);
        let (mut container, _) = reopened(&simulated, None).unwrap();
        let mut pages = pages(Compression::None);
        pages.store(&mut container, &url(0), "body of 0", false);
        let state = checkpoint(&mut container);
        pages.store(&mut container, &url(1), "body of 1", false);
        let cut = container.cut().unwrap();
        let is_of_images = |line: &String| line.contains(" sync ") && line.contains("address.dw");
        // value file, key.dat, the directory, then the images and their sync
        simulated.fail_at(simulated.changes() + 5 + u64::from(seed % 2 == 0), Fault::Error);
        cut.job.run().unwrap_err();
        drop(container);
        if !simulated.trace().iter().any(|line| is_of_images(line) && line.ends_with("Error")) {
            continue;
        }
        simulated.restart(Restart::Killed);
        // the repair puts them into their places, and the power is cut at any change of it
        simulated.fail_at(simulated.changes() + 1 + seed % 7, Fault::Stop);
        let _ = reopened(&simulated, Some(&state));
        simulated.clear_faults();
        simulated.restart(Restart::PowerCut);
        let (container, _) = reopened(&simulated, Some(&state)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(container.newest(key_of(&url(0)), &url(0)).unwrap().is_some(), "seed {seed}");
    }
}

#[test]
fn n29_the_cut_of_a_torn_tail_is_durable_before_anything_is_written_behind_it() {
    for seed in 0..60 {
        let simulated = SimulatedDisk::new(seed);
        let (mut container, _) = reopened(&simulated, None).unwrap();
        let mut pages = pages(Compression::None);
        pages.store(&mut container, &url(0), "x", false);
        let state = checkpoint(&mut container);
        pages.store(&mut container, &url(1), "x", false);
        let path = container.values.open_path().unwrap();
        let end = container.values.position();
        pages.store(&mut container, &url(2), "x", false);
        drop(container);
        // page 2 is torn, on the disk for certain
        let file = simulated.disk().open(&path, Mode::Write).unwrap();
        file.set_len(file.len().unwrap() - 1).unwrap();
        file.sync().unwrap();
        drop(file);
        simulated.restart(Restart::Killed);
        let (container, replayed) = reopened(&simulated, Some(&state)).unwrap();
        assert_eq!((replayed, container.values.position()), (vec![1], end));
        drop(container);
        // sectors of it must not be among the sectors of what comes in its place
        simulated.restart(Restart::PowerCut);
        let left = simulated.disk().open(&path, Mode::Read).unwrap().len().unwrap();
        assert_eq!(left, end, "seed {seed}");
    }
}

/// `TMPDIR=... cargo test --lib -- --ignored --exact container::damage_tests::measures_a_long_tail --nocapture`
#[test]
#[ignore = "it measures"]
fn measures_a_long_tail() {
    const MIB: usize = 300;
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 30, Compression::None), None);
    let state = checkpoint(&mut container);
    let (mut pages, mut rng) = (pages(Compression::None), fastrand::Rng::with_seed(1));
    for number in 0..MIB {
        let text: String = (0..1 << 20).map(|_| rng.alphanumeric()).collect();
        pages.store(&mut container, &url(number), &text, false);
    }
    drop(container);
    let options = options(1 << 30, Compression::None);
    let (mut container, mut recovery) =
        Container::open(Disk::real(), dir.path(), options, WarcInfo::default(), Some(&state)).unwrap();
    let begun = std::time::Instant::now();
    recovery.next(&mut container).unwrap();
    let first = begun.elapsed();
    while recovery.next(&mut container).unwrap().is_some() {}
    println!("{MIB} MiB: written again and synced in {first:?}, read in {:?}", begun.elapsed() - first);
}

#[test]
fn a_recovery_that_is_over_stays_over() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    pages.store(&mut container, &url(0), "x", false);
    let state = checkpoint(&mut container);
    pages.store(&mut container, &url(1), "x", false);
    drop(container);
    let options = options(1 << 20, Compression::Gzip);
    let (mut container, mut recovery) =
        Container::open(Disk::real(), dir.path(), options, WarcInfo::default(), Some(&state)).unwrap();
    assert!(recovery.next(&mut container).unwrap().is_some());
    for _ in 0..3 {
        assert!(recovery.next(&mut container).unwrap().is_none());
    }
}

#[test]
fn a_file_under_way_in_another_coding_is_closed_and_a_new_one_begun() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    pages(Compression::Gzip).store(&mut container, &url(0), "gzip", false);
    let state = checkpoint(&mut container);
    drop(container);
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Zstd), Some(&state));
    assert_eq!(container.values.number(), 1);
    pages(Compression::Zstd).store(&mut container, &url(1), "zstd", false);
    checkpoint(&mut container);
    let reader = Reader::open(Disk::real(), dir.path()).unwrap();
    assert_eq!((body(&reader, &url(0)), body(&reader, &url(1))), (Some("gzip".to_owned()), Some("zstd".to_owned())));
    let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("value-")).collect();
    names.sort();
    assert_eq!(names, ["value-00000.warc.gz", "value-00001.warc.zst.open"]);
}
