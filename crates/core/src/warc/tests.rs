//! Records of exchanges, there and back.

use super::*;
use crate::clock::Time;
use crate::disk::{Disk, DiskFile, Error, Mode};
use data_encoding::BASE32;
use sha1::{Digest, Sha1};

type Headers = Vec<Header>;

const CODINGS: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::None];

fn headers(pairs: &[(&str, &str)]) -> Headers {
    pairs.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect()
}

fn exchange<'a>(headers: &'a Headers, body: &'a [u8]) -> Exchange<'a> {
    Exchange {
        url: "http://a.example/page?x=1",
        fetched_at: Time::from_ms(1_795_237_724_123),
        duration_ms: 17,
        ip: Some("2001:db8::1".parse().unwrap()),
        http_version: HttpVersion::Http11,
        request: Some(b"GET /page?x=1 HTTP/1.1\r\nhost: a.example\r\n\r\n"),
        status: 200,
        reason: "OK",
        headers,
        body,
        truncated: None,
        via: Some("http://a.example/"),
        depth: 3,
        hops: "LRL",
        seed: 7,
        attempt: 1,
        robots: false,
        of_rendering: false,
        rendition: None,
        again: None,
        canonical: None,
        judged: None,
        statements: None,
        id_seed: 0x1234_5678_9abc_def0_0fed_cba9_8765_4321,
    }
}

fn file_of(dir: &tempfile::TempDir, bytes: &[u8]) -> DiskFile {
    let path = dir.path().join("value");
    std::fs::write(&path, bytes).unwrap();
    Disk::real().open(&path, Mode::Read).unwrap()
}

fn read_all(file: &DiskFile) -> Vec<Record> {
    let mut reader = RecordReader::new(file, 0, 1 << 20);
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

fn sha1_of(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(&Sha1::digest(bytes)))
}

#[test]
fn an_exchange_becomes_three_linked_records_in_every_coding() {
    for coding in CODINGS {
        let dir = tempfile::tempdir().unwrap();
        let sent = headers(&[("content-type", "text/html"), ("set-cookie", "a=1"), ("set-cookie", "b=2")]);
        let body = b"<p>hello</p>".repeat(1_000);
        let records = Encoder::new(coding).encode(&exchange(&sent, &body));
        let file = file_of(&dir, &records.bytes);
        let read = read_all(&file);
        let kinds: Vec<_> = read.iter().map(Record::kind).collect();
        assert_eq!(kinds, ["metadata", "request", "response"]);
        let response = &read[2];
        assert_eq!(records.response, response.offset as usize..(response.offset + response.length) as usize);
        for (index, record) in read.iter().enumerate() {
            assert_eq!(record.field("WARC-Block-Digest"), Some(sha1_of(&record.block).as_str()));
            assert_eq!(record.field("WARC-Date"), Some("2026-11-21T05:08:44.123Z"));
            assert_eq!(record.field("WARC-Target-URI"), Some("http://a.example/page?x=1"));
            let linked = record.field("WARC-Concurrent-To");
            assert_eq!(linked, (index < 2).then(|| response.field("WARC-Record-ID")).flatten());
        }
        assert_eq!(response.field("WARC-IP-Address"), Some("2001:db8::1"));
        assert_eq!(response.field("WARC-Payload-Digest"), Some(sha1_of(&body).as_str()));
        let (status, read_headers, body_at) = parse_http_head(&response.block).unwrap();
        assert_eq!(status, 200);
        assert_eq!(&response.block[body_at..], body);
        assert_eq!(read_headers[..3], sent[..]);
        assert_eq!(read_headers[3].1.as_ref(), body.len().to_string().as_bytes());
        let metadata = String::from_utf8(read[0].block.clone()).unwrap();
        assert!(metadata.contains("via: http://a.example/\r\n"), "{metadata}");
        assert!(metadata.ends_with("\r\n\r\n"), "{metadata}");
        let more = String::from_utf8(with_field(metadata.as_bytes(), "a", "b")).unwrap();
        assert_eq!(more, format!("{}a: b\r\n\r\n", &metadata[..metadata.len() - 2]));
        assert!(metadata.contains("hopsFromSeed: LRL\r\n") && metadata.contains("attempt: 1\r\n"), "{metadata}");
    }
}

#[test]
fn a_body_that_is_compressed_already_is_stored_as_it_came_and_read_back() {
    let mut random = fastrand::Rng::with_seed(7);
    let body: Vec<u8> = (0..200_000).map(|_| random.u8(..)).collect();
    for (name, value) in [("Content-Encoding", "GZIP"), ("content-encoding", "br"), ("content-type", "image/png")] {
        let sent = headers(&[(name, value)]);
        let records = Encoder::new(Compression::Gzip).encode(&exchange(&sent, &body));
        let holds_body = records.bytes.windows(1_000).any(|window| window == &body[..1_000]);
        assert!(holds_body, "{name}: {value}");
        let dir = tempfile::tempdir().unwrap();
        let response = read_all(&file_of(&dir, &records.bytes)).pop().unwrap();
        assert_eq!(response.field("WARC-Block-Digest"), Some(sha1_of(&response.block).as_str()));
        assert!(response.block.ends_with(&body));
        // in the other codings it is a record like any other
        for coding in [Compression::Zstd, Compression::None] {
            let records = Encoder::new(coding).encode(&exchange(&sent, &body));
            assert!(read_all(&file_of(&dir, &records.bytes)).pop().unwrap().block == response.block);
        }
    }
    // a body that is too long for its record to be short, and not compressed, is compressed
    let sent = headers(&[("content-encoding", "identity")]);
    let plain = Encoder::new(Compression::Gzip).encode(&exchange(&sent, &b"plain ".repeat(10_000)));
    assert!(plain.bytes.len() < 3_000, "{} bytes", plain.bytes.len());
}

#[test]
fn transfer_encoding_is_masked_and_the_length_is_that_of_the_stored_body() {
    let sent = headers(&[("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip"), ("Content-Length", "99")]);
    let mut exchange = exchange(&sent, b"12345");
    exchange.truncated = Some(Truncation::Length);
    let dir = tempfile::tempdir().unwrap();
    let file = file_of(&dir, &Encoder::new(Compression::Gzip).encode(&exchange).bytes);
    let response = read_all(&file).pop().unwrap();
    assert_eq!(response.field("WARC-Truncated"), Some("length"));
    let (_, read, _) = parse_http_head(&response.block).unwrap();
    let expected =
        headers(&[("x-crawler-transfer-encoding", "chunked"), ("Content-Encoding", "gzip"), ("Content-Length", "5")]);
    assert_eq!(read, expected);
}

#[test]
fn a_payload_digest_that_is_known_is_not_made_again_and_that_of_the_block_is_right() {
    let (sent, dir) = (headers(&[("content-length", "3")]), tempfile::tempdir().unwrap());
    let records = Encoder::new(Compression::Gzip).encode_digested(&exchange(&sent, b"abc"), Some([7; 20]));
    assert_eq!(records.payload_sha1, [7; 20]);
    let response = read_all(&file_of(&dir, &records.bytes)).pop().unwrap();
    assert_eq!(response.field("WARC-Payload-Digest"), Some("sha1:A4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYH"));
    assert!(response.is_intact());
}

#[test]
fn two_chunkings_of_a_body_have_the_same_payload_digest() {
    let (plain, chunked) = (headers(&[("content-length", "3")]), headers(&[("transfer-encoding", "chunked")]));
    let mut encoder = Encoder::new(Compression::Gzip);
    assert_eq!(
        encoder.encode(&exchange(&plain, b"abc")).payload_sha1,
        encoder.encode(&exchange(&chunked, b"abc")).payload_sha1
    );
}

#[test]
fn nothing_from_the_web_can_forge_a_field() {
    let sent = headers(&[("x-a", "1\r\nSet-Forged: yes"), ("x\r\n\r\nbody", "2")]);
    let mut exchange = exchange(&sent, b"");
    exchange.via = Some("http://a.example/\r\nWARC-Type: forged");
    exchange.reason = "OK\r\nForged: yes";
    let dir = tempfile::tempdir().unwrap();
    let file = file_of(&dir, &Encoder::new(Compression::None).encode(&exchange).bytes);
    let read = read_all(&file);
    let text = String::from_utf8_lossy(&read[2].block).into_owned();
    assert!(!text.contains("\nSet-Forged") && !text.contains("\nForged") && !text.contains("\nbody"), "{text}");
    assert!(!String::from_utf8_lossy(&read[0].block).contains("\nWARC-Type"));
}

#[test]
fn http2_is_written_in_the_syntax_of_http11() {
    let sent = headers(&[]);
    let mut exchange = exchange(&sent, b"");
    exchange.http_version = HttpVersion::Http2;
    let dir = tempfile::tempdir().unwrap();
    let file = file_of(&dir, &Encoder::new(Compression::Gzip).encode(&exchange).bytes);
    let response = read_all(&file).pop().unwrap();
    assert!(response.block.starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert_eq!(response.field("WARC-Protocol"), Some("h2"));
}

#[test]
fn a_revisit_has_the_head_of_the_answer_and_names_the_first_one() {
    let first_at = Time::from_ms(1_700_000_000_001);
    for coding in CODINGS {
        let dir = tempfile::tempdir().unwrap();
        let sent = headers(&[("content-type", "text/html"), ("content-length", "9")]);
        let body = b"<p>hello</p>".repeat(100);
        let mut encoder = Encoder::new(coding);
        let records = encoder.encode(&exchange(&sent, &body));
        let revisit = Revisit {
            draft: records.revisit.as_ref().unwrap(),
            url: "http://a.example/page?x=1",
            fetched_at: Time::from_ms(1_795_237_724_123),
            payload_sha1: records.payload_sha1,
            first_id_seed: Some(id_seed(9, "http://b.example/\r\nforged: yes", first_at)),
            first_url: "http://b.example/\r\nforged: yes",
            first_date: &format_date(first_at),
        };
        let mut bytes = records.bytes[..records.response.start].to_vec();
        encoder.revisit(&revisit, &mut bytes);
        let response = read_all(&file_of(&dir, &records.bytes)).pop().unwrap();
        let read = read_all(&file_of(&dir, &bytes));
        let revisit = &read[2];
        assert_eq!((revisit.kind(), revisit.field("forged")), ("revisit", None));
        let head_bytes = response.block.len() - body.len();
        assert_eq!(revisit.block, response.block[..head_bytes]);
        assert_eq!(revisit.field("WARC-Block-Digest"), Some(sha1_of(&revisit.block).as_str()));
        let same = ["WARC-Record-ID", "WARC-Date", "WARC-Target-URI", "WARC-IP-Address", "WARC-Payload-Digest"];
        for name in same.into_iter().chain(["WARC-Protocol", "Content-Type"]) {
            assert_eq!(revisit.field(name), response.field(name), "{name}");
        }
        assert_eq!(read[0].field("WARC-Concurrent-To"), revisit.field("WARC-Record-ID"));
        let profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
        assert_eq!(revisit.field("WARC-Profile"), Some(profile));
        assert_eq!(revisit.field("WARC-Refers-To-Target-URI"), Some("http://b.example/forged: yes"));
        assert_eq!(revisit.field("WARC-Refers-To-Date"), Some("2023-11-14T22:13:20.001Z"));
        assert_eq!(revisit.field("WARC-Truncated"), Some("length"));
    }
}

#[test]
fn the_record_that_a_revisit_refers_to_has_the_id_that_follows_from_url_and_time() {
    let (url, at) = ("http://a.example/page?x=1", Time::from_ms(1_795_237_724_123));
    let sent = headers(&[]);
    let body = [b'x'; 1_000];
    let first = Exchange { id_seed: id_seed(7, url, at), ..exchange(&sent, &body) };
    let mut encoder = Encoder::new(Compression::None);
    let first = encoder.encode(&first);
    let mut bytes = Vec::new();
    let revisit = Revisit {
        draft: first.revisit.as_ref().unwrap(),
        url: "http://b.example/",
        fetched_at: at,
        payload_sha1: first.payload_sha1,
        first_id_seed: Some(id_seed(7, url, at)),
        first_url: url,
        first_date: &format_date(at),
    };
    encoder.revisit(&revisit, &mut bytes);
    let dir = tempfile::tempdir().unwrap();
    let response = read_all(&file_of(&dir, &first.bytes)).pop().unwrap();
    let revisit = read_all(&file_of(&dir, &bytes)).pop().unwrap();
    assert_eq!(revisit.field("WARC-Refers-To"), response.field("WARC-Record-ID"));
    let id = response.field("WARC-Record-ID").unwrap();
    assert!(seed_of_id(id).is_some(), "an id of ours is its own seed");
    assert_eq!(seed_of_id("<urn:uuid:00000000-0000-0000-0000-000000000000>"), None);
    let others = [id_seed(8, url, at), id_seed(7, "http://a.example/", at), id_seed(7, url, Time::ZERO)];
    assert!(!others.contains(&id_seed(7, url, at)));
}

#[test]
fn only_whole_payloads_that_are_worth_it_and_304_can_be_revisits() {
    let worth = REVISIT_PAYLOAD_MIN;
    assert_eq!(Profile::of(200, worth, None), Some(Profile::IdenticalPayload));
    assert_eq!(Profile::of(206, worth, None), Some(Profile::IdenticalPayload));
    assert_eq!(Profile::of(200, worth - 1, None), None);
    assert_eq!(Profile::of(200, worth, Some(Truncation::Length)), None);
    assert_eq!(Profile::of(404, worth, None), None);
    assert_eq!(Profile::of(304, 0, None), Some(Profile::NotModified));
    let uri = "http://netpreserve.org/warc/1.0/revisit/server-not-modified";
    assert_eq!(Profile::parse(uri), Some(Profile::NotModified));
    assert_eq!(Profile::parse("server"), None);
}

#[test]
fn a_payload_of_the_least_length_takes_no_more_room_as_a_revisit() {
    let sent = headers(&[("content-type", "text/html; charset=utf-8"), ("server", "nginx")]);
    // words do not compress to less than this: few of them, from a long alphabet
    let mut rng = fastrand::Rng::with_seed(3);
    let body: Vec<u8> = (0..REVISIT_PAYLOAD_MIN).map(|_| rng.alphanumeric() as u8).collect();
    let mut encoder = Encoder::new(Compression::Gzip);
    let records = encoder.encode(&exchange(&sent, &body));
    let mut bytes = Vec::new();
    let revisit = Revisit {
        draft: records.revisit.as_ref().unwrap(),
        url: "http://a.example/page?x=1",
        fetched_at: Time::from_ms(1_795_237_724_123),
        payload_sha1: records.payload_sha1,
        first_id_seed: Some(5),
        first_url: "http://a.example/another/page",
        first_date: &format_date(Time::from_ms(1_795_237_700_000)),
    };
    encoder.revisit(&revisit, &mut bytes);
    assert!(bytes.len() <= records.response.len(), "{} and {}", bytes.len(), records.response.len());
}

#[test]
fn a_warcinfo_record_has_neither_target_nor_address() {
    for coding in CODINGS {
        let dir = tempfile::tempdir().unwrap();
        let fields = [("operator".to_owned(), "me\r\nforged: yes".to_owned())];
        let bytes = Encoder::new(coding).warcinfo("value-0.warc", "crawler/1", &fields, "a = 1\nb = 2", Time::ZERO, 5);
        let record = read_all(&file_of(&dir, &bytes)).pop().unwrap();
        assert_eq!(record.kind(), "warcinfo");
        assert_eq!(record.field("WARC-Target-URI"), None);
        assert_eq!(record.field("WARC-IP-Address"), None);
        let text = String::from_utf8(record.block).unwrap();
        assert!(text.contains("crawler-config: a = 1\r\ncrawler-config: b = 2\r\n"), "{text}");
        assert!(!text.contains("\nforged"), "{text}");
    }
}

#[test]
fn a_record_cut_at_any_byte_is_damage_at_its_offset() {
    for coding in CODINGS {
        let sent = headers(&[("content-type", "text/plain")]);
        let records = Encoder::new(coding).encode(&exchange(&sent, b"some body"));
        for cut in records.response.start + 1..records.response.end {
            let dir = tempfile::tempdir().unwrap();
            let file = file_of(&dir, &records.bytes[..cut]);
            let mut reader = RecordReader::new(&file, 0, 1 << 20);
            assert!(reader.next().unwrap().is_some());
            assert!(reader.next().unwrap().is_some());
            match reader.next() {
                Err(Error::Damaged { offset, .. }) => assert_eq!(offset, records.response.start as u64),
                other => panic!("{coding:?} cut at {cut}: {other:?}"),
            }
        }
    }
}

#[test]
fn random_bytes_are_damage_and_never_a_panic() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..500 {
        let mut bytes: Vec<u8> = (0..rng.usize(1..300)).map(|_| rng.u8(..)).collect();
        match rng.u8(..4) {
            0 => bytes.splice(..0, [0x1f, 0x8b, 8, 0]).for_each(drop),
            1 => bytes.splice(..0, [0x28, 0xb5, 0x2f, 0xfd]).for_each(drop),
            2 => bytes.splice(..0, *b"WARC/1.1\r\nContent-Length: 99999999999\r\n\r\n").for_each(drop),
            _ => {}
        }
        let dir = tempfile::tempdir().unwrap();
        let file = file_of(&dir, &bytes);
        assert!(RecordReader::new(&file, 0, 1 << 20).next().is_err(), "seed {seed}, round {round}");
    }
}

/// An uncompressed record of `bytes` bytes.
fn plain_record(bytes: usize) -> Vec<u8> {
    let head = |length: usize| format!("WARC/1.1\r\nContent-Length: {length:09}\r\n\r\n");
    let length = bytes - head(0).len() - 4;
    [head(length).into_bytes(), vec![b'x'; length], b"\r\n\r\n".to_vec()].concat()
}

#[test]
fn a_record_may_begin_anywhere_in_the_buffer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("records");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &plain_record(200)).unwrap();
    let zstd = zstd::encode_all(&plain_record(200)[..], 1).unwrap();
    for second in [plain_record(200), gzip.finish().unwrap(), zstd] {
        for start in read::BUFFER_BYTES - 3..read::BUFFER_BYTES + 3 {
            std::fs::write(&path, [plain_record(start), second.clone(), second.clone()].concat()).unwrap();
            let file = crate::disk::Disk::real().open(&path, crate::disk::Mode::Read).unwrap();
            let mut reader = RecordReader::new(&file, 0, 1 << 20);
            let mut places = Vec::new();
            while let Some(record) = reader.next().unwrap() {
                places.push((record.offset as usize, record.length as usize));
            }
            let length = second.len();
            assert_eq!(places, [(0, start), (start, length), (start + length, length)]);
        }
    }
}

#[test]
fn lines_of_a_head_end_with_carriage_return_and_line_feed_and_have_no_other_control_character() {
    let read = |head: &str| read_head(&mut head.as_bytes()).map_err(|error| error.to_string());
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        read("WARC/1.0\r\nA: <x>\r\nWARC-Target-URI:\t<u> \r\n\r\nblock").unwrap(),
        [field("A", "<x>"), field("WARC-Target-URI", "u"),]
    );
    assert_eq!(read("WARC/1.1\r\n\r\n").unwrap(), []);
    let refused = [
        ("WARC/1.1\nA: b\r\n\r\n", "begin with WARC/1.1"),
        ("WARC/1.1\r\nA: b\nC: d\r\n\r\n", "a line feed alone"),
        ("WARC/1.1\r\nA: b\rC: d\r\n\r\n", "a control character"),
        ("WARC/1.1\r\nA: \0\r\n\r\n", "a control character"),
        ("WARC/1.1\r\nA\r\n\r\n", "without a colon"),
        (" \r\n\r\n", "begin with WARC/1.1"),
    ];
    for (head, why) in refused {
        let refusal = read(head).unwrap_err();
        assert!(refusal.contains(why), "{head:?}: {refusal}");
    }
}
