//! Archives before and after compactions: what goes, what stays, and what a kill or a power cut leaves at every step.

mod beside;
mod killed;
mod model;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use super::list::{Act, ForgottenList};
use super::offline::{Compacted, compact, estimate};
use super::plan::Rule;
use super::*;
use crate::container::verify::{Finding, Report, Standing, verify};
use crate::container::{ContainerOptions, NewPage, Reader, Stored, WarcInfo, fixture, rebuild};
use crate::disk::{Error, Mode};
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::warc::{Compression, Encoder, Exchange, RecordReader, id_seed};
use crate::web::url::{CanonicalUrl, KeyMaker};

const CODINGS: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::None];
const PAGE: &str = "http://a.example/page";
const OTHER: &str = "http://b.example/other";
const THIRD: &str = "http://c.example/third";

fn maker() -> &'static KeyMaker {
    static MAKER: LazyLock<KeyMaker> = LazyLock::new(|| KeyMaker::new(Fingerprinter::new(0xbfe6_b8a5_bf37_8d83), &[]));
    &MAKER
}

fn key_of(url: &str) -> Fingerprint {
    maker().keys(&CanonicalUrl::parse(url).unwrap()).key
}

/// A body that is worth a revisit.
fn long(text: &str) -> String {
    text.repeat(1_200 / text.len() + 1)
}

/// An archive in progress.
struct Archive {
    disk: Disk,
    dir: PathBuf,
    _dir: Option<tempfile::TempDir>,
    options: ContainerOptions,
    container: Container,
    encoder: Encoder,
    noted: Option<ContainerState>,
    now: Time,
}

impl Archive {
    fn new(segment_bytes: u64, compression: Compression) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::on(Disk::real(), dir.path(), segment_bytes, compression);
        archive._dir = Some(dir);
        archive
    }

    fn on(disk: Disk, dir: &Path, segment_bytes: u64, compression: Compression) -> Self {
        let rest = (Duration::ZERO, Duration::ZERO);
        let retention = RetentionOptions { share: 0.01, rest, bytes_per_second: None, ..Default::default() };
        let digest_memory = 64 << 10;
        let options = ContainerOptions { segment_bytes, compression, retention, digest_memory, ..Default::default() };
        let container = open(&disk, dir, &options, None).unwrap();
        let (encoder, now) = (Encoder::new(compression), Time::from_ms(1_700_000_000_000));
        Archive { disk, dir: dir.to_owned(), _dir: None, options, container, encoder, noted: None, now }
    }

    /// Stores an answer; a 304 is one to a condition. Each comes an hour after the one before.
    fn store(&mut self, url: &str, status: u16, body: &str) -> Stored {
        self.try_store(url, status, body).unwrap()
    }

    fn try_store(&mut self, url: &str, status: u16, body: &str) -> Result<Stored> {
        self.now = self.now + Duration::from_secs(3_600);
        let exchange = Exchange {
            status,
            headers: &[
                (b"content-type"[..].into(), b"text/html; charset=utf-8"[..].into()),
                (b"etag"[..].into(), b"\"tag\""[..].into()),
            ],
            id_seed: id_seed(self.container.crawl_id(), url, self.now),
            ..fixture::answer(url, self.now, body.as_bytes())
        };
        let records = self.encoder.encode(&exchange);
        let condition = if status == 304 { self.container.condition(key_of(url), url)? } else { None };
        self.container.append(&NewPage {
            mime: if condition.is_some() { "" } else { "text/html" },
            condition: condition.map(|condition| condition.payload_at),
            ..fixture::page(&exchange, key_of(url), &records)
        })
    }

    fn checkpoint(&mut self) -> Result<()> {
        let cut = self.container.cut()?;
        let done = cut.job.run()?;
        self.container.synced(done);
        self.noted = Some(cut.state);
        Ok(())
    }

    /// Ends as a crawl that stops in good order.
    fn close(&mut self) {
        self.container.close().unwrap();
        self.checkpoint().unwrap();
    }

    fn noted(&self) -> &ContainerState {
        self.noted.as_ref().unwrap()
    }

    fn rule(&self, keep: Keep) -> Rule {
        let list = ForgottenList::read(&self.disk, &self.dir).unwrap().into();
        Rule { keep, now: self.now, list, strict: true }
    }

    fn compact(&self, keep: Keep) -> Compacted {
        compact(&self.disk, &self.dir, self.noted(), &self.rule(keep), &mut |_, _| {}).unwrap()
    }

    fn forget(&self, acts: &[Act]) {
        ForgottenList::read(&self.disk, &self.dir).unwrap().add(&self.disk, &self.dir, acts).unwrap();
    }

    fn forget_url(&self, url: &str) {
        self.forget(&[Act::url(url, self.now, "a reason")]);
    }

    /// Opens it again as the next start does.
    fn reopen(&mut self) {
        self.container = open(&self.disk, &self.dir, &self.options, self.noted.as_ref()).unwrap();
    }

    fn findings(&self, clean: bool) -> Vec<Finding> {
        findings(&self.disk, &self.dir, self.noted.clone(), clean)
    }

    fn assert_sound(&self, context: &str) {
        let found = self.findings(true);
        assert!(found.is_empty(), "{context}: {found:#?}");
    }

    fn reader(&self) -> Reader {
        Reader::open(self.disk.clone(), &self.dir).unwrap()
    }

    fn bodies(&self, url: &str) -> Vec<(u16, String)> {
        bodies(&self.reader(), url)
    }

    /// All blocks of all value files.
    fn blocks(&self) -> Vec<u8> {
        let mut blocks = Vec::new();
        for found in values::find(&self.disk, &self.dir).unwrap() {
            let file = self.disk.open(&found.path, Mode::Read).unwrap();
            let mut reader = RecordReader::new(&file, 0, 1 << 24);
            while let Some(record) = reader.next().unwrap() {
                blocks.extend(record.block);
            }
        }
        blocks
    }

    fn bytes(&self) -> u64 {
        let files = values::find(&self.disk, &self.dir).unwrap();
        files.iter().map(|found| self.disk.open(&found.path, Mode::Read).unwrap().len().unwrap()).sum()
    }

    fn key_dat(&self) -> Vec<u8> {
        self.disk.read(self.dir.join("key.dat")).unwrap()
    }

    /// One compaction as the engine does it, step by step; says whether something was done.
    fn compact_beside(&mut self, mut between: impl FnMut(&mut Archive, usize) -> Result<()>) -> Result<bool> {
        let mut job = self.container.compaction(self.now);
        let mut step = 0;
        while let Some(work) = job {
            let done = work.run()?;
            between(self, step)?;
            job = self.container.compacted(done, self.now)?;
            step += 1;
        }
        Ok(step > 1)
    }
}

fn open(disk: &Disk, dir: &Path, options: &ContainerOptions, saved: Option<&ContainerState>) -> Result<Container> {
    let (mut container, mut recovery) =
        Container::open(disk.clone(), dir, options.clone(), WarcInfo::default(), saved)?;
    while let Some(mut page) = recovery.next(&mut container)? {
        if container.read_through(&mut page, &|url| Some(key_of(url)))? {
            container.readopt(&page, key_of(&page.url))?;
        }
    }
    Ok(container)
}

fn findings(disk: &Disk, dir: &Path, noted: Option<ContainerState>, clean: bool) -> Vec<Finding> {
    let (mut found, mut progress) = (Vec::new(), |_, _| {});
    let mut tell = |finding: &Finding| found.push(finding.clone());
    let standing = Standing::Stopped { noted, clean };
    verify(disk, dir, &standing, Some(maker()), &mut Report::new(&mut tell, &mut progress)).unwrap();
    found
}

/// The versions of `url` from the newest back: status and body.
fn bodies(reader: &Reader, url: &str) -> Vec<(u16, String)> {
    let mut at = reader.newest(key_of(url), url).unwrap();
    let mut bodies = Vec::new();
    while let Some(record) = at {
        let body = String::from_utf8(reader.response(&record).unwrap().body).unwrap();
        bodies.push((record.status, body));
        at = reader.previous(&record).unwrap();
    }
    bodies
}

fn texts(range: impl Iterator<Item = u32>) -> Vec<(u16, String)> {
    range.map(|version| (200, long(&format!("version {version} ")))).collect()
}

#[test]
fn versions_beyond_the_rule_go_and_everything_else_lies_as_it_lay() {
    for compression in CODINGS {
        let mut archive = Archive::new(9_000, compression);
        let urls = [PAGE, OTHER, THIRD];
        for version in 0..6 {
            for url in urls {
                archive.store(url, 200, &long(&format!("version {version} {url}")));
            }
        }
        archive.close();
        let (keys, bytes) = (archive.key_dat(), archive.bytes());
        let expected: Vec<_> = urls.iter().map(|url| archive.bodies(url)).collect();
        let would = estimate(&archive.disk, &archive.dir, archive.noted(), archive.rule(Keep::Versions(2))).unwrap();
        let done = archive.compact(Keep::Versions(2));
        assert_eq!((done.pages, done.forgotten, would.pages), (12, 0, 12), "{compression:?}");
        assert_eq!(archive.bytes(), bytes - done.bytes, "{compression:?}");
        assert!(done.bytes > bytes / 4 && would.bytes >= done.bytes, "{compression:?}: {done:?} {would:?}");
        for (url, expected) in urls.iter().zip(&expected) {
            assert_eq!(archive.bodies(url), expected[..2], "{compression:?}");
        }
        assert_eq!(archive.key_dat().len(), keys.len(), "records keep their places");
        assert_eq!(archive.reader().records().count(), 6);
        archive.assert_sound("compacted");
        assert_eq!(archive.compact(Keep::Versions(2)), Compacted::default(), "it is done");
        // the crawl goes on
        archive.reopen();
        assert_eq!(archive.container.value_bytes(), archive.bytes());
        archive.store(PAGE, 200, &long("one more"));
        archive.close();
        assert_eq!(archive.bodies(PAGE).len(), 3);
        archive.assert_sound("gone on with");
        assert_eq!(archive.compact(Keep::Versions(1)).pages, 4);
        archive.assert_sound("compacted once more");
        assert!(archive.disk.list(&archive.dir).unwrap().iter().any(|name| name.contains(".g1.")));
    }
}

#[test]
fn a_payload_goes_to_the_oldest_revisit_that_stays_and_the_others_refer_to_that() {
    for (compression, segment_bytes) in CODINGS.into_iter().flat_map(|coding| [(coding, 1 << 20), (coding, 500)]) {
        let context = format!("{compression:?}, files of {segment_bytes} bytes");
        let mut archive = Archive::new(segment_bytes, compression);
        let shared = long("shared by three ");
        archive.store(PAGE, 200, &shared);
        let other = archive.store(OTHER, 200, &shared);
        archive.store(THIRD, 200, &shared);
        archive.store(PAGE, 200, &long("something new "));
        archive.close();
        let done = archive.compact(Keep::Versions(1));
        assert_eq!(done.pages, 1, "{context}");
        archive.assert_sound(&context);
        for url in [OTHER, THIRD] {
            assert_eq!(archive.bodies(url), [(200, shared.clone())], "{context}");
        }
        let reader = archive.reader();
        let newest = |url| reader.newest(key_of(url), url).unwrap().unwrap();
        let (heir, referring) = (newest(OTHER), newest(THIRD));
        assert!(heir.is_response() && heir.was_revisit && heir.offset == other.record, "{context}");
        assert_eq!(referring.payload_at, Some(heir.offset), "{context}");
        let field = |record, name: &str| {
            let fields = reader.response(record).unwrap().fields;
            fields.into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
        };
        for (refers, is) in [
            ("WARC-Refers-To", "WARC-Record-ID"),
            ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
            ("WARC-Refers-To-Date", "WARC-Date"),
        ] {
            assert_eq!(field(&referring, refers), field(&heir, is), "{context}");
        }
        assert_eq!((field(&heir, "WARC-Profile"), field(&heir, "WARC-Truncated")), (None, None), "{context}");
        // a page that comes with the payload again refers to the heir
        archive.reopen();
        let again = archive.store("http://d.example/", 200, &shared);
        assert!(again.saved.is_some(), "{context}");
        archive.close();
        archive.assert_sound(&context);
    }
}

#[test]
fn a_page_that_never_changed_keeps_its_payload_with_the_oldest_version_that_stays() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    let text = long("always the same ");
    archive.store(PAGE, 200, &text);
    for _ in 0..5 {
        assert!(archive.store(PAGE, 304, "").not_modified);
    }
    archive.close();
    assert_eq!(archive.compact(Keep::Versions(2)).pages, 4);
    archive.assert_sound("304s");
    // what a 304 confirms has status and headers of the answer that brought it
    assert_eq!(archive.bodies(PAGE), [(304, text.clone()), (200, text.clone())]);
    archive.reopen();
    assert!(archive.store(PAGE, 304, "").not_modified, "it can be asked for by condition");
    archive.close();
    assert_eq!(archive.bodies(PAGE)[0], (304, text));
    archive.assert_sound("one more 304");
}

#[test]
fn an_answer_that_is_no_content_costs_no_version_that_is() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    archive.store(PAGE, 200, &long("good "));
    for _ in 0..3 {
        archive.store(PAGE, 503, "down");
    }
    archive.close();
    assert_eq!(archive.compact(Keep::Versions(1)).pages, 2);
    assert_eq!(archive.bodies(PAGE), [(503, "down".to_owned()), (200, long("good "))]);
    archive.assert_sound("errors");
}

#[test]
fn by_age_every_version_stays_that_was_the_newest_one_within_it() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    for version in 0..6 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
    }
    archive.close();
    // versions 2 and 3 are two and three hours old now: 2 was the newest one two and a half hours ago
    let age = Keep::Age(Duration::from_secs(9_000));
    assert_eq!(archive.compact(age).pages, 2);
    assert_eq!(archive.bodies(PAGE), texts((2..6).rev()));
    archive.now = archive.now + Duration::from_secs(1_000 * 3_600);
    assert_eq!(archive.compact(age).pages, 3);
    assert_eq!(archive.bodies(PAGE), texts(5..6), "the newest one always stays");
    archive.assert_sound("age");
}

#[test]
fn what_is_forgotten_is_not_shown_at_once_and_not_on_the_disk_after_a_compaction() {
    for segment_bytes in [1 << 20, 500] {
        let mut archive = Archive::new(segment_bytes, Compression::Gzip);
        let (secret, shared) = (long("secret words "), long("shared words "));
        archive.store(PAGE, 200, &secret);
        archive.store(PAGE, 200, &shared);
        archive.store(OTHER, 200, &shared);
        archive.store("http://c.example/private/x", 200, &long("private words "));
        archive.store(THIRD, 200, &long("public words "));
        archive.close();
        let acts = [Act::url(PAGE, archive.now, "case 12"), Act::prefix("http://c.example/private/", archive.now, "")];
        archive.forget(&acts);
        assert!(archive.bodies(PAGE).is_empty() && archive.reader().newest_of_key(key_of(PAGE)).unwrap().is_none());
        assert_eq!(archive.reader().records().count(), 2);
        archive.assert_sound("forgotten");
        assert_eq!(archive.compact(Keep::All).forgotten, 3);
        archive.assert_sound("removed");
        let blocks = archive.blocks();
        let has = |text: &str| memchr::memmem::find(&blocks, text.as_bytes()).is_some();
        assert!(!has("secret words") && !has("private words") && has("shared words") && has("public words"));
        assert!(has("forgotten on") && has("case 12"), "the tombstone tells why");
        assert_eq!(archive.bodies(OTHER), [(200, shared)], "what others have too stays with them");
        // taken back, it stays removed, and may be stored again
        archive.forget(&acts.map(Act::undo));
        assert!(archive.bodies(PAGE).is_empty());
        archive.reopen();
        archive.store(PAGE, 200, &long("new words "));
        archive.close();
        assert_eq!(archive.bodies(PAGE), [(200, long("new words "))]);
        archive.assert_sound("stored again");
    }
}

#[test]
fn the_index_is_rebuilt_with_every_record_where_it_was() {
    for segment_bytes in [1 << 20, 2_500] {
        let mut archive = Archive::new(segment_bytes, Compression::Gzip);
        for version in 0..5 {
            for url in [PAGE, OTHER] {
                archive.store(url, 200, &long(&format!("version {version} ")));
                archive.store(url, 304, "");
            }
        }
        archive.store(THIRD, 200, &long("forgotten "));
        archive.close();
        archive.forget_url(THIRD);
        archive.compact(Keep::Versions(2));
        let keys = archive.key_dat();
        let (mut tell, mut progress) = (|finding: &Finding| panic!("{finding:?}"), |_, _| {});
        let mut report = Report::new(&mut tell, &mut progress);
        let noted = archive.noted.clone();
        let rebuilt = rebuild(&archive.disk, &archive.dir, noted.as_ref(), maker(), &mut report).unwrap();
        assert_eq!(rebuilt.noted, noted);
        rebuilt.finish().unwrap();
        assert!(archive.key_dat() == keys, "files of {segment_bytes} bytes");
        archive.assert_sound("rebuilt");
    }
}

#[test]
fn a_reader_that_was_opened_before_finds_what_stayed() {
    let mut archive = Archive::new(4_000, Compression::Gzip);
    for version in 0..4 {
        for url in [PAGE, OTHER, THIRD] {
            archive.store(url, 200, &long(&format!("version {version} of {url} ")));
        }
    }
    archive.close();
    let reader = archive.reader();
    let records: Vec<KeyRecord> = reader.records().collect::<Result<_>>().unwrap();
    let read = |record: &KeyRecord| reader.response(record).map(|response| response.body);
    // of some files, the reader has the old generation open
    let before: Vec<Vec<u8>> = records[9..].iter().map(|record| read(record).unwrap()).collect();
    archive.compact(Keep::Versions(1));
    let fresh = archive.reader();
    for (record, before) in records[9..].iter().zip(before) {
        assert_eq!(read(record).unwrap(), before);
        assert_eq!(fresh.response(record).unwrap().body, before, "by a record from before");
        assert_eq!(fresh.exchange(record).unwrap().len(), 3);
    }
    let gone = fresh.response(&records[0]).unwrap_err();
    assert!(gone.to_string().contains("removed"), "{gone}");
}

#[test]
fn a_damaged_value_file_is_left_as_it_is() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    for version in 0..4 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
    }
    archive.close();
    let path = values::find(&archive.disk, &archive.dir).unwrap().remove(0).path;
    let file = archive.disk.open(&path, Mode::Write).unwrap();
    file.set_len(file.len().unwrap() - 200).unwrap();
    let error = compact(&archive.disk, &archive.dir, archive.noted(), &archive.rule(Keep::Versions(1)), &mut |_, _| {});
    assert!(matches!(error, Err(Error::Damaged { .. })), "{error:?}");
    assert!(archive.disk.open_if_there(&path).unwrap().is_some());
}

/// CPU time of this process so far, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) as f64 / 100.0
}

/// `cargo test --lib -- --ignored --nocapture how_fast_an_archive_is_compacted`
#[test]
#[ignore = "it measures, and takes 600 MB of disk"]
fn how_fast_an_archive_is_compacted() {
    let mut random = fastrand::Rng::with_seed(7);
    for share in [1, 2] {
        let mut archive = Archive::new(64 << 20, Compression::Gzip);
        // pages of 20 kB that do not compress; all of them have one version or two
        for page in 0..12_000 / share {
            for version in 0..share {
                let body: String = (0..20_000).map(|_| random.alphanumeric()).collect();
                archive.store(&format!("http://a.example/{page}"), 200, &format!("{version} {body}"));
            }
        }
        archive.close();
        let (bytes, began, cpu) = (archive.bytes(), std::time::Instant::now(), cpu_seconds());
        let would = estimate(&archive.disk, &archive.dir, archive.noted(), archive.rule(Keep::Versions(1))).unwrap();
        let (planned, planned_cpu) = (began.elapsed(), cpu_seconds() - cpu);
        let (began, cpu) = (std::time::Instant::now(), cpu_seconds());
        let done = archive.compact(Keep::Versions(1));
        let (took, cpu) = (began.elapsed(), cpu_seconds() - cpu);
        println!(
            "{} MB of {share} versions each: plan {planned:.2?}, {planned_cpu:.2} s CPU ({} pages); {} pages removed, \
             {} MB freed, {} MB read and written in {took:.2?}, {cpu:.2} s CPU",
            bytes >> 20,
            would.pages,
            done.pages,
            done.bytes >> 20,
            done.moved >> 20,
        );
        archive.assert_sound("measured");
    }
}
