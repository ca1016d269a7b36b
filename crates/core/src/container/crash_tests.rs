//! The container after kills and power cuts: every file cut or torn where a crash can do it.

use std::fs;

use super::tests::{body, checkpoint, key_of, open, options, pages};
use super::*;
use crate::disk::Error;

const URL: &str = "http://a.example/";

fn url(number: usize) -> String {
    format!("{URL}{number}")
}

/// The files in `from`, copied to `to`.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// Makes the machine of the last process another one than the machine of the next.
fn after_a_power_cut(dir: &Path) {
    fs::remove_file(dir.join("boot")).unwrap();
}

fn cut_file(path: &Path, bytes: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

fn open_paths(dir: &Path) -> Vec<PathBuf> {
    let found = values::find(&Disk::real(), dir).unwrap();
    found.into_iter().filter(|file| file.open).map(|file| file.path).collect()
}

/// Two pages before a checkpoint and two behind it, with the ends of the value file and of key.dat after each.
struct Stored {
    dir: tempfile::TempDir,
    state: ContainerState,
    value_ends: Vec<u64>,
    key_ends: Vec<u64>,
}

impl Stored {
    fn new(compression: Compression) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (mut container, _) = open(dir.path(), options(1 << 20, compression), None);
        let mut pages = pages(compression);
        let (mut value_ends, mut key_ends, mut state) = (Vec::new(), Vec::new(), None);
        for number in 0..4 {
            pages.store(&mut container, &url(number), "x", false);
            value_ends.push(container.values.position());
            key_ends.push(container.keys.len());
            if number == 1 {
                state = Some(checkpoint(&mut container));
            }
        }
        Stored { dir, state: state.unwrap(), value_ends, key_ends }
    }

    fn value(dir: &Path) -> PathBuf {
        values::find(&Disk::real(), dir).unwrap().remove(0).path
    }

    /// Opens a copy after `damage`, stores one page more, and reads the first `whole` ones.
    fn reopened(&self, compression: Compression, whole: usize, damage: impl Fn(&Path)) {
        let dir = tempfile::tempdir().unwrap();
        copy(self.dir.path(), dir.path());
        // the address pages are not at stake: without it their repair, and its syncs, are left out
        fs::remove_file(dir.path().join("address.dw")).unwrap();
        after_a_power_cut(dir.path());
        damage(dir.path());
        let (mut container, replayed) = open(dir.path(), options(1 << 20, compression), Some(&self.state));
        assert_eq!(replayed.len(), whole - 2, "{compression:?}");
        assert_eq!(container.pages(), whole as u64);
        pages(compression).store(&mut container, &url(9), "y", false);
        let reader = Reader::open(Disk::real(), dir.path()).unwrap();
        for number in 0..whole {
            assert_eq!(body(&reader, &url(number)).as_deref(), Some("x"), "{compression:?} page {number}");
        }
        for number in whole..4 {
            assert_eq!(body(&reader, &url(number)), None, "{compression:?} page {number}");
        }
        assert_eq!(body(&reader, &url(9)).as_deref(), Some("y"));
    }
}

#[test]
fn a_value_file_cut_at_any_byte_behind_the_checkpoint_keeps_every_whole_record() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let stored = Stored::new(compression);
        for cut in stored.state.value_bytes..=stored.value_ends[3] {
            let whole = stored.value_ends.iter().filter(|&&end| end <= cut).count();
            stored.reopened(compression, whole, |dir| cut_file(&Stored::value(dir), cut));
        }
    }
}

#[test]
fn key_dat_cut_at_any_byte_behind_the_checkpoint_loses_nothing() {
    let stored = Stored::new(Compression::Gzip);
    for cut in stored.state.key_bytes..=stored.key_ends[3] {
        stored.reopened(Compression::Gzip, 4, |dir| cut_file(&dir.join("key.dat"), cut));
    }
}

#[test]
fn a_record_that_is_not_compressed_and_whose_block_a_power_cut_garbled_is_not_taken_for_whole() {
    let stored = Stored::new(Compression::None);
    for (page, &end) in stored.value_ends.iter().enumerate().skip(2) {
        stored.reopened(Compression::None, page, |dir| {
            let path = Stored::value(dir);
            let mut bytes = fs::read(&path).unwrap();
            // the body, before the two line ends that close the record
            bytes[end as usize - 5] ^= 0x20;
            fs::write(path, bytes).unwrap();
        });
    }
}

#[test]
fn an_exchange_that_is_not_compressed_and_of_which_a_stretch_was_never_written_is_not_taken_for_whole() {
    const SECTOR: u64 = 512;
    let stored = Stored::new(Compression::None);
    let (from, to) = (stored.value_ends[1], stored.value_ends[3]);
    for begin in (from..to - SECTOR).step_by(32) {
        let whole = stored.value_ends.iter().filter(|&&end| end <= begin).count();
        stored.reopened(Compression::None, whole, |dir| {
            let path = Stored::value(dir);
            let mut bytes = fs::read(&path).unwrap();
            bytes[begin as usize..(begin + SECTOR) as usize].fill(0);
            fs::write(path, bytes).unwrap();
        });
    }
}

#[test]
fn rubbish_behind_the_checkpoint_is_no_record() {
    let stored = Stored::new(Compression::Gzip);
    for fill in [0, 0xff, 0x1f] {
        stored.reopened(Compression::Gzip, 2, |dir| {
            for (path, from) in
                [(Stored::value(dir), stored.state.value_bytes), (dir.join("key.dat"), stored.state.key_bytes)]
            {
                let mut bytes = fs::read(&path).unwrap();
                bytes[from as usize..].fill(fill);
                fs::write(&path, bytes).unwrap();
            }
        });
    }
}

#[test]
fn files_shorter_than_the_checkpoint_says_are_damage_with_their_path() {
    let stored = Stored::new(Compression::Gzip);
    for missing in 1..stored.key_ends[1] - stored.key_ends[0] {
        for name in ["value-00000.warc.gz.open", "key.dat"] {
            let dir = tempfile::tempdir().unwrap();
            copy(stored.dir.path(), dir.path());
            let bytes = if name == "key.dat" { stored.state.key_bytes } else { stored.state.value_bytes };
            cut_file(&dir.path().join(name), bytes - missing);
            let opened = Container::open(
                Disk::real(),
                dir.path(),
                options(1 << 20, Compression::Gzip),
                WarcInfo::default(),
                Some(&stored.state),
            );
            let error = match opened {
                Err(error) => error,
                Ok((mut container, mut recovery)) => recovery.next(&mut container).unwrap_err(),
            };
            let Error::Damaged { path, offset, .. } = error else { panic!("{error}") };
            assert_eq!((path, offset), (dir.path().join(name), bytes - missing));
        }
    }
}

#[test]
fn a_full_file_is_durable_and_named_so_before_the_next_one_is_begun() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(2_000, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    for number in 0..10 {
        pages.store(&mut container, &url(number), "x", false);
        assert_eq!(open_paths(dir.path()), [container.values.open_path().unwrap()]);
    }
    assert!(container.values.number() > 3);
    container.close().unwrap();
    assert!(open_paths(dir.path()).is_empty());
    let reader = Reader::open(Disk::real(), dir.path()).unwrap();
    for number in 0..10 {
        assert_eq!(body(&reader, &url(number)).as_deref(), Some("x"));
    }
}

/// The address files before and after an interval whose slots split pages, and what key.dat says.
struct Split {
    before: tempfile::TempDir,
    after: tempfile::TempDir,
    urls: Vec<String>,
    old: usize,
}

const ADDRESS_FILES: [&str; 3] = ["address.idx", "address.ovf", "address.dw"];

impl Split {
    fn new() -> Self {
        let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let disk = Disk::real();
        let mut keys = KeyFile::open(&disk, before.path(), None).unwrap();
        AddressFile::open_or_create(&disk, before.path()).unwrap();
        // four buckets are split from 1,222 slots on
        let (old, all) = (1_200, 1_900);
        let urls: Vec<String> = (0..all).map(url).collect();
        let mut slots = HashMap::new();
        for (number, url) in urls.iter().enumerate() {
            if number == old {
                apply(before.path(), &slots, keys.len());
                slots.clear();
            }
            slots.insert(key_of(url), keys.append(&record(url)).unwrap());
        }
        copy(before.path(), after.path());
        apply(after.path(), &slots, keys.len());
        Split { before, after, urls, old }
    }

    fn assert_found(&self, dir: &Path, count: usize, context: &str) {
        let disk = Disk::real();
        let addresses = AddressFile::open_or_create(&disk, dir).unwrap();
        let keys = KeyFile::open_for_reading(&disk, dir).unwrap();
        assert_eq!(addresses.slots(), count as u64, "{context}");
        for url in &self.urls[..count] {
            let found = addresses.find(key_of(url), url, |offset| keys.read_if_whole(offset)).unwrap();
            assert_eq!(found.map(|record| record.url).as_ref(), Some(url), "{context}");
        }
    }
}

fn apply(dir: &Path, slots: &HashMap<Fingerprint, u64>, key_bytes: u64) {
    AddressFile::open_for_writing(&Disk::real(), dir).unwrap().apply(slots, key_bytes).unwrap();
}

fn record(url: &str) -> KeyRecord {
    KeyRecord { key: key_of(url), ..keys::tests::record(url) }
}

#[test]
fn a_crash_while_the_double_write_file_is_written_leaves_the_old_pages() {
    let split = Split::new();
    let [old, new] = [&split.before, &split.after].map(|dir| fs::read(dir.path().join("address.dw")).unwrap());
    assert!(new.len() > 8 * 4_096, "several pages were split: {}", new.len());
    for cut in (0..new.len()).step_by(1_021).chain(0..40) {
        let dir = tempfile::tempdir().unwrap();
        copy(split.before.path(), dir.path());
        // over the images of the interval before, which is how they are written
        let mut torn = new[..cut].to_vec();
        torn.extend_from_slice(old.get(cut..).unwrap_or_default());
        fs::write(dir.path().join("address.dw"), torn).unwrap();
        split.assert_found(dir.path(), split.old, &format!("cut at {cut}"));
    }
}

#[test]
fn a_crash_in_the_middle_of_a_page_split_is_repaired_from_the_double_write_file() {
    let split = Split::new();
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..60 {
        let dir = tempfile::tempdir().unwrap();
        copy(split.after.path(), dir.path());
        for name in &ADDRESS_FILES[..2] {
            let [old, new] = [&split.before, &split.after].map(|from| fs::read(from.path().join(name)).unwrap());
            let mut torn = old.clone();
            // sectors of the new pages that reached the disk, and rubbish in one that was being written
            for (number, sector) in new.chunks(512).enumerate() {
                let at = number * 512;
                if old.get(at..at + sector.len()) != Some(sector) && random.bool() {
                    torn.resize(torn.len().max(at + sector.len()), 0);
                    torn[at..at + sector.len()].copy_from_slice(sector);
                    if random.u8(..8) == 0 {
                        torn[at..at + sector.len()].fill(random.u8(..));
                    }
                }
            }
            fs::write(dir.path().join(name), torn).unwrap();
        }
        split.assert_found(dir.path(), split.urls.len(), &format!("seed {seed} round {round}"));
        for name in &ADDRESS_FILES[..2] {
            let [repaired, whole] = [dir.path(), split.after.path()].map(|from| fs::read(from.join(name)).unwrap());
            assert_eq!(repaired, whole, "{name}, seed {seed} round {round}");
        }
    }
}
