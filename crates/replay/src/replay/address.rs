//! Addresses at the origin of archived pages: `/TIME/URL` and those of Memento.
//!
//! The URL is written as it is, query included. One that was escaped as a whole is taken too, as is one without a
//! scheme, or with one slash behind it.

use crate::web::url::CanonicalUrl;

use super::moment;

/// The form in which a capture is asked for: letters behind its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As a page of the replay.
    Replayed,
    /// As it is stored.
    Stored,
    /// As a rendering left it.
    Rendered,
}

impl Form {
    const ALL: [Form; 3] = [Form::Replayed, Form::Stored, Form::Rendered];

    /// The letters.
    pub(super) fn letters(self) -> &'static str {
        match self {
            Form::Replayed => "",
            Form::Stored => "id_",
            Form::Rendered => "rd_",
        }
    }
}

/// A place at the origin of archived pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// A capture.
    Capture { time: &'a str, form: Form, url: &'a str },
    /// The capture nearest to the time that the request names.
    TimeGate(&'a str),
    /// All captures of a URL, as links.
    TimeMapLink(&'a str),
    /// The same as JSON.
    TimeMapJson(&'a str),
    /// A file of our own.
    File(&'a str),
}

/// Reads path and query.
pub(super) fn read(target: &str) -> Place<'_> {
    let path = target.strip_prefix('/').unwrap_or(target);
    let behind = |prefix: &str| path.strip_prefix(prefix);
    let memento = behind("timegate/").map(Place::TimeGate);
    let memento = memento.or_else(|| behind("timemap/link/").map(Place::TimeMapLink));
    let memento = memento.or_else(|| behind("timemap/json/").map(Place::TimeMapJson));
    memento.or_else(|| capture(path)).unwrap_or(Place::File(path))
}

fn capture(path: &str) -> Option<Place<'_>> {
    let (first, url) = path.split_once('/')?;
    let digits = first.bytes().take_while(u8::is_ascii_digit).count();
    let (time, letters) = first.split_at(digits);
    let form = Form::ALL.into_iter().find(|form| form.letters() == letters)?;
    (1..=moment::DIGITS).contains(&digits).then_some(Place::Capture { time, form, url })
}

/// Returns the URL that is meant by `text`, with a request in the place of its fragment if it is escaped as a whole.
pub(super) fn url(text: &str) -> Option<CanonicalUrl> {
    let lower = text.get(..10).unwrap_or(text).to_ascii_lowercase();
    if ["http%3a", "https%3a"].iter().any(|scheme| lower.starts_with(scheme)) {
        return CanonicalUrl::parse(&unescaped(text)?).ok();
    }
    for scheme in ["http:", "https:"] {
        if lower.starts_with(scheme) {
            let rest = text[scheme.len()..].trim_start_matches('/');
            return CanonicalUrl::parse(&format!("{scheme}//{rest}")).ok();
        }
    }
    let host = text.split(['/', '?']).next()?;
    let is_host = match host.split_once(':') {
        Some((_, port)) => !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()),
        None => host.contains('.') || host == "localhost",
    };
    let is_host = is_host && host.starts_with(|c: char| c.is_alphanumeric() || c == '[');
    if is_host { CanonicalUrl::parse(&format!("http://{text}")).ok() } else { None }
}

/// `text` without its escapes, where that is UTF-8.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let (bytes, mut at) = (text.as_bytes(), 0);
    let mut plain = Vec::with_capacity(bytes.len());
    while at < bytes.len() {
        let escaped = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).ok()
}

/// `text` as one part of a path.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The path that leads to a capture of `url`.
pub(super) fn path(time: &str, form: Form, url: &CanonicalUrl) -> String {
    format!("/{time}{}/{}", form.letters(), written(url))
}

/// `url` as it is written behind a time: as it is, or escaped as a whole where a request is behind it.
pub(super) fn written(url: &CanonicalUrl) -> String {
    if url.has_request() { escaped(url.as_str()) } else { url.as_str().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_capture_where_it_begins_with_a_time() {
        let capture = |time, form, url| Place::Capture { time, form, url };
        for (target, place) in [
            ("/2026/http://a.example/?b=c", capture("2026", Form::Replayed, "http://a.example/?b=c")),
            ("/20260101000000id_/http://a/", capture("20260101000000", Form::Stored, "http://a/")),
            ("/1rd_/http://a/", capture("1", Form::Rendered, "http://a/")),
            ("/202601010000001/http://a/", Place::File("202601010000001/http://a/")),
            ("/2026js_/http://a/", Place::File("2026js_/http://a/")),
            ("/id_/http://a/", Place::File("id_/http://a/")),
            ("/2026", Place::File("2026")),
            ("/timegate/http://a/", Place::TimeGate("http://a/")),
            ("/timemap/link/http://a/?x", Place::TimeMapLink("http://a/?x")),
            ("/timemap/json/http://a/", Place::TimeMapJson("http://a/")),
            ("/timemap/xml/http://a/", Place::File("timemap/xml/http://a/")),
            ("/", Place::File("")),
            ("*", Place::File("*")),
        ] {
            assert_eq!(read(target), place, "{target}");
        }
    }

    #[test]
    fn a_url_is_read_as_people_and_programs_write_it_and_stays_one_of_the_web() {
        for (text, meant) in [
            ("http://a.example/x?y=http://b/#", Some("http://a.example/x?y=http://b/")),
            ("http:/a.example/x", Some("http://a.example/x")),
            ("HTTPS:///a.example", Some("https://a.example/")),
            ("http%3A%2F%2Fa.example%2F%3Fb%3D%2541", Some("http://a.example/?b=%41")),
            ("a.example/x", Some("http://a.example/x")),
            ("localhost:8080/x", Some("http://localhost:8080/x")),
            ("http://a.example/../../etc/passwd", Some("http://a.example/etc/passwd")),
            ("http://a.example/..%2f..%2fetc", Some("http://a.example/..%2f..%2fetc")),
            ("http://a.example/%00", Some("http://a.example/%00")),
            ("http://user:secret@a.example/", Some("http://a.example/")),
            ("javascript:alert(1)", None),
            ("javascript://a.example/%0aalert(1)", None),
            ("data:text/html,x", None),
            ("file:///etc/passwd", None),
            ("ftp://a.example/", None),
            ("../../etc/passwd", None),
            ("http://", None),
            ("http://\0/", None),
            ("", None),
            ("nothing", None),
        ] {
            assert_eq!(url(text).as_ref().map(CanonicalUrl::as_str), meant, "{text:?}");
        }
        assert_eq!(url(&format!("http://a/{}", "x".repeat(CanonicalUrl::LENGTH_MAX))), None);
    }

    #[test]
    fn a_request_behind_a_url_is_escaped_with_it_and_read_again() {
        let address = "http://a.example/api#~POST&content-type:text/plain&&a%20b";
        let asked = CanonicalUrl::parse(address).unwrap();
        let path = path("2026", Form::Replayed, &asked);
        assert!(!path.contains('#'), "{path}");
        let Place::Capture { url: text, .. } = read(&path) else { panic!("{path}") };
        assert_eq!(url(text).unwrap().as_str(), address);
    }
}
