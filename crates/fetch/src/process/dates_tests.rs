//! The dates that links of sitemaps and feeds come with, as the engine gets them.

use super::*;
use crate::clock::Time;
use crate::contract::listed::format_of;
use crate::contract::{Findings, Judgement};
use crate::fingerprint::Fingerprinter;
use crate::frontier::Hops;
use crate::warc::{HttpVersion, parse_date};
use crate::web::scope::{ScopeMode, ScopeOptions};
use crate::web::sitemap::Kind;
use std::time::Duration;

fn at(text: &str) -> Time {
    parse_date(text).unwrap()
}

fn options() -> ProcessOptions {
    ProcessOptions {
        keys: Arc::new(KeyMaker::new(Fingerprinter::random(3), &[])),
        agent_token: "crawler".to_owned(),
        links_max: 1_000,
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
        text_digests: false,
        likenesses: false,
        learn_session_params: false,
        request_records: false,
        compression: Compression::Gzip,
        guard: AddressGuard::new(&[]),
        dedup: None,
        kinds: None,
        asks_missing: false,
        kinds_without_links: Vec::new(),
        documents: None,
        sites: None,
    }
}

/// Finds what an answer of 22 November 2026, noon, has, on a path of these hops.
fn found(hops: &str, headers: &[(&str, &str)], body: &str) -> Findings {
    let scope = ScopeOptions { mode: ScopeMode::Any, ..ScopeOptions::default() };
    let scope = Scope::new(&scope, std::iter::empty()).unwrap();
    let response = Response {
        status: 200,
        reason: "OK".to_owned(),
        version: HttpVersion::Http11,
        headers: headers.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect(),
        body: body.as_bytes().to_vec(),
        truncated: None,
        address: None,
        request: Vec::new(),
        started: at("2026-11-22T12:00:00Z"),
        duration: Duration::from_millis(5),
        judgement: Judgement::Open,
    };
    let url = CanonicalUrl::parse("http://h.test/map").unwrap();
    let purpose = Purpose::Page { depth: 0, hops: &Hops::parse(hops) };
    Processor::new(options()).findings(&url, purpose, &response, &scope)
}

/// The paths of the links with their dates.
fn dates(findings: &Findings) -> Vec<(&str, Option<Time>)> {
    let path = |link: &crate::contract::FoundLink| link.url.find(".test").map_or(0, |at| at + 5);
    findings.links.iter().map(|link| (&link.url[path(link)..], link.modified)).collect()
}

const XML: &[(&str, &str)] = &[("content-type", "application/xml")];

fn set(entries: &[(&str, &str)]) -> String {
    let entries = entries.iter().map(|(url, date)| format!("<url><loc>{url}</loc><lastmod>{date}</lastmod></url>"));
    format!("<urlset>{}</urlset>", entries.collect::<String>())
}

#[test]
fn entries_have_the_dates_that_are_believed_and_a_url_that_stands_twice_the_later_one() {
    let entries = [
        ("/a", "2026-11-22T11:00:00Z"),
        ("/b", "2026-11-20T11:00:00Z"),
        ("/now", "2026-11-22T12:00:00Z"),
        ("/b", "2026-11-21T11:00:00Z"),
        ("/b", "2026-11-19T11:00:00Z"),
        ("/future", "2031-01-01"),
        ("/nonsense", "today"),
    ];
    let findings = found("PM", XML, &set(&entries));
    let expected = [
        ("/a", Some(at("2026-11-22T11:00:00.999Z"))),
        ("/b", Some(at("2026-11-21T11:00:00.999Z"))),
        ("/now", None),
        ("/future", None),
        ("/nonsense", None),
    ];
    assert_eq!(dates(&findings), expected);
    assert_eq!(findings.kind(), Kind::Sitemap);
    let beside = "<urlset><url><loc>/en</loc><x:link rel='alternate' href='/de'/><lastmod>2026-11-20T00:00:00Z\
                  </lastmod></url><url><loc>/de</loc><lastmod>2026-11-21T00:00:00Z</lastmod></url></urlset>";
    let expected = [("/en", Some(at("2026-11-20T00:00:00.999Z"))), ("/de", Some(at("2026-11-21T00:00:00.999Z")))];
    assert_eq!(dates(&found("", XML, beside)), expected, "met as a translation first");
}

#[test]
fn an_answer_out_of_a_cache_is_as_old_as_its_server_says() {
    let map = set(&[("/a", "2026-11-22T09:00:00Z")]);
    let cached = [XML, &[("date", "Sun, 22 Nov 2026 09:00:10 GMT")]].concat();
    assert_eq!(dates(&found("M", &cached, &map)), [("/a", None)], "it was the time of the request");
    let later = [XML, &[("date", "Sun, 22 Nov 2037 09:00:10 GMT")]].concat();
    let future = set(&[("/a", "2026-11-22T13:00:00Z")]);
    assert_eq!(dates(&found("M", &later, &future)), [("/a", None)], "nor does a server make the future come");
    assert_eq!(dates(&found("M", &later, &map)), [("/a", Some(at("2026-11-22T09:00:00.999Z")))]);
}

#[test]
fn a_file_that_gives_all_its_pages_the_date_of_its_making_gives_none() {
    let names: Vec<String> = (0..40).map(|number| format!("/{number}")).collect();
    let of = |date: &dyn Fn(usize) -> String| {
        let dates: Vec<String> = (0..names.len()).map(date).collect();
        let entries: Vec<_> = names.iter().map(String::as_str).zip(dates.iter().map(String::as_str)).collect();
        let findings = found("PM", XML, &set(&entries));
        findings.links.iter().filter(|link| link.modified.is_some()).count()
    };
    assert_eq!(of(&|_| "2026-11-22".to_owned()), 0, "today for all");
    assert_eq!(of(&|number| format!("2026-11-22T03:00:{:02}Z", number % 20)), 0, "when the site was built");
    assert_eq!(of(&|number| format!("2026-11-{:02}", 1 + number % 20)), 40);
    assert_eq!(
        of(&|number| if number < 2 { "2025".to_owned() } else { "2026-11-22".to_owned() }),
        2,
        "the others hold"
    );
}

#[test]
fn what_a_feed_says_of_its_entries_is_known_however_the_feed_was_met() {
    let rss = "<rss><channel><link>http://h.test/</link><item><link>http://h.test/1</link>\
               <pubDate>Sun, 22 Nov 2026 08:00:00 GMT</pubDate><enclosure url='/1.ogg'/></item></channel></rss>";
    let date = Some(at("2026-11-22T08:00:00.999Z"));
    let as_seed = found("", &[("content-type", "text/xml")], rss);
    assert_eq!((dates(&as_seed), as_seed.kind()), (vec![("/", None), ("/1", date)], Kind::Feed));
    let linked = found("LL", &[("content-type", "application/rss+xml")], rss);
    assert_eq!((dates(&linked), linked.kind()), (vec![("/", None), ("/1", date), ("/1.ogg", None)], Kind::Feed));
    let json =
        r#"{"version":"https://jsonfeed.org/version/1","items":[{"url":"/1","date_modified":"2026-11-22T08:00:00Z"}]}"#;
    let linked = found("L", &[("content-type", "application/feed+json")], json);
    assert_eq!((dates(&linked), linked.kind()), (vec![("/1", date)], Kind::Feed));
    let page = found("", &[("content-type", "text/html")], "<a href=/1>");
    assert_eq!((dates(&page), page.kind()), (vec![("/1", None)], Kind::Page));
}

#[test]
fn what_a_seed_names_is_read_although_sitemaps_of_robots_files_are_not() {
    let options = ProcessOptions { sitemaps_max: 0, ..options() };
    let is_read = |hops: &str| {
        format_of(
            &Hops::parse(hops),
            options.sitemaps_max > 0,
            crate::web::sitemap::Body {
                content_type: Some("text/plain"),
                content_encoding: None,
                bytes: b"http://h.test/a\n",
            },
        )
        .is_some()
    };
    assert_eq!(["", "R", "M", "MM", "RMRM", "MMMM"].map(is_read), [true; 6]);
    assert_eq!(["MMMMM", "PM", "L", "LM", "PRM", "MML"].map(is_read), [false; 6]);
}
