//! Tests of what processing finds in an answer, without a network and an archive.

use crate::contract::Judgement;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::clock::Time;
use crate::fingerprint::Fingerprinter;
use crate::frontier::Hops;
use crate::warc::HttpVersion;
use crate::web::scope::ScopeOptions;

fn processor(text_digests: bool) -> Processor {
    Processor::new(ProcessOptions {
        keys: Arc::new(KeyMaker::new(Fingerprinter::random(5), &[])),
        agent_token: "crawler".to_owned(),
        links_max: 100,
        url_bytes_max: 2_000,
        decoded_max: 1 << 20,
        robots_bytes_max: 500 << 10,
        sitemaps_max: 10,
        respect_nofollow: true,
        lazy_attributes: Vec::new(),
        script_files: false,
        json_links: crate::web::json::JsonLinks::Off,
        text_links: false,
        llms_txt: false,
        markdown_twins: false,
        content_first: false,
        favicon: false,
        licenses: false,
        request_records: true,
        text_digests,
        likenesses: false,
        learn_session_params: false,
        compression: Compression::None,
        guard: AddressGuard::new(&[]),
        dedup: None,
        kinds: None,
        asks_missing: false,
        kinds_without_links: Vec::new(),
        documents: None,
        sites: None,
    })
}

fn text_of(processor: &mut Processor, status: u16, content_type: &str, body: &str) -> u64 {
    let url = CanonicalUrl::parse("https://a.example/page").unwrap();
    let response = Response {
        status,
        reason: String::new(),
        version: HttpVersion::Http11,
        headers: vec![(b"content-type"[..].into(), content_type.as_bytes().into())],
        body: body.as_bytes().to_vec(),
        truncated: None,
        address: None,
        request: Vec::new(),
        started: Time::from_ms(1_795_000_000_000),
        duration: Duration::from_millis(12),
        judgement: Judgement::Open,
    };
    let scope = Scope::new(&ScopeOptions::default(), [&url].into_iter()).unwrap();
    processor.findings(&url, Purpose::Page { depth: 0, hops: &Hops::default() }, &response, &scope).text
}

#[test]
fn texts_have_digests_where_that_was_asked_for_and_what_is_no_text_has_none() {
    let mut processor = processor(true);
    let mut of = |content_type, body| text_of(&mut processor, 200, content_type, body);
    let page = of("text/html", "<p>One page, seen 5 times");
    assert_ne!(page, 0);
    assert_eq!(of("text/html; charset=utf-8", "<body><p>One page,<br> seen 6 times</body>"), page);
    assert_ne!(of("text/html", "<p>Another page, seen 5 times"), page);
    assert_ne!(of("text/plain", "One text"), of("text/plain", "Another text"));
    assert_ne!(of("text/xml", "<a>One text</a>"), of("text/xml", "<a>Another text</a>"));
    // of a list of URLs that is what it names, and when that changed
    let feed = |url: &str, built: u8| {
        let item = format!("<item><link>http://a.example/{url}</link></item>");
        format!("<rss version='2.0'><channel><lastBuildDate>{built}</lastBuildDate>{item}</channel></rss>")
    };
    for (content_type, body) in [("image/png", "\u{89}PNG"), ("text/css", "a{}"), ("text/html", "<p>2026-11-22")] {
        assert_eq!(of(content_type, body), 0, "{content_type}");
    }
    let mut of_feed = |url, built| text_of(&mut processor, 200, "application/rss+xml", &feed(url, built));
    let one = of_feed("one", 1);
    assert_ne!(one, 0);
    assert_eq!(one, of_feed("one", 2));
    assert_ne!(one, of_feed("two", 1));
    assert_eq!(text_of(&mut processor, 404, "text/html", "<p>No such page"), 0);
}

#[test]
fn texts_have_no_digests_where_nobody_asked() {
    let mut processor = processor(false);
    for content_type in ["text/html", "text/plain", "text/xml"] {
        assert_eq!(text_of(&mut processor, 200, content_type, "<p>One page"), 0);
    }
}
