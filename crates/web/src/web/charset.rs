//! The encoding of a page: what browsers would take it for.
//!
//! In this order: a byte order mark, the charset of the Content-Type header, a `<meta>` or else an XML declaration in
//! the first kilobyte, a `<meta>` further inside, UTF-8 if the bytes are valid UTF-8, windows-1252. Labels are from the
//! WHATWG Encoding Standard; `prescan` finds what the page declares.

mod prescan;

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::mime::{self, MimeType};

/// The bytes of a sheet that an `@charset` has to be in.
const AT_CHARSET_BYTES: usize = 1_024;

/// The encoding of an HTML page.
pub fn of_html(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    if let Some(encoding) = of_mark_or_header(body, content_type) {
        return encoding;
    }
    // to a parser of XML only its declaration counts
    let is_xml = mime::essence(content_type) == "application/xhtml+xml";
    let of_xml = if is_xml { prescan::xml_encoding(body) } else { None };
    if let Some(encoding) = of_xml.or_else(|| declared(body)) {
        return encoding;
    }
    match std::str::from_utf8(body) {
        Ok(_) => UTF_8,
        // cut within a character
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// The encoding that an HTML page declares in itself, other than by a byte order mark.
pub fn declared(body: &[u8]) -> Option<&'static Encoding> {
    prescan::prescan(body).or_else(|| prescan::late_meta(body))
}

/// The encoding of an XML document or a text: by a byte order mark, the charset of the Content-Type header, the XML
/// declaration; otherwise UTF-8.
pub fn of_xml(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    // blanks before it are an error of XML, which sitemaps are forgiven
    let declared = || prescan::xml_encoding(body.trim_ascii_start());
    of_mark_or_header(body, content_type).or_else(declared).unwrap_or(UTF_8)
}

/// The encoding of a style sheet ("determine the fallback encoding" of CSS Syntax, 3.2): by a byte order mark, the
/// charset of the Content-Type header, an `@charset` at its very beginning; otherwise UTF-8.
pub fn of_css(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    of_mark_or_header(body, content_type).or_else(|| at_charset(body)).unwrap_or(UTF_8)
}

/// Returns the encoding that an `@charset` names, which is a sequence of bytes and no rule: it has one spelling.
fn at_charset(body: &[u8]) -> Option<&'static Encoding> {
    let start = &body[..body.len().min(AT_CHARSET_BYTES)];
    let label = start.strip_prefix(b"@charset \"")?;
    let end = memchr::memchr(b'"', label).filter(|&end| label.get(end + 1) == Some(&b';'))?;
    let named = Encoding::for_label(&label[..end])?;
    // a sheet whose first bytes are ASCII is not in UTF-16
    Some(if named == UTF_16BE || named == UTF_16LE { UTF_8 } else { named })
}

/// Returns the encoding by what outranks all that a page says of itself: a byte order mark, and then the header.
fn of_mark_or_header(body: &[u8], content_type: Option<&str>) -> Option<&'static Encoding> {
    let marked = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    marked.or_else(|| content_type.and_then(of_content_type))
}

/// The body in UTF-8, without its byte order mark; borrowed where nothing had to be changed. Bytes that mean nothing
/// become U+FFFD.
pub fn to_utf8<'a>(body: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    encoding.decode_with_bom_removal(body).0
}

/// The encoding of a document that cannot declare one itself: plain text, Markdown, JSON.
pub fn of_text(content_type: Option<&str>) -> &'static Encoding {
    content_type.and_then(of_content_type).unwrap_or(encoding_rs::UTF_8)
}

/// The encoding that the charset parameter of a Content-Type names.
pub fn of_content_type(content_type: &str) -> Option<&'static Encoding> {
    Encoding::for_label(MimeType::parse(content_type)?.charset?.as_bytes())
}

/// The bytes of a query in the encoding of its page. A letter that the encoding lacks becomes a reference in its number
/// whose own signs are escaped (URL standard, "percent-encode after encoding").
pub(crate) fn encode_query<'a>(query: &'a str, encoding: &'static Encoding) -> Cow<'a, [u8]> {
    let (bytes, _, has_unmappable) = encoding.encode(query);
    if !has_unmappable {
        return bytes;
    }
    let mut encoder = encoding.output_encoding().new_encoder();
    let (mut bytes, mut rest) = (Vec::with_capacity(2 * query.len()), query);
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(0);
        bytes.reserve(room.max(16));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return Cow::Owned(bytes),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(letter) => {
                bytes.extend_from_slice(format!("%26%23{}%3B", u32::from(letter)).as_bytes());
            }
        }
    }
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
    fn a_sheet_is_in_utf_8_unless_its_header_or_its_first_bytes_say_otherwise() {
        for (sheet, content_type, expected) in [
            ("@charset \"koi8-r\";", None, "KOI8-R"),
            ("@charset \"koi8-r\";", Some("text/css; charset=shift_jis"), "Shift_JIS"),
            ("\u{feff}@charset \"koi8-r\";", Some("text/css; charset=shift_jis"), "UTF-8"),
            ("@charset \"utf-16le\";", None, "UTF-8"),
            ("@charset \"KOI8-R\"; a{}", Some("text/css"), "KOI8-R"),
            ("@charset 'koi8-r';", None, "UTF-8"),
            ("@charset  \"koi8-r\";", None, "UTF-8"),
            ("@CHARSET \"koi8-r\";", None, "UTF-8"),
            (" @charset \"koi8-r\";", None, "UTF-8"),
            ("@charset \"koi8-r\" ;", None, "UTF-8"),
            ("@charset \"koi8-r", None, "UTF-8"),
            ("@charset \"bogus\";", None, "UTF-8"),
            ("a{}", None, "UTF-8"),
        ] {
            assert_eq!(of_css(sheet.as_bytes(), content_type).name(), expected, "{sheet}");
        }
        let far = format!("@charset \"{}\";", " ".repeat(1_100) + "koi8-r");
        assert_eq!(of_css(far.as_bytes(), None).name(), "UTF-8");
    }

    /// The shape of the pages of web-platform-tests, html/syntax/charset (3-clause BSD): the element before, in and
    /// behind other ones, within the first kilobyte and beyond it.
    #[test]
    fn n19_a_meta_element_is_found_wherever_a_browser_finds_it() {
        let meta = "<meta charset=windows-1251>";
        let filler = "-".repeat(1_100);
        let comment = format!("<!--{filler}-->");
        for (page, expected) in [
            (format!("<!DOCTYPE html>{meta}"), "windows-1251"),
            (format!("<!DOCTYPE html><head>{comment}{meta}"), "windows-1251"),
            (format!("<!DOCTYPE html><head></head>{comment}<body>{meta}"), "windows-1251"),
            (format!("<bogus>{comment}{meta}"), "windows-1251"),
            (format!("<title>{meta}</title>"), "windows-1251"),
            (format!("<!DOCTYPE html>{comment}<title>{meta}</title>"), "UTF-8"),
            (format!("<script>{meta}</script>"), "windows-1251"),
            (format!("{comment}<script>'{meta}'</script>"), "UTF-8"),
            (format!("{comment}<style>{meta}</style>"), "UTF-8"),
            (format!("{comment}<!-- {meta} -->"), "UTF-8"),
            (format!("<!-- {meta} -->"), "UTF-8"),
            (format!("{comment}<meta charset=bogus>{meta}<meta charset=koi8-r>"), "windows-1251"),
            (format!("{comment}<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset = gb2312'>"), "GBK"),
            (format!("{comment}<meta name=x content='text/html; charset=gb2312'>"), "UTF-8"),
            (format!("{comment}<p title='{meta}'>"), "UTF-8"),
        ] {
            assert_eq!(name(page.as_bytes(), None), expected, "{page}");
        }
        // across the border of the first kilobyte
        for length in 990..1_030 {
            let page = format!("<!--{}-->{meta}", "-".repeat(length));
            assert_eq!(name(page.as_bytes(), None), "windows-1251", "{length}");
        }
    }

    /// "Prescan a byte stream" and "get an XML encoding" of the HTML standard, step by step.
    #[test]
    fn n19_an_xml_declaration_tells_the_encoding_of_a_page() {
        for (page, expected) in [
            ("<?xml version='1.0' encoding='koi8-r'?><html>", "KOI8-R"),
            ("<?xml encoding = \"koi8-r\" ><html>", "KOI8-R"),
            ("<?xmlencoding\x01=\x02'koi8-r'>", "KOI8-R"),
            ("<?xml encoding='utf-16'?>", "UTF-8"),
            ("<?xml encoding='x-user-defined'?>", "windows-1252"),
            ("<?xml encoding='koi8-r'?><meta charset=gbk>", "GBK"),
            (" <?xml encoding='koi8-r'?>", "UTF-8"),
            ("<?xml encoding=koi8-r?>", "UTF-8"),
            ("<?xml encoding='koi8-r?>'", "UTF-8"),
            ("<?xml encoding='koi8-r '?>", "UTF-8"),
            ("<?xml encoding='koi8-r'", "UTF-8"),
            ("<?XML encoding='koi8-r'?>", "UTF-8"),
        ] {
            assert_eq!(name(page.as_bytes(), None), expected, "{page}");
        }
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        assert_eq!(name(&wide("<?xml version='1.0'?><html>"), None), "UTF-16LE");
        let xhtml = Some("application/xhtml+xml");
        assert_eq!(name(b"<?xml encoding='koi8-r'?><meta charset=gbk>", xhtml), "KOI8-R", "XML knows no meta");
    }

    #[test]
    fn n19_the_prescan_reads_tags_as_the_standard_does() {
        for (page, expected) in [
            ("<meta content='text/html; charset=koi8-r' http-equiv=content-type>", "KOI8-R"),
            ("<meta http-equiv=content-type content='charset charset=\"koi8-r\"'>", "KOI8-R"),
            ("<meta http-equiv=content-type content='charset=\"koi8-r'>", "UTF-8"),
            ("<meta content='text/html; charset=koi8-r'>", "UTF-8"),
            ("<meta/charset=koi8-r/>", "UTF-8"),
            ("<meta/charset='koi8-r'/>", "KOI8-R"),
            ("<meta charset=bogus charset=koi8-r>", "UTF-8"),
            ("<metacharset=koi8-r>", "UTF-8"),
            ("<!--><meta charset=koi8-r>", "KOI8-R"),
            ("<p <meta charset=koi8-r>", "UTF-8"),
            ("<a title='>' x=<meta><meta charset=koi8-r>", "KOI8-R"),
            ("</ x ><? y ><! z ><meta charset=koi8-r>", "KOI8-R"),
            ("<meta charset=koi8-r", "UTF-8"),
            ("< meta charset=koi8-r>", "UTF-8"),
        ] {
            assert_eq!(name(page.as_bytes(), None), expected, "{page}");
        }
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
