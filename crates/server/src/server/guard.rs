//! Checks of requests to a server of this machine, which pages of other sites may try to reach.
//!
//! - [`has_own_host`]: a page whose name was made to lead here (DNS rebinding) sends another `Host`.
//! - [`has_own_origin`]: a page of another site sends another `Origin`.
//! - [`FETCH_SITE`] and [`FETCH_DESTINATION`] say, in browsers, whose request it is and what it is for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hyper::Request;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};

/// The field in which browsers say how the page that asks is related to what it asks for.
pub const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The field in which browsers say what they will do with the answer.
pub const FETCH_DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");
const HTTP_PORT: u16 = 80;

/// Returns whether the `Host` of a request names the address `local`, to which it came.
pub fn has_own_host<B>(request: &Request<B>, local: SocketAddr) -> bool {
    let Some(host) = only(request.headers(), HOST).and_then(|host| host.to_str().ok()) else { return false };
    let asked = request.uri().authority().map(|authority| authority.as_str());
    is_own(host, local) && asked.is_none_or(|asked| asked.eq_ignore_ascii_case(host))
}

/// Returns whether the `Origin` of a request, if it has any, is the server to which it was sent.
pub fn has_own_origin(headers: &HeaderMap) -> bool {
    if !headers.contains_key(ORIGIN) {
        return true;
    }
    let host = only(headers, HOST).map(HeaderValue::as_bytes).unwrap_or_default();
    let origin = only(headers, ORIGIN).map(HeaderValue::as_bytes);
    origin.is_some_and(|origin| origin.eq_ignore_ascii_case(&[b"http://", host].concat()))
}

/// The value of a field that is there once.
pub fn only(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Returns whether `host` names the address `local`, to which the request came, with its port.
fn is_own(host: &str, local: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => match port.parse::<u16>() {
            Ok(port) => (name, port),
            Err(_) => return false,
        },
        _ => (host, HTTP_PORT),
    };
    if port != local.port() {
        return false;
    }
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().map(IpAddr::V6),
        None => name.parse::<Ipv4Addr>().map(IpAddr::V4),
    };
    let own = local.ip().to_canonical();
    address.is_ok_and(|address| {
        address.to_canonical() == own || address == Ipv4Addr::LOCALHOST || address == Ipv6Addr::LOCALHOST
    })
}
