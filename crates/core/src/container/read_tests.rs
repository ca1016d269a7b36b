//! Tests of what a look-up costs, counted at the disk.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::tests::{checkpoint, key_of, open, options, pages};
use super::*;
use crate::disk::simulated::SimulatedDisk;

#[test]
fn a_get_reads_about_one_address_page_one_key_record_and_exactly_its_value() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(300_000, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    let urls: Vec<String> = (0..3_000).map(|number| format!("http://a.example/{number}")).collect();
    for url in &urls {
        pages.store(&mut container, url, "some body", false);
    }
    checkpoint(&mut container);
    let memory = SimulatedDisk::copy_of(&Disk::real(), dir.path()).unwrap();
    let reader = Reader::open(memory.disk(), dir.path()).unwrap();
    let counted = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&counted);
    memory.observe_reads(move |path, offset, asked, _| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        log.lock().unwrap().push((name, offset, asked));
    });
    let mut value_bytes = 0;
    for url in &urls {
        let record = reader.newest(key_of(url), url).unwrap().unwrap();
        assert_eq!(reader.response(&record).unwrap().body, b"some body");
        value_bytes += record.value_bytes as usize;
    }
    let mut reads: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    let counted = counted.lock().unwrap();
    for (name, offset, length) in counted.iter() {
        let kind = match name.as_str() {
            // the head says which bucket a key is in; it is read every time, because a crawl may be splitting
            "address.idx" if *offset == 0 => "head",
            "address.idx" | "address.ovf" => "page",
            "key.dat" => "key",
            _ => "value",
        };
        let (count, bytes) = reads.entry(kind).or_default();
        *count += 1.0 / urls.len() as f64;
        *bytes += length;
    }
    let a_get = |kind: &str| reads[kind].0;
    assert!((a_get("head") - 1.0).abs() < 1e-6, "{reads:?}");
    assert!((1.0..=1.05).contains(&(a_get("page") + 1e-9)), "{reads:?}");
    assert!((1.0..=1.01).contains(&(a_get("key") + 1e-9)), "{reads:?}");
    assert!((a_get("value") - 1.0).abs() < 1e-6, "{reads:?}");
    assert_eq!(reads["value"].1, value_bytes, "no byte more than the record");
}
