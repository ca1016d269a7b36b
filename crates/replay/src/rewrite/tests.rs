//! Tests of rewriting: that every place is found and written well, and that a page whose URLs all stay where they lead
//! has the same links to the crawl's own scan.

use encoding_rs::SHIFT_JIS;

use super::*;
use crate::web::html::{LinkScan, RobotsDirectives, Stated};
use crate::web::url::KeyMaker;
use crawler_web::fingerprint::Fingerprinter;

const PAGE: &str = "https://a.example/d/p.html";
const ALL: Options<'_> = Options {
    removes_crossorigin: true,
    declares_encoding: true,
    first: "",
    keeps_relative: false,
    rewrites_scripts: false,
};

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

/// The page at [`PAGE`], with its URLs led elsewhere.
fn changed(content_type: &str, body: &[u8], options: Options, lead: &mut Lead<'_>) -> Vec<u8> {
    let page = url(PAGE);
    let stated = Stated { content_type: Some(content_type), nosniff: false, path: page.path(), embedded: true };
    let document = Document::of(&stated, body).unwrap();
    let source = Source { url: &page, content_type: Some(content_type), document };
    rewrite(body, &source, options, lead).into_owned()
}

/// A page of HTML in UTF-8, each of whose URLs leads to `to/PURPOSE/PATH`.
fn led(page: &str) -> String {
    let lead = &mut |target: &Target<'_>| Some(format!("to/{:?}{}", target.purpose, target.url.path_and_query()));
    String::from_utf8(changed("text/html; charset=utf-8", page.as_bytes(), Options::default(), lead)).unwrap()
}

/// A page whose URLs all stay where they lead.
fn stays(page: &str) -> String {
    String::from_utf8(changed("text/html; charset=utf-8", page.as_bytes(), ALL, &mut |_| None)).unwrap()
}

#[test]
fn every_attribute_that_a_browser_follows_or_loads_is_rewritten() {
    for (page, expected) in [
        ("<a href=/x>", "<a href=\"to/Page/x\">"),
        ("<A HREF = '../x?a=1&amp;b#f' id=i>", "<A HREF=\"to/Page/x?a=1&amp;b#f\" id=i>"),
        ("<a href=\"x&quot;y\">", "<a href=\"to/Page/d/x%22y\">"),
        ("<area href=x><img src=y>", "<area href=\"to/Page/d/x\"><img src=\"to/Part/d/y\">"),
        (
            "<img srcset='/1.png 1x,data:image/png;base64,AA== 2x, /3.png,/4.png 4x'>",
            "<img srcset=\"to/Part/1.png 1x,data:image/png;base64,AA== 2x, to/Part/3.png,/4.png 4x\">",
        ),
        (
            "<link rel=preload imagesrcset='/x 1x' href=/y>",
            "<link rel=preload imagesrcset=\"to/Part/x 1x\" href=\"to/Part/y\">",
        ),
        ("<link rel=stylesheet href=/x>", "<link rel=stylesheet href=\"to/Sheet/x\">"),
        ("<link rel=canonical href=/x>", "<link rel=canonical href=\"to/Canonical/x\">"),
        ("<link rel=next href=/x>", "<link rel=next href=\"to/Other/x\">"),
        ("<video poster=/x src=/y>", "<video poster=\"to/Part/x\" src=\"to/Part/y\">"),
        ("<object data=/x><embed src=/y>", "<object data=\"to/Part/x\"><embed src=\"to/Part/y\">"),
        ("<form action=/x><button formaction=/y>", "<form action=\"to/Form/x\"><button formaction=\"to/Form/y\">"),
        ("<input type=image src=/x><input src=/y>", "<input type=image src=\"to/Part/x\"><input src=/y>"),
        ("<body background=/x>", "<body background=\"to/Part/x\">"),
        ("<q cite=/x>", "<q cite=\"to/Other/x\">"),
        ("<iframe src=/x></iframe><frame src=/y>", "<iframe src=\"to/Frame/x\"></iframe><frame src=\"to/Frame/y\">"),
        ("<meta http-equiv=Refresh content='3; url=/x'>", "<meta http-equiv=Refresh content=\"3; url=to/Page/x\">"),
        ("<p style='background:url(/x)'>", "<p style=\"background:url(&quot;to/Part/x&quot;)\">"),
        ("<style>@import '/x';a{b:url(/y)}</style>", "<style>@import \"to/Sheet/x\";a{b:url(\"to/Part/y\")}</style>"),
        (
            "<svg><use xlink:href=/x#a /><image href=/y fill='url(#z)'/></svg>",
            "<svg><use xlink:href=\"to/Part/x#a\" /><image href=\"to/Part/y\" fill='url(#z)'/></svg>",
        ),
        (
            "<iframe srcdoc='<a href=&quot;/x&quot;>&amp;amp;'></iframe>",
            "<iframe srcdoc=\"&lt;a href=&quot;to/Page/x&quot;>&amp;amp;\"></iframe>",
        ),
        ("<img data-src=/x.png data-color=/y>", "<img data-src=\"to/Part/x.png\" data-color=/y>"),
        ("<noscript><img src=/x></noscript>", "<noscript><img src=\"to/Part/x\"></noscript>"),
        ("<noframes><a href=/x></noframes>", "<noframes><a href=\"to/Page/x\"></noframes>"),
        ("<a href=/x href=/y>", "<a href=\"to/Page/x\" href=/y>"),
        ("<a href=//b.example/x?y>", "<a href=\"to/Page/x?y\">"),
    ] {
        assert_eq!(led(page), expected);
    }
}

#[test]
fn what_is_no_place_of_a_url_stays_byte_for_byte() {
    for page in [
        "<a href='#f'>",
        "<a href=''>",
        "<a href>",
        "<a href='mailto:a@b'>",
        "<a href=javascript:x>",
        "<img src=data:,x>",
        "<!-- <a href=/x> -->",
        "<script>'<a href=/x>'</script>",
        "<textarea><a href=/x></textarea>",
        "<a href=/x",
        "<a href='/x",
        "<title><a href=/x></title>",
        "<img src='#x'>",
        "<a href='http://'>",
        "</a href=/x>",
        "<p x=/y>",
    ] {
        assert_eq!(led(page), page);
    }
    let broken = b"<p>\xff\xfe\x80 &nbsp <b";
    assert_eq!(changed("text/html; charset=utf-8", broken, Options::default(), &mut |_| None), broken);
    let huge = format!("<a title='{}' href=/x>", "&amp;\"".repeat(1 << 20));
    assert_eq!(led(&huge), huge.replace("href=/x", "href=\"to/Page/x\""));
    let long = format!("<a href='/{}'>", "x".repeat(CanonicalUrl::LENGTH_MAX));
    assert_eq!(led(&long), long);
}

#[test]
fn a_base_counts_and_goes_and_what_is_left_is_absolute() {
    let page = "<a href=x><base target=_top href=//b.example/e/><a href='#f'><a href=''><img src=y><use href=#z>";
    let expected = "<a href=\"https://b.example/e/x\"><base target=_top ><a href=\"https://b.example/e/#f\">\
                    <a href=\"https://b.example/e/\"><img src=\"https://b.example/e/y\"><use href=#z>";
    assert_eq!(stays(page), expected);
    assert_eq!(stays("<base href=p.html><a href='#f'>"), "<base ><a href='#f'>");
    assert_eq!(
        stays("<a href=x#f><a href='HTTP://b.example/%7e'>"),
        "<a href=\"https://a.example/d/x#f\"><a href='HTTP://b.example/%7e'>"
    );
}

#[test]
fn what_is_wrong_in_a_changed_page_goes() {
    let page = "<meta http-equiv='content-security-policy' content=x><link rel='dns-prefetch' href=//x>\
                <script src=https://b.example/ integrity='sha256-x' crossorigin nonce=n></script>";
    assert_eq!(stays(page), "<script src=https://b.example/   nonce=n></script>");
    assert_eq!(stays("<svg/integrity=x><p a integrity=x =b><p integrity=x>"), "<svg/ ><p a  x=\"\" =b><p >");
    let kept = changed("text/html", b"<img crossorigin src=/x>", Options::default(), &mut |_| None);
    assert_eq!(kept, b"<img crossorigin src=\"https://a.example/x\">");
}

#[test]
fn new_urls_cannot_break_out_of_their_place() {
    let evil = "x\"'<>&) \\,";
    for page in [
        "<a href=/>",
        "<img srcset='/ 1x'>",
        "<p style='a:url(/)'>",
        "<style>a{b:url(/)}</style>",
        "<meta http-equiv=refresh content='0;url=/'>",
    ] {
        let out = changed("text/html", page.as_bytes(), Options::default(), &mut |_| Some(evil.to_owned()));
        let out = String::from_utf8(out).unwrap();
        let found = places(out.as_bytes(), false);
        assert_eq!(found.entries.len(), 1, "{out}");
        assert_eq!(out.matches('<').count(), page.matches('<').count(), "{out}");
    }
    let sheet = changed("text/css", b"a{b:url(/)}", Options::default(), &mut |_| Some(evil.to_owned()));
    let mut named = Vec::new();
    css::urls(&String::from_utf8(sheet).unwrap(), &mut |url| named.push(url.to_owned()));
    assert_eq!(named, [evil]);
}

#[test]
fn a_sheet_is_rewritten_in_its_encoding() {
    let lead = &mut |target: &Target<'_>| Some(format!("to{}", target.url.path()));
    let sheet = |body: &[u8], content_type: &str, lead: &mut Lead<'_>| changed(content_type, body, ALL, lead);
    assert_eq!(sheet(b"\xef\xbb\xbfa{b:url(x)}", "text/css", lead), b"\xef\xbb\xbfa{b:url(\"to/d/x\")}");
    let (body, ..) = SHIFT_JIS.encode("a{c:'\u{8868}';b:url(x)}");
    let expected = SHIFT_JIS.encode("@charset \"Shift_JIS\";a{c:'\u{8868}';b:url(\"to/d/x\")}").0;
    assert_eq!(sheet(&body, "text/css; charset=shift_jis", lead), &*expected);
    assert_eq!(sheet(b"a{b:c}", "text/css", lead), b"a{b:c}");
}

/// The second byte of U+8868 in Shift_JIS is a backslash.
#[test]
fn pages_in_shift_jis_keep_their_bytes() {
    let text = "<html><head><title>\u{8868}</title><a title=\u{8868} href='\u{8868}?\u{8868}'>\u{8868}\u{ff71}</a>";
    let body = SHIFT_JIS.encode(text).0;
    let out = changed("text/html; charset=shift_jis", &body, ALL, &mut |_| None);
    let expected = text
        .replace("<head>", "<head><meta charset=\"Shift_JIS\">")
        .replace("'\u{8868}?\u{8868}'", "\"https://a.example/d/%E8%A1%A8?%95\\\"");
    assert_eq!(SHIFT_JIS.decode(&out).0, expected);
}

#[test]
fn pages_in_utf_16_stay_so() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let lead = &mut |_: &Target<'_>| Some("y".to_owned());
    let marked = wide("\u{feff}<p>\u{e4}<a href=x>");
    assert_eq!(changed("text/html", &marked, ALL, lead), wide("\u{feff}<p>\u{e4}<a href=\"y\">"));
    let bare = wide("<p>\u{e4}<a href=x>");
    let stated = "text/html; charset=utf-16le";
    assert_eq!(changed(stated, &bare, ALL, lead), wide("\u{feff}<p>\u{e4}<a href=\"y\">"));
    assert_eq!(changed(stated, &bare, Options::default(), lead), wide("<p>\u{e4}<a href=\"y\">"));
    assert_eq!(changed(stated, &wide("<p>"), ALL, lead), wide("\u{feff}<p>"));
}

#[test]
fn xhtml_and_svg_are_rewritten_by_the_rules_of_xml() {
    let lead = &mut |target: &Target<'_>| Some(format!("to{}?a&b", target.url.path()));
    let page = "<?xml version='1.0'?><svg><style><![CDATA[a{b:url('x')}]]></style>\
                <style>a{b:url(&quot;y&quot;)}</style><a xlink:href='z'/></svg>";
    let out = String::from_utf8(changed("image/svg+xml", page.as_bytes(), ALL, lead)).unwrap();
    let expected = "<?xml version='1.0'?><svg><style><![CDATA[a{b:url(\"to/d/x?a&b\")}]]></style>\
                    <style>a{b:url(&quot;to/d/y?a&amp;b&quot;)}</style><a xlink:href=\"to/d/z?a&amp;b\"/></svg>";
    assert_eq!(out, expected);
}

const PIECES: &[&str] = &[
    "<a href=",
    "<img src=",
    "<a href='",
    "<img srcset='",
    "<p style=\"",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<noframes>",
    "</noframes>",
    "<iframe srcdoc=\"",
    "<svg>",
    "</svg>",
    "<template>",
    "</template>",
    "<link rel=next href=",
    "<link rel=stylesheet href='",
    "<meta http-equiv=refresh content=\"1;url=",
    "<base href=",
    "<base href='/e/'>",
    "<form action=",
    "<use href=",
    "<body background='",
    "<object data=\"",
    "<video poster=x src=",
    "<div data-src=",
    "<div data-srcset='",
    "<!--",
    "-->",
    ">",
    "'",
    "\"",
    " ",
    "/",
    "=",
    "&amp;",
    "&#x26;",
    "&quot;",
    "#f",
    "?q=\u{e4}",
    "x",
    "/y/z.png",
    "../u",
    "//b.example/v",
    "https://c.example/w#g",
    "http:",
    "mailto:x",
    "data:,x",
    "url(",
    ")",
    "url('",
    "@import '",
    ";",
    ",",
    " 2x,",
    "\n",
    "\0",
    "\u{8868}",
    "%zz",
    "\\",
    "<",
    "</",
    "<![CDATA[",
    "]]>",
    "a{b:",
    "}",
    "<x y",
    "\r\n",
    "<p fill='url(",
    "<link rel=preconnect href=x>",
    "<meta http-equiv=content-security-policy content=x>",
    " integrity=x ",
    " crossorigin ",
];

/// The links of a page as the crawl finds them.
fn links(scan: &mut LinkScan, keys: &KeyMaker, content_type: &str, body: &[u8]) -> Vec<String> {
    let page = url(PAGE);
    let found = scan.html(body, Some(content_type), &page, keys, RobotsDirectives::default());
    found.entries.iter().map(|link| format!("{:?} {}", link.kind, link.url)).collect()
}

#[test]
fn a_page_whose_urls_stay_where_they_lead_has_the_same_links_to_the_crawl() {
    let mut scan = LinkScan::new(1_000, false, CanonicalUrl::LENGTH_MAX).with_each_kind();
    let keys = KeyMaker::new(Fingerprinter::random(1), &[]);
    let mut found = 0;
    for seed in 0..60_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let page: String = (0..random.usize(..40)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        // relative references lead nowhere until such a base is gone; lists for scripts look like CSS with one
        if ["mailto:", "url("].iter().any(|base| page.contains(&format!("<base href={base}"))) {
            continue;
        }
        let content_type =
            ["text/html; charset=utf-8", "application/xhtml+xml", "text/html; charset=shift_jis"][random.usize(..3)];
        // a query in Shift_JIS may have a backslash, by which lists for scripts look like CSS, too
        if content_type.ends_with("jis") && page.contains("data-src") {
            continue;
        }
        let body = if content_type.ends_with("jis") { SHIFT_JIS.encode(&page).0 } else { page.as_bytes().into() };
        let before = links(&mut scan, &keys, content_type, &body);
        let out = changed(
            content_type,
            &body,
            Options { removes_crossorigin: true, declares_encoding: false, ..Options::default() },
            &mut |_| None,
        );
        let after = links(&mut scan, &keys, content_type, &out);
        assert_eq!(after, before, "seed {seed}: {page:?}\n{:?}", String::from_utf8_lossy(&out));
        found += before.len();
        let again = changed(
            content_type,
            &out,
            Options { removes_crossorigin: true, declares_encoding: false, ..Options::default() },
            &mut |_| None,
        );
        assert_eq!(again, out, "seed {seed}: {page:?}");
    }
    assert!(found > 20_000, "{found}");
}

#[test]
fn no_bytes_make_it_panic() {
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let page: String = (0..random.usize(..30)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        let mut body = page.into_bytes();
        for _ in 0..random.usize(..4) {
            if let Some(at) = body.len().checked_sub(1) {
                body[random.usize(..=at)] = random.u8(..);
            }
        }
        let types = [
            "text/html",
            "application/xhtml+xml; charset=gbk",
            "text/css",
            "text/html; charset=iso-2022-jp",
            "text/html; charset=utf-16be",
            "text/html; charset=gb18030",
            "image/svg+xml",
            "text/css; charset=big5",
        ];
        let content_type = types[random.usize(..types.len())];
        changed(content_type, &body, ALL, &mut |target| random.bool().then(|| target.url.path().to_owned()));
    }
}
