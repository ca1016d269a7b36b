//! The container as a whole: round trips, crashes, damage.

use std::sync::LazyLock;

use super::*;
use crate::disk::Error;
use crate::fingerprint::Fingerprinter;
use crate::warc::{Encoder, Exchange, id_seed};

/// The index of payloads knows some thousand of them: a table of the usual size costs more than the rest of a test that
/// opens an archive again and again.
pub(super) fn options(segment_bytes: u64, compression: Compression) -> ContainerOptions {
    ContainerOptions { segment_bytes, compression, digest_memory: 64 << 10, ..ContainerOptions::default() }
}

pub(super) fn key_of(url: &str) -> Fingerprint {
    static MAKER: LazyLock<Fingerprinter> = LazyLock::new(|| Fingerprinter::new(0xbfe6_b8a5_bf37_8d83));
    MAKER.of(url.as_bytes())
}

pub(super) struct Pages {
    encoder: Encoder,
    now: Time,
}

impl Pages {
    pub(super) fn store(&mut self, container: &mut Container, url: &str, body: &str, again: bool) -> Stored {
        self.answer(container, url, 200, body, again)
    }

    /// Stores an answer; each is a second later than the one before.
    pub(super) fn answer(
        &mut self,
        container: &mut Container,
        url: &str,
        status: u16,
        body: &str,
        again: bool,
    ) -> Stored {
        self.now = self.now + std::time::Duration::from_secs(1);
        let exchange = Exchange {
            ip: None,
            request: None,
            status,
            headers: &[
                (b"content-type"[..].into(), b"text/html; charset=utf-8"[..].into()),
                (b"etag"[..].into(), format!("\"{}\"", body.len()).into_bytes().into()),
            ],
            id_seed: id_seed(container.crawl_id(), url, self.now),
            ..fixture::answer(url, self.now, body.as_bytes())
        };
        let records = self.encoder.encode(&exchange);
        let condition = if again { container.condition(key_of(url), url).unwrap() } else { None };
        let page = NewPage {
            mime: if status == 304 { "" } else { "text/html" },
            may_have_versions: again,
            condition: condition.map(|condition| condition.payload_at),
            ..fixture::page(&exchange, key_of(url), &records)
        };
        container.append(&page).unwrap()
    }
}

pub(super) fn open(
    dir: &Path,
    options: ContainerOptions,
    saved: Option<&ContainerState>,
) -> (Container, Vec<ReplayedPage>) {
    let (mut container, mut recovery) =
        Container::open(Disk::real(), dir, options, WarcInfo::default(), saved).unwrap();
    let mut replayed = Vec::new();
    while let Some(mut page) = recovery.next(&mut container).unwrap() {
        assert!(container.read_through(&mut page, &|url| Some(key_of(url))).unwrap(), "{page:?}");
        container.readopt(&page, key_of(&page.url)).unwrap();
        replayed.push(page);
    }
    (container, replayed)
}

pub(super) fn checkpoint(container: &mut Container) -> ContainerState {
    let cut = container.cut().unwrap();
    let done = cut.job.run().unwrap();
    container.synced(done);
    cut.state
}

pub(super) fn body(reader: &Reader, url: &str) -> Option<String> {
    let record = reader.newest(key_of(url), url).unwrap()?;
    Some(String::from_utf8(reader.response(&record).unwrap().body).unwrap())
}

pub(super) fn pages(compression: Compression) -> Pages {
    Pages { encoder: Encoder::new(compression), now: Time::ZERO }
}

#[test]
fn pages_are_found_by_their_urls_in_every_coding_and_over_many_files() {
    for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
        let dir = tempfile::tempdir().unwrap();
        let (mut container, _) = open(dir.path(), options(4_000, compression), None);
        let mut pages = pages(compression);
        for n in 0..100 {
            pages.store(&mut container, &format!("http://a.example/{n}"), &format!("body {n}"), false);
            if n % 30 == 0 {
                checkpoint(&mut container);
            }
        }
        assert!(container.values.number() > 3);
        // the last pages are not in the address file yet: a live crawl is read all the same
        let reader = Reader::open(Disk::real(), dir.path()).unwrap();
        for n in 0..100 {
            assert_eq!(body(&reader, &format!("http://a.example/{n}")), Some(format!("body {n}")));
        }
        assert_eq!(body(&reader, "http://a.example/100"), None);
        assert_eq!(reader.records().count(), 100);
        container.close().unwrap();
        assert!(values::find(&Disk::real(), dir.path()).unwrap().iter().all(|file| !file.open));
    }
}

#[test]
fn versions_of_a_url_are_chained_newest_first_across_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    let url = "http://a.example/";
    for version in ["one", "two", "three", "four", "five"] {
        pages.store(&mut container, url, version, true);
        if version == "two" || version == "four" {
            checkpoint(&mut container);
        }
    }
    checkpoint(&mut container);
    let reader = Reader::open(Disk::real(), dir.path()).unwrap();
    assert_eq!(reader.slots(), 3, "one for the newest version of every interval between checkpoints");
    let mut record = reader.newest(key_of(url), url).unwrap();
    let mut bodies = Vec::new();
    while let Some(at) = record {
        bodies.push(String::from_utf8(reader.response(&at).unwrap().body).unwrap());
        record = reader.previous(&at).unwrap();
    }
    assert_eq!(bodies, ["five", "four", "three", "two", "one"]);
}

#[test]
fn an_older_version_is_found_when_the_newer_one_was_lost_in_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let url = "http://a.example/";
    let state = {
        let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
        let mut pages = pages(Compression::Gzip);
        pages.store(&mut container, url, "one", false);
        let state = checkpoint(&mut container);
        // its address is durable, but no checkpoint names it, and the power cut takes its value
        pages.store(&mut container, url, "two", true);
        container.cut().unwrap().job.run().unwrap();
        state
    };
    let path = values::find(&Disk::real(), dir.path()).unwrap().remove(0).path;
    Disk::real().open(&path, crate::disk::Mode::Write).unwrap().set_len(state.value_bytes).unwrap();
    let (mut container, replayed) = open(dir.path(), options(1 << 20, Compression::Gzip), Some(&state));
    assert!(replayed.is_empty());
    pages(Compression::Gzip).store(&mut container, "http://b.example/", "other", false);
    checkpoint(&mut container);
    let reader = Reader::open(Disk::real(), dir.path()).unwrap();
    assert_eq!(body(&reader, url).as_deref(), Some("one"));
    assert_eq!(body(&reader, "http://b.example/").as_deref(), Some("other"));
}

#[test]
fn what_was_stored_after_the_last_checkpoint_comes_back_from_the_value_files() {
    let dir = tempfile::tempdir().unwrap();
    let state = {
        let (mut container, _) = open(dir.path(), options(3_000, Compression::Gzip), None);
        let mut pages = pages(Compression::Gzip);
        for n in 0..10 {
            pages.store(&mut container, &format!("http://a.example/{n}"), "before", false);
        }
        let state = checkpoint(&mut container);
        for n in 10..40 {
            pages.store(&mut container, &format!("http://a.example/{n}"), "after", false);
        }
        state
    };
    // the killed process was restarted, took the pages back in, and was killed again before any checkpoint
    for _ in 0..3 {
        let (container, replayed) = open(dir.path(), options(3_000, Compression::Gzip), Some(&state));
        let urls: Vec<_> = replayed.iter().map(|page| page.url.clone()).collect();
        assert_eq!(urls, (10..40).map(|n| format!("http://a.example/{n}")).collect::<Vec<_>>());
        let page = &replayed[0];
        assert_eq!((page.depth, page.hops.as_str(), page.seed, page.status), (2, "LL", 4, 200));
        assert_eq!((page.body.as_slice(), page.mime.as_str()), (&b"after"[..], "text/html"));
        assert_eq!(container.pages(), 40);
    }
    let (mut container, _) = open(dir.path(), options(3_000, Compression::Gzip), Some(&state));
    pages(Compression::Gzip).store(&mut container, "http://a.example/40", "last", false);
    checkpoint(&mut container);
    let reader = Reader::open(Disk::real(), dir.path()).unwrap();
    assert_eq!(reader.records().count(), 41);
    assert_eq!(body(&reader, "http://a.example/39").as_deref(), Some("after"));
    assert_eq!(body(&reader, "http://a.example/40").as_deref(), Some("last"));
}

#[test]
fn an_archive_cut_at_any_byte_keeps_every_whole_exchange() {
    for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
        let source = tempfile::tempdir().unwrap();
        let (mut container, _) = open(source.path(), options(1 << 20, compression), None);
        let mut pages = pages(compression);
        let mut ends = Vec::new();
        for n in 0..3 {
            pages.store(&mut container, &format!("http://a.example/{n}"), "x", false);
            ends.push(container.values.position());
        }
        let path = container.values.open_path().unwrap();
        let whole = Disk::real().read(&path).unwrap();
        for cut in (ends[0] as usize..whole.len()).step_by(3) {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join(path.file_name().unwrap()), &whole[..cut]).unwrap();
            let (mut container, replayed) = open(dir.path(), options(1 << 20, compression), None);
            let expected = ends.iter().filter(|&&end| end <= cut as u64).count();
            assert_eq!(replayed.len(), expected, "{compression:?} cut at {cut}");
            pages.store(&mut container, "http://a.example/new", "y", false);
            checkpoint(&mut container);
            let reader = Reader::open(Disk::real(), dir.path()).unwrap();
            assert_eq!(body(&reader, "http://a.example/new").as_deref(), Some("y"));
            assert_eq!(body(&reader, "http://a.example/0").as_deref(), Some("x"));
        }
    }
}

#[test]
fn a_hundred_thousand_slots_are_found_through_all_splits() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::real();
    let mut keys = KeyFile::open(&disk, dir.path(), None).unwrap();
    AddressFile::open_or_create(&disk, dir.path()).unwrap();
    let mut all = Vec::new();
    for round in 0..10 {
        let mut slots = HashMap::new();
        for n in 0..10_000 {
            let url = format!("http://host-{round}.example/page/{n}");
            let record = KeyRecord {
                offset: 0,
                key: key_of(&url),
                file: 1,
                generation: 0,
                value_offset: n,
                value_bytes: 10,
                time: Time::from_ms(5),
                status: 200,
                kind: None,
                robots: false,
                of_rendering: false,
                is_rendered: false,
                payload_sha1: [7; 20],
                payload_bytes: 3,
                truncated: false,
                has_statements: false,
                is_external: false,
                payload_at: None,
                was_revisit: false,
                is_removed: false,
                moved_to: None,
                previous: None,
                mime: "x-odd/type".into(),
                url,
            };
            let offset = keys.append(&record).unwrap();
            slots.insert(record.key, offset);
            all.push(KeyRecord { offset, ..record });
        }
        // the same slots twice, as after a crash between the job and the commit
        for _ in 0..2 {
            AddressFile::open_for_writing(&disk, dir.path()).unwrap().apply(&slots, keys.len()).unwrap();
        }
    }
    let addresses = AddressFile::open_for_reading(&disk, dir.path()).unwrap();
    assert_eq!(addresses.slots(), 100_000);
    let reads = std::cell::Cell::new(0);
    for record in &all {
        let found = addresses.find(record.key, &record.url, |offset| {
            reads.set(reads.get() + 1);
            keys.read_if_whole(offset)
        });
        assert_eq!(found.unwrap().as_ref(), Some(record));
    }
    let per_get = f64::from(reads.get()) / 100_000.0;
    assert!(per_get < 1.01, "{per_get} key records a get");
    // the file grew for the last interval twice, before it could know that its slots were there
    let per_slot = addresses.bytes() as f64 / 110_000.0;
    assert!(per_slot < 15.0, "{per_slot} bytes of address file a page: with 65 of key.dat at most 80");
    assert_eq!(keys.scan(0).map(Result::unwrap).collect::<Vec<_>>(), all);
}

#[test]
fn a_page_that_was_torn_in_its_place_is_repaired_from_the_double_write_file() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    pages(Compression::Gzip).store(&mut container, "http://a.example/", "x", false);
    let state = checkpoint(&mut container);
    let index = dir.path().join("address.idx");
    let file = Disk::real().open(&index, crate::disk::Mode::Write).unwrap();
    for page in 0..5 {
        file.write_all_at(&[0xee; 512], page * 4_096 + 1_024).unwrap();
    }
    let damage = AddressFile::open_for_reading(&Disk::real(), dir.path()).err();
    assert!(matches!(damage, Some(Error::Damaged { offset: 0, .. })), "{damage:?}");
    // only pages of the last chunk can be torn by a crash, and these are in the double-write file
    let touched = page_of("http://a.example/");
    restore_all_but(&file, touched);
    let (container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), Some(&state));
    let url = "http://a.example/";
    assert!(container.newest(key_of(url), url).unwrap().is_some());
}

fn page_of(url: &str) -> u64 {
    1 + (key_of(url).bits() & 3)
}

/// Puts the untouched pages of a new address file back.
fn restore_all_but(file: &crate::disk::DiskFile, touched: u64) {
    let fresh = tempfile::tempdir().unwrap();
    AddressFile::open_or_create(&Disk::real(), fresh.path()).unwrap();
    let empty = Disk::real().read(fresh.path().join("address.idx")).unwrap();
    for page in (1..5_u64).filter(|&page| page != touched) {
        let at = page as usize * 4_096;
        file.write_all_at(&empty[at..at + 4_096], page * 4_096).unwrap();
    }
}

#[test]
fn every_flipped_bit_of_a_key_record_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(1 << 20, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    pages.store(&mut container, "http://a.example/1", "x", false);
    pages.store(&mut container, "http://a.example/2", "x", false);
    let path = dir.path().join("key.dat");
    let whole = Disk::real().read(&path).unwrap();
    let first_end = whole.len() / 2;
    let judge = |bits: std::iter::StepBy<std::ops::Range<usize>>| {
        let dir = tempfile::tempdir().unwrap();
        for bit in bits {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(dir.path().join("key.dat"), &bytes).unwrap();
            let keys = KeyFile::open_for_reading(&Disk::real(), dir.path()).unwrap();
            let records: Vec<_> = keys.scan(0).collect();
            let is_other = |record: &Result<KeyRecord>| record.as_ref().map_or(true, |r| r.url != "http://a.example/1");
            assert!(records.iter().all(is_other), "bit {bit}: {records:?}");
        }
    };
    // a reader waits for a compaction that may be changing the record
    std::thread::scope(|scope| {
        for first in 0..16 {
            let bits = (16 * 8 + first..first_end * 8).step_by(16);
            scope.spawn(|| judge(bits));
        }
    });
}
