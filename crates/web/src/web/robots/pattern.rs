//! Paths and patterns in one spelling, and matching them in linear time.
//!
//! RFC 9309 compares octets after percent-encoding was normalised (figure 4): escapes of unreserved characters are
//! decoded, everything outside of the reserved and unreserved characters is escaped. In a normalised pattern `*` and
//! a `$` at the end are special; the characters themselves are escaped, in URLs too.
//!
//! The same figure escapes `:` and `/` behind the `?`, where they separate nothing, while the rest of the world
//! compares them as they are. Both are held to: there, a pattern with a `?` matches if it does in either form.

use crate::web::percent::{escape, escaped_byte, is_unreserved};

/// A pattern from robots.txt, normalised.
pub(crate) fn normalise_pattern(pattern: &[u8]) -> Vec<u8> {
    let (body, is_anchored) = match pattern.split_last() {
        Some((b'$', body)) => (body, true),
        _ => (pattern, false),
    };
    let mut normalised = Vec::with_capacity(pattern.len());
    push_normalised(body, b"*", &mut normalised);
    if is_anchored {
        normalised.push(b'$');
    }
    normalised
}

/// Characters that have a meaning in URLs (RFC 3986, reserved), but for `*` and `$`.
fn is_reserved(byte: u8) -> bool {
    matches!(
        byte,
        b':' | b'/' | b'?' | b'#' | b'[' | b']' | b'@' | b'!' | b'&' | b'\'' | b'(' | b')' | b'+' | b',' | b';' | b'='
    )
}

fn push_normalised(text: &[u8], special: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let mut byte = first;
        let mut is_plain = is_unreserved(byte) || is_reserved(byte) || special.contains(&byte);
        if first == b'%'
            && let Some(escaped) = escaped_byte(after)
        {
            byte = escaped;
            is_plain = is_unreserved(byte);
            rest = &after[2..];
        }
        if is_plain {
            out.push(byte);
        } else {
            out.extend(escape(byte));
        }
    }
}

/// The same with `:` and `/` escaped behind the first `?`; none if there are none of them, escaped or not.
fn with_escaped_query(normalised: &[u8]) -> Option<Vec<u8>> {
    let query = memchr::memchr(b'?', normalised)? + 1;
    let mut escaped = normalised[..query].to_vec();
    let mut has_any = false;
    for (at, &byte) in normalised.iter().enumerate().skip(query) {
        match byte {
            b':' | b'/' => {
                has_any = true;
                escaped.extend(escape(byte));
            }
            _ => {
                has_any |= byte == b'%' && matches!(normalised.get(at + 1..at + 3), Some(b"3A" | b"2F"));
                escaped.push(byte);
            }
        }
    }
    has_any.then_some(escaped)
}

/// The path and query of a URL, normalised.
#[derive(Debug)]
pub struct Subject {
    text: Vec<u8>,
    /// The text with an escaped query, where it makes a difference.
    with_escaped_query: Option<Vec<u8>>,
}

impl Subject {
    /// The subject of an absolute URL, or of one that begins with its path.
    pub(crate) fn of_url(url: &str) -> Self {
        let url = url.split('#').next().unwrap_or_default();
        let from_path = match url.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
                rest.find(['/', '?']).map_or("", |start| &rest[start..])
            }
            _ => url,
        };
        let mut normalised = Vec::with_capacity(from_path.len() + 1);
        if !from_path.starts_with('/') {
            normalised.push(b'/');
        }
        push_normalised(from_path.as_bytes(), b"", &mut normalised);
        Subject { with_escaped_query: with_escaped_query(&normalised), text: normalised }
    }

    /// True if it is robots.txt itself, which is always allowed.
    pub(crate) fn is_robots_txt(&self) -> bool {
        self.text == b"/robots.txt"
    }

    /// True if a normalised pattern matches its start, or all of it if the pattern ends with `$`.
    pub(crate) fn matches(&self, pattern: &[u8]) -> bool {
        matches(&self.text, pattern)
            || self
                .with_escaped_query
                .as_ref()
                .is_some_and(|text| with_escaped_query(pattern).is_some_and(|pattern| matches(text, &pattern)))
    }
}

/// The parts between the `*`s are looked for from left to right, each as early as possible: a later place never
/// leaves more for the parts after it. So nothing is tried twice.
fn matches(text: &[u8], pattern: &[u8]) -> bool {
    let (pattern, is_anchored) = match pattern.split_last() {
        Some((b'$', body)) => (body, true),
        _ => (pattern, false),
    };
    let mut parts = pattern.split(|&byte| byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !is_anchored || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if is_anchored && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        if part.is_empty() {
            continue;
        }
        let Some(at) = memchr::memmem::find(rest, part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}
