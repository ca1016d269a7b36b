//! The index against a map: everything that was put in is found, and nothing else.

use std::collections::BTreeMap;

use data_encoding::BASE32;
use sha1::{Digest, Sha1};

use super::*;
use crate::container::Report;

fn sha1(number: u64) -> [u8; 20] {
    Sha1::digest(number.to_le_bytes()).into()
}

fn source(path: &Path) -> Source {
    Source { path: path.to_owned(), is_crawl: false, state: String::new() }
}

/// A line of a CDXJ file for the payload `number`.
fn line(number: u64, url: &str, second: u64) -> String {
    let digest = BASE32.encode(&sha1(number));
    format!("org,example)/ 202611210508{second:02} {{\"url\":\"{url}\",\"status\":\"200\",\"digest\":\"{digest}\"}}\n")
}

fn index_of(dir: &Path, files: &[String]) -> DedupIndex {
    let disk = Disk::real();
    let mut builder = Builder::default();
    for (number, file) in files.iter().enumerate() {
        let path = dir.join(format!("{number}.cdxj"));
        std::fs::write(&path, file).unwrap();
        assert_eq!(builder.add_cdxj(&disk, source(&path)).unwrap(), 0);
    }
    let built = builder.finish(&disk, dir).unwrap();
    let index = DedupIndex::open(&disk, dir).unwrap().unwrap();
    assert_eq!((index.entries(), std::fs::metadata(dir.join(FILE)).unwrap().len()), (built.payloads, built.bytes));
    index
}

#[test]
fn every_payload_is_found_and_no_other() {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for count in [0, 1, 2, 40, 5_000] {
        let dir = tempfile::tempdir().unwrap();
        let mut expected = BTreeMap::new();
        let mut file = String::new();
        for number in 0..count {
            let path: String = (0..random.usize(0..300)).map(|_| random.alphanumeric()).collect();
            let url = format!("https://example.org/{path}");
            file.push_str(&line(number, &url, number % 60));
            expected.insert(number, url);
        }
        let index = index_of(dir.path(), &[file]);
        assert_eq!(index.entries(), count, "seed {seed}");
        for (number, url) in expected {
            let found = index.find(&sha1(number)).unwrap().unwrap();
            assert_eq!((found.url, found.time.ms() / 1_000 % 60), (url, number % 60), "seed {seed}");
        }
        for number in count..count + 1_000 {
            assert_eq!(index.find(&sha1(number)).unwrap(), None, "seed {seed}");
        }
        for edge in [[0; 20], [255; 20]] {
            assert_eq!(index.find(&edge).unwrap(), None, "seed {seed}");
        }
        let mut findings = Vec::new();
        let mut tell = |finding: &crate::container::Finding| findings.push(format!("{finding:?}"));
        check(&Disk::real(), dir.path(), &mut Report::new(&mut tell, &mut |_, _| {})).unwrap();
        assert!(findings.is_empty(), "{findings:?}");
    }
}

#[test]
fn of_several_archives_the_first_in_the_list_counts_and_there_the_earliest_record() {
    let dir = tempfile::tempdir().unwrap();
    let first = line(1, "https://example.org/late", 9) + &line(1, "https://example.org/early", 3);
    let second = line(1, "https://example.org/second", 1) + &line(2, "https://example.org/other", 1);
    let index = index_of(dir.path(), &[first, second]);
    let found = index.find(&sha1(1)).unwrap().unwrap();
    assert_eq!((found.url.as_str(), index.name_of(&found).as_str()), ("https://example.org/early", "0.cdxj"));
    let found = index.find(&sha1(2)).unwrap().unwrap();
    assert_eq!((found.url.as_str(), index.name_of(&found).as_str()), ("https://example.org/other", "1.cdxj"));
}

#[test]
fn a_damaged_block_loses_its_payloads_and_is_found_by_a_check() {
    let dir = tempfile::tempdir().unwrap();
    let file: String = (0..500).map(|number| line(number, "https://example.org/", 0)).collect();
    drop(index_of(dir.path(), &[file]));
    let path = dir.path().join(FILE);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let index = DedupIndex::open(&Disk::real(), dir.path()).unwrap().unwrap();
    let found = (0..500).filter(|&number| index.find(&sha1(number)).unwrap().is_some()).count();
    assert!((1..500).contains(&found), "{found}");
    let mut findings = 0;
    let mut tell = |_: &crate::container::Finding| findings += 1;
    check(&Disk::real(), dir.path(), &mut Report::new(&mut tell, &mut |_, _| {})).unwrap();
    assert_eq!(findings, 1);
}
