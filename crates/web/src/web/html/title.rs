//! The title of a page, without building a tree.

use super::text::Squeezed;
use crate::web::charset;
use crate::web::mime::essence;
use crate::web::references::push_value;
use crate::web::tags::Tags;

/// Bytes of a title; what is beyond is left out.
pub(crate) const TITLE_BYTES_MAX: usize = 1_024;
/// Bytes of the element that are looked at: references and blanks take more room than what they mean.
const RAW_BYTES_MAX: usize = 16 << 10;

/// The text of the first `title` of a page, not of a drawing or a template in it, in one line; none where there is no
/// such element. `body` is without content coding.
pub fn title(body: &[u8], content_type: Option<&str>) -> Option<String> {
    let html = charset::to_utf8(body, charset::of_html(body, content_type));
    let is_xhtml = essence(content_type) == "application/xhtml+xml";
    let mut tags = if is_xhtml { Tags::new_xhtml(html.as_bytes()) } else { Tags::new(html.as_bytes()) };
    while let Some(tag) = tags.next_tag() {
        if tag.is_start && tags.is_of_page() && tag.name.eq_ignore_ascii_case(b"title") {
            return tags.attributes(|_| {}).then(|| text(tags.raw()));
        }
    }
    None
}

fn text(raw: &[u8]) -> String {
    let mut plain = String::new();
    push_value(&raw[..raw.len().min(RAW_BYTES_MAX)], &mut plain);
    let mut text = Squeezed::default();
    text.push(&plain);
    let mut text = text.text;
    text.truncate(text.floor_char_boundary(TITLE_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(page: &str) -> Option<String> {
        title(page.as_bytes(), Some("text/html; charset=utf-8"))
    }

    #[test]
    fn a_title_is_the_first_of_the_page_and_none_of_a_drawing() {
        for (page, expected) in [
            ("<title> T&amp;\n  <b>U </title><title>no</title>", Some("T& <b>U")),
            ("<!-- <title>no</title> --><script>'<title>no'</script><TITLE lang=de>yes</TITLE>", Some("yes")),
            ("<svg><title>no</title></svg>", None),
            ("<svg><title>no</title></svg><title>late</title>", Some("late")),
            ("<title>open", Some("open")),
            ("<title></title>", Some("")),
            ("<p>none", None),
        ] {
            assert_eq!(of(page).as_deref(), expected, "{page}");
        }
    }

    #[test]
    fn a_title_is_read_in_the_encoding_of_its_page() {
        let page = b"<meta charset=shift_jis><title>\x83\x65\x83\x58\x83\x67</title>";
        assert_eq!(title(page, Some("text/html")).as_deref(), Some("テスト"));
        assert_eq!(title(b"<title>\xfc</title>", Some("text/html; charset=latin1")).as_deref(), Some("ü"));
    }

    #[test]
    fn a_long_title_is_cut_between_characters() {
        let long = of(&format!("<title>a{}</title>", "ü".repeat(5_000))).unwrap();
        assert_eq!(long.len(), TITLE_BYTES_MAX - 1);
    }
}
