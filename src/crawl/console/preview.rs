//! The form in which a browser gets an archived page or picture: nothing in it loads or connects by itself.
//!
//! The policy of the answer (`console::answer`) forbids loading, but a browser resolves the name of a frame, or of a
//! `link` that wants to be connected to early, and connects, before it asks the policy. So no such element may come to
//! be. Tags are renamed in the text, wherever one could begin: what reads them, and how, does not matter. The text is
//! UTF-8, and declared as such, so that a tag has one spelling.

use data_encoding::BASE64;

use crate::console::Content;
use crate::web::charset;

/// Names of elements that connect without a click; `meta` turns the resolution of names on, and changes the coding.
const CONNECTING: [&str; 10] =
    ["iframe", "frame", "fencedframe", "portal", "object", "embed", "applet", "link", "meta", "base"];
/// Put before such a name: no element is called so.
const HARMLESS: &str = "x-";
const HTML: &str = "text/html; charset=utf-8";

/// A page in HTML, or one that is read as such.
pub(super) fn page(body: &[u8], content_type: &str) -> Content {
    let text = charset::to_utf8(body, charset::of_html(body, Some(content_type)));
    Content { mime: HTML.to_owned(), body: renamed(&text).into_bytes() }
}

/// A drawing, which as a separate document could have frames; as a picture it loads nothing.
pub(super) fn drawing(body: &[u8]) -> Content {
    let page = format!("<!doctype html><img src=\"data:image/svg+xml;base64,{}\">", BASE64.encode(body));
    Content { mime: HTML.to_owned(), body: page.into_bytes() }
}

fn renamed(html: &str) -> String {
    let mut pieces = html.split('<');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let begins = |name: &&str| piece.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        text.push('<');
        if CONNECTING.iter().any(begins) {
            text.push_str(HARMLESS);
        }
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &[u8], content_type: &str) -> String {
        let content = page(body, content_type);
        assert_eq!(content.mime, HTML);
        String::from_utf8(content.body).unwrap()
    }

    #[test]
    fn no_element_that_connects_is_left_however_it_is_written() {
        for html in [
            "<iframe src=http://a.example/>",
            "<IfRaMe src=http://a.example/>",
            "<frameset><frame src=http://a.example/></frameset>",
            "<noscript><iframe src=http://a.example/></noscript>",
            "<svg><style><iframe src=http://a.example/></style></svg>",
            "<form><math><mtext></form><form><mglyph><style></math><iframe src=http://a.example/>",
            "<title></title/><!--><iframe src=x>--><textarea><iframe src=http://a.example/></textarea>",
            "<<iframe src=http://a.example/>",
            "<object data=http://a.example/></object><embed src=http://a.example/>",
            "<link rel=preconnect href=http://a.example/><link rel=dns-prefetch href=//a.example>",
            "<meta http-equiv=x-dns-prefetch-control content=on><meta charset=utf-16>",
            "<template shadowrootmode=open><iframe src=http://a.example/></template>",
        ] {
            let text = shown(html.as_bytes(), "text/html");
            let lower = text.to_ascii_lowercase();
            assert!(CONNECTING.iter().all(|name| !lower.contains(&format!("<{name}"))), "{html}: {text}");
            assert_eq!(text.replace(HARMLESS, ""), html.replace(HARMLESS, ""));
        }
    }

    #[test]
    fn a_page_is_shown_as_it_is_but_for_them_in_utf_8_whatever_it_was_in() {
        let html = "<!doctype html><p class=a>größer < 1 <b>b</b> < <frames";
        assert_eq!(shown(html.as_bytes(), "text/html; charset=utf-8"), html.replace("<frames", "<x-frames"));
        assert_eq!(shown(b"<p>gr\xf6\xdfer", "text/html; charset=iso-8859-1"), "<p>größer");
        let wide: Vec<u8> = "\u{feff}<iframe src=x>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(shown(&wide, "text/html").ends_with("<x-iframe src=x>"));
    }

    #[test]
    fn a_drawing_is_a_picture_within_a_page() {
        let content = drawing(b"<svg><foreignObject><iframe src='http://a.example/'/></foreignObject></svg>");
        let text = String::from_utf8(content.body).unwrap();
        assert!(text.contains("data:image/svg+xml;base64,") && !text.contains("iframe"), "{text}");
    }
}
