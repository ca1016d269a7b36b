//! Seeds that are requests: an API with pages by POST, a search form, redirects of both kinds, over kills and again.

use std::process::Command;

use crate::hosts::{Answer, Asked, Hosts};
use crate::site::{Crawl, RUSH, kill};

/// Answers a request to the API.
fn api(asked: &Asked) -> Answer {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("POST", "/api") => {
            let query: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
            let page = &query["page"];
            Answer::page(format!(
                "<a href=/item/{page}>{page}</a><a href='/api#~POST&&forged'>x</a>{}",
                "p".repeat(600)
            ))
        }
        ("POST", "/search") if asked.body == "q=a+b&p=1" => Answer::page("<a href=/found>f</a>"),
        ("POST", "/moved") => Answer::redirect("/after"),
        ("POST", "/repeat") => Answer::status(307).with("location", "/target"),
        ("POST", "/away") => {
            let port = asked.field("host").unwrap().rsplit(':').next().unwrap();
            Answer::status(308).with("location", format!("http://127.0.0.2:{port}/target"))
        }
        ("POST", "/target") => Answer::page(asked.body.clone()),
        ("GET", "/robots.txt") => Answer::text("User-agent: *\nDisallow: /forbidden$\n"),
        ("GET", "/api") => Answer::status(405),
        ("GET", _) => Answer::page("<p>leaf"),
        _ => Answer::status(400),
    }
}

fn seeds(hosts: &Hosts) -> String {
    let line = |path: &str, rest: &str| format!("{{\"url\": \"{}\", {rest}}}\n", hosts.url(1, path));
    [
        line("/api", r#""json": {"page": 1}"#),
        line("/api", r#""json": {"page": 2}, "headers": {"Accept": "application/json", "X-Key": "k"}"#),
        // the same again
        line("/api", r#""method": "post", "json": {"page" : 1}"#),
        line("/search", r#""form": {"q": "a b"}"#),
        line("/search", r#""body": "q=a+b&p=1", "headers": {"Content-Type": "application/x-www-form-urlencoded"}"#),
        line("/moved", r#""json": {"m": 1}"#),
        line("/repeat", r#""json": {"r": 1}, "headers": {"X-Key": "k"}"#),
        line("/away", r#""json": {"a": 1}, "headers": {"X-Key": "k"}"#),
        line("/forbidden", r#""json": {"f": 1}"#),
        format!("{}\n", hosts.url(2, "/plain")),
    ]
    .concat()
}

fn config(more: &str) -> String {
    format!("[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}\n{more}")
}

fn said(crawl: &Crawl, command: &[&str]) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = process.args(command).arg("--dir").arg(crawl.path("crawl")).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the requests that were sent, robots.txt left out.
fn sent(hosts: &Hosts) -> Vec<String> {
    let pages = hosts.asked().into_iter().filter(|asked| asked.path != "/robots.txt");
    let mut sent: Vec<_> = pages
        .map(|asked| format!("{} {} {} {}", asked.host, asked.method, asked.path, asked.body).trim_end().to_owned())
        .collect();
    sent.sort();
    sent
}

const SENT: [&str; 13] = [
    "1 GET /after",
    "1 GET /api",
    "1 GET /found",
    "1 GET /item/1",
    "1 GET /item/2",
    "1 POST /api {\"page\":1}",
    "1 POST /api {\"page\":2}",
    "1 POST /away {\"a\":1}",
    "1 POST /moved {\"m\":1}",
    "1 POST /repeat {\"r\":1}",
    "1 POST /search q=a+b",
    "1 POST /search q=a+b&p=1",
    "1 POST /target {\"r\":1}",
];

#[test]
fn requests_are_sent_once_each_archived_whole_and_found_again() {
    let hosts = Hosts::start(2, api);
    let crawl = Crawl::new(&seeds(&hosts), &config(""));
    crawl.run(&[]).expect(0, &["complete"]);
    let all: Vec<&str> = SENT.into_iter().chain(["2 GET /plain", "2 POST /target {\"a\":1}"]).collect();
    assert_eq!(sent(&hosts), all);
    let asked = hosts.asked();
    let of = |body: &str, path: &str| asked.iter().find(|asked| asked.body == body && asked.path == path).unwrap();
    let second = of("{\"page\":2}", "/api");
    assert_eq!((second.field("accept"), second.field("x-key")), (Some("application/json"), Some("k")));
    assert_eq!(second.field("content-type"), Some("application/json"));
    assert_eq!(of("{\"r\":1}", "/target").field("x-key"), Some("k"));
    // its type goes along with a body, and nothing else does to another origin
    let away = of("{\"a\":1}", "/target");
    assert_eq!((away.host, away.field("x-key"), away.field("content-type")), (2, None, Some("application/json")));

    let line = format!("{{\"url\": \"{}\", \"json\": {{\"page\": 1}}}}", hosts.url(1, "/api"));
    let warc = said(&crawl, &["get", &line, "--warc"]);
    assert!(
        warc.contains("POST /api HTTP/1.1\r\n") && warc.contains("content-length: 10\r\n\r\n{\"page\":1}"),
        "{warc}"
    );
    assert!(
        warc.contains(&format!("WARC-Target-URI: {}\r\nX-Crawler-Request: ~POST&", hosts.url(1, "/api"))),
        "{warc}"
    );
    assert!(said(&crawl, &["get", &line]).contains("/item/1"));
    let listed = said(&crawl, &["list"]);
    let address = format!("{}#~POST&content-type:application/json&&{{%22page%22:1}}", hosts.url(1, "/api"));
    assert!(listed.contains(&address), "{listed}");
    assert!(said(&crawl, &["explain", &address]).contains("200"));
    let index = said(&crawl, &["export", "cdxj"]);
    let of_page = index.lines().find(|line| line.contains("\"requestBody\":\"page=1\"")).unwrap();
    assert!(
        of_page.contains("/api?__wb_method=post&page=1 ") && of_page.ends_with("\"method\":\"POST\"}"),
        "{of_page}"
    );
    assert!(of_page.contains(&format!("\"url\":\"{}\"", hosts.url(1, "/api"))), "{of_page}");
    said(&crawl, &["verify"]);
}

#[test]
fn kills_lose_no_request_and_another_round_sends_each_again_without_condition() {
    let hosts = Hosts::start(2, api);
    let slow = config("").replace("delay_min = \"0s\"", "delay_min = \"20ms\"");
    let crawl = Crawl::new(&seeds(&hosts), &slow);
    // killed when this many more requests have come
    for more in [2, 3, 4] {
        let before = hosts.asked().len();
        let mut child = crawl.start(&[]);
        while hosts.asked().len() < before + more && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        kill(child);
    }
    crawl.run(&[]).expect(0, &["complete"]);
    let mut all = sent(&hosts);
    all.dedup();
    let expected: Vec<&str> = SENT.into_iter().chain(["2 GET /plain", "2 POST /target {\"a\":1}"]).collect();
    assert_eq!(all, expected);
    said(&crawl, &["verify"]);

    let before = hosts.asked().len();
    crawl.run(&["--force"]).expect(0, &["complete"]);
    let again: Vec<_> = hosts.asked()[before..].iter().filter(|asked| asked.method == "POST").cloned().collect();
    assert!(again.iter().any(|asked| asked.body == "{\"page\":1}"), "{again:?}");
    assert!(again.iter().all(|asked| asked.field("if-none-match").is_none()), "{again:?}");
    // the same content again is a revisit of the same address
    let line = format!("{{\"url\": \"{}\", \"json\": {{\"page\": 1}}}}", hosts.url(1, "/api"));
    let warc = said(&crawl, &["get", &line, "--warc"]);
    let refers = format!("WARC-Refers-To-Target-URI: {}\r\nX-Crawler-Refers-To-Request: ~POST&", hosts.url(1, "/api"));
    assert!(warc.contains("WARC-Type: revisit") && warc.contains(&refers), "{warc}");
    said(&crawl, &["verify"]);
}

#[test]
fn lines_that_are_no_requests_are_told_by_number_and_field() {
    let hosts = Hosts::start(1, api);
    let seeds = format!("{}\n{{\"url\": \"http://a.example/\", \"metod\": \"POST\"}}\n", hosts.url(1, "/plain"));
    let crawl = Crawl::new(&seeds, &config(""));
    let ended = crawl.run(&[]);
    assert!(
        ended.said.contains("seeds.txt:2: ") && ended.said.contains("metod: there is no such field"),
        "{}",
        ended.said
    );
}

#[test]
fn no_page_redirect_or_sitemap_makes_a_request() {
    const EVIL: &str = "#~POST&x-own:1&&evil";
    let hosts = Hosts::start(1, |asked| {
        let home = format!("http://{}", asked.field("host").unwrap());
        match asked.path.as_str() {
            "/robots.txt" => Answer::text(format!("User-agent: *\nSitemap: {home}/map.xml{EVIL}\n")),
            "/map.xml" => Answer::text(format!("{home}/listed{EVIL}\n")),
            "/" => Answer::page(format!(
                "<link rel=canonical href='/same{EVIL}'><meta http-equiv=refresh content='9; url=/later{EVIL}'>\
                 <a href='/linked{EVIL}'>a</a><a href='{home}/whole{EVIL}'>b</a><img src='/picture{EVIL}'>\
                 <a href='/moved'>c</a>"
            ))
            .with("link", format!("</headed{EVIL}>; rel=next")),
            "/moved" => Answer::redirect(format!("{home}/there{EVIL}")),
            _ => Answer::page("<title>leaf</title>"),
        }
    });
    let crawl = Crawl::new(&format!("{}\n", hosts.url(1, "/")), &config(""));
    crawl.run(&[]).expect(0, &["complete"]);
    let asked = hosts.asked();
    assert!(asked.iter().all(|asked| asked.method == "GET" && asked.body.is_empty()), "{asked:#?}");
    for path in ["/map.xml", "/listed", "/linked", "/whole", "/picture", "/later", "/headed", "/there"] {
        assert!(asked.iter().any(|asked| asked.path == path), "{path}: {:?}", hosts.paths_of(1));
    }
    assert!(!crawl.stored().keys().any(|url| url.contains('#')), "{:#?}", crawl.stored());
}
