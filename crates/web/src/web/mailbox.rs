//! Mailboxes of the `From` field: `bot@example.org`, `Crawler <bot@example.org>` (RFC 9110, section 10.1.2; RFC 5322,
//! section 3.4).
//!
//! Read strictly: no comments, no folding, no obsolete forms, ASCII alone. What is taken here every server can read.

/// True if `text` is a mailbox.
pub fn is_mailbox(text: &str) -> bool {
    match text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
        Some((name, address)) => is_name(name) && is_address(address),
        None => is_address(text),
    }
}

/// The address in a mailbox.
pub fn address_of(mailbox: &str) -> &str {
    let within = mailbox.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
    within.map_or(mailbox, |(_, address)| address)
}

fn is_atom_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom_byte))
}

/// Printable text in quotes, with quotes and backslashes in it behind a backslash.
fn is_quoted(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        let holds = match byte {
            b'\\' => bytes.next().is_some_and(|next| (b' '..=b'~').contains(&next)),
            b'"' => false,
            byte => (b' '..=b'~').contains(&byte),
        };
        if !holds {
            return false;
        }
    }
    true
}

/// True if `name` can be written before an address in angle brackets: nothing, words, or a quoted text.
fn is_name(name: &str) -> bool {
    let name = name.trim_end_matches(' ');
    name.is_empty() || is_quoted(name) || name.split(' ').all(|word| !word.is_empty() && word.bytes().all(is_atom_byte))
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_literal = || {
        let inner = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inner.is_some_and(|inner| match inner.strip_prefix("IPv6:") {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => inner.parse::<std::net::Ipv4Addr>().is_ok(),
        })
    };
    let is_label = |label: &str| {
        let within = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=63).contains(&label.len()) && within && !label.starts_with('-') && !label.ends_with('-')
    };
    let named = domain.len() <= 253 && domain.split('.').all(is_label);
    local.len() <= 64 && (is_dot_atom(local) || is_quoted(local)) && (named || is_literal())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_mailboxes_with_a_name_or_without() {
        for text in [
            "bot@example.org",
            "a.b+c/d=e@sub.example.org",
            "\"a b\\\"@\"@example.org",
            "bot@[192.0.2.1]",
            "bot@[IPv6:2001:db8::1]",
            "bot@xn--bcher-kva.example",
            "Crawler <bot@example.org>",
            "The Web Archive <bot@example.org>",
            "\"Archive, Inc.\" <bot@example.org>",
            "<bot@example.org>",
        ] {
            assert!(is_mailbox(text), "{text}");
            assert!(address_of(text).contains('@') && !address_of(text).contains(['<', '>']), "{text}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "bot",
            "@example.org",
            "bot@",
            "bot@example..org",
            ".bot@example.org",
            "bot.@example.org",
            "a b@example.org",
            "bot@-example.org",
            "bot@example.org.",
            "bot@[192.0.2.256]",
            "bot@[::1]",
            "bot@b\u{fc}cher.example",
            "Archive, Inc. <bot@example.org>",
            "Crawler <bot@example.org> ",
            "Crawler bot@example.org>",
            "a@example.org, b@example.org",
            "\"a\"b\" <bot@example.org>",
            "bot@example.org\r\nX-Evil: 1",
            "\"\\\u{7f}\"@example.org",
        ] {
            assert!(!is_mailbox(text), "{text}");
        }
    }
}
