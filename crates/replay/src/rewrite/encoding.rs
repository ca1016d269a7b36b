//! Encodings of documents: pieces read and written, and the declaration that a document needs where no header says it.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use crate::web::charset;
use crate::web::html::Document;

/// A whole document without its byte order mark.
pub(super) fn decoded(body: &[u8], encoding: &'static Encoding) -> String {
    charset::to_utf8(body, encoding).into_owned()
}

/// A piece of a document.
pub(super) fn decoded_piece<'a>(piece: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    encoding.decode_without_bom_handling(piece).0
}

/// A piece of a document; characters that the encoding lacks become character references.
pub(super) fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    encoding.encode(text).0.into_owned()
}

/// A document in UTF-8 as one in an encoding that does not contain ASCII, behind a byte order mark if it has one.
pub(super) fn encoded_wide(text: &[u8], encoding: &'static Encoding, has_mark: bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mark = if has_mark { "\u{feff}" } else { "" };
    let units = || mark.encode_utf16().chain(text.encode_utf16());
    match encoding {
        found if found == UTF_16LE => units().flat_map(u16::to_le_bytes).collect(),
        found if found == UTF_16BE => units().flat_map(u16::to_be_bytes).collect(),
        _ => encoded(&text, encoding),
    }
}

/// True if a document has to begin with a byte order mark to be known as UTF-16.
pub(super) fn needs_mark(body: &[u8], encoding: &'static Encoding) -> bool {
    (encoding == UTF_16LE || encoding == UTF_16BE) && Encoding::for_bom(body).is_none()
}

/// Returns what has to be put into a document so that its encoding is known without a header.
pub(super) fn declaration(document: Document, body: &[u8], encoding: &'static Encoding) -> Option<String> {
    let is_utf16 = encoding == UTF_16LE || encoding == UTF_16BE;
    let is_ascii = encoding.is_ascii_compatible() && body.is_ascii();
    if is_utf16 || is_ascii || Encoding::for_bom(body).is_some() {
        return None;
    }
    let name = encoding.name();
    match document {
        Document::Html if charset::declared(body) != Some(encoding) => Some(format!("<meta charset=\"{name}\">")),
        Document::Css if !body.starts_with(b"@charset \"") || charset::of_css(body, None) != encoding => {
            Some(format!("@charset \"{name}\";"))
        }
        // documents of XML are in UTF-8 unless they say otherwise themselves
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{SHIFT_JIS, UTF_8, WINDOWS_1252};

    use super::*;

    #[test]
    fn an_encoding_is_declared_where_only_the_header_said_it() {
        let of = |document, body: &str, encoding| declaration(document, body.as_bytes(), encoding);
        let meta = |name: &str| Some(format!("<meta charset=\"{name}\">"));
        assert_eq!(of(Document::Html, "<p>ä", UTF_8), meta("UTF-8"), "a browser guesses windows-1252");
        assert_eq!(of(Document::Html, "<p>a", UTF_8), None);
        assert_eq!(of(Document::Html, "<meta charset=utf-8>ä", UTF_8), None);
        assert_eq!(of(Document::Html, "\u{feff}ä", UTF_8), None);
        assert_eq!(of(Document::Html, "<meta charset=koi8-r>ä", SHIFT_JIS), meta("Shift_JIS"));
        assert_eq!(of(Document::Css, "a{content:'ä'}", WINDOWS_1252), Some("@charset \"windows-1252\";".to_owned()));
        assert_eq!(of(Document::Css, "@charset \"utf-8\";ä", UTF_8), None);
        assert_eq!(of(Document::Xhtml, "ä", UTF_8), None);
    }

    #[test]
    fn wide_encodings_are_written_as_they_were_read() {
        let text = "<a>\u{1f600}ä";
        for encoding in [UTF_16LE, UTF_16BE] {
            let wide = encoded_wide(text.as_bytes(), encoding, true);
            assert_eq!(decoded(&wide, encoding), text);
            assert!(Encoding::for_bom(&wide).is_some() && !needs_mark(&wide, encoding));
            assert_eq!(encoded_wide(text.as_bytes(), encoding, false), wide[2..]);
        }
    }
}
