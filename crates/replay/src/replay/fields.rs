//! Status and fields of an archived answer, as far as a browser may have them again.

use crate::web::mime::is_token;

use super::message::Reply;

/// Fields that mean the same at another place.
const KEPT: [&str; 1] = ["content-language"];
/// Fields that get other names where the archive is in the place of the web: they are about the connection or the
/// coding of a body, or a browser obeys them when the page is gone.
const BOUND: [&str; 33] = [
    // the connection, and what this server says of the body
    "accept-ranges",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    // nobody is let in here
    "authentication-info",
    "www-authenticate",
    // the archive has several captures of a URL
    "age",
    "cache-control",
    "expires",
    "memento-datetime",
    "pragma",
    // kept for the host
    "alt-svc",
    "alternate-protocol",
    "clear-site-data",
    "expect-ct",
    "public-key-pins",
    "public-key-pins-report-only",
    "strict-transport-security",
    // reports
    "content-security-policy-report-only",
    "nel",
    "report-to",
    "reporting-endpoints",
    "x-dns-prefetch-control",
];
/// Directives of a policy that say who gets reports.
const REPORTS: [&str; 2] = ["report-uri", "report-to"];
/// Put before the names of all others.
const ORIGINAL: &str = "x-archive-orig-";
/// Bytes of fields that are shown.
const BYTES_MAX: usize = 16 << 10;

/// The status under which an answer is shown: its own, but for those that speak of the connection, of a part, or of an
/// answer that the client has.
pub(super) fn status(own: u16) -> u16 {
    match own {
        206 | 304 | 0..=199 | 600.. => 200,
        407 | 408 | 421 | 425 | 426 => 400,
        own => own,
    }
}

/// Puts fields of an archived answer into a reply: those that are harmless as they are, and all others under other
/// names.
pub(super) fn keep(reply: Reply, fields: &[(Vec<u8>, Vec<u8>)]) -> Reply {
    put(reply, fields, |name| KEPT.contains(&name))
}

/// Puts the fields of an archived answer into a reply, those that bind the browser under other names.
pub(super) fn keep_unbound(reply: Reply, fields: &[(Vec<u8>, Vec<u8>)]) -> Reply {
    let mut reply = put(reply, fields, |name| !BOUND.contains(&name));
    for (name, value) in &mut reply.fields {
        if name == "content-security-policy" {
            *value = without_reports(value);
        }
    }
    reply
}

/// A policy that sends no reports.
fn without_reports(policy: &str) -> String {
    let is_kept = |directive: &&str| {
        let name = directive.split_whitespace().next().unwrap_or_default();
        !REPORTS.iter().any(|report| name.eq_ignore_ascii_case(report))
    };
    policy.split(';').filter(is_kept).collect::<Vec<_>>().join(";")
}

/// Puts fields into a reply, those that are `kept` under their own names.
fn put(mut reply: Reply, fields: &[(Vec<u8>, Vec<u8>)], kept: impl Fn(&str) -> bool) -> Reply {
    let mut left = BYTES_MAX;
    for (name, value) in fields {
        let (Ok(name), Ok(value)) = (std::str::from_utf8(name), std::str::from_utf8(value)) else { continue };
        let name = name.to_ascii_lowercase();
        let is_plain = is_token(&name) && value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let Some(rest) = left.checked_sub(name.len() + value.len()).filter(|_| is_plain) else { continue };
        left = rest;
        let shown = if kept(&name) { name } else { format!("{ORIGINAL}{name}") };
        reply = reply.with(&shown, value);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_of_a_server_reaches_a_browser_under_its_own_name_but_harmless_ones() {
        let sent = [
            ("Set-Cookie", "a=b"),
            ("Content-Security-Policy", "sandbox"),
            ("Strict-Transport-Security", "max-age=1"),
            ("Refresh", "0; url=http://evil.example/"),
            ("Link", "<http://evil.example/>; rel=preload"),
            ("Content-Language", "de"),
            ("Content-Encoding", "gzip"),
            ("X-Frame-Options", "DENY"),
            ("Bad name", "x"),
            ("X-Bytes", "\u{e9}"),
            ("X-Split", "a\r\nSet-Cookie: x"),
        ];
        let sent: Vec<_> = sent.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect();
        let reply = keep(Reply::default(), &sent);
        let names: Vec<&str> = reply.fields.iter().map(|(name, _)| name.as_str()).collect();
        let (kept, other): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| !name.starts_with(ORIGINAL));
        assert_eq!((kept, other.len()), (vec!["content-language"], 7));
        assert_eq!(reply.field("x-archive-orig-set-cookie"), Some("a=b"));
        let large = vec![(b"a".to_vec(), vec![b'x'; 9_000]); 5];
        assert_eq!(keep(Reply::default(), &large).fields.len(), 1);
    }

    #[test]
    fn in_the_place_of_the_web_fields_keep_their_names_unless_they_bind_the_browser() {
        let sent = [
            ("Set-Cookie", "a=b"),
            ("Content-Security-Policy", "script-src 'self'; Report-URI /r ;report-to x; img-src *"),
            ("X-Frame-Options", "DENY"),
            ("Strict-Transport-Security", "max-age=1"),
            ("Alt-Svc", "h3=\":443\""),
            ("Content-Encoding", "gzip"),
            ("Transfer-Encoding", "chunked"),
        ];
        let sent: Vec<_> = sent.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect();
        let reply = keep_unbound(Reply::default(), &sent);
        let names: Vec<&str> = reply.fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..3], ["set-cookie", "content-security-policy", "x-frame-options"]);
        assert!(names[3..].len() == 4 && names[3..].iter().all(|name| name.starts_with(ORIGINAL)), "{names:?}");
        assert_eq!(reply.field("content-security-policy"), Some("script-src 'self'; img-src *"));
    }

    #[test]
    fn a_status_is_kept_unless_it_speaks_of_the_connection_or_of_a_part() {
        for (own, shown) in
            [(200, 200), (404, 404), (503, 503), (204, 204), (304, 200), (206, 200), (407, 400), (0, 200)]
        {
            assert_eq!(status(own), shown, "{own}");
        }
    }
}
