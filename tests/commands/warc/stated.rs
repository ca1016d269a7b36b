//! Statements of pages and their site about their use: recorded with each page, and filtered by it.

use std::collections::BTreeSet;
use std::fs;

use super::server::{Answer, serve, serve_but};
use super::{CONFIG, command, crawl, crawl_into, prints, record_of};

const ROBOTS: &str = "User-agent: *\nContent-Signal: search=yes\nContent-Usage: /kept/ train-ai=n\nDisallow:\n";

fn page(path: &str, fields: &'static str, head: &str) -> (String, Answer) {
    let body = format!("<html><head>{head}</head><p>{path}</p></html>");
    (path.to_owned(), Answer { fields, ..Answer::html(body) })
}

fn site(robots: Option<&str>) -> Vec<(String, Answer)> {
    let mut answers = vec![
        page("/plain", "", "<meta name=robots content='index, follow'>"),
        page("/header", "X-Robots-Tag: noindex, max-snippet: 5\r\nX-Robots-Tag: otherbot: noarchive\r\n", ""),
        page("/meta", "", "<meta name=crawler content=nosnippet><META NAME=robots CONTENT='NOAI'>"),
        page("/mining", "TDM-Reservation: 1\r\n", ""),
        page("/kept/page", "", ""),
        (
            "/error".to_owned(),
            Answer { status: "404 Not Found", ..Answer::html("<meta name=robots content=noindex>not here") },
        ),
    ];
    answers.extend(
        robots.map(|text| ("/robots.txt".to_owned(), Answer { content_type: "text/plain", ..Answer::html(text) })),
    );
    answers
}

/// The fields that the metadata record of `path` has of it.
fn stated(records: &[super::Record], port: u16, path: &str) -> (Option<String>, Option<String>) {
    let metadata = String::from_utf8(record_of(records, "metadata", port, path).block.clone()).unwrap();
    let field = |name: &str| metadata.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    (field("robotsDirectives: "), field("usagePreferences: "))
}

#[test]
fn directives_and_preferences_are_recorded_where_there_are_any() {
    let (records, port) = crawl(site(Some(ROBOTS)), "");
    for (path, directives, preferences) in [
        ("/plain", None, Some("search=y")),
        ("/header", Some("noindex, max-snippet:5"), Some("search=n")),
        ("/meta", Some("nosnippet, noai"), Some("search=y, ai-input=n, ai-train=n")),
        ("/mining", None, Some("search=y, tdm=n")),
        ("/kept/page", None, Some("search=y, ai-train=n")),
        ("/error", Some("noindex"), Some("search=n")),
        ("/robots.txt", None, Some("search=y")),
    ] {
        let found = stated(&records, port, path);
        assert_eq!((found.0.as_deref(), found.1.as_deref()), (directives, preferences), "{path}");
    }
    let (records, port) = crawl(site(None), "");
    for path in ["/plain", "/kept/page", "/robots.txt"] {
        assert_eq!(stated(&records, port, path), (None, None), "{path}: what says nothing takes no byte");
    }
}

/// A site with licences in all places, a price, and reservations.
fn licensed(port: u16) -> Vec<(String, Answer)> {
    let json = |text: &str| Answer { content_type: "application/json", ..Answer::html(text) };
    let robots = format!("User-agent: other\nLicense: http://127.0.0.1:{port}/terms.xml\nDisallow: /\n");
    let fields = "Link: </header.xml>; rel=\"license\"; type=\"application/rsl+xml\"\r\nTDM-Policy: /policy.json\r\n";
    let payment = r#"{"x402Version":1,"accepts":[{"maxAmountRequired":"10000","asset":"0x0a","network":"base"}]}"#;
    vec![
        ("/robots.txt".to_owned(), Answer { content_type: "text/plain", ..Answer::html(robots) }),
        page("/licensed", fields, "<base href=/sub/><link rel=license type=application/rsl+xml href='in page.xml'>"),
        page("/news/1", "", "<meta name=tdm-policy content=/policy.json>"),
        ("/paid".to_owned(), Answer { status: "402 Payment Required", ..json(payment) }),
        ("/.well-known/tdmrep.json".to_owned(), json(r#"[{"location": "/news/", "tdm-reservation": 1}]"#)),
        ("/terms.xml".to_owned(), Answer { content_type: "application/rsl+xml", ..Answer::html("<rsl/>") }),
    ]
}

#[test]
fn licences_and_prices_are_recorded_always_and_fetched_when_that_is_set() {
    let dir = tempfile::tempdir().unwrap();
    let unlinked = ["/.well-known/tdmrep.json", "/terms.xml"];
    let port = serve_but(&unlinked, licensed);
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let urls = |paths: &[&str]| paths.iter().map(|path| url(path)).collect::<Vec<_>>().join(", ");
    let fetching = CONFIG.replace("[scope]", "[scope]\n    licenses = true");
    for (name, config, fetched, reserved) in
        [("crawl", CONFIG, 0, &["news/1", "licensed"][..]), ("all", &fetching, 1, &["licensed"])]
    {
        super::crawl_by(dir.path(), name, port, config);
        let records = super::records(&dir.path().join(name).join("pages"));
        let field = |path: &str, name: &str| {
            let block = String::from_utf8(record_of(&records, "metadata", port, path).block.clone()).unwrap();
            block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
        };
        let named = ["/header.xml", "/policy.json", "/sub/in%20page.xml", "/terms.xml"];
        assert_eq!(field("/licensed", "licenses: "), Some(urls(&named)));
        assert_eq!(field("/news/1", "licenses: "), Some(urls(&["/policy.json", "/terms.xml"])));
        assert_eq!(field("/robots.txt", "licenses: "), Some(url("/terms.xml")));
        assert_eq!(field("/paid", "price: ").as_deref(), Some("x402 amount=10000 asset=0x0a network=base"));
        for path in unlinked {
            let of_path = |record: &&super::Record| record.field("WARC-Target-URI") == Some(&url(path));
            let answers = records.iter().filter(of_path).filter(|record| record.kind() == "response");
            assert_eq!(answers.count(), fetched, "{path} in {name}");
        }
        let lines = prints(dir.path(), &["list", "--dir", name, "--respect-preferences", "tdm=n"]);
        let listed: Vec<_> = lines.lines().filter_map(|line| line.splitn(4, '/').nth(3)).collect();
        for path in ["licensed", "news/1"] {
            assert_eq!(listed.contains(&path), reserved.contains(&path), "{path} in {name}");
        }
    }
    let told = prints(dir.path(), &["explain", "--dir", "crawl", &url("/paid")]);
    assert!(told.contains("price") && told.contains("amount=10000"), "{told}");
}

#[test]
fn pages_whose_robots_txt_refuses_the_purpose_are_not_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let port = serve(site(Some(ROBOTS)));
    let config = CONFIG.replace("[crawl]", "[crawl]\n    purpose = [\"ai-train\"]");
    super::crawl_by(dir.path(), "crawl", port, &config);
    let all: BTreeSet<_> = ["", "plain", "header", "meta", "mining", "error"].map(str::to_owned).into();
    assert_eq!(listed(dir.path(), &[]), all, "robots.txt refuses what is below /kept/, and it alone");
    let refused = format!("http://127.0.0.1:{port}/kept/page");
    let skipped = fs::read_to_string(dir.path().join("crawl/logs/skipped.jsonl")).unwrap();
    assert!(skipped.lines().any(|line| line.contains(&refused) && line.contains("its use is refused")), "{skipped}");
    let told = prints(dir.path(), &["explain", "--dir", "crawl", &refused]);
    assert!(told.contains("its use is refused"), "{told}");
}

/// The paths that a filter lets through.
fn listed(dir: &std::path::Path, filter: &[&str]) -> BTreeSet<String> {
    let lines = prints(dir, &[&["list", "--dir", "crawl"], filter].concat());
    let paths = lines.lines().map(|line| line.splitn(4, '/').nth(3).unwrap().to_owned());
    paths.filter(|path| path != "favicon.ico").collect()
}

#[test]
fn pages_are_filtered_by_what_was_recorded_without_being_read() {
    let dir = tempfile::tempdir().unwrap();
    let port = serve(site(Some(ROBOTS)));
    crawl_into(dir.path(), "crawl", port, "[container]\ncompression = \"none\"\n");
    let check = |when: &str| {
        let set = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<BTreeSet<_>>();
        for (filter, paths) in [
            (&["--directive", "noindex"][..], &["header", "error"][..]),
            (&["--directive", "noai", "--directive", "max-snippet"], &["header", "meta"]),
            (&["--directive", "noindex", "--without-directive", "max-snippet"], &["error"]),
            (&["--without-directive", "noindex", "--without-directive", "noai"], &["", "plain", "mining", "kept/page"]),
            (&["--respect-preferences", "ai-train=n"], &["", "plain", "header", "error"]),
            (&["--respect-preferences", "search=n", "--status", "200"], &["", "plain", "meta", "mining", "kept/page"]),
        ] {
            assert_eq!(listed(dir.path(), filter), set(paths), "{filter:?} {when}");
        }
    };
    check("after the crawl");
    prints(dir.path(), &["verify", "--dir", "crawl"]);
    prints(dir.path(), &["verify", "--rebuild", "--dir", "crawl"]);
    check("after a rebuild of the index");
    // bodies that cannot be read: a command that reads one says of damage
    let path = dir.path().join("crawl/pages/value-00000.warc");
    let bytes = fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    fs::write(&path, text.replace("HTTP/1.1 200 OK\r\nserver", "HTTX/1.1 200 OK\r\nserver")).unwrap();
    let broken = command(dir.path(), &["get", "--dir", "crawl", &format!("http://127.0.0.1:{port}/plain")]);
    assert_ne!(broken.status.code(), Some(0));
    check("of pages that cannot be read");
}
