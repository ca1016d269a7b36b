//! The text of an answer by which versions of it are compared, line by line.
//!
//! The text of a page of HTML is what a reader sees and hears, its title and alternative texts too, a line for each
//! block; other texts are taken as they are. Pages are hostile: those that are too long or that no tree can be made of
//! have no text here.

use scraper::Html;

use super::page::{html_of, title_of};
use super::rendered_with_alternatives;
use super::tree::{TIME_MAX, parse};
use crate::web::charset;
use crate::web::html::is_html;
use crate::web::mime;

/// Bytes of a text that is compared.
const TEXT_BYTES_MAX: usize = 32 << 20;
/// Types of text that are not called so.
const TEXT_TYPES: [&str; 6] = [
    "application/json",
    "application/xml",
    "application/javascript",
    "application/ld+json",
    "application/manifest+json",
    "image/svg+xml",
];

/// Returns the text that a reader sees of an answer, in lines; `None` where that is not known.
pub fn lines_of(body: &[u8], content_type: Option<&str>) -> Option<String> {
    if !is_html(content_type, body) {
        return source_of(body, content_type);
    }
    if body.len() > TEXT_BYTES_MAX {
        return None;
    }
    Some(compared_of_page(&parse(&html_of(body, content_type), TIME_MAX).ok()?))
}

/// An answer as it was sent, if it is text, in UTF-8.
pub fn source_of(body: &[u8], content_type: Option<&str>) -> Option<String> {
    let essence = mime::essence(content_type);
    let is_text = essence.starts_with("text/") || essence.ends_with("+xml") || TEXT_TYPES.contains(&&*essence);
    let is_html = is_html(content_type, body);
    let has_nul = memchr::memchr(0, body).is_some();
    if !is_html && (!is_text || has_nul) || body.len() > TEXT_BYTES_MAX {
        return None;
    }
    let encoding = if is_html { None } else { Some(charset::of_xml(body, content_type)) };
    Some(encoding.map_or_else(|| html_of(body, content_type), |encoding| charset::to_utf8(body, encoding).into_owned()))
}

/// The text by which versions of a page are compared: a line `title: ...`, and the page as it is laid out, with the
/// alternative texts of pictures in their places, as `![...]`.
fn compared_of_page(page: &Html) -> String {
    let title = title_of(page).filter(|title| !title.is_empty());
    let title = title.map_or_else(String::new, |title| format!("title: {title}\n"));
    title + &rendered_with_alternatives(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_have_text() {
        let of = |content_type: &str, body: &[u8]| lines_of(body, Some(content_type));
        assert_eq!(of("text/html", b"<title>x</title><p>a<p>b").as_deref(), Some("title: x\na\nb"));
        assert_eq!(of("text/plain; charset=latin1", b"\xfc\nb").as_deref(), Some("\u{fc}\nb"));
        assert_eq!(of("application/json", b"{}").as_deref(), Some("{}"));
        assert_eq!(of("image/png", b"\x89PNG\0"), None);
        assert_eq!(of("text/plain", b"a\0"), None);
    }
}
