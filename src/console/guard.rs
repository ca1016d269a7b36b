//! Guard of the console: the checks that every request passes before anything is read for it.
//!
//! - `Host` has to be an address at which the console listens, or `localhost`, with its port: a page of another site
//!   whose name was made to lead here (DNS rebinding) has another one.
//! - `Origin`, where it is sent, has to be the console's own.
//! - `Sec-Fetch-Site`, which browsers send, has to say that the request comes from the console's own page or from the
//!   user; only the page itself may be opened by a link elsewhere.
//! - An order has to bring the token.

use std::net::SocketAddr;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};

use crate::serve::Token;
use crate::server::guard::{FETCH_SITE, has_own_host, has_own_origin, only};

const TOKEN: HeaderName = HeaderName::from_static("x-crawler-token");

/// Reason for which a request is not answered, for people.
pub(super) type Refusal = (StatusCode, &'static str);

/// Checks where `request` comes from, which was made to the address `local` of this machine.
pub(super) fn check<B>(request: &Request<B>, local: SocketAddr) -> Result<(), Refusal> {
    const HOST_WRONG: Refusal = (
        StatusCode::MISDIRECTED_REQUEST,
        "the Host of this request is not an address at which the console listens: open it by the address of its start \
         line",
    );
    if !has_own_host(request, local) {
        return Err(HOST_WRONG);
    }
    let headers = request.headers();
    if !has_own_origin(headers) {
        return Err((StatusCode::FORBIDDEN, "the request comes from a page of another site"));
    }
    let is_page = request.uri().path() == "/" && matches!(*request.method(), Method::GET | Method::HEAD);
    let is_foreign = |site: &HeaderValue| !matches!(site.as_bytes(), b"same-origin" | b"none");
    if !is_page && headers.get_all(FETCH_SITE).iter().any(is_foreign) {
        return Err((StatusCode::FORBIDDEN, "the request comes from a page of another site"));
    }
    Ok(())
}

/// Checks that an order brings the token.
pub(super) fn check_token(headers: &HeaderMap, token: &Token) -> Result<(), Refusal> {
    match only(headers, TOKEN) {
        Some(given) if token.is(given.as_bytes()) => Ok(()),
        _ => Err((
            StatusCode::FORBIDDEN,
            "orders need the token: open the console by the whole address of its start line, with #token= at its end",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> SocketAddr {
        "127.0.0.1:9151".parse().unwrap()
    }

    fn status(method: Method, path: &str, fields: &[(&str, &str)]) -> Option<u16> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap(), local()).err().map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_a_host_that_is_an_address_of_ours_with_our_port_is_answered() {
        let get = |host: &str| status(Method::GET, "/api/state", &[("host", host)]);
        for own in ["127.0.0.1:9151", "localhost:9151", "LocalHost:9151", "[::1]:9151"] {
            assert_eq!(get(own), None, "{own}");
        }
        for other in [
            "evil.example:9151",
            "127.0.0.1",
            "localhost:9150",
            "127.0.0.1.evil.example:9151",
            "[::1]",
            "[::2]:9151",
            "10.0.0.1:9151",
            "127.0.0.1:9151:9151",
            "localhost.:9151",
            "",
            ":9151",
            "a@localhost:9151",
        ] {
            assert_eq!(get(other), Some(421), "{other}");
        }
        assert_eq!(status(Method::GET, "/", &[]), Some(421));
        let twice = [("host", "localhost:9151"), ("host", "localhost:9151")];
        assert_eq!(status(Method::GET, "/", &twice), Some(421));
        let absolute = "http://evil.example/api/state";
        assert_eq!(status(Method::GET, absolute, &[("host", "localhost:9151")]), Some(421));
        let of_network = "192.0.2.7:9151".parse().unwrap();
        let request = |host: &str| Request::builder().header("host", host).body(()).unwrap();
        assert!(check(&request("192.0.2.7:9151"), of_network).is_ok());
        assert!(check(&request("crawl.example:9151"), of_network).is_err());
    }

    #[test]
    fn pages_of_other_sites_may_link_to_the_page_and_do_nothing_else() {
        let with = |method: Method, path: &str, field: (&str, &str)| {
            status(method, path, &[("host", "localhost:9151"), field])
        };
        for site in ["same-origin", "none"] {
            assert_eq!(with(Method::POST, "/api/ctl", ("sec-fetch-site", site)), None);
        }
        for site in ["cross-site", "same-site", "", "other"] {
            assert_eq!(with(Method::POST, "/api/ctl", ("sec-fetch-site", site)), Some(403));
            assert_eq!(with(Method::GET, "/api/explain?url=x", ("sec-fetch-site", site)), Some(403));
            assert_eq!(with(Method::GET, "/", ("sec-fetch-site", site)), None);
        }
        assert_eq!(with(Method::POST, "/api/ctl", ("origin", "http://localhost:9151")), None);
        for origin in ["http://evil.example", "null", "https://localhost:9151", "http://127.0.0.1:9151", ""] {
            assert_eq!(with(Method::POST, "/api/ctl", ("origin", origin)), Some(403), "{origin}");
            assert_eq!(with(Method::GET, "/", ("origin", origin)), Some(403), "{origin}");
        }
    }

    #[test]
    fn an_order_needs_the_token_once() {
        let token = Token::new().unwrap();
        let mut headers = HeaderMap::new();
        assert!(check_token(&headers, &token).is_err());
        let value = HeaderValue::from_str(token.as_text()).unwrap();
        headers.append(TOKEN, value.clone());
        assert!(check_token(&headers, &token).is_ok());
        headers.append(TOKEN, value);
        assert!(check_token(&headers, &token).is_err());
        headers.insert(TOKEN, HeaderValue::from_static("0"));
        assert!(check_token(&headers, &token).is_err());
    }
}
