//! Files of every coding, whole, damaged and hostile, and what is in the archive then.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};

use super::{Damage, Listener, Refusal, import};
use crate::clock::Time;
use crate::container::imported::{ImportedFile, Importer, imported_files};
use crate::container::{
    ContainerOptions, Finding, KeyRecord, Reader, Rebuilt, Report, Standing, WarcInfo, rebuild, verify,
};
use crate::disk::{Disk, Mode};
use crate::fingerprint::Fingerprinter;
use crate::warc::{RecordReader, payload_sha1};
use crate::web::url::KeyMaker;

/// Bytes of the longest block here.
const BLOCK_MAX: u64 = 16 << 20;

/// Remembers what it hears.
#[derive(Debug, Default)]
struct Listened {
    damage: Vec<Damage>,
    passed_over: Vec<String>,
    ended: Vec<ImportedFile>,
}

impl Listener for Listened {
    fn begins(&mut self, file: &str, _: u64, is_there: bool) {
        if is_there {
            self.passed_over.push(file.to_owned());
        }
    }

    fn damaged(&mut self, _: &str, damage: &Damage) {
        self.damage.push(damage.clone());
    }

    fn reached(&mut self, _: u64) {}

    fn ends(&mut self, file: &ImportedFile) {
        self.ended.push(file.clone());
    }
}

/// A record of the standard, with a head by other programs.
fn record(kind: &str, fields: &str, block: &str) -> Vec<u8> {
    let length = block.len();
    format!("WARC/1.0\r\nWARC-Type: {kind}\r\n{fields}Content-Length: {length}\r\n\r\n{block}\r\n\r\n").into_bytes()
}

/// A response of `url` at a second of an hour.
fn response(url: &str, second: u32, http: &str) -> Vec<u8> {
    let fields = format!(
        "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{second:012}>\r\nWARC-Target-URI: {url}\r\n\
         WARC-Date: 2020-01-01T00:00:{second:02}Z\r\nContent-Type: application/http; msgtype=response\r\n"
    );
    record("response", &fields, http)
}

fn page(url: &str, second: u32, body: &str) -> Vec<u8> {
    response(url, second, &format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}"))
}

/// A crawl directory's archive that files are imported into.
struct Archive {
    dir: tempfile::TempDir,
}

impl Archive {
    fn new() -> Archive {
        Archive { dir: tempfile::tempdir().unwrap() }
    }

    fn pages(&self) -> PathBuf {
        self.dir.path().join("pages")
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn importer(&self) -> Importer {
        let info = WarcInfo { software: "test".to_owned(), ..WarcInfo::default() };
        Importer::open(&Disk::real(), &self.pages(), ContainerOptions::default(), info).unwrap()
    }

    fn import(&self, paths: &[PathBuf]) -> Listened {
        let mut listened = Listened::default();
        import(&Disk::real(), &mut self.importer(), paths, Time::from_ms(1), &mut listened).unwrap();
        listened
    }

    fn index(&self) -> Rebuilt {
        let (mut tell, mut progress) = (|_: &Finding| {}, |_, _| {});
        let mut report = Report::new(&mut tell, &mut progress);
        rebuild(&Disk::real(), &self.pages(), None, &maker(), &mut report).unwrap()
    }

    /// Makes the index; returns the pages in its order.
    fn indexed(&self) -> (Reader, Vec<KeyRecord>) {
        let rebuilt = self.index();
        let noted = rebuilt.noted.clone();
        rebuilt.finish().unwrap();
        self.assert_sound(Standing::Stopped { noted, clean: true });
        let reader = Reader::open(Disk::real(), &self.pages()).unwrap();
        let records = reader.records().map(Result::unwrap).collect();
        (reader, records)
    }

    fn assert_sound(&self, standing: Standing) {
        let mut findings = Vec::new();
        let (mut tell, mut progress) = (|finding: &Finding| findings.push(finding.clone()), |_, _| {});
        verify(&Disk::real(), &self.pages(), &standing, Some(&maker()), &mut Report::new(&mut tell, &mut progress))
            .unwrap();
        assert!(findings.is_empty(), "{findings:?}");
    }

    /// All records that are there but the ones that this program adds, as they were before they were compressed.
    fn records(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<_> = std::fs::read_dir(self.pages()).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
        names.sort();
        let mut records = Vec::new();
        for path in names {
            let file = Disk::real().open(&path, Mode::Read).unwrap();
            let mut reader = RecordReader::new(&file, 0, BLOCK_MAX);
            assert_eq!(reader.next().unwrap().unwrap().kind(), "warcinfo");
            while let Some(record) = reader.next().unwrap() {
                let mut member = vec![0; record.length as usize];
                file.read_exact_at(&mut member, record.offset).unwrap();
                let mut plain = Vec::new();
                std::io::copy(&mut flate2::read::GzDecoder::new(member.as_slice()), &mut plain).unwrap();
                records.push(plain);
            }
        }
        records
    }
}

fn maker() -> KeyMaker {
    KeyMaker::new(Fingerprinter::random(7), &[])
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A member with everything that a gzip header may have.
fn gzip_with_names(content: &[u8]) -> Vec<u8> {
    let mut member = flate2::GzBuilder::new().filename("name").comment("words").extra(b"sl\x04\x00four".to_vec());
    member = member.mtime(77);
    let mut encoder = member.write(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn skippable(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_le_bytes();
    [&[0x5d, 0x2a, 0x4d, 0x18], &length[..], content].concat()
}

fn zstd_with_dictionary(records: &[Vec<u8>], is_packed: bool) -> Vec<u8> {
    let dictionary = records.concat();
    let mut encoder = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
    let stored = if is_packed { zstd::bulk::compress(&dictionary, 3).unwrap() } else { dictionary };
    let frames = records.iter().map(|record| encoder.compress(record).unwrap());
    [skippable(&stored)].into_iter().chain(frames).collect::<Vec<_>>().concat()
}

fn package(content: &[u8], method: CompressionMethod) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut zip = ZipArchiveWriter::new(&mut bytes);
    for name in ["archive/a.warc.gz", "datapackage.json"] {
        let (mut entry, config) = zip.new_file(name).compression_method(method).start().unwrap();
        let descriptor = if method == CompressionMethod::STORE {
            let mut data = config.wrap(&mut entry);
            data.write_all(content).unwrap();
            data.finish().unwrap().1
        } else {
            let mut data = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, Compression::fast()));
            data.write_all(content).unwrap();
            let (encoder, descriptor) = data.finish().unwrap();
            encoder.finish().unwrap();
            descriptor
        };
        entry.finish(descriptor).unwrap();
    }
    zip.finish().unwrap();
    bytes
}

/// A source with some records of all kinds, and what each is.
fn records() -> Vec<Vec<u8>> {
    vec![
        record("warcinfo", "WARC-Date: 2020-01-01T00:00:00Z\r\nContent-Type: application/warc-fields\r\n", "a: b\r\n"),
        page("http://a.example/", 1, "one"),
        record("request", "WARC-Target-URI: http://a.example/\r\n", "GET / HTTP/1.1\r\n\r\n"),
        page("http://b.example/", 2, &"a longer body ".repeat(20_000)),
        record("metadata", "WARC-Target-URI: metadata://x/\r\n", ""),
        page("http://a.example/c", 3, "three"),
    ]
}

fn codings() -> Vec<(&'static str, Vec<u8>)> {
    let records = records();
    let members = records.iter().flat_map(|record| gzip(record)).collect::<Vec<u8>>();
    let frames = records.iter().flat_map(|record| zstd::bulk::compress(record, 3).unwrap()).collect();
    vec![
        ("named.warc.gz", records.iter().flat_map(|record| gzip_with_names(record)).collect()),
        ("one.warc.gz", gzip(&records.concat())),
        ("two.warc.gz", [gzip(&records[..2].concat()), gzip(&records[2..].concat())].concat()),
        ("plain.warc", records.concat()),
        ("frames.warc.zst", frames),
        ("frame.warc.zst", zstd::bulk::compress(&records.concat(), 3).unwrap()),
        ("dictionary.warc.zst", zstd_with_dictionary(&records, false)),
        ("packed-dictionary.warc.zst", zstd_with_dictionary(&records, true)),
        ("stored.wacz", package(&members, CompressionMethod::STORE)),
        ("deflated.wacz", package(&members, CompressionMethod::DEFLATE)),
        ("members.warc.gz", members),
    ]
}

#[test]
fn records_are_taken_over_byte_for_byte_whatever_their_coding() {
    for (name, content) in codings() {
        let archive = Archive::new();
        let listened = archive.import(&[archive.file(name, &content)]);
        assert_eq!(listened.damage, [], "{name}");
        assert_eq!(archive.records(), records(), "{name}");
        let counts: Vec<_> = listened.ended[0].records.iter().map(|(kind, of)| (kind.as_str(), *of)).collect();
        assert_eq!(counts, [("metadata", 1), ("request", 1), ("response", 3), ("warcinfo", 1)], "{name}");
        let (reader, pages) = archive.indexed();
        let bodies: Vec<_> = pages.iter().map(|page| reader.response(page).unwrap().body.len()).collect();
        assert_eq!(bodies, [3, 280_000, 5], "{name}");
    }
}

#[test]
fn what_is_damaged_is_left_out_and_told_and_what_follows_is_there() {
    let records = records();
    let members: Vec<Vec<u8>> = records.iter().map(|record| gzip(record)).collect();
    let at = members[..3].concat().len() as u64;
    let mut flipped = members.clone();
    let middle = flipped[3].len() / 2;
    flipped[3][middle] ^= 8;
    let mut plain = records.clone();
    plain[3].truncate(1_000);
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 9].to_vec();
    let ends = members[..5].concat().len() as u64;
    for (name, content, offset, left) in [
        ("flipped.warc.gz", flipped.concat(), at, vec![0, 1, 2, 4, 5]),
        ("cut.warc.gz", cut(members.concat()), ends, vec![0, 1, 2, 3, 4]),
        ("plain.warc", plain.concat(), records[..3].concat().len() as u64, vec![0, 1, 2, 5]),
        (
            "garbage.warc.gz",
            [members[..3].concat(), b"PNG\x1f\x8b\x08".to_vec(), members[3..].concat()].concat(),
            at,
            vec![0, 1, 2, 3, 4, 5],
        ),
    ] {
        let archive = Archive::new();
        let listened = archive.import(&[archive.file(name, &content)]);
        let damage: Vec<u64> = listened.damage.iter().map(|damage| damage.offset).collect();
        assert_eq!(damage, [offset], "{name}: {:?}", listened.damage);
        let kept: Vec<_> = left.iter().map(|&n| records[n].clone()).collect();
        assert_eq!(archive.records(), kept, "{name}");
        let file = &imported_files(&Disk::real(), &archive.pages()).unwrap()[0];
        assert_eq!((file.damaged, file.damaged_bytes), (1, listened.damage[0].bytes), "{name}");
        archive.indexed();
    }
}

#[test]
fn a_package_that_says_more_than_it_has_ends_where_it_ends() {
    let mut content = package(&records().concat(), CompressionMethod::STORE);
    // the directory's entry of the first file: its two lengths
    let entry = content.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    for at in [entry + 20, entry + 24] {
        // 3 GB: looking for records there would take a day
        content[at + 3] = 200;
    }
    let archive = Archive::new();
    let listened = archive.import(&[archive.file("long.wacz", &content)]);
    assert!(!listened.damage.is_empty(), "{listened:?}");
    assert_eq!(archive.records()[..records().len()], records());
}

#[test]
fn what_is_no_archive_is_refused_before_anything_is_done() {
    let archive = Archive::new();
    let good = archive.file("good.warc", &page("http://a.example/", 1, "a"));
    let no_warc = package(b"", CompressionMethod::STORE).iter().map(|&b| if b == b'v' { b'V' } else { b }).collect();
    for (name, content) in [("text", b"hello".to_vec()), ("empty", Vec::new()), ("other.zip", no_warc)] {
        let bad = archive.file(name, &content);
        let mut importer = archive.importer();
        let paths = [good.clone(), bad];
        let refused = import(&Disk::real(), &mut importer, &paths, Time::ZERO, &mut Listened::default());
        assert!(matches!(refused, Err(Refusal::Unknown { .. })), "{name}: {refused:?}");
        assert!(importer.files().is_empty());
    }
}

#[test]
fn an_import_that_was_killed_goes_on_with_the_source_that_it_was_at() {
    let archive = Archive::new();
    let one = archive.file("one.warc", &page("http://a.example/", 1, "a"));
    let other = archive.file("other.warc", &page("http://b.example/", 2, "b"));
    archive.import(std::slice::from_ref(&one));
    // what a kill leaves: a part of a line, a value file without one, and one that was being written
    let list = archive.pages().join("imported.jsonl");
    let lines = std::fs::read(&list).unwrap();
    std::fs::write(&list, [&lines[..], b"{\"file\":\"other"].concat()).unwrap();
    std::fs::write(archive.pages().join("value-00001.warc.gz"), b"x").unwrap();
    std::fs::write(archive.pages().join("value-00002.warc.gz.open"), b"x").unwrap();
    let listened = archive.import(&[one.clone(), other]);
    assert_eq!(listened.passed_over, [one.to_string_lossy()]);
    let (reader, pages) = archive.indexed();
    let bodies: Vec<_> = pages.iter().map(|page| reader.response(page).unwrap().body).collect();
    assert_eq!(bodies, [b"a", b"b"]);
}

#[test]
fn answers_of_others_are_read_as_they_are_meant() {
    let archive = Archive::new();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n\
                   2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    let resource = "WARC-Record-ID: <urn:uuid:9>\r\nWARC-Target-URI: https://r.example/x.txt\r\n\
                    Content-Type: text/css\r\nWARC-Date: 2020-01-01T00:00:04Z\r\n";
    let content = [
        response("http://a.example/chunked", 1, chunked),
        response("http://a.example/joined", 2, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<p>joined"),
        response("<http://A.example:80/bare#part>", 3, "HTTP/1.0 404 Not Found\nServer: x\n\nbody"),
        record("resource", resource, "p {}"),
        response("http://a.example/http2", 5, "HTTP/2 200\r\nno field\r\ncontent-type: text/html\r\n\r\n2"),
        record("resource", &resource.replace("https://r.example", "file:///"), "no page"),
        response("dns:a.example", 6, "HTTP/1.1 200 OK\r\n\r\n1.2.3.4"),
        response("http://a.example/none", 7, "no head"),
    ];
    archive.import(&[archive.file("a.warc", &content.concat())]);
    let (reader, pages) = archive.indexed();
    let read = |record: &KeyRecord| {
        let found = reader.response(record).unwrap();
        assert_eq!(found.body.len() as u64, record.payload_bytes);
        format!("{} {} {} {:?}", record.url, found.status, record.mime, String::from_utf8(found.body).unwrap())
    };
    let expected = [
        "http://a.example/chunked 200 text/plain \"abc\"",
        "http://a.example/joined 200  \"<p>joined\"",
        "http://a.example/bare 404  \"body\"",
        "https://r.example/x.txt 200 text/css \"p {}\"",
        "http://a.example/http2 200 text/html \"2\"",
    ];
    assert_eq!(pages.iter().map(read).collect::<Vec<_>>(), expected);
    let bare = reader.response(&pages[2]).unwrap();
    assert_eq!((bare.reason.as_str(), bare.headers.len()), ("Not Found", 1));
}

#[test]
fn a_request_is_found_before_its_answer_and_behind_it_and_makes_the_address() {
    let archive = Archive::new();
    let request = |second: u32, block: &str| {
        let fields = format!(
            "WARC-Record-ID: <urn:uuid:r{second}>\r\nWARC-Target-URI: http://a.example/\r\n\
             WARC-Concurrent-To: <urn:uuid:00000000-0000-0000-0000-{second:012}>\r\n"
        );
        record("request", &fields, block)
    };
    let post = |body: &str| format!("POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n{body}");
    let content = [
        page("http://a.example/", 1, "got"),
        request(1, "GET / HTTP/1.1\r\n\r\n"),
        request(2, &post("two")),
        page("http://a.example/", 2, "posted two"),
        page("http://a.example/", 3, "posted three"),
        request(3, &post("three")),
        page("http://a.example/", 4, "head"),
        request(4, "HEAD / HTTP/1.1\r\n\r\n"),
    ];
    archive.import(&[archive.file("a.warc", &content.concat())]);
    let (reader, pages) = archive.indexed();
    let urls: Vec<_> = pages.iter().map(|page| page.url.as_str()).collect();
    let posted = |body: &str| format!("http://a.example/#~POST&content-type:text/plain&&{body}");
    assert_eq!(urls, ["http://a.example/", &posted("two"), &posted("three")]);
    for (page, body) in pages.iter().zip(["got", "posted two", "posted three"]) {
        let (exchange, answer) = reader.exchange_and_response(page).unwrap();
        let kinds: Vec<_> = exchange.iter().map(|stored| stored.record.kind()).collect();
        assert_eq!((kinds, answer.body.as_slice()), (vec!["request", "response"], body.as_bytes()));
    }
}

#[test]
fn versions_and_what_revisits_refer_to_are_found_whatever_the_order_of_sources() {
    let archive = Archive::new();
    let digits: String = payload_sha1(b"x").iter().map(|byte| format!("{byte:02X}")).collect();
    let revisit = |second: u32, refers_to: &str, block: &str| {
        let fields = format!(
            "WARC-Record-ID: <urn:uuid:v{second}>\r\nWARC-Target-URI: http://a.example/\r\n\
             WARC-Date: 2020-01-01T00:00:{second:02}Z\r\nWARC-Profile: http://netpreserve.org/warc/1.0/revisit/\
             identical-payload-digest\r\n{refers_to}"
        );
        record("revisit", &fields, block)
    };
    let named = "WARC-Refers-To-Target-URI: http://a.example/\r\nWARC-Refers-To-Date: 2020-01-01T00:00:02Z\r\n";
    let later = [
        revisit(3, named, ""),
        revisit(5, &format!("WARC-Payload-Digest: SHA1:{digits}\r\n"), "HTTP/1.1 200 OK\r\nX: own\r\n\r\n"),
        page("http://a.example/", 6, "six"),
        revisit(7, "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n", ""),
        revisit(8, "", ""),
    ];
    let earlier = [page("http://a.example/", 2, "x"), page("http://other.example/", 4, "other")];
    let one = archive.file("later.warc", &later.concat());
    let other = archive.file("earlier.warc", &earlier.concat());
    archive.import(&[one, other]);
    assert_eq!(archive.index().unresolved, 2);
    let (reader, pages) = archive.indexed();
    let shown = |record: &KeyRecord| {
        let found = reader.response(record).unwrap();
        let body = String::from_utf8(found.body).unwrap();
        format!("{} {} {} {body} {}", record.time.ms() / 1_000 % 60, record.status, record.mime, found.headers.len())
    };
    // the second one at a time has its own head
    let expected = ["2 200 text/html x 1", "3 200 text/html x 1", "4 200 text/html other 1", "5 200 text/html x 1"];
    assert_eq!(pages.iter().map(shown).collect::<Vec<_>>(), [&expected[..], &["6 200 text/html six 1"]].concat());
    let mut versions = Vec::new();
    let mut at = pages.last().cloned();
    while let Some(version) = at {
        versions.push(version.time.ms() / 1_000 % 60);
        at = reader.previous(&version).unwrap();
    }
    assert_eq!(versions, [6, 5, 3, 2]);
}

/// `content` with some bytes changed, cut out, or cut off.
fn mutated(mut content: Vec<u8>, random: &mut fastrand::Rng) -> Vec<u8> {
    for _ in 0..random.usize(1..6) {
        if content.is_empty() {
            break;
        }
        let at = random.usize(..content.len());
        match random.u8(..3) {
            0 => content[at] = random.u8(..),
            1 => drop(content.drain(at..content.len().min(at + 40))),
            _ => content.truncate(at),
        }
    }
    content
}

/// The same of records that were changed at random: nothing breaks, and what is read is whole.
#[test]
fn hostile_files_break_nothing() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let tries = std::env::var("MUTATED").ok().and_then(|tries| tries.parse().ok()).unwrap_or(200);
    let mut random = fastrand::Rng::with_seed(seed);
    let codings: Vec<_> = codings().into_iter().filter(|(name, _)| *name != "one.warc.gz").collect();
    for round in 0..tries {
        let (name, content) = &codings[random.usize(..codings.len())];
        let content = mutated(content.clone(), &mut random);
        let archive = Archive::new();
        let path = archive.file(name, &content);
        let mut listened = Listened::default();
        match import(&Disk::real(), &mut archive.importer(), &[path], Time::ZERO, &mut listened) {
            Err(Refusal::Unknown { .. }) => continue,
            result => result.unwrap_or_else(|e| panic!("seed {seed}, round {round}, {name}: {e:?}")),
        }
        let (reader, pages) = archive.indexed();
        for page in pages {
            let read = reader.response(&page);
            assert!(read.is_ok(), "seed {seed}, round {round}, {name}: {read:?}");
        }
    }
}
