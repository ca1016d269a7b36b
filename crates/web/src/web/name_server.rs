//! Name servers as they are written: `9.9.9.9`, `udp://127.0.0.1:5353`, `tls://9.9.9.9#dns.quad9.net`,
//! `https://9.9.9.9/dns-query#dns.quad9.net`.
//!
//! A server is named by its address: who would look its name up? Behind `#` is the name that its certificate is for;
//! without one it has to be for the address.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// A name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServer {
    /// Its address and port.
    pub address: SocketAddr,
    /// The way it is asked.
    pub protocol: Protocol,
}

/// Ways to ask a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Over UDP, and over TCP where an answer is too long (RFC 1035).
    Plain,
    /// Over TLS (RFC 7858).
    Tls {
        /// The name that its certificate is for.
        name: Box<str>,
    },
    /// By POST over HTTP/2 with TLS (RFC 8484).
    Https {
        /// The name that its certificate is for.
        name: Box<str>,
        /// The path that it listens at, from `/` on.
        path: Box<str>,
    },
}

/// Reasons why a text is no name server, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameServerError {
    /// No address where one should be.
    #[error(
        "{0:?} is not an address; write \"9.9.9.9\", \"127.0.0.1:5353\", \"tls://9.9.9.9#dns.quad9.net\" or \
             \"https://9.9.9.9/dns-query#dns.quad9.net\""
    )]
    Address(String),
    /// Not a way to ask.
    #[error("{0:?} is not a way to ask a name server; write udp://, tls:// or https://, or the address alone")]
    Scheme(String),
    /// More than a server that is asked in this way has.
    #[error("{0:?}: {1}:// has an address, a port and nothing else but {2}")]
    More(String, &'static str, &'static str),
    /// The text behind `#` is no name.
    #[error("{0:?} is not a name; write the one of the server's certificate, such as \"tls://9.9.9.9#dns.quad9.net\"")]
    Name(String),
}

const DNS_PORT: u16 = 53;
const TLS_PORT: u16 = 853;
const HTTPS_PORT: u16 = 443;
/// The path that servers listen at if none is written.
const PATH: &str = "/dns-query";

/// Makes a protocol of the name that a certificate has to show, and a path.
type ByNameAndPath = fn(Box<str>, Box<str>) -> Protocol;

impl NameServer {
    /// One that is asked over UDP.
    pub fn plain(address: SocketAddr) -> NameServer {
        NameServer { address, protocol: Protocol::Plain }
    }
}

impl FromStr for NameServer {
    type Err = NameServerError;

    fn from_str(text: &str) -> Result<Self, NameServerError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("udp", text));
        let (rest, name) = rest.split_once('#').map_or((rest, None), |(rest, name)| (rest, Some(name)));
        let (at, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        let more = |scheme, what| Err(NameServerError::More(text.to_owned(), scheme, what));
        let (port, protocol): (u16, ByNameAndPath) = match scheme {
            "udp" if !path.is_empty() || name.is_some() => return more("udp", "that"),
            "udp" => (DNS_PORT, |_, _| Protocol::Plain),
            "tls" if !path.is_empty() => return more("tls", "#NAME"),
            "tls" => (TLS_PORT, |name, _| Protocol::Tls { name }),
            "https" => (HTTPS_PORT, |name, path| Protocol::Https { name, path }),
            other => return Err(NameServerError::Scheme(format!("{other}://"))),
        };
        let address = address(at, port).ok_or_else(|| NameServerError::Address(at.to_owned()))?;
        if let Some(name) = name.filter(|name| !is_name(name)) {
            return Err(NameServerError::Name(name.to_owned()));
        }
        let name = name.map_or_else(|| address.ip().to_string(), str::to_owned);
        let path = if path.is_empty() { PATH } else { path };
        Ok(NameServer { address, protocol: protocol(name.into(), path.into()) })
    }
}

fn address(text: &str, port: u16) -> Option<SocketAddr> {
    let alone = || text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).parse::<IpAddr>();
    text.parse().ok().or_else(|| alone().ok().map(|ip| SocketAddr::new(ip, port)))
}

/// True if a certificate can be for `name`: a name or an address.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        plain && (1..=63).contains(&label.len())
    };
    name.parse::<IpAddr>().is_ok() || (name.len() <= 253 && name.split('.').all(is_label))
}

impl fmt::Display for NameServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address;
        match &self.protocol {
            Protocol::Plain => write!(f, "{address}"),
            Protocol::Tls { name } => write!(f, "tls://{address}#{name}"),
            Protocol::Https { name, path } => write!(f, "https://{address}{path}#{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_is_an_address_and_how_it_is_asked() {
        for (text, whole) in [
            ("9.9.9.9", "9.9.9.9:53"),
            ("127.0.0.1:5353", "127.0.0.1:5353"),
            ("::1", "[::1]:53"),
            ("[::1]:5353", "[::1]:5353"),
            ("udp://9.9.9.9", "9.9.9.9:53"),
            ("tls://9.9.9.9", "tls://9.9.9.9:853#9.9.9.9"),
            ("tls://[2620:fe::fe]#dns.quad9.net", "tls://[2620:fe::fe]:853#dns.quad9.net"),
            ("https://127.0.0.1", "https://127.0.0.1:443/dns-query#127.0.0.1"),
            ("https://127.0.0.1:8443/q/x#a.example", "https://127.0.0.1:8443/q/x#a.example"),
        ] {
            let server: NameServer = text.parse().unwrap();
            assert_eq!(server.to_string(), whole);
            assert_eq!(whole.parse(), Ok(server));
        }
    }

    #[test]
    fn what_is_wrong_with_one_is_said() {
        for (text, said) in [
            ("dns.example", "\"dns.example\" is not an address"),
            ("tls://dns.quad9.net", "\"dns.quad9.net\" is not an address"),
            ("https://", "\"\" is not an address"),
            ("tls://9.9.9.9:70000", "\"9.9.9.9:70000\" is not an address"),
            ("quic://9.9.9.9", "\"quic://\" is not a way to ask"),
            ("9.9.9.9#dns.quad9.net", "udp:// has an address, a port and nothing else but that"),
            ("udp://9.9.9.9/x", "udp:// has an address, a port and nothing else but that"),
            ("tls://9.9.9.9/dns-query#x", "tls:// has an address, a port and nothing else but #NAME"),
            ("tls://9.9.9.9#", "\"\" is not a name"),
            ("tls://9.9.9.9#a b", "\"a b\" is not a name"),
            ("https://9.9.9.9/q#a..b", "\"a..b\" is not a name"),
        ] {
            let error = text.parse::<NameServer>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
