//! The kind of document that a body is, and so the rules by which links are looked for in it.
//!
//! A stated type is believed where browsers believe it. They are lenient with sheets: one without a type is taken, and
//! in quirks mode one with a wrong type, unless `nosniff` forbids it. What a page embeds under a name that ends in
//! `.css` is read as a sheet then; pages are not asked for their mode.

use super::sniff;
use crate::web::charset;
use crate::web::markdown;
use crate::web::mime::{self, MimeType, essence};
use crate::web::values::Role;
use crate::web::xml;

/// A kind of document that names URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// HTML.
    Html,
    /// HTML by the rules of XML.
    Xhtml,
    /// A picture in SVG.
    Svg,
    /// A style sheet.
    Css,
    /// A script, which may import modules.
    Script,
    /// A web manifest.
    Manifest,
    /// XML of any other kind: a feed, a sitemap that a page links to.
    Xml,
    /// Markdown.
    Markdown,
    /// Any other JSON.
    Json,
    /// Text without markup.
    Text,
}

/// Facts that are known of a body before it is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stated<'a> {
    /// Its Content-Type.
    pub content_type: Option<&'a str>,
    /// `X-Content-Type-Options: nosniff`.
    pub nosniff: bool,
    /// The path of its URL.
    pub path: &'a str,
    /// A page, or what that embeds, embeds it.
    pub embedded: bool,
}

/// The root element has to begin among this many bytes.
const START_BYTES: usize = 8 << 10;

impl Document {
    /// True if a body can name URLs, as far as that is known before it is looked at: false where it names nothing,
    /// whatever is in it.
    pub fn may_be(stated: &Stated<'_>) -> bool {
        Self::stated(stated).is_none_or(|found| found.is_some())
    }

    /// Returns the kind that a body has by its type, where that says one.
    pub(super) fn named(stated: &Stated<'_>) -> Option<Document> {
        Self::stated(stated).flatten()
    }

    /// Returns the kind of a body, which is without content coding.
    pub fn of(stated: &Stated<'_>, body: &[u8]) -> Option<Document> {
        match Self::stated(stated) {
            Some(Some(Document::Xml)) => Some(of_xml(body, stated.content_type)),
            Some(found) => found,
            None if sniff::starts_as_html(body) => Some(Document::Html),
            None => body.trim_ascii_start().starts_with(b"<?xml").then(|| of_xml(body, stated.content_type)),
        }
    }

    /// Returns what the type of a body says, and its name where types are not believed: the kind, or that it names
    /// nothing. None where they say nothing.
    fn stated(stated: &Stated<'_>) -> Option<Option<Document>> {
        let path_ends = |end: &str| stated.path.len() > end.len() && stated.path.ends_with(end);
        let is_sheet = stated.embedded && !stated.nosniff && path_ends(".css");
        let named = stated.content_type.and_then(MimeType::parse).map(|found| found.essence);
        let Some(named) = named.filter(|named| !sniff::says_nothing(named)) else {
            return is_sheet.then_some(Some(Document::Css));
        };
        let is_manifest = stated.embedded && (path_ends(".webmanifest") || path_ends("manifest.json"));
        Some(match &*named {
            "text/html" => Some(Document::Html),
            "application/xhtml+xml" => Some(Document::Xhtml),
            "text/css" => Some(Document::Css),
            "image/svg+xml" => Some(Document::Svg),
            "application/manifest+json" => Some(Document::Manifest),
            "application/json" | "text/json" | "text/plain" | "application/octet-stream" if is_manifest => {
                Some(Document::Manifest)
            }
            "text/plain" | "application/octet-stream" if is_sheet => Some(Document::Css),
            named if markdown::is_markdown(named) => Some(Document::Markdown),
            "text/plain" if markdown::is_named_so(stated.path) => Some(Document::Markdown),
            "text/plain" => Some(Document::Text),
            "application/json" | "text/json" => Some(Document::Json),
            named if named.ends_with("+json") => Some(Document::Json),
            named if mime::is_javascript(named) => Some(Document::Script),
            "text/xml" | "application/xml" => Some(Document::Xml),
            named if named.ends_with("+xml") => Some(Document::Xml),
            _ => None,
        })
    }

    /// Its encoding.
    pub fn encoding(self, body: &[u8], content_type: Option<&str>) -> &'static encoding_rs::Encoding {
        match self {
            // a document of XML that turned out to be XHTML declares its encoding as XML does
            Document::Xhtml if essence(content_type) != "application/xhtml+xml" => charset::of_xml(body, content_type),
            Document::Html | Document::Xhtml => charset::of_html(body, content_type),
            Document::Svg | Document::Xml | Document::Script | Document::Manifest => {
                charset::of_xml(body, content_type)
            }
            Document::Css => charset::of_css(body, content_type),
            Document::Markdown | Document::Json | Document::Text => charset::of_text(content_type),
        }
    }
}

/// Browsers ask the root element of a document of XML what it is, not its type.
fn of_xml(body: &[u8], content_type: Option<&str>) -> Document {
    let start = &body[..body.len().min(START_BYTES)];
    let text = charset::to_utf8(start, charset::of_xml(start, content_type));
    match xml::prolog(&text, &mut |_: Role, _| {}).as_deref() {
        Some("html") => Document::Xhtml,
        Some("svg") => Document::Svg,
        _ => Document::Xml,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content_type: &str, path: &str, embedded: bool, body: &str) -> Option<Document> {
        let content_type = Some(content_type).filter(|text| !text.is_empty());
        let stated = Stated { content_type, nosniff: false, path, embedded };
        let found = Document::of(&stated, body.as_bytes());
        assert!(found.is_none() || Document::may_be(&stated), "{content_type:?} {path}");
        found
    }

    #[test]
    fn a_stated_type_tells_the_kind() {
        use Document::*;
        for (content_type, expected) in [
            ("text/html; charset=utf-8", Some(Html)),
            ("application/xhtml+xml", Some(Xhtml)),
            ("Text/CSS", Some(Css)),
            ("image/svg+xml", Some(Svg)),
            ("application/manifest+json", Some(Manifest)),
            ("text/javascript", Some(Script)),
            ("application/rss+xml", Some(Xml)),
            ("text/xml", Some(Xml)),
            ("application/json", Some(Json)),
            ("application/vnd.api+json; charset=utf-8", Some(Json)),
            ("text/plain", Some(Text)),
            ("text/markdown", Some(Markdown)),
            ("image/png", None),
        ] {
            assert_eq!(of(content_type, "/x", true, "no markup"), expected, "{content_type}");
        }
    }

    #[test]
    fn plain_text_is_markdown_by_its_name() {
        assert_eq!(of("text/plain", "/a.md", false, "a"), Some(Document::Markdown));
        assert_eq!(of("text/plain; charset=utf-8", "/llms.txt", false, "a"), Some(Document::Markdown));
        assert_eq!(of("text/plain", "/a.txt", false, "a"), Some(Document::Text));
        assert_eq!(of("text/html", "/a.md", false, "a"), Some(Document::Html));
    }

    #[test]
    fn a_root_element_tells_what_a_document_of_xml_is() {
        assert_eq!(of("text/xml", "/x", false, "<?xml version='1.0'?><!--x--><html xmlns='x'>"), Some(Document::Xhtml));
        assert_eq!(of("application/xml", "/x", false, "<!DOCTYPE svg><svg:svg>"), Some(Document::Svg));
        assert_eq!(of("application/rss+xml", "/x", false, "<rss>"), Some(Document::Xml));
        assert_eq!(of("", "/x", false, "<?xml version='1.0'?><svg/>"), Some(Document::Svg));
    }

    #[test]
    fn a_sheet_of_a_page_is_one_without_a_type_and_with_a_wrong_one_unless_sniffing_is_forbidden() {
        for content_type in ["", "*/*", "text/plain", "application/octet-stream"] {
            assert_eq!(of(content_type, "/a.css", true, "a{}"), Some(Document::Css), "{content_type}");
            let otherwise = (content_type == "text/plain").then_some(Document::Text);
            assert_eq!(of(content_type, "/a.css", false, "a{}"), otherwise, "{content_type}");
            assert_eq!(of(content_type, "/a", true, "a{}"), otherwise, "{content_type}");
            let content_type = Some(content_type).filter(|text| !text.is_empty());
            let stated = Stated { content_type, nosniff: true, path: "/a.css", embedded: true };
            assert_eq!(Document::of(&stated, b"a{}"), otherwise);
        }
        assert_eq!(of("image/png", "/a.css", true, "a{}"), None);
    }

    #[test]
    fn a_manifest_is_one_by_its_name_where_a_page_names_it() {
        for path in ["/site.webmanifest", "/a/manifest.json"] {
            assert_eq!(of("application/json", path, true, "{}"), Some(Document::Manifest));
            assert_eq!(of("application/json", path, false, "{}"), Some(Document::Json));
        }
        assert_eq!(of("application/json", "/a.json", true, "{}"), Some(Document::Json));
    }
}
