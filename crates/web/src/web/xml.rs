//! URLs in documents of XML that are no pages: feeds, sitemaps that a page links to, OPML, stylesheets of XSLT, and all
//! else that names URLs by the usual attributes.
//!
//! The vocabulary is not asked for. What counts is: the attributes `href`, `src`, `url`, `xlink:href`, `xmlUrl` and
//! `htmlUrl` of any element; the text of elements that hold a URL in RSS, Atom and sitemaps, where it looks like one;
//! and the sheets that an `xml-stylesheet` instruction names.
//!
//! It reads forward only with `quick-xml` and keeps one text at a time. There is no DTD, and no entity but the five of
//! XML and the numeric ones: a URL that uses another one is passed over. What is broken is read as far as it goes.

mod bases;

pub use bases::Bases;

use quick_xml::Reader;
use quick_xml::escape::{resolve_xml_entity, unescape};
use quick_xml::events::{BytesStart, Event};

use super::url::CanonicalUrl;
use super::values::Role;

/// Attributes that name a URL.
const ATTRIBUTES: [&str; 6] = ["href", "src", "url", "xlink:href", "xmlUrl", "htmlUrl"];
/// Elements, by their local names, whose text is a URL if it looks like one.
const TEXTS: [&str; 9] =
    ["link", "loc", "url", "icon", "logo", "comments", "content_loc", "thumbnail_loc", "player_loc"];
/// Elements whose target is part of the document: of XSLT and XInclude.
const PARTS: [&str; 2] = ["include", "import"];

/// Hands the URLs of the document that came from `document` to `found`: as they are written, or resolved where an
/// element states a base.
pub fn urls(text: &str, document: &CanonicalUrl, found: &mut dyn FnMut(Role, &str)) {
    let (mut reader, mut bases) = (reader(text), Bases::of(document));
    // of the element that has a URL, if the reader is in one
    let mut held: Option<String> = None;
    let mut item = Item::default();
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => return,
            Ok(Event::PI(instruction)) => stylesheet(instruction.target(), instruction.content(), found),
            Ok(Event::Start(element)) => {
                bases.enter(&element);
                attributes(&element, &bases, found);
                let name = element.local_name();
                held = TEXTS.contains(&name.as_ref()).then(String::new);
                match name.as_ref() {
                    "item" => item = Item::default(),
                    "guid" if is_permalink(&element) => held = Some(String::new()),
                    _ => {}
                }
            }
            Ok(Event::Empty(element)) => {
                bases.enter(&element);
                attributes(&element, &bases, found);
                bases.leave();
                held = None;
            }
            Ok(Event::End(element)) => {
                let url =
                    held.take().filter(|url| looks_like_one(url.trim())).map(|url| bases.resolve(url.trim()).into());
                let url: Option<String> = match element.local_name().as_ref() {
                    "guid" => {
                        item.guid = url;
                        None
                    }
                    "link" => {
                        item.has_link |= url.is_some();
                        url
                    }
                    "item" => item.guid.take().filter(|_| !item.has_link),
                    _ => url,
                };
                url.into_iter().for_each(|url| found(Role::Link, &url));
                bases.leave();
            }
            Ok(Event::Text(text)) => hold(&mut held, Some(&text)),
            Ok(Event::CData(text)) => hold(&mut held, Some(&text)),
            Ok(Event::GeneralRef(reference)) => {
                let numeric = reference.resolve_char_ref().ok().flatten().map(String::from);
                hold(&mut held, numeric.as_deref().or_else(|| resolve_xml_entity(&reference)));
            }
            Ok(_) | Err(quick_xml::Error::IllFormed(_)) => {}
            Err(_) => return,
        }
    }
}

/// The names that an item of RSS has for itself.
#[derive(Default)]
struct Item {
    has_link: bool,
    /// Its `guid`, which is its URL where it has no link.
    guid: Option<String>,
}

/// Returns true where a `guid` of RSS is a URL, which it is where nothing is said.
pub(super) fn is_permalink(element: &BytesStart<'_>) -> bool {
    for attribute in element.attributes().with_checks(false).flatten() {
        if attribute.key.as_ref() == "isPermaLink" {
            return &*attribute.value != "false";
        }
    }
    true
}

/// Reads what is before the root element: hands the sheets to `found`, and returns the local name of the root.
pub(crate) fn prolog(text: &str, found: &mut dyn FnMut(Role, &str)) -> Option<String> {
    let mut reader = reader(text);
    loop {
        match reader.read_event() {
            Ok(Event::PI(instruction)) => stylesheet(instruction.target(), instruction.content(), found),
            Ok(Event::Start(root) | Event::Empty(root)) => return Some(root.local_name().as_ref().to_owned()),
            Ok(Event::Eof) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}').trim_start());
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

/// Adds a piece to the text; without one, or where that is longer than any URL, it is given up.
fn hold(held: &mut Option<String>, piece: Option<&str>) {
    let Some(text) = held else { return };
    // blanks before a URL must not use its room up
    let piece = piece.map(|piece| if text.is_empty() { piece.trim_start() } else { piece });
    match piece.filter(|piece| text.len() + piece.len() <= CanonicalUrl::LENGTH_MAX) {
        Some(piece) => text.push_str(piece),
        None => *held = None,
    }
}

fn looks_like_one(text: &str) -> bool {
    ["http://", "https://", "/"].iter().any(|start| text.starts_with(start))
}

fn attributes(element: &BytesStart<'_>, bases: &Bases<'_>, found: &mut dyn FnMut(Role, &str)) {
    let role = if PARTS.contains(&element.local_name().as_ref()) { Role::Part } else { Role::Link };
    for attribute in element.attributes().with_checks(false).flatten() {
        let is_reference = ATTRIBUTES.contains(&attribute.key.as_ref());
        if !is_reference || attribute.value.is_empty() || attribute.value.len() > CanonicalUrl::LENGTH_MAX {
            continue;
        }
        if let Ok(url) = unescape(&attribute.value) {
            found(role, &bases.resolve(url.trim()));
        }
    }
}

/// The `href` of an `xml-stylesheet` instruction (W3C, Associating Style Sheets with XML documents).
fn stylesheet(target: &str, content: &str, found: &mut dyn FnMut(Role, &str)) {
    if target != "xml-stylesheet" {
        return;
    }
    let mut rest = content;
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return };
        let Some((value, behind)) = after[1..].split_once(quote) else { return };
        if name.trim() == "href" && value.len() <= CanonicalUrl::LENGTH_MAX {
            unescape(value).into_iter().for_each(|url| found(Role::Part, url.trim()));
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> String {
        let mut found = String::new();
        let document = CanonicalUrl::parse("http://h/dir/feed").unwrap();
        urls(text, &document, &mut |role, url| {
            found.push_str(&format!("{}{url} ", if role == Role::Part { "+" } else { "" }))
        });
        found.trim_end().to_owned()
    }

    #[test]
    fn feeds_and_lists_name_their_links() {
        for (text, expected) in [
            (
                "<?xml version='1.0'?><rss xmlns:media='m'><channel><link>http://h/</link><image><url>http://h/i</url>\
                 </image><item><link> http://h/1?a&amp;b </link><enclosure url='http://h/a.mp3'/><guid>x</guid>\
                 <media:content url='/m.png'/><comments><![CDATA[http://h/c]]></comments></item></channel></rss>",
                "http://h/ http://h/i http://h/1?a&b http://h/a.mp3 /m.png http://h/c",
            ),
            (
                "<feed><link rel='self' href='a.atom'/><icon>/i.png</icon><entry><link href='1?a&amp;b'/>\
                 <content src='c.html'/></entry></feed>",
                "a.atom /i.png 1?a&b c.html",
            ),
            (
                "<rss><item><guid>http://h/1</guid></item><item><guid>http://h/no</guid><link>http://h/2</link></item>\
                 <item><guid isPermaLink='false'>http://h/no</guid></item><item><guid>tag:3</guid></item></rss>",
                "http://h/1 http://h/2",
            ),
            ("<opml><outline xmlUrl='http://h/f' htmlUrl='http://h/'/></opml>", "http://h/f http://h/"),
            ("<urlset><url><loc>http://h/1</loc><image:loc>http://h/i</image:loc></url>", "http://h/1 http://h/i"),
            ("<x xlink:href='a'><y>http://h/no</y><link>no URL</link></x>", "a"),
            ("<xsl:stylesheet><xsl:include href='a.xsl'/><xi:include href='b.xml'/></xsl:stylesheet>", "+a.xsl +b.xml"),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    #[test]
    fn references_are_resolved_against_the_bases_of_their_elements() {
        let text = "<feed xml:base='sub/'><link href='a'/><entry xml:base='http://other/x/'><link href='b'/>\
                    <link xml:base='/y/' href='c'/><content src='d' xml:base='deeper/'/></entry><link>/e</link></feed>";
        assert_eq!(
            named(text),
            "http://h/dir/sub/a http://other/x/b http://other/y/c http://other/x/deeper/d http://h/e"
        );
        assert_eq!(named("<a><b xml:base='http://[' href='x'/><c href='y'/></a>"), "x y");
        let deep = "<a xml:base='b/'>".repeat(1_000) + "<link href='x'/>";
        assert!(named(&deep).len() < 300, "no more than so many are followed");
    }

    #[test]
    fn sheets_of_a_document_are_part_of_it() {
        let text = "\u{feff}<?xml version='1.0'?><?xml-stylesheet type=\"text/xsl\" href=\"a.xsl?x&amp;y\"?>\
                    <?xml-stylesheet href='b.css' alternate='yes'?><?other href='n'?><svg>\
                    <?xml-stylesheet href=n?></svg>";
        assert_eq!(named(text), "+a.xsl?x&y +b.css");
        let mut sheets = 0;
        assert_eq!(prolog(text, &mut |_, _| sheets += 1).as_deref(), Some("svg"));
        assert_eq!(sheets, 2);
        assert_eq!(prolog("no XML", &mut |_, _| {}), None);
    }

    #[test]
    fn entities_that_nobody_knows_and_endless_texts_name_nothing() {
        assert_eq!(named("<!DOCTYPE a [<!ENTITY x 'http://h/'>]><a><link>&x;</link><loc href='&x;'/></a>"), "");
        assert_eq!(named(&format!("<link>http://h/{}</link><link>/a</link>", "x".repeat(70_000))), "/a");
        assert_eq!(named(&format!("<link>{}/a</link>", " ".repeat(70_000))), "/a");
    }

    #[test]
    fn no_text_makes_it_panic() {
        let pieces = [
            "<",
            ">",
            "/",
            "<link>",
            "</link>",
            "http://",
            "<?xml-stylesheet ",
            "?>",
            "href=",
            "'",
            "\"",
            "&",
            "&#x41;",
            ";",
            "<![CDATA[",
            "]]>",
            "<!--",
            "-->",
            " ",
            "x:",
            "\0",
            "é",
            "=",
            "<!DOCTYPE",
        ];
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..random.usize(..20)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            named(&text);
            prolog(&text, &mut |_, _| {});
        }
        for piece in pieces {
            named(&piece.repeat(50_000));
        }
    }
}
