//! The key by which indexes of web archives sort URLs: host reversed, then path and query (`com,example)/a?b=1`).
//!
//! Readers of CDX and CDXJ files look a URL up by binary search, so the key must be, byte for byte, what they make of
//! it. The rules are those that the tools of the field share (the `surt` of the Wayback Machine, pywb and
//! cdxj-indexer), and the tests hold pairs that it made:
//! - the scheme goes, the port stays unless it is the scheme's own, `www.`, `www1.` and so on before the host go;
//! - labels of the host are reversed and joined by commas, the numbers of an IPv4 address too;
//! - escapes are decoded until none is left, then everything outside of printable ASCII, `#` and `%` is escaped once;
//! - dot segments and empty segments of the path go, and a slash at its end; session ids of known forms go too;
//! - all is lower case; parameters of the query are sorted, an empty query goes.
//!
//! Takes time linear in the URL, but for the sorting. It is a lossy key of an index and never decides what is crawled.

use super::percent::escaped_byte;
use super::url::CanonicalUrl;

/// The key of `url`: printable ASCII without blanks.
pub fn surt(url: &CanonicalUrl) -> String {
    let (path, query) = match url.path_and_query().split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (url.path_and_query(), None),
    };
    let mut key = host_key(url.host());
    if key.is_empty() {
        key.extend_from_slice(if url.is_https() { b"https:" } else { b"http:" });
    } else {
        if url.port() != if url.is_https() { 443 } else { 80 } {
            key.extend_from_slice(format!(":{}", url.port()).as_bytes());
        }
        key.push(b')');
    }
    key.extend_from_slice(&path_key(path.as_bytes()));
    let query = query.map(|query| query_key(query.as_bytes())).filter(|query| !query.is_empty());
    if let Some(query) = query {
        key.push(b'?');
        key.extend_from_slice(&query);
    }
    String::from_utf8(key).expect("everything outside of ASCII is escaped")
}

/// The host with its labels reversed.
fn host_key(host: &str) -> Vec<u8> {
    let host = host.trim_start_matches('[').trim_end_matches(']').replace("..", ".");
    let host = host.trim_matches('.').to_ascii_lowercase();
    let labels: Vec<&str> = without_www(&host).rsplit('.').collect();
    escape_once(labels.join(",").as_bytes())
}

/// `host` without a first label of `www` and digits.
fn without_www(host: &str) -> &str {
    let rest = host.strip_prefix("www").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.and_then(|rest| rest.strip_prefix('.')).unwrap_or(host)
}

fn path_key(path: &[u8]) -> Vec<u8> {
    let mut path = escape_once(&normalise_path(&unescape_all(path)));
    path.make_ascii_lowercase();
    for is_session in [is_nested_session as fn(&[u8]) -> bool, is_session] {
        if let Some(shorter) = without_session_segment(&path, is_session) {
            path = shorter;
        }
    }
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    path
}

/// Decodes escapes until none is left: also one whose parts were escaped themselves.
///
/// Decoding one escape never breaks another, so the order does not matter, and one pass does it that looks back at
/// what it has written.
fn unescape_all(text: &[u8]) -> Vec<u8> {
    let mut plain: Vec<u8> = Vec::with_capacity(text.len());
    for &byte in text {
        plain.push(byte);
        while let [.., b'%', high, low] = plain[..]
            && let Some(byte) = escaped_byte(&[high, low])
        {
            plain.truncate(plain.len() - 3);
            plain.push(byte);
        }
    }
    plain
}

/// Escapes what is not printable ASCII, `#` and `%`.
fn escape_once(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            escaped.push(byte);
        } else {
            escaped.extend_from_slice(&super::percent::escape(byte));
        }
    }
    escaped
}

/// The path without dot segments and empty segments; a `..` that leads above the root stays.
fn normalise_path(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let last = kept.pop().unwrap_or_default();
    let mut normal = b"/".to_vec();
    for segment in kept.into_iter().filter(|segment| !segment.is_empty()) {
        normal.extend_from_slice(segment);
        normal.push(b'/');
    }
    normal.extend_from_slice(last);
    normal
}

/// `path` without the last segment that is a session id of ASP.NET: one before an `.aspx` file.
fn without_session_segment(path: &[u8], is_session: fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let aspx = memchr::memmem::rfind(path, b".aspx")?;
    let mut end = path.len();
    while let Some(slash) = memchr::memrchr(b'/', &path[..end]) {
        let (segment, rest) = (&path[slash + 1..end], path.get(end + 1..).unwrap_or_default());
        if end < aspx && is_session(segment) && is_aspx(rest) {
            return Some([&path[..=slash], rest].concat());
        }
        end = slash;
    }
    None
}

/// True if `.aspx` comes behind something, before any question mark.
fn is_aspx(rest: &[u8]) -> bool {
    let before = rest.split(|&byte| byte == b'?').next().unwrap_or_default();
    rest.get(1..).and_then(|rest| memchr::memmem::find(rest, b".aspx")).is_some_and(|at| at < before.len())
}

/// `(0123456789abcdefghijklmn)`.
fn is_session(segment: &[u8]) -> bool {
    let inner = segment.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")"));
    inner.is_some_and(|inner| inner.len() == 24 && inner.iter().all(u8::is_ascii_alphanumeric))
}

/// `(a(0123456789abcdefghijklmn)b(0123456789abcdefghijklmn))`.
fn is_nested_session(segment: &[u8]) -> bool {
    let inner = segment.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")"));
    inner.is_some_and(|inner| {
        !inner.is_empty()
            && inner.chunks(27).all(|part| part.first().is_some_and(u8::is_ascii_alphabetic) && is_session(&part[1..]))
    })
}

fn query_key(query: &[u8]) -> Vec<u8> {
    let mut query = without_session_parameters(escape_once(&unescape_all(query)));
    query.make_ascii_lowercase();
    if query.len() < 2 {
        return query;
    }
    // a name without `=` comes before the same name with an empty value
    let parts = |parameter: &[u8]| memchr::memchr(b'=', parameter).map_or((parameter.len(), false), |at| (at, true));
    let mut parameters: Vec<&[u8]> = query.split(|&byte| byte == b'&').collect();
    parameters.sort_by_cached_key(|parameter| {
        let (at, has_value) = parts(parameter);
        (parameter[..at].to_vec(), has_value.then(|| parameter[at + 1..].to_vec()))
    });
    parameters.join(&b'&')
}

/// The query without session ids of the forms that the field strips. What they are called counts wherever it is:
/// `mysid=` loses its end too.
fn without_session_parameters(mut query: Vec<u8>) -> Vec<u8> {
    let value = |name: &'static [u8], length: usize| {
        move |rest: &[u8]| {
            let value = rest.get(name.len()..name.len() + length)?;
            (starts(rest, name) && value.iter().all(u8::is_ascii_alphanumeric)).then_some(name.len() + length)
        }
    };
    strip_last(&mut query, value(b"jsessionid=", 32));
    strip_last(&mut query, value(b"phpsessid=", 32));
    strip_last(&mut query, value(b"sid=", 32));
    strip_last(&mut query, |rest| {
        let (name, id) = (rest.get(12..20)?, rest.get(21..45)?);
        let fits = starts(rest, b"aspsessionid") && rest[20] == b'=';
        (fits && name.iter().chain(id).all(u8::is_ascii_alphabetic)).then_some(45)
    });
    strip_last(&mut query, |rest| {
        let id = starts(rest, b"cfid=").then(|| rest[5..].split(|&byte| byte == b'&').next())??;
        let token = rest.get(5 + id.len() + 1..)?;
        let end = token.split(|&byte| byte == b'&').next()?.len();
        (!id.is_empty() && starts(token, b"cftoken=") && end > 8).then_some(5 + id.len() + 1 + end)
    });
    query
}

/// True if `text` starts with `start`, which is in lower case.
fn starts(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Takes the last match out of `query` that ends at a `&`, which goes too, or at the end. `length` gives the length of
/// the match at the beginning of a text.
fn strip_last(query: &mut Vec<u8>, length: impl Fn(&[u8]) -> Option<usize>) {
    for start in (0..query.len()).rev() {
        let Some(end) = length(&query[start..]).map(|length| start + length) else { continue };
        match query.get(end) {
            None => query.truncate(start),
            Some(b'&') => drop(query.drain(start..=end)),
            Some(_) => continue,
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URLs and the keys that `surt` 0.3.1 (as pywb 2.10 and cdxj-indexer 1.5 call it) makes of them.
    const PAIRS: &str = include_str!("surt_pairs.txt");

    fn key(text: &str) -> String {
        surt(&CanonicalUrl::parse(text).unwrap())
    }

    #[test]
    fn keys_are_those_that_the_tools_of_the_field_make() {
        let mut count = 0;
        for line in PAIRS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (url, expected) = line.split_once(' ').unwrap();
            assert_eq!(key(url), expected, "{url}");
            assert_eq!(CanonicalUrl::parse(url).unwrap().as_str(), url, "the pair is not of a URL as it is stored");
            count += 1;
        }
        assert!(count > 200, "{count} pairs");
    }

    #[test]
    fn a_key_is_one_word_of_printable_ascii_whatever_the_url() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..3_000 {
            let pieces = ["/", "%", "2", "5", "e", "?", "&", "=", ".", "..", "a", "é", " ", "sid=", "\u{7f}", "(", ")"];
            let text: String = (0..random.usize(..40)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let Ok(url) = CanonicalUrl::parse(&format!("http://h.example/{text}")) else { continue };
            let key = surt(&url);
            assert!(key.starts_with("example,h)/"), "seed {seed}: {url} {key}");
            assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "seed {seed}: {url} {key}");
        }
    }

    #[test]
    fn escapes_of_escapes_take_linear_time() {
        let deep = format!("http://h.example/{}41", "%25".to_owned() + &"25".repeat(30_000));
        assert_eq!(key(&deep), "example,h)/a");
        let many = format!("http://h.example/?{}", "sid=".repeat(15_000));
        assert!(key(&many).len() > 50_000);
    }
}
