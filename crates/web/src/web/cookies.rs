//! Cookies of a crawl: a jar for each registrable domain, by RFC 6265 (crate `cookie_store`).
//!
//! - A cookie is only ever looked for in the jar of the domain that set it, so none can be set for a public suffix.
//! - All is bounded: cookies of a domain, bytes of a cookie, bytes of all of them. What is beyond the first two is not
//!   kept; for the last the domain goes whose cookies were asked for longest ago.
//! - A line is read as browsers read it (`line`), and its bytes go back as they came.
//! - A jar with cookies of a login or of a file is secret: it answers only who may hear secrets, and is not saved.

mod line;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, SystemTime};

use cookie_store::{Cookie, CookieStore, RawCookie, StoreAction};
use url::Url;

use super::secret::{REDACTED, Secret};
use super::url::CanonicalUrl;
use crate::clock::Time;

/// Cookies of a domain, as many as Chromium and Firefox keep.
const PER_DOMAIN_MAX: usize = 180;
/// Bytes of a cookie with its attributes (RFC 6265, section 6.1).
const COOKIE_BYTES_MAX: usize = 4_096;
/// Bytes of all cookies.
const BYTES_MAX: usize = 16 << 20;
/// Bytes that a cookie takes in memory besides its text.
const OVERHEAD: usize = 400;

/// The value of a `Cookie` field. It is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct CookieField(Box<[u8]>);

impl CookieField {
    /// The bytes themselves, to be sent.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for CookieField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// The cookies of many domains.
#[derive(Debug, Default)]
pub struct CookieJars {
    jars: HashMap<Box<str>, Jar>,
    /// Domains by when they were asked for last.
    by_use: BTreeMap<u64, Box<str>>,
    uses: u64,
    bytes: usize,
}

#[derive(Default)]
struct Jar {
    store: CookieStore,
    bytes: usize,
    used: u64,
    is_secret: bool,
    /// Set once a cookie found no room, which is said once.
    is_full: bool,
}

impl std::fmt::Debug for Jar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jar").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl CookieJars {
    /// True if there are no cookies.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.jars.is_empty()
    }

    /// The value of `Cookie` for a request to `url`, which may hear secrets or not: cookies of longer paths first.
    pub fn header(&mut self, url: &CanonicalUrl, hears_secrets: bool) -> Option<CookieField> {
        let domain = url.registrable_domain();
        let jar = self.jars.get(domain).filter(|jar| hears_secrets || !jar.is_secret)?;
        let request = Url::parse(url.as_str()).ok()?;
        let mut matching = jar.store.matches(&request);
        matching.sort_by_key(|cookie| std::cmp::Reverse(String::from(&cookie.path).len()));
        let pairs: Vec<String> =
            matching.iter().map(|cookie| format!("{}={}", cookie.name(), cookie.value())).collect();
        self.touch(domain);
        (!pairs.is_empty()).then(|| CookieField(line::bytes_of(&pairs.join("; ")).into()))
    }

    /// The names of the cookies that a request to `url` would have.
    pub fn names(&self, url: &CanonicalUrl) -> Vec<String> {
        let jar = self.jars.get(url.registrable_domain());
        let request = Url::parse(url.as_str()).ok();
        let matching = jar.zip(request).map(|(jar, request)| jar.store.matches(&request)).unwrap_or_default();
        matching.into_iter().map(|cookie| cookie.name().to_owned()).collect()
    }

    /// Keeps what an answer to a request for `url` sets: the values of its `Set-Cookie`. Says whether any of them is
    /// new, or has another value than before.
    pub fn keep<'a>(&mut self, url: &CanonicalUrl, set: impl Iterator<Item = &'a [u8]>, is_secret: bool) -> bool {
        let Ok(request) = Url::parse(url.as_str()) else { return false };
        let (mut is_news, now) = (false, now());
        for set in set.filter(|set| set.len() <= COOKIE_BYTES_MAX) {
            if let Some(text) = line::read(set, url, now)
                && let Ok(cookie) = Cookie::parse(text, &request)
            {
                is_news |= self.put(url.registrable_domain(), cookie, &request, is_secret);
            }
        }
        is_news
    }

    /// Puts the cookies of a file into the jars.
    pub fn fill(&mut self, cookies: &[FileCookie]) {
        for cookie in cookies {
            let at = format!("https://{}{}", cookie.host, cookie.path);
            let (Ok(at), Ok(request)) = (CanonicalUrl::parse(&at), Url::parse(&at)) else { continue };
            let Some(text) = line::read(cookie.line.expose().as_bytes(), &at, now()) else { continue };
            let Ok(cookie) = Cookie::parse(text, &request) else { continue };
            self.put(at.registrable_domain(), cookie, &request, true);
        }
    }

    /// Puts a cookie into its jar, if the rules permit it; says whether it is new there, or has another value.
    fn put(&mut self, domain: &str, cookie: Cookie<'static>, request: &Url, is_secret: bool) -> bool {
        let jar = self.jars.entry(domain.into()).or_default();
        // who hears no secrets cannot change them either
        if jar.is_secret && !is_secret {
            return false;
        }
        jar.is_secret |= is_secret;
        let (at, path) = (String::from(&cookie.domain), String::from(&cookie.path));
        let known = jar.store.get_any(&at, &path, cookie.name()).map(|known| known.value().to_owned());
        let mut is_news = known.as_deref() != Some(cookie.value());
        if known.is_some() || jar.store.iter_unexpired().count() < PER_DOMAIN_MAX {
            // a cookie that the rules refuse is not kept
            is_news &=
                matches!(jar.store.insert(cookie, request), Ok(StoreAction::Inserted | StoreAction::UpdatedExisting));
        } else {
            is_news = false;
            if !std::mem::replace(&mut jar.is_full, true) {
                tracing::warn!("{domain} has {PER_DOMAIN_MAX} cookies: more of them are not kept");
            }
        }
        let size = |cookie: &Cookie<'_>| OVERHEAD + cookie.name().len() + cookie.value().len();
        let bytes = jar.store.iter_any().map(size).sum();
        self.bytes = self.bytes - std::mem::replace(&mut jar.bytes, bytes) + bytes;
        self.touch(domain);
        while self.bytes > BYTES_MAX && self.jars.len() > 1 {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            let gone = self.jars.remove(&oldest);
            self.bytes -= gone.map_or(0, |jar| jar.bytes);
        }
        is_news
    }

    fn touch(&mut self, domain: &str) {
        self.uses += 1;
        let Some((name, _)) = self.jars.get_key_value(domain) else { return };
        let name = name.clone();
        if let Some(jar) = self.jars.get_mut(domain) {
            self.by_use.remove(&std::mem::replace(&mut jar.used, self.uses));
            self.by_use.insert(self.uses, name);
        }
    }

    /// All cookies that are no secret, to be read by [`CookieJars::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let open = self.by_use.values().filter_map(|domain| self.jars.get_key_value(domain));
        let open = open.filter(|(_, jar)| !jar.is_secret);
        let saved: Vec<(&str, Vec<&Cookie<'static>>)> =
            open.map(|(domain, jar)| (&**domain, jar.store.iter_unexpired().collect())).collect();
        if saved.is_empty() { Vec::new() } else { serde_json::to_vec(&saved).unwrap_or_default() }
    }

    /// The cookies that [`CookieJars::to_bytes`] wrote; those that cannot be read are gone.
    pub fn from_bytes(bytes: &[u8]) -> CookieJars {
        let saved: Vec<(String, Vec<Cookie<'static>>)> = serde_json::from_slice(bytes).unwrap_or_default();
        let mut jars = CookieJars::default();
        for (domain, cookies) in saved {
            for cookie in cookies {
                let scheme = if cookie.secure().unwrap_or(false) { "https" } else { "http" };
                let at = Url::parse(&format!("{scheme}://{domain}{}", String::from(&cookie.path)));
                at.into_iter().for_each(|at| jars.restore(&domain, cookie.clone(), &at));
            }
        }
        jars
    }

    /// Puts a cookie back that is in order, whatever host it came from.
    fn restore(&mut self, domain: &str, cookie: Cookie<'static>, at: &Url) {
        let jar = self.jars.entry(domain.into()).or_default();
        let before = jar.store.iter_any().cloned().map(Ok::<_, std::convert::Infallible>);
        let Ok(store) = CookieStore::from_cookies(before.chain([Ok(cookie.clone())]), false);
        jar.store = store;
        // counts it
        self.put(domain, cookie, at, false);
    }
}

/// The time by which the store judges what has expired.
fn now() -> Time {
    Time::ZERO + SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

/// The names of the cookies that a `Set-Cookie` sets, and the same text with the values replaced by `marker`.
pub fn redacted(set: &[u8], marker: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(set);
    let Some((name, rest)) = text.split_once('=') else { return marker.as_bytes().to_vec() };
    let attributes = rest.find(';').map_or("", |at| &rest[at..]);
    format!("{name}={marker}{attributes}").into_bytes()
}

/// A cookie of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCookie {
    host: String,
    path: String,
    /// The text of a `Set-Cookie`.
    line: Secret,
}

/// The cookies of a file as browsers and curl export them: the format of Netscape, seven columns between tabulators.
/// Those that have expired are left out.
pub fn netscape(text: &str) -> Result<Vec<FileCookie>, String> {
    let now = now().since(Time::ZERO).as_secs();
    let mut cookies = Vec::new();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong =
            || format!("line {}: expected domain, TRUE or FALSE, path, TRUE or FALSE, time, name, value", number + 1);
        let columns: Vec<&str> = line.split('\t').collect();
        let &[domain, below, path, secure, expires, name, value] = columns.as_slice() else { return Err(wrong()) };
        let expires: u64 = expires.split('.').next().and_then(|seconds| seconds.parse().ok()).ok_or_else(wrong)?;
        let host = domain.trim_start_matches('.').to_ascii_lowercase();
        if host.is_empty() || !path.starts_with('/') || name.is_empty() {
            return Err(wrong());
        }
        if expires > 0 && expires <= now {
            continue;
        }
        let below = if below == "TRUE" { format!("; Domain={host}") } else { String::new() };
        let secure = if secure == "TRUE" { "; Secure" } else { "" };
        let age = if expires > 0 { format!("; Max-Age={}", expires - now) } else { String::new() };
        // distinguished from attributes behind it
        let raw = RawCookie::new(name, value).to_string();
        cookies.push(FileCookie {
            path: path.to_owned(),
            line: Secret::new(format!("{raw}; Path={path}{below}{secure}{age}")),
            host,
        });
    }
    Ok(cookies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn sent(jars: &mut CookieJars, to: &str) -> String {
        let field = jars.header(&url(to), true);
        field.map(|field| String::from_utf8_lossy(field.expose()).into_owned()).unwrap_or_default()
    }

    fn set(jars: &mut CookieJars, from: &str, lines: &[&str]) {
        jars.keep(&url(from), lines.iter().map(|line| line.as_bytes()), false);
    }

    #[test]
    fn cookies_go_back_to_where_they_came_from_and_nowhere_else() {
        let mut jars = CookieJars::default();
        set(
            &mut jars,
            "https://a.site.example/x/y",
            &["own=1", "all=2; Domain=site.example; Path=/", "deep=3; Path=/x"],
        );
        set(
            &mut jars,
            "https://a.site.example/",
            &["safe=4; Secure", "gone=5; Max-Age=0", "evil=6; Domain=other.example"],
        );
        let there = sent(&mut jars, "https://a.site.example/x/z");
        for pair in ["own=1", "all=2", "deep=3", "safe=4"] {
            assert!(there.contains(pair), "{there}");
        }
        assert!(!there.contains("gone") && !there.contains("evil"), "{there}");
        assert_eq!(sent(&mut jars, "https://b.site.example/"), "all=2");
        assert!(!sent(&mut jars, "http://a.site.example/").contains("safe"));
        assert_eq!(sent(&mut jars, "https://other.example/"), "");
        assert_eq!(jars.names(&url("https://b.site.example/")), ["all"]);
    }

    #[test]
    fn no_cookie_is_for_a_public_suffix() {
        let mut jars = CookieJars::default();
        set(&mut jars, "https://a.co.uk/", &["x=1; Domain=co.uk"]);
        set(&mut jars, "https://me.github.io/", &["y=1; Domain=github.io"]);
        for other in ["https://b.co.uk/", "https://you.github.io/"] {
            assert_eq!(sent(&mut jars, other), "", "{other}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_go_back_as_they_came() {
        let mut jars = CookieJars::default();
        let site = url("https://a.example/");
        let set: [&[u8]; 2] = [b"latin=caf\xe9", "utf8=caf\u{e9}".as_bytes()];
        assert!(jars.keep(&site, set.into_iter(), false));
        assert!(!jars.keep(&site, set.into_iter(), false), "they are known");
        let mut again = CookieJars::from_bytes(&jars.to_bytes());
        for jars in [&mut jars, &mut again] {
            assert_eq!(jars.header(&site, true).unwrap().expose(), b"latin=caf\xe9; utf8=caf\xc3\xa9");
        }
    }

    #[test]
    fn a_cookie_that_is_set_to_a_time_that_has_passed_is_gone() {
        let mut jars = CookieJars::default();
        for past in ["Thu, 01 Jan 1970 00:00:00 UTC", "Thu Jan 01 1970 00:00:00 GMT+0000", "\"1 January 1970 0:00:00\""]
        {
            set(&mut jars, "https://a.example/", &["sid=1", "other=2"]);
            set(&mut jars, "https://a.example/", &[&format!("sid=; expires={past}")]);
            assert_eq!(sent(&mut jars, "https://a.example/"), "other=2", "{past}");
        }
    }

    #[test]
    fn jars_are_bounded_and_the_one_that_was_not_asked_for_longest_goes_first() {
        let mut jars = CookieJars::default();
        for number in 0..250 {
            set(&mut jars, "https://a.example/", &[&format!("c{number}=1"), &format!("big={}", "x".repeat(5_000))]);
        }
        assert_eq!(jars.names(&url("https://a.example/")).len(), PER_DOMAIN_MAX);
        assert!(
            jars.jars["a.example"].is_full
                && !jars.keep(&url("https://a.example/"), [&b"c199=2"[..]].into_iter(), false)
        );
        set(&mut jars, "https://a.example/", &["c7=2"]);
        assert!(sent(&mut jars, "https://a.example/").contains("c7=2"), "a known one is renewed");
        let value = format!("v={}", "x".repeat(4_000));
        for number in 0..5_000 {
            set(&mut jars, &format!("https://d{number}.example/"), &[&value]);
            assert!(!sent(&mut jars, "https://a.example/").is_empty());
        }
        assert!(jars.bytes <= BYTES_MAX && jars.jars.len() < 5_000 && jars.by_use.len() == jars.jars.len());
        assert_eq!(sent(&mut jars, "https://d0.example/"), "");
        assert_ne!(sent(&mut jars, "https://d4999.example/"), "");
    }

    #[test]
    fn what_is_saved_is_read_again_but_for_secrets() {
        let mut jars = CookieJars::default();
        set(&mut jars, "https://a.example/", &["one=1; Path=/p; Secure", "two=2; Max-Age=1000"]);
        set(&mut jars, "http://b.example/", &["three=3"]);
        jars.keep(&url("https://c.example/"), [&b"sid=secret"[..]].into_iter(), true);
        let mut again = CookieJars::from_bytes(&jars.to_bytes());
        for at in ["https://a.example/p/q", "https://a.example/", "http://b.example/"] {
            assert_eq!(sent(&mut again, at), sent(&mut jars, at), "{at}");
        }
        assert_eq!(sent(&mut again, "https://c.example/"), "");
        assert!(jars.header(&url("https://c.example/"), false).is_none());
        assert_eq!(sent(&mut jars, "https://c.example/"), "sid=secret");
        set(&mut jars, "https://c.example/", &["sid=stolen"]);
        assert_eq!(sent(&mut jars, "https://c.example/"), "sid=secret");
        assert!(CookieJars::from_bytes(b"no json").is_empty() && CookieJars::default().to_bytes().is_empty());
    }

    #[test]
    fn a_file_of_netscape_is_read() {
        let text = "\u{feff}# Netscape HTTP Cookie File\n\n.site.example\tTRUE\t/\tTRUE\t9999999999\tsid\ta=b\n\
                    #HttpOnly_www.site.example\tFALSE\t/in\tFALSE\t0\town\t1\n\
                    site.example\tFALSE\t/\tFALSE\t5\told\t1\n";
        let cookies = netscape(text).unwrap();
        let mut jars = CookieJars::default();
        jars.fill(&cookies);
        assert_eq!(sent(&mut jars, "https://x.site.example/"), "sid=a=b");
        assert_eq!(sent(&mut jars, "http://x.site.example/"), "");
        assert_eq!(sent(&mut jars, "http://www.site.example/in/x"), "own=1");
        assert!(jars.to_bytes().is_empty(), "those of a file are secret");
        assert!(netscape("site.example\tTRUE\n").unwrap_err().starts_with("line 1: expected domain"));
        assert!(!format!("{cookies:?}").contains("a=b"));
    }

    #[test]
    fn values_of_set_cookie_are_replaced() {
        assert_eq!(redacted(b"sid=abc; Path=/; HttpOnly", "[x]"), b"sid=[x]; Path=/; HttpOnly");
        assert_eq!(redacted(b"sid=abc", "[x]"), b"sid=[x]");
        assert_eq!(redacted(b"abc", "[x]"), b"[x]");
    }
}
