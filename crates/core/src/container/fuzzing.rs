//! The files of the container as any bytes: key records, address pages, value files.

use std::collections::HashMap;
use std::path::Path;

use super::address::AddressFile;
use super::keys::KeyFile;
use super::{Container, ContainerOptions, NewPage, Reader, Report, Standing, WarcInfo, fixture, rebuild, verify};
use crate::clock::Time;
use crate::disk::HEADER_BYTES;
use crate::disk::simulated::SimulatedDisk;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::warc::{Compression, Encoder, Exchange, RecordReader};
use crate::web::url::KeyMaker;

const DIR: &str = "pages";
const PAGE_BYTES: usize = 4_096;
const DOUBLE_WRITE_AT: usize = 24;
const BLOCK_MAX: u64 = 1 << 20;
const ADDRESS_FILES: [&str; 3] = ["address.idx", "address.ovf", "address.dw"];

fn maker() -> KeyMaker {
    KeyMaker::new(Fingerprinter::random(1), &[])
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn set(bytes: &mut [u8], at: usize, sum: u32) {
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// key.dat: as it is, and with the checksums of its records made right.
pub fn keys(bytes: &[u8]) -> bool {
    let mut repaired = bytes.to_vec();
    let mut at = HEADER_BYTES as usize;
    while let Some(length) = word(&repaired, at + 4).filter(|&length| length >= 65) {
        let Some(record) = repaired.get(at + 4..at + length) else { break };
        let sum = crc32fast::hash(record);
        set(&mut repaired, at, sum);
        at += length;
    }
    let whole = read_keys(bytes);
    read_keys(&repaired) || whole
}

fn read_keys(bytes: &[u8]) -> bool {
    let (memory, dir) = (SimulatedDisk::with_dir(DIR), Path::new(DIR));
    memory.put(dir.join("key.dat"), bytes.to_vec());
    let Ok(keys) = KeyFile::open_for_reading(&memory.disk(), dir) else { return false };
    let copy_dir = Path::new("copy");
    memory.disk().create_dir_all(copy_dir).expect("memory takes all");
    let mut copy = KeyFile::open(&memory.disk(), copy_dir, None).expect("memory takes all");
    let mut any = false;
    let mut scan = keys.scan(0);
    for record in &mut scan {
        let Ok(record) = record else { break };
        assert_eq!(keys.read(record.offset).expect("it was there"), record);
        let offset = copy.append(&record).expect("memory takes all");
        // a mime type that is in the table is not written out again, so offsets may move
        let back = copy.read_if_whole(offset).expect("the disk does not fail");
        if let Some(back) = back {
            let (mut expected, found) = (record.clone(), back);
            expected.offset = offset;
            assert_eq!(found, expected);
        } else {
            assert!(record.payload_at.is_some_and(|at| at >= offset), "{record:?} is not read back");
        }
        any = true;
    }
    assert!(scan.reached() <= bytes.len() as u64);
    for from in [0, HEADER_BYTES + 1, bytes.len() as u64 / 2] {
        let found = keys.first_behind(from).expect("the disk does not fail");
        assert!(found.is_none_or(|at| at >= from && keys.read(at).is_ok()));
        keys.next_whole(from, bytes.len() as u64).expect("the disk does not fail");
    }
    any
}

/// The address file, its overflow pages and its double-write file, with a key.dat: as they are, and with their
/// checksums made right. They are opened, repaired, looked into, added to, and verified.
pub fn addresses(files: [Vec<u8>; 4]) -> bool {
    let mut repaired = files.clone();
    if let Some(head) = repaired[1].get_mut(..PAGE_BYTES) {
        let sum = crc32fast::hash(&head[20..]);
        set(head, 16, sum);
    }
    repaired[1].chunks_exact_mut(PAGE_BYTES).skip(1).for_each(repair_page);
    repaired[2].chunks_exact_mut(PAGE_BYTES).for_each(repair_page);
    if let Some(images) = repaired[3].get_mut(DOUBLE_WRITE_AT..) {
        images.chunks_exact_mut(8 + PAGE_BYTES).skip(1).for_each(|entry| repair_page(&mut entry[8..]));
        let sum = crc32fast::hash(&repaired[3][20..]);
        set(&mut repaired[3], 16, sum);
    }
    let whole = look_up(&files);
    look_up(&repaired) || whole
}

fn repair_page(page: &mut [u8]) {
    let sum = crc32fast::hash(&page[4..]);
    set(page, 0, sum);
}

fn look_up([keys, index, overflow, images]: &[Vec<u8>; 4]) -> bool {
    let (memory, dir) = (SimulatedDisk::with_dir(DIR), Path::new(DIR));
    let disk = memory.disk();
    memory.put(dir.join("key.dat"), keys.clone());
    for (name, content) in ADDRESS_FILES.into_iter().zip([index, overflow, images]) {
        // without overflow pages their file is empty, but it is there
        if !content.is_empty() || name == ADDRESS_FILES[1] && !index.is_empty() {
            memory.put(dir.join(name), content.clone());
        }
    }
    check(&memory);
    let Ok(addresses) = AddressFile::open_or_create(&disk, dir) else { return false };
    let Ok(keys) = KeyFile::open_for_reading(&disk, dir) else { return false };
    let mut found = 0;
    let mut slots = HashMap::new();
    for record in keys.scan(0).filter_map(Result::ok).take(100) {
        let answer = addresses.find(record.key, &record.url, |offset| keys.read_if_whole(offset));
        found += u64::from(matches!(answer, Ok(Some(_))));
        slots.insert(record.key, record.offset);
    }
    for bits in 0..8_u64 {
        let _ = addresses.find(Fingerprint::from_bits(bits << 61 | bits), "", |offset| keys.read_if_whole(offset));
    }
    if addresses.apply(&slots, keys.len()).is_err() {
        return false;
    }
    check(&memory);
    found > 0
}

/// Verifies everything that is there; what is found does not matter.
fn check(memory: &SimulatedDisk) {
    let (mut told, mut progress) = (|_: &_| {}, |_, _| {});
    let mut report = Report::new(&mut told, &mut progress);
    let _ = verify(&memory.disk(), Path::new(DIR), &Standing::Unknown, Some(&maker()), &mut report);
}

/// A value file: read record by record, replayed, verified, indexed again and read through that index.
pub fn warc(bytes: &[u8]) -> bool {
    let (memory, dir) = (SimulatedDisk::with_dir(DIR), Path::new(DIR));
    let disk = memory.disk();
    let path = dir.join("value-00000.warc");
    memory.put(&path, bytes.to_vec());
    let file = disk.open(&path, crate::disk::Mode::Read).expect("it was put there");
    let mut records = RecordReader::new(&file, 0, BLOCK_MAX);
    while let Ok(Some(record)) = records.next() {
        assert!(record.block.len() as u64 <= BLOCK_MAX && record.length > 0);
        read_again(&record.to_bytes(), &record.fields, &record.block);
        record.is_intact();
    }
    replay(bytes);
    check(&memory);
    let (mut told, mut progress) = (|_: &_| {}, |_, _| {});
    let mut report = Report::new(&mut told, &mut progress);
    if rebuild(&disk, dir, None, &maker(), &mut report).is_err() {
        return false;
    }
    let reader = Reader::open(disk, dir).expect("the index was rebuilt");
    let mut any = false;
    for record in reader.records() {
        let record = record.expect("the index was rebuilt");
        let newest = reader.newest(record.key, &record.url).expect("the index was rebuilt");
        assert!(newest.is_some(), "{record:?} is not found by its URL");
        any |= reader.response(&record).is_ok() && reader.warc(&record).is_ok();
    }
    any
}

/// A record that is written out is read back the same.
fn read_again(bytes: &[u8], fields: &[(String, String)], block: &[u8]) {
    let memory = SimulatedDisk::with_dir(DIR);
    memory.put("record", bytes.to_vec());
    let file = memory.disk().open("record", crate::disk::Mode::Read).expect("it was put there");
    let again = RecordReader::new(&file, 0, BLOCK_MAX).next();
    let again = again.expect("a record that was written is one").expect("there is one");
    assert_eq!((again.fields.as_slice(), again.block.as_slice()), (fields, block));
}

fn options() -> ContainerOptions {
    ContainerOptions { segment_bytes: 1 << 20, digest_memory: 1 << 12, ..ContainerOptions::default() }
}

fn info() -> WarcInfo {
    WarcInfo { software: "crawler".to_owned(), fields: Vec::new(), config: String::new() }
}

fn replay(bytes: &[u8]) {
    let (memory, dir) = (SimulatedDisk::with_dir(DIR), Path::new(DIR));
    memory.put(dir.join("value-00000.warc.open"), bytes.to_vec());
    let opened = Container::open(memory.disk(), dir, options(), info(), None);
    let (mut container, mut recovery) = opened.expect("a directory with one value file is a container");
    while let Ok(Some(page)) = recovery.next(&mut container) {
        if container.readopt(&page, Fingerprint::from_bits(page.value_offset)).is_err() {
            return;
        }
    }
}

/// A container with a few pages, one of them twice, and a revisit.
fn sample(compression: Compression) -> SimulatedDisk {
    let (memory, dir) = (SimulatedDisk::with_dir(DIR), Path::new(DIR));
    let options = ContainerOptions { compression, ..options() };
    let opened = Container::open(memory.disk(), dir, options, info(), None).expect("memory takes all");
    let (mut container, mut recovery) = opened;
    assert!(recovery.next(&mut container).expect("nothing to replay").is_none());
    let (mut encoder, maker) = (Encoder::new(compression), maker());
    for (n, path) in ["", "a", "b?x=1", "a", "robots.txt"].into_iter().enumerate() {
        let url = format!("https://www.example.org/{path}");
        let key = maker.of(&url);
        let fetched_at = Time::from_ms(1_800_000_000_000 + 1_000 * n as u64);
        let body = if n == 2 { b"<p>two" } else { b"<p>one" }.repeat(60);
        let exchange = Exchange {
            headers: &[
                (b"content-type"[..].into(), b"text/html"[..].into()),
                (b"etag"[..].into(), b"\"1\""[..].into()),
            ],
            via: Some("https://www.example.org/"),
            robots: n == 4,
            of_rendering: false,
            rendition: None,
            id_seed: n as u128,
            ..fixture::answer(&url, fetched_at, &body)
        };
        let records = encoder.encode(&exchange);
        let mime = if n == 2 { "text/x-own" } else { "text/html" };
        let page = NewPage { mime, ..fixture::page(&exchange, key, &records) };
        container.append(&page).expect("memory takes all");
    }
    let cut = container.cut().expect("memory takes all");
    container.synced(cut.job.run().expect("memory takes all"));
    memory
}

fn file(memory: &SimulatedDisk, name: &str) -> Vec<u8> {
    memory.get(Path::new(DIR).join(name)).unwrap_or_default()
}

/// A key.dat.
pub fn key_samples() -> Vec<Vec<u8>> {
    vec![file(&sample(Compression::None), "key.dat")]
}

/// A key.dat, with the three files of its address index.
pub fn address_sample() -> [Vec<u8>; 4] {
    let memory = sample(Compression::None);
    let [index, overflow, images] = ADDRESS_FILES.map(|name| file(&memory, name));
    [file(&memory, "key.dat"), index, overflow, images]
}

/// Value files, one for each compression.
pub fn warc_samples() -> Vec<Vec<u8>> {
    let values = |compression: Compression| {
        let memory = sample(compression);
        let mut files = memory.files().into_iter();
        let value = files.find(|(path, _)| path.to_string_lossy().contains("value-00000"));
        value.expect("pages were stored").1
    };
    [Compression::None, Compression::Gzip, Compression::Zstd].map(values).to_vec()
}
