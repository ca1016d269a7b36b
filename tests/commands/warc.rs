//! The content of the archive: the real binary crawls a server whose every byte is known, and its WARC files are read
//! by a reader that shares no code with the writer.

pub mod archive;
mod earlier;
pub mod server;
mod stated;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use archive::{Record, header, records, sha1_of};
use server::{Answer, CODINGS, Framing, PAGE, decoded, encoded, serve};

const CONFIG: &str = r#"
    [crawl]
    contact = "test@example.com"
    [network]
    allow = ["127.0.0.0/8"]
    [dns]
    nameservers = ["127.0.0.1:9"]
    [scope]
    mode = "any"
    [politeness]
    delay_factor = 0.0
    delay_min = "0s"
    delay_per_ip = "0s"
    give_up = "1s"
    connections_per_host = 8
"#;

/// Crawls what a server with `answers` links to; the records of the archive, and the port.
fn crawl(answers: Vec<(String, Answer)>, extra: &str) -> (Vec<Record>, u16) {
    let port = serve(answers);
    let dir = tempfile::tempdir().unwrap();
    crawl_into(dir.path(), "crawl", port, extra);
    (records(&dir.path().join("crawl/pages")), port)
}

/// Crawls what the server at `port` links to into the directory `name` in `dir`; what was said.
fn crawl_into(dir: &Path, name: &str, port: u16, extra: &str) -> String {
    crawl_by(dir, name, port, &format!("{CONFIG}{extra}"))
}

/// The same with these settings.
fn crawl_by(dir: &Path, name: &str, port: u16, config: &str) -> String {
    fs::write(dir.join("seeds.txt"), format!("http://127.0.0.1:{port}/\n")).unwrap();
    fs::write(dir.join("crawler.toml"), config).unwrap();
    let said = command(dir, &["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", name]);
    assert_eq!(said.status.code(), Some(0), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stderr).into_owned()
}

/// Runs the binary in `dir`.
fn command(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

/// Returns what a command prints that ends well.
fn prints(dir: &Path, args: &[&str]) -> String {
    let output = command(dir, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The only record of `kind` for `path`.
fn record_of<'a>(records: &'a [Record], kind: &str, port: u16, path: &str) -> &'a Record {
    let url = format!("http://127.0.0.1:{port}{path}");
    let mut found =
        records.iter().filter(|record| record.field("WARC-Target-URI") == Some(&url) && record.kind() == kind);
    let record = found.next().unwrap_or_else(|| panic!("no {kind} of {url}"));
    assert!(found.next().is_none(), "two of {kind} of {url}");
    record
}

#[test]
fn every_content_coding_in_every_framing_is_stored_so_that_its_own_headers_decode_it() {
    let framings = [Framing::Length, Framing::Chunks(100), Framing::Chunks(7), Framing::Close];
    let mut digests = BTreeSet::new();
    for framing in framings {
        // one crawl a framing: the same payload twice in a crawl may be stored as one
        let answers = CODINGS.map(|coding| (format!("/{coding}"), Answer::page(coding, framing)));
        let (records, port) = crawl(answers.to_vec(), "");
        for coding in CODINGS {
            let record = record_of(&records, "response", port, &format!("/{coding}"));
            let (status, headers, body) = record.http();
            assert_eq!(status, "HTTP/1.1 200 OK");
            let named = header(&headers, "content-encoding");
            assert_eq!(named, Some(coding).filter(|&coding| coding != "identity"), "{framing:?}");
            assert_eq!(header(&headers, "transfer-encoding"), None, "{coding} {framing:?}");
            let masked = header(&headers, "x-crawler-transfer-encoding");
            assert_eq!(masked, matches!(framing, Framing::Chunks(_)).then_some("chunked"), "{coding} {framing:?}");
            assert_eq!(header(&headers, "content-length"), Some(body.len().to_string().as_str()));
            assert_eq!(header(&headers, "server"), Some("by hand"));
            assert_eq!(body, encoded(coding), "{coding} {framing:?}");
            assert_eq!(decoded(named, body), PAGE.as_bytes(), "{coding} {framing:?}");
            assert_eq!(record.field("WARC-Payload-Digest"), Some(sha1_of(body).as_str()));
            assert_eq!(record.field("WARC-Truncated"), None);
            digests.insert((coding, record.field("WARC-Payload-Digest").unwrap().to_owned()));
        }
    }
    assert_eq!(digests.len(), CODINGS.len(), "a payload has one digest in all framings: {digests:#?}");
}

#[test]
fn every_record_has_its_fields_its_digest_and_its_links_to_the_others() {
    let answers = vec![("/one".to_owned(), Answer::html("one")), ("/two".to_owned(), Answer::html("two"))];
    let (records, port) = crawl(answers, "");
    let mut ids = BTreeSet::new();
    for record in &records {
        let id = record.field("WARC-Record-ID").unwrap();
        assert!(id.starts_with("<urn:uuid:") && id.ends_with('>') && id.len() == 47, "{id}");
        assert!(ids.insert(id), "{id} comes twice");
        let date = record.field("WARC-Date").unwrap();
        assert!(date.starts_with("20") && date.ends_with('Z') && date.len() == 24, "{date}");
        assert_eq!(record.field("WARC-Block-Digest"), Some(sha1_of(&record.block).as_str()));
        let on_the_net = matches!(record.kind(), "request" | "response");
        assert_eq!(record.field("WARC-IP-Address"), on_the_net.then_some("127.0.0.1"), "{}", record.kind());
        assert_eq!(record.field("WARC-Target-URI").is_none(), record.kind() == "warcinfo");
        assert!(!record.field("WARC-Target-URI").unwrap_or_default().contains(['<', '>']));
    }
    for path in ["/", "/one", "/two", "/robots.txt"] {
        let response = record_of(&records, "response", port, path);
        let request = record_of(&records, "request", port, path);
        let metadata = record_of(&records, "metadata", port, path);
        assert_eq!(request.field("WARC-Concurrent-To"), response.field("WARC-Record-ID"));
        assert_eq!(metadata.field("WARC-Concurrent-To"), response.field("WARC-Record-ID"));
        assert_eq!(request.field("WARC-Date"), response.field("WARC-Date"));
        let (line, headers, body) = request.http();
        assert_eq!(line, format!("GET {path} HTTP/1.1"));
        assert_eq!(header(&headers, "host"), Some(format!("127.0.0.1:{port}").as_str()));
        assert!(header(&headers, "user-agent").unwrap().contains("test@example.com"));
        assert!(body.is_empty());
    }
}

#[test]
fn a_body_that_is_cut_says_why_and_has_the_length_of_what_is_stored() {
    let long = || noise(100 << 10);
    let broken = |framing| Answer { breaks_at: Some(700), framing, ..Answer::html(vec![b'x'; 2_000]) };
    let answers = vec![
        ("/long".to_owned(), Answer::html(long())),
        ("/long-chunks".to_owned(), Answer { framing: Framing::Chunks(5_000), ..Answer::html(noise(101 << 10)) }),
        ("/fits".to_owned(), Answer::html(noise(64 << 10))),
        ("/broken".to_owned(), broken(Framing::Length)),
        ("/broken-chunks".to_owned(), broken(Framing::Chunks(300))),
    ];
    let (records, port) = crawl(answers, "[fetch]\nmax_body = \"64KiB\"\nretries = 0\n");
    for (path, truncated, length) in [
        ("/long", Some("length"), 64 << 10),
        ("/long-chunks", Some("length"), 64 << 10),
        ("/fits", None, 64 << 10),
        ("/broken", Some("disconnect"), 700),
        ("/broken-chunks", Some("disconnect"), 657),
    ] {
        let record = record_of(&records, "response", port, path);
        let (_, headers, body) = record.http();
        assert_eq!(record.field("WARC-Truncated"), truncated, "{path}");
        assert_eq!(body.len(), length, "{path}");
        assert_eq!(header(&headers, "content-length"), Some(length.to_string().as_str()), "{path}");
        assert_eq!(record.field("WARC-Payload-Digest"), Some(sha1_of(body).as_str()), "{path}");
    }
}

#[test]
fn a_body_that_stops_coming_is_stored_as_cut_by_time() {
    let stalls = Answer { breaks_at: Some(500), stalls: true, ..Answer::html(vec![b'x'; 900]) };
    let extra = "[fetch]\ntimeout_total = \"2s\"\ntimeout_connect = \"2s\"\nretries = 0\n";
    let (records, port) = crawl(vec![("/stalls".to_owned(), stalls)], extra);
    let record = record_of(&records, "response", port, "/stalls");
    let (_, headers, body) = record.http();
    assert_eq!(record.field("WARC-Truncated"), Some("time"));
    assert_eq!((body.len(), header(&headers, "content-length")), (500, Some("500")));
}

#[test]
fn every_file_begins_with_a_warcinfo_record_and_none_outgrows_its_segment() {
    let pages = (0..6).map(|n| (format!("/{n}"), Answer::html(noise((400 << 10) + n)))).collect();
    let (records, _) = crawl(pages, "[container]\nsegment_bytes = \"1MiB\"\n");
    let files: BTreeSet<_> = records.iter().map(|record| record.file.clone()).collect();
    assert!(files.len() >= 3, "{files:?}");
    for (number, file) in files.iter().enumerate() {
        assert_eq!(*file, format!("value-{number:05}.warc.gz"), "all of them are closed");
        let here: Vec<_> = records.iter().filter(|record| record.file == *file).collect();
        let info = here[0];
        assert_eq!(info.kind(), "warcinfo");
        assert_eq!(info.field("WARC-Filename"), Some(file.as_str()));
        assert_eq!(info.field("Content-Type"), Some("application/warc-fields"));
        assert!(here[1..].iter().all(|record| record.kind() != "warcinfo"));
        let text = std::str::from_utf8(&info.block).unwrap();
        let software = format!("software: crawler/{}\r\n", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&software), "{text}");
        assert!(text.contains("format: WARC File Format 1.1\r\n"), "{text}");
        assert!(text.contains("crawler-config: segment_bytes = \"1MiB\"\r\n"), "{text}");
        assert!(text.contains("x-crawler-transfer-encoding"), "{text}");
        let stored: usize = here.iter().map(|record| record.block.len()).sum();
        assert!(stored < (1 << 20) + 8_192, "{file}: {stored}");
    }
}

#[test]
fn a_revisit_of_a_robots_txt_names_its_record() {
    let text = format!("# {}", "the same ".repeat(100));
    let answers = ["/robots.txt", "/copy"].map(|path| (path.to_owned(), Answer::html(text.as_str())));
    let (records, port) = crawl(answers.to_vec(), "");
    let revisit = record_of(&records, "revisit", port, "/copy");
    let first = record_of(&records, "response", port, "/robots.txt");
    assert_eq!(revisit.field("WARC-Refers-To"), first.field("WARC-Record-ID"));
}

/// Bytes that no compressor makes smaller.
fn noise(count: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(count as u64);
    (0..count).map(|_| random.u8(..)).collect()
}
