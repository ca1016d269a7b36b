//! Character references in attribute values (HTML standard, 13.2.5.72 and following).

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// Appends an attribute value as a browser sees it: references decoded, line ends unified, U+FFFD for what is no UTF-8
/// and for NUL.
pub fn push_value(value: &[u8], out: &mut String) {
    let is_plain = memchr::memchr3(b'&', b'\r', b'\0', value).is_none();
    if is_plain && let Ok(text) = str::from_utf8(value) {
        out.push_str(text);
        return;
    }
    let text = String::from_utf8_lossy(value);
    let mut rest = &*text;
    while let Some(at) = memchr::memchr3(b'&', b'\r', b'\0', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        rest = match rest.as_bytes()[at] {
            b'&' => push_reference(after, out),
            b'\r' => {
                out.push('\n');
                after.strip_prefix('\n').unwrap_or(after)
            }
            _ => {
                out.push('\u{fffd}');
                after
            }
        };
    }
    out.push_str(rest);
}

/// Appends what the reference before `after` means, or its `&`, and returns what is left.
fn push_reference<'a>(after: &'a str, out: &mut String) -> &'a str {
    if let Some(rest) = after.strip_prefix("amp;") {
        out.push('&');
        return rest;
    }
    let found = match after.strip_prefix('#') {
        Some(number) => numeric(number).map(|(c, length)| (c, '\0', length + 1)),
        None => named(after),
    };
    let Some((first, second, length)) = found else {
        out.push('&');
        return after;
    };
    out.push(first);
    if second != '\0' {
        out.push(second);
    }
    &after[length..]
}

/// The character of `#65;` or `#x41;` without its `#`, and the length.
fn numeric(text: &str) -> Option<(char, usize)> {
    let (base, prefix) = if text.starts_with(['x', 'X']) { (16, 1) } else { (10, 0) };
    let digits = text[prefix..].bytes().take_while(|&byte| char::from(byte).is_digit(base)).count();
    if digits == 0 {
        return None;
    }
    let value = text[prefix..prefix + digits]
        .bytes()
        .filter_map(|byte| char::from(byte).to_digit(base))
        .fold(0_u32, |value, digit| value.saturating_mul(base).saturating_add(digit));
    let end = prefix + digits;
    let length = end + usize::from(text[end..].starts_with(';'));
    let character = match value {
        0 => None,
        0x80..=0x9f => C1_REPLACEMENTS[(value - 0x80) as usize].or_else(|| char::from_u32(value)),
        _ => char::from_u32(value),
    };
    Some((character.unwrap_or('\u{fffd}'), length))
}

/// The one or two characters of the longest name that `text` starts with, and its length.
///
/// A name without `;` is no reference where a `=` or a letter or digit follows: `?a=1&copy=2` is a URL.
fn named(text: &str) -> Option<(char, char, usize)> {
    let mut found = None;
    for (index, byte) in text.bytes().enumerate() {
        if !byte.is_ascii_alphanumeric() && byte != b';' {
            break;
        }
        // the table has all starts of names too, with 0 as their character
        let Some(&(first, second)) = NAMED_ENTITIES.get(&text[..=index]) else { break };
        if first != 0 {
            found = Some((char::from_u32(first)?, char::from_u32(second)?, index + 1));
        }
    }
    let (_, _, length) = found?;
    let next = text.as_bytes().get(length);
    let is_prose = next.is_some_and(|&next| next == b'=' || next.is_ascii_alphanumeric());
    if text[..length].ends_with(';') || !is_prose { found } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(value: &str) -> String {
        let mut out = String::new();
        push_value(value.as_bytes(), &mut out);
        out
    }

    #[test]
    fn references_are_decoded_as_browsers_do_it() {
        for (value, expected) in [
            ("a&amp;b", "a&b"),
            ("&lt&gt;", "<>"),
            ("?a=1&copy=2", "?a=1&copy=2"),
            ("?a=1&copy;=2", "?a=1©=2"),
            ("?a=1&copy", "?a=1©"),
            ("?a=1&copy2", "?a=1&copy2"),
            ("&notit;", "&notit;"),
            ("&notin;", "∉"),
            ("&NotEqualTilde;", "≂̸"),
            ("&#65;&#x42;&#X43", "ABC"),
            ("&#0;&#xD800;&#x110000;&#99999999999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("&#x80;&#x81;", "€\u{81}"),
            ("&#;&#x;&#xg;&;& &", "&#;&#x;&#xg;&;& &"),
            ("&unknown;", "&unknown;"),
            ("a\r\nb\rc\0", "a\nb\nc\u{fffd}"),
        ] {
            assert_eq!(decoded(value), expected, "{value}");
        }
    }
}
