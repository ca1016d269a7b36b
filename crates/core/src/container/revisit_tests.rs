//! Revisits in the container: what becomes one, what it costs to read, and what a crash leaves of it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::tests::{body, checkpoint, key_of, open, options, pages};
use super::*;
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{Error, Mode};
use crate::warc::{Compression, RecordReader};

const CODINGS: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::None];
const FIRST: &str = "http://a.example/first";
const AGAIN: &str = "http://b.example/again";

fn long(text: &str) -> String {
    text.repeat(1_000 / text.len() + 1)
}

fn newest(reader: &Reader, url: &str) -> KeyRecord {
    reader.newest(key_of(url), url).unwrap().unwrap()
}

fn kinds(dir: &Path) -> Vec<String> {
    let path = values::find(&Disk::real(), dir).unwrap().remove(0).path;
    let file = Disk::real().open(path, Mode::Read).unwrap();
    let mut records = RecordReader::new(&file, 0, 1 << 20);
    std::iter::from_fn(|| records.next().unwrap()).map(|record| record.kind().to_owned()).collect()
}

#[test]
fn a_payload_is_stored_once_and_read_from_every_page_that_has_it() {
    for compression in CODINGS {
        let dir = tempfile::tempdir().unwrap();
        let (mut container, _) = open(dir.path(), options(1 << 20, compression), None);
        let mut pages = pages(compression);
        let text = long("<p>the same</p>");
        let first = pages.store(&mut container, FIRST, &text, false);
        let again = pages.store(&mut container, AGAIN, &text, false);
        let other = pages.store(&mut container, "http://a.example/other", &long("another"), false);
        assert_eq!((first.saved, other.saved), (None, None));
        assert!(again.saved.is_some_and(|saved| compression != Compression::None || saved > 500), "{again:?}");
        checkpoint(&mut container);
        // a version of the URL itself is as good, and one after a checkpoint too
        assert!(pages.store(&mut container, FIRST, &text, true).saved.is_some());
        let expected = ["warcinfo", "metadata", "response", "metadata", "revisit", "metadata", "response", "metadata"];
        assert_eq!(kinds(dir.path()), [&expected[..], &["revisit"]].concat());
        let reader = Reader::open(Disk::real(), dir.path()).unwrap();
        assert_eq!(body(&reader, FIRST), Some(text.clone()));
        assert_eq!(body(&reader, AGAIN), Some(text.clone()));
        let (record, original) = (newest(&reader, AGAIN), reader.record_at(first.record).unwrap());
        assert_eq!(record.payload_at, Some(first.record));
        assert_eq!((record.payload_sha1, record.payload_bytes), (original.payload_sha1, text.len() as u64));
        let response = reader.response(&record).unwrap();
        let field = |name: &str| response.fields.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        assert_eq!(field("WARC-Refers-To-Target-URI"), Some(FIRST));
        let original = reader.response(&original).unwrap();
        let id = original.fields.iter().find(|(name, _)| name == "WARC-Record-ID").map(|(_, value)| value.as_str());
        assert_eq!(field("WARC-Refers-To"), id);
    }
}

#[test]
fn a_revisit_is_read_by_one_address_page_two_key_records_and_two_values() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    let text = long("<p>the same</p>");
    pages.store(&mut container, FIRST, &text, false);
    pages.store(&mut container, AGAIN, &text, false);
    checkpoint(&mut container);
    container.close().unwrap();
    let reads = Arc::new(Mutex::new(Vec::new()));
    let memory = SimulatedDisk::copy_of(&Disk::real(), dir.path()).unwrap();
    let reader = Reader::open(memory.disk(), dir.path()).unwrap();
    let log = Arc::clone(&reads);
    memory.observe_reads(move |path, offset, _, there| {
        if there > 0 {
            let part = if offset == 0 { "head of " } else { "" };
            let name = path.file_name().unwrap().to_string_lossy();
            log.lock().unwrap().push(format!("{part}{name}"));
        }
    });
    // the head says how many pages there are, as a crawl that runs may have split some
    let page = ["head of address.idx", "address.idx", "key.dat", "value-00000.warc.gz"];
    for (url, more) in [(FIRST, &[][..]), (AGAIN, &["key.dat", "value-00000.warc.gz"])] {
        reads.lock().unwrap().clear();
        assert_eq!(body(&reader, url), Some(text.clone()));
        assert_eq!(*reads.lock().unwrap(), [&page[..], more].concat(), "{url}");
    }
}

#[test]
fn short_and_failed_answers_are_stored_whole_and_without_an_index_all_are() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    for n in 0..2 {
        assert_eq!(pages.store(&mut container, &format!("http://a.example/{n}"), "short", false).saved, None);
        let missing = format!("http://b.example/{n}");
        assert_eq!(pages.answer(&mut container, &missing, 404, &long("not found"), false).saved, None);
    }
    let without = ContainerOptions { digest_memory: 0, ..options(1 << 20, Compression::Gzip) };
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), without, None);
    for url in [FIRST, AGAIN] {
        assert_eq!(pages.store(&mut container, url, &long("same"), false).saved, None);
    }
}

#[test]
fn revisits_behind_a_checkpoint_come_back_with_their_payload() {
    for compression in CODINGS {
        let dir = tempfile::tempdir().unwrap();
        let text = long("<a href='x'>the same</a>");
        let state = {
            // files of one exchange each
            let (mut container, _) = open(dir.path(), options(600, compression), None);
            let mut pages = pages(compression);
            pages.store(&mut container, FIRST, &text, false);
            let state = checkpoint(&mut container);
            pages.store(&mut container, AGAIN, &text, false);
            pages.store(&mut container, "http://c.example/", &long("after"), false);
            pages.store(&mut container, "http://d.example/", &long("after"), false);
            state
        };
        // even an index that has forgotten everything does not lose a payload: URL and date lead there
        let forgetful = ContainerOptions { digest_memory: 0, ..options(600, compression) };
        for options in [options(600, compression), forgetful] {
            for _ in 0..2 {
                let (_, replayed) = open(dir.path(), options.clone(), Some(&state));
                let found: Vec<_> = replayed.iter().map(|p| (p.url.as_str(), p.refers_to.is_some())).collect();
                assert_eq!(found, [(AGAIN, true), ("http://c.example/", false), ("http://d.example/", true)]);
                assert_eq!(String::from_utf8(replayed[0].body.clone()).unwrap(), text);
                assert_eq!(String::from_utf8(replayed[2].body.clone()).unwrap(), long("after"));
                assert_eq!(replayed[0].payload_bytes, text.len() as u64);
                assert_eq!(replayed[0].truncated, None);
            }
        }
        let (mut container, _) = open(dir.path(), options(600, compression), Some(&state));
        let later = pages(compression).store(&mut container, "http://e.example/", &text, false);
        assert!(later.saved.is_some(), "the index is filled from key.dat");
        checkpoint(&mut container);
        let reader = Reader::open(Disk::real(), dir.path()).unwrap();
        for (url, expected) in [(AGAIN, &text), ("http://d.example/", &long("after")), ("http://e.example/", &text)] {
            assert_eq!(body(&reader, url).as_ref(), Some(expected));
        }
    }
}

#[test]
fn a_revisit_whose_payload_is_gone_is_not_taken_back_in() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(600, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    pages.store(&mut container, FIRST, &long("same"), false);
    // another file, so that the first one is closed
    pages.store(&mut container, "http://c.example/", &long("other"), false);
    let state = checkpoint(&mut container);
    assert!(pages.store(&mut container, AGAIN, &long("same"), false).saved.is_some());
    drop(container);
    let first = values::find(&Disk::real(), dir.path()).unwrap().remove(0);
    assert_eq!((first.number, first.open), (0, false));
    Disk::real().remove(&first.path).unwrap();
    let (mut container, mut recovery) =
        Container::open(Disk::real(), dir.path(), options(600, Compression::Gzip), WarcInfo::default(), Some(&state))
            .unwrap();
    let mut page = recovery.next(&mut container).unwrap().unwrap();
    assert!(!container.read_through(&mut page, &|url| Some(key_of(url))).unwrap());
    assert!(recovery.next(&mut container).unwrap().is_none());
}

#[test]
fn p8_a_304_refers_to_what_its_condition_was_made_from_and_without_one_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    let text = long("<p>as before</p>");
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    assert!(!pages.answer(&mut container, AGAIN, 304, "", true).not_modified);
    pages.store(&mut container, FIRST, &text, false);
    pages.answer(&mut container, FIRST, 503, "busy", true);
    for _ in 0..2 {
        let stored = pages.answer(&mut container, FIRST, 304, "", true);
        assert!(stored.not_modified && stored.saved.is_none());
    }
    drop(container);
    // the same from the value file alone
    for _ in 0..2 {
        let (mut container, replayed) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
        assert_eq!(
            replayed.iter().map(|page| page.refers_to.is_some()).collect::<Vec<_>>(),
            [false, false, false, true, true]
        );
        checkpoint(&mut container);
        let reader = Reader::open(Disk::real(), dir.path()).unwrap();
        let record = newest(&reader, FIRST);
        assert_eq!((record.status, record.mime.as_str()), (304, "text/html"));
        assert_eq!(record.payload_bytes, text.len() as u64);
        let response = reader.response(&record).unwrap();
        assert_eq!((response.status, String::from_utf8(response.body).unwrap()), (304, text.clone()));
        let profile = response.fields.iter().find(|(name, _)| name == "WARC-Profile").unwrap();
        assert!(profile.1.ends_with("/server-not-modified"), "{profile:?}");
        assert!(response.payload_headers.iter().any(|(name, _)| name.as_ref() == b"content-type"));
        assert_eq!(newest(&reader, AGAIN).payload_at, None);
    }
}

#[test]
fn p8_a_condition_is_made_from_the_newest_200_whose_payload_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    let etag = |container: &Container, url: &str| {
        let condition = container.condition(key_of(url), url).unwrap()?;
        let (_, value) = condition.validators.headers().next().unwrap();
        Some((String::from_utf8(value.to_vec()).unwrap(), condition.payload_at))
    };
    assert_eq!(etag(&container, FIRST), None, "never stored");
    pages.answer(&mut container, FIRST, 404, "gone", false);
    assert_eq!(etag(&container, FIRST), None, "never stored with 200");
    let first = pages.answer(&mut container, FIRST, 200, &long("one"), true).record;
    let of_first = Some((format!("\"{}\"", long("one").len()), first));
    assert_eq!(etag(&container, FIRST), of_first);
    pages.answer(&mut container, FIRST, 503, "busy", true);
    pages.answer(&mut container, FIRST, 304, "", true);
    assert_eq!(etag(&container, FIRST), of_first);
    // the same payload under another URL: the headers are its own, the payload is the first's
    assert!(pages.store(&mut container, AGAIN, &long("one"), false).saved.is_some());
    assert_eq!(etag(&container, AGAIN), of_first);
    let second = pages.answer(&mut container, FIRST, 200, &long("of the second"), true).record;
    assert_eq!(etag(&container, FIRST).map(|(_, at)| at), Some(second));
    checkpoint(&mut container);
    let reader = Reader::open(Disk::real(), dir.path()).unwrap();
    let at = reader.record_at(first).unwrap().value_offset;
    let path = container.values.open_path().unwrap();
    Disk::real().open(path, Mode::Write).unwrap().write_all_at(&[0; 40], at).unwrap();
    assert_eq!(etag(&container, AGAIN), None, "its payload is damaged");
    assert_eq!(etag(&container, FIRST).map(|(_, at)| at), Some(second));
}

#[test]
fn a_revisit_whose_payload_is_damaged_is_damage_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    let first = pages.store(&mut container, FIRST, &long("same"), false);
    pages.store(&mut container, AGAIN, &long("same"), false);
    checkpoint(&mut container);
    let reader = Reader::open(Disk::real(), dir.path()).unwrap();
    let record = newest(&reader, AGAIN);
    let elsewhere = KeyRecord { payload_sha1: [1; 20], ..record.clone() };
    assert!(matches!(reader.response(&elsewhere), Err(Error::Damaged { .. })));
    let at = reader.record_at(first.record).unwrap().value_offset;
    let path = container.values.open_path().unwrap();
    Disk::real().open(path, Mode::Write).unwrap().write_all_at(&[0; 40], at).unwrap();
    assert!(matches!(reader.response(&record), Err(Error::Damaged { .. })));
}

#[test]
fn n29_a_payload_with_the_tag_and_the_length_of_another_is_stored_and_not_taken_for_that_one() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let time = |ms| Time::from_ms(ms);
    let mut store = |url: &str, body: &str, payload_sha1: [u8; 20], at: Time| {
        let exchange = fixture::answer(url, at, body.as_bytes());
        let records = Encoder::new(Compression::Gzip).encode(&exchange);
        let page =
            NewPage { payload_sha1, may_have_versions: false, ..fixture::page(&exchange, key_of(url), &records) };
        container.append(&page).unwrap()
    };
    // the index keeps the place that the first bytes give, and 24 bits more: the rest is in key.dat
    let (mut first, mut other) = ([7; 20], [7; 20]);
    (first[19], other[19]) = (1, 2);
    store(FIRST, &long("one"), first, time(1));
    assert_eq!(store(AGAIN, &long("two"), other, time(2)).saved, None, "another digest is another payload");
    assert!(store("http://c.example/", &long("one"), first, time(3)).saved.is_some(), "the same one is known");
    let candidates: Vec<u64> = container.digests.candidates(&other).collect();
    assert!(candidates.len() >= 2, "both are under one tag: {candidates:?}");
    assert_eq!(kinds(dir.path()).iter().filter(|kind| *kind == "response").count(), 2);
}

#[test]
fn n29_a_replayed_revisit_is_not_read_through_to_a_payload_of_which_it_has_only_the_tag() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    pages.store(&mut container, FIRST, &long("same"), false);
    let state = checkpoint(&mut container);
    pages.store(&mut container, AGAIN, &long("same"), false);
    drop(container);
    let opened = Container::open(
        Disk::real(),
        dir.path(),
        options(1 << 20, Compression::Gzip),
        WarcInfo::default(),
        Some(&state),
    );
    let (mut container, mut recovery) = opened.unwrap();
    let page = recovery.next(&mut container).unwrap().unwrap();
    assert!(page.refers_to.is_some());
    let key_of_url = |url: &str| Some(key_of(url));
    let (mut true_one, mut forged) = (page.clone(), page);
    assert!(container.read_through(&mut true_one, &key_of_url).unwrap());
    forged.payload_sha1[19] ^= 1;
    assert!(container.digests.candidates(&forged.payload_sha1).next().is_some(), "it has the tag of the other");
    assert!(!container.read_through(&mut forged, &key_of_url).unwrap());
}
