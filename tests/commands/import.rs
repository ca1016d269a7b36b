//! `crawler import`: archives that warcio wrote, by the real binary, and every command that reads crawls on them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::tools::{Tool, has};

/// Writes `a.warc.gz`, `b.warc` and `c.wacz`'s WARC by warcio: pages, a POST, a revisit of a page in the other file.
const WRITE: &str = r#"
import io, sys, zipfile
from warcio.warcwriter import WARCWriter
from warcio.statusandheaders import StatusAndHeaders

def exchange(writer, url, date, body, method="GET", sent=b"", kind="text/html"):
    head = StatusAndHeaders("200 OK", [("Content-Type", kind), ("Content-Length", str(len(body)))], protocol="HTTP/1.1")
    record = writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=head,
                                       warc_headers_dict={"WARC-Date": date})
    asked = StatusAndHeaders(f"{method} / HTTP/1.1", [("Content-Type", "text/plain")], is_http_request=True)
    request = writer.create_warc_record(url, "request", payload=io.BytesIO(sent), http_headers=asked)
    writer.write_request_response_pair(request, record)
    return record.rec_headers.get_header("WARC-Payload-Digest")

page = b"<html><title>%s</title><p>words of the page %s<a href=/b>b</a></html>"
with open("b.warc", "wb") as out:
    writer = WARCWriter(out, gzip=False)
    exchange(writer, "http://site.example/", "2020-01-02T00:00:00Z", page % (b"new", b"new"))
    writer.write_record(writer.create_warc_record(
        "http://site.example/other", "resource", payload=io.BytesIO(b"text"), warc_content_type="text/plain",
        warc_headers_dict={"WARC-Date": "2020-01-02T00:00:02Z"}))
with open("a.warc.gz", "wb") as out:
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warcinfo_record("a.warc.gz", {"software": "x"}))
    exchange(writer, "http://site.example/", "2020-01-01T00:00:00Z", page % (b"old", b"old"))
    digest = exchange(writer, "http://site.example/b", "2020-01-01T00:00:01Z", page % (b"b", b"b"))
    exchange(writer, "http://site.example/form", "2020-01-01T00:00:02Z", b"posted", "POST", b"a=1", "text/plain")
head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
with open("b.warc", "ab") as out:
    writer = WARCWriter(out, gzip=False)
    writer.write_record(writer.create_revisit_record(
        "http://site.example/b", digest, "http://site.example/b", "2020-01-01T00:00:01Z", http_headers=head,
        warc_headers_dict={"WARC-Date": "2020-01-02T00:00:01Z"}))
with zipfile.ZipFile("c.wacz", "w") as out:
    out.write("a.warc.gz", "archive/a.warc.gz")
"#;

/// Prints the type, id and block of each record of a file but warcinfo, sorted.
const PRINT: &str = r#"
import hashlib, sys
from warcio.archiveiterator import ArchiveIterator
lines = []
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        for record in ArchiveIterator(file, no_record_parse=True):
            if record.rec_type != "warcinfo":
                head = sorted(record.rec_headers.headers)
                lines.append(f"{record.rec_type} {head} {hashlib.sha1(record.raw_stream.read()).hexdigest()}")
print("\n".join(sorted(lines)))
"#;

fn crawler(dir: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(arguments.split(' ')).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn prints(dir: &Path, arguments: &str) -> String {
    let output = crawler(dir, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn refuses(dir: &Path, arguments: &str, code: i32) -> String {
    let output = crawler(dir, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    said
}

fn python(dir: &Path, script: &str, arguments: &[&str]) -> String {
    let output = Command::new("python3").args(["-c", script]).args(arguments).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A directory with the files that [`WRITE`] writes; nothing without warcio.
fn written() -> Option<tempfile::TempDir> {
    if !has(Tool::Python("warcio")) {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    python(dir.path(), WRITE, &[]);
    Some(dir)
}

#[test]
fn archives_of_others_are_read_by_every_command_that_reads_crawls() {
    let Some(written) = written() else { return };
    let dir = written.path();
    let said = prints(dir, "import b.warc a.warc.gz --dir site");
    assert_eq!(
        said,
        "11 records taken over: 4 request, 1 resource, 4 response, 1 revisit, 1 warcinfo\n\
         6 pages in the archive now\n"
    );
    prints(dir, "verify --dir site");
    assert_eq!(prints(dir, "list --dir site --all").lines().count(), 6);
    assert!(prints(dir, "get http://site.example/ --dir site").contains("words of the page new"));
    assert!(prints(dir, "get http://site.example/ --version 1 --dir site").contains("words of the page old"));
    assert!(prints(dir, "get http://site.example/b --dir site").contains("words of the page b"));
    assert_eq!(prints(dir, "get http://site.example/other --dir site"), "text");
    let form = "http://site.example/form#~POST&content-type:text/plain&&a=1";
    assert_eq!(prints(dir, &format!("get {form} --dir site")), "posted");
    assert!(prints(dir, &format!("get {form} --warc --dir site")).contains("POST / HTTP/1.1"));
    assert!(prints(dir, "extract --dir site").contains("new"));
    assert!(prints(dir, "changes --since 2020-01-01 --until 2020-01-02 --dir site").contains("http://site.example/"));
    assert!(prints(dir, "export links --dir site").contains("http://site.example/b\tanchor"));
    for command in ["duplicates", "follow --once", "export cdxj", "export urls", "export wat", "export wet", "status"] {
        prints(dir, &format!("{command} --dir site"));
    }
    for command in ["explain http://site.example/b", "report crawl", "audit", "diff http://site.example/"] {
        prints(dir, &format!("{command} --dir site"));
    }
    prints(dir, "export warc --all --dir site --output out.warc.gz");
    let sorted = |files: &[&str]| python(dir, PRINT, files);
    assert_eq!(sorted(&["out.warc.gz"]), sorted(&["a.warc.gz", "b.warc"]), "as they came");
}

#[test]
fn an_imported_directory_is_not_crawled_and_nothing_of_it_is_removed() {
    let Some(written) = written() else { return };
    let dir = written.path();
    prints(dir, "import c.wacz --dir site");
    for command in ["http://site.example/", "compact", "forget http://site.example/"] {
        let said = refuses(dir, &format!("{command} --dir site"), 2);
        assert!(said.contains("its pages were imported"), "{said}");
    }
    assert_eq!(prints(dir, "list --dir site").lines().count(), 3);
    assert!(refuses(dir, "import c.wacz out --dir site", 4).contains("out"));
    std::fs::write(dir.join("text.txt"), "no archive").unwrap();
    assert!(refuses(dir, "import text.txt --dir other", 2).contains("neither WARC nor WACZ"));
    let port = crate::warc::server::serve(Vec::new());
    refuses(dir, &format!("http://127.0.0.1:{port}/ --dir crawl --max-time 1s"), 5);
    assert!(refuses(dir, "import c.wacz --dir crawl", 2).contains("it has a crawl"));
}

#[test]
fn what_is_there_is_passed_over_a_copy_is_whole_and_damage_is_told() {
    let Some(written) = written() else { return };
    let dir = written.path();
    prints(dir, "import a.warc.gz --dir site --quiet");
    let said = prints(dir, "import a.warc.gz b.warc --dir site");
    assert!(said.starts_with("4 records taken over") && said.ends_with("6 pages in the archive now\n"), "{said}");
    prints(dir, "backup site copy");
    prints(dir, "verify --dir copy");
    assert!(refuses(dir, "http://site.example/ --dir copy", 2).contains("its pages were imported"));
    std::fs::remove_file(dir.join("site/pages/key.dat")).unwrap();
    refuses(dir, "verify --dir site", 3);
    prints(dir, "verify --rebuild --dir site");
    prints(dir, "verify --dir site");
    let mut bytes = std::fs::read(dir.join("a.warc.gz")).unwrap();
    bytes.truncate(bytes.len() - 20);
    std::fs::write(dir.join("cut.warc.gz"), bytes).unwrap();
    let output = crawler(dir, "import cut.warc.gz --dir cut");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("cut.warc.gz:") && said.contains("1 damaged part left out"), "{said}");
}
