//! Directories of format 1: the catalog has the record of the last checkpoint and the seeds, the checkpoint's file has
//! no identity. They are taken up, and are of this format from then on.

use super::damage::{DIR, Outcome, State, outcome};
use super::*;
use crawler::disk::simulated::SimulatedDisk;
use crawler::engine::{Identity, SeedReader, SeedRecord, checkpoint};
use std::path::PathBuf;

const HEADER: usize = 16;
const SECTION_HEAD: usize = 12;

/// The state as the format before this one has it; `record` says whether the catalog has one.
fn in_format_1(mut state: State, record: bool) -> State {
    let number = checkpoint::Noted::load(&*state.catalog(), Path::new(DIR)).unwrap().unwrap().commit.number;
    let path = checkpoint::checkpoint_path(Path::new(DIR), number);
    let mut bytes = state.files[&path].clone();
    let length = |bytes: &[u8], at: usize| usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
    let identity = SECTION_HEAD + length(&bytes, HEADER).unwrap();
    bytes.drain(HEADER..HEADER + identity);
    bytes[8] = 1;
    let sum = crc32fast::hash(&bytes[..12]);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    let mut last = HEADER;
    for _ in 0..6 {
        last += SECTION_HEAD + length(&bytes, last).unwrap();
    }
    // behind the patterns comes a section about links, which is empty, and then the record
    bytes.drain(last..last + SECTION_HEAD);
    let record_now = bytes.split_off(last);
    bytes.extend(section(&without_requisites(&record_now[SECTION_HEAD..])));
    for (number, seed) in seeds_of(&state.files).into_iter().enumerate() {
        state.catalog.insert(format!("seed/{number:010}"), postcard::to_stdvec(&seed).unwrap());
    }
    state.files.retain(|path, _| path.parent() != Some(&Path::new(DIR).join("seeds")));
    state.catalog.get_mut("identity").unwrap()[0] = 1;
    state.catalog.remove("commit");
    if record {
        state.catalog.insert("checkpoint".to_owned(), bytes[last + SECTION_HEAD..].to_vec());
        state.files.insert(path, bytes);
    } else {
        state.files.remove(&path);
    }
    state
}

fn section(content: &[u8]) -> Vec<u8> {
    let mut bytes = (content.len() as u64).to_le_bytes().to_vec();
    bytes.extend(crc32fast::hash(content).to_le_bytes());
    bytes.extend(content);
    bytes
}

/// What a record lacks at its end that says nothing of a calendar, nor of supporters.
const WITHOUT_CALENDAR: [u8; 3] = [0, 0, 0];

/// The record of a checkpoint as it was before requisites were counted.
fn without_requisites(record: &[u8]) -> Vec<u8> {
    if record.is_empty() {
        return Vec::new();
    }
    let mut made: checkpoint::Checkpoint = postcard::from_bytes(&[record, &WITHOUT_CALENDAR].concat()).unwrap();
    let mut with = |requisites_stored| {
        made.statistics.requisites_stored = requisites_stored;
        let mut bytes = postcard::to_stdvec(&made).unwrap();
        assert_eq!(bytes.split_off(bytes.len() - WITHOUT_CALENDAR.len()), WITHOUT_CALENDAR);
        bytes
    };
    let (none, one) = (with(0), with(1));
    let place = none.iter().zip(&one).position(|(a, b)| a != b).unwrap();
    [&none[..place], &none[place + 1..]].concat()
}

fn seeds_of(files: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<SeedRecord> {
    let mut seeds = Vec::new();
    let reader = SeedReader::open(&SimulatedDisk::holding(files).disk(), Path::new(DIR)).unwrap().unwrap();
    reader
        .for_each(|_, seed| {
            seeds.push(seed);
            Ok::<_, disk::Error>(())
        })
        .unwrap();
    seeds
}

#[test]
fn n25_seeds_of_format_1_leave_the_catalog_for_their_files_and_keep_numbers_and_status() {
    for (state, record) in [(State::after(40), true), (State::when(false, |_, made| made >= 6), false)] {
        let before = seeds_of(&state.files);
        let old = in_format_1(state, record);
        assert!(!before.is_empty() && old.catalog.contains_key("seed/0000000000"));
        let (disk, catalog) = (SimulatedDisk::holding(&old.files), old.catalog());
        mend::begin(&disk.disk(), &*catalog, Path::new(DIR), (old.now, 5), (4, 16, &[])).unwrap();
        assert!(catalog.scan("seed/").unwrap().is_empty());
        let after = seeds_of(&State::of(&disk, &*catalog, old.now).files);
        assert_eq!(after, before);
        assert_eq!(outcome(&old, Path::new(DIR)), Outcome::Right);
    }
}

#[test]
fn n02_a_directory_of_format_1_is_taken_up_and_is_of_format_2_from_then_on() {
    for state in [State::after(40), State::with_file(false, "rests.g"), State::with_file(true, ".repo")] {
        let old = in_format_1(state, true);
        let noted = checkpoint::Noted::load(&*old.catalog(), Path::new(DIR)).unwrap().unwrap();
        assert!(noted.is_old());
        assert_eq!(outcome(&old, Path::new(DIR)), Outcome::Right);
        let (disk, catalog) = (SimulatedDisk::holding(&old.files), old.catalog());
        // readers beside the crawl read either file
        let before = checkpoint::newest(&disk.disk(), Path::new(DIR)).unwrap().unwrap().0;
        let (identity, is_new) =
            mend::begin(&disk.disk(), &*catalog, Path::new(DIR), (old.now, 5), (4, 16, &[])).unwrap();
        assert_eq!((identity.format, is_new), (2, false));
        assert_eq!(Identity::load(&*catalog, Path::new(DIR)).unwrap(), Some(identity));
        let last = checkpoint::load(&disk.disk(), &*catalog, Path::new(DIR)).unwrap().unwrap();
        assert_eq!((last.commit.number, last.commit.clean), (before.number + 1, noted.commit.clean));
        assert_eq!(last.checkpoint.unwrap().container, before.container);
        assert_eq!(catalog.get("checkpoint").unwrap(), None);
    }
}

#[test]
fn n02_in_format_1_a_crawl_that_was_killed_before_its_first_checkpoint_goes_on_and_one_that_lost_it_is_damaged() {
    let state = State::when(false, |_, made| made >= 6);
    let number = checkpoint::Noted::load(&*state.catalog(), Path::new(DIR)).unwrap().unwrap().commit.number;
    assert_eq!(number, 0, "the first checkpoint came too soon");
    let old = in_format_1(state, false);
    assert_eq!(outcome(&old, Path::new(DIR)), Outcome::Right);
    let lost = in_format_1(State::after(40), false);
    assert_eq!(outcome(&lost, &Path::new(DIR).join("catalog")), Outcome::Told);
}
