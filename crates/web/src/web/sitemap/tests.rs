//! Tests of sitemaps as they are, and as those who mean harm make them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{BYTES_MAX, Body, Claim, Entry, Format, Item, Kind, Summary, URLS_MAX, format, read};
use crate::clock::Time;
use crate::web::url::CanonicalUrl;
use crate::web::warc_date::{format_date, parse_date};

const XMLNS: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

fn document() -> CanonicalUrl {
    CanonicalUrl::parse("http://h/dir/feed").unwrap()
}

fn of(content_type: Option<&str>, content_encoding: Option<&str>, bytes: &[u8]) -> Option<(Summary, Vec<String>)> {
    let mut urls = Vec::new();
    let body = Body { content_type, content_encoding, bytes };
    let summary = read(format(body, Claim::Named)?, body, &document(), &mut |item| match item {
        Item::Url(Entry::Page, url) => urls.push(url.to_owned()),
        Item::Url(Entry::Sitemap, url) => urls.push(format!("index {url}")),
        Item::Url(Entry::Beside, url) => urls.push(format!("beside {url}")),
        Item::Url(Entry::Next, url) => urls.push(format!("next {url}")),
        Item::End(_) => {}
    });
    Some((summary, urls))
}

fn urls(text: &str) -> Vec<String> {
    of(Some("application/xml"), None, text.as_bytes()).map(|(_, urls)| urls).unwrap_or_default()
}

fn is_sitemap(content_type: &str, text: &str) -> bool {
    of(Some(content_type), None, text.as_bytes()).is_some()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_url_set_gives_its_locations_and_an_index_its_sitemaps() {
    let set = format!(
        "\u{feff}<?xml version='1.0' encoding='UTF-8'?>\n<!-- <url><loc>http://h/no</loc></url> -->\n<urlset {XMLNS}>\
         <url>\n<loc>\n http://h/a?b=1&amp;c=2 </loc><lastmod>2005-01-01</lastmod><priority>0.8</priority></url>\
         <url><loc><![CDATA[http://h/x&y]]></loc></url><url><loc>http://h/&#252;&#x41;</loc></url></urlset>"
    );
    assert_eq!(urls(&set), ["http://h/a?b=1&c=2", "http://h/x&y", "http://h/\u{fc}A"]);
    let index = format!("<sitemapindex {XMLNS}><sitemap><loc>http://h/1.xml.gz</loc></sitemap></sitemapindex>");
    assert_eq!(urls(&index), ["index http://h/1.xml.gz"]);
    assert_eq!(urls(&format!("<urlset {XMLNS}/>")), Vec::<String>::new());
    assert!(is_sitemap("text/xml", "<urlset/>"));
}

#[test]
fn prefixes_and_extensions_are_told_apart_without_namespaces() {
    let prefixed = "<sm:urlset xmlns:sm='x'><sm:url><sm:loc>/a</sm:loc><image:image><image:loc>/i.png</image:loc>\
                    <image:caption>/no</image:caption></image:image><video:content_loc>/v</video:content_loc></sm:url>\
                    <url><loc>/b</loc></url></sm:urlset>";
    assert_eq!(urls(prefixed), ["/a", "beside /i.png", "beside /v", "/b"]);
    let images = "<urlset><url><loc>/a</loc><image:image><image:loc>/i.png</image:loc></image:image></url></urlset>";
    assert_eq!(urls(images), ["/a", "beside /i.png"]);
    let index = "<sitemapindex><sitemap><loc>/a</loc><image:loc>/no</image:loc></sitemap></sitemapindex>";
    assert_eq!(urls(index), ["index /a"]);
}

#[test]
fn translations_stand_beside_their_page() {
    let set = "<urlset><url><loc>/en</loc><xhtml:link rel='alternate' hreflang='de' href='/de?a&amp;b'/>\
               <xhtml:link rel='alternate' hreflang='fr' href='/fr'></xhtml:link><xhtml:link rel='next' href='/no'/>\
               <xhtml:link href='/no'/></url></urlset>";
    assert_eq!(urls(set), ["/en", "beside /de?a&b", "beside /fr"]);
    let many =
        format!("<urlset>{}<url><loc>/a</loc></url></urlset>", "<x:link rel='alternate' href='/b'/>".repeat(60_000));
    let (summary, found) = of(None, None, many.as_bytes()).unwrap();
    assert_eq!((summary.urls, summary.beside, summary.dropped), (1, URLS_MAX, 60_000 - URLS_MAX));
    assert_eq!(found.last().unwrap(), "/a");
}

#[test]
fn feeds_give_the_pages_of_their_entries() {
    let rss = "<?xml version='1.0'?><rss version='2.0'><channel><link>http://h/</link><atom:link href='http://h/f'/>\
               <item><title>x</title><link>http://h/1</link><guid>http://h/no</guid></item></channel></rss>";
    assert_eq!(urls(rss), ["http://h/", "http://h/1"]);
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='http://h/no'/><link href='http://h/'/>\
                <entry><link rel=\"alternate\" href=\"/1?a&amp;b\"></link><id>x</id></entry></feed>";
    assert_eq!(urls(atom), ["http://h/", "/1?a&b"]);
}

#[test]
fn a_text_has_a_url_a_line() {
    let text = "\u{feff}\r\nhttp://h/a\r\nHTTPS://h/b \n# http://h/no\n/relative\nftp://h/\n\nhttp://h/c";
    let (summary, found) = of(Some("text/plain; charset=utf-8"), None, text.as_bytes()).unwrap();
    assert_eq!(found, ["http://h/a", "HTTPS://h/b", "http://h/c"]);
    assert_eq!(summary, Summary { format: Format::Text, urls: 3, beside: 0, dropped: 0, cut: false });
    assert!(of(None, None, b"http://h/a\n").is_some());
}

#[test]
fn the_content_decides_what_is_a_sitemap() {
    let set = "<urlset><url><loc>/a</loc></url></urlset>";
    for content_type in ["text/html", "text/plain", "application/octet-stream", "image/png", ""] {
        assert!(is_sitemap(content_type, set), "{content_type}");
    }
    for other in [
        "",
        "<!DOCTYPE html><html><body><urlset><loc>/a</loc></urlset>",
        "<html>",
        "<svg xmlns='x'/>",
        "no URL here\nhttp://h/a",
        "User-agent: *\nSitemap: http://h/s",
        "<",
        "<urlset",
        "%PDF-1.4",
    ] {
        assert!(!is_sitemap("text/plain", other), "{other}");
    }
    assert!(!is_sitemap("text/html", "http://h/a\n"), "a page that starts with a URL");
    assert!(!is_sitemap("text/plain", &format!("http://h/{}", "a".repeat(100_000))), "one line without end");
}

#[test]
fn gzip_is_undone_as_coding_as_file_and_as_both() {
    let set = b"<urlset><url><loc>/a</loc></url></urlset>";
    for (encoding, body) in [
        (None, gzip(set)),
        (Some("gzip"), gzip(set)),
        (Some("gzip"), gzip(&gzip(set))),
        // a file that the server takes for an encoding and sends as it is
        (Some("identity"), gzip(set)),
    ] {
        assert_eq!(of(Some("application/x-gzip"), encoding, &body).unwrap().1, ["/a"], "{encoding:?}");
    }
    assert_eq!(of(Some("application/gzip"), None, &gzip(b"http://h/a\nhttp://h/b")).unwrap().1.len(), 2);
    let long = format!("<urlset>{}</urlset>", "<url><loc>http://h/a</loc></url>".repeat(2_000));
    let cut = gzip(long.as_bytes());
    let (_, found) = of(None, None, &cut[..cut.len() - 20]).unwrap();
    assert!(!found.is_empty() && found.iter().all(|url| url == "http://h/a"));
}

#[test]
fn other_encodings_are_read_as_they_are_declared() {
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>/\xe9</loc></url></urlset>";
    assert_eq!(of(None, None, latin).unwrap().1, ["/\u{e9}"]);
    let body = b"<urlset><url><loc>/\xe9</loc></url></urlset>";
    assert_eq!(of(Some("text/xml; charset=windows-1252"), None, body).unwrap().1, ["/\u{e9}"]);
    assert_eq!(of(Some("text/xml"), None, body).unwrap().1, ["/\u{fffd}"], "broken UTF-8 spoils no more than itself");
    let wide: Vec<u8> =
        "\u{feff}<urlset><url><loc>/a</loc></url></urlset>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(of(None, None, &wide).unwrap().1, ["/a"]);
}

#[test]
fn what_is_broken_is_read_as_far_as_it_goes() {
    for (text, expected) in [
        ("<urlset><url><loc>/a</loc><url><loc>/b</loc></urlset></x></y>", &["/a", "/b"][..]),
        ("<urlset><url><loc>/a</url><url><loc>/b</loc></url>", &["/a", "/b"]),
        ("<urlset><loc>/a?x=1&y=2</loc><loc>/b?&&</loc><loc>/c?x&y=2;z</loc>", &["/a?x=1&y=2", "/b?&&", "/c?x&y=2;z"]),
        ("<urlset><loc>/a</loc><!-- -- --><loc>/b</loc><loc>/cut", &["/a", "/b"]),
        ("<urlset><loc>/a</loc><loc>/b<br>/c</loc><loc>/d</loc>", &["/a", "/d"]),
        ("<urlset><loc>/a</loc>\0\u{1}<loc>/b</loc><![CDATA[", &["/a", "/b"]),
        ("<urlset><LOC>/a</LOC></urlset>", &["/a"]),
        ("<urlset><loc/><loc></loc><loc>  </loc>", &[]),
    ] {
        assert_eq!(urls(text), expected, "{text}");
    }
}

#[test]
fn s13_entities_of_a_dtd_give_nothing_and_cost_nothing() {
    let mut laughs = "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY lol 'http://h/lol'>".to_owned();
    for level in 1..10 {
        let before = if level == 1 { "lol".to_owned() } else { format!("lol{}", level - 1) };
        laughs.push_str(&format!("<!ENTITY lol{level} '{}'>", format!("&{before};").repeat(10)));
    }
    laughs.push_str("<!ENTITY xxe SYSTEM 'file:///etc/passwd'><!ENTITY % p SYSTEM 'http://h/p'>%p;]>");
    laughs.push_str(
        "<urlset><url><loc>&lol9;</loc></url><url><loc>http://h/&xxe;</loc></url>\
                     <url><loc>http://h/a</loc></url></urlset>",
    );
    let (summary, found) = of(Some("text/xml"), None, laughs.as_bytes()).unwrap();
    assert_eq!(found, ["http://h/a"]);
    assert_eq!(summary, Summary { format: Format::UrlSet, urls: 1, beside: 0, dropped: 2, cut: false });
}

#[test]
fn s12_a_million_urls_are_cut_at_the_protocols_bound_and_counted() {
    let many = format!("<urlset>{}</urlset>", "<url><loc>http://h/a</loc></url>".repeat(1_000_000));
    let (summary, found) = of(None, None, many.as_bytes()).unwrap();
    assert_eq!(found.len() as u64, URLS_MAX);
    assert_eq!(
        summary,
        Summary { format: Format::UrlSet, urls: URLS_MAX, beside: 0, dropped: 1_000_000 - URLS_MAX, cut: false }
    );
    let (summary, _) = of(Some("text/plain"), None, "http://h/a\n".repeat(100_000).as_bytes()).unwrap();
    assert_eq!(summary, Summary { format: Format::Text, urls: URLS_MAX, beside: 0, dropped: 50_000, cut: false });
}

#[test]
fn s7_a_bomb_is_cut_at_the_protocols_bound() {
    let mut bomb = b"<urlset><url><loc>http://h/a</loc></url>".to_vec();
    bomb.resize(BYTES_MAX + (1 << 20), b' ');
    bomb.extend_from_slice(b"<url><loc>http://h/behind</loc></url></urlset>");
    for (encoding, body) in [(None, gzip(&bomb)), (Some("gzip"), gzip(&gzip(&bomb)))] {
        assert!(body.len() < 1 << 20);
        let (summary, found) = of(None, encoding, &body).unwrap();
        assert_eq!((found.as_slice(), summary.cut), (&["http://h/a".to_owned()][..], true));
    }
    let long = format!("<urlset><loc>{}</loc><loc>/a</loc></urlset>", "x".repeat(10 << 20));
    let (summary, found) = of(None, None, long.as_bytes()).unwrap();
    assert_eq!((summary.dropped, found), (1, vec!["/a".to_owned()]));
}

#[test]
fn deep_nesting_and_endless_markup_take_linear_time_and_no_stack() {
    for piece in [
        "<a>",
        "<url>",
        "</url>",
        "<loc>",
        "&",
        "&a;",
        "<a b='",
        "<!--",
        "<![CDATA[",
        "<?x",
        "<!DOCTYPE a [",
        "<!ENTITY ",
    ] {
        let text = format!("<urlset>{}<loc>/a</loc>", piece.repeat(500_000));
        assert!(urls(&text).len() <= 500_000, "{piece}");
    }
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let files = [
        "<?xml version='1.0' encoding='utf-8'?><!DOCTYPE urlset [<!ENTITY a 'b'><!-- x --><?p?><!NOTATION n>]>\
         <urlset xmlns='x'>\
         <url><loc>http://h/&amp;&#65;&a;</loc><![CDATA[x]]></url></urlset>",
        "<feed><link rel='alternate' href='http://h/&lt;'/><entry><link href=\"/a\"></link></entry></feed>",
        "<s:sitemapindex xmlns:s=\"x\"><s:sitemap><s:loc>http://h/1</s:loc></s:sitemap></s:sitemapindex>",
        "http://h/a\nhttp://h/b\r\nhttp://h/c",
        r#"{"version":"https://jsonfeed.org/version/1","items":[{"id":1,"url":"/a","date_modified":"2026"}]}"#,
        "<rss><item><guid>http://h/1</guid><pubDate>Sun, 22 Nov 2026 10:15 GMT</pubDate></item></rss>",
    ];
    for seed in 0..6_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = files[random.usize(..files.len())].as_bytes().to_vec();
        for _ in 0..random.usize(..8) {
            let at = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] = b"<>&;'\"[]!-?=:\0"[random.usize(..14)],
                2 => drop(bytes.drain(at..(at + random.usize(..9)).min(bytes.len()))),
                _ => bytes.insert(at, b"<>&;'\"[]!-?=:\0"[random.usize(..14)]),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let found = of(["text/plain", "text/xml"].get(random.usize(..3)).copied(), None, &bytes);
        assert!(found.is_none_or(|(summary, urls)| summary.urls + summary.beside == urls.len() as u64), "seed {seed}");
        let noise: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
        of(None, Some("gzip"), &noise);
        of(None, None, &[super::GZIP_MAGIC, &noise].concat());
        of(Some("text/plain"), None, &[b"<urlset>", noise.as_slice()].concat());
    }
}

/// The URLs of a file with the dates of their entries, as they are believed in an answer of much later.
fn dated(content_type: &str, text: &str) -> Vec<String> {
    let body = Body { content_type: Some(content_type), content_encoding: None, bytes: text.as_bytes() };
    let (mut lines, mut first) = (Vec::<String>::new(), 0);
    read(format(body, Claim::Unlikely).unwrap(), body, &document(), &mut |item| match item {
        Item::Url(_, url) => lines.push(url.to_owned()),
        Item::End(modified) => {
            let date = modified.and_then(|written| written.believed(Time::of_day(2030, 1, 1)));
            if let Some(date) = date {
                lines[first..].iter_mut().for_each(|line| *line += &format!(" {}", &format_date(date)[..19]));
            }
            first = lines.len();
        }
    });
    lines
}

#[test]
fn the_entries_of_sitemaps_have_the_dates_that_stand_in_them_wherever_these_stand() {
    let set = "<urlset><url><loc>/a</loc><lastmod>2026-11-22T10:15:30Z</lastmod></url>\
               <url><lastmod> 2026-11-21T00:00:00Z\n</lastmod><loc>/b</loc></url>\
               <url><loc>/c</loc><x:link rel='alternate' href='/d'/><lastmod><![CDATA[2026-11-20T00:00:00Z]]></lastmod>\
               <url><loc>/none</loc><lastmod>yesterday</lastmod></url>\
               <url><loc>/long</loc><lastmod>2026-11-22T10:15:30.0000000000000000000000000000000000000000000000000Z\
               </lastmod></url><url><loc>/prefix</loc><video:lastmod>2026-11-22</video:lastmod></url>\
               <lastmod>2026-11-22</lastmod></urlset>";
    assert_eq!(
        dated("text/xml", set),
        [
            "/a 2026-11-22T10:15:30",
            "/b 2026-11-21T00:00:00",
            "/c 2026-11-20T00:00:00",
            "/d 2026-11-20T00:00:00",
            "/none",
            "/long",
            "/prefix"
        ]
    );
    let index = "<sitemapindex><sitemap><loc>/1</loc><lastmod>2026-11</lastmod></sitemap>\
                 <sitemap><loc>/2</loc></sitemap></sitemapindex>";
    assert_eq!(dated("text/xml", index), ["/1 2026-11-30T23:59:59", "/2"]);
}

#[test]
fn the_entries_of_feeds_of_every_kind_have_the_latest_of_their_dates() {
    let rss2 = "<rss version='2.0'><channel><link>/</link><pubDate>Sat, 21 Nov 2026 00:00:00 GMT</pubDate>\
                <item><link>/1</link><pubDate>Sun, 22 Nov 2026 10:15:30 +0100</pubDate></item>\
                <item><guid>http://h/2</guid><title>no link</title><atom:updated>2026-11-22T08:00:00Z</atom:updated>\
                <pubDate>Sat, 21 Nov 2026 00:00:00 GMT</pubDate></item>\
                <item><guid isPermaLink='false'>http://h/no</guid></item></channel></rss>";
    assert_eq!(dated("application/rss+xml", rss2), ["/", "/1 2026-11-22T09:15:30", "http://h/2 2026-11-22T08:00:00"]);
    let rss1 = "<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'><channel rdf:about='x'><link>/</link></channel>\
                <item rdf:about='/1'><link>/1</link><dc:date>2026-11-22T10:15+00:00</dc:date></item></rdf:RDF>";
    assert_eq!(dated("text/xml", rss1), ["/", "/1 2026-11-22T10:15:59"]);
    let rss091 = "<rss version='0.91'><channel><link>/</link><item><link>/1</link></item></channel></rss>";
    assert_eq!(dated("text/xml", rss091), ["/", "/1"]);
    let atom = "<feed><updated>2026-11-22T00:00:00Z</updated><link href='/'/>\
                <entry><published>2026-11-01T00:00:00Z</published><link href='/1'/><link rel='alternate' href='/1/de'/>\
                <updated>2026-11-20T10:15:30Z</updated></entry>\
                <entry><source><link href='/no'/><updated>2026-11-22T00:00:00Z</updated></source><link href='/2'/>\
                <published>2026-11-02T00:00:00Z</published></entry></feed>";
    assert_eq!(
        dated("application/atom+xml", atom),
        ["/", "/1 2026-11-20T10:15:30", "/1/de 2026-11-20T10:15:30", "/2 2026-11-02T00:00:00"]
    );
    let json = r#" {"version":"https:\/\/jsonfeed.org\/version\/1.1","title":"T","home_page_url":"/","author":{"a":[1]},
                "items":[{"id":"1","url":"\/1","date_published":"2026-11-01T00:00:00Z",
                "date_modified":"2026-11-20T10:15:30Z"},
                {"id":"http://h/2","url":null,"external_url":"http://other/"},{"id":3,"url":["/no"],"external_url":"/3",
                "date_modified":7},{"tags":{"url":"/no"}}],"next_url":"/page2"}"#;
    assert_eq!(dated("application/feed+json", json), ["/", "/1 2026-11-20T10:15:30", "http://h/2", "/3", "/page2"]);
}

#[test]
fn the_next_page_of_a_feed_and_its_archive_are_named() {
    for (feed, expected) in [
        (
            "<feed><link rel='self' href='/f'/><link rel='next' href='/f?2'/><link rel='prev-archive' href='/2025'/>\
             <entry><link href='/1'/><link rel='next' href='/no'/></entry></feed>",
            vec!["next /f?2", "next /2025", "/1"],
        ),
        (
            "<rss xmlns:atom='a'><channel><atom:link rel='next' href='/f?2'/><atom:link rel='self' href='/no'/>\
             <item><link>/1</link></item></channel></rss>",
            vec!["next /f?2", "/1"],
        ),
        (
            r#"{"version":"https://jsonfeed.org/version/1","next_url":"/f?2","items":[{"url":"/1"}]}"#,
            vec!["next /f?2", "/1"],
        ),
    ] {
        assert_eq!(urls(feed), expected, "{feed}");
    }
}

#[test]
fn entries_of_a_feed_are_resolved_against_the_bases_that_it_states() {
    let atom = "<feed xml:base='/blog/'><entry><link href='1'/></entry>\
                <entry xml:base='http://other/'><link href='2'/><link xml:base='3/' href='x'></link></entry>\
                <entry><link href='4'/></entry></feed>";
    assert_eq!(urls(atom), ["http://h/blog/1", "http://other/2", "http://other/3/x", "http://h/blog/4"]);
    let rss = "<rss xml:base='http://other/'><channel><item><link>1</link></item></channel></rss>";
    assert_eq!(urls(rss), ["http://other/1"]);
}

#[test]
fn an_item_of_rss_may_name_its_page_by_an_attribute() {
    let rss = "<rss><channel><link rel='alternate' href='/'/><item><link rel='alternate' href='/1'/>\
               <guid>http://h/no</guid></item><item><link href='/2'></link></item>\
               <item><link rel='edit' href='/no'/></item></channel></rss>";
    assert_eq!(urls(rss), ["/", "/1", "/2"]);
}

#[test]
fn a_feed_in_json_is_read_as_far_as_it_goes_and_no_deeper_than_it_may() {
    let start = r#"{"version":"https://jsonfeed.org/version/1","items":[{"url":"/1"},"#;
    for rest in ["", "{", "{\"url\":\"/2", "7]}", "{\"url\":}]}", &format!("{{\"x\":{}", "[".repeat(500_000))] {
        assert_eq!(urls(&format!("{start}{rest}")), ["/1"], "{}", &rest[..rest.len().min(20)]);
    }
    let long = format!(r#"{start}{{"url":"{}"}},{{"url":"/2"}}]}}"#, "x".repeat(10 << 20));
    let (summary, found) = of(None, None, long.as_bytes()).unwrap();
    assert_eq!((summary.dropped, found.as_slice()), (1, &["/1".to_owned(), "/2".to_owned()][..]));
    let many = format!("{start}{}{{}}]}}", "{\"url\":\"/x\"},".repeat(60_000));
    let (summary, _) = of(None, None, many.as_bytes()).unwrap();
    assert_eq!((summary.urls, summary.dropped), (URLS_MAX, 60_001 - URLS_MAX));
    assert!(!is_sitemap("application/json", r#"{"items":[{"url":"/1"}]}"#));
    assert!(!is_sitemap("application/json", r#"["https://jsonfeed.org/version/1"]"#));
}

#[test]
fn what_is_not_called_a_sitemap_has_to_look_more_like_one() {
    let of = |claim, content_type, text: &str| {
        let body = Body { content_type: Some(content_type), content_encoding: None, bytes: text.as_bytes() };
        format(body, claim)
    };
    use Claim::{Named, Possible, Unlikely};
    let all = [Named, Possible, Unlikely];
    for (content_type, text, expected) in [
        ("text/xml", "<urlset/>", [Some(Format::UrlSet); 3]),
        ("text/html", "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><urlset/></html>", [None; 3]),
        ("text/xml", "<root><urlset/></root>", [None; 3]),
        ("text/plain", "http://h/a\n# why\n\nhttp://h/b\r\n", [Some(Format::Text), Some(Format::Text), None]),
        ("text/plain", "http://h/a\nis where it stands", [Some(Format::Text), None, None]),
        ("text/plain", "http://h/a is where it stands", [Some(Format::Text), None, None]),
        ("text/plain", "# only\n# comments", [None; 3]),
        ("text/html", "http://h/a\n", [None; 3]),
    ] {
        assert_eq!(all.map(|claim| of(claim, content_type, text)), expected, "{text}");
    }
    let kinds = [Format::UrlSet, Format::Index, Format::Text, Format::Rss, Format::Atom, Format::JsonFeed];
    assert_eq!(kinds.map(|format| format.kind() == Kind::Feed), [false, false, false, true, true, true]);
    assert!(parse_date("2026-11-22T00:00:00Z").is_some_and(|date| date == Time::of_day(2026, 11, 22)));
}
