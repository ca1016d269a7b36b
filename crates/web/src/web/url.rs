//! URLs as they are requested.
//!
//! [`CanonicalUrl`] is what the WHATWG parser makes of an http or https URL, without fragment and without user
//! information; it is requested exactly as it is. What is asked of it by more than its URL, a
//! [request](super::request), comes behind it where the fragment would be: then it is an address. Whether two of them
//! are the same is decided by their [`Keys`].
//!
//! Refuses other schemes, URLs without a host, and texts longer than [`CanonicalUrl::LENGTH_MAX`].

mod keys;

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Position, Url};

pub use keys::LastOrigin;
pub use keys::{KeyMaker, Keys};

use super::request::Request;

/// Reasons why a text is not a URL that can be crawled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// The text behind its `#~` is no request.
    #[error("what follows #~ is no request")]
    Request,
    /// Longer than [`CanonicalUrl::LENGTH_MAX`].
    #[error("the URL is longer than {} bytes", CanonicalUrl::LENGTH_MAX)]
    TooLong,
}

/// An absolute http or https URL as it is requested.
///
/// Invariant: `text` up to `plain_end` is the WHATWG serialisation, and what follows is nothing, or `#` and the one
/// spelling of a request; so `parse(as_str())` gives the same value again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl {
    text: Box<str>,
    host_end: u32,
    path_start: u32,
    plain_end: u32,
    port: u16,
}

impl CanonicalUrl {
    /// The longest URL in bytes, before and after serialisation. `scope.max_url_length` is usually far lower.
    pub const LENGTH_MAX: usize = 1 << 16;
    /// The longest URL in bytes that a request can follow.
    pub const ASKED_MAX: usize = 4 << 10;

    /// Parses an absolute URL, or an address. Nothing that a server wrote may come here with its fragment.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.len() > Self::LENGTH_MAX {
            return Err(UrlError::TooLong);
        }
        match text.split_once('#') {
            Some((plain, request)) if Request::is_meant(request) => {
                let request = Request::parse(request).ok_or(UrlError::Request)?;
                Self::from_url(Url::parse(plain)?)?.with_request(&request)
            }
            _ => Self::from_url(Url::parse(text)?),
        }
    }

    /// This URL, asked by `request`.
    pub fn with_request(self, request: &Request) -> Result<Self, UrlError> {
        let plain = self.plain();
        if request.is_plain() && plain.len() == self.text.len() {
            return Ok(self);
        }
        let text = if request.is_plain() { plain.to_owned() } else { format!("{plain}#{request}") };
        if text.len() > Self::LENGTH_MAX || !request.is_plain() && plain.len() > Self::ASKED_MAX {
            return Err(UrlError::TooLong);
        }
        Ok(CanonicalUrl { text: text.into(), ..self })
    }

    /// Returns the request that is made of it, where that is more than its URL says.
    pub fn request(&self) -> Option<Request> {
        Request::parse(self.text.get(self.plain_end as usize + 1..)?)
    }

    /// True if there is a request behind it.
    pub fn has_request(&self) -> bool {
        self.plain_end as usize != self.text.len()
    }

    /// The URL without a request.
    pub fn plain(&self) -> &str {
        &self.text[..self.plain_end as usize]
    }

    /// Resolves `reference` (relative or absolute) against this URL.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        if reference.len() > Self::LENGTH_MAX {
            return Err(UrlError::TooLong);
        }
        Self::from_url(Url::parse(self.plain())?.join(&with_two_slashes(reference))?)
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
        let plain_end = index(url.as_str().len())?;
        Ok(CanonicalUrl { text: String::from(url).into(), host_end, path_start, plain_end, port })
    }

    /// Takes over what is the WHATWG serialisation of an http or https URL without user information and fragment. Its
    /// host ends at `host_end`, its path begins at `path_start`.
    pub(super) fn from_serialised(text: String, host_end: u32, path_start: usize, port: u16) -> Option<Self> {
        let (path_start, plain_end) = (u32::try_from(path_start).ok()?, u32::try_from(text.len()).ok()?);
        Some(CanonicalUrl { text: text.into(), host_end, path_start, plain_end, port })
    }

    /// The text of it.
    pub fn into_text(self) -> Box<str> {
        self.text
    }

    /// The whole address: what stores and logs know it by.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if the scheme is https.
    pub fn is_https(&self) -> bool {
        self.text.as_bytes()[4] == b's'
    }

    /// The host as serialised: lower case, punycode, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        let start = if self.is_https() { "https://".len() } else { "http://".len() };
        &self.text[start..self.host_end as usize]
    }

    /// The host of a URL that is given as text; nothing where it is none.
    pub fn host_of(url: &str) -> String {
        CanonicalUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default()
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
        &self.plain()[self.path_start as usize..]
    }

    /// The path alone, from the first `/`.
    pub fn path(&self) -> &str {
        let whole = self.path_and_query();
        memchr::memchr(b'?', whole.as_bytes()).map_or(whole, |end| &whole[..end])
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

    /// The same URL with a dot at the end of its host, or without it where it has one: both name the same host, and
    /// links use either. An address has one spelling only.
    pub fn with_other_dot(&self) -> Option<CanonicalUrl> {
        if self.literal_address().is_some() {
            return None;
        }
        let host = self.host();
        let (start, end) = (self.host_end as usize - host.len(), self.host_end as usize);
        let other = match host.trim_end_matches('.') {
            "" => return None,
            bare if bare.len() < host.len() => bare.to_owned(),
            bare => format!("{bare}."),
        };
        CanonicalUrl::parse(&format!("{}{other}{}", &self.text[..start], &self.text[end..])).ok()
    }

    /// The index at which the path starts in the text.
    pub(crate) fn path_start(&self) -> usize {
        self.path_start as usize
    }

    /// Scheme, host and port as they are in the text.
    pub fn authority(&self) -> &str {
        &self.text[..self.path_start as usize]
    }
}

/// A reference whose host has more than two slashes before it, with two: they mean the same (WHATWG, "special authority
/// ignore slashes state"), but the crate takes what is behind the second one for an empty host.
pub(super) fn with_two_slashes(reference: &str) -> Cow<'_, str> {
    let text = reference.trim_start_matches(|c: char| c <= ' ');
    let (mut slashes, mut rest) = (0, text);
    loop {
        // blanks of these kinds are left out wherever they are
        let after = rest.trim_start_matches(['\t', '\n', '\r']);
        let Some(next) = after.strip_prefix(['/', '\\']) else { break };
        (slashes, rest) = (slashes + 1, next);
    }
    if slashes > 2 { Cow::Owned(format!("//{rest}")) } else { Cow::Borrowed(reference) }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
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

    /// Cases of web-platform-tests, url/resources/urltestdata.json (3-clause BSD): "Scheme relative path starting with
    /// multiple slashes".
    #[test]
    fn n18_more_than_two_slashes_lead_to_a_host_as_two_do() {
        let base = url("http://example.org/a/b");
        for (reference, expected) in [
            ("///test", "http://test/"),
            ("///\\//\\//test", "http://test/"),
            ("///example.org/path", "http://example.org/path"),
            ("///example.org/../path", "http://example.org/path"),
            ("///example.org/../../", "http://example.org/"),
            ("///example.org/../path/../../path", "http://example.org/path"),
            ("/\\/\\//example.org/../path", "http://example.org/path"),
            ("//\\test/x", "http://test/x"),
            (" /\t/\n/test/x", "http://test/x"),
            ("/////user@test:81/x", "http://test:81/x"),
            ("http:///test/x", "http://test/x"),
            ("//test/x", "http://test/x"),
            ("/\t/test", "http://test/"),
            ("/x///y", "http://example.org/x///y"),
        ] {
            assert_eq!(base.join(reference).as_ref().map(CanonicalUrl::as_str), Ok(expected), "{reference:?}");
        }
        assert!(base.join("///").is_err());
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
    fn a_host_is_named_with_and_without_the_dot_at_its_end() {
        for (text, other) in [
            ("http://a.example/x?y", Some("http://a.example./x?y")),
            ("https://a.example.:8443/", Some("https://a.example:8443/")),
            ("http://127.0.0.1/", None),
            ("http://[::1]:80/", None),
        ] {
            assert_eq!(url(text).with_other_dot().as_ref().map(CanonicalUrl::as_str), other, "{text}");
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic_and_length_is_bounded() {
        let base = url("http://example.com/a/b?c");
        for seed in 0..3_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let bytes: Vec<u8> = (0..random.usize(..60)).map(|_| random.u8(..)).collect();
            let text = String::from_utf8_lossy(&bytes);
            let found = [CanonicalUrl::parse(&text), base.join(&text), CanonicalUrl::parse(&format!("http://{text}"))];
            for found in found.into_iter().flatten() {
                assert!(found.path_and_query().starts_with('/'), "seed {seed}");
                assert!(!found.host().is_empty() && !found.registrable_domain().is_empty(), "seed {seed}");
            }
        }
        assert_eq!(base.join(&"a".repeat(2_000_000)), Err(UrlError::TooLong));
        assert_eq!(base.join(&"é".repeat(20_000)), Err(UrlError::TooLong));
    }
}
