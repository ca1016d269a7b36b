//! Header fields of an answer, as bytes: nothing promises that they are UTF-8.
//!
//! A field that names a URL is read as browsers read it: each byte that belongs to no UTF-8 becomes its escape, so that
//! the server gets back what it sent. Fields of words (directives, codings) are read with such bytes replaced.

use std::borrow::Cow;

use super::percent::escape;
use super::values::refresh_url;

/// Name and value of an HTTP header, as they came.
pub type Header = (Box<[u8]>, Box<[u8]>);

/// The values of the fields `name`, without the blanks around them.
pub fn named<'a, B: AsRef<[u8]>>(fields: &'a [(B, B)], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let named = fields.iter().filter(move |(found, _)| found.as_ref().eq_ignore_ascii_case(name.as_bytes()));
    named.map(|(_, value)| value.as_ref().trim_ascii())
}

/// The value of the first field `name`, words only.
pub fn first<'a, B: AsRef<[u8]>>(fields: &'a [(B, B)], name: &'a str) -> Option<Cow<'a, str>> {
    named(fields, name).next().map(String::from_utf8_lossy)
}

/// The values of all fields `name` as one list (RFC 9110, 5.3); none where there is no such field.
pub fn list<B: AsRef<[u8]>>(fields: &[(B, B)], name: &str) -> Option<String> {
    let values: Vec<Cow<'_, str>> = named(fields, name).map(String::from_utf8_lossy).collect();
    if values.is_empty() { None } else { Some(values.join(", ")) }
}

/// A URL, or what has one in it. Where it is no UTF-8, its bytes beyond ASCII are percent-encoded one by one.
pub fn reference(value: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(value) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(value.len() + 16);
    for &byte in value {
        match byte.is_ascii() {
            true => text.push(char::from(byte)),
            false => text.extend(escape(byte).map(char::from)),
        }
    }
    Cow::Owned(text)
}

/// Each byte as the character of its number: what the Fetch standard parses header values as.
pub fn isomorphic(value: &[u8]) -> String {
    value.iter().copied().map(char::from).collect()
}

/// Returns the URL that an answer redirects to, as written.
pub fn location<B: AsRef<[u8]>>(fields: &[(B, B)]) -> Option<Cow<'_, str>> {
    named(fields, "location").next().map(reference)
}

/// Returns the URL in the `Refresh` field of an answer, as written: the field means what `<meta http-equiv=refresh>`
/// does.
pub fn refresh<B: AsRef<[u8]>>(fields: &[(B, B)]) -> Option<String> {
    named(fields, "refresh").find_map(|value| refresh_url(&reference(value)).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::url::CanonicalUrl;

    fn fields(name: &str, value: &[u8]) -> [(Vec<u8>, Vec<u8>); 1] {
        [(name.as_bytes().to_vec(), value.to_vec())]
    }

    /// The cases of web-platform-tests, fetch/api/redirect/redirect-location-escape.tentative.any.js (3-clause BSD),
    /// and the like of them in a path and in a host.
    #[test]
    fn n18_a_byte_of_a_location_that_is_no_utf8_is_escaped_as_it_is() {
        let base = CanonicalUrl::parse("http://h/a/redirect").unwrap();
        for (value, expected) in [
            (&b"top.txt?%E2%98%83%e2%98%83"[..], "http://h/a/top.txt?%E2%98%83%e2%98%83"),
            (b"top.txt?\xe2\x98\x83", "http://h/a/top.txt?%E2%98%83"),
            (b"top.txt?\xe2\x98\x83%e2%98%83", "http://h/a/top.txt?%E2%98%83%e2%98%83"),
            (b"top.txt?%\xe2\x98\x83", "http://h/a/top.txt?%%E2%98%83"),
            (b"top.txt?\xff", "http://h/a/top.txt?%FF"),
            (b" /caf\xe9 ", "http://h/caf%E9"),
            (b"/\xe2\x98\x83/\xe9", "http://h/%E2%98%83/%E9"),
            (b"http://b\xc3\xbccher.example/\xe9", "http://xn--bcher-kva.example/%E9"),
        ] {
            let fields = fields("Location", value);
            let found = location(&fields).and_then(|text| base.join(&text).ok());
            assert_eq!(found.unwrap().as_str(), expected, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn n18_a_refresh_field_means_what_the_meta_element_does() {
        assert_eq!(refresh(&fields("refresh", b"0;url=/caf\xe9")).as_deref(), Some("/caf%E9"));
        assert_eq!(refresh(&fields("Refresh", b"5; URL = '/a b' x")).as_deref(), Some("/a b"));
        assert_eq!(refresh(&fields("Refresh", b"5")), None);
    }

    #[test]
    fn fields_of_one_name_make_one_list() {
        let two = [fields("A", b" gzip ")[0].clone(), fields("b", b"x")[0].clone(), fields("a", b"br\xff")[0].clone()];
        assert_eq!(list(&two, "a").as_deref(), Some("gzip, br\u{fffd}"));
        assert_eq!(list(&two, "c"), None);
        assert_eq!(first(&two, "a").as_deref(), Some("gzip"));
    }
}
