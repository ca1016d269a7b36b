//! Whole crawls of servers whose Content-Encoding is not what the body is in.

use super::fetch::crawl::Plan;
use super::fetch::http::HttpServer;

const RULES: &str = "User-agent: *\nDisallow: /private/\n";
const HOME: &str = "<a href=\"/private/1\">x</a><a href=\"/open\">x</a><link rel=stylesheet href=\"/s.css\">\
    <a href=\"/feed\">x</a>";

/// Returns the type and the body at a path of every site.
fn content(path: &str) -> (&'static str, &'static str) {
    match path {
        "/" => ("text/html", HOME),
        "/s.css" => ("text/css", "a{background:url(/p.png)}"),
        "/feed" => ("application/rss+xml", "<rss><channel><item><link>/item</link></item></channel></rss>"),
        "/sitemap.txt" => ("text/plain", ""),
        _ => ("text/html", "<p>x"),
    }
}

/// A site whose answers say that they are in `coding`; its robots.txt is `robots`, with this coding.
fn serve(robots: (&'static str, &'static [u8]), coding: &'static str) -> HttpServer {
    HttpServer::start("127.0.0.1", move |connection| {
        let port = connection.stream.local_addr().unwrap().port();
        while let Some(head) = connection.request() {
            let path = head.split(' ').nth(1).unwrap_or_default();
            let (kind, mut body) = content(path);
            let listed = format!("http://127.0.0.1:{port}/listed\n");
            if path == "/sitemap.txt" {
                body = &listed;
            }
            let (coding, body) = if path == "/robots.txt" { robots } else { (coding, body.as_bytes()) };
            let coding = if coding.is_empty() { String::new() } else { format!("content-encoding: {coding}\r\n") };
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{coding}content-length: {length}\r\n\r\n");
            if !connection.send([answer.as_bytes(), body].concat()) {
                return;
            }
        }
    })
}

/// The paths that a site was asked for, each once.
fn asked(server: &HttpServer) -> Vec<String> {
    let heads = server.requests();
    let mut paths: Vec<String> =
        heads.iter().filter_map(|(_, head)| Some(head.split(' ').nth(1)?.to_owned())).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[test]
fn a_robots_txt_that_cannot_be_decoded_forbids_everything_for_now() {
    const RUBBISH: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03no deflate";
    let codings = [
        ("gzip", RULES.as_bytes()),
        ("br", RULES.as_bytes()),
        ("deflate", RULES.as_bytes()),
        ("zstd", RULES.as_bytes()),
        ("gzip, aws-chunked", RULES.as_bytes()),
        ("gzip", RUBBISH),
        ("", RUBBISH),
        ("rot13", b"\0\x01\x02\x03"),
    ];
    let servers = codings.map(|robots| serve(robots, ""));
    let seeds = servers.each_ref().map(|server| server.url("127.0.0.1"));
    let crawled = Plan::of(&seeds).run();
    for ((coding, server), seed) in codings.iter().zip(&servers).zip(&seeds) {
        assert_eq!(asked(server), ["/robots.txt"], "{coding:?}");
        let told = crawled.ask(&["explain", seed]);
        assert!(told.contains("robots.txt cannot be decoded"), "{coding:?}: {told}");
        assert!(!told.contains("no rule matches"), "{coding:?}: {told}");
        crawled.expect_skipped(seed, "robots.txt cannot be decoded");
    }
}

#[test]
fn a_name_that_is_no_coding_hides_nothing() {
    let words = ["aws-chunked", "iso-8859-1", "text/html", "chunked", "base64", "compress", "gzip;q=1"];
    let servers = words.map(|word| serve((word, b"User-agent: *\nDisallow: /private/\nSitemap: /sitemap.txt\n"), word));
    let seeds = servers.each_ref().map(|server| server.url("127.0.0.1"));
    let crawled = Plan::of(&seeds).run();
    assert_eq!(crawled.code, Some(0), "{}", crawled.crawl_log);
    let paths = ["/", "/feed", "/item", "/listed", "/open", "/p.png", "/robots.txt", "/s.css", "/sitemap.txt"];
    for ((word, server), seed) in words.iter().zip(&servers).zip(&seeds) {
        assert_eq!(asked(server), paths, "{word}");
        crawled.expect_skipped(&format!("{seed}private/1"), "robots");
        assert_eq!(crawled.ask(&["get", seed]), HOME, "{word}");
    }
}

#[test]
fn a_page_that_cannot_be_decoded_says_so_and_is_there_as_it_was_sent() {
    let server = serve(("", RULES.as_bytes()), "gzip");
    let seed = server.url("127.0.0.1");
    let crawled = Plan::of(std::slice::from_ref(&seed)).run();
    crawled.expect(&seed, "decodedTrunc");
    let told = crawled.ask(&["explain", &seed]);
    assert!(told.contains("its links are not followed: its content coding cannot be undone"), "{told}");
    assert_eq!(crawled.ask(&["get", &seed, "--raw"]), HOME);
    let get = crawled.try_ask(&["get", &seed]);
    assert_eq!((get.status.code(), get.stdout.as_slice()), (Some(1), &b""[..]));
    let said = String::from_utf8(get.stderr).unwrap();
    assert!(
        said.contains("its content coding (gzip) cannot be undone; --raw prints the body as it was sent"),
        "{said}"
    );
}
