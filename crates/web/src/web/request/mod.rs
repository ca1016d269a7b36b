//! Requests that are more than a question for a URL: a method, fields of the head, a body.
//!
//! A [`Request`] is written behind the URL that it is sent to, in the place of the fragment, which no URL of a crawl
//! has: `https://h.example/api#~POST&content-type:application/json&&{%22page%22:1}`. The two together are one
//! *address*. So a request goes wherever URLs go, and is as durable as they are: through queues, links between shards,
//! checkpoints and the calendar, to another machine and back from the archive.
//!
//! Promises: a request has one spelling (names in lower case and in their order, one set of escapes), so that two
//! addresses are equal where their requests are; the spelling has no blanks and no controls; and
//! `Request::parse` reads what `Display` writes, and nothing that is longer than [`Request::BYTES_MAX`].
//!
//! Only who runs the crawl makes requests: [`CanonicalUrl::parse`](super::url::CanonicalUrl::parse) reads addresses;
//! references of pages, redirects and sitemaps are resolved by other ways, which leave every fragment out.

mod query;

use std::fmt;

use super::mime::is_token;
use super::percent::{escape, escaped_byte};

pub use query::{ArchiveQuery, archive_query};

/// Methods of requests that a crawl sends: those that ask for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Asks for what is there.
    Get,
    /// Asks by sending something. Others (PUT, DELETE, PATCH) change what is there: a crawl never sends them.
    Post,
}

impl Method {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }

    /// The method with this name, in any case.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Method::Get, Method::Post].into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name))
    }
}

/// A request without its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    method: Method,
    fields: Vec<(String, String)>,
    body: String,
}

/// Fields that the crawl sets, or that would break the framing.
const OWN_FIELDS: [&str; 25] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "from",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "proxy-connection",
    "range",
    "signature",
    "signature-agent",
    "signature-input",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];
/// Fields whose values nobody may learn but the server: an address is in logs and in the archive.
const SECRET_FIELDS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
/// True if a field is one that the crawl sets, or that would break the framing; its name in lower case.
pub fn is_own_field(name: &str) -> bool {
    OWN_FIELDS.contains(&name)
}

/// True if nobody may learn the value of a field but the server; its name in lower case.
pub fn is_secret_field(name: &str) -> bool {
    SECRET_FIELDS.contains(&name)
}

/// The character that a written request begins with.
const MARK: char = '~';

impl Request {
    /// The longest one as it is written behind a URL. With two addresses in it, the head of a record is still read.
    pub const BYTES_MAX: usize = 24 << 10;

    /// A request with these fields, names in any case; says what is wrong with it.
    pub fn new(method: Method, fields: Vec<(String, String)>, body: String) -> Result<Self, String> {
        let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        fields.sort();
        if let Some(pair) = fields.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("headers: {} is there twice", pair[0].0));
        }
        fields.iter().try_for_each(|(name, value)| check_field(name, value))?;
        if method == Method::Get && !body.is_empty() {
            return Err("a GET has no body; write \"method\": \"POST\"".to_owned());
        }
        let request = Request { method, fields, body };
        match request.to_string().len() {
            length if length > Self::BYTES_MAX => {
                Err(format!("the request has {length} bytes as it is stored, more than {}", Self::BYTES_MAX))
            }
            _ => Ok(request),
        }
    }

    /// True if it is what a URL alone means.
    pub(crate) fn is_plain(&self) -> bool {
        self.method == Method::Get && self.fields.is_empty()
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Fields of its head, names in lower case.
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The body.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The value of the field `name`.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns the request for the URL that an answer with `status` leads to, by RFC 9110 (15.4) and the Fetch
    /// standard: 307 and 308 repeat method and body, all others of a POST become a GET. The fields go along within an
    /// origin; to another one goes no field but the type of the body.
    pub fn redirected(&self, status: u16, same_origin: bool) -> Option<Request> {
        let repeats = self.method == Method::Get || matches!(status, 307 | 308);
        let method = if repeats { self.method } else { Method::Get };
        let stays = |(name, _): &&(String, String)| {
            let is_of_body = name.starts_with("content-");
            if is_of_body { repeats && self.method == Method::Post } else { same_origin }
        };
        let fields = self.fields.iter().filter(stays).cloned().collect();
        let body = if repeats { self.body.clone() } else { String::new() };
        Some(Request { method, fields, body }).filter(|request| !request.is_plain())
    }

    /// True if the text behind a `#` is meant as a request; any other fragment means nothing to a crawl.
    pub(crate) fn is_meant(fragment: &str) -> bool {
        let rest = fragment.strip_prefix(MARK).unwrap_or_default();
        let name = rest.split('&').next().unwrap_or_default();
        [Method::Get, Method::Post].iter().any(|method| method.as_str() == name)
    }

    /// Reads what is behind the `#` of an address; none where that is no request.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > Self::BYTES_MAX {
            return None;
        }
        let (head, body) = text.strip_prefix(MARK)?.split_once("&&").unwrap_or((&text[1..], ""));
        let mut parts = head.split('&');
        let method = Method::parse(parts.next()?)?;
        let field = |part: &str| {
            let (name, value) = part.split_once(':')?;
            Some((unescaped(name)?, unescaped(value)?))
        };
        Request::new(method, parts.map(field).collect::<Option<_>>()?, unescaped(body)?).ok()
    }
}

/// Checks that a request may have this field; the error says what is wrong.
fn check_field(name: &str, value: &str) -> Result<(), String> {
    if !is_token(name) {
        return Err(format!("headers: {name:?} is no name of a header"));
    }
    if is_secret_field(name) {
        return Err(format!("headers: {name} is a secret; set it in a [[site]] table, which keeps it out of logs"));
    }
    if is_own_field(name) {
        return Err(format!("headers: {name} is set by the crawl"));
    }
    let is_printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if !is_printable || value.trim() != value {
        return Err(format!("headers: {name}: write printable ASCII without blanks around it"));
    }
    let is_multipart = value.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("multipart/"));
    if name == "content-type" && is_multipart {
        return Err("headers: content-type: multipart bodies cannot be sent; use \"form\" or \"json\"".to_owned());
    }
    Ok(())
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}", self.method.as_str())?;
        for (name, value) in &self.fields {
            write!(f, "&{}:{}", escaped(name, true), escaped(value, true))?;
        }
        if self.body.is_empty() { Ok(()) } else { write!(f, "&&{}", escaped(&self.body, false)) }
    }
}

/// `text` with the escapes of a fragment (WHATWG), and of `%` and `#`; of `&` where it is a `part`.
fn escaped(text: &str, part: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        let is_special = matches!(byte, b'"' | b'<' | b'>' | b'`' | b'%' | b'#' | b'\\') || part && byte == b'&';
        match byte {
            b'!'..=b'~' if !is_special => escaped.push(char::from(byte)),
            _ => escape(byte).into_iter().for_each(|digit| escaped.push(char::from(digit))),
        }
    }
    escaped
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        match byte {
            b'%' => {
                bytes.push(escaped_byte(after)?);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(fields: &[(&str, &str)], body: &str) -> Request {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Request::new(Method::Post, fields, body.to_owned()).unwrap()
    }

    #[test]
    fn a_request_has_one_spelling_and_is_read_again() {
        let request = post(&[("X-B", "1&2"), ("Content-Type", "text/plain")], "a b&c=%20\"ü\r\n#");
        let text = "~POST&content-type:text/plain&x-b:1%262&&a%20b&c=%2520%22%C3%BC%0D%0A%23";
        assert_eq!(request.to_string(), text);
        assert_eq!(Request::parse(text), Some(request));
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let body: String = (0..random.usize(..40)).map(|_| random.char(..)).collect();
            let value: String = (0..random.usize(1..9)).map(|_| random.char('!'..='~')).collect();
            let request = post(&[("x-a", &value)], &body);
            let text = request.to_string();
            assert!(!text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#'), "seed {seed}");
            assert_eq!(Request::parse(&text), Some(request), "seed {seed}: {text}");
        }
    }

    #[test]
    fn no_request_may_have_secrets_break_framing_or_change_what_is_there() {
        for (text, why) in [
            ("~PUT", false),
            ("~DELETE", false),
            ("~GET&&body", false),
            ("~POST&cookie:a", false),
            ("~POST&Host:a", false),
            ("~POST&x-a:b%0D%0Ahost:c", false),
            ("~POST&x a:b", false),
            ("~POST&x-a:b&X-A:c", false),
            ("~POST&content-type:multipart/form-data", false),
            ("~POST&&%zz", false),
            ("section", false),
            ("~POST", true),
            ("~GET&accept:application/json", true),
        ] {
            assert_eq!(Request::parse(text).is_some(), why, "{text}");
        }
        assert!(Request::new(Method::Post, vec![], "a".repeat(Request::BYTES_MAX)).is_err());
    }

    #[test]
    fn a_redirect_repeats_a_post_where_it_says_so_and_takes_no_field_to_another_origin() {
        let request = post(&[("content-type", "application/json"), ("x-key", "k")], "{}");
        let told = |status, same| request.redirected(status, same).map(|request| request.to_string());
        assert_eq!(told(307, true).unwrap(), "~POST&content-type:application/json&x-key:k&&{}");
        assert_eq!(told(308, false).unwrap(), "~POST&content-type:application/json&&{}");
        for status in [301, 302, 303] {
            assert_eq!(told(status, true).unwrap(), "~GET&x-key:k", "{status}");
            assert_eq!(told(status, false), None, "{status}");
        }
    }
}
