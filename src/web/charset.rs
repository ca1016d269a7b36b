//! The encoding of a page: what browsers would take it for.
//!
//! In this order: a byte order mark, the charset of the Content-Type header, a `<meta>` in the first kilobyte, UTF-8
//! if the bytes are valid UTF-8, windows-1252. Labels are those of the WHATWG Encoding Standard.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far a `<meta charset>` is looked for, as the HTML standard has it.
const PRESCAN_BYTES: usize = 1024;

/// The encoding of an HTML page.
pub fn of_html(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return encoding;
    }
    if let Some(encoding) = content_type.and_then(of_content_type) {
        return encoding;
    }
    if let Some(encoding) = prescan(&body[..body.len().min(PRESCAN_BYTES)]) {
        return encoding;
    }
    match std::str::from_utf8(body) {
        Ok(_) => UTF_8,
        // cut within a character
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// The encoding of an XML document or a text: by a byte order mark, the charset of the Content-Type header, the XML
/// declaration; otherwise UTF-8.
pub fn of_xml(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return encoding;
    }
    content_type.and_then(of_content_type).or_else(|| declared(&body[..body.len().min(PRESCAN_BYTES)])).unwrap_or(UTF_8)
}

/// The encoding that an XML declaration names. It is readable as ASCII, so it cannot mean UTF-16.
fn declared(start: &[u8]) -> Option<&'static Encoding> {
    let declaration = start.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.windows(2).position(|two| two == b"?>")?];
    let declaration = std::str::from_utf8(declaration).ok()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let encoding = Encoding::for_label(value[1..].split(quote).next()?.as_bytes())?;
    Some(if encoding == UTF_16BE || encoding == UTF_16LE { UTF_8 } else { encoding })
}

/// The body in UTF-8, without its byte order mark; borrowed where nothing had to be changed. Bytes that mean nothing
/// become U+FFFD.
pub fn to_utf8<'a>(body: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    encoding.decode_with_bom_removal(body).0
}

/// The encoding that the charset parameter of a Content-Type names.
pub fn of_content_type(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| Encoding::for_label(value.as_bytes()))?
    })
}

/// The encoding that a `<meta>` tag among the first bytes declares. Such a tag is readable as ASCII, so it cannot
/// mean UTF-16.
fn prescan(start: &[u8]) -> Option<&'static Encoding> {
    let mut tags = super::html::tags::Tags::new(start);
    while let Some(tag) = tags.next_tag() {
        let (mut charset, mut content) = (None, None);
        let is_whole = tags.attributes(|attribute| match attribute.name {
            name if name.eq_ignore_ascii_case(b"charset") => _ = charset.get_or_insert(attribute.value),
            name if name.eq_ignore_ascii_case(b"content") => _ = content.get_or_insert(attribute.value),
            _ => {}
        });
        if !is_whole || !tag.is_start || !tag.name.eq_ignore_ascii_case(b"meta") {
            continue;
        }
        let declared = match charset {
            Some(label) => Encoding::for_label(label),
            None => content.and_then(charset_in),
        };
        if let Some(encoding) = declared {
            return Some(if encoding == UTF_16BE || encoding == UTF_16LE { UTF_8 } else { encoding });
        }
    }
    None
}

/// The encoding in the content of `<meta http-equiv=content-type>`.
fn charset_in(content: &[u8]) -> Option<&'static Encoding> {
    of_content_type(std::str::from_utf8(content).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(body: &[u8], content_type: Option<&str>) -> &'static str {
        of_html(body, content_type).name()
    }

    #[test]
    fn a_byte_order_mark_beats_the_header_and_the_header_beats_the_meta_tag() {
        let meta = b"<meta charset=shift_jis>";
        assert_eq!(name(b"\xef\xbb\xbf<meta charset=shift_jis>", Some("text/html; charset=koi8-r")), "UTF-8");
        assert_eq!(name(b"\xff\xfea\0", None), "UTF-16LE");
        assert_eq!(name(meta, Some("text/html; CharSet = \"koi8-r\"")), "KOI8-R");
        assert_eq!(name(meta, Some("text/html; charset=nonsense")), "Shift_JIS");
        assert_eq!(name(meta, None), "Shift_JIS");
    }

    #[test]
    fn both_forms_of_the_meta_tag_are_understood() {
        let old = b"<meta http-equiv='Content-Type' content='text/html; charset=gb2312'>";
        assert_eq!(name(old, None), "GBK");
        assert_eq!(name(b"<!-- <meta charset=koi8-r> --><meta charset=latin1>", None), "windows-1252");
        assert_eq!(name(b"<meta charset=utf-16>", None), "UTF-8");
    }

    #[test]
    fn a_document_of_xml_is_in_utf_8_unless_it_or_its_header_says_otherwise() {
        let name = |body: &[u8], content_type: Option<&str>| of_xml(body, content_type).name();
        let declared = b"\n<?xml version='1.0' encoding = 'koi8-r' ?><a/>";
        assert_eq!(name(declared, None), "KOI8-R");
        assert_eq!(name(declared, Some("text/xml; charset=shift_jis")), "Shift_JIS");
        assert_eq!(name(b"\xfe\xff\0<", Some("text/xml; charset=shift_jis")), "UTF-16BE");
        for broken in
            ["<?xml encoding='utf-16'?>", "<?xml encoding=koi8-r?>", "<?xml encoding='koi8-r'", "gr\u{fc}n", ""]
        {
            assert_eq!(name(broken.as_bytes(), None), "UTF-8", "{broken}");
        }
    }

    #[test]
    fn a_meta_tag_far_inside_is_too_late() {
        let late = [vec![b' '; 1024], b"<meta charset=koi8-r>".to_vec()].concat();
        assert_eq!(name(&late, None), "UTF-8");
    }

    #[test]
    fn without_declaration_utf_8_is_recognised_by_its_bytes() {
        assert_eq!(name("grüße".as_bytes(), None), "UTF-8");
        assert_eq!(name(&"grü".as_bytes()[..3], None), "UTF-8", "cut within a character");
        assert_eq!(name(b"gr\xfc\xdfe", None), "windows-1252");
        assert_eq!(to_utf8(b"gr\xfc\xdfe", WINDOWS_1252), "grüße");
        assert_eq!(to_utf8(b"\xef\xbb\xbfa", UTF_8), "a");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for seed in 0..3_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = b"<meta charset='utf-8' content='text/html; charset=x'>".to_vec();
            for _ in 0..random.usize(..8) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let header = String::from_utf8_lossy(&bytes).into_owned();
            to_utf8(&bytes, of_html(&bytes, Some(&header)));
        }
    }
}
