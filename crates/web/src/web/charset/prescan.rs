//! The encoding that a page states for itself: "prescan a byte stream", "get an XML encoding" and the late `<meta>` of
//! the HTML standard (13.2.3.2, 13.2.3.3, 13.2.6.4.4).
//!
//! Everything here takes time linear in the bytes that it is given.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use crate::web::references::push_value;
use crate::web::tags::Tags;

#[cfg(test)]
#[path = "late_tests.rs"]
mod late_tests;

/// Bytes in which a browser looks for an encoding before it begins to parse.
const PRESCAN_BYTES: usize = 1024;

/// The encoding that the first kilobyte of a page declares.
pub(super) fn prescan(body: &[u8]) -> Option<&'static Encoding> {
    let start = &body[..body.len().min(PRESCAN_BYTES)];
    if start.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if start.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    Cursor { bytes: start, at: 0 }.meta().or_else(|| xml_encoding(start))
}

/// The encoding that an XML declaration among the first bytes names. It is readable as ASCII, so it cannot mean UTF-16.
pub(super) fn xml_encoding(body: &[u8]) -> Option<&'static Encoding> {
    let declaration = body[..body.len().min(PRESCAN_BYTES)].strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let word = b"encoding";
    let after = &declaration[memchr::memmem::find(declaration, word)? + word.len()..];
    let value = trim_controls(trim_controls(after).strip_prefix(b"=")?);
    let quote = *value.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let label = &value[1..1 + memchr::memchr(quote, &value[1..])?];
    if label.iter().any(|&byte| byte <= b' ') {
        return None;
    }
    readable(Encoding::for_label(label)?)
}

/// The encoding that a `<meta>` element further inside declares: a browser that meets one while nothing else said the
/// encoding begins again with it. What is in comments, scripts and other raw text is no element.
pub(super) fn late_meta(body: &[u8]) -> Option<&'static Encoding> {
    // most pages that declare nothing do not have the word either
    if !has_charset(body) {
        return None;
    }
    let mut tags = Tags::new(body);
    while let Some(tag) = tags.next_tag() {
        if !tag.is_start || !tag.name.eq_ignore_ascii_case(b"meta") {
            continue;
        }
        let mut meta = Meta::default();
        let is_whole = tags.attributes(|attribute| meta.take(attribute.name, attribute.value));
        if let Some(encoding) = meta.encoding_of_element().filter(|_| is_whole) {
            return Some(encoding);
        }
    }
    None
}

fn has_charset(body: &[u8]) -> bool {
    let word = b"charset";
    let is_word = |at: usize| body.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
    memchr::memchr2_iter(b'c', b'C', body).any(is_word)
}

/// A declaration that could be read byte by byte is not in UTF-16, whatever it says.
fn readable(encoding: &'static Encoding) -> Option<&'static Encoding> {
    Some(match encoding {
        _ if encoding == UTF_16BE || encoding == UTF_16LE => UTF_8,
        _ if encoding == X_USER_DEFINED => WINDOWS_1252,
        encoding => encoding,
    })
}

fn trim_controls(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|&&byte| byte <= b' ').count();
    &bytes[blanks..]
}

/// Attributes of a `<meta>` that state an encoding: the first of each name.
#[derive(Default)]
struct Meta<'a> {
    charset: Option<&'a [u8]>,
    http_equiv: Option<&'a [u8]>,
    content: Option<&'a [u8]>,
}

impl<'a> Meta<'a> {
    fn take(&mut self, name: &[u8], value: &'a [u8]) {
        let slot = match name {
            _ if name.eq_ignore_ascii_case(b"charset") => &mut self.charset,
            _ if name.eq_ignore_ascii_case(b"http-equiv") => &mut self.http_equiv,
            _ if name.eq_ignore_ascii_case(b"content") => &mut self.content,
            _ => return,
        };
        slot.get_or_insert(value);
    }

    /// Returns the encoding that the tag states as it is written.
    fn encoding(&self) -> Option<&'static Encoding> {
        match self.charset {
            Some(label) => readable(Encoding::for_label(label)?),
            None => self.encoding_of_pragma(),
        }
    }

    fn encoding_of_pragma(&self) -> Option<&'static Encoding> {
        let is_pragma = self.http_equiv.is_some_and(|value| value.eq_ignore_ascii_case(b"content-type"));
        readable(Encoding::for_label(label_in(self.content.filter(|_| is_pragma)?)?)?)
    }

    /// Returns the encoding that the element states: its references are decoded, and behind a `charset` that means
    /// nothing the pragma counts.
    fn encoding_of_element(&self) -> Option<&'static Encoding> {
        let decoded = |value: Option<&[u8]>| {
            let mut text = String::new();
            push_value(value?, &mut text);
            Some(text)
        };
        let values = [self.charset, self.http_equiv, self.content].map(decoded);
        let [charset, http_equiv, content] = values.each_ref().map(|value| value.as_ref().map(|text| text.as_bytes()));
        let meta = Meta { charset, http_equiv, content };
        meta.encoding().or_else(|| meta.encoding_of_pragma())
    }
}

/// The label behind `charset=` in the content of a `<meta>` ("extracting a character encoding from a meta element").
fn label_in(content: &[u8]) -> Option<&[u8]> {
    let word = b"charset";
    let mut rest = content;
    loop {
        let at = rest.windows(word.len()).position(|found| found.eq_ignore_ascii_case(word))?;
        rest = rest[at + word.len()..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            return match value.first()? {
                quote @ (b'"' | b'\'') => Some(&value[1..1 + memchr::memchr(*quote, &value[1..])?]),
                _ => Some(value.split(|&byte| byte == b';' || byte.is_ascii_whitespace()).next().unwrap_or_default()),
            };
        }
    }
}

/// A place in the first bytes. Where they end within something, nothing of that counts.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The encoding of the first `<meta>` that declares one. Unlike a parser's, this walk knows no raw text.
    fn meta(&mut self) -> Option<&'static Encoding> {
        loop {
            self.at += memchr::memchr(b'<', &self.bytes[self.at..])?;
            let rest = &self.bytes[self.at + 1..];
            if rest.starts_with(b"!--") {
                // the dashes may be the ones of the beginning
                self.at += 2 + memchr::memmem::find(&rest[1..], b"-->")? + 3;
            } else if is_meta(rest) {
                self.at += 1 + b"meta".len();
                let mut meta = Meta::default();
                while let Some((name, value)) = self.attribute()? {
                    meta.take(name, value);
                }
                if let Some(encoding) = meta.encoding() {
                    return Some(encoding);
                }
            } else if rest.strip_prefix(b"/").unwrap_or(rest).first().is_some_and(u8::is_ascii_alphabetic) {
                let name = rest.iter().position(|&byte| is_blank(byte) || byte == b'>')?;
                self.at += 1 + name;
                while self.attribute()?.is_some() {}
            } else if matches!(rest.first()?, b'!' | b'/' | b'?') {
                self.at += 1 + memchr::memchr(b'>', rest)?;
            } else {
                self.at += 1;
            }
        }
    }

    /// "Get an attribute": `Some(None)` where the tag is at its end, none where the bytes are.
    fn attribute(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        self.skip(|byte| is_blank(byte) || byte == b'/');
        if *self.bytes.get(self.at)? == b'>' {
            return Some(None);
        }
        let start = self.at;
        // a `=` at the beginning belongs to the name
        self.at += 1;
        self.skip(|byte| !is_blank(byte) && !matches!(byte, b'=' | b'/' | b'>'));
        let name = &self.bytes[start..self.at];
        self.skip(is_blank);
        if *self.bytes.get(self.at)? != b'=' {
            return Some(Some((name, &[])));
        }
        self.at += 1;
        self.skip(is_blank);
        let value = match *self.bytes.get(self.at)? {
            quote @ (b'"' | b'\'') => {
                let start = self.at + 1;
                let end = start + memchr::memchr(quote, &self.bytes[start..])?;
                self.at = end + 1;
                &self.bytes[start..end]
            }
            _ => {
                let start = self.at;
                self.skip(|byte| !is_blank(byte) && byte != b'>');
                self.bytes.get(self.at)?;
                &self.bytes[start..self.at]
            }
        };
        Some(Some((name, value)))
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|&byte| is_skipped(byte)) {
            self.at += 1;
        }
    }
}

fn is_meta(rest: &[u8]) -> bool {
    let is_named = rest.get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"meta"));
    is_named && rest.get(4).is_some_and(|&byte| is_blank(byte) || byte == b'/')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}
