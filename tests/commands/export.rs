//! Exports of a real crawl with the real binary: what other tools are given is whole and agrees with itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crawler::disk::{Disk, Mode};
use crawler::simweb::{SimOptions, SimWeb};
use crawler::warc::{Record, RecordReader};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

struct Site {
    web: SimWeb,
    dir: tempfile::TempDir,
}

impl Site {
    fn start(options: SimOptions, extra: &str) -> Site {
        let web = SimWeb::start(options).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("seeds.txt"), web.seeds().join("\n")).unwrap();
        // twice is as often as a flaky page fails, and every retry of one that stays broken holds its host back
        let config = format!("{}\n[fetch]\nretries = 2\n{extra}", web.config_toml());
        fs::write(dir.path().join("crawler.toml"), config).unwrap();
        Site { web, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn crawl(&self) -> Child {
        let mut command = self.command(&["--seeds", "seeds.txt", "--config", "crawler.toml", "-q"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Returns what `crawler ARGS` prints. It must succeed without a word on standard error.
    fn prints(&self, args: &[&str]) -> Vec<u8> {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", said(&output));
        output.stdout
    }

    fn lines(&self, args: &[&str]) -> Vec<String> {
        String::from_utf8(self.prints(args)).unwrap().lines().map(str::to_owned).collect()
    }

    fn json(&self, args: &[&str]) -> Vec<serde_json::Value> {
        self.lines(args).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The records of a WARC stream.
    fn records(&self, bytes: &[u8]) -> Vec<Record> {
        fs::write(self.path("stream"), bytes).unwrap();
        records_of(&self.path("stream"))
    }
}

fn records_of(path: &std::path::Path) -> Vec<Record> {
    let file = Disk::real().open(path, Mode::Read).unwrap();
    let mut reader = RecordReader::new(&file, 0, 64 << 20);
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

fn said(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}

fn url_of(record: &Record) -> String {
    record.field("WARC-Target-URI").unwrap_or_default().to_owned()
}

fn small() -> SimOptions {
    SimOptions { seed: 21, hosts: 20, pages: 200, page_bytes: 20_000, ..SimOptions::default() }
}

fn crawled(extra: &str) -> Site {
    let site = Site::start(small(), extra);
    assert_eq!(site.crawl().wait().unwrap().code(), Some(0));
    site
}

#[test]
fn an_index_leads_to_the_record_of_every_answer() {
    let site = crawled("[container]\nsegment_bytes = \"1MiB\"\ncompression = \"none\"\n");
    let lines = site.lines(&["export", "cdxj", "--all", "--robots"]);
    assert!(lines.is_sorted());
    let mut indexed = BTreeSet::new();
    for line in &lines {
        let mut parts = line.splitn(3, ' ');
        let (key, time, json) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let fields: BTreeMap<String, String> = serde_json::from_str(json).unwrap();
        let file = Disk::real().open(site.path("crawl/pages").join(&fields["filename"]), Mode::Read).unwrap();
        let offset: u64 = fields["offset"].parse().unwrap();
        let record = RecordReader::new(&file, offset, 64 << 20).next().unwrap().unwrap();
        assert_eq!(record.length.to_string(), fields["length"], "{line}");
        assert_eq!(url_of(&record), fields["url"]);
        assert_eq!(record.field("WARC-Payload-Digest"), Some(fields["digest"].as_str()));
        let date = record.field("WARC-Date").unwrap().replace(['-', ':', 'T'], "");
        assert_eq!(&date[..14], time);
        let kind = if fields["mime"] == "warc/revisit" { "revisit" } else { "response" };
        assert_eq!(record.kind(), kind);
        assert!(key.contains(")/") && !fields["url"].contains(key), "{line}");
        indexed.insert((fields["filename"].clone(), offset));
    }
    // nothing is left out: every answer of every value file has its line
    let mut stored = BTreeSet::new();
    for entry in fs::read_dir(site.path("crawl/pages")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("value-") {
            let records = records_of(&site.path("crawl/pages").join(&name));
            let answers = records.iter().filter(|record| matches!(record.kind(), "response" | "revisit"));
            stored.extend(answers.map(|record| (name.clone(), record.offset)));
        }
    }
    assert!(stored.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len() > 2, "too few value files to tell");
    assert_eq!(indexed, stored);
}

#[test]
fn selected_pages_come_as_one_warc_file_of_whole_exchanges() {
    for compression in ["gzip", "zstd", "none"] {
        let site = crawled(&format!("[container]\ncompression = \"{compression}\"\n"));
        site.prints(&["export", "warc", "--status", "200", "--mime", "text/*", "--output", "some.warc.gz"]);
        let records = records_of(&site.path("some.warc.gz"));
        assert_eq!(fs::read(site.path("some.warc.gz")).unwrap()[..2], [0x1f, 0x8b], "{compression}");
        assert_eq!(records[0].kind(), "warcinfo");
        let info = String::from_utf8_lossy(&records[0].block).into_owned();
        assert!(info.contains("selection: --status 200 --mime text/* --kind unrefused; the newest"), "{info}");
        let exchanges: Vec<_> = records[1..].chunks(3).collect();
        for exchange in &exchanges {
            let kinds: Vec<_> = exchange.iter().map(Record::kind).collect();
            assert_eq!(kinds[..2], ["metadata", "request"], "{compression}");
            assert!(matches!(kinds[2], "response" | "revisit"));
            for record in &exchange[..2] {
                assert_eq!(record.field("WARC-Concurrent-To"), exchange[2].field("WARC-Record-ID"));
            }
        }
        let urls: Vec<String> = exchanges.iter().map(|exchange| url_of(&exchange[2])).collect();
        assert_eq!(urls, site.lines(&["list", "--status", "200", "--mime", "text/*"]));
        assert_eq!(urls, site.lines(&["export", "urls", "--status", "200", "--mime", "text/*"]));
        let piece = site.records(&site.prints(&["get", &urls[0], "--warc"]));
        assert_eq!(piece.len(), 3);
        for (got, exported) in piece.iter().zip(exchanges[0]) {
            assert_eq!(got.to_bytes(), exported.to_bytes());
        }
    }
}

#[test]
fn links_of_a_crawl_name_what_it_fetched() {
    let site = crawled("");
    let links = site.json(&["export", "links", "--jsonl"]);
    let targets: BTreeSet<&str> = links.iter().map(|link| link["target"].as_str().unwrap()).collect();
    let seeds = site.web.seeds();
    for url in site.web.expected().pages.keys().filter(|url| !seeds.contains(url)) {
        assert!(targets.contains(url.as_str()), "{url} was fetched and nothing links to it");
    }
    let followed: BTreeSet<&str> =
        links.iter().filter(|link| link["nofollow"] == false).map(|link| link["target"].as_str().unwrap()).collect();
    for url in &site.web.expected().never {
        assert!(!followed.contains(url.as_str()), "{url} must not be followed");
    }
    assert!(links.iter().any(|link| link["kind"] == "redirect"));
    assert!(links.iter().any(|link| link["kind"] == "anchor" && link["text"] != ""), "no anchor has a text");
    let text = site.lines(&["export", "links"]);
    assert_eq!(text.len(), links.len());
    assert!(text.iter().all(|line| line.split('\t').count() == 5));
    let told = site.lines(&["export", "links", "--columns", "status,depth", "--target-columns", "status"]);
    assert_eq!(told.len(), links.len());
    let ended: BTreeSet<String> = site.lines(&["list", "--columns", "url,status"]).into_iter().collect();
    for line in &told {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), 8, "{line}");
        assert!(ended.contains(&format!("{}\t{}", cells[0], cells[5])), "{line}");
        assert!(cells[7].is_empty() || ended.contains(&format!("{}\t{}", cells[1], cells[7])), "{line}");
    }
}

#[test]
fn a_live_crawl_is_exported_whole_and_consistent_again_and_again() {
    let options = SimOptions { hosts: 60, pages: 900, latency: Duration::from_millis(2), ..small() };
    let extra = "[container]\nsegment_bytes = \"1MiB\"\ncompression = \"none\"\n";
    let site = Site::start(options, &format!("[crawl]\ncheckpoint_interval = \"1s\"\n{extra}"));
    let mut crawl = site.crawl();
    while !site.path("crawl/pages/address.idx").exists() {
        assert!(crawl.try_wait().unwrap().is_none(), "the crawl ended before it began to store");
        std::thread::yield_now();
    }
    let (mut rounds, mut before) = (0, 0);
    loop {
        let ended = crawl.try_wait().unwrap();
        let entries = site.json(&["list", "--json"]);
        let urls: BTreeSet<&str> = entries.iter().map(|entry| entry["url"].as_str().unwrap()).collect();
        assert_eq!(urls.len(), entries.len(), "a URL is listed twice");
        assert!(urls.len() >= before, "pages are gone");
        before = urls.len();
        for entry in entries.iter().rev().take(2) {
            let url = entry["url"].as_str().unwrap();
            assert_eq!(site.records(&site.prints(&["get", url, "--warc"])).len(), 3, "{url}");
        }
        let index = site.lines(&["export", "cdxj"]);
        assert!(index.is_sorted() && index.len() >= before, "{} lines after {before} pages", index.len());
        let records = site.records(&site.prints(&["export", "warc"]));
        assert_eq!(records.len() % 3, 1, "an exchange is not whole");
        assert!(records.len() > 3 * before);
        rounds += 1;
        if let Some(status) = ended {
            assert_eq!(status.code(), Some(0));
            break;
        }
    }
    assert!(rounds > 2, "the crawl ended before it could be read twice");
    assert_eq!(before, site.web.expected().pages.len());
}

/// Serves pages whose links have parameters that a crawl strips, for as long as the process lives.
fn serve_spellings() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let path = line.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
            let (status, body) = match path.as_str() {
                "/" => ("200 OK", "<title>Home</title><a href='/a?utm_source=1'>1<a href='/a?utm_source=2'>2"),
                "/a" => ("200 OK", "<title>A</title><p>it is a"),
                _ => ("404 Not Found", ""),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n");
            let _ = stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes());
        }
    });
    origin
}

#[test]
fn a_page_is_found_by_every_spelling_that_links_use() {
    let origin = serve_spellings();
    let site = Site::start(SimOptions { hosts: 1, pages: 1, ..small() }, "");
    fs::write(site.path("seeds.txt"), format!("{origin}/\n")).unwrap();
    let toml = "[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\ndelay_min = \"0s\"\ndelay_factor = 0\n";
    fs::write(site.path("crawler.toml"), format!("{toml}delay_per_ip = \"0s\"\n")).unwrap();
    assert_eq!(site.crawl().wait().unwrap().code(), Some(0));
    let fetched = format!("{origin}/a?utm_source=1");
    assert_eq!(site.lines(&["list", "--prefix", &format!("{origin}/a")]), [fetched.as_str()]);
    for spelling in ["a", "a?utm_source=2", "a?utm_medium=new"] {
        let url = format!("{origin}/{spelling}");
        let got = site.command(&["get", &url]).output().unwrap();
        assert!(String::from_utf8_lossy(&got.stdout).contains("it is a"), "{url}");
        assert!(String::from_utf8_lossy(&got.stderr).contains(&fetched), "{url}: the spelling is not named");
        let told = site.json(&["explain", &url, "--json"]);
        assert_eq!(told[0]["fetched_as"], fetched.as_str(), "{url}");
        assert!(told[0]["verdict"].as_str().unwrap().contains(&format!("was fetched as {fetched}")), "{}", told[0]);
    }
    let keys = |lines: Vec<String>| -> BTreeSet<String> {
        let pages = lines.iter().filter(|line| line.contains(")/a"));
        pages.map(|line| line.split_once(')').unwrap().1.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(site.lines(&["export", "cdxj"])), ["/a?utm_source=1"].map(str::to_owned).into());
    let spelt = keys(site.lines(&["export", "cdxj", "--spellings"]));
    assert_eq!(spelt, ["/a", "/a?utm_source=1", "/a?utm_source=2"].map(str::to_owned).into());
    let records = site.records(&site.prints(&["export", "warc", "--spellings"]));
    let revisits = records.iter().filter(|record| record.kind() == "revisit").map(url_of);
    assert_eq!(revisits.collect::<Vec<_>>(), [format!("{origin}/a"), format!("{origin}/a?utm_source=2")]);
}

/// The files of a WACZ; the reader verifies the checksums of the ZIP file.
fn unpack(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let zip = rawzip::ZipArchive::from_slice(bytes).unwrap();
    let mut files = BTreeMap::new();
    for header in zip.entries() {
        let header = header.unwrap();
        let entry = zip.get_entry(header.wayfinder()).unwrap();
        let mut content = Vec::new();
        if header.compression_method() == rawzip::CompressionMethod::STORE {
            entry.verifying_reader(entry.data()).read_to_end(&mut content).unwrap();
        } else {
            let data = flate2::bufread::DeflateDecoder::new(entry.data());
            entry.verifying_reader(data).read_to_end(&mut content).unwrap();
        }
        files.insert(String::from_utf8(header.file_path().as_ref().to_vec()).unwrap(), content);
    }
    files
}

#[test]
fn a_wacz_of_a_crawl_has_every_page_and_an_index_that_leads_to_every_answer() {
    for (shards, compression) in [(1, "gzip"), (3, "zstd")] {
        let site = crawled(&format!("[container]\ncompression = \"{compression}\"\n[crawl]\nshards = {shards}\n"));
        let all = ["export", "wacz", "--all", "--robots", "--title", "All of it", "--memory", "1MiB"];
        site.prints(&[&all[..], &["--output", "all.wacz"]].concat());
        let files = unpack(&fs::read(site.path("all.wacz")).unwrap());
        let manifest: serde_json::Value = serde_json::from_slice(&files["datapackage.json"]).unwrap();
        assert_eq!(manifest["title"], "All of it");
        for resource in manifest["resources"].as_array().unwrap() {
            let content = &files[resource["path"].as_str().unwrap()];
            assert_eq!(resource["bytes"], content.len());
            let hash = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            assert_eq!(resource["hash"], format!("sha256:{hash}"));
        }
        let mut index = String::new();
        MultiGzDecoder::new(&files["indexes/index.cdx.gz"][..]).read_to_string(&mut index).unwrap();
        let mut urls = BTreeSet::new();
        for line in index.lines() {
            let fields: BTreeMap<String, String> = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
            let number = |name: &str| fields[name].parse::<usize>().unwrap();
            let file = &files[&format!("archive/{}", fields["filename"])];
            let member = &file[number("offset")..number("offset") + number("length")];
            let records = site.records(member);
            assert_eq!((records.len(), url_of(&records[0])), (1, fields["url"].clone()));
            assert!(records[0].is_intact());
            assert_eq!(records[0].field("WARC-Payload-Digest"), Some(fields["digest"].as_str()));
            if fields["filename"] != "spellings.warc.gz" {
                urls.insert(fields["url"].clone());
            }
        }
        assert_eq!(urls, site.lines(&["list", "--all", "--robots"]).into_iter().collect());
        let pages = String::from_utf8(files["pages/pages.jsonl"].clone()).unwrap();
        let listed: BTreeSet<String> = pages
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].as_str().unwrap().to_owned())
            .collect();
        let html = site.lines(&["list", "--all", "--mime", "text/html", "--status", "2xx"]);
        assert_eq!(listed, html.into_iter().collect());
        let some = "export wacz --dir crawl --output some.wacz --prefix http://h --mime text/html --status 200 \
                    --since 2020-01-01 --until 2999-12-31";
        site.prints(&some.split_whitespace().collect::<Vec<_>>());
        let some = unpack(&fs::read(site.path("some.wacz")).unwrap());
        let pages = String::from_utf8(some["pages/pages.jsonl"].clone()).unwrap().lines().count() - 1;
        let newest = site.lines(&["list", "--mime", "text/html", "--status", "200", "--prefix", "http://h"]);
        assert!(pages > 0 && pages == newest.len(), "{pages} pages of {}", newest.len());
    }
}

#[test]
fn an_export_whose_reader_goes_away_is_a_quiet_end() {
    let site = crawled("");
    for args in [
        &["export", "warc"][..],
        &["export", "cdxj"],
        &["export", "urls"],
        &["export", "links"],
        &["export", "wacz", "--text"],
        &["list", "--all", "--jsonl"],
        &["get", &site.web.seeds()[0], "--warc"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = site.command(args).stdout(writer).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", said(&output));
    }
}

/// All files below `dir`, by their paths from there.
fn files_below(dir: &std::path::Path) -> BTreeSet<PathBuf> {
    let (mut files, mut open) = (BTreeSet::new(), vec![dir.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.insert(path.strip_prefix(dir).unwrap().to_owned());
            }
        }
    }
    files
}

/// The references of a page that are no URLs of the web, without their fragments.
fn relative_references(page: &str) -> Vec<String> {
    let selector = scraper::Selector::parse("[href], [src]").unwrap();
    let page = scraper::Html::parse_document(page);
    let value = |element: scraper::ElementRef<'_>| {
        element.value().attr("href").or(element.value().attr("src")).unwrap().split('#').next().unwrap().to_owned()
    };
    page.select(&selector).map(value).filter(|value| !value.is_empty() && !value.contains(':')).collect()
}

/// A file for each good page, and every link of theirs that is no link to the web leads to one of them.
#[test]
fn files_open_without_a_server_and_lead_to_one_another() {
    let options = SimOptions { seed: 5, hosts: 4, pages: 150, ..SimOptions::default() };
    let site = Site::start(options, "");
    site.crawl().wait().unwrap();
    let output = site.command(&["export", "files", "site"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let (dir, files) = (site.path("site"), files_below(&site.path("site")));
    let expected = site.lines(&["export", "urls", "--status", "2xx", "--kind", "all"]).len();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(files.len() > 100 && files.len() <= expected + 1, "{} of {expected}: {told}", files.len());
    assert!(told.contains(&format!("files            {}\n", files.len() - 1)), "{told}");
    let mut links = 0;
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "html")) {
        let page = String::from_utf8_lossy(&fs::read(dir.join(file)).unwrap()).into_owned();
        for reference in relative_references(&page) {
            let target = dir.join(file).parent().unwrap().join(&reference);
            let target = target.canonicalize().unwrap_or_else(|e| panic!("{}: {reference}: {e}", file.display()));
            assert!(target.starts_with(dir.canonicalize().unwrap()), "{}: {reference}", file.display());
            links += 1;
        }
    }
    assert!(links > 100, "{links}");
    // what is there is not written over
    let output = site.command(&["export", "files", "site"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("is not empty"), "{}", said(&output));
}
