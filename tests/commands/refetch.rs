//! Fetching again with the real binary: conditional requests to a real server, and what the archive and its tools make
//! of the answers.

mod retention;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::serve::Served;
use crate::warc::archive::{Record, header, records};
use crawler::simweb::{SimOptions, SimWeb};

const DATE: &str = "Sat, 21 Nov 2026 09:00:00 GMT";

/// The state of the server: an edition of its pages, and the heads of the requests that came.
#[derive(Debug, Default)]
struct Site {
    edition: u32,
    requests: Vec<String>,
}

fn page(edition: u32, path: &str) -> String {
    format!(
        "<html><link rel=canonical href='/canonical?e=1'><h1>edition {edition} of {path}</h1>{}</html>",
        "word ".repeat(200)
    )
}

/// `/page` has a tag and a date and knows conditions, `/dated` has a date only, `/liar` says 304 to everybody.
fn respond(site: &Mutex<Site>, head: String) -> String {
    let mut site = site.lock().unwrap();
    let edition = site.edition;
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let asked = |line: &str| head.lines().any(|sent| sent.eq_ignore_ascii_case(line));
    let etag = format!("\"edition-{edition}\"");
    let (status, extra) = match path.as_str() {
        "/page" if asked(&format!("if-none-match: {etag}")) => ("304 Not Modified", format!("ETag: {etag}\r\n")),
        "/page" => ("200 OK", format!("ETag: {etag}\r\nLast-Modified: {DATE}\r\n")),
        "/dated" if asked(&format!("if-modified-since: {DATE}")) => ("304 Not Modified", String::new()),
        "/dated" => ("200 OK", format!("Last-Modified: {DATE}\r\nLink: </other>; rel=\"canonical\"\r\n")),
        "/moved" => ("301 Moved Permanently", "Location: /page?utm_source=a\r\n".to_owned()),
        "/liar" => ("304 Not Modified", "ETag: \"x\"\r\n".to_owned()),
        "/forger" => ("200 OK", "ETag: *\r\nLast-Modified: a\tb\r\n".to_owned()),
        _ => ("404 Not Found", String::new()),
    };
    site.requests.push(head);
    if status.starts_with("304") {
        return format!("HTTP/1.1 {status}\r\n{extra}\r\n");
    }
    // an error that says what a page says makes that page one, if it comes first
    let body = match status {
        "404 Not Found" => "<link rel=canonical href='/canonical?e=1'><p>no such page".to_owned(),
        _ => page(edition, &path),
    };
    format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{extra}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn converse(mut stream: TcpStream, site: &Mutex<Site>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while lines.read_line(&mut head).is_ok_and(|bytes| bytes > 0) {
        if head.ends_with("\r\n\r\n") && stream.write_all(respond(site, std::mem::take(&mut head)).as_bytes()).is_err()
        {
            return;
        }
    }
}

struct Place {
    dir: tempfile::TempDir,
    site: Arc<Mutex<Site>>,
    port: u16,
}

impl Place {
    fn new(paths: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let site = Arc::new(Mutex::new(Site::default()));
        let served = site.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, site) = (stream.unwrap(), served.clone());
                std::thread::spawn(move || converse(stream, &site));
            }
        });
        let dir = tempfile::tempdir().unwrap();
        let seeds: String = paths.iter().map(|path| format!("http://127.0.0.1:{port}{path}\n")).collect();
        fs::write(dir.path().join("seeds.txt"), seeds).unwrap();
        let config = "[crawl]\nmax_depth = 0\n[scope]\nfavicon = false\n[network]\nallow = [\"127.0.0.0/8\"]\n[dns]\n\
                      nameservers = [\"127.0.0.1:9\"]\n[politeness]\ndelay_factor = 0.0\ndelay_min = \"0s\"\n\
                      delay_per_ip = \"0s\"\n";
        fs::write(dir.path().join("crawler.toml"), config).unwrap();
        Place { dir, site, port }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(args).current_dir(self.dir.path()).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn crawl(&self, extra: &[&str]) -> String {
        let args = [&["--seeds", "seeds.txt", "--config", "crawler.toml"], extra].concat();
        String::from_utf8(self.run(&args).stderr).unwrap()
    }

    fn text(&self, args: &[&str]) -> String {
        String::from_utf8(self.run(args).stdout).unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The records of a kind for a path, the oldest first.
    fn records(&self, kind: &str, path: &str) -> Vec<Record> {
        let all = records(&self.dir.path().join("crawl/pages"));
        let url = self.url(path);
        all.into_iter().filter(|r| r.kind() == kind && r.field("WARC-Target-URI") == Some(&url)).collect()
    }
}

#[test]
fn p8_a_304_is_stored_as_a_revisit_of_the_version_that_it_confirms() {
    let place = Place::new(&["/page", "/dated", "/forger"]);
    place.crawl(&[]);
    let told = place.crawl(&["--force"]);
    assert!(told.contains("fetching 3 seed URLs"), "{told}");
    assert!(
        told.lines().any(|line| line.starts_with("fetched again") && line.ends_with("3 pages, 2 not modified")),
        "{told}"
    );

    let [first] = &place.records("response", "/page")[..] else { panic!("one response") };
    let [revisit] = &place.records("revisit", "/page")[..] else { panic!("one revisit") };
    let profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
    assert_eq!(revisit.field("WARC-Profile"), Some(profile));
    assert_eq!(revisit.field("WARC-Refers-To"), first.field("WARC-Record-ID"));
    assert_eq!(revisit.field("WARC-Refers-To-Target-URI"), first.field("WARC-Target-URI"));
    assert_eq!(revisit.field("WARC-Refers-To-Date"), first.field("WARC-Date"));
    assert_eq!(revisit.field("WARC-Payload-Digest"), first.field("WARC-Payload-Digest"));
    assert_eq!(revisit.field("WARC-Truncated"), None);
    assert_eq!(revisit.http().0, "HTTP/1.1 304 Not Modified");
    let [plain, conditional] = &place.records("request", "/page")[..] else { panic!("two requests") };
    assert_eq!(header(&plain.http().1, "if-none-match"), None);
    assert_eq!(header(&conditional.http().1, "if-none-match"), Some("\"edition-0\""));
    assert_eq!(header(&conditional.http().1, "if-modified-since"), Some(DATE));
    assert_eq!(conditional.field("WARC-Concurrent-To"), revisit.field("WARC-Record-ID"));
    let metadata = place.records("metadata", "/page");
    let forced = |record: &Record| String::from_utf8_lossy(&record.block).contains("forced: true\r\n");
    assert_eq!(metadata.iter().map(forced).collect::<Vec<_>>(), [false, true]);
    assert_eq!(place.records("revisit", "/dated").len(), 1);
    // the record is what was sent, header for header
    let sent = place.site.lock().unwrap().requests.clone();
    let of =
        |path: &str| sent.iter().filter(|head| head.starts_with(&format!("GET {path} "))).cloned().collect::<Vec<_>>();
    let lines = |head: &str| head.lines().map(str::to_lowercase).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lines(&of("/page")[1]), lines(&String::from_utf8_lossy(&conditional.block)));
    assert!(of("/forger").iter().all(|head| !head.to_lowercase().contains("\r\nif-")), "{:?}", of("/forger"));

    // the tools read through
    let url = place.url("/page");
    assert_eq!(place.text(&["get", &url]), page(0, "/page"));
    assert_eq!(place.text(&["get", &url, "--version", "1"]), page(0, "/page"));
    assert!(place.text(&["get", &url, "--headers"]).starts_with("HTTP/1.1 304 Not Modified\n"));
    assert_eq!(place.text(&["list", "--status", "200"]).lines().count(), 3);
    assert_eq!(place.text(&["list", "--all"]).lines().count(), 6);
    assert_eq!(place.text(&["extract", "--select", "h1", "--text"]).lines().count(), 3);
    let verified = place.text(&["verify"]);
    assert!(verified.contains("no damage"), "{verified}");
    place.run(&["export", "warc", "--all", "--output", "all.warc.gz"]);
    let exported = fs::read(place.dir.path().join("all.warc.gz")).unwrap();
    assert_eq!(exported.windows(3).filter(|window| window == b"\x1f\x8b\x08").count(), 1 + 6 * 3);
    let index = place.text(&["export", "cdxj", "--all"]);
    // lines of what is confirmed lead to what has the content; /forger came again
    assert_eq!(index.matches("\"warc/revisit\"").count(), 1, "{index}");
    assert_eq!(index.matches("\"status\":\"200\"").count(), 6, "{index}");
    // an index made again from the value files says the same
    let before = place.text(&["list", "--all", "--json"]);
    place.run(&["verify", "--rebuild"]);
    assert_eq!(place.text(&["list", "--all", "--json"]), before);
}

#[test]
fn captures_that_confirm_a_page_are_replayed_as_that_page() {
    let place = Place::new(&["/page", "/forger"]);
    place.crawl(&[]);
    place.crawl(&["--force"]);
    // one answered 304, the other the same bytes
    assert_eq!(place.records("revisit", "/page")[0].http().0, "HTTP/1.1 304 Not Modified");
    assert_eq!(place.records("revisit", "/forger")[0].http().0, "HTTP/1.1 200 OK");
    let served = Served::by(&[], &place.dir.path().join("crawl"), &[]);
    for path in ["/page", "/forger"] {
        let url = place.url(path);
        let map: serde_json::Value =
            serde_json::from_slice(&served.get(&format!("/timemap/json/{url}"), &[]).body).unwrap();
        let captures = map["mementos"]["list"].as_array().unwrap();
        assert_eq!(captures.len(), 2, "{map}");
        for capture in captures {
            let address = capture["uri"].as_str().unwrap().strip_prefix(&format!("http://{}", served.replay)).unwrap();
            let shown = served.get(address, &[]);
            assert_eq!((shown.status, shown.field("content-type")), (200, "text/html"), "{address}");
            assert!(shown.text().contains(&format!("<h1>edition 0 of {path}</h1>")), "{}", shown.text());
            let stored = served.get(&address.replacen("/http", "id_/http", 1), &[]);
            assert_eq!(stored.text(), page(0, path));
        }
    }
}

#[test]
fn what_became_of_pages_is_told_since_a_moment_and_between_two_crawls() {
    let place = Place::new(&["/page", "/dated", "/none"]);
    place.crawl(&[]);
    // a copy is the crawl of before
    let copy = Command::new("cp").args(["-r", "crawl", "before"]).current_dir(place.dir.path()).status().unwrap();
    assert!(copy.success());
    place.site.lock().unwrap().edition = 7;
    place.crawl(&["--force"]);
    let changed = format!("changed\t{}\t0.5 % of the text\n", place.url("/page"));
    let listed = place.text(&["list", "--all", "--json"]);
    let times: Vec<&str> = listed.split("\"time\":\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(times.len(), 6, "{listed}");
    let second = *times[3..].iter().min().unwrap();
    assert_eq!(place.text(&["changes", "--since", second, "--kind", "changed"]), changed);
    let unchanged = place.text(&["changes", "--since", second, "--kind", "unchanged", "--json"]);
    assert!(unchanged.contains("\"change\":\"unchanged\"") && unchanged.contains("/dated"), "{unchanged}");
    let diff = place.text(&["diff", &place.url("/page")]);
    assert!(diff.contains("\n-edition 0 of /page\n+edition 7 of /page\n"), "{diff}");
    assert_eq!(place.text(&["diff", "before", "crawl"]), changed);
    assert_eq!(place.text(&["diff", "before", "before"]), "");
}

#[test]
fn a_page_that_changed_is_a_new_version_and_the_old_one_stays() {
    let place = Place::new(&["/page"]);
    place.crawl(&["--force"]);
    for edition in 1..3 {
        place.site.lock().unwrap().edition = edition;
        place.crawl(&["--force"]);
    }
    let url = place.url("/page");
    for (version, edition) in [("0", 2), ("1", 1), ("2", 0)] {
        assert_eq!(place.text(&["get", &url, "--version", version]), page(edition, "/page"));
    }
    let sent = place.records("request", "/page");
    let tags: Vec<_> = sent.iter().map(|r| header(&r.http().1, "if-none-match").map(str::to_owned)).collect();
    assert_eq!(tags, [None, Some("\"edition-0\"".to_owned()), Some("\"edition-1\"".to_owned())]);
    let told = place.crawl(&[]);
    assert!(told.contains("--force fetches the seed URLs again"), "{told}");
}

#[test]
fn a_seed_without_a_scheme_is_fetched_again_by_the_scheme_that_answers() {
    let place = Place::new(&[]);
    fs::write(place.dir.path().join("seeds.txt"), format!("127.0.0.1:{}/page\n", place.port)).unwrap();
    for versions in 1..=3 {
        place.crawl(&["--force"]);
        let pages = place.text(&["list", "--all"]);
        assert_eq!(pages, format!("{}\n", place.url("/page")).repeat(versions));
    }
}

#[test]
fn a_forced_run_that_is_killed_again_and_again_gives_every_page_one_version_more() {
    let web = SimWeb::start(SimOptions {
        seed: 4,
        hosts: 12,
        pages: 150,
        latency: Duration::from_millis(3),
        ..SimOptions::default()
    })
    .unwrap();
    let place = Place::new(&[]);
    let config = format!("[crawl]\ncheckpoint_interval = \"1s\"\n{}", web.config_toml());
    fs::write(place.dir.path().join("crawler.toml"), config).unwrap();
    fs::write(place.dir.path().join("seeds.txt"), web.seeds().join("\n")).unwrap();
    place.crawl(&[]);
    let pages: Vec<&String> =
        web.expected().pages.iter().filter(|(_, page)| page.status == 200).map(|(url, _)| url).collect();
    fs::write(place.dir.path().join("seeds.txt"), pages.iter().map(|url| format!("{url}\n")).collect::<String>())
        .unwrap();
    web.clear_log();
    let args = ["--seeds", "seeds.txt", "--config", "crawler.toml", "--force", "-q"];
    for kill in 1..=4 {
        let mut child =
            Command::new(env!("CARGO_BIN_EXE_crawler")).args(args).current_dir(place.dir.path()).spawn().unwrap();
        let patience = Instant::now();
        let enough = kill * pages.len() / 6;
        while web.log_after(enough - 1).is_empty() && child.try_wait().unwrap().is_none() {
            assert!(patience.elapsed() < Duration::from_secs(120), "only {} requests came", web.log().len());
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let told = place.crawl(&["--force"]);
    assert!(told.contains("continuing the forced run from before; 0 of"), "{told}");
    let listed = place.text(&["list", "--all"]);
    let versions = |url: &str| listed.lines().filter(|line| *line == url).count();
    let refused = place.text(&["list", "--all", "--status", "503"]);
    let first_crawl_retries = |url: &str| refused.lines().filter(|line| *line == url).count();
    let wrong: Vec<_> = pages.iter().filter(|url| versions(url) != 2 + first_crawl_retries(url)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // no more than one request to each host was under way at a kill
    let asked = web.log().iter().filter(|request| request.path != "/robots.txt").count();
    assert!(asked <= pages.len() + 4 * 12, "{asked} requests for {} pages", pages.len());
    assert!(place.text(&["verify"]).contains("no damage"));
}

#[test]
fn p8_a_304_to_an_unconditional_request_is_told_as_a_failure() {
    let place = Place::new(&["/liar", "/page"]);
    for run in [&[][..], &["--force"]] {
        let told = place.crawl(run);
        assert!(told.contains("error: 304 that was not asked for"), "{told}");
    }
    let requests = place.site.lock().unwrap().requests.clone();
    assert_eq!(requests.iter().filter(|head| head.starts_with("GET /liar ")).count(), 2, "once a run");
    assert_eq!(place.records("revisit", "/liar").len(), 0);
    assert_eq!(place.records("response", "/liar").len(), 2);
    assert!(place.text(&["verify"]).contains("no damage"));
}

#[test]
fn the_canonical_url_is_in_the_metadata_of_its_page() {
    let place = Place::new(&["/page", "/dated", "/none"]);
    place.crawl(&[]);
    let canonical = |path: &str| {
        let metadata = place.records("metadata", path).remove(0);
        let fields = String::from_utf8(metadata.block).unwrap();
        fields.lines().find_map(|line| Some(line.strip_prefix("canonical: ")?.to_owned()))
    };
    assert_eq!(canonical("/page"), Some(place.url("/canonical?e=1")));
    assert_eq!(canonical("/dated"), Some(place.url("/other")), "the header comes before the page");
    assert_eq!(canonical("/none"), None, "only pages with status 200 are looked at");
    let links = place.text(&["export", "links"]);
    let expected = format!("{}\t{}\tcanonical\tfollow\t\n", place.url("/dated"), place.url("/other"));
    assert!(links.contains(&expected), "{links}");
}

#[test]
fn p8_a_synthetic_web_that_has_not_changed_is_confirmed_page_by_page() {
    let web = SimWeb::start(SimOptions {
        seed: 3,
        hosts: 10,
        pages: 80,
        latency: Duration::from_millis(1),
        ..SimOptions::default()
    })
    .unwrap();
    let place = Place::new(&[]);
    fs::write(place.dir.path().join("crawler.toml"), web.config_toml()).unwrap();
    fs::write(place.dir.path().join("seeds.txt"), web.seeds().join("\n")).unwrap();
    place.crawl(&[]);
    let pages: Vec<&String> =
        web.expected().pages.iter().filter(|(_, page)| page.status == 200).map(|(url, _)| url).collect();
    fs::write(place.dir.path().join("seeds.txt"), pages.iter().map(|url| format!("{url}\n")).collect::<String>())
        .unwrap();
    let bodies = |version: &str| -> Vec<String> {
        pages.iter().map(|url| place.text(&["get", url, "--version", version])).collect()
    };
    let before = bodies("0");
    web.clear_log();
    place.crawl(&["--force"]);
    let asked: Vec<_> = web.log().into_iter().filter(|request| request.path != "/robots.txt").collect();
    assert_eq!(asked.len(), pages.len());
    assert!(asked.iter().all(|request| request.status == 304), "{asked:#?}");
    assert_eq!(bodies("0"), before);
    assert_eq!(bodies("1"), before);
    assert!(place.text(&["verify"]).contains("no damage"));
}
