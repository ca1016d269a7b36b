//! Origins that archived origins have of their own: `HOST.SCHEME-PORT.TIME.TOKEN.localhost`, without a standard port.
//!
//! Browsers resolve such names to this machine by themselves. A page there has the path that it had, keeps what it
//! stores to itself, and is found by references without a host. Nobody knows the token but pages that are shown.

use crate::web::url::CanonicalUrl;

use super::moment;

/// The name of the host that leads to others: its paths are those of captures.
pub(super) const GO: &str = "go";
/// Characters of a name of the DNS.
const NAME_MAX: usize = 253;
/// Before an address of IPv6, whose colons become hyphens.
const IP6: &str = "ip6-";

/// An archived origin at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site<'a> {
    /// Digits of the time.
    pub time: &'a str,
    /// The origin, such as `https://a.example`.
    pub origin: String,
}

impl<'a> Site<'a> {
    /// Reads the labels before the token.
    pub(super) fn read(name: &'a str) -> Option<Site<'a>> {
        let (rest, time) = name.rsplit_once('.')?;
        let (host, scheme) = rest.rsplit_once('.')?;
        let is_time = (1..=moment::DIGITS).contains(&time.len()) && time.bytes().all(|byte| byte.is_ascii_digit());
        let (scheme, port) = match scheme.split_once('-') {
            Some((scheme, port)) => (scheme, format!(":{}", port.parse::<u16>().ok()?)),
            None => (scheme, String::new()),
        };
        let host = match host.strip_prefix(IP6) {
            Some(address) => format!("[{}]", address.replace('-', ":")),
            None => host.to_owned(),
        };
        let is_site = is_time && !host.is_empty() && matches!(scheme, "http" | "https");
        is_site.then(|| Site { time, origin: format!("{scheme}://{host}{port}") })
    }

    /// The URL at a path of this origin.
    pub(super) fn url(&self, target: &str) -> Option<CanonicalUrl> {
        CanonicalUrl::parse(&format!("{}{target}", self.origin)).ok()
    }
}

/// The address of `url` at this time, where `sites` is the token with its end; nothing for a URL whose host is too
/// long, or that has a request.
pub(super) fn address(url: &CanonicalUrl, time: &str, sites: &str) -> Option<String> {
    let scheme = if url.is_https() { "https" } else { "http" };
    let (host, authority) = (url.host(), url.plain().split('/').nth(2).unwrap_or_default());
    // a port that is standard is not written
    let port = authority.strip_prefix(host).unwrap_or_default().replace(':', "-");
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => format!("{IP6}{}", address.replace(':', "-")),
        None => host.to_owned(),
    };
    let name = format!("{host}.{scheme}{port}.{time}.{sites}");
    let fits = name.len() <= NAME_MAX && !url.has_request();
    fits.then(|| format!("http://{name}{}", url.path_and_query()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_origin_in_its_host_and_is_read_again() {
        let sites = "token.localhost:1";
        for (url, address_is) in [
            ("http://a.example/x?y", "http://a.example.http.2026.token.localhost:1/x?y"),
            ("https://a.example:8443/", "http://a.example.https-8443.2026.token.localhost:1/"),
            ("http://127.0.0.1:80/", "http://127.0.0.1.http.2026.token.localhost:1/"),
            ("http://[2001:db8::1]:81/", "http://ip6-2001-db8--1.http-81.2026.token.localhost:1/"),
            ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example.http.2026.token.localhost:1/"),
        ] {
            let parsed = CanonicalUrl::parse(url).unwrap();
            let there = address(&parsed, "2026", sites).unwrap();
            assert_eq!(there, address_is);
            let (host, target) = there["http://".len()..].split_once('/').unwrap();
            let site = Site::read(host.strip_suffix(&format!(".{sites}")).unwrap()).unwrap();
            assert_eq!((site.time, site.url(&format!("/{target}"))), ("2026", Some(parsed)));
        }
        for name in ["", "go", "a.http", "http.2026", ".http.2026", "a.ftp.2026", "a.http-x.2026", "a.http.x"] {
            assert_eq!(Site::read(name), None, "{name}");
        }
        let long = CanonicalUrl::parse(&format!("http://{}example/", "a.".repeat(120))).unwrap();
        assert_eq!(address(&long, "2026", sites), None);
    }
}
