//! What belongs to pages and names URLs: sheets, scripts, manifests, linked data, documents of XML, pictures in SVG.

use super::input::choice;
use super::web::{LINKS_MAX, URL_BYTES_MAX, keys, page_url};
use crate::web::html::{Document, LinkScan, RobotsDirectives, Stated};
use crate::web::url::CanonicalUrl;
use crate::web::{charset, css};

const KINDS: [Document; 7] = [
    Document::Css,
    Document::Script,
    Document::Manifest,
    Document::Xml,
    Document::Svg,
    Document::Xhtml,
    Document::Html,
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

/// Documents of every kind: links are within their bounds and canonical.
pub(super) fn documents(bytes: &[u8]) -> bool {
    let (first, body) = choice(bytes);
    let content_type = CONTENT_TYPES[usize::from(first >> 4) % CONTENT_TYPES.len()];
    let stated = Stated { content_type, nosniff: first & 128 != 0, path: "/a.css", embedded: first & 64 != 0 };
    if Document::of(&stated, body).is_some() {
        assert!(Document::may_be(&stated), "{stated:?}");
    }
    let document = KINDS[usize::from(first & 15) % KINDS.len()];
    let mut scan = LinkScan::new(LINKS_MAX, true, URL_BYTES_MAX);
    let against = (&page_url(), &keys());
    let links = scan.document(document, body, content_type, against, RobotsDirectives::default());
    assert!(links.entries.len() <= LINKS_MAX);
    for link in &links.entries {
        let url = link.url.as_str();
        assert!(url.len() <= URL_BYTES_MAX);
        assert_eq!(CanonicalUrl::parse(url).expect("a link is a URL").as_str(), url);
    }
    !links.entries.is_empty()
}
