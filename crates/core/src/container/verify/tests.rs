//! Archives that are sound, flipped, cut, garbled: what is found in them, and what a rebuild makes of them.

use std::fs;
use std::sync::LazyLock;

use super::*;
use crate::clock::Time;
use crate::container::rebuild::{rebuild, rebuild_in_intervals};
use crate::container::{Container, ContainerOptions, Reader, WarcInfo, fixture};
use crate::disk::HEADER_BYTES;
use crate::fingerprint::Fingerprinter;
use crate::warc::{Compression, Encoder, Exchange, Record, RecordReader, Rendition};
use crate::web::url::CanonicalUrl;

const ALL: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::None];

fn maker() -> &'static KeyMaker {
    static MAKER: LazyLock<KeyMaker> = LazyLock::new(|| KeyMaker::new(Fingerprinter::new(0xbfe6_b8a5_bf37_8d83), &[]));
    &MAKER
}

fn key_of(url: &str) -> crate::fingerprint::Fingerprint {
    maker().keys(&CanonicalUrl::parse(url).unwrap()).key
}

/// An archive in progress.
struct Archive {
    dir: tempfile::TempDir,
    container: Container,
    encoder: Encoder,
    noted: Option<ContainerState>,
    stored: u64,
}

impl Archive {
    fn new(segment_bytes: u64, compression: Compression) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let container = open(dir.path(), segment_bytes, compression, None);
        Archive { dir, container, encoder: Encoder::new(compression), noted: None, stored: 0 }
    }

    fn store(&mut self, url: &str, body: &str) {
        self.store_with(url, body, None);
    }

    /// Stores a page with what was made of it.
    fn store_with(&mut self, url: &str, body: &str, rendition: Option<Rendition<'_>>) {
        let robots = url.ends_with("/robots.txt");
        self.stored += 1;
        let time = Time::from_ms(1_700_000_000_000 + self.stored * 977);
        let exchange = Exchange {
            headers: &[(b"content-type"[..].into(), b"Text/HTML; charset=utf-8"[..].into())],
            robots,
            of_rendering: false,
            rendition,
            id_seed: u128::from(self.stored),
            ..fixture::answer(url, time, body.as_bytes())
        };
        let records = self.encoder.encode(&exchange);
        self.container.append(&fixture::page(&exchange, key_of(url), &records)).unwrap();
    }

    fn checkpoint(&mut self) {
        let cut = self.container.cut().unwrap();
        let done = cut.job.run().unwrap();
        self.container.synced(done);
        self.noted = Some(cut.state);
    }

    /// Ends as a crawl that stops in good order.
    fn close(&mut self) {
        self.container.close().unwrap();
        self.checkpoint();
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn stopped(&self, clean: bool) -> Standing {
        Standing::Stopped { noted: self.noted.clone(), clean }
    }

    /// The one value file.
    fn value(&self) -> std::path::PathBuf {
        values_in(self.path()).pop().unwrap()
    }
}

fn values_in(dir: &Path) -> Vec<std::path::PathBuf> {
    crate::container::values::find(&Disk::real(), dir).unwrap().into_iter().map(|found| found.path).collect()
}

fn open(dir: &Path, segment_bytes: u64, compression: Compression, noted: Option<&ContainerState>) -> Container {
    let options = ContainerOptions { segment_bytes, compression, digest_memory: 64 << 10, ..Default::default() };
    let (mut container, mut recovery) =
        Container::open(Disk::real(), dir, options, WarcInfo::default(), noted).unwrap();
    while let Some(mut page) = recovery.next(&mut container).unwrap() {
        assert!(container.read_through(&mut page, &|url| Some(key_of(url))).unwrap());
        container.readopt(&page, key_of(&page.url)).unwrap();
    }
    container
}

/// A few pages with versions and robots.txt files, over several checkpoints, closed.
fn sample(segment_bytes: u64, compression: Compression, pages: usize) -> Archive {
    let mut archive = Archive::new(segment_bytes, compression);
    for n in 0..pages {
        if n % 10 == 0 {
            archive.store(&format!("http://host-{}.example/robots.txt", n % 3), "User-agent: *");
        }
        archive.store(&format!("http://a.example/{}", n % 37), &format!("the body of page {n}"));
        if n % 5 == 1 {
            // what many pages have: all but the first become revisits
            archive.store(&format!("http://a.example/same/{n}"), &"the same ".repeat(60));
        }
        if n % 7 == 3 {
            archive.checkpoint();
        }
    }
    archive.close();
    archive
}

fn findings(dir: &Path, standing: &Standing, chunk_records: usize) -> (Vec<Finding>, Summary) {
    let mut found = Vec::new();
    let mut tell = |finding: &Finding| found.push(finding.clone());
    let mut progress = |_, _| {};
    let mut report = Report::new(&mut tell, &mut progress);
    verify_in_chunks(&Disk::real(), dir, standing, Some(maker()), chunk_records, &mut report).unwrap();
    let summary = report.summary;
    (found, summary)
}

fn damage(dir: &Path, standing: &Standing) -> Vec<Finding> {
    findings(dir, standing, CHUNK_RECORDS).0.into_iter().filter(|finding| finding.damage).collect()
}

/// Makes the index again in memory-starved intervals.
fn made_again(dir: &Path, noted: Option<&ContainerState>, interval_slots: usize) -> (Option<ContainerState>, Summary) {
    let (mut tell, mut progress) = (|_: &Finding| {}, |_, _| {});
    let mut report = Report::new(&mut tell, &mut progress);
    let rebuilt = rebuild_in_intervals(&Disk::real(), dir, noted, maker(), interval_slots, &mut report).unwrap();
    let noted = rebuilt.noted.clone();
    rebuilt.finish().unwrap();
    (noted, report.summary)
}

/// All versions of all URLs, newest first, with their bodies.
fn versions(dir: &Path) -> Vec<(String, Vec<String>)> {
    let reader = Reader::open(Disk::real(), dir).unwrap();
    let urls: std::collections::BTreeSet<String> = reader.records().map(|record| record.unwrap().url).collect();
    let body = |record: &crate::container::KeyRecord| String::from_utf8(reader.response(record).unwrap().body).unwrap();
    urls.into_iter()
        .map(|url| {
            let mut at = reader.newest(key_of(&url), &url).unwrap();
            let mut bodies = Vec::new();
            while let Some(record) = at {
                bodies.push(body(&record));
                at = reader.previous(&record).unwrap();
            }
            (url, bodies)
        })
        .collect()
}

#[test]
fn a_sound_archive_has_no_findings_in_any_coding_and_however_it_is_looked_at() {
    for compression in ALL {
        let archive = sample(9_000, compression, 100);
        assert!(values_in(archive.path()).len() > 2);
        for standing in [archive.stopped(true), archive.stopped(false), Standing::Running, Standing::Unknown] {
            for chunk_records in [3, 50, CHUNK_RECORDS] {
                let (found, summary) = findings(archive.path(), &standing, chunk_records);
                assert_eq!(found, [], "{compression:?} {standing:?} {chunk_records}");
                assert_eq!(summary.pages, archive.stored);
                assert_eq!(summary.records, archive.stored * 3 + values_in(archive.path()).len() as u64);
            }
        }
    }
}

#[test]
fn a_directory_in_which_nothing_was_stored_has_no_findings() {
    let archive = Archive::new(1 << 20, Compression::Gzip);
    assert_eq!(damage(archive.path(), &Standing::Stopped { noted: None, clean: false }), []);
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(damage(empty.path(), &Standing::Stopped { noted: None, clean: false }), []);
}

/// Flips a bit of every `step`th byte of `path` and returns the places where that was not found.
fn unnoticed(archive: &Archive, path: &Path, step: usize) -> Vec<(usize, Vec<u8>)> {
    let whole = fs::read(path).unwrap();
    let standing = archive.stopped(true);
    let mut unnoticed = Vec::new();
    for at in (0..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at * 5 % 8);
        fs::write(path, &bytes).unwrap();
        let found = damage(archive.path(), &standing);
        if found.is_empty() {
            unnoticed.push((at, bytes));
        } else {
            assert!(found.iter().any(|finding| finding.file == path || finding.file.ends_with("key.dat")), "{found:?}");
        }
    }
    fs::write(path, whole).unwrap();
    unnoticed
}

fn records(path: &Path) -> Vec<Record> {
    let file = Disk::real().open(path, crate::disk::Mode::Read).unwrap();
    let mut reader = RecordReader::new(&file, 0, 1 << 20);
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

#[test]
fn every_flipped_byte_of_a_compressed_value_file_is_found_unless_it_changes_no_record() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let archive = sample(1 << 20, compression, 1);
        let path = archive.value();
        let whole = records(&path);
        let step = if compression == Compression::Zstd { 3 } else { 1 };
        let unnoticed = unnoticed(&archive, &path, step);
        // bits that fill up the last byte of a deflate stream, or of a table in a zstd block, mean nothing
        for (at, bytes) in &unnoticed {
            fs::write(&path, bytes).unwrap();
            assert_eq!(records(&path), whole, "{compression:?} byte {at}");
        }
        assert!(unnoticed.len() <= 4 * whole.len(), "{compression:?}: {} of them", unnoticed.len());
    }
}

#[test]
fn a_flipped_byte_of_an_uncompressed_value_file_is_found_but_in_fields_that_nothing_repeats() {
    let archive = sample(1 << 20, Compression::None, 1);
    let path = archive.value();
    let whole = fs::read(&path).unwrap();
    let starts: Vec<_> =
        records(&path).iter().map(|record| (record.offset as usize, record.kind().to_owned())).collect();
    for (at, bytes) in unnoticed(&archive, &path, 2) {
        let (start, kind) = starts.iter().rev().find(|(start, _)| *start <= at).unwrap();
        let head = start + memchr::memmem::find(&whole[*start..], b"\r\n\r\n").unwrap();
        assert!(at < head, "byte {at} of a block");
        let from = memchr::memrchr(b'\n', &whole[..at]).map_or(0, |newline| newline + 1);
        let line = String::from_utf8_lossy(&whole[from..]).lines().next().unwrap().to_owned();
        let name = line.split(':').next().unwrap();
        let alone = ["WARC-Record-ID", "WARC-IP-Address", "WARC-Protocol", "WARC-Filename"].contains(&name);
        let of_warcinfo = kind == "warcinfo" && name == "WARC-Date";
        let case = at < from + name.len() && bytes[at].eq_ignore_ascii_case(&whole[at]);
        assert!(alone || of_warcinfo || case, "byte {at} of {kind}: {line}");
    }
}

#[test]
fn every_flipped_byte_of_key_dat_and_of_the_address_pages_is_found() {
    let archive = sample(1 << 20, Compression::Gzip, 2);
    assert!(unnoticed(&archive, &archive.path().join("key.dat"), 1).is_empty());
    let index = archive.path().join("address.idx");
    assert!(unnoticed(&archive, &index, 29).is_empty());
    let whole = fs::read(&index).unwrap();
    for at in 0..80 {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&index, &bytes).unwrap();
        let found = damage(archive.path(), &archive.stopped(true));
        assert!(found.iter().any(|finding| finding.file == index), "byte {at}: {found:?}");
    }
}

#[test]
fn what_follows_a_damaged_record_is_checked_all_the_same() {
    for compression in ALL {
        let archive = sample(1 << 20, compression, 20);
        let path = archive.value();
        let all = records(&path);
        let response = all.iter().filter(|record| record.kind() == "response").nth(5).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[response.offset as usize] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let (found, summary) = findings(archive.path(), &archive.stopped(true), CHUNK_RECORDS);
        assert_eq!((found.len(), summary.pages), (2, archive.stored - 1), "{compression:?} {found:?}");
        assert_eq!((found[0].offset, &found[0].file), (response.offset, &path));
        assert!(found[0].what.ends_with(&format!("{} bytes are skipped", response.length)), "{found:?}");
        assert!(found[1].file.ends_with("key.dat") && found[1].what.contains("no whole response"), "{found:?}");
    }
}

#[test]
fn a_tail_that_no_checkpoint_vouches_for_is_unfinished_and_one_that_it_does_is_damage() {
    for compression in ALL {
        let mut archive = Archive::new(1 << 20, compression);
        archive.store("http://a.example/1", "one");
        archive.checkpoint();
        let early = archive.stopped(false);
        archive.store("http://a.example/2", "two");
        archive.checkpoint();
        let late = archive.stopped(false);
        let path = archive.value();
        let whole = fs::read(&path).unwrap();
        let from = early.noted().unwrap().value_bytes as usize;
        for cut in from..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(!damage(archive.path(), &late).is_empty(), "{compression:?} cut at {cut}");
            let (found, summary) = findings(archive.path(), &early, CHUNK_RECORDS);
            assert_eq!((summary.findings, summary.unfinished), (0, u64::from(cut > from)), "{cut} {found:?}");
            assert!(found.iter().all(|finding| finding.offset == from as u64), "{found:?}");
        }
        fs::write(&path, &whole).unwrap();
        // a running crawl has written the exchange half, and not its key record
        let keys = fs::read(archive.path().join("key.dat")).unwrap();
        fs::write(archive.path().join("key.dat"), &keys[..early.noted().unwrap().key_bytes as usize + 20]).unwrap();
        fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        assert_eq!(findings(archive.path(), &Standing::Running, CHUNK_RECORDS).0, []);
    }
}

#[test]
fn files_that_are_missing_or_of_another_archive_are_found() {
    let archive = sample(4_000, Compression::Gzip, 30);
    let standing = archive.stopped(true);
    let second = values_in(archive.path()).remove(1);
    let aside = archive.path().join("aside");
    for path in
        [second, archive.path().join("key.dat"), archive.path().join("address.idx"), archive.path().join("address.ovf")]
    {
        fs::rename(&path, &aside).unwrap();
        let found = damage(archive.path(), &standing);
        assert!(!found.is_empty(), "{} is missing", path.display());
        fs::rename(&aside, &path).unwrap();
    }
    // pages that cover everything and lead to nothing
    for name in ["address.idx", "address.ovf", "address.dw"] {
        fs::remove_file(archive.path().join(name)).unwrap();
    }
    let disk = Disk::real();
    let addresses = crate::container::address::AddressFile::open_or_create(&disk, archive.path()).unwrap();
    addresses.apply(&Default::default(), standing.noted().unwrap().key_bytes).unwrap();
    let found = damage(archive.path(), &standing);
    assert!(found.iter().all(|finding| finding.what.contains("no slot of address.idx points to")), "{found:?}");
    assert!(!found.is_empty());
}

#[test]
fn a_rebuilt_index_gives_the_same_answers_whatever_was_left_of_the_old_one() {
    for compression in ALL {
        for interval_slots in [2, 1 << 20] {
            let archive = sample(9_000, compression, 80);
            let expected = versions(archive.path());
            let reader = Reader::open(Disk::real(), archive.path()).unwrap();
            assert!(reader.records().any(|record| record.unwrap().payload_at.is_some()), "no revisit in the sample");
            let keys = fs::read(archive.path().join("key.dat")).unwrap();
            for garbage in [None, Some(b"garbage".to_vec()), Some(keys[..keys.len() / 2].to_vec())] {
                for name in ["key.dat", "address.idx", "address.ovf", "address.dw"] {
                    match &garbage {
                        None => fs::remove_file(archive.path().join(name)).unwrap_or_default(),
                        Some(garbage) => fs::write(archive.path().join(name), garbage).unwrap(),
                    }
                }
                let (noted, summary) = made_again(archive.path(), archive.noted.as_ref(), interval_slots);
                assert_eq!((noted, summary.findings), (archive.noted.clone(), 0));
                assert_eq!(fs::read(archive.path().join("key.dat")).unwrap(), keys);
                assert_eq!(versions(archive.path()), expected);
                assert_eq!(damage(archive.path(), &archive.stopped(true)), []);
            }
        }
    }
}

#[test]
fn a_rebuild_after_a_kill_leaves_what_the_replay_expects() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    for n in 0..10 {
        archive.store(&format!("http://a.example/{n}"), "before");
    }
    archive.checkpoint();
    for n in 5..15 {
        archive.store(&format!("http://a.example/{n}"), "after");
    }
    let expected = versions(archive.path());
    let path = archive.value();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0x1f, 0x8b, 8]);
    fs::write(&path, bytes).unwrap();
    fs::remove_file(archive.path().join("key.dat")).unwrap();
    let (noted, _) = made_again(archive.path(), archive.noted.as_ref(), 1 << 20);
    assert_eq!(noted, archive.noted);
    assert_eq!(versions(archive.path()), expected);
    assert_eq!(damage(archive.path(), &archive.stopped(false)), []);
    archive.container = open(archive.path(), 1 << 20, Compression::Gzip, noted.as_ref());
    archive.store("http://a.example/0", "last");
    archive.close();
    assert_eq!(damage(archive.path(), &archive.stopped(true)), []);
    let newest = versions(archive.path()).swap_remove(0);
    assert_eq!(newest, ("http://a.example/0".to_owned(), vec!["last".to_owned(), "before".to_owned()]));
}

#[test]
fn a_rebuild_leaves_damaged_pages_out_and_the_crawl_goes_on_behind_them() {
    let mut archive = sample(1 << 20, Compression::Gzip, 20);
    let path = archive.value();
    let response = records(&path).into_iter().filter(|record| record.kind() == "response").nth(4).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[response.offset as usize + 30] ^= 0xff;
    fs::write(&path, &bytes).unwrap();
    let (noted, summary) = made_again(archive.path(), archive.noted.as_ref(), 1 << 20);
    assert_eq!(summary.findings, 1);
    let old = archive.noted.clone().unwrap();
    assert_eq!(noted.as_ref().unwrap().pages, old.pages - 1);
    assert!(noted.as_ref().unwrap().key_bytes < old.key_bytes);
    archive.noted = noted;
    let found = damage(archive.path(), &archive.stopped(true));
    assert_eq!(found.len(), 1, "{found:?}");
    archive.container = open(archive.path(), 1 << 20, Compression::Gzip, archive.noted.as_ref());
    // what a queued URL has noted before the records moved names nobody, and not the page that is there now
    let mut referrer = archive.container.referrer(HEADER_BYTES, 1);
    referrer.resolve().unwrap();
    assert_eq!(referrer.url(), None);
    archive.store(&format!("http://new.example/{}", "x".repeat(200)), "as long as what is lost");
    archive.store("http://new.example/", "new");
    let newest = archive.container.newest(key_of("http://new.example/"), "http://new.example/").unwrap().unwrap();
    let mut referrer = archive.container.referrer(newest.offset, 1);
    referrer.resolve().unwrap();
    assert_eq!(referrer.url(), Some("http://new.example/"));
    archive.close();
    assert_eq!(archive.noted.as_ref().unwrap().moved_bytes, old.key_bytes);
    assert_eq!(damage(archive.path(), &archive.stopped(true)).len(), 1);
    assert!(versions(archive.path()).iter().any(|(url, _)| url == "http://new.example/"));
}

#[test]
fn a_rebuild_that_was_interrupted_keeps_every_crawl_out_until_it_is_done_again() {
    let archive = sample(1 << 20, Compression::Gzip, 5);
    let (mut tell, mut progress) = (|_: &Finding| {}, |_, _| {});
    let mut report = Report::new(&mut tell, &mut progress);
    // killed before the checkpoint was renewed
    drop(rebuild(&Disk::real(), archive.path(), archive.noted.as_ref(), maker(), &mut report).unwrap());
    let options = ContainerOptions { segment_bytes: 1 << 20, ..Default::default() };
    let refused = Container::open(Disk::real(), archive.path(), options, WarcInfo::default(), archive.noted.as_ref());
    assert_eq!(damage(archive.path(), &archive.stopped(true)).len(), 1);
    let refusal = refused.err().unwrap().to_string();
    assert!(refusal.contains("crawler verify --rebuild"), "{refusal}");
    let (noted, _) = made_again(archive.path(), archive.noted.as_ref(), 1 << 20);
    open(archive.path(), 1 << 20, Compression::Gzip, noted.as_ref());
}

#[test]
fn a_large_body_is_checked_and_never_held() {
    // the block is never held: only its HTTP head and a step of 32 KiB are
    let mut archive = Archive::new(1 << 30, Compression::Gzip);
    archive.store("http://a.example/large", &"x".repeat(8 << 20));
    archive.close();
    let standing = archive.stopped(true);
    let mut report_tell = |_: &Finding| {};
    let mut progress = |_, _| {};
    let mut report = Report::new(&mut report_tell, &mut progress);
    let mut walk = walk::Walk::begin(&Disk::real(), archive.path(), &standing, None, &mut report).unwrap();
    let exchange = walk.next(&mut report).unwrap().unwrap();
    assert_eq!(exchange.answer.payload_bytes, 8 << 20);
    assert!(exchange.answer.kept.len() < 1_000);
}

#[test]
fn a_page_that_was_made_of_an_answer_may_be_large() {
    for compression in ALL {
        let mut archive = Archive::new(1 << 30, compression);
        let page = "<p>text".repeat(1 << 20);
        let picture = vec![7; 3 << 20];
        let rendition = Rendition {
            note: "rendered",
            dom: Some(&page),
            outlinks: &[],
            pictures: &[("urn:view:", "image/png", &picture)],
        };
        archive.store_with("http://a.example/", "short", Some(rendition));
        archive.close();
        assert_eq!(damage(archive.path(), &archive.stopped(true)), []);
    }
}

#[test]
fn keys_and_pages_that_are_older_than_what_the_checkpoint_notes_are_damage() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    archive.store("http://a.example/1", "one");
    archive.checkpoint();
    let names = ["key.dat", "address.idx", "address.ovf", "address.dw"];
    let read = |name: &str| fs::read(archive.path().join(name)).unwrap_or_default();
    let old = names.map(read);
    archive.store("http://a.example/2", "two");
    archive.checkpoint();
    let read = |name: &str| fs::read(archive.path().join(name)).unwrap_or_default();
    let (new, standing) = (names.map(read), archive.stopped(true));
    let found = |what: &str| damage(archive.path(), &standing).iter().any(|finding| finding.what.contains(what));
    let notes = "the last checkpoint notes";
    assert!(!found(notes));
    fs::write(archive.path().join(names[0]), &old[0]).unwrap();
    assert!(found(&format!("ends here; {notes}")));
    let in_values = |finding: &Finding| finding.file == archive.value();
    assert!(damage(archive.path(), &standing).iter().any(in_values), "the response without a key record");
    fs::write(archive.path().join(names[0]), &new[0]).unwrap();
    for (name, bytes) in names.iter().zip(&old).skip(1) {
        fs::write(archive.path().join(name), bytes).unwrap();
    }
    assert!(found(&format!("covers {} bytes of key.dat; {notes}", old[0].len())));
}

#[test]
fn an_exchange_is_read_with_its_metadata_and_its_request() {
    for compression in ALL {
        let archive = sample(1 << 20, compression, 3);
        let reader = Reader::open(Disk::real(), archive.path()).unwrap();
        for key in reader.records().map(Result::unwrap) {
            let exchange = reader.exchange(&key).unwrap();
            let kinds: Vec<&str> = exchange.iter().map(|stored| stored.record.kind()).collect();
            let [metadata, request, answer] = kinds[..] else { panic!("{kinds:?}") };
            assert_eq!((metadata, request), ("metadata", "request"));
            assert!(["response", "revisit"].contains(&answer), "{answer}");
        }
    }
}

#[test]
fn a_response_without_its_metadata_record_is_damage() {
    let archive = sample(1 << 20, Compression::Gzip, 3);
    let metadata = records(&archive.value()).into_iter().find(|record| record.kind() == "metadata").unwrap();
    let mut bytes = fs::read(archive.value()).unwrap();
    bytes.drain(metadata.offset as usize..(metadata.offset + metadata.length) as usize);
    fs::write(archive.value(), bytes).unwrap();
    let found = damage(archive.path(), &archive.stopped(true));
    assert!(found.iter().any(|finding| finding.what == "a response without its metadata record"), "{found:?}");
}
