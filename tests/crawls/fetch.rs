//! The fetch executor against servers that lie, dawdle and break: name servers, HTTP servers and TLS servers of the
//! tests' own on loopback.
//!
//! `guard` has what leads into the crawler's own network, `hostile` whole crawls of servers that send too much, `dns`
//! the name servers, `secure_dns` those that are asked over TLS, `limits` what an HTTP server can do to a client,
//! `connections` what is kept open and sent, `tls` certificates and HTTP/2, `proxies` requests by proxies, `whole` a
//! whole crawl beside such servers.

pub mod client;
mod connections;
pub mod crawl;
mod dns;
mod guard;
mod hostile;
pub mod http;
mod limits;
pub mod nameserver;
mod proxies;
pub mod proxy;
mod secure_dns;
mod tls;
mod whole;
