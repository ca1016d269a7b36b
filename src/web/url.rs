//! URLs: the form that is requested, and the keys that decide whether two of them are the same.
//!
//! [`CanonicalUrl`] is what the WHATWG parser makes of an http or https URL, without fragment and without user
//! information; it is requested exactly as it stands. [`KeyMaker`] makes the *key form* of it, in which spelling
//! differences are gone, and fingerprints that. The key form is never requested, so a rule in it that is too eager
//! may lose a page but never asks a server for something that nobody linked to.
//!
//! Refuses other schemes, URLs without a host, and texts longer than [`CanonicalUrl::LENGTH_MAX`].

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Position, Url};

use crate::fingerprint::{Fingerprint, Fingerprinter};

/// Why a text is not a URL that can be crawled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The WHATWG parser refuses it.
    #[error("not a URL: {0}")]
    Syntax(#[from] url::ParseError),
    /// A scheme that is not crawled.
    #[error("only http and https URLs are crawled")]
    Scheme,
    /// No host.
    #[error("the URL names no host")]
    Host,
    /// Longer than [`CanonicalUrl::LENGTH_MAX`].
    #[error("the URL is longer than {} bytes", CanonicalUrl::LENGTH_MAX)]
    TooLong,
}

/// An absolute http or https URL as it is requested.
///
/// Invariant: `text` is the WHATWG serialisation, so `parse(as_str())` gives the same value again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl {
    text: Box<str>,
    host_end: u32,
    path_start: u32,
    port: u16,
}

impl CanonicalUrl {
    /// The longest URL in bytes, before and after serialisation. `scope.max_url_length` is usually far lower.
    pub const LENGTH_MAX: usize = 1 << 16;

    /// Parses an absolute URL.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.len() > Self::LENGTH_MAX {
            return Err(UrlError::TooLong);
        }
        Self::from_url(Url::parse(text)?)
    }

    /// Resolves `reference` (relative or absolute) against this URL.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        if reference.len() > Self::LENGTH_MAX {
            return Err(UrlError::TooLong);
        }
        Self::from_url(Url::parse(&self.text)?.join(reference)?)
    }

    /// Takes over a parsed URL.
    pub(crate) fn from_url(mut url: Url) -> Result<Self, UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(UrlError::Host);
        }
        url.set_fragment(None);
        if !url[Position::BeforeUsername..Position::BeforeHost].is_empty() {
            url.set_username("").map_err(|()| UrlError::Host)?;
            url.set_password(None).map_err(|()| UrlError::Host)?;
        }
        if url.as_str().len() > Self::LENGTH_MAX {
            return Err(UrlError::TooLong);
        }
        let index = |length: usize| u32::try_from(length).map_err(|_| UrlError::TooLong);
        let host_end = index(url[..Position::AfterHost].len())?;
        let path_start = index(url[..Position::BeforePath].len())?;
        let port = url.port_or_known_default().ok_or(UrlError::Scheme)?;
        Ok(CanonicalUrl { text: String::from(url).into(), host_end, path_start, port })
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the scheme is https.
    pub fn is_https(&self) -> bool {
        self.text.as_bytes()[4] == b's'
    }

    /// The host as serialised: lower case, punycode, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        let start = if self.is_https() { "https://".len() } else { "http://".len() };
        &self.text[start..self.host_end as usize]
    }

    /// The port, explicit or of the scheme.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `scheme://host:port`, always with the port.
    pub fn origin(&self) -> String {
        format!("{}:{}", &self.text[..self.host_end as usize], self.port)
    }

    /// Path and query, from the first `/`.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.path_start as usize..]
    }

    /// The path alone, from the first `/`.
    pub fn path(&self) -> &str {
        let whole = self.path_and_query();
        whole.split_once('?').map_or(whole, |(path, _)| path)
    }

    /// The address, where the host is one. Every spelling of it (decimal, hexadecimal) was resolved by the parser.
    pub fn literal_address(&self) -> Option<IpAddr> {
        let host = self.host();
        match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        }
    }

    /// The registrable domain by the public suffix list. An address, a single label and a public suffix itself are
    /// their own domain.
    pub fn registrable_domain(&self) -> &str {
        let host = self.host();
        if self.literal_address().is_some() {
            return host;
        }
        let name = host.trim_end_matches('.');
        psl::domain_str(name).unwrap_or(if name.is_empty() { host } else { name })
    }

    /// Scheme, host and port as they stand in the text.
    pub(crate) fn authority(&self) -> &str {
        &self.text[..self.path_start as usize]
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CanonicalUrl({})", self.text)
    }
}

/// The four fingerprints of a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys {
    /// Of the key form: what URL-seen knows it by.
    pub key: Fingerprint,
    /// Of [`CanonicalUrl::origin`].
    pub origin: Fingerprint,
    /// Of [`CanonicalUrl::host`].
    pub host: Fingerprint,
    /// Of [`CanonicalUrl::registrable_domain`].
    pub domain: Fingerprint,
}

/// Remembers the origin of the last URL: the links of a page mostly share one.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastOrigin {
    authority: String,
    keys: Keys,
}

/// Makes the keys of one crawl.
///
/// The key form differs from the URL in this: escapes of unreserved characters are decoded, the others have upper
/// case digits, a `%` that starts no escape is escaped itself, and query parameters (and `;name=value` path
/// parameters) of the configured names are gone. Making it again changes nothing.
#[derive(Clone, Debug)]
pub struct KeyMaker {
    fingerprinter: Fingerprinter,
    dropped: Vec<DroppedName>,
}

#[derive(Clone, Debug)]
struct DroppedName {
    name: String,
    is_prefix: bool,
}

impl KeyMaker {
    /// Keys by `fingerprinter`, without the query parameters of these names. Case does not matter; a `*` at the end
    /// of a name stands for any rest (`utm_*`).
    pub fn new(fingerprinter: Fingerprinter, strip_query_params: &[String]) -> Self {
        let dropped = strip_query_params.iter().map(|name| match name.strip_suffix('*') {
            Some(prefix) => DroppedName { name: prefix.to_ascii_lowercase(), is_prefix: true },
            None => DroppedName { name: name.to_ascii_lowercase(), is_prefix: false },
        });
        KeyMaker { fingerprinter, dropped: dropped.filter(|dropped| !dropped.name.is_empty()).collect() }
    }

    /// The fingerprints of `url`.
    pub fn keys(&self, url: &CanonicalUrl) -> Keys {
        self.keys_after(url, &mut LastOrigin::default())
    }

    /// The fingerprints of `url`, with those of its origin taken from `last` where it is the same.
    pub(crate) fn keys_after(&self, url: &CanonicalUrl, last: &mut LastOrigin) -> Keys {
        if last.authority != url.authority() {
            last.authority.clear();
            last.authority.push_str(url.authority());
            last.keys = Keys {
                key: Fingerprint::default(),
                origin: self.fingerprinter.of(url.origin().as_bytes()),
                host: self.fingerprinter.of(url.host().as_bytes()),
                domain: self.fingerprinter.of(url.registrable_domain().as_bytes()),
            };
        }
        Keys { key: self.fingerprinter.of(self.key_form(url).as_bytes()), ..last.keys }
    }

    /// The key form of `url`.
    pub fn key_text(&self, url: &CanonicalUrl) -> String {
        self.key_form(url).into_owned()
    }

    /// The fingerprint of any text, by the crawl's polynomial.
    pub(crate) fn of(&self, text: &str) -> Fingerprint {
        self.fingerprinter.of(text.as_bytes())
    }

    fn key_form<'a>(&self, url: &'a CanonicalUrl) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(url.as_str());
        if memchr::memchr(b'%', text.as_bytes()).is_some() {
            text = Cow::Owned(normalise_escapes(&text));
        }
        let path_start = url.path_start as usize;
        if !self.dropped.is_empty() && memchr::memchr2(b'?', b';', &text.as_bytes()[path_start..]).is_some() {
            if let Some(shorter) = self.without_dropped(&text, path_start) {
                text = Cow::Owned(shorter);
            }
        }
        text
    }

    /// `text` without the parameters of the configured names, or none if it has none of them.
    fn without_dropped(&self, text: &str, path_start: usize) -> Option<String> {
        let (path, query) = match text[path_start..].split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&text[path_start..], None),
        };
        let mut result = text[..path_start].to_owned();
        for (number, segment) in path.split('/').enumerate() {
            if number > 0 {
                result.push('/');
            }
            self.push_segment(&mut result, segment);
        }
        if let Some(query) = query {
            let kept: Vec<&str> = query.split('&').filter(|parameter| !self.drops(parameter)).collect();
            let kept = kept.join("&");
            if kept.len() == query.len() || !kept.is_empty() {
                result.push('?');
                result.push_str(&kept);
            }
        }
        (result.len() < text.len()).then_some(result)
    }

    /// Appends a path segment without its dropped parameters; never makes a dot segment of it, which would change
    /// the path when the key form is parsed.
    fn push_segment(&self, result: &mut String, segment: &str) {
        let start = result.len();
        for (number, part) in segment.split(';').enumerate() {
            if number == 0 {
                result.push_str(part);
            } else if !self.drops(part) {
                result.push(';');
                result.push_str(part);
            }
        }
        if matches!(&result[start..], "." | "..") {
            result.truncate(start);
            result.push_str(segment);
        }
    }

    fn drops(&self, parameter: &str) -> bool {
        let name = parameter.split_once('=').map_or(parameter, |(name, _)| name).as_bytes();
        self.dropped.iter().any(|dropped| {
            let wanted = dropped.name.as_bytes();
            match name.get(..wanted.len()) {
                Some(start) => start.eq_ignore_ascii_case(wanted) && (dropped.is_prefix || name.len() == wanted.len()),
                None => false,
            }
        })
    }
}

fn normalise_escapes(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        result.push_str(before);
        let Some(byte) = escaped_byte(after.as_bytes()) else {
            result.push_str("%25");
            rest = after;
            continue;
        };
        if is_unreserved(byte) {
            result.push(char::from(byte));
        } else {
            push_escape(&mut result, byte);
        }
        rest = &after[2..];
    }
    result.push_str(rest);
    result
}

/// The byte that two hexadecimal digits at the start of `digits` stand for.
pub(crate) fn escaped_byte(digits: &[u8]) -> Option<u8> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let byte = value(*digits.first()?)? << 4 | value(*digits.get(1)?)?;
    u8::try_from(byte).ok()
}

/// Letters, digits and `-._~` (RFC 3986): escaping them changes nothing.
pub(crate) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn push_escape(result: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    result.push('%');
    result.push(char::from(DIGITS[usize::from(byte >> 4)]));
    result.push(char::from(DIGITS[usize::from(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn keys() -> KeyMaker {
        let names = ["utm_*", "PHPSESSID", "jsessionid", "fbclid"].map(str::to_owned);
        KeyMaker::new(Fingerprinter::new(0x1b), &names)
    }

    #[test]
    fn a_url_is_requested_without_fragment_and_user_information() {
        let url = url("HTTP://User:Secret@EXAMPLE.com:80/a/../b?q=%7e#frag");
        assert_eq!(url.as_str(), "http://example.com/b?q=%7e");
        assert_eq!((url.host(), url.port(), url.is_https()), ("example.com", 80, false));
        assert_eq!(url.origin(), "http://example.com:80");
        assert_eq!(url.path_and_query(), "/b?q=%7e");
        assert_eq!(url.path(), "/b");
        assert!(!format!("{url:?}").contains("Secret"));
    }

    #[test]
    fn other_schemes_are_refused_also_in_redirects() {
        let base = url("https://example.com/");
        for text in
            ["file:///etc/passwd", "ftp://example.com/", "data:text/html,x", "javascript:alert(1)", "mailto:a@b"]
        {
            assert_eq!(base.join(text), Err(UrlError::Scheme), "{text}");
            assert!(CanonicalUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_spelling_of_an_address_is_seen_as_one() {
        for (text, address) in [
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.0.0.1/", "127.0.0.1"),
            ("http://0/", "0.0.0.0"),
            ("http://%31%32%37.1/", "127.0.0.1"),
            ("http://[::ffff:169.254.169.254]/", "::ffff:169.254.169.254"),
            ("http://[64:ff9b::7f00:1]:8080/", "64:ff9b::7f00:1"),
        ] {
            assert_eq!(url(text).literal_address(), Some(address.parse().unwrap()), "{text}");
        }
        assert_eq!(url("http://example.com/").literal_address(), None);
    }

    #[test]
    fn the_registrable_domain_follows_the_public_suffix_list() {
        for (text, domain) in [
            ("http://a.b.example.co.uk/", "example.co.uk"),
            ("http://example.co.uk./", "example.co.uk"),
            ("http://localhost:8080/", "localhost"),
            ("http://co.uk/", "co.uk"),
            ("http://127.0.0.1/", "127.0.0.1"),
            ("http://[::1]/", "[::1]"),
        ] {
            assert_eq!(url(text).registrable_domain(), domain, "{text}");
        }
    }

    #[test]
    fn the_key_form_forgets_spelling_and_sessions_only() {
        for (text, key) in [
            ("http://h/%7euser/%e3%83%84", "http://h/~user/%E3%83%84"),
            ("http://h/a%2fb?x=%26", "http://h/a%2Fb?x=%26"),
            ("http://h/100%", "http://h/100%25"),
            ("http://h/%%34%31", "http://h/%2541"),
            ("http://h/?b=2&utm_source=x&a=1", "http://h/?b=2&a=1"),
            ("http://h/?utm_source=x", "http://h/"),
            ("http://h/?utm%5fsource=x&", "http://h/"),
            ("http://h/?", "http://h/?"),
            ("http://h/?phpsessid=1&q=PHPSESSID", "http://h/?q=PHPSESSID"),
            ("http://h/a;jsessionid=1F?b", "http://h/a?b"),
            ("http://h/a;v=1;JSESSIONID=1/b", "http://h/a;v=1/b"),
            ("http://h/..;jsessionid=1/b", "http://h/..;jsessionid=1/b"),
            ("http://h/?fbclidx=1", "http://h/?fbclidx=1"),
            ("http://h", "http://h/"),
        ] {
            assert_eq!(keys().key_text(&url(text)), key, "{text}");
        }
    }

    #[test]
    fn keys_are_fingerprints_of_what_they_say() {
        let (url, print) = (url("https://a.example.com/x%41"), Fingerprinter::new(0x1b));
        let found = keys().keys(&url);
        assert_eq!(found.key, print.of(b"https://a.example.com/xA"));
        assert_eq!(found.origin, print.of(b"https://a.example.com:443"));
        assert_eq!(found.host, print.of(b"a.example.com"));
        assert_eq!(found.domain, print.of(b"example.com"));
    }

    #[test]
    fn parsing_again_and_making_the_key_again_change_nothing() {
        let pieces = [
            "/",
            ".",
            "..",
            "%",
            "%2e",
            "%41",
            "%zz",
            ";",
            "jsessionid=1",
            "utm_a=1",
            "?",
            "&",
            "=",
            "#",
            "@",
            ":",
            "é",
            "\\",
            " ",
            "'",
            "\"",
            "|",
            "a",
            "%25",
            "34",
            "\t",
            "[",
            "^",
            "ツ",
            "..;jsessionid=2",
            "//",
        ];
        let maker = keys();
        for seed in 0..4_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut text = "http://h.example/".to_owned();
            for _ in 0..random.usize(..12) {
                text.push_str(pieces[random.usize(..pieces.len())]);
            }
            let Ok(parsed) = CanonicalUrl::parse(&text) else { continue };
            assert_eq!(CanonicalUrl::parse(parsed.as_str()), Ok(parsed.clone()), "seed {seed}: {text}");
            let key = maker.key_text(&parsed);
            let again = maker.key_text(&url(&key));
            assert_eq!(key, again, "seed {seed}: {text}");
            assert_eq!(maker.keys(&parsed).key, maker.keys(&url(&key)).key, "seed {seed}: {text}");
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic_and_length_is_bounded() {
        let base = url("http://example.com/a/b?c");
        for seed in 0..3_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let bytes: Vec<u8> = (0..random.usize(..60)).map(|_| random.u8(..)).collect();
            let text = String::from_utf8_lossy(&bytes);
            for found in [CanonicalUrl::parse(&text), base.join(&text), CanonicalUrl::parse(&format!("http://{text}"))]
            {
                if let Ok(found) = found {
                    keys().keys(&found);
                    assert!(found.path_and_query().starts_with('/'), "seed {seed}");
                }
            }
        }
        assert_eq!(base.join(&"a".repeat(2_000_000)), Err(UrlError::TooLong));
        assert_eq!(base.join(&"é".repeat(20_000)), Err(UrlError::TooLong));
    }
}
