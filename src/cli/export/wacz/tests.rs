//! A WACZ of an archive in memory: what is in it, and that its parts agree.

use std::collections::BTreeMap;
use std::io::Read;

use clap::Parser;
use flate2::read::{DeflateDecoder, MultiGzDecoder};
use rawzip::{CompressionMethod, ZipArchive};
use serde_json::Value;

use super::package::sha256;
use super::*;
use crate::cli::archive::tests::FakeArchive;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: WaczArgs,
}

/// The files of a WACZ, with the checksums of the ZIP file verified, and whether each is stored as it is.
fn unpack(bytes: &[u8]) -> BTreeMap<String, (Vec<u8>, bool)> {
    let zip = ZipArchive::from_slice(bytes).unwrap();
    let mut files = BTreeMap::new();
    for header in zip.entries() {
        let header = header.unwrap();
        let entry = zip.get_entry(header.wayfinder()).unwrap();
        let mut content = Vec::new();
        let is_stored = header.compression_method() == CompressionMethod::STORE;
        if is_stored {
            entry.verifying_reader(entry.data()).read_to_end(&mut content).unwrap();
        } else {
            entry.verifying_reader(DeflateDecoder::new(entry.data())).read_to_end(&mut content).unwrap();
        }
        files.insert(String::from_utf8(header.file_path().as_ref().to_vec()).unwrap(), (content, is_stored));
    }
    files
}

fn export(archive: &FakeArchive, segment_bytes: u64, args: &[&str]) -> BTreeMap<String, (Vec<u8>, bool)> {
    let mut out = Vec::new();
    let args = Cli::parse_from([&["wacz"], args].concat()).args;
    let now = Time::from_ms(1_700_000_000_123);
    args.write(archive, now, segment_bytes, &mut out, &mut Vec::new()).unwrap().unwrap();
    unpack(&out)
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut content).unwrap();
    content
}

/// Lines of the index: the fields of each, with the head of the record that it points to.
fn index(files: &BTreeMap<String, (Vec<u8>, bool)>) -> Vec<(Value, String)> {
    let lines = String::from_utf8(gunzip(&files["indexes/index.cdx.gz"].0)).unwrap();
    assert!(lines.lines().is_sorted());
    let record = |line: &str| {
        let fields: Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let number = |name: &str| fields[name].as_str().unwrap().parse::<usize>().unwrap();
        let file = &files[&format!("archive/{}", fields["filename"].as_str().unwrap())];
        assert!(file.1, "readers cannot seek in a file that is compressed again");
        let member = &file.0[number("offset")..number("offset") + number("length")];
        (fields, String::from_utf8(gunzip(member)).unwrap())
    };
    lines.lines().map(record).collect()
}

fn pages(files: &BTreeMap<String, (Vec<u8>, bool)>) -> Vec<Value> {
    let text = String::from_utf8(files["pages/pages.jsonl"].0.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn archive() -> FakeArchive {
    let mut archive = FakeArchive::default();
    archive.page("https://a.example/robots.txt", 200, "text/plain", b"");
    let html = |title: &str, links: &str| format!("<title>{title}</title><p>Hello</p>{links}").into_bytes();
    let links = "<a href='/b?utm_source=x'>b</a> <a href='/c'>c</a> <a href=/none?utm_source=y>none</a>";
    archive.page("https://a.example/", 200, "text/html", &html("A &amp; B", links));
    archive.page("https://a.example/b", 200, "text/html", &html("", ""));
    archive.page("https://a.example/c?utm_source=z", 200, "text/html", &html("C", ""));
    archive.page("https://a.example/d.png", 200, "image/png", b"png");
    archive.page("https://a.example/gone", 404, "text/html", &html("gone", ""));
    archive
}

#[test]
fn a_wacz_has_what_it_must_have_and_the_hashes_of_it() {
    let files = export(&archive(), SEGMENT_BYTES, &["--title", "An archive"]);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "archive/data-00000.warc.gz",
            "archive/spellings.warc.gz",
            "datapackage-digest.json",
            "datapackage.json",
            "indexes/index.cdx.gz",
            "indexes/index.idx",
            "pages/pages.jsonl",
        ]
    );
    let manifest: Value = serde_json::from_slice(&files["datapackage.json"].0).unwrap();
    assert_eq!(manifest["profile"], "data-package");
    assert_eq!(manifest["wacz_version"], "1.1.1");
    assert_eq!(manifest["title"], "An archive");
    assert_eq!(manifest["created"], "2023-11-14T22:13:20Z");
    assert_eq!(manifest["mainPageUrl"], "https://a.example/");
    let resources = manifest["resources"].as_array().unwrap();
    assert_eq!(resources.len(), files.len() - 2);
    for resource in resources {
        let content = &files[resource["path"].as_str().unwrap()].0;
        assert_eq!(resource["hash"], sha256(content), "{resource}");
        assert_eq!(resource["bytes"], content.len());
    }
    let digest: Value = serde_json::from_slice(&files["datapackage-digest.json"].0).unwrap();
    assert_eq!(digest["hash"], sha256(&files["datapackage.json"].0));
}

#[test]
fn every_html_page_is_listed_with_its_title_and_its_text_on_request() {
    let plain = pages(&export(&archive(), SEGMENT_BYTES, &[]));
    assert_eq!(plain[0]["format"], "json-pages-1.0");
    let urls: Vec<&str> = plain[1..].iter().map(|page| page["url"].as_str().unwrap()).collect();
    assert_eq!(urls, ["https://a.example/", "https://a.example/b", "https://a.example/c?utm_source=z"]);
    assert_eq!((plain[1]["title"].as_str(), plain[1]["seed"].as_bool()), (Some("A & B"), Some(true)));
    assert_eq!(plain[1]["ts"], "2005-04-28T01:16:15Z");
    assert!(plain[1].get("text").is_none() && plain[2].get("title").is_none());
    let with_text = pages(&export(&archive(), SEGMENT_BYTES, &["--text", "--prefix", "https://a.example/b"]));
    assert_eq!((with_text.len(), with_text[1]["text"].as_str()), (2, Some("Hello")));
    assert_eq!(with_text[0]["hasText"], true);
}

#[test]
fn every_line_of_the_index_leads_to_a_record_of_its_url() {
    for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
        // so short that every exchange has its own file
        let archive = FakeArchive { compression: Some(compression), ..archive() };
        let files = export(&archive, 1, &["--robots", "--memory", "1MiB"]);
        assert!(files.contains_key("archive/data-00005.warc.gz") && !files.contains_key("archive/data-00006.warc.gz"));
        let lines = index(&files);
        for (fields, record) in &lines {
            assert!(record.starts_with("WARC/1.1\r\n"));
            assert!(record.contains(&format!("WARC-Target-URI: {}\r\n", fields["url"].as_str().unwrap())), "{fields}");
        }
        let answers = lines.iter().filter(|(fields, _)| fields["filename"] != "spellings.warc.gz").count();
        assert_eq!(answers, archive.stored.len());
        let small = String::from_utf8(files["indexes/index.idx"].0.clone()).unwrap();
        let (key, at) = small.lines().nth(1).unwrap().split_once(" {").unwrap();
        assert!(key.starts_with("example,a)/ 2005") && at.contains("\"offset\":0"), "{small}");
    }
}

#[test]
fn links_in_another_spelling_have_a_record_that_leads_to_the_page() {
    let lines = index(&export(&archive(), SEGMENT_BYTES, &[]));
    let spelt: Vec<_> = lines.iter().filter(|(fields, _)| fields["filename"] == "spellings.warc.gz").collect();
    let found: Vec<_> = spelt.iter().map(|(fields, _)| fields["url"].as_str().unwrap()).collect();
    assert_eq!(found, ["https://a.example/b?utm_source=x", "https://a.example/c"]);
    assert!(spelt.iter().all(|(fields, _)| fields["mime"] == "warc/revisit"));
    for (record, refers_to) in spelt.iter().zip(["https://a.example/b", "https://a.example/c?utm_source=z"]) {
        assert!(record.1.contains(&format!("WARC-Refers-To-Target-URI: {refers_to}\r\n")), "{}", record.1);
        assert!(record.1.contains("revisit/identical-payload-digest\r\n") && record.1.contains("HTTP/1.1 200 OK\r\n"));
    }
}

#[test]
fn what_a_selected_revisit_refers_to_comes_along_and_is_no_page_of_the_list() {
    let mut archive = archive();
    archive.page("https://b.example/copy", 200, "text/html", b"<title>copy</title>");
    archive.stored[6].0.payload = Some(1);
    archive.page("https://b.example/copy2", 200, "text/html", b"<title>copy</title>");
    archive.stored[7].0.payload = Some(1);
    let files = export(&archive, SEGMENT_BYTES, &["--prefix", "https://b.example/"]);
    let urls = |lines: &[(Value, String)]| -> Vec<String> {
        lines.iter().map(|(fields, _)| fields["url"].as_str().unwrap().to_owned()).collect()
    };
    let lines = index(&files);
    assert_eq!(urls(&lines), ["https://a.example/", "https://b.example/copy", "https://b.example/copy2"]);
    assert_eq!(pages(&files).len(), 3);
    // one that is selected anyway comes once
    assert_eq!(urls(&index(&export(&archive, SEGMENT_BYTES, &[]))).len(), 7 + 2);
}

#[test]
fn an_empty_selection_is_a_whole_wacz_without_pages() {
    let files = export(&archive(), SEGMENT_BYTES, &["--prefix", "https://nowhere.example/"]);
    assert!(index(&files).is_empty());
    assert_eq!(pages(&files).len(), 1);
    assert!(!files.contains_key("archive/spellings.warc.gz"));
}

#[test]
fn a_signed_file_names_both_keys_and_fits_its_manifest() {
    let mut archive = FakeArchive::default();
    archive.page("https://a.example/", 200, "text/html", b"<title>A</title>");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key.pem");
    let identity = crate::signature::SigningKey::create(&path).unwrap();
    let files = export(&archive, 1 << 30, &["--key", path.to_str().unwrap()]);
    let json = |name: &str| serde_json::from_slice::<Value>(&files[name].0).unwrap();
    let (digest, package) = (json("datapackage-digest.json"), json("datapackage.json"));
    let signed = &digest["signedData"];
    assert_eq!(signed["hash"], sha256(&files["datapackage.json"].0));
    assert_eq!((&signed["hash"], &signed["created"]), (&digest["hash"], &package["created"]));
    let archive_key = crate::signature::ArchiveKey::beside(&path).unwrap();
    assert_eq!(signed["publicKey"], archive_key.public_key());
    let text = format!("crawler-wacz {} {}", signed["hash"].as_str().unwrap(), archive_key.public_key());
    assert_eq!(digest["identity"]["key"]["kid"], identity.thumbprint());
    assert!(identity.jwk().verifies(&text, digest["identity"]["signature"].as_str().unwrap()));
    assert!(!identity.jwk().verifies(&text[1..], digest["identity"]["signature"].as_str().unwrap()));
    let unsigned = export(&archive, 1 << 30, &[]);
    let digest: Value = serde_json::from_slice(&unsigned["datapackage-digest.json"].0).unwrap();
    assert_eq!(digest.as_object().unwrap().len(), 2);
}
