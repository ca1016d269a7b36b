//! Payloads of earlier archives: not stored again, and found where they are.

use std::fs;
use std::path::Path;

use super::archive::{Record, records};
use super::server::{Answer, serve};
use super::{command, crawl_into, prints, record_of};

/// A page that is the same in every crawl, one at two addresses, and one that is too short to be worth it.
fn site() -> Vec<(String, Answer)> {
    let long = |what: &str| Answer::html(format!("<title>{what}</title><p>{}</p>", what.repeat(100)));
    vec![
        ("/one".to_owned(), long("one")),
        ("/two".to_owned(), long("two")),
        ("/short".to_owned(), Answer::html("short")),
        ("/error".to_owned(), Answer { status: "404 Not Found", ..long("gone") }),
    ]
}

fn against(archive: &str) -> String {
    format!("[container]\ndedup_against = [\"{archive}\"]\n")
}

fn pages(dir: &Path, name: &str) -> Vec<Record> {
    records(&dir.join(name).join("pages"))
}

/// The fields by which a revisit names what it refers to.
fn refers_to(revisit: &Record) -> [Option<&str>; 3] {
    ["WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"].map(|name| revisit.field(name))
}

#[test]
fn a_payload_of_an_earlier_crawl_is_a_revisit_of_its_record_and_read_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let port = serve(site());
    crawl_into(at, "first", port, "");
    crawl_into(at, "second", port, &against("first"));
    let (first, second) = (pages(at, "first"), pages(at, "second"));
    for path in ["/one", "/two"] {
        let original = record_of(&first, "response", port, path);
        let revisit = record_of(&second, "revisit", port, path);
        assert_eq!(refers_to(revisit), {
            ["WARC-Record-ID", "WARC-Target-URI", "WARC-Date"].map(|name| original.field(name))
        });
        assert!(revisit.field("WARC-Profile").unwrap().ends_with("/identical-payload-digest"));
        assert_eq!(revisit.field("WARC-Payload-Digest"), original.field("WARC-Payload-Digest"));
        let (line, _, body) = revisit.http();
        assert_eq!((line.as_str(), body), ("HTTP/1.1 200 OK", &b""[..]));
        let metadata = String::from_utf8_lossy(&record_of(&second, "metadata", port, path).block).into_owned();
        assert!(metadata.contains("payloadIn: first\r\n"), "{metadata}");
        let url = format!("http://127.0.0.1:{port}{path}");
        assert_eq!(prints(at, &["get", "--dir", "second", &url]), prints(at, &["get", "--dir", "first", &url]));
    }
    for path in ["/short", "/error", "/robots.txt", "/"] {
        let stored = |records: &[Record]| {
            record_of(records, "response", port, path).field("WARC-Payload-Digest").map(str::to_owned)
        };
        assert_eq!(stored(&second), stored(&first), "{path}");
    }
    let lines = prints(at, &["export", "cdxj", "--dir", "second", "--prefix", &format!("http://127.0.0.1:{port}/one")]);
    assert!(lines.contains("\"mime\":\"warc/revisit\""), "{lines}");
    assert_eq!(prints(at, &["extract", "--dir", "second", "--status", "200"]).matches("\tone").count(), 1);
    verify_and_rebuild(at, "second");
    // gone, it is still known where the content is
    fs::rename(at.join("first"), at.join("moved")).unwrap();
    let get = command(at, &["get", "--dir", "second", &format!("http://127.0.0.1:{port}/one")]);
    let said = String::from_utf8_lossy(&get.stderr).into_owned();
    let original = record_of(&first, "response", port, "/one");
    assert_ne!(get.status.code(), Some(0));
    for word in
        ["in another archive, first", original.field("WARC-Date").unwrap(), original.field("WARC-Record-ID").unwrap()]
    {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_not_exported(at, "in another archive, first");
    // and a run that goes on uses what is known of it
    let said = crawl_into(at, "second", port, &against("first"));
    assert!(said.contains("the dedup index of the run before is used"), "{said}");
    let anew = command(at, &["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "third"]);
    assert_eq!(anew.status.code(), Some(2), "{}", String::from_utf8_lossy(&anew.stderr));
}

/// Exports that stand alone have nothing of the pages of `second` whose content is elsewhere, and say so.
fn assert_not_exported(at: &Path, word: &str) {
    for kind in ["warc", "wacz"] {
        let output = at.join(kind);
        let args = ["export", kind, "--dir", "second", "--output", output.to_str().unwrap()];
        let export = command(at, &args);
        let said = String::from_utf8_lossy(&export.stderr).into_owned();
        assert_ne!(export.status.code(), Some(0), "{said}");
        assert_eq!(said.matches(word).count(), 3, "both pages, and the first of them as the reason: {said}");
        assert!(output.exists(), "{kind}: what is there is exported");
    }
}

/// The index says the same when it is made again from the records alone.
fn verify_and_rebuild(at: &Path, name: &str) {
    let keys = at.join(name).join("pages/key.dat");
    let before = fs::read(&keys).unwrap();
    assert!(prints(at, &["verify", "--dir", name]).contains("no damage"));
    prints(at, &["verify", "--rebuild", "--dir", name]);
    assert!(fs::read(&keys).unwrap() == before, "the rebuilt key.dat is another one");
}

#[test]
fn a_cdxj_file_names_payloads_to_the_second_and_under_any_url() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let port = serve(site());
    crawl_into(at, "first", port, "");
    prints(at, &["export", "cdxj", "--dir", "first", "--output", "first.cdxj"]);
    // the same pages at another address
    let other = serve(site());
    crawl_into(at, "second", other, &against("first.cdxj"));
    let (first, second) = (pages(at, "first"), pages(at, "second"));
    let original = record_of(&first, "response", port, "/one");
    let revisit = record_of(&second, "revisit", other, "/one");
    let second_of = |record: &Record| format!("{}Z", record.field("WARC-Date").unwrap().split_once('.').unwrap().0);
    let url = format!("http://127.0.0.1:{port}/one");
    assert_eq!(refers_to(revisit), [None, Some(url.as_str()), Some(second_of(original).as_str())]);
    verify_and_rebuild(at, "second");
    let get = command(at, &["get", "--dir", "second", &format!("http://127.0.0.1:{other}/one")]);
    assert!(String::from_utf8_lossy(&get.stderr).contains("in another archive, first.cdxj"), "{get:?}");
    assert_not_exported(at, "in another archive, first.cdxj");
    // a crawl against the second alone stores what that one only refers to
    crawl_into(at, "third", port, &against("second"));
    assert_eq!(record_of(&pages(at, "third"), "response", port, "/one").http().2, original.http().2);
}

#[test]
fn what_is_no_earlier_archive_is_refused_before_anything_is_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    fs::create_dir(at.join("empty")).unwrap();
    fs::write(at.join("seeds.txt"), "http://127.0.0.1:9/\n").unwrap();
    for (name, words) in
        [("nowhere", "no crawl directory or CDXJ file"), ("empty", "not a crawl directory"), ("crawl", "of this crawl")]
    {
        fs::write(at.join("crawler.toml"), format!("{}{}", super::CONFIG, against(name))).unwrap();
        let run = command(at, &["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
