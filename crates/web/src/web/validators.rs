//! Validators of a stored answer, by which a later request asks if the page is still the same (RFC 9110, section 13.1).
//!
//! An entity tag, weak or strong, and a date are sent back as they came, byte for byte. What could forge a header line,
//! or means something else in a request than in an answer (a `*`, a list of tags), is never sent.

use std::time::UNIX_EPOCH;

use super::headers::Header;
use crate::clock::Time;

/// Longest value that is sent back.
const VALUE_BYTES_MAX: usize = 1_024;

/// The `ETag` and the `Last-Modified` of an answer; at least one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    etag: Option<Box<[u8]>>,
    last_modified: Option<Box<[u8]>>,
}

impl Validators {
    /// The validators among the headers of an answer, if any can be sent back.
    pub fn of(headers: &[Header]) -> Option<Self> {
        let first = |name: &[u8], fits: fn(&[u8]) -> bool| {
            let (_, value) = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
            let value = value.trim_ascii();
            (is_sendable(value) && fits(value)).then(|| value.into())
        };
        let found =
            Validators { etag: first(b"etag", is_one_tag), last_modified: first(b"last-modified", <[u8]>::is_ascii) };
        (found.etag.is_some() || found.last_modified.is_some()).then_some(found)
    }

    /// Entity tag and date, empty where there is none: what [`Validators::from_parts`] takes.
    pub fn parts(&self) -> (&[u8], &[u8]) {
        (self.etag.as_deref().unwrap_or_default(), self.last_modified.as_deref().unwrap_or_default())
    }

    /// The validators of which these are the parts, none if both are empty; `None` if one could not be sent back.
    pub fn from_parts(etag: &[u8], last_modified: &[u8]) -> Option<Option<Self>> {
        let part = |value: &[u8], fits: fn(&[u8]) -> bool| match value {
            [] => Some(None),
            value => (is_sendable(value) && fits(value)).then(|| Some(value.into())),
        };
        let (etag, last_modified) = (part(etag, is_one_tag)?, part(last_modified, <[u8]>::is_ascii)?);
        Some((etag.is_some() || last_modified.is_some()).then_some(Validators { etag, last_modified }))
    }

    /// Time at which the answer's page was changed, by its server.
    pub fn modified(&self) -> Option<Time> {
        let date = std::str::from_utf8(self.last_modified.as_deref()?).ok()?;
        let since = httpdate::parse_http_date(date).ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Time::from_ms(u64::try_from(since.as_millis()).ok()?))
    }

    /// The headers of a conditional request, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let pairs = [("if-none-match", &self.etag), ("if-modified-since", &self.last_modified)];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

fn is_sendable(value: &[u8]) -> bool {
    !value.is_empty() && value.len() <= VALUE_BYTES_MAX && value.iter().all(|&byte| byte >= b' ' && byte != 0x7f)
}

/// True if `value` is one entity tag. Some servers forget the quotes; what they send is taken where it is one word.
fn is_one_tag(value: &[u8]) -> bool {
    let opaque = value.strip_prefix(b"W/").unwrap_or(value);
    match opaque.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(inner) => !inner.contains(&b'"'),
        None => opaque != b"*" && !opaque.is_empty() && !opaque.iter().any(|byte| b"\", ".contains(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&str, &[u8])]) -> Vec<(&'static str, Vec<u8>)> {
        let headers: Vec<Header> =
            headers.iter().map(|(name, value)| (name.as_bytes().into(), (*value).into())).collect();
        let found = Validators::of(&headers);
        found.iter().flat_map(Validators::headers).map(|(name, value)| (name, value.to_vec())).collect()
    }

    #[test]
    fn p8_validators_are_sent_back_byte_for_byte() {
        for tag in [&b"\"a\""[..], b"W/\"a, b\"", b"\"\"", b"\"\xff\"", b"unquoted-1", b"W/5"] {
            assert_eq!(of(&[("ETag", tag)]), [("if-none-match", tag.to_vec())]);
        }
        let date = b"Sat, 21 Nov 2026 09:00:00 GMT";
        let both = of(&[("x", b"y"), ("last-modified", date), ("ETAG", b" \"a\" "), ("etag", b"\"b\"")]);
        assert_eq!(both, [("if-none-match", b"\"a\"".to_vec()), ("if-modified-since", date.to_vec())]);
    }

    #[test]
    fn p8_what_means_something_else_in_a_request_or_could_forge_one_is_not_sent() {
        for tag in
            [&b"*"[..], b"", b"\"a\", \"b\"", b"\"a\", *", b"a b", b"\"", b"W/", b"\"a\rX: y\"", b"\"\x7f\"", b"\"\t\""]
        {
            assert_eq!(of(&[("etag", tag)]), [], "{}", String::from_utf8_lossy(tag));
        }
        assert_eq!(of(&[("etag", &[b'a'; 1_025])]), []);
        for date in [&b"Sat\n"[..], b"Sat\x1b[2J", b"Sat\0", "Sätt".as_bytes()] {
            let sent = of(&[("last-modified", &[date, b" x"].concat())]);
            assert_eq!(sent, [], "{}", String::from_utf8_lossy(date));
        }
        assert_eq!(of(&[]), []);
    }
}
