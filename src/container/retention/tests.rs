//! Archives before and after compactions: what goes, what stays, and what a kill or a power cut leaves at every step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use super::list::{Act, ForgottenList};
use super::offline::{Compacted, compact, estimate};
use super::plan::Rule;
use super::*;
use crate::container::verify::{Finding, Report, Standing, verify};
use crate::container::{ContainerOptions, NewPage, Reader, Stored, WarcInfo, rebuild};
use crate::disk::simulated::{Fault, Restart, SimulatedDisk};
use crate::disk::{Error, Mode};
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::web::url::{CanonicalUrl, KeyMaker};
use crate::web::warc::{Compression, Encoder, Exchange, HttpVersion, RecordReader, id_seed};

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
            url,
            fetched_at: self.now,
            duration_ms: 1,
            ip: Some([192, 0, 2, 7].into()),
            http_version: HttpVersion::Http11,
            request: Some(b"GET / HTTP/1.1\r\n\r\n"),
            status,
            reason: "OK",
            headers: &[
                (b"content-type"[..].into(), b"text/html; charset=utf-8"[..].into()),
                (b"etag"[..].into(), b"\"tag\""[..].into()),
            ],
            body: body.as_bytes(),
            truncated: None,
            via: None,
            depth: 2,
            hops: "LL",
            seed: 4,
            attempt: 0,
            robots: false,
            forced: false,
            is_due: false,
            canonical: None,
            statements: None,
            id_seed: id_seed(self.container.crawl_id(), url, self.now),
        };
        let records = self.encoder.encode(&exchange);
        let condition = if status == 304 { self.container.condition(key_of(url), url)? } else { None };
        self.container.append(&NewPage {
            url,
            key: key_of(url),
            status,
            time: self.now,
            mime: if condition.is_some() { "" } else { "text/html" },
            robots: false,
            payload_sha1: records.payload_sha1,
            payload_bytes: records.payload_bytes,
            records: &records.bytes,
            response: records.response.clone(),
            revisit: records.revisit.as_ref(),
            truncated: false,
            has_statements: false,
            is_external: false,
            may_have_versions: true,
            earlier: None,
            condition: condition.map(|condition| condition.payload_at),
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

/// A compaction that does everything a compaction can.
fn eventful(disk: Disk, dir: &Path) -> Archive {
    let mut archive = Archive::on(disk, dir, 2_500, Compression::Gzip);
    let shared = long("shared ");
    archive.store(PAGE, 200, &shared);
    archive.store(OTHER, 200, &shared);
    for version in 0..3 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
        archive.store(THIRD, 304, "");
    }
    archive.store(THIRD, 200, &shared);
    archive.store("http://d.example/secret", 200, &long("secret "));
    archive.close();
    archive.forget_url("http://d.example/secret");
    archive
}

#[test]
fn a_kill_or_power_cut_at_any_change_of_the_disk_leaves_an_archive_that_is_whole() {
    let dir = Path::new("/pages");
    let (mut crashes, mut finished) = (0, false);
    for at in 1.. {
        if finished {
            break;
        }
        for restart in [Restart::Killed, Restart::PowerCut] {
            let simulated = SimulatedDisk::new(at);
            let mut archive = eventful(simulated.disk(), dir);
            let expected = [OTHER, THIRD].map(|url| archive.bodies(url)[0].clone());
            let rule = archive.rule(Keep::Versions(1));
            simulated.fail_at(simulated.changes() + at, Fault::Stop);
            let done = compact(&archive.disk, dir, archive.noted(), &rule, &mut |_, _| {});
            finished = done.is_ok();
            crashes += u64::from(!finished);
            simulated.clear_faults();
            simulated.restart(restart);
            let context = format!("stopped at change {at}, {restart:?}");
            // as it lies there, readers find everything but what is being changed at this moment
            let damage: Vec<Finding> = archive.findings(true).into_iter().filter(|finding| finding.damage).collect();
            assert!(damage.is_empty(), "{context}: {damage:#?}");
            archive.reopen();
            assert_eq!(archive.findings(true), [], "{context}");
            for (url, expected) in [OTHER, THIRD].iter().zip(&expected) {
                assert_eq!(archive.bodies(url)[0].1, expected.1, "{context}");
            }
            archive.compact(Keep::Versions(1));
            archive.assert_sound(&context);
            assert_eq!(archive.bodies(PAGE).len(), 1, "{context}");
            assert!(memchr::memmem::find(&archive.blocks(), b"secret secret").is_none(), "{context}");
            let left = archive.disk.list(dir).unwrap();
            assert!(left.iter().all(|name| !name.ends_with(".new") && !name.ends_with(".redo")), "{context}: {left:?}");
        }
    }
    assert!(crashes > 60, "{crashes}");
}

#[test]
fn beside_a_crawl_files_are_compacted_one_by_one_while_pages_are_stored() {
    let mut archive = Archive::new(3_000, Compression::Gzip);
    archive.options.retention.keep = Keep::Versions(1);
    for version in 0..8 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
        archive.store(OTHER, 200, &long("always the same "));
    }
    archive.checkpoint().unwrap();
    archive.reopen();
    let (mut version, mut rounds) = (8, 0);
    loop {
        let did = archive.compact_beside(|archive, _| {
            if rounds < 4 {
                archive.try_store(PAGE, 200, &long(&format!("version {version} ")))?;
                version += 1;
            }
            Ok(())
        });
        if !did.unwrap() {
            break;
        }
        rounds += 1;
        archive.checkpoint().unwrap();
        assert!(rounds < 100);
    }
    assert!(rounds > 3, "{rounds}");
    assert_eq!(archive.container.value_bytes(), archive.bytes());
    assert_eq!(archive.bodies(PAGE)[0], (200, long(&format!("version {} ", version - 1))));
    assert_eq!(archive.bodies(OTHER)[0].1, long("always the same "));
    archive.close();
    archive.assert_sound("beside a crawl");
    // with every version kept, nothing is ever begun
    archive.options.retention.keep = Keep::All;
    archive.reopen();
    assert!(archive.container.compaction(archive.now).is_none());
}

#[test]
fn a_page_that_comes_to_refer_to_what_is_about_to_go_stops_that() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    archive.options.retention.keep = Keep::Versions(1);
    let old = long("old words ");
    archive.store(PAGE, 200, &old);
    for version in 0..6 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
    }
    archive.close();
    archive.reopen();
    let did = archive.compact_beside(|archive, step| {
        if step == 0 {
            let stored = archive.try_store(OTHER, 200, &old)?;
            assert!(stored.saved.is_some(), "it refers to the response that is to go");
        }
        Ok(())
    });
    assert!(!did.unwrap());
    assert_eq!(archive.bodies(OTHER), [(200, old.clone())]);
    // once a file is on its way, nothing refers to what goes with it any more
    let (mut referring, mut own) = (0, 0);
    let did = archive.compact_beside(|archive, step| {
        for version in 0..6 {
            if step == 1 {
                let url = format!("http://{version}.example/");
                match archive.try_store(&url, 200, &long(&format!("version {version} ")))?.saved {
                    Some(_) => referring += 1,
                    None => own += 1,
                }
            }
        }
        Ok(())
    });
    assert!(did.unwrap() && own > 0 && referring > 0, "{own} {referring}");
    archive.close();
    archive.assert_sound("referred");
    assert_eq!(archive.bodies(OTHER), [(200, old)]);
    for version in 0..6 {
        let text = long(&format!("version {version} "));
        assert_eq!(archive.bodies(&format!("http://{version}.example/")), [(200, text)]);
    }
}

#[test]
fn what_is_forgotten_beside_a_crawl_goes_after_the_next_checkpoint_with_its_payload_left_to_others() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    let shared = long("secret words ");
    archive.store(PAGE, 200, &shared);
    archive.store(OTHER, 200, &shared);
    archive.store(THIRD, 200, &long("public words "));
    archive.checkpoint().unwrap();
    archive.forget_url(PAGE);
    archive.container.forget().unwrap();
    assert!(archive.store("http://d.example/", 200, &shared).saved.is_none(), "nothing new refers to it");
    for _ in 0..6 {
        archive.compact_beside(|_, _| Ok(())).unwrap();
        archive.checkpoint().unwrap();
    }
    assert!(archive.container.compaction(archive.now).is_none(), "nothing is owed any more");
    archive.close();
    archive.assert_sound("forgotten beside a crawl");
    assert!(archive.bodies(PAGE).is_empty());
    assert_eq!(archive.bodies(OTHER), [(200, shared)]);
    let reader = archive.reader();
    assert!(reader.newest(key_of(OTHER), OTHER).unwrap().unwrap().is_response());
}

#[test]
fn a_running_crawl_that_is_killed_in_a_compaction_resumes_with_all_its_pages() {
    let dir = Path::new("/pages");
    let mut finished = 0;
    for at in 1..400 {
        let restart = if at % 2 == 0 { Restart::Killed } else { Restart::PowerCut };
        let simulated = SimulatedDisk::new(at);
        let mut archive = eventful(simulated.disk(), dir);
        archive.options.retention.keep = Keep::Versions(1);
        archive.reopen();
        archive.store(THIRD, 200, &long("late words "));
        archive.checkpoint().unwrap();
        simulated.fail_at(simulated.changes() + at, Fault::Stop);
        let mut go_on = || -> Result<()> {
            for round in 0..4 {
                archive.compact_beside(|archive, _| archive.try_store(OTHER, 200, &long("later ")).map(drop))?;
                archive.try_store(OTHER, 200, &long(&format!("round {round} ")))?;
                archive.checkpoint()?;
            }
            Ok(())
        };
        let done = go_on();
        finished = if done.is_ok() { finished + 1 } else { 0 };
        simulated.clear_faults();
        simulated.restart(restart);
        let context = format!("stopped at change {at}, {restart:?}");
        archive.reopen();
        archive.close();
        archive.assert_sound(&context);
        assert_eq!(archive.bodies(THIRD)[0].1, long("late words "), "{context}");
        assert!(archive.bodies("http://d.example/secret").is_empty(), "{context}");
        if finished > 2 {
            return;
        }
    }
    panic!("it never came to its end");
}

#[test]
fn whatever_is_stored_forgotten_and_compacted_the_archive_has_what_a_plain_list_has() {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..8 {
        let coding = CODINGS[random.usize(..3)];
        let mut archive = Archive::new(random.u64(500..6_000), coding);
        let urls: Vec<String> = (0..4).map(|n| format!("http://{n}.example/page")).collect();
        // newest last
        let mut model: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut forgotten: Vec<String> = Vec::new();
        for step in 0..60 {
            let context = format!("seed {seed} round {round} step {step}");
            let url = random.choice(&urls).unwrap().clone();
            match random.u8(..20) {
                0 => {
                    archive.forget_url(&url);
                    forgotten.push(url.clone());
                    model.remove(&url);
                }
                1..=4 => {
                    archive.close();
                    let versions = random.u8(1..4);
                    archive.compact(Keep::Versions(versions));
                    for bodies in model.values_mut() {
                        let gone = bodies.len().saturating_sub(usize::from(versions));
                        bodies.drain(..gone);
                    }
                    archive.assert_sound(&context);
                    archive.reopen();
                }
                _ if forgotten.contains(&url) => {}
                kind => {
                    let text = long(&format!("text {} ", random.u8(..5)));
                    let known = model.get(&url).and_then(|bodies| bodies.last()).cloned();
                    let body = match known {
                        Some(known) if kind < 9 && archive.store(&url, 304, "").not_modified => known,
                        Some(_) if kind < 9 => String::new(),
                        _ => {
                            archive.store(&url, 200, &text);
                            text
                        }
                    };
                    model.entry(url).or_default().push(body);
                }
            }
            for url in &urls {
                let bodies: Vec<String> = archive.bodies(url).into_iter().map(|(_, body)| body).rev().collect();
                assert_eq!(bodies, model.get(url).cloned().unwrap_or_default(), "{context}: {url}");
            }
        }
    }
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
