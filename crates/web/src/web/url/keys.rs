//! The keys of a URL: fingerprints by which the stores know it, its origin, its host and its domain.
//!
//! A URL is known by its *key form*, in which differences of spelling are gone. The key form is never requested, so a
//! rule in it that is too eager may lose a page but never asks a server for something that nobody linked to.

use std::borrow::Cow;

use super::CanonicalUrl;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::web::percent::{escape, escaped_byte, is_unreserved};

/// The four fingerprints of a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys {
    /// Fingerprint of the key form: what URL-seen knows it by.
    pub key: Fingerprint,
    /// Fingerprint of [`CanonicalUrl::origin`].
    pub origin: Fingerprint,
    /// Fingerprint of [`CanonicalUrl::host`].
    pub host: Fingerprint,
    /// Fingerprint of [`CanonicalUrl::registrable_domain`].
    pub domain: Fingerprint,
}

/// Remembers the origin of the last URL: the links of a page mostly share one.
#[derive(Clone, Debug, Default)]
pub struct LastOrigin {
    authority: String,
    keys: Keys,
}

/// Makes the keys of one crawl.
///
/// The key form differs from the URL in this: escapes of unreserved characters are decoded, the others have upper
/// case digits, a `%` that starts no escape is escaped itself, and query parameters (and `;name=value` path
/// parameters) of the configured names are gone. A request behind the URL is part of it. Making it again changes
/// nothing.
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
    /// Keys by `fingerprinter`, without the query parameters of these names. Case does not matter; a `*` at the end of
    /// a name matches any rest (`utm_*`).
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

    /// The fingerprints of `url`, with its origin's taken from `last` where it is the same.
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

    /// The spelling that is used for all of the same page, where `url` is written otherwise: its key form, without a
    /// dot at the end of the host.
    pub fn plain_spelling(&self, url: &CanonicalUrl) -> Option<String> {
        let bare = if url.host().ends_with('.') { url.with_other_dot() } else { None };
        match (self.key_form(bare.as_ref().unwrap_or(url)), &bare) {
            (Cow::Borrowed(_), None) => None,
            (plain, _) => (plain != url.as_str()).then(|| plain.into_owned()),
        }
    }

    /// The fingerprint of any text, by the crawl's polynomial.
    pub fn of(&self, text: &str) -> Fingerprint {
        self.fingerprinter.of(text.as_bytes())
    }

    /// The fingerprint of any bytes, by the crawl's polynomial.
    pub fn of_bytes(&self, bytes: &[u8]) -> Fingerprint {
        self.fingerprinter.of(bytes)
    }

    /// The fingerprint of two of them, in this order. They are mixed, so that no two pairs of names have the same for
    /// what the names have in common.
    pub fn pair(&self, first: Fingerprint, second: Fingerprint) -> Fingerprint {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&first.bits().to_le_bytes());
        bytes[8..].copy_from_slice(&second.bits().to_le_bytes());
        self.fingerprinter.of(&bytes)
    }

    /// A digest of any bytes, by the crawl's polynomial: 0 for none only.
    pub fn digest(&self, bytes: &[u8]) -> u64 {
        if bytes.is_empty() { 0 } else { self.fingerprinter.of(bytes).bits().max(1) }
    }

    fn key_form<'a>(&self, url: &'a CanonicalUrl) -> Cow<'a, str> {
        let plain = self.plain_key_form(url);
        match url.has_request() {
            false => plain,
            // a request has one spelling
            true => Cow::Owned(format!("{plain}{}", &url.as_str()[url.plain().len()..])),
        }
    }

    fn plain_key_form<'a>(&self, url: &'a CanonicalUrl) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(url.plain());
        if memchr::memchr(b'%', text.as_bytes()).is_some() {
            text = Cow::Owned(normalise_escapes(&text));
        }
        let path_start = url.path_start();
        let has_parameters = memchr::memchr2(b'?', b';', &text.as_bytes()[path_start..]).is_some();
        if has_parameters && let Some(shorter) = self.without_dropped(&text, path_start) {
            text = Cow::Owned(shorter);
        }
        text
    }

    /// `text` without the parameters of the configured names, or none if it has none of them.
    fn without_dropped(&self, text: &str, path_start: usize) -> Option<String> {
        let (path, query) = match text[path_start..].split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&text[path_start..], None),
        };
        // nearly no URL has any: only one that has is copied
        let is_dropped = |part: &str| self.drops(part);
        let has_dropped = query.is_some_and(|query| query.split('&').any(is_dropped))
            || path.split('/').any(|segment| segment.split(';').skip(1).any(is_dropped));
        if !has_dropped {
            return None;
        }
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
            result.extend(escape(byte).map(char::from));
        }
        rest = &after[2..];
    }
    result.push_str(rest);
    result
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
    fn urls_of_one_page_have_one_plain_spelling() {
        for (text, plain) in [
            ("http://h.example/?utm_source=x", Some("http://h.example/")),
            ("http://h.example./%7Ea;jsessionid=1", Some("http://h.example/~a")),
            ("http://h.example./", Some("http://h.example/")),
            ("http://h.example/?a=1", None),
            ("http://h.example/%2F", None),
        ] {
            assert_eq!(keys().plain_spelling(&url(text)).as_deref(), plain, "{text}");
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
}
