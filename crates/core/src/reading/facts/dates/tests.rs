//! Tests of [`super`].

use std::time::Instant;

use super::*;
use crate::reading::tree::parse;

/// The dates that a page at `url`, fetched in 2024, was published and modified.
fn of_url(url: &str, page: &str) -> [Option<String>; 2] {
    let tree = parse(page, Duration::MAX).unwrap();
    let url = Url::parse(url).unwrap();
    let fetched = crate::web::warc_date::parse_date("2024-06-01T00:00:00Z").unwrap();
    let facts = Facts { tree: &tree, text: "", base: None, content_language: None, url: Some(&url), fetched };
    let dates = Dates::of(&facts);
    [dates.published(), dates.modified()].map(|value| value.as_str().map(str::to_owned))
}

fn published(page: &str) -> Option<String> {
    let [published, _] = of_url("https://a.example/", page);
    published
}

fn day(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn what_a_page_states_counts_before_what_it_shows() {
    let json = "<script type=application/ld+json>{\"@graph\": [{\"@type\": \"Comment\", \"datePublished\":
        \"2024-01-09\"}, {\"@type\": \"NewsArticle\", \"datePublished\": \"2024-01-01T10:00:00+01:00\",
        \"dateModified\": \"2024-01-02\"}]}</script>";
    let meta = "<meta property=article:published_time content=2024-01-03><meta name=date content=2024-01-04>";
    let body = "<h1>Title</h1><span itemprop=datePublished content=2024-01-05></span><time datetime=2024-01-06></time>
        <p class=byline>7 January 2024";
    let [first, changed] = of_url("https://a.example/", &format!("{json}{meta}{body}"));
    assert_eq!((first, changed), (day("2024-01-01T10:00:00+01:00"), day("2024-01-02")));
    assert_eq!(published(&format!("{meta}{body}")), day("2024-01-03"));
    assert_eq!(published(body), day("2024-01-05"));
    assert_eq!(
        published("<h1>Title</h1><time datetime=2024-01-06></time><p class=byline>7 January 2024"),
        day("2024-01-06")
    );
    assert_eq!(published("<h1>Title</h1><p class=byline>7 January 2024"), day("2024-01-07"));
    assert_eq!(published("<meta name=date content=2024-01-04>"), day("2024-01-04"));
    assert_eq!(published("<p>Nothing"), None);
}

#[test]
fn the_url_has_the_day_and_other_sources_the_time() {
    let meta = |time: &str| format!("<meta property=article:published_time content={time}>");
    let of = |time: &str| of_url("https://a.example/2024/01/31/title", &meta(time))[0].clone();
    assert_eq!(of("2024-01-31T10:15:00Z"), day("2024-01-31T10:15:00Z"));
    assert_eq!(of("2024-02-01T02:15:00Z"), day("2024-01-31"));
    assert_eq!(published("<link rel=canonical href=https://a.example/2024/01/30/x>"), day("2024-01-30"));
    // the time of a change is not the time of the publication
    let changed = "<meta property=article:modified_time content=2024-01-31T20:00:00Z>";
    let expected = [day("2024-01-31"), day("2024-01-31T20:00:00Z")];
    assert_eq!(of_url("https://a.example/2024/01/31/title", changed), expected);
}

#[test]
fn no_date_is_later_than_the_fetch_or_older_than_the_web() {
    for none in ["2024-06-02", "2099-01-01", "1994-12-31", "0000-00-00"] {
        assert_eq!(published(&format!("<meta name=date content={none}><p>{none}")), None, "{none}");
    }
    assert_eq!(published("<meta name=date content=2024-06-01>"), day("2024-06-01"));
}

#[test]
fn near_the_heading_counts_before_the_rest_of_the_page() {
    let page = "<title>A heading of some length | Site</title><div>Today is 30.5.2024</div><h1>Site</h1><ul>
        <li><time datetime=2024-05-29>x</time></ul><p>some text that makes a distance"
        .to_owned()
        + &" word".repeat(100)
        + "<h2>A heading of some length</h2><p>Published 1.5.2024, updated: 3.5.2024</p>
        <aside><time class=published datetime=2024-05-20>x</time></aside>";
    assert_eq!(of_url("https://a.example/", &page), [day("2024-05-01"), day("2024-05-03")]);
}

#[test]
fn what_is_not_shown_counts_where_nothing_else_has_a_date() {
    let script = "<!-- 2024-01-01 10:00:00 --><script>x = {\"publishDate\": \"2024-01-02\"}</script>";
    assert_eq!(published(script), day("2024-01-02"));
    assert_eq!(published(&format!("{script}<p>3 January 2024")), day("2024-01-03"));
    assert_eq!(published("<script>version(\"2024-01-02\")</script>"), None);
    assert_eq!(published("<img src=/media/2024/01/04/a.png>"), day("2024-01-04"));
}

#[test]
fn numbers_are_read_as_the_language_of_the_page_has_them() {
    assert_eq!(published("<html lang=en-US><p>5/1/2024"), day("2024-05-01"));
    assert_eq!(published("<html lang=en-GB><p>5/1/2024"), day("2024-01-05"));
}

#[test]
fn hostile_pages_take_no_longer_than_others() {
    for piece in ["<i class=date>", "1 ", "1 de ", "2024-05-01 ", "<h1>a</h1>", "\u{e9}1\u{5e74}", ".1"] {
        let page = piece.repeat(if piece.starts_with("<i") { 400 } else { 100_000 });
        let started = Instant::now();
        published(&page);
        assert!(started.elapsed() < Duration::from_secs(10), "{piece}");
    }
}
