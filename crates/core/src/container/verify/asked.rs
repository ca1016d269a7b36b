//! The address of an answer by the request before it, as archives of others have both.

use crate::web::request::{Method, Request};
use crate::web::url::CanonicalUrl;

/// The address of `url` as it was asked for by the request in `block`: its own where that asks for no more than the
/// URL. Nothing for a request that no crawl makes (another method than GET and POST, a body that is no text or that is
/// longer than an address may be): its answer is not what the URL shows.
pub(super) fn address(url: CanonicalUrl, block: &[u8]) -> Option<CanonicalUrl> {
    let (method, _) = block.split_at_checked(memchr::memchr(b' ', block)?)?;
    match method {
        b"GET" => Some(url),
        b"POST" => posted(url, block),
        // some write the line of an answer into the request
        other if !other.iter().all(u8::is_ascii_uppercase) => Some(url),
        _ => None,
    }
}

fn posted(url: CanonicalUrl, block: &[u8]) -> Option<CanonicalUrl> {
    let (head, body) = block.split_at_checked(crate::warc::body_at(block)?)?;
    let body = str::from_utf8(body).ok()?;
    let lines = head.split(|&byte| byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    let fields = lines.filter_map(|line| line.split_once(':'));
    let of_type = fields.filter(|(name, _)| name.trim().eq_ignore_ascii_case("content-type"));
    let of_type = of_type.take(1).map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
    url.with_request(&Request::new(Method::Post, of_type, body.to_owned()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_an_answer_has_what_was_posted_and_other_methods_have_none() {
        let url = CanonicalUrl::parse("http://h.example/a").unwrap();
        let asked = |block: &str| address(url.clone(), block.as_bytes()).map(|url| url.as_str().to_owned());
        assert_eq!(asked("GET /a HTTP/1.1\r\nCookie: a=b\r\n\r\n").as_deref(), Some("http://h.example/a"));
        let posted = asked("POST /a HTTP/1.1\r\nContent-Type: text/plain\r\nX: y\r\n\r\na=1 b").unwrap();
        assert_eq!(posted, "http://h.example/a#~POST&content-type:text/plain&&a=1%20b");
        assert_eq!(CanonicalUrl::parse(&posted).unwrap().plain(), "http://h.example/a");
        assert_eq!(asked("HTTP/1.1 200 OK\r\n\r\n").as_deref(), Some("http://h.example/a"));
        for other in ["HEAD /a HTTP/1.1\r\n\r\n", "PUT /a HTTP/1.1\r\n\r\nx", "", "POST /a HTTP/1.1"] {
            assert_eq!(asked(other), None, "{other}");
        }
        let long = format!("POST /a HTTP/1.1\r\n\r\n{}", "x".repeat(Request::BYTES_MAX));
        assert_eq!(asked(&long), None);
        assert_eq!(address(url, b"POST /a HTTP/1.1\r\n\r\n\xff"), None);
    }
}
