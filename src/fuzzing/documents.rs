//! Inputs that belong to pages and name URLs: sheets, scripts, manifests, linked data, documents of XML, pictures in
//! SVG; and the main content of pages.

use std::time::Duration;

use super::input::choice;
use super::web::{LINKS_MAX, URL_BYTES_MAX, keys, page_url};
use crate::documents::child::page_of;
use crate::reading::{Form, GivenUp, main_content as main_content_of};
use crate::web::format::Format;
use crate::web::html::{Document, LinkScan, RobotsDirectives, Stated};
use crate::web::json::JsonLinks;
use crate::web::url::CanonicalUrl;
use crate::web::{charset, css};

const KINDS: [Document; 10] = [
    Document::Css,
    Document::Script,
    Document::Manifest,
    Document::Xml,
    Document::Svg,
    Document::Xhtml,
    Document::Html,
    Document::Markdown,
    Document::Json,
    Document::Text,
];

const CONTENT_TYPES: [Option<&str>; 8] = [
    None,
    Some("text/css"),
    Some("text/css; charset=shift_jis"),
    Some("text/xml"),
    Some("image/svg+xml; charset=utf-16le"),
    Some("application/json"),
    Some("text/plain"),
    Some("*/*"),
];

/// CSS: what is named is no more than the text, and a sheet that is passed over names nothing when its tokens are read.
pub(super) fn css(bytes: &[u8]) -> bool {
    let text = charset::to_utf8(bytes, charset::of_css(bytes, None));
    let (mut count, mut named) = (0, 0);
    css::urls(&text, &mut |url| {
        count += 1;
        named += url.len();
    });
    // an escape or a NUL becomes U+FFFD, which has three bytes
    assert!(named <= 3 * text.len(), "{named} bytes of {}", text.len());
    if !css::may_name(text.as_bytes()) {
        assert_eq!(count, 0);
        css::urls(&format!("{text} \\"), &mut |url| panic!("{url:?} was passed over in {text:?}"));
    }
    count > 0
}

/// Files of office programs and books: a page is bounded, and has no control characters.
pub(super) fn office(bytes: &[u8]) -> bool {
    let Ok(page) = page_of(Format::Office, bytes) else { return false };
    assert!(page.len() < 64 << 20, "{} bytes", page.len());
    assert!(!page.contains(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t')), "{page:?}");
    true
}

/// Documents of every kind: links are within their bounds and canonical.
pub(super) fn documents(bytes: &[u8]) -> bool {
    let (first, body) = choice(bytes);
    let content_type = CONTENT_TYPES[usize::from(first >> 4) % CONTENT_TYPES.len()];
    let stated = Stated { content_type, nosniff: first & 128 != 0, path: "/a.css", embedded: first & 64 != 0 };
    if Document::of(&stated, body).is_some() {
        assert!(Document::may_be(&stated), "{stated:?}");
    }
    let document = KINDS[usize::from(first & 15) % KINDS.len()];
    let mut scan =
        LinkScan::new(LINKS_MAX, true, URL_BYTES_MAX).with_json_links(JsonLinks::Paths).with_text_links(true);
    let links = scan.document(document, body, content_type, &page_url(), &keys(), RobotsDirectives::default());
    assert!(links.entries.len() <= LINKS_MAX);
    for link in &links.entries {
        let url = link.url.as_str();
        assert!(url.len() <= URL_BYTES_MAX);
        assert_eq!(CanonicalUrl::parse(url).expect("a link is a URL").as_str(), url);
    }
    !links.entries.is_empty()
}

/// Main content in both forms: what is found is no empty text, and a page is given up in both or in none.
pub(super) fn main_content(bytes: &[u8]) -> bool {
    let page = charset::to_utf8(bytes, charset::of_html(bytes, None));
    let of = |form| main_content_of(&page, Some("https://www.example.org/dir/page"), form, Duration::from_secs(5));
    let (text, markdown) = (of(Form::Text), of(Form::Markdown));
    for content in [&text, &markdown].into_iter().flatten().flatten() {
        assert!(!content.is_empty() && content.trim_end() == content, "{content:?}");
    }
    let by_time = |content: &Result<_, _>| matches!(content, Err(GivenUp::Time(_)));
    if !by_time(&text) && !by_time(&markdown) {
        assert_eq!(text.as_ref().err(), markdown.as_ref().err(), "given up in one form only");
    }
    matches!(text, Ok(Some(_)))
}
