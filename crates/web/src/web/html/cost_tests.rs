//! Costs of the link scan: bytes looked at, counted, not seconds; and no stack with depth.

use super::*;
use crate::fingerprint::Fingerprinter;
use crate::web::tags::{LOOKED_AT, Tags};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// No byte is looked at more often than this on average, whatever the page has.
const LOOKS_PER_BYTE: usize = 4;
/// Enough for one call after the other, and for nothing that grows with the page.
const STACK_BYTES: usize = 256 << 10;

/// Pages that grow with a number.
fn attacks(n: usize) -> Vec<String> {
    let repeated = [
        "<div>",
        "<ul><li>",
        "<",
        "</",
        "<!",
        "<!-",
        "<!--",
        "<!-->",
        "<!---",
        "--!>",
        "<?",
        "<a",
        "<a ",
        "<a href",
        "<a href=",
        "<a href=\"",
        "<a href='x\"",
        "<a / ",
        "<a =",
        "<script>",
        "<script><!--",
        "<script><!--<script>",
        "</script",
        "<style>",
        "</style x",
        "<textarea></text",
        "<title>",
        "<svg>",
        "<svg><![CDATA[",
        "]]",
        "<math><svg/>",
        "<plaintext>",
        "<a>",
        "&amp;",
        "&#",
        "&#x10ffff;",
        "&notit;",
        "<img srcset='",
        "<base href=x>",
        "<table><tr><td>",
        "> ",
        "\0",
        "=\"",
    ];
    let mut pages: Vec<String> = repeated.iter().map(|piece| piece.repeat(n)).collect();
    pages.push(format!("{}{}{}", "<a>".repeat(n), "<i>".repeat(n), "</a>".repeat(n)));
    for (open, piece) in
        [("<!--", "-->"), ("<script>", "</scrip"), ("<script><!--", "<script></script>"), ("<title>", "</titl")]
    {
        pages.push(format!("{open}{}", piece.repeat(n)));
    }
    pages.push(format!("<a href=\"{}\">", "&amp;&#65;&".repeat(n)));
    pages.push(format!("<a {}>", "x='y' ".repeat(n)));
    pages.push(format!("<p style=\"{}\">", "a:url(b);".repeat(n)));
    pages.push(format!("<style>{}</style>", "a{@import 'b';(".repeat(n)));
    pages.push(format!("<noframes>{}</noframes>", "<noframes><p>".repeat(n)));
    pages.push(format!("<iframe srcdoc=\"{}\">", "<iframe srcdoc='&lt;p>'>".repeat(n)));
    pages.push(format!("<script type=module>{}</script>", "import './a';from\"".repeat(n)));
    pages.push(format!("<p {}>", "data-src=a.b ".repeat(n)));
    pages.push(format!("<img srcset=\"{}\">", "a 1x, ".repeat(n)));
    pages
}

#[test]
fn the_walk_over_tags_is_linear_whatever_is_nested_or_left_open() {
    for n in [100, 64_000] {
        for page in attacks(n) {
            LOOKED_AT.set(0);
            let mut tags = Tags::new(page.as_bytes());
            while tags.next_tag().is_some() {}
            let cost = LOOKED_AT.get();
            let start = &page[..page.len().min(40)];
            assert!(cost <= LOOKS_PER_BYTE * page.len(), "{cost} looks at {} bytes of {start}", page.len());
        }
    }
}

#[test]
fn depth_needs_no_stack() {
    let scan = || {
        let page_url = CanonicalUrl::parse("http://h.example/dir/").unwrap();
        let keys = KeyMaker::new(Fingerprinter::random(1), &[]);
        for page in attacks(64_000) {
            let mut scan = LinkScan::new(1_000, true, 2_000);
            let links = scan.html(page.as_bytes(), None, &page_url, &keys, RobotsDirectives::default());
            assert!(links.entries.len() <= 1_000);
            for document in [Document::Css, Document::Script, Document::Manifest, Document::Xml, Document::Svg] {
                scan.document(document, page.as_bytes(), None, &page_url, &keys, RobotsDirectives::default());
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(scan).unwrap().join().unwrap();
}

#[test]
fn a_base_longer_than_any_link_costs_relative_links_nothing() {
    let page = CanonicalUrl::parse("http://h.example/dir/").unwrap();
    let keys = KeyMaker::new(Fingerprinter::random(1), &[]);
    let html = format!(
        "<base href='http://b.example/{}/'><a href=1><a href=/2><a href=http://c.example/3>",
        "b".repeat(60_000)
    );
    let links = LinkScan::new(10, true, 2_000).html(html.as_bytes(), None, &page, &keys, RobotsDirectives::default());
    assert_eq!((links.entries.len(), links.dropped), (1, 2));
    assert_eq!(links.entries[0].url.as_str(), "http://c.example/3");
}
