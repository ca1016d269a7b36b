//! Tests of [`super`].

use std::time::Duration;

use super::*;
use crate::reading::tree::parse;

fn fact(fact: Fact, page: &str) -> Value {
    let tree = parse(page, Duration::MAX).unwrap();
    let base = Url::parse("https://a.example/dir/").unwrap();
    let text: String = tree.root_element().text().collect();
    Facts { tree: &tree, text: &text, base: Some(&base), content_language: Some("de"), url: None, fetched: Time::MAX }
        .get(fact)
}

#[test]
fn the_language_is_that_of_the_text_whatever_the_page_states() {
    let french = "<html lang=en-GB><p>Le chat est sur la table et il regarde les oiseaux qui chantent dans le jardin.";
    assert_eq!(fact(Fact::Language, french), "fra");
    assert_eq!(fact(Fact::StatedLanguage, french), "en-GB");
    assert_eq!(fact(Fact::StatedLanguage, "<html lang='{{ lang }}'>"), Value::Null);
    assert_eq!(fact(Fact::StatedLanguage, "<p>x"), "de");
    assert_eq!(fact(Fact::Language, "<p>12 34"), Value::Null);
    // what it states counts where its text is a list, or too short, and its letters are of that language
    let list = "<html lang=de-DE><p>Zwergpinscher<p>Mops<p>Boxer<p>Dalmatiner";
    assert_eq!(fact(Fact::Language, list), "deu");
    assert_eq!(fact(Fact::Language, "<html lang=ru><p>Mops"), Value::Null);
    assert_eq!(fact(Fact::Language, "<html lang=tlh><p>Qapla"), Value::Null);
    let long = format!("<p>{}", "Съешь же ещё этих мягких французских булок, да выпей чаю. ".repeat(2_000));
    assert_eq!(fact(Fact::Language, &long), "rus");
}

#[test]
fn words_and_direction_are_those_of_the_script() {
    assert_eq!(fact(Fact::Words, "<p>one two, three 4"), 4);
    assert_eq!(fact(Fact::Words, "<p>日本語"), 3);
    assert_eq!(fact(Fact::Direction, "<p>שלום עולם, hello"), "rtl");
    assert_eq!(fact(Fact::Direction, "<p>hello"), "ltr");
    assert_eq!(fact(Fact::Direction, "<html dir=RTL><p>hello"), "rtl");
    assert_eq!(fact(Fact::Direction, "<html dir=auto><p>1"), Value::Null);
}

#[test]
fn blocks_of_json_are_values_and_broken_ones_are_left_out() {
    let page = "<script type='application/ld+json'>{\"@type\": \"Article\", \"name\": \"a\nb\"}</script>
        <script type='application/LD+JSON; charset=utf-8'>[1]</script><script type=application/ld+json>{</script>
        <script>{}</script>";
    assert_eq!(fact(Fact::JsonLd, page), json!([{"@type": "Article", "name": "a b"}, [1]]));
}

#[test]
fn properties_of_open_graph_are_lists() {
    let page = "<meta property='og:title' content=' T '><meta property=og:image content=/a><meta property=OG:image
        content=/b><meta name=twitter:card content=summary><meta name=author content=x><meta property=og:url>";
    let expected = json!({"og:title": ["T"], "og:image": ["/a", "/b"], "twitter:card": ["summary"]});
    assert_eq!(fact(Fact::OpenGraph, page), expected);
}

#[test]
fn feeds_are_alternates_of_their_types() {
    let page = "<link rel='alternate home' type='Application/RSS+XML; charset=utf-8' title=News href=feed.xml>
        <link rel=alternate type=text/html href=/x><link rel=stylesheet type=application/rss+xml href=/y>";
    let feed = json!({"url": "https://a.example/dir/feed.xml", "title": "News", "type": "application/rss+xml"});
    assert_eq!(fact(Fact::Feeds, page), json!([feed]));
}

#[test]
fn items_have_the_values_that_the_standard_gives_their_elements() {
    let page = "<div itemscope itemtype='https://schema.org/Product https://x.example/T' itemid=urn:x>
        <h1 itemprop='name title'>A
          <b>thing</b></h1><img itemprop=image src=a.png><a itemprop=url href=/p>no</a>
        <meta itemprop=sku content=5><data itemprop=n value=7>seven</data><time itemprop=d>2026</time>
        <time itemprop=t datetime=2026-01-01>x</time><object itemprop=o data=o.bin></object>
        <div itemprop=offers itemscope><span itemprop=price>9</span></div><img itemprop=none></div>";
    let expected = json!([{
        "type": ["https://schema.org/Product", "https://x.example/T"],
        "id": "urn:x",
        "properties": {
            "name": ["A thing"], "title": ["A thing"], "image": ["https://a.example/dir/a.png"],
            "url": ["https://a.example/p"], "sku": ["5"], "n": ["7"], "d": ["2026"], "t": ["2026-01-01"],
            "o": ["https://a.example/dir/o.bin"], "offers": [{"properties": {"price": ["9"]}}], "none": [""],
        },
    }]);
    assert_eq!(fact(Fact::Microdata, page), expected);
}

#[test]
fn the_text_of_a_property_is_what_a_reader_sees_and_content_is_its_value() {
    let page = "<div itemscope><div itemprop=name><p>Treatment</p><p>For <b>on</b>e<script>x()</script></div>
        <span itemprop=price content=13.00>$13</span><div itemprop=s itemscope content=no></div></div>";
    let expected =
        json!([{"properties": {"name": ["Treatment For one"], "price": ["13.00"], "s": [{"properties": {}}]}}]);
    assert_eq!(fact(Fact::Microdata, page), expected);
}

#[test]
fn properties_within_properties_are_walked_with_an_end() {
    let page = format!("<div itemscope>{}{}", "<div itemprop=x>".repeat(400), "<b></b>".repeat(300_000));
    let found = fact(Fact::Microdata, &page);
    let values = found[0]["properties"]["x"].as_array().unwrap();
    assert!(values.len() < 20, "{}", values.len());
}

#[test]
fn items_take_elements_from_elsewhere_in_the_order_of_the_page_and_no_circle_is_endless() {
    // the example of the standard, section 5.2.2
    let page = "<p id=a itemprop=p>1</p><div itemscope itemref='b a none'><p itemprop=p>2</p></div><p id=b>
        <span itemprop=p>3</span>";
    assert_eq!(fact(Fact::Microdata, page), json!([{"properties": {"p": ["1", "2", "3"]}}]));
    let circle = "<div itemscope itemref=x></div><div id=x itemprop=k itemscope itemref=x></div>";
    let expected = json!([{"properties": {"k": [{"properties": {"k": ["ERROR"]}}]}}]);
    let found = fact(Fact::Microdata, circle);
    // an item that refers to itself is a root, and so not its own property
    assert!(found == expected || found == json!([{"properties": {"k": [{"properties": {}}]}}]), "{found}");
}

#[test]
fn items_that_multiply_by_reference_end() {
    let item = |n: usize| {
        let next = format!("a{} b{}", n + 1, n + 1);
        let half = |id: char| format!("<div id={id}{n} itemprop=p itemscope itemref='{next}'></div>");
        half('a') + &half('b')
    };
    let page: String = (0..60).map(item).collect();
    let found = fact(Fact::Microdata, &format!("<div itemscope itemref='a0 b0'></div>{page}"));
    assert!(found.to_string().len() < 2 * BYTES_MAX);
    let names: String = ('a'..='z').map(|name| format!("{name} ")).collect();
    let page = format!("<div itemscope itemprop='{names}'>").repeat(60);
    let found = fact(Fact::Microdata, &format!("<div itemscope>{page}"));
    assert!(found.to_string().len() < 2 * BYTES_MAX);
}
